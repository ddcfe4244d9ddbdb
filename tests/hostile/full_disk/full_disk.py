"""A full disk. A write that was certainly not applied is answered as FAILED, so that its caller can repeat it; only a write
whose log could not be synced is UNKNOWN. Reads continue, writes continue after space is free again, and after kill -9 the
store contains exactly the acknowledged writes.

The disk is simulated by disk.c, which is preloaded into keywayd (KW_DISK_LIBRARY).
"""
import signal
import unittest

from failing_disk import NOTHING, SYNCS, WRITES, DiskCase
from keyway_gateway import PATIENCE, plain, record, value, wait_until
from keyway_thrift.ttypes import Code, CompareOp, Condition, Durability, KeywayError, Options, Outcome, Query


class FullDisk(DiskCase):
    def setUp(self):
        super().setUp()
        self.data = self.gateway.data()
        self.next = 0
        self.acknowledged = set()
        self.unknown = set()

    def tearDown(self):
        self.data.close()
        super().tearDown()

    def put(self, size=10, options=None):
        """Puts a record; returns OK, FAILED or UNKNOWN."""
        number = self.next
        self.next += 1
        try:
            self.data.put("events", record(id="a", ts=number, note="x" * size), options)
        except KeywayError as error:
            self.assertEqual(error.code, Code.UNAVAILABLE)
            if error.maybe_applied:
                self.unknown.add(number)
            return "UNKNOWN" if error.maybe_applied else "FAILED"
        self.acknowledged.add(number)
        return "OK"

    def stored(self):
        return {plain(row)["ts"] for row in self.data.scan(Query(table="events", bound=record(id="a"), page_rows=10000)).rows}

    def check_stored(self):
        found = self.stored()
        self.assertLessEqual(self.acknowledged, found)
        self.assertLessEqual(found, self.acknowledged | self.unknown, "a FAILED write was applied")

    def kill_and_start(self):
        self.data.close()
        self.gateway.process.send_signal(signal.SIGKILL)
        self.gateway.process.wait(PATIENCE)
        self.disk.fail(NOTHING)
        self.gateway.start()
        self.data = self.gateway.data()
        self.check_stored()
        self.acknowledged = self.stored()  # from now on, the unknown outcomes are known
        self.unknown = set()

    def test_writes_fail_for_certain(self):
        self.assertEqual(self.put(), "OK")
        for left in (0, 1, 5, 30, 100):
            with self.subTest(bytes_left=left):
                self.disk.fail(WRITES, left)
                self.assertEqual([self.put(size=200) for _ in range(3)], ["FAILED"] * 3)
                self.assertEqual(self.put(size=200, options=Options(durability=Durability.ASYNC_WAL)), "FAILED")
                self.check_stored()
                self.disk.fail(NOTHING)
                wait_until(lambda: self.put() == "OK", "writes to succeed again")
                self.check_stored()
        self.kill_and_start()

    def test_every_kind_of_write(self):
        self.assertEqual(self.put(), "OK")
        self.data.put("events", record(id="n", ts=1, count=5), None)
        self.disk.fail(WRITES, 3)
        for result in self.data.putMany("events", [record(id="a", ts=1000 + i) for i in range(3)], None):
            self.assertEqual(result.outcome, Outcome.FAILED)
        for call in (lambda: self.data.remove("events", record(id="a", ts=0), None, None),
                     lambda: self.data.increment("events", record(id="n", ts=1), {"count": 1}, None),
                     lambda: self.data.putIf("events", record(id="n", ts=1, note="y"), Condition("count", CompareOp.EQUAL, value(5)), None)):
            with self.assertRaises(KeywayError) as caught:
                call()
            if caught.exception.code == Code.UNAVAILABLE:
                self.assertFalse(caught.exception.maybe_applied)
        self.check_stored()
        self.disk.fail(NOTHING)
        wait_until(lambda: self.put() == "OK", "writes to succeed again")
        self.assertEqual(plain(self.data.get("events", record(id="n", ts=1), None, None).record)["count"], 5)

    def test_killed_while_the_disk_is_full(self):
        """The log ends inside the record that did not fit; the next start removes the incomplete record."""
        for left in (0, 3, 7, 20, 60):
            with self.subTest(bytes_left=left):
                self.assertEqual(self.put(), "OK")
                self.disk.fail(WRITES, left)
                self.assertEqual(self.put(size=300), "FAILED")
                self.kill_and_start()

    def test_killed_after_the_disk_was_full(self):
        """A log that ends inside a record, and a log that continues after such a record."""
        for left in (4, 90):
            with self.subTest(bytes_left=left):
                self.assertEqual(self.put(), "OK")
                self.disk.fail(WRITES, left)
                self.assertEqual(self.put(size=300), "FAILED")
                self.disk.fail(NOTHING)
                wait_until(lambda: self.put() == "OK", "writes to succeed again")
                self.kill_and_start()

    def test_ready_again_without_a_write(self):
        """A load balancer sends no writes to a gateway that is not ready, so no write can show that the disk works again."""
        for left in (0, 30):
            with self.subTest(bytes_left=left):
                self.assertEqual(self.put(), "OK")
                self.disk.fail(WRITES, left)
                self.assertEqual(self.put(), "FAILED")
                self.assertEqual(self.gateway.get("/readyz")[0], 503)
                self.disk.fail(NOTHING)
                wait_until(lambda: self.gateway.get("/readyz")[0] == 200, "the gateway to be ready again")
                self.assertEqual(self.put(), "OK")
                self.kill_and_start()

    def test_a_log_that_cannot_be_synced(self):
        self.assertEqual(self.put(), "OK")
        self.disk.fail(SYNCS)
        self.assertEqual(self.put(), "UNKNOWN")
        self.assertEqual([self.put() for _ in range(3)], ["FAILED"] * 3, "the store rejects these writes at once")
        self.disk.fail(NOTHING)
        status, body = self.gateway.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("restart keywayd", str(body))
        self.kill_and_start()
        self.assertEqual(self.put(), "OK")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
