#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 180
"""An acknowledged batch survives kill -9, exactly once; overload is answered with "come again later"."""
import socket
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from durability_rounds import *


def kills_with_sync():
    kill_rounds(6, "on", seed=1)


def kills_without_sync():
    kill_rounds(4, "off", seed=2)


def a_damaged_end_of_the_log_is_no_loss():
    """A crash may leave half a record behind the last acknowledged one."""
    store = folder()
    with Server(store) as server:
        load = Load(server, 1)
        wait_for(lambda: len(load.acknowledged) > 20)
        load.end()
        server.kill()
    logs = [os.path.join(base, name) for base, _, names in os.walk(store) for name in names
            if re.search(r"log|wal", os.path.join(base, name)[len(store):]) and not name.endswith(".duckdb.wal")]
    newest = max((p for p in logs if os.path.getsize(p)), key=os.path.getmtime, default=None)
    check("there is a log", newest is not None, [os.path.join(b, n) for b, _, f in os.walk(store) for n in f])
    if newest is None:
        return
    with open(newest, "ab") as file:
        file.write(random.Random(3).randbytes(1000))
    with Server(store) as server:
        counts = summary_counts(server, 0)
        lost = [n for n in load.acknowledged if counts.get(n) != SPANS]
        check("garbage behind the last record: everything acknowledged is there", not lost, lost[:3])
        more = Load(server, 1_000_000)
        wait_for(lambda: len(more.acknowledged) > 5)
        more.end()
        server.kill()
    with Server(store) as server:
        counts = summary_counts(server, 0)
        lost = [n for n in load.acknowledged | more.acknowledged if counts.get(n) != SPANS]
        check("and what was acknowledged after that start as well", not lost and more.acknowledged, lost[:3])


def overload():
    store = folder()
    with Server(store, "--max-inflight-bytes", "256kB", "--max-request-bytes", "200kB") as server:
        body = template()
        held = []
        for n in range(4):  # requests that have sent all but their last byte hold what they sent
            padded = body.replace(PLACEHOLDER, (900 + n).to_bytes(16, "big"))
            padded += otlp_proto.field_bytes(1000, b"x" * (100_000 - len(padded)))
            sock = socket.create_connection(server.address("otlp_http"), timeout=20)
            sock.sendall(f"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nContent-Length: {len(padded)}\r\n\r\n"
                         .encode() + padded[:-1])
            held.append((sock, padded[-1:]))
        time.sleep(0.5)
        big = body.replace(PLACEHOLDER, (950).to_bytes(16, "big")) + otlp_proto.field_bytes(1000, b"x" * 150_000)
        answers = [server.send_proto(big) for _ in range(3)]
        check("beyond --max-inflight-bytes senders get 429 or 503 with Retry-After",
              any(a.status in (429, 503) and a.headers["Retry-After"] for a in answers) and all(a.status in (200, 429, 503) for a in answers), answers)
        check("the delay is a number of seconds", all(re.fullmatch(r"\d+", a.headers["Retry-After"]) for a in answers if a.status != 200), answers)
        statuses = {}
        for n, (sock, rest) in enumerate(held):
            with contextlib.suppress(OSError):
                sock.sendall(rest)
            answer = b""
            with contextlib.suppress(OSError):
                answer = sock.recv(4096)
            sock.close()
            match = re.match(rb"HTTP/1\.1 (\d+)", answer)
            statuses[900 + n] = int(match[1]) if match else None
        check("those that fitted are acknowledged, the others told to wait", 200 in statuses.values() and
              set(statuses.values()) <= {200, 429, 503}, statuses)
        later = server.send_proto(big)
        equal("when the others are done, the same request is taken", later.status, 200)
        counts = summary_counts(server, 0)
        kept = {n for n, status in statuses.items() if status == 200} | {950}
        equal("what was acknowledged is there, what was refused is not", {n: c for n, c in counts.items()}, {n: SPANS for n in kept})
        counters = server.get("/api/v1/status").json["counters"]
        check("refusals are counted", any(("overload" in k or "refused" in k) and v > 0 for k, v in counters.items()), counters)

        load = Load(server, 10_000)
        time.sleep(1.5)
        load.end()
        counts = summary_counts(server, 0)
        lost = [n for n in load.acknowledged if counts.get(n) != SPANS]
        check("under load near the limit nothing acknowledged is lost", not lost and load.acknowledged and not load.odd, (lost[:3], load.odd[:3]))


run(kills_with_sync, kills_without_sync, a_damaged_end_of_the_log_is_no_loss, overload)
