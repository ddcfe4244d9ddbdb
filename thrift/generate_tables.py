#!/usr/bin/env python3
"""Generates plain C structs and codec tables from the JSON that `thrift --gen json` writes for an IDL file.

    generate_tables.py --json keyway.json --prefix api --name keyway_wire --out DIR

writes DIR/keyway_wire.h and DIR/keyway_wire.c with every name prefixed kw_api_ (KW_API_ for
enumerators). server/wire/wire.h describes the generated names; server/wire/table.h defines the tables.
Uses only the standard library. An IDL that the tables cannot express fails the build with an error.
"""
import argparse
import json
import os
import sys

C_WORDS = set("""
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while asm typeof bool true false _Bool NULL errno stdin stdout stderr linux unix
""".split())

# name: (C type, kind, binary number, compact number, alignment)
SCALARS = {
    "bool": ("bool", "BOOL", 2, 1, 1),
    "i8": ("int8_t", "I8", 3, 3, 1),
    "byte": ("int8_t", "I8", 3, 3, 1),
    "i16": ("int16_t", "I16", 6, 4, 2),
    "i32": ("int32_t", "I32", 8, 5, 4),
    "i64": ("int64_t", "I64", 10, 6, 8),
    "double": ("double", "DOUBLE", 4, 7, 8),
    "string": ("kw_bytes", "TEXT", 11, 8, 8),
    "binary": ("kw_bytes", "BYTES", 11, 8, 8),
}
CONTAINERS = {"list": ("LIST", 15, 9), "set": ("SET", 14, 10), "map": ("MAP", 13, 11)}
STRUCTS = ("struct", "union", "exception")
FIELDS_MAX = 64


class Unsupported(Exception):
    """The IDL contains something that the tables cannot express."""


def type_of(node, id_key="typeId", detail_key="type"):
    """The JSON of a type, as a tuple that compares by structure."""
    kind = node[id_key]
    detail = node.get(detail_key) or {}
    if kind in SCALARS:
        return ("i8",) if kind == "byte" else (kind,)
    if kind in STRUCTS:
        return ("struct", detail["class"])
    if kind in ("list", "set"):
        return (kind, type_of(detail, "elemTypeId", "elemType"))
    if kind == "map":
        return ("map", type_of(detail, "keyTypeId", "keyType"), type_of(detail, "valueTypeId", "valueType"))
    raise Unsupported(f"type {kind} is not supported")


class Member:
    """One field of a struct, argument list or result."""

    def __init__(self, owner, node):
        self.id = node["key"]
        self.name = node["name"]
        self.c_name = self.name + "_" if self.name in C_WORDS else self.name
        self.type = type_of(node)
        self.required = node.get("required") == "required"
        self.default = node.get("default")
        self.owner = owner
        if not 0 <= self.id <= 32767:
            raise Unsupported(f"{owner}.{self.name}: id {self.id} is outside 0..32767; set one")

    def alignment(self):
        return SCALARS[self.type[0]][4] if self.type[0] in SCALARS else 8

    def default_text(self):
        """C initialiser of the default value, or None if it is zero."""
        if self.default is None:
            return None
        kind = self.type[0]
        if kind == "bool":
            return "true" if self.default else None
        if kind in ("i8", "i16", "i32", "i64"):
            return f"INT64_C({int(self.default)})" if int(self.default) else None
        if kind == "double":
            return repr(float(self.default)) if self.default else None
        if kind in ("string", "binary"):
            return f"KW_BYTES_LITERAL({json.dumps(self.default)})" if self.default else None
        raise Unsupported(f"{self.owner}.{self.name}: a default value for a {kind} is not supported")


class Struct:
    """A C struct and its table."""

    def __init__(self, name, nodes, about):
        self.name = name
        self.about = about
        self.members = [Member(name, node) for node in nodes]
        if len(self.members) > FIELDS_MAX:
            raise Unsupported(f"{name}: {len(self.members)} fields; a table holds at most {FIELDS_MAX}")
        ids = [member.id for member in self.members]
        if len(set(ids)) != len(ids):
            raise Unsupported(f"{name}: two fields have the same id")


