"""A load whose scans read an added path, too, for the tests in change_paths.py and change_paths_hbase.py."""
from change_case import hashed_order, time_order
from changing import Load
from keyway_gateway import PATIENCE, wait_until
from keyway_thrift.ttypes import Code, KeywayError


class PathScans:
    """Half of the scans name the path by_time. Those that are refused count only in `refused`; after `complete`, none may
    be."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.complete = False
        self.by_path = 0
        self.refused = []

    def scan(self, data, chance, path=None, orders=None):
        if chance.random() < 0.5:
            super().scan(data, chance, "primary", [hashed_order])
            return
        complete = self.complete
        try:
            super().scan(data, chance, "by_time", [time_order])
            self.by_path += 1
        except KeywayError as failure:
            if complete and self.complete or not self.is_refusal(failure):
                raise
            self.refused.append(failure.message)
            self.ended.wait(0.01)

    @staticmethod
    def is_refusal(failure):
        unknown = "has no path" in failure.message or "cursor" in failure.message
        return unknown or (failure.code == Code.REFUSED and "is being filled" in failure.message)

    def wait_for_path(self, count=2):
        target = self.by_path + count + 1
        wait_until(lambda: self.failures or self.by_path >= target, "scans of the path", 3 * PATIENCE)
        self.check()


class PathLoad(PathScans, Load):
    """On the embedded store."""
