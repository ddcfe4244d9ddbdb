"""Calls that need much memory, alone and on many connections. Alone, one that needs more than one call can use ends with
LIMIT. Always, the resident size stays within limits.memory plus 15 % and the write buffers of the store, and small calls
are served meanwhile."""
import contextlib
import threading
import time
import unittest

from keyway_gateway import Gateway, framed, is_sanitized, receive_frame, record, value
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType
from thrift.transport.TTransport import TMemoryBuffer
from keyway_thrift import Admin, Data
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

# limits.memory in MiB, the policy's limits, the cache. hostile.idl_walk tries 1 GiB, too.
SIZES = (
    (64, "memory: 64MiB, frame: 4MiB", "16MiB"),
    (256, "memory: 256MiB", "64MiB"),
)
ATTACK_S = 4

# Records of 10,000 entries that one call returns. Under ASan each allocation needs more memory.
LEAST_RECORDS = 0 if is_sanitized() else 10
CONNECTIONS = 32
CALLS_EACH = 16


def message(name, arguments):
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.writeMessageBegin(name, TMessageType.CALL, 1)
    arguments.write(protocol)
    protocol.writeMessageEnd()
    return framed(buffer.getvalue())


class Attack:
    """Connections that pipeline one message again and again while this context is entered."""

    def __init__(self, gateway, sent, reads):
        self.gateway, self.sent, self.reads, self.over = gateway, sent, reads, threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(CONNECTIONS)]

    def send(self, connection):
        with contextlib.suppress(OSError):
            for _ in range(CALLS_EACH):
                connection.sendall(self.sent)

    def run(self):
        while not self.over.is_set():
            with contextlib.suppress(OSError), self.gateway.connect(timeout=60) as connection:
                sender = threading.Thread(target=self.send, args=(connection,), daemon=True)
                sender.start()
                for _ in range(CALLS_EACH if self.reads else 0):
                    if self.over.is_set() or receive_frame(connection) is None:
                        break
                if not self.reads:
                    self.over.wait(5)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


class LargeCalls(unittest.TestCase):
    def refused(self, call, code):
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
        """A message of 150 kB whose exact plan has 10,000 keys of 30 kB. The plan is widened, or refused with its number of keys."""
        ints = [value(number) for number in range(10000)]
        names = [value("x" * 29990 + str(number)) for number in range(100)]

        def check(gateway, share):
            data, admin = gateway.data(), gateway.admin()
            refused = Query(table="wide", bound_any={"id": names, "a": ints[:100]})
            for call in (data.scan, data.latest, admin.explain):
                text = self.refused(lambda: call(refused), Code.LIMIT)
                self.assertRegex(text, "needs up to 10000 ranges .* at most 139 are allowed, .* 2999[0-9] bytes in each key")
                self.assertIn("query fewer values", text)
            for name in ("x" * 30000, "x"):
                found = data.scan(Query(table="wide", bound=record(id=name), bound_any={"a": ints[:100], "b": ints[:100]}))
                self.assertEqual(found.rows_returned, int(name == "x"))
            self.assertEqual(data.scan(Query(table="wide", bound=record(id="x"), bound_any={"a": ints})).rows_returned, 1)
        self.check_each_size(check)

    # --- maps ---------------------------------------------------------------------------------

    def fill_maps(self, data, records, entries):
        """Records of many small entries: their cells need nine times the memory of their bytes."""
        for number in range(records):
            counts = {str(entry): entry for entry in range(entries)}
            data.put("wide", record(id="map", a=number, b=1, counts=counts), None)
        return [record(id="map", a=number, b=1) for number in range(records)]

    def test_records_of_wide_maps(self):
        """A getMany of more entries than one call can hold returns the first records, and LIMIT for the others."""
        def check(gateway, share):
            data = gateway.data()
            count = min(100, share // (120 * 10000) + 10)
            keys = self.fill_maps(data, count, 10000)
            found = data.getMany("wide", keys, None, None)
            good = sum(one.record is not None and len(one.record["counts"].entries) == 10000 for one in found)
            limited = sum(one.failure is not None and one.failure.code == Code.LIMIT for one in found)
            self.assertEqual(good + limited, count)
            self.assertGreater(good, LEAST_RECORDS)
            self.assertGreater(limited, 0)
            again = data.getMany("wide", keys[good:good + min(good, 10)], None, None)
            self.assertTrue(all(one.record is not None for one in again))
        self.check_each_size(check)

    # --- many connections ---------------------------------------------------------------------

    def check_attacks(self, messages, reads):
        """Runs each attack against limits.memory of 256 MiB, beside a caller of small gets."""
        memory, limits, cache = SIZES[1]
        for name, sent in messages.items():
            with self.subTest(name=name), Gateway(POLICY.format(limits=limits, cache=cache)) as gateway:
                data, key = gateway.data(), record(id="x", a=1, b=1)
                data.put("wide", key | record(note="x"), None)
                self.fill_maps(data, 60, 10000)
                served = busy = 0
                gateway.reset_peak()
                with Attack(gateway, sent, reads):
                    end = time.monotonic() + ATTACK_S
                    while time.monotonic() < end:
                        try:
                            self.assertIsNotNone(data.get("wide", key, None, None).record)
                            served += 1
                        except KeywayError as error:
                            self.assertEqual(error.code, Code.BUSY, error)
                            busy += 1
                            time.sleep(0.01)
                peak = gateway.peak_resident_bytes()
                print(f"{self.id()} {name}: at most {peak // MIB} MiB, {served} gets served, {busy} busy")
                self.assertGreater(served, 10 * busy)
                if not is_sanitized():
                    self.assertLess(peak, memory * MIB * 1.15 + WRITE_BUFFERS)

    def messages(self):
        keys = [record(id="map", a=number, b=1) for number in range(50)]
        ints = [value(number) for number in range(2000)]
        return {
            "getMany of maps": message("getMany", Data.getMany_args(table="wide", keys=keys)),
            "scan of maps": message("scan", Data.scan_args(query=Query(table="wide", bound=record(id="map")))),
            "explain": message("explain", Admin.explain_args(
                query=Query(table="wide", bound=record(id="x" * 30000), bound_any={"a": ints}))),
        }

    def test_callers_that_do_not_read(self):
        self.check_attacks(self.messages(), reads=False)

    def test_callers_that_read(self):
        self.check_attacks(self.messages(), reads=True)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
