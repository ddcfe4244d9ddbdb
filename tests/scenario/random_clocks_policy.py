"""Random tables whose keys contain calendar units, bits and generated values, for random_clocks.py.

The parts about local time follow keyway-policy(5) and use Python's own datetime and zoneinfo, not the gateway's code: they
are one side of the comparison.
"""
import datetime
import functools
import os
import time
import zoneinfo

from random_policy import UNITS, Field, Path, Piece, Table, chosen_salt, decoration, field_pieces, rank, text_pool

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
DAY = 86400
NOW = int(os.environ.get("KW_NOW", time.time())) // DAY * DAY  # a seed gives the same run during a whole day
ZONES = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Shanghai", "+05:30", "America/St_Johns",
         "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia"]
COARSE_TO_FINE = ["yyyy", "yy", "MM", "DDD", "dd", "HH", "mm", "ss", "SSS"]
DIGITS = {"yyyy": 4, "yy": 2, "DDD": 3, "SSS": 3}
SECONDS = {"yyyy": 365 * DAY, "yy": 365 * DAY, "MM": 28 * DAY, "DDD": DAY, "dd": DAY, "HH": 3600, "mm": 60, "ss": 1, "SSS": 0.001}
CALENDARS = ["yyyy MM", "yyyy MM dd", "yyyy MM dd HH", "yyyy MM dd HH mm", "yyyy MM dd HH mm", "yyyy MM dd HH mm ss",
             "yyyy MM dd HH mm ss SSS", "yyyy DDD", "yyyy DDD HH mm", "yy DDD HH", "yy MM dd HH mm"]
CIRCULAR = ["MM dd", "mm", "HH mm", "dd HH", "yyyy HH", "mm ss", "DDD"]  # some thousand units at most: an explanation lists them
ANY_TIME = [-2**62, 0, 2**62]  # until the pools exist
TTL = "30min"  # of circular tables: shorter than the shortest cycle, longer than a test


# --- time -------------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def zone_of(name):
    if name[0] in "+-":
        hours, minutes = name[1:].split(":")
        shift = datetime.timedelta(hours=int(hours), minutes=int(minutes))
        return datetime.timezone(shift if name[0] == "+" else -shift)
    return zoneinfo.ZoneInfo(name)


def local(zone, seconds):
    """The local time; None outside the years that Python supports."""
    try:
        return (EPOCH + datetime.timedelta(seconds=seconds)).astimezone(zone_of(zone))
    except OverflowError:
        return None


def offset(zone, seconds):
    return local(zone, seconds).utcoffset()


@functools.lru_cache(maxsize=None)
def changes(zone, years_back, years_on):
    """The moments at which local time jumps."""
    found, low, end = [], NOW - years_back * 365 * DAY, NOW + years_on * 365 * DAY
    while low < end:
        high = low + 7 * DAY
        if offset(zone, low) != offset(zone, high):
            a, b = low, high
            while b - a > 1:
                middle = (a + b) // 2
                a, b = (middle, b) if offset(zone, middle) == offset(zone, a) else (a, middle)
            found.append(b)
        low = high
    return found


YEAR_1992 = 694224000


@functools.lru_cache(maxsize=None)
def is_put_back(zone):
    """True if local time was put back since 1992: then a key must distinguish the two hours with the same local time."""
    return any(offset(zone, moment) < offset(zone, moment - 1) and moment >= YEAR_1992
               for moment in changes(zone, local("UTC", NOW).year - 1991, 30))


def came_twice(zone, seconds):
    """True if this local time occurred twice."""
    at = local(zone, seconds)
    return at is not None and at.replace(fold=0).utcoffset() != at.replace(fold=1).utcoffset()


def parts_of(names, zone, seconds, millis=0):
    at = local(zone, seconds)
    shown = {"yyyy": at.year, "yy": at.year % 100, "MM": at.month, "DDD": at.timetuple().tm_yday, "dd": at.day,
             "HH": at.hour, "mm": at.minute, "ss": at.second, "SSS": millis}
    return tuple(shown[name] for name in names)


