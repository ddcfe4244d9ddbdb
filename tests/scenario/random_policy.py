"""Random tables for random_queries.py: fields with small pools of difficult values, and key rules with every kind of
component, written as YAML.

The properties of encodings (which values fit, whether order is kept) follow keyway-policy(5), not the gateway's code:
they are one side of the comparison.
"""
import json
import math
import struct

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
INT64 = (-2**63, 2**63 - 1)
WORDS = ["", "a", "A1", "A1x", "A10", "A100", "b|c", "é", "éa", "日本", "\U0001f600", "~", "zz", "a\0b", "\0", "a\x01"]
LETTERS = "aAb1é|~"


def rank(found):
    """The position of a value in the order of its type; values with equal ranks are equal, such as -0.0 and 0.0."""
    if isinstance(found, str):
        return found.encode()
    if isinstance(found, float):
        bits = struct.unpack(">q", struct.pack(">d", found + 0.0))[0]  # -0.0 + 0.0 is 0.0
        return bits if bits >= 0 else -2**63 - bits - 1
    return found


def fits_float(real):
    return math.isinf(real) or abs(real) < 3.4e38 and struct.unpack(">f", struct.pack(">f", real))[0] == real


# --- fields -----------------------------------------------------------------------------------------

class Field:
    """A field of a table. pool: the values of records and queries."""

    def __init__(self, name, kind, pool, **more):
        self.name = name
        self.kind = kind
        self.pool = pool
        self.unit = more.get("unit")
        self.form = more.get("form")
        self.values = more.get("values")
        self.max_bytes = more.get("max_bytes")
        self.column = more.get("column")
        self.coarse = more.get("coarse")  # the resolution of the keys
        self.counter = more.get("counter", False)
        self.identity = False
        self.stored = True

    @property
    def step(self):
        """Values within one step are equal in a key."""
        return UNITS[self.unit] // UNITS[self.coarse] if self.coarse else 1

    def text(self):
        parts = [f"type: {self.kind}"]
        if self.unit:
            parts.append(f"unit: {self.unit}")
        for name in ("form", "column", "max_bytes"):
            if getattr(self, name):
                parts.append(f"{name}: {json.dumps(getattr(self, name))}")
        if self.counter:
            parts.append("counter: true")
        if self.values:
            parts.append("values: [" + ", ".join(json.dumps(str(one)) for one in self.values) + "]")
        return f"{self.name}: {{{', '.join(parts)}}}"

    def takes(self, found):
        """True if it is a value of this field, independent of the keys."""
        if self.kind == "bool":
            good = isinstance(found, bool)
        elif self.kind in ("int", "timestamp"):
            good = isinstance(found, int) and not isinstance(found, bool)
            good = good and not (self.stored and self.form == "raw4" and not -2**31 <= found < 2**31)
        elif self.kind == "double":
            good = isinstance(found, float)
        else:
            good = isinstance(found, str if self.kind == "string" else bytes)
            good = good and (not self.max_bytes or len(rank(found)) <= self.max_bytes)
        return good and (not self.values or found in self.values)


def some(chance, choices, least, most):
    return [chance.choice(choices) for _ in range(chance.randint(least, most))]


def text_pool(chance):
    """Strings with common prefixes."""
    stem = "".join(some(chance, LETTERS, 0, 3))
    made = {stem + "".join(some(chance, LETTERS, 0, 3)) for _ in range(5)}
    return sorted(made | set(some(chance, WORDS, 1, 4)))


def digit_pool(chance, width):
    stem = "".join(some(chance, "019", 0, width - 1))
    return sorted({(stem + "".join(some(chance, "0123456789", width, width)))[:width] for _ in range(6)})


def bytes_pool(chance, width=None):
    alphabet = [0, 0, 1, 0x7f, 0x80, 0xfe, 0xff, 0xff]
    return sorted({bytes(some(chance, alphabet, width or 0, width or 4)) for _ in range(7)})


def int_pool(chance):
    kind = chance.randrange(4)
    if kind == 0:
        return sorted({*INT64, -1, 0, 1, 2**31 - 1, 2**31, -2**31, chance.randint(*INT64)})
    if kind == 1:
        return sorted({chance.randint(-128, 127) for _ in range(7)})
    if kind == 2:
        start = chance.choice([0, 7, 1000, 2**31 - 8, 10**12])
        return [start + i for i in range(chance.randint(3, 8))]
    return sorted({chance.choice([0, 1, 9, 10, 99, 10**9, 2**31 - 1, 10**18, 2**63 - 1]) for _ in range(6)})


