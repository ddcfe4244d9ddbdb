"""The system's time zone data change while a table has rows: the rows stay visible, and their keys stay as they are.

Each test compiles zone data with zic, and starts gateways with TZDIR. A policy's key begins with the local day, so the
tests see which data a key was made with.
"""
import contextlib
import os
import shutil
import subprocess
import tempfile
import unittest

from changing import SETTINGS, apply, call, keyway, order, wait_until_compared, wait_until_ended
from keyway_gateway import Gateway, free_ports, plain, record, value, wait_until
from keyway_thrift.ttypes import KeywayError, Query, Range

# Local mean time ended in FIRST_YEAR. Summer time, from April to October, ends with LAST_YEAR.
ZONE = """\
Rule X 2000 {last} - Apr Sun>=1 2:00 1:00 D
Rule X 2000 {last} - Oct lastSun 2:00 0 S
Zone Test/Zone -6:36:36 - LMT {first} Jan 1 7:00u
 -6:00 {rules}
"""
FILE_SETTINGS = "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 1\nstore: {{kind: embedded, path: {folder}/data}}\n"
TABLES = """\
tables:
  visits:
    fields: {{id: int, ts: {{type: timestamp, unit: ms, column: 'd:ts'}}, note: string}}
    key: [{{calendar: {{of: ts, parts: [yyyy, MM, dd, HH], zone: Test/Zone{data}}}}}, id, {{field: ts}}]
"""
OTHER = "  plain:\n    fields: {{id: int, note: string}}\n    key: [id]\n"
EARLY = -1540000000000  # 1921-03-14, local mean time under one edition of the data
SUMMER = 1909310400000  # 2030-07-03T12:00:00Z
WINTER = 1896004800000  # 2030-01-30T12:00:00Z


def tables(data=None):
    return TABLES.format(data=f", zone_data: {data}" if data else "")


class Case(unittest.TestCase):
    def setUp(self):
        self.zones = tempfile.mkdtemp(prefix="keyway-zones-")
        self.addCleanup(shutil.rmtree, self.zones)

    def edition(self, name, first=1921, last="max", rules="X C%sT"):
        """The environment of a gateway whose system has this edition of the data."""
        folder = os.path.join(self.zones, name)
        source = os.path.join(self.zones, "source")
        with open(source, "w", encoding="ascii") as file:
            file.write(ZONE.format(first=first, last=last, rules=rules))
        subprocess.run([shutil.which("zic", path=os.environ["PATH"] + ":/usr/sbin:/sbin"), "-d", folder, source], check=True)
        return {"TZDIR": folder}

    def start(self, policy, environment, folder=None):
        gateway = Gateway(policy, folder=folder, environment=environment)
        gateway.__enter__()
        self.addCleanup(self.end, gateway)
        return gateway

    @staticmethod
    def end(gateway):
        gateway.kill()
        gateway.check_log()

    @staticmethod
    def update(gateway, environment):
        """The system's data change, and the gateway restarts."""
        gateway.stop()
        gateway.environment = environment
        gateway.start()
        wait_until(lambda: gateway.ready()["ready"], "the gateway to serve")

    def put(self, gateway, number, ts):
        with contextlib.closing(gateway.data()) as data:
            self.assertEqual(data.put("visits", record(id=number, ts=ts, note="x"), None).outcome, 0)

    def notes(self, gateway, number, ts):
        """The record as get and as a scan of its hour return it."""
        with contextlib.closing(gateway.data()) as data:
            got = data.get("visits", record(id=number, ts=ts), None, None).record
            page = data.scan(Query(table="visits", bound={"id": value(number)}, range=Range(field="ts", from_value=value(ts), to_value=value(ts + 1))))
        return [plain(row)["id"] for row in ([got] if got else []) + page.rows]

    def found(self, gateway, number, ts):
        self.assertEqual(self.notes(gateway, number, ts), [number, number], (number, ts))

    @staticmethod
    def key(gateway, ts):
        """The first bytes of the row key: the local time."""
        return keyway(gateway, "explain", "visits", "--put", "id=1", f"ts={ts}")[0].split("row key")[1].split()[0][:10]

    @staticmethod
    def warnings(gateway):
        return [text for text in gateway.ready()["warnings"] if "time zone" in text]


