"""The log: each line is one object with one key for each fact, in both formats. The request id of an error is in the
log. Calls and their records are counted by outcome."""
import contextlib
import json
import re
import socket
import threading
import unittest

from keyway_gateway import (EXCEPTION, POLICY, REPLY, Gateway, binary_message, framed, receive_frame, record, reply_head,
                            wait_until)
from keyway_thrift.ttypes import Code, KeywayError, Options, Outcome, Query

# A table whose numbers come from a Redis.
NUMBERED = POLICY.replace("tables:\n", """\
sequences: {{redis: "redis://127.0.0.1:REDIS"}}
tables:
  numbered:
    fields: {{id: string, n: {{type: int, generate: {{kind: sequence}}}}}}
    key: [id]
""")
HOSTILE = 'a"b\\c=d e\nlevel=error event=forged\x1b[31m'
PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"=\\]+)(?: |$)')
LOGGED_PER_SECOND = 50  # failed calls, per loop


def without_repeats(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key occurs twice: {pairs}"
    return dict(pairs)


def read_logfmt(line):
    """The facts of a line; raises an error unless the whole line consists of key=value pairs."""
    pairs, at = [], 0
    while at < len(line):
        found = PAIR.match(line, at)
        assert found, f"no pair at {at}: {line}"
        value = found[2]
        pairs.append((found[1], json.loads(value) if value.startswith('"') else value))
        at = found.end()
    return without_repeats(pairs)


def read_json(line):
    found = json.loads(line, object_pairs_hook=without_repeats)
    assert all(isinstance(value, (str, int)) for value in found.values()), f"a fact has parts: {line}"
    return found


class Redis:
    """A Redis that answers SELECT, and INCRBY with the bytes in `answer`; None: it does not answer."""

    def __init__(self):
        self.answer = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            while read := connection.recv(4096):
                for command in re.findall(rb"SELECT|INCRBY", read):
                    reply = b"+OK\r\n" if command == b"SELECT" else self.answer
                    if reply:
                        connection.sendall(reply)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def facts_of(gateway, read, event):
    """The facts of the lines with this event. Reads every line."""
    lines = [read(line) for line in gateway.log().splitlines()]
    return [line for line in lines if line["event"] == event]


class Log(unittest.TestCase):
    def refused(self, call, *arguments):
        with self.assertRaises(KeywayError) as caught:
            call(*arguments)
        return caught.exception

    def check_format(self, name, read):
        policy = POLICY + f"log: {{{{format: {name}}}}}\nlimits: {{{{batch_records: 3}}}}\n"
        with Gateway(policy) as gateway:
            data = gateway.data()
            errors = [
                self.refused(data.describe, HOSTILE),
                self.refused(data.put, "events", record(id="x"), None),
                self.refused(data.putMany, "events", [record(id="x", ts=1)] * 4, None),
                self.refused(data.scan, Query(table="events", range=None, filter="(")),
            ]
            data.close()
            self.assertEqual([error.code for error in errors], [Code.NOT_FOUND, Code.INVALID, Code.LIMIT, Code.INVALID])
            lines = facts_of(gateway, read, "call failed")
            for error in errors:
                found = [line for line in lines if line["request"] == error.request_id]
                self.assertEqual(len(found), 1, gateway.log())
                self.assertEqual(found[0]["code"], Code._VALUES_TO_NAMES[error.code])
                self.assertEqual(found[0]["reason"], error.message)
                self.assertEqual(found[0]["level"], "info")
            self.assertEqual(len(lines), len(errors))
            gateway.stop()
            self.assertEqual(str(facts_of(gateway, read, "ended")[0]["exit_code"]), "0")

    def test_json(self):
        self.check_format("json", read_json)

    def test_logfmt(self):
        self.check_format("logfmt", read_logfmt)

    def test_every_code(self):
        """The request id of every error that a gateway sends is in the log at the default level, with the reason.

        DENIED and INTERNAL have a unit test only (service_outcome): nothing is denied, and nothing is known to be wrong."""
        with Redis() as redis, Gateway(NUMBERED.replace("REDIS", str(redis.port))) as gateway, \
                Gateway(POLICY + "limits: {{batch_records: 1, peer_connections: 1}}\n") as limited:
            data, admin = gateway.data(), gateway.admin()

            def number(answer, deadline_ms=60000):
                def call():
                    redis.answer = answer
                    data.put("numbered", record(id="x"), Options(deadline_ms=deadline_ms))
                return call

            first = limited.data()
            first.tables()  # its connection is the only one of this peer
            provoked = {
                Code.INVALID: (gateway, lambda: data.put("events", {}, None)),
                Code.NOT_FOUND: (gateway, lambda: data.describe("nowhere")),
                Code.LIMIT: (limited, lambda: first.putMany("events", [record(id="x", ts=1)] * 2, None)),
                Code.BUSY: (limited, lambda: limited.data().tables()),
                Code.UNAVAILABLE: (gateway, number(b"-LOADING later\r\n")),
                Code.REFUSED: (gateway, lambda: admin.policyApply(POLICY, 0, None)),
                Code.CORRUPT: (gateway, number(b"+text\r\n")),
                Code.TIMEOUT: (gateway, number(None, 300)),  # the last one: a later reply would be that of this addition
            }
            for code, (where, call) in provoked.items():
                with self.subTest(code=Code._VALUES_TO_NAMES[code]):
                    error = self.refused(call)
                    self.assertEqual(error.code, code, error.message)
                    [line] = [line for line in facts_of(where, read_logfmt, "call failed") if line["request"] == error.request_id]
                    self.assertEqual((line["code"], line["reason"]), (Code._VALUES_TO_NAMES[code], error.message))
            first.close()

    def test_a_message_that_is_no_call(self):
        """It has no request id, because Thrift's own error has no member for it; the log has its method and peer."""
        with Gateway(POLICY) as gateway:
            with gateway.connect() as connection:
                peer = "%s:%d" % connection.getsockname()
                for message in (binary_message("putt"), binary_message("put", b"\x0c"), binary_message("put", kind=REPLY)):
                    connection.sendall(framed(message))
                    self.assertEqual(reply_head(receive_frame(connection))[0], EXCEPTION)
            lines = facts_of(gateway, read_logfmt, "message refused")
            self.assertEqual([(line["level"], line["method"], line["peer"]) for line in lines],
                             [("info", '"putt"', peer), ("info", '"put"', peer), ("info", '"put"', peer)])
            self.assertIn('did you mean "put"?', lines[0]["reason"])
            self.assertEqual(gateway.metric("keyway_calls_failed_total"), 3)

    def test_problems_of_a_policy(self):
        """Each problem of a reload has a line, with its position."""
        with Gateway(POLICY + "log: {{format: json}}\n") as gateway:
            gateway.write_policy(POLICY.replace("note: string", "note: strng") + "log: {{format: json}}\n")
            gateway.reload()
            gateway.wait_for_log("the old one stays in service")
            [problem] = facts_of(gateway, read_json, "policy problem")
            self.assertEqual((problem["line"], problem["file"]), (12, gateway.policy_file))
            self.assertIn("strng", problem["problem"])
            self.assertIn("string", problem["hint"])

    def test_a_flood(self):
        """Errors beyond the limit of the log have no id, and are counted."""
        with Gateway(POLICY.replace("loops: 2", "loops: 1")) as gateway:
            count = 10 * LOGGED_PER_SECOND
            connection = gateway.connect()
            name = b"\x0b\0\1\0\0\0\2no\0"
            connection.sendall(b"".join(framed(binary_message("describe", name, sequence=i)) for i in range(count)))
            replies = [reply_head(receive_frame(connection))[3] for _ in range(count)]
            connection.close()
            logged = facts_of(gateway, read_logfmt, "call failed")
            ids = [line["request"] for line in logged]
            with_id = [body for body in replies if any(one.encode() in body for one in ids)]
            self.assertEqual(len(with_id), len(ids))
            self.assertGreaterEqual(len(ids), LOGGED_PER_SECOND)
            self.assertLess(len(ids), count)
            id_field = re.compile(rb"\x0b\x00\x05\x00\x00\x00")  # field 5 of KeywayError, a short string
            self.assertEqual(sum(bool(id_field.search(body)) for body in replies), len(ids))
            unlogged = gateway.metric("keyway_calls_failed_unlogged_total")
            self.assertEqual(unlogged, count - len(ids))
            data = gateway.data()
            wait_until(lambda: self.refused(data.describe, "no").request_id, "a second without a flood")
            data.close()
            reported = sum(int(line["count"]) for line in facts_of(gateway, read_logfmt, "failed calls, not logged"))
            self.assertEqual(reported, gateway.metric("keyway_calls_failed_unlogged_total"))

    def test_the_level_excludes_a_failure(self):
        with Gateway(POLICY + "log: {{level: warn}}\n") as gateway:
            data = gateway.data()
            error = self.refused(data.describe, "no")
            data.close()
            self.assertIsNone(error.request_id)
            self.assertEqual(facts_of(gateway, read_logfmt, "call failed"), [])


class Records(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(POLICY).start()
        self.addCleanup(self.gateway.__exit__, None, None, None)
        self.data = self.gateway.data()
        self.addCleanup(self.data.close)

    def calls(self, method, code):
        return self.gateway.metric(f'keyway_calls_total{{method="{method}",code="{code}"}}')

    def records(self, method, code):
        return self.gateway.metric(f'keyway_records_total{{method="{method}",code="{code}"}}')

    def test_all_records_fail(self):
        written = self.data.putMany("events", [record(id="x"), record(ts=1), record(id="x", ts="late")], None)
        self.assertEqual([one.outcome for one in written], [Outcome.FAILED] * 3)
        self.assertEqual((self.calls("putMany", "OK"), self.calls("putMany", "INVALID")), (0, 1))
        self.assertEqual((self.records("putMany", "OK"), self.records("putMany", "INVALID")), (0, 3))
        self.assertEqual(self.gateway.metric("keyway_calls_failed_total"), 1)
        [line] = facts_of(self.gateway, read_logfmt, "records failed")
        self.assertEqual((line["method"], line["code"], line["records"], line["failed"]), ("putMany", "INVALID", "3", "3"))
        self.assertEqual(line["first_reason"], written[0].failure.message)

    def test_some_records_fail(self):
        keys = [record(id="x", ts=1), record(id="x"), record(id="x", ts=2)]
        self.data.putMany("events", keys, None)
        self.data.getMany("events", keys, None, None)
        self.data.removeMany("events", keys, None, None)
        for method in ("putMany", "getMany", "removeMany"):
            self.assertEqual((self.calls(method, "OK"), self.calls(method, "INVALID")), (1, 0))
            self.assertEqual((self.records(method, "OK"), self.records(method, "INVALID")), (2, 1))
        self.assertEqual(self.gateway.metric("keyway_calls_failed_total"), 0)
        lines = facts_of(self.gateway, read_logfmt, "records failed")
        self.assertEqual([(line["method"], line["failed"]) for line in lines],
                         [("putMany", "1"), ("getMany", "1"), ("removeMany", "1")])
        admin = self.gateway.admin()
        stats = admin.stats()
        admin.close()
        self.assertEqual((stats["getMany.records"], stats["getMany.records_failed"]), (3, 1))

    def test_a_call_that_fails_as_a_whole(self):
        with self.assertRaises(KeywayError):
            self.data.putMany("events", [record(id="x", ts=1)], Options(deadline_ms=-1))
        self.assertEqual((self.calls("putMany", "INVALID"), self.records("putMany", "INVALID")), (1, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
