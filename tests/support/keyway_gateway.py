"""Starts and stops a keywayd for tests, and talks to it.

    with Gateway(policy_text) as gateway:
        data = gateway.data()                 # a generated Data client (framed binary)
        data.put("orders", record, None)
        raw = gateway.connect()               # a plain socket

The daemon uses free ports and its own temporary folder. The environment variable KEYWAYD names the program (ctest
sets it). A failing test prints the log: gateway.log(). stop() checks that the daemon exited with code 0 and that no
sanitizer reported anything.
"""
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

import known_stalls

SANITIZER_WORDS = ("AddressSanitizer", "ThreadSanitizer", "LeakSanitizer", "runtime error:", "UndefinedBehavior",
                   "CRITICAL **", "assertion failed", "ERROR **")


def daemon():
    """The program under test."""
    found = os.environ.get("KEYWAYD")
    if not found:
        sys.exit("KEYWAYD names no program: run this by ctest, or set it to a keywayd")
    return found


def is_built_with(*sanitizers):
    with open(daemon(), "rb") as program:
        text = program.read()
    return any(b"__%s_init" % sanitizer.encode() in text for sanitizer in sanitizers)


def is_sanitized():
    """True if the build has sanitizers: such builds need more time and looser limits."""
    return is_built_with("asan", "tsan")


PATIENCE = 120  # Seconds that a failing test may take: a busy machine with a slow disk can stall for long.


def wait_until(condition, what="a condition", patience=PATIENCE):
    """Polls until the condition is true; raises an error after `patience` seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited {patience} s for {what}")


def free_ports(count):
    """Ports for programs that need fixed ones. They are below the range from which the system assigns ports, so that no
    other program gets them before the program listens, or while it is down."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        below = int(file.read().split()[0])
    found = set()
    chance = random.SystemRandom()
    while len(found) < count:
        port = chance.randrange(10240, below)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.add(port)
    return list(found)


POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 2
store:
  kind: embedded
  path: {folder}/data
tables:
  events:
    fields:
      id: {{type: string, max_bytes: 200}}
      ts: {{type: timestamp, unit: ms}}
      note: string
      count: {{type: int, counter: true}}
      weight: double
      blob: bytes
      done: bool
    key:
      - hash: {{algorithm: md5, of: [id], take: 4, as: hex}}
      - field: id
      - field: {{name: ts, order: desc}}