class Model:
    """The contents of one IDL file."""

    def __init__(self, tree, prefix):
        self.prefix = f"kw_{prefix}_"
        self.upper = f"KW_{prefix.upper()}_"
        self.enums = tree["enums"]
        self.typedefs = {}
        self.structs = {}
        self.methods = []
        self.containers = {}
        for node in tree["structs"]:
            self.add(Struct(node["name"], node["fields"], node.get("doc")))
        for service in tree["services"]:
            self.add_service(service)
        for node in tree["typedefs"]:
            kind = type_of(node)
            if kind[0] in CONTAINERS:
                self.typedefs.setdefault(kind, node["name"])

    def add(self, struct):
        if struct.name in self.structs:
            raise Unsupported(f"two structs have the name {struct.name}")
        self.structs[struct.name] = struct

    def add_service(self, service):
        if service.get("extends"):
            raise Unsupported(f"service {service['name']}: extends is not supported")
        for function in service["functions"]:
            stem = f"{service['name']}_{function['name']}"
            results = [dict(node) for node in function["exceptions"]]
            if function["returnTypeId"] != "void":
                results.insert(0, {"key": 0, "name": "success", "typeId": function["returnTypeId"],
                                   "type": function.get("returnType"), "required": "req_out"})
            self.add(Struct(f"{stem}_args", function["arguments"], function.get("doc")))
            self.add(Struct(f"{stem}_result", results, None))
            self.methods.append((service["name"], function["name"], bool(function["oneway"])))

    # --- C types ---

    def c_type(self, kind):
        """The C type of a value of this type that is stored directly."""
        if kind in self.typedefs:
            return self.prefix + self.typedefs[kind]
        return self.c_type_spelled(kind)

    def c_type_spelled(self, kind):
        name = kind[0]
        if name in SCALARS:
            return SCALARS[name][0]
        if name == "struct":
            return self.prefix + kind[1]
        if name == "map":
            return f"KW_WIRE_MAP({self.c_type(kind[1])}, {self.c_type(kind[2])})"
        return f"KW_WIRE_LIST({self.c_type(kind[1])})"

    def item_name(self, kind):
        """The struct of a named map's entries. It is declared before the map, so that a value can contain the map."""
        if kind[0] == "map" and kind in self.typedefs:
            return f"{self.prefix}{self.typedefs[kind]}_item"
        return None

    def complete_before(self, kind, direct):
        """Names (structs and typedefs) that must be complete before the type can be used."""
        if kind[0] in SCALARS:
            return
        if kind[0] == "struct":
            if direct:
                yield ("struct", kind[1])
            return
        if kind in self.typedefs:
            yield ("typedef", kind)
            return
        yield from self.complete_inside(kind)

    def complete_inside(self, kind):
        if kind[0] == "map":  # an entry contains key and value
            yield from self.complete_before(kind[1], True)
            yield from self.complete_before(kind[2], True)
        elif kind[1][0] != "struct":  # items of struct type need only a declaration
            yield from self.complete_before(kind[1], True)

    def needs_of(self, node):
        what, of = node
        if what == "struct":
            if of not in self.structs:
                raise Unsupported(f"struct {of} is not in this file")
            return [need for member in self.structs[of].members for need in self.complete_before(member.type, False)]
        if what == "typedef" and self.item_name(of):
            return []
        return list(self.complete_inside(of))

    def declaration_order(self):
        order, state = [], {}

        def visit(node, trail):
            if state.get(node) == "done":
                return
            trail = trail + [node[1] if node[0] == "struct" else self.typedefs[node[1]]]
            if state.get(node) == "open":
                raise Unsupported("a struct contains itself as a map's key or value: " + " > ".join(trail))
            state[node] = "open"
            for need in self.needs_of(node):
                visit(need, trail)
            state[node] = "done"
            order.append(node)

        for kind in self.typedefs:
            visit(("typedef", kind), [])
        for name in self.structs:
            visit(("struct", name), [])
        for kind in self.typedefs:
            if self.item_name(kind):
                visit(("item", kind), [])
        return order


