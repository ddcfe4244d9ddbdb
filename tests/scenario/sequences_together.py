"""Several gateways share one sequence while some of them are killed and restarted. No number is generated twice, every
acknowledged write is found, and all gateways return LIMIT when a range is used up.

Argument: redis (three gateways, each with its own embedded store, and one redis-server, which is also killed once) or hbase
(two gateways with snowflakes; KW_HBASE_ENV names the file with HBase's addresses)."""
import logging
import random
import shutil
import signal
import sys
import threading
import time

import sequences
from keyway_gateway import PATIENCE, Ready, plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Outcome
from sequences import NOT_NOW

PLACE = sequences.PLACE
RUN = sequences.RUN
GATEWAYS = 3 if PLACE == "redis" else 2
ROUNDS = 6
LEAST = 200  # records
TICKETS = 2000
BLOCK = TICKETS // 100 + 1
LOOPS = 2

POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: %(loops)d
timeouts: {call: 60s}
store: %(store)s
%(counters)stables:
  %(run)s:
    fields:
      id: {type: int, generate: sequence}
      at: {type: timestamp, generate: now}
      second: {type: int, generate: {kind: sequence, from: 0, to: 99999, per: second, of: at}}
%(flake)s      note: string
    key: [field: id]
  %(run)s_tickets:
    fields:
      number: {type: int, generate: {kind: sequence, from: 1, to: %(tickets)d}}
      owner: string
    key: [field: number]
"""


def policy():
    redis = sequences.REDIS
    store = sequences.hbase_store() if PLACE == "hbase" else "{kind: embedded, path: FOLDER/data}"
    counters = f'sequences: {{redis: "redis://:sesame@127.0.0.1:{redis.port}/3"}}\n' if redis else ""
    # Leases are in the gateways' stores, so worker numbers are unique only if all gateways share one store.
    flake = "" if redis else "      flake: {type: int, generate: snowflake}\n"
    text = POLICY % {"store": store, "run": RUN, "counters": counters, "flake": flake, "loops": LOOPS,
                     "tickets": TICKETS}
    return text.replace("{", "{{").replace("}", "}}").replace("FOLDER", "{folder}")


class Book:
    """All generated numbers, of all gateways; any thread can add them. A duplicate is a failure."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seen = {}
        self.failures = []

    def add(self, name, value):
        with self.lock:
            held = self.seen.setdefault(name, set())
            if value in held:
                self.failures.append(f"{name} {value} came twice")
            held.add(value)

    def count(self, name):
        with self.lock:
            return len(self.seen.get(name, ()))

    def fail(self, text):
        with self.lock:
            self.failures.append(text)


