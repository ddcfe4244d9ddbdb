"""Vehicles: tracks in time order, and the newest position by a reverse scan."""
from keyway_thrift.ttypes import Options
from world import be, same

START = 1795255200  # seconds


def run(world):
    table, chance = world.table("positions"), world.chance
    cars = [f"苏A{number:05d}" for number in range(20)]
    table.fill({"car": car, "at": START + step * 20 + number, "lat": 32.0 + step / 1000, "lon": 118.8 - step / 700,
                "kmh": chance.randrange(130)} for number, car in enumerate(cars) for step in chance.sample(range(400), 50))

    for one in chance.sample(table.records, 20):
        same(table.key(one)[2:], one["car"].encode() + b"\0" + be(one["at"] ^ 1 << 31, 4), "key")
    for car in cars[:6]:
        mine = [r for r in table.records if r["car"] == car]
        table.latest(max(mine, key=lambda r: r["at"]), f"where {car} is", car=car)
        low, high = START + 1000, START + 3000
        table.expect(lambda r: r["car"] == car and low <= r["at"] < high, lambda r: r["at"], f"track of {car}", ranges=1, scanned=1,
                     bound={"car": car}, between=("at", low, high))
        table.expect(lambda r: r["car"] == car, lambda r: r["at"], "only positions", bound={"car": car}, columns=["lat", "lon"])
    table.expect(lambda r: r["car"] in cars[:4] and r["at"] >= START + 5000, lambda r: (r["at"], r["car"]), "a fleet in driving order",
                 any_of={"car": cars[:4]}, between=("at", START + 5000, None), ranges=4)
    table.write([{"car": "old", "at": START, "kmh": 3}], Options(timestamp=world.now - 181 * 86400000))
    same(table.get(car="old", at=START), None, "expired position")
