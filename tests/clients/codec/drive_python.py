"""Random values through the codec and back, with the Python runtime: drive_python.py PIPE SEED ROUNDS."""
import random
import struct
import subprocess
import sys

from keyway_hbase_thrift.ttypes import TCellVisibility, TColumnValue, TPut, TResult
from keyway_thrift.ttypes import Page, Query, Range, Value
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.TTransport import TMemoryBuffer

PROTOCOLS = (TBinaryProtocol, TCompactProtocol)
NUMBERS = (0, 1, -1, 63, 64, -64, -65, 2**31 - 1, -2**31, 2**63 - 1, -2**63)


class Maker:
    """Random values."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, bits):
        value = self.random.choice(NUMBERS) if self.random.random() < 0.3 else self.random.getrandbits(bits)
        return (value + 2**(bits - 1)) % 2**bits - 2**(bits - 1)

    def text(self):
        return "".join(self.random.choice("abcxyz09 äß水\U0001f600") for _ in range(self.random.randrange(20)))

    def blob(self):
        return self.random.randbytes(self.random.choice((0, 1, 5, 16, 17, 100, 300)))

    def maybe(self, make):
        return make() if self.random.random() < 0.6 else None

    def many(self, make):
        return [make() for _ in range(self.random.choice((0, 1, 2, 3, 15, 16)))]

    def value(self):
        made = Value()
        which = self.random.randrange(5)
        if which == 0:
            made.flag = self.random.random() < 0.5
        elif which == 1:
            made.number = self.number(64)
        elif which == 2:
            made.real = self.random.uniform(-1e9, 1e9)
        elif which == 3:
            made.text = self.text()
        else:
            made.bytes = self.blob()
        return made

    def record(self):
        return {self.text(): self.value() for _ in range(self.random.randrange(5))}

    def range(self):
        made = Range(field=self.text(), from_value=self.maybe(self.value), to_value=self.maybe(self.value))
        made.from_inclusive = self.random.random() < 0.5
        made.to_inclusive = self.random.random() < 0.5
        return made

    def query(self):
        return Query(table=self.text(), bound=self.maybe(self.record),
                     bound_any=self.maybe(lambda: {self.text(): self.many(self.value) for _ in range(3)}),
                     range=self.maybe(self.range), order=self.maybe(lambda: self.random.choice((1, 2))),
                     path=self.maybe(self.text), columns=self.maybe(lambda: self.many(self.text)),
                     limit=self.maybe(lambda: self.number(64)), page_rows=self.maybe(lambda: self.number(32)),
                     full_scan=self.maybe(lambda: self.random.random() < 0.5),
                     skip_undecodable=self.maybe(lambda: self.random.random() < 0.5))

    def page(self):
        return Page(rows=self.many(self.record), cursor=self.maybe(self.blob), rows_scanned=self.number(64),
                    rows_returned=self.number(64), undecodable=self.maybe(lambda: self.number(64)))

    def cell(self):
        return TColumnValue(family=self.blob(), qualifier=self.blob(), value=self.blob(),
                            timestamp=self.maybe(lambda: self.number(64)), tags=self.maybe(self.blob),
                            type=self.maybe(lambda: self.number(8)))

    def put(self):
        return TPut(row=self.blob(), columnValues=self.many(self.cell),
                    timestamp=self.maybe(lambda: self.number(64)),
                    attributes=self.maybe(lambda: {self.blob(): self.blob() for _ in range(3)}),
                    durability=self.maybe(lambda: self.random.randrange(5)),
                    cellVisibility=self.maybe(lambda: TCellVisibility(expression=self.maybe(self.text))))

    def result(self):
        return TResult(row=self.maybe(self.blob), columnValues=self.many(self.cell),
                       stale=self.random.random() < 0.5, partial=self.random.random() < 0.5)


def encode(value, protocol):
    buffer = TMemoryBuffer()
    value.write(PROTOCOLS[protocol](buffer))
    return buffer.getvalue()


def decode(kind, data, protocol):
    value = kind()
    buffer = TMemoryBuffer(data)
    value.read(PROTOCOLS[protocol](buffer))
    if buffer.cstringio_buf.read():
        sys.exit(f"{kind.__name__}: bytes are left after the value")
    return value


def through(pipe, table, source, target, data):
    pipe.stdin.write(struct.pack(">BBBI", table, source, target, len(data)) + data)
    pipe.stdin.flush()
    status, size = struct.unpack(">BI", pipe.stdout.read(5))
    answer = pipe.stdout.read(size)
    if status:
        sys.exit(f"the codec refused: {answer.decode()}")
    return answer


def main():
    program, seed, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    maker, trips = Maker(seed), 0
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pipe:
        for _ in range(rounds):
            for table, make in enumerate((maker.query, maker.page, maker.put, maker.result)):
                value = make()
                for source in (0, 1):
                    for target in (0, 1):
                        back = through(pipe, table, source, target, encode(value, source))
                        if decode(type(value), back, target) != value:
                            sys.exit(f"{value} came back as {decode(type(value), back, target)}")
                        trips += 1
        pipe.stdin.close()
    print(f"{trips} round trips")


if __name__ == "__main__":
    main()
