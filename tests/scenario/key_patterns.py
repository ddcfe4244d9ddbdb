"""Conditions on fields of the key after a field without one: the store filters keys by patterns, and results are the same.

Random rules, records and queries. Each query runs twice: unchanged, and with a filter that counts rows (PageFilter),
which keeps conditions out of the store. Both must return the rows found by brute force, in the same order, in pages and in
reverse. In total, the store must have returned far fewer rows with patterns.

Arguments: `embedded`, or `hbase` (KW_HBASE_ENV names the file with HBase's addresses). KW_SEED repeats a run.
"""
import json
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Ready, plain, record, value  # noqa: E402
from keyway_hbase import hbase_servers  # noqa: E402
from keyway_thrift.ttypes import KeywayError, Options, Order, Outcome, Query, Range  # noqa: E402

TABLES = 4
RECORDS = 300
QUERIES = 25
EVERYTHING = "PageFilter(1000000)"
NOTE = "the store filters keys"

# Components of keys, each of a fixed width, used in any order; DESC becomes `, order: desc` or nothing.
PIECES = [
    "{salt: {buckets: 4, of: [owner]}}",
    "{hash: {of: [word], algorithm: md5, take: 4}}",
    "{field: {name: owner, encoding: fixed, width: 4}}",
    "{field: {name: tsDESC}}",
    "{field: {name: kind, width: 2DESC}}",
    "{field: {name: code, encoding: decimal, width: 5}}",
    "{field: {name: realDESC}}",
    "{enum: state}",
]
FIELDS = """    fields:
      owner: {type: string, max_bytes: 4}
      word: {type: string, max_bytes: 8}
      ts: {type: timestamp, unit: ms}
      kind: int
      code: int
      real: double
      state: {type: string, values: [new, open, done]}
      note: string
"""
TS = 1_700_000_000_000


def draw_table(chance, name):
    pieces = chance.sample(PIECES, len(PIECES)) + ["{field: word}"]
    rule = "".join("      - " + piece.replace("DESC", chance.choice(["", ", order: desc"])) + "\n" for piece in pieces)
    return f"  {name}:\n" + FIELDS + "    key:\n" + rule


def draw_record(chance, number):
    return {"owner": chance.choice(["ann", "bob", "eve"]), "word": chance.choice(["", "a", "ab", "zebra"]),
            "ts": TS + chance.randrange(20) * chance.choice([1, 1000, 10**7]), "kind": chance.randrange(-3, 300),
            "code": chance.randrange(0, 400), "real": chance.choice([-1.5, -0.25, 0.0, 3.25, 1e9]) + number % 3,
            "state": chance.choice(["new", "open", "done"]), "note": f"n{number}"}


