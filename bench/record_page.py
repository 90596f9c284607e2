"""Writes docs/RECORD_COST.md and its pictures from what bench/record measured."""
import os
import statistics

import svg_chart
import svg_table

LIMITS = {"schedule": (1.05, None), "data": (2.5, 8)}  # for at least 10 of the 12; for all
ENOUGH = 10
SCALING = 0.9


def programs_of(results):
    return [result for name, result in results.items() if name != "two_locks"]


def thread_counts(results):
    return sorted({int(n) for result in programs_of(results) for n in result["runs"]})


def ratio(runs, depth, key):
    return runs[depth][key] / runs["native"][key]


def verdicts(results):
    """One line each: whether what is asked for was reached."""
    lines = []
    for depth, (most, bound) in LIMITS.items():
        for threads in thread_counts(results):
            ratios = {r["program"]: ratio(r["runs"][str(threads)], depth, "seconds") for r in programs_of(results)
                      if str(threads) in r["runs"]}
            within = sum(value <= most for value in ratios.values())
            worst = max(ratios, key=ratios.get)
            reached = within >= min(ENOUGH, len(ratios)) and (bound is None or ratios[worst] <= bound)
            lines.append(f"{depth}, {threads} threads: {within} of {len(ratios)} within {most}×, the worst {worst} {ratios[worst]:.2f}×"
                         + (f" (bound {bound}×)" if bound else "") + (": reached" if reached else ": not reached"))
    if "two_locks" in results:
        native = results["two_locks"]["native"]
        lines.append("two threads on two locks, of one thread's speed: " + ", ".join(
            f"{way} {gain:.2f}×" + ("" if way == "native" else f" ({gain / native:.2f} of native, "
                                    + ("reached" if gain / native >= SCALING else "not reached") + ")")
            for way, gain in results["two_locks"].items()))
    return lines


def table(head, rows, right=1):
    """The first `right` columns are words, the others numbers."""
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" if i < right else "---:" for i in range(len(head))) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def costs(results):
    rows = []
    for result in programs_of(results):
        for threads in sorted(result["runs"], key=int):
            runs = result["runs"][threads]
            rows.append([result["program"], threads, f"{runs['native']['seconds']:.2f} s", f"{runs['native']['work']:.2f} s",
                         *(f"{ratio(runs, depth, key):.2f}" for depth in LIMITS for key in ("seconds", "work"))])
    return table(["program", "threads", "native time", "work", "schedule time", "work", "data time", "work"], rows)


def parts_of(result):
    """Of the work of a run, in multiples of the native one: who takes it. By differences, so a part may come out a little below 0."""
    runs = result["runs"][min(result["runs"], key=int)]
    native = runs["native"]["work"]
    threads_own = {depth: runs[depth]["work"] - runs[depth]["writing"] for depth in LIMITS}
    control = result.get("sizes", {}).get("control")
    return {"interposition": (threads_own["schedule"] - native) / native,
            "page tracking": (threads_own["data"] - threads_own["schedule"]) / native,
            "writing, schedule": runs["schedule"]["writing"] / native,
            "writing, data": runs["data"]["writing"] / native,
            "control": (control["work"] - control["writing"] - control["native_work"]) / control["native_work"] if control else None,
            "writing, control": control["writing"] / control["native_work"] if control else None}


def breakdown(results):
    rows, head = [], None
    for result in programs_of(results):
        parts = parts_of(result)
        head = head or list(parts)
        rows.append([result["program"], *("" if value is None else f"{value:+.3f}" for value in parts.values())])
    return table(["program", *(head or [])], rows)


def faults(results):
    rows = []
    for result in programs_of(results):
        runs = result["runs"][min(result["runs"], key=int)]
        more = runs["data"]["faults"] - runs["native"]["faults"]
        rows.append([result["program"], f"{runs['native']['faults']:,.0f}", f"{runs['data']['faults']:,.0f}",
                     f"{runs['data']['faults'] / runs['data']['seconds']:,.0f}",
                     f"{(runs['data']['work'] - runs['native']['work']) / max(more, 1) * 1e6:.2f} µs"])
    return table(["program", "natively", "data depth", "faults/s", "more work for each more"], rows)


def growth(results):
    rows = []
    for result in programs_of(results):
        for name, runs in result.get("growth", {}).items():
            rows.append([result["program"], name, f"{runs['native']['seconds']:.2f} s", f"{runs['data']['seconds']:.2f} s",
                         f"{ratio(runs, 'data', 'seconds'):.2f}", f"{ratio(runs, 'data', 'work'):.2f}", f"{runs['data']['faults']:,.0f}"])
    return table(["program", "input", "native time", "data time", "ratio", "ratio of work", "faults"], rows, 2)


def sizes(results, depth):
    rows = []
    for result in programs_of(results):
        size = result.get("sizes", {}).get(depth)
        if not size:
            continue
        row = [result["program"], f"{size['sub_computations']:,}", f"{size['raw'] / 1e6:,.3f}", f"{size['stored'] / 1e6:,.3f}",
               f"{size['raw'] / max(size['stored'], 1):.1f}", f"{size['raw'] / 1e6 / size['seconds']:,.1f}"]
        if depth == "control":
            row += [f"{size['branches'] or 0:,}", f"{(size['branches'] or 0) / size['seconds'] / 1e6:,.1f}"]
        rows.append(row)
    return table(["program", "sub-computations", "graph MB", "lz4 MB", "ratio", "MB/s"]
                 + (["branches", "million branches/s"] if depth == "control" else []), rows)


