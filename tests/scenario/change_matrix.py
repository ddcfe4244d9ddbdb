"""Each kind of key rule is changed to each other one, on the embedded store, while records are written. All tables change
at once, in one gateway. Before, during and after the change, the same records are put, put in part, and removed in whole or
in part, some with timestamps of the caller. A table that has had the new rule from the start gets the same writes; then
both must have the same rows, cells and values. Cells whose timestamp the store gave must have the one of the old rows.

    change_matrix.py [PAIRS]      how many pairs of rules, default: PAIRS_IN_CI; 0: all

KW_SEED repeats a run.
"""
import os
import random
import sys
import time

import changing
from change_matrix_case import RULES, all_pairs, check_cells, check_reads, random_records, table, write, writes_of_phase
from changing import apply, call, cells_of, status, wait_until_compared
from keyway_gateway import Gateway, is_sanitized, wait_until

PAIRS_IN_CI = 20 if is_sanitized() else 60
PHASES = ["before", "both-old", "both-new", "after"]


def policy(pairs, now):
    """The tables of the pairs, with the old rule (now: 0) or the new one, and tables with the new rule from the start."""
    references = sorted({pair[1] for pair in pairs})
    return "tables:\n" + "".join(table(name_of(pair), pair[now]) for pair in pairs) + "".join(table("from_" + rule, rule) for rule in references)


def name_of(pair):
    return f"{pair[0]}_to_{pair[1]}"


def reference_of(pair):
    return "from_" + pair[1]


# --- the run ----------------------------------------------------------------------------------------

def serve_again(gateway):
    gateway.start()
    wait_until(lambda: gateway.ready()["ready"], "the gateway to serve")


def write_everywhere(gateway, pairs, writes):
    data = gateway.data()
    for name in [name_of(pair) for pair in pairs] + sorted({reference_of(pair) for pair in pairs}):
        write(data, name, writes)
    return data


def order_all(gateway, pairs, action, **options):
    admin = gateway.admin()
    for pair in pairs:
        admin.orderChange(name_of(pair), changing.ChangeAction._NAMES_TO_VALUES[action], changing.ChangeOptions(**options))
    admin.close()


def run_pairs(gateway, pairs, chance):
    records = random_records(chance)
    phases = [writes_of_phase(chance, records, phase) for phase in range(len(PHASES))]
    began = time.monotonic()

    def report(what):
        print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)
    apply(gateway, policy(pairs, 0), 0)
    report(f"{len(pairs)} pairs of {len(RULES)} rules")
    write_everywhere(gateway, pairs, phases[0]).close()
    report("written")
    applied = apply(gateway, policy(pairs, 1))
    assert applied.changed
    report("both-old")
    data = write_everywhere(gateway, pairs, phases[1])
    for pair in pairs:
        found = wait_until_compared(gateway, name_of(pair))
        assert found.foreign_rows == 0 and found.repaired == found.missing + found.different + found.extra, found
        check_reads(data, name_of(pair), reference_of(pair), records)
    report("copied and compared")
    order_all(gateway, pairs, "SWITCH")
    data = write_everywhere(gateway, pairs, phases[2])
    for pair in pairs:
        check_reads(data, name_of(pair), reference_of(pair), records)
    report("both-new")
    tables = [status(gateway, name_of(pair)) for pair in pairs]
    gateway.stop()
    cells = cells_of(gateway.folder, *[one.store_table for one in tables], *[one.old_store_table for one in tables],
                     *{reference_of(pair) for pair in pairs})
    for pair, one in zip(pairs, tables):
        check_cells(name_of(pair), cells[one.old_store_table], cells[one.store_table], cells[reference_of(pair)])
    report("cells compared")
    serve_again(gateway)
    order_all(gateway, pairs, "COMPLETE", expire_cursors=True)
    wait_until(lambda: not call(gateway, "changes", ""), "the changes to end")
    data = write_everywhere(gateway, pairs, phases[3])
    for pair in pairs:
        check_reads(data, name_of(pair), reference_of(pair), records)
    report("complete")
    gateway.stop()
    after = cells_of(gateway.folder, *[one.store_table for one in tables], *{reference_of(pair) for pair in pairs})
    for pair, one in zip(pairs, tables):
        check_cells(name_of(pair), None, after[one.store_table], after[reference_of(pair)])
    report("cells compared")


def main():
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS_IN_CI
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    pairs = all_pairs()
    if count:
        pairs = sorted(chance.sample(pairs, count))
    with Gateway(changing.SETTINGS) as gateway:
        run_pairs(gateway, pairs, chance)
        gateway.start()


if __name__ == "__main__":
    main()
