#!/usr/bin/env python3
"""The whole gateway beside nginx, in one run on this machine's loopback.

1. Forward: requests per second of nginx `proxy_pass` (two workers, reuseport, kept upstream
   connections), of the gateway unpaid (a test-only lane that charges and counts nothing), of its
   `:free` variant counted on SQLite and in Redis, and of the gateway paid with Credits on SQLite
   and on PostgreSQL, by 1,000 accounts over 64, 256 and 512 connections, rounds alternating,
   medians, ratios, and the CPU that each kind of thread took; fdatasync p50 of the disk beside
   them. PostgreSQL has been running for a while: its log is written over old segments, where a
   new server fills each with zeros first.
2. Hold: memory and threads of the gateway with 10,000 idle connections, and with 10,000 calls in
   flight on an upstream that takes a second.

Load is bounded: SECONDS_EACH (3) seconds a cell, after one that is not counted (leases grow with
the rate of their account, and end where it rests), ROUNDS (3) rounds. Needs nginx and wrk.
"""

import asyncio
import collections
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from gateway import BUILD, Gateway, Postgres, Redis  # noqa: E402: the path is set above

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS_EACH = int(os.environ.get("SECONDS_EACH", "3"))
WARMING_SECONDS = 1
HELD = int(os.environ.get("HELD", "10000"))
ACCOUNTS = int(os.environ.get("ACCOUNTS", "1000"))
SEGMENTS = 64  # of 16 MB
CONNECTIONS = [int(each) for each in os.environ.get("CONNECTIONS", "64 256 512").split()]
BODY = '{"data":"' + "x" * 1010 + '"}'
UNPAID = ("X-Test-Unpaid", "1")

REGISTRY = """
provider: {{key: bench, name: Bench, base_path: /v1/gateway/bench}}
prices: {{bench.standard: {{version: 1, credit_cost: 1}}}}
free_policies:
  bench.free: {{window: {{limit: 2000000000, seconds: 86400}}, concurrency: 100000,
               quota: {{limit: 2000000000, seconds: 31536000}}}}
upstreams:
  bench:
    plugin: http
    settings: {{base_url: "http://{address}", prefix: /v1/gateway/bench,
               allow_private_addresses: true, connections_max: {connections}}}
defaults: {{price: bench.standard, free: bench.free}}
routes: [{{path: /item}}]
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Nginx:
    def __init__(self, workers, server):
        self.directory = tempfile.TemporaryDirectory(prefix="turnpike-nginx-")
        base = self.directory.name
        temporary = "\n".join(f"{kind}_temp_path {base}/{kind};" for kind in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        pathlib.Path(base, "conf").write_text(
            f"daemon off; worker_processes {workers}; worker_rlimit_nofile 16384;\n"
            f"pid {base}/pid; error_log {base}/log;\nevents {{ worker_connections 8192; }}\n"
            f"http {{ access_log off; keepalive_requests 100000000; {temporary}\n{server} }}\n")
        self.process = subprocess.Popen(["nginx", "-p", base, "-c", f"{base}/conf"])

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()


def bench_gateway(address, *, connections, postgres_url=None, credits=0, accounts=0, settings=()):
    """A started gateway with the http provider and the unpaid lane, and the keys of its callers."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="turnpike-bench-"))
    (scratch / "registry").mkdir()
    (scratch / "plugins").mkdir(mode=0o755)
    for plugin in (BUILD / "plugins" / "http.so",
                   BUILD / "tests" / "fixtures" / "plugins" / "good" / "unpaid_lane.so"):
        (scratch / "plugins" / plugin.name).write_bytes(plugin.read_bytes())
    (scratch / "registry" / "bench.yaml").write_text(
        REGISTRY.format(address=address, connections=connections))
    gateway = Gateway(registry=scratch / "registry", plugins=scratch / "plugins",
                      postgres_url=postgres_url,
                      settings=["limits.connections_max=40000",
                                "limits.calls_per_upstream_max=40000", *settings])
    made = [BUILD / "benchmarks" / "bench_accounts", str(accounts), str(credits),
            ROOT / "config" / "turnpike.yaml"]
    for setting in gateway.settings:
        made += ["--set", setting]
    keys = subprocess.run(made, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return gateway.start(), keys


def wrk(connections, url, script, seconds):
    output = subprocess.run(
        ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "-s", script, url],
        capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        print(output, file=sys.stderr)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))


def cpu_us(process, name=None):
    """What each kind of thread of the process has used, or all of its children together."""
    ticks = collections.Counter()
    pids = [process.pid]
    if name:
        pids = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for pid in pids:
        for stat in pathlib.Path(f"/proc/{pid}").glob("task/*/stat"):
            try:
                thread, _, fields = stat.read_text().partition("(")[2].rpartition(") ")
            except OSError:  # it has ended
                continue
            user, system = fields.split()[11:13]
            ticks[name or thread.rstrip("-0123456789")] += int(user) + int(system)
    return collections.Counter({key: value * 1e6 / os.sysconf("SC_CLK_TCK")
                                for key, value in ticks.items()})


