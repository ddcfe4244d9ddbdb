"""Order tracking, end to end: writes 100,000 events of 10,000 orders and compares the results of queries, row by row, with
a sort in this test.

Under md5 prefix + order id + descending time: all events of an order, newest first; the latest event with one row scanned;
time ranges with all kinds of bounds, in both orders. Under salt(16) + time: all events in time order across the buckets,
forwards and in reverse, page by page, with restarts of the gateway between pages.

Arguments: none for the embedded store, or `buffered` or `framed` for HBase (KW_HBASE_ENV names the file with HBase's
addresses). KEYWAYD is the gateway's program, KW_SEED the seed, KW_ORDERS the number of orders.
"""
import bisect
import itertools
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Ready, is_sanitized, plain, record, value  # noqa: E402
from keyway_hbase import TEMPORARY_CODES, Patient, hbase_servers  # noqa: E402
from keyway_thrift.ttypes import Options, Order, Outcome, Query, Range  # noqa: E402
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated  # noqa: E402

BUCKETS = 16
START = 1795255200000  # 2026-11-21T10:00:00Z
DAY = 24 * 3600 * 1000
STATUSES = ["created", "paid", "packed", "shipped", "delivered", "returned"]
CITIES = ["Kiel", "Ulm", "Łódź", "北京"]

POLICY = """
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
timeouts: {{call: 100s}}
cursor: {{keys: [a key that both gateways share]}}
store: STORE
tables:
  order_events:
    fields:
      order_id: {{type: string, max_bytes: 64}}
      ts: {{type: timestamp, unit: ms}}
      status: string
      city: string
      amount: double
    store_table: NAME
    key:
      - hash: {{algorithm: md5, of: [order_id], take: 4, as: hex}}
      - field: order_id
      - field: {{name: ts, order: desc}}
    paths:
      by_time:
        store_table: NAME_by_time
        key:
          - salt: {{buckets: 16, of: [order_id]}}
          - field: ts
          - field: order_id
"""


# --- the data and the expected results ---------------------------------------------------------------

class Events:
    """All events, sorted in the two orders by this test."""

    def __init__(self, seed, orders):
        chance = random.Random(seed)
        # Ids with common prefixes (SF1, SF10, SF100, ...) and with common last digits.
        ids = [f"SF{i}" for i in range(orders)]
        counts = [10] * orders
        for _ in range(orders * 4):  # ten events per order on average, at least one
            a, b = chance.randrange(orders), chance.randrange(orders)
            if counts[a] > 1:
                counts[a] -= 1
                counts[b] += 1
        self.by_order = {}
        for order_id, count in zip(ids, counts):
            # Few distinct moments, so that many events share one.
            moments = chance.sample(range(0, DAY, 500), count)
            self.by_order[order_id] = sorted(
                ((order_id, START + moment, chance.choice(STATUSES), chance.choice(CITIES), chance.randrange(10000) / 100)
                 for moment in moments), key=lambda event: -event[1])
        self.by_time = sorted(itertools.chain.from_iterable(self.by_order.values()), key=lambda event: (event[1], event[0]))
        self.moments = [event[1] for event in self.by_time]

    def between(self, start, end):
        return self.by_time[bisect.bisect_left(self.moments, start):bisect.bisect_left(self.moments, end)]


def to_record(event):
    return record(**dict(zip(("order_id", "ts", "status", "city", "amount"), event)))


def to_event(row):
    found = plain(row)
    return tuple(found[name] for name in ("order_id", "ts", "status", "city", "amount"))


def same(found, wanted, what):
    """Equality with a message that fits a screen."""
    if found == wanted:
        return
    for i, (a, b) in enumerate(zip(found, wanted)):
        if a != b:
            sys.exit(f"{what}: row {i} is {a}, not {b} ({len(found)} rows, {len(wanted)} wanted)")
    sys.exit(f"{what}: {len(found)} rows, {len(wanted)} wanted")


class step:
    """Prints how long the step took. (A generator's contextmanager fails on exceptions that Thrift generated.)"""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        self.began = time.monotonic()

    def __exit__(self, kind, error, trace):
        if kind is None:
            print(f"{time.monotonic() - self.began:6.1f} s  {self.what}", flush=True)


def open_data(gateway):
    """A client with the codec in C: Python's is slow for a hundred thousand rows."""
    data = gateway.data()
    data._iprot = data._oprot = TBinaryProtocolAccelerated(data._iprot.trans)
    return data if gateway.is_embedded else Patient(data)


def pages(data, query):
    page = data.scan(query)
    yield page
    while page.cursor is not None:
        page = data.nextPage(page.cursor, Options())
        yield page


def rows_of(data, query):
    return [to_event(row) for page in pages(data, query) for row in page.rows]


def order_query(order_id, **more):
    return Query("order_events", bound={"order_id": value(order_id)}, **more)


# --- the tests --------------------------------------------------------------------------------------

def load(data, events):
    shuffled = events.by_time[:]
    random.Random(1).shuffle(shuffled)
    for start in range(0, len(shuffled), 1000):
        records = [to_record(event) for event in shuffled[start:start + 1000]]
        end = time.monotonic() + 120
        while records:  # if HBase is busy, some puts fail or have no answer; all can be repeated
            written = data.putMany("order_events", records, Options())
            bad = [one for one in written if one.outcome != Outcome.OK]
            if bad and (time.monotonic() > end or not all(one.failure.code in TEMPORARY_CODES for one in bad)):
                sys.exit(f"putMany: {bad[0]}")
            records = [record for record, one in zip(records, written) if one.outcome != Outcome.OK]
            time.sleep(0.25 if bad else 0)


