"""Tests buckets chosen at each put (salt random, round_robin), with several callers and gateways at the same time.

With an association, a new record gets one row, no matter how many callers put, increment or conditionally put it at the
same moment through different gateways. Without one, a record is found in any bucket, and ranges are merged.

Arguments: `embedded`, or `hbase` with two gateways; KW_HBASE_ENV names the file with HBase's addresses.
"""
import concurrent.futures
import contextlib
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Ready, plain, record, value  # noqa: E402
from keyway_hbase import hbase_servers  # noqa: E402
from keyway_thrift.ttypes import (Code, CompareOp, Condition, KeywayError, Options, Order, Outcome, Query,  # noqa: E402
                                  Range)

CALLERS = 6
POLICY = """
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
timeouts: {{call: 100s}}
cursor: {{keys: [a key that both gateways share]}}
store: STORE
tables:
  known:
    store_table: NAME
    fields: {{id: string, ts: timestamp, note: string, hits: {{type: int, counter: true}}}}
    key: [{{salt: {{algorithm: random, buckets: 16}}}}, {{field: ts}}, {{field: id}}]
    paths:
      by_id: {{association: true, key: [{{hash: id}}, {{field: id}}, {{field: ts}}]}}
  log:
    store_table: NAME_log
    updates: false
    fields: {{id: string, ts: timestamp, note: string, hits: {{type: int, counter: true}}}}
    key: [{{salt: {{algorithm: round_robin, buckets: 4, as: decimal}}}}, {{field: ts}}, {{field: id}}]
"""


def policy_for(store):
    name = f"chosen_{os.getpid()}_{int(time.time())}"
    if store == "embedded":
        where = "{{kind: embedded, path: {folder}/data}}"
    else:
        servers = hbase_servers()
        where = (f"{{{{kind: hbase, servers: [{servers['KW_HBASE_FRAMED']}], client_pause: 1min, "
                 f"create_missing: true, catalog: {name}_catalog}}}}")
    return POLICY.replace("STORE", where).replace("NAME", name)


