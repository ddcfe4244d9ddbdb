"""Writes with many cells: limits.cells for every method that writes, and other callers while such a write is carried out."""
import threading
import time
import unittest

from keyway_gateway import POLICY, Gateway, is_sanitized, record, wait_until
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Options, Outcome

TABLES = POLICY.replace("      note: string\n", "      note: string\n      tags: {{type: map, of: string, column: 't:*'}}\n"
                        "      counts: {{type: map, of: int, counter: true, column: 'c:*'}}\n")
SLOWER = 10 if is_sanitized() else 1
MOST = 100000


def many(count, text="x"):
    return {f"entry-{i}": text for i in range(count)}


class Limit(unittest.TestCase):
    """limits.cells is 10 here. The text of LIMIT has both numbers."""

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(TABLES + "limits: {{cells: 10}}\n").start()
        cls.data = cls.gateway.data()

    @classmethod
    def tearDownClass(cls):
        cls.data.close()
        cls.gateway.__exit__(None, None, None)

    def refused(self, cells, call, *arguments):
        with self.assertRaises(KeywayError) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, Code.LIMIT, caught.exception)
        self.assertFalse(caught.exception.maybe_applied)
        for part in ("events", f" {cells} cells", "at most 10 ", "limits.cells"):
            self.assertIn(part, caught.exception.message)

    def test_put(self):
        self.data.put("events", record(id="put", ts=1, tags=many(8)), None)
        self.refused(11, self.data.put, "events", record(id="put", ts=2, tags=many(9)), None)

    def test_put_many(self):
        few = [record(id="many", ts=i, tags=many(3)) for i in range(2)]
        self.assertEqual([one.outcome for one in self.data.putMany("events", few, None)], [Outcome.OK] * 2)
        self.refused(12, self.data.putMany, "events", few + [record(id="many", ts=9)], None)

    def test_conditional_writes(self):
        absent = Condition(field="note", op=CompareOp.EQUAL)
        self.assertTrue(self.data.putIf("events", record(id="if", ts=1, tags=many(8)), absent, None))
        for call in (self.data.putIf, self.data.compareAndPut):
            self.refused(11, call, "events", record(id="if", ts=2, tags=many(9)), absent, None)

    def test_increment(self):
        key = record(id="sum", ts=1)
        self.data.increment("events", key, {f"counts.{i}": 1 for i in range(10)}, None)
        self.refused(11, self.data.increment, "events", key, {f"counts.{i}": 1 for i in range(11)}, None)

    def test_explain_put(self):
        admin = self.gateway.admin()
        self.addCleanup(admin.close)
        admin.explainPut("events", record(id="a", ts=1, tags=many(8)))
        self.refused(11, admin.explainPut, "events", record(id="a", ts=1, tags=many(9)))

    def test_remove(self):
        key = record(id="gone", ts=1)
        self.data.remove("events", key, [f"tags.{i}" for i in range(10)], None)
        self.refused(11, self.data.remove, "events", key, [f"tags.{i}" for i in range(11)], None)

    def test_remove_many(self):
        keys = [record(id="gone", ts=i) for i in range(11)]
        self.data.removeMany("events", keys[:5], ["note", "blob"], None)
        self.refused(12, self.data.removeMany, "events", keys[:6], ["note", "blob"], None)
        self.data.removeMany("events", keys[:10], None, None)
        self.refused(11, self.data.removeMany, "events", keys, None, None)


class LongKeys(unittest.TestCase):
    """Each cell is stored with its row key, so a small request with a long key can need gigabytes."""
    LONG, ENTRIES, PARTS_MIB = 30000, 20000, 400

    def setUp(self):
        self.gateway = Gateway(TABLES.replace("max_bytes: 200", "max_bytes: 30000")).start()
        self.addCleanup(self.gateway.__exit__, None, None, None)
        self.data = self.gateway.data()
        self.addCleanup(self.data.close)

    def refused(self, call, *arguments):
        with self.assertRaises(KeywayError) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, Code.LIMIT, caught.exception)
        self.assertIn("16777216", caught.exception.message)

    def test_calls(self):
        key = record(id="x" * self.LONG, ts=1)
        wide = {**key, **record(tags=many(self.ENTRIES))}
        absent = Condition(field="note", op=CompareOp.EQUAL)
        self.refused(self.data.put, "events", wide, None)
        self.refused(self.data.putIf, "events", wide, absent, None)
        self.refused(self.data.increment, "events", key, {f"counts.{i}": 1 for i in range(1000)}, None)
        self.refused(self.data.remove, "events", key, [f"tags.{i}" for i in range(5000)], None)
        one = self.data.putMany("events", [wide, record(id="a", ts=1)], None)
        self.assertEqual([result.outcome for result in one], [Outcome.FAILED, Outcome.OK])
        self.assertEqual(one[0].failure.code, Code.LIMIT)
        if not is_sanitized():
            self.assertLess(self.gateway.resident_bytes(), self.PARTS_MIB << 20)
        self.data.put("events", {**key, **record(tags=many(500))}, None)


