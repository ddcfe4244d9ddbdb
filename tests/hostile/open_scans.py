"""Scans that merge many ranges of a table with values of 5 MB. While a scan is open, it has read one block of each file and
range, and such a block is as large as the largest value in it. Whatever scans the callers send, the resident size stays
below limits.memory plus 15 %, plus that of an idle gateway and what the embedded store needs to read files with large values
(SECURITY.md). Nothing is written, so its write buffers are part of the idle gateway."""
import sys
import unittest

from keyway_gateway import Gateway, call_message, is_sanitized, record, value
from keyway_thrift import Data
from keyway_thrift.ttypes import Query, Range
from walk import callers

MIB = 1024 * 1024
LIMIT = 64 * MIB
VALUE_BYTES = 5 * MIB
FILES = 14 * VALUE_BYTES  # what the store needs to read files; not part of limits.memory
BUCKETS = 32
CALLERS = callers.Mode(4, 2, reads=True, closes=False)
SMALL_ROWS = 20000
LARGE_ROWS = 48

POLICY = f"""\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
timeouts: {{{{call: 60s}}}}
limits: {{{{memory: 64MiB, frame: 8MiB}}}}
store: {{{{kind: embedded, path: {{folder}}/data, cache: 8MiB}}}}
tables:
  events:
    fields: {{{{id: string, ts: {{{{type: timestamp, unit: ms}}}}, note: string, picture: bytes}}}}
    key: [{{{{salt: {{{{of: [id], buckets: {BUCKETS}}}}}}}}}, {{{{field: ts}}}}, {{{{field: id}}}}]
"""


def notes(**more):
    """A scan of the small field. Its rows are small, but the blocks that it reads have the large field too."""
    return call_message(Data.scan_args(query=Query(table="events", columns=["note"], page_rows=1000, **more)))


class OpenScans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.filled = Gateway(POLICY).__enter__()
        cls.addClassCleanup(cls.filled.__exit__, None, None, None)
        data = cls.filled.data()
        for i in range(LARGE_ROWS):
            data.put("events", record(id=f"l{i}", ts=i * SMALL_ROWS // LARGE_ROWS, note="large", picture=b"y" * VALUE_BYTES), None)
        for start in range(0, SMALL_ROWS, 1000):
            data.putMany("events", [record(id=f"s{i}", ts=i, note="x" * 200) for i in range(start, start + 1000)], None)
        data.close()
        cls.filled.stop()

    def attack(self, messages):
        with Gateway(POLICY, folder=self.filled.folder) as gateway:
            at_rest = gateway.resident_bytes()
            gateway.reset_peak()
            outcomes = callers.run(gateway, [(message, CALLERS) for message in messages], 120, LIMIT)
            most = gateway.peak_resident_bytes()
            allowed = int(LIMIT * 1.15) + at_rest + FILES
            print(f"at rest {at_rest // MIB} MiB, at most {most // MIB} MiB of {allowed // MIB} MiB; {[one.codes for one in outcomes]}")
            self.assertLess(0, sum(one.codes.get("OK", 0) for one in outcomes))
            if not is_sanitized():
                self.assertLess(most, allowed)

    def test_ranges(self):
        self.attack([notes(range=Range(field="ts", from_value=value(start))) for start in range(0, SMALL_ROWS, SMALL_ROWS // 2)])

    def test_whole_tables(self):
        """The store reads these past its cache."""
        self.attack([notes(full_scan=True)])


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    unittest.main(verbosity=2, warnings="ignore")
