"""Who can do what: each method of the IDL needs one operation; a caller sees only its tables; rules change for connections
and cursors that are open; a listener that other machines can reach needs rules."""
import os
import random
import shutil
import ssl
import subprocess
import tempfile
import unittest

from idl_calls import Calls, decode, encode, methods
from keyway_gateway import Gateway, binary_message, framed, receive_frame, record, value, wait_until
from keyway_thrift.ttypes import CatalogPart, ChangeAction, Code, CompareOp, ImportStep, KeywayError, Query

FOLDER = None

# The operation that each method needs. A method that is not here fails the test: decide who may call it.
NEEDS = {
    "read": ["get", "getMany", "getVersions", "scan", "nextPage", "latest"],
    "write": ["put", "putMany", "allocate"],
    "remove": ["remove", "removeMany"],
    "atomic": ["increment", "putIf", "compareAndPut"],
    "create": ["createTable"],
    "explain": ["explain", "explainPut", "decodeKey"],
    "view": ["policy", "check", "policyTables", "policyDiff", "advise", "policyHistory", "policyVersion", "policyInEffect",
             "changes", "stats"],
    "operate": ["forget", "scrub", "verify", "reload", "policyApply", "exportCatalog", "importCatalog", "orderChange",
                "changeDiff", "backup"],
    "any": ["describe"],
    "nothing": ["tables"],
}
OPERATIONS = ("read", "write", "remove", "atomic", "create", "explain", "view", "operate")
OF_GATEWAY = ("view", "operate")
# The callers of the walk, and what each may do. "lonely" has atomic without write, which is not enough.
CALLERS = {**{name: {name} for name in OPERATIONS}, "atomic": {"atomic", "write"}, "lonely": {"atomic"}, "nobody": set()}

POLICY = """\
listen:
  - address: 127.0.0.1:0
    tls: {{{{certificate: {files}/server.pem, key: {files}/server.key, ca: {files}/ca.pem, require_client: true}}}}
  - {{{{address: "unix:{{folder}}/keyway.sock", mode: "0600"}}}}
admin: 127.0.0.1:0
loops: 2
store: {{{{kind: embedded, path: "{{folder}}/data"}}}}
access:
  groups:
{groups}
  roles:
{roles}
tables:
  events: {table}
  invoices: {table}
  events_old: {table}
"""
TABLE = """
    fields: {{id: {{type: string, max_bytes: 100}}, note: string, count: {{type: int, counter: true}}}}
    key: [field: id]
"""


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=FOLDER)


def leaf(name, subject, names):
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject,
            "-addext", f"subjectAltName={names}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-copy_extensions", "copy", "-out", f"{name}.pem")


def setUpModule():
    global FOLDER
    FOLDER = tempfile.mkdtemp(prefix="keyway-access-")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=ca",
            "-keyout", "ca.key", "-out", "ca.pem")
    leaf("server", "/CN=server", "DNS:localhost,IP:127.0.0.1")
    leaf("subjectless", "/", "DNS:subjectless.example")
    for name in CALLERS:
        leaf(name, f"/O=Keyway/CN={name}-1", f"DNS:{name}.example")


def tearDownModule():
    shutil.rmtree(FOLDER)


def policy(groups, roles):
    lines = "\n".join(f"    {name}: {members}" for name, members in groups.items())
    return POLICY.format(files=FOLDER, groups=lines, roles="\n".join(f"    - {{{{{role}}}}}" for role in roles), table=TABLE)


def walk_policy():
    groups = {name: f"[cn={name}-*]" for name in CALLERS}
    roles = []
    for name, may in CALLERS.items():
        of_tables = sorted(may.difference(OF_GATEWAY))
        of_gateway = sorted(may.intersection(OF_GATEWAY))
        if of_tables:
            roles.append(f"who: {name}, tables: events, may: [{', '.join(of_tables)}]")
        if of_gateway:
            roles.append(f"who: {name}, may: [{', '.join(of_gateway)}]")
    return policy(groups, roles)


class Caller:
    """A connection with the certificate of a caller."""

    def __init__(self, gateway, name):
        context = ssl.create_default_context(cafile=os.path.join(FOLDER, "ca.pem"))
        context.load_cert_chain(os.path.join(FOLDER, f"{name}.pem"), os.path.join(FOLDER, f"{name}.key"))
        self.socket = gateway.connect_tls(context)

    def send(self, message):
        self.socket.sendall(message)
        return decode(receive_frame(self.socket))[1]

    def call(self, method, **arguments):
        """The result, or the KeywayError."""
        found = next(one for one in methods() if one.name == method)
        result = self.send(encode(found, found.arguments(**arguments)))
        return result.failure or getattr(result, "success", None)

    def close(self):
        self.socket.close()


