"""Tests empty values, and values that a key cannot encode. A record with a key is a record like any other. A record without
a key, or with the key of another value, is INVALID with table, field and reason, in every method, before the store is read.

Arguments: `embedded` or `hbase` (KW_HBASE_ENV names the file with HBase's addresses), and the program keyway.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Ready, plain, record  # noqa: E402
from keyway_hbase import hbase_servers  # noqa: E402
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Outcome, Query, Value  # noqa: E402

POLICY = """
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 1
timeouts: {{call: 100s}}
store: STORE
tables:
  raw: {{store_table: NAME_raw, fields: {{a: string, n: {{type: int, counter: true}}}}, key: [field: a]}}
  blob: {{store_table: NAME_blob, fields: {{a: bytes, n: {{type: int, counter: true}}}}, key: [field: a]}}
  ended: {{store_table: NAME_ended, fields: {{a: string, n: {{type: int, counter: true}}}}, key: [field: {{name: a, encoding: terminated}}]}}
  pair: {{store_table: NAME_pair, fields: {{a: string, b: string, n: {{type: int, counter: true}}}}, key: [field: a, field: b]}}
  hashed: {{store_table: NAME_hashed, fields: {{a: string, n: {{type: int, counter: true}}}}, key: [hash: a, field: a]}}
  filled: {{store_table: NAME_filled, fields: {{a: string, n: {{type: int, counter: true}}}}, key: [field: {{name: a, encoding: fixed, width: 4}}]}}
  digits: {{store_table: NAME_digits, fields: {{a: string, n: {{type: int, counter: true}}}}, key: [field: {{name: a, encoding: digits, width: 4}}]}}
  known:
    store_table: NAME_known
    fields: {{a: string, n: {{type: int, counter: true}}}}
    key: [salt: {{algorithm: random, buckets: 4}}, field: a]
    paths: {{by_a: {{association: true, key: [field: a]}}}}
  both:
    store_table: NAME_both
    fields: {{a: string, n: {{type: int, counter: true}}}}
    key: [hash: a, field: a]
    paths: {{by_a: {{key: [field: a]}}}}
  kinds:
    store_table: NAME_kinds
    fields: {{a: string, n: int, s: string, d: double, f: bool, b: bytes, t: timestamp, m: {{type: map, of: int, column: "d:m_*"}}}}
    key: [hash: a, field: a]
  real: {{store_table: NAME_real, fields: {{a: double, n: {{type: int, counter: true}}}}, key: [hash: a, field: a]}}
