#!/usr/bin/env python3
# needs: wherefore
# timeout: 600
"""Export and import of some hundred thousand spans, more than one answer of the server carries."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import foreign_wire
from harness import *

BASE = 1_700_000_000 * SECOND
STORE = folder()


def load():
    paths = []
    for k in range(6):
        spans = [span(0x100000 + k * 10_000 + n // 5, n % 5 + 1, f"op{n % 9}", BASE + n * 1000, BASE + n * 1000 + 900,
                      parent=1 if n % 5 else 0, attrs={"user": f"u{n}", "thread.id": n % 4}) for n in range(50_000)]
        paths.append(write(f"{k}.pb", otlp_proto.encode(otlp(process(f"service-{k}", *spans, host__name="h1")))))
    report = import_files(STORE, *paths, timeout=300)
    equal("300,000 spans are imported", (report["spans"], report["traces"], report["duplicates"]), (300_000, 60_000, 0))


def exported(name, out, where):
    ran = cli("export", "--out", out, store=STORE, timeout=300)
    check(f"{name}, {where}: every event is written", ran.code == 0 and ran.json["events"] == 300_000, ran)


def from_directory_and_server():
    directory = folder("a.json")
    exported("OTLP JSON", directory, "from the directory")
    parquet = folder("a.parquet")
    exported("Parquet", parquet, "from the directory")
    equal("Parquet: as many rows", foreign_wire.parquet_facts(open(parquet, "rb").read())[0], 300_000)
    with Server(STORE) as server:
        for where in ("through a server, from the log", "through a server, from a part"):
            out = folder("b.json")
            exported("OTLP JSON", out, where)
            check(f"OTLP JSON, {where}: the same lines", sorted(open(out)) == sorted(open(directory)))
            out = folder("b.parquet")
            exported("Parquet", out, where)
            equal("the store is flushed", server.flush().status, 200)
    again = folder()
    report = import_files(again, directory, timeout=300)
    equal("import of the export: the same counts", (report["spans"], report["traces"], report["duplicates"], report["rejected"]),
          (300_000, 60_000, 0, 0))
    report = import_files(STORE, directory, timeout=300)
    equal("into its own store: only duplicates", (report["spans"], report["duplicates"]), (0, 300_000))


run(load, from_directory_and_server)
