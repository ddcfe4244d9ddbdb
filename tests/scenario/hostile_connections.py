"""Many connections: 2,000 idle connections need little memory and do not delay other callers; connections beyond the limit
are rejected; a connection that is idle for too long is closed."""
import resource
import time
import unittest

from keyway_gateway import (POLICY, Gateway, binary_message, framed, is_closed, is_sanitized, plain, receive_frame,
                            record, reply_head, wait_until)

CONNECTIONS = 2000
BYTES_EACH = 40 * 1024


def raise_file_limit():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Connections(unittest.TestCase):
    def test_idle_connections(self):
        raise_file_limit()
        call = framed(binary_message("tables"))
        with Gateway(POLICY) as gateway:
            worker = gateway.data()
            for i in range(200):
                worker.put("events", record(id=f"warm-{i}", ts=i, note="x" * 100), None)
            before = gateway.resident_bytes()
            connections = [gateway.connect() for _ in range(CONNECTIONS)]
            for connection in connections:  # each makes one call, then is idle
                connection.sendall(call)
            for connection in connections:
                self.assertEqual(reply_head(receive_frame(connection))[1], "tables")
            wait_until(lambda: gateway.metric("keyway_connections_open") == CONNECTIONS + 1, "all connections to be open")
            each = (gateway.resident_bytes() - before) / CONNECTIONS
            print(f"idle connections: {CONNECTIONS}, {each / 1024:.1f} KiB each")
            if not is_sanitized():
                self.assertLess(each, BYTES_EACH)
            slowest = 0
            for i in range(300):
                began = time.monotonic()
                worker.put("events", record(id=f"busy-{i}", ts=i), None)
                self.assertEqual(plain(worker.get("events", record(id=f"busy-{i}", ts=i), None, None).record)["ts"], i)
                slowest = max(slowest, time.monotonic() - began)
            print(f"put and get at the same time: at most {slowest * 1000:.1f} ms")
            self.assertLess(slowest, 60)
            for connection in connections:
                connection.close()
            wait_until(lambda: gateway.metric("keyway_connections_open") == 1, "the connections to close")
            worker.close()

    def test_connections_beyond_the_limit(self):
        with Gateway(POLICY + "limits: {{connections: 20, peer_connections: 20}}\n") as gateway:
            inside = [gateway.data() for _ in range(20)]
            for client in inside:
                client.tables()
            for _ in range(10):
                self.assertTrue(is_closed(gateway.connect()))
            self.assertEqual(gateway.metric("keyway_connections_refused_total"), 10)
            inside.pop().close()
            wait_until(lambda: gateway.metric("keyway_connections_open") == 19, "one connection to close")
            inside.append(gateway.data())
            for client in inside:
                self.assertEqual(client.tables(), ["events"])
                client.close()

    def test_idle_connections_are_closed(self):
        with Gateway(POLICY + "timeouts: {{idle: 500ms}}\n") as gateway:
            began = time.monotonic()
            self.assertTrue(is_closed(gateway.connect()))
            self.assertGreater(time.monotonic() - began, 0.4)
            self.assertEqual(gateway.metric("keyway_connections_broken_total"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
