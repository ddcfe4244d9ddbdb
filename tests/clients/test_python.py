"""The Python example's client continues to work after a value of the wrong type and after a lost connection.

Argument: the folder of the example. KEYWAYD names the gateway.
"""
import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from keyway_gateway import POLICY, Gateway, plain, record
from keyway_thrift.ttypes import Code, KeywayError, Outcome, Value

FOLDER = pathlib.Path(sys.argv.pop(1))
FORMS = [(framed, compact) for framed in (False, True) for compact in (False, True)]


def load_example():
    spec = importlib.util.spec_from_file_location("orders", FOLDER / "orders.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Example(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(POLICY).start()
        self.addCleanup(self.gateway.__exit__, None, None, None)

    def clients(self):
        for framed, compact in FORMS:
            client = load_example().Client(self.gateway.address, framed, compact)
            yield client, f"{framed}-{compact}"
            client.close()

    def check(self, client, me):
        """The client works, and the gateway has exactly the records that it has put."""
        self.assertEqual(client.put("events", record(id=me, ts=2, note="good"), None).outcome, Outcome.OK)
        found = client.getMany("events", [record(id=me, ts=ts) for ts in (1, 2)], None, None)
        self.assertIsNone(found[0].record)
        self.assertEqual(plain(found[1].record), {"id": me, "ts": 2, "note": "good"})

    def test_a_value_of_the_wrong_type(self):
        for client, me in self.clients():
            self.check(client, me)
            for wrong in (Value(number="1"), Value(real="1"), Value(text=1), Value(flag=None, number=2**70), 5):
                with self.assertRaises(Exception) as caught:
                    client.put("events", {**record(id=me, ts=1), "count": wrong}, None)
                self.assertNotIsInstance(caught.exception, KeywayError)
                self.check(client, me)
        self.assertEqual(self.gateway.metric("keyway_connections_broken_total"), 0)

    def test_an_error_of_the_gateway_keeps_the_connection(self):
        for client, me in self.clients():
            self.check(client, me)
            before = client.transport
            with self.assertRaises(KeywayError) as caught:
                client.describe("nowhere")
            self.assertEqual(caught.exception.code, Code.NOT_FOUND)
            self.assertIs(client.transport, before)
            self.check(client, me)

    def test_a_lost_connection(self):
        for client, me in self.clients():
            self.check(client, me)
            client.transport.close()
            with self.assertRaises(Exception):
                client.tables()
            self.check(client, me)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
