"""A table whose key rule is changed, for the tests in change.py and change_orders.py."""
import contextlib
import os
import time
import unittest

import changing
from changing import apply, expect_records, hash_prefix, put_all, status
from keyway_gateway import Gateway, plain, record, wait_until
from keyway_thrift.ttypes import KeywayError

SLOW = 400  # rows per second of a copy that must not end soon
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


class ChangeCase(unittest.TestCase):
    """A gateway with the table t, and the table `reference` with another key rule."""
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
        expect_records(self, self.gateway, states, uncertain)

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

    def restart(self):
        self.gateway.start()
        wait_until(lambda: self.gateway.ready()["ready"], "the gateway to serve")
