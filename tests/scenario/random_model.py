"""The contents of a table and the results of queries, by brute force: the expected side of random_queries.py."""
import math
import struct
from random_policy import rank


def canonical(found):
    """Equal exactly if the gateway must return the same value. It returns 0.0 for -0.0."""
    return ("real", struct.pack(">d", found + 0.0)) if isinstance(found, float) else (type(found).__name__, found)


def cell_bytes(field, found):
    """The stored form, for conditions, as keyway-policy(5) describes it under `form`."""
    if isinstance(found, (str, bytes)):
        return rank(found) if isinstance(found, str) else found
    if field.form == "text":
        if isinstance(found, bool):
            return b"true" if found else b"false"
        return str(found).encode() if isinstance(found, int) else None  # a double has several texts
    if isinstance(found, bool):
        return b"\xff" if found else b"\0"
    if isinstance(found, int):
        return struct.pack(">i" if field.form == "raw4" else ">q", found)
    return struct.pack(">d", found + 0.0)


class Row:
    def __init__(self, keys):
        self.keys = keys      # identity fields without a column
        self.cells = {}       # field name to value
        self.marker = False   # the row exists although no field is stored
        self.touched = 0

    def exists(self):
        return self.marker or bool(self.cells)

    def record(self):
        return {**self.keys, **self.cells}


class Model:
    """The rows of one table by identity."""

    def __init__(self, table):
        self.table = table
        self.rows = {}
        self.removals = 0  # upper limit of removed rows that the store may still read
        self.clock = 0

    def row(self, record):
        return self.rows.get(self.table.names_of(record))

    def find(self, record):
        row = self.row(record)
        return row.record() if row else None

    def touch(self, record):
        """The row of an identity; created if it does not exist."""
        names = self.table.names_of(record)
        keys = {name: record[name] for name in self.table.identity if not self.table.fields[name].stored}
        row = self.rows.setdefault(names, Row(keys))
        self.clock += 1
        row.touched = self.clock
        return row

    def put(self, record):
        row = self.touch(record)
        stored = {name: found for name, found in record.items() if self.table.fields[name].stored}
        row.cells.update(stored)
        row.marker = row.marker or not stored

    def remove(self, record, columns=()):
        row = self.row(record)
        self.removals += 1
        self.clock += 1
        if not row:
            return
        row.touched = self.clock
        for name in columns:
            row.cells.pop(name, None)
        if not columns or not row.exists():
            del self.rows[self.table.names_of(record)]

    def meets(self, record, name, op, wanted):
        """Evaluates a condition of putIf as HBase does. A comparison with no value, or with an empty one, treats empty values
        as absent; an absent value meets no other comparison."""
        row = self.row(record)
        held = cell_bytes(self.table.fields[name], row.cells[name]) if row and name in row.cells else None
        wanted = b"" if wanted is None else cell_bytes(self.table.fields[name], wanted)
        if wanted == b"":
            return (not held) == (op != "NOT_EQUAL")
        if held is None:
            return False
        return {"LESS": held < wanted, "LESS_OR_EQUAL": held <= wanted, "EQUAL": held == wanted,
                "NOT_EQUAL": held != wanted, "GREATER_OR_EQUAL": held >= wanted, "GREATER": held > wanted}[op]


class ModelQuery:
    """A query with Python values."""

    def __init__(self, table):
        self.table = table
        self.bound = {}
        self.any = {}
        self.range = None  # field, from, to, from_inclusive, to_inclusive
        self.order = None  # "ASC", "DESC"
        self.path = None
        self.columns = None
        self.limit = None
        self.page_rows = None
        self.page_bytes = None
        self.full_scan = False

    def __str__(self):
        said = {name: held for name, held in vars(self).items() if held not in (None, {}, False) and name != "table"}
        return f"{self.table.name}: {said}"

    def bounds(self):
        return {**{name: [found] for name, found in self.bound.items()}, **self.any}

    def same(self, name, a, b):
        """True if the keys contain both as one value of the field."""
        alike = self.table.alike(name, a, b)
        return canonical(a) == canonical(b) if alike is None else alike

    def matches(self, record):
        for name, values in self.bounds().items():
            if name not in record or not any(self.same(name, record[name], one) for one in values):
                return False
        if not self.range or (self.range[1] is None and self.range[2] is None):
            return True
        name, low, high, low_in, high_in = self.range
        if name not in record:
            return False
        held = rank(record[name])
        above = low is None or (held >= rank(low) if low_in else held > rank(low))
        below = high is None or (held <= rank(high) if high_in else held < rank(high))
        return above and below

    def possible(self, field):
        """The values that the field is bound to and that it can have."""
        asked = ModelQuery(self.table)
        asked.range = self.range if self.range and self.range[0] == field else None
        return {canonical(one) for one in self.bounds().get(field, []) if asked.matches({field: one})}

    def shown(self, record):
        """The part of the record that a row of the result contains."""
        if self.columns is None or not self.columns:
            return record
        wanted = set(self.columns) | set(self.table.identity)
        return {name: found for name, found in record.items() if name in wanted}

    def expected(self, model):
        return {names: row for names, row in model.rows.items() if self.matches(row.record())}

    def order_in(self, path):
        """("field", place): ordered by the field of that component; ("key", 0): by the row key; ("unknown", 0): by a
        row key with a bucket that the record does not determine; None: unordered."""
        known = set(self.bounds())
        by_key = ("unknown" if path.is_chosen() else "key", 0)
        if all(piece.field in known for piece in path.pieces if piece.kind == "field"):
            return by_key
        for place, piece in enumerate(path.pieces):
            if piece.kind == "field":
                if piece.field not in known:
                    return ("field", place) if piece.direction else None
            elif piece.kind == "enum":
                known.add(piece.field)
            elif piece.kind == "hash" and not set(piece.inputs) <= known:
                return None
        return by_key

    def key_direction(self, path):
        """If all fields are bound: the direction in row keys of the first field with several values."""
        for piece in path.pieces:
            if piece.kind in ("field", "enum") and len(self.possible(piece.field)) > 1:
                return -1 if piece.kind == "field" and piece.direction < 0 else 1
        return 1

    def descends(self, path):
        """True if the result descends by the bytes that order it."""
        ordered = self.order_in(path)
        if self.order is None or ordered is None:
            return False
        direction = path.pieces[ordered[1]].direction if ordered[0] == "field" else self.key_direction(path)
        return (self.order == "DESC") == (direction > 0)


def random_neighbor(chance, found):
    """A value that is close, or far away."""
    if isinstance(found, bool):
        return not found
    if isinstance(found, int):
        near = found + chance.choice([-1, 1, -1000, 1000])
        return min(max(near, -2**63), 2**63 - 1)
    if isinstance(found, float):
        return chance.choice([math.nextafter(found, -math.inf), math.nextafter(found, math.inf), -found])
    if isinstance(found, str):
        return chance.choice([found + "a", found[:-1], found + "\0", found + "\U0010ffff", "\x01", found * 3])
    return chance.choice([found + b"\0", found[:-1], found + b"\xff", b"\xff\xff\xff\xff\xff", found * 3])
