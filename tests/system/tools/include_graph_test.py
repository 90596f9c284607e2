#!/usr/bin/env python3
# parallel: yes
"""tools/include-graph: which arrows it draws, and that --check finds a picture that is out of date."""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
failed = 0


def check(name, good, detail=""):
    global failed
    if not good:
        failed += 1
        print(detail)
    print(f"{'ok' if good else 'not ok'} {name}")


def draw(tree, *flags):
    return subprocess.run([os.path.join(ROOT, "tools", "include-graph"), *flags, tree], capture_output=True, text=True)


def write(tree, path, *includes):
    os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
    with open(os.path.join(tree, path), "w") as out:
        out.writelines(f'#include "{one}"\n' for one in includes)


def picture(tree):
    with open(os.path.join(tree, "docs/concepts/include-graph.svg"), encoding="utf-8") as file:
        return file.read()


with tempfile.TemporaryDirectory() as tree:
    write(tree, "src/base/a.h")
    write(tree, "src/json/a.h", "base/a.h")
    write(tree, "src/model/a.h", "base/a.h", "json/a.h", "model/b.h", "none/such.h")
    write(tree, "src/model/a_test.cc", "net/a.h")
    write(tree, "src/net/a.h")
    said = draw(tree).stdout
    # model → json → base; model → base follows; the test's include does not count, nor does a header that is not there.
    check("what follows from other arrows is left out", said.endswith("4 boxes, 2 arrows of 3\n"), said)
    shapes = xml.fromstring(picture(tree))
    texts = [one.text for one in shapes.iter("{http://www.w3.org/2000/svg}text")]
    check("each folder has its box", {"base", "json", "model", "net"} <= set(texts), texts)
    places = {one.text: float(one.get("y")) for one in shapes.iter("{http://www.w3.org/2000/svg}text")}
    check("what is included stands above", places["base"] < places["json"] < places["model"], places)
    check("an arrow is a path with a head", len(re.findall(r'<path [^>]*marker-end', picture(tree))) == 2)

    before = picture(tree)
    draw(tree)
    check("the same sources give the same bytes", picture(tree) == before)
    check("--check accepts it", draw(tree, "--check").returncode == 0)
    write(tree, "src/model/c.h", "base/a.h")
    check("a file more changes nothing", draw(tree, "--check").returncode == 0)
    write(tree, "src/net/a.h", "base/a.h")
    stale = draw(tree, "--check")
    check("--check finds that an arrow is missing", stale.returncode == 1 and "out of date" in stale.stdout, stale.stdout)
    check("and leaves the picture as it is", picture(tree) == before)

    write(tree, "src/lang/ndlog/a.h", "analysis/critical_path/a.h")
    write(tree, "src/analysis/critical_path/a.h", "base/a.h")
    write(tree, "src/analysis/provenance/a.h", "lang/ndlog/a.h")
    draw(tree)
    boxes = [[text.text for text in box.iter("{http://www.w3.org/2000/svg}text")]
             for box in xml.fromstring(picture(tree)).iter("{http://www.w3.org/2000/svg}g")]
    check("folders that include each other share a box, with their sub-folders",
          ["analysis", "critical_path · provenance", "lang", "ndlog"] in boxes, boxes)
sys.exit(1 if failed else 0)
