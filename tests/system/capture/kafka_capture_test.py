#!/usr/bin/env python3
# needs: wherefore
# timeout: 120
"""Packets between a real Kafka broker and real clients (librdkafka, and Kafka's own in Java), read as messages: what the
clients' logs say they asked and were answered is what is found, each request a CALL with its RET, and delays are theirs."""
import collections
import re
import statistics
import struct
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import kafka_broker
import real_network
from harness import *
from librdkafka import Consumer, Producer
from packet_bytes import LINK_ETHERNET, capture

TOPIC = "seen"
UNANSWERED = 20  # values produced with acks=0
QUESTION = 19    # bytes of kafka_broker's own question whether the broker is up: metadata, and nothing before it
Line = collections.namedtuple("Line", "time_ns op id conn proto bytes")


class Captured:
    """Packets that go over a namespace's loopback while this is open."""

    def __init__(self, space):
        self.space = space

    def __enter__(self):
        self.capture = real_network.Capture(longest=1 << 17)
        self.capture.add("lo", self.space, "lo", False)
        self.capture.start()
        return self

    def __exit__(self, *_):
        self.capture.stop()

    def file(self, port=None):
        """As pcap: all, or what went to and from that port."""
        def wanted(data):
            return port is None or port in struct.unpack_from(">HH", data, 34)
        return write("captured.pcap", capture([one for one in self.capture.packets["lo"] if wanted(one[1])], LINK_ETHERNET))


def messages(path):
    """The lines, and what was said on stderr."""
    ran = must(cli("messages", path, text=True))
    lines = []
    for text in ran.out.decode().splitlines():
        seconds, op, _, _, number, *keys = text.split()
        keys = dict(key.split("=", 1) for key in keys)
        whole, _, fraction = seconds.partition(".")
        lines.append(Line(int(whole) * SECOND + int(fraction.ljust(9, "0")), op, number, keys["conn"], keys["proto"], int(keys["bytes"])))
    return lines, ran.err.decode()


def exchanges(lines):
    """Of each connection, in the order of their beginnings: its requests (CALL, MSG), each with its RET if it has one."""
    returns = {(line.conn, line.id): line for line in lines if line.op == "RET"}
    found = {}
    for line in lines:
        if line.op != "RET":
            found.setdefault(line.conn, []).append((line, returns.get((line.conn, line.id))))
    return list(found.values())


def pairing(name, lines, unanswered):
    equal(f"{name}: all is Kafka's", {line.proto for line in lines}, {"kafka"})
    calls, returns = ([line.id for line in lines if line.op == op] for op in ("CALL", "RET"))
    check(f"{name}: a call has one return, and a return its call", len(set(calls)) == len(calls) and
          len(set(returns)) == len(returns) and set(returns) <= set(calls), lines)
    check(f"{name}: only what the client did not wait for lacks its return", len(calls) - len(returns) <= unanswered,
          (len(calls), len(returns), unanswered))


def paths(name, path, port):
    """What `paths` makes of it, held to the messages."""
    lines, _ = messages(path)
    count = collections.Counter(line.op for line in lines)
    nodes = write("nodes", f"127.0.0.1:{port} broker\n127.0.0.1 client\n")
    answer = must(cli("paths", path, "--nodes", nodes, "--algorithm", "linking")).json
    equal(f"{name}: paths has every request", (answer["calls"], answer["unassigned"]),
          (count["CALL"], {"calls": count["CALL"] - count["RET"], "returns": 0, "msgs": count["MSG"]}))
    taken = [back.time_ns - call.time_ns for one in exchanges(lines) for call, back in one if back]
    equal(f"{name}: from the client to the broker, as long as the messages say",
          [(p["client"], p["root"]["node"], p["root"]["children"], p["count"], p["total_latency_ns"])
           for p in answer["patterns"]], [("client", "broker", [], len(taken), sum(taken))])


# --- librdkafka


def talk(address):
    """Producers that wait for the broker and that do not, and send more than fits a packet; a consumer in a group."""
    # What the kernel holds back, the client counts as sent.
    producer = Producer(address, acks="all", batch_num_messages=1, socket_nagle_disable="true")
    for number in range(100):  # many are in flight
        producer.produce(TOPIC, b"%d" % number)
    producer.flush()
    producer.produce(TOPIC, b"L" * 300_000)
    producer.flush()
    producer.destroy()
    silent = Producer(address, acks="0", batch_num_messages=1)
    for number in range(UNANSWERED):
        silent.produce(TOPIC, b"unanswered %d" % number)
    silent.flush()
    silent.destroy()
    consumer = Consumer(address, TOPIC, group_id="readers", auto_offset_reset="earliest")
    values = consumer.read(101 + UNANSWERED)
    consumer.read(1, seconds=0.7)  # the broker holds a fetch for half a second when there is nothing
    consumer.close()
    time.sleep(0.6)  # the broker is done with the last one, too
    equal("librdkafka: what was produced is consumed", len(values), 101 + UNANSWERED)
    return [producer, silent, consumer]


def logged(clients):
    """Of each connection its requests, each with its response if it has one, as the clients logged them."""
    found = {}
    for number, client in enumerate(clients):
        responses = {(one.connection, one.correlation): one for one in client.received}
        for sent in client.sent:
            found.setdefault((number, sent.connection), []).append((sent, responses.get((sent.connection, sent.correlation))))
    return list(found.values())


