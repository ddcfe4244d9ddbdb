#!/usr/bin/env python3
"""Tests references.py: builds a small tree whose documents are right, then spoils each kind of reference and expects an error."""
import pathlib
import subprocess
import sys
import tempfile

GOOD = "# A page\n\n## Its end\n\n[here](#its-end), [there](b.md#b), `plan/plan.c`, `plan.c`, keyway-policy(5)\n"
SPOILED = {
    "[here](#its-end)": ("[here](#its-start)", "no heading for #its-start"),
    "[there](b.md#b)": ("[there](c.md)", "no c.md"),
    "`plan/plan.c`": ("`plan/other.c`", "no plan/other.c"),
    "`plan.c`": ("`other.c`", "no other.c"),
    "keyway-policy(5)": ("keyway-policy" + "(7)", "no man/keyway-policy.7"),
}


def check(folder, page):
    (folder / "a.md").write_text(page)
    subprocess.run(["git", "-C", folder, "add", "-A"], check=True)
    return subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True, check=False)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(["git", "-C", folder, "init", "-q"], check=True)
        for file, text in {"b.md": "# B\n", "server/plan/plan.c": "", "man/keyway-policy.5": ""}.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        good = check(folder, GOOD)
        print(good.stdout)
        ok = good.returncode == 0
        for right, (wrong, problem) in SPOILED.items():
            bad = check(folder, GOOD.replace(right, wrong, 1))
            print(bad.stdout)
            ok = ok and bad.returncode == 1 and problem in bad.stdout
    return 0 if ok else 1


sys.exit(main())
