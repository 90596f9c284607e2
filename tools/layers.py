"""The architecture as data: the folders of the sources in order, what each is for, what it may include, and which
libraries it may use. tools/check-layers enforces it and prints the table of the architecture page from it;
tools/include-graph draws it. A change of the architecture is a change here, to be argued in docs/decisions/.
"""
import collections

# may: folders it may include. What those may include, it may include too. `x/*` stands for any folder below x, `*`
# for every folder above. page: the page of docs/ that tells more, by its name.
Folder = collections.namedtuple("Folder", "may purpose page", defaults=[None])

# Every folder that does not say otherwise may include these.
COMMON = ["base", "net", "json", "log"]

# Order matters: a folder may only name folders that stand before it, so there can be no cycle. A folder below a
# listed one that has no line of its own belongs to the listed one.
LAYERS = {
    "base": Folder([], "result type, ids, time, hashing: no product words, no libraries"),
    "json": Folder(["base"], "JSON reader and writer"),
    "log": Folder(["base"], "the log"),
    "net": Folder(["base", "json", "log"], "HTTP and gRPC, client and server; TLS; compression"),
    "graph": Folder(["base"], "graph and interval algorithms that know no trace words"),
    "wherefore/event.h": Folder([], "the one definition of events: public, and the model's", "events.md"),
    "model": Folder(["graph", "wherefore/event.h"], "events, traces, resources; the builder that turns events into a trace"),
    "elf": Folder(["base"], "programs and libraries as files: symbols, code, debug information"),
    "recorder/format": Folder([], "the records of a `.cpg` file, for writer and reader", "cpg-format.md"),
    "recorder/preload": Folder(["recorder/format"],
                               "`libwherefore_record.so`, which runs in the recorded program: wrappers, rings, the scribe",
                               "recording.md"),
    # From the emulator of the recorded program, where it starts preload's scribe.
    "recorder/qemu": Folder(["recorder/format", "recorder/preload"],
                            "the plugin of the emulator that runs a program at control depth", "recording.md"),
    "recorder/launch": Folder(["recorder/format"], "how a program is started under the recorder, or refused; the library embedded"),
    "recorder/reader": Folder(["model", "elf", "recorder/format"],
                              "a `.cpg` file in memory: threads, sub-computations, clocks, symbols", "cpg-format.md"),
    # Its tests read what recorder/qemu writes.
    "recorder/control": Folder(["recorder/reader", "recorder/qemu"],
                               "the branches of a sub-computation, from emulator, coverage or Intel PT", "recording.md"),
    "bpf": Folder(["base"], "libbpf: BPF programs written in C++, loaded and attached; ring buffers"),
    "advice": Folder(["base"], "the advice of queries: bytecode, its interpreter, tuples that travel as baggage", "baggage.md"),
    "import/decode": Folder(["model"], "what the formats share: attribute rules, counters of what was dropped or repaired, "
                                       "the attribute writer"),
    "import/*": Folder(["model", "import/decode"], "bytes in one foreign format → events", "import-formats.md"),
    "import/pcap": Folder(["model"], "capture files, the headers of packets, and the messages of their connections", "captures.md"),
    "import/packets": Folder(["model", "import/pcap"], "packets at queues, from INT reports and pairs of captures", "packets.md"),
    "import/watch": Folder(["model", "import/decode", "bpf"], "what eBPF shows of processes and packets → events and messages",
                           "watch.md"),
    "import/recording": Folder(["model", "import/decode", "recorder/reader"], "a recorded program → events"),
    "import/messages": Folder(["model"], "message text, and the stages of sightings: order, renames, skew, duplicates, losses",
                              "messages.md"),
    "import/mail": Folder(["model"], "`Received:` headers of mail → sightings"),
    "import/detect": Folder(["import/*"], "a file's format by its content, its bytes through the right decoder"),
    "import": Folder(["import/*"], "the folders of foreign formats; no code of its own"),
    "store": Folder(["model"], "what is kept: one interface for each kind, one table definition"),
    "store/*": Folder(["store"], "one engine of the store"),
    "store/memory": Folder(["store"], "the engine that keeps everything in memory, for tests"),
    "store/parquet": Folder(["store", "store/*"], "files of rows in Parquet, written by DuckDB"),
    "store/open": Folder(["store", "store/*"], "which engines there are, and a store by what names it"),
    "bus": Folder(["model"], "ordered, partitioned transport of event batches", "bus.md"),
    "bus/*": Folder(["bus"], "one kind of bus: in memory, Kafka"),
    "analysis/critical_path": Folder(["model", "graph"], "which steps set the time between two places of a trace",
                                     "critical-path.md"),
    "lang/common": Folder(["model"], "what the small languages share: lexer, expressions, diagnostics, YAML"),
    "lang/feature": Folder(["lang/common", "analysis/critical_path"], "the language of features: pipelines over a trace",
                           "feature-language.md"),
    "lang/query": Folder(["lang/common", "advice"], "queries joined by happened-before: parser, reference semantics, plans",
                         "query-language.md"),
    "lang/ndlog": Folder(["lang/common"], "network datalog: compiler and simulated network", "ndlog.md"),
    "lang/policy": Folder(["lang/common", "recorder/format"], "which data of a recorded program may go where"),
    "analysis/provenance": Folder(["model", "graph", "lang/ndlog"], "what was to blame for each instant between two events",
                                  "temporal-provenance.md"),
    "analysis/paths": Folder(["model", "graph"], "sightings → calls → which call caused which → patterns of paths", "paths.md"),
    "analysis/compare": Folder(["model", "graph"], "what differs between two populations of traces"),
    "analysis/lineage": Folder(["model", "graph", "recorder/reader"],
                               "edges, order, races, lineage and memory layout of a recording", "recording.md"),
    "pipeline": Folder(["import", "import/*", "store", "store/open", "store/parquet", "bus", "bus/*", "lang/feature",
                        "analysis/*"],
                       "the tailer: fetch → trigger → build → extract → shed; datasets; import: files → events → store, once",
                       "tailer.md"),
    "answer": Folder(["store", "store/memory", "store/parquet", "lang/*", "analysis/*", "pipeline", "recorder/reader", "recorder/control"],
                     "one folder per group of questions: load what the question needs, call the analysis, write the JSON"),
    # R1 to R4 are NDlog programs; M1 is run on real queues, watched as captures are; generate writes what import reads.
    "scenario": Folder(["model", "lang/ndlog", "import/*"], "simulated systems in trouble; generated messages", "scenarios.md"),
    "wherefore": Folder(["wherefore/event.h", "base", "advice"], "the public headers of the client library"),
    "client": Folder(["wherefore", "base", "advice"], "the library other programs link: C++17, no libraries", "client-library.md"),
    "weaver": Folder(["lang/query", "advice", "bpf", "elf"],
                     "places in programs, advice → eBPF, requests followed through sockets", "weaving.md"),
    "security": Folder(["pipeline", "store"], "accounts, authorisation, audit, limits", "security.md"),
    "cluster": Folder(["pipeline", "store"], "membership, shared rates, readiness", "cluster.md"),
    "live": Folder(["answer", "security", "weaver", "lang/query", "advice", "pipeline", "store"], "the engine of live queries",
                   "live-queries.md"),
    "server": Folder(["*"], "listeners and routes over HTTP and gRPC: no algorithms"),
    "cli": Folder(["*"], "one file per verb: no algorithms"),
    "demo": Folder(["client", "net", "json", "log", "base"], "the demo shop and block store, users of the client library"),
    "bench": Folder(["*"], "measurements", "benchmarks.md"),
    "tests": Folder(["*"], "programs that whole-system tests run"),
}