def time_pool(chance, unit):
    start = chance.choice([0, 1795255200, -5]) * UNITS[unit]
    step = chance.choice([1, 7, UNITS[unit] // 2 or 1, UNITS[unit]])
    return sorted({start + chance.randint(-4, 8) * step + chance.choice([0, 0, 1]) for _ in range(8)})


def real_pool(chance):
    choices = [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 1e300, -1e300, 0.1, 5e-324, math.inf, -math.inf, float(2**53), 3.0]
    return sorted(set(some(chance, choices, 3, 7)), key=rank)


def random_field(chance, name, for_key):
    kind = chance.choice(["string"] * 4 + ["int"] * 3 + ["timestamp"] * 3 + ["bytes", "bytes", "double", "bool"])
    more = {}
    if kind == "string":
        style = chance.randrange(6)
        if style == 0:
            pool = digit_pool(chance, chance.choice([2, 4, 11]))
        elif style == 1:
            more["values"] = chance.sample(["new", "paid", "sent", "back", "été", "x y"], chance.randint(2, 5))
            pool = more["values"]
        elif style == 2:
            pool = [f"{chance.choice('0a')}0000000-0000-4000-8000-{chance.choice('0f')}000000000{i:02x}"
                    for i in range(5)]
        else:
            pool = text_pool(chance)
        if chance.random() < 0.2:
            more["max_bytes"] = max(8, max(len(rank(one)) for one in pool))
    elif kind == "bytes":
        pool = bytes_pool(chance, chance.choice([None, 1, 3]))
    elif kind == "int":
        pool = int_pool(chance)
        if chance.random() < 0.2:
            more["values"] = pool = chance.sample([-3, 0, 1, 2, 10, 20, 2**40], chance.randint(2, 5))
    elif kind == "timestamp":
        more["unit"] = chance.choice(list(UNITS))
        pool = time_pool(chance, more["unit"])
        coarser = [unit for unit in UNITS if UNITS[unit] < UNITS[more["unit"]]]
        if for_key and coarser and chance.random() < 0.3:
            more["coarse"] = chance.choice(coarser)
            more["column"] = f"d:{name}"
    elif kind == "double":
        pool = real_pool(chance)
    else:
        pool = [False, True]
    if kind in ("int", "double", "bool", "timestamp") and chance.random() < 0.25:
        more["form"] = "text"
    if kind == "int" and all(-2**31 <= one < 2**31 for one in pool) and chance.random() < 0.2:
        more["form"] = "raw4"
    if "column" not in more and chance.random() < 0.15:
        more["column"] = f"{chance.choice('de')}:{name}_"
    more["counter"] = (kind == "int" and not for_key and not more.keys() & {"form", "values"}
                       and chance.random() < 0.6)
    return Field(name, kind, pool, **more)


# --- components -------------------------------------------------------------------------------------

class Piece:
    """One component of a rule. direction: 1 or -1 if the bytes ascend or descend with its field, otherwise 0."""

    def __init__(self, kind, text, inputs=(), field=None, direction=0, fixed=True, delimited=True, fits=None):
        self.kind = kind  # field, enum, literal, hash, buckets, chosen, rest
        self.text = text
        self.inputs = inputs
        self.field = field
        self.direction = direction
        self.fixed = fixed
        self.delimited = delimited
        self.fits = fits or (lambda found: True)


def number_encodings(field):
    step = field.step

    def within(least, most):
        return lambda found: least <= found // step <= most and found // step * step >= INT64[0]
    most = {1: 127, 2: 2**15 - 1, 4: 2**31 - 1, 8: 2**63 - 1}
    for width in (8, 4, 2, 1):
        yield "int", width, within(-most[width] - 1, most[width]), 0
        yield "phoenix", width, within(-most[width] - 1, most[width]), 0
        yield "ordered", width + 1, within(-most[width] - 1, most[width]), 0
        yield "raw_int", width, within(0, most[width]), 0
        if width >= 4:
            yield "max_minus", width, within(0, most[width]), -1
    for width in (19, 12, 10, 3):
        yield "decimal", width, within(0, min(10**width - 1, INT64[1])), 0
    yield "max_minus_decimal", 19, within(0, most[8]), -1
    yield "max_minus_decimal", 10, within(0, most[4]), -1


def text_encodings(field):
    """(encoding, settings, fits, fixed, delimited, ordered)"""
    longest = max(1, max(len(rank(one)) for one in field.pool))
    yield "raw", {}, None, False, False, True
    if field.kind == "bytes":
        yield "fixed", {"width": longest}, lambda found: len(found) == longest, True, True, True
        yield "ordered", {}, None, False, True, False  # HBase's blob_var does not keep the order
        yield "terminated", {}, lambda found: 0 not in found, False, True, True
        return
    yield "terminated", {}, lambda found: "\0" not in found, False, True, True
    yield "terminated", {"terminator": "|"}, lambda found: "|" not in found, False, True, False
    yield "ordered", {}, lambda found: "\0" not in found, False, True, True
    yield ("fixed", {"width": longest + 1},
           lambda found: len(found.encode()) <= longest + 1 and not found.endswith("\0"), True, True, True)
    yield ("digits", {"width": longest},
           lambda found: len(found) == longest and found.isascii() and found.isdigit(), True, True, True)
    if longest % 2 == 0:
        yield ("hex", {"width": longest // 2},
               lambda found: len(found) == longest and all(one in "0123456789abcdef" for one in found), True, True, True)
    if longest == 36:
        yield "uuid", {}, lambda found: len(found) == 36 and found.count("-") == 4, True, True, True


def field_pieces(field, last, tail_fixed, known):
    """All components for this field that can encode all, or nearly all, values of its pool."""
    if field.kind in ("int", "timestamp"):
        for name, width, fits, natural in number_encodings(field):
            for order in ("", "desc") if not natural else ("",):
                direction = -1 if order or natural else 1
                extra = f", unit: {field.coarse}" if field.coarse else ""
                yield field_piece(field, name, {"width": width}, order, extra, direction, fits)
                if name == "decimal" and not order:
                    yield field_piece(field, name, {"width": width}, order, extra + ", reverse: true", 0, fits)
    elif field.kind == "double":
        for name, width in (("double", None), ("float", None), ("phoenix", 8), ("phoenix", 4), ("ordered", 9), ("ordered", 5)):
            small = name == "float" or width in (4, 5)
            for order in ("", "desc"):
                yield field_piece(field, name, {"width": width} if width else {}, order, "", -1 if order else 1,
                                  fits_float if small else None)
    elif field.kind == "bool":
        for name in ("bool", "raw_bool"):
            for order in ("", "desc"):
                yield field_piece(field, name, {}, order, "", -1 if order else 1, None)
    else:
        for name, settings, fits, fixed, delimited, ordered in text_encodings(field):
            if name == "raw" and not last and not tail_fixed:
                continue
            for order in ("", "desc") if ordered and name != "raw" or name == "ordered" else ("",):
                direction = (-1 if order else 1) if ordered and (name != "raw" or last) else 0
                yield field_piece(field, name, settings, order, "", direction, fits, fixed, delimited)
            if name == "digits":
                yield field_piece(field, name, settings, "", ", reverse: true", 0, fits, fixed, delimited)
    if field.kind == "bool" or field.values:
        yield Piece("enum", f"enum: {field.name}", (field.name,), field.name)
        texts = ["false", "true"] if field.kind == "bool" else [str(one) for one in field.values]
        if not any(a != b and b.startswith(a) for a in texts for b in texts):
            fixed = len({len(one.encode()) for one in texts}) == 1
            yield Piece("enum", f"enum: {{field: {field.name}, as: text}}", (field.name,), field.name, fixed=fixed)


def field_piece(field, encoding, settings, order, extra, direction, fits, fixed=True, delimited=True):
    text = f"field: {{name: {field.name}, encoding: {encoding}"
    for name, setting in settings.items():
        text += f", {name}: {json.dumps(setting)}"
    text += (f", order: {order}" if order else "") + extra + "}"
    made = Piece("field", text, (field.name,), field.name, direction, fixed, delimited, fits)
    made.encoding = encoding
    return made


def bucket_settings(chance):
    buckets = chance.choice([2, 3, 4, 7, 16])
    return f"buckets: {buckets}" + chance.choice(["", "", ", as: hex", ", as: decimal", ", as: byte, width: 2"]), buckets


def decoration(chance, fields, can_rest):
    """A component without a field, and its number of buckets."""
    names = [field.name for field in fields if not field.coarse]
    numbers = [field.name for field in fields if field.kind in ("int", "timestamp") and not field.coarse]
    kind = chance.choice(["literal", "literal", "hash", "hash", "salt", "salt", "java", "rest", "mod"])
    settings, buckets = bucket_settings(chance)
    if kind == "rest" and can_rest:
        return Piece("rest", f"salt: {{algorithm: {chance.choice(['phoenix', 'hbasewd'])}, {settings}}}"), buckets
    if kind == "java" and numbers:
        name = chance.choice(numbers)
        return Piece("buckets", f"salt: {{algorithm: java_long, of: {name}, {settings}}}", (name,)), buckets
    if kind == "mod" and numbers:
        name = chance.choice(numbers)
        return Piece("buckets", f"mod: {{of: {name}, {settings}}}", (name,)), buckets
    if kind in ("hash", "salt") and names:
        of = chance.sample(names, chance.randint(1, min(2, len(names))))
        if kind == "salt":
            return Piece("buckets", f"salt: {{of: [{', '.join(of)}], {settings}}}", of), buckets
        more = chance.choice(["", ", algorithm: md5", ", algorithm: murmur3", ", algorithm: xxh64, as: bytes, take: 2",
                              ", take: 8, numbers: text", ", algorithm: md5, take: 32"])
        return Piece("hash", f"hash: {{of: [{', '.join(of)}]{more}}}", of), 1
    return Piece("literal", "literal: " + json.dumps(chance.choice(["|", "-", "\\x00", "\\xFF", "t1"]))), 1


def chosen_salt(chance):
    """A bucket that the record does not determine."""
    algorithm = chance.choice(["random", "round_robin"])
    return Piece("chosen", f"salt: {{algorithm: {algorithm}, buckets: {chance.choice([2, 3, 4])}}}")


# --- paths and tables -------------------------------------------------------------------------------

class Path:
    def __init__(self, name, pieces):
        self.name = name
        self.pieces = pieces

    def fits(self, record):
        return all(piece.fits(record[piece.field]) for piece in self.pieces if piece.kind == "field")

    def can_be_empty(self):
        return all(getattr(piece, "encoding", None) == "raw" for piece in self.pieces)

    def is_chosen(self):
        return any(piece.kind == "chosen" for piece in self.pieces)

    def has_raw_inside(self):
        return any(not piece.fixed and not piece.delimited for piece in self.pieces[:-1])


def random_path(chance, name, fields, known):
    """Draws the components from last to first, because a component depends on those after it."""
    order = chance.sample(fields, len(fields))
    pieces, tail_fixed, product = [], True, 1
    for field in reversed(order):
        fitting = [piece for piece in field_pieces(field, not pieces, tail_fixed, known)
                   if piece.kind == "enum" or piece.encoding in known]
        share = {id(piece): sum(piece.fits(one) for one in field.pool) / len(field.pool) for piece in fitting}
        good = [piece for piece in fitting if share[id(piece)] == 1] or fitting
        if chance.random() < 0.15:
            good = [piece for piece in fitting if share[id(piece)] >= 0.5] or good
        pieces.insert(0, chance.choice(good))
        tail_fixed = tail_fixed and pieces[0].fixed
        if chance.random() < 0.4:
            extra, buckets = decoration(chance, fields, True)
            if product * buckets <= 64:
                product *= buckets
                pieces.insert(0, extra)
    return Path(name, pieces)


class Table:
    def __init__(self, chance, name, known):
        self.name = name
        identity = [random_field(chance, f"k{i}", True) for i in range(chance.choice([1, 2, 2, 3, 3, 4]))]
        others = [random_field(chance, f"v{i}", False) for i in range(chance.randint(0, 4))]
        for field in identity:
            field.identity = True
            field.stored = field.column is not None
        self.fields = {field.name: field for field in identity + others}
        self.identity = [field.name for field in identity]
        names = ["primary", "second", "third"][:chance.choice([1, 1, 2, 2, 3])]
        self.paths = {path: random_path(chance, path, identity, known) for path in names}
        self.association = None
        for path in self.paths.values():
            if chance.random() < 0.2:
                path.pieces.insert(0, chosen_salt(chance))
                self.association = self.association or random_path(chance, "where", identity, known)
        self.single = len(names) == 1

    def yaml(self):
        lines = [f"  {self.name}:", "    fields:"]
        lines += [f"      {field.text()}" for field in self.fields.values()]
        for name, path in self.paths.items():
            if name == "second":
                lines.append("    paths:")
            at = "    " if name == "primary" else "        "
            if name != "primary":
                lines.append(f"      {name}:")
            lines.append(f"{at}key:")
            lines += [f"{at}  - {piece.text}" for piece in path.pieces]
        if self.association:
            lines += [] if len(self.paths) > 1 else ["    paths:"]
            lines += ["      where:", "        association: true", "        key:"]
            lines += [f"          - {piece.text}" for piece in self.association.pieces]
        return "\n".join(lines) + "\n"

    def alike(self, name, a, b):
        """True if the keys contain both as one value; None if they contain the field exactly or not at all."""
        field = self.fields[name]
        return rank(a) // field.step == rank(b) // field.step if field.coarse and name in self.identity else None

    def names_of(self, record):
        """The identity of a record as the keys contain it."""
        return tuple(rank(record[name]) // self.fields[name].step if self.fields[name].coarse else rank(record[name])
                     for name in self.identity)

    def fits(self, record):
        """True if the record has a key in every path."""
        if any(name not in record for name in self.identity):
            return False
        if not all(self.fields[name].takes(found) for name, found in record.items()):
            return False
        return all(path.fits(record) and not (path.can_be_empty() and not any(rank(record[name]) for name in self.identity))
                   for path in [*self.paths.values(), *([self.association] if self.association else [])])
