"""URL records: by day without end; and by month and day for half a year, in keys reused every year."""
import datetime
import json

from keyway_thrift.ttypes import Options
from world import ROOT, same

DAY = 86400000


def day_of(moment, form):
    return datetime.datetime.fromtimestamp(moment // 1000, datetime.timezone.utc).strftime(form)


def check_vectors(table):
    groups = json.loads((ROOT / "tests/data/rowkeys.json").read_text(encoding="utf-8"))
    for case in next(group["cases"] for group in groups if group["group"] == "circular"):
        same(table.key({"fetched": case["ts_ms"], "url": case["url"], "status": 200}).hex(), case["key"], f"key of {case}")


def pages_of(chance, today, days):
    for number in range(500):
        yield {"fetched": (today - chance.randrange(days)) * DAY + chance.randrange(DAY), "url": f"www.example.com/{number}",
               "status": chance.choice([200, 301, 404])}


def check_endless(world, today):
    table = world.table("url_records")
    table.fill({**page, "title": "Grüße"} for page in pages_of(world.chance, today, 800))
    order = lambda r: (r["fetched"] // DAY, r["url"])  # noqa: E731
    for page in table.records[:10]:
        same(table.key(page), f"{day_of(page['fetched'], '%Y-%m-%d')}-{page['url']}".encode(), "key")
    for days in (1, 40, 500):
        low = (today - days) * DAY
        table.expect(lambda r: low <= r["fetched"] < today * DAY, order, f"{days} days", ranges=1, between=("fetched", low, today * DAY))


def check_circular(world, today):
    table = world.table("url_recent")
    check_vectors(table)
    table.fill(pages_of(world.chance, today, 150))
    order = lambda r: (r["fetched"] // DAY, r["url"])  # noqa: E731
    for page in table.records[:10]:
        same(table.key(page), f"{day_of(page['fetched'], '%m-%d')}-{page['url']}".encode(), "key")
    for days in (1, 40, 140):  # across the end of the year, for some dates of the run
        low = (today - days) * DAY
        table.expect(lambda r: low <= r["fetched"] < (today + 1) * DAY, order, f"the last {days} days",
                     between=("fetched", low, (today + 1) * DAY))
    # A page of a year ago has the same key as a page of today. Their times differ, and the old page has expired.
    old = {"fetched": (today - 365) * DAY + 5, "url": "www.example.com/0", "status": 500}
    table.write([old], Options(timestamp=world.now - 365 * DAY))
    table.expect(lambda r: r["fetched"] >= (today - 3) * DAY, order, "the last days, without those of a year ago",
                 between=("fetched", (today - 3) * DAY, (today + 1) * DAY))


def run(world):
    today = world.now // DAY
    check_endless(world, today)
    check_circular(world, today)
