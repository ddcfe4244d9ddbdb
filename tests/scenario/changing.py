"""For tests of changes of a key rule on the embedded store: commands, the cells of store tables, and a load whose every
answer is checked.

ctest sets KEYWAY (the command) and KW_STORE_ROWS (prints the cells of a store that no gateway has open).
"""
import contextlib
import hashlib
import json
import os
import random
import subprocess
import threading
import time

from keyway_gateway import PATIENCE, plain, record, value, wait_until
from keyway_thrift.ttypes import ApplyOptions, ChangeAction, ChangeOptions, Code, CompareOp, Condition, KeywayError, Outcome, Query
from thrift.transport.TTransport import TTransportException

SETTINGS = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
policy: {{source: store}}
store: {{kind: embedded, path: {folder}/data}}
"""

PAUSE_S = 0.01  # between calls: leaves the gateways a part of the machine


# --- the gateway ------------------------------------------------------------------------------------

def keyway(gateway, *words, code=0):
    """Runs the command, which must exit with this code (None: any). Returns its output and its errors."""
    done = subprocess.run([os.environ["KEYWAY"], "-g", gateway.address, *words], capture_output=True, text=True,
                          timeout=10 * PATIENCE, check=False)
    assert code in (None, done.returncode), f"keyway {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def call(gateway, name, *arguments):
    """One call of the service Admin."""
    admin = gateway.admin()
    try:
        return getattr(admin, name)(*arguments)
    finally:
        admin.close()


def apply(gateway, text, expected=None, **options):
    """Applies a policy. expected: the present version; None: whichever it is."""
    if expected is None:
        expected = int(gateway.metric("keyway_policy_version"))
    return call(gateway, "policyApply", text, expected, ApplyOptions(**options))


def order(gateway, table, action, **options):
    return call(gateway, "orderChange", table, ChangeAction._NAMES_TO_VALUES[action.upper()], ChangeOptions(**options))


def status(gateway, table):
    """The only change of the table; None: there is none."""
    found = call(gateway, "changes", table)
    assert len(found) <= 1, found
    return found[0] if found else None


def wait_for(gateway, table, condition, what):
    """Waits until the change's status meets the condition, and returns it."""
    def met():
        found = status(gateway, table)
        return found if found and condition(found) else None
    try:
        return wait_until(met, what)
    except AssertionError as failure:
        raise AssertionError(f"{failure}: {status(gateway, table)}") from None


def wait_until_compared(gateway, table):
    """On HBase also until the first pass has ended, so that a switch can be ordered."""
    return wait_for(gateway, table, lambda found: found.copied and found.compared and (found.waiting or not found.goal),
                    "all rows to be copied and compared")


def wait_until_ended(gateway, table):
    wait_until(lambda: status(gateway, table) is None, "the change to end")


def put_all(gateway, table, rows, options=None):
    data = gateway.data()
    for first in range(0, len(rows), 500):
        for written in data.putMany(table, rows[first:first + 500], options):
            assert written.outcome == Outcome.OK, written
    data.close()


def expect_records(case, gateway, states, uncertain=()):
    """Table t of this gateway has exactly these records, by get and by scan. It can also have the uncertain ones."""
    data = gateway.data()
    try:
        for first in range(0, len(states), 500):
            part = list(states)[first:first + 500]
            found = data.getMany("t", [record(id=name, ts=ts) for name, ts in part], [], None)
            for key, one in zip(part, found):
                case.assertIsNotNone(one.record, (key, one.failure))
                case.assertEqual(plain(one.record), {"id": key[0], "ts": key[1], **states[key]})
        page = data.scan(Query(table="t", full_scan=True, page_rows=5000))
        rows = list(page.rows)
        while page.cursor is not None:
            page = data.nextPage(page.cursor, None)
            rows += page.rows
    finally:
        data.close()
    found = {(row["id"].text, row["ts"].number): plain(row) for row in rows}
    case.assertEqual(len(found), len(rows))
    for key in uncertain:
        found.pop(key, None)
    case.assertEqual(found, {key: {"id": key[0], "ts": key[1], **state} for key, state in states.items()})


# --- cells ------------------------------------------------------------------------------------------

