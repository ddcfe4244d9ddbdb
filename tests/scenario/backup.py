"""keyway backup, and docs/backup.md: a backup that is made while callers write and a key rule is being changed is a folder
with which the gateway starts. It has every record that was acknowledged before the backup began."""
import os
import shutil
import signal
import threading
import unittest

import changing
import hbase_places
from change_case import HASHED, ChangeCase, policy
from changing import call, keyway, order, status, wait_until_compared, wait_until_ended
from keyway_gateway import PATIENCE, Gateway, plain, record, wait_until
from keyway_thrift.ttypes import Code, Query

SETTINGS = changing.SETTINGS.replace("path: {folder}/data", "path: {folder}/data, backup_folder: {folder}/backups")


class Writer(threading.Thread):
    """Puts records with increasing numbers until it is stopped."""

    def __init__(self, gateway):
        super().__init__()
        self.data, self.acknowledged, self.stopping, self.failure = gateway.data(), 0, False, None

    def run(self):
        try:
            while not self.stopping:
                self.data.put("t", record(id="writer", ts=self.acknowledged, n=1), None)
                self.acknowledged += 1
        except Exception as error:
            self.failure = error

    def stop(self):
        self.stopping = True
        self.join(PATIENCE)
        self.data.close()


class Backup(ChangeCase):
    def setUp(self):
        self.gateway = Gateway(SETTINGS)
        self.backups = os.path.join(self.gateway.folder, "backups")
        os.mkdir(self.backups)
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__, None, None, None)
        self.stable = {}

    def lose_data(self):
        self.gateway.process.send_signal(signal.SIGKILL)
        self.gateway.process.wait(PATIENCE)
        shutil.rmtree(os.path.join(self.gateway.folder, "data"))

    def restore(self, name):
        shutil.copytree(os.path.join(self.backups, name), os.path.join(self.gateway.folder, "data"))
        self.before = len(self.gateway.log())
        self.gateway.start()
        wait_until(lambda: self.gateway.ready()["ready"], "the gateway to serve")

    def written(self):
        data = self.gateway.data()
        found = data.scan(Query(table="t", bound=record(id="writer"), page_rows=100000)).rows
        data.close()
        return {plain(row)["ts"] for row in found}

    def test_restored(self):
        self.fill()
        self.begin_slowly()
        writer = Writer(self.gateway)
        writer.start()
        wait_until(lambda: writer.acknowledged > 100, "the writer")
        before = writer.acknowledged
        self.assertRegex(keyway(self.gateway, "backup", "monday")[0], r"^backup monday: \d{5,} bytes\n$")
        after = writer.acknowledged
        self.assertEqual(sorted(os.listdir(os.path.join(self.backups, "monday"))), ["acknowledged", "filled", "format", "rows"])
        wait_until(lambda: writer.acknowledged > after + 100 or writer.failure, "the writer to go on")
        writer.stop()
        self.assertIsNone(writer.failure)
        self.lose_data()
        self.restore("monday")
        log = self.gateway.log()[self.before:]
        self.assertNotIn("level=warn", log)
        self.assertNotIn("never acknowledged", log)
        written = self.written()
        self.assertLessEqual(set(range(before)), written)
        self.assertEqual(written, set(range(len(written))), "the records are those up to one moment")
        change = status(self.gateway, "t")
        self.assertEqual((change.version, change.limit_rows_per_second, change.copied), ("both-old", 400, False))
        order(self.gateway, "t", "throttle", rows_per_second=0)
        done = wait_until_compared(self.gateway, "t")
        self.assertEqual((done.missing, done.different, done.extra), (0, 0, 0))
        order(self.gateway, "t", "switch")
        order(self.gateway, "t", "complete", expire_cursors=True)
        wait_until_ended(self.gateway, "t")
        self.assertEqual(self.written(), written)
        for number in range(0, self.rows, 500):
            self.assertEqual(self.get(f"r{number // 3:06}", number % 3)["n"], number)

    def test_restored_twice(self):
        """A store that was restored makes backups that can be restored."""
        self.fill(300)
        keyway(self.gateway, "backup", "first")
        self.lose_data()
        self.restore("first")
        data = self.gateway.data()
        data.put("t", record(id="writer", ts=0, n=1), None)
        data.close()
        keyway(self.gateway, "backup", "second")
        self.lose_data()
        self.restore("second")
        self.assertEqual(self.written(), {0})
        self.lose_data()
        self.restore("first")
        self.assertEqual(self.written(), set())

    def test_refused(self):
        changing.apply(self.gateway, policy(HASHED), 0)
        keyway(self.gateway, "backup", "a-1.b_C")
        before = self.contents("a-1.b_C")
        self.assertIn("there is a backup named a-1.b_C already", keyway(self.gateway, "backup", "a-1.b_C", code=1)[1])
        self.assertEqual(self.contents("a-1.b_C"), before)
        for name in ("", ".", "..", "../up", "a/b", "/tmp/x", ".hidden", "a b", "é", "a\0b", "x" * 101):
            self.refuse(Code.INVALID, "cannot be the name of a backup", call, self.gateway, "backup", name)
        self.assertEqual(sorted(os.listdir(self.backups)), ["a-1.b_C", "lock"])
        os.rename(self.backups, self.backups + ".gone")
        error = self.refuse(Code.UNAVAILABLE, "the backup b failed", call, self.gateway, "backup", "b")
        self.assertNotIn(self.backups, error.message)
        self.assertIn("cannot open the file lock", self.gateway.log())

    def contents(self, name):
        rows = os.path.join(self.backups, name, "rows")
        return {file: os.stat(os.path.join(rows, file)).st_mtime_ns for file in os.listdir(rows)}

    def test_an_unfinished_backup_is_removed(self):
        changing.apply(self.gateway, policy(HASHED), 0)
        rest = os.path.join(self.backups, ".partial", "rows.tmp")
        os.makedirs(rest)
        with open(os.path.join(rest, "000001.sst"), "w", encoding="ascii") as file:
            file.write("x")
        keyway(self.gateway, "backup", "next")
        self.assertEqual(sorted(os.listdir(self.backups)), ["lock", "next"])

    def test_without_the_setting(self):
        with Gateway(changing.SETTINGS) as gateway:
            self.refuse(Code.REFUSED, "set store: backup_folder", call, gateway, "backup", "a")

    def test_another_store(self):
        text = policy(HASHED).replace("{", "{{").replace("}", "}}")
        place = hbase_places.Simulated()
        self.addCleanup(place.stop)
        with Gateway("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\n" + place.store("backup") + text) as gateway:
            wait_until(lambda: gateway.ready()["ready"], "the gateway to serve")
            self.refuse(Code.REFUSED, "for HBase, take snapshots", call, gateway, "backup", "a")


if __name__ == "__main__":
    unittest.main()
