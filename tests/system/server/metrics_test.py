"""/metrics: rate, errors and duration by service from the calls the tailer saw, for Prometheus and, with exemplars that
name traces, for OpenMetrics."""
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import MILLI, SECOND, Server, check, cli, equal, must, now_ns, otlp, process, run, span, trace_id, write
import json


def text_of(server, accept="text/plain"):
    return server.get("/metrics", {"Accept": accept})


def red():
    with Server() as server:
        start = now_ns() - 60 * SECOND
        calls = [process("till", span(n, 1, "pay", start, start + 40 * MILLI, kind="server",
                                      status="error" if n == 2 else None)) for n in (1, 2, 3)]
        must(cli("import", write("calls.json", json.dumps(otlp(*calls))), store=server.store))
        plain = text_of(server)
        text = plain.body.decode()
        check("Prometheus text by default", plain.headers["Content-Type"].startswith("text/plain; version=0.0.4"), plain.headers)
        check("calls by service", 'wherefore_service_calls_total{service="till"} 3\n' in text, text[-3000:])
        check("errors by service", 'wherefore_service_errors_total{service="till"} 1\n' in text, text[-3000:])
        check("durations are cumulative", 'duration_seconds_bucket{service="till",le="0.025"} 0\n' in text and
              'duration_seconds_bucket{service="till",le="0.05"} 3\n' in text and
              'duration_seconds_count{service="till"} 3\n' in text, text[-3000:])
        check("no exemplar, which this format does not have", "trace_id" not in text)
        opened = text_of(server, "application/openmetrics-text; version=1.0.0,text/plain;q=0.5")
        text = opened.body.decode()
        check("OpenMetrics when asked for", opened.headers["Content-Type"].startswith("application/openmetrics-text"), opened.headers)
        found = re.search(r'le="0\.05"\} 3 # \{trace_id="([0-9a-f]{32})"\} 0\.04 \d+\.\d{3}\n', text)
        check("an exemplar names a trace that is there", found and found[1] in [trace_id(n) for n in (1, 2, 3)], text[-3000:])
        check("it ends as the format wants", text.endswith("# EOF\n") and "untyped" not in text, text[-200:])
        must(cli("import", write("again.json", json.dumps(otlp(*calls))), store=server.store))
        check("the same calls again are not counted again",
              'wherefore_service_calls_total{service="till"} 3\n' in text_of(server).body.decode())
        equal("every line is a sample or a comment", [line for line in text.splitlines() if not re.fullmatch(
            r'#.*|[a-z_0-9A-Z]+(\{[^}]*\})? -?[0-9.e+]+( # \{[^}]*\} [0-9.e-]+ [0-9.]+)?', line)], [])


run(red)
