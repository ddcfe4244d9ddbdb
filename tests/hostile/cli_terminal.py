"""Stored values cannot control the terminal: `keyway` escapes control characters on a terminal, in all output forms and in
errors. Files and pipes get the bytes unchanged."""
import csv
import io
import json
import os
import pty
import re
import subprocess
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, record

# A window title, a bell, a backspace, DEL, CSI of C1, and a line that would overwrite itself.
EVIL = "\x1b]0;owned\x07a\x08b\x7fc\x9b31md\re\x85f"
POLICY_ABOUT = POLICY.replace("    key:\n", '    about: "note \\x9b31m"\n    key:\n')


def on_terminal(*words, stream="stdout"):
    """What the program writes to a terminal, without the terminal's own line ends."""
    master, slave = pty.openpty()
    other = {"stderr" if stream == "stdout" else "stdout": subprocess.DEVNULL}
    with subprocess.Popen([os.environ["KEYWAY"], *words], stdin=subprocess.DEVNULL, **{stream: slave}, **other) as process:
        os.close(slave)
        parts = []
        try:
            while part := os.read(master, 65536):
                parts.append(part)
        except OSError:  # the program closed its side
            pass
        process.wait(PATIENCE)
    os.close(master)
    return b"".join(parts).replace(b"\r\n", b"\n")


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(POLICY_ABOUT).start()
        data = cls.gateway.data()
        data.put("events", record(id="a", ts=1, note=EVIL, blob=b"\x1b\xff"), None)
        data.close()

    @classmethod
    def tearDownClass(cls):
        try:
            cls.gateway.stop()
        finally:
            cls.gateway.__exit__(None, None, None)

    def keyway(self, *words):
        return [words[0], "--gateway", self.gateway.address, *words[1:]]

    def assert_harmless(self, shown, what):
        text = shown.decode("utf-8")  # fails on a single C1 byte
        self.assertEqual(re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), [], f"{what}: {shown!r}")

    def test_every_form(self):
        for form in ("table", "csv", "json", "jsonl"):
            for command in ("scan", "get", "latest"):
                words = ["events", "id=a"] + ["ts=1"] * (command == "get") + ["-o", form]
                with self.subTest(form=form, command=command):
                    shown = on_terminal(*self.keyway(command, *words))
                    self.assertIn(b"owned", shown)
                    self.assert_harmless(shown, form)

    def test_json_stays_json(self):
        for form in ("json", "jsonl"):
            found = json.loads(on_terminal(*self.keyway("scan", "events", "id=a", "-o", form)))
            self.assertEqual((found[0] if form == "json" else found)["note"], EVIL)

    def test_files_get_the_bytes(self):
        done = subprocess.run([os.environ["KEYWAY"], *self.keyway("scan", "events", "id=a", "-o", "csv")], capture_output=True,
                              timeout=PATIENCE, check=True)
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
        self.assertEqual(rows[0]["note"], EVIL)

    def test_words_of_the_policy(self):
        for command in (["describe", "events"], ["policy"], ["explain", "events", "id=a"]):
            with self.subTest(command=command):
                self.assert_harmless(on_terminal(*self.keyway(*command)), command)

    def test_errors(self):
        for words in (["describe", "x\x1b[31my"], ["get", "events", "id=a", "ts=\x1b]0;t\x07"], ["no\x1b[2Jcommand"],
                      ["scan", "events", "--filter", "PrefixFilter(\x1b[1m"], ["check", "/no\x1b[1m/such"]):
            with self.subTest(words=words):
                shown = on_terminal(*self.keyway(*words), stream="stderr")
                self.assertTrue(shown)
                self.assert_harmless(shown, words)

    def test_import_draws_its_progress(self):
        """Control sequences of the program itself still work."""
        file = os.path.join(self.gateway.folder, "rows.csv")
        with open(file, "w", encoding="utf-8") as rows:
            rows.write("id,ts,note\n" + "".join(f"i{i},{i},x\n" for i in range(2000)))
        self.assertIn(b"\x1b[K", on_terminal(*self.keyway("import", "events", file), stream="stderr"))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
