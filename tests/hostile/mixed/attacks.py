"""The attacks of the mix: messages, and the ways in which callers send them."""
import importlib
import selectors
import struct
import time

from keyway_gateway import binary_message, framed, record, value
from keyway_thrift.ttypes import (AdviseOptions, Candidate, CompareOp, Condition, Query, Range)
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

MIB = 1024 * 1024
BASE_MS = 1_700_000_000_000
DAY_MS = 24 * 3600 * 1000
LONG = 30000     # bytes of an id
ENTRIES = 50000  # of a wide map
SENT_MOST = 48 * MIB  # of one attack

POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
store: {{kind: embedded, path: {folder}/data}}
log: {{level: error}}
limits: {{memory: 256MiB}}
tables:
  events:
    fields:
      id: {{type: string, max_bytes: 30000}}
      ts: {{type: timestamp, unit: ms}}
      note: string
    key: [{{hash: {{of: [id]}}}}, {{field: id}}, {{field: {{name: ts, order: desc}}}}]
  maps:
    fields:
      id: string
      tags: {{type: map, of: string, column: "d:tag_*"}}
    key: [{{hash: {{of: [id]}}}}, {{field: id}}]
  days:
    fields: {{id: string, ts: {{type: timestamp, unit: ms}}, note: string}}
    key: [{{salt: {{of: [ts], buckets: 37}}}}, {{calendar: {{of: ts, parts: [yyyy, MM, dd, HH, mm, ss]}}}}, {{field: id}}, {{field: ts}}]
  lists:
    fields: {{a: int, b: int, c: int, id: {{type: string, max_bytes: 2000}}, note: string}}
    key: [{{field: a}}, {{field: b}}, {{field: c}}, {{field: id}}]
"""

ADVISED = """\
tables:
  advised:
    fields: {id: string, ts: {type: timestamp, unit: ms}, note: string}
    key: [{hash: {of: [id]}}, {field: id}, {field: ts}]
