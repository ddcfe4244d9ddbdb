"""A well-behaved caller: it makes small gets and puts one after another, while other callers attack the gateway.

    with WellBehaved(gateway) as caller:
        caller.serve(2)               # seconds
        alone = caller.mark()         # what happened since the last mark
        ...
        during = caller.mark()
        during.busy_share, during.quantile(.99)

Attackers should run in processes of their own, because the threads of one Python process delay each other.
"""
import threading
import time

from keyway_gateway import record


class Served:
    """The calls of a period: latencies in seconds of those that were carried out, and how many got BUSY."""

    def __init__(self, latencies, busy):
        self.latencies, self.busy = sorted(latencies), busy

    @property
    def busy_share(self):
        return self.busy / max(1, self.busy + len(self.latencies))

    def quantile(self, share):
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * share))]

    def __str__(self):
        if not self.latencies:
            return f"0 calls, {self.busy} BUSY"
        return (f"{len(self.latencies)} calls, p50 {self.quantile(.5) * 1e3:.2f} ms, p99 {self.quantile(.99) * 1e3:.2f} ms, "
                f"{self.busy} BUSY ({self.busy_share:.1%})")


class WellBehaved(threading.Thread):
    """A get of an existing record and a put, each after a pause. A failure other than BUSY is raised by mark."""

    def __init__(self, gateway, table="events", pause_s=0.001):
        super().__init__(daemon=True)
        self.gateway, self.table, self.pause_s = gateway, table, pause_s
        self.lock, self.latencies, self.busy = threading.Lock(), [], 0
        self.over, self.failure = False, None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        self.over = True
        self.join()

    def call(self, call):
        from keyway_thrift.ttypes import Code, KeywayError
        began = time.monotonic()
        try:
            call()
            took = time.monotonic() - began
            with self.lock:
                self.latencies.append(took)
        except KeywayError as error:
            if error.code != Code.BUSY:
                raise
            with self.lock:
                self.busy += 1

    def run(self):
        try:
            data = self.gateway.data()
            mine, key = record(id="well-behaved", ts=5, note="hello"), record(id="well-behaved", ts=5)
            data.put(self.table, mine, None)
            while not self.over:
                self.call(lambda: data.put(self.table, mine, None))
                self.call(lambda: data.get(self.table, key, None, None))
                time.sleep(self.pause_s)
            data.close()
        except BaseException as error:  # pylint: disable=broad-except
            self.failure = error

    def mark(self):
        """What happened since the last mark."""
        if self.failure:
            raise self.failure
        with self.lock:
            found = Served(self.latencies, self.busy)
            self.latencies, self.busy = [], 0
        return found

    def serve(self, seconds):
        """Lets it work for some seconds; returns what happened in this time."""
        self.mark()
        time.sleep(seconds)
        return self.mark()


class Peak(threading.Thread):
    """The largest resident size while this thread runs."""

    def __init__(self, gateway):
        super().__init__(daemon=True)
        self.gateway, self.bytes, self.over = gateway, 0, False
        self.start()

    def run(self):
        while not self.over:
            self.bytes = max(self.bytes, self.gateway.resident_bytes())
            time.sleep(0.02)

    def stop(self):
        self.over = True
        self.join()
        return self.bytes