class Batches(unittest.TestCase):
    def test_memory_is_freed(self):
        """Puts of 5 MB, as many as one round of commits can take; then small ones, until none of the memory is used."""
        with Gateway(TABLES) as gateway:
            connections = [gateway.data() for _ in range(16)]
            threads = [threading.Thread(target=data.put, args=("events", record(id=str(i), ts=1, blob=b"x" * 5_000_000), None))
                       for i, data in enumerate(connections)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if not is_sanitized():  # the write buffers (64 MiB), and what the process has without them
                wait_until(lambda: gateway.resident_bytes() < 140 << 20, "the memory to be released")
            for data in connections:
                data.close()


class OtherCallers(unittest.TestCase):
    """A small put is answered while another caller writes as many cells as it may."""

    def setUp(self):
        self.gateway = Gateway(TABLES).start()
        self.large, self.small = self.gateway.data(), self.gateway.data()
        self.puts = 0

    def tearDown(self):
        self.large.close()
        self.small.close()
        self.gateway.__exit__(None, None, None)

    def longest_put(self, write):
        """The longest time that a small put takes while `write` runs, and the time that `write` takes."""
        failed = []

        def run():
            try:
                write()
            except Exception as error:  # pylint: disable=broad-except
                failed.append(error)

        writer = threading.Thread(target=run)
        began, longest = time.monotonic(), 0
        writer.start()
        while writer.is_alive():
            before = time.monotonic()
            self.puts += 1
            self.small.put("events", record(id="small", ts=self.puts), None)
            longest = max(longest, time.monotonic() - before)
        if failed:
            raise failed[0]
        print(f"{self.id()}: {time.monotonic() - began:.2f} s, longest put {longest:.3f} s")
        return longest

    def test_conditional_write_of_stored_cells(self):
        wide = record(id="wide", ts=1, tags=many(MOST - 2))
        self.large.put("events", wide, None)
        present = Condition(field="tags.entry-7", op=CompareOp.EQUAL, value=wide["tags"].entries["entry-7"])
        self.assertLess(self.longest_put(lambda: self.assertTrue(self.large.putIf("events", wide, present, None))), 10 * SLOWER)

    def test_increment_of_stored_cells(self):
        key, amounts = record(id="sums", ts=1), {f"counts.{i}": 1 for i in range(1000)}
        self.large.increment("events", key, amounts, None)
        self.assertLess(self.longest_put(lambda: self.large.increment("events", key, amounts, None)), 10 * SLOWER)

    def test_many_records(self):
        records = [record(id=f"row-{i}", ts=1, tags=many(97)) for i in range(MOST // 100)]

        def write():
            for _ in range(3):
                for one in self.large.putMany("events", records, None):
                    self.assertEqual(one.outcome, Outcome.OK, one)
        self.assertLess(self.longest_put(write), 10 * SLOWER)

    def test_deadlines(self):
        """A call whose deadline passes before its commit begins is not carried out."""
        wide = record(id="late", ts=1, tags=many(MOST - 2))
        present = Condition(field="note", op=CompareOp.EQUAL)
        before = self.longest_put(lambda: self.large.put("events", wide, None))
        self.assertLess(before, 10 * SLOWER)
        with self.assertRaises(KeywayError) as caught:
            self.large.putIf("events", record(id="late", ts=2, tags=many(MOST - 2)), present, Options(deadline_ms=1))
        self.assertEqual(caught.exception.code, Code.TIMEOUT)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
