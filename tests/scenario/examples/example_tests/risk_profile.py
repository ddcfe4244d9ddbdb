"""Risk profiles: one record, found by any of its three ids; and another form with one record per id."""
import hashlib

from world import same


def hashed(text):
    return hashlib.md5(text.encode()).hexdigest()[:4].encode()


def profiles(chance):
    for number in range(400):
        yield {"uid": f"{10**9 + number}", "id_card": f"{320102000000000000 + number * 37}", "phone": f"138{number * 271 % 10**8:08d}",
               "score": chance.randrange(1000), "level": chance.choice(["low", "middle", "high"]), "reason": "overdue"}


def check_three_paths(world):
    table, chance = world.table("risk_profiles"), world.chance
    table.fill(profiles(chance))
    ids = {"uid": "primary", "id_card": "by_id_card", "phone": "by_phone"}
    for one in chance.sample(table.records, 10):
        for name, path in ids.items():
            key = table.key(one, path)
            head = hashed(one[name]) + one[name].encode() + b"\0"
            same(key[:len(head)], head, f"key by {name}")
            table.expect(lambda r: r[name] == one[name], lambda r: r["uid"], f"profile by {name}", ranges=1, scanned=1,
                         bound={name: one[name]})

    # A new phone number makes a new record, because the three ids together identify it: the old one is removed.
    one = table.records[0]
    table.fill([{**one, "phone": "13900000000"}])
    table.expect(lambda r: r["uid"] == one["uid"], lambda r: r["phone"], "both phones", bound={"uid": one["uid"]})
    table.remove(uid=one["uid"], id_card=one["id_card"], phone=one["phone"])
    for name, old, new in (("phone", one["phone"], "13900000000"), ("uid", None, one["uid"]), ("id_card", None, one["id_card"])):
        for wanted in filter(None, (old, new)):
            table.expect(lambda r: r[name] == wanted, lambda r: r["uid"], f"after a new phone, by {name}", bound={name: wanted})

    # A person without a phone has the empty string.
    table.fill([{**one, "uid": "7", "id_card": "320", "phone": ""}])
    table.expect(lambda r: r["uid"] == "7", lambda r: r["uid"], "without a phone", bound={"uid": "7"})


def check_record_per_id(world):
    table = world.table("risk_by_id")
    for one in list(profiles(world.chance))[:60]:
        known = {name: one[name] for name in ("score", "level", "reason")}
        table.fill({"kind": kind, "id": one[kind], **known} for kind in ("uid", "id_card", "phone"))
    for one in table.records[:9]:
        kind = ["uid", "id_card", "phone"].index(one["kind"])
        same(table.key(one), hashed(one["kind"] + one["id"]) + bytes([kind]) + one["id"].encode(), "key of one id")
        same(table.get(kind=one["kind"], id=one["id"]), one, "profile by one id")


def run(world):
    check_three_paths(world)
    check_record_per_id(world)