# --- the header -----------------------------------------------------------------------------------

def comment(text):
    if not text:
        return []
    lines = " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")
    words, rows, row = lines.split(" "), [], "/*"
    for word in words:
        if len(row) + len(word) > 96:
            rows.append(row)
            row = " *"
        row += " " + word
    return rows + [row + " */"]


def enum_text(model, enum):
    lines = comment(enum.get("doc")) + [f"typedef enum {model.prefix}{enum['name']} {{"]
    for member in enum["members"]:
        lines.append(f"    {model.upper}{enum['name']}_{member['name']} = {member['value']},")
    return lines + [f"}} {model.prefix}{enum['name']};", ""]


def struct_text(model, struct):
    """Flags first, then members by alignment, so that there is no padding between them."""
    lines = comment(struct.about) + [f"struct {model.prefix}{struct.name} {{"]
    for member in struct.members:
        if not member.required:
            lines.append(f"    bool has_{member.name};")
    for member in sorted(struct.members, key=lambda m: m.alignment()):
        declared = model.c_type(member.type)
        if member.type[0] == "struct":
            lines.append(f"    const {declared} *{member.c_name};")
        else:
            lines.append(f"    {declared} {member.c_name};")
    if not struct.members:
        lines.append("    char nothing;")
    return lines + ["};", ""]


def typedef_text(model, kind):
    item = model.item_name(kind)
    return f"KW_WIRE_LIST({item})" if item else model.c_type_spelled(kind)


def method_enum_text(model):
    lines = [f"typedef enum {model.prefix}method {{"]
    for service, name, _ in model.methods:
        lines.append(f"    {model.upper}{service}_{name},")
    return lines + [f"    {model.upper}METHOD_COUNT", f"}} {model.prefix}method;", "",
                    f"extern const kw_wire_method {model.prefix}methods[{model.upper}METHOD_COUNT];"]


def header_text(model, source):
    lines = [f"/* Generated from {source} by generate_tables.py: plain structs and their codec tables.",
             " * See server/wire/wire.h for the names. Do not edit. */", "#pragma once", "",
             '#include "wire/wire.h"', ""]
    for enum in model.enums:
        lines += enum_text(model, enum)
    lines += [f"typedef struct {model.prefix}{name} {model.prefix}{name};" for name in model.structs] + [""]
    lines += [f"typedef struct {item} {item};" for item in map(model.item_name, model.typedefs) if item] + [""]
    for kind, what in model.declaration_order():
        if kind == "typedef":
            lines += [f"typedef {typedef_text(model, what)} {model.prefix}{model.typedefs[what]};", ""]
        elif kind == "item":
            key, value = model.c_type(what[1]), model.c_type(what[2])
            lines += [f"struct {model.item_name(what)} {{", f"    {key} key;", f"    {value} value;", "};", ""]
        else:
            lines += struct_text(model, model.structs[what])
    lines += [f"extern const kw_wire_struct {model.prefix}{name}_wire;" for name in model.structs] + [""]
    return "\n".join(lines + method_enum_text(model)) + "\n"


# --- the tables -----------------------------------------------------------------------------------

def type_initialiser(model, kind, tables, path):
    """Initialiser of a kw_wire_type. `path` is a C expression of the value, for sizes of containers."""
    name = kind[0]
    if name in SCALARS:
        c_type, label, binary, compact, _ = SCALARS[name]
        return f"{{KW_WIRE_KIND_{label}, {binary}, {compact}, sizeof({c_type}), {{NULL}}}}"
    if name == "struct":
        full = model.prefix + kind[1]
        return f"{{KW_WIRE_KIND_STRUCT, 12, 12, sizeof({full}), {{.structure = &{full}_wire}}}}"
    label, binary, compact = CONTAINERS[name]
    symbol = container_symbol(model, kind, tables, path)
    return f"{{KW_WIRE_KIND_{label}, {binary}, {compact}, sizeof({path}), {{.container = &{symbol}}}}}"


