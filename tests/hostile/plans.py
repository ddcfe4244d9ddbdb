"""Queries whose plans are large: they use little of an event loop, and fail with LIMIT and the number of ranges if nothing
smaller gives the answer."""
import random
import unittest

from keyway_gateway import Gateway, is_sanitized, plain, record, value
from keyway_thrift.ttypes import Code, KeywayError, Order, Query, Range

POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 1
store:
  kind: embedded
  path: {folder}/data
tables:
  texts:
    fields: {{id: string, ts: {{type: timestamp, unit: ms}}, seq: int, note: string}}
    key:
      - salt: {{of: seq, buckets: 37}}
      - calendar: {{of: ts, parts: [yyyy, MM, dd, HH, mm, ss]}}
      - field: id
      - field: seq
      - field: ts
  notes:
    fields: {{user: string, id: string, kind: string, note: string}}
    updates: false
    key:
      - field: user
      - salt: {{algorithm: random, buckets: 100}}
      - field: id
      - field: kind
"""
FROM = 1620000000000
DAY = 86400000
DAYS = 12
ROWS = 500
SLOW = 20 if is_sanitized() else 1


def read_all(data, query):
    page = data.scan(query)
    rows = [plain(row) for row in page.rows]
    while page.cursor:
        page = data.nextPage(page.cursor, None)
        rows += [plain(row) for row in page.rows]
    return rows


class ManyRanges(unittest.TestCase):
    def test_point_reads_of_every_second(self):
        """The exact plan has 38 million point reads. It once used the loop until the deadline passed."""
        chance = random.Random(1)
        with Gateway(POLICY) as gateway:
            data, admin = gateway.data(), gateway.admin()
            rows = [record(id=name, ts=FROM + chance.randrange(DAYS * DAY), seq=i, note="x")
                    for name in ("a", "b") for i in range(ROWS)]
            data.putMany("texts", rows, None)
            between = Range(field="ts", from_value=value(FROM), to_value=value(FROM + DAYS * DAY))
            for order, pages in ((None, None), (Order.DESCENDING, 70)):
                query = Query(table="texts", bound=record(id="a"), range=between, order=order, page_rows=pages)
                before, reads = gateway.cpu_seconds(), gateway.metric("keyway_store_reads_total")
                found = read_all(data, query)
                self.assertEqual(sorted(row["seq"] for row in found), list(range(ROWS)))
                seconds = [row["ts"] // 1000 for row in found]
                self.assertEqual(seconds, sorted(seconds, reverse=order is not None))
                self.assertLess(gateway.cpu_seconds() - before, 2 * SLOW)
                self.assertLess(gateway.metric("keyway_store_reads_total") - reads, 1000)
            notes = " ".join(admin.explain(query).notes)
            self.assertIn("widened: a range for each piece would need up to 383", notes)
            self.assertIn("more than limits.ranges allows (10000)", notes)
            data.close()

    def test_lists_and_buckets(self):
        """A million keys of one user: the rows of the user are read."""
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            data.putMany("notes", [record(user="u", id=f"n{i}", kind="k", note="x") for i in range(1000)], None)
            names = [value(f"n{i}") for i in range(0, 10000, 5)]
            query = Query(table="notes", bound=record(user="u", kind="k"), bound_any={"id": names})
            self.assertEqual(len(read_all(data, query)), 200)
            data.close()

    def test_refused(self):
        """Without a user, only the whole table would be wide enough."""
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            names = [value(f"n{i}") for i in range(5000)]
            query = Query(table="notes", bound_any={"user": names})
            before = gateway.cpu_seconds()
            for _ in range(20):
                with self.assertRaises(KeywayError) as caught:
                    data.scan(query)
                self.assertEqual(caught.exception.code, Code.LIMIT)
                self.assertIn("up to 500000 ranges", caught.exception.message)
            self.assertLess(gateway.cpu_seconds() - before, 1 * SLOW)
            data.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
