"""Gateways that stop while a key rule changes on HBase: one of them, the holder, sets the places and copies the rows.

    change_holder.py sim|hbase
    change_holder.py sim|hbase 1 [TEST...]
"""
import logging
import re
import signal
import threading
import time

import side_by_side
from change_case import HASHED, SALTED, SEED
from change_hbase_case import STORE, HBaseCase
from changing import apply, call, json_lines, keyway, order, put_all, status, wait_for, wait_until_compared, wait_until_ended
from keyway_gateway import plain, record, wait_until
from keyway_thrift.ttypes import Code

ROWS = 600


class Holder(HBaseCase):
    def start_two(self, **how):
        first = self.start(2, **how)
        return first, self.gateways[1]

    @staticmethod
    def kill(gateway):
        gateway.kill()
        gateway.process = None

    def holder_is(self, gateway, number):
        wait_for(gateway, "t", lambda found: found.holder == f"{self.name}_{number}", f"gateway {number} to be the holder")

    def wait_for_reports(self, gateway):
        wait_for(gateway, "t", lambda found: found.phase.startswith("waiting for gateway"), "the holder to wait for another gateway")

    def end(self, gateway):
        """Switches and completes the change."""
        wait_until_compared(gateway, "t")
        self.lead("switch", "both-new", gateway=gateway)
        order(gateway, "t", "complete", expire_cursors=True)
        wait_until_ended(gateway, "t")

    def put(self, gateway, name, n):
        data = gateway.data()
        try:
            written = data.put("t", record(id=name, ts=1, n=n), None)
            self.assertEqual(written.outcome, 0, written)
        finally:
            data.close()
        self.stable[(name, 1)] = {"n": n}

    def test_holder_killed(self):
        """The other gateway continues: first from the copy, then with the counts that the catalog has."""
        a, b = self.start_two()
        self.begin()
        self.wait_for_version("both-old", gateway=b)
        order(b, "t", "throttle", rows_per_second=100)
        wait_for(b, "t", lambda found: found.rows_copied > 0, "rows to be copied")
        self.assertEqual(status(b, "t").holder, f"{self.name}_0")
        self.kill(a)
        self.holder_is(b, 1)
        order(b, "t", "throttle", rows_per_second=0)
        self.put(b, "x", 1)
        self.gateways = [b]
        self.end(b)
        self.expect_all(self.stable, gateway=b)

    def test_limit_removed(self):
        """The pause that a limit has caused ends when the limit does, through the holder and through another gateway."""
        gateways = self.start_two(rows=3000)
        for gateway in gateways:
            self.begin()
            order(gateways[0], "t", "throttle", rows_per_second=3)
            found = wait_for(gateways[0], "t", lambda found: found.rows_copied > 0, "the first slice")
            self.assertRegex(found.phase, r"^copying, waiting \d+ s more for the limit of 3 rows per second$")
            began = time.monotonic()
            order(gateway, "t", "throttle", rows_per_second=0)
            wait_until_compared(gateway, "t")
            self.assertLess(time.monotonic() - began, 60)
            order(gateway, "t", "cancel")
            for each in gateways:
                wait_until_ended(each, "t")

    def test_progress(self):
        """Each gateway shows the progress of the holder's work."""
        a, b = self.start_two(rows=3000)
        self.begin()
        order(b, "t", "throttle", rows_per_second=400)
        found = wait_for(b, "t", lambda found: found.rows_per_second > 0 and found.left_ms > 0, "the rate of the copy")
        self.assertTrue(0 < found.progress < 1, found)
        self.assertEqual(found.holder, f"{self.name}_0")
        order(b, "t", "pause")
        found = wait_for(b, "t", lambda found: found.paused, "the copy to pause")
        self.assertEqual((found.rows_per_second, found.left_ms), (0, None))
        order(b, "t", "resume")
        order(b, "t", "throttle", rows_per_second=0)
        wait_until_compared(b, "t")

    def test_callers_of_the_other_gateway(self):
        """The holder copies fewer rows at once, and makes pauses, although only the other gateway has callers."""
        a, b = self.start_two(rows=4000)  # without callers, one slice copies all of them
        self.begin()
        order(a, "t", "pause")
        found = self.wait_for_version("both-old", gateway=a)
        self.assertEqual((found.holder, found.rows_copied), (f"{self.name}_0", 0))
        stop = threading.Event()
        caller = threading.Thread(target=self.get_until, args=(b, stop))
        caller.start()
        try:
            time.sleep(5)  # b reports its callers within 2 s, and the holder reads that within a second
            order(a, "t", "resume")
            # At the first 500 rows, the holder can still make pauses for the calls that have put the rows.
            wait_for(a, "t", lambda found: 500 < found.rows_copied < 4000, "a part of the rows to be copied")
            self.assertTrue(caller.is_alive())
        finally:
            stop.set()
            caller.join()
        self.end(a)
        self.expect_all(self.stable, gateway=b)

    def get_until(self, gateway, stop):
        data = gateway.data()
        try:
            while not stop.is_set():
                self.assertTrue(data.get("t", record(id="r000000", ts=0), [], None).record)
                time.sleep(0.01)
        finally:
            data.close()

    def test_holder_killed_while_versions_follow(self):
        a, b = self.start_two()
        self.begin()
        wait_until_compared(b, "t")
        order(b, "t", "switch")
        self.kill(a)
        self.wait_for_version("both-new", gateway=b)
        self.put(b, "x", 1)
        a.start()
        order(b, "t", "reverse")
        self.wait_for_version("both-old", gateway=a)
        self.put(a, "y", 2)
        self.end(a)
        for each in (a, b):
            wait_until_ended(each, "t")
            self.expect_all(self.stable, gateway=each)

    def test_holder_ends(self):
        """A gateway that ends gives the change up, so that another one continues at once."""
        a, b = self.start_two()
        self.begin()
        wait_until_compared(b, "t")
        began = time.monotonic()
        a.stop()
        self.holder_is(b, 1)
        self.assertLess(time.monotonic() - began, 10)  # less than a dead gateway takes
        self.gateways = [b]
        self.end(b)
        self.expect_all(self.stable, gateway=b)

    def test_holder_of_two_ends(self):
        """A gateway that ends gives all its changes up."""
        def both(key, other):
            return self.policy(key) + f"  u:\n    store_table: {self.name}_u\n    fields: {{id: string}}\n    key: {other}\n"
        a, b = self.start_two(rows=10)
        apply(a, both(HASHED, "[{field: id}]"))
        put_all(a, "u", [record(id="x")])
        apply(a, both(SALTED, "[{field: id}]"), only_writer=True)
        apply(a, both(SALTED, "[{hash: {of: [id]}}, {field: id}]"), only_writer=True)
        for table in "tu":
            wait_until_compared(b, table)
            self.assertEqual(status(b, table).holder, f"{self.name}_0")
        a.stop()
        self.assertEqual(len([line for line in a.log().splitlines() if "gave up a change" in line]), 2, a.log())
        for table in "tu":
            wait_for(b, table, lambda found: found.holder == f"{self.name}_1", "the other gateway to be the holder")

    def test_only_gateway_restarts(self):
        a = self.start(1)
        self.begin()
        wait_until_compared(a, "t")
        a.restart()
        self.holder_is(a, 0)
        self.end(a)
        self.expect_all(self.stable, gateway=a)

    def test_gateway_stands_still(self):
        """The change waits for a gateway that does not report; the change goes on without one that is dead, which serves the present place
        when it continues."""
        a, b = self.start_two()
        self.begin()
        wait_until_compared(a, "t")
        b.process.send_signal(signal.SIGSTOP)
        order(a, "t", "switch")
        self.wait_for_reports(a)
        self.assertIn(f"{self.name}_1", status(a, "t").phase)
        wait_until(lambda: re.search(r'^keyway_change_unreported_gateways{.*} 1$', a.get("/metrics")[1], re.M), "the metric")
        self.assertIn(status(a, "t").version, ("both-old", "spacing-old", "spaced-old"))  # both-old if b had not reported it after a pass
        self.wait_for_version("both-new", gateway=a)
        self.put(a, "x", 1)
        b.process.send_signal(signal.SIGCONT)
        self.wait_for_version("both-new", gateway=b)
        wait_until(lambda: b.get("/readyz")[0] == 200, "the other gateway to serve")
        self.put(b, "y", 2)
        order(b, "t", "complete", expire_cursors=True)
        for each in (a, b):
            wait_until_ended(each, "t")
            self.expect_all(self.stable, gateway=each)

    def test_gateway_starts(self):
        """A gateway that starts during a change serves its place, and the change waits for its reports from then on."""
        a = self.start(1)
        self.begin()
        wait_until_compared(a, "t")
        b = self.open(1)
        self.wait_for_version("both-old", gateway=b)
        self.put(b, "x", 1)
        b.process.send_signal(signal.SIGSTOP)
        order(a, "t", "switch")
        self.wait_for_reports(a)
        b.process.send_signal(signal.SIGCONT)
        self.end_switched(b)
        self.expect_all(self.stable, gateway=b)

    def end_switched(self, gateway):
        self.wait_for_version("both-new", gateway=gateway)
        order(gateway, "t", "complete", expire_cursors=True)
        for each in self.gateways:
            wait_until_ended(each, "t")


