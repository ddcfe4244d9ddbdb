"""The addresses of the test fixture's HBase. KW_HBASE_ENV names the file that contains them."""
import os
import sys

SKIPPED = 77

# For the store section of a policy: on a busy machine HBase can be silent for seconds. Tests of a lost HBase omit this.
PATIENT = "connect_timeout: 30s"
# On such a machine HBase's clock is known only to seconds: let writes wait instead of rejecting them.
WIDE_CLOCK = "clock_width: 10s"


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
