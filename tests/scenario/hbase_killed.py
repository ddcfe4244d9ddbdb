"""HBase dies under its callers (kill -9 of the one process that is master, region server and ZooKeeper) and is started
again over the same files, while its two Thrift2 servers and the gateway go on. What each caller was told is true: no
acknowledged write is lost, none that "certainly failed" is there, and callers hear of it in their own time, with codes
that say to try again. An HBase of its own, so that it hurts nobody.
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
    """Again: what has died, at the ports that it had."""
    ports = folder / "ports"
    fixed = {"KW_HBASE_PORTS": ports.read_text(encoding="ascii").strip()} if ports.exists() else {}
    done = subprocess.run([SUPPORT / "start.sh", folder], check=False, env={**os.environ, **fixed})
    if done.returncode == SKIPPED:
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit("HBase did not start")
    text = (folder / "env").read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def policy(told):
    return POLICY.replace("  kind: embedded\n  path: {folder}/data\n",
                          f"  kind: hbase\n  servers: [{told['KW_HBASE_BUFFERED']}]\n  create_missing: true\n")


class Writer(threading.Thread):
    """Puts one record after the other, each once, until it is told to end."""

    def __init__(self, number, gateway, end):
        super().__init__()
        self.name = f"w{number}"
        self.gateway = gateway
        self.end = end
        self.told = {"ok": set(), "failed": set(), "unknown": set()}
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
            self.told.setdefault(outcome, set()).add(count)
            count += 1
        data.close()

    def acknowledged(self):
        return len(self.told["ok"])


def found(data, name):
    page = data.scan(Query(table="events", bound=record(id=name)))
    times = {plain(row)["ts"] for row in page.rows}
    while page.cursor:
        page = data.nextPage(page.cursor, None)
        times |= {plain(row)["ts"] for row in page.rows}
    return times


def play(folder, told):
    end = threading.Event()
    with Gateway(policy(told)) as gateway:
        wait_until(lambda: gateway.ready()["ready"], "the gateway to be ready")
        writers = [Writer(number, gateway, end) for number in range(WRITERS)]
        try:
            for writer in writers:
                writer.start()
            wait_until(lambda: all(writer.acknowledged() > 200 for writer in writers), "some writes")
            os.kill(int((folder / "master.pid").read_text(encoding="ascii")), signal.SIGKILL)
            wait_until(lambda: all(writer.told["failed"] or writer.told["unknown"] for writer in writers), "HBase to be missed")
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
            print(writer.name, {outcome: len(times) for outcome, times in writer.told.items()}, f"found {len(there)}")
            assert not writer.odd, writer.odd[0]
            assert set(writer.told) == {"ok", "failed", "unknown"}, writer.told.keys()
            assert not writer.told["ok"] - there, f"lost: {sorted(writer.told['ok'] - there)}"
            assert not writer.told["failed"] & there, f"failed, and there: {sorted(writer.told['failed'] & there)}"
        data.close()


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="keyway-killed-"))
    try:
        play(folder, start_hbase(folder))
    finally:
        subprocess.run([SUPPORT / "stop.sh", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
