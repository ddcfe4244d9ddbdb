"""A key rule is changed while callers read and write, on the embedded store: `keyway policy apply` and `keyway change`.

KW_SEED repeats a run.
"""
import contextlib
import logging
import os
import random
import threading
import time
import unittest

import changing
from changing import (Load, apply, call, cells_of, hash_prefix, json_lines, keyway, order, put_all, status, wait_for,
                      wait_until_compared, wait_until_ended)
from keyway_gateway import Gateway, is_sanitized, plain, record, value, wait_until
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Query

MANY_ROWS = 4000 if is_sanitized() else 20000
SLOW = 800  # rows per second of a copy that must not end soon
SEED = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
FIELDS = "    fields: {id: {type: string, max_bytes: 20}, ts: timestamp, note: string, n: {type: int, counter: true}}\n"
HASHED = "[{hash: {algorithm: md5, of: [id], take: 4, as: hex}}, {field: id}, {field: ts}]"
SALTED = "[{salt: {of: [id], buckets: 8}}, {field: id}, {field: ts}]"
BY_TIME = "[{salt: {of: [id], buckets: 4}}, {field: {name: ts, order: desc}}, {field: id}]"
REFERENCE = f"  reference:\n{FIELDS}    key: {SALTED}\n"


def hashed_order(key):
    return hash_prefix(key[0]), key


def salted_order(key):
    return key


def time_order(key):
    return -key[1], key[0]


ORDERS = [hashed_order, salted_order]


def policy(key, more=""):
    return f"tables:\n  t:\n{FIELDS}    key: {key}\n{more}{REFERENCE}"


def decode(row, prefix):
    """The record of a row of HASHED (4 bytes of prefix) or SALTED (1 byte)."""
    name, _, stamp = row[prefix:].partition(b"\0")
    return name.decode(), int.from_bytes(stamp, "big") - 2**63


