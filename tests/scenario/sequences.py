"""Generated fields: several gateways that share one sequence are killed and restarted, and no number is generated twice.
Argument: embedded (the default), redis or hbase. redis starts its own redis-server; KW_HBASE_ENV names the file with HBase's
addresses. Without the server the test is skipped."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from keyway_gateway import Gateway, Ready, free_ports, plain, record, wait_until
from keyway_hbase import skip, hbase_servers
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Options, Outcome

PLACE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
RUN = "kws_%x" % (time.time_ns() // 1000)
MINUTE = 60_000

POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
timeouts: {call: 100s}
store: %(store)s
%(counters)stables:
  %(run)s:
    fields:
      id: {type: int, generate: sequence}
      flake: {type: int, generate: snowflake}
      part: {type: int, generate: {kind: snowflake, form: partitioned}}
      uid: {type: bytes, generate: uuid7}
      oid: {type: string, generate: objectid}
      at: {type: timestamp, generate: now}
      minute: {type: int, generate: {kind: sequence, from: 0, to: 99999, per: minute, of: at}}
      few: {type: int, generate: {kind: sequence, from: 0, to: 4, per: minute, of: at}}
      ring: {type: int, generate: {kind: sequence, from: 1, to: 3, at_end: wrap}}
      note: string
    key: [field: id]
"""


