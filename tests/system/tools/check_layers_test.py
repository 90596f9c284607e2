#!/usr/bin/env python3
# parallel: yes
"""tools/check-layers finds what it is there to find. Each case is a tree of one or two files and what must be said."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

# name, {file: text}, part of the complaint (None: the tree is fine)
CASES = [
    ("a folder includes what stands above it", {"src/model/a.cc": '#include "graph/b.h"\n#include <vector>\n'}, None),
    ("and what that may include", {"src/answer/a.cc": '#include "graph/b.h"\n#include "net/c.h"\n'}, None),
    ("base includes nothing of ours", {"src/base/a.cc": '#include "json/b.h"\n'}, 'src/base/a.cc:1: base may not include "json/b.h"'),
    ("graph knows no traces", {"src/graph/a.h": '\n#include "model/b.h"\n'}, 'src/graph/a.h:2: graph may not include "model/b.h"'),
    ("the model knows no store", {"src/model/a.cc": '#include "store/b.h"\n'}, "model may not include"),
    ("one format does not lean on another", {"src/import/zipkin/a.cc": '#include "import/otlp/b.h"\n'}, "import/zipkin may not include"),
    ("a format may use itself", {"src/import/zipkin/a.cc": '#include "import/zipkin/b.h"\n'}, None),
    ("format detection sees every format", {"src/import/detect.cc": '#include "import/otlp/b.h"\n'}, None),
    ("a new format needs no new rule", {"src/import/newone/a.cc": '#include "model/b.h"\n'}, None),
    ("the store interface knows no engine", {"src/store/a.h": '#include "store/duckdb/b.h"\n'}, "store may not include"),
    ("an engine knows the interface", {"src/store/duckdb/a.h": '#include "store/b.h"\n#include <duckdb.h>\n'}, None),
    ("only watch may use bpf", {"src/import/otlp/a.cc": '#include "bpf/b.h"\n'}, "import/otlp may not include"),
    ("watch may use bpf", {"src/import/watch/a.cc": '#include "bpf/b.h"\n'}, None),
    ("the server may not know the cli", {"src/server/a.cc": '#include "cli/b.h"\n'}, "server may not include"),
    ("the cli may know the server", {"src/cli/a.cc": '#include "server/b.h"\n#include <CLI/CLI.hpp>\n'}, None),
    ("the client links no transport", {"src/client/a.cc": '#include "net/b.h"\n'}, "client may not include"),
    ("the client uses no fmt", {"src/client/a.cc": "#include <fmt/format.h>\n"}, "uses no library"),
    ("the model sees the one definition of events", {"src/model/a.h": "#include <wherefore/event.h>\n"}, None),
    ("but no other public header", {"src/model/a.h": "#include <wherefore/tracer.h>\n"}, "model may not include"),
    ("public headers use no private folder but base", {"include/wherefore/a.h": '#include "model/b.h"\n'}, "wherefore may not include"),
    ("DuckDB stays in its folder", {"src/store/a.cc": "#include <duckdb.h>\n"}, "<duckdb.h> is for store/duckdb only, not store"),
    ("a quoted library header is found too", {"src/store/a.cc": '#include "duckdb.h"\n'}, "<duckdb.h> is for store/duckdb only"),
    ("Boost stays in net", {"src/server/a.cc": "#include <boost/beast.hpp>\n"}, "is for net only"),
    ("RapidJSON stays in json", {"bench/a.cc": "#include <rapidjson/writer.h>\n"}, "is for json only"),
    ("an unknown library needs a place", {"src/model/a.cc": "#include <newlib/x.h>\n"}, "neither a system header nor"),
    ("GoogleTest is for tests", {"src/base/a.cc": "#include <gtest/gtest.h>\n"}, "tests or benchmarks only"),
    ("and there it may be", {"src/base/a_test.cc": "#include <gtest/gtest.h>\n"}, None),
    ("an unknown folder is named", {"src/misc/a.cc": "#include <vector>\n"}, "not in the layer table"),
    ("the demo uses the client", {"demo/shop/a.cc": '#include "client/b.h"\n#include <wherefore/tracer.h>\n'}, None),
    ("the demo does not reach into the store", {"demo/shop/a.cc": '#include "store/b.h"\n'}, "demo may not include"),
    ("an empty tree is not a success", {}, "0 files"),
]

failed = 0
for name, files, complaint in CASES:
    with tempfile.TemporaryDirectory() as tree:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
            with open(os.path.join(tree, path), "w") as out:
                out.write(text)
        run = subprocess.run([os.path.join(ROOT, "tools", "check-layers"), tree], capture_output=True, text=True)
    good = run.returncode == 0 if complaint is None else run.returncode == 1 and complaint in run.stdout
    if not good:
        failed += 1
        print(run.stdout, run.stderr)
    print(f"{'ok' if good else 'not ok'} {name}")
sys.exit(1 if failed else 0)
