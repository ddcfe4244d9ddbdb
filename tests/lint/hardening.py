#!/usr/bin/env python3
"""Checks with readelf that the programs are hardened: hardening.py PROGRAM...

Position independent, all relocations resolved at start and read-only after it, no executable stack, stack protector, checked
libc calls, and on x86 the marks of control-flow protection. The processor enforces that protection only if every linked
object is marked; libraries can lack the mark, so only the first instruction of main is checked.
"""
import platform
import subprocess
import sys


def read(program, *options):
    return subprocess.run(["readelf", "--wide", *options, program], stdout=subprocess.PIPE, text=True, check=True).stdout


def missing(program):
    header, segments, dynamic = read(program, "--file-header"), read(program, "--segments"), read(program, "--dynamic")
    symbols = read(program, "--dyn-syms")
    found = {
        "position-independent executable (PIE)": "DYN (Position-Independent Executable" in header,
        "read-only relocations (RELRO)": "GNU_RELRO" in segments,
        "relocations resolved at start (BIND_NOW)": "FLAGS_1" in dynamic and "NOW" in dynamic.split("FLAGS_1")[1].splitlines()[0],
        "stack without execute permission": any("GNU_STACK" in line and "RWE" not in line for line in segments.splitlines()),
        "stack protector": "__stack_chk_fail" in symbols,
        "checked libc calls (_FORTIFY_SOURCE)": "_chk@" in symbols.replace("__stack_chk_fail@", ""),
    }
    if platform.machine() == "x86_64":
        code = subprocess.run(["objdump", "--disassemble=main", "--no-show-raw-insn", program], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
        found["control-flow protection (CET)"] = "endbr64" in code
    return [name for name, there in found.items() if not there]


def main():
    bad = [(program, name) for program in sys.argv[1:] for name in missing(program)]
    for program, name in bad:
        print(f"{program}: no {name}")
    print(f"{len(sys.argv) - 1} programs, {len(bad)} protections missing")
    return 1 if bad or len(sys.argv) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())
