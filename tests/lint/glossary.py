#!/usr/bin/env python3
"""Fails on a word that the project replaced with the standard term, in text, identifiers and names of tracked files.

    glossary.py PATH...       checks these files and folders of the git tree that contains the first path

Identifiers are split at underscores and capitals, so that `kw_lane_open`, `LANE_MAX` and `openLane` all contain
"lane". Words with a second, common meaning (run, turn, slot, map, take, made) need a reader and are not listed here.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

# A word, or two words separated by a space, in lower case -> what to write instead.
WORDS = {
    "told": "prints, reports, returns, says",
    "tells": "prints, reports, returns, says",
    "telling": "printing, reporting, returning",
    "behind": "after, following, below",
    "crowd": "waiters, callers, many connections",
    "crowds": "waiters, callers, many connections",
    "whoever": "name the thing",
    "anew": "again",
    "besides": "in addition, also",
    "towards": "to",
    "play": "integration test, system test",
    "plays": "integration tests, system tests",
    "played": "ran, tested",
    "figure": "metric, number, measurement",
    "figures": "metrics, numbers, measurements",
    "door": "store handle, interface",
    "doors": "store handles, interfaces",
    "lane": "batch queue, event loop, worker",
    "lanes": "batch queues, event loops, workers",
    "rider": "pending operation",
    "riders": "pending operations",
    "sift": "filter",
    "sifts": "filters",
    "sifted": "filtered",
    "sifting": "filtering",
    "sieve": "filter",
    "sieves": "filters",
    "shelf": "cache",
    "shelves": "caches",
    "ear": "listener",
    "ears": "listeners",
    "question": "query",
    "questions": "queries",
    "house": "architecture, overview",
    "room": "module; space",
    "rooms": "modules",
    "is none": "is not one, does not exist",
    "are none": "do not exist",
    "for ever": "forever",
    "also after": "even after",
}

# Where a word is right: files (a pattern), the text around it on the line, the reason.
EXCEPTIONS = [
    ("tests/lint/glossary*.py", "", "the list itself and its test"),
    ("*", "there is none", "short for: the thing named before does not exist"),
    ("*", "there are none", "the same"),
    ("thrift/keyway.thrift", "question", "AdvisedQuestion and its fields: names that generated clients use"),
    ("*", "AdvisedQuestion", "the generated names of that struct"),
    ("tests/*.py", ".questions", "the generated name of its list"),
    ("*.c", "->questions", "the same"),
    ("*.c", ".question =", "the generated name of one of its fields"),
    ("client/lib/advise.c", "->question", "the same"),
]

PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
PAIR = re.compile(r"\b(?=([a-z]+ [a-z]+)\b)")


def phrases(line):
    """The words of one line in lower case, and its pairs of adjacent words as they are written ("is None" is not "is none")."""
    return {piece.lower() for piece in PIECE.findall(line)} | set(PAIR.findall(line))


def bad_words(line, excepted):
    for text in excepted:
        line = re.sub(re.escape(text), lambda match: "." * len(match.group()), line, flags=re.I)
    found = phrases(re.sub(r"\\[nt]", " ", line))
    return [word for word in WORDS if word in found]


def check_file(name, data, used):
    """Problems of one file, its name included. Adds the exceptions that it needed to `used`."""
    exceptions = [exception for exception in EXCEPTIONS if fnmatch.fnmatchcase(name, exception[0])]
    whole = [exception for exception in exceptions if not exception[1]]
    used.update(whole)
    if whole or b"\0" in data:
        return []
    problems = []
    lines = data.decode(errors="replace").splitlines()
    for number, line in enumerate([name] + lines):
        needed = [exception for exception in exceptions if exception[1].lower() in line.lower()]
        used.update(exception for exception in needed if bad_words(exception[1], []))
        for word in bad_words(line, [exception[1] for exception in needed]):
            problems.append(f'{name}:{number or 1}: "{word}": write {WORDS[word]}' + ("" if number else " (file name)"))
    return problems


def tracked(root, paths):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--", *paths], check=True, stdout=subprocess.PIPE)
    return [name for name in listed.stdout.decode().split("\0") if name and (root / name).is_file()]


def main():
    paths = [pathlib.Path(path).resolve() for path in sys.argv[1:]]
    if not paths:
        print(__doc__)
        return 2
    folder = paths[0] if paths[0].is_dir() else paths[0].parent
    top = subprocess.run(["git", "-C", folder, "rev-parse", "--show-toplevel"], stdout=subprocess.PIPE, text=True)
    if top.returncode:
        print("not a git work tree: cannot list the tracked files; skipped")
        return 77
    root = pathlib.Path(top.stdout.rstrip("\n"))
    names, used = tracked(root, paths), set()
    problems = [problem for name in names for problem in check_file(name, (root / name).read_bytes(), used)]
    if root in paths:
        problems += [f"{path}: the exception \"{text}\" is not needed any more (tests/lint/glossary.py)"
                     for path, text, _ in EXCEPTIONS if not any((path, text) == each[:2] for each in used)]
    print(*problems, f"{len(names)} files, {len(problems)} problems", sep="\n")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())
