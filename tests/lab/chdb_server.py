#!/usr/bin/env python3
"""Today's ClickHouse on loopback, for tests: the HTTP interface in front of the engine that PyPI's chdb-core carries.

    build/python/bin/python tests/lab/chdb_server.py [--port N] [--data DIR]

Prints `listening on 127.0.0.1:PORT` when it can be asked and ends on SIGTERM, SIGINT, or when its standard input is
closed (so it never outlives the test that started it). Without --data the rows lie in a folder that is deleted.

It speaks what a client of one node needs: GET and POST of a statement, as `query`, as the body or as both after each
other; INSERT with data in any format, also gzip; `database`; every other parameter as a setting of this one request;
errors as status, X-ClickHouse-Exception-Code and the exception's text; /ping. A connection serves only requests of the
same database and settings, so that those of one request are not those of the next. Not spoken: sessions,
external tables. There is one user, `default`, without a password.
"""
import argparse
import base64
import codecs
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid

import chdb

# Parameters that are the transport's own; all others are settings.
TRANSPORT = {"query", "database", "default_format", "query_id", "user", "password", "compress", "decompress", "session_id",
             "session_timeout", "session_check", "buffer_size", "wait_end_of_query", "quota_key", "close_session"}
NOT_FOUND = {60, 81, 36}  # UNKNOWN_TABLE, UNKNOWN_DATABASE, …: what ClickHouse answers with 404
BAD_REQUEST = {62, 47, 46, 43, 42, 386, 27, 38, 41, 53, 6, 26, 115}
INSERT = re.compile(rb"\s*(INSERT\s+INTO\s.{1,65536}?)\s+FORMAT\s+(\w+)(?:\s*$|[ \t]*\r?\n|\s)", re.I | re.S)
TOKEN = re.compile(r"'(?:[^'\\]|\\.|'')*'|`(?:[^`\\]|\\.|``)*`|\"(?:[^\"\\]|\\.|\"\")*\"|--[^\n]*|/\*.*?\*/|;|[^'`\";/-]+|.", re.S)


