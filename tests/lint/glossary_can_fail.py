#!/usr/bin/env python3
"""The glossary's check finds a replaced word in text, in identifiers and in file names, and accepts a clean tree.

Builds small git trees with one file each. Argument: glossary.py.
"""
import pathlib
import subprocess
import sys
import tempfile

CASES = [  # file name, its text, the problem that the check must report (None: the file is clean)
    ("a.c", "/* Tells the port. */\n", 'a.c:1: "tells"'),
    ("a.c", "int x;\nkw_lane_open(x);\n", 'a.c:2: "lane"'),
    ("a.c", "#define LANE_MAX 3\n", 'a.c:1: "lane"'),
    ("a.py", "print('\\nlane')\n", 'a.py:1: "lane"'),
    ("a.py", "openLane(3)\n", 'a.py:1: "lane"'),
    ("a.md", "The value is none.\n", 'a.md:1: "is none"'),
    ("crowd_test.c", "", 'crowd_test.c:1: "crowd"'),
    ("a.py", "if this is None:\n    pass\n", None),
    ("a.md", "NULL when there is none. The planet replays displays near a year.\n", None),
    ("a.c", "size_t space = 3; /* space for 3 bytes */\n", None),
]


def check(glossary, name, text):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / name).write_text(text)
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        subprocess.run(["git", "-C", folder, "add", name], check=True)
        path = f"{folder}/{name}"  # a file, not the tree: unused exceptions are reported for the tree only
        return subprocess.run([sys.executable, glossary, path], stdout=subprocess.PIPE, text=True)


def main():
    failed = 0
    for name, text, problem in CASES:
        result = check(sys.argv[1], name, text)
        if result.returncode != (problem is not None) or (problem or "0 problems") not in result.stdout:
            print(f"{name} with {text!r}: expected {problem or 'no problem'}, got {result.returncode}:\n{result.stdout}")
            failed += 1
    print(f"{len(CASES)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
