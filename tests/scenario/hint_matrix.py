"""Paths with each kind of key rule over fields that change are added to a table on HBase, with two gateways, while its records
change. Then another rule for the path, and another rule for the primary path are refused, and the paths are dropped.

    hint_matrix.py sim|hbase

Each rule is tried with `order: store`, and with `order: stamp` and `atomics: true`, where some puts have only some fields. A table
that has had the path from the start gets the same writes. Both must return the same records by the path, also to two queries
that bind a field, and a scrub finds no record without its hint.

KW_SEED repeats a run.
"""
import concurrent.futures
import contextlib
import itertools
import os
import random
import sys
import threading
import time

import hbase_places
from changing import apply, call, status
from keyway_gateway import Gateway, plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Options, Outcome, Query, ScrubOptions

RECORDS = 24
START = 1_700_000_000_000
FIELDS = ("{id: {type: string, max_bytes: 12}, no: int, kind: {type: string, values: [new, paid, sent]}, n: int, "
          "ts: {type: timestamp, unit: ms}, a: string}")
PRIMARY = "[{hash: {of: [id], take: 2}}, {field: id}, {field: no}]"
OTHER_PRIMARY = "[{field: no}, {field: id}]"
# Key rules, and the field that a query binds.
RULES = {
    "plain": ("[{field: kind}, {field: id}, {field: no}]", "kind"),
    "salt": ("[{salt: {of: [id], buckets: 4}}, {field: kind}, {field: {name: ts, order: desc}}, {field: id}, {field: no}]", "kind"),
    "hash": ("[{hash: {of: [a], take: 2}}, {field: a}, {field: no}, {field: id}]", "a"),
    "calendar": ("[{calendar: {of: ts, parts: [yyyy, MM, dd]}}, {field: ts}, {field: id}, {field: no}]", "ts"),
    "descending": ("[{field: {name: n, order: desc}}, {field: kind}, {field: no}, {field: id}]", "n"),
    "modulo": ("[{mod: {of: n, buckets: 5, as: hex, width: 2}}, {field: n}, {field: a}, {field: id}, {field: no}]", "n"),
}
VALUES = {"kind": ["new", "paid", "sent"], "n": [-1, 0, 5, 12], "ts": [START + days * 86_400_000 for days in range(4)], "a": ["", "a", "ab", "é"]}
ORDERS = {"store": "    order: store\n", "stamp": "    order: stamp\n    atomics: true\n"}
LATE_MS = 500
DEADLINE_MS = 60_000
WRITES_LEAST = 60  # of each table, before an addition and after it
PAUSE_S = 0.02     # between writes during an addition


class Case:
    """A table to which the path is added, and one that has it from the start."""

    def __init__(self, run, rule, order, chance):
        self.rule, self.bound, self.order = rule, RULES[rule][1], order
        self.added, self.reference = f"{rule}_{order}", f"{rule}_{order}_reference"
        self.run = run
        self.chance = chance
        self.records = [(chance.choice(["", "a", "ab", "zz"]) + str(i), i % 5) for i in range(RECORDS)]

    def table(self, name, rule, primary=PRIMARY):
        path = f"    paths: {{by: {{key: {RULES[rule][0]}}}}}\n" if rule else ""
        return f"  {name}:\n    store_table: {self.run}_{name}\n{ORDERS[self.order]}    fields: {FIELDS}\n    key: {primary}\n{path}"

    def random_write(self):
        """The fields, or None for a removal, and the record's identity."""
        names = list(VALUES)
        if self.order == "stamp" and self.chance.random() < 0.4:
            names = self.chance.sample(names, self.chance.randint(1, len(names)))
        fields = {name: self.chance.choice(VALUES[name]) for name in names}
        return None if self.chance.random() < 0.15 else fields, self.chance.choice(self.records)


