"""Lawful values for the arguments of every method, by the name of the argument or of the struct's member.

A text, a number or a record whose name has no row here fails the walk with a message that says so: add a row. A row that is
true for one struct only has the name `Struct.member`.

Each value has these variants:
  small    one record, a short query
  many     the largest number of elements: records, values, columns, entries
  large    the largest elements: ids of 30,000 bytes, frames filled with long values, pages of the largest size
  wide     queries that read all rows, with a range and with the largest filter; otherwise like small
"""
from keyway_gateway import record as values_of
from keyway_thrift.ttypes import ChangeAction, CompareOp, ImportStep, Query

from . import tables
from .idl import ABSENT
from .tables import BASE_MS, DAY_MS, LONGEST, MIB, STORED

VARIANTS = ("small", "many", "large", "wide")
VALUE_BYTES = 5 * MIB  # of the largest values
RINGS = "      - ring: {of: [id], replicas: 4096, nodes: [" + tables.NODES + "]}\n"


LARGEST_FILTER = " AND ".join([f"ValueFilter(!=, 'regexstring:^{'a?' * 60}{i}$')" for i in range(64)] + ["ColumnPrefixFilter('n')"])


class Context:
    """What lawful values depend on: the table and the variant, the limits, and what the gateway has returned before."""

    def __init__(self, gateway, table, variant, frame_bytes):
        self.gateway, self.table, self.variant, self.frame_bytes = gateway, table, variant, frame_bytes

    def one_of(self, **variants):
        return variants.get(self.variant, variants["small"])

    # --- records ----------------------------------------------------------------------------------

    def fitting(self, record, most):
        """How many such records fit into three quarters of a frame, at most `most`."""
        each = sum(len(name) + 20 + (len(value) if isinstance(value, (str, bytes)) else 8) for name, value in record.items())
        return max(1, min(most, self.frame_bytes * 3 // 4 // each))

    def records(self, make, longest):
        """A list of records: make(number, id_bytes) returns one. longest: bytes of a long id."""
        id_bytes = self.one_of(small=0, large=longest)
        count = self.fitting(make(0, id_bytes), self.one_of(small=3, many=10000, large=10000))
        return [make(number, id_bytes) for number in range(count)]

    def key(self):
        return self.table.key(7, self.one_of(small=0, large=LONGEST))

    def record(self):
        table, has_maps = self.table, self.table is tables.EVENTS
        if self.variant == "many" and has_maps:
            return table.record(7, tags={f"t{i:05}": "x" for i in range(20000)})
        if self.variant == "large":
            long = {"blob": b"y" * VALUE_BYTES} if has_maps else {"note": "y" * VALUE_BYTES}
            return table.record(7, STORED, **long)
        return table.record(7)

    def columns(self):
        return self.one_of(small=ABSENT, many=["note"] * 10000, large=["note"])

    def amounts(self):
        if self.variant == "many" and self.table is tables.EVENTS:
            return {f"hits.h{i:05}": 1 for i in range(1000)}
        return {"n": 1}

    # --- queries ----------------------------------------------------------------------------------

    def bound(self):
        if self.variant == "wide":
            return ABSENT
        if self.variant == "many":
            return {}
        return {name: value for name, value in self.key().items() if name == "id"}

    def bound_any(self):
        if self.variant == "many":
            return {"id": [f"id{i:06}" for i in range(100)], "ts": [BASE_MS + i for i in range(100)]}
        if self.variant == "large":
            return {"ts": [BASE_MS + i for i in range(10000)]}
        return ABSENT

    def range(self):
        return {"field": "ts", "from_value": BASE_MS, "to_value": BASE_MS + 12 * DAY_MS} if self.variant == "wide" else ABSENT

    def filter(self):
        if self.variant != "wide":
            return ABSENT
        return LARGEST_FILTER

    # --- policies ---------------------------------------------------------------------------------

    def policy(self):
        """A policy that contains the present tables, so that policyApply accepts it too."""
        if self.variant == "many":
            more = [f"  t{i}: {{fields: {{id: string}}, key: [{{field: id}}]}}\n" for i in range(500)]
        elif self.variant == "large":
            fields = "    fields: {id: {type: string, max_bytes: 100}, " + ", ".join(f"f{i}: int" for i in range(900)) + "}\n"
            more = [f"  t{i}:\n{fields}    key:\n{RINGS}      - field: id\n" for i in range(20)]
        else:
            return tables.PRESENT
        return tables.PRESENT + "".join(more)

    # --- returned by the gateway ------------------------------------------------------------------

    def page_cursor(self):
        """A cursor of a scan over the whole table."""
        data = self.gateway.data()
        query = Query(table=self.table.name, full_scan=True, page_rows=1, filter=self.one_of(small=None, large=LARGEST_FILTER))
        try:
            return data.scan(query).cursor
        finally:
            data.close()

    def row_key(self):
        admin = self.gateway.admin()
        try:
            return admin.explainPut(self.table.name, values_of(**self.key())).keys[0].row_key
        finally:
            admin.close()

    def version(self):
        return int(self.gateway.metric("keyway_policy_version"))


def saved_cell(value):
    return {"row": b"=facts", "column": b"made/x", "value": value}


NAMES = {
    # records and tables
    "table": lambda at: at.table.name,
    "record": Context.record,
    "key": Context.key,
    "scope": lambda at: ABSENT,
    "records": lambda at: at.records(at.table.record, STORED),
    "sample": lambda at: at.records(at.table.record, STORED),
    "keys": lambda at: at.records(at.table.key, LONGEST),
    "columns": Context.columns,
    "amounts": Context.amounts,
    "field": lambda at: at.table.generated or "ts",
    "count": lambda at: at.one_of(small=1, many=100000),
    "max_versions": lambda at: at.one_of(small=1, many=1000),
    "Condition.field": lambda at: "n",
    "op": lambda at: CompareOp.NOT_EQUAL,
    "value": lambda at: -1,
    "row_key": Context.row_key,
    # queries
    "name": lambda at: "name",
    "bound": Context.bound,
    "bound_any": Context.bound_any,
    "range": Context.range,
    "Range.field": lambda at: "ts",
    "from_value": lambda at: BASE_MS,
    "to_value": lambda at: BASE_MS + DAY_MS,
    "from_inclusive": lambda at: ABSENT,
    "to_inclusive": lambda at: ABSENT,
    "order": lambda at: ABSENT,
    "path": lambda at: ABSENT,
    "filter": Context.filter,
    "limit": lambda at: at.one_of(small=ABSENT),
    "page_rows": lambda at: at.one_of(small=ABSENT, wide=10000, many=10000),
    "page_bytes": lambda at: at.one_of(small=ABSENT, wide=8 * MIB, many=8 * MIB),
    "full_scan": lambda at: True,
    "cursor": Context.page_cursor,
    # options of calls
    "deadline_ms": lambda at: ABSENT,
    "durability": lambda at: ABSENT,
    "timestamp": lambda at: ABSENT,
    "ScrubOptions.cursor": lambda at: ABSENT,
    "VerifyOptions.cursor": lambda at: ABSENT,
    "max_rows": lambda at: at.one_of(small=10, many=1000, large=1000),
    "max_examples": lambda at: at.one_of(small=10, many=100, large=100),
    "repair": lambda at: at.one_of(small=ABSENT, many=True),
    "max_records": lambda at: at.one_of(small=10, many=1000, large=1000),
    "max_differences": lambda at: at.one_of(small=10, many=1000, large=1000),
    "settle_ms": lambda at: 0,
    # policies
    "text": Context.policy,
    "old_text": Context.policy,
    "new_text": Context.policy,
    "policy_text": lambda at: at.one_of(small=ABSENT, many=at.policy(), large=at.policy()),
    "reason": lambda at: at.one_of(small=ABSENT, large="r" * 1000),
    "expected_version": Context.version,
    "ChangeOptions.expected_version": lambda at: ABSENT,
    "dry_run": lambda at: at.one_of(small=ABSENT, many=True),
    "import_file": lambda at: ABSENT,
    "only_writer": lambda at: ABSENT,
    "before": lambda at: at.one_of(small=ABSENT, many=0),
    "PolicyHistory.limit": lambda at: 1000,
    "version": lambda at: 0,
    "action": lambda at: at.one_of(small=ChangeAction.PAUSE, many=ChangeAction.RESUME, large=ChangeAction.COMPARE),
    "rows_per_second": lambda at: ABSENT,
    "share_percent": lambda at: ABSENT,
    "leave_undecodable": lambda at: ABSENT,
    "skip_undecodable": lambda at: at.one_of(small=ABSENT, large=True),
    "expire_cursors": lambda at: ABSENT,
    "drop_rows": lambda at: at.one_of(small=ABSENT, many=True),
    "AdviseOptions.regions": lambda at: at.one_of(small=16, many=256),
    "time_field": lambda at: "ts",
    "window_ms": lambda at: at.one_of(small=ABSENT, many=1),
    # backups of the catalog
    "exportCatalog.cursor": lambda at: ABSENT,
    "export_id": lambda at: "0" * 64,
    "step": lambda at: at.one_of(small=ImportStep.START, many=ImportStep.ADD, large=ImportStep.ADD),
    "cells": lambda at: at.one_of(small=ABSENT, many=[saved_cell("x")] * 10000, large=[saved_cell("x" * MIB)]),
    "counters": lambda at: ABSENT,
    "counters_table": lambda at: ABSENT,
    "counters_keep_ms": lambda at: ABSENT,
    # store tables
    "families": lambda at: [{"name": "d"}, {"name": "h"}],
    "FamilyOptions.name": lambda at: "d",
    "compression": lambda at: "LZ4",
    "bloom_filter": lambda at: "ROW",
    "ttl_seconds": lambda at: 1000,
    "FamilyOptions.max_versions": lambda at: 3,
    "min_versions": lambda at: 1,
    "block_size": lambda at: 65536,
    "block_cache": lambda at: True,
    "in_memory": lambda at: True,
    "block_encoding": lambda at: "DIFF",
    "replication_scope": lambda at: 0,
    "keep_deleted_cells": lambda at: True,
    "if_absent": lambda at: True,
    "splits": lambda at: ABSENT,
    "SplitOptions.keys": lambda at: ABSENT,
    "algorithm": lambda at: "rule",
    "regions": lambda at: at.one_of(small=16, many=10000),
    "SplitOptions.sample": lambda at: ABSENT,
}


class Unfillable(Exception):
    """The IDL has an argument that the walk does not know."""


def value_of(member, context):
    """The lawful value of an argument or member."""
    row = NAMES.get(f"{member.owner}.{member.name}") or NAMES.get(member.name)
    if row:
        return row(context)
    if member.type.kind == "struct" and member.type.name != "Value":
        return {one.name: value_of(one, context) for one in member.type.members}
    if member.type.kind == "list" and member.type.parts[0].kind == "struct":
        count = context.one_of(small=1, many=8, large=4)
        return [{one.name: value_of(one, context) for one in member.type.parts[0].members}] * count
    raise Unfillable(f"the IDL has {member.owner}.{member.name}, whose lawful values are unknown: add a row to NAMES in {__file__}")


def arguments(method, context):
    """The lawful arguments of a method, by name."""
    return {one.name: value_of(one, context) for one in method.arguments}
