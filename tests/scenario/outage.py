"""An outage of all Thrift2 servers that lasts longer than the lease of a gateway: callers read that the store cannot be reached, the
log has a few lines for all of it, and the gateway serves again within seconds after the servers answer.

    outage.py        # on the HBase in memory of hbase_sim
"""
import time
import unittest

import hbase_places
from keyway_gateway import Ready, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError

POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
STOREtables:
  t:
    fields: {{id: string, n: int}}
    key: [id]
"""
LEASE_S = 10


class Outage(unittest.TestCase):
    def setUp(self):
        self.place = hbase_places.Simulated()
        self.addCleanup(self.place.stop)
        self.gateway = Ready(POLICY.replace("STORE", self.place.store("outage")))
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__, None, None, None)
        self.data = self.gateway.data()
        self.addCleanup(self.data.close)

    def put(self):
        """The error; None if the record was written."""
        try:
            self.data.put("t", record(id="a", n=1), None)
        except KeywayError as error:
            return error
        return None

    def test_longer_than_the_lease(self):
        self.assertIsNone(self.put())
        before = len(self.gateway.log().splitlines())
        for server in "01":
            self.place.send(f"kill {server}")
        wait_until(lambda: not self.gateway.ready()["ready"], "/readyz to report the outage")
        time.sleep(LEASE_S + 3)
        error = self.put()
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertEqual(error.message, "the store cannot be reached; the gateway will serve again when it can")
        for server in "01":
            self.place.send(f"start {server}")
        began = time.monotonic()
        wait_until(lambda: self.gateway.ready()["ready"] and self.put() is None, "the gateway to serve again")
        self.assertLess(time.monotonic() - began, 6)
        lines = [line for line in self.gateway.log().splitlines()[before:] if ("level=warn" in line or "level=error" in line) and 'event="call failed"' not in line]
        for event in ("server failed, backing off", "lease not renewed", "cannot read the store's clock"):
            found = [line for line in lines if event in line]
            self.assertLessEqual(len(found), 2, lines)  # each of the two servers fails once
        self.assertLessEqual(len(lines), 8, lines)


if __name__ == "__main__":
    unittest.main()
