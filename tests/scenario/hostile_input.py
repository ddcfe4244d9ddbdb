"""Invalid bytes: each kind has one defined outcome, and the gateway keeps serving all other callers.

If the end of the message is known (a frame), the reply to an invalid message is a TApplicationException, and the
connection stays open. Otherwise the connection is closed. No input takes more of the gateway's memory or time than its
limits allow.
"""
import os
import random
import socket
import struct
import time
import unittest

from keyway_gateway import (CALL, EXCEPTION, ONEWAY, PATIENCE, POLICY, REPLY, Gateway, binary_message, framed, is_closed,
                            is_sanitized, plain, receive_exactly, receive_frame, record, reply_head, wait_until)
from thrift.transport.TTransport import TTransportException

STRING, STRUCT, MAP, LIST, I32 = 11, 12, 13, 15, 8
UNKNOWN_METHOD, INVALID_MESSAGE_TYPE, PROTOCOL_ERROR = 1, 2, 7
GATEWAY = None
LIMITS = "limits: {{frame: 16MiB}}\n"


def field(kind, number, body=b""):
    return struct.pack(">bh", kind, number) + body


def string(raw):
    return struct.pack(">i", len(raw)) + raw


def get_args(identity=b"x"):
    """The arguments of get("events", {"id": identity, "ts": 1})."""
    key = struct.pack(">bbi", STRING, STRUCT, 2)
    key += string(b"id") + field(STRING, 4, string(identity)) + b"\0"
    key += string(b"ts") + field(10, 2, struct.pack(">q", 1)) + b"\0"
    return field(STRING, 1, string(b"events")) + field(MAP, 2, key)


def exception_type(body):
    """The type of a TApplicationException's body."""
    at = 0
    while body[at]:
        kind, number = struct.unpack(">bh", body[at:at + 3])
        at += 3
        if kind == I32:
            return struct.unpack(">i", body[at:at + 4])[0]
        at += 4 + struct.unpack(">i", body[at:at + 4])[0]
    return None


class Attacked(unittest.TestCase):
    """A gateway for all the attacks of a class. It must serve other callers before and after each attack."""
    policy = POLICY + LIMITS

    @classmethod
    def setUpClass(cls):
        global GATEWAY
        GATEWAY = Gateway(cls.policy).start()

    @classmethod
    def tearDownClass(cls):
        try:
            GATEWAY.stop()
        finally:
            GATEWAY.__exit__(None, None, None)

    def setUp(self):
        # Connections of the previous test are counted as broken before they are closed.
        wait_until(lambda: GATEWAY.metric("keyway_connections_open") == 0, "the other connections to close")
        self.good = GATEWAY.data()
        self.broken_before = GATEWAY.metric("keyway_connections_broken_total")
        self.assert_serving()

    def tearDown(self):
        self.assert_serving()
        self.good.close()
        self.assertIsNone(GATEWAY.process.poll(), GATEWAY.log())

    def assert_serving(self):
        self.good.put("events", record(id="good", ts=1, note="still here"), None)
        found = self.good.get("events", record(id="good", ts=1), None, None)
        self.assertEqual(plain(found.record)["note"], "still here")

    def assert_broken(self, connection):
        """The connection is closed, and counted as broken."""
        self.assertTrue(is_closed(connection))
        connection.close()
        self.await_broken()

    def await_broken(self):
        wait_until(lambda: GATEWAY.metric("keyway_connections_broken_total") == self.broken_before + 1,
                   "the connection to be counted as broken")
        self.broken_before += 1

    @staticmethod
    def assert_logged(attack, text):
        """The gateway logs only some of the broken connections of a second, so the attack is repeated until one is logged."""
        def is_logged():
            before = len(GATEWAY.log())
            attack()
            return text in GATEWAY.log()[before:]
        wait_until(is_logged, f"{text!r} in the log")

    def ask(self, connection, payload):
        connection.sendall(framed(payload))
        found = receive_frame(connection)
        self.assertIsNotNone(found, "the connection was closed")
        return reply_head(found)

    def assert_refused(self, name, body, wanted=PROTOCOL_ERROR):
        """The reply is an exception of that type, and the connection stays open."""
        with GATEWAY.connect() as connection:
            kind, method, sequence, answer = self.ask(connection, binary_message(name, body, sequence=77))
            self.assertEqual((kind, method, sequence), (EXCEPTION, name, 77))
            self.assertEqual(exception_type(answer), wanted)
            kind, method, _, _ = self.ask(connection, binary_message("get", get_args() + b"\0"))
            self.assertEqual((kind, method), (REPLY, "get"))

    def assert_unframed_broken(self, message):
        connection = GATEWAY.connect()
        try:
            connection.sendall(message)
        except (ConnectionResetError, BrokenPipeError):
            pass
        self.assert_broken(connection)