class Embedded(Case):
    def test_past_corrected(self):
        old, new = self.edition("old", first=1921), self.edition("new", first=1922)
        gateway = self.start(FILE_SETTINGS + tables().replace("{", "{{").replace("}", "}}") + OTHER, old)
        for number, ts in enumerate((EARLY, WINTER, SUMMER)):
            self.put(gateway, number, ts)
        self.assertEqual(self.warnings(gateway), [])
        before = self.key(gateway, EARLY)
        self.update(gateway, new)
        for number, ts in enumerate((EARLY, WINTER, SUMMER)):
            self.found(gateway, number, ts)
        self.assertEqual(self.key(gateway, EARLY), before)
        [text] = self.warnings(gateway)
        self.assertIn("Test/Zone", text)
        self.assertIn(" in 1921 to 1922.", text)
        self.assertEqual(gateway.metric("keyway_zone_differences"), 1)
        self.assertEqual(gateway.log().count("the system's time zone data changed"), 1)
        self.update(gateway, old)
        self.assertEqual(self.warnings(gateway), [])
        self.assertEqual(gateway.metric("keyway_zone_differences"), 0)

    def test_law_changed(self):
        """Summer time ends with 2028: rows of the summer of 2030 exist already. Reloads keep the catalog's data."""
        old, new = self.edition("old"), self.edition("new", last=2028)
        policy = FILE_SETTINGS + tables().replace("{", "{{").replace("}", "}}")
        gateway = self.start(policy, old)
        self.put(gateway, 1, SUMMER)
        summer = self.key(gateway, SUMMER)
        self.update(gateway, new)
        self.found(gateway, 1, SUMMER)
        self.put(gateway, 2, SUMMER)
        self.found(gateway, 2, SUMMER)
        self.assertIn("2029 to 2199", self.warnings(gateway)[0])
        gateway.write_policy(policy + OTHER)
        call(gateway, "reload")
        self.assertEqual(self.key(gateway, SUMMER), summer)
        self.found(gateway, 1, SUMMER)
        self.assertEqual(len(self.warnings(gateway)), 1)

    def test_new_table_does_not_fit_the_catalog(self):
        """Under the system's data, clocks are never set back, so a time needs no other field than the calendar. Under those of the catalog,
        two times would have one key. The table is not served, and the other one is."""
        policy = FILE_SETTINGS + tables().replace("{", "{{").replace("}", "}}")
        gateway = self.start(policy, self.edition("old"))
        self.put(gateway, 1, SUMMER)
        gateway.stop()
        parts = "[yyyy, MM, dd, HH, mm, ss, SSS]"
        gateway.write_policy(policy + "  days:\n    fields: {{id: int, ts: {{type: timestamp, unit: ms}}}}\n"
                             f"    key: [{{{{calendar: {{{{of: ts, parts: {parts}, zone: Test/Zone}}}}}}}}, id]\n")
        gateway.environment = self.edition("calm", rules="- CST")
        gateway.start()
        self.found(gateway, 1, SUMMER)
        reason = [line for line in gateway.log().splitlines() if "a table is not served" in line]
        self.assertEqual(len(reason), 1, gateway.log())
        for part in ("table=days", "path primary: the calendar of ts: clocks in Test/Zone are set back", "add the time to the key"):
            self.assertIn(part, reason[0])
        gateway.write_policy(policy)
        call(gateway, "reload")
        wait_until(lambda: gateway.ready()["ready"], "the gateway to serve")
        self.found(gateway, 1, SUMMER)

    def test_new_table_uses_the_catalog(self):
        """A zone whose last table was forgotten is read from the system again."""
        old, new = self.edition("old"), self.edition("new", last=2028)
        with_table = FILE_SETTINGS + tables().replace("{", "{{").replace("}", "}}") + OTHER
        gateway = self.start(with_table, old)
        summer = self.key(gateway, SUMMER)
        gateway.write_policy(FILE_SETTINGS + "tables:\n" + OTHER)
        call(gateway, "reload")
        keyway(gateway, "forget", "visits", "--drop-rows", "--yes")
        self.update(gateway, new)
        gateway.write_policy(with_table)
        call(gateway, "reload")
        self.assertNotEqual(self.key(gateway, SUMMER), summer)
        self.assertEqual(self.warnings(gateway), [])
        self.put(gateway, 1, SUMMER)
        self.update(gateway, old)
        self.found(gateway, 1, SUMMER)
        self.assertEqual(len(self.warnings(gateway)), 1)

    def test_change_moves_rows(self):
        """A new edition (zone_data) is another key rule: a change moves the rows to it."""
        old, new = self.edition("old"), self.edition("new", last=2028)
        gateway = self.start(SETTINGS, old)
        apply(gateway, tables())
        self.put(gateway, 1, SUMMER)
        self.put(gateway, 2, WINTER)
        before = self.key(gateway, SUMMER)
        self.update(gateway, new)
        self.found(gateway, 1, SUMMER)
        self.assertEqual(len(self.warnings(gateway)), 1)
        apply(gateway, tables("2028a"))
        wait_until_compared(gateway, "visits")
        order(gateway, "visits", "switch")
        order(gateway, "visits", "complete", expire_cursors=True)
        wait_until_ended(gateway, "visits")
        self.assertNotEqual(self.key(gateway, SUMMER), before)
        self.found(gateway, 1, SUMMER)
        self.found(gateway, 2, WINTER)
        self.assertEqual(self.warnings(gateway), [])
        self.update(gateway, old)
        self.found(gateway, 1, SUMMER)
        self.assertIn("Test/Zone 2028a", self.warnings(gateway)[0])

    def test_edition_is_checked(self):
        gateway = self.start(SETTINGS, self.edition("old"))
        with self.assertRaisesRegex(KeywayError, "zone_data must have 1 to 32 bytes"):
            apply(gateway, tables("'a b'"))


class TwoGateways(Case):
    def test_different_systems(self):
        """Both gateways make the keys with the data of the first one."""
        ports = free_ports(2)
        with subprocess.Popen([os.environ["KW_HBASE_SIM"], "1"] + [str(port) for port in ports], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as servers:
            self.addCleanup(servers.kill)
            self.assertEqual(servers.stdout.readline(), "ok\n")
            policy = ("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 1\nstore:\n  kind: hbase\n  create_missing: true\n"
                      f"  servers: ['127.0.0.1:{ports[0]}', '127.0.0.1:{ports[1]}']\n"
                      ) + tables().replace("{", "{{").replace("}", "}}")
            first = self.start(policy, self.edition("old"))
            wait_until(lambda: first.ready()["ready"], "the first gateway to serve")
            self.put(first, 1, SUMMER)
            second = self.start(policy, self.edition("new", last=2028))
            wait_until(lambda: second.ready()["ready"], "the second gateway to serve")
            self.assertEqual(self.key(first, SUMMER), self.key(second, SUMMER))
            self.put(second, 2, SUMMER)
            for gateway in (first, second):
                self.found(gateway, 1, SUMMER)
                self.found(gateway, 2, SUMMER)
            self.assertEqual(self.warnings(first), [])
            self.assertEqual(len(self.warnings(second)), 1)
            for gateway in (first, second):
                gateway.stop()
            servers.kill()


if __name__ == "__main__":
    unittest.main()
