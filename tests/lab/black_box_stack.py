"""A system of black boxes: nginx, PostgreSQL and Redis as Debian packages them, and two servers of ours, each in a network
namespace of its own on one bridge, so that an address is a node. The true id of a request travels in an HTTP header, an SQL
comment and a Redis key's suffix; `blanked` takes it out of a capture, with lengths kept, before anything is inferred.

    client ─→ nginx ─┬→ pool (threads) ─┬→ redis
                     └→ loop (asyncio) ─┴→ postgres
"""
import atexit
import os
import pwd
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import real_network

HOSTS = {"client": "10.77.0.1", "nginx": "10.77.0.2", "pool": "10.77.0.3", "loop": "10.77.0.4", "redis": "10.77.0.5",
         "postgres": "10.77.0.6"}
POSTGRES = "/usr/lib/postgresql/15/bin"
ID = re.compile(rb"wfid-[0-9a-f]{8}")

# What the two servers share: Redis and PostgreSQL spoken over plain sockets.
SHARED = r"""
import struct, sys
REDIS, POSTGRES = ("10.77.0.5", 6379), ("10.77.0.6", 5432)
def redis_get(mark):
    key = b"item:" + mark
    return b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key)
def redis_done(data):
    return data.endswith(b"\r\n")
def postgres_hello():
    body = struct.pack("!i", 196608) + b"user\0wf\0database\0postgres\0\0"
    return struct.pack("!i", len(body) + 4) + body
def postgres_query(mark, delay):
    text = b"SELECT pg_sleep(%s), 42 /* %s */\0" % (delay, mark)
    return b"Q" + struct.pack("!i", len(text) + 4) + text
def postgres_done(data):
    return len(data) >= 6 and data[-6:-1] == b"Z\0\0\0\x05"
def mark_of(head):
    at = head.find(b"wfid-")
    return head[at:at + 13]
def answer(body):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
"""
POOL = SHARED + r"""
import queue, socket, threading, time
port, work, delay = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3].encode()
def talk(sock, request, done):
    sock.sendall(request)
    data = b""
    while not done(data):
        more = sock.recv(65536)
        if not more: raise EOFError
        data += more
def connect(to):
    sock = socket.create_connection(to)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock
waiting = queue.Queue()
def worker():
    cache, base = connect(REDIS), connect(POSTGRES)
    talk(base, postgres_hello(), postgres_done)
    while True:
        sock, head = waiting.get()
        mark = mark_of(head)
        time.sleep(work)
        talk(cache, redis_get(mark), redis_done)
        talk(base, postgres_query(mark, delay), postgres_done)
        sock.sendall(answer(b"p" * 500))
def reader(sock):
    data = b""
    while True:
        more = sock.recv(65536)
        if not more: return
        data += more
        while b"\r\n\r\n" in data:
            head, data = data.split(b"\r\n\r\n", 1)
            waiting.put((sock, head))
for _ in range(4): threading.Thread(target=worker, daemon=True).start()
listener = socket.create_server(("", port), backlog=64)
while True:
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=reader, args=(sock,), daemon=True).start()
"""
LOOP = SHARED + r"""
import asyncio
port, work, delay = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3].encode()
class Pool:
    def __init__(self, to, hello, done):
        self.to, self.hello, self.done, self.free = to, hello, done, []
    async def talk(self, request):
        if self.free:
            reader, writer = self.free.pop()
        else:
            reader, writer = await asyncio.open_connection(*self.to)
            if self.hello: await self.send(reader, writer, self.hello)
        await self.send(reader, writer, request)
        self.free.append((reader, writer))
    async def send(self, reader, writer, request):
        writer.write(request)
        data = b""
        while not self.done(data):
            more = await reader.read(65536)
            if not more: raise EOFError
            data += more
cache, base = Pool(REDIS, None, redis_done), Pool(POSTGRES, postgres_hello(), postgres_done)
async def serve(reader, writer):
    while True:
        try: head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError: return
        mark = mark_of(head)
        await asyncio.sleep(work)
        await asyncio.gather(cache.talk(redis_get(mark)), base.talk(postgres_query(mark, delay)))
        writer.write(answer(b"l" * 500))
        await writer.drain()
async def main():
    server = await asyncio.start_server(serve, "", port)
    await server.serve_forever()
asyncio.run(main())
"""
NGINX = """
daemon off; worker_processes 2; pid {home}/nginx.pid; error_log {home}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f;
  uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  upstream pool {{ server 10.77.0.3:8000; keepalive 32; }}
  upstream loop {{ server 10.77.0.4:8000; keepalive 32; }}
  server {{
    listen 80; keepalive_requests 100000;
    proxy_http_version 1.1; proxy_set_header Connection "";
    location /pool {{ proxy_pass http://pool; }}
    location /loop {{ proxy_pass http://loop; }}
  }}
}}
"""


