"""The policy of the walk, and the records of its tables.

The tables have every kind of key component that a query can multiply, keys of 30,000 bytes, maps, generated fields,
counters, an association, and one table whose key rule is being changed.
"""
from keyway_gateway import record

MIB = 1024 * 1024
LONGEST = 30000  # bytes of an id: a key has at most 32,767
STORED = 2000  # bytes of a long id of many records: see SECURITY.md about the memory that RocksDB needs for longer ones
DAY_MS = 24 * 3600 * 1000
BASE_MS = 1_700_000_000_000

NODES = ", ".join(f"n{i:02d}" for i in range(64))

TABLES = f"""\
tables:
  events:
    fields:
      id: {{type: string, max_bytes: {LONGEST}}}
      ts: {{type: timestamp, unit: ms}}
      note: string
      blob: bytes
      n: {{type: int, counter: true}}
      weight: double
      done: bool
      tags: {{type: map, of: string, column: "d:tag_*"}}
      hits: {{type: map, of: int, counter: true, column: "h:*"}}
    key: [{{hash: {{of: [id]}}}}, {{field: id}}, {{field: {{name: ts, order: desc}}}}]
    families: {{d: {{versions: 3}}}}
    paths:
      by_time: {{key: [{{salt: {{of: [id], buckets: 37}}}}, {{field: ts}}, {{field: id}}]}}
  days:
    fields:
      id: {{type: string, max_bytes: {LONGEST}}}
      ts: {{type: timestamp, unit: ms}}
      kind: {{type: string, values: [a, b, c, d, e, f, g, h]}}
      note: string
      n: {{type: int, counter: true}}
    key: [{{salt: {{of: [id], buckets: 37}}}}, {{calendar: {{of: ts, parts: [yyyy, MM, dd, HH, mm, ss]}}}}, {{enum: kind}}, {{field: id}}, {{field: ts}}]
    paths:
      by_kind: {{key: [{{enum: kind}}, {{calendar: {{of: ts, parts: [yyyy, MM, dd]}}}}, {{hash: {{of: [id]}}}}, {{field: id}}, {{field: ts}}]}}
  rings:
    fields:
      id: {{type: string, max_bytes: {LONGEST}}}
      ts: {{type: timestamp, unit: ms}}
      note: string
      n: {{type: int, counter: true}}
    key: [{{ring: {{of: [id], nodes: [{NODES}]}}}}, {{field: id}}, {{field: ts}}]
    paths:
      by_time: {{key: [{{mod: {{of: ts, buckets: 1024}}}}, {{field: ts}}, {{field: id}}]}}
  chosen:
    fields:
      id: {{type: string, max_bytes: {LONGEST}}}
      ts: {{type: timestamp, unit: ms}}
      note: string
      n: {{type: int, counter: true}}
    key: [{{salt: {{algorithm: random, buckets: 16}}}}, {{field: ts}}, {{field: id}}]
    paths:
      by_id: {{association: true, key: [{{field: id}}, {{field: ts}}]}}
  made:
    fields:
      id: {{type: string, generate: uuid7, max_bytes: {LONGEST}}}
      ts: {{type: timestamp, unit: ms, generate: now}}
      number: {{type: int, generate: sequence}}
      flake: {{type: int, generate: snowflake}}
      object: {{type: bytes, generate: objectid}}
      note: string
      n: {{type: int, counter: true}}
    key: [{{mod: {{of: number, buckets: 16}}}}, {{field: number}}, {{field: id}}, {{field: ts}}]
  moving:
    fields:
      id: {{type: string, max_bytes: {LONGEST}}}
      ts: {{type: timestamp, unit: ms}}
      note: string
      n: {{type: int, counter: true}}
    key: MOVING
"""
OLD_RULE = "[{hash: {of: [id]}}, {field: id}, {field: ts}]"
NEW_RULE = "[{salt: {of: [id], buckets: 8}}, {field: id}, {field: ts}]"
FIRST = TABLES.replace("MOVING", OLD_RULE)
PRESENT = TABLES.replace("MOVING", NEW_RULE)  # begins the change


class Table:
    """A table: what is in its key, how many values its queries bind, and its generated field."""

    def __init__(self, name, paths, more=(), generated=None):
        self.name, self.paths, self.more, self.generated = name, paths, tuple(more), generated

    def key(self, number, id_bytes=0):
        """The identity of a record. id_bytes: the size of its id; 0: a short one."""
        name = f"id{number:06}"
        found = {"id": name + "x" * max(0, id_bytes - len(name)), "ts": BASE_MS + number % 500 * DAY_MS // 500}
        if "kind" in self.more:
            found["kind"] = "abcdefgh"[number % 8]
        if "number" in self.more:
            found["number"] = 1 << 40 | number
        return found

    def record(self, number, id_bytes=0, **stored):
        return {**self.key(number, id_bytes), "note": "note", "n": number, **stored}


EVENTS = Table("events", ["primary", "by_time"])
TABLE_LIST = [
    EVENTS,
    Table("days", ["primary", "by_kind"], more=["kind"]),
    Table("rings", ["primary", "by_time"]),
    Table("chosen", ["primary"]),
    Table("made", ["primary"], more=["number"], generated="number"),
    Table("moving", ["primary"]),
]


def settings(limits):
    return ("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\npolicy: {{source: store}}\n"
            "log: {{level: error}}\ntimeouts: {{call: 5s, frame: 5s, drain: 5s}}\n"
            f"limits: {{{{connections: 4000, {', '.join(f'{name}: {size}' for name, size in limits.items() if name != 'cache')}}}}}\n"
            f"store: {{{{kind: embedded, path: {{folder}}/data, backup_folder: {{folder}}, cache: {limits['cache']}}}}}\n")


def fill(gateway):
    """Rows of every table: short and long ids, values of 8 kB and of 1 MiB, and a record with 100,000 entries."""
    data = gateway.data()

    def put(table, records):
        for one in data.putMany(table, [record(**fields) for fields in records], None):
            assert one.outcome == 0, one

    for table in TABLE_LIST:
        put(table.name, [table.record(i) for i in range(2000)])
        put(table.name, [table.record(i, LONGEST) for i in range(5)])
        put(table.name, [table.record(i, STORED) for i in range(100)])
    for start in range(0, 4000, 400):
        put("events", [EVENTS.record(i, note="x" * 8000) for i in range(start, start + 400)])
    for i in range(30):
        put("events", [EVENTS.record(i, STORED, blob=b"y" * MIB)])
    for start in range(0, 100000, 5000):
        put("events", [EVENTS.record(9, tags={f"t{i:06}": "x" for i in range(start, start + 5000)})])
    data.close()
