"""Tests one table of random_clocks_policy.py against the model: records with generated values, and queries over intervals
that are read in windows, in pages, across restarts and on other gateways.
"""
import collections
import time
import uuid

from keyway_gateway import plain, record
from keyway_thrift.ttypes import Code, KeywayError, Options, Outcome
from random_clocks_policy import DAY, flake_time
from random_model import ModelQuery
from random_table_test import TableTest, canon, error_context, expect, tally, to_thrift
from random_policy import UNITS, rank

WINDOWS = "is read in windows"
WIDENED = "widened: "


class ClockQuery(ModelQuery):
    def first_unknown(self, path):
        """(component, field, reached) of the first component whose value the bounds do not determine, except buckets.
        reached: true if all components before it are determined or can be listed."""
        known, reached = set(self.bounds()), True
        for piece in path.pieces:
            if piece.kind == "enum":
                known.add(piece.field)
            elif piece.kind == "hash":
                reached = reached and set(piece.inputs) <= known
            elif piece.kind in ("field", "clock"):
                for field in (piece.field, *getattr(piece, "also", ())):
                    if field not in self.bounds():
                        return piece, field, reached
        return None, None, reached

    def time_after(self, path, clock):
        """(component, at_once) of the time itself after its calendar, if all components in between are bound, listed or
        merged; otherwise None. at_once: all rows have the same values in between."""
        at_once = True
        for piece in path.pieces[path.pieces.index(clock) + 1:]:
            known = piece.field in self.bounds() if piece.field else set(piece.inputs) <= set(self.bounds())
            if piece.kind == "field" and piece.field == clock.field:
                return (piece, at_once) if piece.direction and not clock.also and clock.kind == "clock" else None
            names = [piece.field] if piece.field else list(piece.inputs)
            at_once = at_once and piece.kind not in ("chosen", "rest") and all(
                len(set(map(rank, self.bounds().get(name, [])))) == 1 for name in names)
            if piece.kind in ("field", "clock", "hash") and not known:
                return None
        return None

    def judge_order(self, path, found):
        """True if these records are in the requested order, or in that of the path."""
        piece, field, reached = self.first_unknown(path)
        if not piece or getattr(piece, "encoding", None) == "bits":
            return
        by_clock = piece.kind == "clock" and field == piece.field
        if not self.order and (not reached or not piece.direction or (piece.kind == "clock" and not by_clock)):
            return
        sign = {"ASC": 1, "DESC": -1, None: piece.direction}[self.order]
        exact = self.order and by_clock and hasattr(piece, "parts") and self.time_after(path, piece)
        for before, here in zip(found, found[1:]):
            a, b = before[field], here[field]
            if by_clock and not exact and piece.same_cell(a, b):
                continue
            expect((rank(a) - rank(b) if isinstance(a, int) else (rank(a) > rank(b)) - (rank(a) < rank(b))) * sign <= 0,
                   "order by", field, ":", before, "comes before", here)


