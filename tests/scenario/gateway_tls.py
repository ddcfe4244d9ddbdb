"""TLS on listeners: clients verify the certificate by name; a listener that requires client certificates rejects clients
without a valid one; a reload reads certificates again; a handshake that does not finish is closed."""
import os
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest

from keyway_gateway import (POLICY, REPLY, Gateway, binary_message, framed, is_closed, receive_exactly, receive_frame,
                            reply_head, wait_until)

FOLDER = None


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=FOLDER)


def authority(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")


def leaf(name, by, names="DNS:localhost,IP:127.0.0.1", file=None):
    file = file or name
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/O=Keyway/CN={name}",
            "-addext", f"subjectAltName={names}", "-keyout", f"{file}.key", "-out", f"{file}.csr")
    openssl("x509", "-req", "-in", f"{file}.csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-days",
            "2", "-copy_extensions", "copy", "-out", f"{file}.pem")


def path(name):
    return os.path.join(FOLDER, name)


def setUpModule():
    global FOLDER
    FOLDER = tempfile.mkdtemp(prefix="keyway-certificates-")
    for name in ("ca", "stranger"):
        authority(name)
    leaf("server", "ca")
    leaf("alice", "ca")
    leaf("mallory", "stranger")


def tearDownModule():
    shutil.rmtree(FOLDER)


def listening(more=""):
    return POLICY.replace("listen: 127.0.0.1:0", f"""listen:
  - address: 127.0.0.1:0
    tls: {{{{certificate: {path("server.pem")}, key: {path("server.key")}{more}}}}}
  - 127.0.0.1:0""")


def trusting(ca="ca", certificate=None):
    context = ssl.create_default_context(cafile=path(f"{ca}.pem"))
    if certificate:
        context.load_cert_chain(path(f"{certificate}.pem"), path(f"{certificate}.key"))
    return context


def ask(connection, name="tables"):
    connection.sendall(framed(binary_message(name)))
    payload = receive_frame(connection)
    return None if payload is None else reply_head(payload)


