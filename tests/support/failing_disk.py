"""A disk that is full, fails or is slow: the library disk.c of the hostile tests, preloaded into keywayd (KW_DISK_LIBRARY)."""
import mmap
import os
import struct
import unittest

from keyway_gateway import POLICY, Gateway

NOTHING, WRITES, SYNCS, SLOW_SYNCS, BACKUP_WRITES, SLOW_BACKUP_SYNCS = range(6)


class Disk:
    """The files that the preloaded library reads."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "disk")
        with open(self.path, "wb") as file:
            file.write(bytes(16))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 16)

    def environment(self):
        """The environment of a keywayd on this disk."""
        return {"LD_PRELOAD": os.environ["KW_DISK_LIBRARY"], "KW_DISK": self.path, "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def fail(self, what, bytes_left=0):
        """WRITES, BACKUP_WRITES: writes fail after bytes_left more bytes. SLOW_SYNCS, SLOW_BACKUP_SYNCS: each sync takes
        bytes_left milliseconds."""
        self.memory[8:16] = struct.pack("q", bytes_left)
        self.memory[0:8] = struct.pack("q", what)


class DiskCase(unittest.TestCase):
    """A gateway on a disk that works until a test lets it fail."""
    policy = POLICY

    def setUp(self):
        self.gateway = Gateway(self.policy)
        self.disk = Disk(self.gateway.folder)
        self.gateway.environment = self.disk.environment()
        self.gateway.start()

    def tearDown(self):
        self.disk.fail(NOTHING)
        self.gateway.__exit__(None, None, None)
