"""Callers never see control cells: replies over the simulated HBase, where increments, putIf and removals leave some, equal
those of the embedded store, which has none. This includes filters, for which a control cell could be the first of a row, or
one cell too many."""
import places
from keyway_gateway import plain, record
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Options, Outcome, Query

PATIENT = Options(deadline_ms=60000)
FILTERS = ["", "FirstKeyOnlyFilter ()", "PageFilter (2)", "ColumnCountGetFilter (1)",
           "ColumnPaginationFilter (1, 0)", "ColumnPaginationFilter (1, 1)", "ColumnPrefixFilter ('b')",
           "QualifierFilter (<, 'binary:b')", "SKIP ValueFilter (!=, 'binary:no')", "WHILE ValueFilter (!=, 'binary:stop')",
           "ValueFilter (=, 'regexstring:^[0-9]$')", "FirstKeyOnlyFilter () AND ValueFilter (=, 'binary:1')"]
COLUMNS = [None, ["a"], ["b"], ["a", "b"]]


def good(written):
    assert written.outcome == Outcome.OK, written


def write(data):
    for number in range(6):
        key = {"id": f"row-{number}"}
        for table in ("plain", "counted", "stamped"):
            good(data.put(table, record(a=str(number), **key), PATIENT))
        if number % 2:
            condition = Condition(field="a", op=CompareOp.EQUAL, value=record(a=str(number))["a"])
            assert data.putIf("plain", record(a=str(number), b="no", **key), condition, PATIENT)
        data.increment("counted", record(**key), {"n": number, "m": 1}, PATIENT)
        good(data.put("stamped", record(b="x", **key), PATIENT))
    good(data.remove("counted", record(id="row-2"), None, PATIENT))
    good(data.remove("plain", record(id="row-3"), None, PATIENT))
    good(data.remove("stamped", record(id="row-1"), None, PATIENT))
    good(data.remove("stamped", record(id="row-2"), ["a"], PATIENT))
    good(data.remove("stamped", record(id="row-4"), None, PATIENT))
    good(data.put("stamped", record(id="row-4", a="stop"), PATIENT))


def rows_of(data, table, **asked):
    page = data.scan(Query(table=table, deadline_ms=60000, full_scan=True, **asked))
    rows = [plain(row) for row in page.rows]
    while page.cursor:
        page = data.nextPage(page.cursor, PATIENT)
        rows += [plain(row) for row in page.rows]
    return rows


def answers(place):
    data = place.gateways[0].data()
    write(data)
    found = {}
    for table in ("plain", "counted", "stamped"):
        for text in FILTERS:
            found[table, "filter", text] = rows_of(data, table, filter=text)
            found[table, "pages"] = rows_of(data, table, page_rows=2)
        for columns in COLUMNS:
            if table != "counted" or columns in (None, ["a"]):
                found[table, "columns", str(columns)] = rows_of(data, table, columns=columns)
        for number in range(6):
            row = data.get(table, record(id=f"row-{number}"), None, PATIENT)
            assert not row.failure, row.failure
            found[table, "get", number] = plain(row.record) if row.record else None
    return found


def refuse_long_filter(place):
    """The gateway extends a filter to hide control cells; a filter can become too long by that."""
    data = place.gateways[0].data()
    text = "ValueFilter (!=, 'binary:" + "x" * (256 * 1024 - 40) + "')"
    for _ in range(3):
        try:
            data.scan(Query(table="plain", deadline_ms=60000, full_scan=True, filter=text))
        except KeywayError as refused:
            assert refused.code == Code.LIMIT and "longer than" in refused.message, refused
        else:
            raise AssertionError("a filter that is too long was accepted")
    assert rows_of(data, "plain")


def main():
    both = []
    for place in (places.Embedded(places.TABLES), places.Sim(places.TABLES, 1)):
        try:
            place.start(1)
            both.append(answers(place))
            if isinstance(place, places.Sim):
                refuse_long_filter(place)
        finally:
            place.stop()
    for asked, expected in both[0].items():
        assert both[1][asked] == expected, f"{asked}:\n  embedded {expected}\n  hbase    {both[1][asked]}"
    print(f"{len(both[0])} replies are the same")


if __name__ == "__main__":
    main()
