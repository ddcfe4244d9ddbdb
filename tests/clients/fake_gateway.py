"""A fake gateway on a dict, for replies that a real one rarely sends: it is busy, reports unknown outcomes,
returns pages of two rows, or sends invalid replies.

Usage as a library: FakeGateway(framed, compact) is a context manager with .address and .handler;
HostileGateway(replies) replies to each connection's first request with raw bytes.
"""
import socket
import socketserver
import threading

from thrift.protocol import TBinaryProtocol, TCompactProtocol
from thrift.transport import TSocket, TTransport

from keyway_thrift import Admin, Data
from keyway_thrift import ttypes as t

FIELDS = [
    t.FieldInfo("order_id", "string", True),
    t.FieldInfo("ts", "timestamp", True, None, "ms", "when it happened"),
    t.FieldInfo("status", "string", False, "d:status"),
    t.FieldInfo("city", "string", False, "d:city"),
    t.FieldInfo("amount", "double", False, "d:amount"),
    t.FieldInfo("visits", "int", False, "d:visits"),
    t.FieldInfo("paid", "bool", False, "d:paid"),
    t.FieldInfo("blob", "bytes", False, "d:blob"),
]


def plain(value):
    return next(v for v in (value.flag, value.number, value.real, value.text, value.bytes) if v is not None)


def key_of(record):
    return record["order_id"].text, record["ts"].number


