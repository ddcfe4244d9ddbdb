"""Changes of key rules with unusual rows and tables, on the embedded store: rows that one of the rules cannot have, several
paths, given placements, callers' timestamps, old rows that are dropped.

KW_SEED repeats a run.
"""
import threading
import unittest

import changing
from change_case import BY_TIME, FIELDS, HASHED, SALTED, ChangeCase, policy
from changing import apply, call, cells_of, json_lines, keyway, order, put_all, status, wait_for, wait_until_compared, wait_until_ended
from keyway_gateway import Gateway, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Options, Outcome, Query


class Rows(ChangeCase):
    def change(self, *steps):
        for step in steps:
            order(self.gateway, "t", step, expire_cursors=step == "complete")
        if steps[-1] in ("cancel", "complete"):
            wait_until_ended(self.gateway, "t")

    def put(self, table="t", timestamp=None, **fields):
        data = self.gateway.data()
        written = data.put(table, record(**fields), Options(timestamp=timestamp) if timestamp else None)
        data.close()
        return written

    def stored(self, *tables):
        with self.stopped():
            return cells_of(self.gateway.folder, *tables)

    # --- tests ------------------------------------------------------------------------------------

    def test_old_rows_are_dropped(self):
        self.fill(300)
        self.begin()
        wait_until_compared(self.gateway, "t")
        self.change("switch")
        forget = ["forget", "t", "--path", "primary", "--drop-rows", "--yes"]
        keyway(self.gateway, *forget, code=1)
        self.expect_all(self.stable)
        self.change("complete")
        keyway(self.gateway, *forget)
        self.expect_all(self.stable)
        found = self.stored("t", "t_L2")
        self.assertFalse(found["t"])  # emptied: the policy's text names it
        self.assertEqual(len(found["t_L2"]), 300)
        self.expect_all(self.stable)
        self.begin(BY_TIME)
        wait_until_compared(self.gateway, "t")
        self.change("cancel")
        keyway(self.gateway, *forget)
        self.expect_all(self.stable)
        found = self.stored("t_L2", "t_L3")
        self.assertFalse(found["t_L3"])
        self.assertEqual(len(found["t_L2"]), 300)
        self.expect_all(self.stable)

    def test_given_placement(self):
        """The policy can name the layout and the store table."""
        self.fill(300)
        given = policy(SALTED).replace("    key:", "    layout: 7\n    store_table: t_new\n    key:", 1)
        apply(self.gateway, given)
        found = wait_until_compared(self.gateway, "t")
        self.assertEqual((found.layout, found.store_table), (7, "t_new"))
        self.change("switch", "complete")
        self.expect_all(self.stable)
        self.assertEqual(len(self.stored("t_new")["t_new"]), 300)
        self.expect_all(self.stable)
        apply(self.gateway, given.replace(SALTED, HASHED, 1))
        found = wait_until_compared(self.gateway, "t")
        self.assertEqual((found.old_layout, found.layout, found.store_table), (7, 8, "t_new_L8"))
        self.change("switch", "complete")
        self.expect_all(self.stable)
        with self.stopped():
            pass
        self.expect_all(self.stable)

    def test_undecodable_rows(self):
        """A row that another program wrote into the store table."""
        self.fill(300)
        self.gateway.stop()
        raw = changing.SETTINGS.replace("policy: {{source: store}}\n", "").replace("/data}}", "/data, catalog: other}}")
        raw += 'tables:\n  raw:\n    store_table: t\n    accept_unverified: true\n    fields: {{k: bytes, note: string}}\n    key: [{{field: k}}]\n'
        with Gateway(raw.replace("{folder}", self.gateway.folder)) as other:
            put_all(other, "raw", [record(k=b"not a key", note="x")])
        self.gateway.start()
        wait_until(lambda: self.gateway.ready()["ready"], "the gateway to serve")
        self.begin()
        found = wait_for(self.gateway, "t", lambda found: found.copied and found.compared, "the comparison")
        self.assertEqual(found.foreign_rows, 1)
        self.assertIn("not a key", found.example)
        self.refuse(Code.REFUSED, "not copied", order, self.gateway, "t", "switch")
        order(self.gateway, "t", "switch", leave_undecodable=True)
        self.change("complete")
        self.expect_all(self.stable)
        self.assertEqual(len(self.stored("t_L2")["t_L2"]), 300)

    def test_records_that_the_new_rule_cannot_encode(self):
        """They are not copied; puts of such records are rejected, but they can be read and removed until the switch."""
        self.fill(30)
        narrow = "[{field: id}, {field: {name: ts, encoding: decimal, width: 3}}]"
        for name in ("large", "larger"):
            self.assertEqual(self.put(id=name, ts=1000, n=1).outcome, Outcome.OK)
        self.begin(narrow)
        found = wait_until_compared(self.gateway, "t")
        self.assertEqual((found.rows_copied, found.foreign_rows), (30, 2))
        self.assertIn("1000", found.example)
        self.assertEqual((found.missing, found.different, found.extra), (0, 0, 0))
        self.refuse(Code.INVALID, "layout 2", self.put, id="large", ts=2000, n=1)
        self.assertEqual(self.get("large", 1000), {"id": "large", "ts": 1000, "n": 1})
        self.refuse(Code.REFUSED, "not copied", order, self.gateway, "t", "switch")
        data = self.gateway.data()
        self.assertEqual(data.remove("t", record(id="large", ts=1000), [], None).outcome, Outcome.OK)
        data.close()
        self.assertIsNone(self.get("large", 1000))
        self.change("cancel")
        self.assertEqual(self.put(id="large", ts=2000, n=1).outcome, Outcome.OK)
        self.begin(narrow)
        self.assertEqual(wait_until_compared(self.gateway, "t").foreign_rows, 2)
        order(self.gateway, "t", "switch", leave_undecodable=True)
        self.change("complete")
        self.expect_all(self.stable)

    def test_timestamps_of_callers(self):
        """A put with the timestamp of a caller, below a removal from before the change, stays hidden."""
        self.fill(30)
        removed, changed = {"id": "x", "ts": 1}, {"id": "y", "ts": 1}
        data = self.gateway.data()
        for key, columns in ((removed, []), (changed, ["n"])):
            self.assertEqual(self.put(**key, note="a", n=1, timestamp=1000).outcome, Outcome.OK)
            self.assertEqual(data.remove("t", record(**key), columns, Options(timestamp=2000)).outcome, Outcome.OK)
        data.close()
        self.begin()
        wait_until_compared(self.gateway, "t")
        for key in (removed, changed):
            self.assertEqual(self.put(**key, n=2, timestamp=1500).outcome, Outcome.OK)
        self.assertEqual(json_lines(keyway(self.gateway, "change", "diff", "t", "-o", "jsonl")[0]), [])
        for step in ("switch", "complete"):
            self.change(step)
            self.assertIsNone(self.get("x", 1))
            self.assertEqual(self.get("y", 1), {**changed, "note": "a"})
        self.assertEqual(self.put(**removed, n=3, timestamp=3000).outcome, Outcome.OK)
        self.assertEqual(self.get("x", 1), {**removed, "n": 3})

    def test_several_paths(self):
        """The rules of both paths of a table are changed, one after the other; scrub finds no difference."""
        def text(primary, other):
            return f"tables:\n  t:\n{FIELDS.replace(', counter: true', '')}    key: {primary}\n    paths:\n      other: {{key: {other}}}\n"
        apply(self.gateway, text(HASHED, BY_TIME), 0)
        self.stable = {(f"r{i:03}", i): {"note": f"{i}", "n": i} for i in range(200)}
        put_all(self.gateway, "t", [record(id=name, ts=ts, **state) for (name, ts), state in self.stable.items()])
        with self.assertRaises(KeywayError) as caught:
            apply(self.gateway, text(SALTED, "[{field: ts}, {field: id}]"))
        print(caught.exception.message)
        for step, (new, path, table) in enumerate(((text(HASHED, "[{field: ts}, {field: id}]"), "other", "t_other_L2"),
                                                   (text(SALTED, "[{field: ts}, {field: id}]"), "primary", "t_L2"))):
            apply(self.gateway, new)
            found = wait_until_compared(self.gateway, "t")
            self.assertEqual((found.path, found.store_table), (path, table))
            self.put(id=f"new{step}", ts=step, n=step)
            self.stable[(f"new{step}", step)] = {"n": step}
            self.scrubbed()
            self.change("switch")
            data = self.gateway.data()
            data.remove("t", record(id=f"r{step:03}", ts=step), [], None)
            del self.stable[(f"r{step:03}", step)]
            data.close()
            self.scrubbed()
            self.change("complete")
            self.scrubbed()
            self.expect_all(self.stable)
            data = self.gateway.data()
            rows = data.scan(Query(table="t", path="other", full_scan=True)).rows
            data.close()
            self.assertEqual({(row["id"].text, row["ts"].number) for row in rows}, set(self.stable))
        with self.stopped():
            pass
        self.expect_all(self.stable)

    def scrubbed(self):
        lines, summary = keyway(self.gateway, "scrub", "t", "-o", "jsonl")
        self.assertEqual(json_lines(lines), [], summary)

    def test_concurrent_orders(self):
        """Of the same orders at the same moment, one is carried out."""
        self.fill(30)
        self.begin()
        wait_until_compared(self.gateway, "t")
        for action in ("switch", "reverse", "switch", "complete"):
            results = []

            def give(action=action, results=results):
                try:
                    order(self.gateway, "t", action, expire_cursors=action == "complete")
                    results.append(None)
                except KeywayError as failure:
                    results.append(failure.code)
            callers = [threading.Thread(target=give) for _ in range(6)]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
            self.assertEqual(results.count(None), 1, (action, results))
            self.assertEqual(results.count(Code.REFUSED), 5, (action, results))
        wait_until_ended(self.gateway, "t")
        self.expect_all(self.stable)

    def test_reload(self):
        """SIGHUP and a restart keep the change as it is."""
        self.fill(30)
        self.begin()
        wait_until_compared(self.gateway, "t")
        self.change("switch")
        self.gateway.reload()
        with self.stopped():
            pass
        self.gateway.reload()
        self.assertEqual(status(self.gateway, "t").version, "both-new")
        self.put(id="x", ts=1, n=1)
        self.stable[("x", 1)] = {"n": 1}
        self.change("complete")
        self.expect_all(self.stable)

    def test_same_rule_again(self):
        """The text of the present version, and the old rule, can be applied during a change."""
        self.fill(30)
        self.begin()
        wait_until_compared(self.gateway, "t")
        self.assertFalse(self.begin().changed)
        self.assertTrue(apply(self.gateway, policy(HASHED)).changed)  # cancels
        wait_until_ended(self.gateway, "t")
        self.expect_all(self.stable)
        self.assertEqual(call(self.gateway, "policyVersion", 0).version, 3)
        with self.stopped():
            pass
        self.expect_all(self.stable)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