"""


class Gateway:
    """One keywayd. `policy` can contain {folder}; policy=None starts it without a file."""

    def __init__(self, policy=POLICY, folder=None, arguments=(), environment=None, expect_start=True):
        self.own_folder = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="keyway-test-")
        self.policy_file = None
        if policy is not None:
            self.policy_file = os.path.join(self.folder, "keyway.yaml")
            self.write_policy(policy)
        self.arguments = list(arguments)
        self.environment = environment or {}
        self.expect_start = expect_start
        self.process = None
        self.addresses = []
        self.admin_address = None

    # --- starting and stopping ----------------------------------------------------------------

    def write_policy(self, policy):
        """Replaces the file atomically: a reload in progress reads the old policy or the new one."""
        with open(self.policy_file + ".new", "w", encoding="utf-8") as file:
            file.write(policy.format(folder=self.folder))
        os.replace(file.name, self.policy_file)

    def start(self):
        port_file = os.path.join(self.folder, "ports")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(port_file)
        command = [daemon(), "--port-file", port_file] + self.arguments
        if self.policy_file:
            command += ["--config", self.policy_file]
        with open(self.log_file(), "ab") as log, open(os.path.join(self.folder, "out"), "ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=log, cwd=self.folder,
                                            env={**os.environ, **self.environment})
        if self.expect_start:
            self.wait_for_ports(port_file)
        return self

    def wait_for_ports(self, port_file):
        def has_ports():
            if self.process.poll() is not None:
                raise AssertionError(f"keywayd exited with {self.process.returncode}\n{self.log()}")
            return os.path.exists(port_file)
        try:
            wait_until(has_ports, "keywayd to listen")
        except AssertionError:
            self.kill()
            raise
        self.addresses = []
        with open(port_file, encoding="utf-8") as file:
            for line in file:
                kind, _, address = line.strip().partition("=")
                host, _, port = address.rpartition(":")
                if kind == "listener":
                    self.addresses.append((host, port) if host == "unix" else (host, int(port)))
                else:
                    self.admin_address = (host, int(port))

    def wait_for_exit(self, seconds=PATIENCE):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"keywayd did not exit within {seconds} s\n{self.log()}") from None

    def stop(self, number=signal.SIGTERM, code=0):
        """Stops it with a signal, and checks the exit code and the log."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        found = self.wait_for_exit()
        assert found == code, f"keywayd exited with {found}, not {code}\n{self.log()}"
        self.check_log()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def check_log(self):
        text = self.log()
        for word in SANITIZER_WORDS:
            assert word not in text, f"keywayd's log:\n{text}"
        if not is_built_with("tsan"):  # it slows some code down a hundredfold
            known_stalls.check(text, is_sanitized())

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    def __exit__(self, kind, error, trace):
        try:
            if kind is None and self.expect_start and self.process:
                self.stop()
        finally:
            self.kill()
            if kind is not None:
                print(f"--- keywayd's log\n{self.log()}---", file=sys.stderr)
            if self.own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    def restart(self):
        """Stops it and starts it again on the same folder, with other ports."""
        self.stop()
        return self.start()

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    @property
    def address(self):
        """host:port of the first listener."""
        return "%s:%d" % self.addresses[0]

    # --- log, pages and metrics ---------------------------------------------------------------

    def log_file(self):
        return os.path.join(self.folder, "log")

    def log(self):
        with contextlib.suppress(FileNotFoundError), open(self.log_file(), encoding="utf-8", errors="replace") as file:
            return file.read()
        return ""

    def wait_for_log(self, text):
        wait_until(lambda: text in self.log(), f"{text!r} in the log:\n{self.log()}")

    def get(self, path):
        """Status and text of an admin page."""
        connection = http.client.HTTPConnection(*self.admin_address, timeout=PATIENCE)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def ready(self):
        status, text = self.get("/readyz")
        found = json.loads(text)
        assert (status == 200) == found["ready"], text
        return found

    def metric(self, name):
        """The value of a metric without labels, or of one with labels if `name` includes them."""
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        return 0.0

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def cpu_seconds(self):
        """The processor time that the process has used."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            times = file.read().rpartition(")")[2].split()[11:13]
        return sum(int(ticks) for ticks in times) / os.sysconf("SC_CLK_TCK")

    def peak_resident_bytes(self):
        """The largest resident size since the start, or since reset_peak()."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("the kernel does not report VmHWM")

    def reset_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    # --- connections and clients --------------------------------------------------------------

    def connect(self, listener=0, timeout=PATIENCE):
        host, port = self.addresses[listener]
        if host == "unix":  # the port is a path
            made = socket.socket(socket.AF_UNIX)
            made.settimeout(timeout)
            made.connect(port)
            return made
        made = socket.create_connection((host, port), timeout=timeout)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def connect_tls(self, context, listener=0, name="localhost", timeout=PATIENCE):
        plain = self.connect(listener, timeout)
        try:
            return context.wrap_socket(plain, server_hostname=name)
        except (ssl.SSLError, OSError):
            plain.close()
            raise

    def client(self, service, framed=True, compact=False, listener=0, patience=PATIENCE):
        """A generated client (keyway_thrift.Data or .Admin) with its own connection."""
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.protocol.TCompactProtocol import TCompactProtocol
        from thrift.transport import TSocket, TTransport
        addresses = self.addresses
        if listener >= len(addresses):
            raise ConnectionRefusedError("the gateway is being restarted")
        host, port = addresses[listener]
        wire = TSocket.TSocket(unix_socket=port) if host == "unix" else TSocket.TSocket(host, port)
        wire.setTimeout(patience * 1000)
        transport = TTransport.TFramedTransport(wire) if framed else TTransport.TBufferedTransport(wire)
        protocol = TCompactProtocol(transport) if compact else TBinaryProtocol(transport)
        transport.open()
        made = service.Client(protocol)
        made.close = transport.close
        return made

    def data(self, **form):
        from keyway_thrift import Data
        return self.client(Data, **form)

    def admin(self, **form):
        from keyway_thrift import Admin
        return self.client(Admin, **form)


