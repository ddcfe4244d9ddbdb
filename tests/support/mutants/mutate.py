"""Measures the unit tests with mutants; tests/mutate.sh describes the use.

Nothing is written to the tree or to the objects of the build folder: a mutant is a copy of one file. The copy
is compiled with the file's own command, and its object is linked before the archive of its module, so that the
linker does not take the original from there. The results are in BUILD_FOLDER/mutants/, a line of JSON each."""
import argparse
import hashlib
import json
import os
import pathlib
import random
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from c_mutants import applied, described, first_line, mutants_of, one_line

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODULES = ['rule', 'schema', 'plan', 'gather', 'path', 'wire', 'net']
GOAL_PERCENT = 85
TEST_LIMIT_S = 30      # a test that needs longer without a mutant is left out
TIMEOUT_LEAST_S = 20   # a mutant that hangs is killed after this time, or after
TIMEOUT_FACTOR = 5     # so many times the time of the test without a mutant
MEMORY_LIMIT_BYTES = 6 << 30
ENVIRONMENT = {'KW_SEED': '1', 'G_SLICE': 'always-malloc', 'MALLOC_PERTURB_': '165'}


def stop(text):
    sys.exit(f'mutate: {text}')


def run(command, timeout_s=None, cwd=None, env=None, bounded=False):
    """Runs a command in a process group of its own. Returns its exit status, or None after a timeout."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if bounded:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=cwd, env=env, stdin=nothing, stdout=nothing, stderr=nothing,
                               start_new_session=True, preexec_fn=limit)
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


class Test:
    """One test of a module: how its program, which it can share with other tests, is linked and run."""

    def __init__(self, build, described_test, work):
        self.name = described_test['name']
        self.program = pathlib.Path(described_test['command'][0])
        self.arguments = described_test['command'][1:]
        properties = {p['name']: p['value'] for p in described_test.get('properties', [])}
        self.cwd = properties.get('WORKING_DIRECTORY', str(build.folder))
        self.env = os.environ | dict(p.split('=', 1) for p in properties.get('ENVIRONMENT', []))
        for name, value in ENVIRONMENT.items():
            self.env.setdefault(name, value)
        self.mutated = work / self.program.name
        self.link = self.link_command(build)
        self.bounded = '-fsanitize' not in ' '.join(self.link)
        self.seconds = 0.0

    def link_command(self, build):
        lines = build.ninja('-t', 'commands', str(self.program.relative_to(build.folder))).splitlines()
        words = shlex.split(lines[-1].removeprefix(': && ').split(' && ')[0])
        words[words.index('-o') + 1] = str(self.mutated)
        return words

    def linked(self, build, objects):
        at = self.link.index('-o') + 2
        return run(self.link[:at] + objects + self.link[at:], cwd=build.folder) == 0

    def passes(self):
        timeout_s = max(TIMEOUT_LEAST_S, TIMEOUT_FACTOR * self.seconds) if self.seconds else 10 * TEST_LIMIT_S
        return run([str(self.mutated), *self.arguments], timeout_s, self.cwd, self.env, self.bounded) == 0


class Build:
    """A build folder: the compile commands and the tests of modules."""

    def __init__(self, folder, work):
        self.folder, self.work = pathlib.Path(folder).resolve(), work
        if not (self.folder / 'compile_commands.json').exists():
            stop(f'{folder} is no build folder: it has no compile_commands.json')
        entries = json.loads((self.folder / 'compile_commands.json').read_text())
        self.commands = {entry['file']: entry for entry in entries}
        self.work.mkdir(parents=True)
        self.originals, self.tests = {}, {}

    def ninja(self, *arguments):
        command = ['ninja', '-C', str(self.folder), *arguments]
        return subprocess.run(command, check=True, text=True, capture_output=True).stdout

    def load(self, module):
        command = ['ctest', '--test-dir', str(self.folder), '-R', rf'^unit\.{module}_', '--show-only=json-v1']
        listed = subprocess.run(command, check=True, text=True, capture_output=True)
        tests = [Test(self, test, self.work) for test in json.loads(listed.stdout)['tests']
                 if test.get('command', [''])[0].startswith(f'{self.folder}/')]
        if not tests:
            stop(f'{self.folder} has no tests named unit.{module}_*')
        archive = self.folder / 'server' / module / f'libkw_{module}.a'
        if any(path.stat().st_mtime > archive.stat().st_mtime for path in sources_of(module)):
            stop(f'{archive} is older than its sources: build the unit tests first')
        for test in tests:
            self.measure(test)
        used = [test for test in tests if test.seconds < TEST_LIMIT_S]
        self.tests[module] = sorted(used, key=lambda test: test.seconds)
        self.built = self.newest()

    def measure(self, test):
        if not test.linked(self, []):
            stop(f'cannot link {test.name}')
        start = time.monotonic()
        if not test.passes():
            stop(f'{test.name} fails without a mutant')
        test.seconds = time.monotonic() - start
        if test.seconds >= TEST_LIMIT_S:
            print(f'left out: {test.name} of {self.folder.name}, which takes {test.seconds:.0f} s')

    def newest(self):
        return max(path.stat().st_mtime for path in self.folder.glob('**/libkw_*.a'))

    def compiled(self, unit, source_file, to):
        """Compiles `source_file` in place of the file `unit`."""
        entry = self.commands[str(ROOT / unit)]
        words = [word for word in shlex.split(entry['command']) if word not in ('-Werror', '-g')]
        words = words[next(i for i, word in enumerate(words) if 'ccache' not in word):]
        words[words.index('-o') + 1] = str(to)
        words[words.index('-c') + 1] = str(source_file)
        words[1:1] = ['-iquote', str(self.work / 'shadow'), '-iquote', str((ROOT / unit).parent)]
        return run([*words, '-w', '-Werror=return-type'], cwd=entry['directory']) == 0

    def objects_of(self, file, source):
        """The objects of all units that a changed file is part of; None if one does not compile."""
        objects = []
        shadow = self.work / 'shadow' / pathlib.Path(file).relative_to('server')
        shadow.parent.mkdir(parents=True, exist_ok=True)
        shadow.write_text(source)
        for unit in units_of(file):
            at = self.work / (pathlib.Path(unit).name + '.o')
            if not self.compiled(unit, shadow if unit == file else ROOT / unit, at):
                shadow.unlink()
                return None
            objects.append(at)
        shadow.unlink()
        return objects

    def same_code(self, file, objects):
        """True if the compiler made the same code of the mutant as of the original."""
        if file not in self.originals:
            mutated = [path.read_bytes() for path in objects]
            originals = self.objects_of(file, (ROOT / file).read_text()) or []
            self.originals[file] = [path.read_bytes() for path in originals]
            for path, content in zip(objects, mutated):
                path.write_bytes(content)
        return self.originals[file] == [path.read_bytes() for path in objects]

    def killer(self, module, objects):
        """The name of the first test that fails with these objects, or None."""
        if self.newest() != self.built:
            stop(f'{self.folder} was built again during the run: start this command again to continue')
        linked = set()
        for test in self.tests[module]:
            if test.program not in linked and not test.linked(self, [str(path) for path in objects]):
                return 'the linker'
            linked.add(test.program)
            if not test.passes():
                return test.name
        return None


def sources_of(module):
    folder = ROOT / 'server' / module
    return sorted([*folder.glob('**/*.c'), *folder.glob('**/*.inc')])


def units_of(file):
    """The files to compile when `file` changes: itself, or those that include it."""
    if file.endswith('.c'):
        return [file]
    include = f'#include "{pathlib.Path(file).relative_to("server")}"'
    users = [path for path in sorted((ROOT / file).parent.glob('*.c')) if include in path.read_text()]
    return [str(path.relative_to(ROOT)) for path in users]


class Candidate:
    """A mutant with the key that orders the sample and finds its earlier result."""

    def __init__(self, file, source, mutant, nth, seed):
        self.file, self.source, self.mutant = file, source, mutant
        self.before, self.after = described(source, mutant)
        self.line = source.count('\n', 0, mutant.start) + 1
        self.previous = one_line(source[:first_line(source, mutant)].rstrip().rsplit('\n', 1)[-1])
        parts = [str(seed), file, self.before, self.after, str(nth)]
        self.key = hashlib.sha256('\0'.join(parts).encode()).hexdigest()[:24]

    def is_listed(self, listed):
        change = (self.file, self.before, self.after)
        return bool(listed.get(change, set()) & {None, self.previous})

    def text(self):
        return f'{self.file}:{self.line}\n      {self.before}\n   -> {self.after}'


def candidates_of(module, seed):
    """All mutants of a module in a random order that the seed determines. A change of a file does not reorder its other mutants."""
    found = []
    for path in sources_of(module):
        file, source, seen = str(path.relative_to(ROOT)), path.read_text(), {}
        for mutant in mutants_of(source):
            change = described(source, mutant)
            seen[change] = seen.get(change, -1) + 1
            found.append(Candidate(file, source, mutant, seen[change], seed))
    return sorted(found, key=lambda candidate: candidate.key)


def equivalents():
    """The listed equivalent mutants: {(file, line, mutant): the lines before; None: any}."""
    path, found, entry = ROOT / 'tests' / 'mutants-equivalent.txt', {}, {}
    for number, text in enumerate([*path.read_text().splitlines(), ''] if path.exists() else [], 1):
        name, _, value = text.partition(': ')
        if text.startswith('#'):
            continue
        if text and name not in ('file', 'after', 'line', 'mutant', 'reason'):
            stop(f'{path}:{number}: expected file, after, line, mutant or reason')
        if text:
            entry[name] = value
        elif entry:
            if len(entry) - ('after' in entry) < 4:
                stop(f'{path}:{number}: the entry above needs file, line, mutant and reason')
            found.setdefault((entry['file'], entry['line'], entry['mutant']), set()).add(entry.get('after'))
            entry = {}
    return found


def report_outdated(listed):
    """Prints the listed mutants that the files do not have any more, because a line was changed."""
    for file in sorted({file for file, _, _ in listed}):
        source = (ROOT / file).read_text() if (ROOT / file).exists() else ''
        there = {described(source, mutant) for mutant in mutants_of(source)}
        for line, mutant in [entry[1:] for entry in listed if entry[0] == file and entry[1:] not in there]:
            print(f'outdated entry in tests/mutants-equivalent.txt: {file}: {line} -> {mutant}')


class Results:
    """The results so far, in a file that every run of the same seed extends."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path.exists():
            for line in path.read_text().splitlines():
                result = json.loads(line)
                self.known[result['key']] = result

    def get(self, candidate, again):
        result = self.known.get(candidate.key)
        return None if result and again and result['result'] == 'survived' else result

    def add(self, candidate, result, test):
        found = {'key': candidate.key, 'result': result, 'test': test, 'file': candidate.file,
                 'line': candidate.line, 'before': candidate.before, 'after': candidate.after}
        self.known[candidate.key] = found
        with self.path.open('a') as out:
            out.write(json.dumps(found) + '\n')
        return found


