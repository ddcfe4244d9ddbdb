"""A shorter cursor.expiry also applies to existing cursors: an operator can disable leaked cursors."""
import unittest

from keyway_gateway import POLICY, Gateway, plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Query


class Expiry(unittest.TestCase):
    def test_a_shorter_expiry(self):
        with Gateway(POLICY + "cursor: {{expiry: 30d}}\n") as gateway:
            data, admin = gateway.data(), gateway.admin()
            for i in range(10):
                data.put("events", record(id="a", ts=i), None)
            cursor = data.scan(Query(table="events", bound=record(id="a"), page_rows=4)).cursor
            self.assertEqual([plain(row)["ts"] for row in data.nextPage(cursor, None).rows], [5, 4, 3, 2])
            gateway.write_policy(POLICY + "cursor: {{expiry: 1s}}\n")
            admin.reload()

            def is_expired():
                try:
                    data.nextPage(cursor, None)
                    return False
                except KeywayError as error:
                    self.assertEqual(error.code, Code.INVALID)
                    self.assertIn("expired", error.message)
                    return True
            wait_until(is_expired, "the cursor to expire", 60)
            data.close()
            admin.close()

    def test_a_longer_expiry(self):
        """A longer expiry extends the life of existing cursors."""
        with Gateway(POLICY + "cursor: {{expiry: 1min}}\n") as gateway:
            data, admin = gateway.data(), gateway.admin()
            for i in range(10):
                data.put("events", record(id="a", ts=i), None)
            cursor = data.scan(Query(table="events", bound=record(id="a"), page_rows=4)).cursor
            gateway.write_policy(POLICY + "cursor: {{expiry: 30d}}\n")
            admin.reload()
            self.assertEqual([plain(row)["ts"] for row in data.nextPage(cursor, None).rows], [5, 4, 3, 2])
            data.close()
            admin.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
