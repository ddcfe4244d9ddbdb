"""Increments and conditional writes that become allowed on tables with order: stamp, and forbidden, as faults.

For `campaign.py --together`, whole() sets atomics: false on one table, if it has true, and then true, with cancellations. Beside
this, callers use increments and conditional writes; while these are forbidden, they fail.
"""
import contextlib

import beside
import changes
import paths
import places
from keyway_thrift.ttypes import ChangeAction, ChangeOptions, KeywayError

TABLES = ("cas", "duo")
SETTING = "    atomics: true\n"
CANCELS_MOST = 2


def is_of_atomics(faults):
    return all(fault.startswith("atomics") for fault in faults.split(","))


def is_on(place, table):
    return SETTING in paths.tables_of(paths.present(place).text).get(table, "")


def turn(place, table, on):
    setting = SETTING if on else SETTING.replace("true", "false")
    first = f"  {table}:\n"
    paths.edit(place, table, lambda text: text.replace(SETTING, "").replace(SETTING.replace("true", "false"), "").replace(first, first + setting, 1))


def follow(place, chance, table, cancels):
    """Sometimes cancels the change; waits until none of the table is under way. Returns the orders."""
    orders = []
    if cancels < CANCELS_MOST and chance.random() < 0.3:
        places.pause(chance, 0, 0.6)
        with contextlib.suppress(KeywayError, *changes.GONE):
            place.admin("orderChange", table, ChangeAction.CANCEL, ChangeOptions())
            orders.append("cancel")
    paths.wait_until_served(place, table)
    return orders


def whole(place, chance, table):
    """Returns the steps."""
    steps = []
    if is_on(place, table):
        turn(place, table, False)
        paths.wait_until_served(place, table)
        steps.append("off")
        places.pause(chance, 0, 0.5)
    while not is_on(place, table):
        turn(place, table, True)
        steps += ["on", *follow(place, chance, table, steps.count("cancel"))]
    return steps


beside.FAULTS.update({name.replace("change", "atomics"): fault for name, fault in beside.FAULTS.items() if name.startswith("change")})
