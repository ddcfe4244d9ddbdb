"""What is installed into a prefix works from there: keyway finds keywayd, although neither is in PATH.

Arguments: the program cmake, the build folder.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD = sys.argv.pop(1), sys.argv.pop(1)
FOLDER = tempfile.TemporaryDirectory(prefix="keyway-installed-")
PREFIX = pathlib.Path(FOLDER.name)

POLICY = """\
tables:
  order_events:
    fields: {order_id: string, ts: timestamp, status: string}
    key:
      - hash: {algorithm: md5, of: [order_id], take: %d}
      - field: order_id
      - field: ts
"""
BAD = "tables: {t: {fields: {id: strng}, key: [field: id]}}\n"


def setUpModule():
    subprocess.run([CMAKE, "--install", BUILD, "--prefix", str(PREFIX)], check=True, capture_output=True, timeout=300)


def tearDownModule():
    FOLDER.cleanup()


class Installed(unittest.TestCase):
    def file(self, name, text):
        path = PREFIX / name
        path.write_text(text)
        return str(path)

    def keyway(self, *words, status=0, **environment):
        env = {name: value for name, value in os.environ.items() if not name.startswith("KEYWAY")}
        env |= {"PATH": "/usr/bin:/bin", **environment}
        done = subprocess.run([PREFIX / "bin" / "keyway", *words], env=env, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_keywayd_is_found(self):
        self.assertTrue((PREFIX / "sbin" / "keywayd").exists())
        old, new = self.file("old.yaml", POLICY % 4), self.file("new.yaml", POLICY % 2)
        sample = self.file("events.csv", "order_id,ts\n" + "".join(f"SF{i},{1000 + i}\n" for i in range(200)))
        self.assertIn("1 table", self.keyway("check", old))
        self.assertIn("another key rule", self.keyway("policy", "diff", old, new))
        self.assertIn("order_events", self.keyway("advise", "--policy", old, "--sample", sample))

    def test_default_policy(self):
        """The installed policy is complete: it has the path that the manual and the README query."""
        policy = PREFIX / "share" / "keyway" / "keyway.yaml"
        self.assertIn("no problems, 1 table", self.keyway("check", str(policy)))
        self.assertIn("by_time:", policy.read_text())

    def test_check_ignores_the_environment(self):
        """KEYWAY_GATEWAY names a gateway for requests; only --gateway makes it check files."""
        good, bad = self.file("good.yaml", POLICY % 4), self.file("bad.yaml", BAD)
        nowhere = {"KEYWAY_GATEWAY": "127.0.0.1:1"}
        self.assertIn("1 table", self.keyway("check", good, **nowhere))
        self.assertIn("unknown value 'strng'", self.keyway("check", bad, status=3, **nowhere))
        self.assertIn("cannot reach", self.keyway("check", "-g", "127.0.0.1:1", good, status=7))

    def test_check_as_json(self):
        good, bad = self.file("good.yaml", POLICY % 4), self.file("bad.yaml", BAD)
        risky = self.file("risky.yaml", "tables: {t: {fields: {ts: timestamp}, key: [field: ts]}}\n")
        self.assertEqual(json.loads(self.keyway("check", "-o", "json", good)), [])
        found = json.loads(self.keyway("check", "-o", "json", good, bad, risky, "/nowhere", status=3))
        self.assertEqual([(row["file"], row["severity"]) for row in found],
                         [(bad, "error"), (risky, "warning"), ("/nowhere", "error")])
        self.assertEqual((found[0]["line"], found[0]["column"]), (1, 27))
        self.assertIn("unknown value 'strng'", found[0]["message"])
        self.assertIn("string", found[0]["hint"])
        self.assertNotIn("line", found[2])
        lines = self.keyway("check", "-o", "jsonl", bad, risky, status=3).splitlines()
        self.assertEqual([json.loads(line) for line in lines], found[:2])
        self.assertIn(f"{bad},1,27,error,", self.keyway("check", "-o", "csv", bad, status=3))

    def test_the_missing_program_is_named(self):
        good = self.file("good.yaml", POLICY % 4)
        moved = PREFIX / "elsewhere"
        (PREFIX / "sbin" / "keywayd").rename(moved)
        try:
            for words in (["check", good], ["policy", "diff", good, good]):
                self.assertIn("set KEYWAYD", self.keyway(*words, status=1))
            self.assertIn("1 table", self.keyway("check", good, KEYWAYD=str(moved)))
        finally:
            moved.rename(PREFIX / "sbin" / "keywayd")


if __name__ == "__main__":
    unittest.main(verbosity=1)
