"""Values and files as other programs write them: keyway stores what they mean, or rejects them and says why.

Arguments: the program. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import json
import pathlib
import tempfile
import unittest

import fake_gateway
from fake_gateway import FakeGateway, HostileGateway
from keyway_thrift import ttypes as t
from test_cli import Case, keyway

fake_gateway.FIELDS += [t.FieldInfo("ns", "timestamp", False, "d:ns", "ns"), t.FieldInfo("s", "timestamp", False, "d:s", "s"),
                        t.FieldInfo("tags", "map", False, "m:*", of="string")]
T0 = 1795255200000  # 2026-11-21T10:00:00Z


class Spellings(Case):
    def setUp(self):
        self.gateway = FakeGateway().__enter__()
        self.addCleanup(self.gateway.__exit__)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def stored(self):
        """The fields of each record without its order_id, by order_id; empties the table."""
        def plain(value):
            return {k: plain(v) for k, v in value.entries.items()} if value.entries is not None else fake_gateway.plain(value)
        rows = {key[0]: {n: plain(v) for n, v in row.items() if n != "order_id"}
                for key, row in self.gateway.handler.rows.items()}
        self.gateway.handler.rows.clear()
        return rows

    def load(self, name, content, *words, rejected=0):
        """Imports a file and returns what was stored and printed."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        done = keyway(self.gateway, "import", "order_events", str(path), *words)
        self.assertEqual(done.returncode, 9 if rejected else 0, done.stderr)
        self.assertIn(f", {rejected} rejected", done.stderr)
        return self.stored(), done.stderr

    def put(self, *words, status=0):
        """The fields of the record, or the error."""
        done = keyway(self.gateway, "put", "order_events", "order_id=A", *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return self.stored()["A"] if status == 0 else done.stderr

    # --- numbers ----------------------------------------------------------------------------------

    def test_digits_of_json_are_kept_in_strings(self):
        numbers = ["19.90", "100.0", "12345678901234567.89", "3.14159265358979323846", "1e3", "-0", "1E400", "0.10e-2", "7",
                   "123456789012345678901234567890"]
        rows, _ = self.load("x.jsonl", "".join(f'{{"order_id": {n}, "ts": 1, "city": {n}, "tags": {{"a": {n}}}}}\n' for n in numbers))
        self.assertEqual(rows, {n: {"ts": 1, "city": n, "tags": {"a": n}} for n in numbers})
        rows = self.put("ts=1", 'tags={"a": 7.50}')
        self.assertEqual(rows["tags"], {"a": "7.50"})

    def test_integers(self):
        good = {"1.0": 1, "-2.50e1": -25, "1e3": 1000, "+7": 7, "0.0": 0, "-0": 0, "0e99": 0, "9223372036854775807.0": 2**63 - 1,
                "-9.223372036854775808E18": -2**63, "12.": 12, ".5e1": 5}
        for text, number in good.items():
            self.assertEqual(self.put("ts=1", f"visits={text}")["visits"], number, text)
        for text in ("1.5", "1e-1", "9223372036854775808", "9.3e18", "1e99999999999", "+-5", "--5", "1e", "e5", ".", "", " 5", "5 ", "0x10"):
            self.assertIn("is not an integer of 64 bits", self.put("ts=1", f"visits={text}", status=3), text)
        rows, _ = self.load("x.csv", "order_id,ts,visits\nA,1.7e12,1.0\n")
        self.assertEqual(rows["A"], {"ts": 1_700_000_000_000, "visits": 1})

    def test_doubles_that_do_not_fit(self):
        self.assertIn("too close to 0", self.put("ts=1", "amount=1e-400", status=3))
        self.assertIn("a number that a double can hold", self.put("ts=1", "amount=1e400", status=3))
        self.assertEqual(self.put("ts=1", "amount=4e-324")["amount"], 5e-324)

    def test_flags(self):
        for text, flag in {"True": True, "TRUE": True, "t": True, "Yes": True, "False": False, "FALSE": False, "f": False, "no": False}.items():
            self.assertEqual(self.put("ts=1", f"paid={text}")["paid"], flag, text)
        self.assertIn('"maybe" is not true or false', self.put("ts=1", "paid=maybe", status=3))

    def test_bytes(self):
        self.assertEqual(self.put("ts=1", r"blob=\x0A\xffa\b")["blob"], b"\x0a\xffa\\b")
        for text in (r"\xZZ", r"\x", r"\x4", r"a\x4g"):
            self.assertIn("two hexadecimal digits", self.put("ts=1", "blob=" + text, status=3))
        for words in (("decode", "order_events", r"a\xZZ"), ("create", "order_events", "--splits", r"a,\x4")):
            self.assertIn("two hexadecimal digits", self.run_bad(3, self.gateway, *words))

    # --- times ------------------------------------------------------------------------------------

    def test_times(self):
        good = {"2026-11-21T10:00": T0, "2026-11-21T10:00Z": T0, "2026-11-21T18:00+08:00": T0, "2026-11-21t10:00:00z": T0,
                "2026-11-21T10:00:00.250000+00:00": T0 + 250, "2026-11-21T10:00:00,5Z": T0 + 500, "2026-11-21 10:00:00+00": T0,
                "2026-11-21T15:30+0530": T0, "2026-11-21T18:00+08:00[Asia/Shanghai]": T0, "2026-11-21T10:00Z[UTC]": T0,
                "2026-11-21 10:00:00 UTC": T0, "20261121T100000Z": T0, "20261121T1000": T0, "2026-11-21T00:00-10:00": T0,
                "2024-02-29": 1709164800000, "0001-01-01": -62135596800000, "-5": -5, "+20261121": 20261121, "1.5e3": 1500}
        for text, stamp in good.items():
            self.assertEqual(self.put(f"ts={text}")["ts"], stamp, text)

    def test_wrong_times_name_the_cause(self):
        bad = {"now-10min": "after now, write", "now-1": "after now, write", "99999999999999999999": "64 bits", "2026-02-29": "month 2026-02 has no day 29", "2026-13-01": "no month 13", "2026/11/21": "as YYYY-MM-DD", "noon": "as YYYY-MM-DD",
               "2026-11-21T24:00": "no time 24:00", "2026-11-21T10:60": "no time 10:60", "2026-11-21T10": "as hh:mm:ss",
               "2026-11-21T10:00:00.1234Z": "more digits than the unit", "2026-11-21T10:00:00.Z": "digits of the fraction",
               "2026-11-21X10:00": "T or a blank", "2026-11-21T10:00 CET": "Z or an offset", "2026-11-21T10:00+8": "+hh:mm",
               "2026-11-21T10:00+25:00": "no offset", "0000-01-01": "no year 0", "1.5": "as YYYY-MM-DD", "2026-11-21T": "as hh:mm:ss",
               "20261121": "write 2026-11-21 for the date, or +20261121 for the number", "202611211030": "looks like a date",
               "20261121103000": "looks like a date", "20261121103000123": "looks like a date", "2026-11-21T10:00Z[": "Z or an offset"}
        for text, cause in bad.items():
            self.assertIn(cause, self.put(f"ts={text}", status=3), text)
        self.assertIn("out of the range", self.put("ts=1", "ns=2300-01-01", status=3))

    def test_second_60(self):
        for text in ("2026-11-21T10:30:60Z", "2026-11-21T10:30:61Z", "2016-12-31T23:59:61Z", "2016-12-31T23:59:60+01:00", "2017-12-31T23:59:60Z"):
            self.assertIn("59" if ":60" in text else "no time", self.put(f"ts={text}", status=3), text)
        for text in ("2016-12-31T23:59:60Z", "2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00Z"):
            self.assertEqual(self.put(f"ts={text}")["ts"], 1483228800000, text)
        self.assertIn("last second of this minute is 59",
                      self.run_bad(3, self.gateway, "scan", "order_events", "order_id=A", "--to", "ts=2026-11-21T10:30:60Z"))

    def test_least_and_greatest_times(self):
        for stamp in (-2**63, 2**63 - 1):
            self.gateway.handler.rows["A", 1] = {"order_id": t.Value(text="A"), "ts": t.Value(number=1), "ns": t.Value(number=stamp)}
            text = self.run_ok(self.gateway, "get", "order_events", "order_id=A", "ts=1", "-o", "jsonl")
            self.gateway.handler.rows.clear()
            self.assertEqual(self.load("x.jsonl", text)[0]["A"]["ns"], stamp)

    # --- command lines ----------------------------------------------------------------------------

    def test_messages_name_the_option(self):
        self.assertIn("compares with --from, --after, --to and --through",
                      self.run_bad(3, self.gateway, "scan", "order_events", "--where", "visits>=1"))
        self.assertIn('no metric starts with "calls_total"', self.run_bad(4, self.gateway, "stats", "calls_total"))
        with HostileGateway([b""]) as gateway:
            self.assertIn("keyway --tls", self.run_bad(7, gateway, "tables"))

    def test_timestamps_of_writes(self):
        asked = []
        note = lambda options: asked.append(options.timestamp) or t.Written(t.Outcome.OK)
        self.gateway.handler.remove = lambda table, key, columns, options: note(options)
        self.gateway.handler.put = lambda table, record, options: note(options)
        for command in ("put", "remove"):
            self.run_ok(self.gateway, command, "order_events", "order_id=A", "ts=1", "--timestamp", "5000")
            self.run_ok(self.gateway, command, "order_events", "order_id=A", "ts=1")
            for timestamp in ("0", "-1"):
                self.assertIn(f"--timestamp {timestamp}: must be at least 1",
                              self.run_bad(2, self.gateway, command, "order_events", "order_id=A", "ts=1", "--timestamp", timestamp))
        self.assertEqual(asked, [5000, None, 5000, None])

    # --- files ------------------------------------------------------------------------------------

    def test_arrays(self):
        self.gateway.handler.rows = {("A\\\"],{", 1): {"order_id": t.Value(text="A\\\"],{"), "ts": t.Value(number=1)},
                                     ("B", 2): {"order_id": t.Value(text="B"), "ts": t.Value(number=2)}}
        want = {"A\\\"],{": {"ts": 1}, "B": {"ts": 2}}
        printed = self.run_ok(self.gateway, "scan", "order_events", "-o", "json")
        self.gateway.handler.rows.clear()
        records = json.loads(printed)
        for number, text in enumerate((printed, json.dumps(records), json.dumps(records, indent=4), "\n \n" + json.dumps(records) + "\n\n")):
            for name in (f"x{number}.json", f"x{number}", f"x{number}.jsonl"):
                self.assertEqual(self.load(name, text)[0], want, text)
        self.assertEqual(self.load("empty.json", " [ ] ")[0], {})

    def test_broken_arrays(self):
        rows, printed = self.load("x.json", '[{"order_id": "A", "ts": 1},\n {"order_id": "B", "ts": "noon"},\n 5, {"order_id": "C", "ts": 3}]',
                                  rejected=2)
        self.assertEqual(sorted(rows), ["A", "C"])
        self.assertRegex(printed, r'x.json:2: .*"noon" is not a timestamp')
        self.assertIn("x.json:3: the line is not a JSON object", printed)
        self.assertEqual([json.loads(line)["line"] for line in (self.folder / "x.json.rejected.jsonl").read_text().splitlines()], [2, 3])
        first = '[{"order_id": "A", "ts": 1}'
        for rest, cause in (("", "line 1: the array is not closed"), (',\n{"order_id": "B', "line 2: the array is not closed"),
                            ("\n5]", "line 2: a comma or bracket must follow"), (",,\n5]", "line 1: a record is missing"),
                            (",\n]", "line 2: a record is missing"), ("]\n]", "line 2: unexpected text after the array")):
            (self.folder / "y.json").write_text(first + rest)
            self.assertIn(cause, self.run_bad(3, self.gateway, "import", "order_events", str(self.folder / "y.json")))
            self.assertEqual(sorted(self.stored()), ["A"])

    def test_an_array_that_begins_with_a_comma(self):
        (self.folder / "x.json").write_text('[,{"order_id": "A", "ts": 1}]')
        self.assertIn("line 1: a record is missing", self.run_bad(3, self.gateway, "import", "order_events", str(self.folder / "x.json")))

    def test_encodings(self):
        csv, lines = "order_id,ts,city\nA,1,Zoë €\U0001F600\n", '{"order_id": "A", "ts": 1, "city": "Zoë €\U0001F600"}\n'
        for text, name in ((csv, "x.csv"), (csv, "x"), (lines, "x.jsonl"), ("[" + lines + "]", "x.json")):
            for charset, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"), ("utf-8", b"\xef\xbb\xbf"), ("utf-8", b"")):
                self.assertEqual(self.load(name, mark + text.encode(charset))[0], {"A": {"ts": 1, "city": "Zoë €\U0001F600"}}, (name, charset))
        long = "order_id,ts,city\n" + "".join(f"A{i},{i},{'ü' * (i % 50)}\n" for i in range(3000))
        self.assertEqual(len(self.load("long.csv", b"\xff\xfe" + long.encode("utf-16-le"))[0]), 3000)
        (self.folder / "odd.csv").write_bytes(b"\xff\xfe" + "order_id,ts\nA,1\n".encode("utf-16-le") + b"\x00\xd8x")
        self.assertIn("invalid UTF-16", self.run_bad(1, self.gateway, "import", "order_events", str(self.folder / "odd.csv")))
        (self.folder / "bare.csv").write_bytes("order_id,ts\nA,1\n".encode("utf-16-le"))
        self.assertIn("if the file is UTF-16", self.run_bad(3, self.gateway, "import", "order_events", str(self.folder / "bare.csv")))

    def test_delimiters(self):
        for delimiter in ",;\t|":
            text = f"order_id{delimiter}ts{delimiter}city\nA{delimiter}1{delimiter}\"x{delimiter}y\"\n"
            self.assertEqual(self.load("x.csv", text)[0], {"A": {"ts": 1, "city": f"x{delimiter}y"}}, delimiter)
        self.assertEqual(self.load("x.csv", "order_id,ts,city\nA,1,x;y\n")[0]["A"]["city"], "x;y")

    def test_missing_values(self):
        text = "order_id,ts,visits,city\nA,1,\\N,x\nB,2,3,\\N\nC,3,,NULL\n"
        rows, printed = self.load("x.csv", text, rejected=2)
        self.assertEqual(rows, {"C": {"ts": 3, "city": "NULL"}})
        self.assertIn("x.csv:2: field visits: \\N stands for a missing value", printed)
        self.assertIn("--null '\\N'", printed)
        rows, _ = self.load("x.csv", text, "--null", r"\N")
        self.assertEqual(rows, {"A": {"ts": 1, "city": "x"}, "B": {"ts": 2, "visits": 3}, "C": {"ts": 3, "city": "NULL"}})
        rows, _ = self.load("x.csv", text.replace("A,1,\\N", "A,1,"), "--null", "")
        self.assertEqual(rows["B"]["city"], "\\N")
        rows, _ = self.load("x.csv", "order_id,ts,visits\nA,1,NULL\n", "--null", "NULL")
        self.assertEqual(rows, {"A": {"ts": 1}})


if __name__ == "__main__":
    unittest.main(verbosity=1)
