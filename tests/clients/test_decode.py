"""keyway decode: the fields that a row key holds, or the component that does not fit.

Arguments: the program. KEYWAYD names the gateway.
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Gateway  # noqa: E402

KEYWAY = sys.argv.pop(1)
TABLES = """\
tables:
  order_events:
    fields: {order_id: {type: string, max_bytes: 64}, ts: timestamp, n: int, status: string}
    key: [hash: {algorithm: md5, of: [order_id], take: 4, as: hex}, order_id, field: {name: ts, order: desc}, n]
    paths:
      by_time: {key: [salt: {buckets: 16, of: [order_id]}, ts, order_id, n]}
"""
POLICY = "listen: 127.0.0.1:0\nadmin: off\nloops: 1\nstore: {{kind: embedded, path: {folder}/data}}\n" + TABLES.replace("{", "{{").replace("}", "}}")
RECORD = ["order_id=SF1001", "ts=2026-11-25T10:00:00Z", "n=-7"]
GATEWAY = Gateway(POLICY)


def setUpModule():
    GATEWAY.__enter__()


def tearDownModule():
    GATEWAY.__exit__(None, None, None)


class Decoding(unittest.TestCase):
    def keyway(self, *words, status=0, gateway=None):
        env = {**os.environ, "KEYWAY_GATEWAY": gateway or GATEWAY.address}
        done = subprocess.run([KEYWAY, *words], env=env, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def keys(self):
        """The row keys of the record, as explain prints them: by path, as text and as hex."""
        keys = json.loads(self.keyway("explain", "order_events", "--put", *RECORD, "-o", "json"))["keys"]
        return {key["path"]: (key["row_key"], key["row_key_hex"]) for key in keys}

    def test_text_and_hex(self):
        for path, (text, digits) in self.keys().items():
            for words in ([text], [digits], ["--hex", digits.upper()]):
                found = json.loads(self.keyway("decode", "order_events", *words, "-o", "json"))
                fitting = [key for key in found if key["fits"]]
                self.assertEqual([key["path"] for key in fitting], [path], words)
                self.assertEqual(fitting[0]["record"], {"order_id": "SF1001", "ts": "2026-11-25T10:00:00.000Z", "n": -7})
                self.assertEqual("".join(piece["hex"] for piece in fitting[0]["components"]), digits)
                self.assertEqual(sorted(key["path"] for key in found), ["by_time", "primary"])

    def test_for_people(self):
        text, _ = self.keys()["primary"]
        shown = self.keyway("decode", "order_events", text)
        self.assertIn("path primary, store table order_events\n  record   order_id=SF1001 ts=2026-11-25T10:00:00.000Z n=-7\n", shown)
        self.assertRegex(shown, r"    hash\(.*\) +4 bytes  c415 +hex 63343135\n")
        self.assertNotIn("by_time", shown)  # only the paths that the key fits
        raw = self.keyway("decode", "order_events", "--raw", text)
        self.assertIn("ts=1795600800000", raw)

    def test_the_component_that_does_not_fit(self):
        text, digits = self.keys()["primary"]
        for wrong, component, reason in (
                ("d" + text[1:], "hash(", "is d415, but must be c415"),
                (text + "x", None, "has bytes after the last component: x"),
                ("--hex:" + digits[:-2], "field(n ", "needs 8 bytes, but only 7 are left"),
                ("--hex:" + digits[:10], "field(order_id ", "does not end"),
                ("c4", "hash(", "needs 4 bytes, but only 2 are left")):
            words = wrong.split(":") if wrong.startswith("--hex:") else [wrong]
            with self.subTest(wrong=wrong):
                found = json.loads(self.keyway("decode", "order_events", "--path", "primary", *words, "-o", "json", status=3))
                self.assertEqual(len(found), 1)
                self.assertFalse(found[0]["fits"])
                self.assertEqual("component" in found[0], component is not None)
                self.assertTrue(found[0].get("component", "").startswith(component or ""), found)
                self.assertIn(reason, found[0]["reason"])
                shown = self.keyway("decode", "order_events", "--path", "primary", *words, status=3)
                self.assertIn("  does not fit: ", shown)
                self.assertIn(found[0]["reason"], shown)
        both = self.keyway("decode", "order_events", "nonsense", status=3)
        self.assertEqual(both.count("does not fit"), 2)

    def test_csv(self):
        text, _ = self.keys()["by_time"]
        rows = list(csv.DictReader(io.StringIO(self.keyway("decode", "order_events", text, "-o", "csv"))))
        self.assertEqual([row["path"] for row in rows if row["fits"] == "true"], ["by_time"])

    def test_policy_file(self):
        """Without a gateway, under the rules of a file."""
        text, _ = self.keys()["by_time"]
        with tempfile.TemporaryDirectory() as folder:
            policy = pathlib.Path(folder, "keyway.yaml")
            policy.write_text(TABLES)
            shown = self.keyway("decode", "--policy", str(policy), "order_events", text, gateway="127.0.0.1:1")
            self.assertEqual(shown, self.keyway("decode", "order_events", text))
            self.assertIn("has no table nowhere", self.keyway("decode", "--policy", str(policy), "nowhere", text, status=4))
            policy.write_text(TABLES.replace("buckets: 16", "buckets: 0"))
            self.assertIn("buckets", self.keyway("decode", "--policy", str(policy), "order_events", text, status=3))

    def test_mistakes(self):
        self.assertIn("no table", self.keyway("decode", "nowhere", "x", status=4))
        self.assertIn("has no path", self.keyway("decode", "order_events", "x", "--path", "by_tim", status=4))
        self.assertIn("hex digits", self.keyway("decode", "order_events", "--hex", "abc", status=2))
        self.assertIn("1 to 32767 bytes", self.keyway("decode", "order_events", "", status=3))


if __name__ == "__main__":
    unittest.main(verbosity=1)