class Matrix:
    def __init__(self, store, chance):
        self.place = hbase_places.place(store)
        self.run = f"hint_matrix_{os.getpid()}_{time.time_ns()}"
        self.cases = [Case(self.run, rule, order, random.Random(chance.random())) for rule in RULES for order in ORDERS]
        self.gateways = []
        self.version = 1  # of the policy

    def start(self, stack):
        stack.callback(self.place.stop)
        for number in range(2):
            late = f"  late: {LATE_MS}ms\n"
            text = (f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\ngateway_id: {self.run}_{number}\ntimeouts: {{call: {DEADLINE_MS}ms}}\n"
                    f"policy: {{source: store}}\n{self.place.store(self.run, late)}")
            self.gateways.append(stack.enter_context(Gateway(text.replace("{", "{{").replace("}", "}}"))))
            if number == 0:
                apply(self.gateways[0], self.policy(0), 0)
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: gateway.get("/readyz")[0] == 200, "the gateway to serve", 600)

    def policy(self, added, changed=None):
        """The first `added` tables have the path. changed: a table and its text."""
        texts = {case.added: case.table(case.added, case.rule if i < added else None) for i, case in enumerate(self.cases)}
        texts |= {case.reference: case.table(case.reference, case.rule) for case in self.cases}
        return "tables:\n" + "".join((texts | (changed or {})).values())

    # --- writes ---------------------------------------------------------------------------------------

    def write(self, case, ended):
        """Random writes to the first table of the case, and then the same to the second one."""
        clients = [gateway.data() for gateway in self.gateways]
        written = []
        for data in itertools.cycle(clients):
            if len(written) >= WRITES_LEAST and ended.is_set():
                break
            written.append(case.random_write())
            write_one(data, case.added, *written[-1])
            time.sleep(0 if ended.is_set() else PAUSE_S)
        for data, (fields, identity) in zip(itertools.cycle(clients), written):
            write_one(data, case.reference, fields, identity)
        for data in clients:
            data.close()
        return len(written)

    def write_all(self, workers, ended):
        return [workers.submit(self.write, case, ended) for case in self.cases]

    def write_some(self, workers):
        ended = threading.Event()
        ended.set()
        return join(self.write_all(workers, ended))

    # --- checks ---------------------------------------------------------------------------------------

    def check_queries(self):
        for gateway in self.gateways:
            data = gateway.data()
            for case in self.cases:
                for bound in (None, *VALUES[case.bound][:2]):
                    found, wanted = (query(data, table, case.bound, bound) for table in (case.added, case.reference))
                    assert found == wanted, f"{case.added}, {case.bound} {bound}: {found}, not {wanted}"
                    assert found or bound is not None, case.added
            data.close()

    def check_hints(self):
        for case in self.cases:
            cursor, first = None, True
            while cursor or first:
                part = call(self.gateways[first], "scrub", case.added, ScrubOptions(cursor=cursor, settle_ms=0))
                assert not part.differences, part.differences
                cursor, first = part.cursor, False

    def check_refused(self):
        """Each of these policies changes one table."""
        rules = list(RULES)
        for case in self.cases:
            other = rules[(rules.index(case.rule) + 1) % len(rules)]
            for text in (case.table(case.added, other), case.table(case.added, case.rule, OTHER_PRIMARY)):
                try:
                    apply(self.gateways[0], self.policy(len(self.cases), {case.added: text}), only_writer=True)
                except KeywayError as failure:
                    assert failure.code == Code.REFUSED and "while the table has rows" in failure.message, failure
                else:
                    raise AssertionError(f"not refused: {text}")
                assert status(self.gateways[0], case.added) is None

    def check_dropped(self):
        for gateway in self.gateways:
            data = gateway.data()
            for case in self.cases:
                found, wanted = (query(data, table, None, None, "primary") for table in (case.added, case.reference))
                assert found == wanted, f"{case.added}: {found}, not {wanted}"
                try:
                    query(data, case.added, None, None)
                except KeywayError as failure:
                    assert failure.code == Code.NOT_FOUND and "has no path" in failure.message, failure
                else:
                    raise AssertionError(f"{case.added} still has the path")
            data.close()

    # --- the run --------------------------------------------------------------------------------------

    def wait_until_ended(self):
        for gateway in self.gateways:
            for case in self.cases:
                wait_until(lambda gateway=gateway, case=case: status(gateway, case.added) is None, f"path by of {case.added}", 300)

    def change_all(self, workers, counts, together):
        """Applies policies one after the other, while records change. counts: how many tables have the path in each policy.
        together: the changes of several tables are under way at once."""
        ended = threading.Event()
        futures = self.write_all(workers, ended)
        try:
            for count in counts:
                self.version += 1
                assert apply(self.gateways[count % 2], self.policy(count), self.version - 1, only_writer=True).changed, count
                if not together:
                    self.wait_until_ended()
            self.wait_until_ended()
        finally:
            ended.set()
        return join(futures)

    def go(self, workers):
        count = len(self.cases)
        counts = [self.write_some(workers), self.change_all(workers, range(1, count + 1), together=True)]
        self.check_queries()
        self.check_hints()
        counts.append(self.write_some(workers))
        self.check_queries()
        self.check_refused()
        self.check_queries()
        self.check_hints()
        counts.append(self.change_all(workers, range(count - 1, -1, -1), together=False))
        self.check_dropped()
        print(f"{count} tables; writes before, during and after the additions, and during the drops: {counts}")


def write_one(data, table, fields, identity):
    wait_until(lambda: is_written(data, table, fields, {"id": identity[0], "no": identity[1]}), f"a write of {table}")


def is_written(data, table, fields, identity):
    """False: HBase's clock is not known for a moment, and nothing was written."""
    options = Options(deadline_ms=DEADLINE_MS)
    try:
        written = (data.put(table, record(**identity, **fields), options) if fields else data.remove(table, record(**identity), [], options))
        failure = written.failure
        assert written.outcome in (Outcome.OK, Outcome.FAILED), (table, written)
    except KeywayError as refusal:
        failure = refusal
    assert failure is None or failure.code in (Code.UNAVAILABLE, Code.BUSY), failure
    return failure is None


def query(data, table, field, value, path="by"):
    """All records that the path finds, in the order of their identities."""
    given = {"full_scan": True} if value is None else {"bound": record(**{field: value})}
    page = data.scan(Query(table=table, path=path, page_rows=1000, deadline_ms=DEADLINE_MS, **given))
    assert page.cursor is None
    return sorted((plain(row) for row in page.rows), key=lambda row: (row["id"], row["no"]))


def join(futures):
    return sum(future.result() for future in futures)


def main():
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}", flush=True)
    matrix = Matrix(sys.argv[1], random.Random(seed))
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(2 * len(matrix.cases)) as workers:
        matrix.start(stack)
        matrix.go(workers)


if __name__ == "__main__":
    main()
