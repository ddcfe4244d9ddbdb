"""A small disk that is really full: a file system in memory of 160 MiB. Writes fail and reads continue, while the disk is full and
when it has only a little free space again; writes continue when it has enough; no acknowledged record is lost, and the
gateway does not end. Needs the right to mount a file system; otherwise the test is skipped.
"""
import os
import subprocess
import sys
import tempfile
import unittest

from keyway_gateway import Gateway, plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Query

SKIPPED = 77
MIB = 1024 * 1024
POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
loops: 1
store: {{kind: embedded, path: DISK/data}}
tables:
  t:
    fields: {{id: int, value: bytes}}
    key: [id]
"""


class SmallDisk(unittest.TestCase):
    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="keyway-disk-")
        self.addCleanup(os.rmdir, self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160M", "tmpfs", self.disk], check=True)
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)
        self.ballast("small", 1)
        self.ballast("large", 80)
        self.gateway = Gateway(POLICY.replace("DISK", self.disk))
        self.gateway.start()
        self.addCleanup(self.gateway.__exit__, None, None, None)
        self.data = self.gateway.data()
        self.next = 0
        self.acknowledged, self.unknown = set(), set()

    def ballast(self, name, mib):
        with open(os.path.join(self.disk, name), "wb") as file:
            file.write(bytes(mib * MIB))

    def free_mib(self):
        found = os.statvfs(self.disk)
        return found.f_bavail * found.f_frsize / MIB

    def put(self, size=100):
        """The error; None if the record was acknowledged."""
        number = self.next
        self.next += 1
        try:
            self.data.put("t", record(id=number, value=os.urandom(size)), None)
        except KeywayError as error:
            if error.maybe_applied:
                self.unknown.add(number)
            return error
        self.acknowledged.add(number)
        return None

    def check_stored(self):
        page = self.data.scan(Query(table="t", full_scan=True, columns=["id"]))
        found = {plain(row)["id"] for row in page.rows}
        while page.cursor:
            page = self.data.nextPage(page.cursor, None)
            found |= {plain(row)["id"] for row in page.rows}
        self.assertLessEqual(self.acknowledged, found)
        self.assertLessEqual(found, self.acknowledged | self.unknown)

    def test_full_and_free_again(self):
        error = None
        while not error:
            error = self.put(20000)
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertIn("the disk is full; free 64 MiB on it", error.message)
        self.check_stored()
        wait_until(lambda: not self.gateway.ready()["ready"], "/readyz to report the full disk")
        self.assertIn("is full; writes continue when it has 64 MiB of free space", str(self.gateway.ready()["reasons"]))
        os.unlink(os.path.join(self.disk, "small"))
        self.put()  # can succeed or fail, but does not end the gateway
        self.check_stored()
        os.unlink(os.path.join(self.disk, "large"))
        self.assertGreater(self.free_mib(), 64)
        wait_until(lambda: self.put() is None, "writes to succeed again", 60)
        wait_until(lambda: self.gateway.ready()["ready"], "/readyz to return 200", 60)
        self.check_stored()
        self.data.close()
        self.gateway.restart()
        self.data = self.gateway.data()
        self.check_stored()
        self.data.close()


def can_mount():
    folder = tempfile.mkdtemp(prefix="keyway-disk-")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", folder], capture_output=True, check=False)
    if done.returncode == 0:
        subprocess.run(["umount", folder], check=True)
    os.rmdir(folder)
    return done.returncode == 0


if __name__ == "__main__":
    if os.geteuid() != 0 or not can_mount():
        print("SKIPPED: this user cannot mount a file system")
        sys.exit(SKIPPED)
    unittest.main()
