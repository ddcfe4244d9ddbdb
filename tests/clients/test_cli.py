"""The program `keyway` against a fake gateway in this process: its requests, output and exit status.

Arguments: the program. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import contextlib
import csv
import io
import json
import os
import pathlib
import pty
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from fake_gateway import FakeGateway, HostileGateway
from keyway_thrift import ttypes as t

KEYWAY = sys.argv.pop(1) if len(sys.argv) > 1 else "keyway"
FORMS = [(framed, compact) for framed in (False, True) for compact in (False, True)]
T0 = 1795255200000  # 2026-11-21T10:00:00Z


def keyway(gateway, *words, stdin=None):
    env = {k: v for k, v in os.environ.items() if k != "KEYWAY_GATEWAY"}
    env["KEYWAY_GATEWAY"] = gateway if isinstance(gateway, str) else gateway.address
    return subprocess.run([KEYWAY, *words], env=env, input=stdin, capture_output=True, encoding="utf-8", errors="replace",
                          timeout=300)


def event(order, ts, **fields):
    record = {"order_id": t.Value(text=order), "ts": t.Value(number=ts)}
    record.update({n: t.Value(text=v) for n, v in fields.items()})
    return record


class Case(unittest.TestCase):
    def run_ok(self, gateway, *words, stdin=None):
        done = keyway(gateway, *words, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def run_bad(self, code, gateway, *words, stdin=None, output="stderr"):
        done = keyway(gateway, *words, stdin=stdin)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return getattr(done, output)


class Writing(Case):
    def test_put_types(self):
        for framed, compact in FORMS:
            flags = ["--framed"] * framed + ["--compact"] * compact
            with self.subTest(framed=framed, compact=compact), FakeGateway(framed, compact) as gateway:
                self.run_ok(gateway, *flags, "put", "order_events", "order_id=A=1", "ts=2026-11-21T11:00:00.25+01:00",
                            "amount=-9.75", "visits=+3", "paid=yes", "blob=a\\x00\\xff", "city=", "status=größer")
                row = gateway.handler.rows["A=1", T0 + 250]
                self.assertEqual(row["amount"], t.Value(real=-9.75))
                self.assertEqual(row["visits"], t.Value(number=3))
                self.assertEqual(row["paid"], t.Value(flag=True))
                self.assertEqual(row["blob"], t.Value(bytes=b"a\0\xff"))
                self.assertEqual(row["city"], t.Value(text=""))
                self.assertEqual(row["status"], t.Value(text="größer"))

    def test_put_errors(self):
        with FakeGateway() as gateway:
            for words, code, message in [
                (["order_events", "order_id=A", "oder_id=B"], 3, 'no field "oder_id"; did you mean "order_id"?'),
                (["order_events", "order_id=A", "ts=yesterday"], 3, 'field ts: "yesterday" is not a timestamp'),
                (["order_events", "order_id=A", "ts=2026-11-21T10:00:00.0001Z"], 3, "is not a timestamp"),
                (["order_events", "amount=1,5"], 3, 'field amount: "1,5" is not a number'),
                (["order_events", "visits=1.5"], 3, "not an integer"),
                (["order_events", "visits=9223372036854775808"], 3, "not an integer"),
                (["order_events", "paid=maybe"], 3, "not true or false"),
                (["order_events", "order_id=A", "order_id=B"], 3, "given twice"),
                (["order_events", "order_id"], 3, "not of the form FIELD=VALUE"),
                (["order_events"], 2, "an argument is missing after order_events"),
                (["nowhere", "a=b"], 4, "there is no table nowhere"),
                (["order_events", "order_id=A"], 3, "field ts is missing"),
                (["order_events", "order_id=A", "ts=1", "status=limit"], 6, "too large"),
                (["order_events", "order_id=A", "ts=1", "status=busy"], 7, "Retry in 5 ms"),
                (["order_events", "order_id=A", "ts=1", "status=unknown"], 10, "outcome of the write is unknown"),
            ]:
                with self.subTest(words=words):
                    self.assertIn(message, self.run_bad(code, gateway, "put", *words))
            self.assertIn("logged this as request r-1", self.run_bad(4, gateway, "describe", "x"))

    def test_put_generated(self):
        with FakeGateway() as gateway:
            out = self.run_ok(gateway, "put", "order_events", "order_id=A", "ts=1", "status=makes", "-o", "json")
            self.assertEqual(json.loads(out), [{"visits": 7}])

    def test_put_if(self):
        with FakeGateway() as gateway:
            first = ["put", "order_events", "order_id=A", "ts=1", "status=new"]
            self.run_ok(gateway, *first, "--if-absent", "status")
            self.assertIn("does not meet", self.run_bad(3, gateway, *first, "--if-absent", "status"))
            self.run_ok(gateway, "put", "order_events", "order_id=A", "ts=1", "status=paid", "--if", "status=new")
            self.assertEqual(gateway.handler.rows["A", 1]["status"].text, "paid")
            makes = ["put", "order_events", "order_id=A", "ts=1", "status=makes", "-o", "json", "--if"]
            self.assertEqual(json.loads(self.run_ok(gateway, *makes, "status=paid")), [{"visits": 7}])
            self.assertNotIn("visits", self.run_bad(3, gateway, *makes, "status=paid"))

    def test_remove_and_increment(self):
        with FakeGateway() as gateway:
            gateway.handler.rows["A", 1] = event("A", 1, status="x", city="Ulm")
            self.run_ok(gateway, "remove", "order_events", "order_id=A", "ts=1", "--columns", "city")
            self.assertNotIn("city", gateway.handler.rows["A", 1])
            out = self.run_ok(gateway, "increment", "order_events", "order_id=A", "ts=1", "visits=5", "-o", "jsonl")
            self.assertEqual(json.loads(out), {"visits": 5})
            out = self.run_ok(gateway, "increment", "order_events", "order_id=A", "ts=1", "visits=-7", "-o", "jsonl")
            self.assertEqual(json.loads(out), {"visits": -2})
            self.run_bad(2, gateway, "increment", "order_events", "order_id=A", "ts=1", "--raw")
            for wrong in ("amount=1", "status=1"):
                self.assertIn("only int fields can be incremented", self.run_bad(3, gateway, "increment", "order_events", "order_id=A", "ts=1", wrong))
            out = self.run_ok(gateway, "allocate", "order_events", "visits", "5", "-o", "jsonl")
            self.assertEqual(json.loads(out), {"first": 100, "last": 104})
            out = self.run_ok(gateway, "allocate", "order_events", "visits", "ts=17", "-o", "jsonl")
            self.assertEqual(json.loads(out), {"first": 100, "last": 100})
            self.assertEqual(gateway.handler.scope, {"ts": t.Value(number=17)})
            self.run_bad(2, gateway, "allocate", "order_events", "visits", "0")
            self.run_bad(2, gateway, "allocate", "order_events", "visits", "many")
            self.run_ok(gateway, "remove", "order_events", "order_id=A", "ts=1")
            self.assertEqual(gateway.handler.rows, {})


class Reading(Case):
    def setUp(self):
        self.gateway = FakeGateway().__enter__()
        for i in range(5):
            self.gateway.handler.rows["A", T0 + i] = event("A", T0 + i, status=f"s{i}")
        self.gateway.handler.rows["A", T0 + 4]["amount"] = t.Value(real=0.1)

    def tearDown(self):
        self.gateway.__exit__()

    def test_get(self):
        out = self.run_ok(self.gateway, "get", "order_events", "order_id=A", "ts=2026-11-21 10:00:00.004", "-o", "json")
        want = {"order_id": "A", "ts": "2026-11-21T10:00:00.004Z", "status": "s4", "amount": 0.1}
        self.assertEqual(json.loads(out), [want])
        self.assertIn("no such record", self.run_bad(4, self.gateway, "get", "order_events", "order_id=B", "ts=1"))

    def test_scan_follows_cursors(self):
        out = self.run_ok(self.gateway, "scan", "order_events", "order_id=A", "-o", "jsonl", "--raw")
        self.assertEqual([json.loads(line)["ts"] for line in out.splitlines()], [T0 + i for i in range(5)])
        table = self.run_ok(self.gateway, "scan", "order_events")
        self.assertEqual(len(table.splitlines()), 2 + 5 + 1)
        self.assertIn("(5 rows, 10 scanned, 2.00 per row)", table)

    def test_formats(self):
        rows = list(csv.DictReader(io.StringIO(self.run_ok(self.gateway, "scan", "order_events", "-o", "csv"))))
        self.assertEqual([r["status"] for r in rows], [f"s{i}" for i in range(5)])
        self.assertEqual(rows[4]["amount"], "0.1")
        self.assertEqual(len(json.loads(self.run_ok(self.gateway, "scan", "order_events", "-o", "json"))), 5)
        self.gateway.handler.rows.clear()
        self.assertEqual(json.loads(self.run_ok(self.gateway, "scan", "order_events", "-o", "json")), [])
        self.assertEqual(self.run_ok(self.gateway, "scan", "order_events", "-o", "jsonl"), "")
        self.assertIn("not an output format", self.run_bad(2, self.gateway, "scan", "order_events", "-o", "xml"))

    def test_long_values_are_truncated_in_tables(self):
        self.gateway.handler.rows = {("A", 1): event("A", 1, status="ä" * 5000, city="Ulm")}
        table = self.run_ok(self.gateway, "scan", "order_events")
        self.assertIn("ä" * 120 + "... (4880 more)", table)
        self.assertLess(max(len(line) for line in table.splitlines()), 300)
        for form in ("json", "jsonl", "csv"):
            self.assertIn("ä" * 5000, self.run_ok(self.gateway, "scan", "order_events", "-o", form))

    def test_stored_text_cannot_control_the_terminal(self):
        self.gateway.handler.rows = {("A", 1): event("A", 1, status="\x1b[2J\x9b1mx\ny")}
        self.assertIn("\\x1B[2J\\x9B1mx\\x0Ay", self.run_ok(self.gateway, "scan", "order_events"))

    def test_query(self):
        self.run_ok(self.gateway, "scan", "order_events", "-w", "order_id=A", "--any", "city=Ulm,Bad\\, Ems", "--any",
                    "city=Kiel", "--from", "ts=2026-11-21", "--through", "ts=1795255200004", "--desc", "--limit", "7",
                    "--path", "primary", "--columns", "status,city", "--filter", "F", "--full-scan", "--page-rows", "9",
                    "--page-bytes", "1000", "--timeout", "4000", "--skip-undecodable")
        query = self.gateway.handler.queries[-1]
        cities = [v.text for v in query.bound_any["city"]]
        self.assertEqual(cities, ["Ulm", "Bad, Ems", "Kiel"])
        self.assertEqual(query.range, t.Range("ts", t.Value(number=T0 - 36000000), t.Value(number=T0 + 4), True, True))
        self.assertEqual((query.order, query.limit, query.path), (t.Order.DESCENDING, 7, "primary"))
        self.assertEqual((query.columns, query.filter, query.full_scan), (["status", "city"], "F", True))
        self.assertEqual((query.page_rows, query.page_bytes, query.deadline_ms, query.skip_undecodable), (9, 1000, 4000, True))
        self.run_ok(self.gateway, "latest", "order_events", "--after", "ts=1", "--to", "ts=99", "--asc")
        query = self.gateway.handler.queries[-1]
        self.assertEqual(query.range, t.Range("ts", t.Value(number=1), t.Value(number=99), False, False))
        self.assertEqual((query.order, query.limit), (t.Order.ASCENDING, 1))

    def test_query_errors(self):
        for words, message in [(["--asc", "--desc"], "cannot be combined"), (["--from", "ts=1", "--after", "ts=2"], "cannot be combined"),
                               (["--from", "ts=1", "--to", "visits=2"], "range starts on field ts"), (["--columns", "x"], 'field "x"'),
                               (["--limit", "-1"], "negative"), (["city=Ulm", "-w", "city=Kiel"], "field city is given twice"),
                               (["-w", "city=Ulm", "-w", "city=Kiel"], "field city is given twice")]:
            with self.subTest(words=words):
                self.assertIn(message, self.run_bad(3, self.gateway, "scan", "order_events", *words))
        for end in ("--from", "--after", "--to", "--through"):
            printed = self.run_bad(2, self.gateway, "scan", "order_events", end, "ts=1", end, "visits=2")
            self.assertIn(f"{end} is given twice", printed)

    def test_latest(self):
        out = self.run_ok(self.gateway, "latest", "order_events", "order_id=A", "-o", "jsonl")
        self.assertEqual(json.loads(out)["status"], "s4")
        out = self.run_ok(self.gateway, "latest", "order_events", "order_id=A", "--limit", "3", "-o", "jsonl")
        self.assertEqual([json.loads(line)["status"] for line in out.splitlines()], ["s4", "s3", "s2"])
        self.assertEqual(self.gateway.handler.queries[-1].order, t.Order.DESCENDING)

    def test_explain(self):
        done = keyway(self.gateway, "scan", "order_events", "--explain", "-o", "jsonl")
        self.assertIn("path primary, 1 range", done.stderr)
        self.assertIn("* nothing fans out", done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 5)
        out = json.loads(self.run_ok(self.gateway, "explain", "order_events", "order_id=A", "-o", "json"))
        self.assertEqual((out["ranges"][0]["start"], out["ranges"][0]["stop_hex"]), ("\\x00a", "0062"))
        self.assertEqual((out["path"], out["ranges_count"], out["reversed"]), ("primary", 1, False))
        self.assertEqual((out["notes"], out["expected_reads_per_row"]), (["nothing fans out"], 1))
        out = json.loads(self.run_ok(self.gateway, "explain", "--put", "order_events", "order_id=A", "-o", "json"))
        key = out["keys"][0]
        self.assertEqual((key["row_key"], key["components"][0]["hex"]), ("\\x01|", "017c"))
        self.assertEqual((key["region_start"], key["region_stop"], key["region_server"]), ("", "@", "rs1:16020"))
        self.assertEqual(out["notes"], [])
        for words in (["order_id=A"], ["--put", "order_id=A"]):
            self.assertEqual(len(self.run_ok(self.gateway, "explain", "order_events", *words, "-o", "jsonl").splitlines()), 1)
            rows = list(csv.DictReader(io.StringIO(self.run_ok(self.gateway, "explain", "order_events", *words, "-o", "csv"))))
            self.assertEqual((len(rows), rows[0]["path"]), (1, "primary"))
        text = self.run_ok(self.gateway, "explain", "--put", "order_events", "order_id=A")
        self.assertIn("row key  \\x01|", text)
        self.assertIn("    literal   2 bytes  \\x01|  hex 017c\n", text)
        self.assertIn("  region   from the beginning to @ on rs1:16020\n", text)


class Importing(Case):
    def file(self, name, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, name)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def test_csv(self):
        text = 'order_id,ts,status,city\r\nA,1,new,\r\n\r\n"B, ""b""",2026-11-21,"two\nlines",""\r\n'
        with FakeGateway() as gateway:
            done = keyway(gateway, "import", "order_events", str(self.file("x.csv", text)))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("2 records written, 0 rejected", done.stderr)
            self.assertNotIn("city", gateway.handler.rows["A", 1])
            row = gateway.handler.rows['B, "b"', T0 - 36000000]
            self.assertEqual((row["status"].text, row["city"].text), ("two\nlines", ""))

    def test_jsonl_and_rejects(self):
        lines = ['{"order_id": "A", "ts": "2026-11-21T10:00:00Z", "amount": 3, "visits": null, "paid": true}', "",
                 '{"order_id": "B", "ts": "noon"}', "no json", '{"order_id": "C"}',
                 '{"order_id": "D", "ts": 4, "status": "unknown"}', '{"order_id": ["E"], "ts": 5}',
                 '{"order_id": "F", "ts": 6, "status": "busy"}']
        path = self.file("x.jsonl", "\n".join(lines))
        with FakeGateway() as gateway:
            done = keyway(gateway, "import", "order_events", str(path))
            self.assertEqual(done.returncode, 9, done.stderr)
            self.assertIn("2 records written, 5 rejected", done.stderr)
            self.assertEqual(sorted(gateway.handler.rows), [("A", T0), ("F", 6)])
            self.assertEqual(gateway.handler.rows["A", T0]["amount"], t.Value(real=3.0))
            rejects = [json.loads(line) for line in pathlib.Path(f"{path}.rejected.jsonl").read_text().splitlines()]
            self.assertEqual(sorted(r["line"] for r in rejects), [3, 4, 5, 6, 7])
            by_line = {r["line"]: r for r in rejects}
            self.assertIn('field ts: "noon"', by_line[3]["error"])
            self.assertEqual(by_line[3]["record"], {"order_id": "B", "ts": "noon"})
            self.assertTrue(by_line[6]["maybe_applied"])
            self.assertNotIn("maybe_applied", by_line[5])
            self.assertEqual(by_line[4]["record"], "no json")
            # Corrected, the reject file itself can be imported.
            by_line[3]["record"]["ts"] = 9
            fixed = self.file("fixed.jsonl", json.dumps(by_line[3]))
            self.run_ok(gateway, "import", "order_events", str(fixed))
            self.assertIn(("B", 9), gateway.handler.rows)

    def test_import_reads_the_output_of_scan(self):
        """Spaces at the ends, empty texts, signs of zero, the largest and the smallest numbers."""
        texts = ["", " ", "\t", " a", "a\t", "a ", '"', "a,b", "x\ny", "NULL", "-0", "\\x41", "日本"]
        reals = [0.0, -0.0, 5e-324, 1e22, -1e-56, 1.7976931348623157e308, 0.1, float("inf"), float("-inf")]
        many = [event("A" + text, ts, city=text) for ts, text in enumerate(texts)]
        for ts, row in enumerate(many):
            row["amount"] = t.Value(real=reals[ts % len(reals)])
        with FakeGateway() as gateway:
            for form in ("csv", "jsonl"):
                gateway.handler.rows = {(row["order_id"].text, row["ts"].number): row for row in many}
                before = {key: dict(row) for key, row in gateway.handler.rows.items()}
                path = self.file(f"x.{form}", self.run_ok(gateway, "scan", "order_events", "-o", form))
                gateway.handler.rows.clear()
                self.run_ok(gateway, "import", "order_events", str(path))
                rows = gateway.handler.rows
                self.assertEqual(repr(sorted(rows)), repr(sorted(before)), form)
                for key, row in before.items():
                    for name, held in row.items():
                        self.assertEqual(repr(rows[key].get(name)), repr(held), (form, key, name))

    def test_json_is_imported_unchanged(self):
        """Imports the same numbers, texts and number of records as in the file."""
        key = '{"order_id": "A", "ts": %s}'
        bad = [key % "9223372036854775808", key % "-9223372036854775809", key % "99999999999999999999", key % "010",
               key % "0x1F", key % "$ff", key % "5.", key % "+5", key % "5/*x*/", key % "5" + key % "6", key % "NaN",
               r'{"order_id": "A\u0000B", "ts": 1}', '{"order_id": "A\0B", "ts": 1}', "{'order_id': 'A', 'ts': 1}",
               '{"order_id": "A", "ts": 1, "amount": 1e999}', "[" * 100000, '{"order_id": "A',
               r'{"order_id": "\d", "ts": 1}', r'{"order_id": "\u12", "ts": 1}',
               '{"order_id": "A", "ts": "x", "amount": 1e22, "city": [null, true, {"a": -2e-99}]}']
        good = [key % "1", key % "-9223372036854775808", '{"order_id": "A", "ts": 2, "amount": 100000000000000000000}',
                '{"order_id": "A", "ts": 3, "amount": 5e-324}', '{"order_id": 12345678901234567890, "ts": 4}',
                r'{"order_id": "A\\u0000", "ts": 5}', '{"order_id": "A", "ts": 6, "amount": -0.1e+2 }  ']
        path = self.file("x.jsonl", "\n".join(bad + good))
        with FakeGateway() as gateway:
            done = keyway(gateway, "import", "order_events", str(path))
            self.assertIn(f"{len(good)} records written, {len(bad)} rejected", done.stderr)
            rows = gateway.handler.rows
            self.assertEqual(sorted(rows), [("12345678901234567890", 4), ("A", -2**63), ("A", 1), ("A", 2), ("A", 3),
                                            ("A", 6), ("A\\u0000", 5)])
            self.assertEqual([rows["A", ts]["amount"].real for ts in (2, 3, 6)], [1e20, 5e-324, -10.0])
            rejects = [json.loads(line) for line in pathlib.Path(f"{path}.rejected.jsonl").read_text().splitlines()]
            by_line = {r["line"]: r for r in rejects}
            self.assertIn('"9223372036854775808" is not a timestamp', by_line[1]["error"])
            self.assertEqual(by_line[3]["record"], {"order_id": "A", "ts": "99999999999999999999"})
            self.assertIn("not a valid JSON number: 010", by_line[4]["error"])
            self.assertIn('unexpected text after the value: {"order_id"', by_line[10]["error"])
            self.assertIn("NUL byte", by_line[12]["error"])
            self.assertIn("not a valid JSON escape: ", by_line[18]["error"])
            self.assertEqual(by_line[20]["record"], {**json.loads(bad[19]), "amount": "1e22"})
            again = keyway(gateway, "import", "order_events", f"{path}.rejected.jsonl")
            self.assertIn(f"0 records written, {len(bad)} rejected", again.stderr)
            self.assertIn("the line's record is not a JSON object", again.stderr)
            path = self.file("x.csv", "order_id,ts\nA\0B,1\nA,7\n")
            done = keyway(gateway, "import", "order_events", str(path))
            self.assertIn("1 records written, 1 rejected", done.stderr)
            self.assertIn("x.csv:2: a string with a NUL byte is not supported", done.stderr)
            self.assertEqual(self.rejected_cells(path), [["A\u2400B", "1"]])
            done = keyway(gateway, "put", "order_events", "order_id=A", "ts=8", "amount=2e-310")
            self.assertEqual((done.returncode, rows["A", 8]["amount"].real), (0, 2e-310))

    def rejected_cells(self, path):
        """The cells of rejected rows that have no fields. No import writes such a row before it was corrected."""
        rejects = pathlib.Path(f"{path}.rejected.jsonl")
        with FakeGateway() as gateway:
            done = keyway(gateway, "import", "order_events", str(rejects))
            self.assertIn("0 records written", done.stderr)
        return [json.loads(line)["record"] for line in rejects.read_text().splitlines()]

    def test_rejected_rows_keep_all_cells(self):
        path = self.file("x.csv", "order_id,ts,city\nA,1,x,y\nB,2\nC,3,\n")
        with FakeGateway() as gateway:
            done = keyway(gateway, "import", "order_events", str(path))
            self.assertIn("1 records written, 2 rejected", done.stderr)
        self.assertEqual(self.rejected_cells(path), [["A", "1", "x", "y"], ["B", "2"]])

    def test_batches_and_stdin(self):
        text = "order_id,ts\n" + "".join(f"A,{i}\n" for i in range(25))
        with FakeGateway() as gateway:
            self.run_ok(gateway, "import", "order_events", "-", "--batch", "10", stdin=text)
            self.assertEqual(gateway.handler.batches, [10, 10, 5])
            self.assertEqual(len(gateway.handler.rows), 25)
            self.run_ok(gateway, "import", "order_events", "-", stdin='{"order_id": "Z", "ts": 1}\n')
            self.assertIn(("Z", 1), gateway.handler.rows)

    def test_progress(self):
        """A progress bar on a terminal, none elsewhere."""
        path = self.file("x.csv", "order_id,ts\n" + "".join(f"A,{i}\n" for i in range(2000)))
        with FakeGateway() as gateway:
            near, far = pty.openpty()
            words = [KEYWAY, "-g", gateway.address, "import", "order_events", str(path)]
            with subprocess.Popen(words, stderr=far) as started:
                os.close(far)
                shown = b""
                with contextlib.suppress(OSError):  # the end of a terminal
                    while piece := os.read(near, 65536):
                        shown += piece
                self.assertEqual(started.wait(60), 0, shown)
            os.close(near)
            self.assertRegex(shown.decode(), r"x\.csv  \[=* *\] +\d+%  \d+ records  \d+/s")
            self.assertIn("2000 records written", shown.decode())
            self.assertNotIn("[", keyway(gateway, "import", "order_events", str(path)).stderr)

    def interrupt(self, text, wait_s=0):
        """Sends Ctrl-C after the first batch of two records, and a while later. Returns the printed errors."""
        with FakeGateway() as gateway:
            words = [KEYWAY, "-g", gateway.address, "import", "order_events", "-", "--batch", "2"]
            with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as started:
                started.stdin.write(text)
                started.stdin.flush()
                while not gateway.handler.batches:
                    self.assertIsNone(started.poll())
                    time.sleep(0.01)
                time.sleep(wait_s)
                started.send_signal(signal.SIGINT)
                self.assertEqual(started.wait(60), 130)
                printed = started.stderr.read()
            self.assertEqual(gateway.handler.batches, [2])
            return printed

    def test_interrupted(self):
        """Ctrl-C completes or drops a whole batch, and prints the line to continue from."""
        self.assertIn("the import was interrupted\n  2 records were written, 0 rejected; line 4 is the first",
                      self.interrupt("order_id,ts\nA,1\nB,2\nC,3\n"))

    def test_interrupted_within_a_line(self):
        """A line of which only a part was read is not written: its number or text may go on."""
        self.assertIn("2 records were written, 0 rejected; line 4 is the first",
                      self.interrupt("order_id,ts\nA,1\nB,2\nC,3\nD,4", wait_s=0.2))  # it waits for the rest of the line

    def test_library_errors(self):
        """Errors of json-glib and libcsv become messages; a number outside the range of a double is rejected."""
        with FakeGateway() as gateway:
            lines = ['{"order_id": "B"', '{"order_id": "C", "ts": 1, "amount": 1e400}']
            done = keyway(gateway, "import", "order_events", str(self.file("x.jsonl", "\n".join(lines))))
            self.assertEqual(done.returncode, 9)
            self.assertIn("x.jsonl:1: the line is not JSON: ", done.stderr)
            self.assertNotIn("<data>", done.stderr)
            self.assertIn('field amount: "1e400" is not a number that a double can hold', done.stderr)
            printed = self.run_bad(3, gateway, "import", "order_events", str(self.file("y.csv", 'order_id,ts\n"A,1\n')))
            self.assertIn("line 2: a quote is not closed", printed)

    def test_files_that_cannot_be_read(self):
        with FakeGateway() as gateway:
            for name, text, message in [("a.csv", "", "has no lines"), ("b.csv", "order_id,tss\n", 'no field "tss"'),
                                        ("c.csv", "ts,ts\n", "listed twice"), ("d.csv", 'ts\n"1', "line 2"),
                                        ("f.csv", 'Saved to "x":\norder_id,ts\n', "line 1: a quote is not closed, or is inside a cell "
                                         "that does not start with a quote; the first line must have the names of the fields")]:
                with self.subTest(name=name):
                    self.assertIn(message, self.run_bad(3, gateway, "import", "order_events", str(self.file(name, text))))
            self.assertIn("No such file", self.run_bad(1, gateway, "import", "order_events", "/nowhere/x.csv"))
            printed = self.run_bad(1, gateway, "policy", "apply", "/nowhere/x.yaml")
            self.assertEqual(printed, "keyway: /nowhere/x.yaml: No such file or directory\n")
            done = keyway(gateway, "import", "order_events", str(self.file("e.csv", "order_id,ts\nA\nB,1\n")))
            self.assertEqual(done.returncode, 9)
            self.assertIn("e.csv:2: 1 cells, but line 1 names 2 fields", done.stderr)
            done = keyway(gateway, "import", "order_events", str(self.file("g.json", "Saved\n")))
            self.assertEqual(done.returncode, 9)
            self.assertIn("g.json:1: the line is not JSON", done.stderr)
            done = keyway(gateway, "import", "order_events", str(self.file("f.csv", "\n\norder_id,ts\nA\nB,1\n")))
            self.assertIn("f.csv:4: 1 cells, but line 3 names 2 fields", done.stderr)