# Folders that hold no C++: purpose, what they use, page.
OTHERS = {
    "client/browser": ("the client of web pages", "the HTTP API only", "browser-client.md"),
    "client/python": ("a module over the HTTP API, and notebooks", "the HTTP API only", None),
    "ui": ("the web interface", "the HTTP API only", None),
}

# Engines are opened by store/open. Only these include them, whatever the table above hands down.
FENCED = {
    "store/duckdb": ["store/open", "store/parquet", "bench", "tests"],
    "store/clickhouse": ["store/open", "bench", "tests"],
}

# These run in someone else's process, or are linked into one: they get no COMMON, nor any library.
BARE = ["base", "advice", "recorder/format", "recorder/preload", "recorder/qemu", "wherefore", "wherefore/event.h", "client"]

# header (or folder of headers, with its slash): the folders that may include it.
THIRD_PARTY = {
    "duckdb.h": ["store/duckdb"],
    "duckdb.hpp": ["store/duckdb"],
    "duckdb/": ["store/duckdb"],
    "protozero/": ["import/otlp"],
    "simdjson.h": ["json"],
    "rapidjson/": ["json"],
    "boost/": ["net"],
    "nghttp2/": ["net"],
    "zlib.h": ["net"],
    "zstd.h": ["net"],
    "zstd_errors.h": ["net"],
    "openssl/": ["net"],
    "spdlog/": ["log"],
    "yaml-cpp/": ["lang/common"],
    "CLI/": ["cli"],
    "librdkafka/": ["bus/kafka"],
    "bpf/": ["bpf"],
    "pcap/": ["import/pcap"],
    "pcap.h": ["import/pcap"],
    "kiss_fft.h": ["analysis/paths"],
    "kiss_fftr.h": ["analysis/paths"],
    "kissfft/": ["analysis/paths"],
    "elfutils/": ["elf"],
    "dwarf.h": ["elf"],
    "gelf.h": ["elf"],
    "libelf.h": ["elf"],
    "Zydis/": ["elf"],
    "intel-pt.h": ["recorder/control"],
    "baggage.pb.h": ["bench"],  # generated for the rival of bench/baggage.cc
    "fmt/": None,  # anywhere but BARE: it is our std::format until C++20's can be used
}

