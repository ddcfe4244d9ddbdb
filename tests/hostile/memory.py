"""Callers that pipeline the largest scans and never read the replies. The memory stays below limits.memory plus 15 %, without
write buffers; a well-behaved caller is served at the same time; the memory is released after the attackers have closed.

With KW_CHECK_LATENCIES=1, compares latencies during the attack with latencies without it. This needs a release build on
an idle machine."""
import os
import time
import unittest

from keyway_gateway import POLICY, Gateway, call_message, is_sanitized, record, wait_until
from keyway_thrift import Data
from keyway_thrift.ttypes import Code, KeywayError, Query
from well_behaved import Peak

CALLERS = 50
CALLS_EACH = 128
MIB = 1024 * 1024
WRITE_BUFFERS = 64 * MIB  # of the embedded store; not part of limits.memory
STRICT = os.environ.get("KW_CHECK_LATENCIES") == "1"


def scan_message():
    return call_message(Data.scan_args(query=Query(table="events", full_scan=True)))


def percentile(latencies, share):
    return sorted(latencies)[min(len(latencies) - 1, int(len(latencies) * share))]


class Memory(unittest.TestCase):
    def fill(self, gateway, rows):
        with_note = "x" * 8000
        data = gateway.data()
        for start in range(0, rows, 100):
            data.putMany("events", [record(id=f"s{i % 100:04}", ts=i, note=with_note) for i in range(start, start + 100)], None)
        for start in range(0, 20000, 1000):
            data.putMany("events", [record(id=f"t{i % 100:04}", ts=i, note="x" * 20) for i in range(start, start + 1000)], None)
        return data

    def serve(self, data, seconds):
        """Makes calls one after another; returns the latencies, and how many calls were answered with BUSY."""
        latencies, busy = [], 0
        mine, key = record(id="good", ts=5, note="hello"), record(id="good", ts=5)
        query = Query(table="events", bound=record(id="t0001"), limit=20)
        calls = (lambda: data.put("events", mine, None), lambda: data.get("events", key, None, None), lambda: data.scan(query))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for call in calls:
                began = time.monotonic()
                try:
                    call()
                    latencies.append(time.monotonic() - began)
                except KeywayError as error:
                    self.assertEqual(error.code, Code.BUSY, error)
                    self.assertGreater(error.retry_after_ms, 0)
                    busy += 1
        return latencies, busy

    def attack(self, gateway):
        attackers = [gateway.connect() for _ in range(CALLERS)]
        for connection in attackers:
            connection.setblocking(False)
            try:
                connection.send(scan_message() * CALLS_EACH)
            except BlockingIOError:
                pass
        return attackers

    def check(self, policy, rows, budget):
        with Gateway(policy) as gateway:
            data = self.fill(gateway, rows)
            at_rest = gateway.resident_bytes()
            alone, _ = self.serve(data, 15 if STRICT else 2)
            peak = Peak(gateway)
            attackers = self.attack(gateway)
            during, busy = self.serve(data, 30 if STRICT else 12)
            most = peak.stop()
            for connection in attackers:
                connection.close()
            wait_until(lambda: gateway.metric("keyway_calls_in_flight") == 0, "the calls of closed connections to end")
            held = [f"keyway_memory_{what}" for what in ("frames", "calls", "rows", "prefetched", "replies", "store")]
            wait_until(lambda: sum(gateway.metric(name) for name in held) < MIB, "their memory to be released")
            print(f"at rest {at_rest // MIB} MiB, at most {most // MIB} MiB of {budget // MIB} MiB; alone n={len(alone)} "
                  f"p50={percentile(alone, .5) * 1e3:.2f} p99={percentile(alone, .99) * 1e3:.2f} ms; during n={len(during)} "
                  f"p50={percentile(during, .5) * 1e3:.2f} p99={percentile(during, .99) * 1e3:.2f} ms, {busy} busy")
            self.assertGreater(len(during), 10 * busy)
            if not is_sanitized():
                self.assertLess(most, budget * 1.15 + WRITE_BUFFERS)
                if budget < 1024 * MIB:  # with more, the process keeps some of it
                    wait_until(lambda: gateway.resident_bytes() < at_rest + 64 * MIB, "the memory to be returned to the system")
            if STRICT:
                self.assertLess(percentile(during, .99), 3 * percentile(alone, .99))
            data.close()

    def test_the_default_configuration(self):
        with Gateway(POLICY) as gateway:
            budget = int(gateway.metric("keyway_memory_limit"))
        self.assertGreater(budget, 0)
        self.check(POLICY, 2000, budget)

    def test_one_page_for_a_caller_that_does_not_read(self):
        """The gateway does not read the next page before the caller has read the first reply."""
        with Gateway(POLICY) as gateway:
            self.fill(gateway, 2000).close()
            connection = gateway.connect()
            connection.sendall(scan_message() * 8)
            wait_until(lambda: gateway.metric("keyway_memory_replies") > MIB, "the first reply")
            wait_until(lambda: gateway.metric("keyway_memory_calls") + gateway.metric("keyway_memory_rows") < MIB,
                       "no further reads")
            self.assertLess(gateway.metric("keyway_memory_replies"), 12 * MIB)
            connection.close()

    def test_a_small_budget(self):
        """A limit far below the memory that the calls would use."""
        budget = 256 * MIB
        self.check(POLICY + "limits: {{memory: 256MiB}}\n", 2000, budget)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
