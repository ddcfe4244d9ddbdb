"""Tests many concurrent callers of a gateway over each store: concurrent_callers.py embedded | hbase. The callers are the
program KW_CONCURRENT_CALLERS (concurrent_callers.c); this script starts the gateway, runs the tests and checks metrics."""
import concurrent.futures
import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

from keyway_gateway import Gateway, is_sanitized, wait_until
from keyway_hbase import hbase_servers

UPSTREAM_MOST = 32

POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
timeouts: {{call: 100s}}
limits: {{connections: 12000, peer_connections: 12000}}
store:
{store}
tables:
  hot:
    fields:
      id: {{type: string, max_bytes: 40}}
      value: string
{strange}
    key:
      - salt: {{buckets: 16, of: [id]}}
      - field: id
    store_table: {table}
"""


def hbase_place():
    return hbase_servers()["KW_HBASE_FRAMED"]


def policy(store, name, strange):
    if store == "hbase":
        lines = (f"  kind: hbase\n  servers: [\"{hbase_place()}\"]\n"
                 f"  create_missing: true\n  catalog: {name}_catalog")
    else:
        lines = "  kind: embedded\n  path: {folder}/data"
    text = POLICY.format(store=lines, table=name, strange="      strange: {type: string, column: \"x:s\"}" if strange else "")
    return text.replace("{", "{{").replace("}", "}}").replace("{{folder}}", "{folder}")


def run_callers(gateway, name, **settings):
    environment = {**os.environ, "KW_CALLERS_PORT": str(gateway.addresses[0][1]), **settings}
    done = subprocess.run([os.environ["KW_CONCURRENT_CALLERS"], "--tap", "-p", f"/caller_group/{name}"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{name}:\n{done.stdout}\n{gateway.log()}"
    print(f"{name}: good", [line for line in done.stdout.splitlines() if "unknown" in line])


def metric(gateway, name):
    return gateway.metric(f"keyway_{name}") or gateway.metric(f"keyway_{name}_total")


def upstream(gateway, place):
    """The gateway's established connections to the Thrift2 server, from the kernel's tables, not from its metrics."""
    port = int(place.rpartition(":")[2])
    own = set()
    for file in pathlib.Path(f"/proc/{gateway.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a caller's connection was closed
            own.add(os.readlink(file).removeprefix("socket:[").removesuffix("]"))
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file][1:]
    return sum(1 for row in rows if int(row[2].rpartition(":")[2], 16) == port and row[3] == "01" and row[9] in own)


@contextlib.contextmanager
def frozen():
    """The framed Thrift2 server is stopped, as during a pause of its JVM."""
    folder = pathlib.Path(os.environ["KW_HBASE_ENV"]).parent
    pid = int((folder / "thrift-framed.pid").read_text(encoding="ascii"))
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def check_hot_key(gateway, store):
    """A thousand callers that read one key cause few calls to the store. HBase pauses until all of them have sent their
    call, so that the number does not depend on its speed."""
    run_callers(gateway, "hot-key")
    if store != "hbase":
        return
    before = [metric(gateway, name) for name in ("store_reads", "store_reads_shared")]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with frozen():
            asking = pool.submit(run_callers, gateway, "hot-key", KW_CALLERS_WRITTEN="1")
            wait_until(lambda: asking.done() or metric(gateway, "store_reads") - before[0] >= 1000, "a thousand reads")
        asking.result()
    reads, shared = [metric(gateway, name) - had
                     for name, had in zip(("store_reads", "store_reads_shared"), before)]
    print(f"hot key: {reads:.0f} reads, {shared:.0f} of them shared")
    assert reads >= 1000, reads
    assert reads - shared <= 50, f"{reads - shared} reads of one key went to the store"


def main():
    store = sys.argv[1]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    callers = 10000 if hard >= 12000 and not is_sanitized() else min(2000, (hard - 200) // 2)
    name = f"callers_{os.getpid()}_{time.time_ns()}"
    with Gateway(policy(store, name, strange=False)) as gateway:
        wait_until(lambda: gateway.ready()["ready"], "the gateway to be ready")
        for part in ("history", "pipelined", "vanish", "bad-among-good"):
            run_callers(gateway, part)
        check_hot_key(gateway, store)
        run_callers(gateway, "many", KW_CALLERS=str(callers))
        if store == "hbase":
            found = upstream(gateway, hbase_place())
            print(f"{callers} callers, {found} connections to Thrift2")
            assert found <= UPSTREAM_MOST, found
        wait_until(lambda: gateway.metric("keyway_calls_in_flight") == 0, "the calls to end")
        if store != "hbase":
            return
        gateway.stop()
        # the table exists and has no family x
        gateway.write_policy(policy(store, name, strange=True))
        gateway.start()
        wait_until(lambda: gateway.ready()["ready"], "the gateway to be ready")
        run_callers(gateway, "bad-among-good", KW_CALLERS_STRANGE="1")


if __name__ == "__main__":
    main()
