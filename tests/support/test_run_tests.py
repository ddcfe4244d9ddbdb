#!/usr/bin/env python3
"""Tests run_tests.py on a build folder with tests that pass, fail, or fail in their first run only."""
import datetime
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN_TESTS = pathlib.Path(__file__).with_name("run_tests.py")
STABLE = "exit 0"
BROKEN = "exit 1"
UNSTABLE = "test -e {folder}/ran_{name} || {{ touch {folder}/ran_{name}; exit 1; }}"
UNSTABLE_SANITIZER = "test -e {folder}/ran_{name} || {{ touch {folder}/ran_{name}; echo a.c:1:1: runtime error: x; exit 1; }}"


class RunTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tests(self, tests, known=""):
        lines = []
        for name, script in tests.items():
            path = self.folder / f"{name}.sh"
            path.write_text(script.format(folder=self.folder, name=name))
            lines.append(f'add_test({name} "sh" "{path}")\n')
        (self.folder / "CTestTestfile.cmake").write_text("".join(lines))
        (self.folder / "known.txt").write_text(known)
        command = [sys.executable, RUN_TESTS, self.folder, self.folder / "known.txt", "-j", "2", "--no-tests=error"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.output = result.stdout
        return result.returncode

    @staticmethod
    def entry(name, days_old):
        date = datetime.date.today() - datetime.timedelta(days=days_old)
        return f"# tests that fail now and then\n\n{name} {date} waits for a slow disk\n"

    def test_all_pass(self):
        self.assertEqual(self.run_tests({"unit.a": STABLE, "unit.b": STABLE}), 0, self.output)

    def test_failed_twice(self):
        self.assertEqual(self.run_tests({"unit.a": STABLE, "unit.b": BROKEN}), 1, self.output)
        self.assertNotIn("unstable", self.output)

    def test_unstable_is_a_failure_of_its_own(self):
        self.assertEqual(self.run_tests({"unit.a": STABLE, "unit.b": UNSTABLE}), 3, self.output)
        self.assertIn("unstable test: unit.b failed, then passed in its second run", self.output)

    def test_only_failed_tests_run_again(self):
        # In ctest's expressions a dot matches any character: unit_b must not run again with unit.b.
        self.run_tests({"unit.b": UNSTABLE, "unit_b": STABLE})
        self.assertIn("100% tests passed, 0 tests failed out of 1", self.output)

    def test_known_unstable_passes(self):
        self.assertEqual(self.run_tests({"unit.b": UNSTABLE}, self.entry("unit.b", 30)), 0, self.output)
        self.assertIn("unstable test (known): unit.b", self.output)

    def test_known_unstable_must_pass_the_second_run(self):
        self.assertEqual(self.run_tests({"unit.b": BROKEN}, self.entry("unit.b", 30)), 1, self.output)

    def test_one_known_one_not(self):
        known = self.entry("unit.a", 30)
        self.assertEqual(self.run_tests({"unit.a": UNSTABLE, "unit.b": UNSTABLE}, known), 3, self.output)

    def test_failed_and_unstable(self):
        self.assertEqual(self.run_tests({"unit.a": BROKEN, "unit.b": UNSTABLE}), 1, self.output)
        self.assertIn("unstable test: unit.b", self.output)

    def test_old_entry(self):
        self.assertEqual(self.run_tests({"unit.a": STABLE}, self.entry("unit.b", 61)), 2, self.output)
        self.assertIn("known.txt:3: the entry of unit.b is 61 days old", self.output)

    def test_entry_at_the_limit(self):
        # 59 days, so that the test passes when midnight comes between the two readings of the date.
        self.assertEqual(self.run_tests({"unit.a": STABLE}, self.entry("unit.b", 59)), 0, self.output)

    def test_entry_of_the_future(self):
        self.assertEqual(self.run_tests({"unit.a": STABLE}, self.entry("unit.b", -2)), 2, self.output)

    def test_malformed_entries(self):
        self.assertEqual(self.run_tests({"unit.a": STABLE}, "unit.b 2026-01-01\nunit.c yesterday slow\n"), 2, self.output)
        self.assertIn("known.txt:1: expected: TEST_NAME YYYY-MM-DD REASON", self.output)
        self.assertIn("known.txt:2: yesterday is not a date", self.output)

    def test_no_second_run_after_a_sanitizer_report(self):
        self.assertEqual(self.run_tests({"unit.b": UNSTABLE_SANITIZER}), 1, self.output)
        self.assertNotIn("second run", self.output)

    def test_no_second_run_of_four(self):
        self.assertEqual(self.run_tests({f"unit.{name}": UNSTABLE for name in "abcd"}), 1, self.output)
        self.assertNotIn("second run", self.output)

    def test_no_tests(self):
        self.assertEqual(self.run_tests({}), 1, self.output)


if __name__ == "__main__":
    unittest.main()