def some_moment(chance, zone, near_now):
    """A second at which local time jumps, or a year or a month begins, or an arbitrary one."""
    moved = changes(zone, 6, 1) if near_now or chance.random() < 0.7 else changes(zone, 60, 60)
    if moved and chance.random() < 0.6:
        return chance.choice(moved)
    year = local("UTC", NOW).year
    leap = year - 1 - (year - 1) % 4
    days = [(year, 1, 1), (year, 2, 1), (leap, 2, 29), (leap, 12, 31), (year - 1, 7, 1)]
    if not near_now:
        days += [(1970, 1, 1), (1890, 6, 1), (1919, 3, 1), (2100, 3, 1), (2000, 1, 1), (2099, 12, 31)]
    start = datetime.datetime(*chance.choice(days), tzinfo=zone_of(zone))
    return int((start - EPOCH).total_seconds())


# --- components with a time -------------------------------------------------------------------------

class Clock(Piece):
    """A component that contains a time. `also`: other fields that it contains, which need no component of their own."""

    def __init__(self, text, field, also=(), **more):
        super().__init__("clock", text, (field.name, *also), field.name, **more)
        self.also = list(also)
        self.per_second = UNITS[field.unit] if field.unit else 1
        self.limits = {}  # of the other fields: values that fit are less
        self.before = []  # fields before the time

    def takes(self, record):
        return self.takes_time(record[self.field]) and all(self.takes_also(name, record[name]) for name in self.also)

    def takes_also(self, name, found):
        return 0 <= found < self.limits[name]

    def same_cell(self, a, b):
        """True if the two times are in the same unit and the same cycle."""
        a, b = a * 1000 // self.per_second, b * 1000 // self.per_second
        return self.cell_of(a) == self.cell_of(b) and not (abs(a - b) >= self.cell_s * 1000 and self.cell_s < 3600)