class Writer(threading.Thread):
    """Writes through one gateway until the end of the test, even if the gateway is killed."""

    def __init__(self, place, number, book, end):
        super().__init__(daemon=True)
        self.place = place
        self.book = book
        self.end = end
        self.chance = random.Random(number)
        self.acknowledged = {}  # id: record
        self.sold_out = False
        self.lost_calls = 0

    def run(self):
        while not self.end.is_set():
            try:
                data = self.place.data()
                while not self.end.is_set():
                    self.write(data)
            except KeywayError as error:
                if error.code not in NOT_NOW:
                    self.book.fail(f"{Code._VALUES_TO_NAMES[error.code]}: {error.message}")
                    return
                self.pause()
            except Exception:  # the gateway was killed, or does not serve yet
                self.pause()

    def pause(self):
        self.lost_calls += 1
        time.sleep(0.02)

    def write(self, data):
        kind = self.chance.randrange(4)
        if kind == 0:
            block = data.allocate(RUN, "id", 5, None, None)
            for number in range(block.first, block.first + block.count):
                self.book.add("id", number)
        elif kind == 1:
            for written in data.putMany(RUN, [record(note="many")] * 6, None):
                if written.outcome == Outcome.OK:
                    self.keep(written, "many")
        elif kind == 2:
            self.keep(data.put(RUN, record(note="one"), None), "one")
        else:
            self.buy(data)

    def keep(self, written, note):
        made = plain(written.made)
        self.book.add("id", made["id"])
        self.book.add(("second", made["at"] // 1000), made["second"])
        if "flake" in made:
            self.book.add("flake", made["flake"])
        self.acknowledged[made["id"]] = {**made, "note": note}

    def buy(self, data):
        try:
            number = plain(data.put(f"{RUN}_tickets", record(owner="me"), None).made)["number"]
        except KeywayError as error:
            if error.code != Code.LIMIT or f"the numbers 1 to {TICKETS} are used up" not in error.message:
                raise
            self.sold_out = True
            return
        self.book.add("ticket", number)
        if not 1 <= number <= TICKETS:
            self.book.fail(f"ticket {number} of {TICKETS}")


def check(condition, text):
    if not condition:
        sys.exit(text)


def all_there(place, writers):
    """All acknowledged records of a store."""
    data = place.data()
    wanted = [one for writer in writers for one in writer.acknowledged.values()]
    for begin in range(0, len(wanted), 200):
        part = wanted[begin:begin + 200]
        found = data.getMany(RUN, [record(id=one["id"]) for one in part], None, None)
        for one, each in zip(part, found):
            got = plain(each.record) if each.record else None
            check(got == one, f"{one} was acknowledged, and {got} is found")
    return len(wanted)


def sell_out(gateways, book):
    """Buys tickets until every gateway reports that there are none."""
    for place in gateways:
        end = time.monotonic() + 2 * PATIENCE
        data = place.data()
        writer = Writer(place, 99, book, threading.Event())
        while not writer.sold_out:
            check(time.monotonic() < end, "tickets do not run out")
            try:
                writer.buy(data)
            except KeywayError as error:
                check(error.code in NOT_NOW, f"{error}")


def run(gateways, book, end):
    writers = [Writer(gateways[i % GATEWAYS], i, book, end) for i in range(2 * GATEWAYS)]
    for writer in writers:
        writer.start()
    for number in range(ROUNDS):
        time.sleep(1)
        wait_until(lambda least=book.count("id") + 20: book.failures or book.count("id") > least, "ids")
        if sequences.REDIS and number == 3:
            sequences.REDIS.kill()
            sequences.REDIS.start()
        victim = gateways[number % GATEWAYS]
        victim.process.send_signal(signal.SIGKILL)
        victim.wait_for_exit()
        time.sleep(0.2)
        victim.start()
    time.sleep(1)
    wait_until(lambda: book.failures or sum(len(writer.acknowledged) for writer in writers) > LEAST, "records")
    end.set()
    for writer in writers:
        writer.join(PATIENCE)
        check(not writer.is_alive(), "a writer hangs")
    check(not book.failures, "\n".join(book.failures[:10]))
    return writers


def main():
    logging.getLogger("thrift").setLevel(logging.CRITICAL)  # errors of gateways that are not running
    book, end = Book(), threading.Event()
    gateways = [Ready(policy()) for _ in range(GATEWAYS)]
    try:
        for place in gateways:
            place.start()
        began = time.monotonic()
        writers = run(gateways, book, end)
        records = sum(all_there(place, [one for one in writers if one.place is place]) for place in gateways)
        sell_out(gateways, book)
        check(not book.failures, "\n".join(book.failures[:10]))
        lives = GATEWAYS + ROUNDS
        lost = TICKETS - book.count("ticket")
        for place in gateways:
            place.stop()
        print(f"{time.monotonic() - began:.1f} s, {lives} lives of {GATEWAYS} gateways: {records} records, "
              f"{book.count('id')} ids, {book.count('ticket')} tickets, {lost} lost with killed gateways", flush=True)
        check(records > LEAST, f"{records} records of {LEAST} acknowledged ones")
        # Each loop of each killed gateway can hold two blocks; a write without a reply can lose its number.
        check(lost <= lives * LOOPS * 2 * BLOCK + sum(writer.lost_calls for writer in writers), "too many were lost")
    finally:
        for place in gateways:
            place.kill()
            shutil.rmtree(place.folder, ignore_errors=True)
        if sequences.REDIS:
            sequences.REDIS.close()


if __name__ == "__main__":
    main()
