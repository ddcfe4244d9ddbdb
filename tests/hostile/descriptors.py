"""More connections than the process can open files for: the gateway limits its connections to fewer, refuses further ones,
and serves and stops normally after they are closed."""
import os
import resource
import signal
import tempfile
import unittest

from keyway_gateway import POLICY, Gateway, daemon, record, wait_until

FILES = 240


class Descriptors(unittest.TestCase):
    def setUp(self):
        """The daemon has a low limit of open files, this process a high one."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.folder = tempfile.TemporaryDirectory()
        self.daemon = daemon()
        script = os.path.join(self.folder.name, "keywayd")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nulimit -n {FILES}\nexec "{self.daemon}" "$@"\n')
        os.chmod(script, 0o755)
        os.environ["KEYWAYD"] = script

    def tearDown(self):
        os.environ["KEYWAYD"] = self.daemon
        self.folder.cleanup()

    def test_more_connections_than_files(self):
        with Gateway(POLICY) as gateway:
            self.assertIn("fewer connections than limits.connections", gateway.log())
            first = gateway.data()
            first.put("events", record(id="a", ts=1), None)
            for _ in range(3):
                callers = [gateway.connect() for _ in range(2 * FILES)]
                wait_until(lambda: gateway.metric("keyway_connections_refused_total") > 0, "connections to be refused")
                first.put("events", record(id="a", ts=2), None)
                for connection in callers:
                    connection.close()
                wait_until(lambda: gateway.metric("keyway_connections_open") == 1, "the connections to close")
                with_new = gateway.data()
                with_new.put("events", record(id="a", ts=3), None)
                with_new.close()
            first.close()
            gateway.stop(signal.SIGTERM)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
