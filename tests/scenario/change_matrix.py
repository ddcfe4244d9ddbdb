"""Each kind of key rule is changed to each other one, on the embedded store, while records are written. All tables change
at once, in one gateway. Before, during and after the change, the same records are put, put in part, and removed in whole or
in part, some with timestamps of the caller. A table that has had the new rule from the start gets the same writes; then
both must have the same rows, cells and values. Cells whose timestamp the store gave must have the one of the old rows.

    change_matrix.py [PAIRS]      how many pairs of rules, default: PAIRS_IN_CI; 0: all

KW_SEED repeats a run.
"""
import os
import random
import sys
import time

import changing
from changing import apply, call, cells_of, put_all, status, wait_until_compared
from keyway_gateway import Gateway, is_sanitized, plain, record, value, wait_until
from keyway_thrift.ttypes import Options, Outcome, Query

PAIRS_IN_CI = 20 if is_sanitized() else 60
RECORDS = 24
FIELDS = ("{id: {type: string, max_bytes: 12}, kind: {type: string, values: [new, paid, sent]}, n: {type: int, column: \"d:n\"}, "
          "ts: {type: timestamp, unit: ms, column: \"e:ts\"}, a: string, b: {type: int, column: \"e:b\"}, m: {type: map, of: int, column: \"e:m_*\"}}")
RULES = {
    "plain": "[{field: id}, {field: kind}, {field: n}, {field: ts}]",
    "salt": "[{salt: {of: [id], buckets: 4}}, {field: id}, {field: kind}, {field: n}, {field: ts}]",
    "hash": "[{hash: {algorithm: md5, of: [id], take: 4}}, {field: id}, {field: kind}, {field: ts}, {field: n}]",
    "reversed": "[{field: {name: n, encoding: decimal, width: 10, reverse: true}}, {field: id}, {field: ts}, {field: kind}]",
    "descending": "[{field: kind}, {field: {name: ts, order: desc}}, {field: id}, {field: n}]",
    "modulo": "[{mod: {of: n, buckets: 5, as: hex, width: 2}}, {field: n}, {field: ts}, {field: id}, {field: kind}]",
    "ring": "[{ring: {of: [id], nodes: [a1, b2, c3], replicas: 16}}, {field: id}, {field: n}, {field: kind}, {field: ts}]",
    "calendar": "[{calendar: {of: ts, parts: [yyyy, MM, dd, HH], separator: \"-\"}}, {literal: \"|\"}, {field: id}, {field: ts}, {field: kind}, {field: n}]",
    "swapped": "[{field: ts}, {field: n}, {field: kind}, {field: {name: id, encoding: raw}}]",
    "escaped": "[{field: {name: id, encoding: terminated, terminator: \"|\"}}, {field: {name: kind, encoding: ordered}}, {field: {name: n, encoding: ordered}}, {field: {name: ts, encoding: max_minus}}]",
    "fixed": "[{literal: \"t1\"}, {field: {name: id, encoding: fixed, width: 12}}, {enum: kind}, {field: {name: ts, encoding: raw_int}}, {field: {name: n, encoding: raw_int, width: 4}}]",
    "packed": "[{calendar: {of: ts, parts: [yyyy, MM, dd], as: packed, width: 4}}, {enum: {field: kind, as: text}}, {literal: '\\x00'}, {field: {name: ts, order: desc}}, {field: n}, {field: id}]",
    "phoenix": "[{salt: {algorithm: phoenix, buckets: 4}}, {field: id}, {field: {name: n, encoding: phoenix, width: 4}}, {field: {name: ts, encoding: phoenix}}, {field: kind}]",
    "composite": "[{hash: {of: [kind, n], algorithm: murmur3, as: bytes, take: 2}}, {salt: {algorithm: hbasewd, buckets: 3}}, {literal: \"-\"}, {enum: kind}, {field: {name: n, order: desc}}, {field: id}, {field: ts}]",
    "bits": "[{bits: {of: ts, parts: [zero 1, ms 41, n 22]}}, {field: id}, {field: kind}, {field: {name: ts, encoding: decimal, width: 14}}]",
}
START = 1_700_000_000_000
PHASES = ["before", "both-old", "both-new", "after"]


