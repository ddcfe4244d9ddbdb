"""Replies that would be larger than limits.frame: LIMIT for the call, or for the records of a call with many records that do
not fit. None of them crashes the process."""
import unittest

from keyway_gateway import POLICY, Gateway, plain, record, value
from keyway_thrift.ttypes import Candidate, Code, KeywayError, NamedQuery, Outcome, Query

MIB = 1024 * 1024
SMALL = POLICY + "limits: {{frame: 64KiB}}\n"


class ReplySize(unittest.TestCase):
    def refused(self, call):
        with self.assertRaises(KeywayError) as caught:
            call()
        self.assertEqual(caught.exception.code, Code.LIMIT, caught.exception)
        self.assertIn("limits.frame", caught.exception.message)
        return caught.exception

    def test_one_large_record_many_times(self):
        """A request of 5 kB whose reply would have 2 GB."""
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            data.put("events", record(id="big", ts=1, blob=b"y" * (10 * MIB - 100)), None)
            data.put("events", record(id="small", ts=1, note="here"), None)
            big, small = record(id="big", ts=1), record(id="small", ts=1)
            found = data.getMany("events", [big] * 210, None, None)
            self.assertEqual(len(found), 210)
            self.assertEqual(len(plain(found[0].record)["blob"]), 10 * MIB - 100)
            for result in found[1:]:
                self.assertIsNone(result.record)
                self.assertIn(result.failure.code, (Code.LIMIT, Code.BUSY))
            self.assertIn("limits.frame", found[1].failure.message)
            self.assertEqual(plain(data.getMany("events", [small, big], None, None)[0].record)["note"], "here")

    def test_pages_end_before_they_are_too_large(self):
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            for i in range(12):
                data.put("events", record(id="a", ts=i, blob=b"y" * (3 * MIB)), None)
            page, seen, pages = data.scan(Query(table="events", bound=record(id="a"))), [], 0
            while True:
                pages += 1
                seen += [plain(row)["ts"] for row in page.rows]
                if not page.cursor:
                    break
                page = data.nextPage(page.cursor, None)
            self.assertEqual(seen, list(range(11, -1, -1)))
            self.assertGreater(pages, 2)

    def store_large_record(self, gateway):
        """Stores a record larger than the next configuration's frame."""
        with_space = gateway.data()
        with_space.put("events", record(id="a", ts=2, note="small"), None)
        with_space.put("events", record(id="a", ts=1, note="chosen", blob=b"y" * (200 * 1024)), None)
        with_space.close()
        gateway.write_policy(SMALL)
        gateway.restart()
        return gateway.data()

    def test_one_record_that_is_too_large(self):
        with Gateway(POLICY) as gateway:
            data = self.store_large_record(gateway)
            large = record(id="a", ts=1)
            self.refused(lambda: data.get("events", large, None, None))
            self.assertEqual(plain(data.get("events", large, ["note"], None).record)["note"], "chosen")
            failure = data.getMany("events", [large, record(id="a", ts=2)], None, None)
            self.assertEqual(failure[0].failure.code, Code.LIMIT)
            self.assertEqual(plain(failure[1].record)["note"], "small")
            whole = Query(table="events", bound=record(id="a"))
            page = data.scan(whole)
            self.assertEqual([plain(row)["note"] for row in page.rows], ["small"])
            message = self.refused(lambda: data.nextPage(page.cursor, None)).message
            self.assertIn('record id="a" ts=1: it has more than', message)
            self.assertIn("request fewer columns", message)
            page = data.scan(Query(table="events", bound=record(id="a"), columns=["note"]))
            self.assertEqual([plain(row)["note"] for row in page.rows], ["small", "chosen"])
            self.assertGreater(gateway.metric("keyway_replies_too_large_total"), 0)

    def test_a_policy_that_is_too_large(self):
        about = "".join(f"      field{i}: string\n" for i in range(900))
        with Gateway(POLICY.replace("    key:\n", about + "    key:\n", 1) + "limits: {{frame: 16KiB}}\n") as gateway:
            admin = gateway.admin()
            self.refused(lambda: admin.policy())
            self.assertEqual(gateway.data().tables(), ["events"])

    def test_an_explanation_that_is_too_large(self):
        """The plan has one range for each of many values."""
        with Gateway(SMALL) as gateway:
            admin = gateway.admin()
            few = {"id": [value(f"id-{i}") for i in range(3)]}
            self.assertIsNotNone(admin.explain(Query(table="events", bound_any=few)))
            many = {"id": [value(f"id-{i}-{'x' * 20}") for i in range(900)]}
            self.refused(lambda: admin.explain(Query(table="events", bound_any=many)))

    def test_advice_that_is_too_large(self):
        fields = "".join(f"      field{i}: string\n" for i in range(40))
        text = POLICY.replace("    key:\n", fields + "    key:\n", 1).format(folder="data")
        with Gateway(SMALL) as gateway:
            admin = gateway.admin()
            sample = [record(id=f"s{i}", ts=i) for i in range(20)]
            queries = [NamedQuery(name=f"query {i} {'x' * 20}", query=Query(table="events", bound=record(id=f"s{i}")))
                       for i in range(400)]
            try:
                admin.advise([Candidate(text=text, name="one")], "events", sample, queries, None)
            except KeywayError as error:
                self.assertEqual(error.code, Code.LIMIT, error)
            self.assertEqual(gateway.data().tables(), ["events"])

    def test_generated_fields_that_do_not_fit(self):
        """putMany returns the generated fields; a record whose reply does not fit is not written."""
        with Gateway(SMALL.replace("note: string", "note: {{type: string, generate: uuid4}}")) as gateway:
            data = gateway.data()
            results = data.putMany("events", [record(id="m", ts=i) for i in range(900)], None)
            good = [i for i, result in enumerate(results) if result.outcome == Outcome.OK]
            for result in results[len(good):]:
                self.assertEqual(result.outcome, Outcome.FAILED)
                self.assertEqual(result.failure.code, Code.LIMIT)
            self.assertEqual(good, list(range(len(good))))
            self.assertTrue(0 < len(good) < 900, len(good))
            found, page = 0, data.scan(Query(table="events", bound=record(id="m")))
            while True:
                found += len(page.rows)
                if not page.cursor:
                    break
                page = data.nextPage(page.cursor, None)
            self.assertEqual(found, len(good))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