def read_orders(data, events, chance):
    """Every order, a hundred orders per query: newest first within each, and no rows of other orders."""
    ids = list(events.by_order)
    for start in range(0, len(ids), 100):
        some = ids[start:start + 100]
        found = {}
        for event in rows_of(data, Query("order_events", bound_any={"order_id": [value(i) for i in some]})):
            found.setdefault(event[0], []).append(event)
        for order_id in some:
            same(found.get(order_id, []), events.by_order[order_id], f"events of {order_id}")
    for order_id in ["SF1", "SF10", "SF100", "SF1000"] + chance.sample(ids, 200):
        wanted = events.by_order[order_id] if order_id in events.by_order else []
        page = data.scan(order_query(order_id))
        same([to_event(row) for row in page.rows], wanted, f"events of {order_id}")
        same(page.rows_scanned, len(wanted), f"rows scanned for {order_id}")
        same(rows_of(data, order_query(order_id, order=Order.ASCENDING, page_rows=3)), wanted[::-1], f"{order_id} ascending")


def read_latest(data, events, chance):
    for order_id in chance.sample(list(events.by_order), 300):
        page = data.latest(order_query(order_id, limit=1))
        same([to_event(row) for row in page.rows], events.by_order[order_id][:1], f"latest of {order_id}")
        same((page.rows_scanned, page.rows_returned), (1, 1), f"rows scanned and returned for {order_id}")


def read_ranges(data, events, chance):
    for order_id in chance.sample(list(events.by_order), 150):
        wanted = events.by_order[order_id]
        low, high = sorted(chance.choice(wanted)[1] + chance.choice([-1, 0, 1]) for _ in range(2))
        low_in, high_in, ascending = (chance.random() < 0.5 for _ in range(3))
        inside = [event for event in wanted if (event[1] >= low if low_in else event[1] > low)
                  and (event[1] <= high if high_in else event[1] < high)]
        span = Range("ts", value(low), value(high), low_in, high_in)
        order = Order.ASCENDING if ascending else Order.DESCENDING
        found = rows_of(data, order_query(order_id, range=span, order=order))
        same(found, inside[::-1] if ascending else inside, f"{order_id} in {span}, {order}")
    for _ in range(30):
        low = START + chance.randrange(DAY)
        high = low + chance.randrange(10 * 60 * 1000)
        span = Range("ts", value(low), value(high))
        found = rows_of(data, Query("order_events", range=span, path="by_time"))
        same(found, events.between(low, high), f"by time, {span}")


def check_reads_per_row(data, events):
    """A limit over sixteen buckets reads few rows more than it returns."""
    for limit in (16, 200, 2000):
        page = data.scan(Query("order_events", path="by_time", full_scan=True, limit=limit, page_rows=limit))
        same([to_event(row) for row in page.rows], events.by_time[:limit], f"first {limit} by time")
        if page.rows_scanned > 2 * limit + 4 * BUCKETS:
            sys.exit(f"limit {limit} over {BUCKETS} buckets scanned {page.rows_scanned} rows")


def walk_with_restarts(gateway, events, order, restarts):
    """All events by time; the gateway restarts between pages."""
    rows = len(events.by_time) // (restarts + 1) + 1
    query = Query("order_events", path="by_time", full_scan=True, order=order, page_rows=min(rows, 10000))
    found, scanned, cursor, page_count = [], 0, None, 0
    data = open_data(gateway)
    while True:
        page = data.scan(query) if cursor is None else data.nextPage(cursor, Options())
        found += [to_event(row) for row in page.rows]
        scanned += page.rows_scanned
        cursor = page.cursor
        page_count += 1
        if cursor is None:
            break
        if page_count <= restarts:
            data.close()
            gateway.stop()
            gateway.start()
            data = open_data(gateway)
    data.close()
    same(page_count > restarts, True, "enough pages for restarts between them")
    same(found, events.by_time if order == Order.ASCENDING else events.by_time[::-1], f"by time, order {order}")
    if scanned > 1.2 * len(found):
        sys.exit(f"{scanned} rows scanned for {len(found)}")


def store_of(form):
    """The policy's store, and a name for its tables. Skips the test if there is no HBase."""
    if form is None:
        return "{{kind: embedded, path: {folder}/data}}", "order_events"
    addresses = hbase_servers()
    servers = addresses["KW_HBASE_BUFFERED" if form == "buffered" else "KW_HBASE_FRAMED"]
    name = f"scenario_{form}_{os.getpid()}_{int(time.time())}"
    return f"{{{{kind: hbase, servers: [{servers}], create_missing: true, catalog: {name}_catalog}}}}", name


def main():
    form = sys.argv[1] if len(sys.argv) > 1 else None
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    orders = int(os.environ.get("KW_ORDERS", 1000 if is_sanitized() else 10000))
    store, name = store_of(form)
    print(f"seed {seed}, {orders} orders, store {form or 'embedded'}", flush=True)
    chance = random.Random(seed)
    events = Events(seed, orders)
    with Ready(POLICY.replace("STORE", store).replace("NAME", name)) as gateway:
        gateway.is_embedded = form is None
        data = open_data(gateway)
        with step(f"{len(events.by_time)} events written"):
            load(data, events)
        with step("the latest event of an order: one row scanned"):
            read_latest(data, events, chance)
        with step("all events of each order, newest first and oldest first"):
            read_orders(data, events, chance)
        with step("time ranges, of an order and across the buckets"):
            read_ranges(data, events, chance)
        with step("limits over sixteen buckets"):
            check_reads_per_row(data, events)
        data.close()
        with step("all events by time, gateway restarted between pages"):
            walk_with_restarts(gateway, events, Order.ASCENDING, 4)
        with step("all events by time in reverse, gateway restarted between pages"):
            walk_with_restarts(gateway, events, Order.DESCENDING, 4)


if __name__ == "__main__":
    main()
