"""Queries by paths over fields that change, compared with a model: docs/design/paths.md has the promises.

Random records, whose fields get other values together or one by one, are removed or become absent. Random queries with conditions, ranges,
orders, limits, page sizes and columns, in three situations:

    still     nothing is written during the query: exact
    between   records are written between the pages of the query
    beside    a second caller writes all the time

A record that is not written during the query is returned once if it matches. A record that matches throughout is returned
once in a query of one page, and once or twice in a query of several pages, the second time with newer values. Each row is
as its record was at one moment of the query, and matched then.

Arguments: `embedded`, or `hbase` (KW_HBASE_ENV names the file with HBase's addresses); the number of queries. KW_SEED
repeats a run.
"""
import collections
import json
import os
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Ready, plain, record, value  # noqa: E402
from keyway_hbase import hbase_servers  # noqa: E402
from keyway_thrift.ttypes import KeywayError, Options, Order, Outcome, Query, Range  # noqa: E402

RECORDS = 80
TS = 1_700_000_000_000
DAY = 86_400_000
HBASE = sys.argv[1:2] == ["hbase"]  # with order: store, which refuses puts of some fields of a path's key
STILL_S = 0.05 if HBASE else 0.002
MEMORY = 64  # of a cursor, in records that moved

# Fields: the values that they take. Keys: the fields in the order of the path's key; a field after `-` descends.
ORDERS = {
    "fields": {"order_no": None, "seller": ["ann", "bob", "eve", "zoe"], "buyer": ["b1", "b2", "b3"],
               "created": [TS + n * 1000 for n in range(25)], "status": ["new", "paid", "sent"],
               "amount": [0.5, 1.0, 2.5, 8.0]},
    "text": """
    fields: {order_no: string, seller: string, buyer: string, created: timestamp,
             status: {type: string, values: [new, paid, sent]}, amount: double, n: int}
    key: [{hash: {of: [order_no], take: 2, as: bytes}}, order_no]
    paths:
      by_seller: {key: [seller, {field: {name: created, order: desc}}, order_no]}
      by_status: {key: [{salt: {of: [order_no], buckets: 8}}, status, {field: {name: created, order: desc}}, order_no]}
      by_buyer: {key: [{hash: {of: [buyer], take: 2}}, buyer, order_no]}
""",
    "identity": ["order_no"],
    "paths": {"by_seller": ["seller", "-created", "order_no"], "by_status": ["status", "-created", "order_no"],
              "by_buyer": ["buyer", "order_no"]},
    "groups": [["seller", "created", "status"], ["buyer"]],
}
TASKS = {
    "fields": {"team": ["x", "y"], "number": None, "due": [TS + n * DAY // 2 for n in range(100)], "level": list(range(-3, 4)),
               "owner": ["ann", "", "anna", "bob"], "done": [False, True]},
    "text": """
    fields: {team: string, number: int, due: timestamp, level: int, owner: string, done: bool, n: int}
    key: [team, number]
    paths:
      by_day: {key: [{calendar: {of: due, parts: [yyyy, MM, dd]}}, due, team, number]}
      by_level: {key: [{field: {name: level, order: desc}}, due, number, team]}
      by_owner: {key: [team, {field: {name: owner, encoding: terminated}}, done, number]}
""",
    "identity": ["team", "number"],
    "paths": {"by_day": ["due", "team", "number"], "by_level": ["-level", "due", "number", "team"],
              "by_owner": ["team", "owner", "done", "number"]},
    "groups": [["due", "level"], ["owner", "done"]],
}
tally = collections.Counter()


class Mismatch(Exception):
    pass


def expect(good, *what):
    if not good:
        raise Mismatch(" ".join(str(one) for one in what))


class Version:
    """What a record was from a moment between `begin` and `end` on; values None: it did not exist."""

    def __init__(self, values, begin, end):
        self.values, self.begin, self.end = values, begin, end


class Table:
    def __init__(self, name, rules, chance):
        self.name, self.chance = name, chance
        self.fields, self.identity, self.groups = rules["fields"], rules["identity"], rules["groups"]
        self.paths = {name: [(one.lstrip("-"), -1 if one[0] == "-" else 1) for one in key]
                      for name, key in rules["paths"].items()}
        self.lock = threading.Lock()
        self.versions = {}  # identity to list of Version
        self.serial = 0

    def random_identity(self):
        chance = self.chance
        return tuple(f"N{chance.randrange(RECORDS):03}" if name == "order_no" else chance.randrange(RECORDS // 2)
                     if name == "number" else chance.choice(self.fields[name]) for name in self.identity)

    def now(self, identity):
        found = self.versions.get(identity)
        return found[-1].values if found else None

    # --- writes ---

    def write(self, data):
        """Puts or removes a random record."""
        chance, identity = self.chance, self.random_identity()
        before = self.now(identity)
        key = dict(zip(self.identity, identity))
        after = dict(before) if before else dict(key)
        if before and chance.random() < 0.15:
            names = [name for name in self.fields if name not in self.identity and name in before]
            columns = chance.sample(names, chance.randint(1, len(names))) if names and chance.random() < 0.6 else []
            after = {name: held for name, held in before.items() if name not in columns} if columns else None

            def call():
                return data.remove(self.name, record(**key), columns, None)
        else:
            self.serial += 1
            given = {"n": self.serial}
            for group in self.groups:
                some = group if HBASE or chance.random() < 0.7 else chance.sample(group, chance.randint(1, len(group)))
                if chance.random() < 0.8:
                    given.update({name: chance.choice(self.fields[name]) for name in some})
            if "amount" in self.fields and chance.random() < 0.3:
                given["amount"] = chance.choice(self.fields["amount"])
            after.update(given)

            def call():
                return data.put(self.name, record(**key, **given), None)
        version = Version(after, time.monotonic(), float("inf"))
        with self.lock:
            self.versions.setdefault(identity, []).append(version)
        answer = call()
        version.end = time.monotonic()
        expect(answer.outcome == Outcome.OK, "write", key, answer)

    # --- queries ---

    def random_query(self):
        chance = self.chance
        path = chance.choice(list(self.paths))
        asked = {"path": path, "bound": {}, "any": {}, "range": None}
        names = [name for name, _ in self.paths[path]]
        count = chance.choice([0, 1, 1, 1, 2, len(names)])
        chosen = names[:count] + [name for name in self.fields if name not in names[:count] and chance.random() < 0.05]
        for name in chosen:
            pool = self.fields[name] or [dict(zip(self.identity, self.random_identity()))[name] for _ in range(5)]
            if chance.random() < 0.5:
                asked["bound"][name] = chance.choice(pool)
            else:
                asked["any"][name] = [chance.choice(pool) for _ in range(chance.randint(1, 3))]
        rest = [name for name in names if name not in chosen and name not in ("team", "done", "status")]
        if rest and chance.random() < 0.4:
            name = rest[0] if chance.random() < 0.8 else chance.choice(rest)
            pool = self.fields[name] or [dict(zip(self.identity, self.random_identity()))[name] for _ in range(5)]
            low, high = sorted([chance.choice(pool), chance.choice(pool)])
            asked["range"] = (name, low, high)
        asked["order"] = chance.choice([None, None, Order.ASCENDING, Order.DESCENDING])
        asked["limit"] = chance.choice([None, None, None, 1, 3, 20])
        asked["page_rows"] = chance.choice([None, None, 1, 2, 3, 7])
        asked["page_bytes"] = chance.choice([None, None, None, 1, 300])
        asked["columns"] = None if chance.random() < 0.5 else ["n"] + chance.sample(sorted(self.fields), 2)
        if chance.random() < 0.1:
            asked["path"] = None
        return asked

    def thrift(self, asked):
        made = Query(self.name, bound=record(**asked["bound"]), path=asked["path"], order=asked["order"], limit=asked["limit"],
                     bound_any={name: [value(one) for one in values] for name, values in asked["any"].items()},
                     page_rows=asked["page_rows"], page_bytes=asked["page_bytes"], columns=asked["columns"], full_scan=True)
        if asked["range"]:
            name, low, high = asked["range"]
            made.range = Range(name, value(low), value(high), True, True)
        return made

    def matches(self, values, asked):
        if values is None:
            return False
        if asked["path"] and not all(name in values for name, _ in self.paths[asked["path"]]):
            return False
        if not all(name in values and values[name] == one for name, one in asked["bound"].items()):
            return False
        if not all(name in values and values[name] in several for name, several in asked["any"].items()):
            return False
        if not asked["range"]:
            return True
        name, low, high = asked["range"]
        return name in values and low <= values[name] <= high

    def shown(self, values, asked):
        wanted = {*self.identity, *(asked["columns"] or values)}
        return {name: held for name, held in values.items() if name in wanted}

    def run(self, data, asked, between):
        """The pages of a query, or None if it is rejected. between: called between two pages."""
        try:
            page = data.scan(self.thrift(asked))
        except KeywayError as error:
            if "cannot be answered in" in error.message or "whole table" in error.message or "ranges" in error.message:
                tally["refused"] += 1
                return None
            raise
        pages = [[plain(row) for row in page.rows]]
        while page.cursor is not None:
            between()
            page = data.nextPage(page.cursor, Options())
            pages.append([plain(row) for row in page.rows])
        return pages

    def key_of(self, row):
        return tuple(row[name] for name in self.identity)

    # --- judgements ---

    def judge_still(self, data, asked):
        time.sleep(STILL_S)  # what was written just before the query counts as written during it
        pages = self.run(data, asked, lambda: None)
        if pages is None:
            return
        rows = [row for page in pages for row in page]
        wanted = {identity: versions[-1].values for identity, versions in self.versions.items()
                  if self.matches(versions[-1].values, asked)}
        found = {self.key_of(row): row for row in rows}
        expect(len(found) == len(rows), "a record twice")
        limit = asked["limit"] or len(wanted)
        expect(len(rows) == min(limit, len(wanted)), len(rows), "rows, not", min(limit, len(wanted)), "of", len(wanted))
        for identity, row in found.items():
            expect(identity in wanted and row == self.shown(wanted[identity], asked), "row", row, "not", wanted.get(identity))
        self.judge_order(rows, list(wanted.values()), asked)
        tally["still"] += 1
        tally["rows"] += len(rows)

    def judge_order(self, rows, wanted, asked):
        """With an order, the rows are in the order of the path's first field that has no values."""
        held = {**asked["bound"], **asked["any"]}
        free = [name for name, _ in self.paths.get(asked["path"], []) if name not in held]
        if asked["order"] is None or not free:
            return
        by = {self.key_of(values): values[free[0]] for values in wanted}
        found = [by[self.key_of(row)] for row in rows]
        best = sorted(by.values(), reverse=asked["order"] == Order.DESCENDING)[:len(rows)]
        expect(found == best, "by", free[0], found, "not", best)
        tally["ordered"] += 1

    def judge_moving(self, data, asked, between, what):
        start = time.monotonic()
        pages = self.run(data, asked, between)
        end = time.monotonic()
        if pages is None:
            return
        with self.lock:
            versions = {identity: list(found) for identity, found in self.versions.items()}
        seen = collections.defaultdict(list)
        for page in pages:
            for row in page:
                seen[self.key_of(row)].append(row)
            expect(len({self.key_of(row) for row in page}) == len(page), "a record twice on one page")
        possible = {identity: visible(found, start, end) for identity, found in versions.items()}
        moved = sum(len(found) > 1 for found in possible.values())
        for identity, rows in seen.items():
            self.judge_rows(identity, rows, possible[identity], len(pages), moved, asked)
        for identity, found in possible.items():
            throughout = all(self.matches(version.values, asked) for version in found)
            if throughout and found and not asked["limit"]:
                expect(identity in seen, "missed", identity, [version.values for version in found])
                tally["moved throughout"] += len(found) > 1
        tally[what] += 1
        tally[what + ", several pages"] += len(pages) > 1
        tally["twice"] += sum(len(rows) > 1 for rows in seen.values())

    def judge_rows(self, identity, rows, possible, pages, moved, asked):
        at = []
        for row in rows:
            places = [place for place, version in enumerate(possible)
                      if self.matches(version.values, asked) and row == self.shown(version.values, asked)]
            expect(places, "row", row, "is not one of", [version.values for version in possible])
            at.append(places)
        if moved > MEMORY:
            return
        expect(len(rows) == 1 or pages > 1, "twice on one page", rows)
        expect(len(possible) > 1 or len(rows) == 1, "not written, but returned", len(rows), "times", rows)
        expect(len(rows) <= 2, "returned", len(rows), "times", rows)
        if len(rows) == 2:
            expect(min(at[0]) < max(at[1]), "twice, but not with newer values:", rows)


def visible(versions, start, end):
    """The versions that a query from start to end can have seen. None is visible before the first write."""
    found = [version for place, version in enumerate(versions)
             if version.begin <= end and (place + 1 == len(versions) or versions[place + 1].end >= start)]
    if versions and versions[0].end >= start:
        found.insert(0, Version(None, 0, 0))
    return found


class Writer(threading.Thread):
    """Writes to a table until it is stopped."""

    def __init__(self, gateway, table):
        super().__init__()
        self.data, self.table, self.over, self.error = gateway.data(), table, False, None

    def run(self):
        try:
            while not self.over:
                self.table.write(self.data)
                time.sleep(0.0005)
        except Exception as error:  # reported by stop()
            self.error = error

    def stop(self):
        self.over = True
        self.join()
        self.data.close()
        if self.error:
            raise self.error


def policy_for(store, names):
    name = f"hint_queries_{os.getpid()}_{int(time.time())}"
    where = "{kind: embedded, path: FOLDER/data}"
    if store == "hbase":
        servers = hbase_servers()
        where = (f"{{kind: hbase, servers: [{servers['KW_HBASE_FRAMED']}], "
                 f"create_missing: true, catalog: {name}_catalog}}")
    tables = "".join(f"  {name}_{one}:{rules['text']}" for one, rules in names.items())
    text = f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nlimits: {{ranges: 30}}\nhints: {{keep: 5s}}\nstore: {where}\ntables:\n{tables}"
    return text.replace("{", "{{").replace("}", "}}").replace("FOLDER", "{folder}"), name


def ask(table, data, asked, situation):
    def between():
        for _ in range(table.chance.randint(0, 6)):
            table.write(data)
    try:
        if situation == "still":
            table.judge_still(data, asked)
        elif situation == "between":
            table.judge_moving(data, asked, between, situation)
        else:
            table.judge_moving(data, asked, lambda: None, situation)
    except (Mismatch, KeywayError) as error:
        raise Mismatch(f"{error}\nquery {asked} of {table.name}, {situation}") from error


def main():
    store, queries = sys.argv[1], int(sys.argv[2])
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    rules = {"orders": ORDERS, "tasks": TASKS}
    policy, prefix = policy_for(store, rules)
    with Ready(policy) as gateway:
        data = gateway.data()
        tables = [Table(f"{prefix}_{name}", one, random.Random(chance.random())) for name, one in rules.items()]
        for table in tables:
            for _ in range(3 * RECORDS):
                table.write(data)
        for number in range(queries // 10):
            table = tables[number % 2]
            situation = ["still", "between", "beside"][number // 2 % 3]
            writer = Writer(gateway, table) if situation == "beside" else None
            if writer:
                writer.start()
            for _ in range(10):
                ask(table, data, table.random_query(), situation)
                if not writer:
                    table.write(data)
            if writer:
                writer.stop()
        data.close()
    print(json.dumps(tally, indent=1))
    for what in ("still", "between, several pages", "beside, several pages", "ordered", "twice", "moved throughout"):
        expect(tally[what] > 0, "no query tested:", what)


if __name__ == "__main__":
    main()
