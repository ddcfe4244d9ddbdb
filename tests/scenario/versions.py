"""Timestamps, end to end: compares writes with the caller's timestamps in any order, and many callers that remove and put
the same records, with HBase's rules.

A cell's value is its newest one. A remove hides values that are as old as itself or older, no matter when they were
written. A put after an acknowledged remove, increment or putIf is visible, no matter what other callers do.

KEYWAYD is the gateway's program; KW_SEED repeats a run.
"""
import os
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Gateway, plain, record, value  # noqa: E402
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Options, Outcome, Query  # noqa: E402

POLICY = """
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
store: {{kind: embedded, path: {folder}/data}}
tables:
  one:
    fields: {{id: string, ts: int, a: string, b: {{type: int, column: "e:b", counter: true}}, c: bytes}}
    key: [{{field: id}}, {{field: ts}}]
    families: {{d: {{versions: 3}}, e: {{versions: 1}}}}
  two:
    fields: {{id: string, ts: int, a: string, b: {{type: int, column: "e:b", counter: true}}, c: bytes}}
    key: [{{field: id}}, {{field: {{name: ts, order: desc}}}}]
    paths:
      by_ts: {{key: [{{salt: {{of: id, buckets: 4}}}}, {{field: ts}}, {{field: id}}]}}
"""
FIELDS = ["a", "b", "c"]
NEXT_CENTURY = 4102444800000
WRITERS = 6
SECONDS = 6


class Cells:
    """One record as HBase stores it: values and markers by time. Time is (stamp, number): of several puts with one
    stamp the last counts, and a marker hides puts with its own stamp."""

    def __init__(self):
        self.puts = {}     # field: [(stamp, number, value)]; field "" is the marker of rows without fields
        self.removed = {}  # field, or None for the whole row: newest stamp

    def put(self, fields, stamp, number):
        for name, held in (fields or {"": None}).items():
            self.puts.setdefault(name, []).append((stamp, number, held))

    def remove(self, names, stamp):
        for name in names or [None]:
            self.removed[name] = max(stamp, self.removed.get(name, -1))

    def stays(self, names):
        """True if a removal with the present time would leave a field."""
        for name in self.puts if not names else names:
            stamp = max((put[0] for put in self.puts.get(name, [])), default=-1)
            if stamp >= NEXT_CENTURY and stamp > max(self.removed.get(name, -1), self.removed.get(None, -1)):
                return True
        return False

    def seen(self):
        """The visible fields, or None if the record does not exist."""
        found = {}
        for name, puts in self.puts.items():
            stamp, _, held = max(puts, key=lambda put: put[:2])
            if stamp > max(self.removed.get(name, -1), self.removed.get(None, -1)):
                found[name] = held
        return {name: held for name, held in found.items() if name} if found else None


class Story:
    """Writes to the few records of a table, with and without timestamps."""

    def __init__(self, chance, table):
        self.chance = chance
        self.table = table
        self.records = {(name, ts): Cells() for name in ("x", "xy", "") for ts in (-1, 0, 7)}
        self.number = 0

    def stamp(self):
        """A small timestamp, none (the gateway's is later than all small ones), or at times one of the next century."""
        self.number += 1
        kind = self.chance.random()
        if kind < 0.5:
            small = self.chance.randrange(12)
            return small, Options(timestamp=small)
        if kind < 0.97:
            return 10**9 + self.number, None
        far = NEXT_CENTURY + self.chance.randrange(3)
        return far, Options(timestamp=far)

    def write(self, data):
        key = self.chance.choice(list(self.records))
        named = record(id=key[0], ts=key[1])
        stamp, options = self.stamp()
        names = self.chance.sample(FIELDS, self.chance.randint(0, 3))
        if self.chance.random() < 0.6:
            values = {"a": str(self.number), "b": self.number, "c": bytes([self.number % 256])}
            fields = {name: values[name] for name in names}
            written = data.put(self.table, {**named, **record(**fields)}, options)
            self.records[key].put(fields, stamp, self.number)
        elif options is None and self.records[key].stays(names):
            self.refuse_removal(data, named, names)
            return
        else:
            written = data.remove(self.table, named, names, options)
            self.records[key].remove(names, stamp)
        assert written.outcome == Outcome.OK, written
        self.check(data, [key])

    def refuse_removal(self, data, named, names):
        try:
            data.remove(self.table, named, names, None)
        except KeywayError as error:
            assert error.code == Code.REFUSED and "keyway remove --timestamp" in error.message, error
            return
        raise AssertionError(f"a removal of {named} {names} would have left a field")

    def check(self, data, keys):
        found = data.getMany(self.table, [record(id=name, ts=ts) for name, ts in keys], [], None)
        for key, one in zip(keys, found):
            self.same(key, plain(one.record) if one.record is not None else None)

    def same(self, key, found):
        wanted = self.records[key].seen()
        if wanted is not None:
            wanted = {**wanted, "id": key[0], "ts": key[1]}
        assert found == wanted, f"{self.table} {key}: {found}, not {wanted}; {vars(self.records[key])}"

    def check_paths(self, data, paths):
        for path in paths:
            rows = [plain(row) for row in data.scan(Query(self.table, path=path, full_scan=True)).rows]
            found = {(row["id"], row["ts"]): row for row in rows}
            assert len(found) == len(rows), rows
            for key in self.records:
                self.same(key, found.get(key))


