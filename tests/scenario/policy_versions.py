"""Two gateways whose policy the catalog keeps (policy.source: store): what one applies, the other serves.

    policy_versions.py sim|hbase
"""
import os
import subprocess
import sys
import threading
import time
import unittest

import hbase_places
from keyway_gateway import Gateway, record, wait_until
from keyway_thrift.ttypes import ApplyOptions, Code, KeywayError, Query

STORE = sys.argv.pop(1) if len(sys.argv) > 1 else "sim"
IMPORT = "keyway policy import FILE"

TABLES = """\
tables:
  events:
    store_table: {name}
    fields:
      id: {{type: string, max_bytes: 20}}
      ts: {{type: timestamp, unit: ms}}
      n: int
    key: [{{field: id}}, {{field: ts}}]
"""


class Versions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = hbase_places.place(STORE)

    @classmethod
    def tearDownClass(cls):
        cls.place.stop()

    def setUp(self):
        self.name = f"versions_{os.getpid()}_{time.time_ns()}"

    # --- texts ----------------------------------------------------------------------------------

    def settings(self, name, more="", source="store"):
        """The file of a gateway."""
        return (f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nloops: 2\ngateway_id: {self.name}_{name}\npolicy: {{{{source: {source}}}}}\n"
                + self.place.store(self.name) + more)

    def tables(self, *changes):
        """The text of a version, with some replacements."""
        text = TABLES.format(name=self.name)
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def with_field(self, field):
        return self.tables(("      n: int\n", f"      n: int\n      {field}: string\n"))

    # --- gateways -------------------------------------------------------------------------------

    def open(self, name, more="", **how):
        gateway = Gateway(self.settings(name, more), **how)
        gateway.__enter__()
        self.addCleanup(gateway.__exit__, None, None, None)
        return gateway

    def pair(self):
        """Two gateways that serve version 1."""
        a, b = self.open("a"), self.open("b")
        self.apply(a, self.tables(), 0)
        self.wait_for_version(1, a, b)
        return a, b

    @staticmethod
    def call(gateway, name, *arguments):
        admin = gateway.admin()
        try:
            return getattr(admin, name)(*arguments)
        finally:
            admin.close()

    def apply(self, gateway, text, expected, **options):
        return self.call(gateway, "policyApply", text, expected, ApplyOptions(**options))

    def refuse(self, gateway, text, expected, *parts, code=Code.REFUSED, **options):
        with self.assertRaises(KeywayError) as caught:
            self.apply(gateway, text, expected, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        for part in parts:
            self.assertIn(part, caught.exception.message)

    @staticmethod
    def wait_for_version(version, *gateways):
        for gateway in gateways:
            wait_until(lambda g=gateway: g.ready()["ready"] and g.metric("keyway_policy_version") == version, f"version {version}")

    def fields(self, gateway):
        data = gateway.data()
        try:
            return [field.name for field in data.describe("events").fields]
        finally:
            data.close()

    def history(self, gateway):
        return [one.version for one in self.call(gateway, "policyHistory", 0, 0)]

    @staticmethod
    def put(gateway, count=1):
        data = gateway.data()
        for i in range(count):
            written = data.put("events", record(id=f"r{i}", ts=i, n=i), None)
            assert written.outcome == 0, written
        data.close()

    @staticmethod
    def count(gateway):
        data = gateway.data()
        try:
            return len(data.scan(Query(table="events", full_scan=True)).rows)
        finally:
            data.close()

    # --- tests ----------------------------------------------------------------------------------

    def test_import_and_follow(self):
        a, b = self.open("a"), self.open("b")
        found = a.ready()
        self.assertFalse(found["ready"])
        self.assertTrue(any(IMPORT in reason for reason in found["reasons"]), found)
        self.assertNotIn("waiting for the store", found["reasons"])
        for call in (lambda: self.put(a), lambda: self.fields(a)):
            with self.assertRaises(KeywayError) as caught:
                call()
            self.assertEqual(caught.exception.code, Code.UNAVAILABLE)
            self.assertIn(IMPORT, caught.exception.message)
        self.assertEqual(self.history(a), [])
        text = "listen: 127.0.0.1:1\n# the tables\n" + self.tables() + "log: {level: debug}\n"
        self.refuse(a, text, 0, "policy:1:1: listen belongs in the file of each gateway", code=Code.INVALID)
        applied = self.apply(a, text, 0, import_file=True, reason="first")
        self.assertEqual((applied.version, applied.changed, applied.refused), (1, True, False))
        self.assertEqual(applied.plan, "table events\n  new\n")
        self.wait_for_version(1, a, b)
        self.put(a)
        self.assertEqual(self.count(b), 1)
        began = time.monotonic()
        applied = self.apply(a, self.with_field("note"), 1, reason="a note")
        self.assertEqual(applied.plan, "table events\n  field note: new (string)\n")
        self.assertIn("note", self.fields(a))
        wait_until(lambda: "note" in self.fields(b), "the other gateway to follow")
        print(f"the other gateway followed after {time.monotonic() - began:.1f} s")
        self.assertLess(time.monotonic() - began, 60)
        versions = self.call(b, "policyHistory", 0, 0)
        self.assertEqual([(one.version, one.author, one.reason, one.text) for one in versions],
                         [(2, "anonymous", "a note", None), (1, "anonymous", "first", None)])
        self.assertLess(abs(versions[0].applied_at / 1000 - time.time()), 600)
        self.assertEqual(self.call(b, "policyVersion", 0).text, self.with_field("note"))
        self.assertEqual(self.call(b, "policyVersion", 1).text, "# the tables\n" + self.tables())
        policy = self.call(b, "policy")
        self.assertEqual((policy.version, policy.text), (2, self.with_field("note")))
        self.assertIn("policy: {source: store}", policy.settings)

    def test_existing_tables(self):
        """Gateways whose policy comes from a file move to the store one after the other, and back."""
        a, b = self.open("a"), self.open("b")
        file = self.settings("a", self.tables().replace("{", "{{").replace("}", "}}"), source="file")
        for gateway in (a, b):
            gateway.write_policy(file.replace(f"{self.name}_a", f"{self.name}_b") if gateway is b else file)
            gateway.restart()
            wait_until(lambda g=gateway: g.ready()["ready"], "a gateway with a file")
        self.put(a, 3)
        self.refuse(b, self.tables(), 0, "this gateway has its policy from ", "keyway.yaml (policy.source: file)", "POLICY VERSIONS")
        a.write_policy(self.settings("a"))
        a.restart()
        self.assertEqual(self.count(b), 3)
        self.refuse(a, self.tables(("n: int", "n: string")), 0, "its values were stored as int")
        self.refuse(a, self.tables(("[{field: id}, {field: ts}]", "[{field: ts}, {field: id}]")), 0,
                    "its rows were written under layout 1")
        applied = self.apply(a, self.tables(), 0)
        self.assertEqual(applied.plan, "table events\n  added to the policy; the catalog has it already\n")
        self.wait_for_version(1, a)
        b.write_policy(self.settings("b"))
        b.restart()
        self.wait_for_version(1, b)
        self.assertEqual((self.count(a), self.count(b)), (3, 3))
        b.write_policy(file.replace(f"{self.name}_a", f"{self.name}_b"))
        b.restart()
        wait_until(lambda: b.ready()["ready"], "a gateway with a file again")
        self.assertEqual(self.count(b), 3)
        self.assertEqual(self.history(b), [1])

    def test_conflict(self):
        a, b = self.pair()
        self.apply(a, self.with_field("one"), 1, reason="add one")
        self.refuse(b, self.with_field("two"), 1, "policy version 2 is current, not 1, on which this change is based; anonymous applied the current policy version at 20",
                    '("add one")', "Nothing was changed")
        self.refuse(b, self.with_field("two"), 3, "policy version 2 is current, not 3")
        self.wait_for_version(2, b)
        self.assertEqual(self.history(b), [2, 1])
        self.assertNotIn("two", self.fields(b))

    def test_both_at_once(self):
        a, b = self.pair()
        for version in range(1, 6):
            outcomes = []

            def attempt(gateway, name, expected=version):
                try:
                    outcomes.append(self.apply(gateway, self.with_field(name), expected).version)
                except KeywayError as refused:
                    outcomes.append(refused)

            workers = [threading.Thread(target=attempt, args=(gateway, f"{name}{version}")) for gateway, name in ((a, "a"), (b, "b"))]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            won = [one for one in outcomes if one == version + 1]
            lost = [one for one in outcomes if isinstance(one, KeywayError)]
            self.assertEqual((len(won), len(lost)), (1, 1), outcomes)
            self.assertEqual(lost[0].code, Code.REFUSED, lost)
            self.assertIn(f"policy version {version + 1} is current, not {version}", lost[0].message)
            self.wait_for_version(version + 1, a, b)
            self.assertEqual(self.fields(a), self.fields(b))
        self.assertEqual(self.history(a), [6, 5, 4, 3, 2, 1])

    def test_restart(self):
        a, b = self.pair()
        self.put(a, 2)
        self.apply(b, self.with_field("note"), 1)
        b.kill()
        a.restart()
        self.wait_for_version(2, a)
        self.apply(a, self.with_field("other"), 2)
        b.start()
        self.wait_for_version(3, a, b)
        self.assertEqual(self.fields(b), self.fields(a))
        self.assertIn("other", self.fields(b))
        self.assertEqual(self.count(b), 2)

    def test_own_settings(self):
        """SIGHUP reads the file's own settings; the tables stay those of the current version."""
        a, _ = self.pair()
        self.apply(a, self.with_field("note"), 1)
        a.write_policy(self.settings("a", "limits: {{page_rows: 7}}\n"))
        self.call(a, "reload")
        self.put(a, 10)
        self.assertEqual(self.count(a), 7)
        self.assertIn("page_rows: 7", self.call(a, "policy").settings)
        self.assertIn("note", self.fields(a))
        self.wait_for_version(2, a)
        for text, part in ((self.settings("a", self.tables().replace("{", "{{").replace("}", "}}")), "tables cannot be in this file"),
                           (self.settings("a", self.tables().replace("{", "{{").replace("}", "}}"), source="file"), "policy.source has changed")):
            a.write_policy(text)
            with self.assertRaises(KeywayError) as caught:
                self.call(a, "reload")
            self.assertIn(part, caught.exception.message)
        self.apply(a, self.with_field("more"), 2)
        self.assertEqual(self.count(a), 7)

    def test_dry_run(self):
        a, b = self.pair()
        self.put(a)
        other_key = ("[{field: id}, {field: ts}]", "[{field: ts}, {field: id}]")
        found = self.apply(a, self.with_field("note"), 1, dry_run=True)
        self.assertEqual((found.version, found.refused, found.changed), (2, False, True))
        self.assertEqual(found.plan, "table events\n  field note: new (string)\n")
        self.assertEqual(found.copied_tables, [])
        found = self.apply(b, self.tables(other_key), 1, dry_run=True)
        self.assertTrue(found.refused)
        self.assertIn("  path primary: another key rule\n  REFUSED: table events, path primary: the key rule can be changed while the "
                      "table is served, but store.late is not set", found.plan)
        self.refuse(b, self.tables(other_key), 0, "policy version 1 is current, not 0", dry_run=True)
        self.assertEqual(self.history(a), [1])
        for gateway in (a, b):
            self.assertEqual(self.fields(gateway), ["id", "ts", "n"])
            self.assertEqual(gateway.metric("keyway_policy_version"), 1)
        self.refuse(b, self.tables(other_key), 1, "store.late is not set in the file of this gateway")
        self.refuse(b, self.tables(("n: int", "n: string")), 1, "its values were stored as int")
        self.assertEqual(self.history(b), [1])
        self.assertEqual(self.count(b), 1)
        self.assertFalse(self.apply(b, self.tables(), 1).changed)

    def test_a_version_that_one_gateway_cannot_serve(self):
        """The other gateway lacks the time zones: it keeps the old version and says so, until it can follow."""
        a = self.open("a")
        self.apply(a, self.tables(), 0)
        b = self.open("b", environment={"TZDIR": "/nonexistent"})
        self.wait_for_version(1, a, b)
        zone = ("      n: int\n", "      n: int\n      seq: {type: int, generate: {kind: sequence, per: day, of: ts, zone: Europe/Berlin}}\n")
        self.apply(a, self.tables(zone), 1)
        warnings = wait_until(lambda: b.ready()["warnings"], "a warning")
        self.assertIn("policy version 2 is current, but this gateway still serves policy version 1", warnings[0])
        self.assertIn("Europe/Berlin", warnings[0])
        b.wait_for_log("a new policy version cannot be served, the old one stays in service")
        self.assertEqual(b.metric("keyway_policy_version"), 1)
        self.assertEqual(self.fields(b), ["id", "ts", "n"])
        self.put(b)
        self.assertEqual(self.count(a), 1)
        self.apply(b, self.with_field("note"), 2)  # the remedy can also be applied where the version cannot be served
        self.wait_for_version(3, a, b)
        wait_until(lambda: not b.ready()["warnings"], "no warning")

    def test_largest_text(self):
        a, b = self.pair()
        text = self.with_field("note")
        text += "#" * ((1 << 20) - len(text) - 1) + "\n"
        self.apply(a, text, 1)
        self.wait_for_version(2, a, b)
        self.assertEqual(self.call(b, "policyVersion", 0).text, text)
        self.assertEqual(self.history(b), [2, 1])

    def test_counters_stay(self):
        a, _ = self.pair()
        self.refuse(a, "sequences: {redis: 'redis://127.0.0.1:1'}\n" + self.tables(), 1, "sequences: the counters would be at another place")
        self.apply(a, "sequences: {keep: 2d}\n" + self.tables(), 1)

    def test_command_line(self):
        a, b = self.pair()
        folder = a.folder

        def keyway(*words, status=0, gateway=a):
            done = subprocess.run([os.environ["KEYWAY"], "policy", *words, "--gateway", gateway.address], capture_output=True, text=True,
                                  cwd=folder, timeout=600, check=False)
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            return done.stderr if status else done.stdout

        for name, text in (("two.yaml", self.with_field("note")), ("bad.yaml", self.tables(("n: int", "n: what")))):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.assertIn("dry run: nothing was changed; this would be policy version 2", keyway("apply", "two.yaml", "--dry-run"))
        self.assertIn("version 2 is current", keyway("apply", "two.yaml", "-m", "by hand"))
        self.assertIn("version 2 is current and has this text", keyway("apply", "two.yaml"))
        self.assertIn("policy version 2 is current, not 1", keyway("apply", "two.yaml", "--expect", "1", status=1))
        self.assertIn("policy:7:10: tables.events.fields.n", keyway("apply", "bad.yaml", status=3))
        self.wait_for_version(2, b)
        self.assertIn("by hand", keyway("history", gateway=b))
        self.assertIn('"reason": "by hand"', keyway("history", "-o", "json", "--limit", "1"))
        self.assertEqual(keyway("show", "1"), self.tables())
        self.assertEqual(keyway("show"), "# Policy version 2; keyway policy apply expects that it is current.\n" + self.with_field("note"))
        self.assertIn("field note is new", keyway("diff", "1", "2"))
        self.assertIn("field note is removed", keyway("diff", "two.yaml", "1"))
        self.assertIn("there is no policy version 7", keyway("show", "7", status=4))
        self.assertIn("is not a policy version", keyway("show", "x", status=2))
        with open(os.path.join(folder, "whole.yaml"), "w", encoding="utf-8") as file:
            file.write("log: {level: info}\n" + self.tables())
        self.assertIn("version 3 is current", keyway("import", "whole.yaml", "-m", "again"))
        self.assertEqual(keyway("show", "3"), self.tables())


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
