"""Requests of Kafka's protocol by hand: bytes that no wherefore wrote, into a partition of a topic; more partitions."""
import socket
import struct
import time


def _crc32c_table():
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc32c_table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def varint(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def record_batch(values):
    """Magic 2, no compression, no producer."""
    records = b""
    for delta, value in enumerate(values):
        record = b"\0" + varint(0) + varint(delta) + varint(-1) + varint(len(value)) + value + varint(0)
        records += varint(len(record)) + record
    now = int(time.time() * 1000)
    tail = struct.pack(">hiqqqhii", 0, len(values) - 1, now, now, -1, -1, -1, len(values)) + records
    body = struct.pack(">ib", -1, 2) + struct.pack(">I", crc32c(tail)) + tail
    return struct.pack(">qi", 0, len(body)) + body


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def ask(address, request):
    """What the broker answers, without its length."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        sock.sendall(struct.pack(">i", len(request)) + request)
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + struct.unpack(">i", answer[:4])[0]:
            piece = sock.recv(65536)
            if not piece:
                raise OSError("the broker closed the connection")
            answer += piece
    return answer[4:]


def produce(address, topic, partition, *values):
    batch = record_batch(values)
    answer = ask(address, struct.pack(">hhi", 0, 3, 1) + text("raw") + struct.pack(">h", -1) + struct.pack(">hi", 1, 10_000) +
                 struct.pack(">i", 1) + text(topic) + struct.pack(">ii", 1, partition) + struct.pack(">i", len(batch)) + batch)
    # correlation, [topic, [partition, error, offset, time]], throttle
    _, error, offset = struct.unpack_from(">ihq", answer, 4 + 4 + 2 + len(topic) + 4)
    if error != 0:
        raise OSError(f"the broker answered with error {error}")
    return offset


def grow(address, topic, partitions):
    """CreatePartitions, version 0: as kafka-topics --alter."""
    answer = ask(address, struct.pack(">hhi", 37, 0, 1) + text("raw") + struct.pack(">i", 1) + text(topic) +
                 struct.pack(">ii", partitions, -1) + struct.pack(">i", 10_000) + b"\0")
    # correlation, throttle, [topic, error, message]
    (error,) = struct.unpack_from(">h", answer, 4 + 4 + 4 + 2 + len(topic))
    if error != 0:
        raise OSError(f"the broker answered with error {error}")