class ClockTableTest(TableTest):
    """Tests one table. The first gateway receives the writes; other gateways can continue a scan."""

    def __init__(self, chance, table, list_values, most_ranges):
        super().__init__(chance, table)
        self.list_values = list_values
        self.most_ranges = most_ranges
        self.made = collections.defaultdict(set)  # numbers by field and period
        self.lost = 0                             # upper limit of generated numbers that were lost
        self.whole = False
        self.others = []                          # clients of other gateways
        self.since = 0                            # when the current call began

    # --- records ---

    def record(self):
        made = super().record()
        for name, field in self.table.made.items():
            if self.whole:
                made[name] = made.get(name, self.pick(field))
        if "at" not in self.table.made and "at" in made and self.chance.random() < 0.04:
            made["at"] = self.table.strange_time()
        if self.table.mode == "flake" and ("at" in made or self.chance.random() < 0.7):
            ms, step = flake_time(self.table.fields["id"], made["id"])
            late = step if self.chance.random() < 0.04 else 0
            made["at"] = (ms + late + self.chance.randrange(step)) * UNITS[self.table.time.unit] // 1000
        return made

    def offered(self):
        """A record for a put; the gateway generates the missing fields."""
        found = self.record()
        for name in self.table.made:
            if self.chance.random() < 0.75:
                found.pop(name, None)
                if self.table.mode == "flake" and name == "id":
                    found.pop("at", None)
        return found

    def takes(self, offered):
        """True if the gateway accepts it, provided that it can generate the missing values."""
        table = self.table
        if any(field.refuses() and name in offered for name, field in table.made.items()):
            return False
        missing = {name: field for name, field in table.made.items() if name not in offered}
        now = int(time.time()) * UNITS[table.time.unit]
        whole = {**{name: now if name == "at" else field.pool[0] for name, field in missing.items()}, **offered}
        for field in missing.values():
            if field.made.get("per") and abs(whole["at"] - now) > 3640 * DAY * UNITS[table.time.unit]:
                return False
        return table.fits(whole)

    def judge_put(self, offered, outcome, made, failure, what):
        """The whole record, or None if the put was rejected."""
        takes = self.takes(offered)
        if outcome != Outcome.OK:
            self.lost += 1
            expect(outcome == Outcome.FAILED, what, offered, "outcome", outcome, failure)
            expect(not takes or self.used_up(offered, failure) or self.came_late(failure), what, offered, "was refused:", failure)
            tally["records refused"] += 1
            return None
        expect(takes, what, offered, "was taken; made", made)
        made = plain(made or {})
        missing = {name for name in self.table.made if name not in offered}
        expect(set(made) == missing, what, offered, "made", made, "not", missing)
        whole = {**offered, **made}
        for name in sorted(made):
            self.judge_made(self.table.made[name], whole)
        self.model.put(whole)
        tally["records put"] += 1
        tally["values made"] += len(made)
        return whole

    @staticmethod
    def came_late(failure):
        """Calls wait five seconds for a block of numbers; on a busy machine that is sometimes too short."""
        late = failure.code == Code.TIMEOUT and "its counter" in failure.message
        tally["numbers that came late"] += late
        return late and tally["numbers that came late"] <= 100

    def used_up(self, offered, failure):
        """Numbers run out: all were generated, or a gateway holds them, or they were lost."""
        if failure.code != Code.LIMIT:
            return False
        for field in self.table.made.values():
            if field.name in offered or "to" not in field.made or field.made.get("at_end"):
                continue
            size = field.made["to"] - field.made["from"] + 1
            period = field.period({"at": int(time.time()) * field.of_unit, **offered}) if field.made.get("per") else None
            block = min(1000, size // 100 + 1)
            in_hand = 4 * block * (1 + tally["restarts"])
            if len(self.made[field.name, period]) + in_hand + self.lost >= size or field.made.get("per") and "at" in self.table.made:
                tally["numbers used up"] += 1
                return True
        return False

    def judge_made(self, field, whole):
        found, kind = whole[field.name], field.made["kind"]
        expect(field.takes(found), field.name, "made", found)
        if kind == "now":
            expect(self.is_now(found / UNITS[field.unit]), "now is", time.time(), "made", found)
            return
        period = field.period(whole) if kind == "sequence" else None
        if kind == "sequence":
            expect(field.made["from"] <= found <= field.made.get("to", 2**63), "number", found, "of", field.made)
            if field.made.get("at_end"):
                return
        expect(found not in self.made[field.name, period], field.name, "generated twice:", found, "in", period)
        self.made[field.name, period].add(found)
        if kind == "snowflake":
            ms, step = flake_time(field, found)
            expect(self.is_now(ms / 1000), "snowflake", found, "says", ms)
            expect(step == 1 or found >> 57 == ms // 60000 % 60, "minute in", found)
        elif kind != "sequence":
            self.judge_id(kind, found)

    def is_now(self, seconds):
        """True if the time is during the current call."""
        return self.since - 60 < seconds < time.time() + 60

    def judge_id(self, kind, found):
        raw = found if isinstance(found, bytes) else bytes.fromhex(found.replace("-", ""))
        if kind == "objectid":
            expect(len(raw) == 12 and self.is_now(int.from_bytes(raw[:4], "big")), "objectid", found)
            return
        one = uuid.UUID(bytes=raw)
        expect(one.variant == uuid.RFC_4122 and one.version == int(kind[-1]), kind, found)
        expect(isinstance(found, bytes) or found == str(one), kind, found)
        expect(kind == "uuid4" or self.is_now(int.from_bytes(raw[:6], "big") / 1000), "time in", kind, found)

    # --- writes ---

    def put_one(self, offered, what):
        self.since = time.time()
        try:
            answer = self.data.put(self.table.name, to_thrift(offered), None)
        except KeywayError as error:
            expect(not error.maybe_applied, what, error)
            return self.judge_put(offered, Outcome.FAILED, None, error, what)
        return self.judge_put(offered, answer.outcome, answer.made, answer.failure, what)

    def put(self):
        whole = self.put_one(self.offered(), "put")
        if whole:
            self.read_back(whole)

    def put_many(self, count):
        offered = [self.offered() for _ in range(count)]
        self.since = time.time()
        answers = self.data.putMany(self.table.name, [to_thrift(one) for one in offered], None)
        expect(len(answers) == count, "putMany answers", len(answers))
        for one, answer in zip(offered, answers):
            self.judge_put(one, answer.outcome, answer.made, answer.failure, "putMany")

    def put_again(self, key):
        self.put_one({**self.offered(), **key}, "put again")
        self.read_back(key)
        tally["puts after removes"] += 1

    def put_if(self):
        """The reply of putIf contains no generated values, so the record has none."""
        if any(field.refuses() for field in self.table.made.values()):
            return
        self.whole = True
        super().put_if()
        self.whole = False

    def allocate(self):
        """Allocates numbers for a caller, which puts them itself."""
        fields = [field for field in self.table.made.values() if field.made["kind"] in ("sequence", "snowflake") and not field.refuses()]
        if not fields:
            return
        field, base = self.chance.choice(fields), self.record()
        base.setdefault("at", self.pick(self.table.time))
        scope, count = ({"at": base["at"]} if field.made.get("per") else {}), self.chance.randint(1, 9)
        self.since = time.time()
        try:
            got = self.data.allocate(self.table.name, field.name, count, Options(), record(**scope))
        except KeywayError as error:
            self.lost += count
            away = field.made.get("per") and abs(base["at"] / UNITS[self.table.time.unit] - time.time()) > 3640 * DAY
            expect(away or self.used_up(scope, error), "allocate", field.name, scope, error)
            return
        expect(1 <= got.count <= count, "allocate", count, "returned", got)
        for number in range(got.first, got.first + got.count):
            self.judge_made(field, {**base, field.name: number})
        tally["numbers allocated"] += got.count
        given = {**base, field.name: got.first}
        if self.table.mode == "flake":
            given.pop("at", None)
        self.put_one(given, "put of an allocated number")

    def write(self):
        if self.chance.random() < 0.1:
            self.allocate()
        else:
            super().write()

    # --- queries ---

    def random_query(self):
        asked = super().random_query()
        asked.__class__ = ClockQuery
        chance = self.chance
        asked.any = {name: values for name, values in asked.any.items() if name not in asked.bound}
        for name in {"n", "w"} & set(self.table.identity) - set(asked.bounds()):
            if chance.random() < 0.2:
                asked.bound[name] = self.some_value(self.table.fields[name])
        if chance.random() < 0.6:
            self.ask_interval(asked)
        elif asked.range and asked.range[0] == "at" and None not in asked.range[1:3]:
            self.cut_interval(asked, self.longest())
        if chance.random() < 0.5:
            asked.page_rows = chance.choice([5, 17, None])
        asked.page_bytes = chance.choice([None, None, None, 300])
        asked.full_scan = chance.random() < 0.9
        return asked

    def longest(self):
        """The longest interval, in calendar units."""
        asked = self.most_ranges // self.table.buckets
        return max(asked // 4, 1) if self.table.association else asked

    def ask_interval(self, asked):
        """An interval around a record that spans many calendar units."""
        chance, per_second = self.chance, UNITS[self.table.time.unit]
        asked.bound.pop("at", None)
        asked.any.pop("at", None)
        if self.table.mode == "flake" or chance.random() < 0.5:
            asked.bound.pop("id", None)
            asked.any.pop("id", None)
        rows = [row.record()["at"] for row in self.model.rows.values() if "at" in row.record()]
        base = chance.choice(rows) if rows and chance.random() < 0.9 else self.pick(self.table.time)
        pieces = min(chance.choice([1, 3, 30, 150, 700, 3000]), self.longest())
        length = int(chance.randint(max(pieces // 2, 1), pieces) * self.table.cell_s * per_second)
        low = base - chance.randint(0, length) if chance.random() < 0.8 else base
        asked.range = ("at", max(low, -2**63), min(low + length, 2**63 - 1), chance.random() < 0.7, chance.random() < 0.4)
        asked.order = chance.choice([None, "ASC", "DESC"])

    def cut_interval(self, asked, pieces):
        name, low, high, low_in, high_in = asked.range
        most = int(pieces * self.table.cell_s * UNITS[self.table.time.unit])
        if len(asked.bounds()) > 1:
            most //= 8
        if high - low > most:
            asked.range = (name, low, low + most, low_in, high_in)

    def judge_refusal(self, asked, error):
        if error.code == Code.LIMIT:
            expect(self.list_values < 1000 or "ranges or point reads" in error.message, asked, error)
            tally["refused: limit"] += 1
            return
        expect(error.code == Code.INVALID, asked, error)
        paths = [self.table.paths[asked.path]] if asked.path else list(self.table.paths.values())
        if "would read the whole table" in error.message:
            expect(not asked.full_scan, "rejected despite full_scan:", asked, error)
            expect(not set(self.table.identity) <= set(asked.bounds()), "rejected although all fields are bound:", asked, error)
            tally["refused: whole table"] += 1
        elif "cannot be answered in" in error.message:
            expect(asked.order and not any(self.must_order(asked, path) for path in paths), "order refused:", asked, error)
            tally["refused: no order"] += 1
        else:
            expect(self.has_unfit(asked), "rejected without reason:", asked, error)
            tally["refused: value fits no key"] += 1

    @staticmethod
    def must_order(asked, path):
        """True if the result must have an order: an interval of a calendar, or of a field, after bound components."""
        piece, field, reached = asked.first_unknown(path)
        if not piece or not reached or any(one.kind == "clock" for one in path.pieces[:path.pieces.index(piece)]):
            return False
        if piece.kind == "field":
            return bool(piece.direction) and getattr(piece, "encoding", None) != "bits"
        if any(len(set(asked.bounds().get(name, []))) != 1 for name in piece.before):
            return False  # lists are not merged
        between = asked.range and asked.range[0] == piece.field and None not in asked.range[1:3]
        after = hasattr(piece, "parts") and asked.time_after(path, piece)
        keeps = piece.direction and (not after or after[1] and after[0].direction > 0)
        return bool(field == piece.field and (between or keeps))

    def has_unfit(self, asked):
        for path in [*self.table.paths.values(), *([self.table.association] if self.table.association else [])]:
            if path.can_be_empty():
                return True
            for piece in path.pieces:
                for name in (piece.field, *getattr(piece, "also", ())):
                    for one in asked.bounds().get(name, []):
                        if piece.kind == "clock" and not (piece.takes_time(one) if name == piece.field else piece.takes_also(name, one)):
                            return True
                        if piece.kind == "field" and not piece.fits(one):
                            return True
                if getattr(piece, "encodes_time", False):
                    per_second = UNITS[self.table.time.unit]
                    if not all(piece.takes_time(one * 1000 // per_second) for one in asked.bounds().get("at", [])):
                        return True
        return False

    def read_all(self, asked, carriers):
        """All rows; each page can be read by another client."""
        page = self.data.scan(self.query(asked))
        found, pages, scanned = [], 0, 0
        while True:
            pages += 1
            expect(page.rows_returned == len(page.rows) <= (asked.page_rows or 10000), "rows in a page:", page.rows_returned)
            expect(pages < 20000, "pages without end")
            found += [plain(row) for row in page.rows]
            scanned += page.rows_scanned
            if page.cursor is None:
                expect(scanned >= len(found), scanned, "rows scanned for", len(found))
                return found, pages
            page = self.chance.choice(carriers).nextPage(page.cursor, Options())

    def ask(self):
        asked = self.random_query()
        with error_context(asked, self.table):
            explained = self.explain(asked)
            if explained is None:
                return
            wanted, path = asked.expected(self.model), self.table.paths[explained.path]
            expect(asked.path in (None, path.name), "path", path.name)
            expect(explained.ranges or not wanted, "no ranges for", len(wanted), "rows")
            found, pages = self.read_all(asked, [self.data])
            self.judge_rows(asked, path, found, wanted)
            asked.path = path.name
            self.ask_otherwise(asked, found)
        windows = any(WINDOWS in note for note in explained.notes or [])
        tally["queries"] += 1
        tally["queries in windows"] += windows
        tally["queries with widened ranges"] += any(note.startswith(WIDENED) for note in explained.notes or [])
        tally["... with rows"] += windows and bool(found)
        tally["rows answered"] += len(found)
        tally["pages"] += pages

    def judge_rows(self, asked, path, found, wanted):
        names = [self.names_shown(asked, row, wanted) for row in found]
        doubles = [one for one, times in collections.Counter(names).items() if times > 1]
        expect(not doubles, "rows returned twice:", doubles)
        most = len(wanted) if asked.limit is None else min(asked.limit, len(wanted))
        expect(len(names) == most, len(names), "rows, not", most, "missing:", set(wanted) - set(names))
        asked.judge_order(path, [wanted[one].record() for one in names])

    def names_shown(self, asked, row, wanted):
        """The identity of a returned record; its content is compared elsewhere."""
        names = self.table.names_of(row)
        expect(names in wanted, "a row that does not match the query:", row)
        shown = asked.shown(wanted[names].record())
        expect(canon(row) == canon(shown), "row", row, "is not", shown)
        return names

    def ask_otherwise(self, asked, found):
        """Runs the query again with other pages, clients and gateways: the same rows in the same order."""
        limit = asked.limit
        for _ in range(2):
            asked.page_rows = self.chance.choice([None, 3, 10, 40] if len(found) < 60 else [None, 20, 100])
            asked.page_bytes = self.chance.choice([None, None, 500])
            asked.limit = limit if limit else self.chance.choice([None, None, 1, 4, 30])
            if not asked.full_scan:
                asked.limit = limit  # without a limit the query did not read the whole table
            again, _ = self.read_all(asked, [self.data, *self.others] if self.others else [self.data])
            expect(again == (found if asked.limit is None else found[:asked.limit]), "asked", asked, "answers", again, "not", found)
        asked.limit = limit
        tally["asked otherwise"] += 2

    def ask_while_writing(self):
        """Writes between pages: a row that exists during the whole scan is returned once, in its place."""
        asked = self.random_query()
        asked.limit, asked.columns, asked.page_rows = None, None, self.chance.randint(1, 5)
        with error_context(asked, self.table):
            explained = self.explain(asked)
            if explained is None:
                return
            before, since, found = asked.expected(self.model), self.model.clock, []
            for page in self.pages(asked, lambda: self.write() if self.chance.random() < 0.5 else None):
                found += [plain(row) for row in page.rows]
            after = asked.expected(self.model)
            names = [self.table.names_of(row) for row in found]
            expect(len(set(names)) == len(names), "rows returned twice while writing:", names)
            stable = {one for one, row in after.items() if one in before and row.touched <= since}
            expect(stable <= set(names), "missed while writing:", stable - set(names))
            asked.judge_order(self.table.paths[explained.path], found)
        tally["scans while writing"] += 1

    # --- scans that other gateways continue ---

    def begin_walk(self):
        """A scan to continue after a restart, and its expected rows; None if it ends with the first page."""
        asked = self.random_query()
        asked.full_scan = True
        with error_context(asked, self.table):
            explained = self.explain(asked)
            if explained is None:
                return None
            asked.page_rows = None
            asked.path = explained.path
            whole, _ = self.read_all(asked, [self.data])
            asked.page_rows = self.chance.randint(1, 9)
            page = self.data.scan(self.query(asked))
        return (asked, whole, page) if page.cursor else None

    def end_walk(self, asked, whole, page):
        between = asked.range and asked.range[0] == "at" and None not in asked.range[1:3]
        with error_context(asked, self.table):
            found = [plain(row) for row in page.rows]
            while page.cursor is not None:
                try:
                    page = self.data.nextPage(page.cursor, None)
                except KeywayError as error:
                    expect(error.code == Code.LIMIT and self.list_values < 1000 and not between, error)
                    tally["over a restart, refused: limit"] += 1
                    return
                found += [plain(row) for row in page.rows]
            expect(found == whole, "over a restart", found, "not", whole)
        tally["scans over a restart"] += 1
