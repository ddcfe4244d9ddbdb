"""Scans, counts and exports with skip_undecodable, on the embedded store and on a real HBase: rows that cannot be decoded are
skipped and counted; every other record is returned, in its order. By default such a row is an error, which names it.

    skip_undecodable.py embedded|hbase
"""
import json
import sys
import unittest

from foreign_case import BASE, ForeignCase
from keyway_gateway import plain, record
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import Code, KeywayError, Order, Query, Range

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
STRAYS = 450  # more than four pages


class Skip(ForeignCase):
    store = STORE

    def setUp(self):
        super().setUp()
        self.fill()
        self.whole = {path: self.scan(path=path, full_scan=True)[0] for path in ("primary", "by_time")}
        self.assertEqual([len(rows) for rows in self.whole.values()], [200, 200])
        primary = [(b"00|stray%04d" % i, {"amount": b"x" * 8}) for i in range(STRAYS)]  # between records of bucket 0
        primary += [(b"zz", {"amount": b"1"}), (b"05u007|", {"amount": b"1"})]
        self.write_raw(pay=primary, by_time=[(b"\x01", {"amount": b"1"}), (b"\x02" + bytes(8) + b"u" * 60, {"amount": b"1"})],
                       one=[(b"b", {"n": b"123"})])

    def scan(self, table="pay", **query):
        """The records, the number of rows skipped, and the most of both that one page has."""
        data = self.gateway.data()
        page = data.scan(Query(table=table, **query))
        rows, skipped, most = list(page.rows), page.undecodable or 0, 0
        while page.cursor:
            most = max(most, len(page.rows) + (page.undecodable or 0))
            page = data.nextPage(page.cursor, None)
            rows, skipped = rows + page.rows, skipped + (page.undecodable or 0)
        data.close()
        return [plain(row) for row in rows], skipped, most

    def test_scans(self):
        self.assertEqual(self.scan(path="primary", full_scan=True, skip_undecodable=True), (self.whole["primary"], STRAYS + 2, 100))
        for rows in (7, 1):
            found = self.scan(path="primary", full_scan=True, skip_undecodable=True, page_rows=rows)
            self.assertEqual(found, (self.whole["primary"], STRAYS + 2, rows))
        self.assertEqual(self.scan(path="by_time", full_scan=True, skip_undecodable=True)[:2], (self.whole["by_time"], 2))
        backwards = self.scan(path="by_time", full_scan=True, skip_undecodable=True, order=Order.DESCENDING, page_rows=3)
        self.assertEqual(backwards[:2], (self.whole["by_time"][::-1], 2))
        limited = self.scan(path="primary", full_scan=True, skip_undecodable=True, limit=150)
        self.assertEqual(limited[0], self.whole["primary"][:150])
        part = self.scan(range=Range(field="ts", from_value=record(ts=BASE + 50)["ts"], to_value=record(ts=BASE + 60)["ts"]), skip_undecodable=True)
        self.assertEqual(part[:2], (self.whole["by_time"][50:60], 0))

    def test_default(self):
        for query, row in ((dict(path="primary"), "row 00|stray0000: "), (dict(path="by_time"), "path by_time, row \\x01: ")):
            with self.assertRaises(KeywayError) as caught:
                self.scan(full_scan=True, **query)
            self.assertEqual(caught.exception.code, Code.CORRUPT)
            self.assertIn(row, caught.exception.message)
            self.assertIn("--skip-undecodable", caught.exception.message)
        self.assertEqual(self.scan(bound=record(usr="u003"))[1], 0)  # reads none of these rows

    def test_latest(self):
        data = self.gateway.data()
        page = data.latest(Query(table="pay", path="by_time", full_scan=True, skip_undecodable=True))
        self.assertEqual([plain(row) for row in page.rows], self.whole["by_time"][-1:])
        page = data.latest(Query(table="one", full_scan=True, skip_undecodable=True))
        self.assertEqual((page.rows, page.undecodable, page.cursor), ([], 1, None))
        data.close()

    def test_commands(self):
        skip = "--skip-undecodable"
        self.assertIn(skip, self.keyway("count", "pay", code=1)[1])
        shown = self.keyway("count", "pay", skip, "--path", "primary")
        self.assertEqual(shown, ("200\n", f"keyway: skipped {STRAYS + 2} rows that cannot be decoded\n"))
        self.assertEqual(self.json("count", "pay", skip, "--path", "by_time"), [{"count": 200, "undecodable": 2}])
        exported, said = self.keyway("scan", "pay", skip, "--path", "primary", "--full-scan", "-o", "jsonl", "--raw")
        self.assertEqual([json.loads(line) for line in exported.splitlines()], self.whole["primary"])
        self.assertEqual(said, f"keyway: skipped {STRAYS + 2} rows that cannot be decoded\n")
        self.assertEqual(self.keyway("scan", "one", skip, "--full-scan", "-o", "jsonl"), ("", "keyway: skipped 1 row that cannot be decoded\n"))


if __name__ == "__main__":
    if STORE == "hbase":
        hbase_servers()
    unittest.main(verbosity=2, warnings="ignore")
