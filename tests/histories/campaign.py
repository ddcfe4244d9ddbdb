"""Records and judges histories: campaign.py [options]. Prints a line for each history, and totals.

    campaign.py --store sim --gateways 2 --faults late,kill_thrift --workloads all --count 100 --seed 7
    campaign.py --store sim --gateways 2 --faults change,change_kill --together 14 --count 100

The seed of a history is --seed plus its number. To repeat a history, use its seed, workload and fault and --count 1.
The machine's timing is not part of a seed, so try several times. A wrong history is written to a file in --keep, for
judge_history. Exits with 1 if a history is wrong. A history in which an object has too many concurrent operations to be
judged is neither right nor wrong, and is counted separately.
"""
import argparse
import os
import random
import signal
import sys
import time

import changes
import cluster
import places
import rounds

WORKLOADS = {
    "store": ["records", "parts", "put_if", "put_if_put", "put_if_remove", "put_if_all", "counters", "counters_hot",
              "counters_all", "scans", "numbers"],
    "stamp": ["paths", "paths_parts", "stamped"],
}
WORKLOADS["all"] = WORKLOADS["store"] + WORKLOADS["stamp"]

# Not promised with order: store; keyway-policy(5), "Ordering guarantees", gives the reasons. The client inside Thrift2
# can repeat a comparison that was applied; if the field was removed in between, it matches again and is applied twice. Without
# removals a repeated comparison must be detected. Counters can be ahead of the clock of their server; if that clock differs
# from the store's clock by more than store.max_clock_skew, their removal or put cannot wait until that time has surely passed.
NOT_PROMISED = {"repeat": {"put_if_remove", "put_if_all", "counters_all"}, "clock_jumps": {"counters_all"}}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", choices=["embedded", "sim", "hbase", "cluster"], default="embedded")
    parser.add_argument("--servers", default="", help="hbase: addresses of framed, compact Thrift2 servers")
    parser.add_argument("--region-servers", type=int, default=1, help="cluster")
    parser.add_argument("--links", action="store_true", help="cluster: gateways use proxies that can fail")
    parser.add_argument("--retries", type=int, help="cluster: retries of the client inside Thrift2")
    parser.add_argument("--server-clock", help="cluster: clock of the last region server, for example +0.005s")
    parser.add_argument("--gateways", type=int, default=1)
    parser.add_argument("--workloads", default="all")
    parser.add_argument("--faults", default="calm")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time, even before --count")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--duration", type=int, default=400, help="milliseconds of calls in a history")
    parser.add_argument("--pause", type=int, default=500, help="longest pause between a caller's calls, in microseconds")
    parser.add_argument("--bursts", type=int, default=0, help="all callers call at the same times: average milliseconds between them")
    parser.add_argument("--deadline", type=int, default=3000)
    parser.add_argument("--together", type=int, default=0, metavar="N",
                        help="N histories at the same time, each beside a whole change of its own table")
    parser.add_argument("--keep", default="")
    parser.add_argument("--unpromised", action="store_true", help="also run what is not promised: see NOT_PROMISED")
    parser.add_argument("--old", action="store_true", help="the gateway supports neither order nor counters")
    return parser.parse_args()


def names(text, groups):
    return [name for part in text.split(",") for name in groups.get(part, [part])]


def open_place(options):
    tables = places.old_tables() if options.old else places.many_tables(options.together) if options.together else places.TABLES
    if options.store == "embedded":
        return changes.Changing(tables) if "change" in options.faults else places.Embedded(tables)
    if options.store == "sim":
        return (changes.ChangingSim if "change" in options.faults else places.Sim)(tables, options.seed)
    if options.store == "cluster":
        kind = cluster.ChangingCluster if "change" in options.faults else cluster.Cluster
        return kind(tables, options.seed, options.region_servers, options.links, options.retries, options.server_clock)
    return places.HBase(tables, options.servers.split(","), f"h{os.getpid()}_{time.time_ns() % 10**9}")


def print_history(history, found, complaints):
    mark = rounds.verdict_of(found)
    print(f"{mark} {history.workload} {history.fault} seed {history.seed}: {found['ok']} ok, {found['failed']} failed, "
          f"{found['unknown']} unknown" + (f", {found['undecided']} objects undecided" if found["undecided"] else "") +
          (f", {found['differing']} differ" if found["differing"] else "") + history.orders, flush=True)
    if mark == "WRONG":
        print("    " + "\n    ".join(complaints.splitlines()[:6]), flush=True)


def pairs(options):
    """All pairs of workload and fault, in an order that the seed determines."""
    made = [(workload, fault) for workload in names(options.workloads, WORKLOADS) for fault in names(options.faults, {})
            if options.unpromised or workload not in NOT_PROMISED.get(fault, ())]
    random.Random(options.seed).shuffle(made)
    return made


def numbers_of(options, step):
    """The number of each history, or of each round's first one, until the time is over."""
    until = time.monotonic() + options.seconds if options.seconds else float("inf")
    for number in range(0, options.count, step):
        if time.monotonic() > until:
            return
        yield number


def one_by_one(options, place):
    """Yields each history, what its recorder found, and the problems that it printed."""
    chosen = pairs(options)
    for number in numbers_of(options, 1):
        workload, fault = chosen[number % len(chosen)]
        history = rounds.History(place, options, number, workload, fault)
        place.workload = workload
        place.mend()
        yield history, *history.run()


def in_rounds(options, place):
    """The same, with many histories at the same time."""
    for number in numbers_of(options, options.together):
        place.mend()
        yield from rounds.run(options, place, number, names(options.workloads, WORKLOADS), names(options.faults, {}))


def run_histories(options, place):
    sums = {"histories": 0, "right": 0, "WRONG": 0, "UNDECIDED": 0, "ok": 0, "failed": 0, "unknown": 0, "differing": 0}
    for history, found, complaints in (in_rounds if options.together else one_by_one)(options, place):
        print_history(history, found, complaints)
        sums["histories"] += 1
        sums[rounds.verdict_of(found)] += 1
        for key in ("ok", "failed", "unknown", "differing"):
            sums[key] += found[key]
    return sums


def main():
    options = arguments()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the place is stopped
    place = open_place(options)
    try:
        place.start(options.gateways)
        sums = run_histories(options, place)
    except BaseException:
        print(place.logs(), file=sys.stderr)
        raise
    finally:
        place.stop()
    print(f"{options.store}, {options.gateways} gateway(s), {options.faults}: " +
          ", ".join(f"{value} {name.lower()}" for name, value in sums.items()))
    sys.exit(1 if sums["WRONG"] else 0)


if __name__ == "__main__":
    main()
