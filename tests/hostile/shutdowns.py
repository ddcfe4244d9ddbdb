"""SIGTERM at random moments while calls of every method of Data and Admin are running: the process ends with code 0, and no
sanitizer reports anything.

    shutdowns.py [embedded|sim]

The store is the embedded one, or an HBase in memory with slow and lost calls (hbase_sim). Several gateways run at the same time, each with its own rows. Each one is stopped and started again. KW_ROUNDS is the total
number of shutdowns. KW_SEED repeats the calls and the delays; what the threads of the gateways do meanwhile differs.
"""
import os
import random
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from idl_calls import Calls, decode
from keyway_gateway import Gateway, Ready, free_ports, receive_frame, record, wait_until
from keyway_hbase import Patient
from keyway_thrift.ttypes import (ApplyOptions, Candidate, CatalogPart, ChangeAction, CompareOp, Condition, FamilyOptions, ImportStep, NamedQuery,
                                  Options, Outcome, Query, ScrubOptions, SplitOptions, VerifyOptions)

STORE = sys.argv[1] if len(sys.argv) > 1 else "embedded"
SEED = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
ROUNDS = int(os.environ.get("KW_ROUNDS", "24"))
GATEWAYS = 3
CONNECTIONS = 12
IN_FLIGHT = 8  # calls per connection
FRAMES = 40    # different calls of each method
KEYS = 200

