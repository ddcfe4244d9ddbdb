#!/usr/bin/env python3
"""Checks that thrift/hbase2.thrift agrees with HBase's own Thrift2 IDL.

    idl_conformance.py --thrift COMPILER --idl thrift/hbase2.thrift --cache FOLDER

Extracts hbase.thrift from the hbase-thrift sources jar (downloaded once by Maven into the cache folder),
converts both files to JSON with the Thrift compiler, and compares every method, struct, enum, field id,
type, requiredness, default and enum value that Keyway's file declares. HBase's file can declare more.
Exits with 1 and one line per difference. Before that, it breaks copies of Keyway's file in several ways and
verifies that each defect is detected.
"""
import argparse
import copy
import json
import pathlib
import shutil
import subprocess
import sys
import zipfile

FETCH = pathlib.Path(__file__).resolve().parents[2] / "support" / "fetch.sh"
ARTIFACT = "org.apache.hbase:hbase-thrift:2.6.1:jar:sources"
MEMBER = "org/apache/hadoop/hbase/thrift2/hbase.thrift"


def fetch_reference(cache):
    """Path of HBase's IDL in the cache."""
    path = cache / "hbase.thrift"
    if path.exists():
        return path
    jars = cache / "jar"
    maven = shutil.which("mvn")
    if not maven:
        sys.exit("mvn is needed to fetch HBase's sources jar")
    subprocess.run([FETCH, maven, "-q", "-B", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={jars}"],
                   check=True, cwd=cache)
    jar = next(jars.glob("hbase-thrift-*-sources.jar"))
    with zipfile.ZipFile(jar) as archive:
        path.write_bytes(archive.read(MEMBER))
    return path


def load(compiler, idl, out):
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([compiler, "--gen", "json", "-out", str(out), str(idl)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = (out / (idl.stem + ".json")).read_text(encoding="utf-8")
    return json.loads(text, strict=False)


def bare(node):
    """The text without comments."""
    if isinstance(node, dict):
        return {key: bare(value) for key, value in node.items() if key != "doc"}
    if isinstance(node, list):
        return [bare(value) for value in node]
    return node


def compare_fields(where, ours, theirs):
    for field in ours:
        other = next((candidate for candidate in theirs if candidate["key"] == field["key"]), None)
        if other is None:
            yield f"{where}: HBase has no field {field['key']} ({field['name']})"
        elif other != field:
            yield f"{where}.{field['name']}: ours is {field}, HBase's is {other}"
    for other in theirs:
        if other.get("required") == "required" and all(field["key"] != other["key"] for field in ours):
            yield f"{where}: HBase requires field {other['key']} ({other['name']}), ours does not have it"


def named(nodes):
    return {node["name"]: node for node in nodes}


def compare_structs(ours, theirs):
    for name, struct in named(ours["structs"]).items():
        other = named(theirs["structs"]).get(name)
        if other is None:
            yield f"struct {name}: HBase has none"
            continue
        for key in ("isException", "isUnion"):
            if struct[key] != other[key]:
                yield f"struct {name}: {key} differs"
        yield from compare_fields(name, struct["fields"], other["fields"])


def compare_enums(ours, theirs):
    for name, enum in named(ours["enums"]).items():
        other = named(theirs["enums"]).get(name)
        if other is None:
            yield f"enum {name}: HBase has none"
            continue
        values = {member["name"]: member["value"] for member in other["members"]}
        for member in enum["members"]:
            if values.get(member["name"]) != member["value"]:
                yield f"{name}.{member['name']}: ours is {member['value']}, HBase's {values.get(member['name'])}"


def compare_methods(ours, theirs):
    for service, mine in named(ours["services"]).items():
        other = named(theirs["services"]).get(service)
        if other is None:
            yield f"service {service}: HBase has none"
            continue
        functions = named(other["functions"])
        for function in mine["functions"]:
            name, found = function["name"], functions.get(function["name"])
            if found is None:
                yield f"{name}: HBase has no such method"
                continue
            for key in ("returnTypeId", "returnType", "oneway"):
                if function.get(key) != found.get(key):
                    yield f"{name}: {key} is {function.get(key)}, HBase's {found.get(key)}"
            yield from compare_fields(f"{name}()", function["arguments"], found["arguments"])
            yield from compare_fields(f"{name}() throws", function["exceptions"], found["exceptions"])


def differences(ours, theirs):
    return [*compare_enums(ours, theirs), *compare_structs(ours, theirs), *compare_methods(ours, theirs)]


def spoil_all(ours):
    """Copies of Keyway's file, each with one defect."""

    def spoiled(change):
        wrong = copy.deepcopy(ours)
        change(wrong)
        return wrong

    put = next(i for i, node in enumerate(ours["structs"]) if node["name"] == "TPut")
    get = next(i for i, node in enumerate(ours["services"][0]["functions"]) if node["name"] == "get")
    method = lambda tree: tree["services"][0]["functions"][get]
    fields = lambda tree: tree["structs"][put]["fields"]
    yield "field id", spoiled(lambda tree: fields(tree)[0].update(key=99))
    yield "field type", spoiled(lambda tree: fields(tree)[0].update(typeId="i64"))
    yield "requiredness", spoiled(lambda tree: fields(tree)[0].update(required="optional"))
    yield "element type", spoiled(lambda tree: fields(tree)[1]["type"]["elemType"].update({"class": "TColumn"}))
    yield "lost required field", spoiled(lambda tree: fields(tree).pop(0))
    yield "struct name", spoiled(lambda tree: tree["structs"][put].update(name="TPutt"))
    yield "enum value", spoiled(lambda tree: tree["enums"][0]["members"][0].update(value=77))
    yield "method name", spoiled(lambda tree: method(tree).update(name="gett"))
    yield "return type", spoiled(lambda tree: method(tree).update(returnTypeId="i32"))
    yield "argument", spoiled(lambda tree: method(tree)["arguments"][1]["type"].update({"class": "TPut"}))
    yield "exception", spoiled(lambda tree: method(tree)["exceptions"][0].update(key=2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--thrift", required=True)
    parser.add_argument("--idl", required=True, type=pathlib.Path)
    parser.add_argument("--cache", required=True, type=pathlib.Path)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    theirs = bare(load(options.thrift, fetch_reference(options.cache), options.cache / "theirs"))
    ours = bare(load(options.thrift, options.idl, options.cache / "ours"))
    for what, wrong in spoil_all(ours):
        if not differences(wrong, theirs):
            sys.exit(f"a wrong {what} would not be noticed")
    found = differences(ours, theirs)
    for line in found:
        print(line)
    methods = len(ours["services"][0]["functions"])
    print(f"{methods} methods, {len(ours['structs'])} structs, {len(ours['enums'])} enums, {len(found)} differences")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
