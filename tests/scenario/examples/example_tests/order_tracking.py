"""Order tracking: the newest event of an order is one row, and all its events are one range. Old events expire."""
import hashlib

from keyway_thrift.ttypes import Options
from world import be, same

START = 1795255200000
STATUSES = ["created", "paid", "packed", "shipped", "delivered", "returned"]


def key_of(event):
    order_id = event["order_id"].encode()
    return hashlib.md5(order_id).hexdigest()[:4].encode() + order_id + b"\0" + be(2**63 - 1 - event["ts"])


def run(world):
    table, chance = world.table("order_events"), world.chance
    orders = [f"SF{number}" for number in (1, 10, 100, 1000, *range(1100, 1150))]
    table.fill({"order_id": order, "ts": START + moment * 1000, "status": chance.choice(STATUSES), "city": "Łódź",
                "amount": chance.randrange(10000) / 100, "signed": chance.random() < 0.5}
               for order in orders for moment in chance.sample(range(86400), chance.randrange(1, 30)))
    for event in chance.sample(table.records, 20):
        same(table.key(event), key_of(event), "key of an event")
        same(table.get(order_id=event["order_id"], ts=event["ts"]), event, "event by its key")
    for order in orders[:8]:
        mine = [r for r in table.records if r["order_id"] == order]
        table.latest(max(mine, key=lambda r: r["ts"]), f"latest of {order}", order_id=order)
        table.expect(lambda r, order=order: r["order_id"] == order, lambda r: -r["ts"], f"events of {order}", ranges=1,
                     scanned=1, bound={"order_id": order})
        noon = START + 43200000
        table.expect(lambda r, order=order: r["order_id"] == order and r["ts"] >= noon, lambda r: -r["ts"], "afternoon",
                     ranges=1, scanned=1, bound={"order_id": order}, between=("ts", noon, None))

    # A record written a year and a day ago has expired: the family's ttl is 365 days.
    old = {"order_id": "SF9", "ts": START, "status": "created"}
    table.write([old], Options(timestamp=world.now - 366 * 86400000))
    same(table.get(order_id="SF9", ts=START), None, "expired event")