def table(name, rule):
    return f"  {name}:\n    fields: {FIELDS}\n    families: {{d: {{versions: 1}}, e: {{versions: 3}}}}\n    key: {RULES[rule]}\n"


def policy(pairs, now):
    """The tables of the pairs, with the old rule (now: 0) or the new one, and tables with the new rule from the start."""
    references = sorted({pair[1] for pair in pairs})
    return "tables:\n" + "".join(table(name_of(pair), pair[now]) for pair in pairs) + "".join(table("from_" + rule, rule) for rule in references)


def name_of(pair):
    return f"{pair[0]}_to_{pair[1]}"


# --- writes -----------------------------------------------------------------------------------------

def random_records(chance):
    """Identities that collide in parts of keys."""
    made = set()
    while len(made) < RECORDS:
        made.add((chance.choice(["", "a", "ab", "é", "r1", "r2", "zz zz", "0123456789"]), chance.choice(["new", "paid", "sent"]),
                  chance.choice([0, 1, 5, 77, 12345]), START + chance.choice([0, 1, 999, 3_600_000, 86_400_000 * 40])))
    return sorted(made)


def writes_of_phase(chance, records, phase):
    """[(what, record, fields or columns, timestamp)]; the same for all tables. A record gets only timestamps of the caller, all
    different and in any order, or none."""
    made = []
    for number, key in enumerate(records):
        for step in range(chance.randint(0, 3) if phase else 3):
            stamp = 1000 * chance.randrange(100) + 10 * phase + step + 1 if number % 2 else None
            fields = {"a": f"{phase}-{step}-{number}", "b": 10000 * phase + 100 * step + number}
            kind = chance.random()
            if kind < 0.5:
                fields["m"] = {f"k{chance.randrange(3)}": 10000 * phase + 100 * step + number}
                made.append(("put", key, fields, stamp))
            elif kind < 0.75:
                made.append(("put", key, {name: fields[name] for name in [chance.choice(["a", "b"])]}, stamp))
            elif kind < 0.9:
                made.append(("remove", key, [chance.choice(["a", "b", "m.k1"])], stamp))
            else:
                made.append(("remove", key, [], stamp))
    return made


def identity(key):
    return record(id=key[0], kind=key[1], n=key[2], ts=key[3])


def write(data, name, writes):
    for what, key, fields, stamp in writes:
        options = None if stamp is None else Options(timestamp=stamp)
        if what == "put":
            written = data.put(name, {**identity(key), **record(**fields)}, options)
        else:
            written = data.remove(name, identity(key), fields, options)
        assert written.outcome == Outcome.OK, (name, what, key, written)


# --- checks -----------------------------------------------------------------------------------------

def states(data, name, records):
    found = data.getMany(name, [identity(key) for key in records], [], None)
    return {key: plain(one.record) if one.record is not None else None for key, one in zip(records, found)}


def check_reads(data, pair, records):
    """Gets and a scan return what the table with the new rule from the start has."""
    name, wanted = name_of(pair), states(data, "from_" + pair[1], records)
    found = states(data, name, records)
    assert found == wanted, f"{name}: {found}, not {wanted}"
    rows = [plain(row) for row in data.scan(Query(table=name, full_scan=True)).rows]
    listed = {(row["id"], row["kind"], row["n"], row["ts"]): row for row in rows}
    assert len(listed) == len(rows), name
    assert listed == {key: row for key, row in wanted.items() if row is not None}, f"{name}: {listed}, not {wanted}"


