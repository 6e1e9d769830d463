#!/usr/bin/env python3
"""Compares the MCP host with the official TypeScript SDK's server, in one run on this machine's
loopback.

1. tools/list: the same tools on both sides.
2. tools/call: the gateway runs a free route that asks its upstream (nginx with a fixed body) and is
   counted against the caller's limits, and a route of its own that asks nobody. The SDK's tool
   returns what it fetches from the same nginx, and a constant. For comparison, the gateway's call
   charged durably, and the same calls over HTTP, which show what MCP itself costs.

Each runs in the legacy era (SDK 1) and in the modern one (SDK 2). The SDK's low-level server is
stateless, with JSON answers, in one process and in one for each of two cores. CPU is that of the
server's processes only. ROUNDS (3) rounds of SECONDS_EACH (3) seconds after one to warm up.
"""

import http.client
import json
import pathlib
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "benchmarks" / "gateway")]

from driving import new_scratch  # noqa: E402: the path is set above
from forward_and_hold import (  # noqa: E402
    REGISTRY, Nginx, fdatasync_p50_us, free_port)
from gateway import BUILD, Gateway  # noqa: E402
from mcp import LEGACY, MODERN, OfficialServer  # noqa: E402
from sides import Side, compare, print_head  # noqa: E402

TARGET = "/v1/gateway/bench/item"
BODY = '{"data":"' + "x" * 100 + '"}'
EXECUTE = "service.route.execute"
CREDITS = 10**9


class Caller:
    """A request: its URL, headers and body."""

    def __init__(self, url, key, headers=(), body=None):
        self.url = url
        self.headers = {"Authorization": f"Bearer {key}", **dict(headers)}
        self.body = body

    def ask(self):
        """Sends the request once. Returns the reply's JSON, and its size as wrk counts it."""
        parts = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        try:
            connection.request("GET" if self.body is None else "POST", parts.path or "/",
                               self.body, self.headers)
            response = connection.getresponse()
            body = response.read()
            head = sum(len(f"{name}: {value}\r\n") for name, value in response.getheaders())
            if response.status != 200:
                raise RuntimeError(f"{self.url}: {response.status} {body}")
            return json.loads(body), len("HTTP/1.1 200 OK\r\n\r\n") + head + len(body)
        finally:
            connection.close()

    def script(self):
        """A wrk script that sends the same request, prepared once."""
        lines = [f"wrk.headers['{name}'] = '{value}'" for name, value in self.headers.items()]
        if self.body is not None:
            lines += ["wrk.method = 'POST'", f"wrk.body = [==[{self.body}]==]"]
        return "\n".join(lines)


def message(url, key, revision, method, /, **params):
    headers = {"Content-Type": "application/json",
               "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": revision}
    if revision == MODERN:
        params["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN,
                           "io.modelcontextprotocol/clientCapabilities": {}}
        headers["Mcp-Method"] = method
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
                      separators=(",", ":"))
    return Caller(url, key, headers, body)


class Answering(Side):
    def __init__(self, name, pid, caller, is_right):
        super().__init__(name, pid)
        self.caller = caller
        reply, self.reply_bytes = caller.ask()
        if not is_right(reply):
            raise RuntimeError(f"{name}: another answer: {reply}")

    def measure(self):
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(self.caller.script())
            script.flush()
            size = self.wrk("-s", script.name, self.caller.url)
        # An error in the body of a 200 would have a different size.
        if not 0.9 < size / self.reply_bytes < 1.1:
            raise RuntimeError(f"{self.name}: replies of {size:.0f} bytes, not {self.reply_bytes}")


def start_gateway(address):
    scratch = new_scratch()
    (scratch / "registry").mkdir()
    (scratch / "plugins").mkdir(mode=0o755)
    (scratch / "plugins" / "http.so").write_bytes((BUILD / "plugins" / "http.so").read_bytes())
    (scratch / "registry" / "bench.yaml").write_text(REGISTRY.format(address=address,
                                                                     connections=512))
    gateway = Gateway(registry=scratch / "registry", plugins=scratch / "plugins")
    _, key = gateway.new_key(credits=CREDITS)
    return gateway.start(), key


def is_list(reply):
    return EXECUTE in [tool["name"] for tool in reply["result"]["tools"]]


def holds_item(reply):
    result = reply["result"]
    return not result.get("isError") and result["structuredContent"]["body"] == json.loads(BODY)


def holds_version(reply):
    return "generation" in reply["result"]["structuredContent"]["body"]


def measure(gateway, key, upstream_url, started):
    """Adds the official servers to `started`, for the caller to close."""
    url = "http://%s:%d/" % gateway.addresses["mcp"]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as tools:
        listed, _ = message(url, key, LEGACY, "tools/list").ask()
        json.dump(listed["result"]["tools"], tools)
        tools.flush()

        def official(sdk, processes, **what):
            started.append(OfficialServer(sdk=sdk, processes=processes, tools=tools.name, **what))
            return started[-1]

        servers = {sdk: [official(sdk, processes) for processes in (1, 2)] for sdk in (1, 2)}
        fetching = {sdk: [official(sdk, processes, upstream=upstream_url) for processes in (1, 2)]
                    for sdk in (1, 2)}

    def ours(name, is_right, revision, method, /, **params):
        return Answering("turnpike" + name, gateway.process.pid,
                         message(url, key, revision, method, **params), is_right)

    def theirs(servers, name, is_right, revision, method, /, **params):
        return [Answering(f"SDK, {count} process{'es' * (count > 1)}{name}", server.process.pid,
                          message(server.url, key, revision, method, **params), is_right)
                for count, server in enumerate(servers, 1)]

    print_head(f"fdatasync p50 {fdatasync_p50_us(gateway.directory):.0f} us", "to the SDK")
    for sdk, revision in ((1, LEGACY), (2, MODERN)):
        call = {"name": EXECUTE, "arguments": {"method": "GET", "path": TARGET}}
        own = {"name": EXECUTE, "arguments": {"method": "GET", "path": "/version"}}
        free = {"name": EXECUTE, "arguments": {"method": "GET", "path": TARGET + ":free"}}
        compare(f"tools/list {revision}",
                [*theirs(servers[sdk], "", is_list, revision, "tools/list"),
                 ours("", is_list, revision, "tools/list")], Answering.measure)
        compare(f"tools/call {revision}",
                [*theirs(servers[sdk], "", holds_item, revision, "tools/call", **free),
                 *theirs(fetching[sdk], ", fetch", holds_item, revision, "tools/call", **free),
                 ours(", own", holds_version, revision, "tools/call", **own),
                 ours(", free", holds_item, revision, "tools/call", **free),
                 ours(", paid", holds_item, revision, "tools/call", **call)], Answering.measure)
    over_http = [Answering("turnpike, " + name, gateway.process.pid,
                           Caller("http://%s:%d%s" % (*gateway.addresses["api"], target), key),
                           lambda reply: reply == json.loads(BODY))
                 for name, target in (("free", TARGET + ":free"), ("paid", TARGET))]
    compare("GET, over HTTP", over_http, Answering.measure)


def main():
    port = free_port()
    upstream = Nginx(1, f"server {{ listen 127.0.0.1:{port} reuseport backlog=4096;\n"
                        f"location / {{ default_type application/json; return 200 '{BODY}'; }} }}")
    started = []
    try:
        gateway, key = start_gateway(f"127.0.0.1:{port}")
        started.append(gateway)
        measure(gateway, key, f"http://127.0.0.1:{port}/", started)
    finally:
        for each in started:
            each.close()
        upstream.close()


if __name__ == "__main__":
    main()
