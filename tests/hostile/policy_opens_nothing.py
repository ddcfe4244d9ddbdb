"""The gateway never opens a file that a caller's policy text names.

The settings come from the JSON Schema that keywayd prints, so a new setting is tested as soon as it exists. For each
setting with a string value, the test generates policies in which the value names a canary: a file, a file below the time
zone database by way of "..", a FIFO. It passes each policy to every call that accepts a policy text, while the kernel
(inotify) reports whether a canary is opened.
"""
import ctypes
import json
import os
import struct
import subprocess
import unittest

from keyway_gateway import POLICY, Gateway, daemon, record
from keyway_thrift.ttypes import ApplyOptions, Candidate, KeywayError, NamedQuery, Query

IN_ACCESS, IN_OPEN, IN_NONBLOCK = 0x1, 0x20, 0o4000
ZONES = "/usr/share/zoneinfo"
TABLE = "canaries"
STORED = POLICY[:POLICY.index("tables:")] + "policy: {{source: store}}\ntimeouts: {{call: 60s}}\n"

# Other settings that a setting needs to be accepted, by its place. Everything else follows from the schema.
NEEDED = [
    ("store.path store.cache store.readers", {"store": {"kind": "embedded"}}),
    ("store.tls.certificate store.tls.key",
     {"store": {"kind": "hbase", "servers": ["127.0.0.1:9"], "tls": {"certificate": "x", "key": "x"}}}),
    ("store.", {"store": {"kind": "hbase", "servers": ["127.0.0.1:9"]}}),
]
# A component as a rule contains it; the setting under test replaces a part of it.
COMPONENTS = {
    "field": {"name": "note"}, "literal": {"text": "x"}, "hash": {"of": ["id"], "take": 4},
    "salt": {"of": ["id"], "buckets": 4}, "mod": {"of": "number", "buckets": 8}, "ring": {"of": ["id"], "nodes": ["aa", "bb"]},
    "enum": {"field": "kind"},
    "calendar": {"of": "ts", "parts": ["yyyy", "MM", "dd"]},
    "bits": {"of": "ts", "parts": ["zero 8", "ms 41", "number 15"]},
}
PATH = {"key": [{"field": "ts"}, {"field": "id"}]}
GENERATE = {"kind": "sequence", "per": "minute", "of": "ts", "zone": "UTC"}
FIELDS = {
    "id": {"type": "string", "max_bytes": 200}, "ts": {"type": "timestamp", "unit": "ms"}, "number": "int",
    "kind": {"type": "string", "values": ["a", "b"]}, "note": "string",
}
# Tried one after the other: a setting is tested in the first one that is accepted.
HARMLESS = ["x", "id", "ts", "UTC", "1min", "1h", "1MiB", "4KiB", "127.0.0.1:9", "d:x", "off", "0123456789abcdef", "number",
            "1s"]


def watch(folder):
    """A descriptor that reports every opening of a file in the folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.inotify_init1(IN_NONBLOCK)
    if made < 0 or libc.inotify_add_watch(made, os.fsencode(folder), IN_OPEN | IN_ACCESS) < 0:
        raise OSError(ctypes.get_errno(), "inotify")
    return made


def opened(watched):
    """Names of the files that were opened since the last call."""
    names = set()
    try:
        while True:
            data = os.read(watched, 65536)
            while data:
                _, _, _, size = struct.unpack("iIII", data[:16])
                names.add(data[16:16 + size].rstrip(b"\0").decode() or "(the folder)")
                data = data[16 + size:]
    except BlockingIOError:
        return names


def alternatives(schema):
    """The shapes of a value."""
    schema = SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "anyOf" in schema:
        return [shape for one in schema["anyOf"] for shape in alternatives(one)]
    return [schema]


def takes_text(shape):
    kinds = shape.get("type", [])
    return "string" in ([kinds] if isinstance(kinds, str) else kinds) or any(
        isinstance(one, str) for one in shape.get("enum", []))


def leaves(schema, place=()):
    """Places of the settings with a string value, each a tuple of keys; [] is an item of a list, * a name in a map."""
    for shape in alternatives(schema):
        if takes_text(shape):
            yield place
        for name, held in shape.get("properties", {}).items():
            yield from leaves(held, place + (name,))
        if isinstance(shape.get("items"), dict):
            yield from leaves(shape["items"], place + ("[]",))
        if isinstance(shape.get("additionalProperties"), dict):
            yield from leaves(shape["additionalProperties"], place + ("*",))


ACCESS = {"groups": {"d": "cn=a", "id": "cn=b"}, "roles": [{"who": "d", "tables": "*", "may": "read"}]}


def base():
    """A valid policy."""
    return {"tables": {TABLE: {"fields": dict(FIELDS), "key": [{"field": "id"}, {"field": "ts"}]}}}


def least(schema):
    """A value that the schema accepts, as small as possible."""
    shapes = alternatives(schema)
    shape = next((one for one in shapes if "properties" in one), shapes[0])
    if "enum" in shape:
        return shape["enum"][0]
    if "properties" in shape:
        return {name: least(shape["properties"][name]) for name in shape.get("required", [])}
    if shape.get("type") == "array":
        return [least(shape["items"])]
    if shape.get("type") in ("integer", "number"):
        return max(shape.get("minimum", 1), 1)
    return shape.get("default", "x")


def is_component(shape):
    return shape.get("maxProperties") == 1 and "properties" in shape


def named(shape):
    """Names of the settings of a map's values."""
    return [name for held in alternatives(shape["additionalProperties"]) for name in held.get("properties", {})]


