"""Trades: salted by the order, so that even the trades of one seller are in eight regions, merged when they are read."""
from world import be, same

START = 1795255200000
DAY = 86400000


def run(world):
    table, chance = world.table("trades"), world.chance
    sellers = ["big"] * 60 + [f"shop {i}" for i in range(40)]  # one seller makes most of the trades
    table.fill({"seller": chance.choice(sellers), "at": START + moment * 1000, "order_id": f"T{number:08d}",
                "item": f"item {number % 17}", "cents": chance.randrange(1, 99999)}
               for number, moment in enumerate(chance.sample(range(DAY // 1000), 1200)))

    by_time = {"primary": lambda r: (r["seller"], r["at"], r["order_id"]), "by_time": lambda r: (r["at"], r["seller"], r["order_id"])}
    buckets = {}
    for trade in table.records:
        if trade["order_id"][-2:] == "00" or trade["seller"] == "big" and trade["order_id"][-1] == "7":
            key = table.key(trade)
            same(key[1:], trade["seller"].encode() + b"\0" + be(trade["at"] ^ 1 << 63) + trade["order_id"].encode(), "key")
            same(table.key(trade, "by_time")[1:9], be(trade["at"] ^ 1 << 63), "key by time")
            same(key[0], table.key(trade, "by_time")[0], "bucket in both paths")
            buckets.setdefault(key[0], []).append(trade)
    same(sorted(buckets), list(range(8)), "buckets in use")

    for seller in ("big", "shop 3", "nobody"):
        mine = lambda r, seller=seller: r["seller"] == seller  # noqa: E731
        table.expect(mine, by_time["primary"], f"all of {seller}", ranges=8, bound={"seller": seller})
        table.expect(mine, by_time["primary"], f"all of {seller}, newest first", reverse=True, bound={"seller": seller}, limit=20)
        low, high = START + DAY // 4, START + DAY // 3
        table.expect(lambda r: mine(r) and low <= r["at"] < high, by_time["primary"], f"{seller} in two hours", ranges=8,
                     bound={"seller": seller}, between=("at", low, high))
    table.expect(lambda r: START + 3600000 <= r["at"] < START + 7200000, by_time["by_time"], "an hour of all sellers", ranges=8,
                 between=("at", START + 3600000, START + 7200000))
    table.expect(lambda r: True, by_time["primary"], "everything", full_scan=True, path="primary", scanned=1.2)
    table.expect(lambda r: r["seller"] in ("shop 1", "shop 2"), lambda r: (r["at"], r["seller"], r["order_id"]),
                 "two shops by time", any_of={"seller": ["shop 1", "shop 2"]}, path="primary", ranges=16)
