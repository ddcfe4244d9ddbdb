"""The addresses of the test fixture's HBase. KW_HBASE_ENV names the file that contains them."""
import os
import sys
import time

SKIPPED = 77

# Codes of errors after which a caller repeats a call.
TEMPORARY_CODES = (5, 6, 7)  # BUSY, TIMEOUT, UNAVAILABLE


class Patient:
    """A client that repeats calls that fail temporarily, as callers should. On a machine with many more threads than cores,
    a lease renewal or a measurement of the clock can have no answer in time; until the next one, the gateway answers no
    calls. For reads, and for writes that can be repeated."""

    def __init__(self, client, seconds=120):
        self._client = client
        self._seconds = seconds

    def __getattr__(self, name):
        method = getattr(self._client, name)

        def call(*arguments):
            end = time.monotonic() + self._seconds
            while True:
                try:
                    return method(*arguments)
                except Exception as error:  # pylint: disable=broad-except
                    if getattr(error, "code", None) not in TEMPORARY_CODES or time.monotonic() > end:
                        raise
                    print(f"repeated: {name}: {error}", flush=True)
                    time.sleep((getattr(error, "retry_after_ms", None) or 250) / 1000)
        return call


def skip(why):
    """Ends the test; ctest reports it as skipped."""
    print("SKIPPED:", why)
    sys.exit(SKIPPED)


def hbase_servers():
    """The fixture's variables: KW_HBASE_BUFFERED and KW_HBASE_FRAMED are addresses of Thrift2 servers. Skips without an HBase."""
    with open(os.environ["KW_HBASE_ENV"], encoding="utf-8") as file:
        variables = dict(line.strip().split("=", 1) for line in file if "=" in line)
    if "KW_HBASE_SKIP" in variables:
        skip(variables["KW_HBASE_SKIP"])
    return variables
