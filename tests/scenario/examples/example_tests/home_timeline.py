"""Home timelines: the newest posts are one short range, and posts expire after a week."""
from keyway_thrift.ttypes import Options
from world import be, same

START = 1795255200000


def run(world):
    table, chance = world.table("home_timeline"), world.chance
    users = [f"user{number}" for number in range(30)]
    # A post is written to the timelines of its author's followers; several posts have the same millisecond.
    table.fill({"user": user, "at": START + post // 3, "post_id": 7 * 10**9 + post, "author": f"author{post % 11}",
                "kind": chance.choice(["post", "repost", "reply"])} for post in range(120) for user in chance.sample(users, 8))

    order = lambda r: (-r["at"], -r["post_id"])  # noqa: E731
    one = table.records[0]
    same(table.key(one)[4:], one["user"].encode() + b"\0" + be(2**63 - 1 - one["at"]) + be(2**63 - 1 - one["post_id"]), "key")
    for user in users[:8]:
        top = table.expect(lambda r: r["user"] == user, order, "the top", ranges=1, scanned=1, bound={"user": user}, limit=10)
        last = top[-1]["at"] if top else START
        table.expect(lambda r: r["user"] == user and r["at"] < last, order, "further down", bound={"user": user},
                     between=("at", None, last), limit=10)
    table.write([{"user": "gone", "at": START, "post_id": 1}], Options(timestamp=world.now - 8 * 86400000))
    same(table.get(user="gone", at=START, post_id=1), None, "expired post")
