"""User operations: the reversed digits of the user id, then the time in descending order."""
import json

from keyway_thrift.ttypes import Options
from world import ROOT, be, same

START = 1795255200000
OPERATIONS = ["login", "search", "view", "buy", "refund", "logout"]


def check_vectors(table):
    """Keys that Java built from the same phone numbers and moments."""
    groups = json.loads((ROOT / "tests/data/rowkeys.json").read_text(encoding="utf-8"))
    for case in next(group["cases"] for group in groups if group["group"] == "reverse"):
        same(table.key({"uid": case["phone"], "at": case["ts_ms"], "operation": "view"}).hex(), case["key"], f"key of {case}")


def run(world):
    table, chance = world.table("user_operations"), world.chance
    check_vectors(table)
    users = [f"138{number:08d}" for number in range(40)]
    table.fill({"uid": user, "at": START + moment, "operation": chance.choice(OPERATIONS), "target": f"item {moment % 9}"}
               for user in users for moment in chance.sample(range(3600000), 25))
    for user in users[:6]:
        mine = [r for r in table.records if r["uid"] == user]
        same(table.key(mine[0]), user[::-1].encode() + be(2**63 - 1 - mine[0]["at"]), "key")
        table.latest(max(mine, key=lambda r: r["at"]), f"latest of {user}", uid=user)
        table.expect(lambda r: r["uid"] == user, lambda r: -r["at"], "the ten latest", ranges=1, scanned=1, bound={"uid": user}, limit=10)
        low, high = START + 600000, START + 1200000
        table.expect(lambda r: r["uid"] == user and low <= r["at"] < high, lambda r: -r["at"], "ten minutes", ranges=1, scanned=1,
                     bound={"uid": user}, between=("at", low, high))
    table.write([{"uid": "13900000000", "at": START, "operation": "buy"}], Options(timestamp=world.now - 31 * 86400000))
    same(table.get(uid="13900000000", at=START), None, "expired operation")
