"""A well-behaved caller beside the hostile ones, and what the process uses meanwhile."""
import contextlib
import multiprocessing
import os
import time

from keyway_gateway import record
from keyway_thrift.ttypes import Code, KeywayError
from thrift.transport.TTransport import TTransportException

MEMORY = ("frames", "calls", "rows", "prefetched", "replies", "store")  # gauges of the memory held for callers
PROBES = 4  # connections, so that each event loop has one of them
PAUSE_S = 0.005


class Probe:
    """A process that gets a small record again and again, so that the callers of this process do not delay it."""

    def __init__(self, gateway):
        self.ours, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=probe, args=(gateway, theirs), daemon=True)
        self.process.start()

    def seen(self):
        """What happened since the last call."""
        self.ours.send("what was seen")
        return self.ours.recv()

    def stop(self):
        self.process.kill()
        self.process.join()


class Seen:
    """worst: the greatest latency in seconds. busy: how many of the calls were answered with BUSY."""

    def __init__(self):
        self.worst, self.calls, self.busy, self.failures = 0.0, 0, 0, []

    def get(self, client, key):
        began = time.monotonic()
        try:
            client.get("events", key, None, None)
        except KeywayError as error:
            self.busy += error.code == Code.BUSY
            if error.code != Code.BUSY:
                self.failures.append(error.message)
        self.calls += 1
        self.worst = max(self.worst, time.monotonic() - began)


def probe(gateway, pipe):
    clients, seen, key = [], Seen(), record(id="id000001", ts=1)
    while True:
        while pipe.poll():
            pipe.recv()
            pipe.send(seen)
            seen = Seen()
        try:
            clients = clients or [gateway.data() for _ in range(PROBES)]
            for client in clients:
                seen.get(client, key)
        except (OSError, EOFError, TTransportException) as error:
            seen.failures.append(repr(error))
            clients = []
            time.sleep(0.2)
        time.sleep(PAUSE_S)


class Process:
    """The resident size and the CPU time of a gateway."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.pid = gateway.process.pid

    def reset_peak(self):
        with open(f"/proc/{self.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    def peak_bytes(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

    def loop_seconds(self):
        """CPU time of each event loop."""
        found = []
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(OSError):
                with open(f"/proc/{self.pid}/task/{task}/comm", encoding="ascii") as name:
                    if not name.read().startswith("loop-"):
                        continue
                with open(f"/proc/{self.pid}/task/{task}/schedstat", encoding="ascii") as file:
                    found.append(int(file.read().split()[0]) / 1e9)
        return found

    def held_bytes(self):
        """The memory that is held for callers, as the gateway counts it, and the number of its calls in flight."""
        text = self.gateway.get("/metrics")[1]
        found = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("keyway_") and "{" not in line)
        return sum(float(found[f"keyway_memory_{name}"]) for name in MEMORY), float(found["keyway_calls_in_flight"])
