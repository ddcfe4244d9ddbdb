"""Calls that compile a policy text or plan a query have a limit of memory and time, keep their deadlines, and delay no
other caller."""
import contextlib
import os
import select
import threading
import time
import unittest

from keyway_gateway import (PATIENCE, POLICY, Gateway, call_message, is_built_with, is_sanitized, receive_frame, record,
                            reply_result, wait_until)
from keyway_thrift import Admin
from keyway_thrift.ttypes import Candidate, Code, KeywayError, NamedQuery, Options, Query

FIELD = "    fields: {id: {type: string, max_bytes: 100}}\n"


def ring(number, replicas=4096):
    """A ring of 64 nodes. With 4,096 replicas it has 262,144 points, which need 4 MiB."""
    nodes = ", ".join(f"n{number:04d}-{i:02d}" for i in range(64))
    return f"      - ring: {{of: [id], replicas: {replicas}, nodes: [{nodes}]}}\n"


def tables(count, rings, fields=FIELD, ring_of=ring):
    """Tables with `rings` rings each, all of them different by default."""
    key = lambda table: "".join(ring_of(table * rings + i) for i in range(rings))
    return "tables:\n" + "".join(f"  t{i}:\n{fields}    key:\n{key(i)}      - field: id\n" for i in range(count))


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


class Memory(unittest.TestCase):
    """A thousand rings of 262,144 points once took 4.1 GB and more than a minute. The deadline keeps the tests short. On a
    slow machine it can pass before the memory is used up; calls also used memory after their deadline."""

    def refuse(self, call, policy=POLICY):
        with Gateway(policy + "timeouts: {{call: 5s}}\n") as gateway:
            admin, data = gateway.admin(), gateway.data()
            before = resident_mib(gateway.process.pid)
            codes = []

            def attack():
                with self.assertRaises(KeywayError) as caught:
                    call(admin)
                codes.append(caught.exception.code)

            thread = threading.Thread(target=attack)
            thread.start()
            if policy is POLICY:
                data.put("events", record(id="a", ts=1), Options(deadline_ms=PATIENCE * 1000))
            thread.join()
            self.assertIn(codes[0], (Code.LIMIT, Code.TIMEOUT))
            if not is_built_with("tsan"):  # TSan needs several times the memory
                self.assertLess(resident_mib(gateway.process.pid) - before, 1000)
            data.close()

    def test_check(self):
        self.refuse(lambda admin: admin.check(tables(125, 8)))

    def test_policy_diff(self):
        self.refuse(lambda admin: admin.policyDiff(tables(1, 1), tables(125, 8), None, []))

    def test_advise_with_many_rings(self):
        half = tables(5, 8)  # 160 MiB each
        self.refuse(lambda admin: admin.advise([Candidate(name=str(i), text=half) for i in range(8)],
                                               "t0", [record(id="a")], [], None))

    def test_advise_with_many_fields(self):
        """Each record has space for all fields, even for those that it lacks."""
        fields = "    fields: {id: string, " + ", ".join(f"f{i}: int" for i in range(999)) + "}\n"
        text = tables(1, 0, fields)
        self.refuse(lambda admin: admin.advise([Candidate(name="a", text=text)], None, [record(id="a")] * 100000, [], None))


    def test_queries_with_a_million_ranges(self):
        """Each range has space for all fields that the rule reads: 2 GB."""
        names = [f"f{i}" for i in range(60)]
        text = ("limits: {{ranges: 1000000}}\ntables:\n  t0:\n    fields: {{" + ", ".join(f"{name}: int" for name in names)
                + "}}\n    key:\n" + "".join(f"      - field: {name}\n" for name in ("f0", "f1", *reversed(names[2:17]))))
        many = [record(x=i)["x"] for i in range(1000)]
        query = Query(table="t0", bound_any={"f0": many, "f1": many}, full_scan=True)
        self.refuse(lambda admin: admin.advise([Candidate(name="a", text=text.format())], None,
                                               [record(**{name: 1 for name in names})], [NamedQuery(name="q", query=query)], None))
        self.refuse(lambda admin: admin.explain(query), POLICY.partition("tables:")[0] + text)


class Rings(unittest.TestCase):
    """A check of a thousand rings takes at most a second of the processor. It once took a minute."""

    def check(self, text):
        with Gateway() as gateway:
            admin = gateway.admin()
            before = gateway.cpu_seconds()
            self.assertEqual(admin.check(text), [])
            self.assertLess(gateway.cpu_seconds() - before, 20 if is_sanitized() else 1)

    def test_equal_rings(self):
        self.check(tables(125, 8, ring_of=lambda number: ring(0)))

    def test_different_rings(self):
        self.check(tables(125, 8, ring_of=lambda number: ring(number, replicas=128)))


