#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""The API's description and the manual page agree with the table of questions, as `wherefore help --format json` prints it."""
import json
import os
import re
import subprocess
import sys

WHEREFORE = os.environ["WHEREFORE"]
ROOT = os.environ["WHEREFORE_SOURCE"]
TEXT_STYLE = {"width", "color"}  # how text looks, of whatever question
failed = 0


def report(name, wrong):
    global failed
    failed += bool(wrong)
    for line in wrong:
        print("wrong:", line)
    print(f"{'not ok' if wrong else 'ok'} {name}")


def run(*words):
    return subprocess.run([WHEREFORE, *words], capture_output=True, text=True)


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


table = json.loads(run("help", "--format", "json").stdout)
questions = table["questions"]


def name_of(question):
    return question["command"].removeprefix("wherefore ")


# api/openapi.yaml: the part that is compared, read without a YAML library, which a test machine may lack.
def inline(text):
    """The parameters of a line `- { name: a, in: query, schema: { type: integer } }`, as its name and its text."""
    found = re.match(r"\s*- \{ name: (\w+), in: (\w+)", text)
    return found and (found[1], found[2])


def described():
    """(METHOD, path) -> {name: text of the parameter}, of parameters in the query."""
    lines = read("api/openapi.yaml").splitlines()
    shared, name = {}, None
    in_parameters = False
    for line in lines:  # components/parameters
        if re.match(r"  \w+:$", line):
            in_parameters = line.strip() == "parameters:"
        if in_parameters and (begun := re.match(r"    (\w+):(.*)$", line)):
            name = begun[1]
            shared[name] = begun[2]
        elif in_parameters and name:
            shared[name] += "\n" + line
    routes, at, method, current = {}, None, None, None
    for line in lines[lines.index("paths:") + 1:]:
        if re.match(r"\w", line):
            break
        if begun := re.match(r"  (/\S+):$", line):
            at, method = begun[1], None
        elif begun := re.match(r"    (get|post|put|delete):$", line):
            method, current = begun[1].upper(), None
            routes[method, at] = {}
        elif begun := re.match(r"      (\w+):(.*)$", line):
            current = None
            section = begun[1]
            for ref in re.findall(r"#/components/parameters/(\w+)", begun[2]) if section == "parameters" else []:
                text = shared[ref]
                routes[method, at][re.search(r"name: (\w+)", text)[1]] = text
        elif method and section == "parameters":
            if ref := re.match(r"\s*- \{ \$ref: '#/components/parameters/(\w+)' \}", line):
                text = shared[ref[1]]
                current = re.search(r"name: (\w+)", text)[1]
                if re.search(r"in: path", text):
                    current = None
                else:
                    routes[method, at][current] = text
            elif one := inline(line):
                current = one[0] if one[1] == "query" else None
                if current:
                    routes[method, at][current] = line
            elif begun := re.match(r"        - name: (\w+)$", line):
                current = begun[1]
                routes[method, at][current] = line
            elif current:
                routes[method, at][current] += "\n" + line
    return routes


def pattern_of(path):
    return re.sub(r"\{\w+\}", "{}", path)


api = described()
expected = {}  # (METHOD, pattern) -> {name: flag}
for question in questions:
    for route in question["routes"]:
        pattern = pattern_of(route["pattern"])
        with_argument = question["argument"] is not None and pattern.endswith("{}")
        flags = expected.setdefault((route["method"], pattern), {})
        for flag in question["flags"]:
            if flag["case"] == "with_argument" and not with_argument or flag["case"] == "without_argument" and with_argument:
                continue
            flags[flag["name"]] = flag
        flags["format"] = {"type": "choice", "choices": flags.get("format", {}).get("choices", []) + question["formats"]
                           + question["request_formats"]}
        if question["what"]:
            flags.setdefault("what", {"type": "choice", "choices": []})["choices"].append(question["what"])

found = {(method, pattern_of(path)): flags for (method, path), flags in api.items()}
report("api/openapi.yaml has every route of a question", [f"{m} {p}" for m, p in sorted(expected) if (m, p) not in found])
verbs = {q["verb"] for q in questions}
report("and no question that is not in the table",
       [f"{m} {p}" for m, p in sorted(found)
        if re.match(r"/api/v1/([\w-]+)", p) and re.match(r"/api/v1/([\w-]+)", p)[1] in verbs and (m, p) not in expected
        and not p.startswith("/api/v1/policies/")])
for (method, path), flags in sorted(expected.items()):
    there = found.get((method, path), {})
    wrong = [f"{name}: is missing" for name in sorted(flags) if name not in there]
    wrong += [f"{name}: no flag of the question" for name in sorted(there) if name not in flags and name not in TEXT_STYLE]
    for name in sorted(set(flags) & set(there)):
        flag, text = flags[name], there[name]
        choices = re.search(r"enum: \[([^\]]*)\]", text)
        if flag["type"] == "choice":
            listed = sorted(re.split(r",\s*", choices[1])) if choices else []
            if listed != sorted(set(flag["choices"])) and name != "format":
                wrong.append(f"{name}: has {', '.join(listed)}, not {', '.join(sorted(set(flag['choices'])))}")
        if flag["type"] == "integer":
            for key, word in (("min", "minimum"), ("max", "maximum"), ("default", "default")):
                value = re.search(rf"{word}: (-?\d+)", text)
                if flag[key] is not None and value and int(value[1]) != int(flag[key]):
                    wrong.append(f"{name}: {word} {value[1]}, not {flag[key]}")
                if value and flag[key] is None:
                    wrong.append(f"{name}: {word} {value[1]}, which the question does not know")
    report(f"api/openapi.yaml describes {method} {path}", wrong)

# The manual page.
page = read("docs/man/wherefore.1").replace("\\-", "-")
flags = {name for verb in table["verbs"] for flag in verb["flags"] for name in flag["names"]} | {"--version"}
report("the manual page names no flag that no verb has",
       sorted({f for f in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]|(?<![\w-])--[a-z](?![a-z-])", page)} - flags))
report("the manual page has every verb of a question",
       [q["verb"] for q in questions if not re.search(rf"^\.BI? {name_of(q).split()[0]}\b", page, re.MULTILINE)])
generated = subprocess.run([sys.executable, os.path.join(ROOT, "tools/man-flags"), "--check"], capture_output=True, text=True,
                           env={**os.environ, "WHEREFORE": WHEREFORE})
report("the manual page's flags of questions are those of the table", [] if generated.returncode == 0 else [generated.stderr])

# Help.
for question in questions:
    words = name_of(question).split()
    if question["action"] is None or question["verb"] == "policies":
        continue
    text = run("help", question["verb"], question["action"]).stdout
    report(f"help {question['verb']} {question['action']} has its flags",
           [f["flag"] for f in question["flags"] if f["flag"] and f["flag"] not in text] + ([] if question["summary"] in text else ["summary"]))
listed = {v["verb"]: {n for f in v["flags"] for n in f["names"]} for v in table["verbs"]}
report("the command line has every flag of its questions",
       [f"{q['verb']} {f['flag']}" for q in questions if q["verb"] in listed for f in q["flags"]
        if f["flag"] and f["flag"] not in listed[q["verb"]]])
report("help of a verb and json at once is refused", [] if run("help", "traces", "--format", "json").returncode == 2 else ["traces"])
sys.exit(1 if failed else 0)
