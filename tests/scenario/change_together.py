"""Key rules of several tables change at the same time on HBase, through two gateways: the steps of one change do not undo the
work of another one.

    change_together.py sim|hbase 2
"""
import collections
import concurrent.futures
import logging
import re
import threading
import time

import side_by_side
from change_case import HASHED, SALTED
from change_hbase_case import STORE, HBaseCase
from changing import apply, order, put_all, status, wait_for, wait_until_compared, wait_until_ended
from keyway_gateway import record, wait_until
from keyway_thrift.ttypes import Query

TABLES = 4
ROWS = 300
ROWS_OF_LONG = 3000  # a slice has 500 rows
LIMIT = 500  # rows per second
FIELDS = "{id: {type: string, max_bytes: 20}, ts: timestamp, note: string, n: {type: int, counter: true}}"
WORK = ("all rows are copied", "all rows are compared", "a pass or sweep has ended")
STEP = "the change has a new place"


class Together(HBaseCase):
    def policy_of(self, keys):
        """One table for each key."""
        return "tables:\n" + "".join(f"  t{number}:\n    store_table: {self.name}_{number}\n    fields: {FIELDS}\n    key: {key}\n"
                                     for number, key in enumerate(keys))

    def start_tables(self, first_rows=ROWS):
        for number in range(2):
            self.open(number)
        apply(self.gateways[0], self.policy_of([HASHED] * TABLES), 0)
        for gateway in self.gateways:
            wait_until(lambda gateway=gateway: gateway.get("/readyz")[0] == 200, "the gateway to serve")
        for number in range(TABLES):
            rows = ROWS if number else first_rows
            put_all(self.gateways[0], f"t{number}", [record(id=f"r{i:06}", ts=i % 3, n=i) for i in range(rows)])

    def begin_change(self, number, gateway):
        """The changes of the tables before it have begun."""
        keys = [SALTED] * (number + 1) + [HASHED] * (TABLES - number - 1)
        apply(gateway, self.policy_of(keys), number + 1, only_writer=True)

    def logged(self, text):
        """How often all gateways have logged the text, by table."""
        found = collections.Counter()
        for gateway in self.gateways:
            found.update(re.findall(f'{text}.*table"?[=:] ?"?(t\\d)', gateway.log()))
        return found

    def expect_rows(self, number, gateway):
        data = gateway.data()
        try:
            self.assertEqual(len(data.scan(Query(table=f"t{number}", full_scan=True, page_rows=2 * ROWS)).rows), ROWS)
        finally:
            data.close()

    @staticmethod
    def go_on(gateway, table):
        """Switches the change when it waits for that, and goes back from there, so that it makes steps again and again."""
        found = status(gateway, table)
        if found.waiting and found.version in ("both-old", "both-new"):
            order(gateway, table, "switch" if found.version == "both-old" else "reverse")

    def test_whole_changes(self):
        """All changes make steps through both gateways at the same time. Each copies and compares its rows once, and makes no pass a second
        time. As soon as its state says so, it can be switched."""
        self.start_tables()
        tables = [f"t{number}" for number in range(TABLES)]
        for number in range(TABLES):
            self.begin_change(number, self.gateways[number % 2])
        for number, table in enumerate(tables):
            holder = self.gateways[number % 2]
            wait_until_compared(holder, table)
            order(holder, table, "switch")
        for table in tables:
            wait_for(self.gateways[0], table, lambda found: found.version == "both-new", "both-new")
            order(self.gateways[0], table, "complete", expire_cursors=True)
        for table in tables:
            wait_until_ended(self.gateways[0], table)
        for text in WORK[:2]:
            self.assertEqual(self.logged(text), {table: 1 for table in tables}, text)
        passes, steps = self.logged(WORK[2]), self.logged(STEP)
        for number, table in enumerate(tables):
            self.assertGreater(passes[table], 2)
            self.assertLess(passes[table], steps[table])
            self.expect_rows(number, self.gateways[1])

    def test_progress_stays(self):
        """A copy that takes long continues where it was while the same gateway makes steps of other changes."""
        self.start_tables(ROWS_OF_LONG)
        holder = self.gateways[0]
        self.begin_change(0, holder)
        order(holder, "t0", "throttle", rows_per_second=LIMIT)
        for number in range(1, TABLES):
            self.begin_change(number, holder)
        copied = 0
        while not status(holder, "t0").copied:
            self.go_on(holder, "t1")
            found = status(holder, "t0")
            self.assertGreaterEqual(found.rows_copied, copied)
            copied = found.rows_copied
            time.sleep(0.02)
        self.assertEqual(status(holder, "t0").rows_copied, ROWS_OF_LONG)
        self.assertGreater(self.logged(STEP)["t1"], 20)

    def test_apply_beside_steps(self):
        """Policies that begin and cancel a change are applied through one gateway while the other one makes steps of other changes."""
        self.start_tables()
        holder, other = self.gateways
        for number in range(TABLES - 1):
            self.begin_change(number, holder)
            wait_until_compared(holder, f"t{number}")
        ended = threading.Event()

        def make_steps():
            while not ended.is_set():
                for number in range(TABLES - 1):
                    self.go_on(holder, f"t{number}")
                time.sleep(0.01)

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            steps = pool.submit(make_steps)
            try:
                for version in range(TABLES, TABLES + 6, 2):
                    apply(other, self.policy_of([SALTED] * TABLES), version, only_writer=True)
                    wait_until_compared(other, f"t{TABLES - 1}")
                    order(other, f"t{TABLES - 1}", "cancel")
                    wait_until_ended(other, f"t{TABLES - 1}")
            finally:
                ended.set()
            steps.result()
        self.assertGreater(self.logged(STEP)["t0"], 10)

    def test_switch_at_once(self):
        """As soon as the holder's own progress allows it, the change can be switched. The catalog's progress is up to two seconds older."""
        self.start_tables()
        holder = self.gateways[0]
        self.begin_change(0, holder)
        for _ in range(5):
            wait_until_compared(holder, "t0")
            order(holder, "t0", "switch")
            wait_for(holder, "t0", lambda found: found.version == "both-new" and found.waiting, "both-new")
            order(holder, "t0", "reverse")
            wait_for(holder, "t0", lambda found: found.version == "both-old", "both-old")
            order(holder, "t0", "compare")


if __name__ == "__main__":
    logging.disable()  # Thrift's messages about connections
    side_by_side.main([STORE, "2"])
