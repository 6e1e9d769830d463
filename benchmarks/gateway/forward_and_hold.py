#!/usr/bin/env python3
"""Compares the whole gateway with nginx, in one run on this machine's loopback.

1. Forward: requests per second of nginx `proxy_pass` (two workers, reuseport, kept upstream
   connections), of the same with Lua code that does in memory what `:free` does, of the gateway
   unpaid (a test-only lane that charges and counts nothing), of its `:free` variant counted on
   SQLite and in Redis, and of the gateway paid with Credits on SQLite and on PostgreSQL. Every side
   writes a log line for each request to a file; log_cost.py says what that costs. h2load drives one
   account and wrk drives 1,000, over 64 and 512 connections, in rounds of random order. Printed are
   medians, the medians of the ratios within a round, the CPU of each kind of thread, system calls,
   and the disk's fdatasync p50. PostgreSQL is prepared as if it had run for a while: its log
   overwrites old segments, whereas a new server fills each segment with zeros first.
2. Hold: memory and threads of the gateway with 10,000 idle connections, and with 10,000 calls in
   flight on an upstream that takes a second.

Load is bounded: SECONDS_EACH (2) seconds per cell and ROUNDS (3) rounds, five and a half minutes in
all. Before each cell of paid calls there is a run that is not counted, because leases grow with the
rate of their account and end when it rests. Needs nginx with Lua, wrk, h2load and, for system
calls, perf. SIDES, names with semicolons between them, drives some sides alone (and holds nothing):
with more rounds of those, smaller differences can be told from the machine's noise. STARTS (1)
starts all servers that many times, with ROUNDS rounds each: two processes of one program can differ
for as long as they live.
"""

import asyncio
import collections
import os
import pathlib
import random
import re
import resource
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from driving import (  # noqa: E402: the path is set above
    CALLS_SHOWN, NoCounts, children, cpu_us, h2load, new_scratch, system_calls, write_script, wrk)
from gateway import BUILD, Gateway, Postgres, Redis  # noqa: E402
from nginx_sides import Nginx, proxy, proxy_with_lua, upstream  # noqa: E402

