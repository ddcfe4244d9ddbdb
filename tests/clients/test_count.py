"""keyway count: the number of records, while reading as little as possible.

Arguments: the program. KEYWAYD names the gateway. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import json
import pathlib
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from fake_gateway import FakeGateway  # noqa: E402
from keyway_gateway import Gateway  # noqa: E402
from keyway_thrift import ttypes as t  # noqa: E402
from test_cli import KEYWAY, Case, event  # noqa: E402
from test_command_line import on_terminal  # noqa: E402

POLICY = """\
listen: 127.0.0.1:0
admin: off
loops: 1
store: {{kind: embedded, path: {folder}/data}}
tables:
  order_events:
    fields: {{order_id: {{type: string, max_bytes: 64}}, ts: timestamp, status: string, note: string}}
    key: [hash: {{algorithm: md5, of: [order_id], take: 4}}, order_id, ts]
    paths:
      by_time: {{key: [salt: {{buckets: 16, of: [order_id]}}, ts, order_id]}}
"""


class Fake(Case):
    def setUp(self):
        self.gateway = FakeGateway().__enter__()
        self.addCleanup(self.gateway.__exit__)
        for i in range(5):
            self.gateway.handler.rows["A", i] = event("A", i, status="x")

    def test_reads_little(self):
        self.assertEqual(self.run_ok(self.gateway, "count", "order_events"), "5\n")
        query = self.gateway.handler.queries[-1]
        self.assertEqual((query.columns, query.full_scan, query.limit), (["order_id"], True, None))
        self.assertEqual(json.loads(self.run_ok(self.gateway, "count", "order_events", "order_id=B", "-ojson")), [{"count": 0}])
        self.run_ok(self.gateway, "count", "order_events", "-worder_id=A", "--from", "ts=1", "-pby_time", "--page-rows", "7", "-t4000")
        query = self.gateway.handler.queries[-1]
        self.assertEqual((query.bound["order_id"].text, query.range.field, query.path), ("A", "ts", "by_time"))
        self.assertEqual((query.page_rows, query.deadline_ms), (7, 4000))

    def test_options(self):
        for option in (["--columns", "status"], ["--asc"], ["--desc"]):
            self.assertIn("do not change the count", self.run_bad(3, self.gateway, "count", "order_events", *option))
        self.assertNotIn("--columns", self.run_ok(self.gateway, "count", "--help"))
        self.assertIn("--columns", self.run_ok(self.gateway, "scan", "--help"))
        self.run_bad(4, self.gateway, "count", "nowhere")

    def test_a_busy_gateway_is_asked_again(self):
        """No row is counted twice, and none is missed."""
        handler, failures = self.gateway.handler, []
        scan, next_page = handler.scan, handler.nextPage

        def failing(call):
            def run(*arguments):
                failures.append(call)
                if len(failures) % 2 == 1:
                    raise t.KeywayError(t.Code.BUSY, "too much", retry_after_ms=1)
                return call(*arguments)
            return run

        handler.scan, handler.nextPage = failing(scan), failing(next_page)
        self.assertEqual(self.run_ok(self.gateway, "count", "order_events"), "5\n")
        self.assertEqual(len(failures), 6)
        handler.nextPage = lambda *_: (_ for _ in ()).throw(t.KeywayError(t.Code.DENIED, "no more"))
        shown = self.run_bad(5, self.gateway, "count", "order_events")
        self.assertIn("the count stopped after 2 records", shown)

    def test_interrupted(self):
        """Ctrl-C prints no number on standard output, which a script could take for the result."""
        asked = threading.Event()

        def busy(*_):
            asked.set()  # the command has counted the first page
            raise t.KeywayError(t.Code.BUSY, "later", retry_after_ms=60000)

        self.gateway.handler.nextPage = busy
        with subprocess.Popen([KEYWAY, "-g", self.gateway.address, "count", "order_events"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as started:
            self.assertTrue(asked.wait(60))
            started.send_signal(signal.SIGTERM)
            out, errors = started.communicate(timeout=60)
        self.assertEqual((started.returncode, out), (128 + signal.SIGTERM, ""), errors)
        self.assertIn("the count stopped after 2 records", errors)

    def test_progress(self):
        for i in range(3000):
            self.gateway.handler.rows["B", i] = event("B", i)
        shown, status = on_terminal(self.gateway, "count", "order_events")
        self.assertEqual(status, 0)
        self.assertRegex(shown.decode(), r"order_events  \d+ records  \d+/s")
        self.assertIn("3005\r\n", shown.decode())


class Real(unittest.TestCase):
    def test_exact(self):
        with Gateway(POLICY) as gateway:
            def keyway(*words, stdin=None):
                done = subprocess.run([KEYWAY, "-g", gateway.address, *words], input=stdin, capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout

            rows = [{"order_id": f"SF{i % 37}", "ts": i} for i in range(3000)]  # half of the records have no columns
            for row in rows[::2]:
                row |= {"status": "paid" if row["ts"] % 3 else "new", "note": "x" * 100}
            self.assertEqual(keyway("count", "order_events"), "0\n")
            keyway("import", "order_events", "-", stdin="\n".join(map(json.dumps, rows)))
            self.assertEqual(keyway("count", "order_events"), "3000\n")
            self.assertEqual(keyway("count", "order_events", "--path", "by_time", "--page-rows", "100"), "3000\n")
            self.assertEqual(keyway("count", "order_events", "--path", "by_time", "--from", "ts=100", "--to", "ts=250"), "150\n")
            self.assertEqual(keyway("count", "order_events", "order_id=SF5"), f"{len(range(5, 3000, 37))}\n")
            paid = sum(row.get("status") == "paid" for row in rows)
            self.assertEqual(keyway("count", "order_events", "--where", "status=paid"), f"{paid}\n")
            keyway("remove", "order_events", "order_id=SF5", "ts=5")
            self.assertEqual(keyway("count", "order_events"), "2999\n")
            self.assertEqual(keyway("count", "order_events", "-n", "10"), "10\n")


if __name__ == "__main__":
    unittest.main(verbosity=1)
