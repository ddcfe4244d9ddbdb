"""Tests what a policy can change of a table with a unique path. Its promise needs a claim for each record, so it is refused if it
could come to a table with rows.

    unique_steps.py embedded
"""
import unittest

from changing import apply, keyway, put_all, status
from coming_back import ComingBackCase
from keyway_gateway import plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Query

ROWS = 20
FIELDS = """\
    fields:
      no: {type: string, max_bytes: 20}
      seller: {type: string, max_bytes: 20}
      card: string
      n: int
"""
BY_CARD = "by_card: {key: [{hash: {of: [card], take: 2}}, card], unique: true}"
NOT_UNIQUE = "by_card: {key: [{hash: {of: [card], take: 2}}, card, no, seller]}"
BY_SELLER = "by_seller: {key: [seller, no]}"
NOT_ADDED = ("table orders, path by_card: a unique path cannot be added while the table has rows, because two of them could have "
             "the same values; leave the path out, or copy the rows to a new table")


class UniqueSteps(ComingBackCase):
    def tables(self, *paths, primary="[no, seller]", more=""):
        given = f"    paths: {{{', '.join(paths)}}}\n" if paths else ""
        return f"tables:\n  orders:\n    store_table: {self.name}\n{FIELDS}    key: {primary}\n{given}{more}"

    def put(self, gateway, first=0):
        put_all(gateway, "orders",
                [record(no=f"o{i:04}", seller=f"s{i % 3}", card=f"c{i}", n=i) for i in range(first, first + ROWS)])

    def start(self, *paths, **how):
        gateway = self.open()
        apply(gateway, self.tables(*paths, **how), 0)
        self.put(gateway)
        return gateway

    def refuse(self, gateway, text, *parts):
        with self.assertRaises(KeywayError) as caught:
            apply(gateway, text)
        self.assertEqual(caught.exception.code, Code.REFUSED, caught.exception)
        for part in parts:
            self.assertIn(part, caught.exception.message)
        self.assertIsNone(status(gateway, "orders"))

    def expect(self, gateway, rows=ROWS):
        """Each record is found by its card, and no other one can get it."""
        data = gateway.data()
        try:
            for i in range(rows):
                found = data.get("orders", record(card=f"c{i}"), ["n"], None)
                self.assertEqual(plain(found.record)["n"], i)
                with self.assertRaises(KeywayError) as caught:
                    data.put("orders", record(no="other", seller="x", card=f"c{i}"), None)
                self.assertEqual(caught.exception.code, Code.REFUSED)
        finally:
            data.close()

    def test_added_to_an_empty_table(self):
        gateway = self.open()
        apply(gateway, self.tables(), 0)
        apply(gateway, self.tables(BY_CARD))
        self.put(gateway)
        self.expect(gateway)

    def test_added(self):
        gateway = self.start()
        self.refuse(gateway, self.tables(BY_CARD), NOT_ADDED)
        self.refuse(gateway, self.tables(BY_CARD, BY_SELLER), NOT_ADDED)

    def test_added_by_a_file(self):
        gateway = self.start()
        self.restart(gateway, self.settings(tables=self.tables()))
        gateway.write_policy(self.settings(tables=self.tables(BY_CARD)))
        with self.assertRaises(KeywayError) as caught:
            gateway.admin().reload()
        self.assertIn(NOT_ADDED, caught.exception.message)
        for more in ("", "    accept_unverified: true\n"):
            self.restart(gateway, self.settings(tables=self.tables(BY_CARD, more=more)), ready=False)
            wait_until(lambda: gateway.ready()["degraded"], "the gateway to start")
            self.assertIn(NOT_ADDED, gateway.ready()["degraded"][0])

    def test_lost_catalog(self):
        """The gateway cannot know whether each record has its claim."""
        gateway = self.start(BY_CARD)
        self.lose_catalog(gateway)
        for more in ("", "    accept_unverified: true\n"):
            self.refuse_import(gateway, self.tables(BY_CARD, more=more), "table orders, path by_card: the catalog does not have the table")

    def test_catalog_comes_back(self):
        gateway = self.start(BY_CARD)
        self.import_catalog(gateway, self.export_catalog(gateway))
        self.put(gateway, ROWS)
        self.expect(gateway, 2 * ROWS)

    def test_changed(self):
        gateway = self.start(BY_CARD)
        other = BY_CARD.replace("take: 2", "take: 3")
        for text in (self.tables(other), self.tables(NOT_UNIQUE), self.tables(BY_CARD, primary="[seller, no]")):
            self.refuse(gateway, text, "cannot be changed while the table has rows")
        self.expect(gateway)

    def test_becomes_unique(self):
        gateway = self.start(NOT_UNIQUE)
        self.refuse(gateway, self.tables(BY_CARD), "table orders, path by_card: the path cannot be changed while the table has rows")

    def test_dropped(self):
        gateway = self.start(BY_CARD)
        apply(gateway, self.tables())
        self.refuse(gateway, self.tables(BY_CARD), "table orders, path by_card: the path was dropped, and its store table")
        renamed = BY_CARD.replace("by_card", "other").replace("{key", f"{{store_table: {self.name}_other, key")
        self.refuse(gateway, self.tables(renamed), "path other: a unique path cannot be added")
        keyway(gateway, "forget", "orders", "--path", "by_card", "--drop-rows", "--yes")
        self.refuse(gateway, self.tables(BY_CARD), NOT_ADDED)

    def test_another_path_is_added(self):
        gateway = self.start(BY_CARD)
        apply(gateway, self.tables(BY_CARD, BY_SELLER))
        wait_until(lambda: status(gateway, "orders") is None, "the path to be filled")
        self.put(gateway, ROWS)
        self.expect(gateway, 2 * ROWS)
        data = gateway.data()
        self.assertEqual(len(data.scan(Query("orders", path="by_seller", full_scan=True)).rows), 2 * ROWS)
        data.close()

    def test_another_name(self):
        gateway = self.start(BY_CARD)
        apply(gateway, self.tables(BY_CARD).replace("  orders:", "  others:"))
        data = gateway.data()
        self.assertEqual(plain(data.get("others", record(card="c1"), ["n"], None).record)["n"], 1)
        data.close()

    def test_shown(self):
        gateway = self.start(BY_CARD)
        put = keyway(gateway, "explain", "orders", "--put", "no=o1", "seller=s1", "card=c1")[0]
        self.assertIn("path by_card: the put is refused if another record has the same values of the fields in this key", put)
        query = keyway(gateway, "explain", "orders", "--where", "card=c1")[0]
        self.assertIn("a page takes at least 2 round trips: point reads, then one multi-get of records", query)
        data = gateway.data()
        self.assertEqual([path.unique for path in data.describe("orders").paths], [None, True])
        data.close()
        _, why = keyway(gateway, "scan", "orders", "--path", "by_card", "--full-scan", code=3)
        self.assertIn("the path by_card is unique and finds one record: give exactly one value of each field in its key (card)", why)


if __name__ == "__main__":
    unittest.main(verbosity=2)
