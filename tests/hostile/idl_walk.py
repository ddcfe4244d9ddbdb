"""Walks every method of the IDL with the largest lawful and the largest hostile arguments, from callers that wait, that
pipeline, that close at once and that never read. Whatever they send:

  - the process lives, and every call is answered or its connection closed;
  - the resident size stays below limits.memory plus 15 %, plus that of an idle gateway, plus the write buffers of the
    embedded store and what it needs to read and merge files with large values (SECURITY.md);
  - a small get of another caller is answered meanwhile, within PROBE_S beside one case;
  - the memory is released afterwards.

A new method is in the walk as soon as it is in the IDL. If the walk does not know an argument, it fails: see walk/lawful.py.

An ordinary run walks as many cases as SECONDS allow, chosen by KW_SEED. KW_WALK=all walks all; another value walks those
whose names match this regular expression. A name is METHOD TABLE VALUES MODE.
"""
import os
import random
import re
import signal
import sys
import time
import unittest

from keyway_gateway import Gateway, is_sanitized, wait_until
from walk import callers, hostile, idl, lawful, tables, watch

MIB = 1024 * 1024
WRITE_BUFFERS = 64 * MIB  # of the embedded store; not part of limits.memory
MERGES = 14 * lawful.VALUE_BYTES  # what the store needs to merge files; the same
SEED = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
CHOSEN = os.environ.get("KW_WALK", "some")
WALKS = unittest.skipIf(is_sanitized() and CHOSEN == "some", "without KW_WALK, the walk has bounds for the build without a sanitizer")
SECONDS = 12  # of an ordinary run, for each size of the memory
TOGETHER = 13  # cases that an ordinary run begins at the same time
POSITIONS = 4  # of the arguments of a method, of which an ordinary run chooses
PATIENCE_S = 30  # within which a call must be answered; its deadline is 5 s
PROBE_S = 2  # within which a small get must be answered beside one case

LIMITS = {64: {"memory": "64MiB", "frame": "8MiB", "cache": "8MiB"},
          256: {"memory": "256MiB", "frame": "16MiB", "cache": "64MiB"},
          1024: {"memory": "1GiB", "frame": "32MiB", "cache": "64MiB"}}


class Case:
    """One method with one kind of arguments, from callers of one mode."""

    def __init__(self, method, table, values, mode, attack=None):
        self.method, self.table, self.values, self.mode = method, table, values, mode
        self.attack = attack  # a position and the name of the value there
        self.name = f"{method} {table.name} {values} {mode}"

    def message(self, gateway, frame):
        context = lawful.Context(gateway, self.table, "small" if self.attack else self.values, frame)
        arguments = lawful.arguments(self.method, context)
        if not self.attack:
            return idl.message(self.method, arguments)
        path, name = self.attack
        position = next(one for one in idl.positions(self.method.arguments, arguments) if one.path == path)
        return idl.message(self.method, arguments, {path: hostile.attacks(position, frame)[name]})


def lawful_cases(method):
    for table in tables.TABLE_LIST:
        for variant in lawful.VARIANTS:
            for mode in callers.MODES:
                yield Case(method, table, variant, mode)


def hostile_cases(method, gateway, frame, chance):
    arguments = lawful.arguments(method, lawful.Context(gateway, tables.EVENTS, "small", frame))
    positions = list(idl.positions(method.arguments, arguments))
    if CHOSEN == "some":  # as many as there is time for
        positions = chance.sample(positions, min(POSITIONS, len(positions)))
    for position in positions:
        for name in hostile.attacks(position, frame):
            for mode in callers.MODES:
                yield Case(method, tables.EVENTS, f"{position.path}: {name}", mode, (position.path, name))


