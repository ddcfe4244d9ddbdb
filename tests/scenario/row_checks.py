"""Tests the check of existing rows of a table that is new to the catalog, on the embedded store and on a real HBase. Another
gateway, with a catalog of its own, writes the rows, as any other program could.

    row_checks.py embedded|hbase
"""
import os
import sys
import time
import unittest

from keyway_gateway import Gateway, Ready, plain, record, wait_until
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import ApplyOptions, Code, CreateOptions, KeywayError, Query

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
ROWS = 600

PAY = """\
  {logical}:
    store_table: {name}_PAY{more}
    fields:
      usr: {{{{type: string, max_bytes: 40}}}}
      ts: {{{{type: timestamp, unit: ms}}}}
      amount: {{{{type: {amount}, form: raw}}}}
    key:
      - salt: {{{{algorithm: crc32, of: [usr], buckets: {buckets}, as: decimal, width: 2}}}}
      - field: {{{{name: usr, encoding: terminated, terminator: "|"}}}}
      - field: {{{{name: ts, encoding: max_minus}}}}
"""
OTHER = """\
  other:
    store_table: {name}_other
    fields: {{{{id: {{{{type: string, max_bytes: 20}}}}, n: int}}}}
    key: [id]
"""


class Rows(unittest.TestCase):
    def setUp(self):
        self.name = f"rows_{os.getpid()}_{time.time_ns()}"
        self.gateway = None

    def store_text(self, catalog):
        if STORE == "embedded":
            return f"store: {{{{kind: embedded, path: {{folder}}/data, catalog: {catalog}}}}}\n"
        servers = hbase_servers()["KW_HBASE_BUFFERED"]
        return (f"store:\n  kind: hbase\n  servers: [{servers}]\n  create_missing: true\n  catalog: {self.name}_{catalog}\n")

    def pay(self, *, logical="pay", buckets=16, amount="double", more=""):
        return PAY.format(logical=logical, name=self.name, buckets=buckets, amount=amount, more=more)

    def policy(self, *tables, catalog="found", top=""):
        return ("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\n" + top + self.store_text(catalog) + "tables:\n" +
                "".join(tables) + OTHER.format(name=self.name))

    def written(self, rows=ROWS):
        """A stopped gateway on a store whose table PAY has rows that its next catalog does not know."""
        gateway = self.gateway = Ready(self.policy(self.pay(), catalog="first"))
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        data = gateway.data()
        for written in data.putMany("pay", [record(usr=f"u{i % 97:03}", ts=1700000000000 + i, amount=float(i)) for i in range(rows)], None):
            self.assertEqual(written.outcome, 0, written)
        data.close()
        gateway.stop()
        return gateway

    def start(self, *tables, **how):
        self.gateway.write_policy(self.policy(*tables, **how))
        self.gateway.start()
        wait_until(lambda: not any("are being checked" in text for text in self.gateway.ready()["degraded"]), "the check to end")

    def call(self, method, *arguments):
        data = self.gateway.data()
        try:
            return getattr(data, method)(*arguments)
        finally:
            data.close()

    def reload(self, *tables, **how):
        self.gateway.write_policy(self.policy(*tables, **how))
        admin = self.gateway.admin()
        try:
            admin.reload()
        finally:
            admin.close()

    def expect(self, code, call, *parts):
        with self.assertRaises(KeywayError) as caught:
            call()
        self.assertEqual(caught.exception.code, code, caught.exception)
        for part in parts:
            self.assertIn(part, caught.exception.message)

    WRONG = ("table pay, path primary: row ", "does not follow the key rule: salt(crc32 of usr, modulo 8 ",
             "checked rows do not fit, and all fit with salt: {buckets: 16}", "accept_unverified: true")

    # --- tests -----------------------------------------------------------------------------------

    def test_a_right_rule(self):
        gateway = self.written()
        self.start(self.pay())
        self.assertEqual(gateway.ready()["degraded"], [])
        path = self.call("describe", "pay").paths[0]
        self.assertEqual((path.state, path.verified), ("complete", False))
        self.assertGreater(path.checked_rows, 60)
        self.assertLess(abs(path.checked_at / 1000 - time.time()), 120)
        warnings = gateway.ready()["warnings"]
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn(f"{path.checked_rows} of them were checked on ", warnings[0])
        self.assertEqual(gateway.metric("keyway_paths_unverified"), 1)
        self.assertEqual(len(self.call("scan", Query(table="pay", bound=record(usr="u007"))).rows), 7)
        self.assertEqual(gateway.log().count("checked the existing rows of a store table"), 1)
        gateway.restart()  # now the catalog knows the rows: they are not checked again
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        self.assertEqual(self.call("describe", "pay").paths[0].checked_rows, path.checked_rows)
        self.assertEqual(gateway.log().count("checked the existing rows of a store table"), 1)

    def test_a_wrong_number_of_buckets_at_start(self):
        """The other table is served. No call reads or writes the rows under the wrong rule."""
        gateway = self.written()
        self.start(self.pay(buckets=8))
        degraded = gateway.ready()["degraded"]
        self.assertEqual(len(degraded), 1)
        for part in self.WRONG:
            self.assertIn(part, degraded[0])
        one = record(usr="u007", ts=1700000000007)
        for call in (lambda: self.call("get", "pay", one, None, None), lambda: self.call("put", "pay", {**one, **record(amount=1.0)}, None),
                     lambda: self.call("scan", Query(table="pay", bound=record(usr="u007")))):
            self.expect(Code.UNAVAILABLE, call, *self.WRONG)
        self.call("put", "other", record(id="a", n=1), None)
        self.assertEqual(plain(self.call("get", "other", record(id="a"), None, None).record)["n"], 1)
        self.assertIn("salt: {buckets: 16}", self.call("describe", "pay").not_served)
        self.expect(Code.REFUSED, lambda: self.reload(self.pay(buckets=4)), "all fit with salt: {buckets: 16}")  # still wrong
        self.reload(self.pay())
        self.assertEqual(gateway.ready()["degraded"], [])
        self.assertEqual(len(self.call("scan", Query(table="pay", bound=record(usr="u007"))).rows), 7)

    def test_a_wrong_rule_at_reload(self):
        gateway = self.written()
        self.start()
        self.expect(Code.REFUSED, lambda: self.reload(self.pay(buckets=8)), *self.WRONG)
        self.assertEqual(self.call("tables"), ["other"])
        self.assertEqual(gateway.ready()["degraded"], [])
        self.reload(self.pay())
        self.assertEqual(self.call("tables"), ["pay", "other"])
        self.assertEqual(len(self.call("scan", Query(table="pay", bound=record(usr="u007"))).rows), 7)

    def admin(self, method, *arguments):
        admin = self.gateway.admin()
        try:
            return getattr(admin, method)(*arguments)
        finally:
            admin.close()

    def test_a_wrong_rule_in_a_policy_version(self):
        """A version is refused as a whole: its other tables are not served either."""
        gateway = self.written()
        gateway.write_policy(self.policy(catalog="versions", top="policy: {{source: store}}\n").split("tables:")[0])
        Gateway.start(gateway)  # it is not ready without a version
        wrong, right = (("tables:\n" + self.pay(buckets=buckets) + OTHER.format(name=self.name)).format() for buckets in (8, 16))
        plan = self.admin("policyApply", wrong, 0, ApplyOptions(dry_run=True))
        self.assertTrue(plan.refused)
        for part in self.WRONG:
            self.assertIn(part, plan.plan)
        self.expect(Code.REFUSED, lambda: self.admin("policyApply", wrong, 0, ApplyOptions(reason="wrong")), *self.WRONG)
        self.assertEqual((self.admin("policyHistory", 0, 10), self.call("tables")), ([], []))
        applied = self.admin("policyApply", right, 0, ApplyOptions(reason="right"))
        self.assertEqual((applied.version, self.call("tables")), (1, ["pay", "other"]))
        self.assertEqual(len(self.call("scan", Query(table="pay", bound=record(usr="u007"))).rows), 7)

    def test_a_wrong_rule_when_store_tables_are_created(self):
        """While rows contradict the table, nothing is created for it."""
        gateway = self.written()
        self.start(self.pay(buckets=8))
        absent = CreateOptions(if_absent=True)
        for options in (absent, None):
            self.expect(Code.UNAVAILABLE, lambda: self.admin("createTable", "pay", options), *self.WRONG)
        self.assertEqual([one.created for one in self.admin("createTable", "other", absent)], [False])
        self.reload(self.pay())
        self.assertEqual([one.created for one in self.admin("createTable", "pay", absent)], [False])
        self.assertEqual(gateway.ready()["degraded"], [])

    def test_values_that_cannot_be_decoded(self):
        gateway = self.written()
        self.start(self.pay(amount="bool"))
        self.assertIn("has a value that cannot be decoded", gateway.ready()["degraded"][0])
        self.assertIn("amount", gateway.ready()["degraded"][0])

    def test_accept_unverified(self):
        gateway = self.written()
        self.start(self.pay(buckets=8, more="\n    accept_unverified: true"))
        self.assertEqual(gateway.ready()["degraded"], [])
        self.assertIn("none of them was checked", gateway.ready()["warnings"][0])
        path = self.call("describe", "pay").paths[0]
        self.assertEqual((path.state, path.verified, path.checked_rows), ("complete", False, None))
        self.assertFalse(self.call("get", "pay", record(usr="u007", ts=1700000000007), None, None).record)

    def test_strict_start(self):
        gateway = self.written()
        gateway.write_policy(self.policy(self.pay(buckets=8), top="strict_start: true\n"))
        gateway.expect_start = False
        Gateway.start(gateway)
        self.assertEqual(gateway.wait_for_exit(), 3)
        for part in self.WRONG:
            self.assertIn(part, gateway.log())

    def test_an_empty_table(self):
        gateway = self.written(rows=0)
        self.start(self.pay(buckets=8))
        self.assertEqual((gateway.ready()["degraded"], gateway.ready()["warnings"]), ([], []))
        path = self.call("describe", "pay").paths[0]
        self.assertEqual((path.verified, path.checked_rows), (True, None))


if __name__ == "__main__":
    if STORE == "hbase":
        hbase_servers()
    unittest.main(verbosity=2, warnings="ignore")
