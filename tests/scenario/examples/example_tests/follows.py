"""Follows: a row for each pair, found from either side."""
from world import same


def run(world):
    table, chance = world.table("follows"), world.chance
    people = [f"u{number}" for number in range(60)] + ["star"]
    pairs = {(a, b) for a in people for b in chance.sample(people, 12) if a != b} | {(a, "star") for a in people[:-1]}
    table.fill({"follower": a, "followed": b, "since": 1795255200000 + chance.randrange(10**9)} for a, b in pairs)

    for one in table.records[:10]:
        same(table.key(one)[4:], f"{one['follower']}\0{one['followed']}".encode(), "key")
        same(table.key(one, "followers")[4:], f"{one['followed']}\0{one['follower']}".encode(), "key of the other path")
    for a in chance.sample(people, 10):
        table.expect(lambda r: r["follower"] == a, lambda r: r["followed"], f"whom {a} follows", ranges=1, scanned=1, bound={"follower": a})
        table.expect(lambda r: r["followed"] == a, lambda r: r["follower"], f"who follows {a}", ranges=1, scanned=1, bound={"followed": a})
        for b in chance.sample(people, 5):
            same(table.get(follower=a, followed=b) is not None, (a, b) in pairs, f"does {a} follow {b}")
    fans = [r["follower"] for r in table.records if r["followed"] == "star"]
    table.remove(follower=fans[0], followed="star")
    table.expect(lambda r: r["followed"] == "star", lambda r: r["follower"], "one fewer", bound={"followed": "star"})
    same(table.get(follower=fans[0], followed="star"), None, "no longer follows")
