#!/usr/bin/env python3
# parallel: yes
"""tools/check-layers finds what it is there to find. Each case is a tree of one or two files and what must be said."""
import glob
import os
import shutil
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
    ("an engine is opened by store/open", {"src/answer/a.cc": '#include "store/duckdb/b.h"\n'}, "answer may not include"),
    ("and by that only", {"src/cli/a.cc": '#include "store/clickhouse/b.h"\n'}, "cli may not include"),
    ("store/open knows the engines", {"src/store/open/a.cc": '#include "store/clickhouse/b.h"\n'}, None),
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
    ("a type is defined once", {"src/base/a.h": "namespace wf {\nstruct Place { int a; };\n}\n",
                                "src/json/b.h": "namespace wf {\n\nclass Place final : public X<int> {\n};\n}\n"},
     "src/json/b.h:3: class wf::Place is defined in src/base/a.h:2 too"),
    ("also as another kind of type", {"src/base/a.h": "namespace wf { enum class Trigger : uint8_t { kA }; }\n",
                                      "src/json/b.h": "namespace wf { using Trigger = int; }\n"}, "using wf::Trigger is defined in"),
    ("a declaration is not a definition", {"src/base/a.h": "namespace wf { struct Place; enum class Kind : uint8_t; }\n",
                                           "src/json/b.h": "namespace wf { struct Place { int a; }; enum class Kind : uint8_t { kA }; }\n"}, None),
    ("another namespace is another type", {"src/base/a.h": "namespace wf { struct Place {}; }\n",
                                           "src/store/b.h": "namespace wf { namespace store { struct Place {}; } }\n"}, None),
    ("namespaces are the same however they are nested", {"src/store/a.h": "namespace wf::store { struct Place {}; }\n",
                                                         "src/store/b.h": "namespace wf { namespace store { struct Place {}; } }\n"},
     "struct wf::store::Place is defined in"),
    ("an anonymous namespace is a file's own", {"src/base/a.cc": "namespace wf { namespace { struct Place {}; } }\n",
                                                "src/json/b.cc": "namespace wf { namespace { struct Place {}; } }\n"}, None),
    ("a type inside a type or a function is its own", {"src/base/a.cc": "namespace wf { struct A { struct Place {}; }; }\n",
                                                       "src/json/b.cc": "namespace wf { void F() { struct Place {}; } struct B { struct Place {}; }; }\n"}, None),
    ("comments and strings define nothing", {"src/base/a.h": "namespace wf { struct Place {}; }\n",
                                             "src/json/b.cc": 'namespace wf {\n// struct Place {};\nconst char* k = "struct Place {"; /* { */\n'
                                                               'const char* r = R"(}}} struct Place {)";\nconst int n = 1\'000; char c = \'{\';\n}\n'}, None),
    ("functions, initializers and macros before it do not hide a type",
     {"src/base/a.h": "namespace wf { struct Place {}; }\n",
      "src/json/b.cc": "namespace wf {\nbool X::operator==(const X& o) const { return true; }\nconst std::vector<int> k = {1, {2}};\n"
                        "void F(Options o = {});\nauto f = [](int a) { return a; };\nX::X() : a_{1}, b_(2) {}\nPROPERTY(A, b(1))\n\n"
                        "template <class T, class U = std::vector<T>>\nclass [[nodiscard]] alignas(64) Place : A, B {\n};\n}\n"},
     "src/json/b.cc:10: class wf::Place is defined in"),
    ("of #if and #else one branch is read", {"src/base/a.h": "namespace wf { struct Place {}; }\n",
                                             "src/json/b.cc": "#if X\nnamespace wf {\n#else\nnamespace other {\n#endif\nstruct Place {};\n}\n"},
     "struct wf::Place is defined in"),
    ("a test's type is not one of the product", {"src/base/a.h": "namespace wf { struct Place {}; }\n",
                                                 "src/json/b_test.cc": "namespace wf { struct Place {}; }\n"}, "src/json/b_test.cc:1: struct wf::Place"),
    ("nor one of another test of the folder", {"src/json/a_test.cc": "namespace wf { struct Lab {}; }\n",
                                               "src/json/b_test.cc": "namespace wf { struct Lab {}; }\n"}, "struct wf::Lab is defined in src/json/a_test.cc:1 too"),
    ("tests of two folders are not linked together", {"src/base/a_test.cc": "namespace wf { struct Lab {}; }\n",
                                                      "src/json/b_test.cc": "namespace wf { struct Lab {}; }\n"}, None),
    ("a folder has a namespace of its own", {"src/net/a.cc": "namespace wf::net {\nvoid F() {}\n}\nnamespace wf::store {\nvoid G() {}\n}\n"},
     "src/net/a.cc:5: defines things in wf::store; its folder's namespace is wf::net"),
    ("with or without the folders above it", {"src/bus/kafka/a.cc": "namespace wf::bus::kafka { void F() {} }\n",
                                              "src/analysis/paths/a.cc": "namespace wf::paths { void F() {} }\n"}, None),
    ("and things within it", {"src/net/testing/a.h": "namespace wf::net::detail { inline void F() {} }\n"}, None),
    ("wf itself is for the common words only", {"src/store/a.cc": "namespace wf { namespace { void F() {} } }\n"},
     "src/store/a.cc:1: defines things in wf; its folder's namespace is wf::store"),
    ("and may declare what lies in others", {"src/net/a.h": "namespace wf::store { class Store; }\nnamespace wf::net { void F(store::Store&); }\n"}, None),
    ("or add to those of libraries", {"src/net/a.h": "template <>\nstruct std::hash<X> { int a; };\nnamespace fmt { template <> struct formatter<X> {}; }\n"}, None),
    ("a folder of forty sources is fine", {f"src/json/a{i}.cc": "" for i in range(40)} | {"src/json/a_test.cc": ""}, None),
    ("a larger one says why", {f"src/json/a{i}.cc": "" for i in range(41)}, "src/json: 41 sources in one folder"),
    ("the architecture page holds the table", {"src/base/a.cc": "", "docs/README.md": "nothing\n"}, "no page holds the table of folders"),
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

TABLE = subprocess.run([os.path.join(ROOT, "tools", "check-layers"), "--table"], capture_output=True, text=True)
good = TABLE.returncode == 0 and "| `src/base` |" in TABLE.stdout and "everything above" in TABLE.stdout
print(f"{'ok' if good else 'not ok'} the table of folders is printed")
failed += not good
with tempfile.TemporaryDirectory() as tree:
    shutil.copytree(os.path.join(ROOT, "docs"), os.path.join(tree, "docs"))
    page = next(path for path in glob.glob(tree + "/docs/**/*.md", recursive=True) if "<!-- folders: begin" in open(path).read())
    stale = "its table of folders is not what"

    def says():
        return subprocess.run([os.path.join(ROOT, "tools", "check-layers"), tree], capture_output=True, text=True).stdout

    before = open(page).read()
    with open(page, "w") as out:
        out.write(before.replace("| `src/base` |", "| `src/basis` |"))
    was_found = stale in says()
    subprocess.run([os.path.join(ROOT, "tools", "check-layers"), "--write-table", tree], check=True)
    for name, good in (("a table that is out of date is found", was_found), ("and written again", stale not in says()),
                       ("to what it was", open(page).read() == before)):
        print(f"{'ok' if good else 'not ok'} {name}")
        failed += not good
sys.exit(1 if failed else 0)