def comparable(cells):
    """The cells of a row, sorted. Where the store gave the timestamps, without them, and only the newest version of each
    column: versions of the same millisecond replace each other."""
    newest = {}
    for column, stamp, held in cells:
        newest.setdefault(column, (stamp, held))
    given = all(stamp < START for _, stamp, _ in cells)
    return sorted(cells) if given else sorted((column, held) for column, (_, held) in newest.items())


def check_cells(pair, old, new, reference):
    name = name_of(pair)
    assert new.keys() == reference.keys(), f"{name}: rows {sorted(new.keys() ^ reference.keys())}"
    for row, cells in new.items():
        assert comparable(cells) == comparable(reference[row]), f"{name}: {row}: {cells}, not {reference[row]}"
    if old is not None:  # the rows are named differently, but have the same cells
        one, other = (sorted(sorted(cells) for cells in rows.values()) for rows in (old, new))
        assert one == other, f"{name}: the old rows have other cells: {one}, {other}"


# --- the run ----------------------------------------------------------------------------------------

def serve_again(gateway):
    gateway.start()
    wait_until(lambda: gateway.ready()["ready"], "the gateway to serve")


def write_everywhere(gateway, pairs, writes):
    data = gateway.data()
    for name in [name_of(pair) for pair in pairs] + sorted({"from_" + pair[1] for pair in pairs}):
        write(data, name, writes)
    return data


def order_all(gateway, pairs, action, **options):
    admin = gateway.admin()
    for pair in pairs:
        admin.orderChange(name_of(pair), changing.ChangeAction._NAMES_TO_VALUES[action], changing.ChangeOptions(**options))
    admin.close()


def run_pairs(gateway, pairs, chance):
    records = random_records(chance)
    phases = [writes_of_phase(chance, records, phase) for phase in range(len(PHASES))]
    began = time.monotonic()

    def report(what):
        print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)
    apply(gateway, policy(pairs, 0), 0)
    report(f"{len(pairs)} pairs of {len(RULES)} rules")
    write_everywhere(gateway, pairs, phases[0]).close()
    report("written")
    applied = apply(gateway, policy(pairs, 1))
    assert applied.changed
    report("both-old")
    data = write_everywhere(gateway, pairs, phases[1])
    for pair in pairs:
        found = wait_until_compared(gateway, name_of(pair))
        assert found.foreign_rows == 0 and found.repaired == found.missing + found.different + found.extra, found
        check_reads(data, pair, records)
    report("copied and compared")
    order_all(gateway, pairs, "SWITCH")
    data = write_everywhere(gateway, pairs, phases[2])
    for pair in pairs:
        check_reads(data, pair, records)
    report("both-new")
    tables = [status(gateway, name_of(pair)) for pair in pairs]
    gateway.stop()
    cells = cells_of(gateway.folder, *[one.store_table for one in tables], *[one.old_store_table for one in tables],
                     *{"from_" + pair[1] for pair in pairs})
    for pair, one in zip(pairs, tables):
        check_cells(pair, cells[one.old_store_table], cells[one.store_table], cells["from_" + pair[1]])
    report("cells compared")
    serve_again(gateway)
    order_all(gateway, pairs, "COMPLETE", expire_cursors=True)
    wait_until(lambda: not call(gateway, "changes", ""), "the changes to end")
    data = write_everywhere(gateway, pairs, phases[3])
    for pair in pairs:
        check_reads(data, pair, records)
    report("complete")
    gateway.stop()
    after = cells_of(gateway.folder, *[one.store_table for one in tables], *{"from_" + pair[1] for pair in pairs})
    for pair, one in zip(pairs, tables):
        check_cells(pair, None, after[one.store_table], after["from_" + pair[1]])
    report("cells compared")


def main():
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS_IN_CI
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    pairs = [(old, new) for old in RULES for new in RULES if old != new]
    if count:
        pairs = sorted(chance.sample(pairs, count))
    with Gateway(changing.SETTINGS) as gateway:
        run_pairs(gateway, pairs, chance)
        gateway.start()


if __name__ == "__main__":
    main()
