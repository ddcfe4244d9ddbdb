"""A filter delays only the caller that sent it. Its expressions are bounded, are compiled and matched on separate threads,
and keep deadlines; SIGTERM does not wait for them."""
import contextlib
import threading
import time
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, call_message, is_sanitized, plain, receive_frame, record
from keyway_thrift import Data
from keyway_thrift.ttypes import Code, KeywayError, Options, Query
from thrift.transport.TTransport import TTransportException

ONE_LOOP = POLICY.replace("loops: 2", "loops: 1")
ENDLESS = r"^(a+)\1+\1+$"  # takes hours on a megabyte
STALLED = 10  # seconds; a call that once took this long now takes milliseconds
CALLERS = 4
PIPELINED = 10  # filters of each connection


def regex(expression):
    return f"ValueFilter(=, 'regexstring:{expression}')"


GROUPS = "".join(f"(?<n{i}>a)" for i in range(18000))
# The largest accepted filter of the most expensive kind.
LARGEST = " OR ".join(regex("".join(f"(?<n{i}>)" for i in range(26))) for _ in range(60))


class Callers:
    """Callers that repeat the same call, each with its own connection."""

    def __init__(self, gateway, ask):
        self.gateway = gateway
        self.ask = ask
        self.over = threading.Event()
        self.codes = set()
        self.threads = [threading.Thread(target=self.run) for _ in range(CALLERS)]

    def run(self):
        data = self.gateway.data()
        with contextlib.suppress(TTransportException, OSError):
            while not self.over.is_set():
                try:
                    self.ask(data)
                except KeywayError as error:
                    self.codes.add(error.code)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()

    def join(self):
        """Returns after the gateway has exited, or after each caller has its reply."""
        self.over.set()
        for thread in self.threads:
            thread.join()


def slowest_get(gateway, count=4):
    """Seconds; the slowest of a few small gets by one caller."""
    data = gateway.data()
    data.put("events", record(id="good", ts=1), None)
    slowest = 0
    for _ in range(count):
        began = time.monotonic()
        found = data.get("events", record(id="good", ts=1), None, Options(deadline_ms=PATIENCE * 1000))
        slowest = max(slowest, time.monotonic() - began)
        assert plain(found.record)["ts"] == 1
    data.close()
    return slowest