class Side:
    """One side, what it is asked and by whom, and what it has shown so far."""

    def __init__(self, url, script, gateway=None, postgres=None):
        self.url, self.script, self.gateway, self.postgres = url, script, gateway, postgres

    def cpu_us(self):
        used = cpu_us(self.gateway.process) if self.gateway else collections.Counter()
        return used + cpu_us(self.postgres.process, "PostgreSQL") if self.postgres else used

    def begin(self, connections):
        self.connections = connections
        self.rates = []
        self.used_us = collections.Counter()

    def run(self):
        wrk(self.connections, self.url, self.script, WARMING_SECONDS)
        before = self.cpu_us()
        self.rates.append(wrk(self.connections, self.url, self.script, SECONDS_EACH))
        self.used_us += self.cpu_us() - before

    def rate(self):
        return statistics.median(self.rates)

    def profile(self):
        calls = sum(self.rates) * SECONDS_EACH
        return ", ".join(f"{thread} {used / calls:.1f}" for thread, used
                         in self.used_us.most_common() if used / calls >= 0.05)


def fdatasync_p50_us(directory):
    times = []
    with open(pathlib.Path(directory) / "fdatasync", "wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - started) * 1e6)
    return statistics.median(times)


def write_script(path, headers):
    """A wrk script that sends prepared requests in turn, one with each of the (name, value). All
    sides are driven by one like it, since a script costs its generator what it does not give."""
    listed = ",".join(f'{{["{name}"] = "{value}"}}' for name, value in headers)
    path.write_text(
        f"local headers = {{{listed}}}\nlocal requests = {{}}\nlocal at = 0\n"
        "function init(args)\n"
        '  for i, each in ipairs(headers) do requests[i] = wrk.format("GET", nil, each) end\n'
        "  at = math.random(#requests)\nend\n"
        "function request() at = at % #requests + 1; return requests[at] end\n")
    return str(path)


def scripts(directory, keys):
    """For callers without an account and for the holders of these keys."""
    return (write_script(pathlib.Path(directory, "unpaid.lua"), [UNPAID] * len(keys)),
            write_script(pathlib.Path(directory, "paid.lua"),
                         [("Authorization", f"Bearer {key}") for key in keys]))


def forward():
    upstream_port, proxy_port = free_port(), free_port()
    upstream = Nginx(1, f"server {{ listen 127.0.0.1:{upstream_port} reuseport backlog=4096;\n"
                        f"location / {{ default_type application/json; return 200 '{BODY}'; }} }}")
    proxy = Nginx(2, f"upstream origin {{ server 127.0.0.1:{upstream_port}; keepalive 512;"
                     " keepalive_requests 100000000; }\n"
                     f"server {{ listen 127.0.0.1:{proxy_port} reuseport backlog=4096;\n"
                     "location / { proxy_pass http://origin; proxy_http_version 1.1;"
                     " proxy_set_header Connection ''; } }")
    postgres = Postgres()
    redis = Redis()
    gateways = []
    try:
        address = f"127.0.0.1:{upstream_port}"
        sqlite, sqlite_keys = bench_gateway(address, connections=512, credits=10**9,
                                            accounts=ACCOUNTS)
        gateways.append(sqlite)
        database = postgres.new_database()
        recycle_segments(postgres, database)
        other, postgres_keys = bench_gateway(address, connections=512, credits=10**9,
                                             accounts=ACCOUNTS, postgres_url=database)
        gateways.append(other)
        counted, counted_keys = bench_gateway(
            address, connections=512, accounts=ACCOUNTS,
            settings=["free.store=redis", f"free.redis.url={redis.url}"])
        gateways.append(counted)
        target = "/v1/gateway/bench/item"
        url = {gateway: "http://%s:%d%s" % (*gateway.addresses["api"], target)
               for gateway in gateways}
        unpaid, sqlite_paid = scripts(sqlite.directory, sqlite_keys)
        _, postgres_paid = scripts(other.directory, postgres_keys)
        _, redis_free = scripts(counted.directory, counted_keys)
        sides = {
            "nginx proxy_pass": Side(f"http://127.0.0.1:{proxy_port}{target}", unpaid),
            "unpaid forward": Side(url[sqlite], unpaid, sqlite),
            "free, SQLite": Side(url[sqlite] + ":free", sqlite_paid, sqlite),
            "free, Redis": Side(url[counted] + ":free", redis_free, counted),
            "paid, SQLite": Side(url[sqlite], sqlite_paid, sqlite),
            "paid, PostgreSQL": Side(url[other], postgres_paid, other, postgres),
        }
        print(f"fdatasync p50 {fdatasync_p50_us(sqlite.directory):.0f} us, {ACCOUNTS} accounts, "
              f"{ROUNDS} rounds of {SECONDS_EACH} s")
        print(f"{'path':18} {'connections':>11} {'requests/s':>11} {'to nginx':>9} "
              f"{'to unpaid':>9} {'to :free':>9}   us of CPU a request, by thread")
        for connections in CONNECTIONS:
            for side in sides.values():
                side.begin(connections)
            for round_number in range(ROUNDS):
                for side in list(sides.values())[::1 if round_number % 2 == 0 else -1]:
                    side.run()
            for name, side in sides.items():
                ratios = " ".join(f"{side.rate() / sides[to].rate():8.2f}x" for to in (
                    "nginx proxy_pass", "unpaid forward", "free, SQLite"))
                print(f"{name:18} {connections:11} {side.rate():11.0f} {ratios}   {side.profile()}")
    finally:
        for gateway in gateways:
            gateway.close()
        proxy.close()
        upstream.close()
        postgres.close()
        redis.stop()


def recycle_segments(postgres, url):
    """Leaves PostgreSQL with a gigabyte of old log to write over."""
    switches = "INSERT INTO used_up VALUES (1);\nSELECT pg_switch_wal();\n" * (SEGMENTS + 2)
    subprocess.run(
        [postgres.binaries / "psql", url, "-qAtX", "-v", "ON_ERROR_STOP=1"], check=True, text=True,
        stdout=subprocess.DEVNULL, input="ALTER SYSTEM SET min_wal_size = '1GB';\n"
        "ALTER SYSTEM SET max_wal_size = '4GB';\nSELECT pg_reload_conf();\n"
        f"CREATE TABLE used_up (number INT);\n{switches}DROP TABLE used_up;\nCHECKPOINT;\n")


def process_state(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return (int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024,
            int(re.search(r"Threads:\s+(\d+)", status).group(1)))


class SlowUpstream:
    """Answers a request a second after all of a wave have come, so that all are in flight."""

    def __init__(self, wave):
        self.wave = wave
        self.arrived = 0
        self.all_arrived = asyncio.Event()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=16384)
        return "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        reply = (f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                 f"Content-Length: {len(BODY)}\r\n\r\n{BODY}").encode()
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.arrived += 1
                if self.arrived == self.wave:
                    self.all_arrived.set()
                await self.all_arrived.wait()
                await asyncio.sleep(1)
                writer.write(reply)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass
        finally:
            writer.close()


async def connect_all(address, count):
    pairs = []
    for _ in range(count):
        pairs.append(await asyncio.open_connection(*address, limit=4096))
    return pairs


async def hold(held):
    upstream = SlowUpstream(held)
    gateway, _ = bench_gateway(await upstream.start(), connections=held)
    try:
        process = gateway.process
        request = (f"GET /v1/gateway/bench/item HTTP/1.1\r\nHost: b\r\n{UNPAID[0]}: 1\r\n\r\n"
                   ).encode()
        await asyncio.to_thread(gateway.get, "/healthz")
        idle_memory, idle_threads = process_state(process)
        pairs = await connect_all(gateway.addresses["api"], held)
        memory, threads = process_state(process)
        print(f"{held} idle connections: {memory - idle_memory:+.0f} MB, "
              f"{threads - idle_threads:+d} threads (one idle gateway: {idle_memory:.0f} MB, "
              f"{idle_threads} threads)")
        for _, writer in pairs:
            writer.write(request)
        await asyncio.wait_for(upstream.all_arrived.wait(), timeout=25)
        memory, threads = process_state(process)
        started = time.perf_counter()
        other = await asyncio.to_thread(gateway.get, "/healthz")
        health_ms = (time.perf_counter() - started) * 1e3
        statuses = {}
        for reader, _ in pairs:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"Content-Length: (\d+)", head).group(1)))
            status = int(head.split()[1])
            statuses[status] = statuses.get(status, 0) + 1
        print(f"{held} calls in flight: {memory - idle_memory:+.0f} MB, "
              f"{threads - idle_threads:+d} threads; another caller meanwhile: {other.status} in "
              f"{health_ms:.0f} ms; their replies: {statuses}")
        for _, writer in pairs:
            writer.close()
    finally:
        gateway.close()


def raise_descriptor_limit():
    """As far as the system lets us; the gateway started from here inherits it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(hard, 3 * HELD)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
    except ValueError:  # only some may raise the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def main():
    # A call in flight takes two descriptors, here and there.
    held = min(HELD, (raise_descriptor_limit() - 600) // 2)
    forward()
    asyncio.run(hold(held))


if __name__ == "__main__":
    main()