class Administration(Case):
    def test_tables_describe_policy_stats(self):
        with FakeGateway() as gateway:
            self.assertEqual(self.run_ok(gateway, "tables", "-o", "csv"), "table\norder_events\ntables\n")
            out = self.run_ok(gateway, "describe", "order_events")
            self.assertIn("Events of orders.", out)
            self.assertIn("hash md5(order_id) + field order_id", out)
            fields = json.loads(self.run_ok(gateway, "describe", "order_events", "-o", "json"))
            self.assertEqual([f["field"] for f in fields][:2], ["order_id", "ts"])
            self.assertEqual(self.run_ok(gateway, "policy"), "tables: {}\n")
            self.assertIn("abcd", self.run_ok(gateway, "policy", "--layouts"))
            self.assertEqual(self.run_ok(gateway, "stats", "keyway_up", "-o", "csv"), "name,value\nuptime_seconds,0.5\n")
            for prefix in ("store_c", "store_calls_total", "keyway_store_calls_total"):
                self.assertEqual(self.run_ok(gateway, "stats", prefix, "-o", "csv"), "name,value\nstore_calls,12\n")
            self.assertEqual(self.run_ok(gateway, "stats", "put.", "-o", "csv"), "name,value\nput.calls,3\n")
            self.run_ok(gateway, "reload")
            self.assertIn("the fingerprint differs", self.run_bad(1, gateway, "reload"))

    def test_forget(self):
        with FakeGateway() as gateway:
            self.assertIn("--yes", self.run_bad(2, gateway, "forget", "orders"))
            self.assertIn("drops rows for good", self.run_bad(2, gateway, "forget", "orders", "--drop-rows"))
            self.assertEqual(gateway.handler.forgotten, [])
            self.assertIn("still holds rows", self.run_bad(1, gateway, "forget", "orders", "--yes"))
            self.assertEqual(self.run_ok(gateway, "forget", "orders", "--path", "by_time", "--drop-rows", "--yes"),
                             "emptied store table orders_by_time\nforgotten: table orders, path by_time\n")
            self.assertEqual(gateway.handler.forgotten, [("orders", None, None), ("orders", "by_time", True)])

    def test_backup(self):
        with FakeGateway() as gateway:
            self.assertEqual(self.run_ok(gateway, "backup", "monday"), "backup monday: 3145728 bytes\n")
            self.assertIn("cannot be the name of a backup", self.run_bad(3, gateway, "backup", ".."))
            self.assertIn("an argument is missing", self.run_bad(2, gateway, "backup"))

