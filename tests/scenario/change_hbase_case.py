"""Gateways over one HBase whose table gets another key rule, and a load whose every answer is checked, for the tests in
change_hbase.py, change_faults.py and change_holder.py. The arguments of these programs are

    sim|hbase GATEWAYS [TEST...]
"""
import itertools
import os
import sys
import time
import unittest

import hbase_places
from change_case import HASHED, ORDERS, SALTED, SEED
from changing import Load, apply, expect_records, keyway, order, put_all, status, wait_for
from keyway_gateway import Gateway, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "sim"
GATEWAYS = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 1
LATE = f"  late: {2000 if STORE == 'hbase' else 1000}ms\n"  # a real HBase can be slow
ROWS = 600
# Each test runs once on the simulated HBase, and the most different ones on a real one.
ONE = unittest.skipUnless(GATEWAYS == 1, "needs one gateway")
SEVERAL = unittest.skipUnless(GATEWAYS > 1, "needs several gateways")
ONCE = unittest.skipIf(GATEWAYS > 1 and STORE == "sim", "runs on the simulated HBase with one gateway, and on a real one with several")
SIMULATED = unittest.skipUnless(GATEWAYS > 1 and STORE == "sim", "needs several gateways on the simulated HBase")


class Gateways:
    """Opens each new connection to the next one of the gateways."""

    def __init__(self, gateways):
        self.all = gateways
        self.next = itertools.count()

    def data(self):
        return self.all[next(self.next) % len(self.all)].data()


class HBaseLoad(Load):
    """Atomic operations wait at some places of a change, and are rejected with order: stamp and without atomics: true."""

    def __init__(self, gateways, stable, seed, atomic, records=60):
        super().__init__(Gateways(gateways), "t", stable, seed, ORDERS, records=records)
        self.atomic = atomic
        self.tolerant = True
        self.harmed = False  # gateways are killed or answers are lost
        self.counts["held"] = self.counts["atomic"] = 0
        self.longest = 0.0  # of an atomic operation, in seconds

    def write_atomically(self, data, chance, key, named, state):
        known = self.known[key]
        if not self.atomic:
            self.write_plainly(data, chance, key, named, state)
            return
        began = time.monotonic()
        try:
            super().write_atomically(data, chance, key, named, state)
            self.counts["atomic"] += 1
            self.longest = max(self.longest, time.monotonic() - began)
        except KeywayError as failure:
            if failure.code != Code.UNAVAILABLE or "place of the change allows no" not in failure.message:
                raise
            assert failure.retry_after_ms > 0, failure
            self.counts["held"] += 1
            known.withdraw()

    def wait_for_atomics(self):
        """Atomic operations are executed now."""
        before = self.counts["atomic"]
        if self.atomic:
            wait_until(lambda: self.failures or self.counts["atomic"] > before + 5, "atomic operations")

    def is_of_restart(self, failure):
        """On a busy machine, HBase's clock can be unknown for more than a second."""
        if self.harmed:
            return Load.is_of_restart(failure) or failure.code == Code.TIMEOUT
        return isinstance(failure, KeywayError) and failure.code == Code.UNAVAILABLE and "store's clock" in failure.message


class HBaseCase(unittest.TestCase):
    """Gateways over one HBase, with a table t whose rows were written."""

    @classmethod
    def setUpClass(cls):
        cls.place = hbase_places.place(STORE)

    @classmethod
    def tearDownClass(cls):
        cls.place.stop()

    def setUp(self):
        self.name = f"change_{os.getpid()}_{time.time_ns()}"
        self.gateways = []
        self.stable = {}

    # --- gateways -------------------------------------------------------------------------------------

    def settings(self, number, late=LATE):
        text = (f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\ngateway_id: {self.name}_{number}\n"
                f"policy: {{source: store}}\n{self.place.store(self.name, late)}")
        return text.replace("{", "{{").replace("}", "}}")

    def start(self, count=GATEWAYS, order_of_writes="", rows=ROWS, late=LATE):
        """Starts gateways with version 1, and writes records that stay as they are."""
        self.order_of_writes = order_of_writes
        first = self.open(0, late)
        apply(first, self.policy(HASHED), 0)
        for number in range(1, count):
            self.open(number, late)
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        self.stable = {(f"r{i // 3:06}", i % 3): {"note": f"note {i}", "n": i} for i in range(rows)}
        put_all(first, "t", [record(id=name, ts=ts, **state) for (name, ts), state in self.stable.items()])
        return first

    def open(self, number, late=LATE):
        gateway = Gateway(self.settings(number, late))
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        self.gateways.append(gateway)
        return gateway

    def policy(self, key, field=""):
        fields = f"    fields: {{id: {{type: string, max_bytes: 20}}, ts: timestamp, note: string, n: {{type: int, counter: true}}{field}}}\n"
        return f"tables:\n  t:\n    store_table: {self.name}\n{self.order_of_writes}{fields}    key: {key}\n"

    def begin(self, key=SALTED, gateway=None, **options):
        return apply(gateway or self.gateways[0], self.policy(key), only_writer=True, **options)

    def load(self, **options):
        return HBaseLoad(self.gateways, self.stable, SEED, atomic="stamp" not in self.order_of_writes or "atomics" in self.order_of_writes,
                         **options)

    def wait_for_version(self, *versions, gateway=None):
        """Waits until the change has one of these places."""
        return wait_for(gateway or self.gateways[0], "t", lambda found: found.version in versions, f"version {versions}")

    def lead(self, action, version, gateway=None, **options):
        """Orders a step, and waits for the place to which it leads."""
        problem = None
        try:
            order(gateway or self.gateways[0], "t", action, **options)
        except KeywayError as failure:
            problem = failure.message
        if problem:
            found = keyway(self.gateways[0], "change", "diff", "t", "-o", "jsonl", code=None)
            self.fail(f"{action}: {problem}\n{status(self.gateways[0], 't')}\n{found}")
        return self.wait_for_version(version)

    def expect_all(self, states, uncertain=(), gateway=None):
        """The table has exactly these records, by get and by scan."""
        expect_records(self, gateway or self.gateways[-1], states, uncertain)

    def refuse(self, code, part, do, *arguments, **options):
        with self.assertRaises(KeywayError) as caught:
            do(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(part, caught.exception.message)
        return caught.exception