class Orders(HBaseCase):
    """Any gateway accepts orders; each is checked against what the catalog has."""

    def refused(self, gateway, part, action, **options):
        self.refuse(Code.REFUSED, part, order, gateway, "t", action, **options)

    def test_orders(self):
        a = self.start(2)
        b = self.gateways[1]
        self.refused(b, "no change is under way", "switch")
        self.begin()
        order(b, "t", "pause")
        found = wait_for(b, "t", lambda found: found.phase == "paused", "the copy to pause")
        self.assertEqual((found.version, found.waiting, found.goal, found.next_commands), ("both-old", True, "copied", "resume, cancel"))
        wait_for(a, "t", lambda found: found.phase == "paused", "the holder to pause")
        self.refused(b, "its rows are still being copied", "switch")
        self.refused(b, "queries read the old rows already", "reverse")
        self.refused(b, "switch first: keyway change switch", "complete")
        self.refused(b, "its change is at both-old, not at both-new; nothing was changed", "resume", expected_version="both-new")
        order(b, "t", "throttle", rows_per_second=7)
        self.assertEqual(status(a, "t").limit_rows_per_second, 7)
        order(a, "t", "throttle", rows_per_second=0)
        order(b, "t", "resume")
        found = wait_until_compared(b, "t")
        self.assertEqual((found.phase, found.waiting, found.next_commands), ("ready to switch", True, "switch, cancel"))
        order(b, "t", "compare")
        found = wait_until_compared(a, "t")
        self.assertEqual((found.missing, found.different), (0, 0))
        text, _ = keyway(b, "change", "switch", "t", "--expect", "both-old")
        self.assertIn("table t: accepted: the gateways go on until queries read the new rows", text)
        self.assertIn("keyway change status t --wait", text)
        self.refused(a, "the change was switched already", "switch")
        text, _ = keyway(b, "change", "status", "t", "--wait")
        self.assertIn("both-new since", text)
        self.assertIn("phase         ready to complete", text)
        self.assertIn(f"goal          switched, carried out by gateway {self.name}_0", text)
        self.refused(b, "go back first: keyway change reverse", "cancel")
        self.refused(b, "only before the switch", "compare")
        order(b, "t", "complete")
        found = wait_for(a, "t", lambda found: "cursors" in found.phase, "the change to wait for cursors")
        self.assertEqual((found.version, found.goal, found.waiting, found.next_commands), ("both-new", "completed", False, "reverse"))
        self.assertGreater(found.cursors_until, time.time() * 1000)
        order(b, "t", "reverse")
        self.wait_for_version("both-old", gateway=a)
        wait_until_compared(a, "t")
        order(b, "t", "cancel")
        wait_until_ended(b, "t")
        wait_until_ended(a, "t")
        self.expect_all(self.stable)
        lines, _ = keyway(a, "change", "list", "-o", "jsonl")
        self.assertEqual(json_lines(lines), [])

    def test_cancellation_taken_back(self):
        """While a change is being cancelled no other version can be applied: the cancellation would undo it."""
        a = self.start(2)
        b = self.gateways[1]
        self.begin()
        wait_until_compared(a, "t")
        b.process.send_signal(signal.SIGSTOP)
        try:
            order(a, "t", "cancel")
            wait_for(a, "t", lambda found: found.version == "opening-old", "the change to go back")
            self.refuse(Code.REFUSED, "a change is being cancelled", apply, a,
                        self.policy(SALTED).replace("note: string", "note: string, more: string"))
            self.refused(a, "its change is being cancelled", "switch")
            order(a, "t", "reverse")
        finally:
            b.process.send_signal(signal.SIGCONT)

        def is_copied(found):
            return found.goal == "copied" and found.version == "both-old" and found.compared and found.waiting

        # b shows what the catalog has, which the holder writes a moment after it shows it itself. At first it still shows
        # the state from before the cancellation.
        again = wait_for(a, "t", is_copied, "all rows to be copied again")
        wait_for(b, "t", lambda found: is_copied(found) and found.version_at >= again.version_at, "the other gateway to show that")
        self.lead("switch", "both-new", gateway=b)
        self.expect_all(self.stable)

    def remove_during_cancellation(self, order_of_writes):
        """When removals do not reach the new rows any more, the change cannot go forward again: a row that was copied before would
        bring a removed record back."""
        a = self.start(2, order_of_writes=order_of_writes, rows=6, late="  late: 200ms\n")
        b = self.gateways[1]
        self.begin()
        wait_until_compared(b, "t")
        order(b, "t", "pause")  # so that the cancellation waits before it sweeps
        order(b, "t", "cancel")
        wait_for(a, "t", lambda found: found.version == "alone-old" and found.next_commands == "resume", "alone-old")
        data = b.data()
        try:
            self.assertEqual(data.remove("t", record(id="r000000", ts=0), [], None).outcome, 0)
        finally:
            data.close()
        del self.stable[("r000000", 0)]
        time.sleep(0.5)  # longer than store.late
        self.refused(b, "its change is being cancelled", "reverse")
        self.expect_all(self.stable)

    def test_removal_during_cancellation(self):
        self.remove_during_cancellation("")

    def test_removal_during_cancellation_stamped(self):
        self.remove_during_cancellation("    order: stamp\n")

    def test_other_change_during_cancellation(self):
        """Nor can the change of another table begin: it would come with another version, and the cancellation could not end."""
        def both(key, other):
            return self.policy(key) + f"  u:\n    store_table: {self.name}_u\n    fields: {{id: string}}\n    key: {other}\n"
        a = self.start(2, rows=10)
        b = self.gateways[1]
        apply(a, both(HASHED, "[{field: id}]"))
        put_all(a, "u", [record(id="x")])
        apply(a, both(SALTED, "[{field: id}]"), only_writer=True)
        wait_until_compared(a, "t")
        b.process.send_signal(signal.SIGSTOP)
        try:
            order(a, "t", "cancel")
            wait_for(a, "t", lambda found: found.version == "opening-old", "the change to go back")
            self.refuse(Code.REFUSED, "a change is being cancelled", apply, a, both(SALTED, "[{hash: {of: [id]}}, {field: id}]"),
                        only_writer=True)
        finally:
            b.process.send_signal(signal.SIGCONT)
        wait_until_ended(b, "t")
        self.assertIsNone(status(a, "u"))
        self.expect_all(self.stable)

    def test_cancel_after_other_version(self):
        """A cancellation makes the text of the version before current again; a later version would be lost."""
        a = self.start(2)
        b = self.gateways[1]
        self.begin()
        wait_until_compared(a, "t")
        wait_until_compared(b, "t")
        call(a, "policyApply", self.policy(SALTED).replace("note: string", "note: string, more: string"), 2, None)
        wait_until(lambda: b.metric("keyway_policy_version") == 3, "version 3")
        self.refused(b, "policy version 3 was applied after version 2, which began the change", "cancel")
        self.lead("switch", "both-new", gateway=b)
        order(b, "t", "complete", expire_cursors=True)
        wait_until_ended(a, "t")
        data = b.data()
        try:
            data.put("t", record(id="x", ts=1, n=1, more="m"), None)
            self.assertEqual(plain(data.get("t", record(id="x", ts=1), [], None).record), {"id": "x", "ts": 1, "n": 1, "more": "m"})
        finally:
            data.close()


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    logging.disable()  # Thrift's messages about gateways that were killed
    side_by_side.main([STORE, "1"])
