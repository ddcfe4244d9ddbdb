"""Paths that are added to tables and dropped, as faults.

For `campaign.py --together`, whole() adds the path by_part of one table, from the beginning to the end, with cancellations. The
fault `paths` does the same beside one history. Tables `duo` have atomic operations, before the addition and after it.

    the table           before: without the path, with order: store or order: stamp      or with it
    the fault           add, [cancel, forget, add again ...]                              drop, forget, add ...
    the last reads      each path

Tables with paths over fields that change begin without these paths, or with two of them. Some or all of them are added at once, then the others.
"""
import contextlib
import random as randomness
import time

import beside
import changes
import places
from keyway_gateway import wait_until
from keyway_thrift.ttypes import ApplyOptions, ChangeAction, ChangeOptions, Code, ForgetOptions, KeywayError

TABLES = ("pair", "duo")
PATH = "    paths:\n      by_part:\n        key: "
# Tables with paths over fields that change begin with these ones. Histories of hinted_stamp expect that a put of one text writes both
# texts and both sides.
KEPT = {"hinted_stamp": ("by_both", "by_texts")}
CANCELS_MOST = 2
SECONDS = 300  # A change that takes longer hangs.
# In other faults, a write of unknown outcome can be in one path only; readers of the dropped path have seen it, and the path that is
# added again does not have it.
CAN_DROP = ("paths", "paths_slow", "paths_stop", "paths_clock_moves")


def is_of_paths(faults):
    return all(fault.startswith("paths") for fault in faults.split(","))


# --- texts of policies ---------------------------------------------------------------------------------------------

def tables_of(text):
    """The text of each table, by name."""
    return dict(zip(places.table_names(text), places.split_tables(text)))


def text_of(tables):
    return "tables:\n" + "".join(tables.values())


def without_path(table):
    return table.partition("    paths:\n")[0]


def with_path(table, key):
    return f"{without_path(table)}{PATH}{key}\n"


def hint_paths(table):
    """The texts of the paths over fields that change, by name."""
    lines = table.partition("    paths:\n")[2].splitlines(keepends=True)
    return {lines[i].strip(" :\n"): lines[i] + lines[i + 1] for i in range(0, len(lines), 2)}


def with_hint_paths(table, paths):
    """The table with these paths, in addition to those that it has."""
    all_paths = hint_paths(table) | paths
    return without_path(table) + "    paths:\n" + "".join(all_paths[name] for name in sorted(all_paths))


# --- steps ----------------------------------------------------------------------------------------------------------

