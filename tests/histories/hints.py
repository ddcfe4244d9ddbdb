"""Checks the hints of a place: no record lacks one, at any time."""
import places

SLICE_SECONDS = 60


def missing(place):
    """Scrubs the tables with hint paths. Returns a line for each record without its hint."""
    from keyway_thrift.ttypes import ScrubOptions
    found = []
    admin = place.gateways[0].admin()
    for table in [name for name in places.table_names(place.tables) if places.kind_of(name) in places.HINTED]:
        cursor, first = None, True
        while cursor or first:
            first = False
            part = admin.scrub(table, ScrubOptions(cursor=cursor, settle_ms=0, deadline_ms=SLICE_SECONDS * 1000))
            found += [f"table {table}, path {each.path}: {each.text} {each.key}" for each in part.differences]
            cursor = part.cursor
    admin.close()
    return found
