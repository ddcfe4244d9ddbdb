#!/usr/bin/env python3
"""Runs the tests of a build folder with ctest and separates unstable tests from failed ones.

    run_tests.py BUILD_FOLDER KNOWN_UNSTABLE_FILE CTEST_ARGUMENT...

Up to three failed tests run again, one at a time, unless a sanitizer reported something in the first run: what a
sanitizer finds once is a defect. A test that passes only in its second run is unstable. It counts as a failure of
its own kind unless the file lists it: one test per line, with its name, the date of the entry and the reason.
An entry expires after 60 days.

Exit status: 0 passed, 1 tests failed, 2 the file has a problem, 3 no test failed twice but some are unstable.
"""
import datetime
import pathlib
import re
import subprocess
import sys

MAX_REPEATED = 3
MAX_AGE_DAYS = 60
SANITIZER = re.compile(rb"ERROR: [A-Za-z]*Sanitizer|WARNING: ThreadSanitizer|runtime error:")


def entry_problem(fields, today):
    """What is wrong with the fields of a line, or None."""
    if len(fields) < 3:
        return "expected: TEST_NAME YYYY-MM-DD REASON"
    try:
        age = (today - datetime.date.fromisoformat(fields[1])).days
    except ValueError:
        return f"{fields[1]} is not a date of the form YYYY-MM-DD"
    if age < 0:
        return f"{fields[1]} is in the future"
    if age > MAX_AGE_DAYS:
        return f"the entry of {fields[0]} is {age} days old; the limit is {MAX_AGE_DAYS}: make the test stable"
    return None


def read_known(path):
    """The names in the file, and its problems as text."""
    names, problems = set(), []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split(None, 2)
        if not fields or fields[0].startswith("#"):
            continue
        problem = entry_problem(fields, datetime.date.today())
        if problem:
            problems.append(f"{path}:{number}: {problem}")
        names.add(fields[0])
    return names, problems


def run_ctest(build, arguments):
    """The exit status of ctest and the names of the failed tests."""
    failed = build / "Testing/Temporary/LastTestsFailed.log"
    failed.unlink(missing_ok=True)
    status = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", *arguments], check=False).returncode
    if not failed.exists():
        return status, []
    return status, [line.partition(":")[2] for line in failed.read_text().splitlines() if line]


def sanitizer_reported(build):
    log = build / "Testing/Temporary/LastTest.log"
    return log.exists() and SANITIZER.search(log.read_bytes()) is not None


def exactly(names):
    """A ctest expression that matches these tests and no others."""
    return "^(" + "|".join(re.sub(r"[^\w/-]", lambda match: f"[{match.group()}]", name) for name in names) + ")$"


def run(build, known, arguments):
    status, failed = run_ctest(build, arguments)
    if status == 0:
        return 0
    if not failed or len(failed) > MAX_REPEATED or sanitizer_reported(build):
        return 1
    print(f"== {build}: second run, one test at a time: {' '.join(failed)}", flush=True)
    status, again = run_ctest(build, ["-j", "1", "--no-tests=error", "-R", exactly(failed)])
    if status != 0 and not again:
        return 1
    passed = [name for name in failed if name not in again]
    for name in passed:
        print(f"unstable test{' (known)' if name in known else ''}: {name} failed, then passed in its second run")
    return 1 if again else 3 if set(passed) - known else 0


def main():
    build, known_file, arguments = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    known, problems = read_known(known_file)
    print(*problems, sep="\n", end="\n" if problems else "", flush=True)
    status = run(build, known, arguments)
    return status or (2 if problems else 0)


if __name__ == "__main__":
    sys.exit(main())