def same(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, not {wanted!r}")


def refused(part, call, *arguments):
    try:
        call(*arguments)
    except KeywayError as error:
        same((error.code, part in error.message), (Code.INVALID, True), error.message)
        return
    sys.exit(f"not refused: {part}")


def rows_of(data, query):
    page = data.scan(query)
    rows = list(page.rows)
    while page.cursor is not None:
        page = data.nextPage(page.cursor, Options())
        rows += page.rows
    return [plain(row) for row in rows]


def everything(data, table, **more):
    return rows_of(data, Query(table, range=Range("ts", value(0), value(10**6)), **more))


def at_once(gateways, work):
    """Runs work(data, caller) for every caller at the same time, on connections spread over the gateways."""
    clients = [gateways[i % len(gateways)].data() for i in range(CALLERS)]
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        done = list(pool.map(work, clients, range(CALLERS)))
    for client in clients:
        client.close()
    return done


def one_row_each(gateways, data):
    """All callers put the same new records, one by one and many in one call."""
    keys = [{"id": f"k{i}", "ts": i} for i in range(30)]

    def work(client, caller):
        for i, key in enumerate(keys[:10]):
            one = {"note": "x"} if (caller + i) % 2 else {"hits": caller}
            same(client.put("known", record(**key, **one), None).outcome, Outcome.OK, f"put of {key}")
        for one in client.putMany("known", [record(**key, note="many") for key in keys[10:]], None):
            same(one.outcome, Outcome.OK, "putMany")

    at_once(gateways, work)
    found = everything(data, "known")
    same([(row["id"], row["ts"]) for row in found], [(key["id"], key["ts"]) for key in keys], "rows after the race")
    same(all("note" in row and "hits" in row for row in found[:10]), True, "all callers wrote one row")
    for row in found:
        same(plain(data.get("known", record(id=row["id"], ts=row["ts"]), None, None).record), row, "get")
    removed = data.removeMany("known", [record(**key) for key in keys[:20]], None, None)
    same({one.outcome for one in removed}, {Outcome.OK}, "removeMany")
    same(data.get("known", record(**keys[3]), None, None).record, None, "a removed record")
    same(len(everything(data, "known")), 10, "remaining rows")
    data.put("known", record(**keys[3], note="back"), None)
    same(len(everything(data, "known")), 11, "rows after one was put again")


def put_and_removed(gateways, data):
    """All callers put and remove the same records: each has one row or none, and a lookup finds the same as a scan."""
    keys = [{"id": f"p{i}", "ts": 2000 + i} for i in range(12)]

    def work(client, caller):
        for turn in range(4):
            for key in keys if caller % 2 else reversed(keys):
                if (caller + turn) % 2:
                    same(client.put("known", record(**key, note=f"by {caller}"), None).outcome, Outcome.OK, "put")
                else:
                    same(client.remove("known", record(**key), None, None).outcome, Outcome.OK, "remove")

    at_once(gateways, work)
    between = Range("ts", value(2000), value(3000))
    rows = rows_of(data, Query("known", range=between))
    found = [plain(one.record) for one in data.getMany("known", [record(**key) for key in keys], None, None) if one.record]
    same(rows, found, "results of a scan and of lookups after the race")
    for one in data.removeMany("known", [record(**key) for key in keys], None, None):
        same(one.outcome, Outcome.OK, "removeMany")
    same(rows_of(data, Query("known", range=between)), [], "rows of removed records")


def counted(gateways, data):
    def work(client, caller):
        for _ in range(5):
            client.increment("known", record(id="counter", ts=500), {"hits": 1 + caller}, None)
        condition = Condition("note", CompareOp.EQUAL, None)
        return client.putIf("known", record(id="once", ts=501, note=f"by {caller}"), condition, None)

    applied = at_once(gateways, work)
    same(sum(applied), 1, "number of applied putIf")
    found = everything(data, "known")[-2:]
    same(found[0], {"id": "counter", "ts": 500, "hits": 5 * sum(range(1, CALLERS + 1))}, "increments")
    same(found[1], {"id": "once", "ts": 501, "note": f"by {applied.index(True)}"}, "putIf")


def without_association(gateways, data):
    wanted = [{"id": f"e{i % 7}", "ts": 1000 - 3 * i, "note": f"n{i}"} for i in range(120)]

    def work(client, caller):
        part = wanted[caller::CALLERS]
        for one in client.putMany("log", [record(**fields) for fields in part], None):
            same(one.outcome, Outcome.OK, "putMany")

    at_once(gateways, work)
    wanted.sort(key=lambda row: row["ts"])
    same(everything(data, "log", page_rows=17), wanted, "all rows, merged from four buckets")
    same(everything(data, "log", order=Order.DESCENDING, limit=5), wanted[:-6:-1], "the five newest")
    same([plain(one.record) for one in data.getMany("log", [record(id=r["id"], ts=r["ts"]) for r in wanted], None, None)],
         wanted, "getMany")
    refused("increment needs to know a record's row", data.increment, "log", record(id="e0", ts=1000), {"hits": 1}, None)
    refused("putIf needs to know a record's row", data.putIf, "log", record(id="e0", ts=1000, note="y"),
            Condition("note", CompareOp.EQUAL, None), None)
    same(data.remove("log", record(id=wanted[0]["id"], ts=wanted[0]["ts"]), None, None).outcome, Outcome.OK, "remove")
    same(everything(data, "log"), wanted[1:], "all rows except the removed one")


def explained(gateways, data):
    admin = gateways[0].admin()
    explanation = admin.explainPut("known", record(id="a", ts=1))
    same([note.split(";")[1] for note in explanation.notes],
         [" for an existing record the association by_id can name another one"], explanation.notes)
    keys = explanation.keys
    same([key.path for key in keys], ["primary", "by_id"], "paths")
    same("chosen at each put: one of 16" in keys[0].pieces[0].component, True, keys[0].pieces[0].component)
    plan = admin.explain(Query("log", range=Range("ts", value(1), value(5))))
    same(len(plan.ranges), 4, "ranges")
    same("the bucket was chosen when the record was put" in plan.text, True, plan.text)
    refused("is the association, which holds no records", data.scan, Query("known", path="by_id", full_scan=True))
    admin.close()


def main():
    store = sys.argv[1]
    policy = policy_for(store)
    with contextlib.ExitStack() as stack:
        gateways = [stack.enter_context(Ready(policy)) for _ in range(2 if store == "hbase" else 1)]
        data = gateways[-1].data()
        for test in (one_row_each, put_and_removed, counted, without_association, explained):
            began = time.monotonic()
            test(gateways, data)
            print(f"{time.monotonic() - began:6.1f} s  {test.__name__}", flush=True)
        data.close()


if __name__ == "__main__":
    main()
