"""A key rule is changed while callers read and write, on HBase, with one or several gateways.

    change_hbase.py sim|hbase GATEWAYS

KW_SEED repeats a run.
"""
import logging
import os
import unittest

from change_case import HASHED, SALTED, SEED
from change_hbase_case import ONCE, ONE, ROWS, SEVERAL, SIMULATED, STORE, HBaseCase
from changing import apply, call, json_lines, keyway, order, put_all, status, wait_until_compared, wait_until_ended
from keyway_gateway import Gateway, plain, record, value, wait_until
from keyway_thrift.ttypes import Code, CompareOp, Condition, Query


class Begin(HBaseCase):
    """What must be true before a change begins."""

    @ONE
    def test_refused(self):
        gateway = self.start(1, late="", rows=10)
        self.refuse(Code.REFUSED, "store.late is not set in the file of this gateway", self.begin)
        found = self.begin(dry_run=True)
        self.assertTrue(found.refused)
        self.assertIn("REFUSED: table t, path primary: the key rule can be changed while the table is served, but store.late", found.plan)
        with_late = self.open(1)
        wait_until(lambda: with_late.get("/readyz")[0] == 200, "the gateway to serve")
        self.refuse(Code.REFUSED, "(--only-writer)", apply, with_late, self.policy(SALTED))
        self.assertEqual([status(each, "t") for each in (gateway, with_late)], [None, None])
        self.assertEqual(gateway.metric("keyway_policy_version"), 1)
        for key, part in (("[{salt: {algorithm: random, buckets: 8}}, {field: id}, {field: ts}]", "each put chooses a bucket"),
                          ("[{field: id}]", "does not have field ts of the old key rule")):
            self.refuse(Code.INVALID, part, self.begin, key, gateway=with_late)
        self.expect_all(self.stable)

    @ONE
    def test_two_tables(self):
        """The changes of two tables begin one after the other."""
        def both(key, other):
            return self.policy(key) + f"  u:\n    store_table: {self.name}_u\n    fields: {{id: string}}\n    key: {other}\n"
        gateway = self.start(1, rows=10)
        apply(gateway, both(HASHED, "[{field: id}]"))
        put_all(gateway, "u", [record(id="x")])
        text = both(SALTED, "[{hash: {of: [id]}}, {field: id}]")
        self.refuse(Code.REFUSED, "changes the key rules, the paths or atomics of several tables", apply, gateway, text, only_writer=True)
        self.assertEqual([status(gateway, each) for each in "tu"], [None, None])
        apply(gateway, both(SALTED, "[{field: id}]"), only_writer=True)
        apply(gateway, text, only_writer=True)
        self.assertEqual([status(gateway, each).table for each in "tu"], ["t", "u"])
        self.expect_all(self.stable)

    @ONE
    def test_plan(self):
        gateway = self.start(1, rows=10)
        found = self.begin(dry_run=True)
        self.assertFalse(found.refused, found.plan)
        self.assertEqual(found.plan, f"""\
table t
  path primary: another key rule
  path primary: its rows move from store table {self.name} (layout 1) to {self.name}_L2 (layout 2), while the table is served.
    Until `keyway change complete`, each write goes to both store tables. Queries read the old rows, and after `keyway change switch` the new ones.
    Puts write the tables one after the other only during the last pass of a switch or a reverse.
    Until the change ends, the table has order: stamp, so the gateways set the timestamps.
    Increments and conditional writes wait during the last pass of a switch or a reverse, and while the order of the table changes; they fail (UNAVAILABLE) if their deadline passes first.
    Until the change ends, no other program must write either store table.
  This gateway answered no queries of the table in the last hour.
""")
        self.assertEqual(found.copied_tables, ["t"])
        self.assertIsNone(status(gateway, "t"))


    @ONCE
    def test_store_table_is_created(self):
        """Also by a gateway that creates no missing store tables when it starts."""
        self.start(1, rows=10)
        settings = self.settings(1).replace("create_missing: true", "create_missing: false")
        other = Gateway(settings)
        other.__enter__()
        self.addCleanup(other.__exit__, None, None, None)
        wait_until(lambda: other.get("/readyz")[0] == 200, "the gateway to serve")
        self.begin(gateway=other)
        wait_until_compared(other, "t")
        self.assertIn(f"table={self.name}_L2", other.log())

    @unittest.skipIf(STORE == "sim", "the simulated HBase has one region per table")
    def test_regions(self):
        """The new store table gets about as many regions as the old one has, even if the policy names no splits."""
        self.order_of_writes = "    splits: {algorithm: HexStringSplit, regions: 5}\n"
        gateway = self.open(0)
        apply(gateway, self.policy(HASHED), 0)
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        put_all(gateway, "t", [record(id="a", ts=0, note="x")])
        self.order_of_writes = ""
        self.begin()
        created = [line for line in gateway.log().splitlines() if "store table created" in line and self.name in line]
        print([line.partition("event=")[2] for line in created])
        self.assertIn("regions=5", next(line for line in created if f"{self.name}_L2" not in line))
        self.assertIn("regions=5", next(line for line in created if f"{self.name}_L2" in line))