def seconds(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began


def fill(gateway, rows, size):
    data = gateway.data()
    for i in range(rows):
        data.put("events", record(id="big", ts=i, blob=b"a" * (size - 1) + b"c"), None)
    data.close()


def scan(**more):
    return Query(table="events", bound=record(id="big"), deadline_ms=600000, **more)


class Compiling(unittest.TestCase):
    def attack(self, text):
        with Gateway(ONE_LOOP) as gateway:
            with Callers(gateway, lambda data: data.scan(scan(filter=text))) as callers:
                self.assertLess(slowest_get(gateway), STALLED)
            callers.join()
            return callers.codes

    def test_18000_groups(self):
        self.assertEqual(self.attack(regex(GROUPS)), {Code.LIMIT})

    def test_the_largest_accepted_filter(self):
        self.assertEqual(self.attack(LARGEST) - {Code.BUSY}, set())

    def test_pipelined_filters(self):
        """The filter of another caller is compiled before those that connections have pipelined."""
        message = call_message(Data.scan_args(query=scan(filter=LARGEST)))
        small = Query(table="events", bound=record(id="good"), filter=regex("a+b"), deadline_ms=PATIENCE * 1000)
        with Gateway(POLICY) as gateway, contextlib.ExitStack() as stack:
            data = stack.enter_context(contextlib.closing(gateway.data()))
            pipelines = [stack.enter_context(contextlib.closing(gateway.connect())) for _ in range(20)]
            began = time.monotonic()
            for pipeline in pipelines:
                pipeline.sendall(message * PIPELINED)
            own = [seconds(lambda: data.scan(small)) for _ in range(4)]
            for pipeline in pipelines:
                for _ in range(PIPELINED):
                    receive_frame(pipeline)
            self.assertLess(max(own), (time.monotonic() - began) / 4)

    def test_1000_gets_with_a_long_filter(self):
        """The ranges of a query share their filter: it is not parsed for each."""
        many = [record(x=i)["x"] for i in range(300 if is_sanitized() else 1000)]
        text = " OR ".join(f"ValueFilter(=, 'binary:{i:050}')" for i in range(1000))
        with Gateway(ONE_LOOP) as gateway:
            data = gateway.data()
            data.put("events", record(id="a", ts=7, note=f"{3:050}"), None)
            query = Query(table="events", bound=record(id="a"), bound_any={"ts": many}, filter=text,
                          deadline_ms=600000)
            with Callers(gateway, lambda other: other.scan(query)) as callers:
                self.assertLess(slowest_get(gateway), STALLED)
            callers.join()
            self.assertEqual(callers.codes, set())
            data.close()


class Matching(unittest.TestCase):
    def test_scans_block_no_reader_and_keep_deadlines(self):
        with Gateway(POLICY + "timeouts: {{drain: 2s}}\n") as gateway:
            fill(gateway, 30, 1000000)
            with Callers(gateway, lambda data: data.scan(scan(filter=regex(ENDLESS)))) as callers:
                data = gateway.data()
                page = data.scan(Query(table="events", bound=record(id="big"), columns=["ts"], deadline_ms=PATIENCE * 1000))
                self.assertTrue(page.rows)
                for deadline_ms in (1, 100, 500):
                    began = time.monotonic()
                    with self.assertRaises(KeywayError) as caught:
                        data.scan(Query(table="events", bound=record(id="big"), filter=regex(ENDLESS),
                                        deadline_ms=deadline_ms))
                    self.assertIn(caught.exception.code, (Code.TIMEOUT, Code.LIMIT))
                    self.assertLess(time.monotonic() - began, 2 * STALLED)
                data.close()
                began = time.monotonic()
                gateway.stop()
                self.assertLess(time.monotonic() - began, 2 * STALLED)
            callers.join()
            self.assertLessEqual(callers.codes, {Code.LIMIT, Code.TIMEOUT, Code.UNAVAILABLE, Code.BUSY})

    def test_rows_read_by_their_keys(self):
        """The loop itself reads rows of its store from memory, but does not apply a slow filter to them."""
        keys = [record(x=i)["x"] for i in range(4)]
        with Gateway(ONE_LOOP) as gateway:
            fill(gateway, 4, 300000)
            for expression in (ENDLESS,) if is_sanitized() else (ENDLESS, "(a*)*b"):
                query = scan(bound_any={"ts": keys}, filter=regex(expression))
                with Callers(gateway, lambda data, query=query: data.scan(query)) as callers:
                    self.assertLess(slowest_get(gateway), STALLED)
                callers.join()
                self.assertLessEqual(callers.codes, {Code.LIMIT, Code.TIMEOUT})

    def test_answers(self):
        """Filters within the limits still return the same rows."""
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            for i in range(20):
                data.put("events", record(id="a", ts=i, note=f"note-{i}-" + "x" * (100 * i)), None)
            for expression, wanted in (("^note-1[0-9]-x+$", range(10, 20)), ("^(?:note|nope)-7-", [7]), ("-3-", [3]),
                                       ("(x)\\1{1500}", range(16, 20)), ("^note-[^0-9]", [])):
                text = f"SingleColumnValueFilter('d', 'note', =, 'regexstring:{expression}')"
                for more in ({}, {"bound_any": {"ts": [record(x=i)["x"] for i in range(20)]}}):
                    rows = data.scan(Query(table="events", bound=record(id="a"), filter=text, **more)).rows
                    self.assertEqual(sorted(plain(row)["ts"] for row in rows), list(wanted), expression)
            data.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