# Only in files of that kind, whatever the folder.
BY_FILE_NAME = {
    "gtest/": r"_test\.cc$|_test\.h$|conformance",
    "gmock/": r"_test\.cc$|_test\.h$|conformance",
    "rapidcheck": r"_test\.cc$|_test\.h$|conformance",
    "test_places.h": r"_test\.cc$|_test\.h$",  # generated
    "benchmark/": r"_bench\.cc$",
}

# What comes with the compiler, libc and the kernel. C++ headers have no dot and no slash.
SYSTEM_FOLDERS = ("sys/", "linux/", "netinet/", "arpa/", "net/", "asm/", "bits/", "sanitizer/")
SYSTEM_HEADERS = set("""libgen.h alloca.h assert.h byteswap.h cpuid.h ctype.h cxxabi.h dirent.h dlfcn.h elf.h endian.h errno.h
    execinfo.h fcntl.h fenv.h float.h fnmatch.h ftw.h getopt.h glob.h grp.h ifaddrs.h immintrin.h inttypes.h
    limits.h link.h locale.h malloc.h math.h netdb.h nmmintrin.h poll.h pthread.h pty.h pwd.h sched.h semaphore.h
    setjmp.h signal.h spawn.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h syslog.h
    sysexits.h termios.h threads.h time.h ucontext.h unistd.h utime.h wchar.h x86intrin.h emmintrin.h smmintrin.h
    tmmintrin.h wmmintrin.h""".split())

# A folder (its own files, not those below it) with more sources than this says why it is one folder. Tests, fuzzers
# and benchmarks do not count.
LARGE_FROM = 40
LARGE = {
    "src/analysis/paths": "three algorithms over the same sightings, calls and patterns, one file per step",
    "src/cli": "one file per verb",
    "src/import/pcap": "one file per protocol and layer of a packet",
    "src/lang/query": "one file per stage of a query, the reference semantics beside the plans",
    "src/model": "events and traces with one file per handler and repair",
    "src/net": "client and server of two protocols, which share their streams and limits",
    "src/pipeline": "one file per stage of the tailer and of import",
    "src/recorder/preload": "one file per family of wrapped functions, built as one library that links nothing",
    "src/scenario": "one file per scenario",
    "src/store/clickhouse": "one file per kind of data and of question",
    "src/store/duckdb": "one file per kind of data and of question",
    "src/weaver": "one chain from a place in a program to the eBPF that runs there",
}

# The files of src/A/B define things in wf::B or wf::A::B, and in namespaces within it, unless this says otherwise. A line
# holds for the folder and all below it, or for one file; of several namespaces any will do.
NAMESPACES = {
    "include/wherefore": ["wherefore"],
    # The vocabulary of all: results, ids, times, events, traces.
    "src/base": ["wf", "wf::hash", "wf::glob"],
    "src/json": ["wf"],
    "src/model": ["wf"],
    "src/log": ["wf", "wf::log"],
    "src/analysis/paths/open_calls.h": ["wf::pairing"],
    "src/analysis/paths/open_calls.cc": ["wf::pairing"],
    "src/answer": ["wf::answer"],
    "src/client": ["wherefore"],
    "src/lang/common": ["wf::lang"],
    "src/recorder": ["wf::recorder"],
    "src/store/open": ["wf::store"],
}
# What tests of several folders share may stand here.
TEST_NAMESPACE = "wf::testing"
# Namespaces that are not ours, in which a specialization or an overload may have to stand.
FOREIGN_NAMESPACES = ("std", "fmt", "testing", "rc", "CLI")


def matching(path, names):
    """The most specific name that covers `path`: itself, a folder above it, or a pattern x/*."""
    parts = path.split("/")
    for length in range(len(parts), 0, -1):
        head = "/".join(parts[:length])
        if head in names:
            return head
        pattern = "/".join(parts[:length - 1] + ["*"])
        if length > 1 and pattern in names and length < len(parts):
            return pattern
    return None


def concrete(path, name):
    """import/otlp/decoder.cc under the name import/* is the folder import/otlp."""
    return "/".join(path.split("/")[:name.count("/") + 1])


def closures():
    """name -> every name it may include. Checks on the way that the table itself points up only."""
    allowed = {}
    for name, folder in LAYERS.items():
        reach = set()
        for one in folder.may:
            if one == "*":
                found = list(allowed)
            elif one.endswith("/*"):
                found = [above for above in allowed if above == one or (above.startswith(one[:-1]) and "." not in above)]
            else:
                found = [one] if one in allowed else []
            if not found:
                raise SystemExit(f"tools/layers.py: {name} names {one}, which does not stand above it")
            for above in found:
                reach |= {above} | allowed[above]
        if name not in BARE and name not in COMMON:
            for common in COMMON:
                reach |= {common} | allowed[common]
        allowed[name] = reach
    return allowed