def two_paths():
    """Has a table with two paths, which a scrub compares."""
    gateway = FakeGateway()
    gateway.handler.paths.append("by_time")
    return gateway


class Scrubbing(Case):
    @staticmethod
    def slice(progress, differences=(), **counts):
        numbers = {name: counts.get(name, 0) for name in ("missing", "different", "extra", "foreign_rows", "repaired", "unsettled")}
        return t.Scrubbed(rows=10, progress=progress, differences=list(differences), **numbers)

    @staticmethod
    def difference(kind, repaired=False):
        key = None if kind == t.DifferenceKind.FOREIGN else event("A b", T0)
        return t.Difference(kind, "by_time", b"\0\xffk", key, "note is missing", repaired)

    def test_report(self):
        kinds = [t.DifferenceKind.MISSING, t.DifferenceKind.DIFFERENT, t.DifferenceKind.EXTRA, t.DifferenceKind.FOREIGN]
        with two_paths() as gateway:
            gateway.handler.slices = [self.slice(0.5), t.KeywayError(t.Code.BUSY, "busy", retry_after_ms=1),
                                      self.slice(1, map(self.difference, kinds), missing=1, different=1, extra=1, foreign_rows=1)]
            done = keyway(gateway, "scrub", "order_events", "-o", "jsonl")
            self.assertEqual(done.returncode, 3, done.stderr)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([row["kind"] for row in rows], ["missing", "different", "extra", "foreign"])
            self.assertEqual([row["record"] for row in rows], ["order_id=A b ts=2026-11-21T10:00:00.000Z"] * 3 + ["\\x00\\xFFk"])
            self.assertEqual(rows[0], {"path": "by_time", "kind": "missing", "record": rows[1]["record"],
                                       "difference": "note is missing", "repaired": False})
            self.assertEqual(done.stderr, "order_events: 20 rows compared: 1 missing, 1 different, 1 extra, 1 foreign; 0 repaired\n")
            asked = gateway.handler.scrubs
            self.assertEqual([options.cursor for options in asked], [None, b"1", b"1"])
            self.assertEqual([(options.repair, options.max_records, options.max_differences, options.deadline_ms) for options in asked],
                             [(None, 1000, 20, 60000)] * 3)

    def test_exit(self):
        for counts, code, words in (({}, 0, ()), ({"missing": 2, "repaired": 2}, 0, ("--repair",)), ({"extra": 2, "repaired": 1}, 3, ("--repair",)),
                                    ({"unsettled": 1}, 7, ()), ({"unsettled": 1, "different": 1}, 3, ()), ({"foreign_rows": 1}, 3, ("--repair",))):
            with self.subTest(counts), two_paths() as gateway:
                gateway.handler.slices = [self.slice(1, **counts)]
                done = keyway(gateway, "scrub", "order_events", *words)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertEqual("scrub again" in done.stderr, "unsettled" in counts)
                self.assertEqual(gateway.handler.scrubs[0].repair, True if words else None)
        with two_paths() as gateway:
            self.assertIn("must not be negative", self.run_bad(2, gateway, "scrub", "order_events", "--rows-per-second", "-1"))
            self.assertIn("must not be negative", self.run_bad(2, gateway, "scrub", "order_events", "--show", "-1"))
            self.run_bad(2, gateway, "scrub")
            self.run_bad(4, gateway, "scrub", "orders")

    def test_show(self):
        """Prints at most the given number of differences over all slices."""
        with two_paths() as gateway:
            gateway.handler.slices = [self.slice(progress, [self.difference(0)] * 2, missing=2) for progress in (0.3, 0.6, 1)]
            done = keyway(gateway, "scrub", "order_events", "--show", "3", "-o", "csv")
            self.assertEqual(len(done.stdout.splitlines()), 1 + 3)
            self.assertIn("6 missing", done.stderr)
            self.assertEqual([options.max_differences for options in gateway.handler.scrubs], [3, 1, 0])

    def test_state(self):
        """A scrub that failed permanently is continued with the counts so far."""
        with two_paths() as gateway, tempfile.TemporaryDirectory() as folder:
            state = pathlib.Path(folder, "state")
            words = ("scrub", "order_events", "--state", str(state))
            gateway.handler.slices = [self.slice(0.5, missing=1), t.KeywayError(t.Code.REFUSED, "no")]
            self.assertIn(f"To continue: keyway scrub order_events --state {state}", self.run_bad(1, gateway, *words))
            gateway.handler.slices = [self.slice(1, extra=1)]
            self.assertIn("20 rows compared: 1 missing, 0 different, 1 extra", self.run_bad(3, gateway, *words))
            self.assertEqual([options.cursor for options in gateway.handler.scrubs], [None, b"1", b"1"])
            self.assertFalse(state.exists())
            state.write_text("[keyway scrub]\ntable=order_events\ncursor=3x\n")
            self.assertIn("the position in the file is damaged", self.run_bad(1, gateway, *words))
            gateway.handler.slices = [self.slice(0.5)]
            self.assertIn("the scrub stopped", self.run_bad(1, gateway, "scrub", "order_events", "--state", "/nowhere/state"))

    def test_progress(self):
        with two_paths() as gateway:
            gateway.handler.slices = [self.slice(0.25), self.slice(1)]
            near, far = pty.openpty()
            with subprocess.Popen([KEYWAY, "-g", gateway.address, "scrub", "order_events"], stderr=far) as started:
                os.close(far)
                shown = b""
                with contextlib.suppress(OSError):  # the end of a terminal
                    while piece := os.read(near, 65536):
                        shown += piece
                self.assertEqual(started.wait(60), 0, shown)
            os.close(near)
            self.assertRegex(shown.decode(), r"order_events  \[=* *\] +25%  10 records  \d+/s")

    def test_rate_limit(self):
        """Small slices, and no more rows than allowed."""
        with two_paths() as gateway:
            gateway.handler.slices = [self.slice(0.3), self.slice(0.6), self.slice(1)]
            began = time.monotonic()
            self.run_ok(gateway, "scrub", "order_events", "--rows-per-second", "20")
            self.assertGreaterEqual(time.monotonic() - began, 1)
            self.assertEqual({options.max_records for options in gateway.handler.scrubs}, {20})


