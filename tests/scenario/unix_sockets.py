"""Unix sockets as listeners: calls, permissions, what was left at the path, and a second gateway."""
import os
import socket
import stat
import subprocess
import tempfile
import unittest

from keyway_gateway import POLICY, Gateway, daemon, plain, record

UNIX = POLICY.replace("listen: 127.0.0.1:0", "listen: [127.0.0.1:0, {{address: unix:{folder}/keyway.sock, mode: '0600'}}]")


class UnixSockets(unittest.TestCase):
    def test_calls(self):
        """All loops serve the socket, and its file has the permissions of the policy and disappears."""
        with Gateway(UNIX) as gateway:
            path = os.path.join(gateway.folder, "keyway.sock")
            self.assertEqual(gateway.addresses[1], ("unix", path))
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            clients = [gateway.data(listener=1) for _ in range(20)]
            for i, client in enumerate(clients):
                client.put("events", record(id=f"a{i}", ts=i, note="hello"), None)
            for i, client in enumerate(clients):
                found = gateway.data().get("events", record(id=f"a{i}", ts=i), [], None)
                self.assertEqual(plain(found.record)["note"], "hello")
                client.close()
            gateway.restart()
            self.assertTrue(stat.S_ISSOCK(os.stat(path).st_mode))
            gateway.stop()
            self.assertFalse(os.path.exists(path))

    def test_peer_is_named(self):
        """A connection belongs to the user of the process: limits.peer_connections counts it for this user."""
        with Gateway(UNIX + "limits: {{peer_connections: 2}}\n") as gateway:
            clients = [gateway.data(listener=1) for _ in range(3)]
            texts = []
            for client in clients:
                try:
                    texts.append(client.tables())
                except Exception as error:  # of the generated code
                    texts.append(error.message)
            name = "unix:root" if os.getuid() == 0 else f"unix:{os.getuid()}"
            # Two loops accept, so the connection that is refused is not always the last one.
            self.assertCountEqual(texts, [["events"], ["events"],
                                          f"{name} has 2 connections already (limits.peer_connections)"])
            gateway.data().close()

    def test_stale_socket_is_replaced(self):
        with Gateway(UNIX) as gateway:
            gateway.kill()
            self.assertTrue(os.path.exists(os.path.join(gateway.folder, "keyway.sock")))
            gateway.start()
            self.assertEqual(gateway.data(listener=1).tables(), ["events"])

    def test_used_socket_is_not_replaced(self):
        with Gateway(UNIX) as gateway:
            second = os.path.join(gateway.folder, "second.yaml")
            with open(second, "w", encoding="utf-8") as file:
                file.write(UNIX.format(folder=gateway.folder).replace("/data", "/second"))
            ended = subprocess.run([daemon(), "--config", second], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(ended.returncode, 4, ended.stderr)
            self.assertIn("keyway.sock: another process listens there", ended.stderr)
            self.assertEqual(gateway.data(listener=1).tables(), ["events"])

    def test_sockets_of_other_programs_stay(self):
        """A socket at which another program listens, which knows nothing of the lock, is neither replaced nor removed."""
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as other:
            path = os.path.join(folder, "keyway.sock")
            other.bind(path)
            other.listen()
            with Gateway(UNIX, folder=folder, expect_start=False) as gateway:
                self.assertEqual(gateway.wait_for_exit(), 4)
                self.assertIn("keyway.sock: another process listens there", gateway.log())
            self.assertTrue(os.path.exists(path))
        with Gateway(UNIX) as gateway, socket.socket(socket.AF_UNIX) as other:
            path = os.path.join(gateway.folder, "keyway.sock")
            os.rename(path, path + ".old")
            other.bind(path)
            gateway.stop()
            self.assertTrue(os.path.exists(path))

    def test_other_files_are_not_replaced(self):
        """A file that is not a socket stays. A link in place of the lock is not followed."""
        for name, reason in (("keyway.sock", "there is a file that is not a socket"),
                             ("keyway.sock.lock", "Too many levels of symbolic links")):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                os.symlink(os.path.join(folder, "mine"), os.path.join(folder, name))
                with Gateway(UNIX, folder=folder, expect_start=False) as gateway:
                    self.assertEqual(gateway.wait_for_exit(), 4)
                    self.assertIn(reason, gateway.log())
                self.assertTrue(os.path.islink(os.path.join(folder, name)))
                self.assertFalse(os.path.exists(os.path.join(folder, "mine")))


if __name__ == "__main__":
    unittest.main()
