"""Checks that histories beside changes of key rules find errors: planted.py BUILD_FOLDER [NAME...] [-- campaign options].

For each safeguard: removes it from a copy of the source, builds keywayd from the copy, and records histories until one is
wrong, or 500 are right. Prints after how many histories the first wrong one was found. Exits with 1 if one was not found.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
# By name: what is removed, and in which file which text is replaced by which other one.
PLANTED = {
    "authority-first": ("the order of the two writes of a put or removal: the placement that scans read is written first", [
        ("server/change/ladder.c", "#define FIRST  {1, 1, false, false}", "#define FIRST  {2, 2, false, false}"),
        ("server/change/ladder.c", "#define LAST   {2, 2, true, true}", "#define LAST   {1, 1, true, true}"),
        ("server/change/ladder.c", "#define LAST_REMOVED  {1, 2, true, true}", "#define LAST_REMOVED  {1, 1, true, true}"),
        ("server/change/ladder.c", "{1, 2, true, true}, {0, 1, false, false}", "{1, 1, true, true}, {0, 2, false, false}"),
        ("server/change/ladder.c", "{1, 1, true, false}", "{2, 2, true, false}")]),
    "no-gone-cells": ("the cells that removals leave, except kw:w", [
        ("server/store/order/stamp.c", "removal->extra_cells = cells;", "removal->extra_cells = cells + count;"),
        ("server/store/order/stamp.c", "removal->extra_cells_count = count;", "removal->extra_cells_count = 0;")]),
    "no-drain": ("the wait for calls at earlier places before a place is reported", [
        ("server/coordinator/coordinator.c", "return self->older->len > 0;", "(void)self;\n    return false;"),
        ("server/coordinator/coordinator.c", "if (self->older->len == 0 && !self->working", "if (!self->working")]),
    "no-grace": ("the wait for late writes (store.late)", [
        ("server/coordinator/holder.c", "(uint64_t)store->late_ms * NS_PER_MS", "0"),
        ("server/coordinator/reports.c", "(uint64_t)kw_gateway_model(gateway)->store.hbase.late_ms * NS_PER_MS", "0")]),
    "early-scans": ("scans of the old rows on side old: they read the new ones from both-old on", [
        ("server/change/ladder.c", "    return has_one_writer(ladder) ? with_one_writer(rules) : rules;",
         "    if (ladder == KW_LADDER_MOVE && place >= KW_OLD(BOTH) && place < KW_OLD(FILLED)) {\n"
         "        rules.old_role.scan = false;\n        rules.new_role.scan = true;\n    }\n"
         "    return has_one_writer(ladder) ? with_one_writer(rules) : rules;")]),
}
CAMPAIGN = ["--store", "sim", "--gateways", "2", "--together", "9", "--callers", "5", "--bursts", "80", "--count", "500",
            "--until-wrong", "--faults", "change_mixed,change_held_long,change_late,change_blind"]
# For safeguards against rare courses of events, one table whose changes follow each other quickly. By name: further options.
ONE_TABLE = ["--together", "1", "--groups", "8", "--workloads", "watched"]
AIMED = {
    "authority-first": ONE_TABLE + ["--faults", "change_apart", "--late", "1000", "--own-servers", "--turns", "6"],
    "no-drain": ["--faults", "change_stuck", "--late", "1500"],
    "no-grace": ONE_TABLE + ["--faults", "change_given_up", "--late", "1500", "--turns", "0", "--rest", "1", "--bursts", "200",
                             "--stretch", "3"],
}


def plant(folder, name):
    """Removes the safeguard from the copy of the source; the others are there again."""
    if not folder.exists():
        shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns(".git", "build"))
    texts = {file: (SOURCE / file).read_text(encoding="utf-8") for _, places in PLANTED.values() for file, _, _ in places}
    for file, before, after in PLANTED[name][1]:
        assert before in texts[file], f"{file} does not contain {before!r}"
        texts[file] = texts[file].replace(before, after)
    for file, text in texts.items():
        if (folder / file).read_text(encoding="utf-8") != text:
            (folder / file).write_text(text, encoding="utf-8")


def build(folder):
    build_folder = folder / "build"
    if not build_folder.exists():
        subprocess.run(["cmake", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DKEYWAY_TESTS=OFF", "-S", folder, "-B",
                        build_folder], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build_folder, "--target", "keywayd"], check=True, stdout=subprocess.DEVNULL)
    return build_folder / "server" / "gateway" / "keywayd"


def search(program, build_folder, options):
    """Records histories. Returns how many were right, and the first lines about the wrong one."""
    environment = dict(os.environ, KEYWAYD=str(program), KW_HBASE_SIM=str(build_folder / "tests/histories/hbase_sim"),
                       KW_RECORD_HISTORY=str(build_folder / "tests/histories/record_history"),
                       PYTHONPATH=f"{HERE}:{HERE.parent / 'support'}:{build_folder / 'python/gen'}")
    command = [build_folder / "python/bin/python", HERE / "campaign.py", *CAMPAIGN, *options]
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False).stdout
    right = len(re.findall(r"^right ", output, re.MULTILINE))
    return right, re.findall(r"^WRONG .*(?:\n    .*)?", output, re.MULTILINE)


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1:] if "--" in words else []
    build_folder, *names = words[:words.index("--")] if "--" in words else words
    missed = 0
    with tempfile.TemporaryDirectory(prefix="keyway-planted-") as folder:
        for name in names or PLANTED:
            copy = pathlib.Path(folder, "keyway")
            plant(copy, name)
            keywayd = build(copy)
            right, wrong = search(keywayd, pathlib.Path(build_folder).resolve(), AIMED.get(name, []) + options)
            print(f"{name}: " + (f"found after {right + 1} histories" if wrong else f"not found in {right} histories") +
                  f"; removed: {PLANTED[name][0]}" + "".join(f"\n    {each}" for each in wrong), flush=True)
            missed += not wrong
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