"""
REFUSED = {
    "raw": "table raw, field a: is empty, so the row key of path primary",
    "blob": "table blob, field a: is empty, so the row key of path primary",
    "known": "table known, field a: is empty, so the row key of path by_a",
    "both": "table both, field a: is empty, so the row key of path by_a",
    "digits": "table digits, field a: value \"\" is not a string of exactly 4 decimal digits",
}


def policy_for(store):
    name = f"empty_{os.getpid()}_{int(time.time())}"
    where = "{{kind: embedded, path: {folder}/data}}"
    if store == "hbase":
        where = (f"{{{{kind: hbase, servers: [{hbase_servers()['KW_HBASE_BUFFERED']}], create_missing: true, "
                 f"catalog: {name}_catalog}}}}")
    return POLICY.replace("STORE", where).replace("NAME", name)


def same(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, not {wanted!r}")


def key_of(table):
    return {"a": Value(bytes=b"") if table == "blob" else Value(text="")}


def refused(reason, call, *arguments):
    try:
        found = call(*arguments)
    except KeywayError as error:
        same((error.code, reason in error.message), (Code.INVALID, True), error.message)
        return
    if not isinstance(found, list):
        sys.exit(f"not refused: {reason}: {found}")
    same([(one.failure.code, reason in one.failure.message) for one in found], [(Code.INVALID, True)], found)


def operations(gateway):
    return gateway.metric("keyway_store_reads_total"), gateway.metric("keyway_store_writes_total")


def methods(data, table, in_primary):
    """Every call that takes one record. in_primary: the primary path has a key for it, so it can be read and removed."""
    key = key_of(table)
    written = {**key, "n": Value(number=1)}
    absent = Condition("n", CompareOp.EQUAL)
    calls = [(data.put, table, written, None), (data.putMany, table, [written], None)]
    if not in_primary:
        calls += [(data.get, table, key, None, None), (data.getMany, table, [key], None, None),
                  (data.remove, table, key, None, None), (data.removeMany, table, [key], None, None)]
    if table != "both":
        calls += [(data.increment, table, key, {"n": 1}, None), (data.putIf, table, written, absent, None),
                  (data.compareAndPut, table, written, absent, None)]
    return calls


def without_key(gateway, data, admin, alone):
    for table, reason in REFUSED.items():
        before = operations(gateway)
        for call, *arguments in methods(data, table, table == "both"):
            refused(reason, call, *arguments)
        refused(reason, admin.explainPut, table, key_of(table))
        if alone:  # the gateway itself reads HBase's clock
            same(operations(gateway), before, f"operations for {table}")


def with_key(data):
    """An empty string is a value like any other if the key shows its end, or if the key has another part."""
    for table in ["ended", "hashed", "filled", "pair"]:
        key = key_of(table) if table != "pair" else {"a": Value(text=""), "b": Value(text="")}
        same(data.put(table, {**key, "n": Value(number=7)}, None).outcome, Outcome.OK, f"put into {table}")
        wanted = {**plain(key), "n": 7}
        same(plain(data.get(table, key, None, None).record), wanted, f"get of {table}")
        same([plain(row) for row in data.scan(Query(table, full_scan=True)).rows], [wanted], f"scan of {table}")
        same(data.remove(table, key, None, None).outcome, Outcome.OK, f"remove of {table}")
        same(data.get(table, key, None, None).record, None, f"get of {table} after its removal")


def test_equal_keys(data):
    """2**53 and the next integer are the same double."""
    same(data.put("real", {"a": Value(number=2**53), "n": Value(number=1)}, None).outcome, Outcome.OK, "2**53")
    same(plain(data.get("real", {"a": Value(real=2.0**53)}, None, None).record)["n"], 1, "2**53 as a double")
    for number in [2**53 + 1, 2**63 - 1]:
        key = {"a": Value(number=number)}
        reason = f"table real, field a: value {number} cannot be held exactly by a double"
        refused(reason, data.put, "real", key, None)
        refused(reason, data.get, "real", key, None, None)


def removed_values(data):
    """A field whose value a filter removes is absent, whatever its type is. The records themselves are returned."""
    full = {"a": "x", "n": 5, "s": "text", "d": 1.5, "f": True, "b": b"\0", "t": 7, "m": {"one": 1, "two": 2}}
    same(data.put("kinds", record(**full), None).outcome, Outcome.OK, "put of all kinds")
    same(data.put("kinds", record(a="y", n=6), None).outcome, Outcome.OK, "put of one kind")

    def scan(text, **more):
        return sorted((plain(row) for row in data.scan(Query("kinds", full_scan=True, filter=text, **more)).rows), key=lambda row: row["a"])

    keys = [{"a": "x"}, {"a": "y"}]
    same(scan(None), [full, {"a": "y", "n": 6}], "scan without a filter")
    same(scan("KeyOnlyFilter()"), keys, "KeyOnlyFilter")
    same(scan("KeyOnlyFilter()", columns=["n", "m"]), keys, "KeyOnlyFilter with columns")
    same(scan("KeyOnlyFilter() AND RowFilter(=, 'substring:y')"), [{"a": "y"}], "KeyOnlyFilter AND RowFilter")
    same(scan("(QualifierFilter(=, 'binary:n') AND KeyOnlyFilter()) OR QualifierFilter(=, 'binary:s')"), [{"a": "x", "s": "text"}, {"a": "y"}],
         "KeyOnlyFilter for one column")
    refused("KeyOnlyFilter (true) replaces values by their lengths", scan, "KeyOnlyFilter(true)")
    try:
        data.scan(Query("kinds", bound=record(n=5), full_scan=True, filter="KeyOnlyFilter()"))
        sys.exit("a condition on a value that the filter removes was not refused")
    except KeywayError as error:
        same((error.code, "condition on the field n" in error.message), (Code.INVALID, True), error.message)


def by_command(gateway, program):
    def keyway(code, *words):
        host, port = gateway.addresses[0]
        done = subprocess.run([program, "--gateway", f"{host}:{port}", *words], capture_output=True, text=True, check=False)
        same(done.returncode, code, f"keyway {words}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    for command in ["put", "get", "remove"]:
        same(REFUSED["raw"] in keyway(3, command, "raw", "a="), True, command)
    keyway(0, "put", "ended", "a=", "n=3")
    same(json.loads(keyway(0, "get", "ended", "a=", "-o", "jsonl")), {"a": "", "n": 3}, "get of an empty key")
    same("table raw, field n: \"\" is not an integer" in keyway(3, "put", "raw", "a=x", "n="), True, "an empty number")
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder, "rows.jsonl")
        rows.write_text('{"a": "", "n": 1}\n{"a": "x", "n": 2}\n', encoding="utf-8")
        output = keyway(9, "import", "raw", str(rows))
        same(REFUSED["raw"] in output and "1 records written, 1 rejected" in output, True, output)
        cells = pathlib.Path(folder, "rows.csv")
        cells.write_text("a,n\n,1\ny,2\n", encoding="utf-8")
        output = keyway(9, "import", "raw", str(cells))
        same("table raw: field a is missing" in output and "1 records written, 1 rejected" in output, True, output)


def main():
    store, program = sys.argv[1:]
    with Ready(policy_for(store)) as gateway:
        data, admin = gateway.data(), gateway.admin()
        without_key(gateway, data, admin, store == "embedded")
        with_key(data)
        test_equal_keys(data)
        removed_values(data)
        by_command(gateway, program)


main()
