"""A connection that the gateway closes while its peer still sends: earlier replies arrive, and the connection is closed
in an orderly way instead of being reset."""
import struct
import unittest

from keyway_gateway import POLICY, REPLY, Gateway, binary_message, framed, receive_frame, reply_head

JUNK = b"\xff" * (1024 * 1024)


class LastReply(unittest.TestCase):
    def check(self, bad):
        with Gateway(POLICY) as gateway:
            for _ in range(5):
                with gateway.connect() as connection:
                    connection.sendall(framed(binary_message("tables", sequence=3)) + bad + JUNK)
                    self.assertEqual(reply_head(receive_frame(connection))[:3], (REPLY, "tables", 3))
                    self.assertEqual(connection.recv(1), b"", "an orderly close, not a reset")

    def test_a_broken_message(self):
        self.check(framed(b"\x12\x34\x56\x78 this is no message"))

    def test_a_frame_that_is_too_large(self):
        self.check(struct.pack(">I", 0x7fffffff))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
