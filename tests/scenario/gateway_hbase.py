"""An HBase that becomes reachable late, becomes unreachable and returns; and one with a TLS proxy. A proxy between keywayd
and the real Thrift2 server can be opened and shut. KW_HBASE_ENV names the file with HBase's addresses."""
import os
import select
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from keyway_gateway import POLICY, Gateway, free_ports, plain, record, wait_until
from keyway_hbase import hbase_servers
from keyway_thrift.ttypes import Code, KeywayError, Options, Query


def thrift2():
    host, _, port = hbase_servers()["KW_HBASE_BUFFERED"].rpartition(":")
    return host, int(port)


class Proxy:
    """Forwards connections to the Thrift2 server while it is open; shutting it closes all of them."""

    def __init__(self, context=None):
        self.port = free_ports(1)[0]
        self.context = context
        self.listening = None
        self.pairs = []
        self.lock = threading.Lock()

    def open(self):
        self.listening = socket.create_server(("127.0.0.1", self.port), reuse_port=False)
        threading.Thread(target=self.accept, args=(self.listening,), daemon=True).start()

    def shut(self):
        with self.lock:
            listening, self.listening = self.listening, None
        if listening:
            listening.shutdown(socket.SHUT_RDWR)
            listening.close()
        with self.lock:
            for side in self.pairs:
                try:
                    side.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.pairs = []

    def accept(self, listening):
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self.forward, args=(caller, listening), daemon=True).start()

    def forward(self, caller, listening):
        try:
            if self.context:
                caller = self.context.wrap_socket(caller, server_side=True)
            server = socket.create_connection(thrift2())
        except (OSError, ssl.SSLError):
            caller.close()
            return
        with self.lock:
            is_open = self.listening is listening  # false if the proxy was shut after it accepted the caller
            if is_open:
                self.pairs += [caller, server]
        try:
            while is_open:
                sides = [caller] if self.context and caller.pending() else select.select([caller, server], [], [])[0]
                for side in sides:
                    part = side.recv(65536)
                    if not part:
                        return
                    (server if side is caller else caller).sendall(part)
        except (OSError, ValueError):
            pass
        finally:
            caller.close()
            server.close()


def policy(proxy, more=""):
    name = f"late_{os.getpid()}_{time.time_ns()}"
    store = f"""  kind: hbase
  servers: [localhost:{proxy.port}]
  create_missing: true
  catalog: {name}_catalog
{more}"""
    return POLICY.replace("  kind: embedded\n  path: {folder}/data\n", store).replace("tables:\n  events:\n",
                                                                                 f"tables:\n  events:\n    store_table: {name}\n")


class Hbase(unittest.TestCase):
    def expect_unavailable(self, call):
        with self.assertRaises(KeywayError) as caught:
            call()
        self.assertIn(caught.exception.code, (Code.UNAVAILABLE, Code.TIMEOUT), caught.exception)

    def test_reachable_late_then_lost_then_back(self):
        proxy = Proxy()
        with Gateway(policy(proxy)) as gateway:
            data = gateway.data()
            one = record(id="a", ts=1, note="x")
            self.assertFalse(gateway.ready()["ready"])
            self.expect_unavailable(lambda: data.put("events", one, None))

            proxy.open()
            wait_until(lambda: gateway.ready()["ready"], "the gateway to find its store")
            data.put("events", one, None)
            self.assertEqual(plain(data.get("events", record(id="a", ts=1), None, None).record)["note"], "x")

            proxy.shut()
            self.expect_unavailable(lambda: data.get("events", record(id="a", ts=1), None, Options(deadline_ms=3000)))
            wait_until(lambda: not gateway.ready()["ready"], "the gateway to report the lost store")
            self.assertEqual(gateway.get("/livez")[0], 200)
            self.assertEqual(data.tables(), ["events"])

            proxy.open()
            wait_until(lambda: gateway.ready()["ready"], "the gateway to find it again")
            page = data.scan(Query(table="events", bound=record(id="a")))
            self.assertEqual([plain(row)["note"] for row in page.rows], ["x"])
            data.close()
        proxy.shut()

    def test_a_changed_rule_that_is_detected_late(self):
        """The gateway compares the policy with the catalog as soon as the store answers, and then exits."""
        proxy = Proxy()
        text = "strict_start: true\n" + policy(proxy)
        proxy.open()
        with Gateway(text) as gateway:
            wait_until(lambda: gateway.ready()["ready"], "the gateway to be ready")
            data = gateway.data()
            data.put("events", record(id="a", ts=1), None)
            data.close()
            gateway.stop()
            proxy.shut()
            gateway.write_policy(text.replace("take: 4", "take: 6"))
            gateway.expect_start = False
            gateway.start()
            gateway.wait_for_log("cannot serve yet")
            proxy.open()
            self.assertEqual(gateway.wait_for_exit(), 3)
            self.assertIn("REFUSED", gateway.log())
        proxy.shut()

    def test_tls_to_the_servers(self):
        folder = tempfile.mkdtemp(prefix="keyway-certificates-")
        subject = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        for name, names in (("good", "DNS:localhost"), ("other", "DNS:elsewhere.test")):
            subprocess.run(["openssl", "req", "-x509", *subject, "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}",
                            "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem"], check=True, capture_output=True)

        def proxy_with(name):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
            made = Proxy(context)
            made.open()
            return made

        good = proxy_with("good")
        with Gateway(policy(good, f"  tls: {{{{ca: {folder}/good.pem}}}}\n")) as gateway:
            wait_until(lambda: gateway.ready()["ready"], "the gateway to be ready")
            data = gateway.data()
            data.put("events", record(id="a", ts=1), None)
            self.assertIsNotNone(data.get("events", record(id="a", ts=1), None, None).record)
            data.close()
        good.shut()

        other = proxy_with("other")
        for trust in ("good", "other"):  # an authority that did not sign the certificate, then a wrong name
            with Gateway(policy(other, f"  tls: {{{{ca: {folder}/{trust}.pem}}}}\n")) as gateway:
                self.assertFalse(gateway.ready()["ready"])
                data = gateway.data()
                self.expect_unavailable(lambda client=data: client.put("events", record(id="a", ts=1), None))
                data.close()
                gateway.wait_for_log("certificate of localhost refused")
        other.shut()
        shutil.rmtree(folder)


if __name__ == "__main__":
    thrift2()
    unittest.main(verbosity=2, warnings="ignore")