def again(do, *arguments):
    """Repeats a step until a gateway has done it. It can have been done although the answer says otherwise."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            return do(*arguments)
        except (KeywayError, *changes.GONE) as failure:
            assert time.monotonic() < until, failure
            time.sleep(0.1)


def present(place):
    """The present policy."""
    return again(place.admin, "policyVersion", 0)


def has_path(place, table):
    return "    paths:\n" in tables_of(present(place).text).get(table, "")


def edit(place, table, change):
    """Applies the present policy with a changed text of one table, if it is not so yet. Text "": without the table."""
    def edited():
        version = present(place)
        tables = tables_of(version.text)
        text = change(tables.get(table, ""))
        if text != tables.get(table, ""):
            tables[table] = text
            place.admin("policyApply", text_of(tables), version.version, ApplyOptions(only_writer=True))
    again(edited)


def wait_until_served(place, table):
    """No change of the table is under way, as all gateways know."""
    def has_none(gateway):
        admin = gateway.admin()
        try:
            return not admin.changes(table)
        finally:
            admin.close()
    for gateway in place.gateways:
        wait_until(lambda gateway=gateway: again(has_none, gateway), "the change to end", SECONDS)


def forget(place, table, path=None):
    def forgotten():
        try:
            place.admin("forget", table, ForgetOptions(path=path, drop_rows=True))
        except KeywayError as failure:
            if failure.code != Code.NOT_FOUND:
                raise
    again(forgotten)


def drop(place, table):
    """Drops the path and its rows. The callers can go on."""
    edit(place, table, without_path)
    wait_until_served(place, table)
    forget(place, table, "by_part")


def renew(place, table):
    """The table without rows and without the path, with order: store."""
    edit(place, table, lambda _: "")
    forget(place, table)
    whole_table = tables_of(place.tables)[table]
    kept = {name: hint_paths(whole_table)[name] for name in KEPT.get(places.kind_of(table), ())}
    begun = without_path(whole_table)
    edit(place, table, lambda _: with_hint_paths(begun, kept) if kept else begun)


def prepare(place, table, seed, fault):
    """Before a history: the table is as the fault begins."""
    wait_until_served(place, table)
    chance = randomness.Random(seed)
    if has_hints(table):
        renew(place, table)
    elif fault not in CAN_DROP or chance.random() < 0.6:
        (renew if chance.random() < 0.5 else drop)(place, table)


def has_hints(table):
    return places.kind_of(table) in places.HINTED


def repeats(table, fault):
    """True if the path can be dropped beside the fault, and added again."""
    return fault in CAN_DROP and not has_hints(table)


# --- a whole addition ----------------------------------------------------------------------------------------------

def choose_order(chance, found, cancels):
    """An order, mostly None."""
    if found.paused:
        return "RESUME"
    if cancels < CANCELS_MOST and chance.random() < 0.06:
        return "CANCEL"
    possible = [command.upper() for command in found.next_commands.split(", ") if command]
    if found.waiting and possible:
        return chance.choice(possible)
    return chance.choice(["PAUSE", "COMPARE", "REVERSE", "THROTTLE"]) if chance.random() < 0.1 else None


def follow(place, chance, table, cancels):
    """Orders steps until no change of the table is under way. Returns the orders."""
    orders, missing, until = [], 0, time.monotonic() + SECONDS
    while missing < 2 * len(place.gateways):
        found = again(place.admin, "changes", table)
        assert time.monotonic() < until, f"the change hangs: {found}"
        action = choose_order(chance, found[0], cancels + orders.count("cancel")) if found else None
        if action:
            with contextlib.suppress(KeywayError, *changes.GONE):
                place.admin("orderChange", table, ChangeAction._NAMES_TO_VALUES[action],
                            ChangeOptions(rows_per_second=chance.choice([5, 50, 0])) if action == "THROTTLE" else ChangeOptions())
                orders.append(action.lower())
        missing = 0 if found else missing + 1
        places.pause(chance, 0, 0.15)
    return orders


def add_hint_paths(place, chance, table):
    """The hint paths that the table does not have are added. Returns the steps."""
    wanted, steps = hint_paths(tables_of(place.tables)[table]), []
    while lacking := sorted(set(wanted) - set(hint_paths(tables_of(present(place).text)[table]))):
        added = chance.sample(lacking, chance.randint(1, len(lacking)))
        edit(place, table, lambda text, added=added: with_hint_paths(text, {name: wanted[name] for name in added}))
        steps += ["add " + " ".join(added), *follow(place, chance, table, steps.count("cancel"))]
        wait_until_served(place, table)
        for name in set(added) - set(hint_paths(tables_of(present(place).text)[table])):
            forget(place, table, name)
    return steps


def whole(place, chance, table):
    """The path is dropped if the table has it, and added until no cancellation has taken it away. Returns the steps."""
    if has_hints(table):
        return add_hint_paths(place, chance, table)
    steps = []
    if has_path(place, table):
        drop(place, table)
        steps.append("drop")
    while not has_path(place, table):
        key = chance.choice(changes.KEYS["pair.by_part"])
        edit(place, table, lambda text, key=key: text if "paths:" in text else with_path(text, key))
        steps += ["add", *follow(place, chance, table, steps.count("cancel"))]
        wait_until_served(place, table)
        if not has_path(place, table):
            forget(place, table, "by_part")
    return steps


# --- beside one history, on the embedded store ---------------------------------------------------------------------

def change_paths(place, random, end):
    """The path is dropped and added, again and again; in the end it is complete."""
    while not end.is_set():
        whole(place, random, places.table_of(place.workload))


places.FAULTS.update({"paths": change_paths, "paths_kill": places.together(change_paths, places.kill_gateways)})
beside.FAULTS.update({name.replace("change", "paths"): fault for name, fault in beside.FAULTS.items()})
