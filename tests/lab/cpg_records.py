"""The records of a .cpg file as Python values: what tests of the recorder look at, and a dump of it for people.

    python3 tests/lab/cpg_records.py F.cpg
"""
import os
import re
import struct
import sys

SOURCE = os.environ.get("WHEREFORE_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def _enum(name):
    """The enumerators of records.h, so that the two cannot part."""
    with open(os.path.join(SOURCE, "src/recorder/format/records.h"), encoding="utf-8") as file:
        body = re.search(r"enum class " + name + r" : \w+ \{(.*?)\};", file.read(), re.S).group(1)
    names, value = {}, -1
    for word in re.sub(r"//[^\n]*", "", body).split(","):
        if not word.strip():
            continue
        key, _, given = (part.strip() for part in word.partition("="))
        value = int(given) if given else value + 1
        names[value] = key[1:]
    return names


OPS, KINDS, OBJECTS, ROLES = _enum("Op"), _enum("RecordKind"), _enum("ObjectKind"), _enum("Role")
TRANSFERS = _enum("TransferKind")
NO_THREAD = 0xFFFFFFFF


def lz4(data, size):
    out, at = bytearray(), 0
    while at < len(data):
        token = data[at]
        at += 1
        length = token >> 4
        if length == 15:
            while True:
                length += data[at]
                at += 1
                if data[at - 1] != 255:
                    break
        out += data[at:at + length]
        at += length
        if at >= len(data):
            break
        offset = data[at] | data[at + 1] << 8
        at += 2
        length = (token & 15) + 4
        if token & 15 == 15:
            while True:
                length += data[at]
                at += 1
                if data[at - 1] != 255:
                    break
        begin = len(out) - offset
        if begin < 0 or offset == 0:
            raise ValueError("bad lz4 offset")
        while length > 0:
            piece = out[begin:begin + length]
            out += piece
            length -= len(piece)
    if len(out) != size:
        raise ValueError(f"lz4: {len(out)} bytes, not {size}")
    return bytes(out)


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


class Recording:
    """head, complete, threads {number: [records]}, process [records]. A record is a dict with its kind."""

    def __init__(self, path, check_sums=True):
        with open(path, "rb") as file:
            data = file.read()
        magic, version, depth, unix, started, pid, head_size = struct.unpack_from("<8sIIQQII", data)
        if magic != b"WFCPG\r\n\0":
            raise ValueError(f"{path}: no recording")
        self.version, self.depth, self.pid, self.started_unix_ns = version, depth, pid, unix
        self.children, self.generation, self.trouble = struct.unpack_from("<III", data, 40)
        self.complete, self.threads, self.process, self.chunks = False, {}, [], 0
        at = head_size
        while at + 32 <= len(data):
            mark, kind, thread, codec, raw, stored, checksum = struct.unpack_from("<IIIIIIQ", data, at)
            if mark != 0x6B6E6863:
                raise ValueError(f"{path}: no chunk at {at}")
            payload = data[at + 32:at + 32 + stored]
            if len(payload) < stored:
                break
            if check_sums and fnv(payload) != checksum:
                raise ValueError(f"{path}: bad checksum at {at}")
            self.chunks += 1
            at += 32 + stored
            if kind == 4:
                self.complete = True
                continue
            if kind == 3:  # branches: `wherefore cpg F thunks ID` reads them
                continue
            records = list(_records(payload if codec == 0 else lz4(payload, raw)))
            if kind == 1:
                self.threads.setdefault(thread, []).extend(records)
            else:
                self.process.extend(records)

    def cuts(self, thread):
        return [r for r in self.threads.get(thread, []) if r["kind"] == "Cut"]

    def ops(self, thread):
        """The names of the calls that ended its sub-computations, the end of the thread included."""
        return [r["op"] for r in self.threads.get(thread, []) if r["kind"] in ("Cut", "ThreadEnd")]

    def sub_computations(self):
        """(thread, index, op, {page: written}, [transfers]) of every one, in order."""
        for thread, records in sorted(self.threads.items()):
            index, pages, transfers = 0, {}, []
            for record in records:
                if record["kind"] == "Pages":
                    for first, count, written in record["runs"]:
                        for page in range(first, first + count):
                            pages[page] = pages.get(page, 0) | written
                elif record["kind"] == "Transfer":
                    transfers.append(record)
                elif record["kind"] in ("Cut", "ThreadEnd"):
                    yield thread, index, record["op"], pages, transfers
                    index, pages, transfers = index + 1, {}, []

    def lost(self):
        return {r["name"]: r["count"] for r in self.process if r["kind"] == "Lost"}


def _actions(data, at, count):
    found = []
    for i in range(count):
        number, role, _, sequence = struct.unpack_from("<IHHQ", data, at + 16 * i)
        found.append((number, ROLES.get(role, role), sequence))
    return found


def _text(data, at, size):
    return data[at:at + size].decode("utf-8", "replace")


def _records(data):
    at = 0
    while at < len(data):
        kind, detail, size = struct.unpack_from("<HHI", data, at)
        if size < 8 or size % 8 or at + size > len(data):
            raise ValueError(f"a record of {size} bytes at {at} of {len(data)}")
        body, record = at + 8, {"kind": KINDS.get(kind, kind)}
        if record["kind"] == "ThreadStart":
            record.update(zip(("thread", "parent", "start_ns", "tid", "object"), struct.unpack_from("<IIQII", data, body)))
            record["actions"] = _actions(data, at + 32, detail)
        elif record["kind"] == "Cut":
            number, actions, flags, end, start, wait, site = struct.unpack_from("<IHHQQQQ", data, body)
            record.update(op=OPS[detail], object=number, flags=flags, end_ns=end, start_ns=start, wait_ns=wait, site=site,
                          actions=_actions(data, at + 48, actions))
        elif record["kind"] == "ThreadEnd":
            number, actions, inside, end, site = struct.unpack_from("<IHHQQ", data, body)
            record.update(op=OPS[detail], object=number, inside=inside, end_ns=end, site=site,
                          actions=_actions(data, at + 32, actions))
        elif record["kind"] == "Object":
            record.update(zip(("id", "thread", "address", "time_ns"), struct.unpack_from("<IIQQ", data, body)))
            record["object_kind"] = OBJECTS[detail]
        elif record["kind"] == "ObjectEnd":
            record["id"] = struct.unpack_from("<I", data, body)[0]
        elif record["kind"] == "ThreadName":
            record.update(thread=struct.unpack_from("<I", data, body)[0], name=_text(data, at + 16, detail))
        elif record["kind"] == "Module":
            record.update(zip(("begin", "end", "offset", "time_ns", "protection"), struct.unpack_from("<QQQQI", data, body)))
            record["path"] = _text(data, at + 48, detail)
        elif record["kind"] == "Pages":
            runs = struct.unpack_from("<Q", data, body)[0]
            record["runs"] = [(first, count & ~(1 << 63), count >> 63)
                              for first, count in struct.iter_unpack("<QQ", data[at + 16:at + 16 + 16 * runs])]
        elif record["kind"] == "Transfer":
            kind, flags, op, begin, end, address, time, stream = struct.unpack_from("<HHIQQQQQ", data, body)
            record.update(transfer=TRANSFERS[kind], output=bool(flags & 1), mapped=bool(flags & 2), denied=bool(flags & 4),
                          reported=bool(flags & 8), op=op, begin=begin, end=end, address=address, time_ns=time,
                          stream=stream, name=_text(data, at + 56, detail))
        elif record["kind"] == "Allocation":
            record.update(zip(("address", "size", "time_ns", "site"), struct.unpack_from("<QQQQ", data, body)))
        elif record["kind"] == "Release":
            record.update(zip(("address", "time_ns"), struct.unpack_from("<QQ", data, body)))
        elif record["kind"] == "Memory":
            yield from _memory_events(data[body:at + size], detail)
            at += size
            continue
        elif record["kind"] == "Fork":
            record.update(zip(("number", "pid"), struct.unpack_from("<II", data, body)))
        elif record["kind"] == "Lost":
            record.update(count=struct.unpack_from("<Q", data, body)[0], name=_text(data, at + 16, detail))
        yield record
        at += size


def _memory_events(data, count):
    """Packed allocations and releases, as the records that they were one by one."""
    at = time = address = site = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if data[at - 1] < 0x80:
                return value

    def difference(value):
        return (value >> 1) ^ -(value & 1)

    for _ in range(count):
        first = number()
        time += difference(first >> 1)
        address += difference(number())
        if first & 1:
            yield {"kind": "Release", "address": address, "time_ns": time}
            continue
        size = number()
        site += difference(number())
        yield {"kind": "Allocation", "address": address, "size": size, "time_ns": time, "site": site}


def main():
    recording = Recording(sys.argv[1])
    print(f"pid {recording.pid} depth {recording.depth} complete {recording.complete} chunks {recording.chunks} "
          f"children {recording.children} generation {recording.generation} trouble {recording.trouble}")
    for record in recording.process:
        print("process", record)
    for thread, records in sorted(recording.threads.items()):
        for record in records:
            print(thread, record)


if __name__ == "__main__":
    main()
