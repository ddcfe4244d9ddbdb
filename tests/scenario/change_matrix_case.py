"""Key rules, records, writes and checks of the tests that change each kind of key rule to each other one: change_matrix.py
and change_matrix_hbase.py.
"""
from keyway_gateway import plain, record
from keyway_thrift.ttypes import Options, Outcome, Query

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
DEADLINE_MS = 60_000


def all_pairs():
    return [(old, new) for old in RULES for new in RULES if old != new]


def table(name, rule, more=""):
    """more: further settings, each on a line with four spaces before it."""
    return f"  {name}:\n{more}    fields: {FIELDS}\n    families: {{d: {{versions: 1}}, e: {{versions: 3}}}}\n    key: {RULES[rule]}\n"


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


def write_one(data, name, write):
    what, key, fields, stamp = write
    options = Options(timestamp=stamp, deadline_ms=DEADLINE_MS)
    if what == "put":
        return data.put(name, {**identity(key), **record(**fields)}, options)
    return data.remove(name, identity(key), fields, options)


def write(data, name, writes):
    for each in writes:
        written = write_one(data, name, each)
        assert written.outcome == Outcome.OK, (name, each, written)


# --- checks -----------------------------------------------------------------------------------------

def states(data, name, records):
    found = data.getMany(name, [identity(key) for key in records], [], Options(deadline_ms=DEADLINE_MS))
    return {key: plain(one.record) if one.record is not None else None for key, one in zip(records, found)}


def check_reads(data, name, reference, records):
    """Gets and a scan return what the table with the new rule from the start has."""
    wanted = states(data, reference, records)
    found = states(data, name, records)
    assert found == wanted, f"{name}: {found}, not {wanted}"
    rows = [plain(row) for row in data.scan(Query(table=name, full_scan=True, page_rows=1000, deadline_ms=DEADLINE_MS)).rows]
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


def check_cells(name, old, new, reference):
    """Rows of store tables: under the old rule (None: not compared), under the new one, and those of the table that has had
    the new rule from the start."""
    assert new.keys() == reference.keys(), f"{name}: rows {sorted(new.keys() ^ reference.keys())}"
    for row, cells in new.items():
        assert comparable(cells) == comparable(reference[row]), f"{name}: {row}: {cells}, not {reference[row]}"
    if old is not None:  # the rows are named differently, but have the same cells
        one, other = (sorted(sorted(cells) for cells in rows.values()) for rows in (old, new))
        assert one == other, f"{name}: the old rows have other cells: {one}, {other}"