class Verifying(Case):
    @staticmethod
    def slice(progress, **numbers):
        counts = dict.fromkeys(("foreign_rows", "undecodable_rows", "large_rows", "expired_rows", "future_rows", "versioned_rows", "most_versions"), 0)
        members = {"undecodable_fields": {}, "first_bytes": [], "buckets": [], "ages": [10, 0, 0, 0, 0, 0], "examples": [], "verified": progress == 1}
        return t.Verified(rows=10, progress=progress, **{**counts, **members, **numbers})

    def test_slices(self):
        with FakeGateway() as gateway:
            unfit = t.UnfitRow(b"\0\x1b", "note", "it is not UTF-8")
            gateway.handler.slices = [
                self.slice(0.5, foreign_rows=2, first_bytes=[t.RowCount(b"\0z", 2)], buckets=[t.RowCount(b"a", 8)], oldest=5, newest=7),
                t.KeywayError(t.Code.BUSY, "busy", retry_after_ms=1),
                self.slice(1, undecodable_rows=1, undecodable_fields={"note": 1}, buckets=[t.RowCount(b"a", 4), t.RowCount(b"b", 5)],
                           examples=[unfit] * 3, oldest=3, newest=4, most_versions=2, versioned_rows=1, verified=False)]
            done = keyway(gateway, "verify", "order_events", "--show", "2", "-o", "json", "--raw")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(json.loads(done.stdout), [{
                "path": "primary", "rows": 20, "done": True, "verified": False, "foreign_rows": 2, "first_bytes": {"\\x00z": 2}, "undecodable_rows": 1,
                "undecodable_fields": {"note": 1}, "large_rows": 0, "buckets": {"a": 12, "b": 5},
                "ages": {"under 1 h": 20, "under 1 d": 0, "under 7 d": 0, "under 30 d": 0, "under 365 d": 0, "older": 0},
                "oldest": 3, "newest": 7, "expired_rows": 0, "future_rows": 0, "versioned_rows": 1, "most_versions": 2,
                "examples": "row \\x00\\x1B: it is not UTF-8\nrow \\x00\\x1B: it is not UTF-8"}])
            asked = gateway.handler.verifications
            self.assertEqual([(one.path, one.cursor, one.max_rows, one.max_examples, one.deadline_ms) for one in asked],
                             [("primary", None, 10000, 2, 60000), ("primary", b"1", 10000, 2, 60000), ("primary", b"1", 10000, 2, 60000)])

    def test_paths_and_state(self):
        """A verification that failed continues with the counts so far, and does not read a finished path again."""
        with two_paths() as gateway, tempfile.TemporaryDirectory() as folder:
            state = pathlib.Path(folder, "state")
            words = ("verify", "order_events", "--state", str(state))
            gateway.handler.slices = [self.slice(1), self.slice(0.5, buckets=[t.RowCount(b"a;\\ =", 8)], foreign_rows=1), t.KeywayError(t.Code.REFUSED, "no")]
            self.assertIn(f"To continue: keyway verify order_events --state {state}", self.run_bad(1, gateway, *words))
            gateway.handler.slices = [self.slice(1, buckets=[t.RowCount(b"a;\\ =", 3)])]
            found = json.loads(self.run_bad(3, gateway, *words, "-o", "json", output="stdout"))
            self.assertEqual([(one["path"], one["rows"], one["verified"], one["foreign_rows"]) for one in found], [("primary", 10, True, 0), ("by_time", 20, True, 1)])
            self.assertEqual(found[1]["buckets"], {"a;\\x5C =": 11})
            self.assertEqual([(one.path, one.cursor) for one in gateway.handler.verifications],
                             [("primary", None), ("by_time", None), ("by_time", b"1"), ("by_time", b"1")])
            self.assertFalse(state.exists())
            state.write_text("[keyway verify]\ntable=other\n")
            self.assertIn("position in table other", self.run_bad(1, gateway, *words))
            state.write_text("[keyway verify]\ntable=order_events\n[path by_time]\nrows=3\n")
            self.assertIn("is damaged", self.run_bad(1, gateway, *words))
        with FakeGateway() as gateway:
            self.assertIn("must not be negative", self.run_bad(2, gateway, "verify", "order_events", "--show", "-1"))
            self.assertIn("must not be negative", self.run_bad(2, gateway, "verify", "order_events", "--rows-per-second", "-1"))
            self.assertIn("--repair has nothing", self.run_bad(2, gateway, "scrub", "order_events", "--repair"))
            gateway.handler.slices = [self.slice(1)]
            self.assertIn("all rows fit; the path is verified", self.run_ok(gateway, "scrub", "order_events", "--rows-per-second", "20"))
            self.assertEqual(gateway.handler.verifications[0].max_rows, 20)