class Redis:
    """A redis-server that persists every write, on its own port and folder."""

    def __init__(self):
        program = shutil.which("redis-server") or skip("redis-server is not installed")
        self.program = program
        self.folder = tempfile.mkdtemp(prefix="keyway-redis-")
        self.port = free_ports(1)[0]
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", "",
             "--appendonly", "yes", "--appendfsync", "always", "--requirepass", "sesame"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, "redis-server to answer")

    def answers(self):
        try:
            return self.ask("PING") == "+PONG"
        except OSError:
            return False

    def ask(self, *words):
        """The first line of the reply, or the second line of a bulk string."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            stream = connection.makefile("rwb")
            for command in (("AUTH", "sesame"), ("SELECT", "3"), words):
                stream.write(b"*%d\r\n" % len(command))
                for word in command:
                    stream.write(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()))
            stream.flush()
            answer = [stream.readline().strip().decode() for _ in range(3)][2]
            return stream.readline().strip().decode() if answer.startswith("$") else answer

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def hbase_store():
    return "{kind: hbase, servers: [%s], create_missing: true, catalog: %s_catalog}" % (hbase_servers()["KW_HBASE_BUFFERED"], RUN)


REDIS = Redis() if PLACE == "redis" else None
STORE = hbase_store() if PLACE == "hbase" else "{kind: embedded, path: FOLDER/data}"


def policy(counters=None):
    """The policy for Ready, which formats it: braces are doubled, except around `folder`."""
    if counters is None:
        counters = f'sequences: {{redis: "redis://default:sesame@127.0.0.1:{REDIS.port}/3"}}\n' if REDIS else ""
    text = POLICY % {"store": STORE, "run": RUN, "counters": counters}
    return text.replace("{", "{{").replace("}", "}}").replace("FOLDER", "{folder}")


def gateway():
    return Ready(policy())


class Seen:
    """Values that must be unique; any thread can add them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.values = {}

    def add(self, made):
        """Adds the values of one record. `minute` is unique within its minute."""
        with self.lock:
            for name in ("id", "flake", "part", "uid", "oid", ("minute", made["at"] // MINUTE)):
                key = name if isinstance(name, str) else name[0]
                held = self.values.setdefault(name, set())
                assert made[key] not in held, f"{name} {made[key]} came twice"
                held.add(made[key])


NOT_NOW = (Code.UNAVAILABLE, Code.TIMEOUT, Code.BUSY)  # of a store that stalls for seconds


def write(data, seen):
    seen.add(plain(data.put(RUN, record(note="one", few=1), None).made))
    for written in data.putMany(RUN, [record(note="many", few=1)] * 7, None):
        assert written.outcome == Outcome.OK or written.failure.code in NOT_NOW, written
        if written.outcome == Outcome.OK:
            seen.add(plain(written.made))
    block = data.allocate(RUN, "id", 5, None, None)
    with seen.lock:
        for number in range(block.first, block.first + block.count):
            assert number not in seen.values["id"], f"id {number} was allocated twice"
            seen.values["id"].add(number)


def writer(where, seen, killed, failures):
    """Puts records, one or many per call, until the gateway is killed."""
    try:
        data = where.data()
        while not killed.is_set():
            try:
                write(data, seen)
            except KeywayError as error:
                assert error.code in NOT_NOW, error
                time.sleep(0.02)
    except AssertionError as error:
        failures.append(error)
    except Exception as error:  # the gateway was killed, and the connection was closed
        if not killed.is_set():
            failures.append(error)


class Sequences(unittest.TestCase):
    def refused(self, code, words, call, *arguments):
        with self.assertRaises(KeywayError) as raised:
            call(*arguments)
        self.assertEqual(raised.exception.code, code, raised.exception.message)
        self.assertIn(words, raised.exception.message)
        return raised.exception

    def test_a_put_returns_generated_values(self):
        with gateway() as one:
            data = one.data()
            before = int(time.time() * 1000)
            written = data.put(RUN, record(note="hello"), None)
            after = int(time.time() * 1000)
            made = plain(written.made)
            self.assertEqual(set(made), {"id", "flake", "part", "uid", "oid", "at", "minute", "few", "ring"})
            for made_ms in (made["at"], (made["flake"] >> 22) + 1577836800000):
                self.assertTrue(before <= made_ms <= after + 2, (before, made_ms, after))
            for made_s in (made["part"] >> 25 & 0xffffffff, int(made["oid"][:8], 16)):
                self.assertTrue(before // 1000 <= made_s <= after // 1000 + 2, (before, made_s, after))
            self.assertEqual(made["part"] >> 57, (made["part"] >> 25 & 0xffffffff) // 60 % 60)
            self.assertEqual(made["uid"][6] >> 4, 7)
            found = plain(data.get(RUN, record(id=made["id"]), None, None).record)
            self.assertEqual(found, {**made, "note": "hello"})
            given = data.put(RUN, record(id=1 << 40, flake=1, part=2, uid=b"u", oid="o", at=7, minute=3, few=4, ring=5),
                             None)
            self.assertIsNone(given.made)
            self.refused(Code.INVALID, "sequences.keep", data.put, RUN, record(at=MINUTE), None)

    def test_ranges_run_out_and_wrap(self):
        with gateway() as one:
            data = one.data()
            at = int(time.time() * 1000) // MINUTE * MINUTE + 60 * MINUTE
            few = [plain(data.put(RUN, record(at=at), None).made)["few"] for _ in range(5)]
            self.assertEqual(sorted(few), [0, 1, 2, 3, 4])
            self.refused(Code.LIMIT, "field few, minute", data.put, RUN, record(at=at + 59_999), None)
            self.refused(Code.LIMIT, "field few, minute", data.allocate, RUN, "few", 1, None, record(at=at))
            self.assertIn(plain(data.put(RUN, record(at=at + MINUTE), None).made)["few"], range(5))
            outcomes = data.putMany(RUN, [record(at=at + 2 * MINUTE)] * 7, None)
            self.assertEqual(sorted(written.outcome for written in outcomes), [Outcome.OK] * 5 + [Outcome.FAILED] * 2)
            self.assertEqual({written.failure.code for written in outcomes if written.failure}, {Code.LIMIT})
            rings = [plain(data.put(RUN, record(few=1), None).made)["ring"] for _ in range(6)]
            self.assertEqual(set(rings), {1, 2, 3})

    def test_allocate(self):
        with gateway() as one:
            data = one.data()
            block = data.allocate(RUN, "id", 5000, None, None)
            self.assertEqual(block.count, 5000)
            later = data.allocate(RUN, "id", 1, Options(deadline_ms=60_000), None)
            self.assertNotIn(later.first, range(block.first, block.first + 5000))
            at = int(time.time() * 1000) + 90 * MINUTE
            self.assertEqual(data.allocate(RUN, "minute", 300, None, record(at=at)).count, 300)
            self.refused(Code.INVALID, "at, which is missing", data.allocate, RUN, "minute", 1, None, None)
            flakes = data.allocate(RUN, "flake", 100, None, None)
            self.assertTrue(1 <= flakes.count <= 100)
            self.refused(Code.INVALID, "is neither a sequence", data.allocate, RUN, "oid", 1, None, None)
            self.refused(Code.INVALID, "1 to 1000000000", data.allocate, RUN, "id", 0, None, None)
            self.assertGreater(one.metric("keyway_sequence_numbers_total"), 99)

    def test_put_if_generates_like_put(self):
        with gateway() as one:
            data = one.data()
            key = data.allocate(RUN, "id", 1, None, None).first
            free = Condition("note", CompareOp.EQUAL, None)
            before = int(time.time() * 1000)
            self.assertTrue(data.putIf(RUN, record(id=key, note="first", few=1), free, None))
            found = plain(data.get(RUN, record(id=key), None, None).record)
            self.assertEqual(set(found), {"id", "flake", "part", "uid", "oid", "at", "minute", "few", "ring", "note"})
            self.assertGreaterEqual(found["at"], before)
            self.assertFalse(data.putIf(RUN, record(id=key, note="second", few=1), free, None))
            self.assertEqual(plain(data.get(RUN, record(id=key), None, None).record), found)
            bound = Condition("note", CompareOp.EQUAL, record(note="first")["note"])
            self.assertTrue(data.putIf(RUN, record(id=key, note="third", at=found["at"], few=2), bound, None))
            third = plain(data.get(RUN, record(id=key), None, None).record)
            self.assertEqual((third["note"], third["few"], third["at"]), ("third", 2, found["at"]))
            self.assertNotIn(third["flake"], (found["flake"], None))
            self.assertTrue(data.putIf(RUN, record(note="new", few=1), free, None))  # its key is generated too
            reply = data.compareAndPut(RUN, record(note="created", few=1), free, None)
            self.assertTrue(reply.applied)
            made = plain(reply.made)
            self.assertEqual(set(made), {"id", "flake", "part", "uid", "oid", "at", "minute", "ring"})
            self.assertEqual(plain(data.get(RUN, record(id=made["id"]), None, None).record),
                             {**made, "note": "created", "few": 1})
            reply = data.compareAndPut(RUN, record(id=made["id"], note="again"), free, None)
            self.assertEqual((reply.applied, reply.made), (False, None))
            self.refused(Code.INVALID, "condition", data.compareAndPut, RUN, record(note="x"), None, None)
            self.refused(Code.INVALID, "sequences.keep", data.putIf, RUN, record(id=key, at=MINUTE), free, None)
            notes = one.admin().explainPut(RUN, record(note="x", at=5)).notes
            fields = [note.split(" ")[0] for note in notes if " is generated by the put; " in note]
            self.assertEqual(fields, ["id", "flake", "part", "uid", "oid", "minute", "few", "ring"])

    def test_killed_gateways(self):
        """Two gateways at the same time (embedded: one after the other) are killed and restarted, ten times in total."""
        seen, failures = Seen(), []
        count = 1 if PLACE != "hbase" else 2
        gateways = [gateway() for _ in range(count)]
        try:
            for life in range(1, 6):
                killed, threads = threading.Event(), []
                for one in gateways:
                    one.start()
                    threads += [threading.Thread(target=writer, args=(one, seen, killed, failures)) for _ in range(3)]
                for thread in threads:
                    thread.start()
                time.sleep(0.4)
                wait_until(lambda least=25 * life: failures or len(seen.values.get("id", ())) > least, "some ids")
                killed.set()
                for one in gateways:
                    one.process.send_signal(signal.SIGKILL)
                    one.wait_for_exit()
                for thread in threads:
                    thread.join()
                self.assertEqual(failures, [])
            self.assertGreater(len(seen.values["id"]), 100)
        finally:
            for one in gateways:
                one.kill()
                shutil.rmtree(one.folder, ignore_errors=True)

    @unittest.skipUnless(PLACE == "redis", "needs Redis: the gateways have separate stores")
    def test_gateways_share_redis(self):
        seen, failures, stop = Seen(), [], threading.Event()
        with gateway() as one, gateway() as two:
            threads = [threading.Thread(target=writer_of_numbers, args=(each, seen, stop, failures))
                       for each in (one, two) for _ in range(2)]
            for thread in threads:
                thread.start()
            time.sleep(0.5)
            wait_until(lambda: failures or len(seen.values.get("id", ())) > 100, "a hundred ids")
            stop.set()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            self.assertGreater(len(seen.values["id"]), 100)

    @unittest.skipUnless(PLACE == "redis", "needs Redis, whose keys it reads")
    def test_counters_in_redis(self):
        with gateway() as one:
            data = one.data()
            made = plain(data.put(RUN, record(note="x"), None).made)
            self.assertGreaterEqual(int(REDIS.ask("GET", f"keyway:{RUN}/id")), made["id"])
            self.assertEqual(REDIS.ask("TTL", f"keyway:{RUN}/id"), ":-1")
            left = int(REDIS.ask("TTL", f"keyway:{RUN}/minute/minute/{made['at'] // MINUTE}")[1:])
            self.assertTrue(15 * 86400 < left <= 16 * 86400 + 3, left)
            REDIS.ask("SET", f"keyway:{RUN}/ring", "nonsense")
            failed = self.refused(Code.REFUSED, "the counter in Redis is not a number", data.allocate, RUN, "ring", 3, None, None)
            self.assertNotIn("127.0.0.1", failed.message)
            self.assertIn("not an integer", one.log())
            REDIS.ask("DEL", f"keyway:{RUN}/ring")

    @unittest.skipUnless(PLACE == "redis", "needs a Redis with a password")
    def test_password_file(self):
        secret = os.path.join(REDIS.folder, "password")
        counters = f'sequences: {{redis: "redis://127.0.0.1:{REDIS.port}/3", redis_password_file: {secret}}}\n'
        for text, mode, right in (("wrong\n", 0o600, False), ("sesame\n", 0o644, True)):
            with open(secret, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(secret, mode)
            with Ready(policy(counters)) as one:
                data = one.data()
                if right:
                    self.assertEqual(data.allocate(RUN, "id", 2, None, None).count, 2)
                else:
                    self.refused(Code.UNAVAILABLE, "Redis denies the gateway access", data.allocate, RUN, "id", 2, None, None)
                self.assertEqual("other users can read the password for Redis" in one.log(), right)
                self.assertNotIn("sesame", one.log())
        os.unlink(secret)
        none = Gateway(policy(counters), expect_start=False)
        try:
            none.start()
            wait_until(lambda: f"sequences.redis_password_file: {secret}: " in none.log(), "the log to name the missing file")
        finally:
            none.kill()
            shutil.rmtree(none.folder, ignore_errors=True)

    @unittest.skipUnless(PLACE == "redis", "needs Redis, which it kills")
    def test_redis_is_killed_and_restarted(self):
        with gateway() as one:
            data = one.data()
            first = data.allocate(RUN, "id", 100, None, None)
            REDIS.kill()
            self.refused(Code.UNAVAILABLE, "Redis", data.allocate, RUN, "id", 100, None, None)
            REDIS.start()
            second = data.allocate(RUN, "id", 100, None, None)
            self.assertGreater(second.first, first.first + 99)


def writer_of_numbers(where, seen, stop, failures):
    """Allocates ids: gateways with separate stores share only these."""
    try:
        data = where.data()
        while not stop.is_set():
            block = data.allocate(RUN, "id", 3, None, None)
            with seen.lock:
                held = seen.values.setdefault("id", set())
                for number in range(block.first, block.first + block.count):
                    assert number not in held, f"id {number} came twice"
                    held.add(number)
    except Exception as error:
        failures.append(error)


def main():
    try:
        program = unittest.main(exit=False, warnings="ignore")
        return 0 if program.result.wasSuccessful() else 1
    finally:
        if REDIS:
            REDIS.close()


if __name__ == "__main__":
    sys.exit(main())
