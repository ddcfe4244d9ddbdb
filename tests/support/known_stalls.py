"""Pieces of work that are known to use an event loop for longer than the limit (base/stall.h), and the check that a log has
no others."""
import json
import os
import re
import shlex
import sys

LARGEST = "stalls|hostile_input|large_calls|large_writes|memory|unfinished"

# Each entry is a defect that is not mended yet: the tests, the call and its table, the most milliseconds of processor time
# without sanitizers, and the reason. All of them need a message of almost limits.frame, or a reply as large as that.
KNOWN = (
    (LARGEST, "(get|scan|explainPut) of table .*", 60, "a message of limits.frame is decoded, converted and checked in one piece"),
    (LARGEST, "(put|putMany|putIf|compareAndPut|removeMany) of table .*", 80,
     "the same, with the cells of limits.cells, which are also encoded and passed to the store in this piece"),
    (LARGEST, "getMany of table .*", 100, "the same; and rows of up to limits.frame that arrive together become records in one piece"),
    ("admin_calls|" + LARGEST, "no call", 60, "the memory of a large call is freed in one piece"),
)

# The processor time of a virtual machine includes pauses of the machine itself: a loop that only reads clocks was seen to
# use 8 ms at once. So one unknown stall of a log is not judged, except in the tests that look for stalls. A piece of work
# that is too long comes again.
PAUSES = 1


def test_name():
    return os.path.basename(sys.argv[0]).removesuffix(".py")


def is_known(call, cpu_ms, slower):
    test = test_name()
    return any(re.fullmatch(tests, test) and re.fullmatch(pattern, call) and cpu_ms <= most_ms * slower
               for tests, pattern, most_ms, _ in KNOWN)


def stalls(log):
    """The stalls in a log: pairs of the call and its milliseconds."""
    for line in log.splitlines():
        if '"event":"stall"' in line:
            facts = json.loads(line)
        elif ' event="stall" ' in line:
            facts = dict(word.split("=", 1) for word in shlex.split(line) if "=" in word)
        else:
            continue
        yield facts["call"], int(facts["cpu_ms"])


def check(log, is_sanitized):
    slower = 10 if is_sanitized else 1
    unknown = [f"{call}: {cpu_ms} ms" for call, cpu_ms in stalls(log) if not is_known(call, cpu_ms, slower)]
    pauses = 0 if re.fullmatch(LARGEST, test_name()) else PAUSES
    assert len(unknown) <= pauses, f"pieces of work used an event loop for too long: {'; '.join(unknown)}\nkeywayd's log:\n{log}"
