"""All kinds of attacks, one after another and several at a time, beside a well-behaved caller. At most 3 % of the calls of
this caller get BUSY, each of them is served, and the resident size stays below limits.memory plus 15 %, plus the write
buffers of the embedded store and what the gateway holds at its start. After each attack, its calls end, and its memory is free again.

The latencies are printed. They are not checked, because attackers, gateway and caller share the cores of the machine.

Attackers choose the attacks at random: KW_SEED. KW_MIX_SECONDS: how long they run, by default 30 (with a sanitizer 10). KW_MIX: a regular
expression of the names of the attacks (mixed/attacks.py).
"""
import multiprocessing
import os
import random
import re
import resource
import signal
import time
import unittest

from keyway_gateway import Gateway, is_sanitized, wait_until
from mixed import attacks
from well_behaved import Peak, WellBehaved

MIB = 1024 * 1024
BUDGET = 256 * MIB
WRITE_BUFFERS = 64 * MIB  # of the embedded store; not part of limits.memory
SEED = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
SECONDS = float(os.environ.get("KW_MIX_SECONDS", 30 if not is_sanitized() else 10))
CHOSEN = os.environ.get("KW_MIX", "")
EACH_S = 3 if not is_sanitized() else 1  # for an attack alone
ATTACKERS = 3     # attacks at the same time, in the mix
PATIENCE_S = 3    # of an attacker that waits for replies
BUSY_MOST = 0.03  # short runs: 0 to 0.8 % were seen
RELEASED_S, RELEASED_MOST = 30 if not is_sanitized() else 120, 2 * MIB  # the memory of attacks is released within this time
MEMORY = [f"keyway_memory_{purpose}" for purpose in ("frames", "calls", "rows", "prefetched", "replies", "store")]


def attack(gateway, known, seed, seconds):
    """Carries out random attacks until the time is over. At low priority, because attackers have their own machines."""
    os.nice(19)
    chance, end = random.Random(seed), time.monotonic() + seconds
    names = sorted(known)
    while time.monotonic() < end:
        attacks.carry_out(gateway, known[chance.choice(names)], min(PATIENCE_S, max(0.1, end - time.monotonic())))


class Attackers:
    """Processes that attack at the same time."""

    def __init__(self, gateway, known, count, seconds):
        context = multiprocessing.get_context("fork")
        self.all = [context.Process(target=attack, args=(gateway, known, SEED + i, seconds), daemon=True) for i in range(count)]
        for one in self.all:
            one.start()

    def join(self):
        for one in self.all:
            one.join()


class Mix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        cls.known = {name: pairs for name, pairs in attacks.build().items() if re.search(CHOSEN, name)}
        print(f"seed {SEED}", flush=True)

    def setUp(self):
        self.failures, self.calls, self.busy = [], 0, 0

    def tearDown(self):
        self.assertEqual(self.failures, [])
        self.assertLessEqual(self.busy, BUSY_MOST * self.calls, f"of {self.calls} small calls")

    def expect(self, good, text):
        if not good:
            self.failures.append(text)

    def check_served(self, what, during):
        self.calls += len(during.latencies) + during.busy
        self.busy += during.busy
        self.expect(during.latencies or is_sanitized(), f"{what}: no small call was served")

    def check_memory(self, what, peak):
        if not is_sanitized():
            self.expect(peak <= BUDGET * 1.15 + WRITE_BUFFERS + self.idle, f"{what}: {peak / MIB:.0f} MiB were resident")

    def check_released(self, what, gateway):
        def is_released():
            held = sum(gateway.metric(name) for name in MEMORY)
            return gateway.metric("keyway_calls_in_flight") == 0 and held < RELEASED_MOST
        try:
            wait_until(is_released, "calls to end", RELEASED_S)
        except AssertionError:
            held = {name: gateway.metric(name) for name in MEMORY}
            self.expect(False, f"{what}: {RELEASED_S} s after it, {gateway.metric('keyway_calls_in_flight'):.0f} calls are in "
                        f"flight, and this memory is in use: {held}")

    def run_attacks(self, gateway, caller, alone, what, known, count, seconds):
        peak = Peak(gateway)
        caller.mark()
        attackers = Attackers(gateway, known, count, seconds)
        attackers.join()
        during, most = caller.mark(), peak.stop()
        ratio = during.quantile(.99) / alone.quantile(.99) if during.latencies else float("inf")
        print(f"{what}: {during}, {ratio:.1f} times that without attacks; resident at most {most / MIB:.0f} MiB", flush=True)
        self.check_served(what, during)
        self.check_memory(what, most)
        self.check_released(what, gateway)

    def start(self):
        gateway = Gateway(attacks.POLICY)
        self.addCleanup(lambda: gateway.__exit__(None, None, None))
        gateway.start()
        self.idle = gateway.resident_bytes()
        attacks.fill(gateway)
        return gateway

    def test_each_attack(self):
        gateway = self.start()
        with WellBehaved(gateway) as caller:
            alone = caller.serve(EACH_S)
            print(f"alone: {alone}", flush=True)
            for name, pairs in self.known.items():
                self.run_attacks(gateway, caller, alone, name, {name: pairs}, 1, EACH_S)

    def test_the_mix(self):
        gateway = self.start()
        with WellBehaved(gateway) as caller:
            alone = caller.serve(EACH_S)
            print(f"alone: {alone}", flush=True)
            self.run_attacks(gateway, caller, alone, "mix", self.known, ATTACKERS, SECONDS)
        gateway.stop(signal.SIGTERM)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