class Handler:
    """Both services. `queries` and `puts` keep the requests for the tests."""

    def __init__(self):
        self.rows = {}
        self.queries = []
        self.batches = []
        self.created = []
        self.forgotten = []
        self.busy = {}
        self.pages = {}
        self.reloads = 0
        self.scrubs, self.verifications = [], []
        self.paths = ["primary"]
        self.slices = []
        self.statuses = []
        self.orders = []
        self.polls = 0
        self.versions = []  # (timestamp, fields), newest first

    def table(self, name):
        if name != "order_events":
            raise t.KeywayError(t.Code.NOT_FOUND, f"there is no table {name}", request_id="r-1")

    def write(self, record):
        status = record["status"].text if "status" in record else ""
        if "ts" not in record:
            return t.Written(t.Outcome.FAILED, failure=t.Failure(t.Code.INVALID, "field ts is missing"))
        if status == "busy" and self.busy.setdefault(key_of(record), 2):
            self.busy[key_of(record)] -= 1
            return t.Written(t.Outcome.FAILED, failure=t.Failure(t.Code.BUSY, "too much at once", 5))
        if status == "unknown":
            return t.Written(t.Outcome.UNKNOWN, failure=t.Failure(t.Code.TIMEOUT, "no answer from the store"))
        self.rows[key_of(record)] = record
        return t.Written(t.Outcome.OK)

    def put(self, table, record, options):
        self.table(table)
        if record.get("status") and record["status"].text == "limit":
            raise t.KeywayError(t.Code.LIMIT, "too large")
        written = self.write(record)
        if written.outcome == t.Outcome.OK and record.get("status") and record["status"].text == "makes":
            written.made = {"visits": t.Value(number=7)}
        return written

    def putMany(self, table, records, options):
        self.table(table)
        self.batches.append(len(records))
        return [self.write(record) for record in records]

    def get(self, table, key, columns, options):
        self.table(table)
        record = self.rows.get(key_of(key))
        if record and columns:
            record = {n: v for n, v in record.items() if n in columns or n in ("order_id", "ts")}
        return t.Found(record)

    def getVersions(self, table, key, columns, max_versions, options):
        self.table(table)
        self.asked = (columns, max_versions)
        versions = [t.RecordVersion(stamp, {**key, **fields}) for stamp, fields in self.versions]
        return versions[:max_versions]

    def getMany(self, table, keys, columns, options):
        return [t.Found(self.rows.get(key_of(key))) for key in keys]

    def remove(self, table, key, columns, options):
        for name in columns or []:
            self.rows[key_of(key)].pop(name, None)
        if not columns:
            self.rows.pop(key_of(key), None)
        return t.Written(t.Outcome.OK)

    def removeMany(self, table, keys, columns, options):
        return [self.remove(table, key, columns, options) for key in keys]

    def increment(self, table, key, amounts, options):
        row = self.rows.setdefault(key_of(key), dict(key))
        for name, amount in amounts.items():
            row[name] = t.Value(number=amount + (row[name].number if name in row else 0))
        return {name: row[name] for name in amounts}

    def putIf(self, table, record, condition, options):
        stored = self.rows.get(key_of(record), {}).get(condition.field)
        met = stored == condition.value if condition.op == t.CompareOp.EQUAL else stored is not None
        if met:
            self.rows[key_of(record)] = record
        return met

    def compareAndPut(self, table, record, condition, options):
        applied = self.putIf(table, record, condition, options)
        makes = applied and record["status"].text == "makes"
        return t.Decided(applied, {"visits": t.Value(number=7)} if makes else None)

    def page(self, rows):
        cursor = None
        if len(rows) > 2:
            cursor = b"cursor-%d" % len(self.pages)
            self.pages[cursor] = rows[2:]
        return t.Page(rows[:2], cursor, 2 * len(rows[:2]), len(rows[:2]))

    def scan(self, query):
        self.table(query.table)
        self.queries.append(query)
        bound = {n: plain(v) for n, v in (query.bound or {}).items()}
        rows = [r for _, r in sorted(self.rows.items()) if all(plain(r[n]) == v for n, v in bound.items())]
        if query.order == t.Order.DESCENDING:
            rows.reverse()
        return self.page(rows[: query.limit] if query.limit else rows)

    def latest(self, query):
        query.order = query.order or t.Order.DESCENDING
        return self.scan(query)

    def nextPage(self, cursor, options):
        if cursor not in self.pages:
            raise t.KeywayError(t.Code.INVALID, "this cursor has expired")
        return self.page(self.pages.pop(cursor))

    def allocate(self, table, field, count, options, scope):
        self.scope = scope
        return t.Allocation(100, count)

    def describe(self, table):
        self.table(table)
        paths = [t.PathInfo(name, "order_events", 1, "abcd", ["hash md5(order_id)", "field order_id"], 1) for name in self.paths]
        return t.TableInfo("order_events", FIELDS, paths, "Events of orders.")

    def tables(self):
        return ["order_events", "tables"]

    def explain(self, query):
        self.queries.append(query)
        ranges = [t.ExplainedRange(b"\x00a", b"\x00b", 0, "one range")]
        return t.Explanation(None, "primary", ranges, False, ["nothing fans out"], 1.0, "one range")

    def explainPut(self, table, record):
        pieces = [t.KeyPiece("literal", b"\x01|", "\\x01|")]
        return t.Explanation([t.ExplainedKey("primary", "order_events", b"\x01|", pieces, b"", "rs1:16020", b"\x40")], text="one key")

    def decodeKey(self, table, row_key, path, policy_text):
        self.table(table)
        pieces = [t.KeyPiece("literal", row_key[:1], "k")]
        if row_key == b"k1":
            return [t.DecodedKey("primary", "order_events", pieces, {"order_id": t.Value(text="A"), "ts": t.Value(number=1)})]
        return [t.DecodedKey("primary", "order_events", pieces, {"order_id": t.Value(text="A")}, "field(ts)", "too short")]

    def policy(self):
        return t.PolicyInfo("tables: {}\n", [self.describe("order_events")], 1795255200000)

    def check(self, text):
        return [t.Problem(3, 7, "unknown key \"kye\"", "did you mean \"key\"?")] if "kye" in text else []

    def createTable(self, table, options):
        self.table(table)
        self.created.append(options)
        return [t.CreatedTable("order_events", options.splits.keys or [] if options.splits else [], True)]

    def forget(self, table, options):
        self.forgotten.append((table, options.path, options.drop_rows))
        if not options.drop_rows:
            raise t.KeywayError(t.Code.REFUSED, "the store table orders_by_time still holds rows", maybe_applied=False)
        return ["orders_by_time"]

    def backup(self, name):
        if name.startswith("."):
            raise t.KeywayError(t.Code.INVALID, f'"{name}" cannot be the name of a backup', maybe_applied=False)
        return t.MadeBackup(3 * 1024 * 1024)

    def scrub(self, table, options):
        """Returns the next of `slices` (counts and differences), or raises an error. Cursors are numbers of slices."""
        self.table(table)
        self.scrubs.append(options)
        found = self.slices.pop(0)
        if isinstance(found, Exception):
            raise found
        number = int(options.cursor or b"0") + 1
        cursor = f"{number}".encode() if found.progress < 1 else None
        found.differences = found.differences[:options.max_differences]
        found.cursor = cursor
        return found

    changeDiff = scrub

    def verify(self, table, options):
        """Returns the next of `slices`, or raises an error. Cursors are numbers of slices."""
        self.table(table)
        self.verifications.append(options)
        found = self.slices.pop(0)
        if isinstance(found, Exception):
            raise found
        found.cursor = f"{int(options.cursor or b'0') + 1}".encode() if found.progress < 1 else None
        found.examples = found.examples[:options.max_examples]
        return found

    def changes(self, table):
        """Returns the next of `statuses` (lists), the last one again and again, or raises an error."""
        self.polls += 1
        if table:
            self.table(table)
        found = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if isinstance(found, Exception):
            raise found
        return found

    def orderChange(self, table, action, options):
        self.orders.append((table, action, options))
        return self.changes(table)

    def reload(self):
        self.reloads += 1
        if self.reloads == 2:
            raise t.KeywayError(t.Code.REFUSED, "the fingerprint differs", maybe_applied=False)

    def stats(self):
        return {"store_calls": 12.0, "uptime_seconds": 0.5, "put.calls": 3.0}