class Tls(unittest.TestCase):
    def test_calls(self):
        with Gateway(listening()) as gateway:
            for name in ("localhost", "127.0.0.1"):
                with gateway.connect_tls(trusting(), name=name) as connection:
                    self.assertIn(connection.version(), ("TLSv1.2", "TLSv1.3"))
                    for _ in range(100):
                        self.assertEqual(ask(connection)[:2], (REPLY, "tables"))
                    big = framed(binary_message("check", b"\x0b\0\1" + (1 << 20).to_bytes(4, "big") + b"#" * (1 << 20) + b"\0"))
                    connection.sendall(big)
                    self.assertEqual(reply_head(receive_frame(connection))[:2], (REPLY, "check"))
            with gateway.connect(1) as connection:
                self.assertEqual(ask(connection)[:2], (REPLY, "tables"))

    def test_half_closed(self):
        """A caller that has sent its close alert still gets the replies to its calls."""
        with Gateway(listening()) as gateway:
            connection = gateway.connect_tls(trusting())
            connection.sendall(framed(binary_message("tables", sequence=5)))
            self.assertEqual(reply_head(receive_frame(connection))[2], 5)
            connection.unwrap().close()
            wait_until(lambda: gateway.metric("keyway_connections_open") == 0, "the connection to end")
            self.assertEqual(gateway.metric("keyway_connections_broken_total"), 0)

    def test_clients_that_do_not_trust(self):
        with Gateway(listening()) as gateway:
            with self.assertRaises(ssl.SSLCertVerificationError):
                gateway.connect_tls(trusting("stranger"))
            with self.assertRaises(ssl.SSLCertVerificationError) as caught:
                gateway.connect_tls(trusting(), name="gateway.example.org")
            self.assertIn("gateway.example.org", str(caught.exception))
            with gateway.connect_tls(trusting()) as connection:
                self.assertEqual(ask(connection)[:2], (REPLY, "tables"))

    def test_old_versions_are_refused(self):
        with Gateway(listening()) as gateway:
            old = trusting()
            old.set_ciphers("DEFAULT:@SECLEVEL=0")
            old.minimum_version = ssl.TLSVersion.TLSv1
            old.maximum_version = ssl.TLSVersion.TLSv1_1
            with self.assertRaises((ssl.SSLError, OSError)):
                gateway.connect_tls(old)

    def test_client_certificates(self):
        with Gateway(listening(f", ca: {path('ca.pem')}, require_client: true")) as gateway:
            with gateway.connect_tls(trusting(certificate="alice")) as connection:
                self.assertEqual(ask(connection)[:2], (REPLY, "tables"))
            for context in (trusting(), trusting(certificate="mallory")):
                broken = gateway.metric("keyway_connections_broken_total")
                with self.assertRaises((ssl.SSLError, OSError, AssertionError)):
                    with gateway.connect_tls(context) as connection:  # with TLS 1.3 the first read reports it
                        self.assertIsNotNone(ask(connection))
                wait_until(lambda: gateway.metric("keyway_connections_broken_total") == broken + 1, "the refusal")
            gateway.wait_for_log("certificate of the caller refused")
            with gateway.connect_tls(trusting(certificate="alice")) as connection:
                self.assertEqual(ask(connection)[:2], (REPLY, "tables"))

    def test_cursors_belong_to_their_caller(self):
        """The identity is that of the certificate: another caller cannot continue alice's scan."""
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.transport import TTransport
        from keyway_gateway import record
        from keyway_thrift import Data
        from keyway_thrift.ttypes import Code, KeywayError, Query

        class Wire(TTransport.TTransportBase):
            def __init__(self, connection):
                self.connection = connection

            def read(self, size):
                return self.connection.recv(size)

            def write(self, bytes_):
                self.connection.sendall(bytes_)

            def flush(self):
                pass

        def client(certificate):
            connection = gateway.connect_tls(trusting(certificate=certificate))
            return Data.Client(TBinaryProtocol(TTransport.TFramedTransport(Wire(connection))))

        leaf("bob", "ca")
        with Gateway(listening(f", ca: {path('ca.pem')}, require_client: true")) as gateway:
            alice, bob = client("alice"), client("bob")
            for i in range(5):
                alice.put("events", record(id="a", ts=i), None)
            page = alice.scan(Query(table="events", bound=record(id="a"), page_rows=2))
            with self.assertRaises(KeywayError) as caught:
                bob.nextPage(page.cursor, None)
            self.assertIn(caught.exception.code, (Code.INVALID, Code.DENIED))
            self.assertEqual(len(alice.nextPage(page.cursor, None).rows), 2)

    def test_other_bytes(self):
        with Gateway(listening() + "timeouts: {{frame: 3s}}\n") as gateway:
            with gateway.connect() as plain:
                plain.sendall(framed(binary_message("tables")))
                self.assertLess(len(receive_exactly(plain, 1000)), 1000)  # an alert at most
            with gateway.connect() as silent:
                self.assertTrue(is_closed(silent))
            with gateway.connect() as half:
                half.sendall(b"\x16\x03\x01\x02\x00\x01")
                self.assertTrue(is_closed(half))
            wait_until(lambda: gateway.metric("keyway_connections_broken_total") == 3, "three to be counted")
            self.assertEqual(wait_until(lambda: self.answer_of(gateway), "a handshake in time")[:2], (REPLY, "tables"))

    @staticmethod
    def answer_of(gateway):
        """None if the machine stalled for longer than a handshake may take."""
        try:
            with gateway.connect_tls(trusting()) as connection:
                return ask(connection)
        except OSError:
            return None

    def test_certificates_are_read_again(self):
        with Gateway(listening()) as gateway:
            old = gateway.connect_tls(trusting())
            leaf("renewed", "ca", "DNS:renewed.test", file="server")
            try:
                gateway.reload()
                gateway.wait_for_log("policy reloaded")
                with gateway.connect_tls(trusting(), name="renewed.test") as connection:
                    self.assertEqual(ask(connection)[:2], (REPLY, "tables"))
                self.assertEqual(ask(old)[:2], (REPLY, "tables"))
                with open(path("server.pem"), "w", encoding="ascii") as file:
                    file.write("broken\n")
                gateway.reload()
                gateway.wait_for_log("policy refused")
                self.assertIn("server.pem", gateway.log())
                with gateway.connect_tls(trusting(), name="renewed.test") as connection:
                    self.assertEqual(ask(connection)[:2], (REPLY, "tables"))
            finally:
                leaf("server", "ca")
            old.close()

    def test_a_refused_policy_swaps_no_certificates(self):
        with Gateway(listening()) as gateway:
            with gateway.connect_tls(trusting()) as connection:
                put = b"\x0b\0\x01\0\0\0\x06events\x0d\0\x02\x0b\x0c\0\0\0\x02"
                for name, value in ((b"id", b"\x0b\0\x04\0\0\0\x01a"), (b"ts", b"\x0a\0\x02" + bytes(7) + b"\x01")):
                    put += len(name).to_bytes(4, "big") + name + value + b"\0"
                connection.sendall(framed(binary_message("put", put + b"\0")))
                self.assertEqual(reply_head(receive_frame(connection))[0], REPLY)
            leaf("renewed", "ca", "DNS:renewed.test", file="server")
            try:
                gateway.write_policy(listening().replace("take: 4", "take: 6"))
                gateway.reload()
                gateway.wait_for_log("policy refused")
                self.assertIn("its rows were written under layout 1", gateway.log())
                with gateway.connect_tls(trusting()) as connection:  # with the old certificate
                    self.assertEqual(ask(connection)[:2], (REPLY, "tables"))
            finally:
                leaf("server", "ca")

    def test_unusable_files_refuse_the_start(self):
        gateway = Gateway(listening().replace("server.key", "alice.key"), expect_start=False)
        gateway.start()
        self.assertEqual(gateway.wait_for_exit(), 4)
        self.assertIn("alice.key", gateway.log())
        gateway.__exit__(None, None, None)

    def test_many_callers(self):
        with Gateway(listening()) as gateway:
            failures = []

            def work():
                try:
                    for _ in range(10):
                        with gateway.connect_tls(trusting()) as connection:
                            for _ in range(10):
                                assert ask(connection)[1] == "tables"
                except Exception as failed:  # pylint: disable=broad-except
                    failures.append(failed)

            workers = [threading.Thread(target=work) for _ in range(8)]
            for worker in workers:
                worker.start()
            for i in range(5):
                gateway.reload()
                wait_until(lambda n=i: gateway.metric("keyway_policy_reloads_total") > n, "a reload")
            for worker in workers:
                worker.join()
            self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
