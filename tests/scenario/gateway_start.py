"""What keywayd does before it serves: options, a policy with problems, ports, rules that rows contradict, the cursor key, an
unreachable store, the admin port."""
import json
import os
import re
import socket
import stat
import subprocess
import unittest

from keyway_gateway import PATIENCE, POLICY, Gateway, daemon, free_ports, plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Query

# A rule under which no table is served.
HAZARD = """\
  wide:
    fields: {{id: string}}
    key: [{{salt: {{buckets: 300, algorithm: phoenix}}}}, {{field: id}}]
"""

# Problems that reading finds, problems that compiling finds, and a hazard; also within one table. The path by_f is not
# compiled, because its field f has a problem.
MIXED = """\
limits: {{memory: 1GiB,
  frame: 1B}}
tables:
  unread:
    fields: {{a: strng}}
    key: [field: a]
  uncompiled:
    fields: {{b: string}}
    key:
      - hash: {{algorithm: md5, of: [bb], take: 4, as: hex}}
      - field: b
  good:
    fields: {{c: string}}
    key: [field: c]
  both:
    fields: {{e: string, f: strng}}
    key:
      - hash: {{algorithm: md5, of: [ee], take: 4, as: hex}}
      - field: e
    families: {{d: {{ttl: long}}}}
    paths:
      by_f: {{key: [f, e]}}
      by_e: {{key: [salt: {{buckets: 16, of: [eee]}}, e]}}
      by_ee: {{key: [e, salt: {{buckets: 16, of: [e]}}, e]}}
  short:
    fields: {{h: string, i: string, j: strng}}
    key: [h, i]
    paths: {{by_i: {{key: [i]}}}}
  twice:
    fields: {{g: string}}
    order: store
    order: stamp
    key: [salt: {{buckets: 16, of: [gg]}}, g]
  wide:
    fields: {{id: string}}
    key: [{{salt: {{buckets: 300, algorithm: phoenix}}}}, {{field: id}}]
"""