def tried(builds, module, candidate):
    """Tries one mutant: (result, test). The result is killed, survived, same (code) or invalid."""
    source = applied(candidate.source, candidate.mutant)
    for build in builds:
        objects = build.objects_of(candidate.file, source)
        if objects is None:
            return 'invalid', None
        if build is builds[0] and build.same_code(candidate.file, objects):
            return 'same', None
        test = build.killer(module, objects)
        if test:
            return 'killed', f'{test} ({build.folder.name})'
    return 'survived', None


def sample(builds, module, size, options, results, listed):
    """Tries mutants of a module until `size` of them have a result. Returns the counts."""
    counts = {'killed': 0, 'survived': 0, 'equivalent': 0}
    for candidate in candidates_of(module, options.seed):
        if sum(counts.values()) == size:
            break
        known = results.get(candidate, options.again)
        if candidate.is_listed(listed) and not (known and known['result'] == 'killed'):
            counts['equivalent'] += 1
            continue
        if not known:
            if module not in builds[0].tests:
                for build in builds:
                    build.load(module)
            known = results.add(candidate, *tried(builds, module, candidate))
        if known['result'] in counts:
            counts[known['result']] += 1
            by = f' by {known["test"]}' if known['test'] else ''
            print(f'{known["result"]}{by}: {candidate.text()}', flush=True)
    return counts


