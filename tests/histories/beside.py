"""Faults beside whole changes of key rules (campaign.py --together). Each is a function of a place, a random source and an
event that ends it, as those of places.py.

hbase_sim applies a write within store.late after it arrived, or never, whatever delays it (changes.ChangingSim). The reply can
be held back for much longer: then the call spans several places of a change.
"""
import contextlib
import signal
import threading

import changes
import places
from keyway_thrift.ttypes import KeywayError

HELD = {"held": 0.05, "held_ms": 800}
HELD_LONG = {"held": 0.05, "held_ms": 2500}
BLIND = {"blind": 0.4, "blind_ms": 1000}  # One gateway serves the place before for longer, beside another one.
CUT = {"lose": 0.02, "drop": 0.02, "delay_us": 500}
LEASE_ENDS = (11, 18)  # seconds: a lease ends after 10, and others take the gateway for dead after 15
APART_MS = 800
ORDERED = {"get-both-old", "get-both-new"}  # places at which two gateways can read different placements, so the order of writes counts
EARLY = {"unstamped-old", "held-old", "raised-old", "stamped-old", "alone-old", "opening-old"}  # before puts write the new rows
SHORT_DEADLINE_MS = 400  # of calls beside the faults ..._given_up; beside other faults: --deadline
WRONG_CLOCKS = ("+2s", "-2s", "+0.001s", "-0.001s", "+1h")


def now_and_then(fault, longest=1.0):
    """A fault that comes and goes."""
    def cause(place, random, end):
        while not end.wait(random.uniform(0, 1)):
            enough = threading.Event()
            ends = threading.Timer(random.uniform(0.1, longest), enough.set)
            ends.start()
            fault(place, random, enough)
            ends.cancel()
    return cause


def choose_gateway(place, random):
    """Mostly one that leads a change: it sets the places and copies the rows."""
    leads = place.watch.leaders()
    return random.choice(leads) if leads and random.random() < 0.7 else random.randrange(len(place.gateways))


def kill_gateways(place, random, end):
    """Kills a gateway with kill -9 and restarts it; later again. A change that it led stands still until its lease has ended."""
    longest = 8
    while not end.wait(random.uniform(0, longest)):
        number = choose_gateway(place, random)
        place.kill_gateway(number)
        places.pause(random, 0, 0.3)
        place.start_gateway(number)
        longest = 40


def restart_gateways(place, random, end):
    """Stops a gateway with SIGTERM and restarts it; it gives its changes to the other one."""
    while not end.wait(random.uniform(0.5, 4)):
        number = choose_gateway(place, random)
        place.kill_gateway(number, signal.SIGTERM)
        places.pause(random, 0, 0.3)
        place.start_gateway(number)


def stop_gateways(shortest, longest):
    """Pauses a gateway with SIGSTOP for some seconds."""
    def cause(place, random, end):
        while not end.wait(random.uniform(0.02, longest / 2)):
            process = place.gateways[choose_gateway(place, random)].process
            process.send_signal(signal.SIGSTOP)
            places.pause(random, shortest, longest)
            process.send_signal(signal.SIGCONT)
    return cause


def clocks_off(place, random, end):
    """A gateway's clock is wrong, from a restart to another one."""
    number = random.randrange(len(place.gateways))
    place.kill_gateway(number, signal.SIGTERM)
    place.start_gateway(number, places.wrong_clock(random.choice(WRONG_CLOCKS)))
    end.wait()
    place.kill_gateway(number, signal.SIGTERM)
    place.start_gateway(number)


def late_calls(place, share):
    """Calls whose connection is closed, and that are applied up to the end of store.late."""
    return {"late": share, "late_ms": place.patience_ms, "delay_us": 500}


def always(*faults):
    """Faults of single calls until the end; one of these, or a function of the place that gives them."""
    def cause(place, random, end):
        chosen = random.choice(faults)
        place.misbehave(chosen(place) if callable(chosen) else chosen)
        end.wait()
        place.misbehave({})
    return cause


def served(place, number):
    """The places of the changes that this gateway knows."""
    with contextlib.suppress(KeywayError, *changes.GONE):
        admin = place.gateways[number].admin(patience=1)
        try:
            return {change.version for change in admin.changes("")}
        finally:
            admin.close()
    return set()


