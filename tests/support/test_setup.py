#!/usr/bin/env python3
"""Tests which commands scripts/setup runs to install packages: test_setup.py SOURCE_ROOT. The commands are replaced."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SETUP = pathlib.Path(sys.argv.pop(1)).resolve() / "scripts/setup"
COMMANDS = {
    "dpkg-query": 'eval package=\\$$#; case " $MISSING " in *" $package "*) exit 1 ;; esac; echo "install ok installed"',
    "id": 'echo "$USER_ID"',
    "apt-get": 'echo "apt-get $*" >>"$CALLS"; [ -z "$APT_FAILS" ]',
    "sudo": 'echo sudo >>"$CALLS"; exec "$@"',
    "sleep": "exit 0",
}


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, script in COMMANDS.items():
            path = self.folder / name
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)

    def run_setup(self, *arguments, user=1000, missing="", fails=""):
        calls = self.folder / "calls"
        calls.write_text("")
        env = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}", "USER_ID": str(user), "MISSING": missing, "CALLS": str(calls),
                            "APT_FAILS": fails}
        done = subprocess.run([SETUP, *arguments], env=env, check=False, capture_output=True, text=True)
        return done.returncode, calls.read_text(), done.stdout + done.stderr

    def test_nothing_is_missing(self):
        for user in (0, 1000):
            for arguments in ([], ["--tests"], ["--install"]):
                status, calls, text = self.run_setup(*arguments, user=user)
                self.assertEqual((status, calls), (0, ""), text)

    def test_root(self):
        status, calls, text = self.run_setup(user=0, missing="libuv1-dev libcsv-dev")
        self.assertEqual(status, 0, text)
        self.assertNotIn("sudo", calls)
        self.assertIn("libuv1-dev libcsv-dev\n", calls)

    def test_another_user(self):
        status, calls, text = self.run_setup(missing="libuv1-dev")
        self.assertEqual((status, calls), (3, ""), text)
        self.assertIn("sudo apt-get install --no-install-recommends libuv1-dev\n", text)

    def test_install(self):
        status, calls, text = self.run_setup("--install", "--tests", missing="mandoc")
        self.assertEqual(status, 0, text)
        self.assertRegex(calls, r"^sudo\napt-get .* update\nsudo\napt-get .* mandoc\n$")

    def test_packages_of_tests(self):
        self.assertEqual(self.run_setup(missing="mandoc")[0], 0)
        self.assertEqual(self.run_setup("--tests", missing="mandoc")[0], 3)

    def test_failure(self):
        status, calls, text = self.run_setup(user=0, missing="libuv1-dev", fails="yes")
        self.assertEqual(status, 1)
        self.assertEqual(calls.count(" update"), 3)
        self.assertIn("could not install: libuv1-dev", text)


unittest.main()
