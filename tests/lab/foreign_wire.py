"""Wire forms that the standard library does not speak: Jaeger's Thrift batches, gRPC calls over plain HTTP/2, Parquet's
footer."""
import contextlib
import socket
import struct
import time

# --- Thrift, binary protocol

STOP, BOOL, DOUBLE, I32, I64, STRING, STRUCT, LIST = 0, 2, 4, 8, 10, 11, 12, 15


def _field(kind, number, data):
    return struct.pack(">bh", kind, number) + data


def _text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(">i", len(data)) + data


def _list(kind, members):
    return struct.pack(">bi", kind, len(members)) + b"".join(members)


def _tag(key, value):
    out = _field(STRING, 1, _text(key))
    if isinstance(value, bool):
        out += _field(I32, 2, struct.pack(">i", 2)) + _field(BOOL, 5, struct.pack(">b", value))
    elif isinstance(value, int):
        out += _field(I32, 2, struct.pack(">i", 3)) + _field(I64, 6, struct.pack(">q", value))
    elif isinstance(value, float):
        out += _field(I32, 2, struct.pack(">i", 1)) + _field(DOUBLE, 4, struct.pack(">d", value))
    else:
        out += _field(I32, 2, struct.pack(">i", 0)) + _field(STRING, 3, _text(value))
    return out + b"\x00"


def _span(trace, span, name, start, duration, parent=0, tags=None):
    def i64(number, value):
        return _field(I64, number, struct.pack(">Q", value & (1 << 64) - 1))

    return (i64(1, trace) + i64(2, trace >> 64) + i64(3, span) + i64(4, parent) + _field(STRING, 5, _text(name)) +
            _field(I32, 7, struct.pack(">i", 1)) + i64(8, start) + i64(9, duration) +
            _field(LIST, 10, _list(STRUCT, [_tag(k, v) for k, v in (tags or {}).items()])) + b"\x00")


def jaeger_batch(service, spans, tags=None):
    """jaeger.thrift's Batch; spans are arguments of _span, times in µs."""
    process = _field(STRING, 1, _text(service)) + _field(LIST, 2, _list(STRUCT, [_tag(k, v) for k, v in (tags or {}).items()])) + b"\x00"
    return _field(STRUCT, 1, process) + _field(LIST, 2, _list(STRUCT, [_span(**s) for s in spans])) + b"\x00"


# --- gRPC

H2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def _frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _headers(pairs):
    """Literal header fields, not indexed, no Huffman code."""
    def string(text):
        data = text.encode()
        out, rest = (bytes([len(data)]), None) if len(data) < 127 else (b"\x7f", len(data) - 127)
        while rest is not None:
            out += bytes([rest & 0x7F | (0x80 if rest > 0x7F else 0)])
            rest = rest >> 7 if rest > 0x7F else None
        return out + data

    return b"".join(b"\x00" + string(name) + string(value) for name, value in pairs)


class GrpcAnswer:
    """`ended`: the server finished the stream in order; `message`: its first message, if any."""

    def __init__(self):
        self.ended, self.message, self.reset = False, None, None

    def __repr__(self):
        return f"gRPC answer: ended {self.ended}, message {self.message!r}, reset {self.reset}"


def grpc_call(address, method, message, seconds=10):
    answer, data = GrpcAnswer(), b""
    with socket.create_connection(address, timeout=seconds) as sock:
        body = b"\x00" + struct.pack(">I", len(message)) + message
        head = _headers([(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost"),
                         ("content-type", "application/grpc"), ("te", "trailers")])
        sock.sendall(H2_PREFACE + _frame(1, 4, 1, head))
        # Flow control: what fits the initial window goes out at once; more when the server allows it.
        windows, sent, buffer, deadline = {0: 65535, 1: 65535}, 0, b"", time.monotonic() + seconds
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline and not answer.ended:
                while sent < len(body) and min(windows.values()) > 0:
                    piece = body[sent:sent + min(16384, *windows.values())]
                    sent += len(piece)
                    windows = {stream: size - len(piece) for stream, size in windows.items()}
                    sock.sendall(_frame(0, 1 if sent == len(body) else 0, 1, piece))
                received = sock.recv(65536)
                if not received:
                    break
                buffer += received
                while len(buffer) >= 9 and len(buffer) >= 9 + int.from_bytes(buffer[:3], "big"):
                    length, kind, flags = int.from_bytes(buffer[:3], "big"), buffer[3], buffer[4]
                    stream, payload, buffer = int.from_bytes(buffer[5:9], "big"), buffer[9:9 + length], buffer[9 + length:]
                    if kind == 4 and not flags & 1:
                        sock.sendall(_frame(4, 1, 0, b""))
                    elif kind == 6 and not flags & 1:
                        sock.sendall(_frame(6, 1, 0, payload))
                    elif kind == 8:
                        windows[stream] += int.from_bytes(payload, "big")
                    elif kind == 3:
                        answer.reset = int.from_bytes(payload, "big")
                        return answer
                    elif kind == 7:
                        return answer
                    elif stream == 1:
                        if kind == 0:
                            data += payload
                        answer.ended = answer.ended or bool(flags & 1)
    if len(data) >= 5:
        answer.message = data[5:5 + int.from_bytes(data[1:5], "big")]
    return answer


# --- Parquet: the footer is a Thrift struct in the compact protocol


class _Compact:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 7:
            self.at += 8
            return None
        if kind == 8:
            length = self.varint()
            self.at += length
            return self.data[self.at - length:self.at]
        if kind in (9, 10):
            head = self.byte()
            size = head >> 4 if head >> 4 != 15 else self.varint()
            return [self.value(head & 15) if head & 15 not in (1, 2) else self.byte() for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"Thrift type {kind}")

    def struct(self):
        fields, number = {}, 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            fields[number] = self.value(head & 15)


def parquet_facts(data):
    """(rows, column names) by a Parquet file's footer."""
    length = int.from_bytes(data[-8:-4], "little")
    footer = _Compact(data[-8 - length:-8]).struct()
    return footer[3], [element[4].decode() for element in footer[2]][1:]
