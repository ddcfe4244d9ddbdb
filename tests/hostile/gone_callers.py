"""Callers that close the connection before their replies. Their reads do not start any more, and those that run stop, so that
they cost other callers neither memory nor time. Their writes are carried out."""
import socket
import time
import unittest

from keyway_gateway import (POLICY, Gateway, call_message, is_sanitized, plain, receive_frame, record, reply_head, reply_result,
                            value, wait_until)
from keyway_thrift import Data
from keyway_thrift.ttypes import Code, KeywayError, Query
from well_behaved import WellBehaved

MIB = 1024 * 1024
LIMIT = 256 * MIB
WRITE_BUFFERS = 64 * MIB  # of the embedded store; not part of limits.memory
WIDE = POLICY + """\
  wide:
    fields:
      id: {{type: string, max_bytes: 4000}}
      a: int
      b: int
      c: int
    key: [{{field: id}}, {{field: a}}, {{field: b}}, {{field: c}}]
limits: {{memory: 256MiB}}
"""
LONG = POLICY + "timeouts: {{call: 10min}}\n"
SLOW = r"^(a+)\1+\1+$"  # takes a second on a record of this test; there are 300
STALLED = 5 if not is_sanitized() else 60  # seconds; a call that once took 50 s now takes a fraction of a second


def many_point_reads():
    """2 kB that stand for 10,000 point reads with keys of 400 bytes."""
    numbers = [[value(i) for i in range(count)] for count in (10, 10, 100)]
    query = Query(table="wide", bound=record(id="x" * 400), bound_any=dict(zip("abc", numbers)))
    return call_message(Data.scan_args(query=query))


def slow_scan(sequence=1):
    query = Query(table="events", bound=record(id="slow"), filter=f"ValueFilter(=, 'regexstring:{SLOW}')", limit=10)
    return call_message(Data.scan_args(query=query), sequence)


def put(number, sequence=1):
    return call_message(Data.put_args(table="events", record=record(id="kept", ts=number)), sequence)


class Starts(unittest.TestCase):
    """Pipelined scans that are cheap to send and expensive to start."""

    def attack(self, connections, calls):
        with Gateway(WIDE) as gateway, WellBehaved(gateway) as caller:
            caller.serve(1)
            gateway.reset_peak()
            for _ in range(connections):
                with gateway.connect() as connection:
                    connection.sendall(many_point_reads() * calls)
            served = caller.serve(4)
            wait_until(lambda: gateway.metric("keyway_calls_in_flight") <= 1, "the calls of the closed connections to end")
            most = gateway.peak_resident_bytes()
            served_after = caller.serve(1)
            print(f"at most {most // MIB} MiB; during: {served}; after: {served_after}")
            self.assertTrue(served.latencies and served_after.latencies)
            self.assertLess(served.quantile(1), STALLED)
            self.assertLess(served_after.busy_share, 0.01)
            if not is_sanitized():
                self.assertLess(most, LIMIT * 1.15 + WRITE_BUFFERS)

    def test_one_connection(self):
        self.attack(1, 120)

    def test_sixteen_connections(self):
        self.attack(16, 128)


class Stops(unittest.TestCase):
    """Reads that run when their callers close the connection."""

    def fill(self, gateway):
        data = gateway.data()
        data.putMany("events", [record(id="slow", ts=i, blob=b"a" * 5000 + b"c") for i in range(300)], None)
        data.close()

    def is_at_rest(self, gateway):
        before = gateway.cpu_seconds()
        time.sleep(1)
        return gateway.cpu_seconds() - before < 0.1

    def test_an_ordinary_close(self):
        """As many calls as one connection can have, so the gateway does not read from it when it is closed."""
        with Gateway(LONG) as gateway:
            self.fill(gateway)
            with gateway.connect() as connection:
                connection.sendall(slow_scan() * 128)
                wait_until(lambda: gateway.metric("keyway_calls_in_flight") == 128, "the scans to begin")
            wait_until(lambda: gateway.metric("keyway_calls_in_flight") == 0, "the calls to end", 30)
            wait_until(lambda: gateway.metric("keyway_connections_open") == 0, "the connections to close", 30)
            wait_until(lambda: self.is_at_rest(gateway), "the work to end", 30)
            self.assertLess(gateway.metric("keyway_memory_rows"), MIB)
            self.assertEqual(gateway.metric("keyway_calls_abandoned_total"), 128)

    def test_a_half_close(self):
        """The gateway cannot tell it from a close. So reads are answered with an error that says why; writes are carried out.
        The replies have the order of the calls."""
        with Gateway(LONG) as gateway:
            self.fill(gateway)
            with gateway.connect() as connection:
                connection.sendall(slow_scan(0) + put(1, 1) + slow_scan(2) + put(3, 3))
                wait_until(lambda: gateway.metric("keyway_calls_in_flight") == 2, "the scans to begin and the puts to end")
                connection.shutdown(socket.SHUT_WR)
                replies = [receive_frame(connection) for _ in range(4)]
                self.assertIsNone(receive_frame(connection))
            self.assertEqual([reply_head(reply)[2] for reply in replies], [0, 1, 2, 3])
            for read in (0, 2):
                with self.assertRaises(KeywayError) as caught:
                    reply_result(Data.Client, replies[read])
                self.assertEqual(caught.exception.code, Code.UNAVAILABLE)
                self.assertFalse(caught.exception.maybe_applied)
                self.assertIn("closed its side of the connection", caught.exception.message)
            data = gateway.data()
            for number in (1, 3):
                reply_result(Data.Client, replies[number])
                found = data.get("events", record(id="kept", ts=number), None, None)
                self.assertEqual(plain(found.record)["ts"], number)
            data.close()

    def test_calls_that_are_read_after_the_close(self):
        """More calls than a connection can have in flight."""
        with Gateway(LONG) as gateway:
            self.fill(gateway)
            with gateway.connect() as connection:
                connection.sendall(slow_scan() * 128 + b"".join(put(i, i) + slow_scan(i) for i in range(50)))
                wait_until(lambda: gateway.metric("keyway_calls_in_flight") == 128, "the first scans to begin")
            wait_until(lambda: gateway.metric("keyway_connections_open") == 0, "the connection to close", 30)
            data = gateway.data()
            for number in range(50):
                found = data.get("events", record(id="kept", ts=number), None, None)
                self.assertEqual(plain(found.record)["ts"], number)
            data.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
