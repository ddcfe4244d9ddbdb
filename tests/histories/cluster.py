"""A place with its own real HBase: region servers and two Thrift2 servers, each of which can be killed or paused."""
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

import changes
import places
from keyway_gateway import wait_until
from link import Link

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "support" / "hbase" / "cluster.sh"
REGIONS = pathlib.Path(__file__).resolve().parent / "Regions.java"
# HBase gives up calls, and declares a region server dead, after seconds instead of minutes.
SETTINGS = "zookeeper.session.timeout=6000"
# For Thrift2's client only: a master that gives up writes to its own tables this early exits when their region server dies.
def thrift_settings(rpc_ms, operation_ms):
    return (f"hbase.client.pause=100 hbase.rpc.timeout={rpc_ms} hbase.client.operation.timeout={operation_ms} "
            f"hbase.client.meta.operation.timeout={operation_ms}")


JAVA_OPTIONS = ["--add-modules=jdk.unsupported", "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"] + [
    f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in
    ("java.lang", "java.lang.reflect", "java.nio", "java.util", "java.util.concurrent", "jdk.internal.ref", "sun.nio.ch")]


class Cluster(places.HBase):
    """Gateways over this HBase. With links, they reach each Thrift2 server through a Link."""

    THRIFT_SETTINGS = thrift_settings(3000, 6000)

    def __init__(self, tables, seed, region_servers, links, retries=None, clock=None):
        self.folder = tempfile.mkdtemp(prefix="keyway-cluster-")
        self.seed = seed
        self.region_servers = region_servers
        self.script_environment = dict(os.environ, KW_HBASE_CONF=SETTINGS, KW_HBASE_THRIFT_CONF=self.THRIFT_SETTINGS + (
            f" hbase.client.retries.number={retries}" if retries is not None else ""))
        if clock:
            pathlib.Path(self.folder, f"clock-rs{region_servers}").write_text(clock, encoding="ascii")
        ports = [int(port) for port in self.command("start", str(region_servers)).split()]
        self.links = [Link(port, seed) for port in ports] if links else []
        servers = [link.port for link in self.links] or ports
        super().__init__(tables, [f"127.0.0.1:{port}" for port in servers], f"h{seed}_{time.time_ns() % 10**9}")
        self.regions_lock = threading.Lock()
        self.regions = None

    def command(self, *words):
        return subprocess.run([SCRIPT, self.folder, *words], env=self.script_environment, stdout=subprocess.PIPE, text=True,
                              check=True).stdout

    def mend(self):
        """Restarts processes that exited by themselves, such as a master that lost its session on a busy machine."""
        again = [name for name in ["zookeeper", "master"] + [f"rs{n + 1}" for n in range(self.region_servers)] +
                 ["thrift-1", "thrift-2"] if self.is_gone(name)]
        for name in again:
            print(f"    {name} had exited and is restarted", flush=True)
            self.command("again", name)
        if again:
            wait_until(lambda: self.ask_regions("whole"), "HBase to serve all regions", 240)
            for number in range(len(self.gateways)):
                self.wait_gateway(number)

    def is_gone(self, name):
        return subprocess.run([SCRIPT, self.folder, "pid", name], stdout=subprocess.DEVNULL, env=self.script_environment,
                              check=False).returncode != 0

    def signal(self, name, which):
        os.kill(int(self.command("pid", name)), which)

    def ask_regions(self, command):
        """Moves, splits or merges regions: see Regions.java. False if HBase rejected the command."""
        with self.regions_lock:
            if not self.regions:
                self.regions = subprocess.Popen(
                    ["java", "-Xmx128m", *JAVA_OPTIONS, "-cp", self.command("classpath").strip(), REGIONS, str(self.seed)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=open(pathlib.Path(self.folder, "logs", "regions.log"), "wb"), text=True)
            self.regions.stdin.write(command + "\n")
            self.regions.stdin.flush()
            answer = self.regions.stdout.readline()
            assert answer, f"Regions.java exited at {command!r}; see {self.folder}/logs/regions.log"
            return answer == "ok\n"

    def misbehave(self, faults):
        assert self.links, "this fault needs --links"
        for link in self.links:
            link.faults = dict(faults)

    def stop_thrift(self, number):
        self.signal(f"thrift-{number + 1}", signal.SIGSTOP)

    def go_on_thrift(self, number):
        self.signal(f"thrift-{number + 1}", signal.SIGCONT)

    def kill_thrift(self, number):
        self.command("kill", f"thrift-{number + 1}")

    def start_thrift(self, number):
        self.command("again", f"thrift-{number + 1}")

    def move_clock(self, offset_ms):
        """Moves the region to the region server whose clock differs, or back; that is always the last region server."""
        self.ask_regions(f"place keyway_clock {self.region_servers - 1 if offset_ms else 0}")

    def stop(self):
        super().stop()
        for link in self.links:
            link.stop()
        if self.regions:
            self.regions.kill()
            self.regions.wait()
        self.command("stop")


class ChangingCluster(changes.RuleChanges, Cluster):
    """Gateways whose key rules can be changed, over this HBase. Thrift2 gives up each call before store.late has passed."""

    THRIFT_SETTINGS = thrift_settings(1000, 1500)
    CHANGE_SECONDS = 600
    ROUND_SECONDS = 20
    CALL_MS = 8000

    def store(self):
        return super().store() + "  late: 2s\n"


def kill_region_server(place, chance, end):
    """Kills a region server with kill -9 and restarts it; returns when HBase serves all regions."""
    places.pause(chance, 0.05, 0.5)
    name = f"rs{chance.randrange(place.region_servers) + 1}"
    place.command("kill", name)
    places.pause(chance, 0.1, 2)
    place.command("again", name)
    wait_until(lambda: place.ask_regions("whole"), "HBase to serve all regions", 240)
    del end


def change_regions(commands):
    """Moves, splits or merges regions, one after the other."""
    def cause(place, chance, end):
        while not end.is_set():
            place.ask_regions(chance.choice(commands))
            places.pause(chance, 0.02, 0.2)
    return cause


def slow_answers(place, chance, end):
    """Replies are so slow that HBase's clock cannot be measured, from before a gateway starts until some time later."""
    number = chance.randrange(len(place.gateways))
    place.misbehave({"least_us": 150000, "delay_us": 250000})
    place.kill_gateway(number, signal.SIGTERM)
    place.start_gateway(number, ready=False)
    places.pause(chance, 0.3, 1)
    place.misbehave({})
    place.wait_gateway(number)
    del end


places.FAULTS.update({
    "kill_region_server": kill_region_server,
    "regions_move": change_regions(["move"]),
    "regions_split": change_regions(["split"]),
    "regions_merge": change_regions(["merge", "split"]),
    "regions_change": change_regions(["move", "split", "merge", "flush"]),
    "slow_answers": slow_answers,
})
