"""Tests what a policy can change of a table with a path over a field that can change. Such a path gets hints of all earlier
records before queries use it. If it comes to a table with rows in another way, it is refused.

    hint_steps.py embedded|sim|hbase
"""
import threading
import unittest

from changing import apply, keyway, put_all, status, wait_until_ended
from coming_back import STORE, ComingBackCase
from keyway_gateway import Gateway, plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Query

ROWS = 40
FIELDS = """\
    fields:
      no: {type: string, max_bytes: 20}
      seller: {type: string, max_bytes: 20}
      state: string
      n: int
"""
PRIMARY = "[{field: no}, {field: seller}]"
BY_STATE = "by_state: {key: [{field: state}, {field: no}, {field: seller}]}"
SALTED = "by_state: {key: [{salt: {of: [no], buckets: 4}}, {field: state}, {field: no}, {field: seller}]}"
BY_SELLER = "by_seller: {key: [{field: seller}, {field: no}]}"
ONE_WRITER = STORE == "embedded"


class HintSteps(ComingBackCase):
    def tables(self, *paths, primary=PRIMARY, fields=FIELDS, more=""):
        given = f"    paths: {{{', '.join(paths)}}}\n" if paths else ""
        return f"tables:\n  orders:\n    store_table: {self.name}\n{fields}    key: {primary}\n{given}{more}"

    def put(self, gateway, first=0):
        put_all(gateway, "orders", [record(no=f"o{i:04}", seller=f"s{i % 3}", state="new", n=i) for i in range(first, first + ROWS)])

    def start(self, *paths, **how):
        gateway = self.open()
        apply(gateway, self.tables(*paths, **how), 0)
        self.put(gateway)
        return gateway

    def refuse(self, gateway, text, *parts):
        with self.assertRaises(KeywayError) as caught:
            apply(gateway, text, only_writer=not ONE_WRITER)
        self.assertEqual(caught.exception.code, Code.REFUSED, caught.exception)
        for part in parts:
            self.assertIn(part, caught.exception.message)
        self.assertIsNone(status(gateway, "orders"))

    def numbers(self, gateway, path=None, table="orders"):
        """Those of all records that the path finds."""
        data = gateway.data()
        try:
            found, page = [], data.scan(Query(table=table, path=path, page_rows=1000, full_scan=True))
            while True:
                found += [plain(row)["no"] for row in page.rows]
                if not page.cursor:
                    return sorted(found)
                page = data.nextPage(page.cursor, None)
        finally:
            data.close()

    def expect(self, gateway, rows=ROWS, path=None):
        self.assertEqual(self.numbers(gateway, path), [f"o{i:04}" for i in range(rows)])

    def expect_not_served(self, gateway, text, *parts):
        """Of a gateway that starts with this file."""
        self.restart(gateway, self.settings(tables=text), ready=False)
        wait_until(lambda: gateway.ready()["degraded"], "the gateway to start")
        for part in parts:
            self.assertIn(part, gateway.ready()["degraded"][0])
        with self.assertRaises(KeywayError):
            self.numbers(gateway, "by_state")

    # --- the path is added ------------------------------------------------------------------------

    def add(self, gateway, text):
        apply(gateway, text, only_writer=not ONE_WRITER)
        wait_until_ended(gateway, "orders")

    def test_added_while_served(self):
        """Records that move all the time are found, too."""
        gateway = self.start()
        stop, moved = threading.Event(), []
        def move():
            round_number = 0
            while not stop.is_set():
                round_number += 1
                for i in range(ROWS):
                    put_all(gateway, "orders", [record(no=f"o{i:04}", seller=f"s{i % 3}", state=f"state{round_number % 4}", n=i)])
                moved.append(round_number)
        mover = threading.Thread(target=move)
        mover.start()
        try:
            self.add(gateway, self.tables(SALTED))
            for _ in range(10):
                self.expect_moving(gateway)
        finally:
            stop.set()
            mover.join()
        self.assertTrue(moved)
        self.expect(gateway, path="by_state")
        text, _ = keyway(gateway, "scrub", "orders")
        self.assertIn("0 missing", text + _)

    def expect_moving(self, gateway):
        """All records on one page, each once."""
        data = gateway.data()
        try:
            page = data.scan(Query(table="orders", path="by_state", page_rows=1000, full_scan=True))
        finally:
            data.close()
        self.assertIsNone(page.cursor)
        self.assertEqual(sorted(plain(row)["no"] for row in page.rows), [f"o{i:04}" for i in range(ROWS)])

    def test_added_with_another(self):
        gateway = self.start()
        self.refuse(gateway, self.tables(BY_STATE, BY_SELLER), "add them one after the other")

    NOT_ADDED = "table orders, path by_state: the table holds rows already, and the new path would only hold what is written from"

    def test_added_by_a_file(self):
        gateway = self.start()
        text, old = self.tables(BY_STATE), self.tables()
        self.restart(gateway, self.settings(tables=old))
        gateway.write_policy(self.settings(tables=text))
        with self.assertRaises(KeywayError) as caught:
            gateway.admin().reload()
        self.assertIn(self.NOT_ADDED, caught.exception.message)
        self.expect(gateway)
        self.expect_not_served(gateway, text, self.NOT_ADDED)
        self.expect_not_served(gateway, text + "    accept_unverified: true\n", self.NOT_ADDED)
        self.restart(gateway, self.settings(tables=old))
        self.expect(gateway)

    def test_added_to_an_empty_table(self):
        gateway = self.open()
        apply(gateway, self.tables(), 0)
        apply(gateway, self.tables(BY_STATE))
        self.put(gateway)
        self.expect(gateway, path="by_state")

    def test_its_store_table_has_rows(self):
        other = (f"  others:\n    store_table: {self.name}_used\n    fields: {{id: string, n: int}}\n    key: [{{field: id}}]\n")
        gateway = self.open()
        apply(gateway, self.tables(more=other), 0)
        put_all(gateway, "others", [record(id="a", n=1)])
        used = BY_STATE.replace("{key", f"{{store_table: {self.name}_used, key")
        with self.assertRaises(KeywayError) as caught:
            apply(gateway, self.tables(used, more=other))
        self.assertIn(f"the store table {self.name}_used is already used", caught.exception.message)
        self.refuse(gateway, self.tables(used), f"store table {self.name}_used")

    def test_lost_catalog(self):
        """The gateway cannot know whether the path has a row for each record."""
        gateway = self.start(BY_STATE)
        self.lose_catalog(gateway)
        for more in ("", "    accept_unverified: true\n"):
            self.refuse_import(gateway, self.tables(BY_STATE, more=more), "table orders, path by_state: the catalog does not have the table",
                               "keyway catalog import")

    def test_catalog_comes_back(self):
        gateway = self.start(BY_STATE)
        self.import_catalog(gateway, self.export_catalog(gateway))
        self.put(gateway, ROWS)
        self.expect(gateway, 2 * ROWS, "by_state")

    # --- the path is dropped ----------------------------------------------------------------------

    def drop(self, gateway):
        apply(gateway, self.tables())
        wait_until_ended(gateway, "orders")

    def test_dropped(self):
        gateway = self.start(BY_STATE)
        self.drop(gateway)
        self.put(gateway, ROWS)
        self.expect(gateway, 2 * ROWS)
        self.refuse(gateway, self.tables(BY_STATE), "table orders, path by_state: the path was dropped, and its store table")
        other = BY_STATE.replace("{key", f"{{store_table: {self.name}_other, key").replace("by_state:", "other:")
        self.add(gateway, self.tables(other))
        self.expect(gateway, 2 * ROWS, "other")
        keyway(gateway, "forget", "orders", "--path", "by_state", "--drop-rows", "--yes")
        self.add(gateway, self.tables(other, BY_STATE))
        self.expect(gateway, 2 * ROWS, "by_state")

    def test_dropped_after_the_export(self):
        """An import of the older catalog serves the path again. A scrub finds the rows that it lacks, and writes them."""
        gateway = self.start(BY_STATE)
        file = self.export_catalog(gateway)
        self.drop(gateway)
        self.put(gateway, ROWS)
        self.import_catalog(gateway, file)
        keyway(gateway, "scrub", "orders", "--repair", code=None)
        self.expect(gateway, 2 * ROWS, "by_state")

    @unittest.skipIf(ONE_WRITER, "with one writer, a file can drop the path")
    def test_dropped_by_a_file(self):
        gateway = self.start(BY_STATE)
        self.restart(gateway, self.settings(tables=self.tables(BY_STATE)))
        gateway.write_policy(self.settings(tables=self.tables()))
        with self.assertRaises(KeywayError) as caught:
            gateway.admin().reload()
        self.assertIn("restore the path, or drop it while the table is in use", caught.exception.message)
        self.expect(gateway, path="by_state")

    @unittest.skipIf(ONE_WRITER, "with one writer, the path is dropped at once")
    def test_dropped_with_another(self):
        gateway = self.start(BY_STATE, "by_n: {key: [{field: n}, {field: no}, {field: seller}]}")
        plan = apply(gateway, self.tables(BY_STATE), dry_run=True).plan
        self.assertIn(f"path by_n: its hints stay in store table {self.name}_by_n (layout 1) until `keyway forget", plan)
        self.refuse(gateway, self.tables(BY_STATE, more="    atomics: false\n"), "with a policy that changes nothing else of the table's paths")
        self.drop(gateway)
        data = gateway.data()
        self.assertEqual([path.name for path in data.describe("orders").paths], ["primary"])
        data.close()
        self.expect(gateway)

    # --- changes of the table ---------------------------------------------------------------------

    def test_key_rules(self):
        gateway = self.start(BY_STATE)
        self.refuse(gateway, self.tables(SALTED), "table orders, path by_state: the path cannot be changed while the table has rows")
        self.refuse(gateway, self.tables(BY_STATE, primary="[{field: seller}, {field: no}]"),
                    "table orders, path primary: the path cannot be changed while the table has rows, because the key of path "
                    "by_state has fields that can change")
        self.refuse(gateway, self.tables(SALTED, primary="[{field: seller}, {field: no}]"), "cannot be changed while the table has rows")
        self.expect(gateway, path="by_state")

    def test_a_path_with_records(self):
        """It can be added with one writer."""
        gateway = self.start(BY_STATE)
        with_both = self.tables(BY_STATE, BY_SELLER)
        if not ONE_WRITER:
            self.refuse(gateway, with_both, "table orders, path by_seller: the path cannot be added while the table has rows, "
                        "because the key of path by_state has fields that can change")
            return
        apply(gateway, with_both)
        wait_until_ended(gateway, "orders")
        self.put(gateway, ROWS)
        for path in (None, "by_seller", "by_state"):
            self.expect(gateway, 2 * ROWS, path)
        apply(gateway, self.tables(BY_STATE, BY_SELLER.replace("[", "[{salt: {of: [no], buckets: 4}}, ")))
        wait_until(lambda: status(gateway, "orders").compared, "the rows to be copied and compared")
        self.put(gateway, 2 * ROWS)
        keyway(gateway, "change", "switch", "orders")
        keyway(gateway, "change", "complete", "orders", "--expire-cursors")
        wait_until_ended(gateway, "orders")
        self.put(gateway, 3 * ROWS)
        for path in (None, "by_seller", "by_state"):
            self.expect(gateway, 4 * ROWS, path)

    def test_fields(self):
        gateway = self.start(BY_STATE)
        apply(gateway, self.tables(BY_STATE, fields=FIELDS + "      more: string\n"))
        apply(gateway, self.tables(BY_STATE))
        self.refuse(gateway, self.tables(BY_STATE, fields=FIELDS.replace("n: int", "n: string")), "its values were stored as int")
        self.put(gateway, ROWS)
        self.expect(gateway, 2 * ROWS, "by_state")

    def test_another_name(self):
        gateway = self.start(BY_STATE)
        apply(gateway, self.tables(BY_STATE).replace("  orders:", "  others:"))
        self.assertEqual(len(self.numbers(gateway, "by_state", "others")), ROWS)
        with self.assertRaises(KeywayError) as caught:  # another table cannot take its rows
            apply(gateway, self.tables())
        self.assertIn(f"store table {self.name}", caught.exception.message)

    def test_atomics(self):
        gateway = self.start(BY_STATE, more="    order: stamp\n    atomics: false\n")
        for given in ("true", "false"):
            apply(gateway, self.tables(BY_STATE, more=f"    order: stamp\n    atomics: {given}\n"))
            wait_until_ended(gateway, "orders")
            self.put(gateway)
        self.expect(gateway, path="by_state")
        self.refuse(gateway, self.tables(BY_STATE, more="    order: store\n"), "its rows were written with order: stamp")

    def test_atomics_with_order_store(self):
        """On HBase, a put of a gateway with atomics: false can arrive later, and partial puts do not notice it."""
        gateway = self.start(BY_STATE, more="    order: store\n    atomics: false\n")
        text = self.tables(BY_STATE, more="    order: store\n    atomics: true\n")
        if ONE_WRITER:
            apply(gateway, text)
        else:
            self.refuse(gateway, text, "table orders: its rows were written with atomics: false, and this policy has atomics: true, "
                        "which cannot change while the table has rows, because the key of path by_state has fields that can change")
        self.expect(gateway, path="by_state")

    # --- large rows -------------------------------------------------------------------------------

    def test_large_row(self):
        """A query fails if it has to return a row larger than a frame, and not if it meets an old hint of such a row."""
        gateway = Gateway("limits: {{frame: 64KiB}}\n" + self.settings())
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        apply(gateway, self.tables(BY_STATE, fields=FIELDS + "      one: string\n      two: string\n"), 0)
        self.put(gateway)
        for number in (0, ROWS // 2, ROWS - 1):
            for fields in ({"one": "1" * 50_000}, {"two": "2" * 50_000}, {"state": "paid"}):
                put_all(gateway, "orders", [record(no=f"o{number:04}", seller=f"s{number % 3}", **fields)])
        data = gateway.data()
        try:
            found = data.scan(Query(table="orders", path="by_state", page_rows=1000, bound=record(state="new"))).rows
            self.assertEqual([plain(row)["no"] for row in found], [f"o{i:04}" for i in range(1, ROWS - 1) if i != ROWS // 2])
            paid = Query(table="orders", path="by_state", page_rows=1000, bound=record(state="paid"))
            with self.assertRaises(KeywayError) as caught:
                data.scan(paid)
            self.assertEqual(caught.exception.code, Code.LIMIT)
            self.assertIn("o0000", caught.exception.message)
            paid.columns = ["state", "n"]
            self.assertEqual([plain(row)["n"] for row in data.scan(paid).rows], [0, ROWS // 2, ROWS - 1])
        finally:
            data.close()

    # --- what the command shows -------------------------------------------------------------------

    def test_explain(self):
        gateway = self.start(BY_STATE)
        whole = keyway(gateway, "explain", "orders", "--put", "no=o1", "seller=s1", "state=new")[0]
        self.assertIn(f"path by_state, store table {self.name}_by_state", whole)
        without = keyway(gateway, "explain", "orders", "--put", "no=o1", "seller=s1", "n=2")[0]
        self.assertNotIn(f"store table {self.name}_by_state", without)
        self.assertIn("path by_state: a put that gives no field in its key that can change writes no row here", without)
        query = keyway(gateway, "explain", "orders", "--path", "by_state", "--where", "state=new")[0]
        self.assertIn("a page takes at least 2 round trips: range scans in parallel, then one multi-get of records", query)
        data = gateway.data()
        self.assertEqual([path.hints for path in data.describe("orders").paths], [None, True])
        data.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
