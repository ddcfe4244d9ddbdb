"""keyway import continues an import, and keeps the records that were rejected from standard input.

Arguments: the program. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import json
import pathlib
import subprocess
import tempfile
import unittest

from fake_gateway import FakeGateway
from keyway_thrift import ttypes as t
from test_cli import KEYWAY, Case

CSV = 'order_id,ts,status\nA,1,"two\nlines"\nB,noon,x\nC,3,x\n\nD,4,x\nE,noon,x\n'  # records at lines 2, 4, 5, 7, 8
JSONL = "".join(json.dumps({"order_id": name, "ts": ts}) + "\n" for name, ts in (("A", 1), ("B", "noon"), ("C", 3), ("D", 4)))


class Importing(Case):
    def setUp(self):
        self.gateway = FakeGateway().__enter__()
        self.addCleanup(self.gateway.__exit__)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def keyway(self, *words, stdin=None, status=0):
        done = subprocess.run([KEYWAY, "-g", self.gateway.address, "import", "order_events", *words], cwd=self.folder, input=stdin,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr

    def rejects(self, name):
        return [json.loads(line)["line"] for line in (self.folder / name).read_text().splitlines()]

    def written(self):
        names = sorted(key[0] for key in self.gateway.handler.rows)
        self.gateway.handler.rows.clear()
        return names

    def test_rejects_of_standard_input(self):
        for text, line in ((CSV, [4, 8]), (JSONL, [2])):
            shown = self.keyway("-", stdin=text, status=9)
            self.assertIn("standard input:", shown)
            self.assertIn("Correct the rejected records in stdin.rejected.jsonl", shown)
            self.assertEqual(self.rejects("stdin.rejected.jsonl"), line)
        self.keyway("-", "--reject", "mine.jsonl", stdin=CSV, status=9)
        self.assertEqual(self.rejects("mine.jsonl"), [4, 8])
        (self.folder / "stdin.rejected.jsonl").unlink()
        self.keyway("-", stdin="order_id,ts\nA,1\n")
        self.assertFalse((self.folder / "stdin.rejected.jsonl").exists())

    def test_from_line(self):
        (self.folder / "x.csv").write_text(CSV)
        (self.folder / "x.jsonl").write_text(JSONL)
        for name, line, want in (("x.csv", 1, "ACD"), ("x.csv", 2, "ACD"), ("x.csv", 3, "CD"), ("x.csv", 5, "CD"), ("x.csv", 6, "D"),
                                 ("x.jsonl", 2, "CD"), ("x.jsonl", 4, "D")):
            status = 9 if name == "x.csv" or line == 2 else 0
            self.keyway(name, "--from-line", str(line), status=status)
            self.assertEqual(self.written(), list(want), (name, line))
        self.assertIn("0 records written, 0 rejected", self.keyway("x.csv", "--from-line", "100"))
        self.assertIn("lines are numbered from 1", self.keyway("x.csv", "--from-line", "0", status=2))
        self.keyway("-", "--from-line", "7", stdin=CSV, status=9)
        self.assertEqual(self.written(), ["D"])

    def test_rejects_of_both_parts_are_kept(self):
        (self.folder / "x.csv").write_text(CSV)
        self.keyway("x.csv", "--from-line", "1", status=9)
        self.assertEqual(self.rejects("x.csv.rejected.jsonl"), [4, 8])
        self.keyway("x.csv", "--from-line", "7", status=9)
        self.assertEqual(self.rejects("x.csv.rejected.jsonl"), [4, 8, 8])

    def test_a_stopped_import_names_the_line(self):
        (self.folder / "x.csv").write_text("order_id,ts\n" + "".join(f"A,{i}\n" for i in range(10)))
        put_many = self.gateway.handler.putMany

        def stop(table, records, options):
            if self.gateway.handler.rows:
                raise t.KeywayError(t.Code.DENIED, "not any more")
            return put_many(table, records, options)

        self.gateway.handler.putMany = stop
        self.assertIn("\n  To continue: --from-line 6\n", self.keyway("x.csv", "--batch", "4", status=5))
        self.gateway.handler.putMany = put_many
        self.keyway("x.csv", "--from-line", "6")
        self.assertEqual(len(self.gateway.handler.rows), 10)


if __name__ == "__main__":
    unittest.main(verbosity=1)
