#!/usr/bin/env python3
"""No two headers of server/, config/ and client/ define a type of the same name. It compiles as long as no file includes both.
The types of client/keyway.h are the exception: their names are for the programs that use libkeyway, and the server never includes it.

Argument: the source folder."""
import collections
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
# The ends of typedefs with a body, plain typedefs, and structs whose typedef is elsewhere. A forward declaration defines nothing.
DEFINITION = re.compile(r"^\} (\w+);|^typedef (?!struct \w+ \w+;|enum \w+ \w+;|union \w+ \w+;)[^;{]*?\(?\*?(\w+)\)?(?:\([^;]*\))?;|^struct (\w+) \{", re.M)


def definitions(text):
    found = set()
    for match in DEFINITION.finditer(COMMENT.sub("", text)):
        found.update(name for name in match.groups() if name)
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    headers = collections.defaultdict(set)
    for folder in ("server", "config", "client"):
        for path in (root / folder).rglob("*.h"):
            if path == root / "client/keyway.h":
                continue
            for name in definitions(path.read_text(encoding="utf-8")):
                headers[name].add(str(path.relative_to(root)))
    twice = {name: sorted(paths) for name, paths in headers.items() if len(paths) > 1}
    for name, paths in sorted(twice.items()):
        print(f"{name} is defined in {' and in '.join(paths)}: rename one of them")
    print(f"{len(headers)} types, {len(twice)} problems")
    return 1 if twice or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
