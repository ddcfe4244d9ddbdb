"""Tests that a store written by a version without a catalog gets one at the first start: for its rules, fields and rows."""
import json
import os
import tarfile
import tempfile
import unittest

from keyway_gateway import Gateway, plain, record
from keyway_thrift.ttypes import Code, KeywayError, Query

STORE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "stores", "before-catalog.tar.gz")
POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: {{kind: embedded, path: {folder}/data}}
tables:
  orders:
    fields: {{id: {{type: string, max_bytes: 20}}, ts: {{type: timestamp, unit: ms}}, n: int, note: string}}
    key: [{{hash: {{algorithm: md5, of: [id], take: 4, as: hex}}}}, {{field: id}}, {{field: ts}}]
    paths:
      by_ts: {{key: [{{salt: {{of: [id], buckets: 4}}}}, {{field: ts}}, {{field: id}}]}}
  wide:
    fields: {{id: {{type: string, max_bytes: 20}}, n: int}}
    key: [{{salt: {{buckets: 300, algorithm: phoenix}}}}, {{field: id}}]
  empty:
    fields: {{id: {{type: string, max_bytes: 20}}, n: int}}
    key: [{{field: id}}]
"""


class Adopted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="keyway-test-")
        self.addCleanup(self.folder.cleanup)
        with tarfile.open(STORE) as archive:
            archive.extractall(self.folder.name)

    def open(self, policy=POLICY, **how):
        return Gateway(policy, folder=self.folder.name, **how)

    def refuse_start(self, policy, part, code=3):
        gateway = self.open("strict_start: true\n" + policy, expect_start=False)
        gateway.start()
        self.assertEqual(gateway.wait_for_exit(), code, gateway.log())
        self.assertIn(part, gateway.log())

    def test_rows_and_states(self):
        with self.open() as gateway:
            data = gateway.data()
            for path in (None, "by_ts"):
                page = data.scan(Query(table="orders", path=path, full_scan=True))
                self.assertEqual(sorted(plain(row)["n"] for row in page.rows), [1, 2, 3, 4, 5])
            self.assertEqual([(path.state, path.verified) for path in data.describe("orders").paths], [("complete", False)] * 2)
            data.put("orders", record(id="new", ts=1, n=6), None)
            self.assertEqual(len(data.scan(Query(table="orders", path="by_ts", full_scan=True)).rows), 6)
            data.close()
        with self.open() as gateway:  # a second time, now with the catalog
            data = gateway.data()
            self.assertEqual([(path.state, path.verified) for path in data.describe("orders").paths], [("complete", False)] * 2)
            self.assertEqual(len(data.scan(Query(table="orders", full_scan=True)).rows), 6)
            data.close()

    def test_a_first_policy_that_differs(self):
        self.refuse_start(POLICY.replace("take: 4", "take: 6"), "table orders, path primary: its rows were written under layout 1 with the key rule ")
        self.refuse_start(POLICY.replace("buckets: 4", "buckets: 8"), "table orders, path by_ts: its rows were written under layout 1")
        self.refuse_start(POLICY.replace("    paths:\n", "    layout: 2\n    store_table: orders_2\n    paths:\n"),
                          "table orders, path primary: its rows were written under layout 1 (store table orders, ")
        with self.open(POLICY.replace("key: [{{field: id}}]\n", "key: [{{field: id}}, {{field: n}}]\n")) as gateway:  # the empty table
            self.assertTrue(gateway.ready()["ready"])

    def test_a_rule_that_new_layouts_cannot_have(self):
        """It is served with a warning where it has rows, and rejected otherwise."""
        with self.open() as gateway:
            found = json.loads(gateway.get("/readyz")[1])
            self.assertTrue(found["ready"])
            def hazards_of(warnings):
                return [text for text in warnings if "older than its entry in the catalog" not in text]
            hazards = hazards_of(found["warnings"])
            self.assertEqual(len(hazards), 1)
            self.assertIn("table wide: path primary: salt: phoenix writes the bucket as one byte", hazards[0])
            self.assertEqual(len(found["warnings"]), 1 + gateway.metric("keyway_paths_unverified"))
            self.assertEqual(gateway.metric("keyway_policy_hazards"), 1)
            self.assertIn("a key rule can lose records", gateway.log())
            data, admin = gateway.data(), gateway.admin()
            self.assertEqual(sorted(plain(row)["n"] for row in data.scan(Query(table="wide", full_scan=True)).rows), [1, 2, 3, 4, 5])
            for policy in (POLICY.replace("buckets: 300", "buckets: 299"), POLICY + POLICY[POLICY.index("  wide:"):POLICY.index("  empty:")].replace("wide:", "wider:")):
                gateway.write_policy(policy)
                with self.assertRaises(KeywayError) as caught:
                    admin.reload()
                self.assertIn(caught.exception.code, (Code.INVALID, Code.REFUSED))
            self.assertIn("keyway.yaml:", caught.exception.message)
            self.assertIn("salt: phoenix", caught.exception.message)
            gateway.write_policy(POLICY.replace(POLICY[POLICY.index("  wide:"):POLICY.index("  empty:")], ""))
            admin.reload()
            self.assertEqual(hazards_of(json.loads(gateway.get("/readyz")[1])["warnings"]), [])
            self.assertEqual(gateway.metric("keyway_policy_hazards"), 0)
            data.close()
            admin.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
