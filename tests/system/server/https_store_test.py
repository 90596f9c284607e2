"""--store https://: a TLS end in front of a real server, as a reverse proxy is. The command line asks through it, sends
WHEREFORE_TOKEN, and refuses a certificate that nobody it trusts has signed."""
import os
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import Server, check, cli, equal, folder, run, write

seen = []  # what the proxy forwarded, in clear


def certificate():
    where = folder("tls")
    os.makedirs(where, exist_ok=True)
    key, cert = os.path.join(where, "key.pem"), os.path.join(where, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "1", "-subj", "/CN=wherefore test",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    return key, cert


def copy(source, sink, keep=None):
    try:
        while data := source.recv(65536):
            if keep is not None:
                keep.append(data)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side went away: what is left to copy has no reader


def proxy(address, key, cert):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            plain, _ = listener.accept()
            try:
                client = context.wrap_socket(plain, server_side=True)
            except (ssl.SSLError, OSError):
                plain.close()
                continue
            server = socket.create_connection(address)
            threading.Thread(target=copy, args=(client, server, seen), daemon=True).start()
            threading.Thread(target=copy, args=(server, client), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return f"https://localhost:{listener.getsockname()[1]}"


SPAN = ('{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"till"}}]},'
        '"scopeSpans":[{"spans":[{"traceId":"000000000000000000000000000000aa","spanId":"00000000000000bb",'
        '"name":"pay","kind":2,"startTimeUnixNano":"1000","endTimeUnixNano":"5000"}]}]}]}')


def through_tls():
    key, cert = certificate()
    with Server() as server:
        url = proxy(server.address("http"), key, cert)
        trusting = {"SSL_CERT_FILE": cert, "WHEREFORE_TOKEN": server.token}
        imported = cli("import", write("span.json", SPAN), store=url, env=trusting)
        equal("import through https", imported.code, 0)
        asked = cli("trace", "aa", store=url, env=trusting)
        equal("an answer through https is the server's, byte for byte", asked.out,
              server.get("/api/v1/trace/000000000000000000000000000000aa").body)
        check("WHEREFORE_TOKEN is sent as a bearer token",
              any(("Bearer " + server.token).encode() in data for data in seen), seen[:2])
        stranger = cli("traces", store=url, env={"WHEREFORE_TOKEN": "not-the-token"})
        equal("a certificate nobody trusts: exit 3", stranger.code, 3)
        check("… and the reason names it", "certificate" in stranger.error["message"], stranger)
        check("… and nothing was sent, the token least of all",
              not any(b"not-the-token" in data for data in seen), seen[-2:])


run(through_tls)
