#!/usr/bin/env python3
"""Fails on an include that the table of modules in server/README.md does not allow.

Reads the rows of the table (two columns: module, modules that it may use) and every #include in server/, config/ and
client/. The compiler finds all headers of server/ and config/ from every file, so only this table says who may include
whom. A file belongs to the longest folder in the table that contains it. Files in config/ and client/ may include only
headers of their own folder.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def read_table(text):
    """Module to the set of modules that it may use."""
    uses_of = {}
    table = text.partition("| module | may use |\n|---|---|\n")[2].partition("\n\n")[0]
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 2 or not re.fullmatch(r"[a-z/]+", cells[0]):
            continue
        uses = re.sub(r"\(.*?\)", "", cells[1])
        uses_of[cells[0]] = {use.strip() for use in uses.split(",")} - {"-"}
    return uses_of


def module_of(path, modules):
    """The module of a path relative to server/, or None."""
    parts = path.split("/")
    for length in range(len(parts) - 1, 0, -1):
        name = "/".join(parts[:length])
        if name in modules:
            return name
    return None


def target_of(include, modules):
    for outside in ("config/", "client/", "thrift/"):
        if include.startswith(outside):
            return outside[:-1]
    return module_of(include, modules)


def from_root(path, include):
    """The include as the table names it, for one that begins with . or .. ("../wire/form.h" is "wire/form.h")."""
    if not include.startswith("."):
        return include
    whole = (path.parent / include).resolve()
    server = ROOT / "server"
    return str(whole.relative_to(server if whole.is_relative_to(server) else ROOT))


def is_local(path, include, folder):
    """True for a header next to the file, one in client/, and one that a generator writes into the build folder."""
    own = ROOT / folder / include
    return (path.parent / include).exists() or (folder == "client" and (own.exists() or "/" not in include))


def main():
    uses_of = read_table((ROOT / "server/README.md").read_text())
    if len(uses_of) < 10:
        print("server/README.md: fewer than 10 modules found in the table")
        return 1
    bad = []
    files = 0
    for folder in ("server", "config", "client"):
        for path in sorted(path for ending in ("[ch]", "def", "inc") for path in (ROOT / folder).rglob(f"*.{ending}")):
            if folder == "client" and "examples" in path.parts:
                continue
            files += 1
            name = str(path.relative_to(ROOT))
            here = folder if folder != "server" else module_of(str(path.relative_to(ROOT / "server")), uses_of)
            if here is None:
                bad.append(f"{name}: the file is in no module of the table in server/README.md")
                continue
            allowed = {here} | (uses_of[here] if folder == "server" else set())
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                include = from_root(path, match.group(2))
                if match.group(1) == "<" and not any((ROOT / root / include).exists() for root in ("", "server", "client")):
                    continue  # a library's
                target = target_of(include, uses_of)
                if target is None and is_local(path, include, folder):
                    target = here
                if target is None:
                    bad.append(f"{name}:{number}: {include} is in no module of the table in server/README.md")
                elif target not in allowed and "everything" not in allowed:
                    bad.append(f"{name}:{number}: {here} may not use {target} ({include})")
    for line in bad:
        print(line)
    print(f"{files} files, {len(bad)} forbidden includes")
    return 1 if bad or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
