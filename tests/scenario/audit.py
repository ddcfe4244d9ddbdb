"""The audit log: what it records and what it does not, rotation, and a file that cannot be written."""
import json
import os
import time
import unittest

from keyway_gateway import Gateway, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError

POLICY = """\
listen: {{address: "unix:{folder}/keyway.sock", mode: "0600"}}
admin: 127.0.0.1:0
audit_file: "{folder}/audit"
store: {{kind: embedded, path: "{folder}/data"}}
access:
  groups: {{me: "unix:*"}}
  roles:
    - {{who: me, tables: events, may: [read, write, create]}}
    - {{who: me, may: operate}}
tables:
  events: {{fields: {{id: string, note: string}}, key: [field: id]}}
"""
NAME = "unix:root" if os.getuid() == 0 else f"unix:{os.getuid()}"


def lines_of(gateway, name="audit"):
    with open(os.path.join(gateway.folder, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def most_lines(began):
    """Of one kind, since this time: 100 in each second that has begun."""
    return 100 * (int(time.monotonic() - began) + 2)


def code_of(call, *arguments):
    try:
        call(*arguments)
    except KeywayError as error:
        return error.code
    return None


class Audit(unittest.TestCase):
    def test_lines(self):
        with Gateway(POLICY) as gateway:
            data, admin = gateway.data(), gateway.admin()
            data.put("events", record(id="the-secret-id", note="a secret"), None)
            data.get("events", record(id="the-secret-id"), [], None)
            self.assertEqual(code_of(data.remove, "events", record(id="the-secret-id"), [], None), Code.DENIED)
            self.assertEqual(code_of(data.get, 'no "such\n table', record(id="the-secret-id"), [], None), Code.DENIED)
            self.assertEqual(code_of(admin.createTable, "events", None), Code.REFUSED)  # it exists
            self.assertIsNone(code_of(admin.reload))
            self.assertEqual(code_of(admin.stats), Code.DENIED)
            lines = lines_of(gateway)
            self.assertEqual([(line["event"], line.get("method"), line.get("table")) for line in lines],
                             [("policy", None, None), ("login", "put", None), ("denied", "remove", "events"),
                              ("denied", "get", 'no "such\n table'), ("login", "createTable", None),
                              ("admin", "createTable", "events"), ("admin", "reload", None), ("policy", None, None),
                              ("denied", "stats", None)])
            for line in lines:
                self.assertEqual(line.get("principal"), None if line["event"] == "policy" else NAME)
                self.assertEqual("request_id" in line, line["event"] != "policy")
                self.assertEqual(line["policy_version"], 0)
            with open(os.path.join(gateway.folder, "audit"), encoding="utf-8") as file:
                self.assertNotIn("secret", file.read())
            data.close()
            admin.close()

    def test_names_of_tables(self):
        """A name is shown up to a bound or its first byte that is not UTF-8; characters that could end a line are escaped."""
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            shown = {"a\x85\x9b\u2028\u2029z": "a\x85\x9b\u2028\u2029z", "x" * 256: "x" * 256, "x" * 257: "x" * 256 + "...",
                     "x" * 255 + "\u00e9": "x" * 255 + "...", "y" * 100000: "y" * 256 + "..."}
            for name in shown:
                self.assertEqual(code_of(data.get, name, record(id="a"), [], None), Code.DENIED)
            self.assertEqual([line["table"] for line in lines_of(gateway) if line["event"] == "denied"], list(shown.values()))
            with open(os.path.join(gateway.folder, "audit"), encoding="utf-8") as file:
                self.assertIn("a\\u0085\\u009b\\u2028\\u2029z", file.read())
            data.close()

    def test_many_denials_are_counted(self):
        with Gateway(POLICY) as gateway:
            data, admin = gateway.data(), gateway.admin()
            began = time.monotonic()
            for _ in range(2000):
                self.assertEqual(code_of(data.remove, "events", record(id="a"), [], None), Code.DENIED)
            code_of(admin.createTable, "events", None)
            lines = lines_of(gateway)
            written = sum(line["event"] == "denied" for line in lines)
            self.assertLessEqual(written, most_lines(began))
            self.assertEqual(written + sum(line.get("denied_before", 0) for line in lines), 2000)
            data.close()
            admin.close()

    def test_many_logins_are_counted(self):
        with Gateway(POLICY) as gateway:
            began = time.monotonic()
            for _ in range(1000):
                data = gateway.data()
                data.tables()
                data.close()
            admin = gateway.admin()
            code_of(admin.createTable, "events", None)
            lines = lines_of(gateway)
            written = sum(line["event"] == "login" for line in lines)
            self.assertLessEqual(written, most_lines(began))
            self.assertEqual(written + sum(line.get("logins_before", 0) for line in lines), 1001)
            admin.close()

    def test_rotation_and_failure(self):
        """The file is opened again at SIGHUP. While it cannot be, admin calls fail, others do not, and /readyz says so."""
        with Gateway(POLICY) as gateway:
            path = os.path.join(gateway.folder, "audit")
            data, admin = gateway.data(), gateway.admin()
            os.rename(path, path + ".1")
            gateway.reload()
            wait_until(lambda: os.path.exists(path) and lines_of(gateway), "the new file")
            self.assertEqual([line["event"] for line in lines_of(gateway, "audit.1")], ["policy"])
            os.rename(path, path + ".2")
            os.mkdir(path)
            gateway.reload()
            gateway.wait_for_log("the audit log cannot be written")
            self.assertEqual(code_of(admin.createTable, "events", None), Code.UNAVAILABLE)
            self.assertIsNone(code_of(data.put, "events", record(id="a"), None))
            self.assertEqual(code_of(data.remove, "events", record(id="a"), [], None), Code.DENIED)
            self.assertIn("the audit log cannot be written", gateway.ready()["warnings"])
            os.rmdir(path)
            self.assertEqual(code_of(admin.createTable, "events", None), Code.REFUSED)  # it exists
            self.assertEqual(gateway.ready()["warnings"], [])
            [line] = lines_of(gateway)
            self.assertEqual((line["event"], line["logins_before"], line["denied_before"]), ("admin", 2, 1))
            data.close()
            admin.close()

    def test_the_file_is_needed_at_the_start(self):
        with Gateway(POLICY.replace("{folder}/audit", "{folder}/none/audit"), expect_start=False) as gateway:
            self.assertEqual(gateway.wait_for_exit(), 4)
            self.assertIn("audit log", gateway.log())


if __name__ == "__main__":
    unittest.main()
