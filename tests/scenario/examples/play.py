"""Plays the example policies of config/examples: one gateway serves the tables of all of them, and each example
has its own play, plays/NAME.py, which writes records, asks the questions that the example was made for, and compares
every answer with a filter and a sort of its own; row keys are compared by their bytes.

Arguments: embedded or hbase, then the examples to play (all when none is named). KEYWAYD names the gateway, KW_SEED the
randomness, and KW_HBASE_ENV the file that tells where HBase is.
"""
import importlib
import os
import pathlib
import sys
import time

from world import World, gateway_for

PLAYS = pathlib.Path(__file__).resolve().parent / "plays"


def main():
    store = sys.argv[1]
    names = sys.argv[2:] or sorted(file.stem for file in PLAYS.glob("*.py"))
    plays = {name.replace("_", "-"): importlib.import_module(f"plays.{name.replace('-', '_')}") for name in names}
    seed = int(os.environ.get("KW_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}, store {store}", flush=True)
    began = time.monotonic()
    with gateway_for(plays, store) as gateway:
        print(f"{time.monotonic() - began:6.1f} s  the gateway is ready", flush=True)
        world = World(gateway, seed)
        for name, play in plays.items():
            began = time.monotonic()
            play.play(world)
            print(f"{time.monotonic() - began:6.1f} s  {name}", flush=True)
        world.close()


if __name__ == "__main__":
    main()
