#!/usr/bin/env python3
"""A real Kafka broker for tests: one node in KRaft mode, on loopback, in 512 MB, on ports that were free.

    broker = Broker(folder)      storage is formatted once; the data lies in the folder and survives stop and kill
    broker.start()               returns when it answers
    broker.stop() / broker.kill()  gently, or by SIGKILL; start() again goes on with the same data, on the same port
    broker.freeze() / broker.thaw()  alive but silent

From C++ tests it is run as a program: it prints `ready HOST:PORT`, then obeys one command a line (kill, stop, start,
freeze, thaw; it answers `done`), and ends, with the broker, when its stdin does. The jars are those of
deps/kafka/pom.xml, brought by `tools/setup test`.
"""
import ctypes
import glob
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
import base64

from free_ports import free_ports

SOURCE = os.environ.get("WHEREFORE_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JARS = os.path.join(SOURCE, "build", "deps-kafka")


def _die_with_parent():
    """In the child: SIGKILL when the thread that started it is gone, so that no broker outlives its test."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def java(*arguments, heap=512):
    jars = sorted(glob.glob(os.path.join(JARS, "*.jar")))
    if not jars:
        raise RuntimeError(f"no Kafka in {JARS}: run tools/setup test")
    # What starts quickest wins: the first compiler only, one collector thread, the class path in a fixed order.
    return ["java", f"-Xmx{heap}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", ":".join(jars), *arguments]


class Broker:
    def __init__(self, folder, partitions=1, session_ms=1000, settings=None):
        """session_ms: the shortest session a consumer may ask for."""
        self.folder = folder
        self.port, controller = free_ports(2)
        os.makedirs(folder, exist_ok=True)
        self.log_path = os.path.join(folder, "broker.log")
        self.process = None
        values = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": os.path.join(folder, "data"),
            "num.partitions": str(partitions),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": str(session_ms),
            "auto.create.topics.enable": "false",
            # After a kill the controller waits this long before it takes the broker back.
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "500",
            "num.network.threads": "1",
            "num.io.threads": "2",
            "background.threads": "2",
            "num.recovery.threads.per.data.dir": "1",
            "log.cleaner.dedupe.buffer.size": "4194304",
            "log.segment.bytes": "16777216",
        }
        values.update(settings or {})
        self.properties = os.path.join(folder, "server.properties")
        with open(self.properties, "w") as file:
            file.writelines(f"{key}={value}\n" for key, value in values.items())
        if not os.path.exists(os.path.join(folder, "data", "meta.properties")):
            cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            if cluster.startswith("-"):
                cluster = "A" + cluster[1:]
            done = subprocess.run(java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", self.properties, heap=128),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
            if done.returncode != 0:
                raise RuntimeError(f"kafka storage: {done.stdout.decode()[-2000:]}")

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def url(self, topic="wherefore", **query):
        text = "&".join(f"{key}={value}" for key, value in query.items())
        return f"kafka://{self.address}/{topic}" + ("?" + text if text else "")

    def start(self, wait=120):
        assert self.process is None
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(java("kafka.Kafka", self.properties), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.folder, preexec_fn=_die_with_parent)
        deadline = time.monotonic() + wait
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the broker did not start: {self.log()[-3000:]}")
            time.sleep(0.05)
        return self

    def answers(self):
        """True when it is registered: a metadata request names a broker."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as s:
                # Metadata, version 1, correlation 7, client "t", of no topic.
                request = struct.pack(">hhih", 3, 1, 7, 1) + b"t" + struct.pack(">i", 0)
                s.sendall(struct.pack(">i", len(request)) + request)
                head = self._exactly(s, 4)
                body = self._exactly(s, struct.unpack(">i", head)[0])
                correlation, brokers = struct.unpack(">ii", body[:8])
                return correlation == 7 and brokers >= 1
        except (OSError, struct.error):
            return False

    @staticmethod
    def _exactly(s, count):
        data = b""
        while len(data) < count:
            piece = s.recv(count - len(data))
            if not piece:
                raise OSError("closed")
            data += piece
        return data

    def stop(self, wait=60):
        self._end(signal.SIGTERM, wait)

    def kill(self):
        self._end(signal.SIGKILL, 30)

    def _end(self, number, wait):
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(wait)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def rss_kb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1])

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


def main():
    folder = tempfile.mkdtemp(prefix="wherefore-kafka-")
    broker = None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _die_with_parent()
    try:
        broker = Broker(folder)
        broker.start()
        print(f"ready {broker.address}", flush=True)
        for line in sys.stdin:
            {"kill": broker.kill, "stop": broker.stop, "start": broker.start, "freeze": broker.freeze,
             "thaw": broker.thaw}[line.strip()]()
            print("done", flush=True)
    except Exception as error:  # one line, for whoever waits for one
        print(f"failed {str(error)!r}", flush=True)
        raise
    finally:
        if broker:
            broker.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