class Server:
    """A thread per connection, each running `session(socket)`; a context manager."""

    def __init__(self, session):
        class Session(socketserver.BaseRequestHandler):
            def handle(self):
                session(self.request)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.address = "127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class FakeGateway(Server):
    def __init__(self, framed=False, compact=False):
        super().__init__(self.session)
        self.framed, self.compact = framed, compact
        self.close_after_answer = False
        self.handler = Handler()
        self.processor = Data.Processor(self.handler)
        self.processor._processMap.update(Admin.Processor(self.handler)._processMap)

    def protocol(self, connection):
        end = TSocket.TSocket()
        end.setHandle(connection)
        transport = TTransport.TFramedTransport(end) if self.framed else TTransport.TBufferedTransport(end)
        return (TCompactProtocol.TCompactProtocol if self.compact else TBinaryProtocol.TBinaryProtocol)(transport)

    def answer(self, method, *arguments):
        """The bytes of a reply."""
        near, far = socket.socketpair()
        client = (Admin if hasattr(Admin.Iface, method) else Data).Client(self.protocol(near))
        getattr(client, f"send_{method}")(*arguments)
        server = self.protocol(far)
        self.processor.process(server, server)
        reply = near.recv(1 << 20)
        near.close()
        far.close()
        return reply

    def session(self, connection):
        if self.close_after_answer:  # the reply and the end are in one segment: a client that reads one also sees the other
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        protocol = self.protocol(connection)
        try:
            while True:
                self.processor.process(protocol, protocol)
                if self.close_after_answer:
                    return
        except TTransport.TTransportException:
            pass


class HostileGateway(Server):
    """Sends `reply` to the first request of every connection and then closes it, or with hang=True sends nothing
    until the other side closes."""

    def __init__(self, reply, hang=False):
        super().__init__(self.session)
        self.reply, self.hang = reply, hang

    def session(self, connection):
        connection.recv(65536)
        connection.sendall(self.reply)
        if self.hang:
            connection.recv(1)