class Ready(Gateway):
    """A Gateway whose start waits until it serves: HBase needs time to create tables."""

    def start(self):
        super().start()
        wait_until(lambda: self.get("/readyz")[0] == 200, "keywayd to serve", 2 * PATIENCE)
        return self


# --- values, for the generated code ---------------------------------------------------------------

def value(python):
    """A Value of a Python value."""
    from keyway_thrift.ttypes import Value
    if isinstance(python, bool):
        return Value(flag=python)
    if isinstance(python, int):
        return Value(number=python)
    if isinstance(python, float):
        return Value(real=python)
    if isinstance(python, str):
        return Value(text=python)
    if isinstance(python, dict):
        return Value(entries=record(**python))
    return Value(bytes=python)


def record(**fields):
    return {name: value(python) for name, python in fields.items()}


def plain(found):
    """A record as a dict of Python values."""
    def one(held):
        for member in ("flag", "number", "real", "text", "bytes"):
            if getattr(held, member) is not None:
                return getattr(held, member)
        return plain(held.entries) if held.entries is not None else None
    return {name: one(held) for name, held in found.items()}


# --- raw messages ---------------------------------------------------------------------------------

CALL, REPLY, EXCEPTION, ONEWAY = 1, 2, 3, 4


def binary_message(name, body=b"\0", sequence=1, kind=CALL):
    """A strict binary message; body is the argument struct with its stop byte."""
    raw = name if isinstance(name, bytes) else name.encode()
    return struct.pack(">HBBI", 0x8001, 0, kind, len(raw)) + raw + struct.pack(">i", sequence) + body


def framed(payload):
    return struct.pack(">I", len(payload)) + payload


def call_message(arguments, sequence=1):
    """A framed binary call. arguments: of a generated class such as Data.scan_args."""
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol
    from thrift.transport.TTransport import TMemoryBuffer
    body = TMemoryBuffer()
    arguments.write(TBinaryProtocol(body))
    return framed(binary_message(type(arguments).__name__.removesuffix("_args"), body.getvalue(), sequence))


def reply_result(client_class, payload):
    """What a generated client, such as Data.Client, returns for a binary reply. Raises KeywayError if the reply has one."""
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol
    from thrift.transport.TTransport import TMemoryBuffer
    client = client_class(TBinaryProtocol(TMemoryBuffer(payload)))
    return getattr(client, "recv_" + reply_head(payload)[1])()


def receive_exactly(connection, size):
    """That many bytes, or fewer if the peer closed the connection."""
    parts = []
    while size > 0:
        try:
            part = connection.recv(min(size, 1 << 20))
        except ConnectionResetError:
            break
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def receive_frame(connection):
    """A reply's payload, or None if the connection was closed."""
    head = receive_exactly(connection, 4)
    if len(head) < 4:
        return None
    return receive_exactly(connection, struct.unpack(">I", head)[0])


def reply_head(payload):
    """Type, name, sequence id and body of a binary reply."""
    version, _, kind, size = struct.unpack(">HBBI", payload[:8])
    assert version == 0x8001, payload[:16]
    name = payload[8:8 + size].decode()
    sequence = struct.unpack(">i", payload[8 + size:12 + size])[0]
    return kind, name, sequence, payload[12 + size:]


def is_closed(connection, seconds=PATIENCE):
    """True if the peer closes the connection within that time without sending another byte."""
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
