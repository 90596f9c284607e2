#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""The manual page, the sample configuration and bash completion know every verb and flag that the program knows."""
import json
import os
import re
import subprocess
import sys
import tempfile

WHEREFORE = os.environ["WHEREFORE"]
ROOT = os.environ["WHEREFORE_SOURCE"]
# Flags of serve that make no sense in its configuration file.
NOT_KEYS = {"help", "config", "check", "format", "version"}


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def help_of(*verb):
    return subprocess.run([WHEREFORE, *verb, "--help"], capture_output=True, text=True, check=True).stdout


def flags_of(text):
    return sorted(set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", text)) - {"help-all"})


failed = 0


def report(name, missing):
    global failed
    failed += bool(missing)
    if missing:
        print("missing:", ", ".join(missing))
    print(f"{'not ok' if missing else 'ok'} {name}")


page = read("docs/man/wherefore.1").replace("\\-", "-")
sample = read("config/wherefore.yaml")
top = help_of()
listed = re.search(r"^(?:sub)?(?:commands|verbs):\n(.*?)(?:\n\S|\Z)", top, re.DOTALL | re.MULTILINE | re.IGNORECASE)
verbs = re.findall(r"^ {1,4}([a-z][a-z-]*)\b", listed[1], re.MULTILINE) if listed else []
report("the program's help lists verbs", [] if len(verbs) >= 3 else ["a list of subcommands in --help"])
for verb in verbs:
    report(f"the manual page has the verb {verb}",
           [] if re.search(rf"^\.BI? {verb}\b", page, re.MULTILINE) else [verb])
    report(f"the manual page has the flags of {verb}", [f"--{f}" for f in flags_of(help_of(verb)) if f"--{f}" not in page])
report("the sample configuration has every flag of serve as a key",
       [f for f in flags_of(help_of("serve")) if f not in NOT_KEYS and not re.search(rf"^#?{f}:", sample, re.MULTILINE)])
keys = re.findall(r"^#?([a-z][a-z-]*):", sample, re.MULTILINE)
report("every key of the sample configuration is a flag of serve", [k for k in keys if k not in flags_of(help_of("serve"))])


def run(*words):
    return subprocess.run([WHEREFORE, *words], capture_output=True, text=True)


report("help prints what --help prints", [] if run("help").stdout == run("--help").stdout != "" else ["help"])
report("help VERB prints what VERB --help prints",
       [v for v in verbs if run("help", v).stdout != run(v, "--help").stdout or not run("help", v).stdout])
report("version prints what --version prints", [] if run("version").stdout == run("--version").stdout != "" else ["version"])
for words in (("explian",), ("help", "explian")):
    answer = run(*words)
    good = answer.returncode == 2 and "explian: no such verb" in answer.stderr and "did you mean explain?" in answer.stderr
    report(f"{' '.join(words)} suggests explain", [] if good else [answer.stderr])


def completions(*words):
    """What bash would offer for the last of these words."""
    script = f"""source <({WHEREFORE} completion bash); compopt() {{ :; }}
        COMP_WORDS=({' '.join(repr(w) for w in (WHEREFORE, *words))}); COMP_CWORD={len(words)}
        _wherefore {WHEREFORE}; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout.split()


report("bash completes the verbs", [v for v in verbs if v not in completions("")])
report("bash completes flags of serve", [f for f in ("--otlp-grpc", "--otlp-http") if f not in completions("serve", "--otlp")])
report("bash completes the verb after help", [v for v in ("explain", "export") if v not in completions("help", "ex")])
report("bash completes values", [v for v in ("aligned",) if v not in completions("trace", "--clock", "al")])

# Service names come from senders. Completing one must never run what it says.
with tempfile.TemporaryDirectory() as place:
    mark = os.path.join(place, "mark")
    name = f"shop $(touch {mark})"
    trace = {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]},
                                "scopeSpans": [{"spans": [{"traceId": "1" * 32, "spanId": "2" * 16, "name": "x",
                                                           "startTimeUnixNano": "1", "endTimeUnixNano": "2"}]}]}]}
    with open(os.path.join(place, "trace.json"), "w") as file:
        json.dump(trace, file)
    os.environ["WHEREFORE_STORE"] = os.path.join(place, "store")
    os.environ["PATH"] = os.path.dirname(WHEREFORE) + ":" + os.environ["PATH"]
    subprocess.run([WHEREFORE, "import", os.path.join(place, "trace.json")], check=True, capture_output=True)
    report("bash completes services", [] if any("shop" in w for w in completions("traces", "--service", "sh")) else [name])
    report("and never runs what their names say", [mark] if os.path.exists(mark) else [])
sys.exit(1 if failed else 0)