class QueryError(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def failure(error):
    text = str(error)
    code = re.search(r"Code: (\d+)", text)
    return QueryError(int(code.group(1)) if code else 1000, text)


def one_statement(text):
    """ClickHouse takes one statement a request; the engine in process would run several."""
    ended = False
    for token in TOKEN.findall(text):
        if ended and token.strip() and not token.startswith(("--", "/*")) and token != ";":
            raise QueryError(62, "Code: 62. DB::Exception: Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)")
        ended = ended or token == ";"


def literal(value):
    return value if re.fullmatch(r"-?\d{1,18}(\.\d+)?", value) else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


# The engine takes a str. Bytes that are none stand in literals only, where \\x… says the same.
codecs.register_error("hex-escape", lambda error: ("".join(f"\\x{b:02x}" for b in error.object[error.start:error.end]), error.end))


class Engine:
    def __init__(self, folder):
        self.folder = folder
        self.first = chdb.connect(folder)  # keeps the engine while requests come and go
        self.lock = threading.Lock()
        self.idle = {}  # (database, settings) -> connections
        self.version = self.first.query("SELECT version()", "TabSeparated").bytes().decode().strip()

    def connect(self, database, settings):
        connection = chdb.connect(self.folder)
        if database:
            connection.query(f"USE `{database.replace('`', '``')}`")
        # Read-only last: it forbids further settings.
        for name, value in sorted(settings.items(), key=lambda s: s[0] == "readonly"):
            if not re.fullmatch(r"\w+", name):
                raise QueryError(115, f"Code: 115. DB::Exception: Unknown setting {name}. (UNKNOWN_SETTING)")
            connection.query(f"SET {name} = {literal(value)}")
        return connection

    def run(self, statement, database, settings, default_format):
        kind = (database, tuple(sorted(settings.items())))
        try:
            with self.lock:
                waiting = self.idle.get(kind)
                connection = waiting.pop() if waiting else None
            connection = connection or self.connect(database, settings)  # 20 ms
            insert = INSERT.match(statement)
            if insert and insert.group(2).lower() != b"values":
                answer = self.insert(connection, insert, statement[insert.end():])
            else:
                text = statement.decode("utf-8", "hex-escape")
                one_statement(text)
                answer = connection.query(text, default_format).bytes()
        except QueryError:
            raise
        except Exception as error:  # ChdbError and RuntimeError, by version
            raise failure(error) from None
        # One that failed is not asked again, and a USE or SET in a statement must not reach the next.
        if not re.match(rb"\s*(USE|SET)\b", statement, re.I):
            with self.lock:
                self.idle.setdefault(kind, []).append(connection)
        return answer

    @staticmethod
    def insert(connection, insert, data):
        """From a file: the engine's streaming insert does not report what goes wrong in a materialized view."""
        if not data:
            return b""
        with tempfile.NamedTemporaryFile(prefix="wherefore-chdb-") as file:
            file.write(data)
            file.flush()
            connection.query(f"{insert.group(1).decode()} FROM INFILE '{file.name}' FORMAT {insert.group(2).decode()}")
        return b""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    engine = None

    def log_message(self, *_):
        pass

    def body(self):
        data = b""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            data = b"".join(pieces)
        elif length := int(self.headers.get("Content-Length") or 0):
            data = self.rfile.read(length)
        if self.headers.get("Content-Encoding", "").lower() == "gzip":
            data = gzip.decompress(data)
        return data

    def answer(self, status, body, headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-ClickHouse-Server-Display-Name", "chdb")
        self.send_header("X-ClickHouse-Timezone", "UTC")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def is_allowed(self, parameters):
        user = self.headers.get("X-ClickHouse-User") or parameters.get("user") or "default"
        password = self.headers.get("X-ClickHouse-Key") or parameters.get("password") or ""
        basic = self.headers.get("Authorization", "")
        if basic.startswith("Basic "):
            user, _, password = base64.b64decode(basic[6:]).decode().partition(":")
        return user == "default" and password == ""

    def serve(self):
        body = self.body()
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/ping":
            return self.answer(200, b"Ok.\n")
        if url.path not in ("/", ""):
            return self.answer(404, b"There is no handle " + url.path.encode() + b"\n")
        parameters = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True, encoding="utf-8", errors="surrogateescape"))
        if not self.is_allowed(parameters):
            return self.answer(403, b"Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)\n",
                               [("X-ClickHouse-Exception-Code", "516")])
        statement = parameters.get("query", "").encode("utf-8", "surrogateescape")
        statement += (b"\n" if statement and body else b"") + body
        if not statement.strip():
            return self.answer(200, b"Ok.\n")
        settings = {k: v for k, v in parameters.items() if k not in TRANSPORT}
        if self.command == "GET":
            settings.setdefault("readonly", "2")
        query_id = parameters.get("query_id") or str(uuid.uuid4())
        try:
            rows = self.engine.run(statement, parameters.get("database", ""), settings,
                                   parameters.get("default_format") or self.headers.get("X-ClickHouse-Format") or "TabSeparated")
        except QueryError as error:
            status = 404 if error.code in NOT_FOUND else 400 if error.code in BAD_REQUEST else 500
            text = str(error).rstrip() + f" (version {self.engine.version})\n"
            return self.answer(status, text.encode(), [("X-ClickHouse-Exception-Code", str(error.code)),
                                                       ("X-ClickHouse-Query-Id", query_id)])
        return self.answer(200, rows, [("X-ClickHouse-Query-Id", query_id),
                                       ("X-ClickHouse-Summary", json.dumps({"result_bytes": str(len(rows))}))])

    do_GET = do_POST = do_HEAD = serve


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a client that went away


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--data")
    chosen = arguments.parse_args()
    own = None if chosen.data else tempfile.mkdtemp(prefix="wherefore-chdb-")
    Handler.engine = Engine(chosen.data or own)
    server = Server(("127.0.0.1", chosen.port), Handler)

    def leave(*_):
        if own:
            shutil.rmtree(own, ignore_errors=True)
        os._exit(0)  # the engine's threads need no farewell

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    print(f"listening on 127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        while sys.stdin.buffer.read(65536):
            pass
    except OSError:
        while True:
            time.sleep(3600)
    leave()


if __name__ == "__main__":
    main()
