#!/usr/bin/env python3
"""Runs the Dockerfile's steps without a Docker engine.

Every stage becomes a root filesystem made by debootstrap (`FROM debian:12-slim`). RUN commands run in it with
chroot, COPY copies files. At the end, starts the image's command as the image's user and runs the health
check on it. Needs root and debootstrap.

    sudo tests/support/dockerfile_in_chroot.py FOLDER

FOLDER (empty or new) contains the root filesystems. The packages come from this machine's apt sources.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def steps(text):
    """The instructions, with continuation lines joined and without comments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    for line in joined.splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name.upper(), rest.strip()


class Stage:
    def __init__(self, folder, base):
        self.folder = folder
        self.workdir = "/"
        self.user = None
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        subprocess.run(["cp", "-a", base, folder], check=True)
        for file in ("etc/resolv.conf", "etc/hosts"):
            shutil.copy("/" + file, folder / file)
        shutil.rmtree(folder / "etc/apt", ignore_errors=True)
        shutil.copytree("/etc/apt", folder / "etc/apt", symlinks=True)
        for certificates in ("etc/ssl/certs", "usr/local/share/ca-certificates"):
            if pathlib.Path("/" + certificates).is_dir():
                shutil.copytree("/" + certificates, folder / certificates, symlinks=True, dirs_exist_ok=True)
        subprocess.run(["mount", "--bind", "/dev", folder / "dev"], check=True)
        subprocess.run(["mount", "-t", "proc", "proc", folder / "proc"], check=True)

    def unmount(self):
        for point in ("proc", "dev"):
            subprocess.run(["umount", "-l", self.folder / point], check=False)

    def command(self, words):
        user = ["--userspec", self.user] if self.user else []
        script = f'cd "{self.workdir}" && exec "$@"'
        return ["chroot", *user, str(self.folder), "/bin/sh", "-c", script, "sh", *words]

    def run(self, words, **options):
        proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        return subprocess.run(self.command(words), env={**self.environment, **proxies}, check=True, **options)

    def path(self, name):
        name = name if name.startswith("/") else f"{self.workdir}/{name}"
        return self.folder / name.lstrip("/")


def copy(source, target, into_folder):
    if source.is_dir():
        skip = shutil.ignore_patterns(".git", "build") if source == ROOT else None
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=skip)
        return
    target = target / source.name if into_folder else target
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def words_of(rest):
    return json.loads(rest) if rest.startswith("[") else ["/bin/sh", "-c", rest]


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    base = work / "debian"
    if not base.exists():
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", base], check=True, stdout=subprocess.DEVNULL)
    stages, stage, health, entry, arguments = {}, None, None, [], []
    try:
        for name, rest in steps((ROOT / "Dockerfile").read_text()):
            print(f"-- {name} {rest[:100]}", flush=True)
            if name == "FROM":
                match = re.fullmatch(r"debian:12-slim(?: AS (\w+))?", rest)
                if not match:
                    raise SystemExit(f"FROM {rest}: not understood")
                label = match.group(1) or "final"
                stage = stages[label] = Stage(work / label, base)
            elif name == "RUN":
                stage.run(["/bin/sh", "-c", rest])
            elif name == "WORKDIR":
                stage.workdir = rest
                stage.path(rest).mkdir(parents=True, exist_ok=True)
            elif name == "COPY":
                match = re.fullmatch(r"(?:--from=(\w+) )?(\S+) (\S+)", rest)
                origin = stages[match.group(1)].folder / match.group(2).lstrip("/") if match.group(1) else ROOT / match.group(2)
                copy(origin, stage.path(match.group(3)), match.group(3).endswith("/"))
            elif name == "USER":
                stage.user = rest
            elif name == "ENV":
                key, _, value = rest.partition("=")
                stage.environment[key] = value
            elif name == "HEALTHCHECK":
                health = words_of(re.sub(r"^.*?CMD ", "", rest))
            elif name == "ENTRYPOINT":
                entry = words_of(rest)
            elif name == "CMD":
                arguments = words_of(rest)
            elif name not in ("EXPOSE", "VOLUME"):
                raise SystemExit(f"{name}: not understood")
        started = subprocess.Popen(stage.command(entry + arguments), env=stage.environment)
        try:
            for attempt in range(50):
                time.sleep(0.2)
                if started.poll() is not None:
                    raise SystemExit(f"the image's command exited with {started.returncode}")
                if subprocess.run(stage.command(health), env=stage.environment).returncode == 0:
                    break
            else:
                raise SystemExit("the health check never passed")
            uid = pathlib.Path(f"/proc/{started.pid}/status").read_text().split("Uid:")[1].split()[0]
            if uid == "0":
                raise SystemExit("the image's command runs as root")
            print(f"healthy, as user {uid}")
        finally:
            started.send_signal(signal.SIGTERM)
            if started.wait(timeout=30) != 0:
                raise SystemExit(f"the gateway exited with {started.returncode} after SIGTERM")
        print("drained and stopped after SIGTERM")
    finally:
        for made in stages.values():
            made.unmount()


if __name__ == "__main__":
    main()