class Calendar(Clock):
    def __init__(self, chance, field, parts, zone, sequence=None):
        self.parts = sorted(parts, key=COARSE_TO_FINE.index)
        self.zone = zone
        order = list(self.parts)
        order = chance.choice([order, order, order[::-1], chance.sample(order, len(order))])
        digits, setting, limits = sum(DIGITS.get(part, 2) for part in order), "", {}
        form = chance.choice(["packed", "packed", "decimal"] if sequence else ["text", "text", "packed", "decimal"])
        if form == "decimal" and not set(order) & {"yyyy", "MM", "dd", "DDD"}:
            form = "packed"
        if sequence:
            count = chance.choice([more for more in range(sequence.fit, 7) if digits + more <= 18])
            setting, limits = f", sequence: {sequence.name}, digits: {count}", {sequence.name: 10**count}
            digits += count
        if form == "packed":
            setting += ", as: packed" + (", width: 7" if digits <= 16 and chance.random() < 0.4 else "")
        elif form == "decimal":
            setting += ", as: decimal"
        elif chance.random() < 0.4:
            setting += f', separator: "{chance.choice(["-", ":", "_-"])}"'
        text = f"calendar: {{of: {field.name}, parts: [{', '.join(order)}], zone: {zone}{setting}}}"
        plain = zone in ("UTC", "+05:30") and form != "decimal"
        rises = plain and order == self.parts and not self.gaps() and order[0] == "yyyy"
        super().__init__(text, field, limits, direction=1 if rises else 0, fixed=form != "decimal", delimited=form != "decimal")
        self.limits = limits
        self.cell_s = SECONDS[self.parts[-1]]
        self.once = False  # true: a local time that occurred twice before 1992 is rejected

    def gaps(self):
        return " ".join(self.parts) not in CALENDARS

    def takes_time(self, found):
        at = local(self.zone, found // self.per_second)
        seconds = found // self.per_second
        if at is None or self.once and seconds < YEAR_1992 and came_twice(self.zone, seconds):
            return False
        return at.year < 2199 and (2000 <= at.year <= 2099 or "yy" not in self.parts)

    def cell_of(self, ms):
        """The unit that contains a time."""
        whole = COARSE_TO_FINE[:COARSE_TO_FINE.index(self.parts[-1]) + 1]
        return parts_of(whole, self.zone, ms // 1000, ms % 1000)


class Bits(Clock):
    def __init__(self, chance, field, numbers):
        self.ms = field.unit != "s" and field.ticks == "ms"
        width = chance.choice([43, 44, 48] if self.ms else [32, 33, 36, 40])
        epoch = chance.choice([0, 0, 1_000_000_000_000, 1_577_836_800_000])
        parts = [(f"{'ms' if self.ms else 'seconds'}", width)] + [(one.name, one.fit) for one in numbers]
        chance.shuffle(parts)
        at = next(i for i, (name, _) in enumerate(parts) if name in ("ms", "seconds"))
        if chance.random() < 0.6:
            parts.insert(chance.randint(0, at), ("minute", chance.choice([6, 6, 7])))
        missing = -sum(bits for _, bits in parts) % 8
        if missing:
            fill = ("zero", missing) if chance.random() < 0.6 else (f"constant {chance.randrange(2**missing)}", missing)
            parts.insert(chance.choice([0, 0, len(parts)]), fill)
        words = ", ".join(f"{name} {bits}" for name, bits in parts)
        more = f", epoch: {epoch}" if epoch else ""
        first = next(name for name, _ in parts if not name.startswith(("zero", "constant")))
        inside = [name for name, _ in parts if name in [one.name for one in numbers]]  # in the order of the key
        super().__init__(f"bits: {{of: {field.name}, parts: [{words}]{more}}}", field, inside, direction=1 if first in ("ms", "seconds") else 0)
        self.total = sum(bits for _, bits in parts)
        self.limits = {one.name: 2**one.fit for one in numbers}
        names = [name for name, _ in parts]
        self.before = [one.name for one in numbers if names.index(one.name) < names.index("ms" if self.ms else "seconds")]
        self.first, self.most = epoch // (1 if self.ms else 1000), 2**width - 1
        self.cell_s = 1

    def takes_time(self, found):
        tick = found * (1000 if self.ms else 1) // self.per_second
        return 0 <= tick - self.first <= self.most

    def cell_of(self, ms):
        return ms if self.ms else ms // 1000


class Flake(Piece):
    """An integer generated elsewhere that contains a time."""

    def __init__(self, chance, field):
        self.partitioned = field.made["kind"] == "snowflake" and field.made.get("form") == "partitioned"
        parts, more = ("zero 1, minute 6, seconds 32, worker 9, count 16", "") if self.partitioned else (
            "zero 1, ms 41, worker 10, count 12", ", epoch: 1577836800000")
        self.encodes_time = chance.random() < 0.8
        clock = ", time: at" if self.encodes_time else ""
        super().__init__("field", f"bits: {{of: {field.name}, parts: [{parts}]{more}{clock}}}", (field.name,), field.name, 1, fits=self.right)
        self.encoding = "bits"

    def takes_time(self, ms):
        return 0 <= ms // 1000 < 2**32 if self.partitioned else 0 <= ms - 1577836800000 < 2**41

    def right(self, found):
        if not 0 <= found < 2**63:
            return False
        return not self.partitioned or found >> 57 == (found >> 25) % 2**32 // 60 % 60


def flake_time(field, found):
    """The milliseconds in a snowflake, and its resolution in milliseconds."""
    if field.made.get("form") == "partitioned":
        return (found >> 25) % 2**32 * 1000, 1000
    return (found >> 22) + 1577836800000, 1


# --- fields -----------------------------------------------------------------------------------------

class MadeField(Field):
    """A field whose values the gateway generates."""

    def __init__(self, name, kind, pool, made, **more):
        super().__init__(name, kind, pool, **more)
        self.made = made
        self.fit = 0  # digits of a sequence, or bits

    def text(self):
        settings = ", ".join(f"{name}: {setting}" for name, setting in self.made.items())
        return super().text()[:-1] + f", generate: {{{settings}}}}}"

    def refuses(self):
        return self.made.get("given") == "refuse"

    def period(self, record):
        """The period in which its numbers count."""
        per = self.made.get("per", "ever")
        if per == "ever":
            return None
        seconds = record[self.made["of"]] // self.of_unit
        names = {"second": 7, "minute": 6, "hour": 5, "day": 4, "month": 2, "year": 1}[per]
        return parts_of(["yyyy", "MM", "MM", "dd", "HH", "mm", "ss"][:names], self.made.get("zone", "UTC"), seconds)


def made_id(chance, name):
    """An id of a random kind."""
    kind = chance.choice(["uuid4", "uuid7", "objectid", "snowflake", "snowflake", "sequence"])
    made = {"kind": kind}
    if kind == "snowflake":
        made["form"] = chance.choice(["standard", "partitioned"])
        pool = [7, 2**40, 2**62, 2**63 - 1] if made["form"] == "standard" else [0, 2**25 * 59, 60 * 2**25 + 2**57]
        return MadeField(name, "int", pool, made)
    if kind == "sequence":
        made |= {"from": chance.choice([0, 1, 1000])}
        return MadeField(name, "int", [0, 3, 10**6 + 7, 2**31 - 1], made)
    size = 12 if kind == "objectid" else 16
    pool = [bytes(chance.randrange(256) for _ in range(size)) for _ in range(4)] + [b"\0" * (size - 1) + b"\x0a", b"\xff" * size]
    if chance.random() < 0.6:
        return MadeField(name, "bytes", pool, made)
    texts = [one.hex() for one in pool]
    if kind != "objectid":
        texts = [f"{one[:8]}-{one[8:12]}-{one[12:16]}-{one[16:20]}-{one[20:]}" for one in texts]
    return MadeField(name, "string", texts, made)


def count_field(chance, time_field, zone, parts, fit, per_allowed):
    """The number that distinguishes records of one unit of time: digits, or bits if parts is None."""
    most = 10**fit - 1 if parts else 2**fit - 1
    pool = sorted({0, 1, 2, 7, most, most // 2, chance.randint(0, most)})
    if chance.random() < 0.3:
        field = Field("n", "int", pool)
        field.fit = fit
        return field
    made = {"kind": "sequence", "from": 0, "to": most}
    if per_allowed and chance.random() < 0.7:
        names = {"yyyy": "year", "yy": "year", "MM": "month", "dd": "day", "DDD": "day", "HH": "hour", "mm": "minute"}
        made |= {"per": names.get(parts[-1], "second") if parts else "second", "of": time_field.name, "zone": zone}
    if chance.random() < 0.2 and "per" not in made:
        made["at_end"] = "wrap"
    if chance.random() < 0.2:
        made["given"] = "refuse"
    field = MadeField("n", "int", pool, made)
    field.of_unit = UNITS[time_field.unit]
    field.fit = fit
    return field


def other_made(chance, time_field):
    """A generated field that is part of no key."""
    kind = chance.choice(["id", "id", "now", "sequence"])
    if kind == "now":
        return MadeField("stamp", "timestamp", [0, 1, NOW], {"kind": kind}, unit=chance.choice(list(UNITS)))
    if kind == "sequence":
        made = {"kind": kind, "from": 1, "to": 10**9, "per": "hour", "of": time_field.name}
        if chance.random() < 0.5 or not time_field.near_now:
            made = {"kind": kind, "from": 5}
        field = MadeField("number", "int", [1, 5], made)
        field.of_unit = UNITS[time_field.unit]
        return field
    return made_id(chance, "uid")


# --- tables -----------------------------------------------------------------------------------------

class ClockPath(Path):
    def fits(self, record):
        return all(piece.takes(record) if piece.kind == "clock" else piece.fits(record[piece.field])
                   for piece in self.pieces if piece.kind in ("clock", "field"))

    def clock(self):
        return next((piece for piece in self.pieces if piece.kind == "clock"), None)


class ClockTable(Table):
    """mode: calendar or bits, of the field `at`; flake, of a number that contains the time `at`."""

    def __init__(self, chance, name, known, small):
        self.name = name
        self.chance, self.known = chance, known
        self.mode = chance.choice(["calendar"] * 5 + ["bits"] * 2 + ["flake"])
        self.zone = chance.choice(ZONES)
        self.near_now = chance.random() < 0.7
        self.circular = self.mode == "calendar" and chance.random() < 0.25
        self.parts = chance.choice(CIRCULAR if self.circular else CALENDARS).split()
        self.exact = self.mode != "flake" and chance.random() < 0.35
        self.buckets = 1
        self.draw_time()
        self.draw_fields()
        while self.is_fine() and is_put_back(self.zone) and not self.separates_repeated_hours():
            self.zone = chance.choice(ZONES)
        names = ["primary", "second"][:chance.choice([1, 2])]
        self.paths = {path: self.draw_path(path) for path in names}
        self.association = None
        if chance.random() < 0.12 and not small:
            self.paths["primary"].pieces.insert(0, chosen_salt(chance))
            self.association = self.draw_path("where")
        for path in [*self.paths.values(), *([self.association] if self.association else [])]:
            for piece in path.pieces:
                if isinstance(piece, Calendar):
                    piece.once = piece.cell_s < DAY and not self.separates_repeated_hours()
        self.single = len(names) == 1
        for name in self.identity:  # a field that a key contains exactly needs no column
            held = any(piece.kind in ("field", "enum") and piece.field == name and not isinstance(piece, Flake)
                       for piece in self.paths["primary"].pieces)
            self.fields[name].stored = self.fields[name].column is not None or not held
        self.make_pools()

    def draw_time(self):
        chance = self.chance
        units = ["ms"] if "SSS" in self.parts and chance.random() < 0.5 else ["ms", "us", "ns"] if "SSS" in self.parts else list(UNITS)
        self.time = Field("at", "timestamp", ANY_TIME, unit=chance.choice(units), column="d:at")
        if self.mode == "calendar" and self.near_now and chance.random() < 0.15:
            self.time = MadeField("at", "timestamp", ANY_TIME, {"kind": "now"}, unit=self.time.unit, column="d:at")
        if self.mode == "flake":
            self.time = Field("at", "timestamp", ANY_TIME, unit=chance.choice(["ms", "us"]))
        elif self.exact and chance.random() < 0.5:
            self.time.column = None
        self.time.ticks = chance.choice(["ms", "s"])
        self.time.near_now = self.near_now and self.mode != "flake"

    def draw_fields(self):
        chance, identity = self.chance, []
        if self.mode == "flake":
            made = {"kind": "snowflake", "form": chance.choice(["partitioned", "partitioned", "standard"])}
            identity.append(MadeField("id", "int", [], made))
        else:
            identity.append(self.time)
            self.draw_counts(identity)
        if chance.random() < 0.5:
            identity.append(Field("who", "string", text_pool(chance)))
        if chance.random() < 0.3:
            values = ["new", "open", "done"]
            identity.append(Field("state", "string", values, values=values))
        if self.mode != "flake" and chance.random() < 0.35:
            identity.append(made_id(chance, "id"))
        for field in identity:
            field.identity = True
        others = [Field("note", "string", ["", "a", "b", "zebra"]), Field("size", "int", [0, 1, -5, 2**40, 77])]
        others += [self.time] if self.mode == "flake" else []
        others += [other_made(chance, self.time)] if chance.random() < 0.4 else []
        self.fields = {field.name: field for field in identity + others}
        self.identity = [field.name for field in identity]
        self.made = {field.name: field for field in self.fields.values() if isinstance(field, MadeField)}

    def draw_counts(self, identity):
        """Numbers that share a component with the time."""
        chance = self.chance
        if self.mode == "bits":
            if chance.random() < 0.8:
                identity.append(count_field(chance, self.time, "UTC", None, chance.choice([4, 8, 12]), self.near_now))
            if chance.random() < 0.4:
                worker = Field("w", "int", [0, 1, 2, 7])
                worker.fit = 3
                identity.append(worker)
        elif chance.random() < 0.7:
            digits = sum(DIGITS.get(part, 2) for part in self.parts)
            fit = chance.choice([fit for fit in (1, 2, 3, 4, 5) if digits + fit <= 18][-3:])
            identity.append(count_field(chance, self.time, self.zone, self.parts, fit, self.near_now))

    def clock_piece(self, fields):
        """The component with the time, and its other fields."""
        chance, counts = self.chance, [field for field in fields if field.name in ("n", "w")]
        if self.mode == "flake":
            return Flake(chance, self.fields["id"])
        if self.mode == "bits" and (self.exact or self.time.ticks == "ms" or chance.random() < 0.8):
            piece = Bits(chance, self.time, [one for one in counts if chance.random() < 0.8])
            return piece if piece.total <= 64 else Bits(chance, self.time, [])
        parts = self.parts
        if self.mode == "bits":  # in UTC, seconds determine these units
            return Calendar(chance, self.time, "yyyy MM dd HH mm ss".split(), "UTC")
        if self.exact and chance.random() < 0.5:
            parts = chance.choice([one for one in CALENDARS if "SSS" not in one]).split()
        with_count = self.mode == "calendar" and counts and chance.random() < 0.75 and parts is self.parts
        return Calendar(chance, self.time, parts, self.zone, counts[0] if with_count else None)

    def draw_path(self, name):
        """Draws the components from last to first, because a component depends on those after it."""
        chance = self.chance
        fields = [self.fields[one] for one in self.identity]
        clock = self.clock_piece(fields)
        held = {clock.field, *getattr(clock, "also", ())} - ({"at"} if self.exact else set())
        loose = [field for field in fields if field.name not in held]
        pieces, tail_fixed, product = [], True, 1
        order = chance.sample([clock, *loose], len(loose) + 1)
        if not clock.fixed:  # its end cannot be determined, so it is the last component
            order = [one for one in order if one is not clock] + [clock]
        for one in reversed(order):
            piece = one if one is clock else self.field_piece(one, not pieces, tail_fixed)
            pieces.insert(0, piece)
            tail_fixed = tail_fixed and piece.fixed
            if chance.random() < 0.3:
                extra, buckets = decoration(chance, loose, True)
                if product * buckets <= (2 if self.circular else 16):
                    product *= buckets
                    pieces.insert(0, extra)
        self.buckets = max(self.buckets, product)
        return ClockPath(name, pieces)

    def field_piece(self, field, last, tail_fixed):
        fitting = [piece for piece in field_pieces(field, last, tail_fixed, self.known)
                   if piece.kind == "enum" or piece.encoding in self.known]
        good = [piece for piece in fitting if all(piece.fits(one) for one in field.pool)]
        return self.chance.choice(good or [piece for piece in fitting if any(piece.fits(one) for one in field.pool)])

    # --- local time that is put back ---

    def is_fine(self):
        return self.mode == "calendar" and SECONDS[self.parts[-1]] < DAY

    def separates_repeated_hours(self):
        """True if a component in every key distinguishes two times with the same local time."""
        unique = [field for name, field in self.made.items() if name in self.identity and name != "at"
                  and not field.made.get("at_end")]
        return self.exact or bool(unique)

    # --- values ---

    def make_pools(self):
        chance, per_second = self.chance, UNITS[self.time.unit]
        moments = [some_moment(chance, self.zone, self.near_now) for _ in range(chance.choice([1, 1, 2]))]
        strides = chance.sample([1, 60, 1800, 3600, DAY, 31 * DAY], 3)
        pool = {(chance.choice(moments) + chance.randint(-5, 5) * chance.choice(strides)) * per_second
                + chance.choice([0, 0, per_second - 1, -1, chance.randrange(per_second)]) for _ in range(24)}
        if "at" in self.made:
            pool = {NOW * per_second}
        self.time.pool = sorted(one for one in pool if abs(one) < 2**63)
        self.cell_s = min([piece.cell_s for path in self.paths.values() for piece in path.pieces if piece.kind == "clock"] or [60])
        if self.mode == "flake":
            self.fields["id"].pool = sorted({self.flake_of(one) for one in self.time.pool
                                                if 1600000000 <= one // per_second < 3700000000})
            self.fields["id"].pool = self.fields["id"].pool or [self.flake_of(NOW * per_second)]

    def flake_of(self, found):
        ms = found * 1000 // UNITS[self.time.unit]
        if self.fields["id"].made["form"] == "standard":
            return (ms - 1577836800000) << 22 | self.chance.randrange(2**22)
        return ms // 1000 // 60 % 60 << 57 | ms // 1000 << 25 | self.chance.randrange(2**25)

    def strange_time(self):
        """A time for which some zones have no local time."""
        edges = [-2**63, 2**63 - 1, 0, -1, 2**52, 253402300800 + 3 * DAY, -62135596800 - 3 * DAY, 946684800 - 2 * DAY, 4102444800 + 2 * DAY]
        found = self.chance.choice([0, -1] if self.time.unit == "ns" else edges)
        return max(min(found * (UNITS[self.time.unit] if abs(found) < 2**50 else 1), 2**63 - 1), -2**63)

    def names_of(self, record):
        """The identity of a record as the keys contain it."""
        return tuple(self.time_of(record["at"]) if name == "at" and not self.exact else rank(record[name]) for name in self.identity)

    def alike(self, name, a, b):
        if name != "at" or self.exact or name not in self.identity:
            return None
        per_second = UNITS[self.time.unit]
        if any(local(self.zone, one // per_second) is None for one in (a, b)):
            return False
        return self.time_of(a) == self.time_of(b)

    def time_of(self, found):
        per_second = UNITS[self.time.unit]
        if self.mode == "bits":
            return found * (1000 if self.time.ticks == "ms" and self.time.unit != "s" else 1) // per_second
        return parts_of(self.parts, self.zone, found // per_second, found * 1000 // per_second % 1000)

    def fits(self, record):
        if not super().fits(record):
            return False
        paths = [*self.paths.values(), *([self.association] if self.association else [])]
        if self.mode == "flake" and "at" in record and any(getattr(piece, "encodes_time", False) for path in paths for piece in path.pieces):
            ms, step = flake_time(self.fields["id"], record["id"])
            return ms // step == record["at"] * 1000 // UNITS[self.time.unit] // step
        return True

    def yaml(self):
        head, rest = super().yaml().split("\n", 1)
        if self.circular:
            head += f"\n    major_compaction: 1min\n    families: {{d: {{ttl: {TTL}}}}}"
        return head + "\n" + rest
