"""A path is added to a table with rows while callers read and write, on HBase, with one or several gateways.

    change_paths_hbase.py sim|hbase GATEWAYS

KW_SEED repeats a run; with KW_KILLS, gateways are also killed again and again.
"""
import logging
import os
import signal
import time
import unittest

from change_case import BY_TIME, HASHED, SALTED, SEED
from change_hbase_case import ONE, SEVERAL, SIMULATED, STORE, HBaseCase, HBaseLoad
from changing import Known, apply, call, json_lines, keyway, order, status, wait_for, wait_until_ended
from keyway_gateway import plain, record, value, wait_until
from keyway_hbase_thrift.ttypes import TColumnFamilyDescriptor, TTableDescriptor, TTableName
from keyway_thrift.ttypes import Code, KeywayError, Query, Range
from path_load import PathScans

SLOW = 300  # rows per second of a copy that must not end soon


class HBasePathLoad(PathScans, HBaseLoad):
    """Atomic operations wait at some places, and go on when the table has several paths."""


class PathsCase(HBaseCase):
    def text(self, *paths):
        """The policy with these paths and the primary one."""
        keys = {"by_time": BY_TIME, "by_other": SALTED}
        return self.policy(HASHED) + ("    paths:\n" if paths else "") + "".join(f"      {path}: {{key: {keys[path]}}}\n" for path in paths)

    def add(self, *paths, gateway=None, rows_per_second=0, **options):
        """Applies the policy with the paths."""
        gateway = gateway or self.gateways[0]
        found = apply(gateway, self.text(*(paths or ["by_time"])), only_writer=True, **options)
        if rows_per_second:
            order(gateway, "t", "throttle", rows_per_second=rows_per_second)
        return found

    def load(self, **options):
        return HBasePathLoad(self.gateways, self.stable, SEED, atomic=self.atomics(), **options)

    def atomics(self):
        return "stamp" not in self.order_of_writes or "atomics" in self.order_of_writes

    def wait_until_complete(self):
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: (found := status(gateway, "t")) is None or found.version == "filled-old", "the path to be complete")

    def states(self, gateway=None):
        data = (gateway or self.gateways[-1]).data()
        try:
            return {one.name: one.state for one in data.describe("t").paths}
        finally:
            data.close()

    def scan(self, gateway=None, **query):
        data = (gateway or self.gateways[-1]).data()
        try:
            return data.scan(Query(table="t", **query)).rows
        finally:
            data.close()

    def records_of(self, path, gateway=None):
        """All records, as a scan of the path returns them."""
        data = (gateway or self.gateways[-1]).data()
        try:
            page = data.scan(Query(table="t", path=path, full_scan=True, page_rows=5000))
            rows = list(page.rows)
            while page.cursor is not None:
                page = data.nextPage(page.cursor, None)
                rows += page.rows
        finally:
            data.close()
        found = {(row["id"].text, row["ts"].number): plain(row) for row in rows}
        self.assertEqual(len(found), len(rows))
        return found

    def expect_paths(self, *paths, uncertain=()):
        """The paths have the same records."""
        primary = self.records_of("primary")
        for path in paths:
            found = self.records_of(path)
            for key in uncertain:
                primary.pop(key, None)
                found.pop(key, None)
            self.assertEqual(found, primary, path)

    def control_cells(self, *store_tables):
        if STORE != "sim":
            return []
        self.place.send("purge")
        return [cell for table in store_tables for cell in self.place.cells(table)
                if cell[1].startswith((b"d:\0kw:r", b"d:\0kw:c")) and cell[2] == "put"]


