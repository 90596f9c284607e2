#!/usr/bin/env python3
# parallel: yes
"""The bus on a real broker, between processes that are killed: nothing confirmed is lost, and what is read of a trace is
in order. And a broker that wants TLS and a password."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lab")
import harness
from harness import check, equal, run
from free_ports import free_ports
from kafka_broker import Broker

TARGET = os.path.join(os.environ.get("WHEREFORE_BUILD", "build/release"), "bus_target")
PASSWORD = "correct-horse-battery"


class Process:
    """A bus_target whose lines are gathered."""

    def __init__(self, *arguments):
        self.lines = []
        self.child = subprocess.Popen([TARGET, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
        harness._children.append(self.child)
        self.thread = threading.Thread(target=lambda: self.lines.extend(line.split() for line in self._lines()), daemon=True)
        self.thread.start()

    def _lines(self):
        for line in self.child.stdout:
            if line.endswith("\n"):  # a kill may cut the last one
                yield line

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.thread.join()

    def wait(self, seconds):
        try:
            self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self.thread.join()
        return self.child.returncode

    def kept(self):
        return {(int(l[1]), int(l[2])) for l in list(self.lines) if l[0] == "kept"}

    def pieces(self):
        """(partition, offset, trace, span) in the order they were read."""
        return [(int(l[1]), int(l[2]), *map(int, word.split(":"))) for l in list(self.lines) if l[0] == "piece" for word in l[3:]]


def kills():
    """Two publishers, two readers; a reader, a publisher and the broker die by SIGKILL meanwhile, one reader falls silent."""
    with Broker(harness.folder("kafka")) as broker:
        url = broker.url("kills", partitions=4)
        equal("the bus is reached", Process("check", url).wait(60), 0)
        readers = [Process("read", url, "tail", 3000) for _ in range(2)]
        publishers = [Process("publish", url, 1, 60), Process("publish", url, 1001, 60)]
        harness.wait_for(lambda: sum(len(r.pieces()) for r in readers) > 40, 60)
        readers[0].kill()
        readers.append(Process("read", url, "tail", 3000))
        harness.wait_for(lambda: len(publishers[1].kept()) > 80, 60)
        publishers[1].kill()
        broker.kill()
        broker.start()
        # As a stopped process: its session ends, its partitions go to others, and it comes back to the group.
        readers[1].child.send_signal(signal.SIGSTOP)
        publishers.append(Process("publish", url, 1001, 60))  # the killed one's sender sends again
        ended = [publishers[0].wait(120), publishers[2].wait(120)]
        readers[1].child.send_signal(signal.SIGCONT)
        equal("publishers end when all is confirmed, through the broker's death", ended, [0, 0])
        kept = set().union(*(p.kept() for p in publishers))
        equal("all traces were confirmed", len(kept), 2 * 60 * 4)

        def read():
            return {(trace, span) for r in readers for _, _, trace, span in r.pieces()}

        harness.wait_for(lambda: kept <= read(), 90)
        check("everything confirmed is read, whoever died", kept <= read(), lambda: sorted(kept - read())[:20])
        places = {}
        for r in readers:
            for partition, offset, trace, span in r.pieces():
                places.setdefault((partition, offset), set()).add((trace, span))
        check("a place on the bus always holds the same", all(len(p) == 1 for p in places.values()))
        by_trace = {}
        for (partition, offset), spans in places.items():
            for trace, span in spans:
                by_trace.setdefault(trace, []).append((partition, offset, span))
        check("a trace lies in one partition", all(len({p for p, _, _ in t}) == 1 for t in by_trace.values()))
        first = {t: [span for _, _, span in sorted(rows)] for t, rows in by_trace.items() if t <= 60}
        # One that was not confirmed in time was sent again, and may lie there twice; never behind a later one.
        check("a trace's spans lie in their order, though the broker died in between",
              all(spans == sorted(spans) and set(spans) == {1, 2, 3, 4} for spans in first.values()),
              lambda: {t: s for t, s in first.items() if s != [1, 2, 3, 4]})
        for r in readers:
            jumps = 0
            last = {}
            for l in list(r.lines):
                if l[0] in ("gained", "lost"):
                    last = {}
                elif l[0] == "piece":
                    jumps += l[1] in last and int(l[2]) != last[l[1]] + 1
                    last[l[1]] = int(l[2])
            equal("between hand-overs a reader sees every offset once", jumps, 0)
        check("the silent reader lost its partitions", any(l[0] == "lost" for l in readers[1].lines) or len(readers[1].lines) == 0,
              lambda: readers[1].lines[-3:])
        check("the broker stayed within 1 GB", broker.rss_kb() < 1_000_000, broker.rss_kb())
        for r in readers:
            r.kill()


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)


def tls_and_password():
    folder = harness.folder("tls")
    os.makedirs(folder)
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")

    def pem(path):  # on one line, as a property
        with open(path) as file:
            return "\\n".join(file.read().split("\n"))

    (port,) = free_ports(1)
    broker = Broker(os.path.join(folder, "kafka"))
    with open(broker.properties) as file:
        text = file.read()
    text = text.replace(f"listeners=PLAINTEXT://127.0.0.1:{broker.port},", f"listeners=PLAINTEXT://127.0.0.1:{broker.port},SASL_SSL://127.0.0.1:{port},", 1)
    text = text.replace(f"advertised.listeners=PLAINTEXT://127.0.0.1:{broker.port}", f"advertised.listeners=PLAINTEXT://127.0.0.1:{broker.port},SASL_SSL://127.0.0.1:{port}")
    text += f"""listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_shop="{PASSWORD}";
ssl.keystore.type=PEM
ssl.keystore.key={pem(key)}
ssl.keystore.certificate.chain={pem(certificate)}
"""
    with open(broker.properties, "w") as file:
        file.write(text)

    def settings(name, **change):
        values = {"security.protocol": "SASL_SSL", "ssl.ca.location": certificate, "sasl.mechanisms": "PLAIN",
                  "sasl.username": "shop", "sasl.password": PASSWORD}
        values.update({k.replace("_", "."): v for k, v in change.items()})
        path = os.path.join(folder, name)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.writelines(f"{k}={v}\n" for k, v in values.items())
        return path

    with broker:
        url = f"kafka://127.0.0.1:{port}/secure?partitions=2"
        good = settings("good")
        done = subprocess.run([TARGET, "check", url, good], capture_output=True, timeout=90)
        check("TLS and a password by the file of properties", done.returncode == 0 and done.stdout == b"ok\n", done)
        publisher = Process("publish", url, 1, 5, good)
        equal("and spans are confirmed through them", (publisher.wait(60), len(publisher.kept())), (0, 20))
        wrong = subprocess.run([TARGET, "check", url, settings("wrong", sasl_password="wrong-" + PASSWORD)], capture_output=True, timeout=90)
        check("a wrong password is refused, and the error says so", wrong.returncode == 1 and b"uthentication failed" in wrong.stdout, wrong)
        check("and nobody is told any", PASSWORD.encode() not in wrong.stdout + wrong.stderr, wrong)
        stranger = subprocess.run([TARGET, "check", url, settings("stranger", ssl_ca_location="/etc/ssl/certs/ca-certificates.crt")],
                                  capture_output=True, timeout=90)
        check("a broker whose certificate is not trusted is not used, and the error says so",
              stranger.returncode == 1 and b"certificate" in stranger.stdout, stranger)


def side_by_side():
    """Each has a broker of its own, and waits for it most of the time."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for part in [pool.submit(part) for part in (kills, tls_and_password)]:
            part.result()


run(side_by_side)
