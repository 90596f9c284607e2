"""Ports for servers that cannot choose their own. Below the range that the system gives out for port 0: between the choice and the
start of the server, nobody who asked for any port can get one of these."""
import random
import socket


def free_ports(count):
    """Different ones, that nobody has now."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first = int(file.read().split()[0])
    ports = []
    while len(ports) < count:
        port = random.randrange(10_000, first) if first > 12_000 else 0
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            port = one.getsockname()[1]
        if port not in ports:
            ports.append(port)
    return ports
