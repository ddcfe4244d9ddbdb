"""The command line of `keyway`: short options with attached values, help, and terminals.

Arguments: the program. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import contextlib
import json
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

from fake_gateway import FIELDS, FakeGateway
from keyway_thrift import ttypes as t
from test_cli import KEYWAY, Case, event, keyway


class Options(Case):
    def setUp(self):
        self.gateway = FakeGateway().__enter__()
        self.addCleanup(self.gateway.__exit__)
        for i in range(3):
            self.gateway.handler.rows["A", i] = event("A", i)

    def asked(self, *words):
        out = self.run_ok(self.gateway, *words)
        return json.loads(out), self.gateway.handler.queries[-1]

    def test_attached_values(self):
        rows, query = self.asked("scan", "order_events", "-worder_id=A", "-n1", "-ojson", "-pby_time", "-t5000")
        self.assertEqual((len(rows), query.limit, query.path, query.deadline_ms), (1, 1, "by_time", 5000))
        self.assertEqual(query.bound, {"order_id": t.Value(text="A")})
        rows, query = self.asked("-ojson", "latest", "order_events", "-n2", "order_id=A")
        self.assertEqual((len(rows), query.limit), (2, 2))
        done = keyway(self.gateway, "scan", "order_events", "-en2", "-ojsonl")  # -e has no value
        self.assertIn("path primary", done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 2)

    def test_separate_values_stay_whole(self):
        """A word after an option with a value is this value, even if it looks like an option."""
        for option in ("-p", "--path"):
            rows, query = self.asked("scan", "order_events", option, "-n1", "-o", "json")
            self.assertEqual((len(rows), query.path, query.limit), (3, "-n1", None))
        self.assertEqual(self.asked("scan", "order_events", "--path=-n1", "-o", "json")[1].path, "-n1")
        self.assertIn("-n1", self.run_bad(4, self.gateway, "describe", "--", "-n1"))

    def test_mistakes(self):
        self.assertIn("integer value", self.run_bad(2, self.gateway, "scan", "order_events", "-nx"))
        self.assertIn("-n", self.run_bad(2, self.gateway, "scan", "order_events", "-n"))
        self.assertIn("-x1", self.run_bad(2, self.gateway, "scan", "order_events", "-x1"))
        self.assertIn("not an output format", self.run_bad(2, self.gateway, "scan", "order_events", "-oxml"))

    def test_words_of_other_tools(self):
        for word, name in (("delete", "remove"), ("list", "tables"), ("diff", "policy diff"), ("version", "--version")):
            self.assertIn(f'there is no command "{word}"; did you mean "{name}"?', self.run_bad(2, self.gateway, word, "x"))

    def test_commands_of_a_command(self):
        self.assertIn('there is no command "policy dif"; did you mean "policy diff"?', self.run_bad(2, self.gateway, "policy", "dif"))
        self.assertIn('there is no command "policy xyz"\n', self.run_bad(2, self.gateway, "policy", "xyz"))
        self.assertIn('did you mean "change status"?', self.run_bad(2, self.gateway, "change", "stats"))
        self.assertIn("keyway policy [OPTION…] [COMMAND]", self.run_ok(self.gateway, "policy", "--help"))

    def test_help(self):
        for words in (["scan"], ["policy", "diff"], ["change", "switch"]):
            with self.subTest(words=words):
                self.assertEqual(self.run_ok(self.gateway, "help", *words), self.run_ok(self.gateway, *words, "--help"))
        whole = self.run_ok(self.gateway, "--help")
        for words in (["help"], ["help", "help"], ["help", "--help"], ["help", "-h"]):
            self.assertEqual(self.run_ok(self.gateway, *words), whole)
        self.assertIn('did you mean "scan"', self.run_bad(2, self.gateway, "help", "scam"))


def on_terminal(gateway, *words):
    """What the program writes to a terminal (both streams), and its exit status."""
    near, far = pty.openpty()
    with subprocess.Popen([KEYWAY, "-g", gateway.address, *words], stdin=subprocess.DEVNULL, stdout=far, stderr=far) as started:
        os.close(far)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(near, 65536):
                shown += piece
        status = started.wait(60)
    os.close(near)
    return shown, status


class Terminal(Case):
    """Nothing that a gateway or a file contains reaches the terminal as a control sequence."""

    EVIL = "\x1b]0;title\x07\x1b[2J\x9b1m\r\x7f\u202eabc\u2066"

    def setUp(self):
        self.gateway = FakeGateway().__enter__()
        self.addCleanup(self.gateway.__exit__)
        handler = self.gateway.handler
        handler.rows["A", 1] = event("A", 1, status=self.EVIL, city="Ulm")
        for name in ("order_id", "status"):  # also as the names of fields
            handler.rows["A", 1][self.EVIL + name] = t.Value(text=self.EVIL)

    def check(self, *words, status=0, progress=False):
        shown, code = on_terminal(self.gateway, *words)
        self.assertEqual(code, status, shown)
        if progress:
            shown = shown.replace(b"\x1b[K", b"")
        shown = shown.replace(b"\r\n", b"\n").decode()
        bad = [char for char in shown if (ord(char) < 32 and char not in "\n\t" + "\r" * progress) or 0x7F <= ord(char) < 0xA0
               or char in "\u202e\u2066"]
        self.assertEqual(bad, [], shown)
        return shown

    def fields(self):
        return [*FIELDS, t.FieldInfo(self.EVIL + "status", "string", False, "d:x", None, self.EVIL)]

    def test_records(self):
        describe = self.gateway.handler.describe
        self.gateway.handler.describe = lambda table: t.TableInfo(table, self.fields(), describe("order_events").paths, self.EVIL)
        for form in ("table", "csv", "json", "jsonl"):
            for words in (["scan", "order_events"], ["get", "order_events", "order_id=A", "ts=1"]):
                self.assertIn("2J", self.check(*words, "-o", form), form)
            self.assertIn("2J", self.check("describe", "order_events", "-o", form))
            self.assertIn("2J", self.check("latest", "order_events", "-o", form))

    def test_json_stays_json(self):
        shown = self.check("get", "order_events", "order_id=A", "ts=1", "-o", "json")
        self.assertEqual(json.loads(shown)[0]["status"], self.EVIL)
        self.assertEqual(json.loads(self.run_ok(self.gateway, "get", "order_events", "order_id=A", "ts=1", "-o", "json"))[0]["status"],
                         self.EVIL)

    def test_names_and_texts(self):
        handler = self.gateway.handler
        handler.tables = lambda: [self.EVIL, "t" + self.EVIL]
        handler.policy = lambda: t.PolicyInfo("# " + self.EVIL, [], 1)
        handler.stats = lambda: {self.EVIL: 1.0}
        handler.explain = lambda query: t.Explanation(None, self.EVIL, [t.ExplainedRange(b"a", b"b", 0, self.EVIL)], False,
                                                      [self.EVIL], 1.0, self.EVIL)
        pieces = [t.KeyPiece(self.EVIL, b"x", self.EVIL)]
        handler.explainPut = lambda table, record: t.Explanation([t.ExplainedKey(self.EVIL, self.EVIL, b"k", pieces, b"", self.EVIL)], text="")
        handler.decodeKey = lambda *arguments: [t.DecodedKey(self.EVIL, self.EVIL, pieces, {"order_id": t.Value(text=self.EVIL)}, *why)
                                                for why in ((), (self.EVIL, self.EVIL))]
        for form in ("table", "csv", "json", "jsonl"):
            for words in (["tables"], ["policy"], ["stats"], ["explain", "order_events"], ["decode", "order_events", "k"], ["explain", "--put", "order_events", "order_id=A"]):
                self.assertIn("2J", self.check(*words, "-o", form), (words, form))

    def test_errors(self):
        handler = self.gateway.handler

        def fail(*_):
            raise t.KeywayError(t.Code.INVALID, self.EVIL, request_id=self.EVIL)

        handler.table = fail
        self.assertIn("2J", self.check("scan", self.EVIL, status=3))
        self.assertIn("2J", self.check("get", "order_events", self.EVIL, status=3))
        self.check(self.EVIL, status=2)
        self.check("scan", "order_events", "-o", self.EVIL, status=2)
        self.check("check", f"/nowhere/{self.EVIL}", status=1)

    def test_problems(self):
        problem = t.Problem(1, 1, self.EVIL, self.EVIL)
        self.gateway.handler.check = lambda text: [problem]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, self.EVIL.replace("/", ""))
            path.write_text(f"tables: {{a{self.EVIL}: 1}}\n")
            for form in ("table", "csv", "json", "jsonl"):
                self.assertIn("2J", self.check("check", str(path), "-o", form, status=3), form)

    def test_progress(self):
        """The names of files and tables in the progress line, which draws on the terminal itself."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x\x1b[2Jy.csv")
            path.write_text("order_id,ts\n" + "".join(f"A,{i}\n" for i in range(2000)) + f"B,{self.EVIL}\n")
            shown = self.check("import", "order_events", str(path), status=9, progress=True)
            self.assertRegex(shown, r"x\\x1B\[2Jy\.csv  \[")
            self.assertIn("1 rejected", shown)


if __name__ == "__main__":
    unittest.main(verbosity=1)
