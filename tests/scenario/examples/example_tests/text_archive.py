"""The text archive: numbers from Redis, and an index builder that reads a day, stops and resumes."""
import datetime
import json

from keyway_thrift.ttypes import Options, Query, Range
from keyway_gateway import plain, record, value
from world import ROOT, be, same

SHANGHAI = datetime.timezone(datetime.timedelta(hours=8))
DAY = int(datetime.datetime(2026, 11, 21, tzinfo=SHANGHAI).timestamp()) * 1000
LENGTH = 86400000


def key_of(text):
    at = datetime.datetime.fromtimestamp(text["at"] // 1000, SHANGHAI)
    return be(int(at.strftime("%M%H%d%m%Y") + f"{text['n']:05d}"))


def check_vectors(table):
    """Keys that Java built from moments and numbers."""
    groups = json.loads((ROOT / "tests/data/rowkeys.json").read_text(encoding="utf-8"))
    cases = next(group["cases"] for group in groups if group["group"] == "calendar_minute")
    for case in (case for case in cases if case["zone"] == "Asia/Shanghai"):
        same(table.key({"at": case["ts_ms"], "n": case["sequence"], "text": "x"}).hex(), case["int64"], f"key of {case}")


def order(text):
    return text["at"] // 60000, text["n"]


def read_in_pieces(world, table, wanted):
    """Reads some pages and stops; another caller continues with only the cursor, until the end of the day."""
    span = Range("at", value(DAY), value(DAY + LENGTH))
    page = world.data.scan(Query("texts", range=span, page_rows=50))
    found, stops = [plain(row) for row in page.rows], 0
    while page.cursor is not None:
        stops += 1
        other = world.gateway.data()
        page = other.nextPage(page.cursor, Options())
        other.close()
        found += [plain(row) for row in page.rows]
    same(found, wanted, "the day, read in pieces")
    same(stops >= (len(wanted) - 1) // 50, True, "number of stops")


def read_a_week(world, table):
    """More minutes than one plan contains: reads page by page, and the gateway restarts between pages."""
    start, length = DAY + 3 * LENGTH, 10200 * 60000
    minutes = [start + minute * 60000 for minute in world.chance.sample(range(-20, 10220), 40)]
    table.fill({"at": world.chance.choice(minutes) + world.chance.randrange(60000), "n": number, "source": "wire", "text": f"later {number}"}
               for number in range(150))  # with given numbers: counters of minutes far from now are not kept
    wanted = sorted((text for text in table.records if start <= text["at"] < start + length), key=order)
    query = Query("texts", range=Range("at", value(start), value(start + length)), page_rows=25)
    said = world.admin.explain(query)
    same((len(said.ranges) <= 2048, any("the first of 5 windows, up to" in note for note in said.notes)), (True, True), f"explained: {said.notes}")
    page = world.data.scan(query)
    found, pages = [plain(row) for row in page.rows], 1
    while page.cursor is not None:
        if pages % 3 == 1:
            world.restart()
        page = world.data.nextPage(page.cursor, Options())
        found += [plain(row) for row in page.rows]
        pages += 1
    same(found, wanted, "a week of minutes")
    table.expect(lambda r: start <= r["at"] < start + length, order, "its newest", reverse=True, between=("at", start, start + length), limit=20)


def run(world):
    table, chance = world.table("texts"), world.chance
    check_vectors(table)
    # Bursts: many texts in one minute, minutes without a text, the evening before and the morning after.
    minutes = [DAY + minute * 60000 for minute in chance.sample(range(-60, 1500), 60)]
    made = table.fill({"at": chance.choice(minutes) + chance.randrange(60000), "source": "wire", "text": f"text {number}"}
                      for number in range(400))
    for minute in minutes:
        numbers = sorted(text["n"] for text in made if text["at"] // 60000 == minute // 60000)
        same(numbers, list(range(len(numbers))), "numbers of a minute")
    for text in chance.sample(made, 20):
        same(table.key(text), key_of(text), "key")
    same(world.data.get("texts", record(at=made[0]["at"], n=made[0]["n"]), None, Options()).record is not None, True, "a text by its key")

    day = sorted((text for text in made if DAY <= text["at"] < DAY + LENGTH), key=order)
    table.expect(lambda r: DAY <= r["at"] < DAY + LENGTH, order, "a day", ranges=1440, between=("at", DAY, DAY + LENGTH))
    low = minutes[0] - 600000
    table.expect(lambda r: low <= r["at"] < low + 1200000, order, "twenty minutes", ranges=20, between=("at", low, low + 1200000))
    read_in_pieces(world, table, day)
    read_a_week(world, table)
