"""HBase for tests of several gateways whose policy the catalog keeps: simulated in memory, or the real one of the fixture."""
import contextlib
import os
import subprocess

from keyway_gateway import PATIENCE, free_ports
from keyway_hbase import hbase_servers
from keyway_hbase_thrift import THBaseService
from keyway_hbase_thrift.ttypes import TScan
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport import TSocket, TTransport

VERSIONS_ALL = 2**31 - 1
ROWS_MOST = 10000  # of a table that a test reads as a whole


@contextlib.contextmanager
def thrift2(server, framed):
    """A client of a Thrift2 server, which is compact if it is framed."""
    host, _, port = server.rpartition(":")
    wire = TSocket.TSocket(host, int(port))
    wire.setTimeout(PATIENCE * 1000)
    transport = TTransport.TFramedTransport(wire) if framed else TTransport.TBufferedTransport(wire)
    transport.open()
    try:
        yield THBaseService.Client(TCompactProtocol(transport) if framed else TBinaryProtocol(transport))
    finally:
        transport.close()


def read_rows(client, tables):
    """{store table: {row key: [(column, timestamp, value)]}}: all visible versions of the cells, with the control cells."""
    found = {}
    for table in tables:
        rows = client.getScannerResults(table.encode(), TScan(maxVersions=VERSIONS_ALL), ROWS_MOST)
        assert len(rows) < ROWS_MOST, table
        found[table] = {row.row: [(cell.family + b":" + cell.qualifier, cell.timestamp, cell.value) for cell in row.columnValues]
                        for row in rows}
    return found


class Simulated:
    """Two Thrift2 servers over one HBase in memory."""

    def __init__(self):
        self.ports = free_ports(2)
        self.process = subprocess.Popen([os.environ["KW_HBASE_SIM"], "1"] + [str(port) for port in self.ports],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ok\n"

    def store(self, name, more=""):
        """The section `store` of a policy; `more` are further settings, each on a line with two spaces before it."""
        servers = ", ".join(f'"127.0.0.1:{port}"' for port in self.ports)
        return (f"store:\n  kind: hbase\n  servers: [{servers}]\n"
                f"  create_missing: true\n  catalog: {name}_catalog\n{more}")

    def send(self, command):
        """One command of hbase_sim."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer == "ok\n", f"hbase_sim exited at {command!r}: {answer!r}"

    def rows(self, *tables):
        with self.client() as client:
            return read_rows(client, tables)

    def client(self):
        """Of one of the Thrift2 servers."""
        return thrift2(f"127.0.0.1:{self.ports[0]}", True)

    def cells(self, table):
        """All cells and delete markers of a store table: [(row, column, kind, timestamp, ttl_ms, value)]; see
        histories/sim/rows.h."""
        self.process.stdin.write(f"dump {table}\n")
        self.process.stdin.flush()
        found = []
        for line in self.process.stdout:
            if line == "ok\n":
                return found
            row, column, kind, stamp, ttl, value = line.rstrip("\n").split(" ")
            family, _, qualifier = column.partition(":")
            column = bytes.fromhex(family) + b":" + bytes.fromhex(qualifier)
            found.append((bytes.fromhex(row), column, kind, int(stamp), int(ttl), bytes.fromhex(value)))
        raise AssertionError("hbase_sim exited")

    def stop(self):
        self.process.kill()
        self.process.communicate()


class Real:
    def store(self, name, more=""):
        servers = hbase_servers()["KW_HBASE_BUFFERED"]
        return (f"store:\n  kind: hbase\n  servers: [{servers}]\n  create_missing: true\n  catalog: {name}_catalog\n{more}")

    def rows(self, *tables):
        with self.client() as client:
            return read_rows(client, tables)

    def client(self):
        return thrift2(hbase_servers()["KW_HBASE_BUFFERED"], False)

    def stop(self):
        pass


def place(store):
    """store: sim or hbase."""
    return Simulated() if store == "sim" else Real()
