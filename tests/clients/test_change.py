"""The commands `keyway change ...` against a fake gateway in this process: requests, output and exit status.

Arguments: the program. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import tempfile
import time
import unittest

from fake_gateway import FakeGateway
from keyway_thrift import ttypes as t
from test_cli import KEYWAY, T0, Case, event, keyway

TABLE = "order_events"
COPYING = {
    "table": TABLE, "path": "primary", "version": "both-old", "phase": "copying", "next_commands": "pause, cancel",
    "author": "CN=eve", "reason": "a salt", "policy_version": 2, "started_at": T0, "version_at": T0 + 1000,
    "old_layout": 1, "layout": 2, "old_store_table": TABLE, "store_table": TABLE + "_L2", "reads_new": False, "paused": False, "waiting": False,
    "limit_rows_per_second": 0, "rows_per_second": 1200.0, "progress": 0.42, "left_ms": 150000, "copied": False,
    "compared": False, "rows_copied": 5000, "rows_compared": 0, "missing": 0, "different": 0, "extra": 0, "repaired": 0,
    "foreign_rows": 0,
}
READY = {"waiting": True, "phase": "ready to switch", "next_commands": "switch, cancel", "rows_per_second": 0.0, "progress": 1.0, "left_ms": None,
         "copied": True, "compared": True, "rows_copied": 12000, "rows_compared": 12000}


def change(**members):
    return t.ChangeStatus(**{**COPYING, **members})


class Changing(Case):
    @staticmethod
    def gateway(*statuses):
        gateway = FakeGateway()
        gateway.handler.statuses = [[one] if isinstance(one, t.ChangeStatus) else one for one in statuses]
        return gateway


LADDER = pathlib.Path(__file__).resolve().parents[2] / "server/change/ladder.c"


class Status(Changing):
    def test_every_place_is_described(self):
        rungs = re.findall(r'NAMES\("([^"]+)"\)', LADDER.read_text(encoding="utf-8"))
        self.assertIn("last-pass", rungs)
        for rung in rungs:
            for side in ("old", "new"):
                added = ["by_time"] if rung == "filled" else []
                with self.gateway(change(version=f"{rung}-{side}", added_paths=added)) as gateway:
                    second = self.run_ok(gateway, "change", "status", TABLE).splitlines()[1]
                self.assertRegex(second, "^ {16}[a-z]", rung)
                self.assertRegex(second, f"{side} rows" if not added else "path", rung)

    def test_list(self):
        with self.gateway([change(), change(path="by_time", **READY)]) as gateway:
            self.assertEqual(self.run_ok(gateway, "change", "list"), """\
table         path     version   phase            progress  since
------------  -------  --------  ---------------  --------  ------------------------
order_events  primary  both-old  copying          42 %      2026-11-21T10:00:01.000Z
order_events  by_time  both-old  ready to switch            2026-11-21T10:00:01.000Z
""")
            self.assertEqual(json.loads(self.run_ok(gateway, "change", "list", "-o", "json"))[0], {
                "table": TABLE, "path": "primary", "version": "both-old", "phase": "copying", "progress": 0.42,
                "since": "2026-11-21T10:00:01.000Z"})
        with self.gateway([]) as gateway:
            self.assertIn("no change is under way", self.run_ok(gateway, "change", "list"))
            self.assertEqual(json.loads(self.run_ok(gateway, "change", "list", "-o", "json")), [])

    def test_status(self):
        with self.gateway(change(limit_rows_per_second=2000)) as gateway:
            self.assertEqual(self.run_ok(gateway, "change", "status", TABLE), """\
table order_events, path primary: both-old since 2026-11-21T10:00:01.000Z
                writes go to the old and the new rows; queries read the old rows
  phase         copying, 42 %, 1200 rows per second, about 3 min left
  old rows      layout 1, store table order_events
  new rows      layout 2, store table order_events_L2
  began         2026-11-21T10:00:00.000Z by CN=eve, policy version 2: a salt
  copied        5000 rows so far
  compared      not yet
  limit         2000 rows per second
  next          keyway change pause order_events   # stop copying and comparing
                keyway change cancel order_events  # end the change and return to the old key rule