def draw_query(chance, records):
    """Bounds, lists and a range over some fields of one record, so that the query finds something."""
    like = chance.choice(records)
    fields = chance.sample(["owner", "word", "ts", "kind", "code", "real", "state"], chance.randrange(1, 4))
    bound, any_of, ranged = {}, {}, None
    for field in fields:
        way = chance.random()
        if way < 0.2:
            any_of[field] = sorted({like[field], *(chance.choice(records)[field] for _ in range(chance.randrange(1, 5)))})
        elif way < 0.5 and ranged is None and field not in ("owner", "word", "state"):
            width = {"ts": 10**chance.randrange(1, 9), "kind": chance.choice([1, 5, 100]), "code": 30, "real": 2.5}[field]
            ranged = (field, like[field] - width // 2, like[field] + width)
        else:
            bound[field] = like[field]
    return bound, any_of, ranged


def meets(fields, query):
    bound, any_of, ranged = query
    return (all(fields[name] == wanted for name, wanted in bound.items())
            and all(fields[name] in wanted for name, wanted in any_of.items())
            and (ranged is None or ranged[1] <= fields[ranged[0]] < ranged[2]))


def scan(data, table, query, **more):
    bound, any_of, ranged = query
    thrift_query = Query(table, bound=record(**bound), full_scan=True,
                         bound_any={name: [value(one) for one in values] for name, values in any_of.items()}, **more)
    if ranged:
        thrift_query.range = Range(ranged[0], value(ranged[1]), value(ranged[2]))
    page = data.scan(thrift_query)
    rows, scanned = list(page.rows), page.rows_scanned
    while page.cursor is not None:
        page = data.nextPage(page.cursor, Options())
        rows += page.rows
        scanned += page.rows_scanned
    return [plain(row) for row in rows], scanned, thrift_query


def judge(admin, data, table, records, query, chance, tally):
    more = {"order": chance.choice([None, None, Order.ASCENDING, Order.DESCENDING]), "page_rows": chance.choice([None, 20])}
    try:
        with_patterns, scanned, thrift_query = scan(data, table, query, **more)
    except KeywayError as error:
        if "order" not in error.message:
            raise
        more["order"] = None  # this path has no order
        with_patterns, scanned, thrift_query = scan(data, table, query, **more)
    without, scanned_all, _ = scan(data, table, query, filter=EVERYTHING, **more)
    wanted = [fields for fields in records if meets(fields, query)]

    def by_note(rows):
        return sorted(rows, key=lambda row: row["note"])

    if by_note(with_patterns) != by_note(wanted):
        sys.exit(f"{table} {query}: {len(with_patterns)} rows, not {len(wanted)}")
    if by_note(without) != by_note(wanted):
        sys.exit(f"{table} {query} without patterns: {len(without)} rows, not {len(wanted)}")
    if with_patterns != without:
        sys.exit(f"{table} {query}: another order")
    tally["queries"] += 1
    tally["rows"] += len(wanted)
    if any(NOTE in note for note in admin.explain(thrift_query).notes):
        tally["skipped by patterns"] += 1
        tally["scanned with"] += scanned
        tally["scanned without"] += scanned_all


def policy_for(store, chance):
    name = f"patterns_{os.getpid()}_{int(time.time())}"
    if store == "embedded":
        where = "{kind: embedded, path: FOLDER/data}"
    else:
        servers = hbase_servers()
        where = (f"{{kind: hbase, servers: [{servers['KW_HBASE_FRAMED']}], "
                 f"create_missing: true, catalog: {name}_catalog}}")
    tables = [f"{name}_{number}" for number in range(TABLES)]
    text = (f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\ntimeouts: {{call: 100s}}\nstore: {where}\ntables:\n"
            + "".join(draw_table(chance, table) for table in tables))
    return text.replace("{", "{{").replace("}", "}}").replace("FOLDER", "{folder}"), tables


def run(gateway, tables, chance):
    tally = dict.fromkeys(["queries", "rows", "skipped by patterns", "scanned with", "scanned without"], 0)
    data, admin = gateway.data(), gateway.admin()
    for table in tables:
        records = list({tuple(one[name] for name in one if name != "note"): one
                        for one in (draw_record(chance, number) for number in range(RECORDS))}.values())
        for one in data.putMany(table, [record(**fields) for fields in records], None):
            if one.outcome != Outcome.OK:
                sys.exit(f"putMany: {one}")
        for _ in range(QUERIES):
            judge(admin, data, table, records, draw_query(chance, records), chance, tally)
    data.close()
    admin.close()
    return tally


def main():
    store = sys.argv[1]
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    policy, tables = policy_for(store, chance)
    with Ready(policy) as gateway:
        tally = run(gateway, tables, chance)
    print(json.dumps(tally))
    if tally["skipped by patterns"] < tally["queries"] / 3:
        sys.exit("too few queries had patterns")
    share = 2 if store == "hbase" else 1  # the embedded store also counts rows that patterns skip
    if tally["scanned with"] * share >= tally["scanned without"]:
        sys.exit("patterns skip too few rows")


if __name__ == "__main__":
    main()
