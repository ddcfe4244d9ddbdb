"""keyway get --versions: what each write stored in a record.

Arguments: the program. KEYWAYD names the gateway. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from fake_gateway import FakeGateway  # noqa: E402
from keyway_gateway import Gateway  # noqa: E402
from keyway_thrift import ttypes as t  # noqa: E402
from test_cli import KEYWAY, T0, Case  # noqa: E402

POLICY = """\
listen: 127.0.0.1:0
admin: off
loops: 1
limits: {{frame: 1MiB}}
store: {{kind: embedded, path: {folder}/data}}
tables:
  carts:
    order: store
    fields: {{id: string, item: string, price: double, notes: {{type: map, of: string}}}}
    key: [id]
    families: {{d: {{versions: 3}}}}
  stamped:
    fields: {{id: string, item: string, at: timestamp}}
    key: [id]
    paths: {{by_id: {{key: [hash: {{algorithm: md5, of: [id], take: 2}}, id]}}}}
    families: {{d: {{versions: 5}}}}
  chosen:
    fields: {{id: string, item: string}}
    key: [salt: {{algorithm: random, buckets: 4}}, id]
    updates: false
  plain:
    fields: {{id: string, item: string}}
    key: [id]
"""


class Fake(Case):
    def test_output(self):
        with FakeGateway() as gateway:
            gateway.handler.versions = [(T0 + 1, {"status": t.Value(text="paid")}),
                                        (T0, {"status": t.Value(text="new"), "amount": t.Value(real=2.5)})]
            words = ["get", "order_events", "order_id=A", "ts=1", "--versions", "7"]
            key = {"order_id": "A", "ts": "1970-01-01T00:00:00.001Z"}
            self.assertEqual(json.loads(self.run_ok(gateway, *words, "-o", "json")),
                             [{"@timestamp": "2026-11-21T10:00:00.001Z", **key, "status": "paid"},
                              {"@timestamp": "2026-11-21T10:00:00.000Z", **key, "status": "new", "amount": 2.5}])
            self.assertEqual(gateway.handler.asked, ([], 7))
            raw = self.run_ok(gateway, *words, "--raw", "-o", "csv").splitlines()
            self.assertEqual(raw, ["@timestamp,order_id,ts,status,amount", f"{T0 + 1},A,1,paid,", f"{T0},A,1,new,2.5"])
            self.run_ok(gateway, *words, "-c", "status,city")
            self.assertEqual(gateway.handler.asked, (["status", "city"], 7))
            gateway.handler.versions = []
            self.assertIn("has no such record\n", self.run_bad(4, gateway, *words))
            self.assertIn("none of these columns", self.run_bad(4, gateway, *words, "-c", "city"))
            for number in ("-1", "0", "1001"):
                self.assertIn("must be 1 to 1000", self.run_bad(2, gateway, *words[:-1], number))


class Real(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(POLICY)
        cls.gateway.__enter__()
        cls.addClassCleanup(cls.gateway.__exit__, None, None, None)

    def keyway(self, *words, status=0):
        done = subprocess.run([KEYWAY, "-g", self.gateway.address, *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def versions(self, table, number, *words):
        found = json.loads(self.keyway("get", table, "id=a", "--versions", str(number), "-o", "json", "--raw", *words))
        stamps = [row.pop("@timestamp") for row in found]
        self.assertEqual(stamps, sorted(set(stamps), reverse=True))
        for row in found:
            self.assertEqual(row.pop("id"), "a")
        return stamps, found

    def test_versions(self):
        for stamp, fields in ((10, ["item=one", "price=1"]), (20, ["price=2"]), (30, ["item=three"]), (40, ["item=four", "notes.x=y"]),
                              (50, ["item=five"])):
            self.keyway("put", "carts", "id=a", *fields, "--timestamp", str(stamp))
        five, four = {"item": "five"}, {"item": "four", "notes": {"x": "y"}}
        self.assertEqual(self.versions("carts", 1), ([50], [five]))
        self.assertEqual(self.versions("carts", 2), ([50, 40], [five, four]))
        # The family keeps three versions of each column: item=one is gone, and price=1 is still there.
        self.assertEqual(self.versions("carts", 1000), ([50, 40, 30, 20, 10], [five, four, {"item": "three"}, {"price": 2}, {"price": 1}]))
        self.assertEqual(self.versions("carts", 9, "-c", "price"), ([20, 10], [{"price": 2}, {"price": 1}]))
        self.keyway("remove", "carts", "id=a", "-c", "item")
        self.assertEqual(self.versions("carts", 9)[1], [{"notes": {"x": "y"}}, {"price": 2}, {"price": 1}])
        self.keyway("remove", "carts", "id=a")
        self.keyway("get", "carts", "id=a", "--versions", "9", status=4)

    def test_stamped_table(self):
        for item in ("one", "two", "three"):
            self.keyway("put", "stamped", "id=a", f"item={item}", "at=5")
        self.assertEqual([row["item"] for row in self.versions("stamped", 9)[1]], ["three", "two", "one"])
        self.assertEqual([row["item"] for row in self.versions("stamped", 2)[1]], ["three", "two"])
        self.keyway("remove", "stamped", "id=a")
        self.keyway("get", "stamped", "id=a", "--versions", "9", status=4)
        self.keyway("put", "stamped", "id=a", "item=new")  # the versions before the removal stay hidden
        self.assertEqual([row["item"] for row in self.versions("stamped", 9)[1]], ["new"])

    def test_record_in_several_buckets(self):
        """Each put can write another row of the record."""
        for number in range(12):
            self.keyway("put", "chosen", "id=a", f"item={number}", "--timestamp", str(100 + number))
        stamps, rows = self.versions("chosen", 1000)
        self.assertEqual((stamps[0], rows[0]), (111, {"item": "11"}))
        self.assertEqual([str(stamp - 100) for stamp in stamps], [row["item"] for row in rows])
        self.assertEqual(self.versions("chosen", 1), ([111], [{"item": "11"}]))

    def test_too_large(self):
        """The versions of one row must fit into a reply; fewer of them do."""
        data = self.gateway.data()
        for stamp in range(1, 4):
            data.put("carts", {"id": t.Value(text="large"), "item": t.Value(text="x" * 450000)}, t.Options(timestamp=stamp))
        self.keyway("get", "carts", "id=large", "--versions", "2", "-o", "json")
        with self.assertRaises(t.KeywayError) as failed:
            data.getVersions("carts", {"id": t.Value(text="large")}, None, 3, None)
        self.assertEqual(failed.exception.code, t.Code.LIMIT)
        self.assertIn("request fewer versions", failed.exception.message)

    def test_one_version(self):
        self.keyway("put", "plain", "id=a", "item=one")
        self.keyway("put", "plain", "id=a", "item=two")
        self.assertEqual(self.versions("plain", 9)[1], [{"item": "two"}])
        self.keyway("put", "plain", "id=b")  # no stored field
        self.assertEqual(len(json.loads(self.keyway("get", "plain", "id=b", "--versions", "9", "-o", "json"))), 1)

    def test_mistakes(self):
        self.keyway("get", "plain", "item=a", "--versions", "2", status=3)
        for number in (0, -1, 1001, None):
            with self.assertRaises(t.KeywayError) as failed:
                self.gateway.data().getVersions("plain", {"id": t.Value(text="a")}, None, number, None)
            self.assertIn("max_versions must be 1 to 1000", failed.exception.message)


if __name__ == "__main__":
    unittest.main(verbosity=1)
