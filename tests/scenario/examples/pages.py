"""Checks that the pages of docs/examples, docs/changing-a-policy.md, docs/modelling.md and README.md show what Keyway prints. Runs every command
and every piece of Python on them, in order, against a gateway that serves the example policies, or the policy that the page itself shows.

    ```console             $ starts a command, > continues it, anything else is its output
    ```python              runs with `client`, a generated Data client, and keyway_thrift's types
    ```text                after a piece of Python: its output

`pages.py` checks; `pages.py --write` replaces the output on the pages with the current output. Further arguments name
examples, README, modelling or changing-a-policy. KEYWAYD and KEYWAY name the programs.
"""
import contextlib
import difflib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys

from keyway_gateway import Gateway, wait_until
from keyway_thrift import ttypes
from world import ROOT, gateway_for

PAGES = ROOT / "docs" / "examples"
WITH_POLICY = {"README": ROOT / "README.md", "modelling": ROOT / "docs" / "modelling.md"}
CHANGING = ROOT / "docs" / "changing-a-policy.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```\n", re.S)
TABLES = re.compile(r"```yaml\n(tables:\n.*?)```\n", re.S)
HEAD = "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstore: {kind: embedded, path: keyway-data}\n"
DEFAULT_ADDRESS = '"127.0.0.1", 9595'


def run_command(command, gateway):
    folder = str(pathlib.Path(os.environ["KEYWAY"]).parent)
    environment = {**os.environ, "KEYWAY_GATEWAY": gateway.address, "PATH": folder + ":" + os.environ["PATH"], "TZ": "UTC"}
    ran = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                         cwd=gateway.folder, encoding="utf-8", timeout=300, check=False)
    shown = re.sub(r", [0-9.]+ s, [0-9]+/s$", "", ran.stdout, flags=re.M)  # removes the speed of an import
    return re.sub(r"( since |^  began +)\S+Z", r"\g<1>2026-11-21T10:00:00.000Z", shown, flags=re.M)  # times of a change


def run_console(text, gateway):
    """The block with the current output of its commands."""
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


def run_python(text, names, gateway):
    """The output of a Python program. A program that connects to the default address gets the gateway's."""
    host, port = gateway.addresses[0]
    text = text.replace(DEFAULT_ADDRESS, f'"{host}", {port}')
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
            printed = run_python(body, names, gateway)
        elif kind == "text":
            body, printed = printed, ""
        return f"```{kind}\n{body}```\n"

    text = BLOCK.sub(run_block, text)
    client.close()
    return text


def check_page(page, gateway, write):
    """True if the page shows the current output. With `write`, updates the page."""
    old = page.read_text(encoding="utf-8")
    new = run_page(old, gateway)
    if write:
        page.write_text(new, encoding="utf-8")
    elif new != old:
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(page), "current output"))
        return False
    return True


def check_examples(names, write):
    if not names:
        return True
    with gateway_for(names, "embedded") as gateway:
        return all([check_page(PAGES / f"{name}.md", gateway, write) for name in names])


def check_with_policy(page, write):
    tables = TABLES.search(page.read_text(encoding="utf-8"))[1]
    with Gateway((HEAD + tables).replace("{", "{{").replace("}", "}}")) as gateway:
        wait_until(lambda: gateway.ready()["ready"], "the gateway to create the tables")
        return check_page(page, gateway, write)


def check_changing(write):
    with Gateway((HEAD + "policy: {source: store}\n").replace("{", "{{").replace("}", "}}")) as gateway:
        shutil.copy(ROOT / "config" / "examples" / "order-tracking.yaml", gateway.folder)
        return check_page(CHANGING, gateway, write)


def main():
    write = "--write" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--write"]
    names = names or [*WITH_POLICY, CHANGING.stem, *sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "README")]
    same = check_examples([name for name in names if name not in (*WITH_POLICY, CHANGING.stem)], write)
    same = (CHANGING.stem not in names or check_changing(write)) and same
    for name, page in WITH_POLICY.items():
        same = (name not in names or check_with_policy(page, write)) and same
    if not same:
        sys.exit("these pages do not show the current output; check it, then run pages.py --write")


if __name__ == "__main__":
    main()
