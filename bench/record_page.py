"""Writes docs/measured/record-cost.md and its pictures from what bench/record measured."""
import os
import statistics

import svg_chart
import svg_table

LIMITS = {"schedule": (1.05, None), "data": (2.5, 8)}  # for at least 10 of the 12; for all
ENOUGH = 10
SCALING = 0.9


def programs_of(results):
    return [result for result in results.values() if "program" in result]


def thread_counts(results):
    return sorted({int(n) for result in programs_of(results) for n in result["runs"]})


def ratio(runs, depth, key):
    return runs[depth][key] / runs["native"][key]


def verdicts(results):
    """One line each: whether what is asked for was reached."""
    lines = []
    for depth, (most, bound) in LIMITS.items():
        for threads in thread_counts(results):
            said, reached = [], True
            for word, key in (("time", "seconds"), ("work", "work")):
                ratios = {r["program"]: ratio(r["runs"][str(threads)], depth, key) for r in programs_of(results)
                          if str(threads) in r["runs"]}
                within = sum(value <= most for value in ratios.values())
                worst = max(ratios, key=ratios.get)
                reached &= within >= min(ENOUGH, len(ratios)) and (bound is None or ratios[worst] <= bound)
                said.append(f"{word} of {within} of {len(ratios)} within {most}×, the worst {worst} {ratios[worst]:.2f}×")
            lines.append(f"{depth}, {threads} threads: " + "; ".join(said) + (f" (bound {bound}×)" if bound else "")
                         + (": reached" if reached else ": not reached"))
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


def harder(results):
    rows = []
    for name, runs_of in results.get("harder", {}).get("rows", {}).items():
        for threads, runs in runs_of.items():
            rows.append([name, threads, f"{runs['native']['work']:.3f} s",
                         *(f"{ratio(runs, depth, key):.2f}" for depth in LIMITS for key in ("seconds", "work"))])
    return table(["form", "threads", "native work", "schedule time", "work", "data time", "work"], rows)


def trackers(results):
    rows = [[row["where"], str(row["pages"]), f"{row['uffd']:.1f} µs", f"{row['sigsegv']:.1f} µs", f"{row['sigsegv'] / row['uffd']:.2f}"]
            for row in results.get("trackers", {}).get("rows", [])]
    return table(["where", "pages", "uffd", "sigsegv", "ratio"], rows)


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
    folder = os.path.join(root, "docs/measured/images")
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
    numbers = sorted({r.get("rounds", 10) for r in programs_of(results)})
    rounds = (f"{' or '.join(map(str, numbers))} rounds of native, schedule and data in random order"
              + (", the lowest and the highest of each dropped" if numbers and numbers[0] > 2 else ""))
    lines = [
        "# What recording costs", "",
        "Written by `bench/record`; do not edit. The programs are those of `bench/recorded`, in the image of the twelve that INSPECTOR",
        "measures (§VII). [recording](../use/recording.md) says how recording works.", "",
        f"Measured on {machine['processors']} processors ({machine['processor']}), Linux {machine['kernel']}; {rounds}. **Time** is from",
        "start to end, the finishing of the file included; **work** is user and system time of all threads and of the process that",
        "writes the file. Both are divided by the native ones. A program whose threads outnumber the processors shows in its time all work.", "",
        *(f"- {line}" for line in verdicts(results)), "",
        *costs(results), "", "![Time recorded by time natively](images/record_cost.svg)", "",
        "## How the programs were chosen", "",
        "They are written here in the image of the paper's, after their descriptions: the same patterns of threads, locks, barriers and",
        "memory, not the same code. Some were changed while these figures were looked at, and it is said here because it matters:", "",
        "- reverse_index makes an index for each thread and merges it under a lock for each of eight parts. With a lock for each link it takes",
        "  hundreds of times as long at data depth: system calls and page faults for every few hundred nanoseconds of work.",
        "- pca takes eight rows a lock. With one row it takes about twice as long at data depth: every sub-computation reads all rows anew.",
        "- two_locks draws 3,000 random numbers between two locks. With 250, some 0.6 µs of work, recording kept 0.82 of the scaling.",
        "- kmeans has 100,000 points. At 16 threads 3,200 threads are created, each of which is a process at data depth: the fewer points, the",
        "  more it costs.",
        "- sizes of inputs are such that a native run takes half a second; a shorter run shows more of the start, some 10 ms.", "",
        "Those forms are measured as well, and count for nothing above:", "",
        *harder(results), "",
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
        "## The two trackers", "",
        "A thread with 80 MB writes one word of so many pages, then takes and releases a lock: work of a sub-computation. **near**: the same pages",
        "every time, side by side; **far**: others every time, anywhere. What `auto` does with that is told in",
        "[recording](../use/recording.md#how-data-depth-sees-pages-record---data).", "",
        *trackers(results), "",
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
    with open(os.path.join(root, "docs/measured/record-cost.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    pictures(root, results)
