"""Connections to the admin port that never complete a request do not block health checks."""
import contextlib
import socket
import threading
import unittest

from keyway_gateway import POLICY, Gateway

CONNECTIONS = 150


class Health(unittest.TestCase):
    def trickle(self, gateway, over):
        """Keeps connections busy with requests that arrive byte by byte and never end."""
        def connect():
            made = socket.create_connection(gateway.admin_address, timeout=10)
            made.sendall(b"GET /metrics HTTP/1.1\r\nHo")
            return made

        connections = []
        while not over.is_set():
            with contextlib.suppress(OSError):
                if len(connections) < CONNECTIONS:
                    connections.append(connect())
                    continue
            for connection in list(connections):
                try:
                    connection.sendall(b"o")
                except OSError:
                    connections.remove(connection)
                    connection.close()
            over.wait(0.2)
        for connection in connections:
            connection.close()

    def test_trickling_requests(self):
        with Gateway(POLICY) as gateway:
            over = threading.Event()
            trickling = threading.Thread(target=self.trickle, args=(gateway, over))
            trickling.start()
            try:
                for _ in range(20):
                    self.assertEqual(gateway.get("/livez")[0], 200)
                    over.wait(0.1)
            finally:
                over.set()
                trickling.join()
            self.assertEqual(gateway.get("/livez")[0], 200)

    def test_replies_that_are_not_read(self):
        with Gateway(POLICY) as gateway:
            connections = []
            for _ in range(8):
                made = socket.socket()
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                made.connect(gateway.admin_address)
                made.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
                connections.append(made)
            self.assertEqual(gateway.get("/livez")[0], 200)
            for connection in connections:
                connection.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
