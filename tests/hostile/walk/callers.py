"""Callers that send one message each, in different ways. run() ends when each call was answered or its connection closed."""
import contextlib
import selectors
import struct
import time

from keyway_gateway import EXCEPTION, reply_head
from keyway_thrift.ttypes import Code

MIB = 1024 * 1024
IN_FLIGHT = 128  # calls of one connection that the gateway processes at a time
SENT_MOST = 48 * MIB  # of one connection
SILENT_S = 2  # how long callers that never read stay connected
# Heads of members: `failure` of a result; `code` and `message` of a KeywayError
FAILURE, CODE, MESSAGE = b"\x0c\0\1", b"\x08\0\1", b"\x0b\0\2"


class Mode:
    """How many connections send the message, how often each of them, and what they do then."""

    def __init__(self, connections, calls, reads, closes):
        self.connections, self.calls, self.reads, self.closes = connections, calls, reads, closes


MODES = {"once": Mode(1, 1, reads=True, closes=False),
         "pipelined": Mode(1, IN_FLIGHT, reads=True, closes=False),
         "16 callers": Mode(16, IN_FLIGHT, reads=True, closes=False),
         "close at once": Mode(1, IN_FLIGHT, reads=False, closes=True),
         "16 close at once": Mode(16, IN_FLIGHT, reads=False, closes=True),
         "never read": Mode(16, IN_FLIGHT, reads=False, closes=False)}


class Caller:
    """A connection that sends one message several times."""

    def __init__(self, gateway, message, mode, count):
        self.connection = gateway.connect()
        self.connection.setblocking(False)
        self.message, self.at = memoryview(message), 0
        self.wanted = self.unsent = count
        self.mode = mode
        self.received = bytearray()
        self.answers = []  # see answer_of
        self.open = True

    def events(self):
        return (selectors.EVENT_WRITE if self.unsent else 0) | (selectors.EVENT_READ if self.mode.reads else 0)

    def is_done(self):
        return not self.open or (len(self.answers) == self.wanted if self.mode.reads else not self.unsent)

    def close(self):
        if self.open:
            self.open = False
            self.connection.close()

    def send(self):
        while self.unsent:
            try:
                self.at += self.connection.send(self.message[self.at:])
            except BlockingIOError:
                return
            if self.at == len(self.message):
                self.at, self.unsent = 0, self.unsent - 1

    def receive(self):
        """False if the peer closed the connection."""
        part = self.connection.recv(MIB)
        self.received += part
        while len(self.received) >= 4:
            size = struct.unpack(">I", self.received[:4])[0]
            if len(self.received) < 4 + size:
                break
            self.answers.append(answer_of(bytes(self.received[4:4 + size])))
            del self.received[:4 + size]
        return bool(part)

    def step(self, event):
        try:
            if event & selectors.EVENT_WRITE:
                self.send()
            if event & selectors.EVENT_READ and not self.receive():
                self.close()
        except OSError:
            self.close()
        if self.mode.closes and self.is_done():
            self.close()


def answer_of(payload):
    """The code of a reply: OK, the name of a Code, or EXCEPTION for a message that the codec refused; and its text."""
    kind, _, _, body = reply_head(payload)
    if kind == EXCEPTION:
        return "EXCEPTION", ""
    if body[:3] != FAILURE:
        return "OK", ""
    assert body[3:6] == CODE and body[10:13] == MESSAGE, body[:20]
    code, size = struct.unpack(">i3xi", body[6:17])
    return Code._VALUES_TO_NAMES[code], body[17:17 + size].decode()


class Outcome:
    """What became of the calls of one message."""

    def __init__(self, callers):
        self.codes = {}  # how many calls were answered with each code
        self.text = ""   # of an error
        self.closed = sum(not caller.open for caller in callers)
        self.unanswered = sum(caller.mode.reads and not caller.is_done() for caller in callers)
        for code, text in (answer for caller in callers for answer in caller.answers):
            self.codes[code] = self.codes.get(code, 0) + 1
            self.text = text or self.text


def connect(gateway, message, mode, most_bytes):
    count = min(SENT_MOST, most_bytes // mode.connections) // len(message)
    return [Caller(gateway, message, mode, max(1, min(mode.calls, count))) for _ in range(mode.connections)]


def serve(callers, end):
    """Sends and receives until all callers are done, or until the time `end`."""
    with selectors.DefaultSelector() as selector:
        for caller in callers:
            selector.register(caller.connection, caller.events(), caller)
        while selector.get_map() and time.monotonic() < end:
            for key, event in selector.select(0.1):
                caller = key.data
                caller.step(event)
                if caller.is_done():
                    selector.unregister(key.fileobj)
                elif caller.events() != key.events:
                    selector.modify(caller.connection, caller.events(), caller)


def run(gateway, messages, patience, most_bytes):
    """Sends all messages, which are pairs (message, Mode), at the same time. Returns an Outcome for each. patience:
    seconds after which a call counts as unanswered. most_bytes: for each message, over its connections."""
    groups = [connect(gateway, message, mode, most_bytes) for message, mode in messages]
    began = time.monotonic()
    everybody = [caller for group in groups for caller in group]
    silent = [caller for caller in everybody if not caller.mode.reads and not caller.mode.closes]
    try:
        serve(everybody, began + (patience if len(silent) < len(everybody) else SILENT_S))
        if silent:
            time.sleep(max(0, began + SILENT_S - time.monotonic()))
        return [Outcome(group) for group in groups]
    finally:
        for caller in everybody:
            with contextlib.suppress(OSError):
                caller.close()
