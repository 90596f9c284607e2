"""Writes .cpg files by docs/reference/cpg-format.md, without the recorder: a second reading of the format, for what no real program
can be brought to do twice in the same way."""
import struct

SCHEDULE, DATA, CONTROL = 1, 2, 4
OPS = {name: number for number, name in enumerate(
    """none mutex_lock mutex_trylock mutex_timedlock mutex_clocklock mutex_unlock spin_lock spin_trylock spin_unlock
    rdlock tryrdlock timedrdlock clockrdlock wrlock trywrlock timedwrlock clockwrlock rwunlock cond_wait cond_timedwait
    cond_clockwait cond_signal cond_broadcast barrier_wait sem_wait sem_trywait sem_timedwait sem_clockwait sem_post once
    create join tryjoin timedjoin clockjoin mtx_lock mtx_trylock mtx_timedlock mtx_unlock cnd_wait cnd_timedwait cnd_signal
    cnd_broadcast thrd_create thrd_join call_once fork vfork futex_wait futex_wake thread_exit exit process_exit
    killed""".split())}
RELEASE, RELEASE_TO_WRITERS, ACQUIRE, ACQUIRE_FROM_WRITERS, RELEASE_ROUND, ACQUIRE_ROUND = range(1, 7)
MUTEX, SPIN, RWLOCK, COND, BARRIER, SEMAPHORE, ONCE, THREAD, FUTEX = range(1, 10)
FILE, STDIN, STDOUT, STDERR, PIPE, SOCKET, ARGUMENT = range(1, 8)
NO_THREAD = 0xFFFFFFFF


def checksum(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def padded(text):
    data = text.encode()
    return data + bytes(-len(data) % 8)


class CpgFile:
    """Steps in the order in which they happened; 10 ns each."""

    def __init__(self, depth=SCHEDULE | DATA):
        self.depth, self.now = depth, 0
        self.process, self.threads = [], {}
        self.objects, self.sequences, self.parents = {}, {}, {}

    def record(self, to, kind, detail, body):
        to.append(struct.pack("<HHI", kind, detail, 8 + len(body)) + body)

    def object(self, name, kind, thread=NO_THREAD):
        if name not in self.objects:
            number = self.objects[name] = len(self.objects) + 1
            self.record(self.process, 4, kind, struct.pack("<IIQQ", number, thread, 0x10000 + 0x40 * number, self.now))
        return self.objects[name]

    def thread_object(self, thread):
        return self.object(f"thread {thread}", THREAD, thread)

    def action(self, name, role):
        number = self.objects[name]
        self.sequences[number] = self.sequences.get(number, 0) + 1
        return struct.pack("<IHHQ", number, role, 0, self.sequences[number])

    def start(self, thread):
        self.now += 10
        self.threads[thread] = []
        name, actions, parent = f"thread {thread}", b"", self.parents.get(thread, NO_THREAD)
        if parent != NO_THREAD:
            actions = self.action(name, ACQUIRE)
        body = struct.pack("<IIQII", thread, parent, self.now, 100 + thread, self.objects.get(name, 0))
        self.record(self.threads[thread], 1, len(actions) // 16, body + actions)
        return self

    def cut(self, thread, op, name=None, actions=b"", wait=0, flags=0):
        self.now += 10
        body = struct.pack("<IHHQQQQ", self.objects.get(name, 0), len(actions) // 16, flags, self.now, self.now + wait + 1,
                           wait, 0)
        self.record(self.threads[thread], 2, OPS[op], body + actions)
        return self

    def create(self, thread, child):
        self.thread_object(child)
        self.parents[child] = thread
        self.cut(thread, "create", f"thread {child}", self.action(f"thread {child}", RELEASE))
        return self.start(child)

    def join(self, thread, child):
        return self.cut(thread, "join", f"thread {child}", self.action(f"thread {child}", ACQUIRE))

    def lock(self, thread, name, wait=0):
        self.object(name, MUTEX)
        return self.cut(thread, "mutex_lock", name, self.action(name, ACQUIRE), wait)

    def unlock(self, thread, name):
        return self.cut(thread, "mutex_unlock", name, self.action(name, RELEASE))

    def end(self, thread, op="thread_exit"):
        self.now += 10
        self.thread_object(thread)
        actions = self.action(f"thread {thread}", RELEASE) if op == "thread_exit" else b""
        name = f"thread {thread}" if op == "thread_exit" else None
        body = struct.pack("<IHHQQ", self.objects.get(name, 0), len(actions) // 16, 0, self.now, 0)
        self.record(self.threads[thread], 3, OPS[op], body + actions)
        return self

    def pages(self, thread, *runs, written=False):
        body = struct.pack("<Q", len(runs))
        for first, count in runs:
            body += struct.pack("<QQ", first, count | (1 << 63 if written else 0))
        self.record(self.threads[thread], 8, 0, body)
        return self

    def writes(self, thread, *pages):
        return self.pages(thread, *((page, 1) for page in pages), written=True)

    def reads(self, thread, *pages):
        return self.pages(thread, *((page, 1) for page in pages))

    def transfer(self, thread, name, begin, end, output=False, stream=0):
        self.now += 10
        kind = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR}.get(name) or {
            "pipe": PIPE, "socket": SOCKET, "arg": ARGUMENT}.get(name.split(":")[0], FILE)
        body = struct.pack("<HHIQQQQQ", kind, int(output), 1 if output else 0, begin, end, 0, self.now, stream)
        self.record(self.threads[thread], 9, len(name.encode()), body + padded(name))
        return self

    def crash(self, thread, signal):
        self.now += 10
        self.record(self.threads[thread], 15, signal, struct.pack("<IIQQQ", thread, 0, 0, self.now, 0))
        return self

    def name(self, thread, text):
        self.record(self.threads[thread], 6, len(text), struct.pack("<II", thread, 0) + padded(text))
        return self

    def snapshot(self, number, start):
        self.record(self.process, 16, 0, struct.pack("<IIQQ", number, 0, start, self.now))
        return self

    def bytes(self, end=True):
        out = struct.pack("<8sIIQQII", b"WFCPG\r\n\0", 1, self.depth, 1_700_000_000_000_000_000, 12345, 0, 40)
        chunks = [(2, 0, self.process)] + [(1, thread, records) for thread, records in self.threads.items()]
        for kind, thread, records in chunks + ([(4, 0, [])] if end else []):
            payload = b"".join(records)
            out += struct.pack("<IIIIIIQ", 0x6B6E6863, kind, thread, 0, len(payload), len(payload), checksum(payload)) + payload
        return out

    def write(self, path, end=True):
        with open(path, "wb") as file:
            file.write(self.bytes(end))
        return path
