"""The example policies of config/examples, all served by one gateway, and tables that can check the gateway's answers.

A Table keeps every record that a test wrote. expect() runs a query and compares the result, row by row and page by page,
with its own filter and sort over those records.
"""
import contextlib
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from keyway_gateway import Gateway, free_ports, plain, record, value, wait_until
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import Options, Order, Outcome, Query, Range
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated

ROOT = pathlib.Path(__file__).resolve().parents[3]
POLICIES = ROOT / "config" / "examples"

HEAD = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 1
timeouts: {call: 100s}
cursor: {keys: [the key of all tests of examples]}
store: STORE
SEQUENCEStables:
"""


# --- the policy -------------------------------------------------------------------------------------

def tables_of(example):
    """The text of an example policy after `tables:`."""
    return (POLICIES / f"{example}.yaml").read_text(encoding="utf-8").partition("\ntables:\n")[2]


def on_hbase(tables, prefix):
    """Gives the store tables names of this run, and few regions: HBase on a small machine creates regions slowly."""
    named = re.sub(r"(?m)^  (\w+):\n", rf"  \1:\n    store_table: {prefix}\1\n", tables)
    return re.sub(r"regions: \d+", "regions: 3", named)


def policy_of(examples, store, redis):
    """One policy with the tables of all these examples, in the form that Gateway expects."""
    tables = "".join(tables_of(example) for example in examples)
    if store == "embedded":
        head = HEAD.replace("STORE", "{kind: embedded, path: FOLDER/data}")
    else:
        prefix = f"examples_{os.getpid()}_{int(time.time())}_"
        tables = on_hbase(tables, prefix)
        where = f"servers: [{hbase_servers()['KW_HBASE_FRAMED']}]"
        head = HEAD.replace("STORE", f"{{kind: hbase, {where}, create_missing: true, catalog: {prefix}catalog}}")
    # The tests write records with fixed dates, independent of the date of the run.
    sequences = f"sequences: {{redis: \"redis://{redis}\", keep: 3650d}}\n" if redis else "sequences: {keep: 3650d}\n"
    text = head.replace("SEQUENCES", sequences) + tables
    return text.replace("{", "{{").replace("}", "}}").replace("FOLDER", "{folder}")


# --- the gateway and its tables ---------------------------------------------------------------------

class World:
    def __init__(self, gateway, seed):
        self.chance = random.Random(seed)
        self.gateway = gateway
        self.now = int(time.time() * 1000)
        self.connect()

    def connect(self):
        self.data = self.gateway.data()
        self.data._iprot = self.data._oprot = TBinaryProtocolAccelerated(self.data._iprot.trans)
        self.admin = self.gateway.admin()

    def restart(self):
        """Replaces the gateway with a new process that knows nothing of earlier queries."""
        self.close()
        self.gateway.restart()
        wait_until(lambda: self.gateway.ready()["ready"], "the gateway to be ready again")
        self.connect()

    def table(self, name):
        return Table(self, name)

    def close(self):
        self.data.close()
        self.admin.close()


def same(found, wanted, what):
    """Equality with a message that fits a screen."""
    if found == wanted:
        return
    if isinstance(found, list):
        for i, (a, b) in enumerate(zip(found, wanted)):
            if a != b:
                sys.exit(f"{what}: row {i} is {a}, not {b} ({len(found)} rows, {len(wanted)} wanted)")
        sys.exit(f"{what}: {len(found)} rows, {len(wanted)} wanted")
    sys.exit(f"{what}: {found!r}, not {wanted!r}")


class Table:
    def __init__(self, world, name):
        self.world = world
        self.name = name
        self.records = []

    # --- writing

    def write(self, records, options=None):
        """Writes the records in random order, some hundred per call; returns the values generated for each."""
        records = list(records)
        made = [None] * len(records)
        order = self.world.chance.sample(range(len(records)), len(records))
        for start in range(0, len(order), 300):
            part = order[start:start + 300]
            written = self.world.data.putMany(self.name, [record(**records[i]) for i in part], options or Options())
            for i, one in zip(part, written):
                same((one.outcome, one.failure), (Outcome.OK, None), f"{self.name}: put of {records[i]}")
                made[i] = plain(one.made or {})
        return made

    def fill(self, records):
        """Writes records that expect() must find."""
        records = list(records)
        for fields, made in zip(records, self.write(records)):
            self.records.append({**fields, **made})
        return self.records

    def remove(self, **key):
        same(self.world.data.remove(self.name, record(**key), None, Options()).outcome, Outcome.OK, f"remove {key}")
        self.records = [r for r in self.records if any(r[name] != wanted for name, wanted in key.items())]

    # --- reading

    def get(self, **key):
        found = self.world.data.get(self.name, record(**key), None, Options())
        return plain(found.record) if found.record else None

    def key(self, fields, path="primary"):
        """The bytes of the row key under a path."""
        keys = self.world.admin.explainPut(self.name, record(**fields)).keys
        return next(key.row_key for key in keys if key.path == path)

    def query(self, bound=None, any_of=None, between=None, **more):
        asked = Query(self.name, bound=record(**(bound or {})), **more)
        if any_of:
            asked.bound_any = {name: [value(one) for one in some] for name, some in any_of.items()}
        if between:
            field, low, high = between
            asked.range = Range(field, None if low is None else value(low), None if high is None else value(high))
        return asked

    def expect(self, where, order, what, ranges=None, scanned=None, reverse=False, **asked):
        """Runs a query and compares the result with the records that `where` accepts, sorted by `order`. ranges: the number of
        ranges in the plan; scanned: the maximum number of rows read per row returned."""
        wanted = sorted((r for r in self.records if where(r)), key=order, reverse=reverse)
        query = self.query(**asked)
        if reverse and query.order is None:
            query.order = Order.DESCENDING
        if query.limit:
            wanted = wanted[:query.limit]
        what = f"{self.name}: {what}"
        if ranges is not None:
            same(len(self.world.admin.explain(query).ranges), ranges, f"{what}: ranges")
        if scanned is None:  # each page reads all ranges again, so small pages cost more
            query.page_rows = self.world.chance.choice([None, 7, 100])
        found, read = self.all_pages(query)
        same(found, [self.cut(r, query.columns) for r in wanted], what)
        if scanned is not None and read > scanned * len(found):
            sys.exit(f"{what}: {read} rows scanned for {len(found)}")
        return found

    def cut(self, fields, columns):
        if columns is None:
            return fields
        return {name: fields[name] for name in fields if name in columns or name in self.identity()}

    def identity(self):
        return {field.name for field in self.world.data.describe(self.name).fields if field.key}

    def all_pages(self, query):
        page = self.world.data.scan(query)
        rows, read = list(page.rows), page.rows_scanned
        while page.cursor is not None:
            page = self.world.data.nextPage(page.cursor, Options())
            rows += page.rows
            read += page.rows_scanned
        return [plain(row) for row in rows], read

    def latest(self, wanted, what, scanned=1, **bound):
        """The newest record, and the number of rows read for it."""
        page = self.world.data.latest(Query(self.name, bound=record(**bound), limit=1))
        same([plain(row) for row in page.rows], [wanted], f"{self.name}: {what}")
        if page.rows_scanned > scanned:
            sys.exit(f"{self.name}: {what}: {page.rows_scanned} rows scanned")


def be(number, size=8):
    """Big-endian bytes of a number, in two's complement if it is negative."""
    return (number % (1 << 8 * size)).to_bytes(size, "big")


@contextlib.contextmanager
def redis_server():
    """The address of a new Redis without persistence; None if Redis is not installed."""
    if not shutil.which("redis-server"):
        print("no redis-server: the store holds the counters")
        yield None
        return
    port = free_ports(1)[0]
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                wait_until(lambda: server.poll() is not None or listens(port), "Redis")
                yield f"127.0.0.1:{port}"
            finally:
                server.terminate()


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def gateway_for(examples, store):
    """A ready gateway that serves the tables of these examples."""
    with contextlib.ExitStack() as stack:
        redis = None
        if any("\nsequences: {redis: " in (POLICIES / f"{one}.yaml").read_text(encoding="utf-8") for one in examples):
            redis = stack.enter_context(redis_server())
        gateway = stack.enter_context(Gateway(policy_of(examples, store, redis)))
        wait_until(lambda: gateway.ready()["ready"], "the gateway to create the tables")
        yield gateway
