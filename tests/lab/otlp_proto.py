"""A small OTLP protobuf encoder, written so that tests can also encode what no real sender would."""
import base64
import struct


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field_varint(number, value):
    return varint(number << 3) + varint(value)


def field_bytes(number, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def field_fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value & (1 << 64) - 1)


def field_fixed32(number, value):
    return varint(number << 3 | 5) + struct.pack("<I", value)


def any_value(value):
    if "stringValue" in value:
        return field_bytes(1, value["stringValue"])
    if "boolValue" in value:
        return field_varint(2, int(value["boolValue"]))
    if "intValue" in value:
        return field_varint(3, int(value["intValue"]))
    if "doubleValue" in value:
        return varint(4 << 3 | 1) + struct.pack("<d", value["doubleValue"])
    if "arrayValue" in value:
        return field_bytes(5, b"".join(field_bytes(1, any_value(v)) for v in value["arrayValue"]["values"]))
    if "kvlistValue" in value:
        return field_bytes(6, key_values(1, value["kvlistValue"]["values"]))
    if "bytesValue" in value:
        return field_bytes(7, base64.b64decode(value["bytesValue"]))
    return b""


def key_values(number, values):
    return b"".join(field_bytes(number, field_bytes(1, v["key"]) + field_bytes(2, any_value(v["value"]))) for v in values)


def span(value):
    out = field_bytes(1, bytes.fromhex(value["traceId"])) + field_bytes(2, bytes.fromhex(value["spanId"]))
    if value.get("traceState"):
        out += field_bytes(3, value["traceState"])
    if value.get("parentSpanId"):
        out += field_bytes(4, bytes.fromhex(value["parentSpanId"]))
    out += field_bytes(5, value["name"]) + field_varint(6, value.get("kind", 0))
    out += field_fixed64(7, int(value.get("startTimeUnixNano", 0)))
    if "endTimeUnixNano" in value:
        out += field_fixed64(8, int(value["endTimeUnixNano"]))
    out += key_values(9, value.get("attributes", ()))
    for event in value.get("events", ()):
        out += field_bytes(11, field_fixed64(1, int(event["timeUnixNano"])) + field_bytes(2, event["name"]) +
                           key_values(3, event.get("attributes", ())))
    for link in value.get("links", ()):
        out += field_bytes(13, field_bytes(1, bytes.fromhex(link["traceId"])) +
                           field_bytes(2, bytes.fromhex(link["spanId"])) + key_values(4, link.get("attributes", ())))
    if value.get("status"):
        status = value["status"]
        out += field_bytes(15, field_bytes(2, status.get("message", "")) + field_varint(3, status.get("code", 0)))
    if value.get("flags") is not None:
        out += field_fixed32(16, value["flags"])
    return out


def scope_spans(value):
    out = b""
    if "scope" in value:
        scope = value["scope"]
        out += field_bytes(1, field_bytes(1, scope.get("name", "")) + field_bytes(2, scope.get("version", "")) +
                           key_values(3, scope.get("attributes", ())))
    return out + b"".join(field_bytes(2, span(s)) for s in value["spans"])


def encode(request):
    """ExportTraceServiceRequest (= TracesData) of OTLP JSON as harness builds it."""
    out = b""
    for resource in request["resourceSpans"]:
        out += field_bytes(1, field_bytes(1, key_values(1, resource["resource"]["attributes"])) +
                           b"".join(field_bytes(2, scope_spans(s)) for s in resource["scopeSpans"]))
    return out


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def partial_success(body):
    """(rejected, message) of an Export…ServiceResponse; (0, "") when it is empty."""
    rejected, message = 0, ""
    if not body:
        return rejected, message
    tag, at = read_varint(body, 0)
    assert tag == 0x0A, body
    length, at = read_varint(body, at)
    end = at + length
    while at < end:
        tag, at = read_varint(body, at)
        if tag == 0x08:
            rejected, at = read_varint(body, at)
        else:
            assert tag == 0x12, body
            length, at = read_varint(body, at)
            message, at = body[at:at + length].decode(), at + length
    return rejected, message
