"""Files of tests/data/imports, made by other programs: keyway import stores what they mean, or rejects them and names the cause.

Arguments: the program, and the folder. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import pathlib
import sys
import tempfile
import unittest

import fake_gateway
from fake_gateway import FakeGateway
from test_cli import Case, keyway

FOLDER = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
RECORDS = {
    ("A-001", 1795255200250): {"status": "paid", "city": "Köln, Altstadt", "amount": 19.9, "visits": 3, "paid": True},
    ("007", 1795255201000): {"status": 'say "hi"', "amount": 1e-07, "visits": 12345678901, "paid": False},
    ("C;3", 1795305599999): {"status": "two\nlines", "city": "東京", "amount": 0.1 + 0.2},
}
ALL = "status city amount visits paid"
# The files whose records are stored: the fields that they have.
STORED = {
    "go-csv.csv": "status amount paid", "go-json.jsonl": ALL,
    "java-instant.csv": "city amount", "java-offset.csv": "city amount", "java-utf16.csv": "city amount", "java-zoned.csv": "city amount",
    "jq-ascii.json": ALL, "jq-compact.jsonl": ALL, "jq-csv.csv": ALL, "jq-pretty.json": ALL,
    "libreoffice-csv.csv": ALL, "libreoffice-german.csv": ALL, "libreoffice-quoted.csv": ALL, "libreoffice-tab-utf16.csv": ALL,
    "node-json.json": ALL,
    "pandas-csv.csv": ALL, "pandas-epoch.jsonl": ALL, "pandas-iso.json": ALL, "pandas-nullable.csv": ALL,
    "python-csv-excel-tab.tsv": ALL, "python-csv.csv": ALL, "python-json-lines.jsonl": ALL, "python-json.json": ALL,
    "sqlite-csv.csv": ALL, "sqlite-json.json": ALL,
}
ROUNDED = ("libreoffice-", "pandas-epoch", "pandas-iso", "sqlite-csv")  # these programs print at most 15 digits of a double
# The files that are rejected, or stored in part: exit status, records stored, and what the messages contain.
CAUSES = {
    "jq-stream.json": (9, 0, ["jq-stream.json:1: the object does not end on this line; write one object per line (jq -c), or one array"]),
    "mariadb-batch.tsv": (3, 1, ["line 3: a quote is not closed, or is inside a cell that does not start with a quote"]),
    "mariadb-outfile.csv": (3, 1, ["line 3: a quote is not closed", "a backslash does not escape a quote: double it"]),
    "mariadb-outfile.tsv": (3, 1, ["line 3: a quote is not closed, or is inside a cell that does not start with a quote"]),
    "node-date-string.csv": (9, 0, ['field ts: "Sat Nov 21 2026 10:00:00 GMT+0000 (Coordinated Universal Time)" is not a timestamp like 2026-11-21T10:00:00Z']),
    "node-inspect.json": (9, 0, ["the line is not JSON"]),
    "pandas-columns.json": (9, 0, ["field order_id: the value is an object, but the field is not a map"]),
    "pandas-index.csv": (3, 0, ["line 1: cell 1 names no field", "index=False"]),
    "pandas-na.csv": (9, 2, ['field visits: "NA" is not an integer', "stored as the text NA, or one like it: 1.", "--null NA"]),
    "sqlline-csv.csv": (3, 0, ["line 1: the cells are in single quotes; CSV has double quotes"]),
    "sqlline-json.json": (9, 1, ["sqlline-json.json:1: the object does not end on this line; write one object per line (jq -c), or one array"]),
    "sqlline-tsv.tsv": (9, 2, ['field visits: "null" is not an integer of 64 bits; if it stands for a missing value, use --null null']),
}
PARTS = {
    "sqlite-list.csv": {("A-001", 1795255200250): {"visits": 3}, ("007", 1795255201000): {"visits": 12345678901}},
    "sqlite-semicolons.csv": {("007", 1795255201000): {"amount": 1e-07, "visits": 12345678901}},
}


class OtherPrograms(Case):
    def load(self, name, *words):
        """What was stored by order_id and ts, the exit status, and the messages."""
        with FakeGateway() as gateway, tempfile.TemporaryDirectory() as folder:
            done = keyway(gateway, "import", "order_events", str(FOLDER / name), "--reject", folder + "/rejected", *words)
            rows = {key: {n: fake_gateway.plain(v) for n, v in row.items() if n not in ("order_id", "ts")}
                    for key, row in gateway.handler.rows.items()}
            return rows, done.returncode, done.stderr

    def test_stored(self):
        for name, fields in STORED.items():
            with self.subTest(file=name):
                rows, status, shown = self.load(name)
                self.assertEqual(status, 0, shown)
                self.assertNotIn("missing value", shown)
                expected = {key: {n: v for n, v in row.items() if n in fields.split()} for key, row in RECORDS.items()}
                if name.startswith(ROUNDED):
                    expected["C;3", 1795305599999]["amount"] = 0.3
                self.assertEqual(rows, expected)

    def test_parts(self):
        for name, expected in PARTS.items():
            self.assertEqual(self.load(name)[0], expected, name)

    def test_causes(self):
        for name, (status, stored, texts) in CAUSES.items():
            with self.subTest(file=name):
                rows, found, shown = self.load(name)
                self.assertEqual((found, len(rows)), (status, stored), shown)
                for text in texts:
                    self.assertIn(text, shown)

    def test_missing_values(self):
        rows, status, shown = self.load("pandas-na.csv", "--null", "NA")
        self.assertEqual(status, 0, shown)
        self.assertEqual(rows, RECORDS)
        self.assertNotIn("missing value", shown)

    def test_every_file_is_tested(self):
        files = {path.name for path in FOLDER.iterdir()} - {"README.md", "make.py", "__pycache__"}
        self.assertEqual(files, {*STORED, *CAUSES, *PARTS})


if __name__ == "__main__":
    unittest.main()
