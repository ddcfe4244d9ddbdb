"""`keyway` reads every file in bounded memory: an endless device, a file with an endless line or an endless quoted cell.
"""
import os
import subprocess
import tempfile
import time
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, is_sanitized

MEMORY = 300 << 20


class Endless(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(POLICY).start()
        cls.policy = cls.gateway.policy_file

    @classmethod
    def tearDownClass(cls):
        try:
            cls.gateway.stop()
        finally:
            cls.gateway.__exit__(None, None, None)

    def refused(self, *words, stdin=subprocess.DEVNULL, gateway=True):
        """The error that the program prints; it must exit soon and use little memory."""
        command = [os.environ["KEYWAY"], words[0]] + ["--gateway", self.gateway.address] * gateway + list(words[1:])
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=said)
            end = time.monotonic() + PATIENCE
            while True:
                ended, status, used = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    break
                with open(f"/proc/{process.pid}/statm", encoding="ascii") as statm:
                    held = int((statm.read().split() or "00")[1]) * os.sysconf("SC_PAGESIZE")
                if time.monotonic() > end or held > 3 * MEMORY and not is_sanitized():
                    process.kill()
                    process.wait()
                    self.fail(f"{words} uses {held >> 20} MiB and still runs")
                time.sleep(0.01)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read().decode()
        self.assertGreater(process.returncode, 0, text)
        if not is_sanitized():
            self.assertLess(used.ru_maxrss << 10, MEMORY, text)
        return text

    def test_policies(self):
        for words in (["check", "/dev/zero"], ["policy", "diff", "/dev/zero", self.policy],
                      ["policy", "diff", self.policy, "/dev/zero"],
                      ["advise", "--policy", "/dev/zero", "--sample", self.policy],
                      ["advise", "--policy", self.policy, "--sample", self.policy, "--queries", "/dev/zero"]):
            with self.subTest(words=words):
                self.refused(*words)

    def test_rows(self):
        for words in (["import", "events", "/dev/zero"], ["import", "events", "/dev/zero", "--format", "csv"],
                      ["import", "events", "/dev/zero", "--format", "jsonl"]):
            with self.subTest(words=words):
                self.assertIn("is longer than", self.refused(*words))

    def test_standard_input(self):
        with open("/dev/zero", "rb") as zeros:
            self.assertIn("is longer than", self.refused("import", "events", "-", stdin=zeros))

    def test_a_quote_that_is_never_closed(self):
        file = os.path.join(self.gateway.folder, "open.csv")
        with open(file, "w", encoding="ascii") as rows:
            rows.write('id,ts,note\na,1,"')
            for _ in range(400):
                rows.write("x" * 1023 + "\n" + ("y" * 99 + "\n") * 1000)
        self.assertIn("the record that starts here is longer", self.refused("import", "events", file))

    def test_exports_of_the_catalog(self):
        self.assertIn("this is no export of a catalog", self.refused("catalog", "import", "/dev/zero", gateway=False))

    def test_split_keys(self):
        self.refused("create", "events", "--splits-file", "/dev/zero")

    def test_certificates(self):
        for words in (["--tls-ca", "/dev/zero"], ["--tls-cert", "/dev/zero"],
                      ["--tls-cert", self.policy, "--tls-key", "/dev/zero"]):
            with self.subTest(words=words):
                self.assertIn("/dev/zero", self.refused("tables", *words))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
