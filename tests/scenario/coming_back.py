"""The documented ways back, after key rules were changed: from policy versions to files (docs/policy-versions.md), and from
a lost catalog with the text that `keyway policy show` printed. A gateway with another catalog stands for a lost one.

    coming_back.py embedded|sim|hbase
"""
import os
import subprocess
import sys
import time
import unittest

import hbase_places
from changing import apply, keyway, order, put_all, status, wait_for, wait_until_ended
from keyway_gateway import Gateway, daemon, plain, record, wait_until
from keyway_thrift.ttypes import Query

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
ROWS = 200
SELLERS = 10
FIELDS = """\
    fields:
      no: {type: string, max_bytes: 20}
      seller: {type: string, max_bytes: 20}
      n: {type: int, counter: true}
"""
PRIMARY = "[{field: no}, {field: seller}]"
BY_SELLER = "[{field: seller}, {field: no}]"
SALTED = "[{salt: {of: [seller], buckets: 4}}, {field: seller}, {field: no}]"


class Embedded:
    def store(self, name, more=""):
        return f"store:\n  kind: embedded\n  path: {{folder}}/data\n  catalog: {name}_catalog\n{more}"

    def stop(self):
        pass


class ComingBackCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Embedded() if STORE == "embedded" else hbase_places.place(STORE)

    @classmethod
    def tearDownClass(cls):
        cls.place.stop()

    def setUp(self):
        self.name = f"back_{os.getpid()}_{time.time_ns()}"
        self.late = "" if STORE == "embedded" else f"  late: {2000 if STORE == 'hbase' else 1000}ms\n"

    # --- texts ------------------------------------------------------------------------------------

    def settings(self, catalog="", tables=""):
        """The file of the gateway; with tables, its policy comes from the file."""
        head = f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\ngateway_id: {self.name}\n"
        source = "" if tables else "policy: {{source: store}}\n"
        return head + source + self.place.store(self.name + catalog, self.late) + tables.replace("{", "{{").replace("}", "}}")

    def tables(self, by_seller=BY_SELLER, primary=PRIMARY, more=""):
        return (f"# the orders of the shop\ntables:\n  orders: # one row per order\n    store_table: {self.name}\n{FIELDS}"
                f"    key: {primary}\n    paths:\n      by_seller: {{key: {by_seller}}}\n{more}")

    # --- steps ------------------------------------------------------------------------------------

    def open(self):
        gateway = Gateway(self.settings())
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        return gateway

    def fill(self, gateway, text=None):
        apply(gateway, text or self.tables(), 0)
        put_all(gateway, "orders", [record(no=f"o{i:04}", seller=f"s{i % SELLERS}", n=i) for i in range(ROWS)])

    @staticmethod
    def wait_until_compared(gateway):
        """On HBase also until the first pass has ended. On a slow machine, the change can have no holder for a moment."""
        wait_for(gateway, "orders", lambda found: found.copied and found.compared and (found.waiting or STORE == "embedded"),
                 "all rows to be copied and compared")

    def complete(self, gateway):
        order(gateway, "orders", "switch")
        wait_for(gateway, "orders", lambda found: found.version == "both-new", "the switch")
        order(gateway, "orders", "complete", expire_cursors=True)
        wait_until_ended(gateway, "orders")

    def change(self, gateway, text, complete=True):
        apply(gateway, text, only_writer=STORE != "embedded")
        self.wait_until_compared(gateway)
        if complete:
            self.complete(gateway)

    def restart(self, gateway, settings, ready=True):
        gateway.stop()
        gateway.write_policy(settings)
        gateway.start()
        if ready:
            wait_until(lambda: gateway.ready()["ready"] and not gateway.ready()["warnings"], "the gateway to serve all tables")

    def lose_catalog(self, gateway):
        """Starts the gateway with a new catalog."""
        self.restart(gateway, self.settings("_new"), ready=False)
        wait_until(lambda: any("keyway policy import" in reason for reason in gateway.ready()["reasons"]), "an empty catalog")

    def refuse_import(self, gateway, text, *parts):
        """`keyway policy import` fails with these parts of its reason."""
        file = os.path.join(gateway.folder, "saved.yaml")
        with open(file, "w", encoding="utf-8") as saved:
            saved.write(text)
        _, why = keyway(gateway, "policy", "import", file, code=1)
        for part in parts:
            self.assertIn(part, why)

    @staticmethod
    def export_catalog(gateway):
        file = os.path.join(gateway.folder, "catalog.txt")
        keyway(gateway, "catalog", "export", file)
        return file

    def import_catalog(self, gateway, file):
        """Into a new catalog."""
        self.lose_catalog(gateway)
        keyway(gateway, "catalog", "import", file)
        wait_until(lambda: gateway.ready()["ready"] and not gateway.ready()["warnings"], "the gateway to serve")

    def expect_all(self, gateway, rows=ROWS):
        """Both paths find every row."""
        data = gateway.data()
        try:
            found = []
            for seller in range(SELLERS):
                page = data.scan(Query(table="orders", path="by_seller", page_rows=1000, bound=record(seller=f"s{seller}")))
                found += [plain(row)["no"] for row in page.rows]
            self.assertEqual(sorted(found), [f"o{i:04}" for i in range(rows)])
            page = data.scan(Query(table="orders", path="primary", full_scan=True, page_rows=1000))
            self.assertEqual(sorted(plain(row)["no"] for row in page.rows), [f"o{i:04}" for i in range(rows)])
            for i in range(0, rows, 37):
                self.assertEqual(plain(data.get("orders", record(no=f"o{i:04}", seller=f"s{i % SELLERS}"), [], None).record)["n"], i)
        finally:
            data.close()

    def preview(self, gateway, text, code=0):
        """The plan for the text, or the error."""
        with open(os.path.join(gateway.folder, "preview.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        return "".join(keyway(gateway, "policy", "apply", file.name, "--only-writer", "--dry-run", code=code))

    def show(self, gateway, *words):
        """The text, without the line that names its version."""
        first, _, text = keyway(gateway, "policy", "show", *words)[0].partition("\n")
        return text if first.startswith("# Policy version ") else f"{first}\n{text}"


class ComingBack(ComingBackCase):
    def test_back_to_files(self):
        """The steps of "Back to files", after a change of each path."""
        gateway = self.open()
        self.fill(gateway)
        self.assertEqual(self.show(gateway), self.tables())
        self.change(gateway, self.tables(SALTED))
        primary = "[{hash: {of: [no], take: 4, as: hex}}, {field: no}, {field: seller}]"
        self.change(gateway, self.tables(SALTED, primary))
        text = self.show(gateway)
        self.assertEqual(self.show(gateway, "--as-applied"), self.tables(SALTED, primary))
        self.assertTrue(text.startswith("# the orders of the shop\ntables:\n  orders: # one row per order\n    layout: 2\n"), text)
        self.assertIn(f"    store_table: {self.name}_L2\n", text)
        self.assertIn(f"      by_seller: {{layout: 2, store_table: {self.name}_by_seller_L2, key: {SALTED}}}\n", text)
        self.assertIn(text, keyway(gateway, "policy")[0])
        self.assertNotIn("layout", self.preview(gateway, text.replace("counter: true", "counter: true, about: number")))
        self.restart(gateway, self.settings(tables=text))
        checked = subprocess.run([daemon(), "--check", gateway.policy_file], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.expect_all(gateway)
        put_all(gateway, "orders", [record(no=f"o{ROWS:04}", seller="s0", n=ROWS)])
        # and to the store again, where the text is a version like any other
        self.restart(gateway, self.settings())
        with open(os.path.join(gateway.folder, "tables.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        keyway(gateway, "policy", "apply", file.name, "-m", "back")
        self.expect_all(gateway, ROWS + 1)
        self.assertEqual(self.show(gateway), text)
        self.change(gateway, text.replace(SALTED, SALTED.replace("4}", "8}")))
        self.expect_all(gateway, ROWS + 1)
        self.assertIn(f"{{layout: 3, store_table: {self.name}_by_seller_L3, key: ", self.show(gateway))

    def test_lost_catalog(self):
        gateway = self.open()
        self.fill(gateway)
        self.change(gateway, self.tables(SALTED))
        text, applied = self.show(gateway), self.show(gateway, "--as-applied")
        keyway(gateway, "forget", "orders", "--path", "by_seller", "--drop-rows", "--yes")
        self.lose_catalog(gateway)
        with open(os.path.join(gateway.folder, "saved.yaml"), "w", encoding="utf-8") as file:
            file.write(applied)
        _, why = keyway(gateway, "policy", "import", file.name, code=1)  # the old store table is empty
        self.assertIn("table orders, path by_seller: the table holds rows already", why)
        with open(file.name, "w", encoding="utf-8") as file:
            file.write(text)
        keyway(gateway, "policy", "import", file.name)
        self.expect_all(gateway)

    def test_old_rows_under_the_new_rule(self):
        """The rule is changed and changed back: the store table that the text names has old rows, which follow the rule."""
        gateway = self.open()
        self.fill(gateway)
        self.change(gateway, self.tables(SALTED))
        self.change(gateway, self.tables())
        put_all(gateway, "orders", [record(no=f"o{ROWS:04}", seller="s0", n=ROWS)])
        text = self.show(gateway)
        self.assertIn(f"{{layout: 3, store_table: {self.name}_by_seller_L3, key: ", text)
        self.lose_catalog(gateway)
        with open(os.path.join(gateway.folder, "saved.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        keyway(gateway, "policy", "import", file.name)
        self.expect_all(gateway, ROWS + 1)

    def test_undo(self):
        """An old text is applied again, after changes of both paths."""
        gateway = self.open()
        self.fill(gateway)
        primary = "[{hash: {of: [no], take: 4, as: hex}}, {field: no}, {field: seller}]"
        self.change(gateway, self.tables(BY_SELLER, primary))
        self.change(gateway, self.tables(SALTED, primary))
        text = self.show(gateway, "2")
        self.assertIn(f"    store_table: {self.name}_L2\n", text)
        self.assertIn(f"      by_seller: {{store_table: {self.name}_by_seller, key: {BY_SELLER}}}\n", text)
        self.change(gateway, text)
        self.expect_all(gateway)
        self.assertIn(f"{{layout: 3, store_table: {self.name}_by_seller_L3, key: {BY_SELLER}}}", self.show(gateway))

    def test_another_type_in_the_key(self):
        """The error names the text that was applied, and no file."""
        gateway = self.open()
        one = self.tables().partition("    paths:\n")[0]
        self.fill(gateway, one)
        refused = self.preview(gateway, one.replace("no: {type: string, max_bytes: 20}", "no: int"), 3)
        self.assertIn("policy version 2:6:7: error: path primary: the old key rule uses field no, which has another type", refused)

    def test_order_in_effect(self):
        """A table gets a second path while it is in use: it keeps what the catalog has for its writes."""
        gateway = self.open()
        one = self.tables().partition("    paths:\n")[0]
        self.fill(gateway, one)
        apply(gateway, self.tables(), only_writer=STORE != "embedded")
        if STORE == "embedded":
            wait_until_ended(gateway, "orders")
        else:
            wait_until(lambda: status(gateway, "orders") is None, "the path to be filled")
        text = self.show(gateway)
        self.assertIn("    atomics: true\n", text)
        self.lose_catalog(gateway)
        with open(os.path.join(gateway.folder, "saved.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        keyway(gateway, "policy", "import", file.name)
        self.expect_all(gateway)
        keyway(gateway, "increment", "orders", "no=o0001", "seller=s1", "n=5")

    def test_during_a_change(self):
        gateway = self.open()
        self.fill(gateway)
        self.change(gateway, self.tables(SALTED), complete=False)
        text = self.show(gateway)
        self.assertTrue(text.startswith("# table orders: a change is under way; "), text)
        self.assertTrue(text.endswith(self.tables(SALTED)), text)
        self.lose_catalog(gateway)
        with open(os.path.join(gateway.folder, "saved.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        _, why = keyway(gateway, "policy", "import", file.name, code=1)
        self.assertIn("table orders, path by_seller: ", why)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
