"""Where the HBase of the tests' fixture is, for scenarios on a real cluster. KW_HBASE_ENV names the file that tells it."""
import os
import sys

SKIPPED = 77

# For a policy's store: on a busy machine HBase says nothing for seconds, and is not lost. Whoever plays a loss does without.
PATIENT = "connect_timeout: 30s"
# And its answers take so long that HBase's clock is known to seconds only: writes wait instead of being refused.
WIDE_CLOCK = "clock_width: 10s"


def skip(why):
    """Ends the test; ctest counts it as skipped."""
    print("SKIPPED:", why)
    sys.exit(SKIPPED)


def hbase_servers():
    """The fixture's variables: KW_HBASE_BUFFERED and KW_HBASE_FRAMED are addresses of Thrift2 servers. Skips without an HBase."""
    with open(os.environ["KW_HBASE_ENV"], encoding="utf-8") as file:
        told = dict(line.strip().split("=", 1) for line in file if "=" in line)
    if "KW_HBASE_SKIP" in told:
        skip(told["KW_HBASE_SKIP"])
    return told