@ONE
class Begin(PathsCase):
    """What must be true before a path is added."""

    def test_refused(self):
        gateway = self.start(1, late="", rows=10)
        self.refuse(Code.REFUSED, "store.late is not set in the file of this gateway", self.add)
        with_late = self.open(1)
        wait_until(lambda: with_late.get("/readyz")[0] == 200, "the gateway to serve")
        self.refuse(Code.REFUSED, "(--only-writer)", apply, with_late, self.text("by_time"))
        self.refuse(Code.REFUSED, "with atomics: true, and this policy has atomics: false", apply, with_late,
                    self.text("by_time").replace("    fields:", "    atomics: false\n    fields:"), only_writer=True)
        two = self.text("by_time") + (f"  u:\n    store_table: {self.name}_u\n    fields: {{id: string}}\n    key: [{{field: id}}]\n")
        apply(with_late, self.text() + two[len(self.text("by_time")):])
        data = with_late.data()
        data.put("u", record(id="x"), None)
        data.close()
        self.refuse(Code.REFUSED, "changes the key rules, the paths or atomics of several tables; apply the change of one table first", apply, with_late,
                    two.replace("key: [{field: id}]\n", "key: [{hash: {of: [id]}}, {field: id}]\n"), only_writer=True)
        self.assertEqual([status(each, "t") for each in (gateway, with_late)], [None, None])
        self.expect_all(self.stable)

    def test_plan(self):
        self.start(1, rows=10)
        found = self.add("by_time", "by_other", dry_run=True)
        self.assertFalse(found.refused, found.plan)
        self.assertIn(f"""\
  path by_time: its rows are copied from path primary to store table {self.name}_by_time (layout 1), while the table is served.
  path by_other: its rows are copied from path primary to store table {self.name}_by_other (layout 1), while the table is served.
    Queries can use the path when it has all rows. Until then, puts go to all paths at the same time, and removals to the added path first, then to the primary one; afterwards all writes go to all paths at the same time.
    The table permanently gets order: stamp, so the gateways set the timestamps.
    Increments and conditional writes wait while the order changes; they fail (UNAVAILABLE) if their deadline passes first.
    Until the change ends, no other program must write the store tables.
""", found.plan)
        self.assertNotIn("HBase shell", found.plan)
        self.assertIsNone(status(self.gateways[0], "t"))

    def test_plan_of_short_lived_markers(self):
        """The families were created by a gateway with a shorter store.late: the plan prints the command that configures them."""
        self.start(1, rows=10)
        gateway = self.open(1, late="  late: 60s\n")
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        plan = self.add("by_time", "by_other", gateway=gateway, dry_run=True).plan
        self.assertIn(f"store table {self.name}\n  compactions can drop its delete markers too early", plan)
        self.assertTrue(plan.endswith(f"""
  alter '{self.name}', {{NAME => 'd', CONFIGURATION => {{'hbase.hstore.time.to.purge.deletes' => '7320000'}}}}
"""), plan)
        self.assertEqual(plan.count("  alter "), 1, plan)

    def test_plan_without_in_memory_compaction(self):
        """Another program created the store table: the plan prints the commands that configure its families. The new store table
        has in-memory compaction."""
        family = TColumnFamilyDescriptor(name=b"d", configuration={"hbase.hstore.time.to.purge.deletes": "10000000"})
        with self.place.client() as client:
            client.createTable(TTableDescriptor(tableName=TTableName(qualifier=self.name.encode()), columns=[family]), [])
        gateway = self.start(1, rows=10)
        plan = self.add("by_time", gateway=gateway, dry_run=True).plan
        self.assertTrue(plan.endswith(f"""
store table {self.name}
  it has families without a setting for in-memory compaction. Unless the region servers' default enables it, passes and sweeps of the change read all cells that HBase has in memory, so `switch` and `reverse` take longer beside many writes. In the HBase shell, run
  alter '{self.name}', {{NAME => 'd', IN_MEMORY_COMPACTION => 'BASIC'}}
"""), plan)
        self.add("by_time", gateway=gateway)
        wait_until_ended(gateway, "t")
        with self.place.client() as client:
            new = client.getTableDescriptor(TTableName(qualifier=f"{self.name}_by_time".encode()))
        self.assertEqual(new.columns[0].configuration["hbase.hregion.compacting.memstore.type"], "BASIC")

    def test_other_changes(self):
        """While a path is added: no other path, no other key rule, and the path stays in the policy."""
        self.start(1, rows=50)
        self.add(rows_per_second=10)
        self.wait_for_version("spaced-old")
        gateway = self.gateways[0]
        self.refuse(Code.REFUSED, "a change of its path by_time is under way", apply, gateway, self.text("by_time", "by_other"), only_writer=True)
        self.refuse(Code.REFUSED, "a change of its path by_time is under way", apply, gateway, self.text("by_time").replace(HASHED, SALTED), only_writer=True)
        self.refuse(Code.INVALID, "this path is being added", apply, gateway, self.text(), only_writer=True)
        self.refuse(Code.REFUSED, "to end it, run keyway change cancel", order, gateway, "t", "reverse")
        self.refuse(Code.REFUSED, "its rows", order, gateway, "t", "switch")
        order(gateway, "t", "throttle", rows_per_second=0)
        wait_until_ended(gateway, "t")
        self.expect_paths("by_time")