def needed(method):
    found = [operation for operation, names in NEEDS.items() if method in names]
    assert len(found) == 1, f"{method} needs {found}, not exactly one operation: decide who may call it"
    return found[0]


def is_allowed(operation, may):
    if operation == "nothing":
        return True
    if operation == "any":
        return bool(may.difference(OF_GATEWAY))
    return {operation, "write"} <= may if operation == "atomic" else operation in may


KNOWN = {
    "table": lambda _: "events", "query": lambda _: Query(table="events", full_scan=True, limit=1),
    "candidates": lambda _: [], "queries": lambda _: [], "sample": lambda _: [], "part": lambda _: CatalogPart("0" * 64, ImportStep.START),
    "record": lambda _: record(id="a", note="x"), "key": lambda _: record(id="a"), "keys": lambda _: [record(id="a")],
    "records": lambda _: [record(id="a")], "options": lambda _: None, "text": lambda _: "tables: {}",
    "policy_text": lambda _: None, "name": lambda _: "b1", "condition.field": lambda _: "note",
    "condition.value": lambda _: value("x"), "op": lambda _: CompareOp.EQUAL, "order": lambda _: None,
    "action": lambda _: ChangeAction.PAUSE, "step": lambda _: ImportStep.START, "deadline_ms": lambda _: None,
}


