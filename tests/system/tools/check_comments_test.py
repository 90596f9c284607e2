#!/usr/bin/env python3
# parallel: yes
"""tools/check-comments: which declarations are torn apart by a comment, and what --fix makes of them."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LONG = "how far the two may be apart before they are taken for two different ones, as it was measured"

# name, text, what --fix makes of it (None: nothing is wrong)
CASES = [
    ("a value torn from its name", f"int kDistance =\n    3;  // {LONG}\n", f"// H{LONG[1:]}.\nint kDistance = 3;\n"),
    ("a name torn from its type", f"struct A {{\n  std::vector<int>\n      names_;  // {LONG}.\n}};\n",
     f"struct A {{\n  // H{LONG[1:]}.\n  std::vector<int> names_;\n}};\n"),
    ("an enumerator", f"enum class A {{\n  kOne = 1,\n  kTwo =\n      2,  // {LONG}\n}};\n",
     f"enum class A {{\n  kOne = 1,\n  // H{LONG[1:]}.\n  kTwo = 2,\n}};\n"),
    ("a comment of two lines", f"int kDistance =\n    3;  // {LONG}\n        // and so on\n", f"// H{LONG[1:]}\n// and so on.\nint kDistance = 3;\n"),
    ("words of the code keep their case", f"int kDistance =\n    3;  // kNear: {LONG}\n", f"// kNear: {LONG}.\nint kDistance = 3;\n"),
    ("a declaration that does not fit in a line by itself", "int k" + "x" * 60 + " =\n    " + "y" * 50 + f";  // {LONG}\n", None),
    ("a comment that fits", "int kDistance = 3;  // near\n", None),
    ("the middle of a longer expression", f"int kDistance = First() +\n                Second(\n                    3);  // {LONG}\n", None),
    ("a directive", f"int kDistance =\n    3;  // NOLINT {LONG}\n", None),
    ("a statement", f"  return\n      3;  // {LONG}\n", None),
]

failed = 0
for name, text, better in CASES:
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "a.cc")
        with open(file, "w") as out:
            out.write(text)
        found = subprocess.run([ROOT + "/tools/check-comments", file], capture_output=True, text=True)
        subprocess.run([ROOT + "/tools/check-comments", "--fix", file], capture_output=True, check=True)
        with open(file) as read:
            now = read.read()
        again = subprocess.run([ROOT + "/tools/check-comments", file], capture_output=True, text=True)
    good = (found.returncode, now, again.returncode) == ((0, text, 0) if better is None else (1, better, 0))
    if not good:
        failed += 1
        print(found.stdout, now)
    print(f"{'ok' if good else 'not ok'} {name}")
sys.exit(1 if failed else 0)
