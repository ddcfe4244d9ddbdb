"""Tests that a table that cannot be served does not keep the others from service, on the embedded store and on a real HBase:
its calls fail with UNAVAILABLE and the reason, and /readyz reports it.

    degraded.py embedded|hbase
"""
import os
import subprocess
import sys
import time
import unittest

from keyway_gateway import Gateway, Ready, plain, record, wait_until
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import Code, KeywayError, Query, ScrubOptions

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"

TABLE = """\
  {table}:
    store_table: {name}_{table}
    fields: {{{{id: {{{{type: string, max_bytes: 20}}}}, n: int, note: string}}}}
    key: [{{{{hash: {{{{algorithm: md5, of: [id], take: {take}, as: hex}}}}}}}}, id]
"""


def store_text(name):
    if STORE == "embedded":
        return "store: {{kind: embedded, path: {folder}/data}}\n"
    servers = hbase_servers()["KW_HBASE_BUFFERED"]
    return (f"store:\n  kind: hbase\n  servers: [{servers}]\n  create_missing: true\n  catalog: {name}_catalog\n")


class Degraded(unittest.TestCase):
    def setUp(self):
        self.name = f"degraded_{os.getpid()}_{time.time_ns()}"

    def policy(self, *, good=4, bad=4, more=""):
        """Two tables; the numbers are the widths of the hashes in their row keys."""
        return ("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\n" + store_text(self.name) + more + "tables:\n" +
                TABLE.format(table="good", name=self.name, take=good) + TABLE.format(table="bad", name=self.name, take=bad))

    def open(self):
        """A gateway, stopped, whose tables have a row each."""
        gateway = Ready(self.policy())
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        with_data(gateway, lambda data: [data.put(table, record(id="a", n=1), None) for table in ("good", "bad")])
        self.assertEqual(gateway.ready()["degraded"], [])
        gateway.stop()
        return gateway

    def start(self, gateway, text):
        gateway.write_policy(text)
        gateway.start()

    def refuse(self, call, *parts):
        with self.assertRaises(KeywayError) as caught:
            call()
        self.assertEqual(caught.exception.code, Code.UNAVAILABLE)
        self.assertGreater(caught.exception.retry_after_ms, 0)
        for part in parts:
            self.assertIn(part, caught.exception.message)

    def check_degraded(self, gateway):
        """The table bad is not served, and good is."""
        why = "not served: table bad, path primary: its rows were written under layout 1"
        state = gateway.ready()
        self.assertTrue(state["ready"])
        self.assertEqual(len(state["degraded"]), 1)
        self.assertIn(why, state["degraded"][0])
        self.assertEqual(gateway.metric("keyway_tables_unserved"), 1)
        data, admin = gateway.data(), gateway.admin()
        self.assertEqual(plain(data.get("good", record(id="a"), None, None).record)["n"], 1)
        data.put("good", record(id="b", n=2), None)
        for call in (lambda: data.get("bad", record(id="a"), None, None), lambda: data.put("bad", record(id="x", n=1), None),
                     lambda: data.putMany("bad", [record(id="x", n=1)], None), lambda: data.remove("bad", record(id="a"), None, None),
                     lambda: data.increment("bad", record(id="a"), {"n": 1}, None),
                     lambda: data.scan(Query(table="bad", full_scan=True)), lambda: admin.scrub("bad", ScrubOptions())):
            self.refuse(call, why)
        self.assertIn(why, data.describe("bad").not_served)
        self.assertIsNone(data.describe("good").not_served)
        self.assertIsNone(data.describe("bad").paths[0].state)
        data.close()
        admin.close()

    def test_one_table_contradicts_its_rows(self):
        gateway = self.open()
        self.start(gateway, self.policy(bad=6))
        self.check_degraded(gateway)
        self.assertIn("a table is not served; the others are", gateway.log())
        shown = subprocess.run([os.environ["KEYWAY"], "--gateway", gateway.address, "describe", "bad"], capture_output=True, text=True)
        self.assertIn("not served: table bad, path primary: its rows were written", shown.stdout)

    def test_a_reload_while_one_table_is_not_served(self):
        """The other table can change. The reload that mends the table puts it into service."""
        gateway = self.open()
        self.start(gateway, self.policy(bad=6))
        admin = gateway.admin()
        gateway.write_policy(self.policy(bad=6).replace("note: string", "note: string, more: int", 1))  # of `good`
        admin.reload()
        self.check_degraded(gateway)
        with_data(gateway, lambda data: data.put("good", record(id="a", n=1, more=7), None))
        for wrong, table in ((self.policy(good=6, bad=6), "table good"), (self.policy(bad=8), "table bad")):  # ends the service of `good`; changes `bad`
            gateway.write_policy(wrong)
            with self.assertRaises(KeywayError) as caught:
                admin.reload()
            self.assertEqual(caught.exception.code, Code.REFUSED)
            self.assertIn(table, caught.exception.message)
        self.check_degraded(gateway)
        gateway.write_policy(self.policy().replace("note: string", "note: string, more: int", 1))
        admin.reload()
        admin.close()
        self.assertEqual(gateway.ready()["degraded"], [])
        self.assertEqual(gateway.metric("keyway_tables_unserved"), 0)
        self.assertIn("a table is served now", gateway.log())
        with_data(gateway, lambda data: self.assertEqual(plain(data.get("bad", record(id="a"), None, None).record)["n"], 1))

    def test_the_facts_of_the_table_stay(self):
        """After the start with another rule, a start with the old one serves its rows, and nothing was written under the other."""
        gateway = self.open()
        self.start(gateway, self.policy(bad=6))
        self.check_degraded(gateway)
        gateway.stop()
        self.start(gateway, self.policy())
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        self.assertEqual(gateway.ready()["degraded"], [])
        for table in ("good", "bad"):
            rows = with_data(gateway, lambda data: data.scan(Query(table=table, full_scan=True)).rows)
            self.assertIn({"id": "a", "n": 1}, [plain(row) for row in rows])

    def test_strict_start(self):
        gateway = self.open()
        gateway.expect_start = False
        gateway.write_policy(self.policy(bad=6, more="strict_start: true\n"))
        Gateway.start(gateway)
        self.assertEqual(gateway.wait_for_exit(), 3)
        self.assertIn("table bad, path primary: its rows were written under layout 1", gateway.log())


