"""Tests what a policy can change while its table contains rows, on the embedded store and on a real HBase. Each step of an
operator is either rejected with the reason and changes nothing, or accepted, and then every row is found.

    catalog_steps.py embedded|hbase
"""
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest

from keyway_gateway import Gateway, Ready, plain, record, wait_until
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import Code, ForgetOptions, KeywayError, Query, Range

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "embedded"
ROWS = 100

FIELDS = """\
    fields:
      id: {{type: string, max_bytes: 20}}
      ts: {{type: timestamp, unit: ms}}
      n: int
      note: string
"""
KEY = """\
    key:
      - hash: {{algorithm: md5, of: [id], take: 4, as: hex}}
      - field: id
      - field: ts
"""
BY_TS = """\
    paths:
      by_ts:
        key: [{{salt: {{of: [id], buckets: 4}}}}, {{field: ts}}, {{field: id}}]
        store_table: {name}_by_ts
"""
SERVER = "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\n"


def fresh_name():
    return f"steps_{os.getpid()}_{time.time_ns()}"


def store_text(name):
    if STORE == "embedded":
        return "store: {{kind: embedded, path: {folder}/data}}\n"
    servers = hbase_servers()["KW_HBASE_BUFFERED"]
    return (f"store:\n  kind: hbase\n  servers: [{servers}]\n  create_missing: true\n  catalog: {name}_catalog\n")


def policy(name, table=None, *, tables=None, own_id=None):
    """The text of a policy with the table `events` (its body as YAML), or with several tables."""
    body = tables if tables is not None else {"events": table}
    text = SERVER + store_text(name) + (f"gateway_id: {own_id}\n" if own_id else "") + "tables:\n"
    for table_name, lines in body.items():
        store_table = "" if "    store_table: " in lines.split("    paths:")[0] else f"    store_table: {name}\n"
        text += f"  {table_name}:\n{store_table}{lines}"
    return text.replace("{name}", name)


BASE = FIELDS + KEY


