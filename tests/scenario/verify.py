"""keyway verify on the embedded store and on a real HBase: it reads all rows, finds every row that does not fit, counts what
helps to understand them, continues after an interruption, and makes a path verified if all rows fit.

    verify.py embedded|hbase
"""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from foreign_case import TABLE, ForeignCase
from keyway_gateway import PATIENCE, record, wait_until
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import Code, KeywayError, VerifyOptions

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
BAD = [(b"zz%d" % i, {"amount": b"x" * 8}) for i in range(3)] + [(b"05u007|", {"amount": b"1"})]


class Verify(ForeignCase):
    store = STORE

    def path(self, table="pay", number=0):
        data = self.gateway.data()
        try:
            return data.describe(table).paths[number]
        finally:
            data.close()

    def call(self, table="pay", **options):
        admin = self.gateway.admin()
        try:
            return admin.verify(table, VerifyOptions(**options))
        finally:
            admin.close()

    def test_all_fit(self):
        self.fill(700)
        primary, by_time = self.json("verify", "pay")
        self.assertEqual((primary["path"], by_time["path"]), ("primary", "by_time"))
        for found in (primary, by_time):
            self.assertEqual((found["rows"], found["foreign_rows"], found["undecodable_rows"], found["large_rows"]), (700, 0, 0, 0))
            self.assertEqual((found["done"], found["verified"], found["examples"]), (True, True, ""))
            self.assertEqual(sum(found["buckets"].values()), 700)
            self.assertEqual(found["ages"]["under 1 h"], 700)
            self.assertEqual((found["expired_rows"], found["future_rows"], found["versioned_rows"], found["most_versions"]), (0, 0, 0, 1))
        self.assertEqual(set(by_time["buckets"]), {"\\x00", "\\x01", "\\x02", "\\x03"})
        self.assertLessEqual(set(primary["buckets"]), {f"{i:02}" for i in range(16)})
        shown = self.keyway("verify", "pay", "--path", "by_time")[0]
        self.assertIn("path by_time: 700 rows: all rows fit; the path is verified\n", shown)
        self.assertIn("4 buckets, ", shown)
        self.assertNotIn("path primary", shown)

    def test_an_unverified_path_becomes_verified(self):
        self.fill(300)
        self.restart(TABLE, "second")  # a catalog that does not know the rows
        self.assertEqual((self.path().state, self.path().verified), ("complete", False))
        self.assertEqual(len(self.gateway.ready()["warnings"]), 2)
        self.keyway("verify", "pay", "--path", "primary")
        path = self.path()
        self.assertEqual((path.verified, path.checked_rows), (True, 300))
        self.assertLess(abs(path.checked_at / 1000 - time.time()), 120)
        self.assertEqual(len(self.gateway.ready()["warnings"]), 1)
        self.assertEqual(self.gateway.metric("keyway_paths_unverified"), 1)
        self.gateway.restart()
        wait_until(lambda: self.gateway.get("/readyz")[0] == 200, "the gateway to serve")
        self.assertTrue(self.path().verified)
        self.assertFalse(self.path(number=1).verified)

    def test_rows_that_do_not_fit(self):
        self.fill(300)
        good = self.good_key()
        self.write_raw(pay=[*BAD, (good, {"amount": b"abc"})])
        self.restart(TABLE.replace("store_table: NAME_pay\n", "store_table: NAME_pay\n    accept_unverified: true\n"), "second")
        found, = self.json("verify", "pay", "--path", "primary", code=3)
        self.assertEqual((found["rows"], found["foreign_rows"], found["undecodable_rows"]), (304, 4, 1))
        self.assertEqual((found["first_bytes"], found["undecodable_fields"]), ({"zz": 3, "05": 1}, {"amount": 1}))
        self.assertEqual((found["done"], found["verified"]), (True, False))
        examples = found["examples"].split("\n")
        self.assertEqual(len(examples), 5)
        self.assertTrue(any(line.startswith("row zz0: field(usr") for line in examples), examples)
        self.assertTrue(any("amount" in line for line in examples), examples)
        self.assertEqual(sum(found["buckets"].values()), 299)
        self.assertFalse(self.path().verified)
        shown = self.keyway("verify", "pay", "--path", "primary", "--show", "1", code=3)[0]
        self.assertIn("path primary: 304 rows: some rows do not fit\n", shown)
        self.assertIn("4 (first bytes: zz 3, 05 1)", shown)
        self.assertEqual(shown.count("  row "), 1)
        self.assertEqual(self.json("verify", "pay", "--path", "by_time")[0]["foreign_rows"], 0)

    def good_key(self):
        admin = self.gateway.admin()
        try:
            return admin.explainPut("pay", record(usr="u007", ts=1700000000007, amount=1.0)).keys[0].row_key
        finally:
            admin.close()

    def test_slices(self):
        """The cursor of a slice continues, even after a restart, and carries the rows that did not fit."""
        self.fill(300)
        self.write_raw(pay=[(b"#", {"amount": b"x" * 8})])
        first = self.call(max_rows=100)
        self.assertEqual((first.rows, first.foreign_rows, first.verified), (100, 1, False))
        self.assertEqual((first.examples[0].row_key, first.examples[0].field), (b"#", None))
        self.assertTrue(0 < first.progress < 1, first.progress)
        rows, cursor = first.rows, first.cursor
        self.gateway.restart()
        wait_until(lambda: self.gateway.get("/readyz")[0] == 200, "the gateway to serve")
        while cursor:
            found = self.call(max_rows=70, cursor=cursor)
            self.assertEqual((found.foreign_rows, found.verified), (0, False))
            rows, cursor = rows + found.rows, found.cursor
        self.assertEqual((rows, found.progress), (301, 1.0))
        for options, text in ((dict(cursor=b"xy"), "not from a verification"), (dict(cursor=first.cursor, path="by_time"), "belongs to another path"),
                              (dict(max_rows=0), "max_rows must be 1 to 10000"), (dict(cursor=first.cursor[:-1]), "damaged")):
            with self.assertRaises(KeywayError) as caught:
                self.call(**options)
            self.assertEqual(caught.exception.code, Code.INVALID)
            self.assertIn(text, caught.exception.message)

    def test_interrupted(self):
        self.fill(600)
        state = pathlib.Path(self.gateway.folder) / "state"
        words = ["verify", "pay", "--state", str(state), "--rows-per-second", "100", "-o", "json"]
        with subprocess.Popen([os.environ["KEYWAY"], "-g", self.gateway.address, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as started:
            wait_until(state.exists, "the state file")
            started.send_signal(signal.SIGINT)
            said = started.communicate(timeout=PATIENCE)[1]
        self.assertEqual(started.returncode, 130, said)
        self.assertIn(f"keyway verify pay --state {state}", said)
        found = self.json("verify", "pay", "--state", str(state))
        self.assertEqual([(each["rows"], each["verified"], sum(each["buckets"].values())) for each in found], [(600, True, 600)] * 2)
        self.assertFalse(state.exists())

    WIDE = (TABLE + "  wide:\n    store_table: NAME_wide\n    families: {{d: {{versions: 3, ttl: 1d}}}}\n"
            "    fields: {{id: {{type: string, max_bytes: 20}}, tags: {{type: map, of: string}}}}\n    key: [id]\n")

    def test_large_rows_and_versions(self):
        """Rows that are too large to be read as a whole: their keys are checked, and the rows after them are read."""
        self.limits = ", frame: 64KiB"
        self.restart(self.WIDE, "catalog")
        self.create("wide")
        for i in range(3):
            self.put("wide", [record(id=f"r{number:03}", tags={"a": f"{i}"}) for number in range(100)])
            time.sleep(.002)  # puts of the same millisecond are one version
        self.assertEqual([(one["versioned_rows"], one["most_versions"], one["verified"]) for one in self.json("verify", "wide")], [(100, 3, True)])
        for number in (17, 18, 60):
            for i in range(12):
                self.put("wide", [record(id=f"r{number:03}", tags={f"b{i}": "x" * 20000})])
        found, = self.json("verify", "wide", code=3)
        self.assertEqual((found["rows"], found["large_rows"], found["foreign_rows"], found["verified"]), (100, 3, 0, False))
        self.assertEqual([line.split(":")[0] for line in found["examples"].split("\n")], ["row r017", "row r018", "row r060"])

    def create(self, table):
        if STORE == "embedded":
            self.keyway("create", table, "--if-absent")

    def test_scrub_of_one_path(self):
        self.put("one", [record(id=f"a{i}", n=i) for i in range(50)])
        found, = self.json("scrub", "one")
        self.assertEqual((found["rows"], found["verified"], found["buckets"]), (50, True, {}))
        self.assertIn("--repair has nothing", self.keyway("scrub", "one", "--repair", code=2)[1])
        self.write_raw(one=[(b"b", {"n": b"123"})])
        self.assertIn("n 1", self.keyway("scrub", "one", code=3)[0])

    def test_errors(self):
        self.assertIn("has no path nowhere", self.keyway("verify", "pay", "--path", "nowhere", code=4)[1])
        self.keyway("verify", "nobody", code=4)
        self.assertEqual(self.json("verify", "one")[0]["rows"], 0)


if __name__ == "__main__":
    if STORE == "hbase":
        hbase_servers()
    unittest.main(verbosity=2, warnings="ignore")
