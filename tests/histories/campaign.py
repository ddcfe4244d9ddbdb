"""Records and judges histories: campaign.py [options]. Prints a line for each history, and totals.

    campaign.py --store sim --gateways 2 --faults late,kill_thrift --workloads all --count 100 --seed 7
    campaign.py --store sim --gateways 2 --faults change,change_kill --together 9 --count 100
    campaign.py --store sim --gateways 2 --faults paths,paths_kill --workloads paths,paths_parts --together 6 --count 100
    campaign.py --store sim --gateways 2 --faults atomics,atomics_kill --workloads cas --together 6 --count 100

The seed of a history is --seed plus its number; with --together, that is the seed of a round, and its histories have this
seed times 1,000 plus a number. To repeat a history, use its seed, workload and fault and --count 1. The machine's timing is
not part of a seed, so try several times. A wrong history is written to a file in --keep, for judge_history; so are the
gateways' logs and, on the simulated HBase, all cells. Exits with 1 if a history is wrong. A history in which an object has
too many concurrent operations to be judged is neither right nor wrong, and is counted separately. So is, with --together, a
history during which no change set another place.
"""
import argparse
import contextlib
import itertools
import os
import random
import signal
import sys
import time

import atomics
import changes
import cluster
import hints
import paths
import places
import rounds

WORKLOADS = {
    "store": ["records", "parts", "hot", "watched", "put_if", "put_if_put", "put_if_remove", "put_if_all", "counters", "counters_hot",
              "counters_all", "scans", "filtered", "maps", "expiring", "versions", "numbers"],
    "stamp": ["paths", "paths_parts", "paths_watched", "stamped", "stamped_hot", "stamped_watched", "stamped_parts"],
    "cas": ["cas_put_if", "cas_remove", "cas_counters", "cas_hot", "cas_all", "duo_put_if", "duo_counters", "duo_all"],
}
WORKLOADS["hints"] = ["sided", "sided_hot", "sided_watched", "sided_parts", "sided_put_if", "sided_put_if_remove", "sided_stamp",
                     "sided_stamp_parts", "hinted", "hinted_watched", "hinted_parts", "hinted_put_if", "hinted_stamp",
                     "hinted_stamp_parts", "hinted_stamp_fields", "hinted_stamp_put_if"]
SCRUB_EVERY = 20  # histories of hint paths
WORKLOADS["all"] = WORKLOADS["store"] + WORKLOADS["stamp"] + WORKLOADS["cas"] + WORKLOADS["hints"]


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
                        help="many histories at the same time, in N tables, beside changes of their key rules")
    parser.add_argument("--groups", type=int, default=2, help="--together: groups of callers of each table")
    parser.add_argument("--late", type=int, default=0, help="sim: store.late in milliseconds (default beside changes: random)")
    parser.add_argument("--keep-hints", type=int, default=0, help="hints.keep in milliseconds")
    parser.add_argument("--rounds", type=int, default=2, help="--together: rounds after which new gateways and a new store are used")
    parser.add_argument("--own-servers", action="store_true", help="sim, changes: each gateway uses one Thrift2 server of its own")
    parser.add_argument("--rest", type=float, default=0,
                        help="--together: how many seconds at most a change that waits for an order rests before it gets one")
    parser.add_argument("--stretch", type=float, default=1, help="--together: histories last so many times as long")
    parser.add_argument("--turns", type=int,
                        help="--together: how often each change goes back from both-new and forward again (default: random orders)")
    parser.add_argument("--until-wrong", action="store_true", help="stop after the first wrong history")
    parser.add_argument("--keep", default="")
    parser.add_argument("--unpromised", action="store_true", help="also run what is not promised: see places.NOT_PROMISED")
    parser.add_argument("--old", action="store_true", help="the gateway supports neither order nor counters")
    return parser.parse_args()


def names(text, groups):
    return [name for part in text.split(",") for name in groups.get(part, [part])]


def tables_for(options, seed):
    if not options.together:
        return places.old_tables() if options.old else places.TABLES
    kinds = paths.TABLES if paths.is_of_paths(options.faults) else atomics.TABLES if atomics.is_of_atomics(options.faults) else places.MANY
    if set(names(options.workloads, WORKLOADS)) <= set(WORKLOADS["hints"]):
        kinds = places.HINTED
    return places.many_tables(options.together, random.Random(seed), kinds)


