"""`keyway advise` end to end: policies, a sample and queries in files, evaluated by a private gateway.

Arguments: the program. KEYWAYD names the gateway. With KW_UPDATE_GOLDEN=1 the test rewrites the golden text.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Gateway  # noqa: E402

KEYWAY = sys.argv.pop(1)
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
START = 1795255200000

TABLE = """\
tables:
  orders:
    fields:
      order_id: int
      ts: {type: timestamp, unit: ms}
      status: string
    key:
"""
BY_TIME = TABLE + "      - field: ts\n      - field: order_id\n"
BASE31 = TABLE + """\
      - salt: {of: order_id, buckets: 31, algorithm: java_string}
      - field: ts
      - field: order_id
"""
SALTED = TABLE + """\
      - salt: {of: order_id, buckets: 31}
      - field: ts
      - field: order_id
    paths:
      by_order:
        key:
          - field: order_id
          - field: {name: ts, order: desc}
"""
QUERIES = f"""\
# the queries of the service
keyway scan orders --from ts={START + 60000} --to ts={START + 120000}   # one minute
latest orders --path primary   # newest event

order_id=1000000042 --desc --limit 10   # one order
{{"name": "some orders", "any": {{"order_id": [1000000001, 1000000002]}}, "order": "desc"}}
{{"name": "paid", "where": {{"status": "paid"}}, "full_scan": true}}
"""


class Advise(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="keyway-advise-")
        cls.folder = pathlib.Path(cls.place.name)
        cls.write("by-time.yaml", BY_TIME)
        cls.write("base31.yaml", BASE31)
        cls.write("salted.yaml", SALTED)
        cls.write("queries.txt", QUERIES)
        states = ["new", "paid", "sent"]
        cls.write("orders.csv", "order_id,ts,status\n" + "".join(
            f"{1000000000 + n},{START + n * 97},{states[n % 3]}\n" for n in range(6200)))

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @classmethod
    def write(cls, name, text):
        (cls.folder / name).write_text(text, encoding="utf-8")

    def keyway(self, *words, status=0, **more):
        done = subprocess.run([KEYWAY, "advise", *words], capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env={**os.environ, "LC_ALL": "C.UTF-8", **more})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if status else done.stdout

    def advice(self, *policies, more=(), sample="orders.csv"):
        words = [word for policy in policies for word in ("--policy", policy)]
        return json.loads(self.keyway(*words, "--sample", sample, "-o", "json", *more))

    # --- typical rules -------------------------------------------------------------------

    def test_base31_reaches_10_of_31_buckets(self):
        path = self.advice("base31.yaml", more=["--regions", "31"])["paths"][0]
        self.assertEqual((path["buckets"]["places"], path["buckets"]["reached"]), (31, 10))
        self.assertEqual(sum(count > 0 for count in path["buckets"]["counts"]), 10)
        self.assertEqual(path["regions"]["reached"], 10)

    def test_default_hash_reaches_all_evenly(self):
        buckets = self.advice("salted.yaml")["paths"][0]["buckets"]
        self.assertEqual((buckets["places"], buckets["reached"]), (31, 31))
        self.assertLessEqual(max(buckets["counts"]), 1.2 * 6200 / 31)
        self.assertLessEqual(buckets["hottest_to_mean"], 1.2)

    def test_time_key_puts_a_minute_into_one_region(self):
        advice = self.advice("by-time.yaml", more=["--regions", "16"])
        regions = advice["paths"][0]["regions"]
        self.assertEqual(advice["window_ms"], 60000)
        self.assertEqual((regions["window_share"], regions["worst_share"], regions["window_places"]), (1, 1, 1))
        self.assertIn("100 % of the writes go to one of 16 regions", " ".join(advice["words"]))

    # --- output formats -----------------------------------------------------------------

    def test_text(self):
        printed = self.keyway("--policy", "by-time.yaml", "--policy", "base31.yaml", "--policy", "salted.yaml", "-s", "orders.csv", "-q",
                           "queries.txt", "--regions", "31")
        golden = GOLDEN / "advise.txt"
        if os.environ.get("KW_UPDATE_GOLDEN"):
            golden.write_text(printed, encoding="utf-8")
        self.assertEqual(printed.splitlines(), golden.read_text(encoding="utf-8").splitlines())

    def test_page_shows_the_current_output(self):
        golden = (GOLDEN / "advise.txt").read_text(encoding="utf-8")
        self.assertIn(golden, (ROOT / "docs" / "advice.md").read_text(encoding="utf-8"))

    def test_json(self):
        advice = self.advice("by-time.yaml", "salted.yaml", more=["-q", "queries.txt"])
        self.assertEqual([(path["candidate"], path["path"]) for path in advice["paths"]],
                         [("by-time", "primary"), ("salted", "primary"), ("salted", "by_order")])
        for path in advice["paths"]:
            self.assertEqual(len(path["heat"]), len(advice["columns"]))
            self.assertEqual(sum(map(sum, path["heat"])), 6200)
            self.assertEqual(len(path["region_starts"]), path["regions"]["places"])
        queries = {(q["query"], q["candidate"]): q for q in advice["queries"]}
        self.assertEqual(len(queries), 10)
        self.assertEqual(queries["one minute", "by-time"]["ranges"], 1)
        minute = queries["one minute", "salted"]
        self.assertEqual((minute["ranges"], minute["groups"], minute["ordered"]), (31, 1, True))
        self.assertEqual(minute["matching"], sum(60000 <= n * 97 < 120000 for n in range(6200)))
        self.assertEqual(minute["measured_reads_per_row"], 1)
        self.assertIn("bind ts or give it a range", queries["one order", "by-time"]["refusal"])
        order = queries["one order", "salted"]
        self.assertEqual((order["path"], order["ranges"], order["scanned"], order["matching"]), ("by_order", 1, 1, 1))
        self.assertEqual(queries["some orders", "salted"]["matching"], 2)
        self.assertEqual((queries["newest event", "salted"]["scanned"], queries["newest event", "salted"]["matching"]), (31, 1))
        self.assertAlmostEqual(queries["paid", "by-time"]["measured_reads_per_row"], 3, places=2)
        self.assertIn("a record is written 2 times instead of 1", advice["words"][-1])

    def test_page(self):
        self.keyway("--policy", "by-time.yaml", "--policy", "salted.yaml", "-s", "orders.csv", "-q", "queries.txt", "--html",
                    "page.html")
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        plots = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        self.assertEqual(len(plots), 2 * 3 + 1)
        for plot in plots:
            xml.etree.ElementTree.fromstring(plot)
        self.assertNotIn("<script", page)
        self.assertEqual(set(re.findall(r"\bhttps?://[^\"]*", page)), {"http://www.w3.org/2000/svg"})
        self.assertNotRegex(page, r"\b(src|href)=|@import|url\(")
        self.assertIn("salted compared with by-time", page)
        self.assertIn("<b>31/31</b>", page)

    def test_page_escapes(self):
        self.write("evil.txt", "order_id=1   # <b>&\"\n")
        self.keyway("--policy", "salted.yaml", "-s", "orders.csv", "-q", "evil.txt", "--html", "evil.html")
        page = (self.folder / "evil.html").read_text(encoding="utf-8")
        self.assertIn("&lt;b&gt;&amp;", page)
        self.assertNotIn("<b>&", page)

    # --- samples ---------------------------------------------------------------------------------

    def test_json_lines_and_bad_records(self):
        self.write("some.jsonl", '{"order_id": 1, "ts": 5}\n{"order_id": "x"}\n{"order_id": 2}\n')
        done = subprocess.run([KEYWAY, "advise", "--policy", "by-time.yaml", "-s", "some.jsonl", "-o", "json"],
                              capture_output=True, text=True, cwd=self.folder, timeout=300)
        path = json.loads(done.stdout)["paths"][0]
        self.assertIn("some.jsonl:2: ", done.stderr)
        self.assertIn("1 records cannot be read", done.stderr)
        self.assertEqual((path["records"], path["rejected"]), (1, 1))
        self.assertIn("record 2: table orders, field ts: is missing", path["rejection"])

    def test_records_limit(self):
        self.assertEqual(self.advice("salted.yaml", more=["--records", "100"])["records"], 100)

    def test_window(self):
        advice = self.advice("salted.yaml", more=["--window", "10", "--time", "ts"])
        self.assertEqual((advice["window_ms"], advice["windows"], advice["time_field"]), (10000, 61, "ts"))

    # --- refusals --------------------------------------------------------------------------------

    def test_wrong_policies(self):
        self.write("broken.yaml", BY_TIME.replace("order_id: int", "order_id: itn"))
        self.assertIn("broken", self.keyway("--policy", "broken.yaml", "-s", "orders.csv", status=3))
        text = self.keyway("--policy", "salted.yaml", "--policy", "broken.yaml", "-s", "orders.csv", status=3)
        self.assertRegex(text, r"broken:4:17: .*itn")
        self.write("other.yaml", BY_TIME.replace("  orders:", "  others:"))
        self.assertIn('candidate "other" has no table "orders"',
                      self.keyway("--policy", "salted.yaml", "--policy", "other.yaml", "-s", "orders.csv", status=4))
        self.assertIn("it has: orders", self.keyway("--policy", "salted.yaml", "-s", "orders.csv", "--table", "x", status=4))
        self.write("two.yaml", BY_TIME + BY_TIME.replace("tables:\n", "").replace("  orders:", "  more:"))
        self.assertIn("--table", self.keyway("--policy", "two.yaml", "-s", "orders.csv", status=3))
        self.assertIn("absent.yaml", self.keyway("--policy", "absent.yaml", "-s", "orders.csv", status=1))

    def test_wrong_queries(self):
        for line, part in (("order_idd=1", "order_idd"), ("scan others", "others"), ("--frm ts=1", "--frm"),
                           ('{"wher": {}}', "wher"), ('{"order": "up"}', "asc or desc"), ("{", "expected string constant"),
                           ('{"where": {"order_id": []}}', "order_id"), ('{"from": {"ts": 1, "order_id": 2}}', "from"),
                           ("--asc --desc", "cannot be combined")):
            self.write("wrong.txt", f"# one\n{line}\n")
            done = subprocess.run([KEYWAY, "advise", "--policy", "salted.yaml", "-s", "orders.csv", "-q", "wrong.txt"],
                                  capture_output=True, text=True, cwd=self.folder, timeout=300)
            self.assertIn(done.returncode, (1, 3), line)
            self.assertIn("wrong.txt:2: ", done.stderr)
            self.assertIn(part, done.stderr)

    def test_wrong_options(self):
        self.assertIn("--policy is missing", self.keyway("-s", "orders.csv", status=2))
        self.assertIn("--sample is missing", self.keyway("--policy", "salted.yaml", status=2))
        self.assertIn("256", self.keyway("--policy", "salted.yaml", "-s", "orders.csv", "--regions", "257", status=2))
        self.assertIn("csv", self.keyway("--policy", "salted.yaml", "-s", "orders.csv", "-o", "csv", status=2))
        self.assertIn("not a timestamp",
                      self.keyway("--policy", "salted.yaml", "-s", "orders.csv", "--time", "order_id", status=3))

    # --- the gateway -----------------------------------------------------------------------------

    def test_own_gateway_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            self.keyway("--policy", "salted.yaml", "-s", "orders.csv", TMPDIR=folder)
            self.assertEqual(os.listdir(folder), [])
            text = self.keyway("--policy", "salted.yaml", "-s", "orders.csv", status=1, TMPDIR=folder, KEYWAYD="/bin/false")
            self.assertIn("keywayd exited before it opened its port", text)
            self.assertEqual(os.listdir(folder), [])

    def test_named_gateway(self):
        policy = "listen: 127.0.0.1:0\nadmin: off\nstore: {{kind: embedded, path: {folder}/data}}\n" + \
            BY_TIME.replace("{", "{{").replace("}", "}}").replace("  orders:", "  served:")
        with Gateway(policy) as gateway:
            address = "{}:{}".format(*gateway.addresses[0])
            path = self.advice("salted.yaml", more=["--gateway", address])["paths"][0]
            self.assertEqual(path["buckets"]["reached"], 31)


if __name__ == "__main__":
    unittest.main()
