"""The places where histories are recorded: gateways over a store, and faults.

A place starts its gateways on fixed ports, so that callers find a gateway again after it was killed.
A fault is a function of a place and a random source. It causes trouble for a while and then ends it; see FAULTS.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import failing_disk
from keyway_gateway import Gateway, free_ports, wait_until

TABLES = """\
tables:
  plain:
    fields:
      id: {type: string, max_bytes: 40}
      a: string
      b: string
    key: [{field: id}]
  counted:
    fields:
      id: {type: string, max_bytes: 40}
      a: string
      n: {type: int, counter: true}
      m: {type: int, counter: true}
    key: [{hash: {algorithm: md5, of: [id], take: 2}}, {field: id}]
  salted:
    fields:
      id: {type: string, max_bytes: 40}
      a: string
      b: string
    key: [{salt: {of: [id], buckets: 4}}, {field: id}]
  pair:
    fields:
      id: {type: string, max_bytes: 40}
      part: {type: string, max_bytes: 10}
      a: string
      b: string
    key: [{field: id}, {field: part}]
    paths:
      by_part:
        key: [{field: part}, {field: id}]
  stamped:
    order: stamp
    fields:
      id: {type: string, max_bytes: 40}
      a: string
      b: string
    key: [{field: id}]
  mapped:
    fields:
      id: {type: string, max_bytes: 40}
      map: {type: map, of: string, column: "m:*"}
    key: [{field: id}]
  brief:
    fields:
      id: {type: string, max_bytes: 40}
      a: string
      b: string
    key: [{field: id}]
    families: {d: {ttl: 1s}}
  kept:
    fields:
      id: {type: string, max_bytes: 40}
      a: string
      b: string
    key: [{field: id}]
    families: {d: {versions: 3}}
  cas:
    order: stamp
    atomics: true
    fields:
      id: {type: string, max_bytes: 40}
      a: string
      b: string
      n: {type: int, counter: true}
      m: {type: int, counter: true}
    key: [{field: id}]
  duo:
    atomics: true
    fields:
      id: {type: string, max_bytes: 40}
      part: {type: string, max_bytes: 10}
      a: string
      b: string
      n: {type: int, counter: true}
      m: {type: int, counter: true}
    key: [{field: id}, {field: part}]
    paths:
      by_part:
        key: [{field: part}, {field: id}]
  sided:
    fields:
      run: {type: string, max_bytes: 10}
      id: {type: string, max_bytes: 40}
      a: string
      b: string
      side_a: string
      side_b: string
    key: [{hash: {algorithm: md5, of: [id], take: 2}}, {field: run}, {field: id}]
    paths:
      by_a:
        key: [{field: run}, {field: side_a}, {field: id}]
      by_text:
        key: [{field: a}, {field: run}, {field: id}]
  sided_stamp:
    order: stamp
    fields:
      run: {type: string, max_bytes: 10}
      id: {type: string, max_bytes: 40}
      a: string
      b: string
      side_a: string
      side_b: string
    key: [{hash: {algorithm: md5, of: [id], take: 2}}, {field: run}, {field: id}]
    paths:
      by_a:
        key: [{field: run}, {field: side_a}, {field: id}]
      by_text:
        key: [{field: a}, {field: run}, {field: id}]
  hinted:
    fields:
      run: {type: string, max_bytes: 10}
      id: {type: string, max_bytes: 40}
      a: string
      b: string
      side_a: string
      side_b: string
    key: [{hash: {algorithm: md5, of: [id], take: 2}}, {field: run}, {field: id}]
    paths:
      by_a:
        key: [{field: run}, {field: side_a}, {field: id}]
      by_both:
        key: [{field: run}, {field: side_a}, {field: side_b}, {field: id}]
      by_texts:
        key: [{field: a}, {field: b}, {field: run}, {field: id}]
  hinted_stamp:
    order: stamp
    atomics: true
    fields:
      run: {type: string, max_bytes: 10}
      id: {type: string, max_bytes: 40}
      a: string
      b: string
      side_a: string
      side_b: string
    key: [{hash: {algorithm: md5, of: [id], take: 2}}, {field: run}, {field: id}]
    paths:
      by_a:
        key: [{field: run}, {field: side_a}, {field: id}]
      by_both:
        key: [{field: run}, {field: side_a}, {field: side_b}, {field: id}]
      by_texts:
        key: [{field: a}, {field: b}, {field: run}, {field: id}]
  made:
    fields:
      id: {type: string, max_bytes: 40}
      number: {type: int, generate: sequence}
    key: [{field: id}]