class Paths(PathsCase):
    def whole(self, *paths, order_of_writes=""):
        paths = paths or ["by_time"]
        self.start(order_of_writes=order_of_writes)
        tables = [self.name, *(f"{self.name}_{path}" for path in paths)]
        with self.load() as load:
            load.wait_for_scans()
            self.add(*paths, rows_per_second=SLOW)
            found = self.wait_for_version("spaced-old", gateway=self.gateways[-1])
            self.assertEqual((found.path, found.added_paths, found.reads_new, found.next_commands), (paths[0], list(paths), False, "cancel"))
            self.assertEqual((found.old_store_table, found.store_table), tuple(tables[:2]))
            for gateway in self.gateways:
                self.assertEqual(self.states(gateway), {"primary": "complete"} | {path: "filling" for path in paths})
                self.expect_refusals(gateway, paths)
            listed = json_lines(keyway(self.gateways[-1], "change", "list", "-o", "jsonl")[0])
            self.assertEqual([(one["table"], one["path"], one["version"]) for one in listed], [("t", ", ".join(paths), "spaced-old")])
            load.wait_for_scans()
            order(self.gateways[-1], "t", "throttle", rows_per_second=0)
            self.wait_until_complete()
            load.complete = True
            load.wait_for_path()
            load.wait_for_atomics()
            keyway(self.gateways[-1], "change", "status", "t", "--wait")
            for gateway in self.gateways:
                wait_until_ended(gateway, "t")
                self.assertEqual(set(self.states(gateway).values()), {"complete"})
            load.wait_for_path()
        self.assertTrue(any("of its rows are" in one for one in load.refused), load.refused[:3])
        self.expect_all(load.final(), load.uncertain())
        self.expect_paths(*paths, uncertain=load.uncertain())
        self.expect_stamped()
        print(load.counts, load.by_path)
        return tables

    def expect_refusals(self, gateway, paths):
        failure = self.refuse(Code.REFUSED, "the query names path by_time, which is being filled", self.scan, gateway, path="by_time", full_scan=True)
        self.assertRegex(failure.message, "[0-9]+ % of its rows are copied|[0-9]+ % are compared")
        self.refuse(Code.REFUSED, "this query needs path by_time, which is being filled", self.scan, gateway,
                    range=Range(field="ts", from_value=value(1), to_value=value(2)))
        if len(paths) > 1:
            self.refuse(Code.REFUSED, f"the query names path {paths[1]}, which is being filled", self.scan, gateway, path=paths[1], full_scan=True)
        self.assertEqual(len(self.scan(gateway, bound={"id": value("r000001")})), 3)

    def expect_stamped(self):
        """The table keeps order: stamp when its gateways start again. Removals leave control cells that expire."""
        for gateway in self.gateways:
            gateway.restart()
            wait_until(lambda gateway=gateway: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        data = self.gateways[0].data()
        data.put("t", record(id="x", ts=7, n=1), None)
        if self.atomics():
            self.assertEqual(data.increment("t", record(id="x", ts=7), {"n": 1}, None)["n"].number, 2)
        else:
            self.refuse(Code.INVALID, "needs atomics: true", data.increment, "t", record(id="x", ts=7), {"n": 1}, None)
        data.remove("t", record(id="x", ts=7), [], None)
        data.close()
        if STORE == "sim":
            gone = [cell for table in (self.name, f"{self.name}_by_time") for cell in self.place.cells(table)
                    if cell[1] == b"d:\0kw:r" and cell[4] > 0]
            self.assertGreaterEqual(len(gone), 2, "gone cells of both rows")

    @ONE
    def test_whole(self):
        self.whole()

    @SEVERAL
    def test_whole_with_stamps(self):
        """A table with order: stamp leaves its control cells to a sweep, in all paths."""
        tables = self.whole(order_of_writes="    order: stamp\n    atomics: true\n")
        if STORE == "sim":
            self.assertEqual([cell for cell in self.control_cells(*tables) if cell[4] == 0], [], "control cells that do not expire")

    @SIMULATED
    def test_several(self):
        self.whole("by_time", "by_other")

    @SIMULATED
    def test_cancel(self):
        """Back to order: store, where increments work again."""
        self.start()
        with self.load() as load:
            self.add(rows_per_second=SLOW)
            self.wait_for_version("spaced-old")
            load.wait_for_scans()
            order(self.gateways[-1], "t", "cancel")
            for each in self.gateways:
                wait_until_ended(each, "t")
                wait_until(lambda each=each: each.metric("keyway_policy_version") == 3, "version 3")
            self.assertEqual(call(self.gateways[0], "policyVersion", 0).text, self.policy(HASHED))
            self.assertEqual(self.control_cells(self.name), [])
            atomic = load.counts["atomic"]
            wait_until(lambda: load.failures or load.counts["atomic"] > atomic + 5, "atomic operations")
            load.wait_for_scans()
            self.refuse(Code.REFUSED, "forget t --path by_time --drop-rows", self.add)
            keyway(self.gateways[0], "forget", "t", "--path", "by_time", "--drop-rows", "--yes")
            self.add()
            self.wait_until_complete()
            load.complete = True
            load.wait_for_path()
            for each in self.gateways:
                wait_until_ended(each, "t")
        self.expect_all(load.final(), load.uncertain())
        self.expect_paths("by_time", uncertain=load.uncertain())

    @SIMULATED
    def test_drop(self):
        """Paths are dropped while callers use them; then one is added again."""
        self.start()
        self.add("by_time", "by_other")
        for each in self.gateways:
            wait_until_ended(each, "t")
        with self.load() as load:
            load.wait_for_path()
            for dropped in (["by_time"], ["by_other"]):
                load.wait_for_scans()
                self.drop(load, dropped)
            keyway(self.gateways[0], "forget", "t", "--path", "by_time", "--drop-rows", "--yes")
            self.add("by_time")
            self.wait_until_complete()
            load.complete = True
            load.wait_for_path()
        for each in self.gateways:
            wait_until_ended(each, "t")
        self.expect_all(load.final(), load.uncertain())
        self.expect_paths("by_time", uncertain=load.uncertain())

    def drop(self, load, paths):
        gateway = self.gateways[0]
        kept = [name for name in self.states(gateway) if name not in ["primary", *paths]]
        text = self.text(*kept)
        plan = apply(gateway, text, dry_run=True).plan
        for path in paths:
            self.assertIn(f"  path {path}: {'dropped; ' if len(self.gateways) == 1 else ''}its rows stay ", plan)
        found = apply(gateway, text)
        self.assertFalse(found.refused, found)
        for each in self.gateways:
            wait_until(lambda each=each: each.metric("keyway_policy_version") == found.version, "the version")
            self.refuse(Code.NOT_FOUND, "has no path", self.scan, each, path=paths[0], full_scan=True)
            wait_until_ended(each, "t")
        if STORE == "sim":
            written = {path: self.place.cells(f"{self.name}_{path}") for path in paths}
            data = gateway.data()
            key = ("after", len(kept))
            known = load.known[key] = Known()  # the scans of the load can return it
            known.begin({"n": 1})
            data.put("t", record(id=key[0], ts=key[1], n=1), None)
            known.end()
            known.begin(None)
            data.remove("t", record(id=key[0], ts=key[1]), [], None)
            known.end()
            data.close()
            self.assertEqual({path: self.place.cells(f"{self.name}_{path}") for path in paths}, written)

    @ONE
    def test_take_back_cancellation(self):
        self.start(1, order_of_writes="    order: stamp\n", rows=200)
        self.add(rows_per_second=20)
        self.wait_for_version("spaced-old")
        order(self.gateways[0], "t", "pause")
        order(self.gateways[0], "t", "cancel")
        self.wait_for_version("alone-old")
        self.refuse(Code.REFUSED, "removals no longer reach the new rows", order, self.gateways[0], "t", "reverse")
        self.assertEqual(status(self.gateways[0], "t").next_commands, "resume")

    @ONE
    def test_rows_that_do_not_fit(self):
        """Records without a key in the path are not copied, and queries use the path only after the operator orders it."""
        fields = "    fields: {id: {type: string, max_bytes: 20}, ts: timestamp, note: string}\n"
        old = f"tables:\n  t:\n    store_table: {self.name}\n    atomics: false\n{fields}    key: [{{field: id}}, {{field: ts}}]\n"
        new = f"{old}    paths:\n      by_id: {{key: [{{field: {{name: id, encoding: fixed, width: 8}}}}, {{field: ts}}]}}\n"
        gateway = self.open(0)
        apply(gateway, old, 0)
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        data = gateway.data()
        data.put("t", record(id="short", ts=1, note="a"), None)
        data.put("t", record(id="longer than eight", ts=2, note="b"), None)
        apply(gateway, new, only_writer=True)
        found = wait_for(gateway, "t", lambda found: found.compared and found.waiting, "the comparison")
        self.assertEqual((found.version, found.rows_copied, found.foreign_rows), ("spaced-old", 1, 1), found)
        self.refuse(Code.REFUSED, "cannot have a key in the added path", order, gateway, "t", "switch")
        self.refuse(Code.INVALID, "the row key can hold 8", data.put, "t", record(id="longer than eight", ts=3, note="c"), None)
        keyway(gateway, "change", "switch", "t", "--leave-undecodable")
        wait_until_ended(gateway, "t")
        self.assertEqual([plain(row)["id"] for row in self.scan(gateway, path="by_id", full_scan=True)], ["short"])
        self.assertEqual(data.remove("t", record(id="longer than eight", ts=2), [], None).outcome, 0)
        self.assertEqual([plain(row)["id"] for row in self.scan(gateway, path="primary", full_scan=True)], ["short"])
        data.close()


@SIMULATED
class Stops(PathsCase):
    """Gateways stop while a path is added; two of them serve."""

    def setUp(self):
        super().setUp()
        self.start(2)

    def end(self, load):
        self.wait_until_complete()
        load.complete = True
        load.wait_for_path()
        for each in self.gateways:
            wait_until_ended(each, "t")
        load.wait_for_path()

    def check(self, load):
        self.expect_all(load.final(), load.uncertain())
        self.expect_paths("by_time", uncertain=load.uncertain())

    def test_holder_killed(self):
        """kill -9 of the gateway that copies; the other one continues, and the first one comes back."""
        a, b = self.gateways
        with self.load() as load:
            load.harmed = True
            self.add(rows_per_second=SLOW)
            wait_for(b, "t", lambda found: found.rows_copied > 0, "rows to be copied")
            time.sleep(2.5)  # the progress is saved every two seconds
            a.kill()
            load.wait_for_scans(1)
            wait_for(b, "t", lambda found: found.holder == f"{self.name}_1", "the other gateway to be the holder")
            self.assertGreater(status(b, "t").rows_copied, 0)
            a.start()
            order(b, "t", "throttle", rows_per_second=0)
            wait_until(lambda: a.get("/readyz")[0] == 200, "the gateway to serve")
            self.end(load)
        self.check(load)

    def test_gateway_paused(self):
        """A gateway is paused for longer than its lease. Then it must not answer scans by what it knew about the path before."""
        a, b = self.gateways
        with self.load() as load:
            load.harmed = True
            self.add(rows_per_second=SLOW)
            self.wait_for_version("spaced-old")
            b.process.send_signal(signal.SIGSTOP)
            order(a, "t", "throttle", rows_per_second=0)
            wait_for(a, "t", lambda found: found.version == "filled-old" or found.phase.startswith("waiting for gateway"), "the change to go on or wait")
            time.sleep(12)
            b.process.send_signal(signal.SIGCONT)
            self.end(load)
        self.check(load)

    @unittest.skipUnless("KW_KILLS" in os.environ, "a long test: set KW_KILLS to run it; tests/histories does the same at random")
    def test_kill_often(self):
        """kill -9 of either gateway at random moments of the addition, and of a cancellation."""
        with self.load() as load:
            load.harmed = True
            self.add(rows_per_second=SLOW)
            for step in range(4):
                time.sleep((SEED >> step) % 8 / 8)
                gateway = self.gateways[(SEED >> step) % 2]
                gateway.kill()
                gateway.start()
                wait_until(lambda gateway=gateway: gateway.get("/readyz")[0] == 200, "the gateway to serve")
                if step == 1:
                    self.order_anywhere("cancel")
                    for each in self.gateways:
                        wait_until_ended(each, "t")
                    keyway(self.gateways[0], "forget", "t", "--path", "by_time", "--drop-rows", "--yes", code=None)
                    self.add_again()
                load.wait_for_scans(1)
            order(self.gateways[0], "t", "throttle", rows_per_second=0)
            self.end(load)
        self.check(load)

    def add_again(self):
        """A gateway that has just started, or the registration of one that was killed, can be at the place before."""
        def accepted():
            try:
                self.add(rows_per_second=SLOW)
                return True
            except KeywayError as failure:
                if "does not serve the current policy version; try again" not in failure.message:
                    raise
                return False
        wait_until(accepted, "the path to be added again")

    def order_anywhere(self, action):
        def accepted():
            try:
                order(self.gateways[0], "t", action)
                return True
            except KeywayError as failure:
                return failure.code == Code.REFUSED
        wait_until(accepted, f"{action} to be accepted")


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    logging.disable()  # Thrift's messages about gateways that were killed
    unittest.main(verbosity=2, warnings="ignore")
