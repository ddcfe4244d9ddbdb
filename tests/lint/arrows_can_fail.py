#!/usr/bin/env python3
"""Tests arrows.py: builds a small tree with a forbidden include, in each way to write it, and expects an error that names it."""
import pathlib
import subprocess
import sys
import tempfile

MODULES = ["base", "wire", "rule", "plan", "store", "gather", "verb", "net", "service", "admin"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        rows = "| module | may use |\n|---|---|\n" + "".join(f"| {module} | base |\n" for module in MODULES)
        (root / "server/base").mkdir(parents=True)
        (root / "server/wire").mkdir()
        (root / "server/README.md").write_text(rows.replace("| base | base |", "| base | - |"))
        (root / "server/wire/good.c").write_text('#include "base/bytes.h"\n')
        good = subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True)
        bad = []
        (root / "server/wire/wire.h").write_text("#pragma once\n")
        for include in ('"wire/wire.h"', "<wire/wire.h>", '"../wire/wire.h"'):
            (root / "server/base/bad.c").write_text(f"#include {include}\n")
            bad.append(subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True))
    print(good.stdout, *(run.stdout for run in bad))
    ok = good.returncode == 0 and all(run.returncode == 1 and "base may not use wire" in run.stdout for run in bad)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
