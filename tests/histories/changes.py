"""Places whose key rules can be changed, and changes of key rules as faults.

The faults change and change_kill do one step of a change after the other, whichever is possible, beside one history. For
`campaign.py --together`, whole_change carries out one change of one table, from its beginning to its end, and beside.py has
the faults.
"""
import contextlib
import functools
import logging
import random
import re
import threading
import time

import places
from keyway_gateway import PATIENCE, Gateway, free_ports
from keyway_thrift.ttypes import ApplyOptions, ChangeAction, ChangeOptions, Code, KeywayError
from thrift.transport.TTransport import TTransportException

logging.getLogger("thrift").setLevel(logging.CRITICAL)  # no messages about gateways that are restarted

# The key rules that a path can have; the first one is that of places.TABLES. Tables with hint paths have none, because they
# cannot be changed.
KEYS = {
    "plain": ["[{field: id}]", "[{salt: {of: [id], buckets: 4}}, {field: id}]", "[{hash: {of: [id], take: 2}}, {field: id}]"],
    "counted": ["[{hash: {algorithm: md5, of: [id], take: 2}}, {field: id}]", "[{field: id}]"],
    "salted": ["[{salt: {of: [id], buckets: 4}}, {field: id}]", "[{salt: {of: [id], buckets: 3}}, {field: id}]", "[{field: id}]"],
    "pair": ["[{field: id}, {field: part}]", "[{hash: {of: [part], take: 2}}, {field: part}, {field: id}]"],
    "pair.by_part": ["[{field: part}, {field: id}]", "[{salt: {of: [part], buckets: 4}}, {field: part}, {field: id}]"],
    "stamped": ["[{field: id}]", "[{salt: {of: [id], buckets: 2}}, {field: id}]"],
    "mapped": ["[{field: id}]", "[{hash: {of: [id], take: 1}}, {field: id}]", "[{salt: {of: [id], buckets: 3}}, {field: id}]"],
    "brief": ["[{field: id}]", "[{salt: {of: [id], buckets: 2}}, {field: id}]"],
    "kept": ["[{field: id}]", "[{hash: {of: [id], take: 2}}, {field: id}]"],
    "cas": ["[{field: id}]", "[{salt: {of: [id], buckets: 2}}, {field: id}]"],
    "duo": ["[{field: id}, {field: part}]", "[{hash: {of: [part], take: 2}}, {field: part}, {field: id}]"],
    "duo.by_part": ["[{field: part}, {field: id}]", "[{salt: {of: [part], buckets: 4}}, {field: part}, {field: id}]"],
    "made": ["[{field: id}]", "[{hash: {of: [id]}}, {field: id}]"],
}
# What the operator can order at which place of a change: forward, and back.
ORDERS = {"both-old": ("SWITCH", "CANCEL"), "both-new": ("COMPLETE", "REVERSE"), "closing-new": ("COMPLETE", "COMPLETE")}
# Exceptions of calls to a gateway that is killed, paused or restarted.
GONE = (TTransportException, OSError, EOFError)
BACK = ("REVERSE", "CANCEL")
BACK_LIMITS = (0, 1, 2, 5)  # limits on the orders back (BACK) of one change; one of them is chosen
UNPROMPTED_ORDER_PROBABILITY = 0.04  # probability of an order, at each look, while the change does not wait for one


