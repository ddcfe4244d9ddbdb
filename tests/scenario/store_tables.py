"""Tests that store tables are compared with the policy, on the embedded store and on a real HBase. A first gateway, with a catalog
of its own, creates the store tables with other families, as any other program could.

    store_tables.py embedded|hbase
"""
import os
import subprocess
import sys
import time
import unittest

from hbase_places import thrift2
from keyway_gateway import Gateway, Ready, plain, record, wait_until
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import Code, CreateOptions, FamilyOptions, KeywayError

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
DAY_S = 86400

ROUND = """\
  round:
    store_table: {name}_{store_table}
    major_compaction: 1d
    families: {{{{d: {{{{ttl: 30d}}}}}}}}
    fields: {{{{id: {{{{type: string, max_bytes: 20}}}}, at: {{{{type: timestamp, unit: s}}}}, n: int}}}}
    key: [{{{{calendar: {{{{of: at, parts: [MM, dd]}}}}}}}}, {{{{field: id}}}}]
"""
PLAIN = """\
  {table}:
    store_table: {name}_{table}
    families: {{{{{families}}}}}
    fields: {{{{id: {{{{type: string, max_bytes: 20}}}}, n: int}}}}
    key: [{{{{field: id}}}}]
"""


class StoreTables(unittest.TestCase):
    def setUp(self):
        self.name = f"store_tables_{os.getpid()}_{time.time_ns()}"
        self.gateway = None

    def store_text(self, catalog):
        if STORE == "embedded":
            return f"store: {{{{kind: embedded, path: {{folder}}/data, catalog: {catalog}}}}}\n"
        servers = hbase_servers()["KW_HBASE_BUFFERED"]
        return (f"store:\n  kind: hbase\n  servers: [{servers}]\n  create_missing: true\n  catalog: {self.name}_{catalog}\n")

    def policy(self, *tables, catalog="second", top=""):
        return "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\n" + top + self.store_text(catalog) + "tables:\n" + "".join(tables)

    def plain(self, table, families):
        return PLAIN.format(name=self.name, table=table, families=families)

    def round(self, store_table="round"):
        return ROUND.format(name=self.name, store_table=store_table)

    def made(self, **families):
        """A stopped gateway on a store that has a table with these families under each name."""
        gateway = self.gateway = Ready(self.policy(*(self.plain(table, text) for table, text in families.items()), catalog="first"))
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        gateway.stop()
        return gateway

    def start(self, *tables, **how):
        self.gateway.write_policy(self.policy(*tables, **how))
        self.gateway.start()
        return self.gateway

    def call(self, method, *arguments, of="data"):
        client = getattr(self.gateway, of)()
        try:
            return getattr(client, method)(*arguments)
        finally:
            client.close()

    def reload(self, *tables):
        self.gateway.write_policy(self.policy(*tables))
        self.call("reload", of="admin")

    def expect(self, code, call, *parts):
        with self.assertRaises(KeywayError) as caught:
            call()
        self.assertEqual(caught.exception.code, code, caught.exception)
        for part in parts:
            self.assertIn(part, caught.exception.message)

    def warnings(self, count=1):
        """The warnings of /readyz, when there are so many."""
        wait_until(lambda: len(self.gateway.ready()["warnings"]) == count, f"{count} warnings of /readyz")
        return sorted(self.gateway.ready()["warnings"])

    OVERWRITES = ("table round, path primary: the row keys of calendar(", f" repeat after {365 * DAY_S} s, but family d of the store table ",
                  f"keeps cells without a ttl, so a record could overwrite one of the cycle before; in the store, give the family a ttl of at most {363 * DAY_S} s")

    # --- tests -----------------------------------------------------------------------------------

    def test_a_circular_key_whose_cells_stay(self):
        """At a start this table is not served, and the other one is. The table is served from another store table."""
        gateway = self.made(round="d: {{}}", other="d: {{}}")
        self.start(self.round(), self.plain("other", "d: {{}}"))
        state = gateway.ready()
        self.assertEqual((state["ready"], len(state["degraded"])), (True, 1))
        for part in self.OVERWRITES:
            self.assertIn(part, state["degraded"][0])
        self.expect(Code.UNAVAILABLE, lambda: self.call("put", "round", record(id="a", at=0, n=1), None), "not served: ", *self.OVERWRITES)
        self.call("put", "other", record(id="a", n=1), None)
        self.expect(Code.UNAVAILABLE, lambda: self.call("createTable", "round", CreateOptions(if_absent=True), of="admin"), *self.OVERWRITES)
        self.reload(self.round("fresh"), self.plain("other", "d: {{}}"))
        self.assertEqual(gateway.ready()["degraded"], [])
        self.call("put", "round", record(id="a", at=0, n=1), None)

    def test_strict_start(self):
        gateway = self.made(round="d: {{}}")
        gateway.expect_start = False
        gateway.write_policy(self.policy(self.round(), top="strict_start: true\n"))
        Gateway.start(gateway)
        self.assertEqual(gateway.wait_for_exit(), 3)
        self.assertIn(self.OVERWRITES[0], gateway.log())

    def test_a_reload_with_a_circular_key(self):
        """The reload is refused as a whole."""
        self.made(round="d: {{}}", other="d: {{}}")
        self.start(self.plain("other", "d: {{}}"))
        self.expect(Code.REFUSED, lambda: self.reload(self.round(), self.plain("other", "d: {{}}").replace("n: int", "n: int, m: int")), *self.OVERWRITES)
        self.assertEqual(self.call("tables"), ["other"])
        self.expect(Code.INVALID, lambda: self.call("put", "other", record(id="a", m=1), None), "no field \"m\"")

    def test_a_circular_key_whose_cells_expire(self):
        """A longer ttl than that of the policy is a difference, but no danger."""
        gateway = self.made(round="d: {{ttl: 300d}}")
        self.start(self.round())
        self.assertEqual(gateway.ready()["degraded"], [])
        self.call("put", "round", record(id="a", at=0, n=1), None)
        self.assertIn(f"family d keeps cells for {300 * DAY_S} s, not for {30 * DAY_S} s", self.warnings()[0])

    def test_differences(self):
        gateway = self.made(a="d: {{ttl: 1h, versions: 3}}", b="d: {{min_versions: 1, versions: 2, ttl: 1d, keep_deleted_cells: true}}", c="d: {{}}")
        self.start(self.plain("a", "d: {{}}"), self.plain("b", "d: {{ttl: 1d, versions: 2}}"), self.plain("c", "d: {{}}, e: {{}}"))
        head = f"path primary: the store table {self.name}_"
        expected = [f"table a, {head}a differs from the policy: family d keeps cells for 3600 s, not without a ttl; family d has max_versions 3, not 1",
                    f"table b, {head}b differs from the policy: family d has min_versions 1, not 0; family d keeps deleted cells",
                    f"table c, {head}c differs from the policy: it has no family e"]
        self.assertEqual(self.warnings(3), expected)
        self.assertEqual([self.call("describe", table).paths[0].differences for table in "abc"], expected)
        for text in expected:
            self.assertIn(text, gateway.log())
        shown = subprocess.run([os.environ["KEYWAY"], "--gateway", gateway.address, "describe", "a"], capture_output=True, text=True)
        self.assertIn(expected[0], shown.stdout)
        self.call("put", "a", record(id="x", n=1), None)  # served all the same
        self.reload(self.plain("a", "d: {{ttl: 1h, versions: 3}}"), self.plain("c", "d: {{}}"))
        self.warnings(0)
        self.assertIsNone(self.call("describe", "a").paths[0].differences)