STARTS = int(os.environ.get("STARTS", "1"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS_EACH = int(os.environ.get("SECONDS_EACH", "3"))  # for the other comparisons
FORWARD_SECONDS = int(os.environ.get("SECONDS_EACH", "2"))
WARMING_SECONDS = 1
HELD = int(os.environ.get("HELD", "10000"))
ACCOUNTS = int(os.environ.get("ACCOUNTS", "1000"))
SEGMENTS = 64  # of 16 MB each
SIDES = set(filter(None, os.environ.get("SIDES", "").split(";")))
CONNECTIONS = [int(each) for each in os.environ.get("CONNECTIONS", "64 512").split()]
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


def bench_gateway(address, *, connections, postgres_url=None, credits=0, accounts=0, settings=()):
    """A started gateway with the http provider and the unpaid lane, and its callers' keys."""
    scratch = new_scratch()
    (scratch / "registry").mkdir()
    (scratch / "plugins").mkdir(mode=0o755)
    for plugin in (BUILD / "plugins" / "http.so",
                   BUILD / "tests" / "fixtures" / "plugins" / "good" / "unpaid_lane.so"):
        (scratch / "plugins" / plugin.name).write_bytes(plugin.read_bytes())
    (scratch / "registry" / "bench.yaml").write_text(
        REGISTRY.format(address=address, connections=connections))
    gateway = Gateway(registry=scratch / "registry", plugins=scratch / "plugins",
                      postgres_url=postgres_url,
                      settings=["limits.connections_max=40000", "log.level=info",
                                "limits.calls_per_upstream_max=40000", *settings])
    made = [BUILD / "benchmarks" / "bench_accounts", str(accounts), str(credits),
            ROOT / "config" / "turnpike.yaml"]
    for setting in gateway.settings:
        made += ["--set", setting]
    keys = subprocess.run(made, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return gateway.start(), keys


class Side:
    """One side, how it is driven, and what was measured so far."""

    def __init__(self, name, url, unpaid, script, server, postgres=None, is_costly=False):
        self.name, self.url, self.script, self.server = name, url, script, server
        self.postgres = postgres
        self.headers = [UNPAID] if unpaid is None else [("Authorization", f"Bearer {unpaid}")]
        self.is_costly = is_costly  # driven only by wrk, to save time

    def pids(self):
        # nginx's master does no work; its workers are its children.
        is_nginx = isinstance(self.server, Nginx)
        return children(self.server.process) if is_nginx else [self.server.process.pid]

    def cpu_us(self):
        used = cpu_us(self.pids())
        if self.postgres is None:
            return used
        return used + cpu_us(children(self.postgres.process), "PostgreSQL")

    def begin(self, tool, connections):
        self.tool, self.connections = tool, connections
        self.rates, self.requests, self.others = [], 0, 0
        self.used_us = collections.Counter()

    def drive(self, seconds):
        if self.tool == "wrk":
            return wrk(self.connections, self.url, self.script, seconds)
        return h2load(self.connections, self.url, self.headers, seconds)

    def warm(self):
        if self.name.startswith("paid"):
            self.drive(WARMING_SECONDS)

    def run(self):
        self.warm()
        before = self.cpu_us()
        load = self.drive(FORWARD_SECONDS)
        self.used_us += self.cpu_us() - before
        self.rates.append(load.rate)
        self.requests += load.requests
        self.others += load.others
        self.empty_log()

    def system_calls(self):
        self.warm()
        counts = system_calls(self.pids(), lambda: self.drive(1))
        self.empty_log()
        return counts

    def empty_log(self):
        """Empties the log, which is opened for appending, so that the ledger has the disk to
        itself."""
        is_nginx = isinstance(self.server, Nginx)
        os.truncate(self.server.log if is_nginx else self.server.directory / "log", 0)

    def rate(self):
        return statistics.median(self.rates)

    def ratios_to(self, other):
        """Ratios within a round: the machine's speed varies between rounds."""
        return [mine / its for mine, its in zip(self.rates, other.rates)]

    def ratio_to(self, other):
        return statistics.median(self.ratios_to(other))

    def profile(self):
        each = {thread: used / self.requests for thread, used in self.used_us.most_common()}
        listed = ", ".join(f"{thread} {us:.1f}" for thread, us in each.items() if us >= 0.05)
        return f"{sum(each.values()):5.1f}: {listed}"


def fdatasync_p50_us(directory):
    times = []
    with open(pathlib.Path(directory) / "fdatasync", "wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - started) * 1e6)
    return statistics.median(times)


def scripts(directory, keys):
    """wrk scripts for callers without an account and for the holders of these keys."""
    return (write_script(pathlib.Path(directory, "unpaid.lua"), [UNPAID] * len(keys)),
            write_script(pathlib.Path(directory, "paid.lua"),
                         [("Authorization", f"Bearer {key}") for key in keys]))


class Sides:
    """All sides, each on servers of its own."""

    target = "/v1/gateway/bench/item"

    def __init__(self):
        self.servers = []
        self.listed = []
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def keep(self, server):
        self.servers.append(server)
        return server

    def gateway(self, address, **options):
        gateway, keys = bench_gateway(address, connections=512, accounts=ACCOUNTS, **options)
        self.keep(gateway)
        return gateway, keys, *scripts(gateway.directory, keys)

    def add(self, name, server, port_or_suffix, unpaid, script, **options):
        if isinstance(server, Nginx):
            url = f"http://127.0.0.1:{port_or_suffix}{self.target}"
        else:
            url = "http://%s:%d%s%s" % (*server.addresses["api"], self.target, port_or_suffix)
        self.listed.append(Side(name, url, unpaid, script, server, **options))

    def start(self):
        upstream_port, plain_port, lua_port = free_port(), free_port(), free_port()
        self.keep(upstream(upstream_port, BODY))
        address = f"127.0.0.1:{upstream_port}"
        sqlite, keys, unpaid, paid = self.gateway(address, credits=10**9)
        self.directory = sqlite.directory
        plain = self.keep(proxy(plain_port, upstream_port))
        lua = self.keep(proxy_with_lua(lua_port, upstream_port, sqlite.directory, keys))
        postgres = self.keep(Postgres())
        database = postgres.new_database()
        recycle_segments(postgres, database)
        other, other_keys, _, other_paid = self.gateway(address, credits=10**9,
                                                        postgres_url=database)
        redis = self.keep(Redis())
        counted, counted_keys, _, counted_paid = self.gateway(
            address, settings=["free.store=redis", f"free.redis.url={redis.url}"])
        self.add("nginx", plain, plain_port, None, unpaid)
        self.add("nginx + lua", lua, lua_port, keys[0], paid)
        self.add("unpaid", sqlite, "", None, unpaid)
        self.add(":free", sqlite, ":free", keys[0], paid)
        self.add("paid", sqlite, "", keys[0], paid)
        self.add(":free, Redis", counted, ":free", counted_keys[0], counted_paid, is_costly=True)
        self.add("paid, PostgreSQL", other, "", other_keys[0], other_paid, postgres=postgres,
                 is_costly=True)

    def driven_by(self, tool):
        return {side.name: side for side in self.listed
                if (tool == "wrk" or not side.is_costly) and (not SIDES or side.name in SIDES)}

    def close(self):
        for server in reversed(self.servers):
            server.stop() if isinstance(server, Redis) else server.close()


# Required ratios: the two sides, and the minimum over 64 and over 512 connections.
ASKED = ((":free", "nginx + lua", (1.0, 1.0)), ("paid", ":free", (0.6, 0.75)))
COLUMNS = ("nginx", "nginx + lua", "unpaid", ":free")


def compare_sides(sides, tool, connections):
    for side in sides.values():
        side.begin(tool, connections)
    for _ in range(ROUNDS):
        # In random order, since it may matter which side ran before.
        for side in random.sample(list(sides.values()), len(sides)):
            side.run()
    accounts = 1 if tool == "h2load" else ACCOUNTS
    print(f"\n{tool}, {accounts} account{'s' if accounts > 1 else ''}, {connections} connections\n"
          f"{'side':17} {'requests/s':>10} {'to nginx':>9} {'to n.+lua':>9} {'to unpaid':>9} "
          f"{'to :free':>9}  us of CPU a request, by thread")
    for name, side in sides.items():
        ratios = " ".join(f"{side.ratio_to(sides[to]):8.2f}x" if to in sides else f"{'-':>9}"
                          for to in COLUMNS)
        print(f"{name:17} {side.rate():10.0f} {ratios} {side.profile()}"
              f"{f'  NOT 2xx: {side.others}' if side.others else ''}", flush=True)
    return {(tool, connections, one, to): sides[one].ratios_to(sides[to])
            for one, to, _ in ASKED if one in sides and to in sides}


def print_ratios(measured):
    print("\nmedians of ratios within a round, their quartiles, and what is asked for")
    for one, to, least in ASKED:
        for tool, connections in dict.fromkeys(k[:2] for k in measured if k[2:] == (one, to)):
            ratios = measured[tool, connections, one, to]
            ratio = statistics.median(ratios)
            low, _, high = statistics.quantiles(ratios) if len(ratios) > 1 else [ratio] * 3
            wanted = least[0 if connections < 256 else 1]
            print(f"{one + ' to ' + to:28} {tool:6} {connections:4} connections {ratio:6.3f}x "
                  f"({low:.2f} to {high:.2f})  {wanted:.2f}x "
                  f"{'yes' if ratio >= wanted else 'NO'}")


def print_system_calls(sides, connections):
    shown = ("all", *CALLS_SHOWN, "recvfrom in vain")
    print(f"\nsystem calls a request, h2load, 1 account, {connections} connections")
    print(f"{'side':17}" + "".join(f" {name.rpartition(' ')[2]:>10}" for name in shown))
    for side in sides:
        side.begin("h2load", connections)
        try:
            counts = side.system_calls()
        except NoCounts as problem:
            print(f"not counted: {problem}")
            return
        print(f"{side.name:17}" + "".join(f" {counts[name]:10.2f}" for name in shown), flush=True)


def forward_once(ratios):
    """Starts all servers, drives the sides, and adds the ratios of each pair of sides."""
    sides = Sides()
    try:
        if unknown := SIDES - {side.name for side in sides.listed}:
            sys.exit(f"SIDES names {unknown}; there are {[side.name for side in sides.listed]}")
        print(f"fdatasync p50 {fdatasync_p50_us(sides.directory):.0f} us, "
              f"{ROUNDS} rounds of {FORWARD_SECONDS} s")
        for tool in ("h2load", "wrk"):
            for connections in CONNECTIONS:
                compared = compare_sides(sides.driven_by(tool), tool, connections)
                for pair, its_ratios in compared.items():
                    ratios[pair] += its_ratios
        if not SIDES:
            print_system_calls(sides.listed, CONNECTIONS[0])
    finally:
        sides.close()


def forward():
    ratios = collections.defaultdict(list)
    for _ in range(STARTS):
        forward_once(ratios)
    print_ratios(ratios)


def recycle_segments(postgres, url):
    """Leaves PostgreSQL with a gigabyte of old log to overwrite."""
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
    """Answers each request a second after the whole wave has arrived, so that all are in flight."""

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
    """Raises the limit as far as the system allows. The gateway started from here inherits it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(hard, 3 * HELD)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
    except ValueError:  # only privileged processes may raise the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def main():
    # A call in flight takes two descriptors, in the gateway and in this process.
    held = min(HELD, (raise_descriptor_limit() - 600) // 2)
    forward()
    if not SIDES:
        asyncio.run(hold(held))


if __name__ == "__main__":
    main()
