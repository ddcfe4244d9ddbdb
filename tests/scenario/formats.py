"""Reads a data folder, an exported catalog and a cursor that are kept in the tree (tests/data/formats), and refuses newer ones.

    formats.py            # reads them
    formats.py --write    # writes them again; see tests/data/formats/README.md
"""
import base64
import hashlib
import hmac
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

from keyway_gateway import Gateway, plain, record
from keyway_thrift.ttypes import Code, CompareOp, Condition, KeywayError, Query

FORMATS = pathlib.Path(__file__).resolve().parent.parent / "data" / "formats"
KEY = "the key of the kept cursor"
POLICY = f"""\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
cursor: {{{{keys: [{KEY}]}}}}
store: {{{{kind: embedded, path: {{folder}}/data}}}}
tables:
  orders:
    fields:
      id: {{{{type: string, max_bytes: 20}}}}
      ts: {{{{type: timestamp, unit: ms}}}}
      n: {{{{type: int, counter: true}}}}
      note: string
      tags: {{{{type: map, of: string, column: "t:*"}}}}
    key: [{{{{hash: {{{{algorithm: md5, of: [id], take: 4, as: hex}}}}}}}}, {{{{field: id}}}}, {{{{field: ts}}}}]
    paths:
      by_ts: {{{{key: [{{{{salt: {{{{of: [id], buckets: 4}}}}}}}}, {{{{field: ts}}}}, {{{{field: id}}}}]}}}}
    order: stamp
    atomics: true
  bills:
    fields: {{{{id: {{{{type: int, generate: sequence}}}}, day: {{{{type: string, values: [mo, tu]}}}}}}}}
    key: [{{{{field: id}}}}]
"""
ROWS = 12
PAGE = 5
QUERY = Query(table="orders", path="by_ts", full_scan=True, page_rows=PAGE)
CREATED_MS = 4102444800000  # 2100: the cursor does not expire before
DOMAIN = b"keyway cursor"


def order(number):
    return {"id": f"o{number:02}", "ts": 1795000000000 + number, "n": number, "note": f"note {number}", "tags": {"a": "x", "b": str(number)}}


def signed(body):
    return body + hmac.new(KEY.encode(), DOMAIN + body, hashlib.sha256).digest()


def keyway(gateway, *words):
    return subprocess.run([os.environ["KEYWAY"], "--gateway", "%s:%d" % gateway.addresses[0], *words], capture_output=True, text=True,
                          check=False)


# --- writing --------------------------------------------------------------------------------------

def write_rows(data):
    for number in range(ROWS):
        data.put("orders", record(**order(number)), None)
    data.put("orders", record(**{**order(99), "note": "removed"}), None)
    data.remove("orders", record(id="o99", ts=order(99)["ts"]), None, None)
    for _ in range(3):
        data.put("bills", record(day="mo"), None)


def write():
    with tempfile.TemporaryDirectory(prefix="keyway-test-") as folder:
        with Gateway(POLICY, folder=folder) as gateway:
            data = gateway.data()
            write_rows(data)
            cursor = data.scan(QUERY).cursor
            data.close()
            done = keyway(gateway, "catalog", "export", os.path.join(folder, "catalog.txt"))
            assert done.returncode == 0, done.stderr
        body = cursor[:1] + struct.pack(">Q", CREATED_MS) + cursor[9:-32]
        assert signed(cursor[:-32]) == cursor, "the signature of cursors has changed"
        FORMATS.mkdir(exist_ok=True)
        (FORMATS / "cursor").write_bytes(base64.encodebytes(signed(body)))
        shutil.copy(os.path.join(folder, "catalog.txt"), FORMATS / "catalog.txt")
        with tarfile.open(FORMATS / "store.tar.gz", "w:gz") as archive:
            archive.add(os.path.join(folder, "data"), "data")


# --- reading --------------------------------------------------------------------------------------