"""


def fill(gateway):
    """2,000 events with notes of 8 kB, 8 records with wide maps, and rows of 12 days."""
    data = gateway.data()
    for start in range(0, 2000, 400):
        data.putMany("events", [record(id=f"s{i % 100:04}", ts=i, note="x" * 8000) for i in range(start, start + 400)], None)
    for number in range(8):
        for start in range(0, ENTRIES, 5000):
            tags = {f"t{i:06}": "x" * 20 for i in range(start, start + 5000)}
            data.put("maps", record(id=f"m{number}", tags=tags), None)
    data.putMany("days", [record(id=f"d{i % 10}", ts=BASE_MS + i * DAY_MS // 42, note="x") for i in range(500)], None)
    data.close()


# --- messages ---------------------------------------------------------------------------------------

def message(service, method, **arguments):
    """A framed call."""
    buffer = TMemoryBuffer()
    generated = getattr(importlib.import_module(f"keyway_thrift.{service}"), f"{method}_args")
    generated(**arguments).write(TBinaryProtocolAccelerated(buffer))
    return framed(binary_message(method, buffer.getvalue()))


def wide_map(entries, size):
    return {f"t{i:06}": "y" * size for i in range(entries)}


def scan_of_lists():
    lists = {name: [value(i) for i in range(count)] for name, count in (("a", 10), ("b", 10), ("c", 100))}
    return message("Data", "scan", query=Query(table="lists", bound=record(id="i" * 2000), bound_any=lists))


def scan_of_long_ids():
    times = [value(BASE_MS + i) for i in range(10000)]
    return message("Data", "scan", query=Query(table="events", bound=record(id="i" * LONG), bound_any={"ts": times}))


def put_many(total):
    """Has about `total` bytes."""
    records = [record(id=f"large{i}", ts=i, note="x" * 50000) for i in range(total // 50100)]
    return message("Data", "putMany", table="events", records=records)


def put_if(entries):
    condition = Condition(field="tags.t000001", op=CompareOp.EQUAL, value=value("no"))
    return message("Data", "putIf", table="maps", record=record(id="m1", tags=wide_map(entries, 20)), condition=condition)


def advise():
    sample = [record(id=f"i{i}", ts=BASE_MS + i, note="x" * 1000) for i in range(10000)]
    return message("Admin", "advise", candidates=[Candidate(name="a", text=ADVISED)], table="advised", sample=sample,
                   queries=[], options=AdviseOptions(regions=64, time_field="ts"))


def million_points():
    days = Range(field="ts", from_value=value(BASE_MS), to_value=value(BASE_MS + 12 * DAY_MS))
    return Query(table="days", bound=record(id="d1"), range=days)


# --- callers ----------------------------------------------------------------------------------------

class Way:
    """How an attack sends a message: on how many connections, how many times on each. Callers that read wait for the
    replies; those that close do so when they have sent everything; all others stay connected."""

    def __init__(self, connections, times, reads=True, closes=False):
        self.connections, self.times, self.reads, self.closes = connections, times, reads, closes


class Caller:
    def __init__(self, gateway, sent, way):
        self.connection = gateway.connect()
        self.connection.setblocking(False)
        self.sent, self.at, self.way = memoryview(sent), 0, way
        self.unsent = self.unread = max(1, min(way.times, SENT_MOST // way.connections // len(sent)))
        self.received, self.open = bytearray(), True

    def events(self):
        return (selectors.EVENT_WRITE if self.unsent else 0) | selectors.EVENT_READ

    def is_done(self):
        return not self.open or (self.unread == 0 if self.way.reads else self.way.closes and self.unsent == 0)

    def send(self):
        self.at += self.connection.send(self.sent[self.at:])
        if self.at == len(self.sent):
            self.at, self.unsent = 0, self.unsent - 1

    def receive(self):
        part = self.connection.recv(MIB)
        self.open = bool(part)
        self.received += part
        while len(self.received) >= 4:
            size = 4 + struct.unpack(">I", self.received[:4])[0]
            if len(self.received) < size:
                break
            del self.received[:size]
            self.unread -= 1

    def step(self, event):
        try:
            if event & selectors.EVENT_WRITE:
                self.send()
            if event & selectors.EVENT_READ and self.way.reads:
                self.receive()
        except BlockingIOError:
            pass
        except OSError:  # closed by the gateway
            self.open = False


def carry_out(gateway, attack, seconds):
    """Sends the messages of an attack, a list of pairs (message, Way), at the same time, until all callers are done or the
    time is over. Then closes their connections."""
    everybody = [Caller(gateway, sent, way) for sent, way in attack for _ in range(way.connections)]
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for caller in everybody:
            selector.register(caller.connection, caller.events() if caller.way.reads else selectors.EVENT_WRITE, caller)
        while selector.get_map() and time.monotonic() < end:
            for key, event in selector.select(0.05):
                key.data.step(event)
                if key.data.is_done():
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                elif not key.data.unsent:
                    if key.data.way.reads:
                        selector.modify(key.fileobj, selectors.EVENT_READ, key.data)
                    else:
                        selector.unregister(key.fileobj)
        time.sleep(max(0, end - time.monotonic()) if any(not one.way.reads and not one.way.closes for one in everybody) else 0)
    for caller in everybody:
        caller.connection.close()


# --- attacks ----------------------------------------------------------------------------------------

def build():
    """The attacks by name, each for carry_out."""
    full_scan = message("Data", "scan", query=Query(table="events", full_scan=True))
    get_maps = message("Data", "getMany", table="maps", keys=[record(id=f"m{i % 8}") for i in range(100)])
    put_maps = message("Data", "putMany", table="maps",
                       records=[record(id=f"p{i}", tags=wide_map(4500, 20)) for i in range(20)])
    explain_put = message("Admin", "explainPut", table="maps", record=record(id="m1", tags=wide_map(200000, 5)))
    large = put_many(15 * MIB)
    part = struct.pack(">I", 4 * MIB) + large[4:200 * 1024]
    return {
        "pipelined scans of lists, closed at once": [(scan_of_lists(), Way(4, 120, reads=False, closes=True))],
        "pipelined scans of lists": [(scan_of_lists(), Way(2, 20))],
        "scans with long ids and lists of 10,000": [(scan_of_long_ids(), Way(4, 2))],
        "large scans that nobody reads": [(full_scan, Way(20, 128, reads=False))],
        "large scans, closed in the middle": [(full_scan, Way(20, 20, reads=False, closes=True))],
        "putIf of wide maps": [(put_if(ENTRIES), Way(3, 2))],
        "putIf of more cells than allowed": [(put_if(200000), Way(2, 2))],
        "putMany of 15 MB": [(large, Way(4, 2))],
        "putMany of wide maps": [(put_maps, Way(3, 2))],
        "getMany of wide maps": [(get_maps, Way(6, 2))],
        "getMany of wide maps, closed in the middle": [(get_maps, Way(10, 4, reads=False, closes=True))],
        "explainPut of a wide map": [(explain_put, Way(3, 2))],
        "plans of millions of points": [(message("Data", "scan", query=million_points()), Way(4, 4)),
                                        (message("Admin", "explain", query=million_points()), Way(2, 2))],
        "advise": [(advise(), Way(4, 2))],
        "unfinished messages": [(part, Way(300, 1, reads=False))],
    }
