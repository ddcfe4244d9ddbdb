"""SIGTERM while many callers work: each call that the gateway has read is answered, even if only with the error that it is shutting down."""
import signal
import threading
import time
import unittest

from keyway_gateway import POLICY, REPLY, Gateway, binary_message, framed, is_sanitized, receive_frame, reply_head, wait_until

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


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
