"""docs/metrics.md lists every metric of /metrics, with the meaning that /metrics gives it, and no other.

KW_UPDATE_GOLDEN=1 writes the page again.
"""
import os
import pathlib
import re
import unittest

from keyway_gateway import POLICY, Gateway

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
HEAD = """\
# Metrics

`/metrics` on the admin port prints these metrics in Prometheus' text format. `keyway stats PREFIX` prints those that have no
labels; the prefix can be written with or without `keyway_` and `_total`. keywayd(8) explains the ones that show failures and limits.

| metric | type | meaning |
|---|---|---|
"""


def page_of(metrics):
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", metrics, re.MULTILINE))
    rows = [f"| `{name}` | {types[name]} | {meaning} |\n" for name, meaning in re.findall(r"^# HELP (\S+) (.*)$", metrics, re.MULTILINE)]
    return HEAD + "".join(rows)


class MetricsPage(unittest.TestCase):
    def test_page(self):
        with Gateway(POLICY) as gateway:
            found = page_of(gateway.get("/metrics")[1])
        if os.environ.get("KW_UPDATE_GOLDEN"):
            PAGE.write_text(found, encoding="utf-8")
        self.assertGreater(len(found.splitlines()), 60)
        self.assertEqual(found, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
