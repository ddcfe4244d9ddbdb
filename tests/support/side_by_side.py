"""Runs the tests of a program in processes of their own, several at the same time: for tests that mostly wait."""
import concurrent.futures
import subprocess
import sys
import unittest


def names(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names(test)
        else:
            yield test.id().removeprefix("__main__.")


def main(arguments, at_once=3):
    """`arguments` are those of the program itself, before the names of tests. With such names on the command line, runs them here."""
    if len(sys.argv) > 1:
        unittest.main(verbosity=2, warnings="ignore")

    def run(test):
        return subprocess.run([sys.executable, sys.argv[0], *arguments, test], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)

    tests = list(names(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])))
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        done = list(pool.map(run, tests))
    for each in done:
        print(each.stdout)
    failed = [test for test, each in zip(tests, done) if each.returncode != 0]
    print(f"{len(tests)} tests, failed: {', '.join(failed) or 'none'}")
    sys.exit(1 if failed or not tests else 0)