"""


# The tables that workloads use, by the first words of the workload's name; others use `plain`.
USED = {"counters": "counted", "scans": "salted", "filtered": "salted", "paths": "pair", "stamped": "stamped", "maps": "mapped",
        "expiring": "brief", "versions": "kept", "cas": "cas", "duo": "duo", "numbers": "made", "sided": "sided",
        "sided_stamp": "sided_stamp", "hinted": "hinted", "hinted_stamp": "hinted_stamp"}


# Not promised with order: store; keyway-ordering(7) gives the reasons. The client inside Thrift2
# can repeat a comparison that was applied; if the field was removed in between, it matches again and is applied twice. Without
# removals a repeated comparison must be detected. Counters can be ahead of the clock of their server; if that clock differs
# from the store's clock by more than store.max_clock_skew, their removal or put cannot wait until that time has surely passed.
# Cells of the embedded store expire by the clock that is set back.
# While the key rule of a path changes, one query of the path can return a write in progress that another query, which begins
# later, does not return: they can read different placements. These workloads expect the same of queries as of gets.
QUERIED = {"paths", "paths_parts", "paths_watched", "duo_put_if", "duo_counters", "duo_all"}
NOT_PROMISED = {"repeat": {"put_if_remove", "put_if_all", "counters_all", "sided_put_if_remove"}, "clock_jumps": {"counters_all"},
                "clock_back": {"expiring"}, "stuck": QUERIED, "given_up": QUERIED, "apart": QUERIED}


LAYOUTS_KEPT = 60  # the highest layout whose store table is looked for, when the cells of a wrong history are kept


def table_of(workload):
    words = workload.split("_")
    found = (USED.get("_".join(words[:count])) for count in range(len(words), 0, -1))
    return next((table for table in found if table), "plain")


def kind_of(table):
    """The table of TABLES that this one is like: see many_tables."""
    name, _, number = table.rpartition("_")
    return name if number.isdigit() else table


def table_names(tables):
    return [line.strip(" :") for line in tables.splitlines() if line.startswith("  ") and not line.startswith("   ")]


MANY = ("plain", "salted", "pair", "mapped", "kept", "brief", "stamped", "cas", "duo", "counted", "made")
HINTED = ("sided", "sided_stamp", "hinted", "hinted_stamp")  # have hint paths
NATIVE = ("counted", "made", "pair", "stamped", "cas", "duo", *HINTED)  # need increments, or have an order


def many_tables(count, random, kinds=MANY):
    """So many tables, each like one of TABLES and with a number in its name; some have `order: stamp` instead."""
    each = dict(zip(table_names(TABLES), split_tables(TABLES)))
    text = "tables:\n"
    for i in range(count):
        name = kinds[i % len(kinds)]
        order = "    order: stamp\n" if name not in NATIVE and random.random() < 0.5 else ""
        text += each[name].replace(f"  {name}:\n", f"  {name}_{i}:\n{order}", 1)
    return text


def split_tables(tables):
    """The text of each table."""
    texts = []
    for line in tables.splitlines()[1:]:
        if line.startswith("   "):
            texts[-1] += line + "\n"
        else:
            texts.append(line + "\n")
    return texts


def old_tables():
    """The same tables for a gateway that supports neither order nor counters."""
    return TABLES.replace(", counter: true", "").replace("    order: stamp\n", "").replace("    atomics: true\n", "")


def policy(port, admin, store, tables, extra=""):
    text = f"listen: 127.0.0.1:{port}\nadmin: 127.0.0.1:{admin}\nloops: 2\n{extra}store:\n{store}{tables}"
    return text.replace("{", "{{").replace("}", "}}").replace("{{folder}}", "{folder}")


class Place:
    """Gateways over one store."""

    def __init__(self, tables):
        self.tables = tables
        self.extra = "cursor: {keys: [a key that all gateways share]}\n"  # of the policy
        self.gateways = []
        self.ports = []
        self.workload = ""  # of the present history

    def store(self):
        raise NotImplementedError

    def start(self, gateways):
        self.ports = free_ports(2 * gateways)
        for number in range(gateways):
            text = policy(self.ports[2 * number], self.ports[2 * number + 1], self.store(), self.tables, self.extra)
            self.gateways.append(Gateway(text))
            self.start_gateway(number)
        return self

    def environment(self):
        """The environment of each gateway."""
        return {}

    def start_gateway(self, number, environment=None, ready=True):
        gateway = self.gateways[number]
        both = [self.environment(), environment or {}]
        gateway.environment = both[0] | both[1] | {"LD_PRELOAD": ":".join(one["LD_PRELOAD"] for one in both if "LD_PRELOAD" in one)}
        gateway.start()
        if ready:
            self.wait_gateway(number)

    def wait_gateway(self, number):
        wait_until(lambda: self.gateways[number].get("/readyz")[0] == 200, "keywayd to serve", 240)

    def addresses(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.ports[::2])

    def kill_gateway(self, number, how=signal.SIGKILL):
        process = self.gateways[number].process
        process.send_signal(how)
        process.wait()

    def mend(self):
        """Called before each history: restarts what must run."""

    def paths_are_judged(self):
        """How the paths of a record are judged (judge_paths in judge.h)."""
        return "in-order" if len(self.gateways) == 1 else "texts-in-order"

    def ties(self):
        """Cells that replaced others with the same timestamp: row keys, qualifiers and both values. Empty if they are not known."""
        return []

    def logs(self):
        return "".join(f"--- gateway {number}\n{gateway.log()}" for number, gateway in enumerate(self.gateways))

    def keep(self, file):
        """Writes what explains a wrong history, beside its file: the gateways' logs."""
        pathlib.Path(f"{file}.log").write_text(self.logs(), encoding="utf-8")

    def stop(self):
        for gateway in self.gateways:
            with contextlib.suppress(OSError, AttributeError):  # exited, or not started yet
                gateway.process.send_signal(signal.SIGCONT)
            gateway.kill()
            shutil.rmtree(gateway.folder, ignore_errors=True)


