"""The program `keyway` against a real gateway: a record from put to scan, and TLS.

Arguments: the program. KEYWAYD names the gateway.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from keyway_gateway import Gateway  # noqa: E402

KEYWAY = sys.argv.pop(1)
CERTIFICATES = pathlib.Path(tempfile.mkdtemp(prefix="keyway-certificates-"))
FORMS = [[], ["--framed"], ["--compact"], ["--framed", "--compact"]]

POLICY = """\
listen:
  - 127.0.0.1:0
  - address: 127.0.0.1:0
    tls: {{certificate: CERTS/gateway.pem, key: CERTS/gateway.key}}
  - address: 127.0.0.1:0
    tls: {{certificate: CERTS/gateway.pem, key: CERTS/gateway.key, ca: CERTS/ca.pem, require_client: true}}
  - address: 127.0.0.1:0
    tls: {{certificate: CERTS/other.pem, key: CERTS/other.key}}
admin: 127.0.0.1:0
loops: 1
store: {{kind: embedded, path: {folder}/data}}
tables:
  order_events:
    fields:
      order_id: {{type: string, max_bytes: 64}}
      ts: {{type: timestamp, unit: ms}}
      status: string
      amount: double
      paid: bool
      blob: bytes
    key:
      - hash: {{algorithm: md5, of: [order_id], take: 4, as: hex}}
      - field: order_id
      - field: {{name: ts, order: desc}}
  counters:
    fields:
      name: string
      count: {{type: int, counter: true}}
    key:
      - field: name
  later:
    fields:
      id: string
      note: string
    key:
      - field: id
