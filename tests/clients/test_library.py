"""Runs test_library.c against a gateway of this process, in all four transport and protocol combinations.

Arguments: the test program.
"""
import os
import subprocess
import sys

from fake_gateway import FakeGateway
from keyway_thrift import ttypes as t


def main():
    for framed in (False, True):
        for compact in (False, True):
            form = " ".join(["framed"] * framed + ["compact"] * compact)
            with FakeGateway(framed, compact) as gateway, FakeGateway(framed, compact) as closing:
                closing.close_after_answer = True
                gateway.handler.versions = [(7, {"status": t.Value(text="paid")}), (5, {"status": t.Value(text="new")})]
                env = {**os.environ, "KW_TEST_GATEWAY": gateway.address, "KW_TEST_CLOSING": closing.address, "KW_TEST_FORM": form}
                # Any combination would show the leak; the many puts run once.
                skip = ["-s", "/library/nothing-leaks"] if framed or compact else []
                print(f"# {form or 'unframed binary'}", flush=True)
                if subprocess.run([sys.argv[1], "--tap", *skip], env=env, timeout=500).returncode != 0:
                    sys.exit(1)


if __name__ == "__main__":
    main()