def percent(counts):
    tested = counts['killed'] + counts['survived']
    return 100 * counts['killed'] / tested if tested else 100.0


def report(name, counts):
    print(f'{name:8} {counts["killed"]:4} killed {counts["survived"]:4} survived {counts["equivalent"]:4} equivalent'
          f' {percent(counts):6.1f} % of the others killed')


def arguments():
    parser = argparse.ArgumentParser(prog='tests/mutate.sh', description='Measures the unit tests with mutants.')
    parser.add_argument('build', help='build folder with the unit tests built')
    parser.add_argument('seed', nargs='?', type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument('size', nargs='?', type=int, default=300,
                        help='mutants in the sample, divided equally among the modules')
    parser.add_argument('--second', help='build folder, such as one with sanitizers, that tries the survivors')
    parser.add_argument('--module', action='append', help='only this module; can be given several times')
    parser.add_argument('--again', action='store_true', help='try the survivors of earlier runs again')
    return parser.parse_args()


def main():
    options = arguments()
    modules = [module for module in MODULES if (ROOT / 'server' / module).is_dir()]
    share, more = divmod(options.size, len(modules))
    sizes = {module: share + (i < more) for i, module in enumerate(modules)}
    modules = [module for module in modules if not options.module or module in options.module]
    os.nice(10)
    state = pathlib.Path(options.build).resolve() / 'mutants'
    state.mkdir(exist_ok=True)
    print(f'seed {options.seed}, {options.size} mutants', flush=True)
    report_outdated(equivalents())
    with tempfile.TemporaryDirectory(dir=state) as work:
        folders = [options.build, *([options.second] if options.second else [])]
        builds = [Build(folder, pathlib.Path(work) / str(i)) for i, folder in enumerate(folders)]
        results, listed = Results(state / f'seed-{options.seed}.jsonl'), equivalents()
        counts = {module: sample(builds, module, sizes[module], options, results, listed) for module in modules}
    print()
    for module in modules:
        report(module, counts[module])
    total = {name: sum(count[name] for count in counts.values()) for name in ('killed', 'survived', 'equivalent')}
    report('total', total)
    sys.exit(percent(total) < GOAL_PERCENT)


main()
