"""Measures what the door to the network costs: the same requests without it, passed through it, looked into by it, and by Squid with
ssl-bump and mitmproxy, in turns.

    tests/bench/egress.py [--rounds N] [--only WAY]

Needs nginx, squid-openssl and mitmproxy of Debian; ways whose program is missing are left out and named. The client is the same
program everywhere, in a session for hutch's and beside it for the others; milliseconds are medians of one request at a time.
At the end: what it costs sessions that are granted nothing.
"""

import argparse
import contextlib
import json
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from hutch_client import Client  # noqa: E402

SMALL, LARGE = 1000, 30_000_000

CLIENT = r'''
import http.client, json, ssl, sys, threading, time
host, port, proxy, path, kept, requests, at_once = json.loads(sys.argv[1])
context = ssl.create_default_context()

def connect():
    if not proxy:
        return http.client.HTTPSConnection(host, port, context=context)
    connection = http.client.HTTPSConnection(*proxy, context=context)
    connection.set_tunnel(host, port)
    return connection

def ask(connection):
    began = time.perf_counter()
    connection.request("GET", path)
    answer, got = connection.getresponse(), 0
    while part := answer.read(1 << 18):
        got += len(part)
    assert answer.status == 200, answer.status
    return (time.perf_counter() - began) * 1000, got

def work(into):
    connection = connect() if kept else None
    if kept: ask(connection)
    for _ in range(requests):
        if not kept:
            began = time.perf_counter()
            connection = connect()
            got = ask(connection)[1]
            connection.close()
            into.append(((time.perf_counter() - began) * 1000, got))
        else:
            into.append(ask(connection))

all = [[] for _ in range(at_once)]
threads = [threading.Thread(target=work, args=(into,)) for into in all]
began = time.perf_counter()
for thread in threads: thread.start()
for thread in threads: thread.join()
seconds = time.perf_counter() - began
ms = [one[0] for into in all for one in into]
assert len(ms) == requests * at_once
print(json.dumps({"ms": ms, "bytes": sum(one[1] for into in all for one in into), "seconds": seconds}))
'''

# path, on a connection that is kept, requests, at once
CASES = {
    "1 kB, kept": ("/small", True, 200, 1),
    "1 kB, new": ("/small", False, 60, 1),
    "1 kB, kept, 50 at once": ("/small", True, 20, 50),
    "1 kB, new, 50 at once": ("/small", False, 4, 50),
    "30 MB": ("/large", True, 6, 1),
    "30 MB, 50 at once": ("/large", True, 1, 50),
}
# It takes minutes a round.
TOO_LONG = {("30 MB, 50 at once", "mitmproxy")}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def wait_for_port(port, process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise SystemExit(f"{process.args[0]} does not answer")


@contextlib.contextmanager
def running(port, *command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield
    finally:
        process.terminate()
        process.wait(60)


def make_certificate(folder, name, *further):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", *further, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"],
                   check=True, capture_output=True)


@contextlib.contextmanager
def origin(folder):
    """nginx, which costs next to nothing; its certificate is for both names that clients use."""
    make_certificate(folder, "origin", "-addext", "subjectAltName=DNS:api.test,DNS:localhost")
    (folder / "small").write_bytes(b"x" * SMALL)
    (folder / "large").write_bytes(b"x" * LARGE)
    port = free_port()
    (folder / "nginx.conf").write_text(f"""
daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 100000; sendfile on; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
  fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port} ssl; root {folder}; ssl_certificate {folder}/origin.pem; ssl_certificate_key {folder}/origin.key; }} }}
""")
    folder.chmod(0o755)
    with running(port, "nginx", "-c", str(folder / "nginx.conf")):
        yield port


