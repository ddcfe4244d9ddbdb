#!/usr/bin/env python3
"""Tests idl.py: a default value of a member is an error that names the line. Argument: idl.py."""
import pathlib
import subprocess
import sys
import tempfile

GOOD = """\
/* 1: i32 comment = 2 */
enum Code {
  INVALID = 1
}
struct Range {
  1: required string field, // 2: bool no = true
  2: optional bool open
}
"""
BAD = GOOD.replace("bool open", "bool open = true")


def check(lint, text):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "thrift").mkdir()
        (pathlib.Path(folder) / "thrift/keyway.thrift").write_text(text)
        return subprocess.run([sys.executable, lint, folder], stdout=subprocess.PIPE, text=True)


def main():
    good, bad = check(sys.argv[1], GOOD), check(sys.argv[1], BAD)
    print(good.stdout, bad.stdout)
    return 0 if good.returncode == 0 and bad.returncode == 1 and "keyway.thrift:7:" in bad.stdout else 1


if __name__ == "__main__":
    sys.exit(main())
