"""Unique paths: at no moment two records have the same values of the fields in the key, and who has them is found by them.

    model    one caller writes random records, and the outcomes and all reads are compared with a model
    race     many callers give the same few values to their records while others read by them; between two rounds, the
             gateway is killed

KW_SEED repeats a run.
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
from keyway_gateway import Ready, is_sanitized, plain, record, value  # noqa: E402
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Outcome, Query, ScrubOptions  # noqa: E402

POLICY = """
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 3
store: {{kind: embedded, path: {folder}/data}}
tables:
  people:
    fields: {{uid: string, card: string, region: string, tele: int, level: int, weight: double, note: string}}
    key: [{{hash: {{of: [uid], take: 2}}}}, uid]
    paths:
      by_card: {{key: [{{hash: {{of: [card], take: 2}}}}, card], unique: true}}
      by_tele: {{key: [region, {{field: {{name: tele, order: desc}}}}], unique: true}}
      by_weight: {{key: [weight], unique: true}}
      by_level: {{key: [level, region, uid]}}
      backwards: {{key: [{{hash: {{of: [uid], take: 3}}}}, uid]}}
"""
UNIQUE = {"by_card": ["card"], "by_tele": ["region", "tele"], "by_weight": ["weight"]}
POOLS = {"card": [f"C{n}" for n in range(12)] + [""], "region": ["x", "y"], "tele": list(range(-4, 5)),
         "weight": [0.0, -0.0, 1.5, -1.5, 1e300], "level": [1, 2, 3], "note": ["a", "b"]}
UIDS = [f"person-{n}" for n in range(15)]
tally = collections.Counter()


class Mismatch(Exception):
    pass


def expect(good, *what):
    if not good:
        raise Mismatch(" ".join(str(one) for one in what))


def tuple_of(values, path):
    """Values of the fields in the key; None: the record lacks one, or does not exist."""
    fields = UNIQUE[path]
    return tuple(values[name] for name in fields) if values and all(name in values for name in fields) else None


# --- one caller -----------------------------------------------------------------------------------


class Model:
    def __init__(self, data, chance):
        self.data, self.chance, self.records = data, chance, {}

    def taken(self, uid, after):
        """The unique paths in which another record has the values."""
        return [path for path in UNIQUE if tuple_of(after, path) is not None and any(
            tuple_of(held, path) == tuple_of(after, path) for other, held in self.records.items() if other != uid)]

    def touches(self, given, path):
        return any(name in given for name in UNIQUE[path])

    def random_put(self):
        uid = self.chance.choice(UIDS)
        names = self.chance.sample(list(POOLS), self.chance.randint(1, len(POOLS)))
        return uid, {name: self.chance.choice(POOLS[name]) for name in names}

    def judge(self, uid, given, outcome, error):
        after = {"uid": uid, **self.records.get(uid, {}), **given}
        taken = [path for path in self.taken(uid, after) if self.touches(given, path)]
        if not taken:
            expect(outcome == Outcome.OK, "put", uid, given, outcome, error)
            self.records[uid] = after
            return
        expect(outcome == Outcome.FAILED and error.code == Code.REFUSED, "put", uid, given, "of taken", taken, outcome, error)
        expect(any(f"path {path}: another record has the same" in error.message for path in taken), error.message, taken)
        expect("person-" not in error.message, "the owner is in", error.message)
        tally["refused"] += 1

    def put(self):
        uid, given = self.random_put()
        try:
            answer = self.data.put("people", record(uid=uid, **given), None)
            self.judge(uid, given, answer.outcome, None)
        except KeywayError as error:
            self.judge(uid, given, Outcome.FAILED, error)

    def put_many(self):
        """Puts of different records that do not want the same values, so that their order does not matter."""
        puts = [self.random_put() for _ in range(self.chance.randint(2, 5))]
        keep = {}
        for uid, given in puts:
            after = {**self.records.get(uid, {}), **given}
            others = [{**self.records.get(other, {}), **values} for other, values in keep.items()]
            before = [self.records.get(other) for other in keep]
            clash = any(tuple_of(after, path) is not None and tuple_of(after, path) == tuple_of(held, path)
                        for path in UNIQUE for held in others + before)
            mine = any(tuple_of(self.records.get(uid), path) is not None and tuple_of(self.records.get(uid), path) == tuple_of(held, path)
                       for path in UNIQUE for held in others)
            if uid not in keep and not clash and not mine:
                keep[uid] = given
        answers = self.data.putMany("people", [record(uid=uid, **given) for uid, given in keep.items()], None)
        for (uid, given), answer in zip(keep.items(), answers):
            self.judge(uid, given, answer.outcome, answer.failure)

    def put_if(self):
        uid, given = self.random_put()
        level = self.chance.choice(POOLS["level"])
        met = self.records.get(uid, {}).get("level") == level
        try:
            applied = self.data.putIf("people", record(uid=uid, **given), Condition("level", CompareOp.EQUAL, value(level)), None)
        except KeywayError as error:
            expect(met, "a condition that is not met, but", error)
            self.judge(uid, given, Outcome.FAILED, error)
            return
        expect(applied == met, "putIf", uid, given, applied)
        if met:
            self.judge(uid, given, Outcome.OK, None)
            tally["putIf"] += 1

    def remove(self):
        uid = self.chance.choice(UIDS)
        held = self.records.get(uid)
        columns = self.chance.sample([*POOLS], 2) if held and self.chance.random() < 0.7 else []
        self.data.remove("people", record(uid=uid), columns, None)
        if columns:
            self.records[uid] = {name: one for name, one in held.items() if name not in columns}
        else:
            self.records.pop(uid, None)

    def holder(self, path, wanted):
        found = [held for held in self.records.values() if tuple_of(held, path) == wanted]
        expect(len(found) < 2, "the model is wrong")
        return found[0] if found else None

    def check_reads(self):
        for path, fields in UNIQUE.items():
            key = {name: self.chance.choice(POOLS[name]) for name in fields}
            wanted = self.holder(path, tuple(key.values()))
            columns = self.chance.choice([[], [], ["note"], [fields[0], "level"]])
            shown = wanted and {name: held for name, held in wanted.items() if not columns or name in ["uid", *columns]}
            found = self.data.get("people", record(**key), columns, None)
            expect((found.record and plain(found.record)) == shown, "get", key, columns, found, "not", shown)
            for named in (path, None):
                page = self.data.scan(Query("people", bound=record(**key), path=named))
                expect([plain(row) for row in page.rows] == ([wanted] if wanted else []), "scan", key, page.rows, "not", wanted)
            tally["found" if wanted else "not found"] += 1
        keys = [{"uid": self.chance.choice(UIDS)}, {"card": self.chance.choice(POOLS["card"])}, {"uid": self.chance.choice(UIDS)},
                {"region": self.chance.choice(POOLS["region"]), "tele": self.chance.choice(POOLS["tele"])}, {"card": "no such card"}]
        answers = self.data.getMany("people", [record(**key) for key in keys], [], None)
        for key, answer in zip(keys, answers):
            path = next((path for path, fields in UNIQUE.items() if set(fields) == set(key)), None)
            wanted = self.holder(path, tuple(key.values())) if path else self.records.get(key["uid"])
            # a record of which a removal of fields left nothing does not exist
            if wanted and set(wanted) == {"uid"}:
                continue
            expect((answer.record and plain(answer.record)) == wanted, "getMany", key, answer, "not", wanted)


def run_model(gateway, chance, steps):
    data = gateway.data()
    model = Model(data, chance)
    for _ in range(steps):
        chance.choice([model.put, model.put, model.put, model.put_many, model.put_if, model.remove])()
        # records without fields: whether they exist depends on their marker, which is not of interest here
        for uid in [uid for uid, held in model.records.items() if set(held) == {"uid"}]:
            data.remove("people", record(uid=uid), [], None)
            del model.records[uid]
        if chance.random() < 0.3:
            model.check_reads()
    for what in ("found", "not found", "refused", "putIf"):
        expect(tally[what] > 0, "nothing tested:", what)
    data.close()


# --- many callers ---------------------------------------------------------------------------------


class Held:
    """A record has a card certainly from `since` to `until`, and possibly from `begun` to `ended`."""

    def __init__(self, uid, card, begun, since):
        self.uid, self.card, self.begun, self.since = uid, card, begun, since
        self.until = self.ended = float("inf")


class Writer(threading.Thread):
    """The only writer of its record."""

    def __init__(self, race, number):
        super().__init__()
        self.race, self.uid, self.chance = race, f"racer-{number}", random.Random(race.chance.random())
        self.held, self.error = None, None

    def run(self):
        try:
            data = self.race.gateway.data()
            while not self.race.over:
                self.write(data)
            data.close()
        except Exception as error:  # reported by the race
            if not self.race.killed:
                self.error = error

    def write(self, data):
        card = self.chance.choice(["A", "B", None])
        held, begin = self.held, time.monotonic()
        if held:
            held.until = min(held.until, begin)
        note = Held(self.uid, card, begin, float("inf")) if card else None
        if note:
            self.race.add(note)
        try:
            if card:
                self.race.tally["tried"] += 1
                data.put("people", record(uid=self.uid, card=card), None)
            else:
                data.remove("people", record(uid=self.uid), self.chance.choice([[], ["card"]]), None)
        except KeywayError as error:
            if error.code != Code.REFUSED:
                raise
            note.ended = time.monotonic()  # it never had the card
            self.race.refused(note)
            if held:
                self.race.renew(held)
            return
        now = time.monotonic()
        if held:
            held.ended = now
        if note:
            note.since = now
        self.held = note
        self.race.tally["won" if card else "removed"] += 1


class Reader(threading.Thread):
    def __init__(self, race):
        super().__init__()
        self.race, self.error, self.chance = race, None, random.Random(race.chance.random())

    def run(self):
        try:
            data = self.race.gateway.data()
            while not self.race.over:
                card, begin = self.chance.choice("AB"), time.monotonic()
                found = data.get("people", record(card=card), [], None)
                self.race.saw(card, plain(found.record)["uid"] if found.record else None, begin, time.monotonic())
            data.close()
        except Exception as error:  # reported by the race
            if not self.race.killed:
                self.error = error


class Race:
    def __init__(self, gateway, chance):
        self.gateway, self.chance, self.over, self.killed = gateway, chance, False, False
        self.lock, self.holds, self.never, self.reads, self.tally = threading.Lock(), [], set(), [], collections.Counter()

    def add(self, held):
        with self.lock:
            self.holds.append(held)

    def refused(self, held):
        with self.lock:
            self.never.add(id(held))

    def renew(self, held):
        """A refused put left the record as it was."""
        held.until = float("inf")

    def saw(self, card, uid, begin, end):
        with self.lock:
            self.reads.append((card, uid, begin, end))

    def run(self, writers, seconds, kill):
        threads = [Writer(self, number) for number in range(writers)] + [Reader(self) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        if kill:
            self.killed = True
            self.gateway.kill()
        self.over = True
        for thread in threads:
            thread.join()
            if thread.error:
                raise thread.error
        return self

    def judge(self):
        holds = [held for held in self.holds if id(held) not in self.never]
        for place, one in enumerate(holds):
            for other in holds[:place]:
                apart = one.since >= other.until or other.since >= one.until
                expect(one.card != other.card or one.uid == other.uid or apart, one.uid, "and", other.uid, "both had", one.card)
        for card, uid, begin, end in self.reads:
            throughout = [held for held in holds if held.card == card and held.since <= begin and held.until >= end]
            possible = [held for held in holds if held.card == card and held.uid == uid and held.begun <= end and held.ended >= begin]
            expect(not throughout or uid == throughout[0].uid, "read", uid, "but", card, "was of", throughout[0].uid if throughout else "")
            expect(uid is None or possible, "read", uid, "which never had", card)
        tally.update(self.tally)
        tally["reads"] += len(self.reads)
        tally["reads, found"] += sum(uid is not None for _, uid, _, _ in self.reads)


def check_all(gateway):
    """No two records have the same values, and each is found by them."""
    data = gateway.data()
    rows = [plain(row) for row in data.scan(Query("people", path="primary", full_scan=True, page_rows=1000)).rows]
    for path, fields in UNIQUE.items():
        seen = {}
        for row in rows:
            key = tuple_of(row, path)
            expect(key is None or key not in seen, row, "and", seen.get(key), "have the same values")
            seen[key] = row
            if key is not None:
                found = data.get("people", record(**dict(zip(fields, key))), [], None)
                expect(found.record and plain(found.record) == row, "get by", key, found, "not", row)
    data.close()
    scrub(gateway)


def scrub(gateway):
    admin, cursor, more = gateway.admin(), None, True
    while more:
        found = admin.scrub("people", ScrubOptions(cursor=cursor, settle_ms=0))
        expect(not (found.missing or found.different or found.extra or found.foreign_rows), found)
        tally["scrubbed"] += found.rows
        cursor, more = found.cursor, found.cursor is not None
    admin.close()


def main():
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    with Ready(POLICY) as gateway:
        run_model(gateway, chance, 600 if is_sanitized() else 2000)
        check_all(gateway)
        for number in range(4):
            race = Race(gateway, chance).run(8, 1.5, kill=number % 2)
            race.judge()
            if number % 2:
                gateway.start()
            check_all(gateway)
            data = gateway.data()
            for one in range(8):
                data.remove("people", record(uid=f"racer-{one}"), [], None)
            data.close()
    print(json.dumps(tally, indent=1))
    for what in ("won", "tried", "reads, found", "removed"):
        expect(tally[what] > 0, "nothing tested:", what)
    expect(tally["tried"] > tally["won"], "no put was refused in a race")


if __name__ == "__main__":
    main()