""")
        with self.gateway(change(**READY, foreign_rows=3, example="abc: too short", missing=2, extra=1, repaired=3,
                                 problem="the disk is full", cursors_until=T0 + 60000)) as gateway:
            out = self.run_ok(gateway, "change", "status", TABLE)
            for part in ("  phase         ready to switch\n", "copied        12000 rows\n", "12000 rows: 2 missing, 0 different, 1 extra; 3 repaired\n",
                         "undecodable   3 rows were not copied, for example abc: too short\n", "problem       the disk is full\n",
                         "those of the old key rule expire at 2026-11-21T10:01:00.000Z\n",
                         "  next          keyway change switch order_events --leave-undecodable  # queries read the new rows\n"):
                self.assertIn(part, out)
        for until, text in ((int(time.time() * 1000) + 600000, "after the cursors have expired"), (T0, "  # end the change; cannot be undone\n")):
            with self.gateway(change(version="both-new", next_commands="complete, reverse", cursors_until=until)) as gateway:
                self.assertIn(text, self.run_ok(gateway, "change", "status", TABLE))
        with self.gateway([]) as gateway:
            self.assertEqual(self.run_ok(gateway, "change", "status", TABLE), "table order_events: no change is under way\n")
            self.run_bad(4, gateway, "change", "status", "orders")

    def test_status_json(self):
        with self.gateway(change()) as gateway:
            row = json.loads(self.run_ok(gateway, "change", "status", TABLE, "-o", "json", "--raw"))[0]
            self.assertEqual(row, COPYING)
        with self.gateway(change(**READY, example="abc", problem="no", cursors_until=T0)) as gateway:
            row = json.loads(self.run_ok(gateway, "change", "status", TABLE, "-o", "jsonl", "--raw"))
            self.assertEqual({"example": "abc", "problem": "no", "cursors_until": T0}.items() - row.items(), set())
            self.assertNotIn("left_ms", row)

    def test_wait(self):
        busy = t.KeywayError(t.Code.UNAVAILABLE, "restarting", retry_after_ms=1)
        with self.gateway(change(), busy, change(problem="slow"), change(**READY)) as gateway:
            done = keyway(gateway, "change", "status", TABLE, "--wait")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("ready to switch", done.stdout)
            self.assertEqual(done.stderr, "keyway: order_events: slow\n")
        for end in (change(waiting=True), []):
            with self.subTest(end=end), self.gateway(change(next_commands="switch"), end) as gateway:
                began = time.monotonic()
                self.run_ok(gateway, "change", "status", TABLE, "--wait")
                self.assertLess(time.monotonic() - began, 60)
                self.assertEqual(len(gateway.handler.statuses), 1)
        with self.gateway(change(), t.KeywayError(t.Code.REFUSED, "no")) as gateway:
            self.assertIn("change status: no", self.run_bad(1, gateway, "change", "status", TABLE, "--wait"))

    def test_wait_lines(self):
        """One line every ten seconds, with a poll every second."""
        with self.gateway(*[change()] * 13, change(**READY)) as gateway:
            done = keyway(gateway, "change", "status", TABLE, "--wait")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, "order_events: copying, 42 %, 1200 rows per second, about 3 min left; 5000 rows\n")

    def test_wait_progress(self):
        with self.gateway(change(), change(**READY)) as gateway:
            near, far = pty.openpty()
            with subprocess.Popen([KEYWAY, "-g", gateway.address, "change", "status", TABLE, "--wait"], stderr=far,
                                  stdout=subprocess.DEVNULL) as started:
                os.close(far)
                shown = b""
                with contextlib.suppress(OSError):  # the end of a terminal
                    while piece := os.read(near, 65536):
                        shown += piece
                self.assertEqual(started.wait(60), 0, shown)
            os.close(near)
            self.assertRegex(shown.decode(), r"copying  \[=* *\] +42%  5000 records  1200/s")

    def test_wait_interrupted(self):
        with self.gateway(change()) as gateway:
            with subprocess.Popen([KEYWAY, "-g", gateway.address, "change", "status", TABLE, "--wait"], stderr=subprocess.PIPE,
                                  text=True) as started:
                while not gateway.handler.polls:
                    time.sleep(0.01)
                started.send_signal(signal.SIGINT)
                self.assertEqual(started.wait(60), 128 + signal.SIGINT)
                self.assertIn("the change continues", started.stderr.read())


class Orders(Changing):
    def ordered(self, gateway):
        return gateway.handler.orders.pop(0)

    def test_orders(self):
        for name, action, text in (("switch", t.ChangeAction.SWITCH, "queries read the new rows"),
                                   ("reverse", t.ChangeAction.REVERSE, "queries read the old rows again"),
                                   ("complete", t.ChangeAction.COMPLETE, "will be complete when the cursors"),
                                   ("cancel", t.ChangeAction.CANCEL, "the old key rule applies again"),
                                   ("pause", t.ChangeAction.PAUSE, "are paused"), ("resume", t.ChangeAction.RESUME, "continue"),
                                   ("compare", t.ChangeAction.COMPARE, "compared again")):
            with self.subTest(name=name), self.gateway(change()) as gateway:
                out = self.run_ok(gateway, "change", name, TABLE)
                self.assertIn(text, out)
                self.assertIn("  next: keyway change " + ("status" if name in ("resume", "compare") else "pause"), out)
                self.assertIn("        keyway change cancel order_events  # end the change", out)
                self.assertEqual(self.ordered(gateway), (TABLE, action, t.ChangeOptions()))

    def test_options(self):
        with self.gateway(change()) as gateway:
            self.run_ok(gateway, "change", "switch", TABLE, "--expect", "both-old", "--leave-undecodable")
            self.assertEqual(self.ordered(gateway)[2], t.ChangeOptions(expected_version="both-old", leave_undecodable=True))
            self.run_ok(gateway, "change", "complete", TABLE, "--expire-cursors")
            self.assertEqual(self.ordered(gateway)[2], t.ChangeOptions(expire_cursors=True))
            for rate in (0, 3_000_000_000):
                self.run_ok(gateway, "change", "throttle", TABLE, "--rows-per-second", str(rate))
                self.assertEqual(self.ordered(gateway), (TABLE, t.ChangeAction.THROTTLE, t.ChangeOptions(rows_per_second=rate)))
            for share, percent in (("25%", 25), ("1", 1), ("100%", 100), ("default", 0)):
                self.run_ok(gateway, "change", "throttle", TABLE, "--share", share)
                self.assertEqual(self.ordered(gateway)[2], t.ChangeOptions(share_percent=percent))
            self.run_ok(gateway, "change", "throttle", TABLE, "--share", "3%", "--rows-per-second", "5")
            self.assertEqual(self.ordered(gateway)[2], t.ChangeOptions(share_percent=3, rows_per_second=5))
            for share in ("0%", "101%", "-1", "", "x", "5 %", "5%%", "0.5", "99999999999999999999"):
                self.assertIn("must be 1% to 100%, or default", self.run_bad(2, gateway, "change", "throttle", TABLE, f"--share={share}"))
            self.assertIn("--rows-per-second", self.run_bad(2, gateway, "change", "throttle", TABLE))
            self.assertIn("--rows-per-second", self.run_bad(2, gateway, "change", "throttle", TABLE, "--rows-per-second", "-1"))
            self.assertIn("Unknown option", self.run_bad(2, gateway, "change", "cancel", TABLE, "--expire-cursors"))
            self.run_bad(2, gateway, "change", "switch")
            self.run_bad(2, gateway, "change")
            self.assertIn('did you mean "change switch"?', self.run_bad(2, gateway, "change", "swich", TABLE))
            self.assertEqual(gateway.handler.orders, [])

    def test_output(self):
        with self.gateway(change(), []) as gateway:
            self.assertEqual(self.run_ok(gateway, "change", "complete", TABLE), """\
