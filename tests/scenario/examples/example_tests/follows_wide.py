"""Follows, wide: a row for each follower, with a column for each person followed."""
from keyway_gateway import plain, record
from keyway_thrift.ttypes import CompareOp, Condition, KeywayError, Options, Query, Value
from world import same

TABLE = "follow_lists"


def refused(what, call, part):
    try:
        call()
    except KeywayError as error:
        same(part in error.message, True, f"{what}: {error.message!r} says {part!r}")
    else:
        same("no error", "an error", what)


def entries(world, follower, columns=None):
    found = world.data.get(TABLE, record(follower=follower), columns, Options()).record
    return plain(found) if found else None


def rows(world, **asked):
    page = world.data.scan(Query(TABLE, full_scan=True, **asked))
    found = [plain(row) for row in page.rows]
    while page.cursor is not None:
        page = world.data.nextPage(page.cursor, Options())
        found += [plain(row) for row in page.rows]
    return {row["follower"]: row.get("followed", {}) for row in found}


def write(world, follows, chance):
    """Writes each list in several puts, each of which adds entries."""
    for follower, followed in follows.items():
        names = list(followed)
        chance.shuffle(names)
        for start in range(0, len(names), 5):
            part = {name: followed[name] for name in names[start:start + 5]}
            world.data.put(TABLE, record(follower=follower, followed=part), Options())


def ask(world, follows, chance):
    people = list(follows)
    for a in people[:20]:
        same(entries(world, a), {"follower": a, "followed": follows[a]}, f"whom does {a} follow")
        for b in chance.sample(people, 5):
            wanted = {"followed": {b: follows[a][b]}} if b in follows[a] else {}
            same(entries(world, a, [f"followed.{b}"]), {"follower": a, **wanted}, f"does {a} follow {b}")
    same(rows(world, page_rows=7), follows, "all followers")
    some = chance.sample(people, 3)
    wanted = {a: {b: since for b, since in list_.items() if b in some} for a, list_ in follows.items()}
    same(rows(world, columns=[f"followed.{b}" for b in some], page_rows=10), wanted, "all followers, three columns")


def filter_entries(world, follows):
    """The caller's filter selects entries by their columns."""
    def left(choose):
        lists = {a: choose(sorted(b for b in list_)) for a, list_ in follows.items()}
        return {a: {b: follows[a][b] for b in names} for a, names in lists.items() if names}

    same(rows(world, filter="ColumnPrefixFilter ('follow_u1')"), left(lambda names: [n for n in names if n.startswith("u1")]), "prefix")
    same(rows(world, filter="ColumnRangeFilter ('follow_u2', true, 'follow_u4', false)"),
         left(lambda names: [n for n in names if "u2" <= n < "u4"]), "range")
    same(rows(world, filter="ColumnPaginationFilter (3, 2)", page_rows=9), left(lambda names: names[2:5]), "page")


def change(world, follows, chance):
    a = next(name for name, list_ in follows.items() if len(list_) > 4)
    gone = chance.sample(list(follows[a]), 2)
    key = record(follower=a)
    world.data.remove(TABLE, key, [f"followed.{b}" for b in gone], Options())
    for b in gone:
        del follows[a][b]
    same(entries(world, a), {"follower": a, "followed": follows[a]}, "two fewer")

    put = record(follower=a, followed={"new one": 1}, mood="calm")
    same(world.data.putIf(TABLE, put, Condition("followed.new one", CompareOp.EQUAL), Options()), True, "follows once")
    same(world.data.putIf(TABLE, put, Condition("followed.new one", CompareOp.EQUAL), Options()), False, "not twice")
    same(entries(world, a, ["followed.new one", "mood"]), plain(put), "a field next to the map")
    follows[a]["new one"] = 1
    world.data.remove(TABLE, key, ["mood"], Options())
    refused("removing a whole map with a prefix", lambda: world.data.remove(TABLE, key, ["followed"], Options()), "name its entries")
    world.data.remove(TABLE, key, [f"followed.{b}" for b in follows[a]], Options())
    same(entries(world, a), None, "no entries: no row")
    world.data.put(TABLE, record(follower=a, followed=follows[a]), Options())
    same(entries(world, a), {"follower": a, "followed": follows[a]}, "again")
    b = next(name for name in follows if name != a)
    world.data.remove(TABLE, record(follower=b), None, Options())
    same(entries(world, b), None, "the whole record")
    del follows[b]


def refuse(world):
    def put(value):
        return lambda: world.data.put(TABLE, {"follower": Value(text="x"), "followed": value}, Options())

    refused("a map of maps", put(Value(entries={"a": Value(entries={})})), "needs a value of kind number, not map")
    refused("a map with a text", put(Value(entries={"a": Value(text="b")})), 'entry "a"')
    refused("an entry without a name", put(Value(entries={"": Value(number=1)})), "an entry has no name")
    refused("a number instead of a map", put(Value(number=1)), "needs a value of kind map, not number")
    refused("a query by the map", lambda: world.data.scan(Query(TABLE, bound={"followed": Value(entries={})})), "followed.NAME")


def churn(world, chance):
    """Random writes to a few rows, compared with a dict. A row without entries does not exist."""
    lists, names = {f"r{number}": {} for number in range(4)}, [f"n{number}" for number in range(9)] + ["n1.x", "ñ"]
    for _ in range(250):
        a, some = chance.choice(list(lists)), chance.sample(names, chance.randrange(1, 5))
        kind = chance.randrange(8)
        if kind < 4:
            since = {b: chance.randrange(-10**6, 10**12) for b in some}
            world.data.put(TABLE, record(follower=a, followed=since), Options())
            lists[a].update(since)
        elif kind < 6:
            world.data.remove(TABLE, record(follower=a), [f"followed.{b}" for b in some], Options())
            lists[a] = {b: since for b, since in lists[a].items() if b not in some}
        elif kind == 6 and chance.random() < 0.3:
            world.data.remove(TABLE, record(follower=a), None, Options())
            lists[a] = {}
        held = lists[a]
        same(entries(world, a), {"follower": a, "followed": held} if held else None, f"all of {a}")
        wanted = {b: held[b] for b in some if b in held}
        picked = {"follower": a, **({"followed": wanted} if wanted else {})}
        same(entries(world, a, [f"followed.{b}" for b in some]), picked if held else None, f"{some} of {a}")


def wide(world):
    """A row too large for one answer: by entries and by pages of columns."""
    for start in range(0, 20000, 2000):
        many = {f"{'p' * 1000}{number:05d}": number for number in range(start, start + 500)}
        world.data.put(TABLE, record(follower="star", followed=many), Options(deadline_ms=30000))
    found = entries(world, "star")
    same(len(found["followed"]), 5000, "entries of a wide row")
    same(entries(world, "star", [f"followed.{'p' * 1000}02001"])["followed"], {f"{'p' * 1000}02001": 2001}, "one of them")


def run(world):
    chance = world.chance
    people = [f"u{number}" for number in range(40)] + ["ümit", "o'brien", "a.b"]
    follows = {a: {b: 1795255200000 + chance.randrange(10**9) for b in chance.sample(people, chance.randrange(1, 20))} for a in people}
    write(world, follows, chance)
    ask(world, follows, chance)
    filter_entries(world, follows)
    change(world, follows, chance)
    refuse(world)
    churn(world, chance)
    wide(world)
