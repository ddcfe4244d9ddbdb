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

from change_case import BY_TIME, HASHED, ORDERS, SALTED, SEED, SLOW, ChangeCase, decode, hashed_order, policy, salted_order, time_order
from changing import (Load, call, cells_of, json_lines, keyway, order, status, wait_for, wait_until_compared,
                      wait_until_ended)
from keyway_gateway import is_sanitized, record
from keyway_thrift.ttypes import Code

MANY_ROWS = 4000 if is_sanitized() else 20000


class Change(ChangeCase):
    def load(self, orders=None):
        return Load(self.gateway, "t", self.stable, SEED, orders or ORDERS)

    def step(self, load, action, **options):
        expires = action in ("reverse", "complete")
        with load.cursors_expire() if expires else contextlib.nullcontext():
            found = order(self.gateway, "t", action, **options)
        load.wait_for_scans()
        return found

    def test_whole(self):
        self.fill(MANY_ROWS)
        with self.load() as load:
            load.wait_for_scans()
            file = os.path.join(self.gateway.folder, "new.yaml")
            with open(file, "w", encoding="utf-8") as written:
                written.write(policy(SALTED))
            plan, _ = keyway(self.gateway, "policy", "apply", file, "--dry-run")
            self.assertIn("t_L2", plan)
            self.assertIn("Queries that this gateway answered in the last hour: ", plan)
            self.assertRegex(plan, r"\ntable t: (more than )?\d+ rows to copy")
            self.assertRegex(plan, r"\n  a guess of the time: (more than )?\d+ s without callers, (more than )?\d+ (s|min) beside callers")
            self.assertIsNone(status(self.gateway, "t"))
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
            keyway(self.gateway, "change", "switch", "t", "--expect", "both-old")
            self.assertTrue(status(self.gateway, "t").reads_new)
            load.wait_for_scans()
            self.no_differences()
            with load.cursors_expire():
                keyway(self.gateway, "change", "reverse", "t", "--expect", "both-new")
            load.wait_for_scans()
            self.assertEqual(status(self.gateway, "t").version, "both-old")
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

    def test_kill(self):
        """kill -9 at each place, and while rows are copied."""
        self.fill()
        with self.load() as load:
            load.tolerant = True
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
            wait_until_compared(self.gateway, "t")  # the end of the comparison may not have been saved
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


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    logging.disable()  # Thrift's messages about gateways that were killed
    unittest.main(verbosity=2, warnings="ignore")