class Access(unittest.TestCase):
    def test_every_method_and_operation(self):
        """Each caller gets DENIED for exactly those methods whose operation it lacks."""
        calls = Calls(random.Random(1), KNOWN)
        self.assertEqual(sorted(sum(NEEDS.values(), [])), sorted(method.name for method in calls.methods))
        with Gateway(walk_policy()) as gateway:
            reader = Caller(gateway, "read")
            writer = Caller(gateway, "write")
            for i in range(3):
                writer.call("put", table="events", record=record(id=f"r{i}"))
            cursor = reader.call("scan", query=Query(table="events", full_scan=True, page_rows=1)).cursor
            self.assertTrue(cursor)
            calls.known["cursor"] = lambda _: cursor
            count = 0
            for name, may in CALLERS.items():
                caller = Caller(gateway, name)
                for method in calls.methods:
                    result = caller.send(calls.frame(method))
                    self.assertIsNotNone(result, method.name)
                    failure = getattr(result, "failure", None)
                    denied = failure is not None and failure.code == Code.DENIED
                    allowed = is_allowed(needed(method.name), may)
                    self.assertEqual(denied, not allowed, f"{name} calls {method.name}: {failure}")
                    count += 1
                caller.close()
            self.assertEqual(count, len(CALLERS) * len(calls.methods))

    def test_forbidden_and_unknown_tables_are_alike(self):
        """All methods of tables give a caller the same answer for a table that it has no role for and for one that does not
        exist. Neither lists nor suggestions show the forbidden one."""
        calls = Calls(random.Random(1), dict(KNOWN))
        with Gateway(policy({"shop": "cn=read-1"},
                            ["who: shop, tables: events*, may: [read, write, remove, atomic, create, explain]"])) as gateway:
            caller = Caller(gateway, "read")
            self.assertEqual(caller.call("tables"), ["events", "events_old"])
            for method in calls.methods:
                if needed(method.name) in ("view", "operate", "nothing") or method.name == "nextPage":
                    continue
                answers = []
                for name in ("invoices", "inv0ices"):
                    calls.known.update({"table": lambda _, name=name: name,
                                        "query": lambda _, name=name: Query(table=name, limit=1)})
                    calls.random = random.Random(1)
                    result = caller.send(calls.frame(method))
                    self.assertIsNotNone(result, method.name)
                    failure = result.failure
                    answers.append((failure.code, failure.message.replace(name, "TABLE")))
                self.assertEqual(answers[0], answers[1], method.name)
                self.assertEqual(answers[0][0], Code.DENIED)
            for name in ("events_olt", "events2"):
                failure = caller.call("describe", table=name)
                self.assertEqual(failure.code, Code.NOT_FOUND)
                self.assertNotIn("invoices", failure.message)
            self.assertIn('did you mean "events_old"?', caller.call("describe", table="events_olt").message)
            caller.close()

    def test_names(self):
        """Certificates by common name and by alternative name, even without a subject; the user of a Unix socket."""
        user = "unix:root" if os.getuid() == 0 else f"unix:{os.getuid()}"
        groups = {"by_name": "[san=view.example, san=subjectless.example]", "by_user": f'["{user}"]',
                  "group": f'["unix-group:{os.getgid()}"]'}
        with Gateway(policy(groups,
                            ["who: by_name, tables: events, may: read", "who: by_user, tables: invoices, may: write",
                             "who: [group], tables: events_old, may: write"])) as gateway:
            self.assertEqual(gateway.data(listener=1).tables(), ["invoices", "events_old"])
            for name, tables in (("view", ["events"]), ("subjectless", ["events"]), ("read", [])):
                caller = Caller(gateway, name)
                self.assertEqual(caller.call("tables"), tables)
                caller.close()
            with self.assertRaises(KeywayError) as caught:
                gateway.data(listener=1).put("events", record(id="a"), None)
            self.assertEqual(caught.exception.code, Code.DENIED)
            self.assertEqual(caught.exception.message, f"no role allows {user} to write the table events")

    def test_anonymous_needs_its_own_role(self):
        """A pattern for all names does not include callers without a name."""
        text = policy({"named": '["*"]'}, ["who: named, tables: '*', may: read"]).replace(", require_client: true", "")
        with Gateway(text) as gateway:
            context = ssl.create_default_context(cafile=os.path.join(FOLDER, "ca.pem"))
            message = framed(binary_message("tables"))
            with gateway.connect_tls(context) as connection:
                connection.sendall(message)
                self.assertEqual(decode(receive_frame(connection))[1].success, [])
            gateway.write_policy(text.replace("'*'", "events").replace('["*"]', "[anonymous]"))
            gateway.reload()

            def sees_events():
                with gateway.connect_tls(context) as connection:
                    connection.sendall(message)
                    return decode(receive_frame(connection))[1].success == ["events"]
            wait_until(sees_events, "the reload")

    def test_reload_applies_to_open_connections_and_cursors(self):
        groups = {"shop": "cn=read-1", "others": "cn=write-1"}
        with Gateway(policy(groups, ["who: shop, tables: events, may: [read, write]", "who: others, tables: events, may: read"])
                     ) as gateway:
            caller, other = Caller(gateway, "read"), Caller(gateway, "write")
            for i in range(10):
                caller.call("put", table="events", record=record(id=f"r{i}"))
            page = caller.call("scan", query=Query(table="events", full_scan=True, page_rows=2))
            stolen = other.call("nextPage", cursor=page.cursor)
            self.assertEqual((stolen.code, stolen.message), (Code.INVALID, "cursor was issued to another caller"))
            page = caller.call("nextPage", cursor=page.cursor)
            self.assertEqual(len(page.rows), 2)
            gateway.write_policy(policy(groups, ["who: shop, tables: invoices, may: read"]))
            gateway.reload()
            wait_until(lambda: caller.call("tables") == ["invoices"], "the reload")
            for failure in (caller.call("nextPage", cursor=page.cursor),
                            caller.call("get", table="events", key=record(id="r1"))):
                self.assertEqual(failure.code, Code.DENIED)
                self.assertEqual(failure.message, "no role allows cn=read-1 to read the table events")
            damaged = caller.call("nextPage", cursor=b"not a cursor")
            self.assertEqual(damaged.code, Code.INVALID)

    def test_open_listeners(self):
        """Without rules, a listener that other machines can reach must be public, which /readyz reports."""
        text = """\
listen: {{address: 0.0.0.0:0%s}}
admin: 127.0.0.1:0
store: {{kind: embedded, path: "{folder}/data"}}
tables: {{events: {{fields: {{id: string}}, key: [field: id]}}}}
"""
        with Gateway(text % "", expect_start=False) as gateway:
            self.assertEqual(gateway.wait_for_exit(), 1)
            self.assertIn("public: true", gateway.log())
        with Gateway(text % ", public: true") as gateway:
            warnings = gateway.ready()["warnings"]
            self.assertTrue(any("everybody who can connect" in warning for warning in warnings), warnings)
            gateway.wait_for_log("everybody who can connect can read, write and administer everything")
            gateway.write_policy(text % ", public: false")
            gateway.reload()
            gateway.wait_for_log("other machines can connect to 0.0.0.0")
        access = "access: {{groups: {{all: anonymous}}, roles: [{{who: all, may: operate}}]}}\n"
        with Gateway(text % ", public: true" + access) as gateway:
            self.assertEqual(gateway.ready()["warnings"], [])
            gateway.write_policy(text % ", public: true")
            gateway.reload()
            gateway.wait_for_log("everybody who can connect can read, write and administer everything")


if __name__ == "__main__":
    unittest.main()
