"""keyway scrub on the embedded store and on a real HBase: it finds and repairs changes that another program made to single
paths; concurrent writers cause no false report and lose nothing; it is throttled, and continues after an interruption.

    scrub.py embedded|hbase
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import PATIENCE, Ready, plain, record, wait_until  # noqa: E402
from keyway_hbase import hbase_servers  # noqa: E402
from keyway_thrift.ttypes import Code, KeywayError, Options, Query, Range, ScrubOptions  # noqa: E402

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
OLD = 1000  # A timestamp in the past.
ROWS = 300

HEAD = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
store: STORE
tables:
"""
FIELDS = "    fields: {{id: string, ts: timestamp, note: string, n: int}}\n"
PRIMARY = "    key: [{{hash: {{algorithm: md5, of: [id], take: 4, as: hex}}}}, {{field: id}}, {{field: ts}}]\n"
BY_TS = "[{{salt: {{of: [id], buckets: 4}}}}, {{field: ts}}, {{field: id}}]"
# The table, and its paths as tables of a gateway that does not know the other path.
TABLE = (f"  events:\n    store_table: NAME\n{FIELDS}{PRIMARY}    paths:\n      by_ts: {{{{store_table: NAME_by_ts, key: {BY_TS}}}}}\n"
         f"  single:\n    store_table: NAME_single\n{FIELDS}{PRIMARY}")
PATHS = (f"  primary:\n    store_table: NAME\n{FIELDS}{PRIMARY}"
         f"  by_ts:\n    store_table: NAME_by_ts\n{FIELDS}    key: {BY_TS}\n")


def store_text(catalog):
    if STORE == "embedded":
        return f"{{{{kind: embedded, path: {{folder}}/data, catalog: {catalog}}}}}"
    servers = hbase_servers()["KW_HBASE_BUFFERED"]
    return f"{{{{kind: hbase, servers: [{servers}], create_missing: true, catalog: {catalog}}}}}"


def policy(name, tables, catalog):
    return (HEAD + tables).replace("STORE", store_text(catalog)).replace("NAME", name)


def key(number):
    return record(id=f"r{number % 7}", ts=number)


