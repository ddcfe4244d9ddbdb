"""Orders for a change of a key rule, and what is refused, on the embedded store: without other callers.

KW_SEED repeats a run.
"""
import os
import time
import unittest

import changing
from change_case import BY_TIME, FIELDS, HASHED, REFERENCE, SALTED, ChangeCase, hashed_order, policy
from changing import apply, call, cells_of, keyway, order, put_all, status, wait_until_compared, wait_until_ended
from keyway_gateway import Gateway, record, value, wait_until
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Query


class Orders(ChangeCase):
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

    def test_text_of_another_version(self):
        """A text that policy show has printed is refused if another version is current by then; with --expect, it is not."""
        apply(self.gateway, policy(HASHED), 0)
        file = os.path.join(self.gateway.folder, "shown.yaml")

        def show(*words):
            with open(file, "w", encoding="utf-8") as to:
                to.write(keyway(self.gateway, "policy", "show", *words)[0])
        show()
        apply(self.gateway, policy(HASHED).replace("note: string", "note: string, more: string"), 1)
        refused = keyway(self.gateway, "policy", "apply", file, code=1)[1]
        self.assertIn("policy version 2 is current, not 1", refused)
        show()
        self.assertIn("version 2 is current and has this text", keyway(self.gateway, "policy", "apply", file)[0])
        show("1")  # to go back to it
        self.assertIn("version 3 is current\n", keyway(self.gateway, "policy", "apply", file)[0])
        show()
        apply(self.gateway, policy(HASHED).replace("note: string", "note: string, most: string"), 3)
        self.assertIn("version 5 is current\n", keyway(self.gateway, "policy", "apply", file, "--expect", "4")[0])
        self.assertNotIn("# Policy version", call(self.gateway, "policyVersion", 5).text)

    def test_limit_and_share(self):
        """The status says that the copy waits for its limit, and for how long; removing the limit lets it go on at once. The
        share is kept until it is set back."""
        self.fill()
        self.begin_slowly(rows_per_second=3)
        wait_until(lambda: status(self.gateway, "t").rows_copied > 0, "the first slice")
        self.assertRegex(status(self.gateway, "t").phase, r"^copying, waiting 1\d\d s more for the limit of 3 rows per second$")
        keyway(self.gateway, "change", "throttle", "t", "--share", "25%")
        found = status(self.gateway, "t")
        self.assertEqual((found.limit_rows_per_second, found.share_percent), (3, 25))
        self.gateway.restart()
        wait_until(lambda: self.gateway.ready()["ready"], "the gateway to serve")
        self.assertIn("25 % of the time", keyway(self.gateway, "change", "status", "t")[0])
        keyway(self.gateway, "change", "throttle", "t", "--rows-per-second", "0")
        began = time.monotonic()
        wait_until_compared(self.gateway, "t")
        self.assertLess(time.monotonic() - began, 60)
        keyway(self.gateway, "change", "throttle", "t", "--share", "default")
        self.assertIsNone(status(self.gateway, "t").share_percent)
        order(self.gateway, "t", "cancel")
        wait_until_ended(self.gateway, "t")

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
        self.assertEqual((waiting.version, "cursors" in waiting.phase, waiting.waiting), ("both-new", True, False))
        order(self.gateway, "t", "reverse")
        self.assertEqual(status(self.gateway, "t").version, "both-old")

    def test_complete_after_cursors(self):
        """complete ends the change when the cursors of the old rule have expired, even if kill -9 ends the gateway first; reverse takes it back."""
        expiry_s, call_s = 3, 1
        self.gateway.stop()
        self.gateway.write_policy(changing.SETTINGS + f"cursor: {{{{expiry: {expiry_s}s}}}}\ntimeouts: {{{{call: {call_s}s}}}}\n")
        self.gateway.start()
        self.fill(1000)
        self.begin()
        wait_until_compared(self.gateway, "t")
        data = self.gateway.data()
        page = data.scan(Query(table="t", full_scan=True, page_rows=100))
        order(self.gateway, "t", "switch")
        order(self.gateway, "t", "complete")
        rows = len(page.rows)
        while page.cursor is not None:
            page = data.nextPage(page.cursor, None)
            rows += len(page.rows)
        self.assertEqual((rows, status(self.gateway, "t").version), (1000, "both-new"))
        order(self.gateway, "t", "reverse")
        order(self.gateway, "t", "switch")
        time.sleep(expiry_s + call_s + 1)
        self.assertEqual(status(self.gateway, "t").version, "both-new")
        order(self.gateway, "t", "reverse")
        order(self.gateway, "t", "switch")
        switched = time.time()
        order(self.gateway, "t", "complete")
        self.gateway.kill()
        self.restart()
        if time.time() < switched + expiry_s:
            self.assertEqual(status(self.gateway, "t").version, "both-new")
        wait_until_ended(self.gateway, "t")
        self.assertGreater(time.time(), switched + expiry_s)
        self.expect_all(self.stable)

    def test_atomic_operations(self):
        """Increments and conditional writes at every place, also of records that are not copied yet."""
        self.fill()
        data = self.gateway.data()
        names = [("r000001", 0), ("r000700", 2), ("new", 5)]
        states = {name: dict(self.stable.get(name, {})) for name in names}

        def write():
            for name, state in states.items():
                key = record(id=name[0], ts=name[1])
                state["n"] = state.get("n", 0) + 5
                self.assertEqual(data.increment("t", key, {"n": 5}, None)["n"].number, state["n"])
                condition = Condition("note", CompareOp.EQUAL, value(state["note"]) if "note" in state else None)
                state["note"] = f"note {state['n']}"
                self.assertTrue(data.putIf("t", {**key, **record(note=state["note"])}, condition, None))
                self.assertFalse(data.putIf("t", {**key, **record(note="wrong")}, condition, None))
                self.assertEqual(self.get(*name), {"id": name[0], "ts": name[1], **state})
        write()
        self.begin_slowly()
        write()
        order(self.gateway, "t", "throttle", rows_per_second=0)
        wait_until_compared(self.gateway, "t")
        write()
        for action in ("switch", "reverse", "switch", "complete"):
            order(self.gateway, "t", action, expire_cursors=action == "complete")
            write()
        wait_until_ended(self.gateway, "t")
        write()
        self.begin(HASHED)
        write()
        order(self.gateway, "t", "cancel")
        wait_until_ended(self.gateway, "t")
        write()
        data.close()
        self.expect_all(self.stable | states)

    def test_two_paths(self):
        self.fill(10)
        gateway = self.gateway
        two = f"  two:\n{FIELDS}    key: {HASHED}\n    paths: {{by_time: {{key: {BY_TIME}}}}}\n"
        apply(gateway, policy(HASHED, two))
        put_all(gateway, "two", [record(id="a", ts=1, note="x")])
        moved = two.replace(HASHED, SALTED).replace("buckets: 4", "buckets: 16")
        reason = "table two: the key rules of paths primary and by_time change; change the key rule of one path at a time"
        refused = self.refuse(Code.REFUSED, reason, apply, gateway, policy(HASHED, moved))
        self.assertNotIn("import", refused.message)
        self.assertIn(f"REFUSED: {reason}", apply(gateway, policy(SALTED, moved), dry_run=True).plan)
        self.assertIsNone(status(gateway, "two"))

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
        with self.assertRaises(KeywayError) as refused:
            order(self.gateway, "t", "cancel")
        self.assertEqual(refused.exception.code, Code.REFUSED)
        self.assertIn("policy version 2 also changes table reference, whose queries read the new rows", refused.exception.message)
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

    def test_two_tables_cancelled(self):
        self.fill(600)
        states = {("a", i): {"note": f"{i}", "n": i} for i in range(300)}
        self.write_reference(states)
        both = policy(SALTED).replace(REFERENCE, REFERENCE.replace(SALTED, BY_TIME))
        self.assertIn("cancels those of all", apply(self.gateway, both, dry_run=True).plan)
        apply(self.gateway, both)
        wait_until_compared(self.gateway, "reference")
        order(self.gateway, "t", "cancel")
        self.assertEqual([status(self.gateway, table) for table in ("t", "reference")], [None, None])
        self.expect_all(self.stable)
        with self.stopped():
            pass
        self.expect_all(self.stable)
        data = self.gateway.data()
        rows = data.scan(Query(table="reference", full_scan=True)).rows
        data.close()
        self.assertEqual({(row["id"].text, row["ts"].number) for row in rows}, set(states))
        apply(self.gateway, both)
        for table in ("t", "reference"):
            wait_until_compared(self.gateway, table)

    def test_two_tables_one_ended(self):
        """To cancel one change would undo the other one, which has ended."""
        self.fill(600)
        states = {("a", i): {"note": f"{i}", "n": i} for i in range(300)}
        self.write_reference(states)
        both = policy(SALTED).replace(REFERENCE, REFERENCE.replace(SALTED, BY_TIME))
        apply(self.gateway, both)
        for table in ("t", "reference"):
            wait_until_compared(self.gateway, table)
        order(self.gateway, "reference", "switch")
        order(self.gateway, "reference", "complete", expire_cursors=True)
        wait_until_ended(self.gateway, "reference")
        with self.assertRaises(KeywayError) as refused:
            order(self.gateway, "t", "cancel")
        self.assertEqual(refused.exception.code, Code.REFUSED)
        self.assertIn("table t: policy version 2 also changed path primary of table reference, and that change has ended", refused.exception.message)
        apply(self.gateway, both.replace(SALTED, HASHED, 1))
        wait_until_ended(self.gateway, "t")
        self.expect_all(self.stable)
        with self.stopped():
            pass
        self.expect_all(self.stable)

    def test_two_tables_path_added(self):
        """To cancel the change of a key rule would drop the path that the same policy has added to another table."""
        self.fill(600)
        self.write_reference({("a", i): {"note": f"{i}", "n": i} for i in range(30)})
        apply(self.gateway, policy(SALTED).replace(REFERENCE, REFERENCE + f"    paths: {{second: {{key: {BY_TIME}}}}}\n"))
        wait_until_ended(self.gateway, "reference")
        wait_until_compared(self.gateway, "t")
        with self.assertRaises(KeywayError) as refused:
            order(self.gateway, "t", "cancel")
        self.assertEqual(refused.exception.code, Code.REFUSED)
        self.assertIn("also changed path second of table reference, and that change has ended", refused.exception.message)
        self.expect_all(self.stable)


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
            gateway.wait_for_log("or change it while the table is in use: set policy.source: store")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
