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


def commands_of(text):
    return re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE)


def commands_of_group(group):
    return re.findall(r"^  ([a-z]+) .*  ", help_of(KEYWAY, group).split("Commands")[1], re.MULTILINE)


class Pages(unittest.TestCase):
    def assert_named(self, page, options, what):
        text = (PAGES / page).read_text(encoding="utf-8")
        self.assertGreater(len(options), 3, what)
        for option in options:
            with self.subTest(what=what, option=option):
                self.assertRegex(text, rf"\bFl (\S+ , )*(\S )?-{option}(?![\w-])")

    def test_keyway(self):
        out = help_of(KEYWAY)
        commands = commands_of(out)
        self.assertGreater(len(commands), 10)
        self.assert_named("keyway.1", options_of(out), "keyway")
        page = (PAGES / "keyway.1").read_text(encoding="utf-8")
        for command in commands:
            self.assertRegex(page, rf"\.It Cm {command}\b")
            self.assert_named("keyway.1", options_of(help_of(KEYWAY, command)), command)
        for group in ("policy", "change"):
            inner = commands_of_group(group)
            self.assertGreater(len(inner), 3)
            for command in inner:
                self.assertRegex(page, rf"\.It Cm {group} {command}\b")
                self.assert_named("keyway.1", options_of(help_of(KEYWAY, group, command)), command)

    def test_a_letter_is_short_for_one_option(self):
        commands = [[command] for command in commands_of(help_of(KEYWAY))]
        commands += [[group, command] for group in ("policy", "change") for command in commands_of_group(group)]
        found = {}
        for command in commands:
            for letter, option in re.findall(r"^\s+-(\w), --([a-z][a-z-]*)", help_of(KEYWAY, *command), re.MULTILINE):
                found.setdefault(letter, {}).setdefault(option, []).append(" ".join(command))
        self.assertGreater(len(found), 8)
        for letter, options in found.items():
            self.assertEqual(len(options), 1, f"-{letter}: {options}")

    def test_keywayd(self):
        self.assert_named("keywayd.8", options_of(help_of(os.environ["KEYWAYD"])), "keywayd")


if __name__ == "__main__":
    unittest.main()
