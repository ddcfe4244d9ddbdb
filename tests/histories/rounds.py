"""Runs histories: one beside a fault, or many at the same time on the same gateways, beside changes of key rules.

In a round, the key rules of some tables change, one whole change of a table after the other. On each of these tables, groups of
callers record one history after the other. Each history has its own records. It is judged at the end of the round: until then
its records are read now and then, and the last time when all changes have ended. The round's fault is beside all of this.

    changes of a table:   begin, switch, ..., complete    begin, ...
    a group:              |--history--|  |-history-|   |----history----|  ...     read and judge all
    the fault:            kills, late calls, ...                             end
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import threading
import time

import atomics
import beside
import changes
import hints
import paths
import places

HISTORY_MS = (500, 2000)
TROUBLE_SECONDS = 40  # after which changes end without faults
HISTORIES_OF_GROUP = 20
RECORD = re.compile(rb"h(\d{6})-(\d{4})")
SEEDS_OF_ROUND = 1000  # The n-th history of a round has the round's seed times this, plus n.


class History:
    """One history: a recorder, and a fault that occurs while it records."""

    def __init__(self, place, options, number, workload, fault, table="", seed=None, duration=0):
        self.place = place
        self.seed = options.seed + number if seed is None else seed
        self.prefix = number + 1  # of the records' names
        self.workload = workload
        self.fault = fault
        self.table = table
        self.note = ""
        self.recorder = None
        self.began = self.ended = 0.0
        self.file = pathlib.Path(options.keep) / f"{options.store}-{workload}-{fault}-{self.seed}.history" if options.keep else None
        deadline = beside.SHORT_DEADLINE_MS if fault.endswith("_given_up") else options.deadline
        self.command = [os.environ["KW_RECORD_HISTORY"], "--workload", workload, "--gateways", place.addresses(),
                        "--seed", str(self.seed), "--callers", str(options.callers), "--pause", str(options.pause),
                        "--bursts", str(options.bursts), "--deadline", str(deadline), "--prefix", str(self.prefix),
                        "--duration", str(duration or options.duration)]
        self.command += ["--paths", place.paths_are_judged()]
        if table:
            self.command += ["--table", table, "--later-reads"]
        if options.store != "embedded" and "change" in fault:
            self.command += ["--exempt"]
        if options.keep_hints:
            self.command += ["--keep", str(options.keep_hints)]
        if self.file:
            self.command += ["--file", str(self.file)]

    def start(self):
        self.recorder = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
        self.began = time.monotonic()

    def wait_for_quiet(self):
        quiet = self.recorder.stdout.readline()
        assert quiet == "quiet\n", self.recorder.stderr.read()
        self.ended = time.monotonic()

    def judge(self, ties=()):
        """Lets the recorder read all records again. Returns its verdict and the problems that it printed. ties: numbers of
        records and pairs of values that were put with the same timestamp."""
        lines = [f"tie {record} {one} {other}\n" for record, one, other in ties]
        verdict, complaints = self.recorder.communicate("".join(lines) + "go on\n", timeout=600)
        try:
            return json.loads(verdict), complaints
        except ValueError:
            raise AssertionError(f"the recorder exited with {self.recorder.returncode}: {complaints}") from None

    def keep(self):
        """Keeps what explains a wrong history."""
        if self.file:
            self.place.keep(self.file)

    def kill(self):
        if self.recorder:
            self.recorder.kill()
            self.recorder.communicate()

    def run(self):
        """Returns the recorder's verdict and the problems that it printed."""
        self.start()
        try:
            with Trouble(self.place, self.fault, self.seed):
                self.wait_for_quiet()
            return self.judge(ties_of(self.place)[self.prefix])
        except BaseException:
            self.kill()
            raise


class Trouble:
    """A fault, from the beginning of a block to its end."""

    def __init__(self, place, fault, seed, faults=None, seconds=3600):
        self.place = place
        self.end = threading.Event()
        self.timer = threading.Timer(seconds, self.end.set)
        self.failed = []
        self.thread = threading.Thread(target=self.cause, args=((faults or places.FAULTS)[fault], random.Random(seed)))

    def cause(self, fault, chance):
        try:
            fault(self.place, chance, self.end)
        except BaseException as error:  # pylint: disable=broad-except
            self.failed.append(error)

    def __enter__(self):
        self.timer.start()
        self.thread.start()

    def __exit__(self, kind, error, trace):
        self.timer.cancel()
        self.end.set()
        self.thread.join()
        if self.failed:
            raise self.failed[0]
        for number in range(len(self.place.gateways) if kind is None else 0):
            self.place.wait_gateway(number)  # a gateway whose lease expired reads nothing until it is renewed


def ties_of(place):
    """Values that were put with the same timestamp, by the prefix of the records' names."""
    found = collections.defaultdict(list)
    for row, _, one, other in place.ties():
        name = RECORD.search(row)
        if name and one.isdigit() and other.isdigit():
            found[int(name[1])].append((int(name[2]), int(one), int(other)))
    return found


def verdict_of(found):
    """A history with an object that cannot be judged does not count as right."""
    if not (found["right"] and found["complete"]):
        return "WRONG"
    return "UNDECIDED" if found["undecided"] else "right"