table order_events: writes go only to the new rows; this cannot be undone
  The old rows stay in store table order_events. To delete them:
    keyway forget order_events --path primary --drop-rows --yes
""")
        with self.gateway(change(), []) as gateway:
            self.assertEqual(self.run_ok(gateway, "change", "cancel", TABLE), """\
table order_events: the old key rule applies again, in a new policy version
  The new rows stay in store table order_events_L2. To delete them:
    keyway forget order_events --path primary --drop-rows --yes
""")
        with self.gateway(change(**READY, problem="slow")) as gateway:
            self.assertEqual(self.run_ok(gateway, "change", "reverse", TABLE), """\
table order_events: queries read the old rows again
  problem: slow
  next: keyway change switch order_events  # queries read the new rows
        keyway change cancel order_events  # end the change and return to the old key rule
""")
            self.assertEqual(json.loads(self.run_ok(gateway, "change", "complete", TABLE, "-o", "json"))[0]["version"], "both-old")

    def test_errors(self):
        with self.gateway(t.KeywayError(t.Code.REFUSED, "the change has version both-new, not both-old", maybe_applied=False)) as gateway:
            self.assertIn("change switch: the change has version both-new",
                          self.run_bad(1, gateway, "change", "switch", TABLE, "--expect", "both-old"))


class Diff(Changing):
    @staticmethod
    def slice(progress, differences=(), **counts):
        numbers = {name: counts.get(name, 0) for name in ("missing", "different", "extra", "foreign_rows", "repaired", "unsettled")}
        return t.Scrubbed(rows=10, progress=progress, differences=list(differences), **numbers)

    @staticmethod
    def difference(kind):
        key = None if kind == t.DifferenceKind.FOREIGN else event("A", T0)
        return t.Difference(kind, "primary", b"\0k", key, "note is missing", False)

    def run_diff(self, gateway, *words):
        return keyway(gateway, "change", "diff", TABLE, *words)

    def test_report(self):
        kinds = [t.DifferenceKind.MISSING, t.DifferenceKind.DIFFERENT, t.DifferenceKind.EXTRA, t.DifferenceKind.FOREIGN]
        old = [True, True, False, None]
        new = [False, True, True, None]
        for reads_new in (False, True):
            with self.subTest(reads_new=reads_new), self.gateway(change(reads_new=reads_new)) as gateway:
                gateway.handler.slices = [self.slice(0.5), t.KeywayError(t.Code.BUSY, "busy", retry_after_ms=1),
                                          self.slice(1, map(self.difference, kinds), missing=1, different=1, extra=1, foreign_rows=1)]
                done = self.run_diff(gateway, "-o", "json")
                self.assertEqual(done.returncode, 3, done.stderr)
                rows = json.loads(done.stdout)
                self.assertEqual([row["kind"] for row in rows], ["missing", "different", "extra", "foreign"])
                self.assertEqual([row.get("old") for row in rows], new if reads_new else old)
                self.assertEqual([row.get("new") for row in rows], old if reads_new else new)
                self.assertEqual(rows[0]["record"], "order_id=A ts=2026-11-21T10:00:00.000Z")
                self.assertEqual(rows[3], {"kind": "foreign", "record": "\\x00k", "difference": "note is missing", "repaired": False})
                self.assertEqual(done.stderr, "order_events: 20 rows compared: 1 missing, 1 different, 1 extra, 1 foreign; 0 repaired\n")
                self.assertEqual([options.cursor for options in gateway.handler.scrubs], [None, b"1", b"1"])

    def test_exit(self):
        for counts, code, words in (({}, 0, ()), ({"missing": 2, "repaired": 2}, 0, ("--repair",)), ({"extra": 1}, 3, ()),
                                    ({"unsettled": 1}, 7, ())):
            with self.subTest(counts), self.gateway(change()) as gateway:
                gateway.handler.slices = [self.slice(1, **counts)]
                done = self.run_diff(gateway, *words)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertEqual("compare again later" in done.stderr, "unsettled" in counts)
                self.assertEqual(gateway.handler.scrubs[0].repair, True if words else None)

    def test_no_change(self):
        with self.gateway([]) as gateway:
            gateway.handler.slices = [t.KeywayError(t.Code.INVALID, "no change is under way")]
            done = self.run_diff(gateway)
            self.assertEqual(done.returncode, 3)
            self.assertIn("the comparison stopped: no change is under way", done.stderr)

    def test_state(self):
        with self.gateway(change()) as gateway, tempfile.TemporaryDirectory() as folder:
            state = pathlib.Path(folder, "state")
            gateway.handler.slices = [self.slice(0.5, missing=1), t.KeywayError(t.Code.REFUSED, "no")]
            done = self.run_diff(gateway, "--state", str(state))
            self.assertIn(f"To continue: keyway change diff order_events --state {state}", done.stderr)
            self.assertIn("Key file does not have group", self.run_bad(1, gateway, "scrub", TABLE, "--state", str(state)))
            gateway.handler.slices = [self.slice(1)]
            done = self.run_diff(gateway, "--state", str(state))
            self.assertEqual(done.returncode, 3)
            self.assertIn("20 rows compared: 1 missing", done.stderr)
            self.assertFalse(state.exists())


if __name__ == "__main__":
    unittest.main()
