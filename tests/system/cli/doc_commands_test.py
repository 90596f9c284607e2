#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 180
"""The commands of README and of every page's "Quick start" work as written.

Run are the fenced `sh` blocks of README.md, and those under a heading "Quick start" in docs/. The blocks of a page run in
order, in one folder with a store of its own, beside the repository's config and examples; `wherefore serve` gets free
ports by its environment. A comment on the line before a block changes that:

    <!-- not run: needs root -->      the block is for reading; the reason is required
    <!-- runs until stopped -->       the block's last command is left running until the page is done
    <!-- printed -->                  a `text` block: the commands before it print each of its lines

DOC_COMMANDS=PAGE... in the environment chooses pages.
"""
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(1, sys.path[0] + "/../../lab")
import harness
from harness import SOURCE, WHEREFORE, check, folder, run, wait_for

FENCE = re.compile(r"^```(\w*)\s*$")
HEADING = re.compile(r"^(#+) (.*)$")
COMMENT = re.compile(r"^<!-- (not run: \S.*|runs until stopped|printed) -->$")
LINKED = ("config", "examples", "README.md")  # what commands may name
BLOCK_SECONDS = 30


class Block:
    def __init__(self, line, note):
        self.line, self.note, self.text, self.printed = line, note, "", []

    @property
    def reason(self):
        return self.note[len("not run: "):] if self.note.startswith("not run: ") else None

    @property
    def stays(self):
        return self.note == "runs until stopped"


def blocks_of(text, everywhere):
    """The `sh` blocks of a page: all of them, or those under a heading "Quick start"."""
    blocks, language, level, note = [], None, None, ""
    for number, line in enumerate(text.split("\n"), 1):
        fence, heading = FENCE.match(line), HEADING.match(line)
        if language is None and fence:
            language = fence[1] or "text"
            if language == "sh" and (everywhere or level):
                blocks.append(Block(number + 1, note))
            elif language == "text" and note == "printed" and blocks:
                language = "printed"
        elif language is not None and fence:
            language = None
        elif language is not None:
            if language == "sh" and (everywhere or level):
                blocks[-1].text += line + "\n"
            elif language == "printed" and line.strip():
                blocks[-1].printed.append(line)
            continue
        elif heading:
            depth = len(heading[1])
            if heading[2].strip() == "Quick start":
                level = depth
            elif level and depth <= level:
                level = None
        note = COMMENT.match(line)[1] if COMMENT.match(line) else ""
    return blocks


class Session:
    """A folder in which the blocks of one page run."""

    def __init__(self):
        self.place = folder("page")
        os.makedirs(os.path.join(self.place, "home"))
        for name in LINKED:
            os.symlink(os.path.join(SOURCE, name), os.path.join(self.place, name))
        self.bin = os.path.join(self.place, "home", "bin")
        os.makedirs(self.bin)
        os.symlink(os.path.abspath(WHEREFORE), os.path.join(self.bin, "wherefore"))
        self.store = os.path.join(self.place, "home", "store")
        ports = {"WHEREFORE_" + name.upper(): "127.0.0.1:0" for name in harness.LISTENERS}
        self.environment = harness.environment(
            HOME=os.path.join(self.place, "home"), WHEREFORE_STORE=self.store, PATH=f"{self.bin}:{os.environ['PATH']}",
            TMPDIR=self.place, **ports)
        self.running = []

    def run(self, block):
        """What went wrong, or None."""
        output = tempfile.TemporaryFile(dir=self.place)
        process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", block.text], cwd=self.place, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        self.running.append(process)
        if block.stays:
            if not wait_for(lambda: process.poll() is not None or os.path.exists(os.path.join(self.store, "server.json")), BLOCK_SECONDS):
                return "no server.json appeared"
            ended = process.poll()
        else:
            try:
                ended = process.wait(BLOCK_SECONDS) or None
            except subprocess.TimeoutExpired:
                ended = f"still running after {BLOCK_SECONDS} s"
        output.seek(0)
        said = output.read().decode(errors="replace")
        missing = [line for line in block.printed if line not in said.split("\n")]
        if ended is None and not missing:
            return None
        problem = f"ended with {ended}" if ended is not None else "did not print " + "; ".join(missing)
        return f"{block.text}\n{problem}:\n{said[-1500:]}"

    def close(self):
        for process in self.running:
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for process in self.running:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def problems_of(page, blocks):
    """[(line, problem or None)] of the blocks that run."""
    session, found = Session(), []
    try:
        for block in blocks:
            if block.reason is None:
                found.append((block.line, session.run(block)))
                if found[-1][1] is not None:
                    break  # what follows may need it
    finally:
        session.close()
    return page, found


def pages():
    chosen = os.environ.get("DOC_COMMANDS", "").split()
    names = ["README.md"]
    for directory, folders, files in os.walk(os.path.join(SOURCE, "docs")):
        folders.sort()
        names += [os.path.relpath(os.path.join(directory, f), SOURCE) for f in sorted(files) if f.endswith(".md")]
    for name in names:
        if not chosen or name in chosen:
            with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
                yield name, blocks_of(file.read(), everywhere=name == "README.md")


def commands_work_as_written():
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        jobs = [workers.submit(problems_of, page, blocks) for page, blocks in pages() if blocks]
        for job in jobs:
            page, found = job.result()
            for line, problem in found:
                check(f"the commands at {page}:{line} work", problem is None, problem)
    for page, blocks in pages():
        for block in blocks:
            if block.reason:
                print(f"# {page}:{block.line} is not run: {block.reason}")


def pages_for_users_have_a_quick_start():
    for page, blocks in pages():
        if page.startswith("docs/use/"):
            check(f"{page} has a quick start", blocks)


def this_test_can_fail():
    def problems(text, everywhere=True):
        return [problem is None for _, problem in problems_of("x", blocks_of(text, everywhere))[1]]

    check("a command that fails is found", problems("```sh\ntrue\nfalse\ntrue\n```\n") == [False])
    check("a verb that does not exist is found", problems("```sh\nwherefore dance\n```\n") == [False])
    check("a pipe that fails is found", problems("```sh\nfalse | cat\n```\n") == [False])
    check("what follows a failure is not run", problems("```sh\nfalse\n```\n\n```sh\ntrue\n```\n") == [False])
    check("blocks share a folder", problems("```sh\necho 1 > a\n```\n\n```sh\ngrep 1 a\n```\n") == [True, True])
    check("a block with a reason is not run", problems("<!-- not run: it fails -->\n```sh\nfalse\n```\n") == [])
    check("a reason is required", problems("<!-- not run: -->\n```sh\nfalse\n```\n") == [False])
    check("only the quick start of a page is run",
          problems("## Quick start\n\n```sh\ntrue\n```\n\n## More\n\n```sh\nfalse\n```\n", everywhere=False) == [True])
    check("what a page says is printed must be printed",
          [problems(f"```sh\necho one\necho two\n```\n\n<!-- printed -->\n```text\n{line}\n```\n") for line in ("two", "three")] == [[True], [False]])
    check("a server runs beside what follows",
          problems("<!-- runs until stopped -->\n```sh\nwherefore serve\n```\n\n```sh\nwherefore status\n```\n") == [True, True])
    check("a server that does not start is found", problems("<!-- runs until stopped -->\n```sh\nwherefore serve --http nowhere\n```\n") == [False])


run(commands_work_as_written, pages_for_users_have_a_quick_start, this_test_can_fail)