class OnHbase(StoreTables):
    def drop(self, client, table):
        from keyway_hbase_thrift.ttypes import TTableName
        name = TTableName(qualifier=f"{self.name}_{table}".encode())
        client.disableTable(name)
        client.deleteTable(name)

    def alter(self, table, **settings):
        from keyway_hbase_thrift.ttypes import TColumnFamilyDescriptor, TTableName
        with thrift2(hbase_servers()["KW_HBASE_BUFFERED"], False) as client:
            client.modifyColumnFamily(TTableName(qualifier=f"{self.name}_{table}".encode()), TColumnFamilyDescriptor(name=b"d", **settings))

    def test_an_altered_table_is_served(self):
        gateway = self.made(round="d: {{}}")
        self.start(self.round())
        self.assertEqual(len(gateway.ready()["degraded"]), 1)
        self.alter("round", timeToLive=30 * DAY_S)
        self.reload(self.round())
        self.assertEqual(gateway.ready()["degraded"], [])
        self.call("put", "round", record(id="a", at=0, n=1), None)
        self.assertEqual(plain(self.call("get", "round", record(id="a", at=0), None, None).record)["n"], 1)
        self.warnings(0)

    def test_create_with_other_families(self):
        self.made(other="d: {{}}")
        self.start(self.round(), self.plain("other", "d: {{}}"))
        with thrift2(hbase_servers()["KW_HBASE_BUFFERED"], False) as client:
            self.drop(client, "round")
        options = CreateOptions(families=[FamilyOptions(name="d")])
        self.expect(Code.REFUSED, lambda: self.call("createTable", "round", options, of="admin"), *self.OVERWRITES)
        self.call("createTable", "round", None, of="admin")
        self.call("put", "round", record(id="a", at=0, n=1), None)

    def test_a_missing_table(self):
        """The warning names the table. It ends when the table exists, and if that would overwrite records, the table is not served."""
        self.made(other="d: {{}}")
        gateway = self.start(self.round(), self.plain("other", "d: {{}}"))
        with thrift2(hbase_servers()["KW_HBASE_BUFFERED"], False) as client:
            self.drop(client, "round")
            self.drop(client, "other")
        policy = self.policy(self.round(), self.plain("other", "d: {{}}")).replace("create_missing: true", "create_missing: false")
        gateway.write_policy(policy)
        gateway.restart()
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        self.assertEqual(self.warnings(2), [f"table other, path primary: the store has no table {self.name}_other; keyway create other creates it",
                                            f"table round, path primary: the store has no table {self.name}_round; keyway create round creates it"])
        self.call("createTable", "other", None, of="admin")
        self.assertIn("_round;", self.warnings(1)[0])
        from keyway_hbase_thrift.ttypes import TColumnFamilyDescriptor, TTableDescriptor, TTableName
        with thrift2(hbase_servers()["KW_HBASE_BUFFERED"], False) as client:
            name = TTableName(qualifier=f"{self.name}_round".encode())
            client.createTable(TTableDescriptor(tableName=name, columns=[TColumnFamilyDescriptor(name=b"d")]), [])
        wait_until(lambda: len(gateway.ready()["degraded"]) == 1, "the table not to be served")
        self.expect(Code.UNAVAILABLE, lambda: self.call("put", "round", record(id="a", at=0, n=1), None), *self.OVERWRITES)


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(OnHbase if STORE == "hbase" else StoreTables)


if __name__ == "__main__":
    if STORE == "hbase":
        hbase_servers()
    unittest.main(verbosity=2, warnings="ignore")
