"""What must hold of scenario M1, whatever its size. Nothing but these checks reads `culprit`."""
from harness import *


def play(size, fault, seed=1):
    out = folder("m1")
    began = time.monotonic()
    must(cli("scenario", "M1", "--size", size, "--seed", seed, "--fault", fault, "--out", out, timeout=120))
    took = time.monotonic() - began
    events = os.path.join(out, "events.jsonl")
    with open(os.path.join(out, "query.json")) as file:
        query = json.load(file)
    answer, normal = (must(cli("explain", "--events", events, "--from", asked["from"], "--to", asked["to"])).json
                      for asked in (query, query["normal"]))
    query["normal_ns"] = normal["delay_ns"]
    with open(events) as file:
        nodes = {json.loads(line)["node"] for line in file}
    print(f"# {fault}: {answer['delay_ns'] / 1e6:.1f} ms, normally {query['normal_ns'] / 1e6:.1f} ms, {answer['sizes']}, "
          f"{took:.1f} s")
    return query, answer, nodes, took


def of_culprit(answer, culprit):
    return [v for v in answer["vertices"] if v["node"] == culprit["node"] and v["tuple"].partition("(")[0] == culprit["tuple"]]


def check_m1(size, shape):
    query, answer, nodes, took = play(size, "on")
    switches = {n for n in nodes if n.startswith(("core", "agg", "edge"))}
    equal("every switch saw packets", len(switches), shape["switches"])
    culprit = query["culprit"]
    guilty = of_culprit(answer, culprit)
    share = sum(v["delay_ns"] for v in guilty) / answer["delay_ns"]
    check("the culprit carries more than half of the delay", share > 0.5, (share, answer))
    check("and has no part in the request", guilty and not any(v["functional"] for v in guilty), guilty)
    check("the graph has at most 100 vertices", len(answer["vertices"]) <= 100, answer["sizes"])
    check("the request is late", answer["delay_ns"] > 2 * query["normal_ns"], (answer["delay_ns"], query["normal_ns"]))
    without, calm, _, _ = play(size, "off")
    equal("without the culprit nobody is to be named", without["culprit"], None)
    equal("and nobody is", of_culprit(calm, culprit), [])
    check("and the request takes its normal time, within 20 %",
          abs(calm["delay_ns"] - without["normal_ns"]) <= 0.2 * without["normal_ns"], (calm["delay_ns"], without["normal_ns"]))
    return took
