"""Increments and conditional writes become allowed, and forbidden, on a table with order: stamp that has rows, while callers
read and write through two gateways, on a simulated HBase.

    change_atomics_hbase.py sim 2
"""
import unittest

from change_case import BY_TIME, HASHED, SALTED, SEED
from change_hbase_case import HBaseCase, HBaseLoad
from changing import apply, call, json_lines, keyway, order, status, wait_for, wait_until_ended
from keyway_gateway import Gateway, plain, record, value, wait_until
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Options

ROWS = 60
STAMP = "    order: stamp\n"
ON = f"{STAMP}    atomics: true\n"
OFF = f"{STAMP}    atomics: false\n"
LONG = "  late: 600s\n"  # such a change does not end during a test


class TurningLoad(HBaseLoad):
    """Before the change and after the opposite one, atomic operations are refused."""

    def __init__(self, gateways, stable):
        super().__init__(gateways, stable, SEED, atomic=True)
        self.counts["refused"] = 0

    def write_atomically(self, data, chance, key, named, state):
        try:
            super().write_atomically(data, chance, key, named, state)
        except KeywayError as failure:
            if failure.code != Code.INVALID or "needs atomics: true" not in failure.message:
                raise
            self.counts["refused"] += 1
            self.known[key].withdraw()

    def wait_for_refusals(self):
        before = self.counts["refused"]
        wait_until(lambda: self.failures or self.counts["refused"] > before + 5, "refusals")


