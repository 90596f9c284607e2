#!/usr/bin/env python3
# parallel: yes
"""tools/check-docs finds what it is there to find. Each case changes a small tree that is fine, and says which complaint
must come."""
import os
import subprocess
import sys
import tempfile

ROOT = os.environ.get("WHEREFORE_SOURCE", os.getcwd())  # scripts run in the repository's root

GOOD = {
    "README.md": "# It\n\n[Docs](docs/README.md) say more. `wherefore serve --http 0`, then `make demo`.\n",
    "CHANGELOG.md": "# Changes\n\n- `--gone` is gone, [see](docs/use/one.md).\n",
    "Makefile": "demo: ## show it\n\ttrue\n",
    "docs/README.md": "# Index\n\n[one](use/one.md#a-part), [why](decisions/README.md)\n",
    "docs/use/one.md": "# One\n\n## A part\n\nRoute `/api/v1/trace/ID`, code in `src/cli/serve.cc`.\n",
    "docs/decisions/README.md": "# Decisions\n\n[first](0001-first.md)\n",
    "docs/decisions/0001-first.md": "# 0001\n",
    "docs/man/wherefore.1": ".SH VERBS\n.B wherefore serve\nhas \\-\\-http. See docs/use/one.md.\n",
    "src/cli/serve.cc": '// docs/use/one.md\nVerb("serve"); Verb("trace"); Option("--http"); Option("--span"); Option("--since");\n',
    "src/server/routes.cc": 'Add("/api/v1/flush");\n',
    "api/openapi.yaml": "paths:\n  /api/v1/trace/{id}:\n    get: x\n",
    "bench/run": "# --spans N\n",
}
# A binary that knows its flags verb by verb.
BINARY = """#!/bin/sh
case "$1" in
  serve) echo "  --http PORT";;
  trace) echo "  --span ID";;
  *) printf 'Options:\\n  --version\\nSubcommands:\\n  serve  receive\\n  trace  one\\n';;
esac
"""
PLAIN, BUILT = False, True

