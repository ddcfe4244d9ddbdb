"""Single calls that need more memory than one call can use. They end with LIMIT, the resident size stays within
limits.memory plus 15 % and the write buffers of the store, and calls of the usual size succeed afterwards."""
import unittest

from keyway_gateway import Gateway, is_sanitized, record, value
from keyway_thrift.ttypes import Code, KeywayError, Query

MIB = 1024 * 1024
WRITE_BUFFERS = 64 * MIB  # of the embedded store; not part of limits.memory

POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 1
limits: {{{{{limits}}}}}
store:
  kind: embedded
  path: {{folder}}/data
  cache: {cache}
tables:
  wide:
    fields:
      id: {{{{type: string, max_bytes: 32000}}}}
      a: int
      b: int
      counts: {{{{type: map, of: int}}}}
      note: string
    key:
      - field: {{{{name: id, encoding: terminated}}}}
      - field: a
      - field: b
"""

# limits.memory in MiB, the policy's limits, the cache
SIZES = (
    (64, "memory: 64MiB, frame: 4MiB, decoded: 16MiB, scan_buffer: 4MiB, page_bytes: 2MiB", "16MiB"),
    (256, "memory: 256MiB", "64MiB"),
    (1024, "memory: 1GiB", "64MiB"),
)


class LargeCalls(unittest.TestCase):
    def fail(self, call, code):
        with self.assertRaises(KeywayError) as failed:
            call()
        self.assertEqual(failed.exception.code, code, failed.exception)
        return failed.exception.message

    def check_each_size(self, check):
        """Runs check(gateway, the most bytes of one call) for each size of limits.memory."""
        for memory, limits, cache in SIZES:
            with self.subTest(memory=memory), Gateway(POLICY.format(limits=limits, cache=cache)) as gateway:
                share = (memory * MIB - int(gateway.metric("keyway_memory_caches"))) // 2
                gateway.data().put("wide", record(id="x", a=1, b=1), None)
                check(gateway, share)
                peak = gateway.peak_resident_bytes()
                print(f"{self.id()}: {memory} MiB: at most {peak // MIB} MiB")
                if not is_sanitized():
                    self.assertLess(peak, memory * MIB * 1.15 + WRITE_BUFFERS)

    def test_plans(self):
        """A message of 150 kB whose plan has up to 10,000 keys of 30 kB."""
        ints = [value(number) for number in range(10000)]
        long = record(id="x" * 30000)

        def check(gateway, share):
            data, admin = gateway.data(), gateway.admin()
            for query in (Query(table="wide", bound=long, bound_any={"a": ints}),
                          Query(table="wide", bound=long, bound_any={"a": ints[:100], "b": ints[:100]})):
                self.fail(lambda: admin.explain(query), Code.LIMIT)
                for call in (data.scan, data.latest):
                    text = self.fail(lambda: call(query), Code.LIMIT)
                    self.assertRegex(text, f"table wide: the plan of the query needs more than {share} bytes")
                    self.assertIn("query fewer values", text)
            found = data.scan(Query(table="wide", bound=record(id="x"), bound_any={"a": ints}))
            self.assertEqual(found.rows_returned, 1)
        self.check_each_size(check)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
