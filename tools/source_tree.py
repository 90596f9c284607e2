"""The C and C++ sources of a tree, each with its entry in the table of tools/layers.py."""
import collections
import os
import re

from layers import LAYERS, concrete, matching

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SOURCES = (".cc", ".h", ".cpp", ".hpp", ".c", ".inc")
# Tests, fuzzers, benchmarks, and programs that tests read.
NOT_PRODUCT = re.compile(r"_(test|fuzz|bench)\.(cc|h)$|/testdata/")

# path: from the root; place: as includes name it; name: its entry in LAYERS (None: it has none); folder: what that is here.
Source = collections.namedtuple("Source", "path place name folder text")


def is_product(path):
    return path.startswith(("src/", "include/")) and not NOT_PRODUCT.search(path)


def read_sources(root):
    for top, strip in (("src", "src/"), ("include", "include/"), ("demo", ""), ("bench", ""), ("tests", "")):
        for directory, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in ("node_modules", "dist", "build", "corpus"))
            for file in sorted(names):
                if file.endswith(SOURCES):
                    path = os.path.relpath(os.path.join(directory, file), root)
                    place = path[len(strip):]
                    name = matching(place, LAYERS)
                    folder = name if name is None or "." in name else concrete(place, name)
                    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as text:
                        yield Source(path, place, name, folder, text.read())
