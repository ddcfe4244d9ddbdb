"""One changed byte on disk, or a missing, cut or doubled file: keywayd refuses to start, reports the file and what to do, and
changes nothing; --repair counts the rows that it drops. (unit.embedded_damage changes every byte, unit.embedded_files every
file.)"""
import hashlib
import os
import re
import shutil
import signal
import subprocess
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, daemon, plain, record
from keyway_thrift.ttypes import Query

ROWS = 300


class Damage(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(POLICY).start()
        data = self.gateway.data()
        for i in range(ROWS):
            data.put("events", record(id="a", ts=i, note=f"row {i}"), None)
        data.close()
        self.gateway.process.send_signal(signal.SIGKILL)
        self.gateway.process.wait(PATIENCE)
        rows = os.path.join(self.gateway.folder, "data", "rows")
        self.log = max((os.path.join(rows, name) for name in os.listdir(rows) if name.endswith(".log")), key=os.path.getsize)

    def tearDown(self):
        self.gateway.__exit__(None, None, None)

    def contents(self):
        """The files of the store, without the one that gets the number of the process."""
        found = {}
        for folder, _, names in os.walk(os.path.join(self.gateway.folder, "data")):
            for name in set(names) - {"lock"}:
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.join(folder, name)] = hashlib.md5(file.read()).hexdigest()
        return found

    def change_byte(self, at):
        with open(self.log, "r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 0xff]))

    def refused(self):
        self.gateway.expect_start = False
        before = len(self.gateway.log())
        self.gateway.start()
        self.assertEqual(self.gateway.wait_for_exit(), 4, self.gateway.log())
        self.gateway.check_log()
        return self.gateway.log()[before:]

    def repair(self, code=0):
        done = subprocess.run([daemon(), "--repair", "--config", self.gateway.policy_file], capture_output=True, text=True,
                              timeout=PATIENCE, check=False, cwd=self.gateway.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def rows(self):
        self.gateway.expect_start = True
        self.gateway.start()
        data = self.gateway.data()
        found = data.scan(Query(table="events", bound=record(id="a"), page_rows=1000)).rows
        data.close()
        self.gateway.stop()
        return [plain(row)["note"] for row in found]

    def test_kill_alone_loses_nothing(self):
        self.assertEqual(len(self.rows()), ROWS)

    def test_a_changed_byte(self):
        for share in (0.1, 0.5, 0.999):
            with self.subTest(share=share):
                at = int(os.path.getsize(self.log) * share)
                self.change_byte(at)
                log = self.refused()
                self.assertIn(self.log, log)
                place = int(re.search(r"is damaged at byte (\d+)", log)[1])
                self.assertLessEqual(place, at)
                self.assertGreater(place, at - 1000)
                self.assertIn("keywayd --repair", log)
                self.change_byte(at)
        self.assertEqual(len(self.rows()), ROWS)

    def test_repair(self):
        self.change_byte(os.path.getsize(self.log) // 2)
        self.refused()
        said = self.repair()
        damaged = int(re.search(r"damaged: 1 commit with at least (\d+) row", said)[1])
        after = int(re.search(r"whole, after the damage: \d+ commits with (\d+) rows", said)[1])
        left = self.rows()
        # At least: if the changed byte makes the commit unreadable, none of its rows is counted.
        self.assertIn(ROWS - len(left) - after, (damaged, 1))
        self.assertEqual(left, [f"row {i}" for i in range(len(left) - 1, -1, -1)], "the rows before the damage")
        self.assertIn("nothing was dropped", self.repair())
        copies = re.search(r"are in (\S+)", said)[1]
        self.assertGreater(os.path.getsize(os.path.join(copies, os.path.basename(self.log))), 0)

    def test_a_torn_end(self):
        """The process died while it wrote another record."""
        with open(self.log, "ab") as file:
            file.write(b"\x12\x34\x56\x78\x9a")
        self.assertEqual(len(self.rows()), ROWS)
        self.assertIn("which was never acknowledged", self.gateway.log())

    def test_a_missing_end(self):
        """The last row was acknowledged."""
        os.truncate(self.log, os.path.getsize(self.log) - 5)
        before = self.contents()
        self.assertIn(f"{self.log} ends too early", self.refused())
        self.assertEqual(self.contents(), before)
        self.assertIn("missing after the last commit", self.repair())
        self.assertEqual(len(self.rows()), ROWS - 1)

    def flush(self):
        """Makes RocksDB flush its log to a table file, by a restart, and writes further rows. A flush is a record of the
        manifest, and then its log is removed."""
        self.gateway.expect_start = True
        self.gateway.start()
        data = self.gateway.data()
        for i in range(ROWS, 2 * ROWS):
            data.put("events", record(id="a", ts=i, note=f"row {i}"), None)
        data.close()
        self.gateway.process.send_signal(signal.SIGKILL)
        self.gateway.process.wait(PATIENCE)

    def rows_files(self, suffix):
        folder = os.path.join(self.gateway.folder, "data", "rows")
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(suffix) or name.endswith(suffix))

    def test_files(self):
        """Removes, cuts and doubles each kind of file."""
        self.flush()
        saved = os.path.join(self.gateway.folder, "saved")
        data = os.path.join(self.gateway.folder, "data")
        shutil.copytree(data, saved)
        manifest = self.rows_files("MANIFEST-")[-1]
        paths = [manifest, *self.rows_files("CURRENT"), self.rows_files(".log")[-1], *self.rows_files(".sst")]
        self.assertGreaterEqual(len(paths), 4)
        for path in paths:
            with open(path, "rb") as file:
                content = file.read()
            for what, changed in (("removed", None), ("empty", b""), ("cut", content[:len(content) // 3]), ("doubled", 2 * content)):
                with self.subTest(file=os.path.basename(path), what=what):
                    os.unlink(path)
                    if changed is not None:
                        with open(path, "wb") as file:
                            file.write(changed)
                    before = self.contents()
                    self.assertIn(path, self.refused())
                    self.assertEqual(self.contents(), before)
                shutil.rmtree(data)
                shutil.copytree(saved, data)
        self.assertEqual(len(self.rows()), 2 * ROWS)

    def test_repair_of_a_store_in_use(self):
        self.gateway.expect_start = True
        self.gateway.start()
        self.repair(code=4)
        self.gateway.stop()

    def test_repair_of_another_store(self):
        policy = POLICY.replace("kind: embedded\n  path: {folder}/data", "kind: hbase\n  servers: [127.0.0.1:9]")
        self.gateway.expect_start = False
        self.gateway.write_policy(policy)
        self.repair(code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