def why_not():
    """Why there can be no such stack here; None: there can."""
    for program in ("nginx", "redis-server", os.path.join(POSTGRES, "postgres")):
        if not shutil.which(program):
            return f"{program} is missing"
    return real_network.why_not()


def home():
    """A folder that other users, too, may enter; it goes when the test ends."""
    path = tempfile.mkdtemp(prefix="wherefore-stack-")
    os.chmod(path, 0o755)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def bridge(hosts):
    """A namespace for each, joined by a bridge in another. Returns them and the bridge's."""
    middle = real_network.Namespace("middle")
    middle.run("ip", "link", "add", "bridge", "type", "bridge", "forward_delay", "0")
    middle.run("ip", "link", "set", "bridge", "up")
    spaces = {}
    for name, address in hosts.items():
        space = spaces[name] = real_network.Namespace(name)
        subprocess.run(["ip", "link", "add", "name", name, "netns", middle.path, "type", "veth", "peer", "name", "eth",
                        "netns", space.path], check=True, capture_output=True, text=True)
        space.inside(lambda: real_network._offloads_off("eth"))
        middle.inside(lambda: real_network._offloads_off(name))
        middle.run("ip", "link", "set", name, "master", "bridge", "up")
        space.run("ip", "addr", "add", address + "/24", "dev", "eth")
        space.run("ip", "link", "set", "eth", "up")
    return spaces, middle


class Stack:
    def __init__(self, home, delay="0"):
        """`delay`: seconds that PostgreSQL takes longer for every request."""
        self.processes = []
        try:
            self._start_all(home, delay)
        except BaseException:
            self.stop()
            raise

    def _start_all(self, home, delay):
        self.spaces, self.middle = bridge(HOSTS)
        owner = pwd.getpwnam("postgres")
        data = os.path.join(home, "postgres")
        os.makedirs(data)
        os.chown(data, owner.pw_uid, owner.pw_gid)
        self._postgres(["initdb", "-D", data, "-U", "wf", "--auth=trust", "--no-sync", "--no-instructions"])
        with open(os.path.join(data, "pg_hba.conf"), "a", encoding="utf-8") as file:
            file.write("host all all 10.77.0.0/24 trust\n")
        self._start("postgres", "setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups",
                    os.path.join(POSTGRES, "postgres"), "-D", data, "-h", "*", "-k", data, "-c", "fsync=off")
        self._start("redis", "redis-server", "--port", "6379", "--bind", "0.0.0.0", "--protected-mode", "no", "--save", "",
                    "--dir", home)
        config = os.path.join(home, "nginx.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(NGINX.format(home=home))
        self._wait("postgres", 5432), self._wait("redis", 6379)
        self._start("pool", sys.executable, "-c", POOL, "8000", "0.002", delay)
        self._start("loop", sys.executable, "-c", LOOP, "8000", "0.002", delay)
        self._wait("pool", 8000), self._wait("loop", 8000)
        self._start("nginx", "nginx", "-c", config, "-p", home)
        self._wait("nginx", 80)

    def _postgres(self, command):
        owner = pwd.getpwnam("postgres")
        subprocess.run(["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups",
                        os.path.join(POSTGRES, command[0]), *command[1:]], check=True, capture_output=True, text=True,
                       cwd="/")

    def _start(self, name, *command):
        self.processes.append(self.spaces[name].start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                      cwd="/"))

    def _wait(self, name, port):
        for _ in range(600):
            def tried():
                with socket.socket() as sock:
                    sock.settimeout(1)
                    return sock.connect_ex(("127.0.0.1", port)) == 0
            if self.spaces[name].inside(tried):
                return
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not listen at {port}")

    def load(self, requests, per_second, lanes=6):
        """Requests of both kinds, at random times, over connections kept alive. Returns latencies in seconds."""
        done = self.spaces["client"].start(sys.executable, "-c", CLIENT, str(requests), str(per_second), str(lanes),
                                           stdout=subprocess.PIPE, text=True)
        text, _ = done.communicate(timeout=120)
        if done.returncode != 0:
            raise RuntimeError("the client failed")
        return [float(word) for word in text.split()]

    def capture(self):
        """Every frame once: where it comes in at the bridge."""
        capture = real_network.Capture()
        for name in HOSTS:
            capture.add(name, self.middle, name, False)
        capture.start()
        return capture

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