@contextlib.contextmanager
def squid(folder):
    make_certificate(folder, "squid", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    (folder / "squid-both.pem").write_text((folder / "squid.key").read_text() + (folder / "squid.pem").read_text())
    helper = "/usr/lib/squid/security_file_certgen"
    subprocess.run([helper, "-c", "-s", folder / "squid-certificates", "-M", "4MB"], check=True, capture_output=True)
    port = free_port()
    (folder / "squid.conf").write_text(f"""
http_port 127.0.0.1:{port} ssl-bump cert={folder}/squid-both.pem generate-host-certificates=on dynamic_cert_mem_cache_size=4MB
sslcrtd_program {helper} -s {folder}/squid-certificates -M 4MB
acl first at_step SslBump1
ssl_bump peek first
ssl_bump bump all
tls_outgoing_options cafile={folder}/origin.pem
http_access allow all
cache deny all
access_log none
cache_log {folder}/squid.log
pid_filename {folder}/squid.pid
coredump_dir {folder}
""")
    for file in [folder, *folder.rglob("squid*")]:
        shutil.chown(file, "proxy", "proxy")
    with running(port, "squid", "-N", "-f", str(folder / "squid.conf")):
        yield port, folder / "squid.pem"


@contextlib.contextmanager
def mitmproxy(folder):
    port, place = free_port(), folder / "mitmproxy"
    with running(port, "mitmdump", "-q", "--listen-host", "127.0.0.1", "-p", str(port), "--set", f"confdir={place}",
                 "--set", f"ssl_verify_upstream_trusted_ca={folder}/origin.pem"):
        yield port, place / "mitmproxy-ca-cert.pem"


def beside(port, proxy=None, certificate=None):
    def ask(path, kept, requests, at_once):
        arguments = json.dumps(["localhost", port, proxy and ["127.0.0.1", proxy], path, kept, requests, at_once])
        done = subprocess.run(["/usr/bin/python3", "-c", CLIENT, arguments], env={"SSL_CERT_FILE": str(certificate), "PATH": "/usr/bin"},
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)
    return ask


def within(stack, folder, port, rule):
    """In a session that may reach it by this rule."""
    config = folder / f"{len(rule)}.toml"
    rates = "requests_per_second = 1000000\nprincipal_requests_per_second = 1000000\n"
    config.write_text(f'[network]\nallow = ["{rule}"]\n{rates}[network.addresses]\n"api.test" = "127.0.0.1"\n')
    state = stack.enter_context(tempfile.TemporaryDirectory(prefix="hutch-bench-"))
    client = stack.enter_context(Client(state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(folder / "origin.pem")}))
    session = client.call("create_session", template="host")["session_id"]
    client.call("write_file", session_id=session, path="client.py", content=CLIENT)

    def ask(path, kept, requests, at_once):
        arguments = json.dumps(["api.test", port, None, path, kept, requests, at_once])
        run = client.run(f"python3 client.py '{arguments}'", "bash", session_id=session)
        if run["status"] != "completed":
            raise SystemExit(f"in a session: {run}")
        return json.loads(run["stdout"])
    return ask


def session_ms(client, **options):
    began = time.perf_counter()
    session = client.call("create_session", template="host", **options)["session_id"]
    assert client.run("print(1)", session_id=session)["stdout"] == "1\n"
    client.call("delete_session", session_id=session)
    return (time.perf_counter() - began) * 1000


def doors_of(state):
    """hutch-egress is started with its directory, which is in the state directory."""
    commands = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return sum(b"hutch-egress" in command and str(state).encode() in command for command in commands)


def compare_closed(folder, rounds):
    """A session that is granted nothing, where others may be granted something, beside one where nobody is."""
    config = folder / "granting.toml"
    config.write_text('[network]\nallow = ["api.test:9"]\n[network.addresses]\n"api.test" = "127.0.0.1"\n')
    with contextlib.ExitStack() as stack:
        states = [stack.enter_context(tempfile.TemporaryDirectory(prefix="hutch-bench-")) for _ in range(2)]
        none = stack.enter_context(Client(states[0]))
        granting = stack.enter_context(Client(states[1], env={"HUTCH_CONFIG": str(config)}))
        ways = {"nothing to grant": lambda: session_ms(none), "granted nothing": lambda: session_ms(granting, network={"allow": []})}
        seen = {name: [] for name in ways}
        for number in range(20 * rounds):
            for name, ask in ways.items():
                seen[name].append(ask())
        first = None
        for name, values in seen.items():
            median = statistics.median(values)
            first = first or median
            print(f"{'create, print, delete':<24} {name:<17} {median:8.2f} ms   {median / first:5.2f}")
        print(f"processes of the door: {doors_of(states[0])} and {doors_of(states[1])}; with a session that is granted a host: ", end="")
        granting.run("print(1)")
        print(doors_of(states[1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", help="this way, beside the direct one")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hutch-bench-")))
        port = stack.enter_context(origin(folder))
        ways = {"direct": beside(port, None, folder / "origin.pem"),
                "passed through": within(stack, folder, port, f"api.test:{port}"),
                "looked into": within(stack, folder, port, f"GET api.test:{port}/*")}
        for name, program, make in (("squid", "squid", squid), ("mitmproxy", "mitmdump", mitmproxy)):
            if not shutil.which(program):
                print(f"{name} is left out: there is no {program}")
            elif not options.only or name in options.only:
                proxy, certificate = stack.enter_context(make(folder))
                ways[name] = beside(port, proxy, certificate)
        if options.only:
            ways = {name: way for name, way in ways.items() if name in ("direct", *options.only)}
        seen = {case: {name: [] for name in ways} for case in CASES}
        for number in range(options.rounds + 1):
            for case, what in CASES.items():
                for name, ask in ways.items():
                    if (case, name) in TOO_LONG:
                        continue
                    answer = ask(*what)
                    if number > 0:  # the first is for certificates that are made once
                        seen[case][name].append(answer)
        report(seen)
        compare_closed(folder, options.rounds)


def report(seen):
    for case, ways in seen.items():
        direct = None
        for name, answers in ways.items():
            if not answers:
                continue
            ms = statistics.median(value for answer in answers for value in answer["ms"])
            rate = statistics.median(answer["bytes"] / answer["seconds"] / 1e6 for answer in answers)
            direct = direct or (ms, rate)
            if case.startswith("30 MB"):
                print(f"{case:<24} {name:<15} {rate:8.0f} MB/s   {rate / direct[1]:5.2f} of direct")
            else:
                print(f"{case:<24} {name:<15} {ms:8.2f} ms     {ms - direct[0]:+7.2f} ms")


if __name__ == "__main__":
    main()
