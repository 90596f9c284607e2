"""Today's ClickHouse for a test: chdb_server.py in the Python that tools/setup test made, one node.

    with Chdb() as server:
        server.url("database")   # what --store takes
"""
import os
import subprocess
import urllib.request

SOURCE = os.environ.get("WHEREFORE_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PYTHON = os.path.join(SOURCE, "build", "python", "bin", "python")
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chdb_server.py")


class Chdb:
    def __init__(self):
        if not os.path.exists(PYTHON):
            raise RuntimeError(f"{PYTHON} is not there: run tools/setup test")
        # It ends when its standard input does: with us, whatever becomes of us.
        self.process = subprocess.Popen([PYTHON, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on "):
            raise RuntimeError(f"chdb_server.py did not start: {line!r}")
        self.address = line.split()[-1]

    def url(self, database="wherefore"):
        return f"clickhouse://{self.address}/{database}"

    def ask(self, sql):
        """The bytes of the answer."""
        with urllib.request.urlopen(f"http://{self.address}/", data=sql.encode(), timeout=60) as answer:
            return answer.read()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
