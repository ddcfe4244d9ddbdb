"""Calls every method of keyway.thrift from the Python runtime in each of the four wire forms, and checks results and
errors."""
import math
import time
import unittest

from keyway_gateway import POLICY, Gateway, plain, record, value
from keyway_thrift.ttypes import (AdviseOptions, Candidate, Code, CompareOp, Condition, CreateOptions, Durability, FamilyOptions, KeywayError, NamedQuery, Options,
                                  Order, Outcome, Query, Range, SplitOptions)

TABLES = POLICY + """\
  salted:
    fields: {{id: string, ts: timestamp, n: int}}
    key: [{{salt: {{buckets: 8, of: [id]}}}}, {{field: ts}}, {{field: id}}]
  made:
    fields: {{id: {{type: int, generate: sequence}}, ts: timestamp}}
    key: [{{salt: {{buckets: 8, algorithm: random}}}}, {{field: ts}}, {{field: id}}]
    updates: false
"""
# A rule that is allowed only for a table that already has rows under it.
HAZARD = "tables:\n  t:\n    fields: {id: string}\n    key: [{salt: {buckets: 300, algorithm: phoenix}}, {field: id}]\n"
FORMS = [(framed, compact) for framed in (True, False) for compact in (True, False)]
GATEWAY = None


def setUpModule():
    global GATEWAY
    GATEWAY = Gateway(TABLES + "limits: {{batch_records: 100}}\n").start()


def tearDownModule():
    try:
        GATEWAY.stop()
    finally:
        GATEWAY.__exit__(None, None, None)


