"""Random tables with calendars, bits and generated values: compares a real gateway with a brute-force model.

Each round starts with a policy with random key rules (random_clocks_policy.py) and writes for which the gateway generates
some values. Then it runs queries, most of them over intervals that span many calendar units and are read in windows. Each
result must have the rows, the order and the pages that the model (random_model.py) computes, no matter which gateway
continues the scan. The gateway restarts with another limit of ranges, and cursors still work; over HBase, also on another
gateway.

Arguments: `embedded`, or `hbase` (KW_HBASE_ENV names the file with HBase's addresses). KEYWAYD is the gateway's program.
KW_SEED repeats a run, KW_ROUND one round of it; with KW_NOW also on a later day; KW_SECONDS limits the time.
"""
import contextlib
import json
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Ready, is_sanitized  # noqa: E402
from keyway_hbase import hbase_servers  # noqa: E402
from random_clocks_table_test import ClockTableTest  # noqa: E402
from random_clocks_policy import NOW, ClockTable  # noqa: E402
from random_table_test import expect, tally  # noqa: E402
from random_queries import check, known_encodings  # noqa: E402

HEAD = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
timeouts: {call: 100s}
cursor: {keys: [the key of every round of this test]}
sequences: {keep: 3650d}
"""


class Place:
    """The store of the rows."""

    def __init__(self, store):
        self.is_hbase = store == "hbase"
        self.run = f"clocks_{os.getpid()}_{int(time.time())}_" if self.is_hbase else ""
        self.count = 0
        self.most_ranges = 400 if self.is_hbase else 1000 if is_sanitized() else 3000
        self.where = "{kind: embedded, path: FOLDER/data}"
        if self.is_hbase:
            servers = hbase_servers()
            self.where = (f"{{kind: hbase, servers: [{servers['KW_HBASE_FRAMED']}], "
                          f"create_missing: true, catalog: {self.run}catalog}}")

    def table_name(self):
        self.count += 1
        return f"{self.run}t{self.count}"

    def policy(self, tables, list_values):
        ranges = min(list_values * max(table.buckets for table in tables), 1000000)
        text = (HEAD + f"limits: {{ranges: {ranges}}}\nstore: {self.where}\ntables:\n"
                + "".join(table.yaml() for table in tables))
        return text.replace("{", "{{").replace("}", "}}").replace("FOLDER", "{folder}")


# --- the rounds -------------------------------------------------------------------------------------

def good_tables(chance, known, place):
    tables = [ClockTable(chance, place.table_name(), known, place.is_hbase) for _ in range(2 if place.is_hbase else 3)]
    for table in tables:
        lines = check("tables:\n" + table.yaml())
        expect(not lines, "refused:", *lines, "\n" + table.yaml())
        tally["policies"] += 1
    return tables


def test_round(chance, known, place, until):
    tables = good_tables(chance, known, place)
    list_values = chance.choice([15, 40, 150, 10000][:3 if place.is_hbase else 4])
    with contextlib.ExitStack() as stack:
        gateway = stack.enter_context(Ready(place.policy(tables, list_values)))
        other = stack.enter_context(Ready(place.policy(tables, chance.choice([10, 300])))) if place.is_hbase else None
        tests = [ClockTableTest(chance, table, list_values, place.most_ranges) for table in tables]
        for test in tests:
            connect(stack, test, gateway, other)
            for _ in range(chance.choice([1, 2, 3])):
                test.put_many(chance.choice([5, 20, 60]))
        for act in range(2):
            for test in tests:
                if not run_some(test, until):
                    return
            if act == 0:
                list_values = chance.choice([20, 10000])
                gateway.write_policy(place.policy(tables, list_values))
                restart(stack, gateway, other, tests, list_values)


def connect(stack, test, gateway, other):
    """Opens clients with their own connections, which are closed at the end of the round."""
    test.connect(gateway)
    stack.callback(test.close)
    test.others = [gateway.data(compact=True)] + ([other.data()] if other else [])
    for client in test.others:
        stack.callback(client.close)


def run_some(test, until):
    for _ in range(12):
        test.write()
    for query in range(20):
        test.ask()
        if query % 5 == 0:
            test.ask_while_writing()
        if time.monotonic() > until:
            return False
    return True


def restart(stack, gateway, other, tests, list_values):
    walks = [(test, walk) for test in tests for walk in [test.begin_walk() for _ in range(5)] if walk]
    for test in tests:
        test.close()
        for client in test.others:
            client.close()
    gateway.restart()
    tally["restarts"] += 1
    for test in tests:
        test.list_values = list_values
        connect(stack, test, gateway, other)
        test.read_many([test.identity() for _ in range(20)])
    for test, walk in walks:
        test.end_walk(*walk)


def main():
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    until = time.monotonic() + float(os.environ.get("KW_SECONDS", 15))
    print(f"seed {seed}", flush=True)
    place, chance, rounds = Place(sys.argv[1]), random.Random(seed), 0
    known = known_encodings()
    while time.monotonic() < until:
        round_seed = int(os.environ.get("KW_ROUND", chance.randrange(2**32)))
        end = time.monotonic() + 3600 if "KW_ROUND" in os.environ else until
        try:
            test_round(random.Random(round_seed), known, place, end)
        except Exception:
            print(f"round {rounds} of seed {seed}; alone with KW_ROUND={round_seed} KW_NOW={NOW}", flush=True)
            raise
        rounds += 1
        if "KW_ROUND" in os.environ:
            break
    print(f"{rounds} rounds:", json.dumps(tally, indent=1))


if __name__ == "__main__":
    main()
