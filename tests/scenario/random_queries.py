"""Random tables, records and queries: compares a real gateway with a brute-force model.

Each round starts with a policy with random key rules (random_policy.py) and writes of every kind. Then it runs queries
whose results must have the rows, the order, the pages and about the cost that the model (random_model.py) computes. During
some scans, writes continue between the pages. The gateway restarts, and cursors still work.

KEYWAYD is the gateway's program; KW_SEED repeats a run; KW_SECONDS limits the time.
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Gateway, daemon  # noqa: E402
from random_table_test import TableTest, expect, tally  # noqa: E402
from random_policy import Table  # noqa: E402

HEAD = "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\ncursor: {keys: [the key of every round of this test]}\n"
PROBLEM = re.compile(r"^\S+:\d+:\d+: error: \S.*$")


# --- policies ---------------------------------------------------------------------------------------

def check(text):
    """The problems that keywayd --check reports; empty if the policy is good."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([daemon(), "--check", file.name], capture_output=True, text=True, timeout=300, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if ": error: " in line]
    expect(done.returncode in (0, 1), "--check exited with", done.returncode, done.stderr)
    expect((done.returncode == 1) == bool(lines), "--check:", done.returncode, done.stdout, done.stderr)
    for line in lines:
        expect(PROBLEM.match(line), "a problem without place or reason:", line)
    return lines


def known_encodings():
    found = []
    for encoding, kind, more in (
            ("raw", "string", ""), ("terminated", "string", ""), ("fixed", "string", ", width: 4"),
            ("digits", "string", ", width: 4"),
            ("hex", "string", ", width: 4"), ("uuid", "string", ""), ("int", "int", ""), ("raw_int", "int", ""),
            ("max_minus", "int", ""), ("decimal", "int", ""), ("max_minus_decimal", "int", ""), ("double", "double", ""),
            ("float", "double", ""), ("bool", "bool", ""), ("raw_bool", "bool", ""), ("phoenix", "int", ""),
            ("ordered", "int", "")):
        text = HEAD + f"tables: {{t: {{fields: {{a: {kind}}}, key: [{{field: {{name: a, encoding: {encoding}{more}}}}}]}}}}"
        if not check(text):
            found.append(encoding)
    return found


# A change to a good rule, and a part of the message that rejects it.
BREAKAGES = [
    ("    key:\n      - hash: {of: nobody}\n", "no field"),
    ("    key:\n      - literal: \"\"\n", "0 bytes"),
    ("    key:\n      - salt: {buckets: 4}\n", "at least one field"),
    ("    key:\n      - salt: {buckets: 300, width: 1, of: [k0]}\n", "width"),
    ("    key:\n      - hash: {of: k0, tak: 4}\n", "did you mean take"),
    ("    key:\n      - sult: {of: k0, buckets: 4}\n", "did you mean"),
    ("    key:\n      - field: k00\n", "no field"),
    ("    key:\n      - {}\n", ""),
]


def refuse_broken(chance, table):
    """A rule with a mistake is rejected with the reason."""
    text = table.yaml()
    broken, reason = chance.choice(BREAKAGES)
    lines = check(HEAD + "tables:\n" + text.replace("    key:\n", broken, 1))
    expect(lines, "accepted:", text.replace("    key:\n", broken, 1))
    expect(any(reason in line for line in lines), "expected the reason", reason, "in:", lines)
    tally["broken policies refused"] += 1


def good_tables(chance, known, count):
    tables = []
    while len(tables) < count:
        table = Table(chance, f"t{len(tables)}", known)
        lines = check(HEAD + "tables:\n" + table.yaml())
        tally["policies"] += 1
        expect(not lines, "refused:", *lines, "\n" + table.yaml())
        if chance.random() < 0.2:
            refuse_broken(chance, table)
        tables.append(table)
    return tables


# --- the rounds -------------------------------------------------------------------------------------

def test_round(chance, known, until):
    tables = good_tables(chance, known, 3)
    policy = HEAD + "store: {kind: embedded, path: FOLDER/data}\ntables:\n" + "".join(table.yaml() for table in tables)
    policy = policy.replace("{", "{{").replace("}", "}}").replace("FOLDER", "{folder}")
    with Gateway(policy) as gateway:
        tests = [TableTest(chance, table) for table in tables]
        for test in tests:
            test.connect(gateway)
            for _ in range(chance.choice([1, 2, 3])):
                test.put_many(chance.choice([5, 20, 60]))
        for act in range(2):
            for test in tests:
                for _ in range(25):
                    test.write()
                for _ in range(35):
                    test.ask()
                for _ in range(4):
                    test.ask_while_writing()
                if time.monotonic() > until:
                    return
            if act == 0:
                restart(gateway, tests)
        for test in tests:
            test.close()


def restart(gateway, tests):
    walks = [(test, walk) for test in tests for walk in [test.begin_walk() for _ in range(6)] if walk]
    for test in tests:
        test.close()
    gateway.restart()
    for test in tests:
        test.connect(gateway)
        test.read_many([test.identity() for _ in range(20)])
    for test, walk in walks:
        test.end_walk(*walk)


def main():
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    until = time.monotonic() + float(os.environ.get("KW_SECONDS", 30))
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    known = known_encodings()
    print("encodings:", *known)
    rounds = 0
    while time.monotonic() < until:
        round_seed = chance.randrange(2**32)
        if os.environ.get("KW_ROUND"):
            round_seed = int(os.environ["KW_ROUND"])
            until = 0
        try:
            test_round(random.Random(round_seed), known, until or time.monotonic() + 3600)
        except Exception:
            print(f"round {rounds} of seed {seed}; alone with KW_ROUND={round_seed}", flush=True)
            raise
        rounds += 1
    print(f"{rounds} rounds:", json.dumps(tally, indent=1))


if __name__ == "__main__":
    main()
