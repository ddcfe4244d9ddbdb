"""Calls that compile a policy text or plan a query have a budget of memory and time, keep their deadlines, and hold up
no other caller."""
import threading
import time
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, is_built_with, record
from keyway_thrift.ttypes import Candidate, Code, KeywayError, NamedQuery, Options, Query

NODES = ", ".join(f"n{i:02d}" for i in range(64))
RING = f"      - ring: {{of: [id], replicas: 4096, nodes: [{NODES}]}}\n"  # 262,144 points, 4 MiB
FIELD = "    fields: {id: {type: string, max_bytes: 100}}\n"


def tables(count, rings, fields=FIELD):
    return "tables:\n" + "".join(f"  t{i}:\n{fields}    key:\n{RING * rings}      - field: id\n" for i in range(count))


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


class Memory(unittest.TestCase):
    """A thousand rings of 262,144 points took 4.1 GB and more than a minute."""

    def refuse(self, call):
        with Gateway(POLICY) as gateway:
            admin, data = gateway.admin(), gateway.data()
            before = resident_mib(gateway.process.pid)
            codes = []

            def attack():
                with self.assertRaises(KeywayError) as caught:
                    call(admin)
                codes.append(caught.exception.code)

            thread = threading.Thread(target=attack)
            thread.start()
            data.put("events", record(id="a", ts=1), Options(deadline_ms=PATIENCE * 1000))
            thread.join()
            self.assertIn(codes[0], (Code.LIMIT, Code.TIMEOUT))
            if not is_built_with("tsan"):  # which holds several times the memory
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
        """Each record has room for all fields, also for those that it lacks."""
        fields = "    fields: {id: string, " + ", ".join(f"f{i}: int" for i in range(999)) + "}\n"
        text = tables(1, 0, fields)
        self.refuse(lambda admin: admin.advise([Candidate(name="a", text=text)], None, [record(id="a")] * 100000, [], None))


class Time(unittest.TestCase):
    def refuse(self, call):
        """A deadline of a second is kept; the call took minutes."""
        with Gateway(POLICY + "timeouts: {{call: 1s}}\n") as gateway:
            admin = gateway.admin()
            began = time.monotonic()
            with self.assertRaises(KeywayError) as caught:
                call(admin)
            self.assertIn(caught.exception.code, (Code.LIMIT, Code.TIMEOUT))
            self.assertLess(time.monotonic() - began, 20)

    def test_advise(self):
        fields = "    fields: {id: string, ts: {type: timestamp, unit: ms}}\n"
        text = tables(1, 0, fields).replace("      - field: id", "      - field: ts\n      - field: id")
        sample = [record(id=f"r{i}", ts=i) for i in range(20000)]
        queries = [NamedQuery(name=str(i), query=Query(table="t0", bound=record(id=f"r{i}"), full_scan=True)) for i in range(200)]
        self.refuse(lambda admin: admin.advise([Candidate(name=str(i), text=text) for i in range(8)], None, sample, queries,
                                                       None))


class Others(unittest.TestCase):
    def test_answers(self):
        """What is bounded still answers what it answered."""
        with Gateway(POLICY) as gateway:
            admin = gateway.admin()
            self.assertEqual(admin.check(tables(2, 2)), [])
            self.assertEqual([table.name for table in admin.policyTables(tables(2, 1))], ["t0", "t1"])
            self.assertEqual(admin.explain(Query(table="events", bound=record(id="a"))).ranges_count, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
