#!/usr/bin/env python3
"""Tests known_stalls.py on logs of both formats."""
import unittest
from unittest import mock

import known_stalls

LINE = 'time=2026-01-01T00:00:00.000Z level=warn module=loop event="stall" cpu_ms={} call="{}" unlogged=0\n'
JSON = '{"time":"2026-01-01T00:00:00.000Z","level":"warn","module":"loop","event":"stall","cpu_ms":21,"call":"tables","unlogged":0}\n'
OTHER = 'time=2026-01-01T00:00:00.000Z level=warn module=net event="connection broken" reason="a stall"\n'


class KnownStalls(unittest.TestCase):
    def setUp(self):
        known, known_stalls.KNOWN = known_stalls.KNOWN, (("a_test|test_known_stalls", "get of table .*", 30, "a reason"),
                                                           ("another_test", "scan of table .*", 30, "a reason"))
        self.addCleanup(setattr, known_stalls, "KNOWN", known)

    def rejected(self, log, sanitized=False):
        with self.assertRaises(AssertionError) as failed:
            known_stalls.check(log, sanitized)
        return str(failed.exception)

    def test_unknown(self):
        put = LINE.format(21, 'put of table \\"t\\"')
        self.assertIn('put of table "t": 21 ms; put of table "t": 21 ms', self.rejected(OTHER + put + OTHER + put))
        self.assertIn("tables: 21 ms", self.rejected(JSON + put))

    def test_known(self):
        line = 'get of table \\"t\\"'
        known_stalls.check(OTHER + 3 * LINE.format(30, line), False)
        known_stalls.check(3 * LINE.format(300, line), True)
        self.assertIn("31 ms", self.rejected(2 * LINE.format(31, line)))
        self.assertIn("21 ms", self.rejected(2 * LINE.format(21, 'scan of table \\"t\\"')))

    def test_pause(self):
        known_stalls.check(OTHER + LINE.format(300, "no call") + OTHER, False)
        with mock.patch.object(known_stalls, "LARGEST", "test_known_stalls"):
            self.assertIn("no call: 300 ms", self.rejected(LINE.format(300, "no call")))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
