"""The methods of the IDL and their arguments, read from the generated Python modules, and an encoder for them.

A new method, argument or member is here as soon as it is in thrift/keyway.thrift.
"""
import importlib
import pkgutil
import struct

import keyway_thrift
from thrift.Thrift import TType

ABSENT = object()  # a member that is not sent
ELEMENT, KEY, ENTRY = "[]", "{key}", "{}"  # in the path of a position: of a list; of a map

NUMBERS = {TType.BOOL: ("bool", ">b"), TType.BYTE: ("i8", ">b"), TType.I16: ("i16", ">h"), TType.I32: ("i32", ">i"),
           TType.I64: ("i64", ">q"), TType.DOUBLE: ("double", ">d")}


class Raw:
    """A value that is already encoded."""

    def __init__(self, encoded):
        self.encoded = encoded


class Repeated:
    """A list that contains one value many times, which is encoded only once."""

    def __init__(self, value, count):
        self.value, self.count = value, count


class Type:
    """kind: bool, i8, i16, i32, i64, double, text, bytes, list, map or struct. number: that of Thrift."""

    def __init__(self, number, detail):
        self.number, self.name, self.members, self.parts = number, None, [], []
        if number in NUMBERS:
            self.kind, self.form = NUMBERS[number]
        elif number == TType.STRING:
            self.kind = "text" if detail == "UTF8" else "bytes"
        elif number in (TType.LIST, TType.SET):
            self.kind, self.parts = "list", [type_of(detail[0], detail[1])]
        elif number == TType.MAP:
            self.kind, self.parts = "map", [type_of(detail[0], detail[1]), type_of(detail[2], detail[3])]
        elif number == TType.STRUCT:
            self.kind, self.name = "struct", detail[0].__name__
        else:
            raise AssertionError(f"the type {number} is new in the IDL: teach {__name__} to encode it")


STRUCTS = {}  # by name; a struct can contain itself


def type_of(number, detail):
    if number != TType.STRUCT:
        return Type(number, detail)
    name = detail[0].__name__
    if name not in STRUCTS:
        STRUCTS[name] = Type(number, detail)
        STRUCTS[name].members = members_of(detail[0], name)
    return STRUCTS[name]


class Member:
    """An argument of a method, or a member of a struct."""

    def __init__(self, owner, spec):
        self.owner, self.id, self.name = owner, spec[0], spec[2]
        self.type = type_of(spec[1], spec[3])


def members_of(generated, name):
    return [Member(name, spec) for spec in (generated.thrift_spec or ()) if spec]


class Method:
    def __init__(self, service, name, generated):
        self.service, self.name = service, name
        self.arguments = members_of(generated, name)

    def __str__(self):
        return f"{self.service}.{self.name}"


def methods():
    """All methods of all services, in the order of their names."""
    found = []
    for _, name, _ in pkgutil.iter_modules(keyway_thrift.__path__):
        module = importlib.import_module(f"keyway_thrift.{name}")
        if hasattr(module, "Processor"):
            called = [one for one in vars(module.Iface) if not one.startswith("_")]
            found += [Method(name, one, getattr(module, f"{one}_args")) for one in called]
    return sorted(found, key=str)


# --- the encoder (binary protocol) ------------------------------------------------------------------

def of_bytes(raw):
    return struct.pack(">i", len(raw)) + raw


def of_value(value):
    """A member of the union Value, as a field."""
    if isinstance(value, bool):
        return struct.pack(">bhb", TType.BOOL, 1, value)
    if isinstance(value, int):
        return struct.pack(">bhq", TType.I64, 2, value)
    if isinstance(value, float):
        return struct.pack(">bhd", TType.DOUBLE, 3, value)
    if isinstance(value, str):
        return struct.pack(">bh", TType.STRING, 4) + of_bytes(value.encode())
    if isinstance(value, bytes):
        return struct.pack(">bh", TType.STRING, 5) + of_bytes(value)
    return struct.pack(">bhbbi", TType.MAP, 6, TType.STRING, TType.STRUCT, len(value)) + b"".join(
        of_bytes(name.encode()) + of_value(entry) + b"\0" for name, entry in value.items())


