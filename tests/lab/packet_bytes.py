"""Packets, captures and INT telemetry reports as bytes, written from the specifications and not from our own encoder."""
import socket
import struct

LINK_ETHERNET, LINK_RAW, LINK_SLL2 = 1, 101, 276


def ipv4_udp(source, destination, payload=b"", ip_id=0, ttl=64):
    """`source` and `destination` are (address, port)."""
    udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(payload), 0) + payload
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), ip_id, 0, ttl, 17, 0, socket.inet_aton(source[0]),
                       socket.inet_aton(destination[0])) + udp


def capture(packets, link=LINK_RAW, snapshot=262144):
    """A pcap file with nanoseconds of [(time_ns, bytes)]."""
    out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snapshot, link)
    for time_ns, data in packets:
        kept = data[:snapshot]
        out += struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(kept), len(data)) + kept
    return out


def int_group(node, sequence, *reports, hardware=0):
    """Telemetry report group header, version 2."""
    return struct.pack(">II", 2 << 28 | hardware << 22 | sequence, node) + b"".join(reports)


def int_report(packet, egress_port, queue, ingress_ns, egress_ns, ingress_port=1, occupancy=0):
    """An individual report of type INT with ports (bit 1), queue (3) and both times (4, 5), and the packet cut to its
    headers."""
    inner = packet[:28]
    metadata = struct.pack(">HHIQQ", ingress_port, egress_port, queue << 24 | occupancy, ingress_ns, egress_ns)
    body = struct.pack(">HHHH", 0x5C00, 0, 0, 0) + metadata + inner
    return struct.pack(">BBBB", 1 << 4 | 4, len(body) // 4, len(metadata) // 4, 0x20) + body
