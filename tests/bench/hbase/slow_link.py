"""A proxy that delays each reply of a server: slow_link.py PORT MILLISECONDS prints the port to use instead."""
import pathlib
import sys
import threading

sys.path += [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("histories", "support")]
from link import Link  # noqa: E402 (needs the path above)

link = Link(int(sys.argv[1]), 1)
link.faults = {"delay_us": 1000 * int(sys.argv[2]), "least_us": 1000 * int(sys.argv[2])}
print(link.port, flush=True)
threading.Event().wait()