class Change(HBaseCase):
    def step(self, load, action, version, **options):
        expires = action in ("reverse", "complete")
        if not expires:
            found = self.lead(action, version, **options)
        else:
            with load.cursors_expire():
                found = self.lead(action, version, **options)
        load.wait_for_scans()
        return found

    def no_differences(self):
        lines, summary = keyway(self.gateways[0], "change", "diff", "t", "-o", "jsonl")
        self.assertEqual(json_lines(lines), [], summary)

    def complete(self, load, gateway=None):
        with load.cursors_expire():
            order(gateway or self.gateways[0], "t", "complete", expire_cursors=True)
            for each in self.gateways:
                wait_until_ended(each, "t")
        load.wait_for_scans()

    def whole(self, order_of_writes=""):
        self.start(order_of_writes=order_of_writes)
        with self.load() as load:
            load.wait_for_scans()
            self.begin()
            wait_until_compared(self.gateways[-1], "t")
            found = self.wait_for_version("both-old", gateway=self.gateways[-1])
            self.assertEqual((found.old_layout, found.layout, found.old_store_table, found.store_table),
                             (1, 2, self.name, f"{self.name}_L2"))
            self.assertEqual((found.policy_version, found.reads_new, found.foreign_rows), (2, False, 0))
            self.assertGreaterEqual(found.rows_copied, ROWS)
            load.wait_for_scans()
            load.wait_for_atomics()
            self.step(load, "switch", "both-new")
            load.wait_for_atomics()
            self.no_differences()
            self.step(load, "reverse", "both-old")
            load.wait_for_atomics()
            wait_until_compared(self.gateways[-1], "t")
            self.step(load, "switch", "both-new", gateway=self.gateways[-1])
            self.complete(load)
            load.wait_for_atomics()
        self.expect_all(load.final(), load.uncertain())
        print(load.counts, f"longest atomic operation: {load.longest:.2f} s")

    @ONCE
    def test_whole(self):
        self.whole()

    @SIMULATED
    def test_whole_with_stamps(self):
        self.whole("    order: stamp\n")

    @SEVERAL
    def test_whole_with_stamps_and_atomics(self):
        self.whole("    order: stamp\n    atomics: true\n")

    @SIMULATED
    def test_versions_of_the_policy(self):
        """Other changes of the policy are applied during the change; the old key rule is not."""
        self.start(rows=50)
        self.begin()
        wait_until_compared(self.gateways[-1], "t")
        self.refuse(Code.REFUSED, "run `keyway change cancel t`", apply, self.gateways[-1], self.policy(HASHED), only_writer=True)
        apply(self.gateways[-1], self.policy(SALTED, ", more: string"))
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: gateway.metric("keyway_policy_version") == 3, "version 3")
        self.assertEqual(status(self.gateways[0], "t").version, "both-old")
        data = self.gateways[0].data()
        data.put("t", record(id="r000000", ts=0, more="x"), None)
        data.remove("t", record(id="r000000", ts=1), [], None)
        data.remove("t", record(id="r000000", ts=2), ["note"], None)
        data.close()
        self.stable["r000000", 0]["more"] = "x"
        del self.stable["r000000", 1], self.stable["r000000", 2]["note"]
        if STORE == "sim":
            self.assertEqual(len(self.control_cells(f"{self.name}_L2")), 2)
        self.lead("switch", "both-new")
        self.expect_all(self.stable)
        order(self.gateways[0], "t", "complete", expire_cursors=True)
        for gateway in self.gateways:
            wait_until_ended(gateway, "t")
        self.expect_all(self.stable)
        if STORE == "sim":
            self.assertEqual(self.control_cells(f"{self.name}_L2"), [])
        keyway(self.gateways[0], "forget", "t", "--path", "primary", "--drop-rows", "--yes")
        self.expect_all(self.stable)

    def control_cells(self, store_table):
        """Cells that hide removed ones."""
        self.place.send("purge")
        return [cell for cell in self.place.cells(store_table) if cell[1].startswith((b"d:\0kw:r", b"d:\0kw:c")) and cell[2] == "put"]

    @SIMULATED
    def test_commands(self):
        gateway = self.start(rows=50)
        file = os.path.join(gateway.folder, "new.yaml")
        with open(file, "w", encoding="utf-8") as written:
            written.write(self.policy(SALTED))
        refused = keyway(gateway, "policy", "apply", file, "--dry-run", code=None)
        self.assertIn("--only-writer", refused[0])
        keyway(gateway, "policy", "apply", file, "--only-writer", "-m", "other buckets")
        self.assertIn("both-old since", keyway(gateway, "change", "status", "t", "--wait")[0])
        self.assertIn("until queries read the new rows", keyway(self.gateways[-1], "change", "switch", "t", "--expect", "both-old")[0])
        self.assertIn("both-new since", keyway(gateway, "change", "status", "t", "--wait")[0])
        self.no_differences()
        keyway(gateway, "change", "complete", "t", "--expire-cursors")
        keyway(gateway, "change", "status", "t", "--wait", code=None)
        for each in self.gateways:
            wait_until_ended(each, "t")
        self.expect_all(self.stable)

    @ONE
    def test_gateway_that_joins(self):
        """A gateway that starts during a change is waited for from then on."""
        self.start(1)
        with self.load() as load:
            self.begin()
            wait_until_compared(self.gateways[0], "t")
            joined = self.open(9)
            wait_until(lambda: joined.get("/readyz")[0] == 200, "the gateway to serve")
            self.assertEqual(status(joined, "t").version, "both-old")
            load.wait_for_scans()
            self.step(load, "switch", "both-new", gateway=joined)
            self.complete(load, gateway=joined)
        self.expect_all(load.final(), load.uncertain())

    @ONE
    def test_second_path(self):
        """The key rule of another path than the primary one changes; atomic operations go on."""
        text = ("tables:\n  t:\n    store_table: {name}\n    atomics: true\n"
                "    fields: {{id: string, part: string, tags: {{type: map, of: string, column: 'm:*'}}}}\n"
                "    key: [{{field: id}}, {{field: part}}]\n    paths:\n      by_part:\n        store_table: {name}_by_part\n        key: {key}\n"
                "  counted:\n    store_table: {name}_counted\n    fields: {{id: string, n: {{type: int, counter: true}}}}\n    key: [{{field: id}}]\n")
        first = self.open(0)
        apply(first, text.format(name=self.name, key="[{field: part}, {field: id}]"), 0)
        wait_until(lambda: first.get("/readyz")[0] == 200, "the gateway to serve")
        data = first.data()
        rows = {f"r{i:03}": {"a": f"{i}", "b": "x"} for i in range(60)}
        put_all(first, "t", [record(id=name, part=name[-1], tags=tags) for name, tags in rows.items()])
        changed = text.format(name=self.name, key="[{salt: {of: [id], buckets: 4}}, {field: part}, {field: id}]")
        apply(first, changed, only_writer=True)
        wait_until_compared(first, "t")
        self.assertEqual(status(first, "t").path, "by_part")
        data.remove("t", record(id="r000", part="0"), [], None)
        data.remove("t", record(id="r001", part="1"), ["tags.b"], None)
        data.put("t", record(id="r002", part="2", tags={"c": "y"}), None)
        self.assertTrue(data.putIf("t", record(id="r003", part="3", tags={"a": "if"}), Condition("tags.a", CompareOp.EQUAL, value("3")), None))
        self.assertFalse(data.putIf("t", record(id="r003", part="3", tags={"a": "no"}), Condition("tags.a", CompareOp.EQUAL, value("3")), None))
        rows["r003"]["a"] = "if"
        del rows["r000"], rows["r001"]["b"]
        rows["r002"]["c"] = "y"
        self.assertEqual(plain(data.increment("counted", record(id="a"), {"n": 7}, None)), {"n": 7})
        for action, version in (("switch", "both-new"), ("complete", None)):
            order(first, "t", action, expire_cursors=action == "complete")
            wait_until(lambda version=version: (found.version if (found := status(first, "t")) else None) == version, f"version {version}")
            was = value(rows["r003"]["a"])
            rows["r003"]["a"] = action
            self.assertTrue(data.putIf("t", record(id="r003", part="3", tags={"a": action}), Condition("tags.a", CompareOp.EQUAL, was), None))
            for path in ("primary", "by_part"):
                page = data.scan(Query(table="t", path=path, full_scan=True, page_rows=1000))
                self.assertEqual({row["id"].text: plain(row["tags"].entries) for row in page.rows}, rows, path)
        data.close()

    @ONE
    def test_records_that_one_rule_cannot_encode(self):
        """They stay in the old store table; gets find them until the switch."""
        self.start(1, rows=30)
        data = self.gateways[0].data()
        put_all(self.gateways[0], "t", [record(id="longer", ts=5, note="x")])
        self.begin("[{hash: {of: [id], take: 2}}, {field: {name: id, encoding: fixed, width: 8}}, {field: ts}]")
        wait_until_compared(self.gateways[0], "t")
        self.assertEqual(status(self.gateways[0], "t").foreign_rows, 0)
        order(self.gateways[0], "t", "cancel")
        wait_until_ended(self.gateways[0], "t")
        put_all(self.gateways[0], "t", [record(id="longer than 8", ts=5, note="x")])
        self.begin("[{hash: {of: [id], take: 2}}, {field: {name: id, encoding: fixed, width: 8}}, {field: ts}]")
        found = wait_until_compared(self.gateways[0], "t")
        self.assertEqual(found.foreign_rows, 1, found)
        self.refuse(Code.REFUSED, "--leave-undecodable", order, self.gateways[0], "t", "switch")
        self.assertEqual(data.get("t", record(id="longer than 8", ts=5), [], None).record["note"].text, "x")
        self.refuse(Code.INVALID, "the key rule of path primary is being changed", data.put, "t",
                    record(id="longer than 8", ts=5, note="y"), None)
        self.lead("switch", "both-new", leave_undecodable=True)
        self.stable["longer", 5] = {"note": "x"}
        self.expect_all(self.stable)
        data.close()

    @SIMULATED
    def test_status_of_another_gateway(self):
        """Each gateway shows a change as soon as it has begun, and none as soon as it has ended."""
        self.start(rows=10)
        self.begin()
        for each in self.gateways:
            self.assertIsNotNone(status(each, "t"))
        wait_until_compared(self.gateways[0], "t")
        order(self.gateways[0], "t", "cancel")
        wait_until_ended(self.gateways[0], "t")
        self.assertIsNone(status(self.gateways[1], "t"))

    @SIMULATED
    def test_cancel(self):
        self.start()
        with self.load() as load:
            self.begin()
            wait_until_compared(self.gateways[0], "t")
            load.wait_for_scans()
            order(self.gateways[-1], "t", "cancel")
            for each in self.gateways:
                wait_until_ended(each, "t")
            load.wait_for_scans()
            for each in self.gateways:
                wait_until(lambda each=each: each.metric("keyway_policy_version") == 3, "version 3")
            self.assertEqual(call(self.gateways[0], "policyVersion", 0).text, self.policy(HASHED))
            self.begin()
            found = wait_until_compared(self.gateways[0], "t")
            self.assertEqual((found.old_layout, found.layout, found.store_table), (1, 3, f"{self.name}_L3"))
            self.step(load, "switch", "both-new")
            self.complete(load)
        self.expect_all(load.final(), load.uncertain())


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    logging.disable()  # Thrift's messages about gateways that were killed
    unittest.main(verbosity=2, warnings="ignore")
