"""Builds one of client/examples as its README says and runs it against a gateway in all four forms of
the wire. Every language must print the same lines.

Arguments: LANGUAGE, source root, folder to build in, Thrift compiler, and for C the flags to compile and
link with libkeyway. KEYWAYD names the gateway. Exit status 77: the language's tools are not on this
machine.
"""
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
EXPECTED = [
    "put 12 events",
    "latest A-1002: delivered, 1 scanned",
    "events A-1002: delivered shipped paid created",
    "error NOT_FOUND",
]
POLICY = """\
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: {{kind: embedded, path: {folder}/data}}
tables:
  order_events:
    fields:
      order_id: {{type: string, max_bytes: 64}}
      ts: {{type: timestamp, unit: ms}}
      status: string
      amount: double
    key:
      - hash: {{algorithm: md5, of: [order_id], take: 4, as: hex}}
      - field: order_id
      - field: {{name: ts, order: desc}}
"""
TOOLS = {"python": [], "java": ["java", "mvn"], "go": ["go"], "node": ["node", "npm"], "c": ["cc"]}


def call(*words, cwd, **env):
    subprocess.run(words, cwd=cwd, env={**os.environ, **env}, check=True, timeout=500)


def generate(thrift, idl, language, folder):
    folder.mkdir(parents=True, exist_ok=True)
    call(thrift, "--gen", language, "-out", str(folder), str(idl), cwd=folder)


def build(language, source, folder, thrift, flags):
    """The command that runs the example."""
    idl = source / "thrift/keyway.thrift"
    shutil.copytree(source / "client/examples" / language, folder, dirs_exist_ok=True)
    if language == "python":
        generate(thrift, idl, "py", folder / "gen")
        return ["env", f"PYTHONPATH={folder / 'gen'}", sys.executable, "orders.py"]
    if language == "java":
        generate(thrift, idl, "java:generated_annotations=suppress", folder / "src/main/java")
        call("mvn", "-q", "-B", "compile", cwd=folder)
        return ["java", "-cp", "target/classes:target/lib/*", "Orders"]
    if language == "go":
        generate(thrift, idl, "go:package_prefix=orders/gen/", folder / "gen")
        cache = folder.parent / "go-cache"
        call("go", "build", "-o", "orders", ".", cwd=folder, GOCACHE=str(cache / "build"), GOMODCACHE=str(cache / "mod"),
             GOFLAGS="-modcacherw")
        return [str(folder / "orders")]
    if language == "node":
        generate(thrift, idl, "js:node", folder / "gen")
        call("npm", "install", "--silent", "--no-audit", "--no-fund", "--cache", str(folder.parent / "npm-cache"), cwd=folder)
        return ["node", "orders.js"]
    call("cc", "orders.c", "-o", "orders", *flags, cwd=folder)
    return [str(folder / "orders")]


def run(command, folder, address, form):
    done = subprocess.run([*command, address, *form], cwd=folder, capture_output=True, text=True, timeout=60)
    if done.returncode != 0 or done.stdout.splitlines() != EXPECTED:
        sys.exit(f"{' '.join(form) or 'unframed binary'}: status {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{' '.join(form) or 'unframed binary'}: as expected")


def main():
    language, source, folder, thrift, *flags = sys.argv[1:]
    missing = [tool for tool in TOOLS[language] if shutil.which(tool) is None]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not found")
        sys.exit(SKIPPED)
    folder = pathlib.Path(folder, language)
    folder.mkdir(parents=True, exist_ok=True)
    command = build(language, pathlib.Path(source), folder, thrift, flags)
    sys.path.insert(0, str(pathlib.Path(source, "tests/support")))
    from keyway_gateway import Gateway

    with Gateway(POLICY) as gateway:
        for form in ([], ["framed"], ["compact"], ["framed", "compact"]):
            run(command, folder, "%s:%d" % gateway.addresses[0], form)


if __name__ == "__main__":
    main()
