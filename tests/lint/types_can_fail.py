#!/usr/bin/env python3
"""Tests types.py: a type that two headers define is an error; forward declarations and comments are not. Argument: types.py."""
import pathlib
import subprocess
import sys
import tempfile

ONE = "typedef struct kw_a {\n    int x;\n} kw_a;\n"
OTHERS = {
    "typedef struct kw_a kw_a;\n/*\n} kw_a;\n*/\nstruct kw_b {\n    kw_a *a;\n};\n": 0,
    "typedef enum kw_a { KW_A } kw_b;\n": 0,
    "typedef enum kw_x {\n    KW_A\n} kw_a;\n": 1,
    "struct kw_a {\n    int x;\n};\n": 1,
    "typedef void (*kw_a)(void *user);\n": 1,
    "typedef int kw_a;\n": 1,
}


def check(second, other, wanted):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("server/x/a.h", ONE), (second, other)):
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, sys.argv[1], folder], stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout)
        if done.returncode != wanted or (f"kw_a is defined in {second} and in server/x/a.h" in done.stdout) != bool(wanted):
            sys.exit(f"exit code {done.returncode}, not {wanted}, for {second}:\n{other}")


def main():
    for other, wanted in OTHERS.items():
        check("config/b.h", other, wanted)
    check("client/lib/b.h", ONE, 1)
    check("client/keyway.h", ONE, 0)


if __name__ == "__main__":
    main()