class Checking(Case):
    def test_check(self):
        with FakeGateway() as gateway, tempfile.TemporaryDirectory() as folder:
            good, bad = pathlib.Path(folder, "good.yaml"), pathlib.Path(folder, "bad.yaml")
            good.write_text("key: 1\n")
            bad.write_text("kye: 1\n")
            self.assertEqual(self.run_ok(gateway, "-g", gateway.address, "check", str(good)), f"{good}: no problems\n")
            done = keyway(gateway, "check", "-g", gateway.address, str(good), str(bad))
            self.assertEqual(done.returncode, 3)
            self.assertIn(f'{bad}:3:7: error: unknown key "kye"\n  hint: did you mean "key"?\n', done.stdout)

    def test_create(self):
        with FakeGateway() as gateway:
            self.run_ok(gateway, "create", "order_events", "--if-absent", "--splits", "b,\\x80", "--family",
                        "d:compression=ZSTD,ttl_seconds=60,in_memory=true", "--family", "m")
            options = gateway.handler.created[-1]
            self.assertEqual(options.splits.keys, [b"b", b"\x80"])
            self.assertEqual(options.families, [t.FamilyOptions("d", "ZSTD", ttl_seconds=60, in_memory=True), t.FamilyOptions("m")])
            self.assertTrue(options.if_absent)
            self.run_ok(gateway, "create", "order_events", "--algorithm", "rule", "--regions", "4", "--path", "primary")
            options = gateway.handler.created[-1]
            self.assertEqual((options.splits.algorithm, options.splits.regions, options.path), ("rule", 4, "primary"))
            with tempfile.NamedTemporaryFile("w") as keys:
                keys.write("b\n\\x80\\x00\r\n\nc,d\n")
                keys.flush()
                self.run_ok(gateway, "create", "order_events", "--splits-file", keys.name)
            self.assertEqual(gateway.handler.created[-1].splits.keys, [b"b", b"\x80\0", b"c,d"])
            self.assertIn("/nowhere", self.run_bad(1, gateway, "create", "order_events", "--splits-file", "/nowhere"))
            self.run_ok(gateway, "create", "order_events", "--family", "d:compression=GZ,bloom_filter=ROWCOL,ttl_seconds=1,"
                        "max_versions=2,min_versions=3,block_size=4,block_cache=false,in_memory=true,block_encoding=DIFF,"
                        "replication_scope=1,keep_deleted_cells=true")
            self.assertEqual(gateway.handler.created[-1].families,
                             [t.FamilyOptions("d", "GZ", "ROWCOL", 1, 2, 3, 4, False, True, "DIFF", 1, True)])
            with tempfile.NamedTemporaryFile("w", suffix=".csv") as sample:
                sample.write("order_id,ts\nA,1\nB,2\n")
                sample.flush()
                self.run_ok(gateway, "create", "order_events", "--sample", sample.name, "--regions", "2")
            self.assertEqual(len(gateway.handler.created[-1].splits.sample), 2)
            for words, message in [(["--regions", "4"], "--regions needs"), (["--family", "d:ttl=1"], "unknown option"),
                                   (["--family", "d:in_memory=1"], "neither true nor false"),
                                   (["--splits", "a", "--algorithm", "rule"], "cannot be combined")]:
                self.assertIn(message, self.run_bad(3, gateway, "create", "order_events", *words))


