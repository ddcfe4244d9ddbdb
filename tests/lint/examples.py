"""Checks that every example policy has a page that contains its text, an integration test, and a row in docs/examples/README.md.

Arguments: the source root; with --write, writes the policies' text into the pages.
"""
import pathlib
import re
import sys

NO_PAGE = {"order-tracking-hbase", "salted-time"}  # variants that the page of order-tracking names
BLOCK = re.compile(r"```yaml\n.*?```\n", re.S)


def main():
    root = pathlib.Path(sys.argv[1])
    problems = []
    index = (root / "docs/examples/README.md").read_text(encoding="utf-8")
    names = {policy.stem for policy in (root / "config/examples").glob("*.yaml")} - NO_PAGE
    pages = {page.stem for page in (root / "docs/examples").glob("*.md")} - {"README"}
    for name in sorted(pages - names):
        problems.append(f"docs/examples/{name}.md: there is no policy config/examples/{name}.yaml")
    for name in sorted(names):
        page = root / f"docs/examples/{name}.md"
        if not (root / f"tests/scenario/examples/example_tests/{name.replace('-', '_')}.py").exists():
            problems.append(f"config/examples/{name}.yaml: no test in tests/scenario/examples/example_tests")
        if f"]({name}.md)" not in index:
            problems.append(f"docs/examples/README.md: does not link {name}.md")
        if not page.exists():
            problems.append(f"config/examples/{name}.yaml: no page {page.relative_to(root)}")
            continue
        policy = (root / f"config/examples/{name}.yaml").read_text(encoding="utf-8")
        block = "```yaml\ntables:\n" + policy.partition("\ntables:\n")[2] + "```\n"
        text = page.read_text(encoding="utf-8")
        if "--write" in sys.argv:
            page.write_text(BLOCK.sub(lambda match, block=block: block, text, count=1), encoding="utf-8")
        elif block not in text:
            problems.append(f"{page.relative_to(root)}: its policy is not the text of config/examples/{name}.yaml")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
