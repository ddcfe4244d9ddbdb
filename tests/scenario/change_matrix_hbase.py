"""Each kind of key rule is changed to each other one on HBase, with two gateways, while records are written through both.

    change_matrix_hbase.py sim|hbase [PAIRS]      how many pairs of rules, default: PAIRS_IN_CI

KW_MATRIX_ALL tries all pairs. Each pair is tried with `order: store` and with `order: stamp`. TABLES_TOGETHER tables change at
the same time. Their changes begin one after the other, each with a version of the policy, because HBase gateways refuse a
policy that begins several changes.

The same records are put, put in part, and removed in whole or in part, some with timestamps of the caller: before the change,
while it begins, when the rows are copied, during the switch, after it, while the change is completed, and afterwards. A table
that has had the new rule from the start gets the same writes. Then both must have the same rows, cells and values. Cells whose
timestamp HBase or a gateway gave must have the one that they had before the change.

KW_SEED repeats a run.
"""
import concurrent.futures
import contextlib
import itertools
import os
import random
import sys
import time
import traceback

import hbase_places
from change_matrix_case import RULES, START, all_pairs, check_cells, check_reads, random_records, table, write_one, writes_of_phase
from changing import apply, order, status, wait_for, wait_until_compared
from keyway_gateway import Gateway, is_sanitized, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Outcome

PAIRS_IN_CI = 4 if is_sanitized() else 6
TABLES_TOGETHER = 14
ORDERS = ["store", "stamp"]
PHASES = ["before", "begin", "copied", "switch", "switched", "complete", "after"]
LATE_MS = 500
# Deadline of calls without one of their own, such as policyApply, which creates the store tables. A sweep leaves control cells that
# are younger.
CALL_MS = {"sim": 2000, "hbase": 120_000}
CLOCK_MS = 2000          # how far HBase's clock can be from this machine's
PAUSE_S = 0.04           # between writes that must be spread over the places of a change
ABOVE_REMOVALS = 1_000_000
UNIQUE = (b"d:a", b"e:b", b"e:m_")  # columns in which each write puts a value of its own


class Pair:
    def __init__(self, run, old, new, order_of_writes):
        self.old, self.new, self.order = old, new, order_of_writes
        self.name = f"{old}_to_{new}_{order_of_writes}"
        self.reference = f"from_{new}_{order_of_writes}"
        self.run = run
        self.store_tables = {name: f"{run}_{name}" for name in (self.name, self.reference)}

    def table(self, changed):
        return self.text(self.name, self.new if changed else self.old)

    def reference_table(self):
        return self.text(self.reference, self.new)

    def text(self, name, rule):
        return table(name, rule, f"    store_table: {self.store_tables[name]}\n    order: {self.order}\n")


def policy(pairs, changed):
    """The first `changed` pairs have the new rule."""
    references = {pair.reference: pair.reference_table() for pair in pairs}
    return "tables:\n" + "".join(pair.table(i < changed) for i, pair in enumerate(pairs)) + "".join(references.values())


def is_control(cell):
    return b":\0kw:" in cell[0]


def data_cells(rows):
    """The rows that have other cells than control cells, with these cells."""
    made = {row: [cell for cell in cells if not is_control(cell)] for row, cells in rows.items()}
    return {row: cells for row, cells in made.items() if cells}


def control_cells(rows):
    return [(row, *cell) for row, cells in rows.items() for cell in cells if is_control(cell)]


def without_writers(rows, swept_until_ms):
    """The rows without cells kw:w that can remain after the change. Every write during the change leaves one. A sweep removes it
    only with the gone cell of a removed record, and if both are older; if columns are removed one by one, it remains alone."""
    data = data_cells(rows)

    def remains(row, column, stamp):
        return column.endswith(b":\0kw:w") and (row in data or swept_until_ms is None or stamp >= swept_until_ms)

    return {row: [cell for cell in cells if not remains(row, cell[0], cell[1])] for row, cells in rows.items()}


def given_stamps(rows):
    """{(column, value): timestamp} of cells whose timestamp no caller gave, and whose value names their write."""
    return {(column, held): stamp for cells in rows.values() for column, stamp, held in cells
            if stamp >= START and column.startswith(UNIQUE)}


def above_removals(phases):
    """HBase does not return its delete markers, so those of removals with a caller's timestamp are not copied, and the manual
    says that an older put can be visible after the switch. So the timestamps after such a removal are above it."""
    removals = {}

    def raised(write):
        what, key, fields, stamp = write
        base = ABOVE_REMOVALS * removals.get(key, 0)
        if what == "remove":
            removals[key] = removals.get(key, 0) + 1
        return (what, key, fields, None if stamp is None else base + stamp)
    return [[raised(write) for write in writes] for writes in phases]


