"""The largest calls that the limits allow: none of them uses an event loop for more than 20 ms without a break. The gateway
measures this itself, and its log is checked when it ends (known_stalls.py)."""
import random
import unittest

from keyway_gateway import Gateway, is_sanitized, record, value
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Query

POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 1
limits: {{memory: 1GiB}}
store:
  kind: embedded
  path: {folder}/data
tables:
  wide:
    fields:
      id: {{type: string, max_bytes: 32000}}
      a: int
      b: int
      counts: {{type: map, of: int, column: 'm:*'}}
      sums: {{type: map, of: int, counter: true, column: 'c:*'}}
      note: string
    key:
      - field: {{name: id, encoding: terminated}}
      - field: a
      - field: b
"""
SLOWER = 10 if is_sanitized() else 1
CELLS = 100000  # limits.cells
RECORDS = 10000  # limits.batch_records, limits.ranges and the columns of one call


class LargestCalls(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(POLICY).start()
        self.data, self.admin = self.gateway.data(), self.gateway.admin()
        self.data.put("wide", record(id="x", a=1, b=1, note="n"), None)

    def tearDown(self):
        self.data.close()
        self.admin.close()
        self.gateway.__exit__(None, None, None)

    def refused(self, text, call, *arguments):
        with self.assertRaises(KeywayError) as failed:
            call(*arguments)
        self.assertEqual(failed.exception.code, Code.LIMIT, failed.exception)
        self.assertIn(text, failed.exception.message)

    def test_plans_of_long_keys(self):
        """10,000 keys of 30 kB were a plan of 300 MB, which took 0.35 s. Such a plan is widened, unless its ranges are merged."""
        ints = [value(number) for number in range(RECORDS)]
        for size in (400, 2000, 30000):
            points = Query(table="wide", bound=record(id="x" * size), bound_any={"a": ints[:100], "b": ints[:100]})
            merged = Query(table="wide", bound=record(id="x" * size), bound_any={"a": ints})
            for call in (self.data.scan, self.data.latest, self.admin.explain):
                self.assertIsNotNone(call(points))
                if size == 400:
                    self.assertIsNotNone(call(merged))
                else:
                    self.refused(f"{size} bytes in each key", call, merged)
        names = [value("x" * 1500 + str(number)) for number in range(RECORDS)]
        self.refused("bytes in each key", self.data.scan, Query(table="wide", bound_any={"id": names}))

    def test_columns_of_many_keys(self):
        """All columns were checked for each key: 0.4 s."""
        keys = [record(id="x", a=number, b=1) for number in range(RECORDS)]
        columns = [f"counts.{number}" for number in range(RECORDS)]
        self.refused("100000000 columns; at most 1000000", self.data.getMany, "wide", keys, columns, None)
        self.assertEqual(len(self.data.getMany("wide", keys, columns[:100], None)), RECORDS)
        self.assertEqual(len(self.data.getMany("wide", keys, ["note"], None)), RECORDS)
        self.assertIsNotNone(self.data.get("wide", keys[1], columns, None).record)
        self.data.getVersions("wide", keys[1], columns, 1000, None)

    def test_columns_of_many_ranges(self):
        """Each range had a copy of the columns: 10 s of processor time."""
        before = self.gateway.cpu_seconds()
        ints = [value(number) for number in range(RECORDS)]
        columns = [f"counts.{number}" for number in range(RECORDS - 1)] + ["note"]
        for bound in (record(id="x"), record(id="x", note="n")):
            for lists in ({"a": ints}, {"a": ints[:100], "b": ints[:100]}):
                page = self.data.scan(Query(table="wide", bound=bound, bound_any=lists, columns=columns))
                self.assertEqual(page.rows_returned, 1)
                self.assertEqual(page.rows[0]["note"], value("n"))
        self.assertLess(self.gateway.cpu_seconds() - before, 4 * SLOWER)

    def test_explained_records(self):
        self.refused("200000 cells; at most 100000", self.admin.explainPut, "wide",
                     record(id="x", a=1, b=1, counts={str(number): number for number in range(2 * CELLS - 3)}))

    def test_writes(self):
        names = [str(number) for number in range(CELLS - 10)]
        for shuffled in (False, True):
            if shuffled:
                random.Random(1).shuffle(names)
            wide = record(id="w", a=int(shuffled), b=1, counts={name: 1 for name in names})
            self.data.put("wide", wide, None)
            self.assertTrue(self.data.putIf("wide", wide, Condition(field="note", op=CompareOp.EQUAL), None))
        self.data.putMany("wide", [record(id="m", a=number, b=1, note="n") for number in range(RECORDS)], None)
        self.data.removeMany("wide", [record(id="m", a=number, b=1) for number in range(RECORDS)], None, None)
        self.data.remove("wide", record(id="w", a=1, b=1), [f"counts.{number}" for number in range(RECORDS)], None)
        for _ in range(2):
            self.data.increment("wide", record(id="x", a=1, b=1), {f"sums.{number}": 1 for number in range(1000)}, None)

    def test_pages(self):
        self.data.putMany("wide", [record(id="p", a=number, b=number, note="n") for number in range(RECORDS)], None)
        page = self.data.scan(Query(table="wide", bound=record(id="p"), page_rows=RECORDS))
        self.assertGreater(page.rows_returned, 1000)
        notes = [value(f"m{number}") for number in range(RECORDS)]
        self.assertEqual(self.data.scan(Query(table="wide", bound=record(id="p"), bound_any={"note": notes})).rows_returned, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
