"""Comes back to a point in time on a real HBase, as docs/backup.md describes: snapshots of all store tables, an export of the
catalog before them, also in the middle of a change of a key rule. In place of the HBase shell, HBase's client for Java runs
its commands.
"""
import json
import os
import subprocess
import sys
import unittest

from catalog_backup import AHEAD, Backup
from changing import keyway, put_all
from coming_back import ROWS, SALTED, STORE
from keyway_gateway import record, wait_until
from keyway_hbase import hbase_servers

SKIPPED = 77
WRITERS = os.path.join(os.path.dirname(__file__), "..", "support", "writers", "run.sh")


class PointInTime(Backup):
    def setUp(self):
        super().setUp()
        self.shell_process = subprocess.Popen([WRITERS, hbase_servers()["KW_HBASE_ZOOKEEPER"]], stdin=subprocess.PIPE,
                                              stdout=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(self.end_shell)

    def end_shell(self):
        self.shell_process.communicate("")

    def run_in_shell(self, do, table, **more):
        self.shell_process.stdin.write(json.dumps({"do": do, "table": table, **more}) + "\n")
        self.shell_process.stdin.flush()
        line = self.shell_process.stdout.readline()
        if not line:
            code = self.shell_process.wait()
            if code == SKIPPED:
                sys.exit(SKIPPED)
            self.fail(f"{do} {table}: exit code {code}")

    def store_tables(self):
        """Those that the export names, and that of the sequences."""
        named = self.shell(self.documented("grep -P")).splitlines()
        return [json.loads("{" + one + "}")["store_table"] for one in named] + [f"{self.name}_sequences"]

    def come_back_from(self, gateway, tables):
        gateway.stop()
        for table in tables:
            self.run_in_shell("restore", table, snapshot=f"{table}_s")
        self.run_in_shell("drop", f"{self.name}_catalog")
        gateway.start()
        wait_until(lambda: any("keyway policy import" in reason for reason in gateway.ready()["reasons"]), "an empty catalog")
        self.assertIn("were imported", self.load(gateway)[0])
        wait_until(lambda: gateway.ready()["ready"] and not gateway.ready()["warnings"], "the gateway to serve")

    def test_in_the_middle_of_a_change(self):
        gateway = self.start()
        first = self.bill(gateway, "a")
        self.change(gateway, self.with_sequence(SALTED), complete=False)
        self.save(gateway)
        tables = self.store_tables()
        self.assertIn(f"{self.name}_by_seller_L2", tables)
        put_all(gateway, "orders", [record(no=f"o{ROWS:04}", seller="s0", n=ROWS)])  # newer than the export
        for table in tables:
            self.run_in_shell("snapshot", table, snapshot=f"{table}_s")
        keyway(gateway, "catalog", "export", os.path.join(gateway.folder, "after.txt"))
        self.assertEqual(self.shell(self.documented("diff <(")), "")
        # what is lost: the end of the change, and later rows
        self.complete(gateway)
        put_all(gateway, "orders", [record(no=f"o{ROWS + 1:04}", seller="s1", n=ROWS + 1)])
        last = self.bill(gateway, "b")
        self.come_back_from(gateway, tables)
        self.expect_all(gateway, ROWS + 1)
        self.assertGreater(self.bill(gateway, "c"), max(last, first + AHEAD - 1))
        self.wait_until_compared(gateway)
        self.complete(gateway)
        self.expect_all(gateway, ROWS + 1)


if __name__ == "__main__":
    assert STORE == "hbase"
    # The inherited tests run in catalog_backup.py.
    unittest.main(verbosity=2, warnings="ignore", argv=[sys.argv[0], "PointInTime.test_in_the_middle_of_a_change"])