class Batch:
    """Two gateways, and tables that change at the same time."""

    def __init__(self, store, place, pairs, chance):
        self.store = store
        self.place = place
        self.run = f"matrix_{os.getpid()}_{time.time_ns()}"
        self.pairs = [Pair(self.run, old, new, each) for old, new in pairs for each in ORDERS]
        self.records = random_records(chance)
        self.phases = above_removals([writes_of_phase(chance, self.records, phase) for phase in range(len(PHASES))])
        self.began = time.monotonic()
        self.gateways = []
        self.counts = {"writes": 0, "retries": 0, "swept": 0}

    def report(self, what):
        print(f"{time.monotonic() - self.began:6.1f} s  {what}", flush=True)

    def settings(self, number):
        text = (f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\ngateway_id: {self.run}_{number}\n"
                f"timeouts: {{call: {CALL_MS[self.store]}ms}}\npolicy: {{source: store}}\n"
                f"{self.place.store(self.run, f'  late: {LATE_MS}ms' + chr(10))}")
        return text.replace("{", "{{").replace("}", "}}")

    def start(self, stack):
        for number in range(2):
            self.gateways.append(stack.enter_context(Gateway(self.settings(number))))
            if number == 0:
                apply(self.gateways[0], policy(self.pairs, 0), 0)
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: gateway.get("/readyz")[0] == 200, "the gateway to serve", 600)

    # --- writes ---------------------------------------------------------------------------------------

    def write_table(self, name, writes, pause):
        clients = [gateway.data() for gateway in self.gateways]
        for data, write in zip(itertools.cycle(clients), writes):
            wait_until(lambda data=data, write=write: self.is_written(data, name, write), f"a write of {name}")
            self.counts["writes"] += 1
            time.sleep(pause)
        for data in clients:
            data.close()

    def is_written(self, data, name, write):
        with self.clock_can_be_unknown():
            written = write_one(data, name, write)
            if written.outcome == Outcome.OK:
                return True
            assert written.outcome == Outcome.FAILED, (name, write, written)
            raise KeywayError(code=written.failure.code, message=written.failure.message)
        return False

    @contextlib.contextmanager
    def clock_can_be_unknown(self):
        """On a busy machine, HBase's clock can be unknown for a time; then nothing is written, and the call is repeated."""
        try:
            yield
        except KeywayError as failure:
            if failure.maybe_applied or failure.code not in (Code.UNAVAILABLE, Code.BUSY):
                raise
            self.counts["retries"] += 1

    def write_all(self, workers, phase, pause=0.0):
        """Begins the writes of a phase into all tables; call join with the result."""
        writes = self.phases[PHASES.index(phase)]
        changing = [workers.submit(self.write_table, pair.name, writes, pause) for pair in self.pairs]
        references = [workers.submit(self.write_table, name, writes, 0.0) for name in sorted({pair.reference for pair in self.pairs})]
        return changing + references

    @staticmethod
    def join(futures):
        for future in futures:
            future.result()

    # --- checks ---------------------------------------------------------------------------------------

    def check_reads(self):
        for gateway in self.gateways:
            data = gateway.data()
            for pair in self.pairs:
                wait_until(lambda data=data, pair=pair: self.are_equal(data, pair), f"reads of {pair.name}")
            data.close()

    def are_equal(self, data, pair):
        with self.clock_can_be_unknown():
            check_reads(data, pair.name, pair.reference, self.records)
            return True
        return False

    def rows_of(self, pair, *store_tables):
        names = [*store_tables, pair.store_tables[pair.reference]]
        found = self.place.rows(*names)
        return [found[name] for name in names]

    def check_both_tables(self, stamps):
        """At the places where queries read the new rows, both store tables have the same cells."""
        for pair in self.pairs:
            one = status(self.gateways[0], pair.name)
            old, new, reference = (data_cells(rows) for rows in self.rows_of(pair, one.old_store_table, one.store_table))
            check_cells(pair.name, old, new, reference)
            self.check_stamps(pair, new, stamps)

    def check_stamps(self, pair, new, stamps):
        for key, stamp in given_stamps(new).items():
            before = stamps[pair.name].get(key)
            assert before in (None, stamp), f"{pair.name}: {key} had timestamp {before}, now {stamp}"

    def check_new_table(self, new_tables, stamps, swept_until_ms=None):
        """swept_until_ms: gone cells that are older must have been removed; None: not checked."""
        for pair in self.pairs:
            new, reference = self.rows_of(pair, new_tables[pair.name])
            check_cells(pair.name, None, data_cells(new), data_cells(reference))
            self.check_stamps(pair, data_cells(new), stamps)
            left = control_cells(new if pair.order == "stamp" else without_writers(new, swept_until_ms))
            assert pair.order == "stamp" or not left, f"{pair.name}: control cells remain: {left}"
            if swept_until_ms is not None:
                left = [cell for cell in left if cell[2] < swept_until_ms]
                assert not left, f"{pair.name}: control cells remain: {left}"

    # --- the run --------------------------------------------------------------------------------------

    def begin(self, workers):
        """Begins all changes, one after the other; writes go on meanwhile."""
        futures = []
        for i, pair in enumerate(self.pairs):
            applied = apply(self.gateways[0], policy(self.pairs, i + 1), i + 1, only_writer=True)
            assert applied.changed, pair.name
            futures.append(workers.submit(self.write_table, pair.name, self.phases[PHASES.index("begin")], PAUSE_S))
        for name in sorted({pair.reference for pair in self.pairs}):
            futures.append(workers.submit(self.write_table, name, self.phases[PHASES.index("begin")], 0.0))
        return futures

    def order_all(self, action, **options):
        for gateway, pair in zip(itertools.cycle(self.gateways), self.pairs):
            order(gateway, pair.name, action, **options)

    def go(self, workers):
        self.report(f"{len(self.pairs)} tables: {', '.join(sorted({f'{pair.old} to {pair.new}' for pair in self.pairs}))}")
        self.join(self.write_all(workers, "before"))
        stamps = {pair.name: given_stamps(rows) for pair in self.pairs for rows in [self.rows_of(pair, pair.store_tables[pair.name])[0]]}
        self.report("written")
        writes = self.begin(workers)
        self.report("all changes have begun")
        self.join(writes)
        for pair in self.pairs:
            found = wait_until_compared(self.gateways[1], pair.name)
            assert found.foreign_rows == 0, found
            wait_for(self.gateways[1], pair.name, lambda found: found.version == "both-old" and found.waiting, "both-old")
        self.join(self.write_all(workers, "copied"))
        self.check_reads()
        removed_until_ms = int(time.time() * 1000)
        self.report("rows are copied and compared")
        writes = self.write_all(workers, "switch", PAUSE_S)
        self.order_all("switch")
        for pair in self.pairs:
            wait_for(self.gateways[1], pair.name, lambda found: found.version == "both-new", "both-new")
        self.join(writes)
        self.check_reads()
        self.join(self.write_all(workers, "switched"))
        self.check_reads()
        self.check_both_tables(stamps)
        self.report("queries read the new rows; cells compared")
        self.complete(workers, removed_until_ms, stamps)

    def complete(self, workers, removed_until_ms, stamps):
        tables = {pair.name: status(self.gateways[0], pair.name).store_table for pair in self.pairs}
        self.counts["swept"] = sum(len(control_cells(rows)) for name in tables for rows in [self.place.rows(tables[name])[tables[name]]])
        assert self.counts["swept"] > 0, "there were no control cells"
        young_ms = CALL_MS[self.store] + LATE_MS + CLOCK_MS
        if self.store == "sim":
            wait_until(lambda: time.time() * 1000 > removed_until_ms + young_ms, "removals to be older than calls")
        swept_until_ms = min(removed_until_ms, int(time.time() * 1000) - young_ms)
        writes = self.write_all(workers, "complete", PAUSE_S)
        self.order_all("complete", expire_cursors=True)
        for gateway in self.gateways:
            for pair in self.pairs:
                wait_until(lambda gateway=gateway, pair=pair: status(gateway, pair.name) is None, f"the change of {pair.name} to end", 300)
        self.join(writes)
        self.check_reads()
        self.check_new_table(tables, stamps, swept_until_ms)
        self.report("complete; cells compared")
        self.join(self.write_all(workers, "after"))
        self.check_reads()
        self.check_new_table(tables, stamps)
        self.report(f"written and compared: {self.counts}")


def run_batch(store, pairs, chance):
    place = hbase_places.place(store)
    try:
        with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(2 * TABLES_TOGETHER) as workers:
            batch = Batch(store, place, pairs, chance)
            batch.start(stack)
            batch.go(workers)
        return True
    except Exception:
        traceback.print_exc()
        return False
    finally:
        place.stop()


def main():
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    store = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else PAIRS_IN_CI
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    pairs = all_pairs()
    if "KW_MATRIX_ALL" not in os.environ:
        pairs = sorted(chance.sample(pairs, count))
    together = TABLES_TOGETHER // len(ORDERS)
    batches = [pairs[first:first + together] for first in range(0, len(pairs), together)]
    failed = [batch for batch in batches if not run_batch(store, batch, chance)]
    print(f"{len(pairs)} of {len(all_pairs())} pairs of {len(RULES)} rules in {len(batches)} batches, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
