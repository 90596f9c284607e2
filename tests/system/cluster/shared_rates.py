"""Rates are the cluster's: two receivers over Kafka and ClickHouse, with clients and senders at each, keep together to the rate
of a sampling policy and to a tenant's limit; a changed policy reaches both; when one is killed, the other has it all.

Shares are told in steps of a tenth, rounded down, and moved up by 15 % at least: so of a rate between 0.8 and 1 is used in the
long run. What is measured over some seconds may be more by what gathered in the buckets: 1.1."""
import hashlib
import threading

import clickhouse_cluster
import harness
import kafka_broker
from harness import *

TARGET = os.path.join(os.environ.get("WHEREFORE_BUILD", "build/release"), "sampling_target")
TOKENS = {"app": "token-of-app", "shop": "token-of-shop"}
ACCOUNTS = "accounts:\n" + "".join(
    f"  - name: {name}\n    token: sha256:{hashlib.sha256(token.encode()).hexdigest()}\n    tenants: [{tenant}]\n    roles: [read, write]\n"
    for (name, token), tenant in zip(TOKENS.items(), ("default", "shop")))
SPANS_PER_SECOND = 200
ACCOUNTS += f"tenants:\n  shop: {{spans-per-second: {SPANS_PER_SECOND}}}\n"
LEAST, MOST = 0.8, 1.1
LOOK = 3  # seconds of one measurement


class Counting:
    """Something that counts up, with its history."""

    def __init__(self):
        self.history = [(time.monotonic(), 0)]
        self.ended = threading.Event()

    def count(self, n):
        self.history.append((time.monotonic(), n))

    @property
    def last(self):
        return self.history[-1][1]

    def rate(self, seconds=LOOK):
        """Over the last seconds."""
        since = time.monotonic() - seconds
        before = [n for at, n in self.history if at <= since]
        return (self.last - (before[-1] if before else 0)) / seconds


class Client(Counting):
    """A program that wants fifty traces a second."""

    def __init__(self, server):
        super().__init__()
        self.policies = 0
        self.process = subprocess.Popen([TARGET, server.url, "50"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment(WHEREFORE_TOKEN=TOKENS["app"]))
        harness._children.append(self.process)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            policies, started = map(int, line.split())
            self.policies = policies
            self.count(started)


class Sender(Counting):
    """Sends a tenant's spans to one receiver, three times as many a second as the limit; counts what was taken."""

    def __init__(self, server, first):
        super().__init__()
        self.address, self.next, self.refused = server.address("otlp_http"), first, 0
        threading.Thread(target=self._send, daemon=True).start()

    def _send(self):
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + TOKENS["shop"]}
        connection, taken = None, 0
        while not self.ended.is_set():
            start, self.next = now_ns(), self.next + 1
            spans = [span(self.next, n, "work", start, start + MILLI) for n in range(1, 11)]
            try:
                connection = connection or http.client.HTTPConnection(*self.address, timeout=5)
                connection.request("POST", "/v1/traces", json.dumps(otlp(process("shop", *spans))), headers)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                connection = None
                self.ended.wait(0.2)
                continue
            taken += 10 * (answer.status == 200)
            self.refused += answer.status == 429
            self.count(taken)
            self.ended.wait(10 / (3 * SPANS_PER_SECOND))


def keep_to(*rates):
    """Each (what, counting, rate) comes to its rate within seconds, and stays there: for twice as long as one measurement is."""
    used = lambda counting, rate: sum(c.rate() for c in counting) / rate
    since, began = {}, time.monotonic()
    kept = lambda what: what in since and time.monotonic() - since[what] > LOOK
    while time.monotonic() - began < 45 and not all(kept(what) for what, _, _ in rates):
        time.sleep(0.2)
        for what, counting, rate in rates:
            if not LEAST <= used(counting, rate) <= MOST:
                since.pop(what, None)
            else:
                since.setdefault(what, time.monotonic())
    for what, counting, rate in rates:
        check(f"{what}: the rate is kept to", kept(what), lambda: f"{used(counting, rate):.2f} of it is used, {[c.rate() for c in counting]}")
        print(f"# {what}: {used(counting, rate):.2f} of the rate, {[round(c.rate(), 1) for c in counting]} a second, "
              f"{time.monotonic() - began:.0f} s")


def put_policy(server, rate):
    answer = server.request("http", "PUT", "/api/v1/policies/steady", json.dumps({"policy": "steady", "owner": "tests", "rate": rate}),
                            {"Authorization": "Bearer " + server.token, "Content-Type": "application/json"})
    check(f"a policy of {rate} traces a second is taken", answer.status in (200, 201), answer)


def keep_rates_together(changes):
    """changes: what befalls the two receivers, one after the other: {"policy"}, {"killed"}, or both at once."""
    accounts = write("accounts.yaml", ACCOUNTS)
    os.chmod(accounts, 0o600)
    with clickhouse_cluster.Cluster(shards=1) as shards, kafka_broker.Broker(folder("kafka")) as broker:
        flags = ("--bus", broker.url(partitions=2), "--accounts", accounts, "--no-agent",
                 "--tailer-trigger", "quick 1s after last within 5s")
        start = lambda name, role: Server(folder(name), "--role", role, *flags, database=shards.url("rates"), wait=False)
        roles = [start("center", "all"), start("receiver-0", "receive"), start("receiver-1", "receive")]
        for role in roles:
            role.wait_until_ready(60)
        center, *receivers = roles
        admin = {"Authorization": "Bearer " + center.token}

        put_policy(center, 20)
        clients = [Client(server) for server in receivers]
        senders = [Sender(server, first) for server, first in zip(receivers, (10**6, 2 * 10**6))]
        check("a policy made at one process is in force at clients of two others",
              wait_for(lambda: [c.policies for c in clients] == [1, 1], 20), lambda: [c.policies for c in clients])
        keep_to(("clients of two receivers", clients, 20), ("a tenant that sends to two receivers", senders, SPANS_PER_SECOND))
        check("both have a part of it", all(c.rate() > 0.25 * 20 for c in clients) and
              all(s.rate() > 0.25 * SPANS_PER_SECOND for s in senders), lambda: [c.rate() for c in clients + senders])
        check("a tenant is told to come again, at both", all(s.refused for s in senders), [s.refused for s in senders])

        there = clients
        for change in changes:
            if "policy" in change:
                put_policy(center, 40)
            if "killed" in change:
                receivers[1].kill()
                there = clients[:1]
            name = " and ".join(sorted(change))
            keep_to((f"{name}: clients have all of twice the rate", there, 40),
                    (f"{name}: the tenant has all of its limit", senders[:len(there)], SPANS_PER_SECOND))

        for counting in clients + senders:
            counting.ended.set()
        time.sleep(0.5)
        clients[1].process.kill()
        clients[0].process.terminate()
        stored = lambda headers: center.get("/api/v1/status", headers).json["store"]["traces"]
        shop, taken = {"Authorization": "Bearer " + TOKENS["shop"]}, sum(s.last for s in senders) // 10
        # What was answered by the one that was killed may not have reached us.
        check("what was taken of the tenant is stored, and nothing that was not",
              wait_for(lambda: taken <= stored(shop) <= taken + 2, 30), lambda: (stored(shop), taken))
        check("traces of the clients are stored", wait_for(lambda: stored(admin) >= 0.9 * clients[0].last, 30),
              lambda: (stored(admin), clients[0].last))

