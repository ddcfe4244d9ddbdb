"""A backup on a full or slow disk, and a gateway that is killed while it makes one: callers do not wait for it, nothing but
.partial is left of a backup that is not complete, and the next backup removes that.

The disk is simulated by disk.c, which is preloaded into keywayd (KW_DISK_LIBRARY). It affects only the files of the backup.
"""
import os
import signal
import threading
import time
import unittest

from failing_disk import BACKUP_WRITES, NOTHING, SLOW_BACKUP_SYNCS, DiskCase
from keyway_gateway import PATIENCE, POLICY, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError

SYNC_MS = 3000


class Backups(DiskCase):
    policy = POLICY.replace("{folder}/data", "{folder}/data\n  backup_folder: {folder}/backups")

    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.gateway.folder, "backups")
        os.mkdir(self.folder)

    def put(self, number):
        """Puts a record; returns the seconds that it took."""
        data = self.gateway.data()
        began = time.monotonic()
        data.put("events", record(id="a", ts=number, note="x" * 100), None)
        took = time.monotonic() - began
        data.close()
        return took

    def backup(self, name):
        admin = self.gateway.admin()
        try:
            return admin.backup(name).bytes
        finally:
            admin.close()

    def begin(self, name):
        """Begins a backup whose syncs are slow; returns the thread that waits for it and the list that gets its result."""
        results = []

        def run():
            try:
                results.append(self.backup(name))
            except Exception as error:
                results.append(error)
        self.disk.fail(SLOW_BACKUP_SYNCS, SYNC_MS)
        thread = threading.Thread(target=run)
        thread.start()
        wait_until(lambda: os.path.exists(os.path.join(self.folder, ".partial")), "the backup to begin")
        return thread, results

    def names(self):
        return sorted(set(os.listdir(self.folder)) - {"lock"})

    def test_a_full_disk(self):
        self.put(1)
        for left in (0, 20, 100, 200):
            with self.subTest(bytes_left=left):
                self.disk.fail(BACKUP_WRITES, left)
                with self.assertRaises(KeywayError) as caught:
                    self.backup("full")
                self.assertEqual(caught.exception.code, Code.UNAVAILABLE)
                self.assertFalse(caught.exception.maybe_applied)
                self.assertIn("the disk of backup_folder is full", caught.exception.message)
                self.assertNotIn(self.folder, caught.exception.message)
                self.assertEqual(self.names(), [])
                self.put(2 + left)
        self.assertIn(self.folder, self.gateway.log())
        self.disk.fail(NOTHING)
        self.assertGreater(self.backup("full"), 0)
        self.assertEqual(self.names(), ["full"])
        self.assertTrue(self.gateway.ready()["ready"])

    def test_a_slow_disk(self):
        """Puts do not wait for the backup; a second backup is not begun."""
        self.put(1)
        waiting, results = self.begin("slow")
        slowest = max(self.put(2 + i) for i in range(20))
        with self.assertRaises(KeywayError) as caught:
            self.backup("other")
        self.assertEqual(caught.exception.code, Code.BUSY)
        self.assertEqual(results, [], "the backup is complete already")
        self.assertLess(slowest, SYNC_MS / 1000)
        waiting.join(PATIENCE)
        self.assertGreater(results[0], 0)
        self.assertEqual(self.names(), ["slow"])

    def test_a_killed_gateway(self):
        self.put(1)
        waiting, results = self.begin("killed")
        time.sleep(0.5)
        self.gateway.process.send_signal(signal.SIGKILL)
        self.gateway.process.wait(PATIENCE)
        waiting.join(PATIENCE)
        self.assertIsInstance(results[0], Exception)
        self.assertEqual(self.names(), [".partial"])
        self.disk.fail(NOTHING)
        self.gateway.start()
        self.assertGreater(self.backup("killed"), 0)
        self.assertEqual(self.names(), ["killed"])


if __name__ == "__main__":
    unittest.main()
