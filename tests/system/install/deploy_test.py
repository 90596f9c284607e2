#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 120
"""deploy/: what can be known of the units and of the compose file without systemd and Docker. Every command line and every
configuration in them is taken by this binary; ports, health checks, volumes, names of hosts and the order of shards agree."""
import re
import sys
import xml.etree.ElementTree as xml

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

COMPOSE = os.path.join(SOURCE, "deploy", "compose")
UNITS = os.path.join(SOURCE, "deploy", "systemd")
TO_JSON = "import {parse} from 'yaml'; import fs from 'fs'; console.log(JSON.stringify(parse(fs.readFileSync(0, 'utf8'), {merge: true})))"


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def yaml(text):
    """By the package that the tests of the API have."""
    done = subprocess.run(["node", "--input-type=module", "-e", TO_JSON], input=text, capture_output=True, text=True, check=True,
                          cwd=os.path.join(SOURCE, "tests", "clients"))
    return json.loads(done.stdout)


def taken(name, *arguments, env=None):
    """`serve --check` takes it."""
    command = [WHEREFORE, *arguments, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(**(env or {})), timeout=30)
    return check(name, done.returncode == 0, f"{command}: {done.stdout}{done.stderr}")


def units():
    place = os.path.dirname(write("wherefore.service", read(UNITS, "wherefore.service").replace("/usr/bin/wherefore", WHEREFORE)))
    names = ["wherefore.service"]
    for role in ("receive", "tail", "query"):
        names.append(f"wherefore@{role}.service")
        with open(os.path.join(place, names[-1]), "w") as file:
            file.write(read(UNITS, "wherefore@.service").replace("/usr/bin/wherefore", WHEREFORE))
    for name in names:
        ran = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", os.path.join(place, name)],
                             capture_output=True, text=True, timeout=60)
        check(f"systemd takes {name}, every key of it", ran.returncode == 0 and not ran.stderr, ran.stderr)
    config = write("wherefore.yaml", "bus: kafka://127.0.0.1:9092\nstore: clickhouse://127.0.0.1:8123/d\n")
    commands = re.findall(r"^Exec(?:StartPre|Start)=/usr/bin/wherefore (.*)$", read(UNITS, "wherefore@.service"), re.M)
    equal("a unit checks what it starts", [c.replace(" --check", "") for c in commands], 2 * [commands[1]])
    for role in ("receive", "tail", "query"):
        line = commands[1].replace("%i", role).replace("/etc/wherefore/wherefore.yaml", config)
        taken(f"the command of wherefore@{role} is taken", *line.split())
    bad = subprocess.run([WHEREFORE, *line.split(), "--check"], capture_output=True, text=True, timeout=30,
                         env=environment(WHEREFORE_HTTP="no port"))
    check("its environment file is heard: WHEREFORE_HTTP", bad.returncode == 2 and "--http" in bad.stderr, bad)
    (single,) = set(c.replace(" --check", "") for c in
                    re.findall(r"^Exec(?:StartPre|Start)=/usr/bin/wherefore (.*)$", read(UNITS, "wherefore.service"), re.M))
    taken("the command of the single server is taken, with the configuration that is shipped",
          *single.replace("/etc/wherefore/wherefore.yaml", os.path.join(SOURCE, "config", "wherefore.yaml")).split())


def compose():
    file = yaml(read(COMPOSE, "compose.yaml"))
    config = yaml(read(COMPOSE, "wherefore.yaml"))
    services, ours = file["services"], {}
    for name, service in services.items():
        if "build" in service:
            ours[name] = service
    equal("every role is there", sorted({s["command"][s["command"].index("--role") + 1] for s in ours.values()}), ["query", "receive", "tail"])
    port = lambda key: config[key].rsplit(":", 1)[1]
    own = {port(key) for key in ("http", "otlp-grpc", "otlp-http")}
    published = []
    for name, service in ours.items():
        mounted = dict(v.split(":")[1::-1] for v in service["volumes"])
        command = [os.path.join(COMPOSE, mounted[part]) if part in mounted else part for part in service["command"]]
        check(f"{name}: its files are there", all(os.path.exists(os.path.join(COMPOSE, f)) for f in mounted.values()), mounted)
        taken(f"{name}: its command line and configuration are taken", *command)
        health = re.fullmatch(r"http://localhost:(\d+)(/\w+)", service["healthcheck"]["test"][-1])
        equal(f"{name}: is asked for its health where it listens", health and health.groups(), (port("http"), "/healthz"))
        check(f"{name}: waits for services that say when they are healthy",
              all(d in services and "healthcheck" in services[d] and how["condition"] == "service_healthy"
                  for d, how in service["depends_on"].items()), service["depends_on"])
        for one in service.get("ports", []):
            address, outside, inside = one.split(":")
            published.append(outside)
            check(f"{name}: {one} leads to a listener, from this machine only", inside in own and address == "127.0.0.1", config)
    equal("no port is published twice", len(set(published)), len(published))
    brokers = re.match(r"kafka://([^/]+)/", config["bus"])[1].split(",")
    advertised = re.search(r"PLAINTEXT://([^,]+)", services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"])[1]
    equal("the bus is the broker", brokers, [advertised])
    store = re.match(r"clickhouse://[^@]*@([^/]+)/\w+\?cluster=(\w+)$", config["store"])
    shards = [host.split(":")[0] for host in store[1].split(",")]
    check("the shards are services", all(s in services for s in shards), shards)
    cluster = xml.fromstring(read(COMPOSE, "clickhouse-cluster.xml")).find(f"remote_servers/{store[2]}")
    check("ClickHouse knows the cluster, its shards in the same order",
          cluster is not None and [h.text for h in cluster.iter("host")] == shards, shards)
    for name in shards:
        check(f"{name} is given it", any("clickhouse-cluster.xml:/etc/clickhouse-server/config.d/" in v for v in services[name]["volumes"]),
              services[name])
    named = {v.split(":")[0] for s in services.values() for v in s.get("volumes", []) if not v.startswith(".")}
    equal("every volume is declared, and each shard has its own", (named, len(named)), (set(file["volumes"]), 1 + len(shards)))
    check("the image has what its health check calls", "curl" in read(COMPOSE, "Dockerfile") and
          all(s["healthcheck"]["test"][1] == "curl" for s in ours.values()))


run(units, compose)
