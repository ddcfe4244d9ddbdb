"""Gateways are killed and stopped, and answers of HBase are lost, while a key rule changes.

    change_faults.py sim|hbase GATEWAYS

KW_SEED repeats a run; KW_KILLS is the number of places at which a gateway is harmed on the way forward, and adds long tests.
"""
import contextlib
import logging
import os
import random
import signal
import threading
import time
import unittest

from change_case import SEED
from change_hbase_case import LATE, STORE, HBaseCase
from changing import order, status
from keyway_gateway import PATIENCE, plain, record, wait_until
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Options, Outcome
from thrift.transport.TTransport import TTransportException

LATE_S = 3  # longer than a call may be late (see trouble)


class Faults(HBaseCase):
    """Gateways are killed and stopped at places of a change; another one, or the same after its restart, continues."""
    LOW = ["unstamped", "held", "raised", "stamped", "alone"]
    HIGH = ["spacing", "spaced", "last-pass"]
    FORWARD = [f"{rung}-old" for rung in [*LOW, "opening", "both", *HIGH, "get-both"]] + \
              [f"{rung}-new" for rung in [*reversed(HIGH), "both", "closing", *reversed(LOW[1:])]]
    BACK = [f"{rung}-new" for rung in [*HIGH, "get-both"]] + [f"{rung}-old" for rung in reversed(HIGH)]
    GOAL = {"both-old": "switch", "both-new": "complete"}
    LATE = LATE
    KILLS = int(os.environ.get("KW_KILLS", 1))  # places at which a gateway is killed on the way forward
    LONG = "KW_KILLS" in os.environ

    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)

    def seen(self):
        """The change's status as one of the gateways shows it; None: none does now."""
        for gateway in self.gateways:
            with contextlib.suppress(TTransportException, OSError, EOFError, KeywayError):
                return status(gateway, "t")
        return None

    def order_anywhere(self, action, **options):
        """Repeats an order, through any gateway, until one accepts it or it was accepted before."""
        def accepted():
            try:
                order(self.chance.choice(self.gateways), "t", action, **options)
                return True
            except (TTransportException, OSError, EOFError):
                return False
            except KeywayError as failure:
                return failure.code == Code.REFUSED and "copied" not in failure.message and "compared" not in failure.message
        wait_until(accepted, f"{action} to be accepted")

    def drive(self, harm, versions, goals, last):
        """Orders the goals, and does harm at each of these places, until the last place or the end of the change."""
        left, version = set(versions), None
        end = time.monotonic() + 4 * PATIENCE
        while time.monotonic() < end:
            found = self.seen()
            if found is None:
                if last is None and self.has_ended():
                    return left
                continue
            version = found.version
            if version == last:
                return left
            if version in left:
                left.remove(version)
                harm(version)
            elif version in goals and found.waiting:
                self.order_anywhere(goals[version], expire_cursors=goals[version] == "complete")
            time.sleep(0.002)
        raise AssertionError(f"the change remains at {version}: {self.seen()}")

    def has_ended(self):
        with contextlib.suppress(TTransportException, OSError, EOFError, KeywayError):
            return all(status(gateway, "t") is None for gateway in self.gateways)
        return False

    def kill(self, version):
        gateway = self.chance.choice(self.gateways)
        print(f"kill gateway {self.gateways.index(gateway)} at {version}", flush=True)
        gateway.kill()
        time.sleep(self.chance.uniform(0, 0.3))
        gateway.start()

    def pause(self, version):
        """Stops a gateway for longer than its lease."""
        gateway = self.chance.choice(self.gateways)
        print(f"stop gateway {self.gateways.index(gateway)} at {version}", flush=True)
        gateway.process.send_signal(signal.SIGSTOP)
        time.sleep(15)
        gateway.process.send_signal(signal.SIGCONT)

    def begin_at_last(self):
        """Begins the change, also when the store's answers are lost: then the call may have begun it, at once or late."""
        while True:
            try:
                return self.begin()
            except KeywayError as failure:
                if not failure.maybe_applied:
                    raise AssertionError(failure.message) from None  # unittest cannot print Thrift's exceptions
            time.sleep(LATE_S)
            if self.seen():
                return None

    def run_change(self, harm, order_of_writes="", records=300, trouble=contextlib.nullcontext):
        self.start(order_of_writes=order_of_writes, late=self.LATE)
        low = [f"{rung}-{side}" for rung in self.LOW[:-1] for side in ("old", "new")]
        forward = [version for version in self.FORWARD if not (order_of_writes and version in low)]
        with self.load(records=records) as load:
            load.harmed = True
            with load.cursors_expire(), trouble():
                self.begin_at_last()
                chosen = self.chance.sample(forward, self.KILLS)
                self.drive(harm, chosen, self.GOAL, "both-new")
                chosen = [version for version in chosen if version not in forward[:forward.index("both-new")]]
                self.order_anywhere("reverse")
                self.drive(harm, self.chance.sample(self.BACK, int(self.LONG or harm == self.kill)), {}, "both-old")
                self.drive(harm, chosen, self.GOAL, None)
            for gateway in self.gateways:
                wait_until(lambda gateway=gateway: gateway.get("/readyz")[0] == 200, "the gateway to serve")
            load.wait_for_scans()
        for gateway in self.gateways:
            self.expect_all(load.final(), load.uncertain(), gateway)
        print(load.counts)

    def test_kill(self):
        self.run_change(self.kill)

    def test_held_atomics(self):
        """An atomic operation waits while a place holds it, or fails at its deadline; plain writes go on. A gateway that has
        reported unstamped-old is stopped, so that the next place, which holds atomic operations, lasts until it continues."""
        self.start(late="  late: 6s\n")  # unstamped-old lasts as long
        data, waiting = self.gateways[0].data(), self.gateways[0].data()
        key, sums = record(id="r000000", ts=0), []
        add = threading.Thread(target=lambda: sums.append(plain(waiting.increment("t", key, {"n": 5}, Options(deadline_ms=60000)))))
        self.begin()
        wait_until(lambda: "store.late" in status(self.gateways[0], "t").phase, "all gateways to report unstamped-old")
        self.assertEqual(status(self.gateways[0], "t").version, "unstamped-old")
        self.assertEqual(plain(data.increment("t", key, {"n": 1}, None)), {"n": 1})  # this place does not hold them
        self.gateways[1].process.send_signal(signal.SIGSTOP)
        wait_until(lambda: status(self.gateways[0], "t").version in ("held-old", "raised-old", "stamped-old"), "a place that holds atomic operations")
        add.start()
        self.refuse(Code.UNAVAILABLE, "allows no increment", data.increment, "t", key, {"n": 7}, Options(deadline_ms=300))
        self.refuse(Code.UNAVAILABLE, "allows no putIf", data.putIf, "t", key | record(note="if"), Condition("note", CompareOp.EQUAL, None),
                    Options(deadline_ms=300))
        self.assertEqual(data.put("t", record(id="r000000", ts=1, note="plain"), None).outcome, Outcome.OK)
        self.assertEqual(sums, [])
        self.gateways[1].process.send_signal(signal.SIGCONT)
        add.join()
        self.assertEqual(sums, [{"n": 6}])
        self.assertEqual(plain(data.increment("t", key, {"n": 2}, None)), {"n": 8})
        data.close()
        waiting.close()

    @unittest.skipUnless(LONG, "a long test: set KW_KILLS to run it")
    def test_kill_with_stamps(self):
        self.run_change(self.kill, "    order: stamp\n")

    def test_pause(self):
        self.run_change(self.pause)


@unittest.skipIf(STORE == "hbase", "needs the simulated HBase, which injects these faults")
class LostAnswers(Faults):
    """Calls and answers are lost, calls are applied late, and compactions drop delete markers."""
    LATE = "  late: 2s\n"  # longer than a call is late (see trouble)
    test_kill = test_kill_with_stamps = test_pause = test_held_atomics = None

    def test_lost(self):
        self.lose()

    def test_lost_with_stamps(self):
        self.lose("    order: stamp\n")

    def lose(self, order_of_writes=""):
        self.run_change(lambda version: None, order_of_writes, records=1500, trouble=self.trouble)

    @contextlib.contextmanager
    def trouble(self):
        ended = threading.Event()
        thread = threading.Thread(target=self.compact, args=(ended,))
        self.place.send("faults lose=0.002 drop=0.002 late=0.004 late_ms=1500 delay_us=200")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.place.send("faults")

    def compact(self, ended):
        while not ended.wait(0.1):
            self.place.send(f"purge {2 * 2000}")  # twice store.late


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    logging.disable()  # Thrift's messages about gateways that were killed
    unittest.main(verbosity=2, warnings="ignore")
