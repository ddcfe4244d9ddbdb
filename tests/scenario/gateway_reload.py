"""SIGHUP and Admin.reload: a good policy takes effect during calls; a bad one changes nothing, and the gateway reports
the reason."""
import os
import threading
import unittest

from keyway_gateway import POLICY, Gateway, plain, record, wait_until
from keyway_thrift.ttypes import Code, KeywayError, Query

MORE = """\
  more:
    fields: {{a: string, n: int}}
    key: [{{field: a}}]
"""


class Reload(unittest.TestCase):
    def test_a_new_table(self):
        with Gateway(POLICY) as gateway:
            data, admin = gateway.data(), gateway.admin()
            loaded = admin.policy().loaded_at
            gateway.write_policy(POLICY + MORE)
            gateway.reload()
            gateway.wait_for_log("policy reloaded")
            self.assertEqual(sorted(wait_until(lambda: len(data.tables()) == 2 and data.tables(), "the table")), ["events", "more"])
            data.put("more", record(a="x", n=1), None)
            self.assertEqual(plain(data.get("more", record(a="x"), None, None).record), {"a": "x", "n": 1})
            self.assertGreater(admin.policy().loaded_at, loaded)
            self.assertEqual(gateway.metric("keyway_policy_reloads_total"), 1)
            data.close()
            admin.close()

    def test_asked_over_thrift(self):
        with Gateway(POLICY) as gateway:
            admin = gateway.admin()
            gateway.write_policy(POLICY + MORE)
            admin.reload()
            self.assertEqual(sorted(gateway.data().tables()), ["events", "more"])
            gateway.write_policy("listen: 127.0.0.1:0\nnonsense: 1\n")
            with self.assertRaises(KeywayError) as caught:
                admin.reload()
            self.assertEqual(caught.exception.code, Code.INVALID)
            self.assertIn("keyway.yaml:", caught.exception.message)
            self.assertEqual(sorted(gateway.data().tables()), ["events", "more"])
            admin.close()

    def test_a_bad_file_changes_nothing(self):
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            data.put("events", record(id="a", ts=1), None)
            hazard = "  wide:\n    fields: {{id: string}}\n    key: [{{salt: {{buckets: 300, algorithm: phoenix}}}}, {{field: id}}]\n"
            for text in ("", "tables: [", "nonsense: 1\n", POLICY.replace("of: [id]", "of: [idd]"), POLICY + hazard):
                refused = gateway.metric("keyway_policy_refusals_total")
                gateway.write_policy(text)
                gateway.reload()
                wait_until(lambda: gateway.metric("keyway_policy_refusals_total") == refused + 1, "the refusal")
                self.assertEqual(data.tables(), ["events"])
            self.assertIn("keyway.yaml:", gateway.log())
            os.unlink(gateway.policy_file)
            gateway.reload()
            wait_until(lambda: gateway.metric("keyway_policy_refusals_total") == refused + 2, "the refusal")
            ready = gateway.ready()
            self.assertTrue(ready["ready"])
            self.assertEqual(ready["warnings"], ["the last reload failed, so the policy from before it is in service: the policy "
                                                 "file cannot be read; the log of the gateway has the reason"])
            self.assertEqual(gateway.metric("keyway_policy_reload_failed"), 1)
            self.assertIsNotNone(data.get("events", record(id="a", ts=1), None, None).record)
            gateway.write_policy(POLICY)
            gateway.reload()
            wait_until(lambda: gateway.metric("keyway_policy_reload_failed") == 0, "the reload")
            self.assertEqual(gateway.ready()["warnings"], [])
            data.close()

    def test_a_changed_rule_is_refused(self):
        with Gateway(POLICY) as gateway:
            data, admin = gateway.data(), gateway.admin()
            data.put("events", record(id="a", ts=1), None)
            old = data.describe("events").paths[0].fingerprint
            gateway.write_policy(POLICY.replace("take: 4", "take: 6"))
            with self.assertRaises(KeywayError) as caught:
                admin.reload()
            self.assertEqual(caught.exception.code, Code.REFUSED)
            self.assertIn(old[:8], caught.exception.message)
            self.assertEqual(data.describe("events").paths[0].fingerprint, old)
            self.assertIsNotNone(data.get("events", record(id="a", ts=1), None, None).record)
            data.close()
            admin.close()

    def test_settings_that_need_a_restart(self):
        with Gateway(POLICY) as gateway:
            gateway.write_policy(POLICY.replace("loops: 2", "loops: 3").replace("/data", "/other") + MORE)
            gateway.reload()
            gateway.wait_for_log("policy reloaded")
            log = gateway.log()
            for setting in ("setting=loops", "setting=store"):
                self.assertIn(setting, log)
            for setting in ("setting=listen", "setting=admin"):
                self.assertNotIn(setting, log)
            self.assertFalse(os.path.exists(os.path.join(gateway.folder, "other")))

    def test_limits_take_effect(self):
        with Gateway(POLICY) as gateway:
            data = gateway.data()
            gateway.write_policy(POLICY + "limits: {{batch_records: 2}}\n")
            gateway.admin().reload()
            data.putMany("events", [record(id="a", ts=i) for i in range(2)], None)
            with self.assertRaises(KeywayError) as caught:
                data.putMany("events", [record(id="a", ts=i) for i in range(3)], None)
            self.assertEqual(caught.exception.code, Code.LIMIT)
            data.close()

    def test_under_load(self):
        """Many reloads during many calls: no call fails."""
        with Gateway(POLICY) as gateway:
            failures, done = [], threading.Event()

            def work(name):
                data = gateway.data()
                count = 0
                try:
                    while not done.is_set():
                        data.put("events", record(id=name, ts=count, note="x"), None)
                        page = data.scan(Query(table="events", bound=record(id=name), limit=1))
                        assert plain(page.rows[0])["ts"] == count, page
                        count += 1
                except Exception as failed:  # pylint: disable=broad-except
                    failures.append(failed)
                data.close()

            workers = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
            for worker in workers:
                worker.start()
            admins = [gateway.admin() for _ in range(3)]
            for i in range(30):
                gateway.write_policy(POLICY + (MORE if i % 2 == 0 else ""))
                gateway.reload()
                for admin in admins:
                    admin.send_reload()
                for admin in admins:
                    admin.recv_reload()
            done.set()
            for worker in workers:
                worker.join()
            self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