class Scrub(unittest.TestCase):
    def setUp(self):
        self.name = f"scrub_{os.getpid()}_{time.time_ns()}"
        self.gateway = Ready(policy(self.name, TABLE, f"{self.name}_catalog"))
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__, None, None, None)

    def scrub(self, *words, code=0):
        """The rows that the command printed, and the summary."""
        done = subprocess.run(self.command(*words, "-o", "jsonl"), capture_output=True, text=True, timeout=10 * PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def command(self, *words):
        return [os.environ["KEYWAY"], "-g", self.gateway.address, "scrub", "events", *words]

    def put(self, rows, table="events", timestamp=OLD):
        data = self.gateway.data()
        for written in data.putMany(table, rows, Options(timestamp=timestamp)):
            self.assertEqual(written.outcome, 0, written)
        data.close()

    def plant(self, change):
        """Changes single paths through a gateway with its own catalog."""
        with_table = self.gateway
        with_table.stop()
        with_table.write_policy(policy(self.name, PATHS, f"{self.name}_others"))
        with_table.start()
        data = with_table.data()
        change(data)
        data.close()
        with_table.stop()
        with_table.write_policy(policy(self.name, TABLE, f"{self.name}_catalog"))
        with_table.start()

    def records(self, path):
        data = self.gateway.data()
        page = data.scan(Query(table="events", path=path, full_scan=True, range=Range(field="ts") if path else None))
        rows = list(page.rows)
        while page.cursor:
            page = data.nextPage(page.cursor, None)
            rows += page.rows
        data.close()
        return sorted((plain(row) for row in rows), key=lambda row: row["ts"])

    def test_found_and_repaired(self):
        rows = [{**key(n), **record(note=f"note {n}", n=n)} for n in range(ROWS)]
        self.put(rows)
        self.assertEqual(self.scrub()[0], [])

        def change(data):
            data.remove("by_ts", key(1), None, Options(timestamp=OLD + 5))
            data.remove("by_ts", key(2), ["n"], Options(timestamp=OLD))
            data.put("by_ts", {**key(3), **record(note="stale")}, Options(timestamp=OLD + 7))
            data.put("by_ts", {**key(4), **record(note="tie")}, Options(timestamp=OLD))
            data.put("by_ts", {**key(ROWS), **record(note="extra", n=1)}, Options(timestamp=OLD))
            data.put("primary", {**key(ROWS + 1), **record(note="missing", n=2)}, Options(timestamp=OLD))
            data.remove("primary", key(5), ["note"], Options(timestamp=OLD))
        self.plant(change)
        expected = {1: ("missing", "the path does not have the record"), 2: ("different", "n is missing"),
                    3: ("different", "note has another value"), 4: ("different", "note has another value"),
                    5: ("different", "note is only here"), ROWS: ("extra", "the primary path does not have the record"),
                    ROWS + 1: ("missing", "the path does not have the record")}
        found, summary = self.scrub("--raw", code=3)
        self.assertEqual({int(row["record"].split("ts=")[1]): (row["kind"], row["difference"]) for row in found}, expected)
        self.assertTrue(all(row["path"] == "by_ts" and row["repaired"] is False for row in found), found)
        self.assertIn(f"events: {2 * ROWS + 1} rows compared: 2 missing, 4 different, 1 extra, 0 foreign; 0 repaired", summary)
        found, summary = self.scrub("--repair", "--show", "3")
        self.assertEqual([row["repaired"] for row in found], [True] * 3)
        self.assertIn("; 7 repaired", summary)
        self.assertEqual(self.scrub()[0], [])
        records = self.records(None)
        self.assertEqual(records, self.records("by_ts"))
        rows[5].pop("note")
        rows.append({**key(ROWS + 1), **record(note="missing", n=2)})
        self.assertEqual(records, [plain(row) for row in rows])

    @unittest.skipIf(STORE == "hbase", "the same on every store")
    def test_refused(self):
        admin = self.gateway.admin()
        for code, part, arguments in (
                (Code.NOT_FOUND, "did you mean", ("event", None)), (Code.INVALID, "has one path", ("single", None)),
                (Code.INVALID, "not from a scrub", ("events", ScrubOptions(cursor=b"x"))),
                (Code.INVALID, "cursor is empty", ("events", ScrubOptions(cursor=b""))),
                (Code.INVALID, "options.max_records must be 1 to 1000, not 0", ("events", ScrubOptions(max_records=0))),
                (Code.INVALID, "options.max_differences must be", ("events", ScrubOptions(max_differences=1001))),
                (Code.INVALID, "options.settle_ms must be", ("events", ScrubOptions(settle_ms=-1))),
                (Code.INVALID, "deadline_ms", ("events", ScrubOptions(deadline_ms=0)))):
            with self.assertRaises(KeywayError) as caught:
                admin.scrub(*arguments)
            self.assertEqual((caught.exception.code, part in caught.exception.message), (code, True), caught.exception)
        admin.close()
        done = subprocess.run([os.environ["KEYWAY"], "-g", self.gateway.address, "scrub", "single"], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual((done.returncode, "all rows fit" in done.stdout), (0, True), done.stderr)

    @unittest.skipIf(STORE == "hbase", "the same on every store")
    def test_throttled_and_continued(self):
        """A state survives SIGINT and SIGKILL, and no row is compared twice except those of the lost slice."""
        self.put([{**key(n), **record(n=n)} for n in range(ROWS)])
        state = os.path.join(self.gateway.folder, "state")
        slow = self.command("--state", state, "--rows-per-second", "100")
        started = time.monotonic()
        scrub = subprocess.Popen(slow, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: os.path.exists(state), "a state")
        scrub.send_signal(signal.SIGINT)
        self.assertEqual((scrub.wait(PATIENCE), "To continue: keyway scrub events --state" in scrub.stderr.read()), (130, True))
        scrub.stderr.close()
        before = pathlib.Path(state).read_text(encoding="utf-8")
        scrub = subprocess.Popen(slow, stderr=subprocess.DEVNULL)
        wait_until(lambda: pathlib.Path(state).read_text(encoding="utf-8") != before, "another slice")
        scrub.kill()
        scrub.wait()
        summary = self.scrub("--state", state, "--rows-per-second", "100")[1]
        self.assertIn(f"events: {2 * ROWS} rows compared: 0 missing", summary)
        self.assertFalse(os.path.exists(state))
        self.assertGreaterEqual(time.monotonic() - started, (2 * ROWS - 400) / 100)
        pathlib.Path(state).write_text("nonsense", encoding="utf-8")
        self.assertIn(state, self.scrub("--state", state, code=1)[1])
        pathlib.Path(state).write_text(before.replace("table=events", "table=others"), encoding="utf-8")
        self.assertIn("a position in table others", self.scrub("--state", state, code=1)[1])

    def scrub_all(self, admin, repair, **options):
        """The number of repaired records, and the numbers of the reported records."""
        repaired, reported, cursor = 0, [], None
        while True:
            found = admin.scrub("events", ScrubOptions(cursor=cursor, repair=repair, deadline_ms=PATIENCE * 1000, **options))
            repaired += found.repaired
            reported += [difference.key["ts"].number for difference in found.differences]
            cursor = found.cursor
            if not cursor:
                return repaired, reported

    def test_writers(self):
        """Each writer has its own records, so the last acknowledged write of each record is known. Records that are written
        as a whole do not differ afterwards, so a scrub without repair reports none of them."""
        writers, each = 3, 20
        everything = [number for number in range(writers * each)]
        self.put([{**key(n), **record(note="first", n=0)} for n in everything])

        def change(data):  # differences to repair while the writers run
            for number in everything:
                if number % 3 == 0:
                    data.put("by_ts", {**key(number), **record(note="stale", n=-1)}, Options(timestamp=OLD + 5))
                elif number % 3 == 1:
                    data.remove("by_ts", key(number), None, Options(timestamp=OLD + 5))
                else:
                    data.remove("primary", key(number), None, Options(timestamp=OLD + 5))
        self.plant(change)
        failures, over, rounds_done = [], threading.Event(), [0] * writers
        acknowledged = {n: None if n % 3 == 2 else plain({**key(n), **record(note="first", n=0)}) for n in everything}
        self.addCleanup(over.set)

        def write(own):
            """Even records only get a new n each time, so their notes differ until they are repaired."""
            data, rounds = self.gateway.data(), 0
            try:
                while not over.is_set():
                    rounds += 1
                    rounds_done[own[0]] = rounds
                    for number in own:
                        if number % 2 == 0:
                            data.put("events", {**key(number), **record(n=rounds)}, None)
                            acknowledged[number] = {**(acknowledged[number] or plain(key(number))), "n": rounds}
                        elif (rounds + number) % 4 == 0:
                            data.remove("events", key(number), None, None)
                            acknowledged[number] = None
                        else:
                            row = {**key(number), **record(note=f"w{rounds}", n=rounds)}
                            data.put("events", row, None)
                            acknowledged[number] = plain(row)
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)
            data.close()
        threads = [threading.Thread(target=write, args=(everything[w::writers],)) for w in range(writers)]
        for thread in threads:
            thread.start()
        admin, repaired = self.gateway.admin(), 0
        for repair in (True, True, False):
            seen = min(rounds_done)
            wait_until(lambda: failures or min(rounds_done) > seen + 1, "every record to be written")  # pylint: disable=cell-var-from-loop
            found, reported = self.scrub_all(admin, repair, max_records=25, settle_ms=200)
            repaired += found
        self.assertEqual([number for number in reported if number % 2], [])
        over.set()
        for thread in threads:
            thread.join()
        print("repaired while writers ran:", repaired)
        self.assertEqual(failures, [])
        self.assertGreater(repaired, 0)
        self.scrub_all(admin, True)  # repairs records that were being written during each earlier comparison
        expected = sorted((row for row in acknowledged.values() if row), key=lambda row: row["ts"])
        self.assertEqual(self.records(None), expected)
        self.assertEqual(self.records("by_ts"), expected)
        self.assertEqual(self.scrub_all(admin, False), (0, []))
        admin.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
