"""A proxy of a Thrift2 server that loses, drops and delays replies, and delays requests. Framed messages only."""
import asyncio
import contextlib
import random
import threading

from keyway_gateway import free_ports


TOO_LATE = 0.2  # seconds


class Link:
    """Listens on its own port and forwards frames to another one.

    faults: lose, drop, late and held are probabilities per message. lose: the reply and all later ones on its connection are
    discarded. drop: the connection is closed instead of the reply. late: the connection is closed, and the request is
    forwarded late_ms afterwards. held: the reply is delayed by up to held_ms. Each reply is delayed by least_us to delay_us.
    """

    def __init__(self, server_port, seed):
        self.port = free_ports(1)[0]
        self.server_port = server_port
        self.random = random.Random(seed)
        self.faults = {}
        self.tasks = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(asyncio.start_server(self.serve, "127.0.0.1", self.port), self.loop).result(60)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def happens(self, fault):
        return self.random.random() < self.faults.get(fault, 0)

    async def serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        server_writer = None
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.server_port)
            requests = asyncio.create_task(self.pass_requests(reader, writer, server_writer))
            answers = asyncio.create_task(self.pass_answers(server_reader, writer))
            await asyncio.wait([requests, answers], return_when=asyncio.FIRST_COMPLETED)
            answers.cancel()
            await asyncio.wait([requests, answers])
            for ended in (requests, answers):
                if not ended.cancelled():
                    ended.exception()
        except OSError:
            pass  # the server is down: the caller's connection is closed
        finally:
            writer.close()
            if server_writer:
                server_writer.close()
            self.tasks.discard(asyncio.current_task())

    async def pass_requests(self, reader, writer, server_writer):
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await read_frame(reader)
                if self.happens("late"):
                    writer.close()
                    began, late = self.loop.time(), self.faults.get("late_ms", 300) / 1000
                    await asyncio.sleep(late)
                    if self.loop.time() - began < late + TOO_LATE:  # on a busy machine, it would be later than promised
                        server_writer.write(frame)
                        await server_writer.drain()
                    await asyncio.sleep(0.1)
                    return
                server_writer.write(frame)
                await server_writer.drain()

    async def pass_answers(self, server_reader, writer):
        lost = False
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await read_frame(server_reader)
                most, least = self.faults.get("delay_us", 0), self.faults.get("least_us", 0)
                if most or least:
                    await asyncio.sleep(self.random.uniform(least, max(most, least)) / 1e6)
                if self.happens("held"):
                    await asyncio.sleep(self.random.uniform(0, self.faults["held_ms"]) / 1e3)
                if self.happens("drop"):
                    return
                lost = lost or self.happens("lose")
                if not lost:
                    writer.write(frame)
                    await writer.drain()


async def read_frame(reader):
    head = await reader.readexactly(4)
    return head + await reader.readexactly(int.from_bytes(head, "big"))
