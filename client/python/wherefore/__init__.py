"""Query a wherefore server from Python: traces, features over many traces, datasets.

    import wherefore
    server = wherefore.connect()                       # $WHEREFORE_STORE, or http://127.0.0.1:8642
    for found in server.traces(service="frontend", min_duration="250ms"):
        print(found["trace_id"], found["duration_ns"])
    trace = server.trace("4bf92f3577b34da6a3ce929d0e0e4736")
    table = server.map(lambda t: {"blocks": len(t.blocks)}, server.traces(limit=100))

Only the standard library is needed. With pandas installed, Table.to_pandas() returns a DataFrame.
"""
from .client import Server, ServerError, connect
from .table import Table
from .trace import Block, Edge, Point, Trace, Unit

__all__ = ["Block", "Edge", "Point", "Server", "ServerError", "Table", "Trace", "Unit", "connect"]
__version__ = "0.1.0"
