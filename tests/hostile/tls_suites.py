"""TLS 1.2 uses only suites with authenticated encryption and forward secrecy: on listeners, on connections to the store, and
in the command."""
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, binary_message, framed, receive_frame, reply_head, wait_until

FOLDER = None
# Suites that OpenSSL can still use at security level 0: CBC and CCM, static RSA, anonymous.
OLD = "ALL:COMPLEMENTOFALL:!ECDHE+AESGCM:!ECDHE+CHACHA20:@SECLEVEL=0"
CBC = "ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA:AES128-SHA:@SECLEVEL=0"
GOOD = ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305")


def setUpModule():
    global FOLDER
    FOLDER = tempfile.mkdtemp(prefix="keyway-suites-")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "certificate.pem"],
                   check=True, capture_output=True, cwd=FOLDER)


def tearDownModule():
    shutil.rmtree(FOLDER, ignore_errors=True)


def path(name):
    return os.path.join(FOLDER, name)


def old_names():
    """Names of all suites of TLS 1.2 that are not allowed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers(OLD)
    return [found["name"] for found in context.get_ciphers() if found["protocol"] != "TLSv1.3"]


class Listener(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tls = "{{certificate: '%s', key: '%s'}}" % (path("certificate.pem"), path("key.pem"))
        cls.gateway = Gateway(POLICY.replace("listen: 127.0.0.1:0", "listen: {{address: '127.0.0.1:0', tls: %s}}" % tls)).start()

    @classmethod
    def tearDownClass(cls):
        try:
            cls.gateway.stop()
        finally:
            cls.gateway.__exit__(None, None, None)

    def context(self, suites):
        made = ssl.create_default_context(cafile=path("certificate.pem"))
        made.maximum_version = ssl.TLSVersion.TLSv1_2
        made.set_ciphers(suites)
        return made

    def test_old_suites_are_refused(self):
        names = old_names()
        self.assertGreater(len(names), 20)
        self.assertIn("ECDHE-RSA-AES128-SHA", names)
        for name in names:
            with self.subTest(suite=name), self.assertRaises((ssl.SSLError, ConnectionResetError)):
                self.gateway.connect_tls(self.context(name + ":@SECLEVEL=0")).close()

    def test_good_suites(self):
        for name in GOOD:
            with self.subTest(suite=name), self.gateway.connect_tls(self.context(name)) as connection:
                self.assertEqual((connection.version(), connection.cipher()[0]), ("TLSv1.2", name))
                connection.sendall(framed(binary_message("tables")))
                self.assertEqual(reply_head(receive_frame(connection))[1], "tables")


class OldServer:
    """Supports only TLS 1.2 with CBC, and records how handshakes end."""

    def __init__(self):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.maximum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_ciphers(CBC)
        self.context.load_cert_chain(path("certificate.pem"), path("key.pem"))
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.ends = []
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                plain, _ = self.socket.accept()
            except OSError:
                return
            plain.settimeout(PATIENCE)
            try:
                with self.context.wrap_socket(plain, server_side=True) as made:
                    self.ends.append(made.cipher()[0])
            except (ssl.SSLError, OSError) as error:
                self.ends.append(getattr(error, "reason", None) or str(error))

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


class Clients(unittest.TestCase):
    def setUp(self):
        self.server = OldServer()
        self.address = "127.0.0.1:%d" % self.server.socket.getsockname()[1]

    def tearDown(self):
        self.server.close()

    def check_ends(self):
        wait_until(lambda: self.server.ends, "a handshake")
        self.assertEqual(set(self.server.ends), {"NO_SHARED_CIPHER"})

    def test_the_command_line_tool(self):
        done = subprocess.run([os.environ["KEYWAY"], "tables", "--gateway", self.address, "--tls-ca", path("certificate.pem")],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.check_ends()

    def test_channels(self):
        store = "kind: hbase\n  servers: ['%s']\n  tls: {{ca: '%s'}}" % (self.address, path("certificate.pem"))
        with Gateway(POLICY.replace("kind: embedded\n  path: {folder}/data", store)) as gateway:
            self.assertFalse(gateway.ready()["ready"])
            self.check_ends()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