class Steps(unittest.TestCase):
    def setUp(self):
        self.name = fresh_name()

    def open(self, table=BASE, **how):
        gateway = Ready(policy(self.name, table, **how))
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        return gateway

    def put_rows(self, gateway, more=0):
        data = gateway.data()
        rows = [record(id=f"r{i % 7}", ts=1000 + i, n=i, note=f"note {i}") for i in range(more, more + ROWS)]
        for written in data.putMany("events", rows, None):
            self.assertEqual(written.outcome, 0, written)
        data.close()

    def count(self, gateway, path=None, table="events"):
        data = gateway.data()
        page = data.scan(Query(table=table, path=path, full_scan=True, range=Range(field="ts") if path else None))
        found = len(page.rows)
        while page.cursor:
            page = data.nextPage(page.cursor, None)
            found += len(page.rows)
        data.close()
        return found

    def apply(self, gateway, table=None, **how):
        gateway.write_policy(policy(self.name, table, **how))
        admin = gateway.admin()
        try:
            admin.reload()
        finally:
            admin.close()

    def refuse(self, gateway, table=None, *parts, code=Code.REFUSED, **how):
        with self.assertRaises(KeywayError) as caught:
            self.apply(gateway, table, **how)
        self.assertEqual(caught.exception.code, code, caught.exception)
        for part in parts:
            self.assertIn(part.replace("{name}", self.name), caught.exception.message)
        return caught.exception.message

    def state(self, gateway, path=0):
        data = gateway.data()
        found = data.describe("events").paths[path]
        data.close()
        return found.state, found.verified

    def forget(self, gateway, table="events", path=None, drop_rows=False):
        admin = gateway.admin()
        try:
            return admin.forget(table, ForgetOptions(path=path, drop_rows=drop_rows))
        finally:
            admin.close()

    # --- steps described in keyway-changes(7) -------------------------------------------------

    def test_another_layout(self):
        with_layout_2 = BASE + "    layout: 2\n    store_table: {name}_2\n"
        gateway = self.open()
        self.put_rows(gateway)
        self.refuse(gateway, with_layout_2, "table events, path primary: its rows were written under layout 1 (store table {name}, ",
                    "and this policy has layout 2 (store table {name}_2, ", "keyway-changes(7)")
        self.assertEqual(self.count(gateway), ROWS)
        self.put_rows(gateway, ROWS)
        gateway.write_policy(policy(self.name, BASE))
        gateway.restart()
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        self.assertEqual(self.count(gateway), 2 * ROWS)
        gateway.stop()
        gateway.write_policy("strict_start: true\n" + policy(self.name, with_layout_2))
        gateway.expect_start = False
        Gateway.start(gateway)
        self.assertEqual(gateway.wait_for_exit(), 3)
        self.assertIn("this policy has layout 2", gateway.log())
        gateway.expect_start = True
        gateway.write_policy(policy(self.name, BASE))
        gateway.start()
        self.assertEqual(self.count(gateway), 2 * ROWS)

    def test_a_path_is_added(self):
        gateway = self.open()
        self.apply(gateway, BASE + BY_TS)  # the table is still empty
        self.put_rows(gateway)
        self.assertEqual(self.count(gateway, "by_ts"), ROWS)
        self.assertEqual(self.state(gateway, 1), ("complete", True))
        gateway.stop()
        self.name = fresh_name()
        gateway = self.open()
        self.put_rows(gateway)
        self.refuse(gateway, BASE + BY_TS, "table events, path by_ts: the table holds rows already",
                    "would only hold what is written from now on")
        self.assertEqual(self.count(gateway), ROWS)
        data = gateway.data()
        self.assertEqual([path.name for path in data.describe("events").paths], ["primary"])
        data.close()

    def test_a_path_is_dropped_and_returns(self):
        gateway = self.open(BASE + BY_TS)
        self.put_rows(gateway)
        self.apply(gateway, BASE)
        data = gateway.data()
        self.assertEqual(data.remove("events", record(id="r0", ts=1000), None, None).outcome, 0)
        self.assertEqual(data.put("events", record(id="r1", ts=1001, n=-1), None).outcome, 0)
        data.close()
        self.refuse(gateway, BASE + BY_TS, "table events, path by_ts: the path was dropped", "store table {name}_by_ts still holds its rows",
                    "keyway forget events --path by_ts --drop-rows")
        gateway.write_policy(policy(self.name, BASE))
        with self.assertRaises(KeywayError) as caught:
            self.forget(gateway, path="by_ts")
        self.assertIn("still holds rows", caught.exception.message)
        self.assertEqual(self.forget(gateway, path="by_ts", drop_rows=True), [f"{self.name}_by_ts"])
        self.refuse(gateway, BASE + BY_TS, "would only hold what is written from now on")
        self.assertEqual(self.count(gateway), ROWS - 1)
        gateway.write_policy(policy(self.name, BASE))

    def test_types_and_columns(self):
        gateway = self.open()
        self.put_rows(gateway)
        for old, new, part in [
                ("n: int", "n: {{type: timestamp, unit: ms}}", "has timestamp ms in d:n"),
                ("n: int", "n: double", "has double in d:n"),
                ("n: int", "n: string", "has string in d:n"),
                ("n: int", 'n: {{type: int, column: "d:m"}}', "has int in d:m"),
                ("n: int", "n: {{type: int, form: text}}", "has int in d:n, encoding text"),
                ("note: string", "note: int", "table events, field note: its values were stored as string in d:note")]:
            with self.subTest(new=new):
                self.refuse(gateway, BASE.replace(old, new), "its values were stored as", part)
        self.apply(gateway, BASE.replace("n: int", "n: int\n      more: bool"))
        self.apply(gateway, BASE.replace("n: int", 'count: {{type: int, column: "d:n"}}'))
        data = gateway.data()
        self.assertEqual(plain(data.get("events", record(id="r3", ts=1003), None, None).record)["count"], 3)
        self.apply(gateway, BASE.replace("      n: int\n", ""))
        self.assertNotIn("count", plain(data.get("events", record(id="r3", ts=1003), None, None).record))
        self.refuse(gateway, BASE.replace("n: int", "n: string"), "table events, field n: its column holds values of the field count")
        self.apply(gateway, BASE)
        self.assertEqual(plain(data.get("events", record(id="r3", ts=1003), None, None).record)["n"], 3)
        data.close()
        self.assertEqual(self.count(gateway), ROWS)

    def test_an_empty_table_can_become_anything(self):
        gateway = self.open()
        for table in (BASE.replace("n: int", "n: string"), BASE + BY_TS, BASE + "    layout: 2\n    store_table: {name}_2\n",
                      FIELDS + "    key: [{{field: ts}}, {{field: id}}]\n", BASE):
            self.apply(gateway, table)
        self.put_rows(gateway)
        self.assertEqual(self.count(gateway), ROWS)

    def test_a_refusal_changes_nothing(self):
        """No store table of the rejected policy exists afterwards, nor of a policy whose problems are found earlier."""
        gateway = self.open()
        self.put_rows(gateway)
        made = self.log_count(gateway, "store table created")
        second = {"events": BASE.replace("n: int", "n: string"), "second": BASE + "    store_table: {name}_second\n"}
        self.refuse(gateway, tables=second)
        self.assertEqual(self.log_count(gateway, "store table created"), made)
        if STORE == "embedded":  # proof: a start with a policy of that table alone creates it now
            gateway.write_policy(policy(self.name, tables={"second": second["second"]}))
            gateway.restart()
            self.assertEqual(self.log_count(gateway, f"table={self.name}_second"), 1)

    @staticmethod
    def log_count(gateway, text):
        return gateway.log().count(text)

    # --- forgetting, renaming, other owners ---------------------------------------------------

    def test_a_whole_table_is_forgotten(self):
        gateway = self.open(tables={"events": BASE, "other": BASE + "    store_table: {name}_other\n"})
        self.put_rows(gateway)
        with self.assertRaises(KeywayError) as caught:
            self.forget(gateway, drop_rows=True)
        self.assertIn("this gateway serves table events", caught.exception.message)
        other = {"other": BASE + "    store_table: {name}_other\n"}
        self.apply(gateway, tables=other)
        self.refuse(gateway, tables={**other, "events": BASE.replace("n: int", "n: string")}, code=Code.REFUSED)
        self.refuse(gateway, tables={**other, "third": BASE.replace("n: int", "n: string") + "    store_table: {name}\n"},
                    code=Code.REFUSED)
        gateway.write_policy(policy(self.name, tables=other))
        for names in ({"table": ""}, {"table": "events\0x"}, {"path": "by_ts\0x"}, {"path": ""}):
            with self.assertRaises(KeywayError) as caught:
                self.forget(gateway, drop_rows=True, **names)
            self.assertEqual(caught.exception.code, Code.INVALID, names)
        self.assertEqual(self.forget(gateway, drop_rows=True), [self.name])
        self.apply(gateway, tables={**other, "events": BASE.replace("n: int", "n: string")})
        self.assertEqual(self.count(gateway), 0)

    def test_a_table_gets_another_name(self):
        gateway = self.open(BASE + BY_TS)
        self.put_rows(gateway)
        self.apply(gateway, tables={"orders": BASE + BY_TS})
        self.assertEqual(self.count(gateway, table="orders"), ROWS)
        self.assertEqual(self.count(gateway, "by_ts", table="orders"), ROWS)
        self.refuse(gateway, tables={"orders": BASE + BY_TS, "events": BASE.replace("n: int", "n: bool") + "    store_table: {name}_by_ts\n"},
                    code=Code.INVALID)
        self.apply(gateway, tables={"orders": BASE + BY_TS})

    def keyway(self, gateway, *words, text=None):
        done = subprocess.run([os.environ["KEYWAY"], *words, "--gateway", gateway.address], input=text, text=True, capture_output=True,
                              check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_rows_move_as_the_manual_says(self):
        """COPYING BY SCAN AND IMPORT in keyway-changes(7), step by step."""
        new = FIELDS + "    key: [{{field: ts}}, {{field: id}}]\n    store_table: {name}_moved\n" + BY_TS
        gateway = self.open(tables={"orders": BASE})
        data = gateway.data()
        data.putMany("orders", [record(id=f"r{i}", ts=i, n=i, note='a "note", and more') for i in range(ROWS)], None)
        self.apply(gateway, tables={"orders": BASE, "orders_new": new})
        rows = self.keyway(gateway, "scan", "orders", "--full-scan", "-o", "jsonl")
        self.keyway(gateway, "import", "orders_new", "-", text=rows)
        self.apply(gateway, tables={"orders_new": new})
        self.assertIn(f"emptied store table {self.name}\n", self.keyway(gateway, "forget", "orders", "--drop-rows", "--yes"))
        self.apply(gateway, tables={"orders": new})
        self.assertEqual(self.count(gateway, table="orders"), ROWS)
        self.assertEqual(self.count(gateway, "by_ts", table="orders"), ROWS)
        self.assertEqual(plain(data.get("orders", record(id="r9", ts=9), None, None).record)["note"], 'a "note", and more')
        self.assertIn("complete", self.keyway(gateway, "describe", "orders"))
        data.close()

    # --- changes during calls -----------------------------------------------------------------

    def test_first_writes_during_a_new_path(self):
        """The first rows of a table arrive while a path is added: the path has all of them, or it is rejected."""
        gateway = self.open()
        data = gateway.data()
        accepted = 0
        for i in range(40 if STORE == "embedded" else 5):
            done = threading.Event()
            started = threading.Barrier(5)
            ids = [f"{i}-{worker}" for worker in range(4)]

            def write(row_id):
                mine = gateway.data()
                started.wait()
                time.sleep(random.random() / 60)
                number = 0
                while not done.is_set() or number == 0:
                    mine.put("events", record(id=row_id, ts=number % 5, n=number), None)
                    number += 1
                mine.close()

            writers = [threading.Thread(target=write, args=(row_id,)) for row_id in ids]
            for writer in writers:
                writer.start()
            started.wait()
            try:
                self.apply(gateway, BASE + BY_TS)
                accepted += 1
                with_path = True
            except KeywayError as refused:
                # On HBase, the store table of a path that was dropped has the gone cells of the removals, until they expire.
                dropped = STORE == "hbase" and accepted > 0
                self.assertRegex(refused.message, "holds rows|path by_ts: the path was dropped, and" if dropped else "holds rows")
                with_path = False
            finally:
                done.set()
                for writer in writers:
                    writer.join()
            if with_path:
                self.assertEqual(self.count(gateway, "by_ts"), self.count(gateway))
            for written in data.removeMany("events", [record(id=row_id, ts=ts) for row_id in ids for ts in range(5)], None, None):
                self.assertEqual(written.outcome, 0)
            self.apply(gateway, BASE)
        print(f"{accepted} accepted", file=sys.stderr)
        data.close()

    def test_refused_under_load(self):
        """Calls continue without errors while policies are rejected and accepted."""
        gateway = self.open()
        self.put_rows(gateway)
        data = gateway.data()
        for i in range(10):
            self.refuse(gateway, BASE + BY_TS)
            data.put("events", record(id="x", ts=i, n=i), None)
            self.apply(gateway, BASE.replace("n: int", f"n: int\n      more{i}: bool"))
            self.assertEqual(plain(data.get("events", record(id="x", ts=i), None, None).record)["n"], i)
        data.close()


class Two(Steps):
    """Two gateways on one HBase."""

    def pair(self, table=BASE):
        return self.open(table, own_id="one"), self.open(table, own_id="two")

    def apply_to(self, gateway, name, table):
        self.apply(gateway, table, own_id=name)

    def test_a_path_is_added_with_another_gateway(self):
        one, two = self.pair()
        self.refuse(one, BASE + BY_TS, "the gateway two serves the table under the old one", "stop all gateways but one", own_id="one")
        self.put_rows(one)
        self.refuse(one, BASE + BY_TS, "the table holds rows already", own_id="one")
        for gateway in (one, two):
            self.assertEqual(self.count(gateway), ROWS)
        one.write_policy(policy(self.name, BASE, own_id="one"))

    def test_a_path_is_dropped_with_another_gateway(self):
        one, two = self.pair(BASE + BY_TS)
        self.put_rows(two)
        self.refuse(one, BASE, "the gateway two serves the table under the old one", own_id="one")
        for gateway in (one, two):
            self.put_rows(gateway)
            self.assertEqual(self.count(gateway), ROWS)
            self.assertEqual(self.count(gateway, "by_ts"), ROWS)
        two.stop()
        self.apply_to(one, "one", BASE)  # a gateway that stops in an orderly way removes its registration at once
        two.write_policy("strict_start: true\n" + policy(self.name, BASE + BY_TS, own_id="two"))
        two.expect_start = False
        Gateway.start(two)
        self.assertEqual(two.wait_for_exit(), 3)
        self.assertIn("the path was dropped, and its store table", two.log())
        two.expect_start = True
        two.write_policy(policy(self.name, BASE, own_id="two"))
        two.start()
        for gateway in (one, two):
            self.assertEqual(self.count(gateway), ROWS)

    def test_a_type_is_changed_with_another_gateway(self):
        one, two = self.pair()
        self.refuse(one, BASE.replace("n: int", "n: string"), "the gateway two serves the table under the old one", own_id="one")
        self.apply_to(one, "one", BASE.replace("n: int", "n: int\n      more: bool"))  # one gateway can add a field first
        self.put_rows(two)
        for gateway in (one, two):
            self.assertEqual(self.count(gateway), ROWS)
        self.apply_to(two, "two", BASE.replace("n: int", "n: int\n      more: bool"))
        self.refuse(two, BASE.replace("n: int", "n: int\n      more: string"), "field more: its values were stored as bool", own_id="two")
        two.write_policy(policy(self.name, BASE, own_id="two"))

    def test_a_killed_gateway_blocks_for_as_long_as_its_lease(self):
        one, two = self.pair()
        two.kill()
        self.refuse(one, BASE + BY_TS, "the gateway two serves the table under the old one", own_id="one")
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                self.apply_to(one, "one", BASE + BY_TS)
                break
            except KeywayError as refused:
                self.assertEqual(refused.code, Code.REFUSED)
                time.sleep(0.5)
        self.put_rows(one)
        self.assertEqual(self.count(one, "by_ts"), ROWS)
        two.write_policy(policy(self.name, BASE + BY_TS, own_id="two"))
        two.start()
        self.assertEqual(self.count(two, "by_ts"), ROWS)

    def test_a_paused_gateway_answers_nothing_by_the_old_policy(self):
        """SIGSTOP until the other gateway has changed the paths. After SIGCONT it neither writes nor reads by the old policy."""
        one, two = self.pair()
        data = two.data()
        data.put("events", record(id="a", ts=1), None)
        data.remove("events", record(id="a", ts=1), None, None)
        two.process.send_signal(signal.SIGSTOP)
        try:
            end = time.monotonic() + 120
            while time.monotonic() < end:
                try:
                    self.apply_to(one, "one", BASE + BY_TS)
                    break
                except KeywayError as refused:
                    self.assertEqual(refused.code, Code.REFUSED)
                    time.sleep(0.5)
            self.put_rows(one)
        finally:
            two.process.send_signal(signal.SIGCONT)
        for call in (lambda: data.put("events", record(id="b", ts=2), None), lambda: data.get("events", record(id="b", ts=2), None, None)):
            with self.assertRaises(KeywayError) as caught:
                call()
            self.assertEqual(caught.exception.code, Code.UNAVAILABLE, caught.exception)
        two.wait_for_log("admitted again")  # without the table
        wait_until(lambda: two.ready()["degraded"], "the gateway to report the table")
        self.assertIn("not served: table events: this policy changes which rows a record has", two.get("/readyz")[1])
        for call in (lambda: data.put("events", record(id="b", ts=2), None), lambda: data.get("events", record(id="b", ts=2), None, None)):
            with self.assertRaises(KeywayError) as caught:
                call()
            self.assertEqual(caught.exception.code, Code.UNAVAILABLE, caught.exception)
        self.assertEqual(self.count(one), ROWS)
        self.assertEqual(self.count(one, "by_ts"), ROWS)
        two.write_policy(policy(self.name, BASE + BY_TS, own_id="two"))
        admin = two.admin()
        admin.reload()
        admin.close()
        self.assertEqual(self.count(two, "by_ts"), ROWS)
        data.close()


def load_tests(loader, _tests, _pattern):
    suite = loader.loadTestsFromTestCase(Steps)
    if STORE == "hbase":
        names = [name for name in loader.getTestCaseNames(Two) if name not in loader.getTestCaseNames(Steps)]
        suite.addTests(Two(name) for name in names)
    return suite


if __name__ == "__main__":
    if STORE == "hbase":
        hbase_servers()
    unittest.main(verbosity=2, warnings="ignore")
