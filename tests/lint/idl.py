#!/usr/bin/env python3
"""Checks that no member of a struct in thrift/keyway.thrift has a default value.

Languages differ in when they apply a default: in Go, the literal `Range{}` sent from_inclusive = false although the
default was true. hbase2.thrift is HBase's interface, whose defaults are part of it. Argument: the source root.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/|(//|#)[^\n]*", re.S)
MEMBER = re.compile(r"^\s*\d+\s*:[^=\n]*=", re.M)


def without_comments(text):
    """The text with its line breaks, so that line numbers stay true."""
    return COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)


def main():
    name = "thrift/keyway.thrift"
    text = without_comments((pathlib.Path(sys.argv[1]) / name).read_text(encoding="utf-8"))
    found = list(MEMBER.finditer(text))
    for match in found:
        line = text.count("\n", 0, match.end()) + 1
        print(f"{name}:{line}: a member has a default value; document what its absence means instead")
    print(f"{len(found)} defaults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
