"""Logging never blocks: with standard error (and standard output) on a full pipe without a reader, the gateway starts,
serves, and obeys SIGTERM. Lost lines are counted, and the count is logged when the pipe is read again."""
import contextlib
import fcntl
import os
import re
import signal
import socket
import subprocess
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, daemon, plain, record, wait_until
from keyway_thrift.ttypes import KeywayError

PROBLEMS = 100  # problems in a bad policy: a reload logs one line for each


class Stuck(Gateway):
    """A gateway whose standard error is a stream of the test; `both`: standard output is the same stream."""

    def __init__(self, stream, both=False):
        super().__init__(POLICY)
        self.stream = stream
        self.both = both

    def start(self):
        port_file = os.path.join(self.folder, "ports")
        out = self.stream if self.both else subprocess.DEVNULL
        self.process = subprocess.Popen([daemon(), "--port-file", port_file, "--config", self.policy_file], stdout=out,
                                        stderr=self.stream, cwd=self.folder)
        self.wait_for_ports(port_file)
        return self


def fill(writer):
    """Fills the stream; its blocking mode is the same afterwards."""
    flags = fcntl.fcntl(writer, fcntl.F_GETFL)
    fcntl.fcntl(writer, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"." * 4095 + b"\n")
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"\n")
    fcntl.fcntl(writer, fcntl.F_SETFL, flags)


class Pipe(unittest.TestCase):
    def setUp(self):
        self.reader, self.writer = os.pipe()
        self.text = b""

    def tearDown(self):
        os.close(self.reader)
        os.close(self.writer)

    def drain(self):
        """The text that has arrived so far."""
        os.set_blocking(self.reader, False)
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self.reader, 1 << 20):
                self.text += part
        return self.text.decode(errors="replace")

    def cause_lines(self, gateway):
        """Causes many log lines."""
        admin = gateway.admin()
        good = POLICY
        gateway.write_policy(good + "".join(f"nonsense_{i}: {'x' * 60}\n" for i in range(PROBLEMS)))
        with self.assertRaises(KeywayError):
            admin.reload()
        gateway.write_policy(good)
        admin.close()

    def serve_and_end(self, gateway):
        data = gateway.data()
        data.put("events", record(id="a", ts=1, note="x"), None)
        self.assertEqual(plain(data.get("events", record(id="a", ts=1), None, None).record)["note"], "x")
        data.close()
        while gateway.metric("keyway_log_lines_lost_total") == 0:
            self.cause_lines(gateway)
        self.assertEqual(gateway.get("/livez")[0], 200)
        data = gateway.data()
        self.assertEqual(plain(data.get("events", record(id="a", ts=1), None, None).record)["note"], "x")
        data.close()
        gateway.process.send_signal(signal.SIGTERM)
        self.assertEqual(gateway.wait_for_exit(), 0)

    def test_a_full_pipe(self):
        fill(self.writer)
        gateway = Stuck(self.writer)
        try:
            self.serve_and_end(gateway.start())
        finally:
            gateway.__exit__(None, None, None)

    def test_standard_output_too(self):
        fill(self.writer)
        gateway = Stuck(self.writer, both=True)
        try:
            self.serve_and_end(gateway.start())
        finally:
            gateway.__exit__(None, None, None)

    def test_a_full_socket(self):
        """journald's stream is a socket."""
        mine, its = socket.socketpair()
        with mine, its:
            fill(its.fileno())
            gateway = Stuck(its)
            try:
                self.serve_and_end(gateway.start())
            finally:
                gateway.__exit__(None, None, None)

    def test_lost_lines_are_reported(self):
        """Every line either arrives, whole and in order, or is counted."""
        gateway = Stuck(self.writer)
        try:
            gateway.start()
            wait_until(lambda: "serving" in self.drain(), "the first lines")
            rounds = 0
            while gateway.metric("keyway_log_lines_lost_total") == 0:
                self.cause_lines(gateway)
                rounds += 1
            lost = gateway.metric("keyway_log_lines_lost_total")
            wait_until(lambda: "lines were lost" in self.drain(), "the report of lost lines")
            self.cause_lines(gateway)
            wait_until(lambda: self.drain().count("policy refused") > 0 and self.drain().endswith("\n"), "the next lines")
            gateway.process.send_signal(signal.SIGTERM)
            self.assertEqual(gateway.wait_for_exit(), 0)
        finally:
            gateway.__exit__(None, None, None)
        lines = self.drain().splitlines()
        reported = sum(int(found) for found in re.findall(r"lines were lost[^\n]*count=(\d+)", "\n".join(lines)))
        events = ("policy problem", "policy refused", "call failed")
        problems = [line for line in lines if any(event in line for event in events)]
        self.assertTrue(all(line.startswith("time=") for line in lines), [line for line in lines if not line.startswith("time=")][:3])
        self.assertEqual(reported, lost)
        self.assertEqual(len(problems) + reported, (rounds + 1) * (PROBLEMS + 2))
        self.assertIn('event="ended"', lines[-1])

    def test_a_reader_that_has_exited(self):
        reader, writer = os.pipe()
        gateway = Stuck(writer)
        try:
            gateway.start()
            os.close(writer)
            os.close(reader)
            for _ in range(3):
                self.cause_lines(gateway)
            data = gateway.data()
            self.assertEqual(data.tables(), ["events"])
            data.close()
            gateway.process.send_signal(signal.SIGTERM)
            self.assertEqual(gateway.wait_for_exit(), 0)
        finally:
            gateway.__exit__(None, None, None)

    def test_no_error_stream_at_all(self):
        """No file of the store gets the descriptor number of standard error, because log lines would be written to it."""
        gateway = Gateway(POLICY)
        port_file = os.path.join(gateway.folder, "ports")
        gateway.process = subprocess.Popen(["sh", "-c", 'exec "$@" 2>&- >&-', "sh", daemon(), "--port-file", port_file, "--config",
                                            gateway.policy_file], cwd=gateway.folder)
        try:
            gateway.wait_for_ports(port_file)
            self.cause_lines(gateway)
            gateway.process.send_signal(signal.SIGTERM)
            self.assertEqual(gateway.wait_for_exit(PATIENCE), 0)
            for folder, _, names in os.walk(gateway.folder):
                for name in names:
                    with open(os.path.join(folder, name), "rb") as file:
                        self.assertFalse(b"level=info" in file.read(), f"the log was written into {name}")
        finally:
            gateway.__exit__(None, None, None)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