class Walk:
    """A gateway with one size of memory, and the failures that the cases have found."""

    def __init__(self, mib, folder):
        self.limits, self.budget = LIMITS[mib], mib * MIB
        self.frame = int(self.limits["frame"].removesuffix("MiB")) * MIB
        self.gateway = Gateway(tables.settings(self.limits), folder=folder)
        self.failures, self.seen, self.count = [], set(), 0
        self.begin()

    def close(self):
        """After a failure too."""
        self.probe.stop()
        self.gateway.kill()

    def begin(self):
        self.gateway.start()
        wait_until(lambda: self.gateway.get("/readyz")[0] == 200, "the gateway to serve")
        self.process, self.probe = watch.Process(self.gateway), watch.Probe(self.gateway)
        self.at_rest = self.gateway.resident_bytes()

    def fail(self, cases, text):
        self.failures.append(f"{text}\n    " + "\n    ".join(case.name for case in cases))
        print(f"FAILED: {self.failures[-1]}", flush=True)

    def prepare(self, cases):
        """The cases whose messages were not sent before, with their messages."""
        found = []
        for case in cases:
            message = case.message(self.gateway, self.frame)
            if (case.mode, hash(message)) not in self.seen:
                self.seen.add((case.mode, hash(message)))
                found.append((case, message))
        return found

    def run(self, cases):
        """Runs cases at the same time."""
        found = self.prepare(cases)
        if not found:
            return
        cases, messages = [case for case, _ in found], [(message, callers.MODES[case.mode]) for case, message in found]
        self.count += len(cases)
        self.probe.seen()
        self.process.reset_peak()
        began, loops = time.monotonic(), self.process.loop_seconds()
        outcomes = callers.run(self.gateway, messages, PATIENCE_S, self.budget)
        if self.gateway.process.poll() is not None:
            return self.revive(cases)
        self.await_end(cases)
        peak, seen = self.process.peak_bytes(), self.probe.seen()
        busiest = max(after - before for before, after in zip(loops, self.process.loop_seconds()))
        print(f"{time.monotonic() - began:5.1f} s, busiest loop {busiest:5.2f} s, get at most {seen.worst:5.2f} s, "
              f"{seen.busy} of {seen.calls} BUSY, peak {peak // MIB} MiB", flush=True)
        for case, message, outcome in zip(cases, messages, outcomes):
            self.judge(case, len(message[0]), outcome)
        self.judge_process(cases, peak, seen)

    def judge(self, case, size, outcome):
        """The replies of one case."""
        if CHOSEN != "some":
            print(f"    {case.name}: {size} bytes, {outcome.codes}, {outcome.closed} closed, {outcome.text[:150]}", flush=True)
        if outcome.unanswered:
            self.fail([case], f"{outcome.unanswered} callers got no reply within {PATIENCE_S} s")
        for code in ("INTERNAL", "CORRUPT"):
            if code in outcome.codes:
                self.fail([case], f"{outcome.codes[code]} calls failed with {code}: {outcome.text}")

    def judge_process(self, cases, peak, seen):
        """What the cases did to the process and to another caller."""
        allowed = int(self.budget * 1.15 + self.at_rest + WRITE_BUFFERS + MERGES)
        if not is_sanitized() and peak > allowed:
            self.fail(cases, f"the resident size was {peak // MIB} MiB; {allowed // MIB} are allowed")
        if seen.failures:
            self.fail(cases, f"a small get failed: {seen.failures[0]}")
        if seen.worst > (PROBE_S if len(cases) == 1 else PATIENCE_S) and not is_sanitized():
            self.fail(cases, f"a small get was answered after {seen.worst:.2f} s")

    def await_end(self, cases):
        """Waits until the calls have ended and their memory is free."""
        def is_at_rest():
            held, calls = self.process.held_bytes()
            return calls <= watch.PROBES and held < 2 * MIB
        try:
            wait_until(is_at_rest, "the calls to end", PATIENCE_S)
        except AssertionError:
            held, calls = self.process.held_bytes()
            self.fail(cases, f"{held / MIB:.1f} MiB are still in use, by {calls:.0f} calls")

    def revive(self, cases):
        self.fail(cases, f"the process ended with {self.gateway.process.returncode}:\n{self.gateway.log()[-2000:]}")
        self.probe.stop()
        self.begin()

    def end(self):
        self.probe.stop()
        cache = int(self.limits["cache"].removesuffix("MiB")) * MIB
        if not is_sanitized() and self.budget < 1024 * MIB:  # with more, the process keeps some of it
            wait_until(lambda: self.gateway.resident_bytes() < self.at_rest + cache + WRITE_BUFFERS + 32 * MIB,
                       "the memory to be returned to the system")
        self.gateway.stop(signal.SIGTERM)


def rounds(cases, chance):
    """Cases in random order, in groups of TOGETHER with different methods: all methods come before one comes again."""
    queues = {}
    for case in cases:
        queues.setdefault(str(case.method), []).append(case)
    for queue in queues.values():
        chance.shuffle(queue)
    while any(queues.values()):
        names = [name for name in queues if queues[name]]
        chance.shuffle(names)
        for at in range(0, len(names), TOGETHER):
            yield [queues[name].pop() for name in names[at:at + TOGETHER]]


class Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"KW_SEED={SEED}")
        cls.filled = Gateway(tables.settings(LIMITS[256])).__enter__()
        cls.addClassCleanup(cls.filled.__exit__, None, None, None)
        admin = cls.filled.admin()
        admin.policyApply(tables.FIRST, 0, None)
        tables.fill(cls.filled)
        admin.policyApply(tables.PRESENT, 1, None)
        admin.close()
        cls.filled.stop()

    def walk(self, mib):
        walk, chance = Walk(mib, self.filled.folder), random.Random(SEED * 10000 + mib)
        self.addCleanup(walk.close)
        cases = [case for method in idl.methods() for case in lawful_cases(method)]
        cases += [case for method in idl.methods() for case in hostile_cases(method, walk.gateway, walk.frame, chance)]
        if CHOSEN != "some":
            for case in cases:
                if CHOSEN == "all" or re.search(CHOSEN, case.name):
                    walk.run([case])
        else:
            end = time.monotonic() + SECONDS
            for together in rounds(cases, chance):
                walk.run(together)
                if time.monotonic() > end:
                    break
        walk.end()
        print(f"{mib} MiB: {walk.count} of {len(cases)} cases")
        self.assertEqual(walk.failures, [])

    @WALKS
    def test_64_mib(self):
        self.walk(64)

    @WALKS
    def test_256_mib(self):
        self.walk(256)

    @WALKS
    def test_1_gib(self):
        self.walk(1024)

    def test_lawful_arguments(self):
        """Every method accepts the lawful arguments of the walk, for at least one table: otherwise the walk tests only its
        checks of arguments."""
        walk = Walk(256, self.filled.folder)
        self.addCleanup(walk.close)
        for method in idl.methods():
            with self.subTest(str(method)):
                codes, text = {}, ""
                for table in tables.TABLE_LIST:
                    message = Case(method, table, "small", "once").message(walk.gateway, walk.frame)
                    outcome = callers.run(walk.gateway, [(message, callers.MODES["once"])], PATIENCE_S, MIB)[0]
                    codes.update(outcome.codes)
                    text = outcome.text
                self.assertTrue({"OK", "REFUSED"} & set(codes), f"add lawful arguments to walk/lawful.py: {codes} {text}")
        walk.end()


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    unittest.main(verbosity=2, warnings="ignore")