def run_stamps(chance, gateway):
    stories = [(Story(chance, "one"), ["primary"]), (Story(chance, "two"), ["primary", "by_ts"])]
    for _ in range(3):
        data = gateway.data()
        for story, paths in stories:
            for _ in range(150):
                story.write(data)
            story.check_paths(data, paths)
        data.close()
        gateway.restart()
    data = gateway.data()
    for story, paths in stories:
        story.check(data, list(story.records))
        story.check_paths(data, paths)
    for wrong in (-1, 2**63 - 1, 10**15):
        try:
            data.put("one", record(id="x", ts=0), Options(timestamp=wrong))
        except KeywayError as error:
            assert error.code == Code.INVALID, error
        else:
            raise AssertionError(f"timestamp {wrong} was taken")
    data.close()


# --- many callers -----------------------------------------------------------------------------------

class Writer(threading.Thread):
    """Writes its own records and reads each back at once; removes of other writers move the clock."""

    def __init__(self, number, seed, gateway, until):
        super().__init__()
        self.number = number
        self.chance = random.Random(seed)
        self.gateway = gateway
        self.until = until
        self.rounds = 0
        self.failure = None

    def run(self):
        try:
            data = self.gateway.data()
            while time.monotonic() < self.until:
                self.round(data, self.chance.choice(["one", "one", "two"]))
                self.rounds += 1
            data.close()
        except Exception as failure:  # the main thread prints it
            self.failure = failure

    def round(self, data, table):
        key = record(id=f"writer {self.number}", ts=self.chance.randrange(4))
        text = f"{self.rounds}"
        assert data.put(table, {**key, **record(a=text, b=1)}, None).outcome == Outcome.OK
        self.expect(data, table, key, {"a": text, "b": 1}, "put")
        if table == "one":
            condition = Condition("a", CompareOp.EQUAL, value(text))
            assert data.putIf(table, {**key, **record(a=text + "!")}, condition, None)
            self.expect(data, table, key, {"a": text + "!", "b": 1}, "putIf")
            data.increment(table, key, {"b": 5}, None)
            self.expect(data, table, key, {"a": text + "!", "b": 6}, "increment")
            assert data.put(table, {**key, **record(b=2)}, None).outcome == Outcome.OK
            self.expect(data, table, key, {"a": text + "!", "b": 2}, "put after an increment")
        if self.chance.random() < 0.5:
            assert data.remove(table, key, ["a"], None).outcome == Outcome.OK
            self.expect(data, table, key, {"b": 2 if table == "one" else 1}, "remove of a")
        assert data.remove(table, key, [], None).outcome == Outcome.OK
        self.expect(data, table, key, None, "remove")

    def expect(self, data, table, key, wanted, what):
        found = data.get(table, key, [], None).record
        found = None if found is None else {name: held for name, held in plain(found).items() if name in FIELDS}
        assert found == wanted, f"after {what} in round {self.rounds} of {table}: {found}, not {wanted}"


def run_callers(chance, gateway):
    until = time.monotonic() + SECONDS
    writers = [Writer(number, chance.randrange(2**32), gateway, until) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    for writer in writers:
        if writer.failure:
            raise writer.failure
    print(sum(writer.rounds for writer in writers), "rounds of", WRITERS, "callers")


def main():
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    with Gateway(POLICY) as gateway:
        run_stamps(chance, gateway)
    with Gateway(POLICY) as gateway:
        run_callers(chance, gateway)


if __name__ == "__main__":
    main()
