"""Builds one of client/examples by the commands in its README and runs it against a gateway in all four forms of
the wire. Every language must print the same lines.

Arguments: LANGUAGE, source root, folder to build in, Thrift compiler, and for C, whose example is built against what
`cmake --install` installs, CMake and the build folder. KEYWAYD names the gateway. Exit status 77: the language's tools are
not installed.
"""
import atexit
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

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
INSTALLED = [
    "sbin/keywayd", "bin/keyway", "include/keyway.h", "lib/systemd/system/keywayd.service", "share/man/man1/keyway.1",
    "share/man/man5/keyway-policy.5", "share/man/man7/keyway-changes.7", "share/man/man7/keyway-filters.7",
    "share/man/man7/keyway-ordering.7", "share/man/man8/keywayd.8", "share/keyway/keyway-policy.schema.json",
    "share/bash-completion/completions/keyway", "share/doc/keyway/examples/order-tracking.yaml",
]
FETCHES = {"mvn", "npm", "go"}  # can need the network, so they are retried
TOOLS = {"python": [], "java": ["java", "mvn"], "go": ["go"], "node": ["node", "npm"], "c": ["cc", "pkg-config"]}


def commands(source, language):
    """The commands in the README of the examples: to generate code, to build, and to run."""
    text = (source / "client/examples/README.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {language} \|(.*)\|(.*)\|$", text, re.MULTILINE | re.IGNORECASE)
    steps = [step for step in re.findall(r"`([^`]+)`", row[1]) if " venv " not in step]  # the tests link their own environment there
    *more, last = re.search(r"`([^`]+)`", row[2])[1].split(" && ")
    if not last.endswith(" 127.0.0.1:9595"):
        sys.exit(f"README: {last}")
    return steps + more, last.removesuffix(" 127.0.0.1:9595")


def shell(command, folder, environment, **more):
    return subprocess.run(["sh", "-c", command], cwd=folder, env={**os.environ, **environment}, check=False, text=True, **more)


CONSUMER = """\
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(keyway 0.1 REQUIRED)
foreach(library keyway static)
  add_executable(with_${library} main.c)
  target_link_libraries(with_${library} PRIVATE keyway::${library})
endforeach()
"""


def check_found(cmake, prefix):
    """CMake finds libkeyway, shared and static, and keyway finds keywayd, wherever they are installed."""
    with tempfile.TemporaryDirectory(prefix="keyway-consumer-") as name:
        folder = pathlib.Path(name)
        (folder / "CMakeLists.txt").write_text(CONSUMER, encoding="utf-8")
        (folder / "main.c").write_text("#include <keyway.h>\n#include <stdio.h>\n"
                                       "int main(void) { return puts(kw_client_error_quark() ? \"linked\" : \"\") < 0; }\n",
                                       encoding="utf-8")
        subprocess.run([cmake, "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([cmake, "--build", folder / "build"], check=True, stdout=subprocess.DEVNULL)
        for library in ("keyway", "static"):
            subprocess.run([folder / "build" / f"with_{library}"], check=True, stdout=subprocess.DEVNULL)
    bare = {name: value for name, value in os.environ.items() if name != "KEYWAYD"} | {"PATH": "/usr/bin:/bin"}
    subprocess.run([prefix / "bin/keyway", "check", prefix / "share/doc/keyway/examples/order-tracking.yaml"], check=True,
                   env=bare, stdout=subprocess.DEVNULL)


def install(cmake, build_folder):
    """Installs the build, checks the result, and returns the environment to find it. The installation exists until this program
    ends. It is not in the build folder, whose name can contain a space, which pkg-config does not support."""
    prefix = pathlib.Path(tempfile.mkdtemp(prefix="keyway-installed-"))
    atexit.register(shutil.rmtree, prefix, ignore_errors=True)
    subprocess.run([cmake, "--install", build_folder, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    missing = [file for file in INSTALLED if not (prefix / file).is_file()]
    unit = (prefix / "lib/systemd/system/keywayd.service").read_text(encoding="utf-8")
    if missing or f"\nExecStart={prefix}/sbin/keywayd --config " not in unit:
        sys.exit(f"not installed: {missing}; the unit has {re.findall('ExecStart=.*', unit)}")
    check_found(cmake, prefix)
    [module] = prefix.glob("lib*/**/pkgconfig/keyway.pc")
    return {"PKG_CONFIG_PATH": str(module.parent), "LD_LIBRARY_PATH": str(module.parents[1])}


def build(language, source, top, thrift, how):
    """The command that runs the example, the folder to run it in and the environment."""
    folder = top / "client/examples" / language  # so that ../../../thrift is at the README's path
    generated = shutil.ignore_patterns("env", "gen", "io", "target", "node_modules")  # generated in the source tree by the same commands
    shutil.copytree(source / "client/examples" / language, folder, dirs_exist_ok=True, ignore=generated)
    shutil.copytree(source / "thrift", top / "thrift", dirs_exist_ok=True)
    tools = f"{pathlib.Path(sys.executable).parent}:{pathlib.Path(thrift).parent}:{os.environ['PATH']}"
    environment = {"PATH": tools, "GOCACHE": str(top / "go-build"), "GOMODCACHE": str(top / "go-mod"), "GOFLAGS": "-modcacherw",
                   "npm_config_cache": str(top / "npm-cache"), "npm_config_audit": "false", "npm_config_fund": "false"}
    if language == "c":
        environment.update(install(*how))
    if language == "python" and not (folder / "env").is_symlink():
        (folder / "env").symlink_to(sys.prefix)
    steps, command = commands(source, language)
    if language == "go":  # done by the first `go run`
        steps += ["go mod download", "go build -o /dev/null ."]
    fetch = shlex.quote(str(source / "tests" / "support" / "fetch.sh"))
    for step in steps:
        done = shell(f"{fetch} {step}" if step.split()[0] in FETCHES else step, folder, environment)
        if done.returncode != 0:
            sys.exit(f"{step}: status {done.returncode}")
    return command, folder, environment


def run(command, folder, environment, address, form):
    done = shell(" ".join([command, address, *form]), folder, environment, capture_output=True)
    if done.returncode != 0 or done.stdout.splitlines() != EXPECTED:
        sys.exit(f"{' '.join(form) or 'unframed binary'}: status {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{' '.join(form) or 'unframed binary'}: as expected")


def main():
    language, source, folder, thrift, *how = sys.argv[1:]
    missing = [tool for tool in TOOLS[language] if shutil.which(tool) is None]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not found")
        sys.exit(SKIPPED)
    command, folder, environment = build(language, pathlib.Path(source), pathlib.Path(folder, language), thrift, how)
    sys.path.insert(0, str(pathlib.Path(source, "tests/support")))
    from keyway_gateway import Gateway

    with Gateway(POLICY) as gateway:
        for form in ([], ["framed"], ["compact"], ["framed", "compact"]):
            run(command, folder, environment, gateway.address, form)


if __name__ == "__main__":
    main()
