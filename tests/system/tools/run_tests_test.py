#!/usr/bin/env python3
# parallel: yes
"""tools/run-tests counts what scripts and GoogleTest report, and never counts a silent test as a success."""
import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("run_tests", os.path.join(ROOT, "tools", "run-tests"))
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
loader.exec_module(run_tests)

NESTED_TAP = """TAP version 13
# Subtest: file.mjs
    # Subtest: adds
    ok 1 - adds
      ---
      duration_ms: 1
      ...
    # Subtest: subtracts
    not ok 2 - subtracts
    ok 3 - divides # SKIP no divider
    1..3
not ok 1 - file.mjs
1..1
"""

# name, output, exit status is 0, expected counts (passed, failed, skipped)
SCRIPTS = [
    ("plain result lines", "ok a\nnot ok b\nskip c # no network\nnoise ok d\n", False, (1, 1, 1)),
    ("a failure counts even if the script exits 0", "not ok a\n", True, (0, 1, 0)),
    ("a crash counts even if every line was ok", "ok a\nSegmentation fault\n", False, (1, 1, 0)),
    ("a silent script has failed", "all fine\n", True, (0, 1, 0)),
    ("words that begin with ok are not results", "okay then\nok real\n", True, (1, 0, 0)),
    ("nested TAP counts the leaves", NESTED_TAP, False, (1, 1, 1)),
    ("a TAP parent that fails alone counts", "    ok 1 - a\nnot ok 1 - hook\n", False, (1, 1, 0)),
    ("TAP skips are skips", "ok 1 - a # SKIP later\n", True, (0, 0, 1)),
]
GTEST = {"testsuites": [{"name": "S", "testsuite": [
    {"name": "good", "status": "RUN", "result": "COMPLETED"},
    {"name": "bad", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "1 != 2"}]},
    {"name": "later", "status": "RUN", "result": "SKIPPED"},
    {"name": "DISABLED_x", "status": "NOTRUN", "result": "SUPPRESSED"}]}]}

failed = 0


def report(name, expected, got):
    global failed
    good = expected == got
    failed += not good
    if not good:
        print(f"expected {expected}, got {got}")
    print(f"{'ok' if good else 'not ok'} {name}")


def counts(tally):
    return len(tally.passed), len(tally.failed), len(tally.skipped)


def ctest_case(output, good):
    case = xml.Element("testcase", status="run" if good else "fail")
    xml.SubElement(case, "system-out").text = output
    return case


with tempfile.TemporaryDirectory() as place:
    for name, output, good, expected in SCRIPTS:
        tally = run_tests.Tally()
        run_tests.count({"name": "t", "command": ["bash", "t.sh"]}, ctest_case(output, good), place, tally)
        report(name, expected, counts(tally))

    tally = run_tests.Tally()
    run_tests.count({"name": "t", "command": ["node", "t"]}, ctest_case("said\nok a\nbefore\nnot ok b\n    Error: why\n      at x\nok c\nnoise\n", False), place, tally)
    report("what a script says around a failure is its detail", [("t: b", "\nbefore\nError: why\nat x")], tally.failed)

    unit = {"name": "u", "command": ["/x/u_test"], "properties": [{"name": "LABELS", "value": ["unit"]}]}
    tally = run_tests.Tally()
    run_tests.count(unit, ctest_case("", False), place, tally)
    report("a unit test that dies before its report is a failure", (0, 1, 0), counts(tally))
    tally = run_tests.Tally()
    run_tests.count(unit, ctest_case("", True), place, tally)
    report("a unit test without a report is a failure", (0, 1, 0), counts(tally))
    with open(os.path.join(place, "u_test.json"), "w") as out:
        json.dump(GTEST, out)
    tally = run_tests.Tally()
    run_tests.count(unit, ctest_case("", False), place, tally)
    report("GoogleTest cases are counted one by one", (1, 1, 2), counts(tally))
sys.exit(1 if failed else 0)
