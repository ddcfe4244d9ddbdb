"""The commands on docs/security.md print what the page shows. A command ends with & if it runs in the background."""
import os
import re
import subprocess
import sys
import tempfile
import time

from keyway_gateway import daemon, free_ports

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "security.md")
PATIENCE = 60


def blocks(text):
    """The language and the lines of each block."""
    parts = text.split("```")
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1]) for part in parts[1::2]]


def commands(block):
    """Each command with the output that the page shows."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += line + "\n"
    return found


def run(command, folder, path):
    return subprocess.run(command, shell=True, cwd=folder, text=True, capture_output=True, check=False, timeout=PATIENCE,
                          env={**os.environ, "PATH": path})


def plain(printed):
    """Without what differs each time."""
    return re.sub(r"request [0-9a-f-]+\.", "request ID.", printed)


def is_leaf(folder, name):
    """True if the holder of the certificate cannot sign others."""
    text = subprocess.run(["openssl", "x509", "-in", f"{name}.pem", "-noout", "-text"], cwd=folder, text=True, check=True,
                          capture_output=True).stdout
    return text.count("Basic Constraints: critical") == 1 and "CA:FALSE" in text and "CA:TRUE" not in text


def main():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    path = os.pathsep.join([os.path.dirname(daemon()), os.path.dirname(os.environ["KEYWAY"]), os.environ["PATH"]])
    [port] = free_ports(1)
    failed, count, background = 0, 0, None
    with tempfile.TemporaryDirectory(prefix="keyway-page-") as folder:
        try:
            for language, block in blocks(text):
                block = block.replace("9599", str(port)).replace("0.0.0.0", "127.0.0.1").replace("/run/keyway", folder)
                if language == "yaml":
                    block = block.replace("unix:root", "unix:root" if os.getuid() == 0 else f"unix:{os.getuid()}")
                    with open(os.path.join(folder, "keyway.yaml"), "w", encoding="utf-8") as file:
                        file.write(block + "admin: off\n")
                    continue
                for command, expected in commands(block):
                    count += 1
                    if command.endswith("&"):
                        background = subprocess.Popen(command[:-1].split(), cwd=folder, env={**os.environ, "PATH": path},
                                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                        end = time.monotonic() + PATIENCE
                        while not os.path.exists(os.path.join(folder, "keyway.sock")) and time.monotonic() < end:
                            time.sleep(0.05)
                        continue
                    ended = run(command, folder, path)
                    printed = ended.stdout + (ended.stderr if command.startswith("keyway") else "")
                    if plain(printed) != plain(expected) or (command.startswith("openssl") and ended.returncode):
                        failed += 1
                        print(f"$ {command}\n--- printed\n{printed}--- but the page shows\n{expected}---")
            for name in ("server", "shop-1"):
                if not is_leaf(folder, name):
                    failed += 1
                    print(f"{name}.pem can sign other certificates")
        finally:
            if background:
                background.terminate()
                background.wait(PATIENCE)
    print(f"{count} commands, {failed} print something else than the page")
    return 1 if failed or count < 9 else 0


if __name__ == "__main__":
    sys.exit(main())