def run(*arguments):
    done = subprocess.run([daemon(), *arguments], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


class Start(unittest.TestCase):
    def test_options(self):
        code, out, _ = run("--version")
        self.assertEqual((code, out.split()[0]), (0, "keywayd"))
        code, out, _ = run("--help")
        self.assertEqual(code, 0)
        self.assertIn("--config", out)
        for wrong in (["--nonsense"], ["file"], ["--config"]):
            code, _, errors = run(*wrong)
            self.assertEqual(code, 2, wrong)
            self.assertIn("--help", errors)
        self.assertIn('unexpected argument "keyway.yaml"; --config FILE names the policy', run("keyway.yaml")[2])

    def test_schema_and_reference(self):
        code, out, _ = run("--print-schema")
        self.assertEqual(code, 0)
        self.assertIn("properties", json.loads(out))
        code, out, _ = run("--reference")
        self.assertEqual(code, 0)
        for word in ("listen", "hash", "salt", "max_bytes"):
            self.assertIn(word, out)

    def test_check(self):
        gateway = Gateway("tables:\n  t:\n    fields: {{a: string}}\n    key:\n      - feld: a\nfoo: 1\n")
        code, out, _ = run("--check", gateway.policy_file)
        self.assertEqual(code, 1)
        self.assertRegex(out, re.escape(gateway.policy_file) + r":5:9: error: .*feld.*hint: .*field")
        self.assertRegex(out, re.escape(gateway.policy_file) + r":6:1: error: .*foo")
        gateway.write_policy(POLICY)
        code, out, _ = run("--check", gateway.policy_file)
        self.assertEqual(code, 0)
        self.assertIn("no problems", out)
        gateway.write_policy(POLICY.replace("of: [id]", "of: [idd]"))
        code, out, _ = run("--check", gateway.policy_file)
        self.assertEqual(code, 1, "rules are compiled too")
        gateway.write_policy(MIXED)
        code, out, _ = run("--check", gateway.policy_file)
        self.assertEqual(code, 1)
        self.expect_mixed_problems([line for line in out.splitlines() if ": error: " in line], gateway.policy_file)
        gateway.write_policy(POLICY + HAZARD)
        code, out, _ = run("--check", gateway.policy_file)
        self.assertEqual(code, 1, "a hazard is an error")
        self.assertRegex(out, re.escape(gateway.policy_file) + r":\d+:\d+: error: path primary: salt: phoenix .* / hint: use at most 256 buckets")
        with open(gateway.policy_file + ".new", "w", encoding="utf-8") as file:
            file.write(POLICY.format(folder=gateway.folder))
        code, out, errors = run("--diff", gateway.policy_file, gateway.policy_file + ".new")
        self.assertEqual((code, errors), (0, ""), "the policy that is replaced can have hazards")
        code, _, errors = run("--diff", gateway.policy_file + ".new", gateway.policy_file)
        self.assertEqual(code, 1)
        self.assertIn("error: path primary: salt: phoenix", errors)
        code, out, _ = run("--check", "/nowhere/at/all.yaml")
        self.assertEqual(code, 1)
        self.assertIn("/nowhere/at/all.yaml", out)
        self.assertFalse(os.path.exists(os.path.join(gateway.folder, "data")))
        gateway.__exit__(None, None, None)

    def expect_mixed_problems(self, lines, file):
        """One line for each problem of MIXED, in the order of the file."""
        parts = [":2:10: error: limits.frame: ", ":5:17: error: tables.unread.fields.a.type: unknown value 'strng'",
                 ':10:37: error: .*"bb"', ":16:28: error: tables.both.fields.f.type: ", ':18:37: error: .*"ee"',
                 ":20:25: error: tables.both.families.d.ttl: ", ':23:45: error: .*"eee"',
                 ":24:54: error: path by_ee: field e is in the key twice", ":26:39: error: tables.short.fields.j.type: ",
                 ":28:13: error: path by_i: field h of the primary key is missing", ":32:5: error: 'order' is given twice",
                 ':33:36: error: .*"gg"', ":36:28: error: .*phoenix.* / hint: use at most 256 buckets"]
        self.assertEqual(len(lines), len(parts), lines)
        for line, part in zip(lines, parts):
            self.assertRegex(line, "^" + re.escape(file) + part)

    def test_a_start_reports_every_problem(self):
        gateway = Gateway(MIXED, expect_start=False)
        gateway.start()
        self.assertEqual(gateway.wait_for_exit(), 1)
        lines = [line for line in gateway.log().splitlines() if ": error: " in line]
        gateway.__exit__(None, None, None)
        self.assertEqual(len(lines), 11, lines)  # a table with a hazard does not end the start

    def test_a_table_with_a_hazard(self):
        """It is not served, and the others are."""
        with Gateway(POLICY + HAZARD) as gateway:
            data, admin = gateway.data(), gateway.admin()
            data.put("events", record(id="a", ts=1), None)
            for call in (lambda: data.put("wide", record(id="a"), None), lambda: data.get("wide", record(id="a"), None, None)):
                with self.assertRaises(KeywayError) as caught:
                    call()
                self.assertEqual(caught.exception.code, Code.UNAVAILABLE)
                self.assertRegex(caught.exception.message, r"not served: table wide: .*keyway.yaml:\d+:\d+: path primary: salt: phoenix")
            ready = gateway.ready()
            self.assertTrue(ready["ready"])
            self.assertEqual(len(ready["degraded"]), 1)
            self.assertIn("use at most 256 buckets", ready["degraded"][0])
            self.assertEqual(gateway.metric("keyway_tables_unserved"), 1)
            admin.reload()  # nothing changes
            gateway.write_policy(POLICY + HAZARD + HAZARD.replace("wide:", "wider:"))
            with self.assertRaises(KeywayError) as caught:
                admin.reload()
            self.assertEqual(caught.exception.code, Code.INVALID)
            self.assertIn("salt: phoenix", caught.exception.message)
            gateway.write_policy(POLICY + HAZARD.replace("300", "256"))
            admin.reload()
            data.put("wide", record(id="a"), None)
            self.assertEqual(gateway.ready()["degraded"], [])
            data.close()
            admin.close()
        self.assertIn("salt: phoenix", self.expect_failure("strict_start: true\n" + POLICY + HAZARD, 1))

    def expect_failure(self, policy, code, folder=None):
        gateway = Gateway(policy, folder=folder, expect_start=False)
        gateway.start()
        try:
            self.assertEqual(gateway.wait_for_exit(), code, gateway.log())
            gateway.check_log()
            return gateway.log()
        finally:
            gateway.__exit__(None, None, None)

    def test_a_policy_with_problems(self):
        self.assertIn("keyway.yaml:2:1: error", self.expect_failure("listen: 127.0.0.1:0\nnonsense: 1\n", 1))

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            log = self.expect_failure(POLICY.replace("listen: 127.0.0.1:0", f"listen: 127.0.0.1:{port}"), 4)
            self.assertIn(f"127.0.0.1:{port}", log)
            self.assertIn("in use", log)
            log = self.expect_failure(POLICY.replace("admin: 127.0.0.1:0", f"admin: 127.0.0.1:{port}"), 4)
            self.assertIn(f"127.0.0.1:{port}", log)

    def test_a_folder_that_is_in_use(self):
        with Gateway(POLICY) as gateway:
            second = Gateway(POLICY.replace("{folder}", gateway.folder.replace("{", "{{")), expect_start=False)
            second.start()
            self.assertEqual(second.wait_for_exit(), 4)
            self.assertIn("in use", second.log())
            second.__exit__(None, None, None)
            self.assertEqual(gateway.data().tables(), ["events"])

    def test_layout_guard(self):
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            data.put("events", record(id="a", ts=1, note="kept"), None)
            old = data.describe("events").paths[0].fingerprint
            data.close()
            gateway.stop()

            gateway.write_policy("strict_start: true\n" + POLICY.replace("take: 4", "take: 6"))
            gateway.expect_start = False
            gateway.start()
            self.assertEqual(gateway.wait_for_exit(), 3)
            last = [line for line in gateway.log().splitlines() if "REFUSED" in line][-1]
            for part in ("events", "primary", old[:8]):
                self.assertIn(part, last)
            self.assertGreaterEqual(len(set(re.findall(r"\b[0-9a-f]{8,64}\b", last))), 2, last)

            gateway.write_policy(POLICY)
            gateway.expect_start = True
            gateway.start()
            data = gateway.data()
            self.assertEqual(plain(data.get("events", record(id="a", ts=1), None, None).record)["note"], "kept")
            data.close()

    def test_cursor_key_persists(self):
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            for i in range(10):
                data.put("events", record(id="a", ts=i), None)
            page = data.scan(Query(table="events", bound=record(id="a"), page_rows=4))
            data.close()
            key = os.path.join(gateway.folder, "data", "cursor.key")
            self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
            gateway.stop()
            gateway.start()
            data = gateway.data()
            page = data.nextPage(page.cursor, None)
            self.assertEqual([plain(row)["ts"] for row in page.rows], [5, 4, 3, 2])
            gateway.stop()
            os.unlink(key)
            gateway.start()
            data = gateway.data()
            with self.assertRaises(KeywayError) as caught:
                data.nextPage(page.cursor, None)
            self.assertEqual(caught.exception.code, Code.INVALID)
            data.close()

    def test_an_unfinished_cursor_key(self):
        """The gateway that was writing it was killed: the next gateway creates another key."""
        gateway = Gateway(POLICY)
        os.mkdir(os.path.join(gateway.folder, "data"))
        with open(os.path.join(gateway.folder, "data", "cursor.key.new"), "w", encoding="ascii") as file:
            file.write("half")
        with gateway:
            self.assertTrue(gateway.ready()["ready"])
            self.assertEqual(os.stat(os.path.join(gateway.folder, "data", "cursor.key")).st_size, 65)
            self.assertFalse(os.path.exists(os.path.join(gateway.folder, "data", "cursor.key.new")))

    def test_cursor_keys_that_are_unusable(self):
        missing = POLICY + "cursor: {{key_file: '{folder}/keys'}}\n"
        self.assertIn("keys", self.expect_failure(missing, 4))
        with Gateway(missing, expect_start=False) as gateway:
            with open(os.path.join(gateway.folder, "keys"), "w", encoding="ascii") as file:
                file.write("too short\n")
            gateway.wait_for_exit()
            gateway.start()
            self.assertEqual(gateway.wait_for_exit(), 4)
            self.assertIn("shorter than 16 bytes", gateway.log())

    def test_an_unreachable_store(self):
        port = free_ports(1)[0]
        policy = POLICY.replace("kind: embedded\n  path: {folder}/data", f"kind: hbase\n  servers: [127.0.0.1:{port}]")
        with Gateway(policy) as gateway:
            found = gateway.ready()
            self.assertFalse(found["ready"])
            self.assertIn("waiting until it can serve", found["reasons"])
            data = gateway.data()
            self.assertEqual(data.tables(), ["events"])
            self.assertEqual(data.describe("events").name, "events")
            for call in (lambda: data.put("events", record(id="a", ts=1), None),
                         lambda: data.scan(Query(table="events", bound=record(id="a")))):
                with self.assertRaises(KeywayError) as caught:
                    call()
                self.assertEqual(caught.exception.code, Code.UNAVAILABLE)
                self.assertFalse(caught.exception.maybe_applied)
                self.assertGreater(caught.exception.retry_after_ms, 0)
                self.assertIsNotNone(caught.exception.request_id)
            self.assertEqual(gateway.get("/livez")[0], 200)
            data.close()

    def test_admin_port(self):
        with Gateway(POLICY) as gateway:
            self.assertEqual(gateway.ready(), {"ready": True, "reasons": [], "degraded": [], "warnings": []})
            data = gateway.data()
            data.put("events", record(id="a", ts=1), None)
            with self.assertRaises(KeywayError):
                data.put("nothing", record(id="a", ts=1), None)
            data.close()
            status, text = gateway.get("/metrics")
            self.assertEqual(status, 200)
            self.assert_prometheus(text)
            self.assertEqual(gateway.metric('keyway_calls_total{method="put",code="OK"}'), 1)
            self.assertEqual(gateway.metric('keyway_calls_total{method="put",code="NOT_FOUND"}'), 1)
            self.assertEqual(gateway.metric('keyway_call_duration_seconds_count{method="put"}'), 2)
            self.assertEqual(gateway.metric('keyway_call_duration_seconds_bucket{method="put",le="+Inf"}'), 2)
            self.assertEqual(gateway.metric("keyway_ready"), 1)
            self.assertGreater(gateway.metric("keyway_policy_loaded_time_seconds"), 1.6e9)
            self.assertEqual(gateway.get("/")[0], 200)
            self.assertEqual(gateway.get("/nothing")[0], 404)
            with socket.create_connection(gateway.admin_address, timeout=PATIENCE) as raw:
                raw.sendall(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                self.assertIn(b" 405 ", raw.recv(1000))

    def assert_prometheus(self, text):
        """Every sample has a type, is a number, and follows its own head."""
        types = {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                self.assertNotIn(name, types)
                types[name] = kind
            elif not line.startswith("#"):
                name, value = re.fullmatch(r"([a-z_]+)(?:\{[^}]*\})? (\S+)", line).groups()
                float(value)
                self.assertIn(re.sub(r"_(bucket|sum|count)$", "", name) if name not in types else name, types)
                if types.get(name) == "counter":
                    self.assertTrue(name.endswith("_total"))

    def test_admin_port_off(self):
        with Gateway(POLICY.replace("admin: 127.0.0.1:0", "admin: off")) as gateway:
            self.assertIsNone(gateway.admin_address)
            self.assertEqual(gateway.data().tables(), ["events"])

    def test_systemd_notification(self):
        gateway = Gateway(POLICY, expect_start=False)  # the gateway blocks if ten messages are unread
        path = os.path.join(gateway.folder, "notify")
        gateway.environment = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1500000"}
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
            listening.bind(path)
            listening.settimeout(PATIENCE)
            with gateway:
                messages = ""
                reloaded = False
                while "WATCHDOG=1" not in messages or messages.count("READY=1") < 2:
                    messages += listening.recv(4096).decode() + "\n"
                    if "READY=1" in messages and not reloaded:
                        gateway.reload()
                        reloaded = True
                self.assertIn("STATUS=serving", messages)
                self.assertIn("RELOADING=1", messages)
                gateway.stop()
            while "STOPPING=1" not in messages:
                messages += listening.recv(4096).decode() + "\n"

    def test_several_listeners(self):
        with Gateway(POLICY.replace("listen: 127.0.0.1:0", "listen: [127.0.0.1:0, 127.0.0.1:0, '[::1]:0']")) as gateway:
            self.assertEqual(len(gateway.addresses), 3)
            for host, port in gateway.addresses[:2]:
                self.assertEqual(host, "127.0.0.1")
                self.assertGreater(port, 0)
            for listener in (0, 1):
                self.assertEqual(gateway.data(listener=listener).tables(), ["events"])

    def test_an_address_that_the_machine_lacks(self):
        """One of several addresses is skipped, whichever it is; the log and /readyz say so. 198.51.100.1 is reserved for documentation."""
        absent = "{{address: 198.51.100.1:9595, public: true}}"
        for listen in (f"[127.0.0.1:0, {absent}]", f"[{absent}, 127.0.0.1:0]"):
            with Gateway(POLICY.replace("listen: 127.0.0.1:0", f"listen: {listen}")) as gateway:
                [(host, port)] = gateway.addresses
                self.assertEqual(host, "127.0.0.1")
                self.assertGreater(port, 0)
                self.assertEqual(gateway.data().tables(), ["events"])
                reason = "cannot listen on 198.51.100.1:9595: Cannot assign requested address"
                self.assertEqual(gateway.ready(), {"ready": True, "reasons": [], "degraded": [], "warnings": [
                    reason, "everybody who can connect to 198.51.100.1:9595 can read, write and administer everything: the "
                    "policy has no access"]})
                self.assertIn("not listening on an address that this machine does not have", gateway.log())
        one, other = ("{{address: 198.51.100.%s, public: true}}" % last for last in ("1:1", "9:2"))
        self.assertIn("198.51.100.9", self.expect_failure(POLICY.replace("listen: 127.0.0.1:0", f"listen: [{one}, {other}]"), 4))
        self.assertIn("198.51.100.1", self.expect_failure(POLICY.replace("listen: 127.0.0.1:0", f"listen: {one}"), 4))

    def test_one_of_several_ports_is_taken(self):
        """A client of this address would reach the other program."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            log = self.expect_failure(POLICY.replace("listen: 127.0.0.1:0", f"listen: [127.0.0.1:0, 127.0.0.1:{port}]"), 4)
            self.assertIn(f"127.0.0.1:{port}: Address already in use", log)

    def test_the_built_in_policy(self):
        """Starts without a policy file. The built-in ports are fixed, so another process can have them."""
        gateway = Gateway(None, expect_start=False)
        gateway.start()
        try:
            port_file = os.path.join(gateway.folder, "ports")
            wait_until(lambda: os.path.exists(port_file) or gateway.process.poll() is not None, "the start")
            if gateway.process.poll() is not None:
                self.assertIn("in use", gateway.log())
                self.skipTest("port 9595 or 9596 is taken")
            gateway.wait_for_ports(port_file)
            self.assertEqual(gateway.addresses, [("127.0.0.1", 9595)])
            data = gateway.data()
            data.put("order_events", record(order_id="o1", ts=1, status="paid"), None)
            self.assertEqual(len(data.scan(Query(table="order_events", bound=record(order_id="o1"))).rows), 1)
            data.close()
            with self.assertRaises(KeywayError) as caught:
                gateway.admin().reload()
            self.assertIn("built-in", caught.exception.message)
            gateway.stop()
        finally:
            gateway.__exit__(None, None, None)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
