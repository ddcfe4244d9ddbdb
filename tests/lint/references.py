#!/usr/bin/env python3
"""Fails on a document that names a file, a heading or a manual page that does not exist.

Reads the Markdown files of the source root: links to files and to headings in them, and source files in backticks (`plan/plan.c`,
with or without the folder server/, or only the name). In all files: manual pages such as keyway-policy(5).
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r"`([a-z0-9_]+(?:/[a-z0-9_]+)*\.[ch])`")
MANUAL = re.compile(r"\b(keyway[a-z-]*)\(([1-8])\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


def anchors(text):
    """The anchors that GitHub gives to the headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)}


def link_problem(root, page, link):
    name, _, anchor = link.partition("#")
    target = (root / page).parent / name if name else root / page
    if not target.exists():
        return f"there is no {link}"
    if anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
        return f"there is no heading for {link}"
    return None


def problems_of(root, page, files, names):
    text = (root / page).read_text(encoding="utf-8")
    for link in LINK.findall(FENCE.sub("", text)):
        problem = None if "://" in link else link_problem(root, page, link)
        if problem:
            yield problem
    for source in sorted(set(SOURCE.findall(text))):
        beside = str(pathlib.PurePosixPath(page).parent / source)
        if not {source, "server/" + source, beside} & files and ("/" in source or source not in names):
            yield f"there is no {source}"


def manual_problems(root, file, files):
    try:
        text = (root / file).read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return
    for manual, section in sorted(set(MANUAL.findall(text))):
        if f"man/{manual}.{section}" not in files:
            yield f"there is no man/{manual}.{section}"


def main():
    root = pathlib.Path(sys.argv[1])
    listed = subprocess.run(["git", "-C", root, "ls-files"], stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if listed.returncode:
        print("not a git tree")
        return 77
    files = set(listed.stdout.splitlines())
    names = {pathlib.PurePosixPath(file).name for file in files}
    pages = sorted(file for file in files if file.endswith(".md"))
    problems = [f"{page}: {problem}" for page in pages for problem in problems_of(root, page, files, names)]
    problems += [f"{file}: {problem}" for file in sorted(files) for problem in manual_problems(root, file, files)]
    print("\n".join(problems) or f"{len(pages)} documents, 0 problems")
    return 1 if problems else 0


sys.exit(main())
