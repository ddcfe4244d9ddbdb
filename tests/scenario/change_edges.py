"""Orders, failures and shutdowns around a change of a key rule, on the embedded store, that ordinary changes do not
meet."""
import os
import subprocess
import time
import unittest

from keyway_gateway import PATIENCE, Gateway, record, wait_until
from keyway_thrift.ttypes import ApplyOptions, ChangeAction, ChangeOptions, Code, KeywayError, Outcome

SETTINGS = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
policy: {{source: store}}
store: {{kind: embedded, path: {folder}/data}}
"""
OLD = "[{hash: {algorithm: md5, of: [id], take: 4, as: hex}}, {field: id}]"
NEW = "[{salt: {of: [id], buckets: 8}}, {field: id}]"


def table(name, key, more=""):
    return f"  {name}:\n    fields: {{id: {{type: string, max_bytes: 20}}, n: int}}\n{more}    key: {key}\n"


def tables(*each):
    return "tables:\n" + "".join(each)


class Edges(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(SETTINGS)
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__, None, None, None)

    # --- calls ------------------------------------------------------------------------------------

    def call(self, name, *arguments):
        admin = self.gateway.admin()
        try:
            return getattr(admin, name)(*arguments)
        finally:
            admin.close()

    def apply(self, text):
        return self.call("policyApply", text, int(self.gateway.metric("keyway_policy_version")), ApplyOptions())

    def order(self, name, action, **options):
        return self.call("orderChange", name, ChangeAction._NAMES_TO_VALUES[action.upper()], ChangeOptions(**options))

    def status(self, name):
        found = self.call("changes", name)
        return found[0] if found else None

    def wait_for(self, name, condition):
        def met():
            found = self.status(name)
            return found if found and condition(found) else None
        return wait_until(met, "the change")

    def wait_until_compared(self, name):
        return self.wait_for(name, lambda found: found.copied and found.compared)

    def fill(self, name, count):
        data = self.gateway.data()
        for first in range(0, count, 500):
            rows = [record(id=f"r{i:06}", n=i) for i in range(first, min(count, first + 500))]
            for written in data.putMany(name, rows, None):
                self.assertEqual(written.outcome, Outcome.OK, written)
        data.close()

    def keyway(self, *words):
        return subprocess.run([os.environ["KEYWAY"], "-g", self.gateway.address, *words], capture_output=True, text=True,
                              timeout=PATIENCE, check=True).stdout

    def change(self, name):
        """Ends the change that was begun."""
        self.wait_until_compared(name)
        self.order(name, "switch")
        self.order(name, "complete", expire_cursors=True)
        self.assertIsNone(self.status(name))

    def refuse(self, code, part, do, *arguments, **options):
        with self.assertRaises(KeywayError) as caught:
            do(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(part, caught.exception.message)

    # --- tests ------------------------------------------------------------------------------------

    def test_forget(self):
        """A table with the record of an ended change is forgotten while another table changes."""
        self.apply(tables(table("a", OLD), table("b", OLD)))
        self.fill("a", 10)
        self.fill("b", 10)
        self.apply(tables(table("a", NEW), table("b", OLD)))
        self.change("a")
        self.apply(tables(table("b", OLD)))
        self.apply(tables(table("b", NEW)))
        self.wait_until_compared("b")
        self.keyway("forget", "a", "--drop-rows", "--yes")
        self.change("b")

    def test_unfit_store_table(self):
        """A change does not begin if the new store table cannot hold all that the old one holds: each put would fail, or the
        rows would always differ."""
        versions = "    families: {d: {versions: %d, ttl: %s}}\n"
        old = table("a", OLD, versions % (3, "0s"))
        self.apply(tables(old, table("z", OLD, "    store_table: a_L2\n    family: other\n    families: {other: {}}\n")))
        self.apply(tables(old))
        self.keyway("forget", "z", "--yes")
        self.fill("a", 10)
        part = "the store table a_L2, to which the rows of a would be copied, "
        self.refuse(Code.REFUSED, part + "has no family d; it exists", self.apply, tables(table("a", NEW)))
        self.fill("a", 20)
        part = part.replace("a_L2", "a2_L2")
        for settings, problem in (((2, "0s"), "keeps fewer versions of family d; change"),
                                  ((3, "10d"), "has a shorter ttl of family d; change")):
            text = tables(table("a", NEW, "    store_table: a2\n" + versions % settings))
            self.refuse(Code.REFUSED, part + problem, self.apply, text)
        self.assertIsNone(self.status("a"))
        self.apply(tables(table("a", NEW, "    store_table: a2\n" + versions % (3, "0s"))))
        self.change("a")

    def test_reload_while_copying(self):
        """Rows that were copied before a reload, or before another change begins, are still counted after it."""
        self.apply(tables(table("a", OLD), table("b", OLD)))
        self.fill("a", 20000)
        self.apply(tables(table("a", NEW), table("b", OLD)))
        for _ in range(10):
            self.keyway("reload")
        self.apply(tables(table("a", NEW), table("b", NEW)))
        self.assertEqual(self.wait_until_compared("a").rows_copied, 20000)

    def test_removed_undecodable_rows(self):
        """Records that the new rule cannot encode are removed; then a comparison permits the switch."""
        self.apply(tables(table("a", OLD)))
        self.fill("a", 20)
        short = "[{salt: {of: [id], buckets: 8}}, {field: {name: id, encoding: fixed, width: 7}}]"
        data = self.gateway.data()
        self.assertEqual(data.put("a", record(id="a long id", n=1), None).outcome, Outcome.OK)
        self.apply(tables(table("a", short)))
        self.assertEqual(self.wait_until_compared("a").foreign_rows, 1)
        self.refuse(Code.REFUSED, "--leave-undecodable", self.order, "a", "switch")
        self.assertEqual(data.remove("a", record(id="a long id"), [], None).outcome, Outcome.OK)
        data.close()
        self.order("a", "compare")
        found = self.wait_until_compared("a")
        self.assertEqual((found.foreign_rows, found.rows_copied, found.example or ""), (0, 20, ""))
        self.change("a")

    def test_stop_while_rows_settle(self):
        """The gateway stops although a comparison waits to read rows again. They differ because the new store table keeps
        more versions of rows that were written twice."""
        self.apply(tables(table("a", OLD)))
        self.fill("a", 500)
        self.apply(tables(table("a", NEW, "    families: {d: {versions: 3}}\n")))
        for delay in (0.02, 0.1, 0.2):
            self.wait_until_compared("a")
            self.fill("a", 500)
            self.order("a", "compare")
            time.sleep(delay)
            self.gateway.restart()
            wait_until(lambda: self.gateway.get("/readyz")[0] == 200)
        self.wait_until_compared("a")
        self.order("a", "switch")


if __name__ == "__main__":
    unittest.main()