# name, {file: text to append, or None to remove it}, with a binary?, the complaint (None: the tree is fine)
CASES = [
    ("a tree that is fine", {}, PLAIN, None),
    ("a tree that is fine, by the binary's help", {}, BUILT, None),
    ("a link to nothing", {"README.md": "\n[x](docs/gone.md)\n"}, PLAIN, "README.md:5: link to docs/gone.md: there is no docs/gone.md"),
    ("a picture that is missing", {"README.md": "\n![x](docs/gone.png)\n"}, PLAIN, "README.md:5: link to docs/gone.png"),
    ("a link from a page is relative to it", {"docs/use/one.md": "\n[x](use/one.md)\n"}, PLAIN, "there is no docs/use/use/one.md"),
    ("an anchor that no heading has", {"docs/README.md": "\n[x](use/one.md#another-part)\n"}, PLAIN,
     "docs/README.md:5: link to use/one.md#another-part: docs/use/one.md has no heading"),
    ("an anchor in the same page", {"docs/use/one.md": "\n[x](#a-part) [y](#b)\n"}, PLAIN, "link to #b"),
    ("anchors of headings with code and signs", {"docs/use/one.md": "\n## Policy: `record --span F`\n\n[x](#policy-record---span-f)\n"}, PLAIN, None),
    ("a link in a code block is text", {"docs/use/one.md": "\n```\n[x](gone.md)\n```\n"}, PLAIN, None),
    ("a link on the web is not followed", {"README.md": "\n[x](https://example.com/gone)\n"}, PLAIN, None),
    ("links of the change log are checked", {"CHANGELOG.md": "\n[x](docs/gone.md)\n"}, PLAIN, "CHANGELOG.md:5: link to docs/gone.md"),
    ("a path that is not there", {"docs/use/one.md": "\n`src/cli/gone.cc`\n"}, PLAIN, "docs/use/one.md:7: there is no src/cli/gone.cc"),
    ("a path in a command", {"docs/use/one.md": "\n    wherefore trace bench/gone\n"}, PLAIN, "there is no bench/gone"),
    ("a pattern of paths", {"docs/use/one.md": "\n`src/*/serve.cc`, `src/<format>/x.cc`, `src/server/routes.{cc}`\n"}, PLAIN, None),
    ("one of several paths in braces is missing", {"docs/use/one.md": "\n`src/server/routes.{h,cc}`\n"}, PLAIN, "there is no src/server/routes.{h,cc}"),
    ("what a build makes need not be there", {"docs/use/one.md": "\n`build/release/wherefore`, `src/build/x`\n"}, PLAIN, None),
    ("a page named in prose", {"docs/use/one.md": "\ndocs/gone.md has it.\n"}, PLAIN, "docs/use/one.md:7: there is no docs/gone.md"),
    ("a page named in a source", {"src/cli/serve.cc": "// docs/GONE.md\n"}, PLAIN, "src/cli/serve.cc:3: there is no docs/GONE.md"),
    ("a page named in a manual page", {"docs/man/wherefore.1": "docs/gone.md\n"}, PLAIN, "docs/man/wherefore.1:4: there is no docs/gone.md"),
    ("a verb that does not exist", {"README.md": "\n`wherefore dance`\n"}, PLAIN, "README.md:5: there is no verb: wherefore dance"),
    ("a verb that the binary does not have", {"README.md": "\n```sh\nwherefore since\n```\n"}, BUILT, "README.md:6: there is no verb: wherefore since"),
    ("a verb in a manual page", {"docs/man/wherefore.1": ".B wherefore dance\n"}, PLAIN, "docs/man/wherefore.1:4: there is no verb"),
    ("a word behind the name in prose is no verb", {"README.md": "\nwherefore dances.\n"}, PLAIN, None),
    ("a flag that does not exist", {"README.md": "\n`--dance`\n"}, PLAIN, "README.md:5: there is no flag --dance"),
    ("a flag of a command", {"README.md": "\n    wherefore serve --http 0 \\\n      --dance\n"}, PLAIN, "README.md:5: there is no flag --dance"),
    ("a flag of another verb", {"README.md": "\n    wherefore trace --http 0\n"}, BUILT, "README.md:5: wherefore trace has no flag --http"),
    ("a flag of another verb, without the program's name", {"README.md": "\n`serve --span x`\n"}, BUILT, "wherefore serve has no flag --span"),
    ("a flag in a manual page", {"docs/man/wherefore.1": ".B \\-\\-dance\n"}, PLAIN, "docs/man/wherefore.1:4: there is no flag --dance"),
    ("flags of other programs", {"README.md": "\n    curl --dance x\n    wherefore serve -- ls --color\n"}, PLAIN, None),
    ("flags of our tools", {"README.md": "\n`bench/run --spans 3`, `bench/run --dance`\n"}, PLAIN, "README.md:5: bench/run has no flag --dance"),
    ("the change log may name what is gone", {"CHANGELOG.md": "\n`wherefore dance --dance`, `src/gone.cc`\n"}, PLAIN, None),
    ("a target that make does not have", {"README.md": "\n    make dance   # now\n"}, PLAIN, "README.md:5: the Makefile has no target: make dance"),
    ("a route that does not exist", {"docs/use/one.md": "\nGET /api/v1/dance\n"}, PLAIN, "docs/use/one.md:7: there is no route /api/v1/dance"),
    ("routes of the sources, arguments, the beginning of one", {"docs/use/one.md": "\n/api/v1/flush, `/api/v1/trace/4bf9?x=y`, /api/v1\n"}, PLAIN, None),
    ("a page that the index does not have", {"docs/use/two.md": "# Two\n"}, PLAIN, "docs/use/two.md:1: docs/README.md has no link to this page"),
    ("no index", {"docs/README.md": None, "README.md": None}, PLAIN, "docs/use/one.md:1: docs/README.md has no link"),
    ("a binary that fails", {}, "false", "--help"),
]


def write(tree, path, text, mode="w"):
    os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
    with open(os.path.join(tree, path), mode) as out:
        out.write(text)


failed = 0
for name, changes, binary, complaint in CASES + [("an empty tree is not a success", dict.fromkeys(GOOD), PLAIN, "on 0 pages")]:
    with tempfile.TemporaryDirectory() as tree:
        for path, text in GOOD.items():
            write(tree, path, text)
        for path, text in changes.items():
            if text is None:
                os.remove(os.path.join(tree, path))
            else:
                write(tree, path, text, "a")
        environment = {k: v for k, v in os.environ.items() if k != "WHEREFORE"}
        if binary == BUILT:
            write(tree, "built/wherefore", BINARY)
            os.chmod(os.path.join(tree, "built/wherefore"), 0o755)
            environment["WHEREFORE"] = os.path.join(tree, "built/wherefore")
        elif binary:
            environment["WHEREFORE"] = binary
        run = subprocess.run([os.path.join(ROOT, "tools", "check-docs"), tree], capture_output=True, text=True, env=environment)
    said = run.stdout + run.stderr
    lines = [line for line in run.stdout.splitlines() if not line.startswith(("ok ", "not ok "))]
    if complaint is None:
        good = run.returncode == 0 and run.stdout.startswith("ok check-docs: ")
    else:
        # One thing is wrong, so one thing may be said; a missing index is told of every page.
        good = run.returncode == 1 and complaint in said and (len(lines) <= 1 or None in changes.values())
    if not good:
        failed += 1
        print(said)
    print(f"{'ok' if good else 'not ok'} {name}")
sys.exit(1 if failed else 0)