class Embedded(Place):
    """One gateway with an embedded store, on a disk that can fail."""

    def __init__(self, tables):
        super().__init__(tables)
        self.folder = tempfile.mkdtemp(prefix="keyway-histories-")
        self.disk = failing_disk.Disk(self.folder) if "KW_DISK_LIBRARY" in os.environ else None

    def store(self):
        return "  kind: embedded\n  path: {folder}/data\n"

    def environment(self):
        return self.disk.environment() if self.disk else {}

    def paths_are_judged(self):
        return "together"  # one commit writes all rows of a record

    def stop(self):
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Sim(Place):
    """Gateways over two Thrift2 servers of hbase_sim."""
    MARKERS_MS = 0  # no compaction keeps a delete marker for longer: gone cells hide the same, for store.late (21 minutes)

    def __init__(self, tables, seed):
        super().__init__(tables)
        self.servers = free_ports(2)
        self.always = {}
        self.late = ""
        self.process = subprocess.Popen([os.environ["KW_HBASE_SIM"], str(seed)] + [str(port) for port in self.servers],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ok\n"

    def store(self):
        servers = ", ".join(f"\"127.0.0.1:{port}\"" for port in self.servers)
        return (f"  kind: hbase\n  servers: [{servers}]\n"
                "  create_missing: true\n" + self.late)

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer == "ok\n", f"hbase_sim exited at {command!r}: {answer!r}"

    def lines_of(self, command):
        """What a command prints."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        found = []
        for line in self.process.stdout:
            if line == "ok\n":
                return found
            found.append(line.rstrip("\n"))
        raise AssertionError(f"hbase_sim exited at {command!r}")

    def keep(self, file):
        """Also all cells of the store tables, with those that were overwritten."""
        super().keep(file)
        names = [name + path for name in table_names(self.tables) for path in ("", "_by_part", "_by_a", "_by_both", "_by_text", "_by_texts")]
        stores = [f"{name}{layout}" for name in names for layout in ("", *(f"_L{number}" for number in range(2, LAYOUTS_KEPT)))]
        pathlib.Path(f"{file}.cells").write_text("".join(f"{store} {line}\n" for store in stores for line in self.lines_of(f"dump {store}")),
                                                 encoding="utf-8")

    def ties(self):
        return [[bytes.fromhex(word) for word in line.split(" ")] for line in self.lines_of("ties")]

    def misbehave(self, faults):
        """Faults of single calls, in addition to those that occur always."""
        faults = self.always | faults
        self.send(" ".join(["faults"] + [f"{name}={number}" for name, number in faults.items()]))

    def misbehave_of(self, number, faults):
        """Faults of the calls to one server, until the next `misbehave`."""
        faults = self.always | faults
        self.send(" ".join(["faults_of", str(number)] + [f"{name}={value}" for name, value in faults.items()]))

    def stop_thrift(self, number):
        self.misbehave({"delay_us": 500})  # so that calls are pending
        self.send(f"stop {number}")

    def go_on_thrift(self, number):
        self.send(f"go_on {number}")
        self.misbehave({})

    def kill_thrift(self, number):
        self.misbehave({"delay_us": 500})
        self.send(f"kill {number}")

    def start_thrift(self, number):
        self.send(f"start {number}")
        self.misbehave({})

    def move_clock(self, offset_ms):
        self.send(f"clock clock {offset_ms}")

    def stop(self):
        super().stop()
        self.process.kill()
        self.process.wait()


class HBase(Place):
    """Gateways over a real HBase that runs already; `servers` are addresses of its Thrift2 servers, framed and compact."""

    def __init__(self, tables, servers, suffix):
        super().__init__(self.named(tables, suffix))
        self.servers = servers
        self.suffix = suffix

    @staticmethod
    def named(tables, suffix):
        """Gives the store tables names of this campaign."""
        lines = []
        for line in tables.splitlines():
            lines.append(line)
            if line.startswith("  ") and not line.startswith("   ") and line.endswith(":"):
                lines.append(f"    store_table: {line.strip(' :')}_{suffix}")
        return "\n".join(lines) + "\n"

    def store(self):
        servers = ", ".join(f"\"{server}\"" for server in self.servers)
        return (f"  kind: hbase\n  servers: [{servers}]\n"
                f"  create_missing: true\n  catalog: catalog_{self.suffix}\n")

    def paths_are_judged(self):
        return "in-order" if len(self.gateways) == 1 else "apart"  # ties of several gateways are not known


# --- faults -------------------------------------------------------------------------------------------------------------

def pause(random, least, most):
    time.sleep(random.uniform(least, most))


def calm(place, random, end):
    """No fault."""
    del place, random, end


def kill_gateway(place, random, end):
    """Kills a gateway with kill -9 and restarts it."""
    pause(random, 0.05, 0.3)
    number = random.randrange(len(place.gateways))
    place.kill_gateway(number)
    place.start_gateway(number)
    del end


def kill_gateways(place, random, end):
    """Kills a gateway with kill -9 and restarts it; later again. A change that it led stands still until its lease has ended."""
    longest = 8
    while not end.wait(random.uniform(0, longest)):
        number = random.randrange(len(place.gateways))
        place.kill_gateway(number)
        pause(random, 0, 0.3)
        place.start_gateway(number)
        longest = 40


def term_gateway(place, random, end):
    """Stops a gateway with SIGTERM and restarts it."""
    pause(random, 0.05, 0.3)
    number = random.randrange(len(place.gateways))
    place.kill_gateway(number, signal.SIGTERM)
    place.start_gateway(number)
    del end


def stop_gateway(place, random, end):
    """Pauses a gateway with SIGSTOP for a while."""
    while not end.is_set():
        pause(random, 0.02, 0.2)
        process = place.gateways[random.randrange(len(place.gateways))].process
        process.send_signal(signal.SIGSTOP)
        pause(random, 0.01, 0.6)
        process.send_signal(signal.SIGCONT)


def wrong_clock(offset):
    """The environment of a process whose clock is wrong by this offset, or by the content of the file with this path."""
    return {"LD_PRELOAD": os.environ["KW_CLOCK_LIBRARY"], "KW_CLOCK_FILE" if os.path.isabs(offset) else "KW_CLOCK_OFFSET": offset}


def clock_back(place, random, end):
    """Stops a gateway, sets its clock back an hour and starts it; then restarts it with the right time."""
    pause(random, 0.05, 0.2)
    place.kill_gateway(0, signal.SIGTERM)
    place.start_gateway(0, wrong_clock("-1h"))
    pause(random, 0.2, 0.3)
    place.kill_gateway(0, random.choice([signal.SIGTERM, signal.SIGKILL]))
    place.start_gateway(0)
    del end


def clocks_off(place, random, end):
    """The last gateway's clock is wrong."""
    number = len(place.gateways) - 1
    place.kill_gateway(number)
    place.start_gateway(number, wrong_clock(random.choice(["+2s", "-2s", "+0.001s", "-0.001s", "+1h"])))
    end.wait()
    place.kill_gateway(number)
    place.start_gateway(number)


def clocks_jump(place, random, end):
    """The last gateway's clock jumps forwards and back."""
    number = len(place.gateways) - 1
    place.kill_gateway(number)
    with tempfile.TemporaryDirectory(prefix="keyway-clock-") as folder:
        clock = pathlib.Path(folder, "clock")
        clock.write_text("+0s", encoding="ascii")
        place.start_gateway(number, wrong_clock(str(clock)))
        while not end.is_set():
            pause(random, 0.02, 0.2)
            clock.with_suffix(".new").write_text(random.choice(["+2s", "-2s", "+0s", "+0.02s", "-0.005s"]), encoding="ascii")
            clock.with_suffix(".new").rename(clock)
        place.kill_gateway(number)
        place.start_gateway(number)


def disk_full(place, random, end):
    """Writes or syncs fail for a while, as on a full disk. After a failed sync, the store writes again only after a restart."""
    while not end.is_set():
        pause(random, 0.05, 0.2)
        place.disk.fail(random.choice([failing_disk.WRITES, failing_disk.SYNCS]), random.randrange(2000))
        pause(random, 0.02, 0.2)
        place.disk.fail(failing_disk.NOTHING)
        place.kill_gateway(0)
        place.start_gateway(0)


def together(*causes):
    """Several faults at the same time."""
    def cause(place, random, end):
        failed = []

        def run(one, seed):
            try:
                one(place, type(random)(seed), end)
            except BaseException as error:  # pylint: disable=broad-except
                failed.append(error)
        threads = [threading.Thread(target=run, args=(one, random.random())) for one in causes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
    return cause


# --- faults of HBase -----------------------------------------------------------------------------------------------------

def misbehave(**faults):
    """Faults of single calls: see Link and hbase_sim."""
    def cause(place, random, end):
        del random
        place.misbehave(faults)
        end.wait()
        place.misbehave({})
    return cause


def stop_thrift(place, random, end):
    """A Thrift2 server is paused, and then processes the requests that it had received."""
    while not end.is_set():
        pause(random, 0.02, 0.2)
        number = random.randrange(2)
        place.stop_thrift(number)
        pause(random, 0.05, 1.5)
        place.go_on_thrift(number)


def kill_thrift(place, random, end):
    """A Thrift2 server is killed and restarted."""
    while not end.is_set():
        pause(random, 0.02, 0.2)
        number = random.randrange(2)
        place.kill_thrift(number)
        pause(random, 0.05, 0.5)
        place.start_thrift(number)


def region_moves(offsets_ms):
    """The region with the clock's cells moves to a server whose clock differs by this offset, and back."""
    def cause(place, random, end):
        while not end.is_set():
            pause(random, 0.1, 0.4)
            place.move_clock(random.choice(offsets_ms))
            pause(random, 0.6, 0.8)
            place.move_clock(0)
            pause(random, 0.5, 0.7)
    return cause


def compactions_within(late_ms):
    """Compactions drop delete markers all the time, and replies are lost."""
    def cause(place, random, end):
        place.misbehave({"late": 0.02, "late_ms": late_ms, "delay_us": 300})
        while not end.is_set():
            pause(random, 0.005, 0.05)
            place.send(f"purge {place.MARKERS_MS}")
        place.misbehave({})
    return cause


FAULTS = {
    "calm": calm,
    "kill": kill_gateway,
    "term": term_gateway,
    "stop": stop_gateway,
    "clock_back": clock_back,
    "clocks_off": clocks_off,
    "clocks_jump": clocks_jump,
    "disk_full": disk_full,
    "delay": misbehave(delay_us=3000),
    "lost": misbehave(lose=0.02, drop=0.02, delay_us=500),
    "late": misbehave(late=0.03, late_ms=400, lose=0.01, delay_us=500),
    "repeat": misbehave(repeat=0.2, delay_us=300),
    "stop_thrift": stop_thrift,
    "kill_thrift": kill_thrift,
    "clock_moves": region_moves([-20, -3, -1, 1, 2, 20]),
    "clock_jumps": region_moves([-300, 300]),
    "compactions": compactions_within(200),
}