class Formats(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="keyway-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.cursor = base64.decodebytes((FORMATS / "cursor").read_bytes())

    def open(self, policy=POLICY, **how):
        with tarfile.open(FORMATS / "store.tar.gz") as archive:
            archive.extractall(self.folder)
        return Gateway(policy, folder=self.folder, **how)

    def scan(self, data, query):
        rows, page = [], data.scan(query)
        while True:
            rows += [plain(row) for row in page.rows]
            if not page.cursor:
                return rows
            page = data.nextPage(page.cursor, None)

    def test_rows(self):
        with self.open() as gateway:
            self.assertTrue(gateway.ready()["ready"])
            data = gateway.data()
            for path in (None, "by_ts"):
                found = self.scan(data, Query(table="orders", path=path, full_scan=True))
                self.assertEqual(sorted(found, key=lambda row: row["n"]), [order(number) for number in range(ROWS)])
            self.assertEqual([path.state for path in data.describe("orders").paths], ["complete"] * 2)
            self.assertEqual(sorted(row["id"] for row in self.scan(data, Query(table="bills", full_scan=True))), [1, 2, 3])
            self.assertGreater(plain(data.put("bills", record(day="tu"), None).made)["id"], 3)
            self.assertEqual(plain(data.increment("orders", record(id="o01", ts=order(1)["ts"]), {"n": 5}, None))["n"], 6)
            condition = Condition(field="note", op=CompareOp.EQUAL, value=record(note="note 2")["note"])
            self.assertTrue(data.putIf("orders", record(id="o02", ts=order(2)["ts"], note="new"), condition, None))
            self.assertFalse(data.putIf("orders", record(id="o02", ts=order(2)["ts"], note="newer"), condition, None))
            data.close()

    def test_cursor(self):
        with self.open() as gateway:
            data = gateway.data()
            before = [plain(row)["id"] for row in data.scan(QUERY).rows]
            page = data.nextPage(self.cursor, None)
            after = [plain(row)["id"] for row in page.rows]
            while page.cursor:
                page = data.nextPage(page.cursor, None)
                after += [plain(row)["id"] for row in page.rows]
            self.assertEqual(before + after, [order(number)["id"] for number in range(ROWS)])
            with self.assertRaises(KeywayError) as caught:
                data.nextPage(signed(bytes([self.cursor[0] + 1]) + self.cursor[1:-32]), None)
            self.assertEqual(caught.exception.code, Code.INVALID)
            self.assertIn("made by another release", caught.exception.message)
            data.close()

    def test_exported_catalog(self):
        """The export is imported beside the rows, into a catalog with another name: the rules are those of the rows."""
        head = POLICY.split("tables:")[0].replace("{folder}/data}", "{folder}/data, catalog: other}")
        with self.open(head + "policy: {{source: store}}\n") as gateway:
            done = keyway(gateway, "catalog", "import", str(FORMATS / "catalog.txt"))
            self.assertEqual(done.returncode, 0, done.stderr)
            admin = gateway.admin()
            text = "tables:" + POLICY.split("tables:")[1]
            with self.assertRaises(KeywayError) as caught:
                admin.policyApply(text.format(folder="").replace("take: 4", "take: 6"), 0, None)
            self.assertIn("its rows were written under layout 1", caught.exception.message)
            admin.policyApply(text.format(folder=""), 0, None)
            data = gateway.data()
            self.assertEqual(len(self.scan(data, Query(table="orders", full_scan=True))), ROWS)
            self.assertGreater(plain(data.put("bills", record(day="tu"), None).made)["id"], 3)
            data.close()
            admin.close()

    def refuse_start(self, part):
        gateway = Gateway("strict_start: true\n" + POLICY, folder=self.folder, expect_start=False)
        gateway.start()
        self.assertNotEqual(gateway.wait_for_exit(), 0)
        self.assertIn(part, gateway.log())

    def test_newer_folder(self):
        self.open()
        (pathlib.Path(self.folder) / "data" / "format").write_text("keyway embedded store, format 2\n", encoding="ascii")
        self.refuse_start('contains \\"keyway embedded store, format 2\\"; this release of keywayd reads')

    def test_newer_export(self):
        text = (FORMATS / "catalog.txt").read_text(encoding="ascii")
        self.assertIn('{"table":"orders",', text)
        changed = pathlib.Path(self.folder) / "catalog.txt"
        lines = text.replace('{"table":"orders",', '{"table":"orders","form":2,').partition("end\t")[0]
        changed.write_text(f"{lines}end\t{hashlib.sha256(lines.encode()).hexdigest()}\n", encoding="ascii")
        head = POLICY.split("tables:")[0].replace("{folder}/data}", "{folder}/data, catalog: other}")
        with self.open(head + "policy: {{source: store}}\n") as gateway:
            done = keyway(gateway, "catalog", "import", str(changed))
            self.assertEqual(done.returncode, 1)
            self.assertIn("the facts of table orders have form 2, which a later release of Keyway wrote", done.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main(verbosity=2, warnings="ignore")
