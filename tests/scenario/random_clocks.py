"""Random tables with calendars, bits and made values against a real gateway, and a brute-force model beside it.

Each round: a policy with random key rules (random_clocks_policy.py), writes of which the gateway makes parts, then
queries, most of them about intervals of many pieces of time, which are read window by window: each answer must have
the rows, the order and the pages that the model (random_model.py) says, whoever goes on with the scan. The gateway is
restarted with another limit of ranges, and cursors go on; over HBase another gateway goes on with them, too.

Arguments: `embedded`, or `hbase` for the one that the file in KW_HBASE_ENV tells of. KEYWAYD names the gateway; KW_SEED
repeats a run, KW_ROUND one round of it, with KW_NOW on a later day, too; KW_SECONDS bounds it.
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
from keyway_hbase import PATIENT, WIDE_CLOCK, hbase_servers  # noqa: E402
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
sequences: {table: RUNnumbers, keep: 3650d, lease: 60s}
"""


class Place:
    """Where the rows are."""

    def __init__(self, store):
        self.is_hbase = store == "hbase"
        self.run = f"clocks_{os.getpid()}_{int(time.time())}_" if self.is_hbase else ""
        self.count = 0
        self.most_ranges = 400 if self.is_hbase else 1000 if is_sanitized() else 3000
        self.where = "{kind: embedded, path: FOLDER/data}"
        if self.is_hbase:
            told = hbase_servers()
            self.where = (f"{{kind: hbase, servers: [{told['KW_HBASE_FRAMED']}], {PATIENT}, {WIDE_CLOCK}, transport: framed, protocol: compact, "
                          f"create_missing: true, catalog: {self.run}catalog}}")

    def table_name(self):
        self.count += 1
        return f"{self.run}t{self.count}"

    def policy(self, tables, list_values):
        text = (HEAD.replace("RUN", self.run) + f"limits: {{list_values: {list_values}}}\nstore: {self.where}\ntables:\n"
                + "".join(table.yaml() for table in tables))
        return text.replace("{", "{{").replace("}", "}}").replace("FOLDER", "{folder}")


# --- the acts ---------------------------------------------------------------------------------------

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
        plays = [ClockTableTest(chance, table, list_values, place.most_ranges) for table in tables]
        for play in plays:
            connect(stack, play, gateway, other)
            for _ in range(chance.choice([1, 2, 3])):
                play.put_many(chance.choice([5, 20, 60]))
        for act in range(2):
            for play in plays:
                if not act_out(play, until):
                    return
            if act == 0:
                list_values = chance.choice([20, 10000])
                gateway.write_policy(place.policy(tables, list_values))
                restart(stack, gateway, other, plays, list_values)


def connect(stack, play, gateway, other):
    """Clients over connections of their own, which end with the round."""
    play.connect(gateway)
    stack.callback(play.close)
    play.others = [gateway.data(compact=True)] + ([other.data()] if other else [])
    for client in play.others:
        stack.callback(client.close)


def act_out(play, until):
    for _ in range(12):
        play.write()
    for query in range(20):
        play.ask()
        if query % 5 == 0:
            play.ask_while_writing()
        if time.monotonic() > until:
            return False
    return True


def restart(stack, gateway, other, plays, list_values):
    walks = [(play, walk) for play in plays for walk in [play.begin_walk() for _ in range(5)] if walk]
    for play in plays:
        play.close()
        for client in play.others:
            client.close()
    gateway.restart()
    tally["restarts"] += 1
    for play in plays:
        play.list_values = list_values
        connect(stack, play, gateway, other)
        play.read_many([play.identity() for _ in range(20)])
    for play, walk in walks:
        play.end_walk(*walk)


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
