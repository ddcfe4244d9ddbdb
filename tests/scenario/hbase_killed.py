"""HBase is killed under load (kill -9 of the one process that is master, region server and ZooKeeper) and restarted on the
same files, while its two Thrift2 servers and the gateway keep running. Every reply is true: no acknowledged write is lost,
no failed write is applied, and callers get their errors in time, with codes that allow a retry. The test has its own
HBase, so that it disturbs no other test.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from keyway_gateway import PATIENCE, POLICY, Gateway, plain, record, wait_until
from keyway_hbase import SKIPPED
from keyway_thrift.ttypes import Code, KeywayError, Options, Outcome, Query

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support/hbase"
WRITERS = 4
DEADLINE_MS = 3000


def start_hbase(folder):
    """Starts HBase, or restarts the processes that no longer run, on their old ports."""
    ports = folder / "ports"
    fixed = {"KW_HBASE_PORTS": ports.read_text(encoding="ascii").strip()} if ports.exists() else {}
    done = subprocess.run([SUPPORT / "start.sh", folder], check=False, env={**os.environ, **fixed})
    if done.returncode == SKIPPED:
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit("HBase did not start")
    text = (folder / "env").read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def policy(servers):
    return POLICY.replace("  kind: embedded\n  path: {folder}/data\n",
                          f"  kind: hbase\n  servers: [{servers['KW_HBASE_BUFFERED']}]\n  create_missing: true\n")


class Writer(threading.Thread):
    """Puts one record after the other, each once, until it is stopped."""

    def __init__(self, number, gateway, end):
        super().__init__()
        self.name = f"w{number}"
        self.gateway = gateway
        self.end = end
        self.times = {"ok": set(), "failed": set(), "unknown": set()}
        self.odd = []

    def run(self):
        data = self.gateway.data()
        count = 0
        while not self.end.is_set():
            try:
                written = data.put("events", record(id=self.name, ts=count), Options(deadline_ms=DEADLINE_MS))
                outcome = "ok" if written.outcome == Outcome.OK else "odd"
            except KeywayError as failed:
                outcome = "unknown" if failed.maybe_applied else "failed"
                if failed.code not in (Code.TIMEOUT, Code.UNAVAILABLE, Code.BUSY) or "\tat " in failed.message:
                    self.odd.append(failed)
            self.times.setdefault(outcome, set()).add(count)
            count += 1
        data.close()

    def acknowledged(self):
        return len(self.times["ok"])


def found(data, name):
    page = data.scan(Query(table="events", bound=record(id=name)))
    times = {plain(row)["ts"] for row in page.rows}
    while page.cursor:
        page = data.nextPage(page.cursor, None)
        times |= {plain(row)["ts"] for row in page.rows}
    return times


def run(folder, servers):
    end = threading.Event()
    with Gateway(policy(servers)) as gateway:
        wait_until(lambda: gateway.ready()["ready"], "the gateway to be ready")
        writers = [Writer(number, gateway, end) for number in range(WRITERS)]
        try:
            for writer in writers:
                writer.start()
            wait_until(lambda: all(writer.acknowledged() > 200 for writer in writers), "some writes")
            os.kill(int((folder / "master.pid").read_text(encoding="ascii")), signal.SIGKILL)
            wait_until(lambda: all(writer.times["failed"] or writer.times["unknown"] for writer in writers), "writes to fail")
            assert gateway.get("/livez")[0] == 200
            start_hbase(folder)
            before = [writer.acknowledged() for writer in writers]
            wait_until(lambda: all(writer.acknowledged() > count + 100 for writer, count in zip(writers, before)),
                       "writes to be acknowledged again", 3 * PATIENCE)
        finally:
            end.set()
            for writer in writers:
                writer.join()
        data = gateway.data()
        for writer in writers:
            there = found(data, writer.name)
            print(writer.name, {outcome: len(times) for outcome, times in writer.times.items()}, f"found {len(there)}")
            assert not writer.odd, writer.odd[0]
            assert set(writer.times) == {"ok", "failed", "unknown"}, writer.times.keys()
            assert not writer.times["ok"] - there, f"lost: {sorted(writer.times['ok'] - there)}"
            assert not writer.times["failed"] & there, f"failed, but found: {sorted(writer.times['failed'] & there)}"
        data.close()


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="keyway-killed-"))
    try:
        run(folder, start_hbase(folder))
    finally:
        subprocess.run([SUPPORT / "stop.sh", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
