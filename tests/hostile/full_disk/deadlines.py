"""A disk with slow syncs: calls are answered at their deadlines, not when the disk has finished, and the reply to such a
write says that it may have been applied.

The disk is simulated by disk.c, which is preloaded into keywayd (KW_DISK_LIBRARY).
"""
import concurrent.futures
import os
import time
import unittest

from failing_disk import NOTHING, SLOW_SYNCS, DiskCase
from keyway_gateway import plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Options, Outcome

SYNC_MS = 20000
DEADLINE_MS = 100


class Deadlines(DiskCase):
    def late(self, call):
        """Milliseconds between the deadline and the reply, which is an error."""
        data = self.gateway.data()
        began = time.monotonic()
        try:
            call(data)
        finally:
            late = (time.monotonic() - began) * 1000 - DEADLINE_MS
            data.close()
        return late

    def put(self, number):
        def call(data):
            with self.assertRaises(KeywayError) as caught:
                data.put("events", record(id="a", ts=number), Options(deadline_ms=DEADLINE_MS))
            self.assertEqual(caught.exception.code, Code.TIMEOUT)
            self.assertTrue(caught.exception.maybe_applied)
        return self.late(call)

    def put_many(self, number):
        def call(data):
            written = data.putMany("events", [record(id="b", ts=number + i) for i in range(3)], Options(deadline_ms=DEADLINE_MS))
            self.assertEqual([one.outcome for one in written], [Outcome.UNKNOWN] * 3)
            self.assertEqual({one.failure.code for one in written}, {Code.TIMEOUT})
        return self.late(call)

    def read(self, data, id, number):
        found = data.get("events", record(id=id, ts=number), None, None).record
        return plain(found) if found else None

    def test_writes(self):
        data = self.gateway.data()
        data.put("events", record(id="a", ts=0), None)
        self.disk.fail(SLOW_SYNCS, SYNC_MS)
        with concurrent.futures.ThreadPoolExecutor(21) as pool:
            patient = pool.submit(data.put, "events", record(id="patient", ts=0), Options(deadline_ms=10 * SYNC_MS))
            late = sorted(list(pool.map(self.put, range(1, 16))) + list(pool.map(self.put_many, range(100, 150, 10))))
        print(f"replies after the deadline: p50 {late[len(late) // 2]:.1f} ms, at most {late[-1]:.1f} ms")
        self.assertGreaterEqual(late[0], 0)
        self.assertLess(late[-1], SYNC_MS / 2)
        if os.environ.get("KW_CHECK_LATENCIES") == "1":
            self.assertLess(late[-1], 20)
        self.disk.fail(NOTHING)
        # the gateway keeps running; the write with a long deadline exists, those that timed out exist whole or not at all
        wait_until(lambda: self.gateway.metric("keyway_calls_in_flight") == 0, "the calls to end")
        self.assertIsNone(patient.exception())
        data.put("events", record(id="a", ts=20), None)
        for id, number in [("a", 0), ("a", 20), ("patient", 0)]:
            self.assertEqual(self.read(data, id, number), {"id": id, "ts": number})
        for id, number in [("a", n) for n in range(1, 16)] + [("b", n + i) for n in range(100, 150, 10) for i in range(3)]:
            self.assertIn(self.read(data, id, number), [None, {"id": id, "ts": number}])
        data.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