def put_item(into, schema, rest, value):
    """A list with the value in its first item; a rule gets one more component."""
    if any(is_component(shape) for shape in alternatives(schema)):
        return [put({}, schema, rest, value)] + (into or [{"field": "id"}, {"field": "ts"}])
    held = into or [least(schema)]
    return [put(held[0], schema, rest, value)] + held[1:]


def put_member(into, shape, head, rest, value):
    if is_component(shape):
        held = {head: COMPONENTS[head]}  # KeyError: add the new component to the table above
    else:
        held = {**least(shape), **(into if isinstance(into, dict) else {})}
    if head == "access":
        held = {**held, head: ACCESS}
    if head == "generate":
        held = {**held, "type": "int", head: GENERATE}
    held[head] = put(held.get(head), shape["properties"][head], rest, value)
    return held


def put(into, schema, place, value):
    """`into`, a value of the schema, with the setting at `place`; adds other settings that it needs."""
    if not place:
        return value
    head, rest = place[0], place[1:]
    for shape in alternatives(schema):
        if head == "[]" and isinstance(shape.get("items"), dict):
            return put_item(into if isinstance(into, list) else [], shape["items"], rest, value)
        if head == "*" and isinstance(shape.get("additionalProperties"), dict):
            held = dict(into or {"d": PATH if "key" in named(shape) else least(shape["additionalProperties"])})
            name = "note" if "note" in held else next(iter(held))
            held[name] = put(held[name], shape["additionalProperties"], rest, value)
            return held
        if head in shape.get("properties", {}):
            return put_member(into, shape, head, rest, value)
    raise AssertionError(f"no {head} in {schema}")


def choices(place, schema=None):
    """The values of an enumeration at this place, and the component's own value."""
    found = [] if schema is None else [one for shape in alternatives(schema) for one in shape.get("enum", []) if isinstance(one, str)]
    if schema is None:
        schema = SCHEMA
    if not place:
        return found
    inside = []
    for shape in alternatives(schema):
        for held in (shape.get("properties", {}).get(place[0]), shape.get("items") if place[0] == "[]" else None,
                     shape.get("additionalProperties") if place[0] == "*" else None):
            if isinstance(held, dict):
                inside += choices(place[1:], held)
    return inside


def policy_with(place, value):
    policy = base()
    where = ".".join(place)
    for names, others in NEEDED:
        if any(where.startswith(name) for name in names.split()):
            policy.update(json.loads(json.dumps(others)))
            break
    return json.dumps(put(policy, SCHEMA, place, value))


SCHEMA = json.loads(subprocess.run([daemon(), "--print-schema"], capture_output=True, check=True).stdout)


class OpensNothing(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(POLICY + "timeouts: {{call: 60s}}\n").start()
        self.stored = Gateway(STORED).start()  # its policy can be applied
        self.folder = os.path.join(self.gateway.folder, "canary")
        os.mkdir(self.folder)
        self.file = os.path.join(self.folder, "file")
        with open(self.file, "w", encoding="ascii") as file:
            file.write("0123456789abcdef\n")
        self.fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(self.fifo)
        self.watched = watch(self.folder)
        self.admin = self.gateway.admin()
        self.applies = self.stored.admin()

    def tearDown(self):
        os.close(self.watched)
        for admin, gateway in ((self.admin, self.gateway), (self.applies, self.stored)):
            admin.close()
            gateway.stop()
            gateway.__exit__(None, None, None)

    def names(self):
        """Strings that name canaries, each in a different way."""
        from_zones = os.path.relpath(self.file, ZONES)
        return [self.file, self.fifo, from_zones, os.path.relpath(self.fifo, ZONES), ":" + self.file, "file://" + self.file,
                os.path.relpath(self.file, self.gateway.folder)]

    def pass_through(self, text):
        """Passes the policy to every call that accepts a policy text."""
        good = json.dumps(base())
        sample = [record(id="a", ts=1, number=1, kind="a", note="n")]
        found = self.admin.check(text)
        query = [NamedQuery("one", Query(table=TABLE, bound=record(id="a")))]
        for call in (lambda: self.admin.policyTables(text), lambda: self.admin.policyDiff(text, good, TABLE, sample),
                     lambda: self.admin.policyDiff(good, text, TABLE, sample), lambda: self.admin.decodeKey(TABLE, b"a", "", text),
                     lambda: self.admin.advise([Candidate("c", text)], TABLE, sample, query, None),
                     lambda: self.applies.policyApply(text, 0, ApplyOptions(dry_run=True))):
            try:
                call()
            except KeywayError:
                pass
        return found

    def opened_by(self, text):
        """Repeats the calls if a file was opened: another process may have opened it."""
        self.pass_through(text)
        found = opened(self.watched)
        if found:
            self.pass_through(text)
            found &= opened(self.watched)
        return found

    def test_the_canary_is_detected(self):
        """Tests the test: opening a file is detected."""
        with open(self.file, encoding="ascii"):
            pass
        self.assertEqual(opened(self.watched), {"file"})

    def is_reached(self, place):
        """True if some harmless value is accepted, so that the code for the setting runs."""
        return any(not self.admin.check(policy_with(place, text)) for text in HARMLESS + choices(place))

    def test_every_setting(self):
        self.assertEqual(self.pass_through(json.dumps(base())), [])
        places = sorted(set(leaves(SCHEMA)))
        reached = 0
        for place in places:
            with self.subTest(setting=".".join(place)):
                reached += self.is_reached(place)
                for name in self.names():
                    text = policy_with(place, name)
                    self.assertEqual(self.opened_by(text), set(), text)
        print(f"{len(places)} settings, {reached} of them in accepted policies")
        self.assertGreater(len(places), 120)
        self.assertGreater(reached, len(places) * 2 // 3)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
