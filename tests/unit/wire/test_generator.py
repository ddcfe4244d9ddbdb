#!/usr/bin/env python3
"""Tests which IDL files the table generator accepts, and the errors for others: test_generator.py GENERATOR THRIFT."""
import pathlib
import subprocess
import sys
import tempfile

GENERATOR, THRIFT = sys.argv[1], sys.argv[2]

REFUSED = {
    "a struct that contains itself as a map's value":
        ("struct A { 1: map<string, A> all }", "contains itself as a map's key or value: A > A"),
    "two structs that contain each other as map keys and values":
        ("struct A { 1: map<string, B> all } struct B { 1: map<A, i32> all }", "A > B"),
    "too many fields":
        ("struct A {" + " ".join(f"{i}: i32 f{i}" for i in range(1, 66)) + "}", "A: 65 fields; a table holds at most 64"),
    "a default that is a list":
        ("struct A { 1: list<i32> all = [1, 2] }", "A.all: a default value for a list is not supported"),
    "a negative id":
        ("struct A { i32 nameless }", "A.nameless: id -1 is outside 0..32767"),
    "a service that extends another":
        ("service A { void go() } service B extends A { void stop() }", "service B: extends is not supported"),
    "two structs with the same name":
        ("struct S_go_args { 1: i32 x } service S { void go() }", "two structs have the name S_go_args"),
}
ACCEPTED = {
    "a struct that contains itself in a list": "struct A { 1: list<A> all, 2: A one }",
    "a map's value declared later": "struct A { 1: map<string, B> all } struct B { 1: list<A> all }",
    "a struct that contains itself in a named map":
        "typedef map<string, A> As struct A { 1: As all, 2: list<As> lists, 3: map<i32, As> more }",
    "64 fields": "struct A {" + " ".join(f"{i}: i32 f{i}" for i in range(1, 65)) + "}",
    "a comment that would end a comment": "/** x * / y */\nstruct A { 1: i32 x }",
}


def generate(folder, text):
    (folder / "t.thrift").write_text(text, encoding="utf-8")
    subprocess.run([THRIFT, "--gen", "json", "-out", folder, folder / "t.thrift"], check=True, capture_output=True)
    return subprocess.run([sys.executable, GENERATOR, "--json", folder / "t.json", "--prefix", "t", "--name", "t_wire",
                           "--out", folder], capture_output=True, text=True, check=False)


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, (text, says) in REFUSED.items():
            run = generate(folder, text)
            if run.returncode == 0 or says not in run.stderr:
                print(f"{what}: exit {run.returncode}, {run.stderr!r} should say {says!r}")
                failed += 1
        for what, text in ACCEPTED.items():
            run = generate(folder, text)
            if run.returncode != 0:
                print(f"{what}: refused: {run.stderr}")
                failed += 1
    print(f"{len(REFUSED) + len(ACCEPTED) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
