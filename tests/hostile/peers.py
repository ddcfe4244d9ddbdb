"""A limit per peer: one address with very many connections does not block others; every refused connection gets a reply, is
counted and logged."""
import socket
import unittest

from keyway_gateway import (POLICY, REPLY, Gateway, binary_message, framed, is_closed, receive_frame, reply_head,
                            wait_until)
from keyway_thrift.ttypes import Code, KeywayError


class Peers(unittest.TestCase):
    def connect_from(self, gateway, address):
        made = socket.create_connection(gateway.addresses[0], timeout=120, source_address=(address, 0))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def ask(self, connection):
        connection.sendall(framed(binary_message("tables", sequence=7)))
        return reply_head(receive_frame(connection))

    def test_one_address_does_not_block_others(self):
        with Gateway(POLICY + "limits: {{connections: 40}}\n") as gateway:
            callers = [self.connect_from(gateway, "127.0.0.2") for _ in range(60)]
            wait_until(lambda: gateway.metric("keyway_connections_refused_total") == 28, "connections to be refused")
            self.assertEqual(gateway.metric("keyway_connections_open"), 32)
            self.assertEqual(gateway.metric("keyway_connections_refused_peer_total"), 28)
            self.assertIn("127.0.0.2 has 32 connections already (limits.peer_connections)", gateway.log())
            with self.connect_from(gateway, "127.0.0.3") as other:
                self.assertEqual(self.ask(other)[:3], (REPLY, "tables", 7))
            for connection in callers:
                connection.close()
            wait_until(lambda: gateway.metric("keyway_connections_open") == 0, "the connections to close")
            with self.connect_from(gateway, "127.0.0.2") as again:
                self.assertEqual(self.ask(again)[:3], (REPLY, "tables", 7))

    def test_a_refused_connection_gets_a_reply(self):
        with Gateway(POLICY + "limits: {{peer_connections: 2}}\n") as gateway:
            inside = [gateway.data() for _ in range(2)]
            for client in inside:
                self.assertEqual(client.tables(), ["events"])
            with self.assertRaises(KeywayError) as caught:
                gateway.data().tables()
            self.assertEqual(caught.exception.code, Code.BUSY)
            self.assertIn("limits.peer_connections", caught.exception.message)
            self.assertGreater(caught.exception.retry_after_ms, 0)
            self.assertTrue(is_closed(gateway.connect()))
            for client in inside:
                self.assertEqual(client.tables(), ["events"])
                client.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