class RuleChanges(places.Place):
    """Gateways with the policy in the catalog, so that key rules can be changed."""

    CHANGE_SECONDS = 300  # A change that takes longer hangs.
    ROUND_SECONDS = 8  # In a round, no change begins later.
    # Deadline of calls. A table with `order: stamp` keeps the control cells of the last change for as long.
    CALL_MS = 3000
    patience_ms = 120  # A late write is applied within this time.
    rest = 0  # So many seconds at most a change that waits for an order rests before it gets one.
    turns = None  # So often each change goes back from both-new and forward again; None: at random.

    def __init__(self, tables, *arguments):
        super().__init__(tables, *arguments)
        self.watch = None  # of the present round
        names = places.table_names(tables)
        self.keys = {f"{name}{path}": KEYS[places.kind_of(name) + path] for name in names for path in ("", ".by_part")
                     if places.kind_of(name) + path in KEYS}
        self.called = 0

    def paths_of(self, table):
        return [name for name in self.keys if name.partition(".")[0] == table]

    def choose(self, random):
        """A path; mostly one of the table that the present workload uses."""
        used = self.paths_of(places.table_of(self.workload))
        return random.choice(used if used and random.random() < 0.8 else list(self.keys))

    def text(self, keys):
        """The tables with these key rules, by name."""
        lines, name = [], None
        for line in self.tables.splitlines():
            depth = len(line) - len(line.lstrip())
            if depth == 2:
                name = line.strip(" :")
            elif line.strip().startswith("key:"):
                chosen = name if depth == 4 else f"{name}.by_part"
                if chosen in keys:
                    line = " " * depth + f"key: {keys[chosen]}"
            lines.append(line)
        return "\n".join(lines) + "\n"

    def store_of(self, number):
        """The section `store` of a gateway."""
        del number
        return self.store()

    def settings(self):
        return self.extra + f"policy: {{source: store}}\ntimeouts: {{call: {self.CALL_MS}ms}}\n"

    def start(self, gateways):
        self.ports = free_ports(2 * gateways)
        for number in range(gateways):
            ports = self.ports[2 * number:2 * number + 2]
            self.gateways.append(Gateway(places.policy(*ports, self.store_of(number), "", self.settings())))
            self.start_gateway(number, ready=False)
        self.apply_first(self.text({name: keys[0] for name, keys in self.keys.items()}))
        for number in range(gateways):
            self.wait_gateway(number)
        return self

    def apply_first(self, text):
        """Applies the first policy. A real HBase can need longer than the deadline of a call to create all its store tables."""
        until = time.monotonic() + self.CHANGE_SECONDS
        applied = False
        while not applied:
            try:
                applied = bool(self.admin("policyHistory", 0, 1))
                if not applied:
                    self.admin("policyApply", text, 0, None)
            except KeywayError as failure:
                assert failure.code in (Code.TIMEOUT, Code.UNAVAILABLE) and time.monotonic() < until, failure

    def admin(self, name, *arguments, patience=PATIENCE):
        """Calls a gateway; if there are several, one of them after the other."""
        self.called += 1
        admin = self.gateways[self.called % len(self.gateways)].admin(patience=patience)
        try:
            return getattr(admin, name)(*arguments)
        finally:
            admin.close()

    def begin_change(self, random, name):
        """Gives a path another key rule."""
        version = self.admin("policyVersion", 0)
        keys = {each: self.rule_of(version.text, each).removeprefix("key: ") for each in self.keys}
        keys[name] = random.choice([key for key in self.keys[name] if key != keys[name]])
        self.admin("policyApply", self.text(keys), version.version, ApplyOptions(only_writer=True))

    @staticmethod
    def rule_of(text, name):
        """The line of a path's key rule in a policy."""
        table, _, other_path = name.partition(".")
        lines = text.split(f"\n  {table}:\n")[1].splitlines()
        return [line.strip() for line in lines if line.strip().startswith("key:")][1 if other_path else 0]

    def order(self, table, action):
        self.admin("orderChange", table, ChangeAction._NAMES_TO_VALUES[action],
                   ChangeOptions(expire_cursors=action == "COMPLETE"))

    def order_change(self, random, found):
        """The next step of a change, forward or back. Between the places at which it waits, mostly none."""
        orders = ORDERS.get(found.version)
        if not orders and random.random() < 0.9:
            return
        possible = orders or ("SWITCH", "CANCEL", "REVERSE", "COMPLETE")
        self.order(found.table, random.choices(possible, [0.7, 0.3] if orders else None)[0])


class Changing(RuleChanges, places.Embedded):
    """A gateway whose key rules can be changed, with an embedded store."""


class ChangingSim(RuleChanges, places.Sim):
    """Gateways whose key rules can be changed, over two Thrift2 servers of hbase_sim. Writes are applied within store.late,
    or never. store.late is shorter than the time that a change takes for its places, or longer."""

    LATE_MS = (200, 1500)
    own_servers = False  # True: each gateway uses one Thrift2 server of its own.

    def __init__(self, tables, seed, late_ms=0):
        super().__init__(tables, seed)
        self.late_ms = late_ms or random.Random(f"late {seed}").choice(self.LATE_MS)
        self.patience_ms = self.late_ms * 85 // 100
        # Long enough for a put that waits until its deadline and is then applied late.
        self.MARKERS_MS = 2 * self.late_ms + self.CALL_MS
        self.send(f"patience {self.patience_ms}")

    def store(self):
        return super().store() + f"  late: {self.late_ms}ms\n"

    def store_of(self, number):
        text = self.store()
        if self.own_servers:
            own = self.servers[number % len(self.servers)]
            text = re.sub(r"servers: \[.*\]", f"servers: [\"127.0.0.1:{own}\"]", text)
        return text


# --- one step after the other, beside one history ----------------------------------------------------------------------

def change_rules(place, random, end, kills=0.0):
    """Key rules are changed: changes begin, are switched, reversed, completed and cancelled."""
    while not end.is_set():
        places.pause(random, 0, 0.05)
        killed = random.randrange(len(place.gateways))
        killer = threading.Timer(random.uniform(0, 0.1), place.kill_gateway, [killed]) if random.random() < kills else None
        if killer:
            killer.start()
        try:
            step_of_change(place, random)
        except KeywayError as failure:
            assert failure.code in (Code.REFUSED, Code.UNAVAILABLE, Code.BUSY) or killer, failure
        except GONE:
            if not killer:
                raise
        if killer:
            killer.join()
            place.start_gateway(killed)


def step_of_change(place, random):
    name = place.choose(random)
    found = place.admin("changes", name.split(".")[0])
    if found:
        place.order_change(random, found[0])
    else:
        place.begin_change(random, name)


def change_rules_and_kill(place, random, end):
    """The same, and a gateway is killed at random moments."""
    change_rules(place, random, end, 0.15)