def open_place(options, seed):
    tables = tables_for(options, seed)
    changing = "change" in options.faults or paths.is_of_paths(options.faults) or atomics.is_of_atomics(options.faults)
    if options.store == "embedded":
        return changes.Changing(tables) if changing else places.Embedded(tables)
    if options.store == "sim":
        return changes.ChangingSim(tables, seed, options.late) if changing else places.Sim(tables, seed)
    if options.store == "cluster":
        kind = cluster.ChangingCluster if changing else cluster.Cluster
        return kind(tables, seed, options.region_servers, options.links, options.retries, options.server_clock)
    return places.HBase(tables, options.servers.split(","), f"h{os.getpid()}_{time.time_ns() % 10**9}")


@contextlib.contextmanager
def opened(options, seed):
    """A place with gateways. Prints their logs after an error."""
    place = open_place(options, seed)
    place.turns, place.rest = options.turns, options.rest
    place.own_servers = options.own_servers
    if options.keep_hints:
        place.extra += f"hints: {{keep: {options.keep_hints}ms}}\n"
    if options.late and options.store == "sim" and not options.together:
        place.late = f"  late: {options.late}ms\n"
    try:
        yield place.start(options.gateways)
    except Exception:
        print(place.logs(), file=sys.stderr)
        raise
    finally:
        place.stop()


def mark_of(found):
    """What a history counts as."""
    verdict = rounds.verdict_of(found)
    return "apart" if verdict == "right" and found.get("steps") == 0 else verdict


def print_history(history, found, complaints):
    mark = mark_of(found)
    print(f"{mark} {history.workload} {history.fault} seed {history.seed}: {found['ok']} ok, {found['failed']} failed, "
          f"{found['unknown']} unknown" + (f", {found['undecided']} objects undecided" if found["undecided"] else "") +
          (f", {found['differing']} differ" if found["differing"] else "") + (", ties" if found["tied"] else "") + history.note, flush=True)
    if mark == "WRONG":
        print("    " + "\n    ".join(complaints.splitlines()[:6]), flush=True)
        history.keep()


def pairs(options):
    """All pairs of workload and fault, in an order that the seed determines."""
    made = [(workload, fault) for workload in names(options.workloads, WORKLOADS) for fault in names(options.faults, {})
            if options.unpromised or workload not in places.NOT_PROMISED.get(fault, ())]
    random.Random(options.seed).shuffle(made)
    return made


def one_by_one(options, until):
    """Until that time: yields each history, what its recorder found, and the problems that it printed."""
    chosen = pairs(options)
    with opened(options, options.seed) as place:
        for number in range(options.count):
            if time.monotonic() > until:
                return
            workload, fault = chosen[number % len(chosen)]
            history = rounds.History(place, options, number, workload, fault)
            place.workload = workload
            place.mend()
            found, complaints = history.run()
            if workload in WORKLOADS["hints"] and (number % SCRUB_EVERY == 0 or number + 1 == options.count):
                missing = hints.missing(place)
                found["right"] = found["right"] and not missing
                complaints = "\n".join(missing + [complaints])
            yield history, found, complaints


def in_rounds(options, until):
    """The same, with many histories at the same time. No round begins after `until`."""
    for first in itertools.count(0, options.rounds):
        prefix = 0
        with opened(options, options.seed + first) as place:
            for number in range(first, first + options.rounds):
                if time.monotonic() > until:
                    return
                place.mend()
                each = rounds.Round(place, options, number, prefix, names(options.workloads, WORKLOADS), names(options.faults, {}))
                yield from each.run()
                prefix += len(each.histories)


def run_histories(options):
    sums = {"histories": 0, "right": 0, "WRONG": 0, "UNDECIDED": 0, "apart": 0, "ok": 0, "failed": 0, "unknown": 0, "differing": 0, "tied": 0,
            "steps": 0}
    until = time.monotonic() + options.seconds if options.seconds else float("inf")
    with contextlib.closing((in_rounds if options.together else one_by_one)(options, until)) as found_histories:
        for history, found, complaints in found_histories:
            print_history(history, found, complaints)
            sums["histories"] += 1
            sums[mark_of(found)] += 1
            for key in ("ok", "failed", "unknown", "differing", "tied", "steps"):
                sums[key] += found.get(key, 0)
            if sums["right"] >= options.count or (options.until_wrong and sums["WRONG"]):
                break
    return sums


def main():
    options = arguments()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the place is stopped
    began = time.monotonic()
    sums = run_histories(options)
    print(f"{options.store}, {options.gateways} gateway(s), {options.faults}: " +
          ", ".join(f"{value} {name.lower()}" for name, value in sums.items()) + f"; {time.monotonic() - began:.0f} s")
    sys.exit(1 if sums["WRONG"] else 0)


if __name__ == "__main__":
    main()
