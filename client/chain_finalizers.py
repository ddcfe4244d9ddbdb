#!/usr/bin/env python3
"""Copies C code that `thrift --gen c_glib` made, with four faults of the generator (0.17) mended.

1. The finalizers of generated structs do not chain up to GObject's, so that every object leaks its
   instance private data (48 bytes). The call is added.
2. A binary field that comes twice is freed with g_free, though it is a GByteArray. It is unref'd.
3. Writing a map needs an array `keys`, which hides a method's argument of that name. It gets another.
4. That array is on the stack until the function returns, one for each map of a list: long lists end
   the process. It goes to the heap and away with its block.
"""
import argparse
import pathlib
import re
import sys

FINALIZER = re.compile(r"^(?P<type>\w+)_finalize \(GObject \*(?P<object>\w+)\)\n\{\n(?P<body>.*?)^\}\n", re.M | re.S)
TWICE = re.compile(r"g_free\((this_object->\w+)\);(\s+\1 = NULL;\s+\}\s+if \(\(ret = thrift_protocol_read_binary)")

NAMES = [
    (re.compile(r"\bgchar \*\* keys;"), "g_autofree gchar ** key_names = NULL;"),
    (re.compile(r"\bkeys = g_newa \("), "key_names = g_new ("),
    (re.compile(r"\bkeys\[i\+\+\] ="), "key_names[i++] ="),
    (re.compile(r"= keys\[i\];"), "= key_names[i];"),
]


def chain_up(match):
    if "->finalize" in match["body"]:
        return match[0]
    parent = f"G_OBJECT_CLASS (g_type_class_peek (THRIFT_TYPE_STRUCT))->finalize ({match['object']});"
    return f"{match['type']}_finalize (GObject *{match['object']})\n{{\n{match['body']}\n  {parent}\n}}\n"


def mend(text):
    text = TWICE.sub(r"g_byte_array_unref(\1);\2", text)
    for wrong, right in NAMES:
        text = wrong.sub(right, text)
    return FINALIZER.subn(chain_up, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    args = parser.parse_args()
    text, finalizers = mend(args.source.read_text(encoding="utf-8"))
    if ("_finalize (GObject" in text and finalizers == 0) or "g_newa" in text or "gchar ** keys" in text:
        sys.exit(f"{args.source}: it does not look as expected; is this Thrift newer than 0.17?")
    args.target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
