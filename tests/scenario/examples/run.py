"""Tests the example policies of config/examples. One gateway serves the tables of all policies. The test of a policy,
example_tests/NAME.py, writes records, runs the queries that the policy is designed for, and compares every result with
a filter and a sort of its own. It also compares the bytes of row keys.

Arguments: embedded or hbase, then the names of policies (default: all). Environment: KEYWAYD is the gateway's program,
KW_SEED the seed, and KW_HBASE_ENV the file with HBase's addresses.
"""
import importlib
import os
import pathlib
import sys
import time

from world import World, gateway_for

FOLDER = pathlib.Path(__file__).resolve().parent / "example_tests"


def main():
    store = sys.argv[1]
    names = sys.argv[2:] or sorted(file.stem for file in FOLDER.glob("*.py"))
    tests = {name.replace("_", "-"): importlib.import_module(f"example_tests.{name.replace('-', '_')}") for name in names}
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}, store {store}", flush=True)
    began = time.monotonic()
    with gateway_for(tests, store) as gateway:
        print(f"{time.monotonic() - began:6.1f} s  the gateway is ready", flush=True)
        world = World(gateway, seed)
        for name, test in tests.items():
            began = time.monotonic()
            test.run(world)
            print(f"{time.monotonic() - began:6.1f} s  {name}", flush=True)
        world.close()


if __name__ == "__main__":
    main()
