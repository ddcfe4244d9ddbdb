#!/usr/bin/env python3
"""Checks that scripts/setup and the build stage of the Dockerfile install the same packages. Argument: source root."""
import pathlib
import re
import sys


def main(root):
    setup = (root / "scripts/setup").read_text(encoding="utf-8")
    wanted = set(re.search(r"^build=\(\n(.*?)^\)", setup, re.MULTILINE | re.DOTALL).group(1).split())
    image = (root / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    install = re.search(r"AS build\n.*?--no-install-recommends (.*?) &&", image, re.DOTALL).group(1)
    found = set(install.split())
    wanted.discard("tzdata")  # needed at run time only: in the last stage of the image
    if wanted == found and "tzdata" in image and len(wanted) > 10:
        return 0
    print("scripts/setup and the build stage of the Dockerfile install different packages:", *sorted(wanted ^ found))
    return 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