def apart(place, random, end):
    """While two gateways can read different placements of a record, writes of the one that leads the change reach the second
    placement late, and the other one learns late of places. So a get through the latter can find a put in one placement, and
    later gets read only the other one. It needs --own-servers."""
    late = {"apart": 0.5, "apart_ms": min(APART_MS, place.patience_ms * 95 // 100)}
    blind = {"blind": 1.0, "blind_ms": random.choice([100, 300])}
    sent = {}
    while not end.wait(0.01):
        leads = place.watch.leaders()
        for number in range(len(place.servers)):
            faults = {} if number in leads else blind
            if number in leads and ORDERED & served(place, number):
                faults = late
            if sent.get(number) != faults:
                place.misbehave_of(number, faults)
            sent[number] = faults
    place.misbehave({})


def stuck(place, random, end):
    """From time to time, for a moment, writes and some reads are applied late, while their connections stay open. So such a call
    runs while the change goes through several places."""
    faults = {"stuck": random.choice([0.3, 0.8]), "stuck_ms": place.patience_ms * 95 // 100}
    while not end.wait(random.uniform(0.2, 2)):
        place.misbehave(faults)
        end.wait(random.uniform(0.05, 0.3))
        place.misbehave({})


def given_up(place, random, end):
    """While puts do not write the new placement yet, writes are applied late, after gateways have given them up
    (SHORT_DEADLINE_MS). Later ones are not late, so that the copy and the passes of a change can end before."""
    faults = {"stuck": random.choice([0.3, 0.6]), "stuck_ms": place.patience_ms * 95 // 100}
    sticks = False
    while not end.wait(0.02):
        wanted = place.watch.versions() <= EARLY
        if wanted != sticks:
            place.misbehave(faults if wanted else {})
        sticks = wanted
    place.misbehave({})


def late(place, random, end):
    """Late and lost calls, now and then or all the time."""
    faults = late_calls(place, random.choice([0.01, 0.03])) | random.choice([{"lose": 0.01}, BLIND])
    random.choice([now_and_then(places.misbehave(**faults)), always(faults)])(place, random, end)


def mixed(place, random, end):
    """One fault after the other, beside calls that are late, cut or held all the time."""
    place.always = (random.choice([{}, BLIND]) | random.choice([HELD, HELD_LONG]) |
                    late_calls(place, random.choice([0.001, 0.02])) | {"lose": 0.001, "drop": 0.001})
    place.misbehave({})
    seconds = random.choice([2, 10])
    try:
        while not end.wait(random.uniform(0, seconds)):
            enough = threading.Event()
            ends = threading.Timer(random.uniform(0.1, 1.5), enough.set)
            ends.start()
            random.choice(MIXED)(place, random, enough)
            ends.cancel()
    finally:
        place.always = {}
        place.misbehave({})


MIXED = [places.kill_thrift, places.stop_thrift, stop_gateways(0.01, 0.6), restart_gateways, places.compactions_within(120),
         places.region_moves([-20, -3, -1, 1, 2, 20])]

FAULTS = {
    "change": places.calm,
    "change_delay": now_and_then(places.misbehave(delay_us=4000)),
    "change_slow": now_and_then(places.misbehave(slow=0.1, slow_ms=700, delay_us=1000)),
    "change_held": always(HELD),
    "change_held_long": always(HELD_LONG),
    "change_blind": always(BLIND | HELD_LONG),
    "change_late": late,
    "change_apart": apart,
    "change_stuck": stuck,
    "change_given_up": given_up,
    "change_cut": now_and_then(places.misbehave(**CUT)),
    "change_repeat": now_and_then(places.misbehave(repeat=0.2, delay_us=300)),
    "change_stop": stop_gateways(0.01, 0.6),
    "change_stop_long": stop_gateways(*LEASE_ENDS),
    "change_kill": kill_gateways,
    "change_restart": restart_gateways,
    "change_kill_thrift": now_and_then(places.kill_thrift),
    "change_stop_thrift": now_and_then(places.stop_thrift),
    "change_compactions": now_and_then(places.compactions_within(120), 3.0),
    "change_clock_moves": places.region_moves([-20, -3, -1, 1, 2, 20]),
    "change_clocks_off": clocks_off,
    "change_mixed": mixed,
}
