"""keyway(1) and keywayd(8) describe every command and every option printed by --help.

Arguments: the program keyway, the folder of the pages. KEYWAYD names the daemon.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

PAGES = pathlib.Path(sys.argv.pop(2))
KEYWAY = sys.argv.pop(1)


def help_of(*words):
    return subprocess.run([*words, "--help"], check=True, capture_output=True, text=True, timeout=300).stdout


def options_of(text):
    return re.findall(r"^\s+(?:-\w, )?--([a-z][a-z-]*)", text, re.MULTILINE)


class Pages(unittest.TestCase):
    def assert_named(self, page, options, what):
        text = (PAGES / page).read_text(encoding="utf-8")
        self.assertGreater(len(options), 3, what)
        for option in options:
            with self.subTest(what=what, option=option):
                self.assertRegex(text, rf"\bFl (\S+ , )*(\S )?-{option}(?![\w-])")

    def test_keyway(self):
        out = help_of(KEYWAY)
        commands = re.findall(r"^  ([a-z]+)  ", out, re.MULTILINE)
        self.assertGreater(len(commands), 10)
        self.assert_named("keyway.1", options_of(out), "keyway")
        page = (PAGES / "keyway.1").read_text(encoding="utf-8")
        for command in commands:
            self.assertRegex(page, rf"\.It Cm {command}\b")
            self.assert_named("keyway.1", options_of(help_of(KEYWAY, command)), command)
        for group in ("policy", "change"):
            inner = re.findall(r"^  ([a-z]+) .*  ", help_of(KEYWAY, group).split("Commands")[1], re.MULTILINE)
            self.assertGreater(len(inner), 3)
            for command in inner:
                self.assertRegex(page, rf"\.It Cm {group} {command}\b")
                self.assert_named("keyway.1", options_of(help_of(KEYWAY, group, command)), command)

    def test_keywayd(self):
        self.assert_named("keywayd.8", options_of(help_of(os.environ["KEYWAYD"])), "keywayd")


if __name__ == "__main__":
    unittest.main()
