"""Tests that existing tables are served unchanged. Writers.java uses HBase's own client, HBaseWD and Apache Phoenix to
create tables in a real HBase and to write rows. A gateway with the policy existing-tables.yaml finds every row, in every
order. Then the gateway writes rows; the same classes read them and confirm that each cell is byte for byte what
they would have written.

KEYWAYD is the gateway's program, KW_HBASE_ENV the file with HBase's addresses, KW_SEED the seed.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))
from keyway_gateway import PATIENCE, Ready  # noqa: E402
from keyway_hbase import SKIPPED, hbase_servers  # noqa: E402
from world import World, same  # noqa: E402

WRITERS = HERE.parents[1] / "support" / "writers" / "run.sh"
START = 1612551884712
DDL = {
    "order_events": "(order_id VARCHAR NOT NULL, ts BIGINT NOT NULL, status VARCHAR, amount DOUBLE, pieces INTEGER, ratio FLOAT, "
                    "signed BOOLEAN, due DATE, CONSTRAINT pk PRIMARY KEY (order_id, ts DESC)) SALT_BUCKETS = 4",
    "stock": "(shop VARCHAR NOT NULL, level INTEGER NOT NULL, price DOUBLE NOT NULL, at BIGINT NOT NULL, item VARCHAR NOT NULL, "
             "pieces BIGINT, CONSTRAINT pk PRIMARY KEY (shop DESC, level, price DESC, at, item DESC)) COLUMN_ENCODED_BYTES = 0",
    "kinds": "(a SMALLINT NOT NULL, b TINYINT NOT NULL, c UNSIGNED_LONG NOT NULL, d DATE NOT NULL, e BOOLEAN NOT NULL, "
             "f FLOAT NOT NULL, g UNSIGNED_INT NOT NULL, id VARCHAR NOT NULL, t TIME, u UNSIGNED_LONG, v UNSIGNED_INT, "
             "CONSTRAINT pk PRIMARY KEY (a, b DESC, c DESC, d, e, f DESC, g, id)) SALT_BUCKETS = 2",
}
FORMS = {"purchases": "bytes", "sales": "text", "parcels": "hashes", "readings": "hbasewd", "order_events": "phoenix", "stock": "phoenix", "kinds": "phoenix"}


class Writers:
    """The Java program; it reads one line of JSON per command and prints one per reply."""

    def __init__(self, port, prefix):
        self.prefix = prefix
        self.process = subprocess.Popen([WRITERS, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def order(self, do, table, **more):
        self.process.stdin.write(json.dumps({"do": do, "table": f"{self.prefix}_{table}", **more}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            sys.exit(SKIPPED if code == SKIPPED else f"the writers exited with {code}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        same(self.process.wait(PATIENCE), 0, "the writers' end")


# --- rows -------------------------------------------------------------------------------------------

def real(chance):
    return chance.choice([0.0, -2.5, 1e300, -1e-300, chance.uniform(-1e6, 1e6)])


def number(chance, bits):
    return chance.choice([0, -1, (1 << bits - 1) - 1, -(1 << bits - 1), chance.randrange(-1000, 1000)])


MAKERS = {
    "purchases": lambda c, i: {
        "usr": f"user{c.randrange(12)}", "ts": START + i, "amount": real(c), "pieces": number(c, 32), "total": number(c, 63),
        "ratio": c.choice([0.5, -1.25, 1e10]), "paid": c.random() < 0.5, "note": c.choice(["", "é", "北京"])},
    "sales": lambda c, i: {
        "shop": c.choice(["kiel", "ulm", "ulm2"]), "ts": START + i * 1000, "id": f"{i:06d}", "pieces": number(c, 32),
        "amount": c.randrange(-99, 99) + 0.25},  # Java writes 12 as 12.0, the form text as 12
    "parcels": lambda c, i: {"id": f"P{i}", "ts": START + c.randrange(10**9), "code": c.choice(["DEU", "POL"]), "number": c.randrange(2**31),
                             "flag": c.random() < 0.5, "note": c.choice(["", "heavy"])},
    "readings": lambda c, i: {"ts": START + i // 3, "sensor": f"s{i}", "celsius": real(c)},
    "order_events": lambda c, i: {
        "order_id": f"SF{c.randrange(20)}", "ts": START + i * 7, "status": c.choice(["paid", "packed"]), "amount": real(c),
        "pieces": number(c, 32), "ratio": c.choice([0.5, -1.25, 1e10]), "signed": c.random() < 0.5, "due": START - c.randrange(10**12)},
    "stock": lambda c, i: {
        "shop": c.choice(["a", "ab", "b", "bé"]), "level": c.choice([-5, 0, 7, 2**31 - 1]), "price": c.choice([-1.5, 0.0, 9.75]),
        "at": START - c.randrange(10**6), "item": f"item{i}" + "x" * (i % 3), "pieces": number(c, 63)},
    "kinds": lambda c, i: {
        "a": c.choice([-32768, -1, 0, 32767]), "b": c.choice([-128, 0, 127]), "c": c.choice([0, 1, 2**63 - 1]), "d": c.choice([-5, START]),
        "e": c.random() < 0.5, "f": c.choice([-2.5, 0.0, 0.5]), "g": c.choice([0, 2**31 - 1]), "id": f"{i}", "t": START + i, "u": i,
        "v": c.choice([0, 2**31 - 1])},
}


def bucket(moment):
    """Math.floorMod((short) Long.hashCode(moment), 10)"""
    return (((moment ^ moment >> 32) + 0x8000 & 0xffff) - 0x8000) % 10


def backwards(text):
    """A sort key that reverses the order of strings, as descending columns do."""
    return bytes(255 - byte for byte in text.encode()) + b"\xff"


ORDERS = {
    "purchases": lambda r: (r["usr"] + "|", -r["ts"]),
    "sales": lambda r: (r["shop"] + "_", r["ts"], r["id"]),
    "parcels": lambda r: (bucket(r["ts"]), hashlib.md5(r["id"].encode()).hexdigest()[:4], r["code"], r["number"], r["flag"], r["ts"], r["id"]),
    "readings": lambda r: (r["ts"], r["sensor"]),
    "order_events": lambda r: (r["order_id"], -r["ts"]),
    "stock": lambda r: (backwards(r["shop"]), r["level"], -r["price"], r["at"], backwards(r["item"])),
    "kinds": lambda r: (r["a"], -r["b"], -r["c"], r["d"], r["e"], -r["f"], r["g"], r["id"]),
}


# --- the tests --------------------------------------------------------------------------------------

def check_gets(table):
    names = table.identity()
    for one in table.world.chance.sample(table.records, 5):
        same(table.get(**{name: one[name] for name in names}), one, f"{table.name} by its key")
    table.expect(lambda r: True, ORDERS[table.name], "everything", full_scan=True)


def check_queries(tables):
    one = tables["purchases"].records[0]
    mine = [r for r in tables["purchases"].records if r["usr"] == one["usr"]]
    tables["purchases"].latest(max(mine, key=lambda r: r["ts"]), "latest purchase", usr=one["usr"])
    low, high = START + 20, START + 90
    tables["purchases"].expect(lambda r: r["usr"] == one["usr"] and low <= r["ts"] < high, lambda r: -r["ts"], "purchases in a time",
                               ranges=1, scanned=1, bound={"usr": one["usr"]}, between=("ts", low, high))
    tables["sales"].expect(lambda r: r["shop"] == "ulm" and r["ts"] >= START + 50000, lambda r: r["ts"], "sales from a time on",
                           ranges=1, scanned=1, bound={"shop": "ulm"}, between=("ts", START + 50000, None))
    tables["readings"].expect(lambda r: START + 5 <= r["ts"] < START + 25, ORDERS["readings"], "readings of a time", ranges=8,
                              between=("ts", START + 5, START + 25))
    events = tables["order_events"]
    one = events.records[0]
    mine = [r for r in events.records if r["order_id"] == one["order_id"]]
    # Phoenix's salt hashes the whole key, so a query without it reads every bucket.
    events.latest(max(mine, key=lambda r: r["ts"]), "latest event", scanned=8, order_id=one["order_id"])
    events.expect(lambda r: r["order_id"] == one["order_id"] and r["ts"] >= START + 300, lambda r: -r["ts"], "events from a time on",
                  ranges=4, bound={"order_id": one["order_id"]}, between=("ts", START + 300, None))
    stock = tables["stock"]
    stock.expect(lambda r: r["shop"] == "a" and r["level"] >= 0, ORDERS["stock"], "stock of a level", ranges=1, scanned=1,
                 bound={"shop": "a"}, between=("level", 0, None))
    stock.expect(lambda r: r["shop"] == "bé" and r["level"] == 7 and r["price"] < 5, ORDERS["stock"], "cheap stock", ranges=1,
                 bound={"shop": "bé", "level": 7}, between=("price", None, 5.0), columns=["pieces"])


def run(world, writers):
    tables = {name: world.table(name) for name in FORMS}
    for name, table in tables.items():
        rows = {ORDERS[name](row): row for row in (MAKERS[name](world.chance, i) for i in range(120))}
        writers.order("write", name, rows=list(rows.values()))
        table.records = list(rows.values())
        check_gets(table)
    check_queries(tables)
    for name, table in tables.items():
        rows = {ORDERS[name](row): row for row in (MAKERS[name](world.chance, i) for i in range(120, 200))}
        table.fill(rows.values())
        table.expect(lambda r: True, ORDERS[name], "everything, of both writers", full_scan=True)
        answer = writers.order("read", name)
        if answer["other"]:
            sys.exit(f"{name}: its own writer would have written another cell: {answer['other'][0]}")
        same(sorted(answer["rows"], key=ORDERS[name]), sorted(table.records, key=ORDERS[name]), f"{name} as its own writer reads it")


def main():
    servers = hbase_servers()
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}", flush=True)
    prefix = f"existing_{os.getpid()}_{int(time.time())}"
    writers = Writers(servers["KW_HBASE_ZOOKEEPER"], prefix)
    for name, form in FORMS.items():
        writers.order("create", name, form=form, ddl=DDL.get(name))
    policy = (HERE / "existing-tables.yaml").read_text(encoding="utf-8").replace("NAME", prefix)
    store = f"{{kind: hbase, servers: [{servers['KW_HBASE_BUFFERED']}], catalog: {prefix}_catalog}}"
    text = f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 1\ntimeouts: {{call: 100s}}\nstore: {store}\n{policy}"
    with Ready(text.replace("{", "{{").replace("}", "}}")) as gateway:
        world = World(gateway, seed)
        run(world, writers)
        world.close()
    writers.close()


if __name__ == "__main__":
    main()
