"""Hostile values for a position in the arguments of a method, by its type and, for a few, by its name."""
import struct

from thrift.Thrift import TType

from .idl import ABSENT, Raw, Repeated, encode, of_bytes
from .tables import LONGEST, MIB

INTEGERS = {"i8": 7, "i16": 15, "i32": 31, "i64": 63}
DEEP = 100000


def entries(count, size=4):
    """A map with that many different names of that size."""
    return {f"{i:0{size}x}": "x" for i in range(count)}


def nested_value(depth):
    """A Value whose entries contain a Value with entries, and so on."""
    opening = struct.pack(">bhbbi", TType.MAP, 6, TType.STRING, TType.STRUCT, 1) + of_bytes(b"a")
    return Raw(opening * depth + struct.pack(">bhq", TType.I64, 2, 1) + b"\0" * (depth + 1))


def nested_struct(depth):
    """An unknown member that contains structs in structs."""
    return Raw(struct.pack(">bh", TType.STRUCT, 999) * depth + b"\0" * (depth + 1))


def texts(position, frame):
    kinds = {"empty": b"", "a NUL": b"\0", "invalid UTF-8": b"\xff\xfe\x80" * 10, "control characters": b"\x1b]0;x\x07\r\n" * 10,
             "30 kB": b"x" * LONGEST, "1 MiB": b"x" * MIB, "a whole frame": b"x" * (frame - 64 * 1024)}
    found = {name: Raw(of_bytes(text)) for name, text in kinds.items()}
    found.update({name: Raw(of_bytes(text)) for name, text in NAMED.get(position.name, lambda frame: {})(frame).items()})
    return found


def filters(frame):
    return {"deep parentheses": b"(" * MIB + b"PageFilter(1)" + b")" * MIB,
            "many SKIPs": b"SKIP " * 100000 + b"PageFilter(1)",
            "a long expression": b" OR ".join([b"PrefixFilter('a')"] * ((frame - MIB) // 21)),
            "expensive expressions": b" AND ".join([b"RowFilter(!=, 'regexstring:^(a|aa)+(a+)+%d$')" % i for i in range(64)]),
            "one long pattern": b"ValueFilter(=, 'substring:" + b"a" * (4 * MIB) + b"')",
            "many prefixes": b"MultipleColumnPrefixFilter(" + b",".join(b"'c%06d'" % i for i in range(200000)) + b")"}


def policies(frame):
    ring = b"      - ring: {of: [id], replicas: 4096, nodes: [" + b", ".join(b"n%02d" % i for i in range(64)) + b"]}\n"
    table = b"  t%d:\n    fields: {id: {type: string, max_bytes: 100}}\n    key:\n%s      - field: id\n"
    rings = b"tables:\n" + b"".join(table % (i, ring * 8) for i in range(125))
    small = b"tables:\n" + b"".join(b"  t%d: {fields: {id: string}, key: [{field: id}]}\n" % i for i in range(18000))
    values = b", ".join(b"v%d" % i for i in range(90000))
    return {"deep lists": b"[" * MIB, "a thousand rings": rings[:MIB], "many tables": small[:MIB],
            "many values": b"tables: {t: {fields: {id: {type: string, values: [" + values + b"]}}, key: [{enum: id}]}}",
            "many problems": b"a: 1\n" * 200000, "an anchor": b"a: &a [x, x]\nb: [*a, *a]\n"}


def cursors(frame):
    return {"64 kB of a cursor": b"\1" * 65536}


NAMED = {"filter": filters, "cursor": cursors,
         **dict.fromkeys(("text", "old_text", "new_text", "policy_text"), policies)}


def numbers(position, frame):
    most = 1 << INTEGERS[position.type.kind]
    return {str(number): number for number in (0, -1, 1, most - 1, -most, 253402300800000) if -most <= number < most}


def first_of(container):
    """An element or entry of a lawful list or map."""
    if container is ABSENT or not container:
        return ABSENT
    return container[0] if isinstance(container, list) else next(iter(container.values()))


def lists(position, frame):
    element, found = position.type.parts[0], {"no elements": []}
    for name, value in (("empty", ABSENT), ("lawful", first_of(position.lawful))):
        most = (frame - 64 * 1024) // len(encode(element, value))
        for count in {min(most, 100000), most}:
            found[f"{count} {name} elements"] = Repeated(value, count)
    return found


def maps(position, frame):
    key, entry = position.type.parts
    value = encode(entry, first_of(position.lawful))

    def of(names):
        return Raw(struct.pack(">bbi", key.number, entry.number, len(names)) + b"".join(of_bytes(name) + value for name in names))
    many = [b"e%06d" % i for i in range(min(200000, (frame - MIB) // (12 + len(value))))]
    found = {"no entries": {}, "unknown names": of(many), "one name many times": of([b"id"] * len(many)),
             "entries of a map": of([b"tags." + name for name in many[:len(many) * 2 // 3]]),
             "long names": of([b"%06d" % i + b"n" * LONGEST for i in range((frame - MIB) // (LONGEST + len(value) + 20))])}
    if entry.kind == "list":  # lists whose product is huge
        found["lists of 10,000 values"] = {name: ["x" * 3] * 10000 for name in ("id", "ts", "kind", "number")}
    return found


def structs(position, frame):
    if position.type.name == "Value":
        return {"no member": Raw(b"\0"), "two members": Raw(struct.pack(">bhqbhb", TType.I64, 2, 1, TType.BOOL, 1, 1) + b"\0"),
                "a flag": True, "a number": -2**63, "not a number": float("nan"), "bytes": b"\xff" * 100, "a long text": "v" * LONGEST,
                "many entries": entries(200000 if frame > 4 * MIB else 20000), "nested entries": nested_value(60),
                "deeply nested entries": nested_value(DEEP)}
    return {"no members": {}, "nested unknown members": nested_struct(DEEP)}


def attacks(position, frame):
    """The hostile values of a position, by what they are. frame: limits.frame in bytes."""
    kind, found = position.type.kind, {"absent": ABSENT}
    if kind in ("text", "bytes"):
        found.update(texts(position, frame))
    elif kind in INTEGERS:
        found.update(numbers(position, frame))
    elif kind == "double":
        found.update({"not a number": float("nan"), "infinite": float("inf")})
    elif kind == "bool":
        found.update({"true": True, "false": False})
    elif kind == "list":
        found.update(lists(position, frame))
    elif kind == "map":
        found.update(maps(position, frame))
    else:
        found.update(structs(position, frame))
    return found
