"""SIGTERM: the gateway accepts no new connection, answers calls in flight, and exits in time. Acknowledged writes
persist."""
import signal
import socket
import threading
import time
import unittest

from keyway_gateway import (CALL, POLICY, REPLY, Gateway, binary_message, framed, is_closed, plain, receive_frame,
                            record, reply_head, wait_until)
from thrift.transport.TTransport import TTransportException
from keyway_thrift.ttypes import Code, KeywayError, Query


class Drain(unittest.TestCase):
    def test_an_idle_gateway_exits_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Gateway(POLICY + "timeouts: {{drain: 10min}}\n") as gateway:
                idle = [gateway.connect() for _ in range(5)]
                half = gateway.connect()
                half.sendall(b"\0\0\0\x20\x80\1")
                gateway.stop(number)  # waits for a fraction of the drain time
                for connection in idle + [half]:
                    self.assertTrue(is_closed(connection))
                    connection.close()

    def test_repeated_signals(self):
        """Signals that arrive until the process has ended do not change its exit code."""
        for _ in range(5):
            with Gateway(POLICY) as gateway:
                while gateway.process.poll() is None:
                    gateway.process.send_signal(signal.SIGTERM)
                gateway.stop()

    def test_acknowledged_writes_persist(self):
        with Gateway(POLICY) as gateway:
            acknowledged, lock = set(), threading.Lock()
            odd = []

            def work(worker):
                try:
                    data = gateway.data()
                    for i in range(100000):
                        data.put("events", record(id=f"w{worker}", ts=i), None)
                        with lock:
                            acknowledged.add((worker, i))
                except (TTransportException, OSError):
                    pass
                except KeywayError as refused:
                    if refused.code != Code.UNAVAILABLE:
                        odd.append(refused)

            workers = [threading.Thread(target=work, args=(i,)) for i in range(8)]
            for worker in workers:
                worker.start()
            wait_until(lambda: len(acknowledged) > 200, "some writes")
            gateway.stop()
            for worker in workers:
                worker.join()
            self.assertEqual(odd, [])
            gateway.start()
            data = gateway.data()
            found = set()
            for worker in range(8):
                page = data.scan(Query(table="events", bound=record(id=f"w{worker}")))
                while True:
                    found.update((worker, plain(row)["ts"]) for row in page.rows)
                    if not page.cursor:
                        break
                    page = data.nextPage(page.cursor, None)
            data.close()
            print(f"acknowledged {len(acknowledged)}, found {len(found)}")
            self.assertEqual(acknowledged - found, set())
            self.assertLessEqual(len(found - acknowledged), 8)

    def test_calls_in_flight_are_answered(self):
        """Pipelined calls that were read get their replies, in order, before the connection is closed."""
        with Gateway(POLICY) as gateway:
            connection = gateway.connect()
            count = 100
            connection.sendall(b"".join(framed(binary_message("stats", sequence=i)) for i in range(count)))
            first = reply_head(receive_frame(connection))
            self.assertEqual((first[0], first[2]), (REPLY, 0))
            gateway.process.send_signal(signal.SIGTERM)
            answers = 1
            while True:
                payload = receive_frame(connection)
                if payload is None:
                    break
                kind, _, sequence, _ = reply_head(payload)
                self.assertEqual((kind, sequence), (REPLY, answers))
                answers += 1
            self.assertEqual(gateway.wait_for_exit(), 0)
            gateway.check_log()
            connection.close()

    def test_no_new_connections(self):
        """While the gateway waits for a caller that reads its reply slowly, it accepts no other; then the time expires."""
        with Gateway(POLICY + "timeouts: {{drain: 2s}}\n") as gateway:
            data = gateway.data()
            for i in range(40):
                data.put("events", record(id="big", ts=i, note="x" * 200000), None)
            data.close()
            slow = gateway.connect()
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            scan = bytes.fromhex("0c0001" "0b0001") + b"\0\0\0\6events" + b"\x02\0\x0c\1" + b"\0\0"
            slow.sendall(framed(binary_message("scan", scan, kind=CALL)))
            slow.recv(100)
            began = time.monotonic()
            gateway.process.send_signal(signal.SIGTERM)
            wait_until(lambda: self.is_refused(gateway), "the listener to close")
            self.assertEqual(gateway.wait_for_exit(), 0)
            self.assertGreater(time.monotonic() - began, 1.8)
            self.assertIn("drain timeout passed", gateway.log())
            slow.close()

    def test_a_second_signal_hurries(self):
        with Gateway(POLICY + "timeouts: {{drain: 10min}}\n") as gateway:
            data = gateway.data()
            for i in range(40):
                data.put("events", record(id="big", ts=i, note="x" * 200000), None)
            data.close()
            slow = gateway.connect()
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            scan = bytes.fromhex("0c0001" "0b0001") + b"\0\0\0\6events" + b"\x02\0\x0c\1" + b"\0\0"
            slow.sendall(framed(binary_message("scan", scan, kind=CALL)))
            slow.recv(100)
            gateway.process.send_signal(signal.SIGTERM)
            wait_until(lambda: self.is_refused(gateway), "the listener to close")
            self.assertFalse(gateway.ready()["ready"])
            self.assertIn("draining", gateway.ready()["reasons"])
            self.assertIsNone(gateway.process.poll())
            gateway.stop()
            slow.close()

    def put_on_a_new_connection(self, gateway, ts):
        data = gateway.data()
        data.put("events", record(id="late", ts=ts), None)
        data.close()

    def test_a_lame_duck_serves(self):
        """Until the lame duck ends, everything works, but the gateway is not ready. The next signal ends it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with Gateway(POLICY + "timeouts: {{lame_duck: 10min, drain: 10min}}\n") as gateway:
                old = gateway.data()
                gateway.process.send_signal(number)
                wait_until(lambda running=gateway: running.get("/readyz")[0] == 503, "/readyz to return 503")
                self.assertEqual(gateway.ready()["reasons"], ["shutting down, but still serving"])
                self.assertEqual(gateway.metric("keyway_ready"), 0)
                self.assertEqual(gateway.get("/livez")[0], 200)
                self.put_on_a_new_connection(gateway, 2)
                old.put("events", record(id="early", ts=3), None)
                gateway.reload()
                gateway.wait_for_log("policy reloaded")
                self.assertIsNone(gateway.process.poll())
                gateway.stop(number)  # waits for a fraction of the lame duck
                old.close()

    def test_a_lame_duck_ends(self):
        with Gateway(POLICY + "timeouts: {{lame_duck: 3s}}\n") as gateway:
            began = time.monotonic()
            gateway.process.send_signal(signal.SIGTERM)
            wait_until(lambda: gateway.get("/readyz")[0] == 503, "/readyz to return 503")
            self.put_on_a_new_connection(gateway, 1)
            self.assertEqual(gateway.wait_for_exit(), 0)
            self.assertGreater(time.monotonic() - began, 2.9)

    @staticmethod
    def is_refused(gateway):
        try:
            gateway.connect().close()
        except ConnectionError as failed:
            return isinstance(failed, ConnectionRefusedError)
        return False


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
