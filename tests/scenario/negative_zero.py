"""Rows whose keys hold -0.0, as other programs and earlier versions wrote them: scans return them, verify and scrub report them
with what to do, and what Keyway writes is found by both spellings of zero.

    negative_zero.py embedded
"""
import sys
import unittest

from foreign_case import ForeignCase
from keyway_gateway import plain, record
from keyway_thrift.ttypes import Query

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
TABLE = """\
  zero:
    store_table: NAME_zero
    fields: {{k: double, n: int, text: {{type: string, column: 'd:amount'}}}}
    key: [k, n]
    paths:
      by_n: {{store_table: NAME_by_n, key: [n, k]}}
"""
RAW = """\
  RAW:
    store_table: NAME_RAW
    accept_unverified: true
    fields: {{key: bytes, amount: {{type: bytes, column: 'd:amount'}}}}
    key: [{{field: key}}]
"""
NEGATIVE_ZERO = b"\x7f" + b"\xff" * 7


class NegativeZero(ForeignCase):
    store = STORE

    def policy(self, tables=TABLE, catalog="catalog"):
        return super().policy(tables, catalog)

    def test_reported(self):
        self.put("zero", [record(k=0.0, n=7, text="ours"), record(k=1.5, n=7, text="other")])
        raw = {"zero": [(NEGATIVE_ZERO + b"\x80" + b"\0" * 6 + b"\7", {"amount": b"theirs"})],
               "by_n": [(b"\x80" + b"\0" * 6 + b"\7" + NEGATIVE_ZERO, {"amount": b"theirs"})]}
        names = "".join(RAW.replace("RAW", table) for table in raw)
        self.restart(names, "raw")
        for table, rows in raw.items():
            self.put(table, [record(key=key, **columns) for key, columns in rows])
        self.restart(TABLE, "catalog")
        data = self.gateway.data()
        found = sorted(plain(row)["text"] for row in data.scan(Query(table="zero", full_scan=True)).rows)
        self.assertEqual(found, ["other", "ours", "theirs"])
        for zero in (0.0, -0.0):
            self.assertEqual(plain(data.get("zero", record(k=zero, n=7), None, None).record)["text"], "ours")
        data.close()
        out, summary = self.keyway("scrub", "zero", code=3)
        self.assertEqual(out.count("field k is -0.0 in the row key"), 2, out)
        self.assertIn("put the record again, and delete this row", out)
        self.assertIn("0 missing, 0 different, 0 extra, 2 foreign", summary)
        for path in ("primary", "by_n"):
            result = self.json("verify", "zero", "--path", path, code=3)[0]
            self.assertEqual((result["rows"], result["foreign_rows"]), (3, 1))
            self.assertIn("field k is -0.0 in the row key", str(result))


if __name__ == "__main__":
    unittest.main()
