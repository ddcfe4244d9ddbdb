"""Order events through Keyway, in Python. Arguments: HOST:PORT [framed] [compact]"""
import sys

from keyway_thrift import Data
from keyway_thrift.ttypes import Code, KeywayError, Options, Order, Query, Value
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport

TEN_O_CLOCK = 1795255200000  # 2026-11-21T10:00:00Z in milliseconds
STATUSES = ["created", "paid", "shipped", "delivered"]


class Client:
    """Calls the methods of Data.Client, on a connection that it opens when it needs one.

    KeywayError is an answer of the gateway; the connection is intact. After any other exception, part of a message can be
    in the transport or on its way. For example, Thrift finds a value of the wrong type only when it has written the
    message up to this value. So the connection is given up, together with its transport, which still contains this part.
    """

    def __init__(self, address, framed=False, compact=False):
        self.host, self.port = address.rsplit(":", 1)
        self.framed, self.compact = framed, compact
        self.transport = self.client = None

    def open(self):
        socket = TSocket(self.host, int(self.port))
        socket.setTimeout(40_000)  # longer than the gateway's default deadline of 30 s
        self.transport = TFramedTransport(socket) if self.framed else TBufferedTransport(socket)
        self.transport.open()
        self.client = Data.Client(TCompactProtocol(self.transport) if self.compact else TBinaryProtocol(self.transport))

    def close(self):
        if self.transport:
            self.transport.close()
        self.transport = self.client = None

    def __getattr__(self, method):
        def call(*arguments):
            try:
                if not self.client:
                    self.open()
                return getattr(self.client, method)(*arguments)
            except KeywayError:
                raise
            except Exception:
                self.close()
                raise

        return call


def put_events(client):
    records = [
        {
            "order_id": Value(text=order_id),
            "ts": Value(number=TEN_O_CLOCK + step * 60_000),
            "status": Value(text=status),
            "amount": Value(real=9.75),
        }
        for order_id in ("A-1001", "A-1002", "A-1003")
        for step, status in enumerate(STATUSES)
    ]
    for record, written in zip(records, client.putMany("order_events", records, Options())):
        if written.failure:
            sys.exit(f"{record}: {written.failure.message}")
    print(f"put {len(records)} events")


def show_latest(client, order_id):
    page = client.latest(Query(table="order_events", bound={"order_id": Value(text=order_id)}, limit=1))
    print(f"latest {order_id}: {page.rows[0]['status'].text}, {page.rows_scanned} scanned")


def show_all(client, order_id):
    """Newest first, three rows per page. The gateway keeps no state between two pages."""
    page = client.scan(
        Query("order_events", bound={"order_id": Value(text=order_id)}, order=Order.DESCENDING, page_rows=3)
    )
    statuses = []
    while True:
        statuses += [row["status"].text for row in page.rows]
        if not page.cursor:
            break
        page = client.nextPage(page.cursor, Options())
    print(f"events {order_id}: {' '.join(statuses)}")


def show_error(client):
    try:
        client.describe("no_such_table")
    except KeywayError as error:
        print(f"error {Code._VALUES_TO_NAMES[error.code]}")


def main():
    client = Client(sys.argv[1], "framed" in sys.argv, "compact" in sys.argv)
    put_events(client)
    show_latest(client, "A-1002")
    show_all(client, "A-1002")
    show_error(client)
    client.close()


if __name__ == "__main__":
    main()