class Atomics(HBaseCase):
    def text(self, setting, key=HASHED, paths=""):
        self.order_of_writes = setting
        return self.policy(key) + paths

    def turn(self, setting, gateway=0, **options):
        return apply(self.gateways[gateway], self.text(setting), **options)

    def wait_until_all_ended(self):
        for gateway in self.gateways:
            wait_until_ended(gateway, "t")

    def increment(self, gateway):
        data = gateway.data()
        try:
            return plain(data.increment("t", record(id="counted", ts=1), {"n": 1}, None))["n"]
        finally:
            data.close()

    def control_cells(self):
        return [cell for cell in self.place.cells(self.name) if cell[1] == b"d:\0kw:w" and cell[2] == "put"]

    def test_on_and_off(self):
        """Under load. The gateway that carries out the change is killed, and the other one ends it. Rows from before the change
        have no control cell."""
        self.start(order_of_writes=STAMP, rows=ROWS)
        self.assertEqual(self.control_cells(), [])
        with TurningLoad(self.gateways, self.stable) as load:
            load.wait_for_refusals()
            load.harmed = True
            self.turn(ON)
            wait_for(self.gateways[1], "t", lambda found: found.version == "stamped-old", "stamped-old")
            self.gateways[0].kill()
            self.gateways[0].start()
            self.assertIsNotNone(status(self.gateways[1], "t"))
            wait_until(lambda: self.gateways[0].get("/readyz")[0] == 200, "the gateway to serve")
            self.wait_until_all_ended()
            load.harmed = False
            load.wait_for_atomics()
            self.turn(OFF, gateway=1)
            found = status(self.gateways[0], "t")
            if found:  # it takes at least store.late
                self.assertEqual((found.version, found.next_commands), ("stamped-old", ""))
                self.refuse(Code.REFUSED, "that ends by itself", order, self.gateways[0], "t", "cancel")
            self.wait_until_all_ended()
            for gateway in self.gateways:
                self.refuse(Code.INVALID, "needs atomics: true", self.increment, gateway)
            load.wait_for_refusals()
        self.assertNotEqual(self.control_cells(), [])
        self.expect_all(load.final(), load.uncertain())
        self.turn(ON)  # rows have control cells, of which none belongs to the last write
        self.wait_until_all_ended()
        self.assertEqual([self.increment(gateway) for gateway in self.gateways * 2], [1, 2, 3, 4])
        data = self.gateways[1].data()
        old = record(id="r000001", ts=0)
        self.assertFalse(data.putIf("t", {**old, "note": value("new")}, Condition("note", CompareOp.EQUAL, value("other")), None))
        self.assertTrue(data.putIf("t", {**old, "note": value("new")}, Condition("note", CompareOp.EQUAL, value("note 3")), None))
        data.close()

    def test_while_it_is_under_way(self):
        """What operators and callers see; the change is cancelled through the other gateway."""
        first = self.start(order_of_writes=STAMP, rows=ROWS, late=LONG)
        plan = self.turn(ON, dry_run=True).plan
        self.assertIn("""\
  increments and conditional writes become allowed while the table is served; no row is copied.
    All writes write a control cell, and increments and conditional writes wait; they fail (UNAVAILABLE) if \
their deadline passes first.
    The change ends by itself when all gateways serve this version, all calls from before have ended, and 600 s (store.late) \
have passed. Before its end it can be cancelled.
""", plan)
        self.assertIsNone(status(first, "t"))
        self.turn(ON)
        for gateway in self.gateways:
            found = wait_for(gateway, "t", lambda found: found.version == "stamped-old", "stamped-old")
            self.assertEqual((found.path, found.next_commands), ("primary", "cancel"), found)
            data = gateway.data()
            failure = self.refuse(Code.UNAVAILABLE, "its setting atomics are being changed", data.increment, "t", record(id="x", ts=1), {"n": 1},
                                  Options(deadline_ms=300))
            self.assertGreater(failure.retry_after_ms, 0)
            data.put("t", record(id=f"of {gateway.address[-5:]}", ts=1, n=1), None)
            data.close()
        self.assertEqual(len(self.control_cells()), 2)
        wait_for(first, "t", lambda found: "(store.late)" in found.phase, "the grace")
        self.assertIn("increments and conditional writes become allowed or forbidden; they wait", keyway(first, "change", "status", "t")[0])
        self.assertEqual([(one["path"], one["version"]) for one in json_lines(keyway(first, "change", "list", "-o", "jsonl")[0])],
                         [("primary", "stamped-old")])
        self.refuse(Code.REFUSED, "only cancel is possible", order, first, "t", "pause")
        self.refuse(Code.REFUSED, "a change of its setting atomics is under way", apply, first, self.text(ON, SALTED), only_writer=True)
        self.refuse(Code.REFUSED, "a change of its setting atomics is under way", apply, first, self.text(OFF))
        self.gateways[1].restart()
        wait_until(lambda: self.gateways[1].get("/readyz")[0] == 200, "the gateway to serve")
        self.assertEqual(status(self.gateways[1], "t").version, "stamped-old")
        keyway(self.gateways[1], "change", "cancel", "t")
        self.wait_until_all_ended()
        self.assertEqual(call(first, "policyVersion", 0).text, self.text(STAMP))
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: gateway.metric("keyway_policy_version") == 3, "version 3")
            self.refuse(Code.INVALID, "needs atomics: true", self.increment, gateway)
        self.assertEqual([self.turn(ON).refused, status(first, "t").version], [False, "stamped-old"])

    def test_refused(self):
        first = self.start(1, order_of_writes=STAMP, rows=3, late="")
        self.refuse(Code.REFUSED, "atomics: true can be set while the table is served, but store.late is not set", self.turn, ON)
        self.open(1)
        self.refuse(Code.REFUSED, "changes key rules or paths of the table", apply, self.gateways[1], self.text(ON, SALTED), only_writer=True)
        self.refuse(Code.REFUSED, "changes key rules or paths of the table", apply, self.gateways[1],
                    self.text(ON, paths=f"    paths:\n      by_time: {{key: {BY_TIME}}}\n"), only_writer=True)
        self.assertEqual([status(each, "t") for each in self.gateways], [None, None])
        first.stop()
        self.gateways[1].stop()
        text = self.settings(2).replace("policy: {{source: store}}\n", "") + self.text(ON).replace("{", "{{").replace("}", "}}")
        with Gateway(text, expect_start=False) as gateway:
            gateway.wait_for_log("restore the old value, or change it while the table is in use: set policy.source: store")


if __name__ == "__main__":
    unittest.main(verbosity=2)
