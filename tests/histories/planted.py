"""Checks that histories beside changes of key rules, and of hint paths, find errors: planted.py BUILD_FOLDER [NAME...] [-- campaign options].

For each safeguard: removes it from a copy of the source, builds keywayd from the copy, and records histories until one is
wrong, or 500 are right. Prints after how many histories the first wrong one was found. Exits with 1 if one was not found.
Some copies keep all safeguards, and only have short times: their histories must be right. planted.py --check only checks that
the source contains the texts that are replaced.
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
# Deletes of hints within a history: the row is sent soon after its hints, and hints are kept for a short time.
SHORT = [("server/hint/program.h", "#define KW_HINT_WINDOW_MS 30000", "#define KW_HINT_WINDOW_MS 400"),
         ("server/hint/clean.h", "#define KW_HINT_CLOCK_DIFFERENCE_MS 30000", "#define KW_HINT_CLOCK_DIFFERENCE_MS 100"),
         ("config/settings.c", ".offset = offsetof(kw_draft, model.hints_keep_ms),\n     .least = SECOND,",
          ".offset = offsetof(kw_draft, model.hints_keep_ms),\n     .least = 1,")]
RULES_END = ("    return is_of_hints(ladder)      ? with_hints(ladder, rules)\n"
             "           : has_one_writer(ladder) ? with_one_writer(rules)\n                                    : rules;")
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
        ("server/coordinator/state.c", "return self->older->len > 0;", "(void)self;\n    return false;"),
        ("server/coordinator/coordinator.c", "if (self->older->len == 0 && !self->working", "if (!self->working")]),
    "no-grace": ("the wait for late writes (store.late)", [
        ("server/coordinator/times.c", "(uint64_t)store->late_ms * KW_NS_PER_MS", "0"),
        ("server/coordinator/reports.c", "(uint64_t)kw_control_model(control)->store.hbase.late_ms * KW_NS_PER_MS", "0")]),
    "early-scans": ("scans of the old rows on side old: they read the new ones from both-old on", [
        ("server/change/ladder.c", RULES_END,
         "    if (ladder == KW_LADDER_MOVE && place >= KW_OLD(BOTH) && place < KW_OLD(FILLED)) {\n"
         "        rules.old_role.scan = false;\n        rules.new_role.scan = true;\n    }\n" + RULES_END)]),
    "rows-first": ("the order of a put of a hint path: the row is written before the hints", [
        ("server/path/write.c", "if (writes_hints(batch) && kw_store_is_shared(batch->call->store))", "if (false)"),
        ("server/path/write.c", "static void\nall_written(void *user)\n{\n    kw_batch *batch = user;\n",
         "static const kw_record **records_of(const kw_batch *batch);\nstatic void sum_up_all(void *user);\n"
         "static void\nlate_hints(void *user, const kw_error *errors, kw_deadline row_deadline)\n{\n    (void)errors, (void)row_deadline;\n"
         "    sum_up_all(user);\n}\nstatic void\nall_written(void *user)\n{\n    kw_batch *batch = user;\n"
         "    if (writes_hints(batch) && kw_store_is_shared(batch->call->store))\n"
         "        kw_hints_write(batch->call, batch->table, records_of(batch), batch->additions_count, batch->options.durability,\n"
         "                       late_hints, batch);\n"
         "    else\n        sum_up_all(batch);\n}\nstatic void\nsum_up_all(void *user)\n{\n    kw_batch *batch = user;\n")]),
    "young-hints": ("the age of a hint that is deleted", [
        ("server/hint/clean.c", "earliest_ms > hint_ms + grace_ms", "earliest_ms > hint_ms - grace_ms")]),
    "unstamped-deletes": ("the timestamp of the delete of a hint", SHORT + [
        ("server/path/hint_cleaner.c", ".timestamp = timestamp,", ".timestamp = KW_TIMESTAMP_NONE,")]),
    "never-recent": ("records that a query of a hint path returns by their place", [
        ("server/hint/page.c", "    return newest_ms >= start_ms;", "    (void)newest_ms, (void)start_ms;\n    return false;")]),
    "no-memory": ("the records that the cursor of such a query remembers", [
        ("server/hint/page.c", "recent && row->is_remembered", "false")]),
    "not-kept": ("hints.keep", SHORT + [
        ("server/hint/clean.c", "- limits->keep_ms - limits->lag_ms", "")]),
    "given-fields": ("the other fields of the touched paths in a put of some fields", [
        ("server/path/partial.c", "    self->cells[self->derived->cells_count++] = kept;\n    return true;", "    (void)kept;\n    return true;")]),
    "no-compare": ("the condition of such a put on HBase, and of conditional puts", [
        ("server/store/order/cas.c", "static void\nsend_compare(kw_cas_round *round)\n{\n",
         "static void\non_put(void *user, kw_outcome outcome, const kw_error *error)\n{\n"
         "    on_compared(user, outcome, outcome == KW_OUTCOME_OK, error);\n}\n"
         "static void\nsend_compare(kw_cas_round *round)\n{\n"),
        ("server/store/order/cas.c", "    kw_store_handle_write_if(round->handle->inner, &round->put, &round->unchanged, on_compared, round);",
         "    kw_store_handle_write(round->handle->inner, &round->put, on_put, round);")]),
    "unmarked-puts": ("kw:w in puts with order: store", [
        ("server/store/order/puts.c", "if (write->ordering->regime.marks)", "if (false)")]),
    "unmarked-removals": ("kw:w in removals with order: store", [
        ("server/store/order/removal.c", "    if (op->write->ordering->regime.marks)\n        add_marks(op);",
         "    if (false)\n        add_marks(op);")]),
    "filled-without-grace": ("the wait for late writes (store.late) before hints are copied", [
        ("server/coordinator/times.c", "(uint64_t)store->late_ms * KW_NS_PER_MS", "0"),
        ("server/coordinator/reports.c", "(uint64_t)kw_control_model(control)->store.hbase.late_ms * KW_NS_PER_MS", "0")]),
    "no-hint-copy": ("the copy of the hints of earlier records, and its comparison", [
        ("server/reconcile/hint_slice.c", "        else if (at->hint.size)", "        else if (at->hint.size && stale)")]),
    "short-times": ("nothing", SHORT),
}
RIGHT = {"short-times"}
CAMPAIGN = ["--store", "sim", "--gateways", "2", "--together", "9", "--callers", "5", "--bursts", "80", "--count", "500",
            "--until-wrong", "--faults", "change_mixed,change_held_long,change_late,change_blind"]
HINTS = ["--together", "0", "--callers", "8", "--bursts", "0", "--workloads", "sided,sided_watched,hinted,hinted_watched",
         "--faults", "calm,delay,stop"]
# Puts in progress for longer than the clock is wide, beside few other puts.
PARTIAL = HINTS + ["--workloads", "hinted_stamp_parts,hinted_stamp_fields", "--faults", "stop_thrift", "--bursts", "150", "--duration", "3000"]
STORE_ORDER = HINTS + ["--workloads", "sided_parts,hinted_parts", "--bursts", "20"]
CLEANED = ["--late", "100", "--keep-hints", "300", "--bursts", "250", "--duration", "2500", "--faults", "calm,delay"]
# Beside additions of hint paths.
ADDED = ["--workloads", "hints", "--groups", "4"]
# For safeguards against rare courses of events, one table whose changes follow each other quickly. By name: further options.
ONE_TABLE = ["--together", "1", "--groups", "8", "--workloads", "watched"]
AIMED = {
    "authority-first": ONE_TABLE + ["--faults", "change_apart", "--late", "1000", "--own-servers", "--turns", "6"],
    "no-drain": ["--faults", "change_stuck", "--late", "1500"],
    "no-grace": ONE_TABLE + ["--faults", "change_given_up", "--late", "1500", "--turns", "0", "--rest", "1", "--bursts", "200",
                             "--stretch", "3"],
    "rows-first": HINTS,
    "young-hints": HINTS,
    "unstamped-deletes": HINTS + CLEANED,
    "never-recent": HINTS,
    "no-memory": HINTS,
    "not-kept": HINTS + CLEANED,
    "given-fields": PARTIAL,
    "no-compare": PARTIAL,
    "unmarked-puts": STORE_ORDER,
    "unmarked-removals": STORE_ORDER,
    "filled-without-grace": ADDED + ["--faults", "paths_given_up,paths_stuck", "--late", "1500", "--bursts", "200", "--stretch", "3"],
    "no-hint-copy": ADDED + ["--faults", "paths,paths_slow"],
    "short-times": HINTS + CLEANED,
}


def planted_texts(name):
    """The text of each file in which a safeguard can be removed; this one is."""
    texts = {file: (SOURCE / file).read_text(encoding="utf-8") for _, places in PLANTED.values() for file, _, _ in places}
    for file, before, after in PLANTED[name][1]:
        assert before in texts[file], f"{name}: {file} does not contain {before!r}"
        texts[file] = texts[file].replace(before, after)
    return texts


def plant(folder, name):
    """Removes the safeguard from the copy of the source; the others are there again."""
    if not folder.exists():
        shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns(".git", "build"))
    for file, text in planted_texts(name).items():
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
    if words == ["--check"]:
        for name in PLANTED:
            planted_texts(name)
        return
    options = words[words.index("--") + 1:] if "--" in words else []
    build_folder, *names = words[:words.index("--")] if "--" in words else words
    missed = 0
    with tempfile.TemporaryDirectory(prefix="keyway-planted-") as folder:
        for name in names or PLANTED:
            copy = pathlib.Path(folder, "keyway")
            plant(copy, name)
            keywayd = build(copy)
            right, wrong = search(keywayd, pathlib.Path(build_folder).resolve(), AIMED.get(name, []) + options)
            print(f"{name}: " + (f"wrong after {right + 1} histories" if wrong else f"{right} histories are right") +
                  f"; removed: {PLANTED[name][0]}" + "".join(f"\n    {each}" for each in wrong), flush=True)
            missed += bool(wrong) == (name in RIGHT)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
