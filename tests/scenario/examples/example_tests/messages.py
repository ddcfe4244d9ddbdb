"""Messages on a hash ring: a conversation is on one node, with the newest message first."""
from world import be, same

START = 1795255200000


def run(world):
    table, chance = world.table("messages"), world.chance
    names = [f"c{i}" for i in range(80)]
    table.fill({"conversation": chance.choice(names), "at": START + moment, "message_id": number,
                "sender": chance.choice(["ann", "bob"]), "body": f"message {number}, Grüße"}
               for number, moment in enumerate(chance.sample(range(10**6), 1000)))

    order = lambda r: (-r["at"], r["message_id"])  # noqa: E731
    nodes = set()
    for name in names:
        mine = [r for r in table.records if r["conversation"] == name]
        if not mine:
            continue
        first = min(mine, key=order)
        key = table.key(first)
        nodes.add(key[:4])
        same(key[4:], name.encode() + b"\0" + be(2**63 - 1 - first["at"]) + be(first["message_id"] ^ 1 << 63), "key")
        same({table.key(r)[:4] for r in mine[:3]}, {key[:4]}, "one node per conversation")
    same(nodes <= {b"%04d" % i for i in range(1, 11)} and len(nodes) >= 6, True, f"nodes in use {nodes}")

    for name in chance.sample(names, 10):
        table.expect(lambda r: r["conversation"] == name, order, "a conversation", ranges=1, scanned=1, bound={"conversation": name})
        seen = START + 500000  # a page of older messages begins here
        table.expect(lambda r: r["conversation"] == name and r["at"] < seen, order, "older ones", ranges=1,
                     bound={"conversation": name}, between=("at", None, seen), limit=5)
    table.expect(lambda r: r["conversation"] in names[:5], lambda r: (-r["at"], r["conversation"], r["message_id"]),
                 "five conversations, newest first", any_of={"conversation": names[:5]}, ranges=5)
    table.expect(lambda r: True, lambda r: (r["conversation"], order(r)), "everything", full_scan=True, ranges=10)
