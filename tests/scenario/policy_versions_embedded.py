"""A policy that the catalog of an embedded store keeps: one gateway applies versions, and restarts."""
import unittest

from keyway_gateway import Gateway, record, wait_until
from keyway_thrift.ttypes import ApplyOptions, Code, KeywayError

SETTINGS = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
policy: {{source: store}}
store: {{kind: embedded, path: {folder}/data}}
"""
TABLES = """\
tables:
  t:
    fields:
      id: string
      n: {type: int, generate: sequence}
    key: [{field: id}]
"""


class Embedded(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(SETTINGS)
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__, None, None, None)

    def call(self, name, *arguments):
        admin = self.gateway.admin()
        try:
            return getattr(admin, name)(*arguments)
        finally:
            admin.close()

    def apply(self, text, expected, **options):
        return self.call("policyApply", text, expected, ApplyOptions(**options))

    def refuse(self, code, part, text, expected, **options):
        with self.assertRaises(KeywayError) as caught:
            self.apply(text, expected, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(part, caught.exception.message)

    def put(self, name):
        data = self.gateway.data()
        try:
            written = data.put("t", record(id=name), None)
            self.assertEqual(written.outcome, 0, written)
            return written.made["n"].number
        finally:
            data.close()

    def test_versions(self):
        self.assertEqual(self.apply(TABLES, 0).version, 1)
        self.assertTrue(self.gateway.ready()["ready"])
        self.assertEqual(self.put("a"), 1)  # the counters are those of the version
        self.assertEqual(self.apply(TABLES + "    about: a table\n", 1).plan, "table t\n  new description\n")
        last = self.put("b")
        self.assertGreater(last, 1)
        self.gateway.kill()
        self.gateway.start()
        wait_until(lambda: self.gateway.ready()["ready"], "the gateway to serve")
        self.assertEqual(self.gateway.metric("keyway_policy_version"), 2)
        self.assertGreater(self.put("c"), last)
        self.refuse(Code.REFUSED, "field n: its values were stored as int", TABLES.replace("n: {type: int, generate: sequence}", "n: string"), 2)
        self.assertEqual([one.version for one in self.call("policyHistory", 0, 0)], [2, 1])
        self.assertEqual([one.version for one in self.call("policyHistory", 2, 1)], [1])

    def test_arguments(self):
        large = TABLES + "#" * (1 << 20)
        self.refuse(Code.LIMIT, "at most 1048576 are allowed", large, 0)
        self.refuse(Code.LIMIT, "options.reason has 1001 bytes", TABLES, 0, reason="x" * 1001)
        self.refuse(Code.INVALID, "control character", TABLES, 0, reason="a\nb")
        self.refuse(Code.INVALID, "expected_version must be 0 or more", TABLES, -1)
        self.refuse(Code.REFUSED, "the catalog has no policy yet", TABLES, 1)
        self.refuse(Code.INVALID, "policy:2:1: not valid YAML", "tables: [", 0)
        self.refuse(Code.INVALID, "cannot be extracted", "{tables: {t: {fields: {a: int}, key: [{field: a}]}}}", 0, import_file=True)
        self.refuse(Code.INVALID, "splits.file names a file of one machine", TABLES + "    splits: {file: /etc/passwd}\n", 0)
        self.refuse(Code.INVALID, "the store table keyway_catalog is already used by store.catalog", TABLES + "    store_table: keyway_catalog\n", 0)
        self.refuse(Code.INVALID, "a shared policy cannot contain a secret", "sequences: {redis: 'redis://:x@h'}\n" + TABLES, 0)
        for name, arguments in (("policyHistory", (-1, 0)), ("policyHistory", (0, 1001)), ("policyHistory", (0, -1)), ("policyVersion", (-1,))):
            with self.assertRaises(KeywayError) as caught:
                self.call(name, *arguments)
            self.assertEqual(caught.exception.code, Code.INVALID, name)
        with self.assertRaises(KeywayError) as caught:
            self.call("policyVersion", 0)
        self.assertEqual(caught.exception.code, Code.NOT_FOUND)
        self.assertEqual(self.apply(TABLES[:-1] + " " * ((1 << 20) - len(TABLES)) + "\n", 0).version, 1)  # the largest text
        self.assertEqual(len(self.call("policyVersion", 1).text), 1 << 20)

    def test_failed_first_version(self):
        """The settings of a version that was refused leave no trace."""
        self.gateway.write_policy(SETTINGS)
        self.refuse(Code.INVALID, "unknown setting", TABLES + "    what: 1\n", 0)
        self.apply("sequences: {keep: 2d}\n" + TABLES, 0)
        self.assertEqual(self.put("a"), 1)
        self.refuse(Code.REFUSED, "the counters would be at another place", "sequences: {redis: 'redis://127.0.0.1:1'}\n" + TABLES, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
