#!/usr/bin/env python3
"""Fails on an include that the table of arrows in server/README.md does not have.

Reads the table's rows (room | is | may use) and every quoted #include below server/, config/ and client/.
A room is the longest folder of the table that a file stands in. config/ may use only itself, client/ only itself.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def read_table(text):
    arrows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 3 or not re.fullmatch(r"[a-z/]+", cells[0]) or cells[2] == "may use":
            continue
        uses = re.sub(r"\(.*?\)", "", cells[2])
        arrows[cells[0]] = {use.strip() for use in uses.split(",")} - {"-"}
    return arrows


def room_of(path, rooms):
    """The room of a path relative to server/, None when it is in none."""
    parts = path.split("/")
    for length in range(len(parts) - 1, 0, -1):
        name = "/".join(parts[:length])
        if name in rooms:
            return name
    return None


def target_of(include, rooms):
    for outside in ("config/", "client/", "thrift/"):
        if include.startswith(outside):
            return outside[:-1]
    return room_of(include, rooms)


def beside(path, include, folder):
    """A header next to the file, one below client/, or one that a generator makes into the build folder."""
    own = ROOT / folder / include
    return (path.parent / include).exists() or (folder == "client" and (own.exists() or "/" not in include))


def main():
    arrows = read_table((ROOT / "server/README.md").read_text())
    if len(arrows) < 10:
        print("the table of arrows in server/README.md was not understood")
        return 1
    bad = []
    files = 0
    for folder in ("server", "config", "client"):
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            if folder == "client" and "examples" in path.parts:
                continue
            files += 1
            name = str(path.relative_to(ROOT))
            here = folder if folder != "server" else room_of(str(path.relative_to(ROOT / "server")), arrows)
            if here is None:
                bad.append(f"{name}: stands in no room of the table")
                continue
            allowed = {here} | (arrows[here] if folder == "server" else set())
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = target_of(match.group(1), arrows)
                if target is None and beside(path, match.group(1), folder):
                    target = here
                if target is None:
                    bad.append(f"{name}:{number}: {match.group(1)} is in no room")
                elif target not in allowed and "everything" not in allowed:
                    bad.append(f"{name}:{number}: {here} may not use {target} ({match.group(1)})")
    for line in bad:
        print(line)
    print(f"{files} files, {len(bad)} forbidden arrows")
    return 1 if bad or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