def correlation(pairs):
    if len(pairs) < 3:
        return None
    xs, ys = zip(*pairs)
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    both = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
    spread = (sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys)) ** 0.5
    return both / spread if spread else None


def rates(results):
    """{program: (million branches a second, MB a second)} at control depth"""
    out = {}
    for result in programs_of(results):
        size = result.get("sizes", {}).get("control")
        if size and size["branches"]:
            out[result["program"]] = (size["branches"] / size["seconds"] / 1e6, size["raw"] / 1e6 / size["seconds"])
    return out


def pictures(root, results):
    folder = os.path.join(root, "docs/images")
    groups = []
    for depth in LIMITS:
        for threads in thread_counts(results):
            groups.append((f"{depth} depth, {threads} threads",
                           {r["program"]: ratio(r["runs"][str(threads)], depth, "seconds") for r in programs_of(results)
                            if str(threads) in r["runs"]}))
    svg_table.write_bars(os.path.join(folder, "record_cost.svg"), "Time recorded / time natively", groups, "{:.2f}×".format)
    names = ("interposition", "page tracking", "writing, data")
    svg_table.write_bars(os.path.join(folder, "record_breakdown.svg"), "Work more than natively, in multiples of the native work",
                         [(name, {r["program"]: max(0, parts_of(r)[name]) for r in programs_of(results)}) for name in names],
                         "{:.2f}".format)
    charts = []
    share = {"S": 0.25, "M": 0.5, "L": 1}
    grown = [r for r in programs_of(results) if "growth" in r]
    if grown:
        charts.append(svg_chart.Chart("Seconds at data depth", "share of the largest input", {
            r["program"]: [(share[name], runs["data"]["seconds"]) for name, runs in r["growth"].items()] for r in grown}))
        charts.append(svg_chart.Chart("Time at data depth / time natively", "share of the largest input", {
            r["program"]: [(share[name], ratio(runs, "data", "seconds")) for name, runs in r["growth"].items()] for r in grown}))
    if rates(results):
        charts.append(svg_chart.Chart("Control depth: MB/s", "million branches/s",
                                      {name: [point] for name, point in list(rates(results).items())}))
    if charts:
        svg_chart.write(os.path.join(folder, "record_growth.svg"), "Growth with the input, and the size of branches", charts)


def write(root, results, machine):
    names = {r["program"] for r in programs_of(results)}
    together = correlation(list(rates(results).values()))
    rounds = "10 rounds of native, schedule and data in random order, the lowest and the highest of each dropped"
    lines = [
        "# What recording costs", "",
        "Written by `bench/record`; do not edit. The programs are those of `bench/recorded`, in the image of the twelve that INSPECTOR",
        "measures (§VII). How recording works is told in [RECORDING.md](RECORDING.md).", "",
        f"Measured on {machine['processors']} processors ({machine['processor']}), Linux {machine['kernel']}; {rounds}. **Time** is from",
        "start to end, the finishing of the file included; **work** is user and system time of all threads and of the process that",
        "writes the file. Both are divided by the native ones. A program whose threads outnumber the processors shows in its time all work.", "",
        *(f"- {line}" for line in verdicts(results)), "",
        *costs(results), "", "![Time recorded by time natively](images/record_cost.svg)", "",
        "## What the cost is made of", "",
        f"At {min(thread_counts(results), default=2)} threads, work in multiples of the native work, by differences of the runs above: **interposition** is what",
        "schedule depth adds in the program's threads, **page tracking** what data depth adds to that (page faults, scans and the dropping of pages),",
        "**control** what control depth adds, **writing** the work of the process that compresses and writes the file. Control depth is that of",
        "the emulator, with a twentieth of the input.", "",
        *breakdown(results), "", "![What the cost is made of](images/record_breakdown.svg)", "",
        "## Page faults", "",
        "Data depth learns of a page by a fault, two if the page is written. So a program pays by the pages that it touches between two",
        "synchronization calls, and by how little it does with each.", "",
        *faults(results), "",
        "## Growth with the input", "", "S, M and L are a quarter, a half and all of the input; three rounds.", "",
        *growth(results), "", "![Growth](images/record_growth.svg)", "",
        "## Size", "",
        "One recording each. **graph** is what was recorded, **lz4** what was stored of it; MB/s are of the graph, by the time of the run.", "",
        "Schedule depth:", "", *sizes(results, "schedule"), "",
        "Data depth:", "", *sizes(results, "data"), "",
        "Control depth, told by the emulator, with a twentieth of the input:", "", *sizes(results, "control"), ""]
    if together is not None:
        lines += [f"Branches a second and MB a second correlate by {together:.2f} over the {len(rates(results))} programs (the paper: 0.89).", ""]
    if len(names) < 12:
        lines += [f"Measured so far: {', '.join(sorted(names))}.", ""]
    with open(os.path.join(root, "docs/RECORD_COST.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    pictures(root, results)