def of_list(kind, value, path, attacks):
    element = kind.parts[0]
    if isinstance(value, Repeated):
        first = encode(element, value.value, path + ELEMENT, attacks)
        rest = encode(element, value.value, path + ELEMENT, {}) if attacks else first
        items = [first] + [rest] * (value.count - 1)
    else:
        items = [encode(element, one, path + ELEMENT, attacks if index == 0 else {}) for index, one in enumerate(value)]
    return struct.pack(">bi", element.number, len(items)) + b"".join(items)


def of_map(kind, value, path, attacks):
    parts = []
    for index, (key, entry) in enumerate(value.items()):
        here = attacks if index == 0 else {}
        parts += [encode(kind.parts[0], key, path + KEY, here), encode(kind.parts[1], entry, path + ENTRY, here)]
    return struct.pack(">bbi", kind.parts[0].number, kind.parts[1].number, len(value)) + b"".join(parts)


def of_members(members, values, path, attacks):
    """A struct. values: by the names of its members."""
    parts = []
    for member in members:
        here = f"{path}.{member.name}" if path else member.name
        value = attacks.get(here, values.get(member.name, ABSENT))
        if value is ABSENT and here not in attacks and any(one.startswith(here) for one in attacks):
            value = {"list": [ABSENT], "map": {"id": ABSENT}, "struct": {}}[member.type.kind]
        if value is not ABSENT:
            parts.append(struct.pack(">bh", member.type.number, member.id) + encode(member.type, value, here, attacks))
    return b"".join(parts) + b"\0"


def encode(kind, value, path="", attacks=None):
    """attacks: values that replace the one of a position, by path."""
    attacks = attacks or {}
    value = attacks.get(path, value)
    if isinstance(value, Raw):
        return value.encoded
    if value is ABSENT:  # a part of a container cannot be absent
        value = {"list": [], "map": {}, "struct": {}, "text": "", "bytes": b""}.get(kind.kind, 0)
    if kind.kind in ("text", "bytes"):
        return of_bytes(value.encode() if isinstance(value, str) else value)
    if kind.kind == "list":
        return of_list(kind, value, path, attacks)
    if kind.kind == "map":
        return of_map(kind, value, path, attacks)
    if kind.kind != "struct":
        return struct.pack(kind.form, value)
    if kind.name == "Value" and not (isinstance(value, dict) and not value):
        return of_value(value) + b"\0"
    return of_members(kind.members, value, path, attacks)


def message(method, values, attacks=None):
    """A framed call. values: the arguments by name."""
    raw = method.name.encode()
    body = of_members(method.arguments, values, "", attacks or {})
    payload = struct.pack(">HBBI", 0x8001, 0, 1, len(raw)) + raw + struct.pack(">i", 1) + body
    return struct.pack(">I", len(payload)) + payload


# --- positions --------------------------------------------------------------------------------------

class Position:
    """A place in the arguments of a method: an argument, a member, an element, a key or an entry."""

    def __init__(self, path, kind, name, lawful):
        self.path, self.type, self.name = path, kind, name
        self.lawful = lawful  # the lawful value there; ABSENT: none


def positions(members, values, path="", within=()):
    """values: the lawful arguments or members, by name; ABSENT: none."""
    for member in members:
        here = f"{path}.{member.name}" if path else member.name
        lawful = values.get(member.name, ABSENT) if isinstance(values, dict) else ABSENT
        yield from inside(Position(here, member.type, member.name, lawful), within)


def inside(position, within):
    kind, lawful = position.type, position.lawful
    yield position
    if kind.kind == "struct" and kind.name != "Value" and kind.name not in within:
        yield from positions(kind.members, lawful, position.path, within + (kind.name,))
    has_parts = lawful is not ABSENT and len(lawful) > 0 if kind.parts else False
    if kind.kind == "list":
        parts = [(ELEMENT, lawful[0] if has_parts else ABSENT)]
    elif kind.kind == "map":
        parts = [(KEY, next(iter(lawful)) if has_parts else ABSENT), (ENTRY, next(iter(lawful.values())) if has_parts else ABSENT)]
    else:
        parts = []
    for part, (step, found) in zip(kind.parts, parts):
        yield from inside(Position(position.path + step, part, position.name, found), within)
