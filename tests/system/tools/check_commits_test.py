#!/usr/bin/env python3
# parallel: yes
"""tools/check-commits and tools/last-release: which commits are looked at, and what is said of them."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PERSON = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
          "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
failed = 0


def check(name, good, detail=""):
    global failed
    if not good:
        failed += 1
        print(detail)
    print(f"{'ok' if good else 'not ok'} {name}")


def git(place, *arguments):
    return subprocess.run(["git", "-C", place, *arguments], check=True, capture_output=True, text=True, env={**os.environ, **PERSON}).stdout.strip()


def tool(name, place):
    run = subprocess.run([os.path.join(ROOT, "tools", name), place], capture_output=True, text=True, env={**os.environ, **PERSON})
    return run.returncode, run.stdout, run.stderr


def write(place, name, text):
    with open(os.path.join(place, name), "w") as out:
        out.write(text)


def commit(place, message, lines=1):
    write(place, "file", "".join(f"{message} {i}\n" for i in range(lines)))
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", message)
    return git(place, "rev-parse", "HEAD")


def changelog(released):
    return ("# Changelog\n\nCommit: `" + "0" * 40 + "` is no release's.\n\n## 0.2.0\n\nCommit: none yet\n\n- news\n\n"
            f"## 0.1.0\n\nCommit: `{released}`\n\n## 0.0.9\n\nCommit: `{'1' * 40}`\n")


with tempfile.TemporaryDirectory() as top:
    place = os.path.join(top, "one")
    os.makedirs(place)
    git(place, "init", "-q")
    write(place, "CHANGELOG.md", "# Changelog\n\n## 0.1.0\n\nCommit: none yet\n")
    code, _, error = tool("last-release", place)
    check("a change log without a released commit is an error", code == 1 and "names no release" in error, error)
    released = commit(place, "old: a subject; with a semicolon, from before the release, and far too long for anybody to read it in a list.")
    write(place, "CHANGELOG.md", changelog(released))
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "docs: releases")

    code, out, _ = tool("last-release", place)
    check("the newest release that has a commit is the last one", (code, out) == (0, f"0.1.0 {released}\n"), out)
    code, out, _ = tool("check-commits", place)
    check("what was committed before the release is not looked at",
          (code, out) == (0, "ok check-commits: 1 commits since 0.1.0\n"), out)

    commit(place, "x" * 70 + "→é\n\nSeventy-two characters, more bytes.")
    check("72 characters are fine, whatever their bytes", tool("check-commits", place)[0] == 0)
    CASES = [("a subject of 73 characters", "x" * 73, "its subject has 73 characters"),
             ("a semicolon", "tools: this; and that", "its subject has a semicolon"),
             ("a full stop", "tools: this.", "its subject ends with a full stop"),
             ("a body without an empty line above it", "tools: this\nand that", "no empty line")]
    for name, message, complaint in CASES:
        git(place, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
        bad = git(place, "rev-parse", "--short=12", "HEAD")
        code, out, _ = tool("check-commits", place)
        check(f"{name} is found", code == 1 and f"{bad}: {complaint}" in out, out)
        check(f"{name}: the last line says so", out.splitlines()[-1] == "not ok check-commits: 3 commits since 0.1.0, 1 to be reworded", out)
        git(place, "reset", "-q", "--hard", "HEAD~1")

    commit(place, "tools: a large change", lines=400)
    code, out, _ = tool("check-commits", place)
    check("a large change without a body is pointed out, and no more", code == 0 and "advice: " in out, out)

    shallow = os.path.join(top, "shallow")
    git(top, "clone", "-q", "--depth", "2", "file://" + place, shallow)
    code, out, error = tool("last-release", shallow)
    check("a shallow clone may lack the release's commit", code == 3 and "not in the history" in error, error)
    code, out, _ = tool("check-commits", shallow)
    check("then all that it has is looked at, and it says why",
          code == 0 and "not in the history" in out and out.endswith("ok check-commits: 2 commits in this shallow clone\n"), out)

    write(place, "CHANGELOG.md", changelog("2" * 40))
    code, out, _ = tool("check-commits", place)
    check("of a history without the release's commit only the last commit is looked at",
          code == 0 and "not in the history" in out and out.endswith("ok check-commits: 1 commits (the last one only)\n"), out)
sys.exit(1 if failed else 0)