def container_symbol(model, kind, tables, path):
    """The table of a container type, generated once for each type."""
    if kind in model.containers:
        return model.containers[kind]
    item = f"{path}.items[0]"
    if kind[0] == "map":
        key = type_initialiser(model, kind[1], tables, f"{item}.key")
        value = type_initialiser(model, kind[2], tables, f"{item}.value")
        offset = f"offsetof(__typeof__({item}), value)"
    else:
        key = "{KW_WIRE_KIND_BOOL, 0, 0, 0, {NULL}}"
        value = type_initialiser(model, kind[1], tables, item)
        offset = "0"
    symbol = f"container_{len(model.containers)}"
    model.containers[kind] = symbol
    tables += [f"static const kw_wire_container {symbol} = {{", f"    .key = {key},", f"    .value = {value},",
               f"    .item_size = sizeof({item}),", f"    .value_offset = {offset},", "};", ""]
    return symbol


def field_line(model, struct, member, tables):
    full = model.prefix + struct.name
    kind = type_initialiser(model, member.type, tables, f"(({full} *)0)->{member.c_name}")
    flag = "KW_WIRE_NO_FLAG" if member.required else f"offsetof({full}, has_{member.name})"
    return f'    {{{kind}, {member.id}, offsetof({full}, {member.c_name}), {flag}, "{member.name}"}},'


def struct_tables(model, struct):
    full = model.prefix + struct.name
    members = sorted(struct.members, key=lambda member: member.id)
    containers, lines = [], []
    fields = [field_line(model, struct, member, containers) for member in members]
    if fields:
        lines += [f"static const kw_wire_field {full}_fields[] = {{"] + fields + ["};", ""]
    defaults = [(member.c_name, member.default_text()) for member in members]
    defaults = [f".{name} = {text}" for name, text in defaults if text]
    if defaults:
        lines += [f"static const {full} {full}_defaults = {{{', '.join(defaults)}}};", ""]
    mask = sum(1 << index for index, member in enumerate(members) if member.required)
    lines += [f"const kw_wire_struct {full}_wire = {{", f'    .name = "{struct.name}",']
    lines += [f"    .fields = {full + '_fields' if fields else 'kw_wire_no_fields'},", f"    .field_count = {len(members)},"]
    lines += [f"    .size = sizeof({full}),", f"    .required_mask = UINT64_C({mask:#x}),"]
    if defaults:
        lines += [f"    .defaults = &{full}_defaults,"]
    return containers + lines + ["};", ""]


def source_text(model, name, source):
    lines = [f"/* Generated from {source} by generate_tables.py. Do not edit. */", f'#include "thrift/{name}.h"', "",
             '#include "wire/table.h"', ""]
    for struct in model.structs.values():
        lines += struct_tables(model, struct)
    lines += [f"const kw_wire_method {model.prefix}methods[{model.upper}METHOD_COUNT] = {{"]
    for service, method, oneway in model.methods:
        stem = f"{model.prefix}{service}_{method}"
        lines.append(f'    {{"{service}", "{method}", &{stem}_args_wire, &{stem}_result_wire, '
                     f'{"true" if oneway else "false"}}},')
    return "\n".join(lines + ["};"]) + "\n"


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", required=True, help="JSON file written by thrift --gen json")
    parser.add_argument("--prefix", required=True, help="prefix of names: api generates kw_api_X")
    parser.add_argument("--name", required=True, help="stem of the files to write")
    parser.add_argument("--out", required=True, help="folder of the files to write")
    options = parser.parse_args()
    with open(options.json, encoding="utf-8") as file:
        tree = json.loads(file.read(), strict=False)
    source = os.path.splitext(os.path.basename(options.json))[0] + ".thrift"
    try:
        model = Model(tree, options.prefix)
        write(os.path.join(options.out, options.name + ".h"), header_text(model, source))
        write(os.path.join(options.out, options.name + ".c"), source_text(model, options.name, source))
    except Unsupported as why:
        sys.exit(f"{source}: {why}")


if __name__ == "__main__":
    main()
