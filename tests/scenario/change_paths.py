"""A path is added to a table with rows while callers read and write, and dropped, on the embedded store.

KW_SEED repeats a run.
"""
import logging
import os
import time
import unittest

from change_case import BY_TIME, HASHED, SALTED, SEED, SLOW, ChangeCase, decode, hashed_order, policy
from changing import (ChangeAction, ChangeOptions, call, cells_of, json_lines, keyway, order, put_all, status,
                      wait_for, wait_until_ended)
from keyway_gateway import plain, record, value
from path_load import PathLoad
from keyway_thrift.ttypes import Code, KeywayError, Order, Query, Range

PATHS = f"    paths:\n      by_time: {{key: {BY_TIME}}}\n"
TWO_PATHS = f"{PATHS}      by_other: {{key: {SALTED}}}\n"


class Paths(ChangeCase):
    def load(self):
        return PathLoad(self.gateway, "t", self.stable, SEED, [hashed_order])

    def add(self, rows_per_second=0, paths=PATHS):
        """Applies the policy with the paths. rows_per_second: a limit of the copy that is set before this returns."""
        version = int(self.gateway.metric("keyway_policy_version"))
        admin = self.gateway.admin()
        admin.policyApply(policy(HASHED, paths), version, None)
        if rows_per_second:
            admin.orderChange("t", ChangeAction.THROTTLE, ChangeOptions(rows_per_second=rows_per_second))
        admin.close()

    def drop(self):
        version = int(self.gateway.metric("keyway_policy_version"))
        call(self.gateway, "policyApply", policy(HASHED), version, None)

    def scan(self, **query):
        data = self.gateway.data()
        try:
            return data.scan(Query(table="t", **query)).rows
        finally:
            data.close()

    def expect_path(self, states, uncertain=(), others=()):
        """The store tables of the path by_time, and of others, have the rows that the primary one has, with the same cells and
        timestamps."""
        with self.stopped():
            found = cells_of(self.gateway.folder, "t", "t_by_time", *(f"t_{other}" for other in others))
        primary = {decode(row, 4): cells for row, cells in found["t"].items()}
        self.assertEqual({self.decode_by_time(row): cells for row, cells in found["t_by_time"].items()}, primary)
        for other in others:
            self.assertEqual({decode(row, 1): cells for row, cells in found[f"t_{other}"].items()}, primary)
        self.assertEqual(set(primary) - set(uncertain), set(states))

    @staticmethod
    def decode_by_time(row):
        """A byte of salt, the time in descending order, the id."""
        return row[9:].decode(), 2**63 - 1 - int.from_bytes(row[1:9], "big")

    def kill_and_restart(self, version):
        self.gateway.kill()
        self.restart()
        found = status(self.gateway, "t")
        self.assertEqual(found.version if found else None, version)

    # --- tests ------------------------------------------------------------------------------------

    def test_whole(self):
        self.fill(20000)
        file = os.path.join(self.gateway.folder, "new.yaml")
        with open(file, "w", encoding="utf-8") as written:
            written.write(policy(HASHED, PATHS))
        with self.load() as load:
            load.wait_for_scans()
            plan, _ = keyway(self.gateway, "policy", "apply", file, "--dry-run")
            self.assertIn("path by_time: its rows are copied from path primary to store table t_by_time", plan)
            self.assertIn("rows to copy", plan)
            self.assertIsNone(status(self.gateway, "t"))
            self.add(4000)
            found = status(self.gateway, "t")
            self.assertEqual((found.path, found.version, found.reads_new, found.next_commands), ("by_time", "both-old", False, "cancel"))
            self.assertEqual((found.old_store_table, found.store_table), ("t", "t_by_time"))
            data = self.gateway.data()
            self.assertEqual([(one.name, one.state) for one in data.describe("t").paths], [("primary", "complete"), ("by_time", "filling")])
            data.close()
            listed = json_lines(keyway(self.gateway, "change", "list", "-o", "jsonl")[0])
            self.assertEqual([(one["table"], one["path"], one["version"]) for one in listed], [("t", "by_time", "both-old")])
            self.expect_refusals()
            keyway(self.gateway, "change", "pause", "t")
            self.assertEqual(status(self.gateway, "t").phase, "paused")
            keyway(self.gateway, "change", "resume", "t")
            self.refuse(Code.REFUSED, "copied", order, self.gateway, "t", "complete")
            self.refuse(Code.REFUSED, "run keyway change cancel", order, self.gateway, "t", "reverse")
            order(self.gateway, "t", "throttle", rows_per_second=0)
            keyway(self.gateway, "change", "status", "t", "--wait")
            wait_until_ended(self.gateway, "t")
            load.complete = True
            load.wait_for_path()
            load.wait_for_scans()
            data = self.gateway.data()
            self.assertEqual([(one.name, one.state, one.verified) for one in data.describe("t").paths],
                             [("primary", "complete", True), ("by_time", "complete", True)])
            data.close()
        self.assertTrue(any("of its rows are" in one for one in load.refused), load.refused[:3])
        self.expect_all(load.final())
        self.expect_path(load.final())
        self.assertEqual([plain(row)["ts"] for row in self.scan(path="by_time", full_scan=True, limit=3)], sorted([key[1] for key in load.final()], reverse=True)[:3])

    def expect_refusals(self):
        """Queries that name the path, or that only it can answer, are refused with its progress; others are not."""
        failure = self.refuse(Code.REFUSED, "the query names path by_time, which is being filled", self.scan, path="by_time", full_scan=True)
        self.assertRegex(failure.message, "[0-9]+ % of its rows are copied|[0-9]+ % are compared")
        self.refuse(Code.REFUSED, "this query needs path by_time, which is being filled", self.scan, range=Range(field="ts", from_value=value(1), to_value=value(2)))
        self.refuse(Code.REFUSED, "this query needs path by_time", self.scan, order=Order.DESCENDING, full_scan=True)
        self.assertEqual(len(self.scan(bound={"id": value("r000001")})), 3)

    def test_cancel_and_drop(self):
        self.fill(3000)
        with self.load() as load:
            self.add(SLOW)
            order(self.gateway, "t", "cancel")
            self.assertIsNone(status(self.gateway, "t"))
            self.assertEqual(call(self.gateway, "policyVersion", 0).text, policy(HASHED))
            load.wait_for_scans()
            self.refuse(Code.REFUSED, "forget t --path by_time --drop-rows", self.add)
            keyway(self.gateway, "forget", "t", "--path", "by_time", "--drop-rows", "--yes")
            for _ in range(2):
                self.add()
                wait_until_ended(self.gateway, "t")
                load.complete = True
                load.wait_for_path()
                load.complete = False
                self.drop()
                self.refuse(Code.NOT_FOUND, "has no path", self.scan, path="by_time", full_scan=True)
                load.wait_for_scans()
                keyway(self.gateway, "forget", "t", "--path", "by_time", "--drop-rows", "--yes")
        self.expect_all(load.final())
        with self.stopped():
            self.assertIn(cells_of(self.gateway.folder, "t_by_time")["t_by_time"], ({}, None))

    def test_several(self):
        """Two paths are one change: the gateway is killed in the copy to the second one; a cancellation takes both away."""
        self.fill(3000)
        with self.load() as load:
            load.tolerant = True
            for cancels in (True, False):
                self.add(SLOW, TWO_PATHS)
                found = status(self.gateway, "t")
                self.assertEqual((found.path, found.added_paths), ("by_time", ["by_time", "by_other"]))
                for path in found.added_paths:
                    self.refuse(Code.REFUSED, f"the query names path {path}, which is being filled", self.scan, path=path, full_scan=True)
                if cancels:
                    order(self.gateway, "t", "cancel")
                    for path in found.added_paths:
                        keyway(self.gateway, "forget", "t", "--path", path, "--drop-rows", "--yes")
            order(self.gateway, "t", "throttle", rows_per_second=3000)
            wait_for(self.gateway, "t", lambda found: found.rows_copied > 3100, "the second path")
            order(self.gateway, "t", "throttle", rows_per_second=SLOW)
            time.sleep(2.5)  # the progress is saved every two seconds
            self.kill_and_restart("both-old")
            self.assertGreater(status(self.gateway, "t").rows_copied, 3100)
            order(self.gateway, "t", "throttle", rows_per_second=0)
            wait_until_ended(self.gateway, "t")
            load.complete = True
            load.wait_for_path()
        self.expect_all(load.final(), load.uncertain())
        self.expect_path(load.final(), load.uncertain(), ["by_other"])

    def test_kill(self):
        """kill -9 while rows are copied, while they are compared, and after the end."""
        self.fill(6000)
        with self.load() as load:
            load.tolerant = True
            self.add(SLOW)
            wait_for(self.gateway, "t", lambda found: found.rows_copied > 0, "a slice of the copy")
            time.sleep(3)  # the progress is saved every two seconds
            self.kill_and_restart("both-old")
            found = status(self.gateway, "t")
            self.assertEqual((found.copied, found.limit_rows_per_second), (False, SLOW))
            self.assertGreater(found.rows_copied, 0)
            order(self.gateway, "t", "throttle", rows_per_second=5000)
            wait_for(self.gateway, "t", lambda found: found.copied, "the end of the copy")
            order(self.gateway, "t", "throttle", rows_per_second=SLOW)
            time.sleep(3)
            self.kill_and_restart("both-old")
            self.refuse(Code.REFUSED, "is being filled", self.scan, path="by_time", full_scan=True)
            order(self.gateway, "t", "throttle", rows_per_second=0)
            wait_until_ended(self.gateway, "t")
            load.complete = True
            self.kill_and_restart(None)
            load.wait_for_path()
        self.expect_all(load.final(), load.uncertain())
        self.expect_path(load.final(), load.uncertain())

    def test_kill_often(self):
        """kill -9 at random moments around the beginning and the end, a cancellation and a drop."""
        self.fill(1500)
        with self.load() as load:
            load.tolerant = True
            for step in range(6):
                found = status(self.gateway, "t")
                text = call(self.gateway, "policyVersion", 0).text
                try:
                    if found and step % 2:
                        order(self.gateway, "t", "cancel")
                    elif "by_time" not in text:
                        keyway(self.gateway, "forget", "t", "--path", "by_time", "--drop-rows", "--yes", code=None)
                        self.add()
                    elif not found:
                        self.drop()
                    time.sleep(load_pause(step))
                except (KeywayError, OSError):
                    pass
                self.gateway.kill()
                self.restart()
                load.wait_for_scans(1)
            if status(self.gateway, "t"):
                wait_until_ended(self.gateway, "t")
        self.expect_all(load.final(), load.uncertain())
        if "by_time" in call(self.gateway, "policyVersion", 0).text:
            self.expect_path(load.final(), load.uncertain())

    def test_refused(self):
        self.fill(300)
        version = int(self.gateway.metric("keyway_policy_version"))
        self.add(10)
        self.refuse(Code.REFUSED, "a change of its path by_time is under way", call, self.gateway, "policyApply",
                    policy(HASHED, TWO_PATHS), version + 1, None)
        self.refuse(Code.REFUSED, "a change of its path by_time is under way", call, self.gateway, "policyApply",
                    policy(SALTED, PATHS), version + 1, None)
        self.refuse(Code.INVALID, "this path is being added", call, self.gateway, "policyApply", policy(HASHED), version + 1, None)
        keyway(self.gateway, "change", "diff", "t", code=None)  # rows that are not copied yet
        order(self.gateway, "t", "throttle", rows_per_second=0)
        wait_until_ended(self.gateway, "t")

    def test_rows_that_do_not_fit(self):
        """Rows whose records have no key in the path are not copied, and queries use the path only after the operator orders it."""
        fields = "    fields: {id: {type: string, max_bytes: 20}, ts: timestamp, note: string}\n"
        old = f"tables:\n  t:\n{fields}    key: [{{field: id}}, {{field: ts}}]\n"
        new = f"{old}    paths:\n      by_id: {{key: [{{field: {{name: id, encoding: fixed, width: 8}}}}, {{field: ts}}]}}\n"
        call(self.gateway, "policyApply", old, 0, None)
        put_all(self.gateway, "t", [record(id="short", ts=1, note="a"), record(id="longer than eight", ts=2, note="b")])
        call(self.gateway, "policyApply", new, 1, None)
        found = wait_for(self.gateway, "t", lambda found: found.compared, "the comparison")
        self.assertEqual((found.rows_copied, found.foreign_rows, found.waiting), (1, 1, True), found)
        self.refuse(Code.REFUSED, "cannot have a key in the added path", order, self.gateway, "t", "switch")
        keyway(self.gateway, "change", "switch", "t", "--leave-undecodable")
        wait_until_ended(self.gateway, "t")
        self.assertEqual([plain(row)["id"] for row in self.scan(path="by_id", full_scan=True)], ["short"])
        data = self.gateway.data()
        self.assertEqual(data.remove("t", record(id="longer than eight", ts=2), [], None).outcome, 0)
        data.close()
        self.assertEqual([plain(row)["id"] for row in self.scan(path="primary", full_scan=True)], ["short"])


def load_pause(step):
    return (SEED >> step) % 8 / 20


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    logging.disable()  # Thrift's messages about gateways that were killed
    unittest.main(verbosity=2, warnings="ignore")
