"""Thousands of connections that send a part of a message and then nothing. The memory of these parts is bounded, small calls
are served all the time, a caller that finishes its large messages is served too, and the memory of connections that were
closed is free at once."""
import multiprocessing
import resource
import socket
import struct
import time
import unittest

from keyway_gateway import POLICY, Gateway, is_sanitized, record, wait_until
from well_behaved import Peak, WellBehaved

MIB = 1024 * 1024
BUDGET = 256 * MIB
WRITE_BUFFERS = 64 * MIB  # of the embedded store; not part of limits.memory
LIMITED = POLICY + "limits: {{memory: 256MiB}}\n"
CALLERS = 600 if is_sanitized() else 3000
PART = 200 * 1024 if not is_sanitized() else 1000 * 1024
ANNOUNCED = 2 * MIB
BUSY_MOST = 0.01


def part_of_a_message():
    head = struct.pack(">I", ANNOUNCED) + struct.pack(">HBBI", 0x8001, 0, 1, 3) + b"put" + struct.pack(">i", 1)
    return head + bytes([11, 0, 1]) + struct.pack(">I", ANNOUNCED) + b"x" * (PART - len(head) - 7)


def attack(address, seconds, ready):
    """Sends the parts, and closes all connections at once after some seconds."""
    part, callers = part_of_a_message(), []
    for _ in range(CALLERS):
        connection = socket.create_connection(address)
        connection.setblocking(False)
        callers.append([connection, memoryview(part)])
    end = time.monotonic() + seconds
    ready.set()
    while time.monotonic() < end:
        for caller in callers:
            try:
                while len(caller[1]) > 0:
                    caller[1] = caller[1][caller[0].send(caller[1]):]
            except BlockingIOError:
                pass
            except OSError:  # closed by the gateway
                caller[1] = b""
        time.sleep(0.01)


class Attack:
    def __init__(self, gateway, seconds):
        context = multiprocessing.get_context("fork")
        ready = context.Event()
        self.process = context.Process(target=attack, args=(gateway.addresses[0], seconds, ready), daemon=True)
        self.process.start()
        ready.wait(60)

    def is_alive(self):
        return self.process.is_alive()


class Unfinished(unittest.TestCase):
    def setUp(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def check_memory(self, peak):
        if not is_sanitized():
            self.assertLess(peak, BUDGET * 1.15 + WRITE_BUFFERS)

    def test_small_calls_are_served(self):
        with Gateway(LIMITED) as gateway, WellBehaved(gateway) as caller:
            alone = caller.serve(3)
            peak, frames = Peak(gateway), []
            attackers = Attack(gateway, 8)
            while attackers.is_alive():
                frames.append(gateway.metric("keyway_memory_frames"))
                time.sleep(0.2)
            closed = time.monotonic()
            wait_until(lambda: gateway.metric("keyway_memory_frames") < 2 * MIB, "the memory of closed connections")
            took = time.monotonic() - closed
            during = caller.mark()
            print(f"alone {alone}; during {during}; frames at most {max(frames) / MIB:.0f} MiB; released after {took:.1f} s; "
                  f"resident at most {peak.bytes // MIB} MiB; "
                  f"closed {gateway.metric('keyway_memory_closed_unfinished_total'):.0f}", flush=True)
            self.check_memory(peak.stop())
            self.assertLess(max(frames), BUDGET * 3 / 4)
            self.assertLess(during.busy_share, BUSY_MOST)
            self.assertLess(took, 5)
            self.assertIn("does not send the rest", gateway.log())

    def test_large_messages_that_are_finished_are_served(self):
        """On a connection that has finished messages, and on a new one."""
        with Gateway(LIMITED) as gateway:
            records = [record(id=f"large{i}", ts=i, note="x" * 50000) for i in range(40)]
            proven = gateway.data()
            proven.putMany("events", records, None)
            attackers = Attack(gateway, 12)
            time.sleep(1)
            for name, data in (("proven", proven), ("new", gateway.data())):
                began = time.monotonic()
                answers = data.putMany("events", records, None)
                took = time.monotonic() - began
                print(f"{name}: 2 MB written after {took:.1f} s", flush=True)
                self.assertTrue(all(answer.failure is None for answer in answers))
                self.assertLess(took, 10)
                data.close()
            self.assertTrue(attackers.is_alive())


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
