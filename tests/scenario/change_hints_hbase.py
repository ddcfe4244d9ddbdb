"""A path over a field that changes is added and dropped while callers read and write, on HBase, with two gateways.

    change_hints_hbase.py sim|hbase GATEWAYS

KW_SEED repeats a run.
"""
import logging
import signal
import time
import unittest

from change_case import HASHED, SEED
from change_hbase_case import SIMULATED, STORE, HBaseCase
from changing import apply, keyway, order, status, wait_for, wait_until_ended
from hint_load import HintLoad
from keyway_gateway import wait_until
from keyway_thrift.ttypes import Code

SLOW = 300  # rows per second of a copy that must not end soon
BY_NOTE = "[{field: note}, {field: id}, {field: ts}]"
STAMP = "    order: stamp\n    atomics: true\n"


class HintsCase(HBaseCase):
    def text(self, by_note=None, key=HASHED):
        return self.policy(key) + (f"    paths: {{by_note: {{key: {by_note}}}}}\n" if by_note else "")

    def apply(self, *arguments, gateway=None, rows_per_second=0, **options):
        found = apply(gateway or self.gateways[0], self.text(*arguments), only_writer=True, **options)
        if rows_per_second:
            order(gateway or self.gateways[0], "t", "throttle", rows_per_second=rows_per_second)
        return found

    def start_with_path(self, order_of_writes=""):
        """The path is there before the rows."""
        self.order_of_writes = order_of_writes
        self.first_text = self.text(BY_NOTE)
        return self.start(order_of_writes=order_of_writes)

    def start(self, **options):
        first = getattr(self, "first_text", None)
        if not first:
            return super().start(**options)
        policy, self.policy = self.policy, lambda key: first
        try:
            return super().start(**options)
        finally:
            self.policy = policy

    def load(self, **options):
        return HintLoad(self.gateways, self.stable, SEED, True, **options)

    def wait_until_ended(self):
        for gateway in self.gateways:
            wait_until_ended(gateway, "t")

    def wait_for_filled(self):
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: (found := status(gateway, "t")) is None or found.version == "filled-old", "the path to be complete")

    def paths(self, gateway=None):
        data = (gateway or self.gateways[-1]).data()
        try:
            return [path.name for path in data.describe("t").paths]
        finally:
            data.close()

    def wait_for_paths(self, *names):
        """After a cancellation, a gateway can load the text from before later than it ends the change."""
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: self.paths(gateway) == list(names), f"the paths {names}")

    def forget(self):
        keyway(self.gateways[0], "forget", "t", "--path", "by_note", "--drop-rows", "--yes")

    def check(self, load):
        """The path has the hint of each record."""
        self.expect_all(load.final(), load.uncertain())
        if "by_note" in self.paths():
            out, err = keyway(self.gateways[0], "scrub", "t")
            self.assertIn("0 missing", out + err)


class Paths(HintsCase):
    def whole(self, order_of_writes=""):
        """Added, dropped, and added again: its earlier hints are not used."""
        self.start(order_of_writes=order_of_writes)
        with self.load() as load:
            load.wait_for_scans()
            self.apply(BY_NOTE, rows_per_second=SLOW)
            found = self.wait_for_version("both-old", gateway=self.gateways[-1])
            self.assertEqual((found.path, found.added_paths, found.next_commands), ("by_note", ["by_note"], "cancel"))
            load.wait_for_scans()
            self.assertTrue(any("of its rows are" in one for one in load.refused), load.refused[:3])
            order(self.gateways[-1], "t", "throttle", rows_per_second=0)
            self.wait_until_filled_and_read(load)
            load.complete = False
            plan = self.apply(dry_run=True).plan
            self.assertIn(f"path by_note: its hints stay in store table {self.name}_by_note (layout 1) until `keyway forget t --path by_note", plan)
            self.apply()
            self.wait_until_ended()
            self.wait_for_paths("primary")
            load.wait_for_scans()
            self.refuse(Code.REFUSED, "forget t --path by_note --drop-rows", self.apply, BY_NOTE)
            self.forget()
            self.apply(BY_NOTE)
            self.wait_until_filled_and_read(load)
        self.check(load)
        print(load.counts, load.by_path)

    def wait_until_filled_and_read(self, load):
        self.wait_for_filled()
        load.complete = True
        load.wait_for_path()
        self.wait_until_ended()
        load.wait_for_path()

    def test_whole(self):
        self.whole()

    @SIMULATED
    def test_whole_with_stamps(self):
        self.whole(STAMP)

    @SIMULATED
    def test_cancel(self):
        for order_of_writes in ("", STAMP):
            with self.subTest(order_of_writes):
                self.setUp()
                self.cancel(order_of_writes)
                for gateway in self.gateways:
                    gateway.stop()

    def cancel(self, order_of_writes):
        self.start(order_of_writes=order_of_writes)
        with self.load() as load:
            self.apply(BY_NOTE, rows_per_second=SLOW)
            self.wait_for_version("both-old")
            load.wait_for_scans()
            order(self.gateways[-1], "t", "cancel")
            self.wait_until_ended()
            self.wait_for_paths("primary")
            load.wait_for_scans()
            self.forget()
            self.apply(BY_NOTE)
            self.wait_until_filled_and_read(load)
        self.check(load)


@SIMULATED
class Stops(HintsCase):
    """Gateways stop while a path is dropped."""

    def test_holder_killed(self):
        self.start_with_path(STAMP)
        a, b = self.gateways
        with self.load() as load:
            load.harmed = True
            load.wait_for_path()
            self.apply()
            a.kill()
            wait_for(b, "t", lambda found: found.holder == f"{self.name}_1", "the other gateway to be the holder")
            load.wait_for_scans(1)
            a.start()
            wait_until(lambda: a.get("/readyz")[0] == 200, "the gateway to serve")
            self.wait_until_ended()
            load.wait_for_scans()
        self.wait_for_paths("primary")
        self.check(load)

    def test_gateway_paused(self):
        """A gateway that is paused for longer than its lease must not answer queries of the path afterwards, because the other
        one no longer writes hints."""
        self.start_with_path()
        a, b = self.gateways
        with self.load() as load:
            load.harmed = True
            load.wait_for_path()
            b.process.send_signal(signal.SIGSTOP)
            self.apply()
            time.sleep(12)
            wait_until(lambda: (found := status(a, "t")) is None or found.version != "both-old", "the change to go on")
            b.process.send_signal(signal.SIGCONT)
            self.wait_until_ended()
            load.wait_for_scans()
        self.wait_for_paths("primary")
        self.check(load)


if __name__ == "__main__":
    print(f"seed {SEED}, {STORE}", flush=True)
    logging.disable()  # Thrift's messages about gateways that were killed
    unittest.main(verbosity=2, warnings="ignore")
