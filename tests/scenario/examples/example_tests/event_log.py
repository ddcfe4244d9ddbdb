"""The event log: sixty partitions by the minute of the hour, read in time order."""
import json

from world import ROOT, be, same

START = 1795255200000


def check_vectors(table):
    groups = json.loads((ROOT / "tests/data/rowkeys.json").read_text(encoding="utf-8"))
    for case in next(group["cases"] for group in groups if group["group"] == "partitioned_snowflake"):
        event = {"at": case["ts_ms"], "worker": case["worker"], "n": case["sequence"], "message": "x"}
        same(table.key(event).hex(), case["key"], f"key of {case}")


def key_of(event):
    seconds = event["at"] // 1000
    return be(seconds // 60 % 60 << 57 | seconds << 25 | event["worker"] << 16 | event["n"])


def run(world):
    table, chance = world.table("events"), world.chance
    check_vectors(table)
    made = table.fill({"at": START + chance.randrange(4 * 3600000), "worker": chance.choice([0, 7, 511]), "machine": f"m{number % 9}",
                       "level": chance.choice(["info", "warn"]), "message": f"event {number}"} for number in range(600))
    same(len({(event["at"] // 1000, event["worker"], event["n"]) for event in made}), len(made), "distinct events")
    for event in chance.sample(made, 20):
        same(table.key(event), key_of(event), "key")

    order = lambda r: (r["at"] // 1000, r["worker"], r["n"])  # noqa: E731
    for minutes, partitions in ((10, 10), (60, 60), (150, None)):
        low = START + 1800000
        high = low + minutes * 60000
        table.expect(lambda r: low <= r["at"] < high, order, f"{minutes} minutes", ranges=partitions, between=("at", low, high))
    table.expect(lambda r: START + 5500 <= r["at"] < START + 65500, order, "a minute across two partitions", ranges=2,
                 between=("at", START + 5500, START + 65500))