# --- whole changes of many tables at the same time -------------------------------------------------------------------

class Watch:
    """Reads the changes of all tables again and again, and notes when their places changed."""

    INTERVAL = 0.1

    def __init__(self, place):
        self.place = place
        self.fresh = threading.Condition()
        self.found = {}  # by table
        self.asked_at = 0.0
        self.steps = []  # (time, table)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.ended.wait(self.INTERVAL):
            asked_at = time.monotonic()
            with contextlib.suppress(KeywayError, *GONE):
                found = {change.table: change for change in self.place.admin("changes", "", patience=1)}
                with self.fresh:
                    self.note_steps(found)
                    self.found, self.asked_at = found, asked_at
                    self.fresh.notify_all()

    def note_steps(self, found):
        """One gateway learns of a place later than the other, so only a later place counts."""
        now = time.monotonic()
        for table in found.keys() | self.found.keys():
            before, after = self.found.get(table), found.get(table)
            if not before or not after or (after.version != before.version and after.version_at > before.version_at):
                self.steps.append((now, table))

    def steps_between(self, begin, end, table):
        with self.fresh:
            return sum(begin <= when <= end and which == table for when, which in self.steps)

    def wait_for_step(self, table, ended):
        """Waits until the change of the table goes on to another place, or has ended."""
        began = time.monotonic()
        while not (ended.is_set() or self.ended.is_set() or self.steps_between(began, time.monotonic(), table)):
            ended.wait(self.INTERVAL)

    def versions(self):
        """The places of all changes that are under way."""
        with self.fresh:
            return {change.version for change in self.found.values()}

    def holders(self):
        """The gateways that lead a change, by their gateway_id."""
        with self.fresh:
            return [change.holder for change in self.found.values() if change.holder]

    def leaders(self):
        """Their numbers."""
        holders, ports = self.holders(), self.place.ports[::2]
        return [number for number, port in enumerate(ports) if any(each.endswith(f":{port}") for each in holders)]

    def after(self, moment, table, until):
        """The change of the table at a time after this moment, and that time; None if none is under way."""
        with self.fresh:
            answered = self.fresh.wait_for(lambda: self.asked_at > moment or self.ended.is_set(), max(until - time.monotonic(), 30))
            assert answered and not self.ended.is_set(), f"no gateway reports the changes of {table}"
            return self.found.get(table), self.asked_at

    def stop(self):
        self.ended.set()
        with self.fresh:
            self.fresh.notify_all()
        self.thread.join()


def begin_whole(place, random, name, watch, until):
    """Begins a change; other tables get other policies at the same time."""
    table = name.partition(".")[0]
    while True:
        try:
            place.begin_change(random, name)
            return time.monotonic()
        except (KeywayError, *GONE) as failure:
            assert time.monotonic() < until, failure
        found, moment = watch.after(time.monotonic(), table, until)
        if found:
            return moment
        places.pause(random, 0, 0.1)


def choose_order(random, found, backs):
    """A possible order, or None. An order is more likely while the change waits for one. backs: how many can be of BACK."""
    possible = [command.upper() for command in found.next_commands.split(", ") if command]
    chosen = [each for each in possible if each not in BACK]
    stuck = found.goal == "cancelled" and found.problem  # another policy was applied in between
    if random.random() >= (0.5 if found.waiting or stuck else UNPROMPTED_ORDER_PROBABILITY):
        return None
    if stuck:
        chosen = possible
    elif backs > 0 and random.random() < 0.4:
        chosen = [each for each in possible if each in BACK] or possible
    return random.choice(chosen) if chosen else None


def choose_turn(found, turns):
    """The order of a change that goes forward, and back from both-new as often as this; None if it does not wait for one."""
    possible = found.next_commands.upper().split(", ") if found.waiting else []
    orders = ["SWITCH", "REVERSE" if turns > 0 else "COMPLETE"]
    return next((each for each in orders if each in possible), None)


def whole_change(place, random, name, watch):
    """One change of a path, from its beginning to its end. Orders forward and back at random, or place.turns times forward and
    back. Returns the orders."""
    until = time.monotonic() + place.CHANGE_SECONDS
    table, orders = name.partition(".")[0], []
    backs = random.choice(BACK_LIMITS) if place.turns is None else place.turns
    choose = functools.partial(choose_order, random) if place.turns is None else choose_turn
    begin_whole(place, random, name, watch, until)
    found, moment = None, 0.0
    while not found:  # one gateway learns of it later than the other
        found, moment = watch.after(moment, table, until)
    missing = 0
    while missing < 2 * len(place.gateways):
        assert time.monotonic() < until, f"the change hangs: {found}"
        action = choose(found, backs) if found else None
        if action and found.waiting:
            places.pause(random, 0, place.rest)
        if action:
            with contextlib.suppress(KeywayError, *GONE):
                place.order(table, action)
                orders.append(action.lower())
                backs -= action in BACK
            moment = time.monotonic()
        found, moment = watch.after(moment, table, until)
        missing = 0 if found else missing + 1
    return orders


places.FAULTS.update({"change": change_rules, "change_kill": change_rules_and_kill})
