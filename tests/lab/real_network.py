"""Small networks of real Linux queues: namespaces of this process, told apart by file descriptors, so that nothing stays
behind. The standard library and iproute2 only."""
import array
import ctypes
import os
import select
import shutil
import socket
import struct
import subprocess
import threading

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4
SIOCETHTOOL = 0x8946
OFFLOADS = (0x17, 0x19, 0x1F, 0x24, 0x2C)  # ETHTOOL_STXCSUM, _SSG, _STSO, _SGSO, _SGRO

_libc = ctypes.CDLL(None, use_errno=True)


def why_not():
    """Why there can be no such network here; None: there can."""
    for program in ("ip", "tc", "nsenter"):
        if not shutil.which(program):
            return f"{program} is missing"
    child = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    return None if child.returncode == 0 else "no privilege for network namespaces: " + child.stderr.strip()


def _setns(file):
    if _libc.setns(file, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Namespace:
    """A host, or a switch that routes."""

    def __init__(self, name):
        self.name = name
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        if _libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        self.file = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        os.set_inheritable(self.file, True)
        _setns(own)
        os.close(own)
        self.run("ip", "link", "set", "lo", "up")
        self.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; echo 1 > /proc/sys/net/ipv4/ip_forward; "
                             "echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter")

    @property
    def path(self):
        return f"/proc/{os.getpid()}/fd/{self.file}"

    def run(self, *command):
        subprocess.run(["nsenter", "--net=" + self.path, *command], check=True, capture_output=True, text=True)

    def start(self, *command, **options):
        """A process inside that runs on."""
        return subprocess.Popen(["nsenter", "--net=" + self.path, *command], **options)

    def inside(self, function):
        """Its result, called inside; sockets that it opens stay inside."""
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _setns(self.file)
        try:
            return function()
        finally:
            _setns(own)
            os.close(own)

    def route(self, to, via):
        self.run("ip", "route", "add", to, "via", via)

    def shape(self, interface, rate):
        """Nothing but a queue: one packet of the largest size goes at once, the next waits."""
        self.run("tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", rate, "burst", "1600", "limit", "1000000")

    def udp(self, port):
        def opened():
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind(("", port))
            return sock
        return self.inside(opened)


_links = 0


def join(a, address_a, b, address_b):
    """A veth pair: in each namespace the interface bears the other's name. Neighbours are told, so nobody asks by ARP."""
    global _links
    _links += 1
    macs = [f"02:00:00:00:{_links:02x}:{end:02x}" for end in (1, 2)]
    subprocess.run(["ip", "link", "add", "name", b.name, "address", macs[0], "netns", a.path, "type", "veth", "peer", "name",
                    a.name, "address", macs[1], "netns", b.path], check=True, capture_output=True, text=True)
    for own, other, address, theirs, mac in ((a, b, address_a, address_b, macs[1]), (b, a, address_b, address_a, macs[0])):
        own.inside(lambda: _offloads_off(other.name))
        own.run("ip", "addr", "add", address + "/30", "dev", other.name)
        own.run("ip", "link", "set", other.name, "up")
        own.run("ip", "neigh", "replace", theirs, "lladdr", mac, "dev", other.name, "nud", "permanent")


def _offloads_off(interface):
    import fcntl
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for command in OFFLOADS:
            value = array.array("B", struct.pack("II", command, 0))
            request = struct.pack("16sP16x", interface.encode(), value.buffer_info()[0])
            try:
                fcntl.ioctl(sock, SIOCETHTOOL, request)
            except OSError:
                pass  # one that the driver does not know is off


class Capture:
    """Packets of interfaces with the kernel's times. Of each interface either those that come in, or those that leave
    it, which is behind its queue. `longest`: a longer packet is cut; on loopback they have 64 kB."""

    def __init__(self, longest=2048):
        self.longest = longest
        self.sockets, self.wanted, self.packets = [], [], {}
        self.wake = os.pipe()
        self.thread = threading.Thread(target=self._receive)

    def add(self, key, namespace, interface, outgoing):
        def opened():
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
            sock.bind((interface, 0))
            sock.setblocking(False)
            return sock
        self.sockets.append(namespace.inside(opened))
        self.wanted.append((key, outgoing))
        self.packets[key] = []

    def start(self):
        self.thread.start()

    def stop(self):
        os.write(self.wake[1], b"x")
        self.thread.join()
        for sock in self.sockets:
            sock.close()

    def _receive(self):
        while True:
            ready, _, _ = select.select([*self.sockets, self.wake[0]], [], [])
            for sock, (key, outgoing) in zip(self.sockets, self.wanted):
                self._drain(sock, key, outgoing)
            if self.wake[0] in ready:
                return

    def _drain(self, sock, key, outgoing):
        while True:
            try:
                data, control, _, address = sock.recvmsg(self.longest, 256)
            except BlockingIOError:
                return
            if (address[2] == PACKET_OUTGOING) != outgoing:
                continue
            for level, kind, value in control:
                if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                    seconds, nanos = struct.unpack("qq", value)
                    self.packets[key].append((seconds * 10**9 + nanos, data))
