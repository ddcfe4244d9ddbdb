"""`keyway catalog export` and `import`: a catalog that was lost comes back, with its changes, versions and counters. A gateway
with another catalog stands for a lost one.

    catalog_backup.py embedded|sim|hbase
"""
import os
import subprocess
import unittest

from changing import apply, call, keyway, order, put_all, status, wait_for, wait_until_ended
from coming_back import ROWS, SALTED, STORE, ComingBackCase
from keyway_gateway import Gateway, record, wait_until
from keyway_thrift.ttypes import CatalogPart, Code, ImportStep, KeywayError, SavedCell

AHEAD = 1000000
ID = "0" * 64


class Backup(ComingBackCase):
    # --- texts ------------------------------------------------------------------------------------

    def with_sequence(self, *arguments):
        """The tables, and one whose records get numbers of a sequence."""
        return (self.tables(*arguments) +
                f"  bills:\n    store_table: {self.name}_bills\n    fields: {{id: string, n: {{type: int, generate: sequence}}}}\n"
                "    key: [{field: id}]\n")

    # --- steps ------------------------------------------------------------------------------------

    def start(self, text=None):
        gateway = self.open()
        self.fill(gateway, text or self.with_sequence())
        self.file = os.path.join(gateway.folder, "catalog.txt")
        return gateway

    def bill(self, gateway, name):
        data = gateway.data()
        try:
            written = data.put("bills", record(id=name), None)
            self.assertEqual(written.outcome, 0, written)
            return written.made["n"].number
        finally:
            data.close()

    def save(self, gateway):
        return keyway(gateway, "catalog", "export", self.file)[0]

    def load(self, gateway, *words, code=0):
        return keyway(gateway, "catalog", "import", self.file, *words, code=code)

    def come_back(self, gateway, *words):
        self.lose_catalog(gateway)
        self.assertIn("were imported", self.load(gateway, *words)[0])
        wait_until(lambda: gateway.ready()["ready"] and not gateway.ready()["warnings"], "the gateway to serve")

    def lines(self):
        with open(self.file, encoding="ascii") as file:
            return file.read().splitlines()

    @staticmethod
    def documented(start):
        """A command of docs/backup.md that begins with these words."""
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "backup.md"), encoding="utf-8") as page:
            found = [line.strip() for line in page if line.strip().startswith(start)]
        assert len(found) == 1, found
        return found[0]

    def shell(self, command):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=os.path.dirname(self.file), check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def write(self, text):
        with open(self.file, "w", encoding="ascii") as file:
            file.write(text)

    def refuse(self, gateway, code, part, **arguments):
        with self.assertRaises(KeywayError) as caught:
            call(gateway, "importCatalog", CatalogPart(**{"export_id": ID, **arguments}))
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(part, caught.exception.message)

    # --- tests ------------------------------------------------------------------------------------

    def test_after_a_change(self):
        gateway = self.start()
        self.change(gateway, self.with_sequence(SALTED))
        first = self.bill(gateway, "a")
        self.save(gateway)
        last = self.bill(gateway, "b")
        keyway(gateway, "catalog", "export", os.path.join(gateway.folder, "after.txt"))
        self.assertEqual(self.shell(self.documented("diff <(")), "")
        tables = [f'"store_table":"{self.name}{more}"' for more in ("", "_bills", "_by_seller", "_by_seller_L2")]
        self.assertEqual(self.shell(self.documented("grep -P")).splitlines(), tables)
        history = [(one.version, one.author, one.reason) for one in call(gateway, "policyHistory", 0, 0)]
        text = self.show(gateway)
        self.come_back(gateway)
        self.expect_all(gateway)
        self.assertEqual([(one.version, one.author, one.reason) for one in call(gateway, "policyHistory", 0, 0)], history)
        self.assertEqual(self.show(gateway), text)
        self.assertGreaterEqual(self.bill(gateway, "c"), first + AHEAD)
        self.assertLess(last, first + AHEAD)
        self.assertIn("the catalog has this content already", self.load(gateway)[0])
        self.change(gateway, self.with_sequence(SALTED.replace("4}", "8}")))
        self.expect_all(gateway)
        keyway(gateway, "catalog", "export", os.path.join(gateway.folder, "after.txt"))
        self.assertIn("> cell\t=facts\tpolicy\t3 ", self.shell(self.documented("diff <(")))
        _, why = self.load(gateway, code=1)
        self.assertIn("the catalog has ~policy/0000000000000003/", why)
        self.assertIn("the catalog has table/orders, which the export has with another value", why)

    def test_during_a_change(self):
        """The change goes on, and the writes after the export are there."""
        gateway = self.start()
        self.change(gateway, self.with_sequence(SALTED), complete=False)
        self.save(gateway)
        put_all(gateway, "orders", [record(no=f"o{ROWS:04}", seller="s0", n=ROWS)])
        self.come_back(gateway)
        self.expect_all(gateway, ROWS + 1)
        self.wait_until_compared(gateway)
        order(gateway, "orders", "switch")
        wait_for(gateway, "orders", lambda found: found.version == "both-new", "the switch")
        self.expect_all(gateway, ROWS + 1)
        order(gateway, "orders", "complete", expire_cursors=True)
        wait_until_ended(gateway, "orders")
        self.expect_all(gateway, ROWS + 1)

    def test_cancel_after_an_import(self):
        gateway = self.start()
        self.change(gateway, self.with_sequence(SALTED), complete=False)
        self.save(gateway)
        self.come_back(gateway)
        put_all(gateway, "orders", [record(no=f"o{ROWS:04}", seller="s0", n=ROWS)])
        order(gateway, "orders", "cancel")
        wait_until_ended(gateway, "orders")
        self.expect_all(gateway, ROWS + 1)
        self.assertIsNone(status(gateway, "orders"))

    def test_while_copying(self):
        """The export is taken before all rows are copied."""
        gateway = self.start()
        apply(gateway, self.with_sequence(SALTED), only_writer=STORE != "embedded")
        self.save(gateway)
        self.come_back(gateway)
        self.expect_all(gateway)
        self.wait_until_compared(gateway)
        order(gateway, "orders", "switch")
        wait_for(gateway, "orders", lambda found: found.version == "both-new", "the switch")
        self.expect_all(gateway)

    def test_import_that_was_cut_off(self):
        """After any number of parts, no gateway serves tables, and the import can be repeated."""
        gateway = self.start()
        self.save(gateway)
        lines = self.lines()
        export_id = lines[-1].split("\t")[1]
        facts = [line.split("\t") for line in lines if line.startswith("cell\t=facts\ttable/")]
        self.lose_catalog(gateway)
        call(gateway, "importCatalog", CatalogPart(export_id=export_id, step=ImportStep.START))
        call(gateway, "importCatalog", CatalogPart(export_id=export_id, step=ImportStep.ADD, cells=[
            SavedCell(row=b"=facts", column=facts[0][2].encode(), value=facts[0][3].encode())]))
        self.refuse(gateway, Code.REFUSED, "the import of another export has begun", step=ImportStep.START)
        self.refuse(gateway, Code.BUSY, "this import has not begun, or has ended", step=ImportStep.ADD)
        with self.assertRaises(KeywayError) as caught:
            apply(gateway, self.with_sequence(), 0)
        self.assertEqual(caught.exception.code, Code.UNAVAILABLE)
        self.assertIn("an export is being imported into the catalog", caught.exception.message)
        _, why = keyway(gateway, "catalog", "export", self.file + ".new", code=1)
        self.assertIn("an export is being imported into the catalog", why)
        # a gateway with a file does not serve, either
        gateway.stop()
        file = self.settings("_new", self.tables())
        if STORE == "embedded":  # no other gateway could end the import
            with Gateway(file, folder=gateway.folder, expect_start=False) as other:
                self.assertEqual(other.wait_for_exit(), 4)
                self.assertIn('event="the policy cannot be served" code=UNAVAILABLE reason="an export is being imported', other.log())
        else:
            with Gateway(file) as other:
                wait_until(lambda: any("an export is being imported" in reason for reason in other.ready()["reasons"]), "the reason")
        gateway.write_policy(self.settings("_new"))
        gateway.start()
        gateway.kill()
        if STORE == "embedded":
            gateway.start()
            self.assertIn("were imported", self.load(gateway)[0])
        else:  # another gateway ends the import
            with Gateway(self.settings("_new").replace(f"gateway_id: {self.name}", f"gateway_id: {self.name}_b")) as other:
                self.assertIn("were imported", self.load(other)[0])
                wait_until(lambda: other.ready()["ready"], "the other gateway to serve")
                self.expect_all(other)
            gateway.start()
        wait_until(lambda: gateway.ready()["ready"], "the gateway to serve")
        self.expect_all(gateway)

    def test_several_parts(self):
        """Versions that do not fit into one part, or one page."""
        gateway = self.start()
        for version in range(1, 4):
            apply(gateway, self.with_sequence() + f"# {version} " + "\\x " * 200000 + "\n", version)
        self.save(gateway)
        history = [(one.version, one.applied_at) for one in call(gateway, "policyHistory", 0, 0)]
        texts = [call(gateway, "policyVersion", version).text for version in range(1, 5)]
        self.come_back(gateway)
        gateway.wait_for_log("the catalog was imported")
        self.assertEqual([(one.version, one.applied_at) for one in call(gateway, "policyHistory", 0, 0)], history)
        self.assertEqual([call(gateway, "policyVersion", version).text for version in range(1, 5)], texts)
        self.expect_all(gateway)

    def test_refused(self):
        gateway = self.start()
        self.save(gateway)
        whole = "\n".join(self.lines()) + "\n"
        for text, part in ((whole[:-80], "the file was cut"), (whole.replace("orders", "Orders", 1), "the export is damaged"),
                           ("listen: 1\n", "this is no export of a catalog")):
            self.write(text)
            self.assertIn(part, self.load(gateway, code=3)[1])
        self.refuse(gateway, Code.REFUSED, "the catalog is not empty: policy version 1 is current", step=ImportStep.START)
        self.refuse(gateway, Code.INVALID, "export_id must have 64 hexadecimal digits", step=ImportStep.START, export_id="x")
        self.refuse(gateway, Code.INVALID, "part.step is not known", step=77)
        cell = SavedCell(row=b"=facts", column=b"table/t", value=b"{")
        self.refuse(gateway, Code.INVALID, "the first part of an import has no cells", step=ImportStep.START, cells=[cell])
        self.refuse(gateway, Code.LIMIT, "more than 10000 cells", step=ImportStep.ADD, cells=[cell] * 10001)
        self.refuse(gateway, Code.LIMIT, "of more than 2097152 bytes", step=ImportStep.ADD,
                    cells=[SavedCell(row=b"r", column=b"c", value=b"x" * (1 << 21))])
        for row, column, value in ((b"=facts", b"table/t", b"{"), (b"=facts", b"id", b"x"), (b"=facts", b"importing", b"x"),
                                   (b"=facts", b"changes", b"x"), (b"=facts", b"policy", b"1 x"), (b"=gateway/x", b"id", b"x"),
                                   (b"~policy/1/x", b"text", b"x"), (b"other", b"fingerprint", b"x"), (b"t/p/1", b"x", b"x")):
            self.refuse(gateway, Code.INVALID, "row ", step=ImportStep.ADD, cells=[SavedCell(row=row, column=column, value=value)])
        self.lose_catalog(gateway)
        call(gateway, "importCatalog", CatalogPart(export_id=ID, step=ImportStep.START))
        for counter in (SavedCell(row=b"c", column=b"x", value=b"1"), SavedCell(row=b"c", column=b"n", value=b"-1")):
            self.refuse(gateway, Code.INVALID, "writes no such counter", step=ImportStep.ADD, counters=[counter], counters_keep_ms=1000)
        with self.assertRaises(KeywayError) as caught:
            call(gateway, "exportCatalog", b"x")
        self.assertEqual(caught.exception.code, Code.INVALID)

    def test_lost_counters(self):
        """The table of sequences was lost, too: the counters are put back before a gateway generates numbers."""
        text = self.with_sequence()
        gateway = self.start(text)
        first = self.bill(gateway, "a")
        self.save(gateway)
        lines = self.lines()
        self.assertEqual(len([line for line in lines if line.startswith("counter\t")]), 1)
        self.assertIn(f"counters\t{self.name}_sequences\t", lines[1])
        part = {"export_id": ID, "counters_keep_ms": 172800000}
        self.lose_catalog(gateway)
        call(gateway, "importCatalog", CatalogPart(step=ImportStep.START, **part))
        words = [line for line in lines if line.startswith("counter\t")][0].split("\t")
        counter = SavedCell(row=words[1].encode().decode("unicode_escape").encode("latin1"), column=words[2].encode(), value=b"5000")
        for _ in range(2):
            call(gateway, "importCatalog", CatalogPart(step=ImportStep.ADD, counters=[counter], **part))
        call(gateway, "importCatalog", CatalogPart(step=ImportStep.FINISH, **part))
        apply(gateway, text, 0)
        self.assertEqual(first, 1)
        self.assertEqual(self.bill(gateway, "b"), 5001)

    @unittest.skipIf(STORE == "embedded", "one gateway only")
    def test_live_gateway(self):
        """Another gateway serves tables from the catalog into which the export would be imported."""
        gateway = self.start()
        self.save(gateway)
        self.restart(gateway, self.settings("_new"), ready=False)
        with Gateway(self.settings("_new", self.tables().replace("orders:", "other:")).replace(f"gateway_id: {self.name}", f"gateway_id: {self.name}_b")
                     .replace(f"store_table: {self.name}", f"store_table: {self.name}_other")) as other:
            wait_until(lambda: other.ready()["ready"], "the other gateway to serve")
            _, why = self.load(gateway, code=1)
            self.assertIn(f"gateway {self.name}_b serves tables from this catalog; stop it first", why)
            self.assertIn("the catalog has table/other, which the export does not have", why)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