class Hostile(Attacked):
    # --- nesting --------------------------------------------------------------------------------

    def test_nested_structs(self):
        deep = field(STRUCT, 9) * 100000 + b"\0" * 100001
        self.assert_refused("put", deep)
        self.assert_unframed_broken(binary_message("put", deep))

    def test_nested_lists(self):
        self.assert_refused("put", field(LIST, 9) + struct.pack(">bi", LIST, 1) * 100000 + b"\0")

    def test_nested_compact_structs(self):
        message = b"\x82\x21\x01\x03put" + b"\x1c" * 100000 + b"\0" * 100001
        with GATEWAY.connect() as connection:
            connection.sendall(framed(message))
            answer = receive_frame(connection)
            self.assertEqual(answer[:2], b"\x82\x61")
        self.assert_unframed_broken(message)

    # --- lengths --------------------------------------------------------------------------------

    def test_frame_lengths(self):
        for length in (-1, -2147483648, 2147483647, 16 * 1024 * 1024 + 1, 0):
            connection = GATEWAY.connect()
            connection.sendall(struct.pack(">i", length) + b"\x80\x01\0\1")
            self.assert_broken(connection)

    def test_string_lengths(self):
        for length in (-1, -2147483648, 2147483647, 5000, 64 * 1024 * 1024):
            with self.subTest(length=length):
                known = field(STRING, 1, struct.pack(">i", length) + b"events") + b"\0"
                unknown = field(STRING, 44, struct.pack(">i", length) + b"events") + b"\0"
                self.assert_refused("put", known)
                self.assert_refused("put", unknown)

    def test_string_lengths_unframed(self):
        for length in (-1, 2147483647):
            self.assert_unframed_broken(
                binary_message("put", field(STRING, 1, struct.pack(">i", length) + b"events") + b"\0"))

    def test_method_name_lengths(self):
        for length in (-1, 2147483647, 256):
            connection = GATEWAY.connect()
            connection.sendall(framed(struct.pack(">HBBi", 0x8001, 0, CALL, length) + b"put" + b"\0" * 300))
            self.assert_broken(connection)

    def test_container_counts(self):
        for count in (-1, 2147483647, 1000000):
            with self.subTest(count=count):
                self.assert_refused("putMany", field(LIST, 2) + struct.pack(">bi", MAP, count) + b"\0")
                self.assert_refused("put", field(MAP, 2) + struct.pack(">bbi", STRING, STRUCT, count) + b"\0")
                self.assert_refused("put", field(LIST, 44) + struct.pack(">bi", STRUCT, count) + b"\0")

    def test_compact_lengths(self):
        for varint in (b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\xff" * 10 + b"\1", b"\x80" * 12):
            with GATEWAY.connect() as connection:
                connection.sendall(framed(b"\x82\x21\x05\x03put\x18" + varint + b"events\0"))
                self.assertEqual(receive_frame(connection)[:3], b"\x82\x61\x05")

    # --- complete but unusual messages ----------------------------------------------------------

    def test_binary_field_twice(self):
        with GATEWAY.connect() as connection:
            twice = field(STRING, 1, string(b"events")) + get_args() + field(STRING, 1, string(b"events")) + b"\0"
            kind, name, _, _ = self.ask(connection, binary_message("get", twice))
            self.assertEqual((kind, name), (REPLY, "get"))
            for _ in range(50):
                kind, name, _, _ = self.ask(connection, binary_message("get", get_args(b"y" * 50) + b"\0"))
                self.assertEqual((kind, name), (REPLY, "get"))

    def test_millions_of_empty_structs(self):
        empty = field(LIST, 44) + struct.pack(">bi", STRUCT, 5000000) + b"\0" * 5000000
        before = GATEWAY.resident_bytes()
        with GATEWAY.connect() as connection:
            kind, _, _, _ = self.ask(connection, binary_message("get", get_args() + empty + b"\0"))
            self.assertIn(kind, (REPLY, EXCEPTION))
        if not is_sanitized():
            self.assertLess(GATEWAY.resident_bytes() - before, 200 << 20)

    def test_millions_of_empty_values(self):
        """Each would decode into a struct many times its size; the limit of decoded bytes stops it."""
        values = field(STRUCT, 1) + field(STRING, 1, string(b"events")) + field(MAP, 3)
        values += struct.pack(">bbi", STRING, LIST, 1) + string(b"id") + struct.pack(">bi", STRUCT, 5000000)
        before = GATEWAY.resident_bytes()
        self.assert_refused("scan", values + b"\0" * 5000000 + b"\0\0")
        if not is_sanitized():
            self.assertLess(GATEWAY.resident_bytes() - before, 300 << 20)

    def test_bytes_after_the_message(self):
        self.assert_refused("get", get_args() + b"\0" + b"more")

    def test_message_cut_short(self):
        whole = get_args() + b"\0"
        for size in range(0, len(whole) - 1):
            self.assert_refused("get", whole[:size])

    def test_wrong_types(self):
        self.assert_refused("get", field(I32, 1, b"\0\0\0\7") + b"\0")
        self.assert_refused("get", field(17, 1, b"\0\0\0\7") + b"\0")
        with GATEWAY.connect() as connection:
            kind, _, _, answer = self.ask(connection, binary_message("get", b"\0"))
            self.assertEqual(kind, REPLY)
            self.assertIn(b"the argument table is missing", answer)

    # --- message headers ------------------------------------------------------------------------

    def test_unknown_method(self):
        self.assert_refused("delete_everything", b"\0", UNKNOWN_METHOD)
        self.assert_refused("putt", get_args() + b"\0", UNKNOWN_METHOD)
        with GATEWAY.connect() as connection:
            connection.sendall(framed(binary_message(b"\xff\0\n" * 80, b"\0")))
            answer = receive_frame(connection)
            self.assertEqual(answer[3], EXCEPTION)
            self.assertIn(b"there is no method", answer)

    def test_only_calls_are_served(self):
        for kind in (REPLY, EXCEPTION):
            with GATEWAY.connect() as connection:
                found = self.ask(connection, binary_message("get", get_args() + b"\0", kind=kind))
                self.assertEqual((found[0], exception_type(found[3])), (EXCEPTION, INVALID_MESSAGE_TYPE))

    def test_a_oneway_call_gets_no_reply(self):
        with GATEWAY.connect() as connection:
            connection.sendall(framed(binary_message("get", get_args() + b"\0", sequence=1, kind=ONEWAY)))
            connection.sendall(framed(binary_message("nothing", b"\0", sequence=2, kind=ONEWAY)))
            _, _, sequence, _ = self.ask(connection, binary_message("get", get_args() + b"\0", sequence=3))
            self.assertEqual(sequence, 3)

    def test_message_types_that_do_not_exist(self):
        for kind in (0, 5, 255):
            connection = GATEWAY.connect()
            connection.sendall(framed(binary_message("get", get_args() + b"\0", kind=kind)))
            self.assert_broken(connection)

    def test_old_style_header(self):
        """Not strict: a name without a version before it."""
        connection = GATEWAY.connect()
        connection.sendall(framed(string(b"get") + b"\1\0\0\0\1\0"))
        self.assert_broken(connection)

    def test_other_protocols(self):
        for text in (b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", b"POST /api HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01",
                     b"SSH-2.0-OpenSSH_9.2\r\n", b"*1\r\n$4\r\nPING\r\n", b"{\"a\": 1}\n", b"\0" * 64, b"\xff" * 64):
            with self.subTest(text=text):
                connection = GATEWAY.connect()
                connection.sendall(text)
                self.assert_broken(connection)

    def test_the_log_names_http(self):
        def talk():
            connection = GATEWAY.connect()
            connection.sendall(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
            self.assert_broken(connection)
        self.assert_logged(talk, "it looks like HTTP")

    # --- incomplete messages --------------------------------------------------------------------

    def test_a_frame_in_single_bytes(self):
        with GATEWAY.connect() as connection:
            for byte in framed(binary_message("get", get_args() + b"\0")):
                connection.sendall(bytes([byte]))
            self.assertEqual(reply_head(receive_frame(connection))[1], "get")

    def test_half_a_frame_then_a_reset(self):
        def reset():
            connection = GATEWAY.connect()
            read = GATEWAY.metric("keyway_bytes_in_total")
            connection.sendall(framed(binary_message("get", get_args() + b"\0"))[:30])
            wait_until(lambda: GATEWAY.metric("keyway_bytes_in_total") == read + 30, "the half to be read")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            self.await_broken()
        self.assert_logged(reset, "in the middle of a message")

    def test_half_a_frame_then_a_close(self):
        connection = GATEWAY.connect()
        connection.sendall(framed(binary_message("get", get_args() + b"\0"))[:30])
        connection.shutdown(socket.SHUT_WR)
        self.assert_broken(connection)

    def test_callers_that_close_before_the_reply(self):
        accepted = GATEWAY.metric("keyway_connections_accepted_total")
        for _ in range(50):
            connection = GATEWAY.connect()
            connection.sendall(framed(binary_message("get", get_args() + b"\0")) * 20)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        wait_until(lambda: GATEWAY.metric("keyway_connections_accepted_total") == accepted + 50, "all to be accepted")
        wait_until(lambda: GATEWAY.metric("keyway_connections_open") == 1, "the connections to close")
        wait_until(lambda: GATEWAY.metric("keyway_calls_in_flight") == 0, "the calls to end")

    # --- large numbers --------------------------------------------------------------------------

    def test_more_calls_than_may_be_in_flight(self):
        count = 3000
        with GATEWAY.connect() as connection:
            calls = b"".join(framed(binary_message("get", get_args() + b"\0", sequence=i)) for i in range(count))
            sender = os.fork()
            if sender == 0:
                try:
                    connection.sendall(calls)
                finally:
                    os._exit(0)
            for i in range(count):
                kind, _, sequence, _ = reply_head(receive_frame(connection))
                self.assertEqual((kind, sequence), (REPLY, i))
            os.waitpid(sender, 0)

    def test_random_bytes(self):
        """Messages with a few changed bytes, framed and unframed: each gets a reply, or its connection is closed."""
        seed = int(os.environ.get("KW_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"KW_SEED={seed}")
        chance = random.Random(seed)
        whole = [binary_message("get", get_args() + b"\0"), b"\x82\x21\x01\x03get\x18\x06events\0",
                 binary_message("put", get_args() + b"\0"),
                 binary_message("scan", field(STRUCT, 1) + field(STRING, 1, string(b"events")) + b"\0\0")]
        for _ in range(1500):
            message = bytearray(chance.choice(whole))
            for _ in range(chance.randint(1, 6)):
                message[chance.randrange(len(message))] = chance.randrange(256)
            with GATEWAY.connect() as connection:
                bare = chance.random() < 0.5
                connection.sendall(bytes(message) if bare else framed(bytes(message)))
                connection.shutdown(socket.SHUT_WR)
                receive_exactly(connection, 1 << 20)


class Slow(Attacked):
    """Callers that take too long. Tests of quick callers use a gateway with longer limits, as the machine may be slow."""
    policy = POLICY + "timeouts: {{frame: 1s}}\n" + LIMITS

    def test_a_frame_that_never_completes(self):
        for part in (b"\0", b"\0\0\1\0", framed(binary_message("get", get_args() + b"\0"))[:-1],
                     binary_message("get", get_args())):
            connection = GATEWAY.connect()
            began = time.monotonic()
            connection.sendall(part)
            self.assert_broken(connection)
            self.assertGreater(time.monotonic() - began, 0.9)

    def test_a_frame_that_trickles(self):
        """Single bytes at intervals do not extend the time that a message has."""
        connection = GATEWAY.connect()
        message = framed(binary_message("get", get_args(b"x" * 5000) + b"\0"))
        began = time.monotonic()
        with self.assertRaises((ConnectionResetError, BrokenPipeError)):
            for at in range(int(PATIENCE / 0.1)):  # fewer bytes than the message has
                connection.sendall(message[at:at + 1])
                time.sleep(0.1)
        self.assertGreater(time.monotonic() - began, 0.9)
        self.assert_broken(connection)

    def has_put_big(self):
        """This frame also has one second. On a machine that stalls, the first tries may arrive too late."""
        try:
            self.good.put("events", record(id="big", ts=1, note="x" * 500000), None)
            return True
        except (TTransportException, OSError):
            self.good.close()
            self.good = GATEWAY.data()
            self.broken_before = GATEWAY.metric("keyway_connections_broken_total")
            return False

    def test_a_caller_that_does_not_read(self):
        """The gateway stops reading from it at its limit, and closes it if it accepts no bytes for too long."""
        wait_until(self.has_put_big, "the big record to be put")
        connection = GATEWAY.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(1)
        message = framed(binary_message("get", get_args(b"big") + b"\0"))
        before = GATEWAY.resident_bytes()
        sent = 0
        try:
            while sent < 20000:
                connection.sendall(message * 10)
                sent += 10
        except (TimeoutError, ConnectionResetError, BrokenPipeError):
            pass
        if not is_sanitized():
            self.assertLess(GATEWAY.resident_bytes() - before, 200 << 20)
        wait_until(lambda: GATEWAY.metric("keyway_connections_broken_total") == self.broken_before + 1,
                   "the silent caller to be closed")
        connection.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
