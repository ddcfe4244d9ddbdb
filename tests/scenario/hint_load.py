"""A load for a table that has, or gets, a path over the field note, for the tests in change_hints_hbase.py."""
import time

from change_hbase_case import HBaseLoad
from changing import PAUSE_S
from keyway_gateway import PATIENCE, plain, value, wait_until
from keyway_thrift.ttypes import KeywayError, Query
from path_load import PathScans


class HintLoad(HBaseLoad):
    """Most scans read the path by_note. Those that are refused count only in `refused`; while `complete`, none may be. Then each
    writer also finds its record by its new value."""

    def __init__(self, *arguments, complete=False, **options):
        super().__init__(*arguments, **options)
        self.complete = complete
        self.by_path = 0
        self.refused = []

    def scan(self, data, chance, path=None, orders=None):
        if chance.random() < 0.3:
            super().scan(data, chance, "primary", self.orders)
            return
        complete = self.complete
        try:
            self.scan_by_note(data, chance)
        except KeywayError as failure:
            if complete and self.complete or not PathScans.is_refusal(failure):
                raise
            self.refused.append(failure.message)
            self.ended.wait(PAUSE_S)

    def scan_by_note(self, data, chance):
        """A record that has a note throughout is returned once, or, if it gets another one, once or twice."""
        began = time.monotonic()
        rows, pages = self.read_all(data, chance, "by_note")
        if pages == 0:
            return
        found = {}
        for row in rows:
            found.setdefault((row["id"].text, row["ts"].number), []).append(row)
        for key in [*self.stable, *self.known]:
            self.check_found(key, found.pop(key, []), began, pages)
        assert not found, f"a scan by note returned records that nobody wrote: {list(found)[:3]}"
        self.by_path += 1

    def check_found(self, key, rows, began, pages):
        possible = self.possible(key, began)
        stays = all(state is not None and "note" in state for state in possible)
        assert rows or not stays, f"a scan by note misses {key}, which was one of {possible}"
        most = 1 if len(possible) == 1 or pages == 1 else 2
        assert len(rows) <= most, f"a scan by note in {pages} pages returned {key} {len(rows)} times: {rows}"
        for row in rows:
            assert "note" in row
            self.same(key, row, began, "scan by note")

    def get(self, data, key):
        """Also by its note."""
        super().get(data, key)
        state = None if key in self.stable else self.known[key].last
        if not self.complete or state is None or "note" not in state or not self.known[key].is_certain:
            return
        began = time.monotonic()
        rows = data.scan(Query(table=self.table, path="by_note", bound={"note": value(state["note"])})).rows
        if self.possible(key, began) == [state]:
            assert [plain(row) for row in rows] == [{"id": key[0], "ts": key[1], **state}], f"{key}, found by note: {rows}, not {state}"

    def wait_for_path(self, count=2):
        target = self.by_path + count + 1
        wait_until(lambda: self.failures or self.by_path >= target, "scans of the path", 3 * PATIENCE)
        self.check()
