"""Risk profiles: one record, found by any of its three ids, two of which can change; and another form with one record per id."""
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
            head = hashed(one[name]) + one[name].encode() + (b"" if path == "primary" else b"\0")
            same(key[:len(head)], head, f"key by {name}")
            table.expect(lambda r: r[name] == one[name], lambda r: r["uid"], f"profile by {name}", ranges=1,
                         scanned=1 if path == "primary" else 2,
                         bound={name: one[name]})

    # A new phone number: the record is found by it, and not by the old one.
    one = table.records[0]
    old = one["phone"]
    table.records.remove(one)
    table.fill([{**one, "phone": "13900000000"}])
    for name, wanted in (("phone", old), ("phone", "13900000000"), ("uid", one["uid"]), ("id_card", one["id_card"])):
        table.expect(lambda r: r[name] == wanted, lambda r: r["uid"], f"after a new phone, by {name}", bound={name: wanted})

    # A person without a phone is not in its path.
    table.fill([{name: text for name, text in {**one, "uid": "7", "id_card": "320"}.items() if name != "phone"}])
    table.expect(lambda r: r["uid"] == "7", lambda r: r["uid"], "without a phone", bound={"uid": "7"})
    table.expect(lambda r: r["id_card"] == "320", lambda r: r["uid"], "without a phone, by the card", bound={"id_card": "320"})


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