CLIENT = r"""
import asyncio, random, sys, time
requests, rate, lanes = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
random.seed(7)
taken = []
async def lane(numbers):
    reader, writer = await asyncio.open_connection("10.77.0.2", 80)
    for number in numbers:
        await asyncio.sleep(random.expovariate(rate / lanes))
        began = time.monotonic()
        writer.write(b"GET /%s HTTP/1.1\r\nHost: x\r\nX-Request-Id: wfid-%08x\r\n\r\n" %
                     (random.choice((b"pool", b"loop")), number))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0] + b" ": raise SystemExit(head)
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        await reader.readexactly(length)
        taken.append(time.monotonic() - began)
async def main():
    await asyncio.gather(*(lane(range(first, requests, lanes)) for first in range(lanes)))
asyncio.run(main())
print(*taken)
"""


def frames(capture):
    """(time, bytes) of all, in order of time."""
    return sorted((frame for one in capture.packets.values() for frame in one), key=lambda frame: frame[0])


def write_capture(path, packets):
    """As pcap with nanoseconds, the ids blanked; returns the ids that stood in each packet, by its time and addresses."""
    marks = {}
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for when, data in packets:
            found = ID.search(data)
            if found and data[12:14] == b"\x08\x00":
                source, target = socket.inet_ntoa(data[26:30]), socket.inet_ntoa(data[30:34])
                marks[(when, source, target)] = found.group().decode()
                data = ID.sub(lambda match: b"x" * len(match.group()), data)
            file.write(struct.pack("<IIII", when // 10**9, when % 10**9, len(data), len(data)))
            file.write(data)
    return marks


def truth(lines, marks):
    """Rows of an assignments file: of every call in message text whose id is known, the call that caused it."""
    calls = {}
    for number, line in enumerate(lines, 1):
        seconds, op, sender, receiver = line.split()[:4]
        if op != "CALL":
            continue
        whole, _, fraction = seconds.partition(".")
        mark = marks.get((int(whole) * 10**9 + int(fraction.ljust(9, "0")), sender, receiver))
        if mark:
            calls.setdefault(mark, {})[(sender, receiver)] = number
    address = HOSTS
    rows = {}
    for by_ends in calls.values():
        for (sender, receiver), number in by_ends.items():
            above = None
            if sender == address["nginx"]:
                above = by_ends.get((address["client"], address["nginx"]))
            elif sender in (address["pool"], address["loop"]):
                above = by_ends.get((address["nginx"], sender))
            rows[number] = above
    return rows
