"""Texts that are not UTF-8, and control characters, in every argument of every method: each reply is valid UTF-8, and no error
message has a control character. The same for a policy whose columns are not UTF-8."""
import random
import unicodedata
import unittest

from idl_calls import Calls, decode
from keyway_gateway import POLICY, Gateway, receive_frame, record
from keyway_thrift.ttypes import Candidate, KeywayError, NamedQuery, Query
from thrift.Thrift import TType

MARK = "QQQQQQ"  # in the texts of a call; replaced in the message by bytes of the same length
WRONG = [b"\xff\xfe\xc3(\xe2\x82", b"a\x1b[31m", b"\xed\xa0\x80\xc0\x80b", b"\r\n\x07\x00\xc2\x9b"]
COLUMNS = r"""
tables:
  t:
    fields:
      id: string
      note: {type: string, column: 'd:\xff\xfe\x1b[31m'}
      more: {type: map, of: int, column: 'd:\xc3\x28*'}
    key: [{hash: {algorithm: md5, of: [id], take: 4, as: hex}}, {field: id}]
"""


def texts_of(value):
    """All texts in a value of the generated code."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, held in value.items():
            yield from texts_of(name)
            yield from texts_of(held)
    elif isinstance(value, (list, tuple)):
        for held in value:
            yield from texts_of(held)
    elif hasattr(value, "__dict__"):
        yield from texts_of(list(vars(value).values()))


class Marked(Calls):
    """Calls with the mark in one text in two."""

    def value(self, kind, details, name, depth):
        made = super().value(kind, details, name, depth)
        return MARK if kind == TType.STRING and details != "BINARY" and self.random.random() < 0.5 else made


class Texts(unittest.TestCase):
    def check(self, payload):
        """Decodes the reply, which fails for a text that is not UTF-8."""
        name, result = decode(payload)
        failure = getattr(result, "failure", None)
        if failure is not None:
            self.assertFalse([c for c in failure.message if unicodedata.category(c) == "Cc"], (name, failure.message))
        return result

    def test_every_method(self):
        chance = random.Random(1)
        known = {"table": lambda chance: chance.choice(("events", MARK)), "field": lambda chance: chance.choice(("note", MARK)),
                 "text": lambda chance: chance.choice((MARK, f"tables: {{t: {{fields: {{{MARK}: string}}, key: [field: {MARK}]}}}}", MARK * 100)),
                 "id": lambda chance: MARK, "drop_rows": lambda chance: False}
        known["old_text"] = known["new_text"] = known["policy_text"] = known["text"]
        calls = Marked(chance, known)
        with Gateway(POLICY) as gateway:
            connection = gateway.connect()
            for method in calls.methods:
                for wrong in WRONG * 5:
                    frame = calls.frame(method)
                    self.assertEqual(len(wrong), len(MARK))
                    connection.sendall(frame.replace(MARK.encode(), wrong))
                    self.check(receive_frame(connection))
            connection.close()

    def test_names_of_columns(self):
        """A policy can name columns with any bytes."""
        with Gateway(POLICY) as gateway:
            admin = gateway.admin()
            old = COLUMNS.replace("column: 'd:\\xff", "column: 'd:\\xfa")
            sample = [record(id="a", note="x"), record(id="b")]
            queries = [NamedQuery(name="q", query=Query(table="t", bound=record(id="a")))]
            replies = [admin.policyTables(COLUMNS), admin.policyDiff(old, COLUMNS, "t", sample),
                       admin.advise([Candidate(name="one", text=COLUMNS), Candidate(name="two", text=old)], "t", sample, queries, None)]
            self.assertIn(r"d:\xfa\xfe", replies[1])
            found = [text for reply in replies for text in texts_of(reply)]
            self.assertTrue(any("note" in text for text in found))
            with self.assertRaises(KeywayError) as caught:
                admin.policyDiff(COLUMNS.replace("string", "strnig"), COLUMNS, "t", [])
            self.assertNotIn("\x1b", caught.exception.message)
            admin.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