class Round:
    """Many histories at the same time, beside changes of several tables. The seed determines tables, workloads, operations and
    orders; how many histories there are depends on the time, too."""

    def __init__(self, place, options, number, prefix, workloads, faults):
        self.place = place
        self.options = options
        self.seed = options.seed + number
        cycle, at = divmod(number, len(faults))
        self.fault = random.Random(f"{options.seed} {cycle}").sample(faults, len(faults))[at]
        self.prefix = prefix  # of the records of the first history
        self.workloads = workloads
        self.histories = []
        self.lock = threading.Lock()
        self.until = 0.0  # no change of a table begins later
        self.orders = {}  # by table

    def chance(self, *words):
        return random.Random(f"{self.seed} {words}")

    def choose_tables(self):
        """Few tables, whose changes follow each other quickly, or many tables, for many different histories."""
        names = [name for name in places.table_names(self.place.tables) if self.possible(name)]
        if not names:
            raise SystemExit("no table is for these workloads: use another workload or a larger --together")
        chance = self.chance("tables")
        return chance.sample(names, min(chance.choice([2, 3, len(names)]), len(names)))

    def possible(self, table):
        """The workloads for the table. What is not promised beside repeated calls is left out."""
        kind = places.kind_of(table)
        left_out = places.NOT_PROMISED.get(self.fault.partition("_")[2], ())
        atomic = f"  {table}:\n    order: stamp\n" not in self.place.tables or kind == "stamped"
        return [each for each in self.workloads if places.table_of(each) == kind and each not in left_out and
                (atomic or not each.startswith("put_if"))]

    def change(self, table, ended, watch):
        """Changes of the table, one after the other."""
        chance = self.chance("changes", table)
        orders = self.orders[table] = []
        try:
            while not orders or (time.monotonic() < self.until and self.repeats(table)):
                places.pause(chance, 0, 0.3)
                orders.append(self.change_once(table, chance, watch))
        finally:
            ended.set()

    def repeats(self, table):
        return not paths.is_of_paths(self.fault) or paths.repeats(table, self.fault)

    def change_once(self, table, chance, watch):
        if atomics.is_of_atomics(self.fault):
            return atomics.whole(self.place, chance, table)
        if paths.is_of_paths(self.fault):
            return paths.whole(self.place, chance, table)
        return changes.whole_change(self.place, chance, chance.choice(self.place.paths_of(table)), watch)

    def prepare(self, tables, pool):
        """Before the histories: tables to which paths are added do not have them yet, as a rule."""
        if paths.is_of_paths(self.fault):
            list(pool.map(lambda table: paths.prepare(self.place, table, f"{self.seed} {table}", self.fault), tables))

    def add(self, table, workload, group, number, duration):
        with self.lock:
            made = History(self.place, self.options, self.prefix + len(self.histories), workload, self.fault, table,
                           self.seed * SEEDS_OF_ROUND + group * HISTORIES_OF_GROUP + number, duration)
            self.histories.append(made)
        return made

    def record(self, table, group, ended, watch):
        """The histories of one group. While a change stands still, none begins."""
        chance = self.chance("group", group)
        steps = 1
        for number in range(HISTORIES_OF_GROUP):
            places.pause(chance, 0, 0.3)
            if steps == 0:
                watch.wait_for_step(table, ended)
            if ended.is_set() and number:
                return
            duration = round((chance.randint(*HISTORY_MS) if steps else HISTORY_MS[1]) * self.options.stretch)
            history = self.add(table, chance.choice(self.possible(table)), group, number, duration)
            history.start()
            history.wait_for_quiet()
            steps = watch.steps_between(history.began, history.ended, table)

    def run(self):
        """Yields each history, what its recorder found, and the problems that it printed."""
        watch = self.place.watch = changes.Watch(self.place)
        try:
            self.record_all(watch)
            watch.stop()
            ties = ties_of(self.place)
            lacking = hints.missing(self.place)
            for history in self.histories:
                steps = watch.steps_between(history.began, history.ended, history.table)
                history.note = f", {steps} steps"
                found, complaints = history.judge(ties[history.prefix])
                missing = [line for line in lacking if line.startswith(f"table {history.table},")]
                found["right"] = found["right"] and not missing
                complaints = "\n".join(missing + [complaints])
                yield history, found | {"steps": steps}, complaints
        except BaseException:
            watch.stop()
            for history in self.histories:
                history.kill()
            raise

    def record_all(self, watch):
        tables = self.choose_tables()
        groups = self.options.groups
        with concurrent.futures.ThreadPoolExecutor(len(tables) * (groups + 1)) as pool:
            self.prepare(tables, pool)
            self.until = time.monotonic() + self.place.ROUND_SECONDS
            with Trouble(self.place, self.fault, self.seed, beside.FAULTS, TROUBLE_SECONDS):
                called = []
                for i, table in enumerate(tables):
                    ended = threading.Event()
                    called.append(pool.submit(self.change, table, ended, watch))
                    called += [pool.submit(self.record, table, i * groups + group, ended, watch) for group in range(groups)]
                for each in called:
                    each.result()
