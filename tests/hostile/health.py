"""Connections to the admin port that never finish a request do not keep health checks out."""
import contextlib
import socket
import threading
import unittest

from keyway_gateway import POLICY, Gateway

CROWD = 150


class Health(unittest.TestCase):
    def trickle(self, gateway, over):
        """Keeps CROWD connections busy with requests of which a byte comes now and then."""
        def connect():
            made = socket.create_connection(gateway.admin_address, timeout=10)
            made.sendall(b"GET /metrics HTTP/1.1\r\nHo")
            return made

        caller_group = []
        while not over.is_set():
            with contextlib.suppress(OSError):
                if len(caller_group) < CROWD:
                    caller_group.append(connect())
                    continue
            for connection in list(caller_group):
                try:
                    connection.sendall(b"o")
                except OSError:
                    caller_group.remove(connection)
                    connection.close()
            over.wait(0.2)
        for connection in caller_group:
            connection.close()

    def test_trickling_requests(self):
        with Gateway(POLICY) as gateway:
            over = threading.Event()
            caller_group = threading.Thread(target=self.trickle, args=(gateway, over))
            caller_group.start()
            try:
                for _ in range(20):
                    self.assertEqual(gateway.get("/livez")[0], 200)
                    over.wait(0.1)
            finally:
                over.set()
                caller_group.join()
            self.assertEqual(gateway.get("/livez")[0], 200)

    def test_replies_that_are_not_read(self):
        with Gateway(POLICY) as gateway:
            caller_group = []
            for _ in range(8):
                made = socket.socket()
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                made.connect(gateway.admin_address)
                made.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
                caller_group.append(made)
            self.assertEqual(gateway.get("/livez")[0], 200)
            for connection in caller_group:
                connection.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
