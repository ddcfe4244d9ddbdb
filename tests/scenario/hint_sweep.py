"""Stale hints that no query meets are deleted: by `scrub --repair`, and by the sweep of one of several gateways.

The stale hints are written directly, with old timestamps.
"""
import time
import unittest

import hbase_places
from changing import apply, keyway, put_all
from keyway_gateway import Gateway, record, wait_until
from keyway_hbase_thrift.ttypes import TColumnValue, TPut

HINTS = b"orders_by_state"
GATEWAYS = 3
ROWS = 500  # more than one slice
AGE_MS = 300_000  # of the hints: they can be deleted
KEEP_SECONDS = 3  # hints.keep and the differences of clocks
SWEEP_SECONDS = 200  # a sweep begins 60 to 120 s after the start of its gateway
POLICY = """\
tables:
  orders:
    fields: {no: {type: string, max_bytes: 20}, state: string}
    key: [{field: no}]
    paths: {by_state: {key: [{field: state}, {field: no}]}}
"""


class HintSweep(unittest.TestCase):
    def setUp(self):
        self.place = hbase_places.Simulated()
        self.addCleanup(self.place.stop)

    def open(self, number):
        text = (f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 1\ngateway_id: gateway_{number}\npolicy: {{source: store}}\n"
                f"hints: {{keep: 1s}}\n{self.place.store('sweep', '  late: 500ms' + chr(10))}")
        gateway = Gateway(text.replace("{", "{{").replace("}", "}}"))
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        return gateway

    def start(self, count):
        """Gateways over a table with a stale hint for each record."""
        gateways = [self.open(number) for number in range(count)]
        apply(gateways[0], POLICY, 0)
        for gateway in gateways:
            wait_until(lambda gateway=gateway: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        put_all(gateways[0], "orders", [record(no=f"o{i:04}", state="paid") for i in range(ROWS)])
        old = [TColumnValue(b"d", b"", b"", round(time.time() * 1000) - AGE_MS)]
        with self.place.client() as client:
            client.putMultiple(HINTS, [TPut(f"new\0o{i:04}".encode(), old) for i in range(ROWS)])
        self.assertEqual(len(self.hints()), 2 * ROWS)
        time.sleep(KEEP_SECONDS)
        return gateways

    def hints(self):
        return self.place.rows(HINTS.decode())[HINTS.decode()]

    def expect_clean(self):
        self.assertEqual(sorted(self.hints()), [b"paid\0" + f"o{i:04}".encode() for i in range(ROWS)])

    def first(self):
        """The id of the gateway whose registration has the first name."""
        rows = self.place.rows("sweep_catalog")["sweep_catalog"]
        names = sorted(row for row in rows if row.startswith(b"=gateway/"))
        self.assertEqual(len(names), GATEWAYS)
        return next(value for column, _, value in rows[names[0]] if column == b"d:id").decode()

    def test_scrub(self):
        """A gateway with order: store knows the time only while something waits for it."""
        gateway = self.start(1)[0]
        keyway(gateway, "scrub", "orders", "--repair")
        self.expect_clean()

    def test_sweep(self):
        gateways = self.start(GATEWAYS)
        first = self.first()
        wait_until(lambda: len(self.hints()) == ROWS, "the sweep", SWEEP_SECONDS)
        self.expect_clean()
        wait_until(lambda: sum(gateway.metric("keyway_hints_cleaned_total") for gateway in gateways) == ROWS, "the metrics")
        for number, gateway in enumerate(gateways):
            expected = ROWS if first == f"gateway_{number}" else 0
            self.assertEqual(gateway.metric("keyway_hints_cleaned_total"), expected, f"gateway_{number}, the first one is {first}")


if __name__ == "__main__":
    unittest.main()
