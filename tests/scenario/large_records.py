"""Scans, counts and exports of tables with a record that is larger than limits.frame, on the embedded store and on a real HBase:
pages end before such a record, the next page fails and names it, and a query for fewer columns reads it.

    large_records.py embedded|hbase
"""
import os
import subprocess
import sys
import time
import unittest

from keyway_gateway import PATIENCE, Ready, plain, record
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import Code, KeywayError, Order, Query

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
limits: {{page_rows: 7, frame: 64KiB}}
store: STORE
tables:
  plain:
    store_table: NAME_plain
    fields: {{id: {{type: string, max_bytes: 20}}, n: int, m: {{type: map, of: string, column: 'm:*'}}}}
    key: [id]
  salted:
    store_table: NAME_salted
    fields: {{id: {{type: string, max_bytes: 20}}, n: int, m: {{type: map, of: string, column: 'm:*'}}}}
    key: [salt: {{buckets: 8, of: [id]}}, id]
"""
IDS = [f"r{i:02}" for i in range(40)]
LARGE = "r23"


class LargeRecords(unittest.TestCase):
    def setUp(self):
        name = f"large_{os.getpid()}_{time.time_ns()}"
        store = f"{{{{kind: embedded, path: {{folder}}/data, catalog: {name}}}}}"
        if STORE == "hbase":
            store = (f"{{{{kind: hbase, servers: [{hbase_servers()['KW_HBASE_BUFFERED']}], create_missing: true, "
                     f"catalog: {name}}}}}")
        self.gateway = Ready(POLICY.replace("STORE", store).replace("NAME", name))
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__, None, None, None)
        self.data = self.gateway.data()
        for table in ("plain", "salted"):
            for row in IDS:
                self.data.put(table, record(id=row, n=1), None)
            for part in range(3):
                self.data.put(table, record(id=LARGE, m={f"e{part}": "x" * 30000}), None)

    def tearDown(self):
        self.data.close()

    def scan(self, table, **query):
        """The ids of all pages up to the first error, and the error."""
        ids = []
        try:
            page = self.data.scan(Query(table=table, **query))
            ids += [plain(row)["id"] for row in page.rows]
            while page.cursor:
                page = self.data.nextPage(page.cursor, None)
                ids += [plain(row)["id"] for row in page.rows]
        except KeywayError as error:
            return ids, error
        return ids, None

    def test_pages_end_before_it(self):
        for table in ("plain", "salted"):
            for rows in (0, 3, 23, 24):
                for order, expected in ((Order.ASCENDING, IDS[:23]), (Order.DESCENDING, IDS[:23:-1])):
                    ids, error = self.scan(table, order=order, full_scan=True, page_rows=rows or None)
                    self.assertEqual(ids, expected, (table, rows))
                    self.assertEqual(error.code, Code.LIMIT)
                    self.assertIn(f'record id="{LARGE}": it has more than 65536 bytes (limits.frame)', error.message)
                    self.assertIn("request fewer columns", error.message)

    def test_limit_before_it(self):
        for table in ("plain", "salted"):
            self.assertEqual(self.scan(table, full_scan=True, limit=23), (IDS[:23], None))

    def test_points(self):
        wanted = [record(id=row)["id"] for row in ("r05", LARGE, "r30")]
        ids, error = self.scan("plain", bound_any={"id": wanted})
        self.assertEqual(ids, ["r05"])
        self.assertIn(LARGE, error.message)

    def test_fewer_columns(self):
        for table in ("plain", "salted"):
            self.assertEqual(self.scan(table, full_scan=True, columns=["n"]), (IDS, None))

    def keyway(self, *words):
        return subprocess.run([os.environ["KEYWAY"], "-g", self.gateway.address, *words], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def test_count_and_export(self):
        done = self.keyway("count", "salted", "--full-scan")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "40"), done)
        done = self.keyway("scan", "salted", "--full-scan", "-o", "jsonl")
        self.assertEqual(done.returncode, 6, done)
        self.assertEqual(len(done.stdout.splitlines()), 23, done)
        self.assertIn(f'record id="{LARGE}"', done.stderr)


if __name__ == "__main__":
    unittest.main()