""".replace("CERTS", str(CERTIFICATES))


def make_certificate(name, alternative, by="ca"):
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=CERTIFICATES)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key"]
    if name == by:
        openssl("req", "-x509", *key, "-days", "2", "-subj", f"/CN={name}", "-out", f"{name}.pem")
        return
    openssl("req", *key, "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}", "-out", f"{name}.csr")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial",
            "-copy_extensions", "copy", "-days", "2", "-out", f"{name}.pem")


GATEWAY = Gateway(POLICY)


def setUpModule():
    make_certificate("ca", None)
    make_certificate("strangers", None, by="strangers")
    make_certificate("gateway", "DNS:localhost,IP:127.0.0.1")
    make_certificate("other", "DNS:other.example,IP:192.0.2.1")
    make_certificate("client", "DNS:client")
    GATEWAY.__enter__()


def tearDownModule():
    GATEWAY.__exit__(None, None, None)
    shutil.rmtree(CERTIFICATES)


class Case(unittest.TestCase):
    def keyway(self, *words, listener=0, host="127.0.0.1", status=0, stdin=None):
        address = f"{host}:{GATEWAY.addresses[listener][1]}"
        done = subprocess.run([KEYWAY, "--gateway", address, *words], input=stdin, capture_output=True, text=True, timeout=300,
                              cwd=CERTIFICATES)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr


class Records(Case):
    def test_round_trip_in_all_combinations(self):
        for number, form in enumerate(FORMS):
            key = [f"order_id=F{number}", "ts=2026-11-21T10:00:00.125Z"]
            with self.subTest(form=form):
                self.keyway(*form, "put", "order_events", *key, "status=größer", "amount=0.1", "paid=true", "blob=a\\x00\\xFF")
                want = {"order_id": f"F{number}", "ts": "2026-11-21T10:00:00.125Z", "status": "größer", "amount": 0.1,
                        "paid": True, "blob": "a\\x00\\xFF"}
                self.assertEqual(json.loads(self.keyway(*form, "get", "order_events", *key, "-o", "json")), [want])
                self.keyway(*form, "remove", "order_events", *key)
                self.assertIn("no such record", self.keyway(*form, "get", "order_events", *key, status=4))

    def test_import_scan_latest(self):
        lines = ["order_id,ts,status"] + [f"I{i % 3},{1000 + i},s{i}" for i in range(3000)] + ["I1,noon,x"]
        printed = self.keyway("import", "order_events", "-", "--batch", "700", stdin="\n".join(lines), status=9)
        self.assertIn("3000 records written, 1 rejected", printed)
        for form in FORMS:
            out = self.keyway(*form, "scan", "order_events", "order_id=I1", "--page-rows", "64", "-o", "jsonl", "--raw")
            self.assertEqual([json.loads(line)["ts"] for line in out.splitlines()], list(range(3998, 1000, -3)))
        out = self.keyway("scan", "order_events", "order_id=I1", "--after", "ts=1001", "--through", "ts=1010", "--asc", "-o", "jsonl", "--raw")
        self.assertEqual([json.loads(line)["ts"] for line in out.splitlines()], [1004, 1007, 1010])
        self.assertIn("(1 row, 1 scanned, 1.00 per row)", self.keyway("latest", "order_events", "order_id=I2"))
        self.assertIn("read the whole table", self.keyway("scan", "order_events", status=3))
        out = self.keyway("scan", "order_events", "--any", "order_id=I0,I2", "-o", "csv", "--columns", "status")
        self.assertEqual(len(out.splitlines()), 2001)

    def test_conditions_and_counters(self):
        key = ["order_id=C", "ts=5"]
        self.keyway("put", "order_events", *key, "status=new", "--if-absent", "status")
        self.keyway("put", "order_events", *key, "status=new", "--if-absent", "status", status=3)
        self.keyway("put", "order_events", *key, "status=old", "--if", "status=new")
        self.keyway("put", "order_events", *key, "status=x", "--if", "status=new", status=3)
        self.assertEqual(json.loads(self.keyway("increment", "counters", "name=n", "count=5", "-o", "jsonl"))["count"], 5)
        self.assertEqual(json.loads(self.keyway("increment", "counters", "name=n", "count=-7", "-o", "jsonl"))["count"], -2)

    def test_administration(self):
        self.assertEqual(self.keyway("tables", "-o", "csv"), "table\norder_events\ncounters\nlater\n")
        self.assertIn("order_id", self.keyway("describe", "order_events"))
        self.assertIn("no table", self.keyway("describe", "nowhere", status=4))
        self.assertIn("path primary, 1 range", self.keyway("explain", "order_events", "order_id=A"))
        # md5("A") begins with 7fc5: the digits of the hash, the id, its terminator.
        keys = json.loads(self.keyway("explain", "--put", "order_events", "order_id=A", "ts=1", "-o", "json"))
        self.assertTrue(keys["keys"][0]["row_key"].startswith("7fc5A\\x00\\x7F\\xFF"), keys)
        self.assertIn("order_events:", self.keyway("policy"))
        self.assertGreater(len(json.loads(self.keyway("stats", "-o", "json"))), 10)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("tables:\n  t:\n    feilds: {}\n")
            file.flush()
            done = subprocess.run([KEYWAY, "--gateway", "127.0.0.1:%d" % GATEWAY.addresses[0][1], "check", file.name],
                                  capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(f"{file.name}:3:5: error: ", done.stdout)
        self.assertIn("fields", done.stdout)
        created = json.loads(self.keyway("create", "later", "--if-absent", "-o", "json"))
        self.assertEqual([(c["store_table"], c["created"]) for c in created], [("later", False)])


class Tls(Case):
    CA = ["--tls-ca", str(CERTIFICATES / "ca.pem")]
    US = ["--tls-cert", str(CERTIFICATES / "client.pem"), "--tls-key", str(CERTIFICATES / "client.key")]

    def test_check_needs_no_gateway(self):
        with tempfile.TemporaryDirectory() as folder:
            good, bad = pathlib.Path(folder, "good.yaml"), pathlib.Path(folder, "bad.yaml")
            good.write_text("tables: {t: {fields: {ts: timestamp}, key: [field: ts]}}\n")
            bad.write_text("tables: {t: {fields: {id: strng}, key: [field: id]}}\n")
            for words in (["check"], ["policy", "check"]):
                done = subprocess.run([KEYWAY, *words, str(good), str(bad)], capture_output=True, text=True, timeout=100)
                self.assertEqual(done.returncode, 3, done.stderr)
                printed = done.stdout + done.stderr
                self.assertIn(f"{good}:1:", printed)
                self.assertIn("warning: path primary: keys start with ts", printed)
                self.assertIn(f"{bad}:1:27: error: tables.t.fields.id.type: unknown value 'strng'", printed)
            done = subprocess.run([KEYWAY, "check", str(good)], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_verified_by_address_and_name(self):
        for form in FORMS:
            self.assertIn("order_events", self.keyway(*form, *self.CA, "tables", listener=1))
        self.assertIn("order_events", self.keyway(*self.CA, "tables", listener=1, host="localhost"))
        self.assertIn("order_events", self.keyway(*self.CA, "--tls-name", "other.example", "tables", listener=3))

    def test_large_replies(self):
        lines = [json.dumps({"order_id": "T", "ts": i, "status": "x" * 2000}) for i in range(2000)]
        self.keyway(*self.CA, "import", "order_events", "-", listener=1, stdin="\n".join(lines))
        out = self.keyway(*self.CA, "scan", "order_events", "order_id=T", "-o", "jsonl", listener=1)
        self.assertEqual(len(out.splitlines()), 2000)

    def test_refusals(self):
        for words, listener, message in [
            (["--tls"], 1, "certificate is rejected"),
            (["--tls-ca", str(CERTIFICATES / "strangers.pem")], 1, "certificate is rejected"),
            (self.CA, 3, "IP address mismatch"),
            ([*self.CA, "--tls-name", "localhost.example"], 1, "ostname mismatch"),
            (self.CA, 0, "TLS"),
        ]:
            with self.subTest(words=words, listener=listener):
                self.assertIn(message, self.keyway(*words, "-t", "60000", "tables", listener=listener, status=7))
        self.assertIn("cannot read certificates", self.keyway("--tls-ca", "/nowhere.pem", "tables", listener=1, status=3))

    def test_client_certificate(self):
        self.assertIn("order_events", self.keyway(*self.CA, *self.US, "tables", listener=2))
        self.keyway(*self.CA, "tables", listener=2, status=7)
        stranger = ["--tls-cert", str(CERTIFICATES / "strangers.pem"), "--tls-key", str(CERTIFICATES / "strangers.key")]
        self.keyway(*self.CA, *stranger, "tables", listener=2, status=7)

    def test_plain_client_at_a_tls_listener(self):
        self.keyway("-t", "60000", "tables", listener=1, status=7)


if __name__ == "__main__":
    unittest.main(verbosity=1)
