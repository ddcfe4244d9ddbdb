"""Writes with many cells: limits.cells for every method that writes."""
import unittest

from keyway_gateway import POLICY, Gateway, record
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Outcome

TABLES = POLICY.replace("      note: string\n", "      note: string\n      tags: {{type: map, of: string, column: 't:*'}}\n"
                        "      counts: {{type: map, of: int, counter: true, column: 'c:*'}}\n")


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


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
