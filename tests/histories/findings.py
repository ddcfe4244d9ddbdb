"""Tests each way in which acknowledged writes were once lost: findings.py NAME... (default: all).

    put-below       two gateways measured different clocks of the store: put, put, read; remove, put, read; put, putIf, read
    two-winners     putIf through two gateways: both return "applied" for the same expected value
    put-concurrent  put and putIf of one record at the same time through one gateway, over both stores
    clock-back      embedded: stopped, the clock set back an hour, started: put, remove
    unstamped       a table with two paths just after the start: both paths show the same, or the table is not served
    hot-counter     a counter incremented at full speed, then put, then removed
    clock-ahead     the store's clock is 300 ms ahead of the servers with the records: put, remove, put, read

The only faults are wrong clocks. Exits with 1 if anything was lost, and prints how often.
"""
import argparse
import concurrent.futures
import sys
import time

import places
from keyway_gateway import plain, record, wait_until
from keyway_thrift.ttypes import (Code, CompareOp, Condition, KeywayError, Options, Outcome, Query)

PATIENT = Options(deadline_ms=20000)
TRIES = 40


def good(written):
    assert written.outcome == Outcome.OK, written
    return written


def value_of(data, table, field="a", **key):
    found = data.get(table, record(**key), None, PATIENT)
    assert not found.failure, found.failure
    return plain(found.record).get(field) if found.record else None


class Count:
    """Counts tries and losses."""

    def __init__(self, name):
        self.name = name
        self.tried = self.lost = 0

    def expect(self, right):
        self.tried += 1
        self.lost += not right

    def report(self):
        print(f"{self.name}: {self.lost} of {self.tried} lost", flush=True)
        return self.lost


# --- two gateways ---------------------------------------------------------------------------------------------------------

def knows_clock(gateway):
    return "\nkeyway_store_clock_offset_seconds " in gateway.get("/metrics")[1]


def start_second(place, ahead_ms):
    """The second gateway measures the store's clock while it is ahead of the clock that the first one measured."""
    wait_until(lambda: knows_clock(place.gateways[0]), "the first gateway to know the store's clock", 60)
    place.kill_gateway(1)
    place.send(f"clock clock {ahead_ms}")
    place.start_gateway(1)
    wait_until(lambda: knows_clock(place.gateways[1]), "the second gateway to know the store's clock", 60)
    place.send("clock clock 0")


def put_below(options):
    """A write through the second gateway replaces earlier writes through the first one, whichever clock is ahead."""
    return sum(put_below_by(options, ahead_ms) for ahead_ms in (1, 20))


def put_below_by(options, ahead_ms):
    counts = [Count(f"put-below by {ahead_ms} ms, {name}") for name in ("put then put", "remove then put", "put then putIf")]
    with opened(places.Sim(options.tables, 1), 2) as place:
        start_second(place, ahead_ms)
        second, first = [gateway.data() for gateway in place.gateways]
        for number in range(TRIES):
            key = {"id": f"below-{number}"}
            good(first.put("plain", record(a="1", **key), PATIENT))
            good(second.put("plain", record(a="2", **key), PATIENT))
            counts[0].expect(value_of(first, "plain", **key) == "2")
            good(first.remove("plain", record(**key), None, PATIENT))
            good(second.put("plain", record(a="3", **key), PATIENT))
            counts[1].expect(value_of(first, "plain", **key) == "3")
            good(first.put("plain", record(a="4", **key), PATIENT))
            condition = Condition(field="a", op=CompareOp.EQUAL, value=record(a="4")["a"])
            applied = second.putIf("plain", record(a="5", **key), condition, PATIENT)
            counts[2].expect(applied and value_of(first, "plain", **key) == "5")
    return sum(count.report() for count in counts)


def count_up(gateway, key, times):
    """Repeats putIf with the value read until `times` were applied; returns the values that they replaced."""
    data, replaced = gateway.data(), []
    while len(replaced) < times:
        seen = value_of(data, "plain", **key)
        value = record(a=seen)["a"] if seen else None
        if data.putIf("plain", record(a=str(int(seen or 0) + 1), **key),
                      Condition(field="a", op=CompareOp.EQUAL, value=value), PATIENT):
            replaced.append(seen)
    data.close()
    return replaced


def two_winners(options):
    """Each value is replaced only once."""
    count = Count("two-winners")
    with opened(places.Sim(options.tables, 1), 2) as place, concurrent.futures.ThreadPoolExecutor(4) as pool:
        for number in range(9):
            if number % 3 == 0:
                start_second(place, 20)
            key = {"id": f"winner-{number}"}
            running = [pool.submit(count_up, gateway, key, 50) for gateway in place.gateways for _ in range(2)]
            replaced = [value for one in running for value in one.result()]
            for value in set(replaced):
                count.expect(replaced.count(value) == 1)
    return count.report()


# --- one gateway ------------------------------------------------------------------------------------------------------------

def put_on(gateway, key, rounds):
    data = gateway.data()
    lost = []
    for number in range(rounds):
        good(data.put("plain", record(b=str(number), **key), PATIENT))
        lost.append(value_of(data, "plain", "b", **key) != str(number))
    data.close()
    return lost


def compare_on(gateway, key, end):
    """putIf of both fields; the other caller writes the second one."""
    data = gateway.data()
    while not end.done():
        seen = plain(data.get("plain", record(**key), None, PATIENT).record or {})
        value = record(b=seen["b"])["b"] if "b" in seen else None
        data.putIf("plain", record(b=seen.get("b", "none"), a="x", **key),
                   Condition(field="b", op=CompareOp.EQUAL, value=value), PATIENT)
    data.close()