def cells_of(folder, *tables):
    """{store table: {row key: [(column, timestamp, value)]}}, of a store that no gateway has open; a table that does not
    exist is None."""
    done = subprocess.run([os.environ["KW_STORE_ROWS"], os.path.join(folder, "data"), *tables], capture_output=True,
                          text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        words = line.split(" ")
        if words[0] in ("table", "missing"):
            rows = found[words[1]] = {} if words[0] == "table" else None
            continue
        row, column, stamp, *value = words
        rows.setdefault(bytes.fromhex(row), []).append(
            (bytes.fromhex(column).decode(), int(stamp), bytes.fromhex(value[0] if value else "")))
    return found


# --- load -------------------------------------------------------------------------------------------

class Known:
    """What one record can be at a time: its states, each with the times at which its write began and was acknowledged. Each
    record has one writer."""
    KEPT = 5000  # more than a record has during one scan, which can wait for a stopped gateway

    def __init__(self):
        self.states = [(0, 0, None)]
        self.lock = threading.Lock()

    @property
    def last(self):
        return self.states[-1][2]

    @property
    def is_certain(self):
        return self.states[-1][1] is not None

    def begin(self, state):
        with self.lock:
            self.states.append((time.monotonic(), None, state))

    def end(self):
        with self.lock:
            began, _, state = self.states[-1]
            self.states = self.states[-self.KEPT:-1] + [(began, time.monotonic(), state)]

    def withdraw(self):
        """The write that began last was certainly not applied."""
        with self.lock:
            self.states.pop()

    def possible(self, from_time, to_time):
        """The states that a read between the two times can return."""
        with self.lock:
            states = list(self.states)
        first = 0
        for i, (_, ended, _) in enumerate(states):
            if ended is not None and ended <= from_time:
                first = i
        return [state for began, _, state in states[first:] if began <= to_time]


class Load:
    """Writers that put, change and remove their own records, and a reader that scans the table page by page and gets
    records. An answer that no order of the writes has is a failure; so is any error, unless `tolerant`."""

    def __init__(self, gateway, table, stable, seed, orders, writers=2, records=60):
        self.gateway = gateway
        self.table = table
        self.stable = stable     # {(id, ts): state}: records that nobody writes
        self.orders = orders     # sort keys of records: a scan has one of these orders
        self.seed = seed
        self.known = {}
        self.ended = threading.Event()
        self.failures = []
        self.tolerant = False    # the gateway can be killed
        self.expiries = 0        # of cursors; odd during one
        self.counts = {"writes": 0, "gets": 0, "scans": 0, "expired": 0, "unknown": 0}
        self.threads = [threading.Thread(target=self.run, args=(self.scan, seed)),
                        threading.Thread(target=self.run, args=(self.get_stable, seed + 1))]
        for number in range(writers):
            own = [(f"w{number}-{i:03}", i * 1000) for i in range(records)]
            self.known |= {key: Known() for key in own}
            self.threads.append(threading.Thread(target=self.run, args=(lambda data, chance, own=own: self.write(data, chance, own), seed + 2 + number)))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        if kind is None:
            self.check()

    def check(self):
        if self.failures:
            raise self.failures[0]

    @contextlib.contextmanager
    def cursors_expire(self):
        """Cursors of scans that began before or in the block can become invalid."""
        self.expiries += 1
        yield
        self.expiries += 1

    def wait_for_scans(self, count=2):
        """Waits until that many scans have begun and ended."""
        target = self.counts["scans"] + count + 1
        wait_until(lambda: self.failures or self.counts["scans"] >= target, "the load")
        self.check()

    def run(self, do, seed):
        chance = random.Random(seed)
        data = None
        while not self.failures:
            tolerant = self.tolerant  # the call can end after the restart
            if self.ended.wait(PAUSE_S):
                return
            try:
                data = data or self.gateway.data()
                do(data, chance)
            except (TTransportException, OSError, EOFError, KeywayError) as failure:
                if not ((tolerant or self.tolerant) and self.is_of_restart(failure)):
                    self.failures.append(failure)
                with contextlib.suppress(Exception):
                    data.close()
                data = None
                self.ended.wait(0.05)
            except Exception as failure:  # the main thread raises it
                self.failures.append(failure)

    @staticmethod
    def is_of_restart(failure):
        """True for an error that calls can have while the gateway is killed and starts, or while a key rule is changed."""
        return not isinstance(failure, KeywayError) or failure.code in (Code.UNAVAILABLE, Code.BUSY) or "cursor" in failure.message

    # --- writes -----------------------------------------------------------------------------------

    def write(self, data, chance, own):
        key = chance.choice(own)
        known = self.known[key]
        if not known.is_certain:  # its outcome is unknown: nobody writes it again
            self.counts["unknown"] += 1
            own.remove(key)
            assert own, "the outcomes of too many writes are unknown"
            return
        named = record(id=key[0], ts=key[1])
        state = None if known.last is None else dict(known.last)
        if state is not None and chance.random() < 0.2:
            self.write_atomically(data, chance, key, named, state)
        else:
            self.write_plainly(data, chance, key, named, state)
        known.end()
        self.counts["writes"] += 1
        self.get(data, key)

    def write_plainly(self, data, chance, key, named, state):
        known, kind = self.known[key], chance.random()
        if kind < 0.5 or state is None:
            fields = {"note": f"{chance.random()}", "n": chance.randrange(10**6)}
            if kind < 0.2:
                del fields[chance.choice(["note", "n"])]
            known.begin((state or {}) | fields)
            written = data.put(self.table, named | record(**fields), None)
        elif kind < 0.7:
            column = chance.choice(["note", "n"])
            state.pop(column, None)
            known.begin(state or None)
            written = data.remove(self.table, named, [column], None)
        else:
            known.begin(None)
            written = data.remove(self.table, named, [], None)
        if written.outcome == Outcome.FAILED:
            known.withdraw()
        if written.outcome != Outcome.OK:
            raise KeywayError(code=written.failure.code, message=written.failure.message)

    def write_atomically(self, data, chance, key, named, state):
        known = self.known[key]
        if chance.random() < 0.5:
            state["n"] = state.get("n", 0) + 7
            known.begin(state)
            found = data.increment(self.table, named, {"n": 7}, None)
            assert plain(found) == {"n": state["n"]}, f"increment of {key}: {found}, not {state}"
        else:
            condition = Condition("note", CompareOp.EQUAL, value(state["note"]) if "note" in state else None)
            state["note"] = f"if {chance.random()}"
            known.begin(state)
            assert data.putIf(self.table, named | record(note=state["note"]), condition, None), f"putIf of {key}"

    # --- reads ------------------------------------------------------------------------------------

    def get(self, data, key):
        began = time.monotonic()
        found = data.get(self.table, record(id=key[0], ts=key[1]), [], None).record
        self.same(key, found, began, "get")
        self.counts["gets"] += 1

    def get_stable(self, data, chance):
        self.get(data, chance.choice(list(self.stable)) if chance.random() < 0.5 else chance.choice(list(self.known)))

    def possible(self, key, began):
        return [self.stable[key]] if key in self.stable else self.known[key].possible(began, time.monotonic())

    def same(self, key, found, began, what):
        if found is not None:
            found = {name: held for name, held in plain(found).items() if name not in ("id", "ts")}
        possible = self.possible(key, began)
        assert found in possible, f"{what} of {key}: {found}, not one of {possible}"

    def read_all(self, data, chance, path):
        """Scans the table by the path. Returns the rows, and the number of pages; 0: the cursor has expired."""
        expiries, pages = self.expiries, 1
        page = data.scan(Query(table=self.table, path=path, full_scan=True, page_rows=chance.randint(200, 2000)))
        rows = list(page.rows)
        while page.cursor is not None:
            try:
                page = data.nextPage(page.cursor, None)
            except KeywayError as failure:
                can_expire = self.expiries > expiries or expiries % 2 == 1
                if failure.code == Code.INVALID and "cursor" in failure.message and can_expire:
                    self.counts["expired"] += 1
                    return rows, 0
                raise
            rows += page.rows
            pages += 1
        return rows, pages

    def scan(self, data, chance, path=None, orders=None):
        began, rows = time.monotonic(), {}
        found, pages = self.read_all(data, chance, path)
        listed = []
        for row in found:
            key = (row["id"].text, row["ts"].number)
            assert key not in rows, f"a scan returned {key} twice"
            rows[key] = row
            listed.append(key)
        if pages == 0:
            return
        for key in [*self.stable, *self.known]:
            self.same(key, rows.pop(key, None), began, "scan")
        assert not rows, f"a scan returned records that nobody wrote: {list(rows)[:3]}"
        assert any(listed == sorted(listed, key=one) for one in orders or self.orders), "the rows of a scan are not in order"
        self.counts["scans"] += 1

    def final(self):
        """{key: state} of all records that exist, after the load has ended."""
        states = dict(self.stable)
        for key, known in self.known.items():
            if known.is_certain and known.last is not None:
                states[key] = known.last
        return states

    def uncertain(self):
        return {key for key, known in self.known.items() if not known.is_certain}


def hash_prefix(name, take=4):
    return hashlib.md5(name.encode()).hexdigest()[:take]


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]
