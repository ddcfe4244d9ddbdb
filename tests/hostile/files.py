"""Unexpected files: endless devices, FIFOs without a writer, symbolic links that lead out of the data folder, permissions
that let other users in. The gateway reports the problem and exits, or warns. It never waits for a file, reads an endless
one, or writes through a link.
"""
import os
import stat
import subprocess
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError

KEYS = "cursor: {{key_file: '%s'}}\n"


class Files(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(POLICY, expect_start=False)
        self.folder = self.gateway.folder
        self.data = os.path.join(self.folder, "data")

    def tearDown(self):
        self.gateway.__exit__(None, None, None)

    def place(self, name, text=""):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def fifo(self, name="fifo"):
        path = os.path.join(self.folder, name)
        os.mkfifo(path)
        return path

    def refused(self, policy, code=4):
        """The log of a gateway that refuses to start with this policy."""
        before = len(self.gateway.log())
        self.gateway.write_policy(policy)
        self.gateway.expect_start = False
        self.gateway.start()
        self.assertEqual(self.gateway.wait_for_exit(), code, self.gateway.log())
        self.gateway.check_log()
        return self.gateway.log()[before:]

    def hides(self, failure):
        """The caller learns no names of files and no texts of the system; the log has them."""
        self.assertIn("the log of the gateway has the reason", failure.message)
        for part in ("/", "regular"):
            self.assertNotIn(part, failure.message)

    def serve(self, policy=POLICY):
        self.gateway.write_policy(policy)
        self.gateway.expect_start = True
        return self.gateway.start()

    # --- files named in the policy --------------------------------------------------------------

    def test_cursor_keys(self):
        """An endless device and a FIFO without a writer are rejected at once."""
        for name in ("/dev/zero", self.fifo(), self.folder):
            with self.subTest(key_file=name):
                log = self.refused(POLICY + KEYS % name)
                self.assertIn(name, log)
                self.assertIn("is not a regular file", log)
        log = self.refused(POLICY + KEYS % self.place("long", "0123456789abcdef\n" * 10000))
        self.assertIn("is longer than 65536 bytes", log)

    def test_certificates(self):
        for name in (self.fifo(), "/dev/zero"):
            for tls in (f"certificate: '{name}', key: '{name}'", f"certificate: '{self.place('c')}', key: '{name}'"):
                with self.subTest(listener=tls):
                    listener = "listen: {{address: '127.0.0.1:0', tls: {{%s}}}}" % tls
                    log = self.refused(POLICY.replace("listen: 127.0.0.1:0", listener))
                    self.assertIn("is unusable", log)
            with self.subTest(channel=name):
                store = "kind: hbase\n  servers: [127.0.0.1:9]\n  tls: {{ca: '%s'}}" % name
                log = self.refused(POLICY.replace("kind: embedded\n  path: {folder}/data", store))
                self.assertIn("is not a regular file", log)

    def test_split_files(self):
        policy = "strict_start: true\n" + POLICY.replace("    key:\n", "    splits: {{file: '%s'}}\n    key:\n")
        for name in (self.fifo(), "/dev/zero"):
            with self.subTest(file=name):
                self.assertIn("is not a regular file", self.refused(policy % name, code=1))

    # --- the policy itself ----------------------------------------------------------------------

    def test_a_fifo_as_policy(self):
        fifo = self.fifo()
        self.gateway.policy_file = fifo
        self.gateway.start()
        self.assertEqual(self.gateway.wait_for_exit(), 1)
        self.assertIn("is not a regular file", self.gateway.log())

    def test_a_fifo_as_policy_at_reload(self):
        """The old policy stays in use, and the gateway keeps running."""
        self.serve()
        file = self.gateway.policy_file
        os.unlink(file)
        os.mkfifo(file)
        self.gateway.reload()
        self.gateway.wait_for_log("is not a regular file")
        admin = self.gateway.admin()
        with self.assertRaises(KeywayError) as caught:
            admin.reload()
        self.assertEqual(caught.exception.code, Code.INVALID)
        self.hides(caught.exception)
        admin.close()
        self.assertEqual(self.gateway.data().tables(), ["events"])
        self.gateway.stop()

    def test_pipes_can_be_checked(self):
        """--check reads its input once, so it accepts a pipe of the shell."""
        with open(self.gateway.policy_file, "rb") as policy:
            done = subprocess.run([os.environ["KEYWAYD"], "--check", "/dev/stdin"], input=policy.read(), capture_output=True,
                                  timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    # --- the data folder ------------------------------------------------------------------------

    def test_a_lock_that_is_a_link(self):
        target = self.place("precious", "do not touch")
        os.mkdir(self.data, 0o700)
        os.symlink(target, os.path.join(self.data, "lock"))
        self.assertIn("its file named lock is a symbolic link", self.refused(POLICY))
        with open(target, encoding="ascii") as file:
            self.assertEqual(file.read(), "do not touch")

    def test_wrong_kinds_of_files_in_the_data_folder(self):
        os.mkdir(self.data, 0o700)
        for name, text in (("lock", "lock is not a regular file"), ("format", "is not a regular file")):
            with self.subTest(file=name):
                path = os.path.join(self.data, name)
                os.mkfifo(path)
                self.assertIn(text, self.refused(POLICY))
                os.unlink(path)

    def test_links_in_place_of_new_files(self):
        """The gateway writes nothing through a link that has the name of a new file."""
        target = self.place("precious", "do not touch")
        os.mkdir(self.data, 0o700)
        for name in ("data/cursor.key.new", "data/.format.new", "ports.new"):
            os.symlink(target, os.path.join(self.folder, name))
        self.serve()
        self.assertEqual(os.stat(os.path.join(self.data, "cursor.key")).st_size, 65)
        with open(target, encoding="ascii") as file:
            self.assertEqual(file.read(), "do not touch")
        self.gateway.stop()

    # --- permissions ----------------------------------------------------------------------------

    def test_access_for_others_is_logged(self):
        self.serve()
        self.assertNotIn("other users", self.gateway.log())
        self.gateway.stop()
        os.chmod(self.data, 0o777)
        os.chmod(os.path.join(self.data, "cursor.key"), 0o644)
        self.serve()
        log = self.gateway.log()
        self.assertIn(f"folder={self.data} permissions=0777", log)
        self.assertIn("permissions=0644", log)
        self.assertIn("chmod 600", log)
        self.gateway.stop()
        self.assertEqual(stat.S_IMODE(os.stat(self.data).st_mode), 0o777, "a warning changes nothing")

    def test_a_policy_with_keys_that_others_can_read(self):
        os.chmod(self.gateway.policy_file, 0o644)
        self.serve()
        self.assertNotIn("other users", self.gateway.log())
        self.gateway.stop()
        self.serve(POLICY + "cursor: {{keys: [0123456789abcdef]}}\n")
        self.assertIn("other users can use the cursor key", self.gateway.log())
        self.gateway.stop()

    def test_a_private_key_that_others_can_read(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self.folder)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=x",
                "-keyout", "key.pem", "-out", "certificate.pem")
        listener = "listen: {{address: '127.0.0.1:0', tls: {{certificate: '{folder}/certificate.pem', key: '{folder}/key.pem'}}}}"
        policy = POLICY.replace("listen: 127.0.0.1:0", listener)
        self.serve(policy)
        self.assertNotIn("other users", self.gateway.log())
        self.gateway.stop()
        os.chmod(os.path.join(self.folder, "key.pem"), 0o644)
        self.serve(policy)
        self.assertIn("other users can use the private key", self.gateway.log())
        self.gateway.stop()

    # --- callers --------------------------------------------------------------------------------

    def test_create_table_with_a_fifo(self):
        """A call of createTable does not block one of the threads that resolve names."""
        splits = self.place("splits", "b\nc\n")
        policy = POLICY.replace("    key:\n", f"    splits: {{{{file: '{splits}'}}}}\n    key:\n")
        self.serve(policy)
        os.unlink(splits)
        os.mkfifo(splits)
        admins = [self.gateway.admin() for _ in range(8)]
        for admin in admins:
            admin.send_createTable("events", None)
        for admin in admins:
            with self.assertRaises(KeywayError) as caught:
                admin.recv_createTable()
            self.assertEqual(caught.exception.code, Code.INVALID)
            self.hides(caught.exception)
            admin.close()
        data = self.gateway.data()
        data.put("events", record(id="a", ts=1), None)
        wait_until(lambda: self.gateway.metric("keyway_calls_in_flight") == 0, "the calls to end")
        data.close()
        self.gateway.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