class Methods:
    """The tests; the classes below run them once per wire form."""
    framed = compact = None

    def setUp(self):
        self.data = GATEWAY.data(framed=self.framed, compact=self.compact)
        self.admin = GATEWAY.admin(framed=self.framed, compact=self.compact)
        self.me = f"{self.id().rsplit('.', 1)[1]}-{self.framed}-{self.compact}"

    def tearDown(self):
        self.data.close()
        self.admin.close()

    def refused(self, code, part, call, *arguments):
        with self.assertRaises(KeywayError) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(part, caught.exception.message)
        if caught.exception.request_id:  # absent if many calls failed in the same second
            self.assertIn(f"request={caught.exception.request_id} ", GATEWAY.log())
        return caught.exception

    def test_put_and_get(self):
        full = {"id": self.me, "ts": 5, "note": "Łódź", "count": -2**63, "weight": -0.0, "blob": b"\0\xff", "done": False}
        written = self.data.put("events", record(**full), None)
        self.assertEqual((written.outcome, written.failure), (Outcome.OK, None))
        self.assertEqual(plain(self.data.get("events", record(id=self.me, ts=5), None, None).record), full)
        self.assertEqual(math.copysign(1, plain(self.data.get("events", record(id=self.me, ts=5), None, None).record)["weight"]), 1)
        some = self.data.get("events", record(id=self.me, ts=5), ["count"], None)
        self.assertEqual(plain(some.record), {"id": self.me, "ts": 5, "count": -2**63})
        self.assertIsNone(self.data.get("events", record(id=self.me, ts=6), None, None).record)
        self.data.put("events", record(id=self.me, ts=5, note="new"), Options(durability=Durability.SYNC_WAL))
        self.assertEqual(plain(self.data.get("events", record(id=self.me, ts=5), None, None).record)["note"], "new")

    def test_many(self):
        records = [record(id=self.me, ts=i, count=i) for i in range(20)]
        records[3] = record(id=self.me, ts=3, cuont=3)
        records[7] = record(id=self.me)
        records[9] = record(id=self.me, ts=9, done=5)
        written = self.data.putMany("events", records, None)
        self.assertEqual([i for i, one in enumerate(written) if one.outcome != Outcome.OK], [3, 7, 9])
        for i, part in ((3, '"count"?'), (7, "ts"), (9, "done")):
            self.assertEqual(written[i].outcome, Outcome.FAILED)
            self.assertEqual(written[i].failure.code, Code.INVALID)
            self.assertIn(part, written[i].failure.message)
        keys = [record(id=self.me, ts=i) for i in (0, 3, 19)] + [record(idd="x")]
        found = self.data.getMany("events", keys, None, None)
        self.assertEqual(plain(found[0].record)["count"], 0)
        self.assertEqual((found[1].record, found[1].failure), (None, None))
        self.assertEqual(plain(found[2].record)["count"], 19)
        self.assertEqual(found[3].failure.code, Code.INVALID)
        removed = self.data.removeMany("events", keys, None, None)
        self.assertEqual([one.outcome for one in removed], [Outcome.OK] * 3 + [Outcome.FAILED])
        self.assertIsNone(self.data.get("events", keys[0], None, None).record)
        for call in (self.data.putMany, self.data.removeMany, self.data.getMany):
            arguments = ("events", []) if call == self.data.putMany else ("events", [], None)
            self.assertEqual(call(*arguments, None), [])
        self.refused(Code.LIMIT, "at most 100", self.data.putMany, "events", [record(id="x", ts=1)] * 101, None)

    def test_remove(self):
        key = record(id=self.me, ts=1)
        self.data.put("events", {**key, **record(note="x", count=5)}, None)
        self.assertEqual(self.data.remove("events", key, ["note"], None).outcome, Outcome.OK)
        self.assertEqual(plain(self.data.get("events", key, None, None).record), {"id": self.me, "ts": 1, "count": 5})
        self.data.remove("events", key, None, None)
        self.assertIsNone(self.data.get("events", key, None, None).record)
        self.data.put("events", {**key, **record(note="again")}, None)
        self.assertEqual(plain(self.data.get("events", key, None, None).record)["note"], "again")

    def test_increment(self):
        key = record(id=self.me, ts=1)
        self.assertEqual(plain(self.data.increment("events", key, {"count": 5}, None))["count"], 5)
        self.assertEqual(plain(self.data.increment("events", key, {"count": -7}, None))["count"], -2)
        self.refused(Code.INVALID, "note", self.data.increment, "events", key, {"note": 1}, None)
        self.refused(Code.INVALID, "no amounts", self.data.increment, "events", key, {}, None)
        self.refused(Code.INVALID, '"count"?', self.data.increment, "events", key, {"cuont": 1}, None)

    def test_put_if(self):
        key = record(id=self.me, ts=1)
        absent = Condition(field="note", op=CompareOp.EQUAL)
        self.assertTrue(self.data.putIf("events", {**key, **record(note="first")}, absent, None))
        self.assertFalse(self.data.putIf("events", {**key, **record(note="second")}, absent, None))
        same = Condition(field="note", op=CompareOp.EQUAL, value=value("first"))
        self.assertTrue(self.data.putIf("events", {**key, **record(note="second")}, same, None))
        self.assertFalse(self.data.putIf("events", {**key, **record(note="third")}, same, None))
        self.assertEqual(plain(self.data.get("events", key, None, None).record)["note"], "second")
        self.refused(Code.INVALID, "the value is missing", self.data.putIf, "events", key,
                     Condition(field="note", op=CompareOp.LESS), None)
        self.refused(Code.INVALID, "condition", self.data.putIf, "events", key, Condition(field="nope", op=2), None)
        self.refused(Code.INVALID, "op 77", self.data.putIf, "events", key, Condition(field="note", op=77), None)
        self.refused(Code.INVALID, "condition", self.data.putIf, "events", key, None, None)
        reply = self.data.compareAndPut("events", {**key, **record(note="third")}, same, None)
        self.assertEqual((reply.applied, reply.made), (False, None))
        same.value = value("second")
        reply = self.data.compareAndPut("events", {**key, **record(note="third")}, same, None)
        self.assertEqual((reply.applied, reply.made), (True, None))
        self.refused(Code.INVALID, "condition", self.data.compareAndPut, "events", key, None, None)

    def test_scan(self):
        for i in range(30):
            self.data.put("events", record(id=self.me, ts=i, count=i), None)
        bound = record(id=self.me)
        page = self.data.scan(Query(table="events", bound=bound))
        self.assertEqual([plain(row)["ts"] for row in page.rows], list(range(29, -1, -1)))
        self.assertEqual((page.cursor, page.rows_scanned, page.rows_returned), (None, 30, 30))
        page = self.data.scan(Query(table="events", bound=bound, order=Order.ASCENDING, page_rows=7, limit=20,
                                    range=Range(field="ts", from_value=value(3))))
        seen = [plain(row)["ts"] for row in page.rows]
        while page.cursor:
            self.assertEqual(page.rows_returned, 7)
            page = self.data.nextPage(page.cursor, None)
            seen += [plain(row)["ts"] for row in page.rows]
        self.assertEqual(seen, list(range(3, 23)))
        page = self.data.scan(Query(table="events", bound=bound, columns=["count"],
                                    range=Range("ts", value(5), value(6), False, True)))
        self.assertEqual([plain(row) for row in page.rows], [{"id": self.me, "ts": 6, "count": 6}])
        self.refused(Code.INVALID, "cursor", self.data.nextPage, b"nonsense", None)
        self.refused(Code.INVALID, "cursor", self.data.nextPage, b"", None)

    def test_a_whole_table_is_not_read_by_accident(self):
        self.data.put("events", record(id=self.me, ts=1), None)
        text = self.refused(Code.INVALID, "events", self.data.scan, Query(table="events")).message
        self.assertIn("full_scan", text)
        self.assertGreater(len(self.data.scan(Query(table="events", full_scan=True)).rows), 0)

    def test_scan_across_buckets(self):
        for i in range(40):
            self.data.put("salted", record(id=f"{self.me}-{i}", ts=1000 + i, n=i), None)
        page = self.data.scan(Query(table="salted", range=Range(field="ts", from_value=value(1000)), page_rows=200))
        times = [plain(row)["ts"] for row in page.rows]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(len(times), 40)

    def test_latest(self):
        for i in range(10):
            self.data.put("events", record(id=self.me, ts=i, count=i), None)
        page = self.data.latest(Query(table="events", bound=record(id=self.me)))
        self.assertEqual([plain(row)["ts"] for row in page.rows], [9])
        self.assertEqual((page.rows_scanned, page.cursor), (1, None))
        page = self.data.latest(Query(table="events", bound=record(id=self.me), order=Order.ASCENDING))
        self.assertEqual([plain(row)["ts"] for row in page.rows], [0])
        # A list of times, which the key sorts in descending order: the latest is still the greatest.
        some = {"ts": [value(0), value(2), value(1)]}
        for order, first in ((None, 2), (Order.DESCENDING, 2), (Order.ASCENDING, 0)):
            page = self.data.latest(Query(table="events", bound=record(id=self.me), bound_any=some, order=order))
            self.assertEqual(plain(page.rows[0])["ts"], first)
        self.assertEqual(self.data.latest(Query(table="events", bound=record(id=self.me + "?"))).rows, [])
        self.refused(Code.INVALID, "or use scan with order DESCENDING", self.data.latest, Query(table="events", bound=record(id="a"), limit=2))

    def test_invalid_calls(self):
        self.refused(Code.NOT_FOUND, '"events"?', self.data.put, "event", record(id="a", ts=1), None)
        self.refused(Code.INVALID, '"note"?', self.data.put, "events", record(id="a", ts=1, nota="x"), None)
        self.refused(Code.INVALID, "field ts", self.data.put, "events", record(id="a", ts="now"), None)
        self.refused(Code.INVALID, "field ts", self.data.put, "events", record(id="a"), None)
        self.refused(Code.INVALID, "200", self.data.put, "events", record(id="a" * 201, ts=1), None)
        self.refused(Code.INVALID, "durability", self.data.put, "events", record(id="a", ts=1), Options(durability=9))
        self.refused(Code.INVALID, "deadline_ms", self.data.put, "events", record(id="a", ts=1), Options(deadline_ms=0))
        self.refused(Code.INVALID, "table is missing", self.data.put, None, record(id="a", ts=1), None)
        self.refused(Code.INVALID, "query is missing", self.data.scan, None)
        self.refused(Code.INVALID, "sequence", self.data.allocate, "events", "count", 10, None, None)
        self.refused(Code.INVALID, "no field", self.data.allocate, "events", "conut", 10, None, None)
        self.refused(Code.NOT_FOUND, "path", self.data.scan, Query(table="events", bound=record(id="a"), path="by_time"))

    def test_deadline(self):
        """A deadline that has probably passed when the disk answers. The outcome depends on timing; each of the three
        must be correct."""
        key = record(id=self.me, ts=1)
        stored = True
        try:
            self.data.put("events", key, Options(deadline_ms=1))
        except KeywayError as failed:
            self.assertEqual(failed.code, Code.TIMEOUT)
            stored = None if failed.maybe_applied else False
        if stored is not None:
            self.assertEqual(self.data.get("events", key, None, None).record is not None, stored)

    def test_timestamps(self):
        key = record(id=self.me, ts=1)
        now = int(time.time() * 1000)
        self.data.put("events", {**key, **record(note="newer")}, Options(timestamp=now))
        self.data.put("events", {**key, **record(note="older")}, Options(timestamp=now - 1000))
        self.assertEqual(plain(self.data.get("events", key, None, None).record)["note"], "newer")

    def test_describe(self):
        self.assertEqual(sorted(self.data.tables()), ["events", "made", "salted"])
        table = self.data.describe("salted")
        self.assertEqual([(field.name, field.type, field.key) for field in table.fields],
                         [("id", "string", True), ("ts", "timestamp", True), ("n", "int", False)])
        self.assertEqual(table.paths[0].buckets, 8)
        self.assertEqual(len(table.paths[0].fingerprint), 64)
        self.assertEqual(len(table.paths[0].components), 3)
        policy = self.admin.policy()
        self.assertIn("salted:", policy.text)
        self.assertEqual(sorted(found.name for found in policy.tables), ["events", "made", "salted"])
        self.refused(Code.NOT_FOUND, "there is no table", self.data.describe, "nothing")

    def test_explain(self):
        found = self.admin.explain(Query(table="salted", range=Range(field="ts", from_value=value(1))))
        self.assertEqual((found.path, len(found.ranges), found.ranges_count, found.reversed), ("primary", 8, 8, False))
        self.assertGreaterEqual(found.expected_reads_per_row, 1)
        self.assertIn("salted", found.text)
        ids = [value(f"a{number}") for number in range(5000)]
        found = self.admin.explain(Query(table="events", bound_any={"id": ids}))
        self.assertEqual((len(found.ranges), found.ranges_count), (4096, 5000))
        self.assertLess(len(found.text), 10_000)
        found = self.admin.explainPut("events", record(id="a", ts=5))
        key = found.keys[0]
        self.assertEqual(b"".join(piece.bytes for piece in key.pieces), key.row_key)
        self.assertTrue(key.row_key.startswith(b"0cc1a"))
        self.refused(Code.INVALID, "ts", self.admin.explainPut, "events", record(id="a"))
        found = self.admin.explainPut("made", record(ts=5))
        self.assertEqual(found.keys[0].row_key.hex(), "00" "8000000000000005" "8000000000000001")
        self.assertEqual(len(found.notes), 2)
        self.assertIn("id is generated by the put", found.notes[0])
        self.assertIn("the put chooses one of 8 buckets", found.notes[1])
        self.refused(Code.INVALID, "bind", self.admin.explain, Query(table="events"))

    def test_check(self):
        self.assertEqual(self.admin.check(TABLES.format(folder="x")), [])
        problems = self.admin.check("tables:\n  t:\n    fields: {a: string}\n    key: [{feld: a}]\n")
        self.assertEqual((problems[0].line, problems[0].column), (4, 12))
        self.assertIn("feld", problems[0].message)
        problems = self.admin.check(HAZARD)
        self.assertEqual([(problem.line, problem.column) for problem in problems], [(4, 28)])
        self.assertIn("salt: phoenix writes the bucket as one byte", problems[0].message)
        self.assertIn("256", problems[0].hint)
        unread = "tables:\n  u:\n    fields: {a: strng}\n    key: [field: a]\n"
        uncompiled = "  v:\n    fields: {a: string}\n    key: [field: b]\n"
        problems = self.admin.check(unread + uncompiled + HAZARD.partition("\n")[2])
        self.assertEqual([problem.line for problem in problems], [3, 7, 10])
        self.refused(Code.INVALID, "text is missing", self.admin.check, None)

    def test_policy_tables(self):
        found = self.admin.policyTables(TABLES.format(folder="x"))
        self.assertEqual(sorted(table.name for table in found), ["events", "made", "salted"])
        self.refused(Code.INVALID, "policy:4:12: ", self.admin.policyTables,
                     "tables:\n  t:\n    fields: {a: string}\n    key: [{feld: a}]\n")
        self.refused(Code.INVALID, "policy:4:28: path primary: salt: phoenix", self.admin.policyTables, HAZARD)
        self.refused(Code.INVALID, "text is missing", self.admin.policyTables, None)

    def test_advise(self):
        text = TABLES.format(folder="/nowhere")
        sample = [record(id=f"a{n}", ts=n * 1000) for n in range(600)]
        asked = [NamedQuery("minute", Query(table="", range=Range(field="ts", from_value=value(0), to_value=value(60000)))),
                 NamedQuery("odd", Query(table="salted", bound=record(idd="a")))]
        call = lambda *arguments: self.admin.advise(*arguments)  # noqa: E731
        found = call([Candidate("a", text)], "salted", sample, asked, AdviseOptions(regions=4))
        path = found.paths[0]
        self.assertEqual((len(found.paths), path.records, len(path.regions.counts), path.cut), (1, 600, 4, "by the rule"))
        self.assertEqual(sum(path.buckets.counts), 600)
        self.assertEqual((found.time_field, found.window_ms, found.windows), ("ts", 60000, 10))
        self.assertEqual((found.questions[0].ranges, found.questions[0].scanned, found.questions[0].matching), (8, 60, 60))
        self.assertIn("idd", found.questions[1].refusal)
        made = call([Candidate("a", text)], "made", [record(ts=n) for n in range(100)], [], None).paths[0]
        self.assertEqual((made.records, made.rejected, made.buckets.reached), (100, 0, 8))
        for code, part, arguments in (
                (Code.INVALID, "candidates", ([], "salted", sample, [], None)),
                (Code.LIMIT, "at most 8 candidates", ([Candidate("a", text)] * 9, "salted", sample, [], None)),
                (Code.INVALID, "sample records", ([Candidate("a", text)], "salted", [], [], None)),
                (Code.LIMIT, "at most 200 queries", ([Candidate("a", text)], "salted", sample, asked * 101, None)),
                (Code.INVALID, "b:2:1: not valid YAML", ([Candidate("b", "[")], "salted", sample, [], None)),
                (Code.INVALID, "b:4:28: path primary: salt: phoenix", ([Candidate("b", HAZARD)], "t", sample, [], None)),
                (Code.NOT_FOUND, "has no table", ([Candidate("a", text)], "saltd", sample, [], None)),
                (Code.INVALID, "name one of them", ([Candidate("a", text)], "", sample, [], None)),
                (Code.INVALID, "another table", ([Candidate("a", text)], "events", sample, asked[1:], None)),
                (Code.INVALID, "regions must be 1 to 256", ([Candidate("a", text)], "salted", sample, [], AdviseOptions(regions=257))),
                (Code.INVALID, "window_ms", ([Candidate("a", text)], "salted", sample, [], AdviseOptions(window_ms=0))),
                (Code.INVALID, "no field", ([Candidate("a", text)], "salted", sample, [], AdviseOptions(time_field="x"))),
                (Code.INVALID, "not a timestamp", ([Candidate("a", text)], "salted", sample, [], AdviseOptions(time_field="id"))),
                (Code.INVALID, "record 1 has no ts", ([Candidate("a", text)], "salted", [record(id="a")], [],
                                                      AdviseOptions(time_field="ts")))):
            self.refused(code, part, call, *arguments)

    def test_create_table(self):
        made = self.admin.createTable("events", CreateOptions(if_absent=True))
        self.assertEqual([(table.store_table, table.created) for table in made], [("events", False)])
        self.refused(Code.REFUSED, "events", self.admin.createTable, "events", None)
        self.refused(Code.NOT_FOUND, "path", self.admin.createTable, "events", CreateOptions(path="by_time"))
        for wrong, part in ((SplitOptions(), "exactly one"), (SplitOptions(keys=[b"a"], algorithm="rule"), "exactly one"),
                            (SplitOptions(algorithm="rule"), "regions"), (SplitOptions(sample=[record(idd="a")], regions=2), "idd"),
                            (SplitOptions(algorithm="HexSplit", regions=4), "HexSplit")):
            self.refused(Code.INVALID, part, self.admin.createTable, "events", CreateOptions(splits=wrong))
        self.refused(Code.INVALID, "ttl_seconds", self.admin.createTable, "events",
                     CreateOptions(families=[FamilyOptions(name="d", ttl_seconds=-1)]))

    def test_stats(self):
        before = self.admin.stats()
        self.data.tables()
        after = self.admin.stats()
        self.assertEqual(after["tables.calls"], before.get("tables.calls", 0) + 1)
        self.assertGreaterEqual(after["connections_open"], 2)
        self.assertGreater(after["stats.calls"], before.get("stats.calls", 0))


for framed_, compact_ in FORMS:
    NAME = ("Framed" if framed_ else "Unframed") + ("Compact" if compact_ else "Binary")
    globals()[NAME] = type(NAME, (Methods, unittest.TestCase), {"framed": framed_, "compact": compact_})


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
