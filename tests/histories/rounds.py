"""Runs histories: one beside a fault, or many at the same time on the same gateways.

In a round, each history has its own table and a whole change of its key rule; the round's fault is beside all of them.

    recorders:   start ... record ... end, quiet        go on: the last reads, the verdict
    changes:        begin, switch, ..., complete
    the fault:   kills, late calls, ...          end
"""
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import threading

import changes
import places

RECORD_MS_MOST = 600000  # A recorder of a round records until its change has ended.


class History:
    """One history: a recorder, and a fault that occurs while it records."""

    def __init__(self, place, options, number, workload, fault, table=""):
        self.place = place
        self.seed = options.seed + number
        self.workload = workload
        self.fault = fault
        self.table = table
        self.orders = ""
        self.recorder = None
        file = pathlib.Path(options.keep or ".") / f"{options.store}-{workload}-{fault}-{self.seed}.history"
        self.command = [os.environ["KW_RECORD_HISTORY"], "--workload", workload, "--gateways", place.addresses(),
                        "--seed", str(self.seed), "--callers", str(options.callers), "--pause", str(options.pause),
                        "--bursts", str(options.bursts), "--deadline", str(options.deadline), "--prefix", str(number + 1)]
        self.command += ["--duration", str(RECORD_MS_MOST if table else options.duration)]
        if table:
            self.command += ["--table", table, "--until-line"]
        if options.keep:
            self.command += ["--file", str(file)]

    def start(self):
        self.recorder = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)

    def wait_for_quiet(self):
        quiet = self.recorder.stdout.readline()
        assert quiet == "quiet\n", self.recorder.stderr.read()

    def judge(self):
        """Lets the recorder read all records again. Returns its verdict and the problems that it printed."""
        verdict, complaints = self.recorder.communicate("go on\n", timeout=600)
        try:
            return json.loads(verdict), complaints
        except ValueError:
            raise AssertionError(f"the recorder exited with {self.recorder.returncode}: {complaints}") from None

    def kill(self):
        self.recorder.kill()
        self.recorder.communicate()

    def run(self):
        """Returns the recorder's verdict and the problems that it printed."""
        self.start()
        try:
            with Trouble(self.place, self.fault, self.seed):
                self.wait_for_quiet()
            return self.judge()
        except BaseException:
            self.kill()
            raise

    def record_change(self, watch):
        """Records beside a whole change of the table."""
        chance = random.Random(self.seed)
        places.pause(chance, 0, 0.3)
        orders = changes.whole_change(self.place, chance, chance.choice(self.place.paths_of(self.table)), watch)
        self.orders = f"; {', '.join(orders) or 'no orders'}"
        places.pause(chance, 0, 0.2)
        self.recorder.stdin.write("end\n")
        self.recorder.stdin.flush()
        self.wait_for_quiet()


class Trouble:
    """A fault, from the beginning of a block to its end."""

    def __init__(self, place, fault, seed, faults=None):
        self.place = place
        self.end = threading.Event()
        self.failed = []
        self.thread = threading.Thread(target=self.cause, args=((faults or places.FAULTS)[fault], random.Random(seed)))

    def cause(self, fault, chance):
        try:
            fault(self.place, chance, self.end)
        except BaseException as error:  # pylint: disable=broad-except
            self.failed.append(error)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, kind, error, trace):
        self.end.set()
        self.thread.join()
        if self.failed:
            raise self.failed[0]
        for number in range(len(self.place.gateways) if kind is None else 0):
            self.place.wait_gateway(number)  # a gateway whose lease expired reads nothing until it is renewed


def verdict_of(found):
    """A history with an object that cannot be judged does not count as right."""
    if not (found["right"] and found["complete"]):
        return "WRONG"
    return "UNDECIDED" if found["undecided"] else "right"


def all_of(pool, function, histories):
    """Calls the function with each history at the same time. Returns the results in order."""
    return [called.result() for called in [pool.submit(function, history) for history in histories]]


def choose(options, place, number, workloads, faults):
    """The histories of a round. The seed determines them."""
    chance = random.Random(options.seed + number)
    fault = faults[number // options.together % len(faults)]
    histories = []
    for i, table in enumerate(places.table_names(place.tables)):
        possible = [workload for workload in workloads if places.table_of(workload) == table.partition("_")[0]]
        if possible:
            histories.append(History(place, options, number + i, chance.choice(possible), fault, table))
    return histories


def run(options, place, number, workloads, faults):
    """One round. Returns each history, what its recorder found, and the problems that it printed."""
    histories = choose(options, place, number, workloads, faults)
    watch = changes.Watch(place)
    with concurrent.futures.ThreadPoolExecutor(len(histories)) as pool:
        try:
            for history in histories:
                history.start()
            with Trouble(place, histories[0].fault, options.seed + number, changes.BESIDE):
                all_of(pool, lambda history: history.record_change(watch), histories)
            watch.stop()
            judged = all_of(pool, History.judge, histories)
            return [(history, *found) for history, found in zip(histories, judged)]
        except BaseException:
            watch.stop()
            for history in histories:
                history.kill()
            raise
