"""SIGTERM while many callers work: each call that the gateway has read is answered, even if only with the error that it is shutting down."""
import signal
import threading
import time
import unittest

from keyway_gateway import (POLICY, REPLY, Gateway, binary_message, call_message, framed, is_sanitized, receive_frame, record,
                            reply_head, reply_result, wait_until)
from keyway_thrift import Data
from keyway_thrift.ttypes import Code, KeywayError, Query

CALLERS = 16
ROUNDS = 4
# During a drain the gateway stops reading from a connection that sent nothing for 100 ms. On a busy machine a caller can
# send its next call later than that; with a sanitizer this is common.
SILENCE = 0.08


class Caller(threading.Thread):
    """Keeps calls in flight until a reply says that the gateway shuts down, then waits for the remaining replies."""

    def __init__(self, gateway, pipelined):
        super().__init__()
        self.connection = gateway.connect()
        self.pipelined = pipelined
        self.sent = self.answered = 0
        self.problem = None
        self.silence, self.sent_at = 0, time.monotonic()
        self.start()

    def send(self):
        """False if the gateway has closed the connection, so it does not read this call."""
        now = time.monotonic()
        self.silence, self.sent_at = max(self.silence, now - self.sent_at), now
        try:
            self.connection.sendall(framed(binary_message("stats", sequence=self.sent)))
        except (BrokenPipeError, ConnectionResetError):
            return False
        self.sent += 1
        return True

    def run(self):
        try:
            self.work()
        except (AssertionError, OSError) as problem:
            self.problem = problem

    def work(self):
        goes_on = True
        for _ in range(self.pipelined):
            self.send()
        while (payload := receive_frame(self.connection)) is not None:
            kind, _, sequence, body = reply_head(payload)
            assert (kind, sequence) == (REPLY, self.answered), (kind, sequence, self.answered)
            self.answered += 1
            goes_on = goes_on and b"shutting down" not in body
            goes_on = goes_on and self.send()


class End(unittest.TestCase):
    def check(self, pipelined):
        with Gateway(POLICY) as gateway:
            for _ in range(ROUNDS):
                callers = [Caller(gateway, pipelined) for _ in range(CALLERS)]
                wait_until(lambda: all(caller.answered > 50 for caller in callers), "the callers to work")
                gateway.stop(signal.SIGTERM)
                for caller in callers:
                    caller.join()
                    caller.connection.close()
                    self.assertIsNone(caller.problem)
                    excused = is_sanitized() or caller.silence > SILENCE
                    self.assertLessEqual(caller.sent - caller.answered, pipelined if excused else 0)
                gateway.start()

    def test_one_call_at_a_time(self):
        self.check(1)

    def test_pipelined_calls(self):
        self.check(8)


class Scans(unittest.TestCase):
    """SIGTERM while many callers have pipelined more scans of large pages than can end in the time of the drain."""

    def fill(self, gateway):
        data = gateway.data()
        for start in range(0, 1000, 100):
            data.putMany("events", [record(id=f"s{i:04}", ts=i, note="x" * 8000) for i in range(start, start + 100)], None)
        data.close()

    def end(self, connections, calls):
        """Returns the codes of the replies that each connection got; None stands for a page."""
        with Gateway(POLICY + "timeouts: {{drain: 1s}}\n") as gateway:
            self.fill(gateway)
            callers = [gateway.connect() for _ in range(connections)]
            for caller in callers:
                caller.sendall(b"".join(call_message(Data.scan_args(query=Query(table="events", full_scan=True)), i)
                                        for i in range(calls)))
            wait_until(lambda: gateway.metric("keyway_calls_started_total") == connections * calls + 10, "the calls to arrive")
            gateway.process.send_signal(signal.SIGTERM)
            return [self.codes(caller) for caller in callers]

    def codes(self, caller):
        found = []
        while (payload := receive_frame(caller)) is not None:
            self.assertEqual(reply_head(payload)[2], len(found))
            try:
                reply_result(Data.Client, payload)
                found.append(None)
            except KeywayError as error:
                found.append(error.code)
        caller.close()
        return found

    def test_queued_scans(self):
        for codes in self.end(60, 10):
            self.assertEqual(len(codes), 10)
            self.assertLessEqual(set(codes), {None, Code.UNAVAILABLE})

    def test_callers_that_read_nothing(self):
        """They delay the end by the time for the last replies."""
        with Gateway(POLICY + "timeouts: {{drain: 100ms}}\n") as gateway:
            self.fill(gateway)
            callers = [gateway.connect() for _ in range(20)]
            for caller in callers:
                caller.sendall(call_message(Data.scan_args(query=Query(table="events", full_scan=True))) * 10)
            wait_until(lambda: gateway.metric("keyway_memory_replies") > 1024 * 1024, "the first replies")
            began = time.monotonic()
            gateway.stop(signal.SIGTERM)
            self.assertLess(time.monotonic() - began, 30)
            for caller in callers:
                caller.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
