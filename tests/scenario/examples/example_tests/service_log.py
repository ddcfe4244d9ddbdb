"""The service log: month, protocol, provider, time. A query without a protocol reads one range per protocol."""
import datetime

from world import be, same

PROTOCOLS = ["dubbo", "grpc", "http", "thrift"]


def moment(month, day=1):
    return int(datetime.datetime(2026, month, day, tzinfo=datetime.timezone.utc).timestamp()) * 1000


def run(world):
    table, chance = world.table("service_log"), world.chance
    table.fill({"at": moment(9) + chance.randrange(90 * 86400000), "protocol": chance.choice(PROTOCOLS), "provider": chance.choice(["pay", "pay-2", "stock"]),
                "call_id": f"c{number:05d}", "caller": f"shop{number % 5}", "took_ms": chance.randrange(500), "failed": chance.random() < 0.1}
               for number in range(800))

    month = lambda r: datetime.datetime.fromtimestamp(r["at"] // 1000, datetime.timezone.utc).strftime("%Y%m")  # noqa: E731
    for call in table.records[:20]:
        head = f"{month(call)}-{call['protocol']}-{call['provider']}|".encode()
        same(table.key(call), head + be(call["at"] ^ 1 << 63) + call["call_id"].encode(), "key")

    october, november = moment(10), moment(11)
    order = lambda r: (month(r), PROTOCOLS.index(r["protocol"]), r["provider"] + "|", r["at"], r["call_id"])  # noqa: E731
    within = lambda r: october <= r["at"] < november  # noqa: E731
    table.expect(lambda r: within(r) and r["protocol"] == "grpc" and r["provider"] == "pay", order, "a month of a provider",
                 bound={"protocol": "grpc", "provider": "pay"}, between=("at", october, november), scanned=1)
    table.expect(lambda r: within(r) and r["provider"] == "pay", lambda r: (r["at"], order(r)), "a month of a provider, all protocols",
                 bound={"provider": "pay"}, between=("at", october, november))
    table.expect(lambda r: moment(10, 10) <= r["at"] < moment(10, 20) and r["protocol"] == "http", order,
                 "ten days of a protocol", bound={"protocol": "http"}, between=("at", moment(10, 10), moment(10, 20)), full_scan=True)
