"""Server: the HTTP API, one method per question."""
import json
import os
import urllib.error
import urllib.parse
import urllib.request

from .table import Table
from .trace import Trace

DEFAULT = "http://127.0.0.1:8642"


class ServerError(Exception):
    """The server returned an error with this `code`, `message` and `hint`."""

    def __init__(self, code, message, hint=""):
        super().__init__(f"{message} ({hint})" if hint else message)
        self.code, self.message, self.hint = code, message, hint


def connect(store=None, token=None, timeout=60):
    """`store`: http(s)://host:port, or the store directory of a running server; default $WHEREFORE_STORE, else
    http://127.0.0.1:8642. `token`: default $WHEREFORE_TOKEN, else the one in the directory's server.json."""
    store = store or os.environ.get("WHEREFORE_STORE") or DEFAULT
    token = token or os.environ.get("WHEREFORE_TOKEN")
    if store.startswith(("http://", "https://")):
        return Server(store, token, timeout)
    path = os.path.join(store, "server.json")
    try:
        with open(path) as file:
            facts = json.load(file)
    except OSError as error:
        raise ServerError("environment", f"{path}: {error.strerror}", f"wherefore serve --store {store} starts a server") from None
    return Server("http://" + facts["http"], token or facts.get("token"), timeout)


class Server:
    def __init__(self, url, token=None, timeout=60):
        self.url, self.token, self.timeout = url.rstrip("/"), token, timeout

    # --- one trace, many traces

    def trace(self, trace_id, clock="aligned"):
        return Trace(self.ask(f"trace/{_quoted(trace_id)}", clock=clock))

    def traces(self, limit=100, **search):
        """Up to `limit` summaries, newest first. Takes the flags of `wherefore traces`, with `_` for `-`:
        service, operation, attr (a "K=V" or a list of them), min_duration, max_duration, status, since, until."""
        found, cursor = [], None
        while len(found) < limit:
            page = self.ask("traces", limit=min(limit - len(found), 1000), cursor=cursor, **search)
            found += page["traces"]
            cursor = page["next"]
            if not cursor:
                break
        return found

    def critical_path(self, trace_id, **flags):
        return self.ask(f"critical-path/{_quoted(trace_id)}", **flags)

    # --- features

    def features(self, program, traces):
        """Runs a feature program over traces (ids, or summaries from traces()). Returns a Table whose first column is
        trace_id."""
        columns, rows = [{"name": "trace_id", "type": "text"}], []
        for trace_id in map(_id_of, traces):
            one = self.ask("feature/run", body=program, trace=trace_id)
            names = {column["name"] for column in columns}
            columns += [column for column in one["columns"] if column["name"] not in names]
            rows += [{**row, "trace_id": trace_id} for row in one["rows"]]
        return Table(columns, rows)

    def map(self, function, traces):
        """Calls a Python function with each Trace. It returns a dict (a row), a list of dicts, or None (no row)."""
        rows = []
        for trace_id in map(_id_of, traces):
            result = function(self.trace(trace_id))
            for row in [] if result is None else [result] if isinstance(result, dict) else result:
                rows.append({"trace_id": trace_id, **row})
        return Table.of_rows(rows)

    # --- datasets

    def datasets(self):
        return self.ask("dataset/list")

    def dataset(self, name, **query):
        """Rows, or groups of rows. Takes the flags of `wherefore dataset query`: where, group_by, agg, bucket, since, …"""
        return _table(self.ask(f"dataset/query/{_quoted(name)}", **query))

    def compare(self, name, a, b, metric=None):
        return self.ask(f"dataset/compare/{_quoted(name)}", a=a, b=b, metric=metric)

    def sql(self, text):
        return _table(self.ask("dataset/sql", body=text))

    # --- HTTP

    def ask(self, path, body=None, **parameters):
        """GET /api/v1/PATH, or POST if there is a body. Parameters that are None are left out; lists become several."""
        given = [(name, value) for name, value in parameters.items() if value is not None]
        query = urllib.parse.urlencode(given, doseq=True)
        request = urllib.request.Request(f"{self.url}/api/v1/{path}" + ("?" + query if query else ""),
                                         data=None if body is None else body.encode())
        if body is not None:
            request.add_header("Content-Type", "text/plain; charset=utf-8")
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise _server_error(error) from None
        except urllib.error.URLError as error:
            raise ServerError("environment", f"{self.url}: {error.reason}", "is `wherefore serve` running there?") from None


def _server_error(error):
    text = error.read().decode("utf-8", "replace")
    try:
        fields = json.loads(text)["error"]
        return ServerError(fields["code"], fields["message"], fields.get("hint", ""))
    except (ValueError, KeyError, TypeError):
        return ServerError("environment", f"HTTP {error.code}: {text[:200]}")


def _table(answer):
    return Table(answer["columns"], answer["rows"])


def _id_of(trace):
    return trace if isinstance(trace, str) else trace["trace_id"]


def _quoted(text):
    return urllib.parse.quote(text, safe="")
