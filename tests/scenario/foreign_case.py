"""A gateway on a store whose tables have rows that Keyway cannot decode. Another gateway with a catalog of its own writes them,
as any other program could."""
import json
import os
import subprocess
import time
import unittest

from keyway_gateway import PATIENCE, Ready, record, wait_until
from keyway_hbase import hbase_servers

HEAD = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
limits: {{page_rows: 100LIMITS}}
store: STORE
tables:
"""
TABLE = """\
  pay:
    store_table: NAME_pay
    fields: {{usr: {{type: string, max_bytes: 40}}, ts: {{type: timestamp, unit: ms}}, amount: double, note: string}}
    key:
      - salt: {{algorithm: crc32, of: [usr], buckets: 16, as: decimal, width: 2}}
      - field: {{name: usr, encoding: terminated, terminator: "|"}}
      - field: {{name: ts, encoding: max_minus}}
    paths:
      by_time: {{store_table: NAME_by_time, key: [salt: {{buckets: 4, of: [usr]}}, ts, usr]}}
  one:
    store_table: NAME_one
    fields: {{id: {{type: string, max_bytes: 20}}, n: int}}
    key: [id]
"""
RAW = "  RAW:\n    store_table: NAME_RAW\n    accept_unverified: true\n    fields: {{k: bytes, amount: bytes, n: bytes}}\n    key: [{{field: k}}]\n"
BASE = 1700000000000


class ForeignCase(unittest.TestCase):
    store = "embedded"
    limits = ""  # more of them

    def setUp(self):
        self.name = f"foreign_{os.getpid()}_{time.time_ns()}"
        self.gateway = Ready(self.policy())
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__, None, None, None)

    def store_text(self, catalog):
        if self.store == "embedded":
            return f"{{{{kind: embedded, path: {{folder}}/data, catalog: {catalog}}}}}"
        servers = hbase_servers()["KW_HBASE_BUFFERED"]
        return f"{{{{kind: hbase, servers: [{servers}], create_missing: true, catalog: {self.name}_{catalog}}}}}"

    def policy(self, tables=TABLE, catalog="catalog"):
        return (HEAD + tables).replace("STORE", self.store_text(catalog)).replace("NAME", self.name).replace("LIMITS", self.limits)

    def restart(self, tables, catalog):
        self.gateway.stop()
        self.gateway.write_policy(self.policy(tables, catalog))
        self.gateway.start()
        wait_until(lambda: not any("are being checked" in text for text in self.gateway.ready()["degraded"]), "the check to end")

    def put(self, table, rows):
        data = self.gateway.data()
        for first in range(0, len(rows), 500):
            for written in data.putMany(table, rows[first:first + 500], None):
                self.assertEqual(written.outcome, 0, written)
        data.close()

    def fill(self, count=200):
        self.put("pay", [record(usr=f"u{i % 40:03}", ts=BASE + i, amount=float(i), note=f"n{i}") for i in range(count)])

    def write_raw(self, **rows):
        """Writes rows of bytes, per store table: [(key, {column: value}), ...]."""
        self.restart("".join(RAW.replace("RAW", table) for table in rows), "raw")
        for table, pairs in rows.items():
            self.put(table, [record(k=key, **columns) for key, columns in pairs])
        self.restart(TABLE, "catalog")

    def keyway(self, *words, code=0):
        done = subprocess.run([os.environ["KEYWAY"], "-g", self.gateway.address, *words], capture_output=True, text=True,
                              timeout=10 * PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def json(self, *words, code=0):
        return json.loads(self.keyway(*words, "-o", "json", code=code)[0])
