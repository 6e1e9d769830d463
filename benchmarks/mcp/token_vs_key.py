#!/usr/bin/env python3
"""Compares an MCP call with an OAuth access token to the same call with an API key of the same
account, in one run on this machine's loopback, with the access log on. One call is to a route of
the gateway itself, which asks no upstream, so that authentication is most of the work; the other is
charged durably.

ROUNDS (3) rounds of SECONDS_EACH (3) seconds after one to warm up.
"""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "benchmarks" / "gateway"),
                str(ROOT / "benchmarks" / "mcp")]

from forward_and_hold import REGISTRY, Nginx, free_port  # noqa: E402: the path is set above
from gateway import BUILD, Gateway  # noqa: E402
from mcp import LEGACY  # noqa: E402
from mcp_vs_sdk import (  # noqa: E402
    BODY, CREDITS, EXECUTE, TARGET, Answering, holds_item, holds_version, message)
from oauth_client import Client, pkce, query_of  # noqa: E402
from people import Browser, Passkey  # noqa: E402
from sides import compare, print_head  # noqa: E402


def start_gateway(address, scratch):
    (scratch / "registry").mkdir()
    (scratch / "plugins").mkdir(mode=0o755)
    (scratch / "plugins" / "http.so").write_bytes((BUILD / "plugins" / "http.so").read_bytes())
    (scratch / "registry" / "bench.yaml").write_text(REGISTRY.format(address=address,
                                                                     connections=512))
    gateway = Gateway(registry=scratch / "registry", plugins=scratch / "plugins",
                      settings=["log.level=info"])
    account, key = gateway.new_key(credits=CREDITS)
    return gateway.start({"api", "mcp", "web"}), account, key


def access_token(gateway, account):
    """The access token that a client gets once a person has agreed."""
    person = gateway.run_json("user", "create", "--name", "Ann", "--login", "ann", "--account",
                              account, "--role", "owner")
    browser, passkey, client = Browser(gateway), Passkey(), Client(gateway)
    try:
        browser.sign_in(person["link"])
        browser.enrol(passkey)
        browser.step_up(passkey)
    finally:
        passkey.close()
    client.register()
    verifier, challenge = pkce()
    request = query_of(client.authorize(challenge).headers["Location"])["request"]
    reply = browser.submit("/oauth/consent", request=request, decision="approve", account=account)
    code = query_of(reply.headers["Location"])["code"]
    return client.exchange(code, verifier).json["access_token"]


def measure(gateway, key, token):
    url = "http://%s:%d/" % gateway.addresses["mcp"]
    print_head("access log on", "to the key")
    for name, is_right, path in (("own route", holds_version, "/version"),
                                 ("paid", holds_item, TARGET)):
        call = {"name": EXECUTE, "arguments": {"method": "GET", "path": path}}
        compare(f"tools/call, {name}", [
            Answering(who, gateway.process.pid,
                      message(url, credential, LEGACY, "tools/call", **call), is_right)
            for who, credential in (("API key", key), ("access token", token))],
            Answering.measure)


def main():
    port = free_port()
    upstream = Nginx(1, f"server {{ listen 127.0.0.1:{port} reuseport backlog=4096;\n"
                        f"location / {{ default_type application/json; return 200 '{BODY}'; }} }}")
    gateway = None
    try:
        with tempfile.TemporaryDirectory(prefix="turnpike-bench-") as scratch:
            gateway, account, key = start_gateway(f"127.0.0.1:{port}", pathlib.Path(scratch))
            measure(gateway, key, access_token(gateway, account))
    finally:
        if gateway is not None:
            gateway.close()
        upstream.close()


if __name__ == "__main__":
    main()