def by_sizes(connections):
    return sorted(connections, key=lambda requests: [request.bytes for request, _ in requests])


def of_librdkafka(captured, broker, clients):
    path = captured.file(broker.port)
    lines, said = messages(path)
    equal("librdkafka: nothing is amiss", said, "")
    unanswered = sum(len(client.sent) - len(client.received) for client in clients) - UNANSWERED
    pairing("librdkafka", lines, unanswered)
    expected = by_sizes(logged(clients))
    found = by_sizes(one for one in exchanges(lines) if [call.bytes for call, _ in one] != [QUESTION])
    if not equal("librdkafka: every request is found, in order and size", [[call.bytes for call, _ in one] for one in found],
                 [[sent.bytes for sent, _ in one] for one in expected]):
        return
    both = [pair for a, b in zip(found, expected) for pair in zip(a, b)]
    equal("librdkafka: what wants no acknowledgement is a MSG", collections.Counter(sent.api for (call, _), (sent, _) in both
                                                                                    if call.op == "MSG"),
          {"Produce": UNANSWERED})
    apis = {sent.api for _, (sent, _) in both}
    check("librdkafka: many kinds are asked", apis >= {"ApiVersion", "Metadata", "Produce", "Fetch", "FindCoordinator",
                                                       "JoinGroup", "SyncGroup", "OffsetFetch", "OffsetCommit"}, apis)
    answered = [(call, back, received) for (call, back), (_, received) in both if received]
    # The log has a response without its length and correlation id.
    check("librdkafka: every response is its request's, in size", answered and
          all(back and back.bytes == received.bytes + 8 for _, back, received in answered), answered)
    off = [(back.time_ns - call.time_ns) / MILLI - received.ms for call, back, received in answered]
    print(f"# {len(answered)} answers; the client measures {statistics.median(map(abs, off)):.2f} ms off the packets in the "
          f"middle, {max(map(abs, off)):.2f} ms at most")
    check("librdkafka: a fetch waits", any(one.api == "Fetch" and one.ms > 300 for _, _, one in answered), answered)
    check("librdkafka: the delays are those that the client measures", statistics.median(map(abs, off)) < 5 and
          max(map(abs, off)) < 200, off)
    paths("librdkafka", path, broker.port)


# --- Kafka's own clients

SENDING = re.compile(r"Sending (\w+) request with header RequestHeader\(.*?clientId=(.*?), correlationId=(\d+)")
RECEIVED = re.compile(r"Received (\w+) response from node .*?clientId=(.*?), correlationId=(\d+)")


def java(address, tool, *arguments, stdin=b""):
    """What the client logged: [kinds of requests], how many of them were answered."""
    done = subprocess.run(kafka_broker.java("-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.NetworkClient=debug",
                                            "org.apache.kafka.tools." + tool, "--bootstrap-server", address, "--topic", TOPIC,
                                            *arguments), input=stdin, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode()[-3000:])
    log = done.stderr.decode(errors="replace")
    return [m[1] for m in SENDING.finditer(log)], len(RECEIVED.findall(log))


def talk_java(address):
    values = b"".join(b"%d\n" % number for number in range(UNANSWERED))
    settings = [f"--producer-property={setting}" for setting in ("batch.size=1", "linger.ms=0")]
    return [java(address, "ConsoleProducer", *settings, "--producer-property=acks=all", stdin=values),
            java(address, "ConsoleProducer", *settings, "--producer-property=acks=0", stdin=values),
            java(address, "consumer.ConsoleConsumer", "--from-beginning", "--max-messages", "150")]


def of_java(captured, broker, asked):
    path = captured.file(broker.port)
    lines, said = messages(path)
    equal("Java: nothing is amiss", said, "")
    kinds = [kind for one, _ in asked for kind in one]
    silent = asked[1][0].count("PRODUCE")
    pairing("Java", lines, len(kinds) - silent - sum(count for _, count in asked))
    count = collections.Counter(line.op for line in lines)
    check("Java: some produce without acknowledgement", silent > 0, asked)
    equal("Java: every request is found; what wants no acknowledgement is a MSG", (count["CALL"], count["MSG"]),
          (len(kinds) - silent, silent))
    check("Java: many kinds are asked", set(kinds) >= {"API_VERSIONS", "METADATA", "PRODUCE", "FETCH", "INIT_PRODUCER_ID",
                                                       "FIND_COORDINATOR", "JOIN_GROUP", "OFFSET_FETCH"}, set(kinds))
    paths("Java", path, broker.port)


def of_the_broker(captured):
    """With its controller, over connections that are older than the capture, on a port that nobody knows."""
    lines, said = messages(captured.file())
    check("broker: older connections are said to be so", re.fullmatch(r".*: \d+ connections whose beginning was not captured\n",
                                                                      said), said)
    pairing("broker", lines, 1000)


def body(space):
    with Captured(space) as first:
        broker = kafka_broker.Broker(folder("kafka"), settings={"auto.create.topics.enable": "true"}).start()
        clients = talk(broker.address)
    with Captured(space) as second:
        asked = talk_java(broker.address)
    broker.kill()
    of_librdkafka(first, broker, clients)
    of_java(second, broker, asked)
    of_the_broker(second)


def of_a_real_broker():
    why = real_network.why_not()
    if why:
        print(f"skip Kafka's packets # {why}")
        return
    space = real_network.Namespace("kafka")
    space.inside(lambda: body(space))


run(of_a_real_broker)
