"""The pages of docs/examples do what they say: every command in them is run, in order, against a gateway that serves the
example policies, and prints what the page shows; so does every piece of Python.

    ```console             $ starts a command, > continues it, anything else is what it printed
    ```python              runs with `client`, a generated Data client, and keyway_thrift's types
    ```text                behind one: what it printed

`pages.py` checks, `pages.py --write` writes the pages anew with what is printed now; further arguments name
examples. KEYWAYD and KEYWAY name the programs.
"""
import contextlib
import difflib
import io
import os
import pathlib
import re
import subprocess
import sys

from keyway_thrift import ttypes
from world import ROOT, gateway_for

PAGES = ROOT / "docs" / "examples"
BLOCK = re.compile(r"```(\w+)\n(.*?)```\n", re.S)


def run_command(command, gateway):
    folder = str(pathlib.Path(os.environ["KEYWAY"]).parent)
    environment = {**os.environ, "KEYWAY_GATEWAY": gateway.address, "PATH": folder + ":" + os.environ["PATH"], "TZ": "UTC"}
    ran = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                         cwd=gateway.folder, encoding="utf-8", timeout=300, check=False)
    return re.sub(r", [0-9.]+ s, [0-9]+/s$", "", ran.stdout, flags=re.M)  # how fast an import was


def run_console(text, gateway):
    """The block with what its commands print now."""
    shown, command = [], []
    for line in text.splitlines() + ["$"]:
        if command and not line.startswith("> "):
            shown += [f"{'> ' if i else '$ '}{part}" for i, part in enumerate(command)]
            shown += run_command("\n".join(command), gateway).rstrip("\n").splitlines()
            command = []
        if line.startswith("$ "):
            command = [line[2:]]
        elif line.startswith("> "):
            command.append(line[2:])
    return "\n".join(shown) + "\n"


def run_python(text, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "a page", "exec"), names)  # pylint: disable=exec-used
    return out.getvalue()


def run_page(text, gateway):
    client = gateway.data()
    names = {"client": client, **{name: getattr(ttypes, name) for name in dir(ttypes) if name[0].isupper()}}
    printed = ""

    def run_block(match):
        nonlocal printed
        kind, body = match.groups()
        if kind == "console":
            body = run_console(body, gateway)
        elif kind == "python":
            printed = run_python(body, names)
        elif kind == "text":
            body, printed = printed, ""
        return f"```{kind}\n{body}```\n"

    text = BLOCK.sub(run_block, text)
    client.close()
    return text


def main():
    write = "--write" in sys.argv
    examples = [name for name in sys.argv[1:] if name != "--write"] or sorted(page.stem for page in PAGES.glob("*.md"))
    differs = False
    with gateway_for(examples, "embedded") as gateway:
        for example in examples:
            page = PAGES / f"{example}.md"
            old = page.read_text(encoding="utf-8")
            new = run_page(old, gateway)
            if write:
                page.write_text(new, encoding="utf-8")
            elif new != old:
                differs = True
                sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(page), "what is printed now"))
    if differs:
        sys.exit("the pages show what is not printed any more; look at it, then run pages.py --write")


if __name__ == "__main__":
    main()