def put_concurrent(options):
    """A caller reads the value that it put, because the other callers only write after a comparison."""
    lost = 0
    for store in (places.Embedded(options.tables), places.Sim(options.tables, 1)):
        count = Count(f"put-concurrent, {type(store).__name__.lower()}")
        with opened(store, 1) as place, concurrent.futures.ThreadPoolExecutor(4) as pool:
            for number in range(3):
                key = {"id": f"concurrent-{number}"}
                putting = pool.submit(put_on, place.gateways[0], key, 300)
                others = [pool.submit(compare_on, place.gateways[0], key, putting) for _ in range(2)]
                for wrong in putting.result():
                    count.expect(not wrong)
                for other in others:
                    other.result()
        lost += count.report()
    return lost


def clock_back(options):
    """Writes to the embedded store take effect, whatever the clock shows."""
    count = Count("clock-back")
    with opened(places.Embedded(options.tables), 1) as place:
        data = place.gateways[0].data()
        for number in range(10):
            good(data.put("plain", record(id=f"back-{number}", a="1"), PATIENT))
        place.gateways[0].stop()
        place.start_gateway(0, places.wrong_clock("-1h"))
        data = place.gateways[0].data()
        for number in range(10):
            good(data.put("plain", record(id=f"back-{number}", a="2"), PATIENT))
            count.expect(value_of(data, "plain", id=f"back-{number}") == "2")
            good(data.remove("plain", record(id=f"back-{number}"), None, PATIENT))
            count.expect(value_of(data, "plain", id=f"back-{number}") is None)
    return count.report()


# --- the store's clock --------------------------------------------------------------------------------------------------------

def put_twice(gateway, key):
    """Two callers put one record at the same time; true if both puts were acknowledged."""
    def put(value):
        data = gateway.data()
        try:
            return data.put("pair", record(a=value, **key), PATIENT).outcome == Outcome.OK
        except KeywayError as refused:
            assert refused.code in (Code.UNAVAILABLE, Code.BUSY, Code.TIMEOUT), refused
            return False
        finally:
            data.close()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return all(pool.map(put, ("1", "2")))


def paths_agree(data, key):
    shown = [plain(row)["a"] for row in data.scan(Query(table="pair", path="by_part", bound=record(**key))).rows]
    return shown == [value_of(data, "pair", **key)]


def unstamped(options):
    """While the store's clock is unknown, a table with two paths is not served, and /readyz reports that."""
    count, said = Count("unstamped, paths that differ"), Count("unstamped, /readyz")
    keys = [{"id": f"pair-{number}", "part": "p"} for number in range(12)]
    with opened(places.Sim(options.tables, 1), 1) as place:
        place.send("faults delay_us=300000")  # every reply is too slow to measure the clock
        place.kill_gateway(0)
        place.gateways[0].start()
        acknowledged = [key for key in keys if put_twice(place.gateways[0], key)]
        said.expect(place.gateways[0].get("/readyz")[0] != 200)
        place.send("faults")
        wait_until(lambda: place.gateways[0].get("/readyz")[0] == 200, "the clock to be known", 60)
        data = place.gateways[0].data()
        for key in keys:
            count.expect(key not in acknowledged or paths_agree(data, key))
    return count.report() + said.report()


def add_fast(gateway, key, seconds):
    data, end, added = gateway.data(), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data.increment("counted", record(**key), {"n": 1}, PATIENT)
        added += 1
    data.close()
    return added


def hot_counter(options):
    """A put or a removal of a counter takes effect at once, however fast the counter was incremented before."""
    count = Count("hot-counter")
    with opened(places.Sim(options.tables, 1), 2) as place, concurrent.futures.ThreadPoolExecutor(16) as pool:
        data = place.gateways[0].data()
        for number in range(6):
            key = {"id": f"hot-{number}"}
            adding = [pool.submit(add_fast, place.gateways[each % 2], key, 1.0) for each in range(16)]
            sums = sum(one.result() for one in adding)
            assert value_of(data, "counted", "n", **key) == sums
            if number % 2:
                good(data.put("counted", record(n=7, **key), PATIENT))
                count.expect(value_of(data, "counted", "n", **key) == 7)
            else:
                good(data.remove("counted", record(**key), None, PATIENT))
                count.expect(value_of(data, "counted", "n", **key) is None)
    return count.report()


def clock_ahead(options):
    """A removal waits for the clock of the server with the record, whatever the store's clock shows."""
    count = Count("clock-ahead")
    with opened(places.Sim(options.tables, 1), 1) as place:
        place.kill_gateway(0)
        place.send("clock clock 300")
        place.start_gateway(0)
        data = place.gateways[0].data()
        for number in range(TRIES):
            key = {"id": f"ahead-{number}"}
            good(data.put("plain", record(a="1", **key), PATIENT))
            good(data.remove("plain", record(**key), None, PATIENT))
            good(data.put("plain", record(a="2", **key), PATIENT))
            count.expect(value_of(data, "plain", **key) == "2")
    return count.report()


# --- all ------------------------------------------------------------------------------------------------------------------------

class opened:  # pylint: disable=invalid-name
    """A place with its gateways, as a context manager."""

    def __init__(self, place, gateways):
        self.place = place
        self.gateways = gateways

    def __enter__(self):
        return self.place.start(self.gateways)

    def __exit__(self, kind, error, trace):
        if kind:
            print(self.place.logs(), file=sys.stderr)
        self.place.stop()


FINDINGS = {"put-below": put_below, "two-winners": two_winners, "put-concurrent": put_concurrent, "clock-back": clock_back,
            "unstamped": unstamped, "hot-counter": hot_counter, "clock-ahead": clock_ahead}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", action="store_true", help="the gateway supports neither order nor counters")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.tables = places.old_tables() if options.old else places.TABLES
    lost = sum(FINDINGS[name](options) for name in options.names or FINDINGS)
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
