#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""Text fits the terminal and is coloured there, from a store and from its server; a pipe gets 100 plain columns."""
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time

WHEREFORE = os.environ["WHEREFORE"]
NAME = "GET /" + "a-long-way/" * 12
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "WHEREFORE_STORE")} | {"TERM": "xterm"}
failed = 0


def check(name, holds, shown=""):
    global failed
    failed += not holds
    if not holds:
        print("#", repr(shown)[:600])
    print(f"{'ok' if holds else 'not ok'} {name}")


def piped(*words, **variables):
    return subprocess.run([WHEREFORE, *words], capture_output=True, text=True, env=ENVIRONMENT | variables)


def on_terminal(columns, *words, **variables):
    """Standard output and error of the command, in a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    running = subprocess.Popen([WHEREFORE, *words], stdout=theirs, stderr=theirs, stdin=theirs,
                               env=ENVIRONMENT | variables)
    os.close(theirs)
    out = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        out += piece
    running.wait()
    os.close(ours)
    return out.decode().replace("\r\n", "\n")


def widest(text):
    return max(len(line) for line in text.splitlines())


def looks(where, store):
    plain = piped("traces", "--store", store)
    check(f"{where}: a pipe gets 100 columns without colour",
          plain.returncode == 0 and widest(plain.stdout) <= 100 and "\033" not in plain.stdout, plain)
    check(f"{where}: NO_COLOR changes nothing in a pipe",
          piped("traces", "--store", store, NO_COLOR="1").stdout == plain.stdout)
    wide = on_terminal(240, "traces", "--store", store)
    check(f"{where}: a wide terminal shows the whole name", NAME in wide, wide)
    check(f"{where}: heads are bold", wide.startswith("\033[1mstarted"), wide)
    narrow = on_terminal(95, "traces", "--store", store, NO_COLOR="1")
    check(f"{where}: NO_COLOR, and 95 columns", narrow.startswith("started") and widest(narrow) == 95, narrow)
    never = on_terminal(95, "traces", "--store", store, "--color", "never")
    check(f"{where}: --color never", never == narrow, never)
    dumb = on_terminal(95, "traces", "--store", store, TERM="dumb")
    check(f"{where}: TERM=dumb", dumb == narrow, dumb)
    always = piped("traces", "--store", store, "--color", "always")
    check(f"{where}: --color always paints a pipe, in the same columns",
          "\033[1m" in always.stdout and always.stdout.replace("\033[1m", "").replace("\033[0m", "") == plain.stdout, always)
    as_json = piped("traces", "--store", store, "--color", "always", "--format", "json")
    check(f"{where}: JSON is never painted", as_json.returncode == 0 and "\\u001b" not in as_json.stdout and
          len(json.loads(as_json.stdout)["traces"]) == 1, as_json)


with tempfile.TemporaryDirectory() as folder:
    store, source = os.path.join(folder, "store"), os.path.join(folder, "spans.json")
    with open(source, "w") as file:
        json.dump([{"traceId": "0af7651916cd43dd8448eb211c80319c", "id": "b7ad6b7169203331", "name": NAME, "kind": "SERVER",
                    "timestamp": 1700000000000000, "duration": 250000, "localEndpoint": {"serviceName": "shop"}}], file)
    done = piped("import", source, "--store", store)
    check("a span is imported", done.returncode == 0 and done.stdout.startswith("1 span of 1 trace from 1 file\n"), done)
    looks("store", store)

    missing = on_terminal(100, "trace", "00000000000000000000000000000001", "--store", store)
    check("an error is red and its hint dim", "\033[31mwherefore:\033[0m trace " in missing and "\n\033[2m  " in missing, missing)
    check("in a pipe it is plain", "\033" not in piped("trace", "01", "--store", store).stderr)
    check("an unknown --color is refused", piped("traces", "--store", store, "--color", "blue").returncode == 2)

    ports = [word for flag in ("--http", "--otlp-grpc", "--otlp-http", "--zipkin", "--jaeger")
             for word in (flag, "127.0.0.1:0" if flag == "--http" else "off")]
    with open(os.path.join(folder, "log"), "wb") as log:
        server = subprocess.Popen([WHEREFORE, "serve", "--store", store, *ports], stdout=log, stderr=log, env=ENVIRONMENT)
    try:
        until = time.monotonic() + 30
        while not os.path.exists(os.path.join(store, "server.json")) and time.monotonic() < until:
            time.sleep(0.05)
        looks("server", store)
    finally:
        server.terminate()
        server.wait(60)

sys.exit(failed != 0)
