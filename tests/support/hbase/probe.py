#!/usr/bin/env python3
"""Asks a Thrift2 server for its namespaces: probe.py PORT FORM. Exits with 0 if the reply contains "default".

FORM is buffered-binary, buffered-compact, framed-binary or framed-compact. Uses the standard library only. The two
messages are written by hand, so that the readiness check does not depend on the code under test.
"""
import socket
import struct
import sys

NAME = b"listNamespaces"


def call(form):
    if form.endswith("compact"):
        message = bytes([0x82, 0x21, 0x01, len(NAME)]) + NAME + b"\0"
    else:
        message = struct.pack(">II", 0x80010001, len(NAME)) + NAME + struct.pack(">I", 1) + b"\0"
    return struct.pack(">I", len(message)) + message if form.startswith("framed") else message


def main():
    port, form = int(sys.argv[1]), sys.argv[2]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(call(form))
        answer = b""
        while b"default" not in answer and len(answer) < 4096:
            piece = connection.recv(4096)
            if not piece:
                return 1
            answer += piece
    return 0 if b"default" in answer else 1


try:
    sys.exit(main())
except OSError as problem:
    sys.exit(f"port {sys.argv[1]}: {problem}")