class OnHbase(Degraded):
    def test_another_gateway_and_a_retry(self):
        """A gateway serves the table under another rule, while it is empty. When that gateway has stopped, this one serves the
        table without a command."""
        gateway = self.open()
        other = Ready("gateway_id: other\n" + self.policy(bad=4))
        with other:
            with_data(other, lambda data: data.remove("bad", record(id="a"), None, None))
            self.start(gateway, "gateway_id: this\n" + self.policy(bad=6))
            wait_until(lambda: gateway.get("/readyz")[0] == 200, "the gateway to serve")
            state = gateway.ready()
            self.assertEqual(len(state["degraded"]), 1, state)
            self.assertIn("table bad: this policy changes which rows a record has, and the gateway other serves the table", state["degraded"][0])
            with_data(gateway, lambda data: data.put("good", record(id="c", n=3), None))
            with_data(other, lambda data: data.put("bad", record(id="b", n=2), None))
            with_data(other, lambda data: data.remove("bad", record(id="b"), None, None))
        wait_until(lambda: gateway.ready()["degraded"] == [], "the gateway to serve the table")
        with_data(gateway, lambda data: data.put("bad", record(id="d", n=4), None))
        with_data(gateway, lambda data: self.assertEqual(plain(data.get("bad", record(id="d"), None, None).record)["n"], 4))


def with_data(gateway, call):
    data = gateway.data()
    try:
        return call(data)
    finally:
        data.close()


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(OnHbase if STORE == "hbase" else Degraded)


if __name__ == "__main__":
    if STORE == "hbase":
        hbase_servers()
    unittest.main(verbosity=2, warnings="ignore")
