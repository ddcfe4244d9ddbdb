"""`keyway policy diff` end to end: two policy files, a sample, compared by a private gateway.

Arguments: the keyway program. KEYWAYD names the gateway that it starts.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

KEYWAY = sys.argv.pop(1)
RING = """\
tables:
  messages:
    fields: {{conversation: string, n: int, text: string}}
    key:
      - ring: {{of: conversation, nodes: [{nodes}]}}
      - field: conversation
      - field: n
"""
NODES = [f'"{n:02}"' for n in range(1, 12)]


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="keyway-diff-")
        cls.folder = pathlib.Path(cls.place.name)
        cls.write("old.yaml", RING.format(nodes=", ".join(NODES[:10])))
        cls.write("new.yaml", RING.format(nodes=", ".join(NODES)))
        cls.write("bad.yaml", RING.format(nodes='"1", "10"'))
        cls.write("sample.csv", "conversation,n\n" + "".join(f"c{n},{n}\n" for n in range(5000)))
        cls.write("wrong.csv", "conversation,n\nc1,one\n")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @classmethod
    def write(cls, name, text):
        (cls.folder / name).write_text(text, encoding="utf-8")

    def keyway(self, *words, status=0):
        done = subprocess.run([KEYWAY, "policy", "diff", *words], capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if status else done.stdout

    def test_random(self):
        found = self.keyway("old.yaml", "new.yaml")
        share = float(re.search(r"ring: ([0-9.]+) % of 20000 random records move", found)[1])
        self.assertTrue(6 < share < 12, found)
        self.assertIn("10 ranges by path primary -> 11 ranges by path primary", found)
        self.assertEqual(self.keyway("old.yaml", "new.yaml"), found)

    def test_rows(self):
        """One object per change, for programs; an empty array if nothing changes."""
        self.write("plain.yaml", "tables:\n  t: {fields: {id: string, x: int}, key: [field: id]}\n  gone: {fields: {id: string}, key: [field: id]}\n")
        self.write("hashed.yaml", "tables:\n  t:\n    fields: {id: string, y: int}\n"
                   "    key: [hash: {algorithm: md5, of: [id], take: 2}, field: id]\n  fresh: {fields: {id: string}, key: [field: id]}\n")
        found = json.loads(self.keyway("plain.yaml", "hashed.yaml", "-o", "json"))
        self.assertEqual([(row["table"], row["change"].split(" (")[0].split(";")[0].split(",")[0]) for row in found],
                         [("t", "field x is removed"), ("t", "field y is new"), ("t", "path primary: another key rule"), ("t", "queries"),
                          ("gone", "is removed"), ("fresh", "is new")])
        self.assertNotIn("details", found[0])
        self.assertIn("\n+ hash(md5 of id, first 2 as hex)\n", found[2]["details"])
        text = self.keyway("plain.yaml", "hashed.yaml")
        for row in found:
            self.assertIn(row["change"], text)
        lines = self.keyway("plain.yaml", "hashed.yaml", "-ojsonl").splitlines()
        self.assertEqual([json.loads(line) for line in lines], found)
        self.assertEqual(json.loads(self.keyway("plain.yaml", "plain.yaml", "-o", "json")), [])

    def test_sample(self):
        found = self.keyway("old.yaml", "new.yaml", "--sample", "sample.csv")
        share = float(re.search(r"ring: ([0-9.]+) % of 5000 given records move", found)[1])
        self.assertTrue(5 < share < 13, found)

    def test_same(self):
        self.assertEqual(self.keyway("old.yaml", "old.yaml"), "no difference in tables, fields, rules and queries\n")

    def test_errors(self):
        self.assertIn("new:5:", self.keyway("old.yaml", "bad.yaml", status=3))
        self.assertIn("wrong.csv:2", self.keyway("old.yaml", "new.yaml", "--sample", "wrong.csv", status=3))
        self.assertIn("no table", self.keyway("old.yaml", "new.yaml", "--sample", "sample.csv", "--table", "x", status=3))
        self.keyway("old.yaml", status=2)
        self.keyway("old.yaml", "missing.yaml", status=1)

    def test_without_client(self):
        done = subprocess.run([os.environ["KEYWAYD"], "--diff", "old.yaml", "new.yaml"], capture_output=True, text=True,
                              cwd=self.folder, timeout=300, check=True)
        self.assertEqual(done.stdout, self.keyway("old.yaml", "new.yaml"))
        done = subprocess.run([os.environ["KEYWAYD"], "--diff", "old.yaml"], capture_output=True, text=True,
                              cwd=self.folder, timeout=300, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("needs a second file", done.stderr)


if __name__ == "__main__":
    unittest.main()
