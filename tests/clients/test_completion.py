"""Completion of keyway(1) in bash: commands, options, the values of options, and names that a gateway sends.

Arguments: the program, the file to source. Needs keyway_thrift and the Thrift runtime on PYTHONPATH.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from fake_gateway import FakeGateway
from keyway_thrift import ttypes as t

KEYWAY, SCRIPT = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
DRIVER = """
compopt() { :; }
_keyway_timeout_ms=60000
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
_keyway
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(unittest.TestCase):
    def setUp(self):
        self.gateway = FakeGateway().__enter__()
        self.addCleanup(self.gateway.__exit__)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def complete(self, line, gateway=None):
        env = {**os.environ, "PATH": f"{KEYWAY.parent}:/usr/bin:/bin", "KEYWAY_GATEWAY": gateway or self.gateway.address}
        done = subprocess.run(["bash", "-c", DRIVER, "bash", SCRIPT, line], env=env, cwd=self.folder, capture_output=True,
                              text=True, timeout=100)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sorted(done.stdout.split())

    def test_commands(self):
        commands = self.complete("keyway ")
        self.assertGreater(len(commands), 20)
        self.assertEqual(self.complete("keyway sc"), ["scan", "scrub"])
        self.assertEqual(self.complete("keyway -o json --raw sca"), ["scan"])
        self.assertEqual(self.complete("keyway help ch"), ["change", "check"])
        self.assertEqual(self.complete("keyway policy "), ["apply", "check", "diff", "history", "import", "show"])
        self.assertEqual(self.complete("keyway help change c"), ["cancel", "compare", "complete"])

    def test_options(self):
        self.assertEqual(self.complete("keyway scan --pa"), ["--page-bytes", "--page-rows", "--path"])
        self.assertEqual(self.complete("keyway policy diff --sa"), ["--sample"])
        self.assertEqual(self.complete("keyway change complete order_events --exp"), ["--expect", "--expire-cursors"])
        self.assertIn("--version", self.complete("keyway --"))

    def test_values(self):
        formats = ["csv", "json", "jsonl", "table"]
        for option in ("-o ", "--output ", "--output="):
            self.assertEqual(self.complete(f"keyway scan order_events {option}"), formats)
        self.assertEqual(self.complete("keyway -o js"), ["json", "jsonl"])
        for line in ("scan order_events --path ", "scan order_events -p ", "scan order_events --limit 3 --path=p",
                     "create -o json order_events -p ", "explain -n1 order_events order_id=A --path "):
            self.assertEqual(self.complete(f"keyway {line}"), ["primary"], line)
        self.assertEqual(self.complete("keyway change switch order_events --expect both-n"), ["both-new"])
        self.assertEqual(self.complete("keyway put order_events --durability s"), ["skip", "sync"])
        self.assertEqual(self.complete("keyway create order_events --algorithm r"), ["rule"])
        self.assertEqual(self.complete("keyway scan order_events --limit "), [])
        (self.folder / "old.yaml").touch()
        for line in ("check o", "policy diff o", "advise --policy o", "advise -s o", "import order_events o",
                     "--tls-ca o", "import order_events x --reject o"):
            self.assertEqual(self.complete(f"keyway {line}"), ["old.yaml"], line)

    def test_names(self):
        self.assertEqual(self.complete("keyway scan "), ["order_events", "tables"])
        self.assertEqual(self.complete("keyway scan -p by_time order_"), ["order_events"])
        self.assertEqual(self.complete("keyway change status o"), ["order_events"])
        self.assertEqual(self.complete("keyway scan order_events --where s"), ["status="])
        self.assertEqual(self.complete("keyway put order_events order_id=A ci"), ["city="])
        self.assertEqual(self.complete("keyway get order_events -c vi"), ["visits"])
        self.assertEqual(self.complete(f"keyway -g {self.gateway.address} scan t", gateway="127.0.0.1:1"), ["tables"])
        self.assertEqual(self.complete("keyway scan ", gateway="127.0.0.1:1"), [])

    def test_names_are_not_executed(self):
        """A gateway can send any text as a name: the shell must neither expand it nor run it."""
        hostile = "$(touch${IFS}executed)`touch${IFS}executed`"
        self.gateway.handler.tables = lambda: [hostile, "\x1b]0;title\x07"]
        self.gateway.handler.describe = lambda table: t.TableInfo(
            table, [t.FieldInfo(hostile, "string", True)], [t.PathInfo(hostile, "s", 1, "f", [], 1)])
        for line in ("scan ", "scan x ", "scan x --path ", "scan x --where ", f"scan {hostile} -p "):
            shown = self.complete(f"keyway {line}")
            self.assertTrue(any("touch" in word for word in shown), line)
            self.assertFalse((self.folder / "executed").exists(), line)
            self.assertNotIn("\x1b", "".join(shown))


if __name__ == "__main__":
    unittest.main(verbosity=1)