class Connecting(Case):
    def test_addresses(self):
        self.assertIn("cannot reach a gateway at 127.0.0.1:1", self.run_bad(7, "127.0.0.1:1", "tables"))
        self.assertIn("is not an address", self.run_bad(3, "127.0.0.1:x", "tables"))
        self.assertIn("cannot resolve the host name", self.run_bad(7, "no-such-host.invalid:1", "tables"))
        self.assertIn("did you mean", self.run_bad(2, "127.0.0.1:1", "tabels"))

    def test_help(self):
        out = self.run_ok("127.0.0.1:1", "scan", "--help")
        self.assertIn("--page-rows", out)
        self.assertIn("--gateway", out)
        self.assertIn("describe", self.run_ok("127.0.0.1:1", "--help"))


def binary(name, body, kind=2, length=None):
    name = name.encode()
    return struct.pack(">II", 0x80010000 | kind, len(name) if length is None else length) + name + struct.pack(">I", 0) + body


class Hostile(Case):
    """Replies that crash or hang the Thrift runtime. The program reports them, and exits with 1 or 7."""

    def check(self, reply, message, code=1, words=("tables",), hang=False):
        with HostileGateway(reply, hang) as gateway:
            self.assertIn(message, self.run_bad(code, gateway, *words))

    def test_text(self):
        self.check(b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not use the binary protocol")
        self.check(b"HTTP/1.1 400 Bad Request\r\n\r\n", "longer than", words=("--framed", "tables"))
        self.check(b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not use the compact", words=("--compact", "tables"))

    def test_lengths(self):
        strings = b"\x0f\x00\x00\x0b"
        self.check(binary("tables", strings + b"\xff\xff\xff\xff"), "a length of -1")
        self.check(binary("tables", strings + b"\x7f\xff\xff\xff"), "a length of 2147483647")
        self.check(binary("tables", strings + b"\0\0\0\1\xff\xff\xff\xff"), "a length of -1")
        self.check(binary("", b"", length=0xFFFFFFFF), "a length of -1")
        self.check(b"\x82\x41\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "a number is too long", words=("--compact", "tables"))
        self.check(b"\xff\xff\xff\xff", "a frame of -1 bytes", words=("--framed", "tables"))

    def test_truncated(self):
        whole = binary("tables", b"\x0f\x00\x00\x0b\0\0\0\1\0\0\0\4name\0")
        for cut in range(len(whole)):
            self.check(whole[:cut], "closed the connection", code=7)
        frame = struct.pack(">I", len(whole) - 1) + whole[:-1]
        self.check(frame, "it ends early", words=("--framed", "tables"))
        with HostileGateway(whole) as gateway:
            self.assertEqual(self.run_ok(gateway, "tables", "-o", "csv"), "table\nname\n")

    def test_no_reply(self):
        self.check(b"\x80\x01", "did not reply in time", code=8, words=("--timeout", "2000", "tables"), hang=True)

    def test_nesting(self):
        self.check(binary("tables", b"\x0c\x00\x05" * 100000), "nested deeper than 64")
        self.check(b"\x82\x41\x00\x06tables" + b"\x5c" * 100000, "nested deeper than 64", words=("--compact", "tables"))

    def test_wrong_replies(self):
        self.check(binary("tables", b"\0"), "it has no result")
        self.check(binary("tables", b"\x08\x00\x00\0\0\0\1\0"), "it has no result")
        self.check(binary("table", b"\0"), "it is not for the method tables")
        self.check(binary("tables", b"\0", kind=1), "message type 1")
        self.check(binary("tables", b"\x0f\x00\x00\x0b\0\0\0\0\0more"), "more bytes follow it")
        twice = b"\x0b\x00\x02\0\0\0\1c" * 2
        page = b"\x0c\x00\x00" + twice + b"\0\0"
        self.check(binary("tables", page), "field 2 occurs twice")
        application = b"\x0b\x00\x01\0\0\0\3boo\x08\x00\x02\0\0\0\1\0"
        self.check(binary("tables", application, kind=3), "does not have this method: application error: boo", code=4)
        self.check(binary("tables", application[:-5] + b"\0\0\0\6\0", kind=3), "could not process the call")

    def test_mutated_replies(self):
        """Whatever the reply, the program exits: with rows, or with a message."""
        seed = int(os.environ.get("KW_SEED", random.randrange(2**32)))
        chance = random.Random(seed)
        for framed, compact in FORMS:
            flags = ["--framed"] * framed + ["--compact"] * compact
            with FakeGateway(framed, compact) as gateway:
                gateway.handler.rows["A", 1] = event("A", 1, status="s", city="Ulm")
                answers = {name: gateway.answer(name, *arguments) for name, arguments in
                           [("describe", ["order_events"]), ("tables", []), ("stats", []), ("policy", [])]}
            for _ in range(40):
                name, whole = chance.choice(list(answers.items()))
                start = 4 if framed else 0  # keeps the frame's length, so that the message itself is parsed
                reply = bytearray(whole)
                for _ in range(chance.randrange(1, 4)):
                    reply[chance.randrange(start, len(reply))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
                words = [*flags, "-t", "2000", name] + ["order_events"] * (name == "describe")
                with self.subTest(seed=seed, reply=reply.hex()), HostileGateway(bytes(reply)) as gateway:
                    done = keyway(gateway, *words)
                    self.assertIn(done.returncode, range(0, 11), done.stderr)
                    self.assertNotIn("Sanitizer", done.stderr)
                    self.assertNotIn("CRITICAL", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