class Change(unittest.TestCase):
    rows = 5000

    def setUp(self):
        self.gateway = Gateway(changing.SETTINGS)
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__, None, None, None)
        self.stable = {}

    # --- parts of tests ---------------------------------------------------------------------------

    def fill(self, rows=None, key=HASHED):
        """Applies the first version, and writes records that stay as they are."""
        apply(self.gateway, policy(key), 0)
        count = rows or self.rows
        self.stable = {(f"r{i // 3:06}", i % 3): {"note": f"note {i}", "n": i} for i in range(count)}
        put_all(self.gateway, "t", [record(id=name, ts=ts, **state) for (name, ts), state in self.stable.items()])

    def load(self, orders=None):
        return Load(self.gateway, "t", self.stable, SEED, orders or ORDERS)

    def begin(self, key=SALTED, **options):
        return apply(self.gateway, policy(key), **options)

    def begin_slowly(self, key=SALTED, rows_per_second=SLOW):
        """Begins a change whose copy has not ended when this returns."""
        admin = self.gateway.admin()
        version = int(self.gateway.metric("keyway_policy_version"))
        admin.policyApply(policy(key), version, None)
        admin.orderChange("t", changing.ChangeAction.THROTTLE, changing.ChangeOptions(rows_per_second=rows_per_second))
        admin.close()
        found = status(self.gateway, "t")
        self.assertFalse(found.copied, found)
        return found

    def step(self, load, action, **options):
        load.steps += 1
        found = order(self.gateway, "t", action, **options)
        load.wait_for_scans()
        return found

    def refuse(self, code, part, do, *arguments, **options):
        with self.assertRaises(KeywayError) as caught:
            do(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(part, caught.exception.message)
        return caught.exception

    def get(self, name, ts):
        data = self.gateway.data()
        try:
            found = data.get("t", record(id=name, ts=ts), [], None).record
            return None if found is None else plain(found)
        finally:
            data.close()

    def expect_all(self, states, uncertain=()):
        """The table has exactly these records, by get and by scan."""
        data = self.gateway.data()
        try:
            keys = list(states)
            for first in range(0, len(keys), 500):
                part = keys[first:first + 500]
                found = data.getMany("t", [record(id=name, ts=ts) for name, ts in part], [], None)
                for key, one in zip(part, found):
                    self.assertIsNotNone(one.record, key)
                    self.assertEqual(plain(one.record), {"id": key[0], "ts": key[1], **states[key]})
            page = data.scan(Query(table="t", full_scan=True, page_rows=5000))
            rows = list(page.rows)
            while page.cursor is not None:
                page = data.nextPage(page.cursor, None)
                rows += page.rows
        finally:
            data.close()
        found = {(row["id"].text, row["ts"].number): plain(row) for row in rows}
        self.assertEqual(len(found), len(rows))
        for key in uncertain:
            found.pop(key, None)
        self.assertEqual(found, {key: {"id": key[0], "ts": key[1], **state} for key, state in states.items()})

    def write_reference(self, states):
        put_all(self.gateway, "reference", [record(id=name, ts=ts, **state) for (name, ts), state in states.items()])

    @contextlib.contextmanager
    def stopped(self):
        """The store can be read while the gateway is stopped."""
        self.gateway.stop()
        yield
        self.gateway.start()
        wait_until(lambda: self.gateway.ready()["ready"], "the gateway to serve")

    def expect_same_cells(self, old, new, reference, uncertain=()):
        """The new rows have the cells and timestamps of the old ones, and the keys and values of the table that was written
        under the new rule. Arguments: rows of store tables; records of which the last state is not known."""
        self.assertEqual({decode(row, 4): cells for row, cells in old.items()},
                         {decode(row, 1): cells for row, cells in new.items()})

        def values(rows):
            return {row: [(column, held) for column, _, held in cells] for row, cells in rows.items() if decode(row, 1) not in uncertain}
        self.assertEqual(values(new), values(reference))

    # --- tests ------------------------------------------------------------------------------------

    def test_whole(self):
        self.fill(MANY_ROWS)
        with self.load() as load:
            load.wait_for_scans()
            file = os.path.join(self.gateway.folder, "new.yaml")
            with open(file, "w", encoding="utf-8") as written:
                written.write(policy(SALTED))
            plan, _ = keyway(self.gateway, "policy", "apply", file, "--dry-run")
            self.assertIn("t_L2", plan)
            self.assertIsNone(status(self.gateway, "t"))
            load.steps += 1
            keyway(self.gateway, "policy", "apply", file, "-m", "other buckets")
            waited, _ = keyway(self.gateway, "change", "status", "t", "--wait")
            self.assertIn("both-old", waited)
            listed = json_lines(keyway(self.gateway, "change", "list", "-o", "jsonl")[0])
            self.assertEqual([(one["table"], one["path"], one["version"]) for one in listed], [("t", "primary", "both-old")])
            found = status(self.gateway, "t")
            self.assertEqual((found.old_layout, found.layout, found.old_store_table, found.store_table), (1, 2, "t", "t_L2"))
            self.assertEqual((found.reason, found.policy_version, found.version, found.reads_new), ("other buckets", 2, "both-old", False))
            self.assertGreaterEqual(found.rows_copied, MANY_ROWS)
            self.assertEqual(found.repaired, found.missing + found.different + found.extra)
            self.assertEqual(found.foreign_rows, 0)
            load.wait_for_scans()
            self.no_differences()
            load.steps += 1
            keyway(self.gateway, "change", "switch", "t", "--expect", "both-old")
            self.assertTrue(status(self.gateway, "t").reads_new)
            load.wait_for_scans()
            self.no_differences()
            load.steps += 1
            keyway(self.gateway, "change", "reverse", "t", "--expect", "both-new")
            load.wait_for_scans()
            self.assertEqual(status(self.gateway, "t").version, "both-old")
            load.steps += 1
            keyway(self.gateway, "change", "switch", "t")
            load.wait_for_scans()
            self.no_differences()
        states = load.final()
        self.write_reference(states)
        with self.stopped():
            before = cells_of(self.gateway.folder, "t", "t_L2", "reference")
            self.expect_same_cells(before["t"], before["t_L2"], before["reference"])
        self.assertEqual(status(self.gateway, "t").version, "both-new")
        keyway(self.gateway, "change", "complete", "t", "--expire-cursors")
        wait_until_ended(self.gateway, "t")
        self.expect_all(states)
        with self.stopped():
            after = cells_of(self.gateway.folder, "t_L2")
            self.assertEqual(after["t_L2"], before["t_L2"])
        for key in list(self.stable)[:10]:
            del states[key], self.stable[key]
            data = self.gateway.data()
            self.assertEqual(data.remove("t", record(id=key[0], ts=key[1]), [], None).outcome, 0)
            data.close()
        self.expect_all(states)
        with self.stopped():
            self.assertEqual(len(cells_of(self.gateway.folder, "t")["t"]), len(states) + 10)  # writes go only to the new rows
        print(load.counts)

    def no_differences(self):
        lines, summary = keyway(self.gateway, "change", "diff", "t", "-o", "jsonl")
        self.assertEqual(json_lines(lines), [], summary)

    def test_cancel(self):
        self.fill()
        with self.load() as load:
            load.steps += 1
            self.begin()
            wait_until_compared(self.gateway, "t")
            load.wait_for_scans()
            self.step(load, "switch")
            self.refuse(Code.REFUSED, "reverse", order, self.gateway, "t", "cancel")
            self.step(load, "reverse")
            self.step(load, "cancel")
            wait_until_ended(self.gateway, "t")
            load.wait_for_scans()
            self.assertEqual(self.gateway.metric("keyway_policy_version"), 3)
            self.assertEqual(call(self.gateway, "policyVersion", 0).text, policy(HASHED))
            load.tolerant = True
            self.gateway.kill()
            self.restart()
            load.tolerant = False
            load.wait_for_scans()
            load.steps += 1
            self.begin()  # the same change again, into another store table
            found = wait_until_compared(self.gateway, "t")
            self.assertEqual((found.old_layout, found.layout, found.store_table), (1, 3, "t_L3"))
            load.wait_for_scans()
            self.step(load, "switch")
        states = load.final()
        self.write_reference(states)
        with self.stopped():
            found = cells_of(self.gateway.folder, "t", "t_L3", "reference")
            self.expect_same_cells(found["t"], found["t_L3"], found["reference"], load.uncertain())
        order(self.gateway, "t", "complete", expire_cursors=True)
        wait_until_ended(self.gateway, "t")
        self.expect_all(states, load.uncertain())

    def test_cancel_while_copying(self):
        self.fill()
        with self.load() as load:
            load.steps += 1
            self.begin_slowly()
            self.step(load, "cancel")
            wait_until_ended(self.gateway, "t")
            load.wait_for_scans()
        self.expect_all(load.final())

    def test_several_changes(self):
        """The second change of a path begins with the layout that the first one ended with."""
        self.fill()
        with self.load([hashed_order, salted_order, time_order]) as load:
            for layout, key in ((2, SALTED), (3, BY_TIME), (4, HASHED)):
                load.steps += 1
                self.begin(key)
                found = wait_until_compared(self.gateway, "t")
                self.assertEqual((found.old_layout, found.layout, found.store_table), (layout - 1, layout, f"t_L{layout}"))
                load.wait_for_scans()
                self.step(load, "switch")
                self.step(load, "complete", expire_cursors=True)
                wait_until_ended(self.gateway, "t")
                load.wait_for_scans()
                if layout == 3:
                    load.tolerant = True
                    self.gateway.kill()
                    self.restart()
                    load.tolerant = False
        self.expect_all(load.final(), load.uncertain())
        described = self.gateway.data()
        found = described.describe("t").paths[0]
        described.close()
        self.assertEqual((found.layout, found.store_table), (4, "t_L4"))
        with self.stopped():
            found = cells_of(self.gateway.folder, "t_L4", "t")
            self.assertEqual({decode(row, 4) for row in found["t_L4"]} - load.uncertain(), set(load.final()))

    def restart(self):
        self.gateway.start()
        wait_until(lambda: self.gateway.ready()["ready"], "the gateway to serve")

    def test_kill(self):
        """kill -9 in each version, and while rows are copied."""
        self.fill()
        with self.load() as load:
            load.tolerant = True
            load.steps += 100
            begun = self.begin_slowly()
            wait_for(self.gateway, "t", lambda found: found.rows_copied > begun.rows_copied, "a slice of the copy")
            time.sleep(4)  # the progress is saved every two seconds
            self.kill_and_restart("both-old")
            found = status(self.gateway, "t")
            self.assertFalse(found.copied, found)
            self.assertEqual(found.limit_rows_per_second, SLOW)
            self.assertGreater(found.rows_copied, 0)
            order(self.gateway, "t", "throttle", rows_per_second=0)
            wait_until_compared(self.gateway, "t")
            self.kill_and_restart("both-old")
            order(self.gateway, "t", "switch")
            self.kill_and_restart("both-new")
            load.wait_for_scans()
            order(self.gateway, "t", "reverse")
            self.kill_and_restart("both-old")
            load.wait_for_scans()
            order(self.gateway, "t", "switch")
            load.wait_for_scans()
            self.no_differences()
            order(self.gateway, "t", "complete", expire_cursors=True)
            self.gateway.kill()
            self.restart()
            load.wait_for_scans()
            self.assertIsNone(status(self.gateway, "t"))
        self.expect_all(load.final(), load.uncertain())

    def kill_and_restart(self, version):
        self.gateway.kill()
        self.restart()
        self.assertEqual(status(self.gateway, "t").version, version)

    def test_kill_often(self):
        """kill -9 at random moments around orders."""
        self.fill(3000)
        chance = random.Random(SEED)
        with self.load() as load:
            load.tolerant = True
            load.steps += 100
            for _ in range(6):
                killer = threading.Timer(chance.uniform(0, 0.3), self.gateway.kill)
                killer.start()
                with contextlib.suppress(Exception):
                    self.random_order(chance)
                killer.join()
                self.restart()
                load.wait_for_scans(1)
            self.finish()
            load.wait_for_scans(1)
        self.expect_all(load.final(), load.uncertain())

    def random_order(self, chance):
        found = status(self.gateway, "t")
        if found is None:
            self.begin(SALTED if "hash" in call(self.gateway, "policyVersion", 0).text else HASHED)
        elif found.version == "both-old":
            wait_until_compared(self.gateway, "t")
            order(self.gateway, "t", chance.choice(["switch", "switch", "cancel"]))
        else:
            order(self.gateway, "t", chance.choice(["reverse", "complete", "complete"]), expire_cursors=True)

    def finish(self):
        """Ends the change that may be under way."""
        found = status(self.gateway, "t")
        if found and found.version == "both-old":
            order(self.gateway, "t", "cancel")
        elif found:
            order(self.gateway, "t", "complete", expire_cursors=True)
        wait_until_ended(self.gateway, "t")

    def test_pause_and_throttle(self):
        self.fill()
        self.begin_slowly()
        keyway(self.gateway, "change", "pause", "t")
        time.sleep(0.7)  # the slice that was under way has ended
        paused = status(self.gateway, "t")
        self.assertTrue(paused.paused)
        self.assertFalse(paused.copied)
        time.sleep(1)
        self.assertEqual(status(self.gateway, "t").rows_copied, paused.rows_copied)
        keyway(self.gateway, "change", "throttle", "t", "--rows-per-second", "1000")
        keyway(self.gateway, "change", "resume", "t")
        began, first = time.monotonic(), status(self.gateway, "t").rows_copied
        time.sleep(3)
        found = status(self.gateway, "t")
        copied, seconds = found.rows_copied - first, time.monotonic() - began
        self.assertGreater(copied, 0)
        self.assertLess(copied, 1000 * seconds * 1.3 + 1000)  # in slices of 500
        self.assertEqual(found.limit_rows_per_second, 1000)
        self.assertFalse(found.paused)
        keyway(self.gateway, "change", "throttle", "t", "--rows-per-second", "0")
        done = wait_until_compared(self.gateway, "t")
        self.assertEqual(done.rows_copied, self.rows)
        self.assertEqual((done.missing, done.different, done.extra), (0, 0, 0))
        keyway(self.gateway, "change", "compare", "t")
        again = wait_until_compared(self.gateway, "t")
        self.assertEqual(again.rows_compared, done.rows_compared)
        order(self.gateway, "t", "cancel")
        wait_until_ended(self.gateway, "t")
        self.expect_all(self.stable)

    def test_cursors(self):
        """A scan that began under the old rule goes on after the switch, and fails after complete."""
        self.fill(3000)
        self.begin()
        wait_until_compared(self.gateway, "t")
        data = self.gateway.data()
        pages = [data.scan(Query(table="t", full_scan=True, page_rows=500))]
        other = data.scan(Query(table="t", full_scan=True, page_rows=500))
        pages.append(data.nextPage(pages[-1].cursor, None))
        order(self.gateway, "t", "switch")
        self.assertEqual(data.put("t", record(id="~", ts=0, n=1), None).outcome, 0)
        while pages[-1].cursor is not None:
            pages.append(data.nextPage(pages[-1].cursor, None))
        keys = [(row["id"].text, row["ts"].number) for page in pages for row in page.rows]
        self.assertEqual(keys, sorted([*self.stable, *([("~", 0)] if ("~", 0) in keys else [])], key=hashed_order))
        self.assertEqual(data.remove("t", record(id="~", ts=0), [], None).outcome, 0)
        of_new = data.scan(Query(table="t", full_scan=True, page_rows=500))
        self.assertEqual([row["id"].text for row in of_new.rows], sorted(row["id"].text for row in of_new.rows))
        order(self.gateway, "t", "reverse")
        rejected = self.refuse(Code.INVALID, "cursor", data.nextPage, of_new.cursor, None)
        print(rejected.message)
        order(self.gateway, "t", "switch")
        order(self.gateway, "t", "complete", expire_cursors=True)
        wait_until_ended(self.gateway, "t")
        rejected = self.refuse(Code.INVALID, "cursor", data.nextPage, other.cursor, None)
        print(rejected.message)
        data.close()

    def test_complete_waits_for_cursors(self):
        self.fill(100)
        self.begin()
        wait_until_compared(self.gateway, "t")
        order(self.gateway, "t", "switch")
        found = status(self.gateway, "t")
        self.assertGreater(found.cursors_until, time.time() * 1000)
        order(self.gateway, "t", "complete")
        waiting = status(self.gateway, "t")
        self.assertEqual((waiting.version, "cursors" in waiting.phase), ("both-new", True))
        order(self.gateway, "t", "reverse")
        self.assertEqual(status(self.gateway, "t").version, "both-old")

    def test_atomic_operations(self):
        """Increments and conditional writes are rejected while a change is under way."""
        self.fill(100)
        data = self.gateway.data()
        key = record(id="r000001", ts=0)
        def increment():
            return data.increment("t", key, {"n": 5}, None)
        def put_if():
            return data.putIf("t", {**key, **record(note="x")}, Condition("note", CompareOp.EQUAL, value("note 3")), None)
        increment()
        self.begin()
        for action in ("switch", "reverse", "switch", None):
            wait_until_compared(self.gateway, "t")
            for write in (increment, put_if):
                rejected = self.refuse(Code.UNAVAILABLE, "t", write)
                self.assertGreater(rejected.retry_after_ms, 0)
            self.assertEqual(data.put("t", {**key, **record(n=8)}, None).outcome, 0)
            if action:
                order(self.gateway, "t", action)
        order(self.gateway, "t", "complete", expire_cursors=True)
        wait_until_ended(self.gateway, "t")
        increment()
        self.assertTrue(put_if())
        self.assertEqual(self.get("r000001", 0), {"id": "r000001", "ts": 0, "note": "x", "n": 13})
        self.begin(HASHED)
        order(self.gateway, "t", "cancel")
        wait_until_ended(self.gateway, "t")
        increment()
        self.assertEqual(self.get("r000001", 0)["n"], 18)
        data.close()

    def test_refusals(self):
        self.fill()
        gateway = self.gateway
        self.refuse(Code.REFUSED, "t", order, gateway, "t", "switch")
        self.refuse(Code.NOT_FOUND, "nothing", call, gateway, "changes", "nothing")
        other_fields = policy("[{field: id}, {field: n}, {field: ts}]").replace(", counter: true", "")
        self.refuse(Code.INVALID, "field n", apply, gateway, other_fields)
        self.refuse(Code.INVALID, "field ts", apply, gateway, policy("[{field: id}]"))
        chosen = "[{salt: {algorithm: random, buckets: 4}}, {field: id}, {field: ts}]"
        with self.assertRaises(KeywayError) as caught:
            apply(gateway, policy(chosen))
        print(caught.exception.message)
        self.assertIsNone(status(gateway, "t"))
        self.assertEqual(gateway.metric("keyway_policy_version"), 1)
        self.begin_slowly()
        for key in (BY_TIME, "[{field: id}, {field: ts}]"):
            self.refuse(Code.REFUSED, "under way", apply, gateway, policy(key))
        self.refuse(Code.REFUSED, "copied", order, gateway, "t", "switch")
        self.refuse(Code.REFUSED, "both-old", order, gateway, "t", "cancel", expected_version="both-new")
        for action in ("reverse", "complete"):
            self.refuse(Code.REFUSED, "t", order, gateway, "t", action)
        _, errors = keyway(gateway, "change", "switch", "t", "--expect", "both-new", code=1)
        self.assertIn("both-old", errors)
        order(gateway, "t", "throttle", rows_per_second=0)
        wait_until_compared(gateway, "t")
        self.assertEqual(status(gateway, "t").version, "both-old")
        order(gateway, "t", "switch", expected_version="both-old")
        self.refuse(Code.REFUSED, "both-new", order, gateway, "t", "switch", expected_version="both-old")
        self.refuse(Code.REFUSED, "t", order, gateway, "t", "cancel")
        order(gateway, "t", "complete", expire_cursors=True)
        wait_until_ended(gateway, "t")
        self.expect_all(self.stable)

    def test_other_changes_of_the_policy(self):
        """A policy can be applied during a change if it keeps the rule; cancel keeps what else was applied."""
        self.fill(300)
        self.begin()
        wait_until_compared(self.gateway, "t")
        with_table = policy(SALTED, "    about: records\n") + f"  later:\n{FIELDS}    key: {SALTED}\n"
        self.assertTrue(apply(self.gateway, with_table).changed)
        self.assertEqual(status(self.gateway, "t").version, "both-old")
        put_all(self.gateway, "later", [record(id="x", ts=1, n=1)])
        self.expect_all(self.stable)
        order(self.gateway, "t", "switch")
        self.expect_all(self.stable)
        order(self.gateway, "t", "reverse")
        try:
            order(self.gateway, "t", "cancel")
        except KeywayError as refused:
            print(refused.message)
            self.assertEqual(refused.code, Code.REFUSED)
            apply(self.gateway, with_table.replace(SALTED, HASHED, 1))
        wait_until_ended(self.gateway, "t")
        self.expect_all(self.stable)
        data = self.gateway.data()
        self.assertIsNotNone(data.get("later", record(id="x", ts=1), [], None).record)
        data.close()
        with self.stopped():
            pass
        self.expect_all(self.stable)

    def test_two_tables(self):
        """Two tables change at once; one change is cancelled, the other one completed."""
        self.fill(600)
        states = {("a", i): {"note": f"{i}", "n": i} for i in range(300)}
        self.write_reference(states)
        both = policy(SALTED).replace(REFERENCE, REFERENCE.replace(SALTED, BY_TIME))
        apply(self.gateway, both)
        for table in ("t", "reference"):
            wait_until_compared(self.gateway, table)
        order(self.gateway, "reference", "switch")
        with self.stopped():
            pass
        try:
            order(self.gateway, "t", "cancel")
        except KeywayError as refused:
            print(refused.message)
            self.assertEqual(refused.code, Code.REFUSED)
            apply(self.gateway, both.replace(SALTED, HASHED, 1))
        wait_until_ended(self.gateway, "t")
        self.assertEqual(status(self.gateway, "reference").version, "both-new")
        order(self.gateway, "reference", "complete", expire_cursors=True)
        wait_until_ended(self.gateway, "reference")
        self.expect_all(self.stable)
        with self.stopped():
            self.assertEqual(len(cells_of(self.gateway.folder, "reference_L2")["reference_L2"]), len(states))
        self.expect_all(self.stable)
        data = self.gateway.data()
        rows = data.scan(Query(table="reference", full_scan=True)).rows
        data.close()
        self.assertEqual({(row["id"].text, row["ts"].number) for row in rows}, set(states))


class PolicyFromFile(unittest.TestCase):
    def test_refused(self):
        head = changing.SETTINGS.replace("policy: {{source: store}}\n", "")
        text = policy(HASHED).replace("{", "{{").replace("}", "}}")
        with Gateway(head + text) as gateway:
            put_all(gateway, "t", [record(id="a", ts=1, n=1)])
            for do in (lambda: call(gateway, "changes", "t"), lambda: order(gateway, "t", "switch")):
                with self.assertRaises(KeywayError) as caught:
                    do()
                self.assertEqual(caught.exception.code, Code.REFUSED)
                self.assertIn("policy.source", caught.exception.message)
            gateway.write_policy(head + text.replace(HASHED.replace("{", "{{").replace("}", "}}"), SALTED.replace("{", "{{").replace("}", "}}"), 1))
            gateway.reload()
            gateway.wait_for_log("written under layout 1")


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    logging.disable()  # Thrift's messages about gateways that were killed
    unittest.main(verbosity=2, warnings="ignore")
