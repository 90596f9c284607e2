#!/usr/bin/env python3
# parallel: yes
"""tools/lint and tools/run-tidy in a small repository, with clang-format, clang-tidy and the other checks played by scripts:
which files are looked at and in which order, what one finding does, and what is said when the time is over."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
failed = 0


def check(name, good, detail=""):
    global failed
    if not good:
        failed += 1
        print(detail)
    print(f"{'ok' if good else 'not ok'} {name}")


with tempfile.TemporaryDirectory() as top:
    tree, programs, seen = os.path.join(top, "tree"), os.path.join(top, "bin"), os.path.join(top, "seen")
    environment = {**os.environ, "PATH": programs + ":" + os.environ["PATH"], "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
                   "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_GLOBAL": "/dev/null",
                   "GIT_CONFIG_NOSYSTEM": "1", "SEEN": seen, "JOBS": "1"}
    for name in ("ALL", "SINCE", "TIDY_SECONDS"):
        environment.pop(name, None)

    def write(path, text, mode=0o644):
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as out:
            out.write(text)
        os.chmod(full, mode)

    def git(*arguments):
        return subprocess.run(["git", "-C", tree, *arguments], check=True, capture_output=True, text=True, env=environment).stdout.strip()

    def commit(message, **files):
        for name, text in files.items():
            write(f"tree/src/{name}", text)
        git("add", "-A")
        git("commit", "-q", "-m", message)
        return git("rev-parse", "HEAD")

    def lint(*command, **settings):
        """(exit code, what it said, the files that clang-tidy saw)"""
        open(seen, "w").close()
        run = subprocess.run(list(command) or [tree + "/tools/lint"], capture_output=True, text=True, env={**environment, **settings})
        return run.returncode, run.stdout + run.stderr, open(seen).read().split()

    for tool in ("lint", "run-tidy", "last-release"):
        os.makedirs(tree + "/tools", exist_ok=True)
        shutil.copy(os.path.join(ROOT, "tools", tool), os.path.join(tree, "tools", tool))
    for tool in ("check-comments", "check-layers", "include-graph", "check-docs", "check-commits"):
        write(f"tree/tools/{tool}", f"#!/bin/sh\necho \"{tool} $*\"\n! [ -e \"$0.bad\" ]\n", 0o755)
    write("bin/clang-format-14", "#!/bin/sh\nshift 2\n! grep -l badly-laid-out \"$@\" 2>/dev/null\n", 0o755)
    write("bin/clang-tidy-14", '#!/bin/sh\nfor file; do :; done\necho "$file" >>"$SEEN"\ngrep -q slow "$file" && sleep 30\n'
                               'if grep -q finding "$file"; then echo "$file: a finding"; exit 1; fi\n', 0o755)
    write("bin/ninja", "#!/bin/sh\n", 0o755)
    write("bin/cmake", "#!/bin/sh\n", 0o755)
    write("bin/nproc", "#!/bin/sh\necho 1\n", 0o755)
    write("tree/.gitignore", "build/\n")
    sources = ["old.cc", "moved.cc", "first.cc", "second.cc", "header.cc", "uncommitted.cc", "untracked.cc"]
    write("tree/build/lint/compile_commands.json", json.dumps([{"directory": tree, "file": f"{tree}/src/{name}"} for name in sources]))

    git("init", "-q", tree)
    long = "".join(f"int a{i};\n" for i in range(20))
    files = {"old.cc": "old\n", "before_move.cc": long, "first.cc": "1\n", "second.cc": "2\n", "header.cc": "h\n", "header.h": "h\n",
             "uncommitted.cc": "u\n", "not_compiled.cc": "n\n", "gone.cc": "g\n"}
    released = commit("the release", **files)
    write("tree/CHANGELOG.md", f"## 0.1.0\n\nCommit: `{released}`\n")
    commit("second changes", **{"second.cc": "22\n", "not_compiled.cc": "nn\n"})
    commit("a header changes", **{"header.h": "hh\n"})
    commit("first changes", **{"first.cc": "11\n"})
    git("rm", "-q", "src/gone.cc")
    git("mv", "src/before_move.cc", "src/moved.cc")
    commit("moved and gone")
    write("tree/src/uncommitted.cc", "uu\n")
    write("tree/src/untracked.cc", "new\n")

    newest_first = ["src/uncommitted.cc", "src/untracked.cc", "src/first.cc", "src/header.cc", "src/second.cc"]
    code, said, files_seen = lint()
    check("clang-tidy sees what changed since the release, newest first", (code, files_seen) == (0, newest_first), (code, said, files_seen))
    check("what is not compiled is named", "1 files are not compiled by the preset lint: src/not_compiled.cc" in said, said)
    check("every check is run", all(one in said for one in ("check-comments", "check-layers", "include-graph --check", "check-docs", "check-commits",
                                                            "ok clang-format: 9 files", "ok clang-tidy: 5 of 5 files", "lint: clean")), said)
    code, said, files_seen = lint(SINCE="HEAD~2")
    check("SINCE names another commit", files_seen == newest_first[:3], files_seen)
    code, said, files_seen = lint(ALL="1")
    check("ALL=1 sees everything that is compiled", (code, sorted(files_seen)) == (0, sorted("src/" + name for name in sources)), files_seen)
    check("the newest first here, too, moves included", files_seen[:4] == [*newest_first[:2], "src/moved.cc", "src/first.cc"], files_seen)

    write("tree/CHANGELOG.md", f"## 0.1.0\n\nCommit: `{'0' * 40}`\n")
    code, said, files_seen = lint()
    check("a clone without the release's commit has everything looked at, and says so",
          code == 0 and len(files_seen) == len(sources) and "not in the history" in said and "looks at everything" in said, said)
    write("tree/CHANGELOG.md", f"## 0.1.0\n\nCommit: `{released}`\n")

    write("tree/src/first.cc", "a finding\n")
    code, said, files_seen = lint()
    check("a finding fails, and the others are looked at", code == 1 and "src/first.cc: a finding" in said and len(files_seen) == 5
          and "not ok clang-tidy: 5 of 5 files, findings in 1: src/first.cc" in said and "lint: failed: clang-tidy" in said, said)
    write("tree/src/first.cc", "badly-laid-out\n")
    write("tree/tools/check-layers.bad", "")
    code, said, _ = lint()
    check("all that failed is named at the end", code == 1 and said.endswith("lint: failed: layout, layers\n"), said)
    os.remove(tree + "/tools/check-layers.bad")

    write("tree/src/first.cc", "slow\n")
    begun = time.monotonic()
    code, said, files_seen = lint(tree + "/tools/run-tidy", "--seconds", "2", "--jobs", "1", *newest_first[1:])
    check("when the time is over clang-tidy is stopped", time.monotonic() - begun < 20 and files_seen[:2] == ["src/untracked.cc", "src/first.cc"], files_seen)
    check("and what it did not see is named", code == 0 and "LEFT OUT for lack of time: 3 files\n    src/first.cc\n    src/header.cc\n    src/second.cc\n"
          in said and said.endswith("ok clang-tidy: 1 of 4 files\n"), said)

    write("tree/build/lint/compile_commands.json", json.dumps([{"directory": tree, "file": f"{tree}/build/lint/Unity/unity_a_0_cxx.cxx"}]))
    code, said, _ = lint(tree + "/tools/run-tidy", *newest_first)
    check("joined files are an error, not a success over nothing", code == 1 and "joins files" in said, said)
sys.exit(1 if failed else 0)