def endless():
    """The arguments of an advise call that takes a minute on the fastest core."""
    text = ("limits: {ranges: 1000000}\ntables:\n  t0:\n    fields: {id: string, ts: {type: timestamp, unit: ms}}\n"
            "    key:\n      - salt: {of: [id], buckets: 65536}\n      - field: ts\n      - field: id\n")
    sample = [record(id=f"r{i}", ts=i) for i in range(100)]
    queries = [NamedQuery(name=str(i), query=Query(table="t0", bound=record(ts=i), full_scan=True)) for i in range(200)]
    return [Candidate(name=str(i), text=text) for i in range(8)], None, sample, queries, None


def failure_of(reply):
    try:
        return reply_result(Admin.Client, reply)
    except KeywayError as error:
        return error


def advise_message():
    return call_message(Admin.advise_args(*endless()))


class Time(unittest.TestCase):
    def refuse(self, call):
        """A deadline of one second is kept; the call once took minutes."""
        with Gateway(POLICY + "timeouts: {{call: 1s}}\n") as gateway:
            admin = gateway.admin()
            began = time.monotonic()
            with self.assertRaises(KeywayError) as caught:
                call(admin)
            self.assertIn(caught.exception.code, (Code.LIMIT, Code.TIMEOUT))
            self.assertLess(time.monotonic() - began, 20)

    def test_advise(self):
        self.refuse(lambda admin: admin.advise(*endless()))


class LongCallers:
    """Callers of advise calls that take minutes, each with its own connection."""

    def __init__(self, gateway, count):
        message = advise_message()
        self.connections = [gateway.connect() for _ in range(count)]
        for connection in self.connections:
            connection.sendall(message)
        wait_until(lambda: gateway.metric("keyway_calls_in_flight") == count, "the long calls to begin")

    def replied(self):
        """The number of callers with a reply."""
        return len(select.select(self.connections, [], [], 0)[0])

    def close(self):
        for connection in self.connections:
            connection.close()


class Queue(unittest.TestCase):
    def test_pipelined_forgets(self):
        """Calls that change the catalog run one after another. A caller that pipelines them gets BUSY."""
        with Gateway() as gateway, contextlib.closing(gateway.connect()) as connection:
            connection.sendall(call_message(Admin.forget_args(table="events")) * 100)
            gateway.admin().reload()
            codes = {failure_of(receive_frame(connection)).code for _ in range(100)}
            self.assertEqual(codes, {Code.REFUSED, Code.BUSY})


class Shares(unittest.TestCase):
    """Long calls of other callers use all the threads for such calls."""

    def with_callers(self, count, ask):
        with Gateway(POLICY + "timeouts: {{call: 10min}}\n") as gateway:
            with contextlib.closing(LongCallers(gateway, count)) as callers:
                ask(gateway, callers)
            wait_until(lambda: gateway.metric("keyway_calls_in_flight") == 0, "the calls of closed connections to end")

    def test_short_calls_are_answered(self):
        """A short call waits for the end of at most one of the long calls."""
        def ask(gateway, callers):
            admin = gateway.admin()
            for number in (1, 2):
                self.assertEqual(admin.explain(Query(table="events", bound=record(id="a"))).ranges_count, 1)
                self.assertLessEqual(callers.replied(), number)
            admin.close()
        self.with_callers(3, ask)

    def test_deadlines_of_calls_that_wait(self):
        """A call that waits for a thread is answered at its deadline, while the long calls continue."""
        def ask(gateway, callers):
            late, query = [], Query(table="events", bound=record(id="a"), deadline_ms=100)
            for _ in range(20):
                admin, began = gateway.admin(), time.monotonic()
                with contextlib.suppress(KeywayError):
                    admin.explain(query)
                late.append((time.monotonic() - began) * 1000 - query.deadline_ms)
                admin.close()
            self.assertLess(callers.replied(), 12)
            late.sort()
            print(f"replies after the deadline of 100 ms: p50 {late[len(late) // 2]:.1f} ms, at most {late[-1]:.1f} ms")
            if os.environ.get("KW_CHECK_LATENCIES") == "1":
                self.assertLess(late[-1], 20)
        self.with_callers(12, ask)


class Others(unittest.TestCase):
    def test_answers(self):
        """Calls within the limits still get their results."""
        with Gateway(POLICY) as gateway:
            admin = gateway.admin()
            small = tables(2, 1).replace("replicas: 4096", "replicas: 128")
            self.assertEqual(admin.check(tables(1, 1)), [])
            self.assertEqual([table.name for table in admin.policyTables(small)], ["t0", "t1"])
            self.assertEqual(admin.explain(Query(table="events", bound=record(id="a"))).ranges_count, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