# `events` has two paths with different rows, so that scrub waits until they have settled. The key rule of `moving` is being
# changed. `made` has generated numbers.
SETTINGS = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
store: STORE
cursor: {{keys: [0123456789abcdef0123456789abcdef]}}
timeouts: {{drain: DRAIN}}
limits: {{batch_records: 100}}
log: {{level: error}}
"""
FIELDS = "    fields: {id: string, ts: timestamp, note: string, n: {type: int, counter: true}}\n"
HASHED = "[{hash: {algorithm: md5, of: [id], take: 4, as: hex}}, {field: id}, {field: ts}]"
SALTED = "[{salt: {of: [id], buckets: 8}}, {field: id}, {field: ts}]"
BY_TS = "[{salt: {of: [id], buckets: 4}}, {field: ts}, {field: id}]"
ORDER = "    order: stamp\n    atomics: true\n" if STORE == "sim" else ""
FAULTS = "faults late=0.01 late_ms=300 slow=0.02 slow_ms=100 lose=0.01 delay_us=300"


def tables(moving, more=""):
    return (f"tables:\n  events:\n    store_table: NAME_events\n{FIELDS}{ORDER}    key: {HASHED}\n"
            f"    paths: {{by_ts: {{store_table: NAME_by_ts, key: {BY_TS}}}}}\n"
            f"  moving:\n    store_table: NAME_moving\n{FIELDS}{ORDER}    key: {moving}\n"
            "  made:\n    store_table: NAME_made\n    fields: {id: {type: int, generate: sequence}, ts: timestamp, note: string}\n"
            f"    key: [{{salt: {{of: [id], buckets: 8}}}}, {{field: ts}}, {{field: id}}]\n{more}")


TEXTS = [tables(HASHED), tables(SALTED), tables(BY_TS), tables(HASHED, f"  extra:\n    store_table: NAME_extra\n{FIELDS}    key: {HASHED}\n")]
PATHS = (f"tables:\n  one:\n    store_table: NAME_events\n{FIELDS}    key: {HASHED}\n"
         f"  two:\n    store_table: NAME_by_ts\n{FIELDS}    key: {BY_TS}\n")
FILTERS = [None, None, "PrefixFilter('1')", "ValueFilter(=, 'substring:note')", "FirstKeyOnlyFilter()",
           "ValueFilter(=, 'regexstring:(n|o|t|e)*[0-9]{1,30}(a|b)*')", "RowFilter(=, 'regexstring:^.*(r|s|t)*7$')"]


# --- arguments ------------------------------------------------------------------------------------

def key_of(number):
    return record(id=f"r{number % 7}", ts=number)


def key(chance):
    return key_of(chance.randrange(KEYS))


def noted(chance):
    return {**key(chance), **record(note="note" * chance.randrange(100))}


def full(chance):
    return {**noted(chance), **record(n=chance.randrange(100))}


def query(chance, **members):
    bound = chance.choice((None, record(id=f"r{chance.randrange(7)}")))
    return Query(table=chance.choice(("events", "moving")), bound=bound, full_scan=True, filter=chance.choice(FILTERS),
                 page_rows=chance.choice((None, 1, 20)), **members)


def many(make, most=60):
    return lambda chance: [make(chance) for _ in range(chance.randrange(1, most))]


def one_of(*values):
    return lambda chance: chance.choice(values)


class Arguments:
    """The arguments that must mean something. Cursors are added when the first gateway has returned some."""

    def __init__(self, name):
        self.texts = [SETTINGS.format().replace("STORE", "{kind: embedded, path: data}").replace("DRAIN", "1s") + text.replace("NAME", name) for text in TEXTS]
        self.scan_cursors, self.scrub_cursors, self.diff_cursors = [b"x"], [None], [None]
        self.version = 0

    def scrubbing(self, cursors):
        return lambda chance: ScrubOptions(cursor=chance.choice(cursors), repair=chance.choice((None, None, None, STORE == "embedded")),
                                           settle_ms=chance.choice((0, 5, 50, 500, 10000)), max_records=chance.choice((None, 20)))

    def by_name(self):
        text = one_of(*self.texts)
        return {
            "table": one_of("events", "moving"), "record": full, "records": many(full), "key": key, "keys": many(key), "sample": many(full),
            "columns": one_of(None, [], ["note"], ["note", "n"]), "amounts": lambda chance: {"n": chance.randrange(-5, 5)},
            "putIf.record": noted, "compareAndPut.record": noted, "condition": lambda chance: Condition(field="note", op=chance.choice((CompareOp.EQUAL, CompareOp.NOT_EQUAL))),
            "max_versions": one_of(1, 3), "row_key": lambda chance: chance.randbytes(20), "path": one_of(None),
            "query": query, "queries": many(lambda chance: NamedQuery(name="one", query=query(chance)), 4),
            "nextPage.cursor": lambda chance: chance.choice(self.scan_cursors),
            "allocate.table": one_of("made"), "field": one_of("id"), "count": one_of(1, 10, 1000), "scope": one_of(None),
            "scrub.table": one_of("events"), "scrub.options": self.scrubbing(self.scrub_cursors),
            "changeDiff.table": one_of("moving"), "changeDiff.options": self.scrubbing(self.diff_cursors),
            "verify.table": one_of("events"), "verify.options": lambda chance: VerifyOptions(max_rows=chance.choice((None, 1, 20))),
            "orderChange.table": one_of("moving"), "action": one_of(*ChangeAction._VALUES_TO_NAMES), "expected_version": one_of(None),
            "text": text, "old_text": text, "new_text": text, "policy_text": one_of(None, *self.texts),
            "candidates": many(lambda chance: Candidate(name="one", text=text(chance)), 3), "regions": one_of(4), "time_field": one_of(None),
            "window_ms": one_of(None), "createTable.table": one_of("events", "made"), "if_absent": one_of(True),
            "families": one_of(None, [FamilyOptions(name="d")]), "splits": one_of(None, SplitOptions(algorithm="rule", regions=4)),
            "forget.table": one_of("extra", "moving"), "drop_rows": one_of(False, True), "before": one_of(0, 2), "limit": one_of(None, 1, 5),
            "exportCatalog.cursor": one_of(None, None, b"x"),
            "importCatalog.part": lambda chance: CatalogPart(export_id="0" * 64, step=chance.choice(list(ImportStep._VALUES_TO_NAMES))),
            "backup.name": lambda chance: f"backup-{chance.randrange(10**9)}", "version": one_of(0, 1), "deadline_ms": one_of(None, None, None, 1, 20, 300), "durability": one_of(None, None, 1, 2),
            "timestamp": one_of(None, None, 1000), "policyApply.expected_version": lambda chance: self.version,
            "policyApply.options": one_of(ApplyOptions(import_file=True, only_writer=True),
                                          ApplyOptions(import_file=True, dry_run=True)),
        }


# --- a gateway ------------------------------------------------------------------------------------

class Rounds(threading.Thread):
    """One gateway, which is stopped and started again."""

    def __init__(self, number, rounds):
        super().__init__()
        self.name = f"shutdowns_{os.getpid()}_{SEED}_{number}"
        self.chance = random.Random(f"{SEED}/{number}")
        self.rounds = rounds
        self.arguments = Arguments(self.name)
        self.calls = Calls(self.chance, self.arguments.by_name())
        self.frames, self.names, self.answered = {}, [], 0
        self.problem = None
        on_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="keyway-test-", dir=on_memory)
        self.gateway = self.servers = None
        self.ports = free_ports(2)

    def policy(self, drain, catalog="catalog", text=""):
        if STORE == "embedded":
            store = f"{{{{kind: embedded, path: {{folder}}/data, backup_folder: {{folder}}, catalog: {catalog}}}}}"
        else:
            servers = ", ".join(f"'127.0.0.1:{port}'" for port in self.ports)
            store = (f"{{{{kind: hbase, servers: [{servers}], create_missing: true, "
                     f"catalog: {catalog}, late: 1min}}}}")
        settings = SETTINGS.replace("STORE", store).replace("DRAIN", drain)
        if text:
            return settings + text.replace("NAME", self.name).replace("{", "{{").replace("}", "}}")
        return settings + "policy: {{source: store}}\n"

    def start_servers(self):
        self.servers = subprocess.Popen([os.environ["KW_HBASE_SIM"], str(SEED)] + [str(port) for port in self.ports],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.servers.stdin.write(FAULTS + "\n")
        self.servers.stdin.flush()
        assert [self.servers.stdout.readline() for _ in range(2)] == ["ok\n"] * 2

    def run(self):
        try:
            if STORE == "sim":
                self.start_servers()
            self.prepare()
            for number in range(self.rounds):
                self.round(number)
        except BaseException as problem:  # pylint: disable=broad-except
            self.problem = f"{problem}\n{traceback.format_exc()}\n{self.gateway.log() if self.gateway else ''}"
        finally:
            if self.gateway:
                self.gateway.kill()
            if self.servers:
                self.servers.kill()
                self.servers.communicate()
            shutil.rmtree(self.folder, ignore_errors=True)

    # --- rows -------------------------------------------------------------------------------------

    def prepare(self):
        self.plant()
        with Gateway(self.policy("5s"), self.folder) as self.gateway:
            self.apply(TEXTS[3])
            self.wait_until_ready()
            self.apply(TEXTS[0])
            data = Patient(self.gateway.data())
            data.putMany("events", [{**key_of(number), **record(note="note", n=number)} for number in range(100)], Options(timestamp=1000))
            for start in range(0, KEYS, 100):
                data.putMany("moving", [{**key_of(number), **record(note="note", n=number)} for number in range(start, start + 100)], None)
            self.arguments.scan_cursors += [data.scan(Query(table=table, full_scan=True, page_rows=5)).cursor for table in ("events", "moving")]
            data.close()
            self.apply(TEXTS[1])
            admin = Patient(self.gateway.admin())
            self.arguments.scrub_cursors.append(admin.scrub("events", ScrubOptions(max_records=20, settle_ms=0)).cursor)
            self.arguments.diff_cursors.append(admin.changeDiff("moving", ScrubOptions(max_records=20, settle_ms=0)).cursor)
            admin.close()
            self.try_all()
            self.names = list(self.frames)

    def plant(self):
        """Writes rows to one path of `events` only, through a gateway with a catalog of its own."""
        with Ready(self.policy("5s", "others", PATHS), self.folder) as gateway:
            data = Patient(gateway.data())
            for table, numbers in (("one", range(100, 150)), ("two", range(150, 200))):
                written = data.putMany(table, [{**key_of(number), **record(note=table)} for number in numbers], Options(timestamp=1000))
                assert all(one.outcome == Outcome.OK for one in written), written
            data.close()

    def apply(self, text):
        admin = Patient(self.gateway.admin())
        admin.policyApply(text.replace("NAME", self.name), int(self.gateway.metric("keyway_policy_version")), ApplyOptions(only_writer=True))
        admin.close()

    def wait_until_ready(self):
        wait_until(lambda: self.gateway.get("/readyz")[0] == 200, "keywayd to serve")

    def encode(self, method):
        self.arguments.version = int(self.gateway.metric("keyway_policy_version"))
        return [self.calls.frame(method) for _ in range(FRAMES)]

    def try_all(self):
        """Makes each call once, until each method has succeeded: a method whose arguments are never right would not be tested."""
        connection = self.gateway.connect()
        for method in self.calls.methods:
            self.frames[method.name], failures = self.encode(method), set()
            for frame in self.frames[method.name]:
                connection.sendall(frame)
                _, result = decode(receive_frame(connection))
                if result is not None and result.failure is None:
                    break
                failures.add(result and result.failure.message)
                if method.name == "importCatalog" or (method.name == "backup" and STORE == "sim"):
                    break  # refused while tables are served; only the embedded store makes backups
            else:
                raise AssertionError(f"no call of {method.name} succeeded, so it is not tested; see Arguments.by_name: {failures}")
        connection.close()

    # --- one shutdown -----------------------------------------------------------------------------

    def round(self, number):
        drain = self.chance.choice(("0s", "1ms", "20ms", "200ms", "1s"))
        self.gateway = Gateway(self.policy(drain), self.folder)
        self.gateway.start()
        if self.chance.random() < 0.9:
            self.wait_until_ready()
        self.frames["policyApply"] = self.encode(self.calls.methods_by_name["policyApply"])
        load = Load(self)
        load.work(self.chance.random() ** 2 * 0.8)
        self.gateway.process.send_signal(signal.SIGTERM)
        if self.chance.random() < 0.3:
            load.work(self.chance.random() * 0.1)
            if self.gateway.process.poll() is None:
                self.gateway.process.send_signal(signal.SIGTERM)
        load.work_until_end()
        self.answered += load.answered
        code = self.gateway.wait_for_exit()
        assert code == 0, f"round {number}: keywayd exited with {code}"
        self.gateway.check_log()
        os.truncate(self.gateway.log_file(), 0)


class Load:
    """Connections with calls in flight."""

    def __init__(self, runner):
        self.runner, self.answered = runner, 0
        self.selector = selectors.DefaultSelector()
        for _ in range(CONNECTIONS):
            connection = runner.gateway.connect()
            connection.setblocking(False)
            self.selector.register(connection, selectors.EVENT_READ, bytearray())
            self.send(connection, IN_FLIGHT)

    def send(self, connection, count):
        try:
            for _ in range(count):
                frame = self.runner.chance.choice(self.runner.frames[self.runner.chance.choice(self.runner.names)])
                if connection.send(frame) < len(frame):  # the rest is never sent; the gateway closes the connection one day
                    self.close(connection)
                    return
        except (BlockingIOError, OSError):
            self.close(connection)

    def close(self, connection):
        self.selector.unregister(connection)
        connection.close()

    def read(self, connection, held):
        """Counts the replies, and sends as many new calls."""
        try:
            part = connection.recv(1 << 20)
        except OSError:
            part = b""
        if not part:
            self.close(connection)
            return
        held += part
        count = 0
        while len(held) >= 4 and len(held) >= (size := 4 + int.from_bytes(held[:4], "big")):
            del held[:size]
            count += 1
        self.answered += count
        if self.runner.chance.random() < 0.01:
            self.close(connection)
        else:
            self.send(connection, count)

    def work(self, seconds):
        end = time.monotonic() + seconds
        while self.selector.get_map() and (left := end - time.monotonic()) > 0:
            for key, _ in self.selector.select(left):
                self.read(key.fileobj, key.data)

    def work_until_end(self):
        while self.selector.get_map() and self.runner.gateway.process.poll() is None:
            self.work(0.05)
        for key in list(self.selector.get_map().values()):
            self.close(key.fileobj)
        self.selector.close()


def main():
    print(f"KW_SEED={SEED}, {ROUNDS} shutdowns", flush=True)
    runners = [Rounds(number, (ROUNDS + GATEWAYS - 1 - number) // GATEWAYS) for number in range(GATEWAYS)]
    began = time.monotonic()
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    print(f"{sum(runner.rounds for runner in runners)} shutdowns, {sum(runner.answered for runner in runners)} calls answered, {time.monotonic() - began:.0f} s")
    problems = [runner.problem for runner in runners if runner.problem]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
