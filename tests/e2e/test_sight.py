"""What the operator of a real gateway sees: why calls fail, whose calls they are, and what a start
and a stop do. The log is read from outside, line by line."""

import json
import os
import select
import signal
import socket
import subprocess
import time
import unittest

from gateway import Gateway, Postgres, new_registry
from upstream import Upstream

REGISTRY = """
provider: {{key: test, name: Test provider, base_path: /v1/gateway/test}}
upstreams:
  main:
    plugin: http
    probe: {{interval_ms: 1000, per_day_max: 86400}}
    settings: {{base_url: "http://{address}/upstream", prefix: /v1/gateway/test,
                {settings}}}
prices: {{test.standard: {{version: 1, credit_cost: 1}}}}
routes:
  - {{path: "/status/{{status}}", price: test.standard, upstream: main}}
  - {{path: /other, price: test.standard, upstream: main}}
"""
FAILS = '"gateway.upstream_transport_or_response_failure"'
WAIT_SECONDS = 60


def free_port():
    """A port on which nothing listens. The caller holds it through the returned socket."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    return held


def entries(text):
    """The gateway's own lines; libraries write others to standard error."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def lines(gateway, event):
    return [entry for entry in entries(gateway.log_text()) if entry["event"] == event]


def wait_for(gateway, event, count=1, is_wanted=lambda entry: True):
    """Waits for `count` lines of an event and returns them: a separate thread writes the log."""
    text = ""
    deadline = time.monotonic() + WAIT_SECONDS
    with subprocess.Popen(["tail", "-n", "+1", "-f", gateway.directory / "log"],
                          stdout=subprocess.PIPE) as tail:
        try:
            while True:
                whole = text[:text.rfind("\n") + 1]
                found = [entry for entry in entries(whole)
                         if entry["event"] == event and is_wanted(entry)]
                if len(found) >= count:
                    return found
                left = max(0, deadline - time.monotonic())
                if not select.select([tail.stdout], [], [], left)[0]:
                    raise AssertionError(f"no {event}:\n" + text)
                text += os.read(tail.stdout.fileno(), 65536).decode()
        finally:
            tail.kill()


class Sight(unittest.TestCase):
    def start(self, registry, settings=(), **options):
        gateway = Gateway(registry=new_registry(self, registry), settings=[
            "log.level=info", *settings], **options)
        self.addCleanup(gateway.close)
        self.account, self.key = gateway.new_key()
        return gateway.start()

    def start_with_upstream(self, upstream_settings="", **options):
        upstream = Upstream()
        self.addCleanup(upstream.close)
        return self.start(REGISTRY.format(address=upstream.address, settings=upstream_settings),
                          **options)

    def metric(self, gateway, start):
        text = gateway.get("/metrics", host="operator").body.decode()
        return [line for line in text.splitlines() if line.startswith(start)]

    def test_a_dead_upstream(self):
        held = free_port()
        self.addCleanup(held.close)
        address = "%s:%d" % held.getsockname()
        gateway = self.start(REGISTRY.format(
            address=address, settings="allow_private_addresses: true, breaker: {failures: 3}"),
            settings=["status.enabled=true", "status.round_ms=1000"])
        for _ in range(3):
            self.assertEqual(gateway.get("/v1/gateway/test/status/200?token=hush-hush",
                                         key=self.key).status, 502)
        reply = gateway.get("/v1/gateway/test/other", key=self.key)
        self.assertEqual((reply.status, reply.error_code()), (503, "gateway.route_blocked"))
        self.assertNotIn(b"refused", reply.body)
        fails = wait_for(gateway, "upstream_fails")
        self.assertEqual(len(fails), 1, "the others are of the same kind")
        self.assertEqual((fails[0]["provider"], fails[0]["upstream"], fails[0]["operation"]),
                         ("test", "main", "GET /v1/gateway/test/status/{status}"))
        self.assertIn(f"http://{address}: connecting: Connection refused", fails[0]["reason"])
        probes = wait_for(gateway, "probe_fails")
        self.assertEqual(len(probes), 1)
        self.assertIn("Connection refused", probes[0]["reason"])
        opened = [line for line in lines(gateway, "plugin")
                  if "circuit breaker opened for main" in line["text"]]
        self.assertEqual(len(opened), 1, gateway.log_text())
        self.assertIn("3 of 3 calls failed", opened[0]["text"])
        self.assertIn("Connection refused", opened[0]["text"])
        # The gateway also asks its own listeners.
        calls = wait_for(gateway, "access", 4,
                         lambda entry: entry["path"].startswith("/v1/gateway"))
        self.assertEqual(calls[0]["request_id"], fails[0]["request_id"])
        self.assertIn("Connection refused", calls[0]["reason"])
        self.assertNotIn("hush-hush", gateway.log_text())
        self.assertIn('turnpike_route_calls_total{outcome=' + FAILS + ',provider="test",'
                      'route="/v1/gateway/test/status/{status}",upstream="main"} 3',
                      self.metric(gateway, "turnpike_route_calls_total"))

    def test_an_upstream_that_answers_500_is_told_and_blocks_nobody(self):
        gateway = self.start_with_upstream("allow_private_addresses: true")
        for _ in range(40):
            self.assertEqual(gateway.get("/v1/gateway/test/status/500", key=self.key).status, 502)
        self.assertEqual(gateway.get("/v1/gateway/test/other", key=self.key).status, 200)
        fails = wait_for(gateway, "upstream_fails")
        self.assertEqual([(line["upstream_status"], line["reason"][:11]) for line in fails],
                         [(500, "status 500:")])

    def test_forgotten_private_addresses(self):
        gateway = self.start_with_upstream()
        reply = gateway.get("/v1/gateway/test/other", key=self.key)
        self.assertEqual(reply.status, 502)
        self.assertNotIn(b"private", reply.body)
        self.assertIn("allow_private_addresses", wait_for(gateway, "upstream_fails")[0]["reason"])

    def test_whose_call_it_was_and_of_what(self):
        gateway = self.start_with_upstream("allow_private_addresses: true")
        listed = gateway.run_json("key", "list", "--account", self.account)
        key_id = listed["items"][0]["id"]
        gateway.get("/v1/gateway/test/status/200", key=self.key)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": "service.route.execute", "arguments": {
                       "method": "GET", "path": "/v1/gateway/test/status/200"}}}
        body = json.dumps(message).encode()
        reply = gateway.call("POST", "/", host="mcp", key=self.key, body=body, headers=[
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-11-25")])
        self.assertEqual(reply.status, 200, reply.body)
        gateway.get(f"/v1/billing-accounts/{self.account}/credit-balance", key=self.key)
        calls = wait_for(gateway, "access", 3)
        for call in calls:
            self.assertEqual((call["account_id"], call["key_id"]), (self.account, key_id))
        # Lines of different loops are not ordered by time.
        of_route = [call for call in calls if "route" in call]
        self.assertEqual(len(of_route), 2)
        for call in of_route:
            self.assertEqual((call["provider"], call["operation"]),
                             ("test", "GET /v1/gateway/test/status/{status}"))
            self.assertEqual((call["credits_charged"], call.get("reason")), (1, None))

    def test_a_start_and_a_stop_say_what_they_do(self):
        gateway = self.start_with_upstream(settings=["limits.unready_before_stop_ms=600000"])
        version = gateway.get("/version").json()
        started = wait_for(gateway, "started")[0]
        self.assertEqual((started["version"], started["build"], started["generation"]),
                         (version["version"], version["build"], version["generation"]["id"]))
        self.assertEqual(gateway.get("/readyz").status, 200)
        # Until a second signal, load balancers see 503 while every request is still served.
        gateway.process.send_signal(signal.SIGTERM)
        stopping = wait_for(gateway, "stopping")[0]
        self.assertEqual((stopping["reason"], stopping["unready_ms"]), ("SIGTERM", 600000))
        reply = gateway.get("/readyz")
        self.assertEqual(reply.status, 503)
        self.assertIn({"name": "running", "ready": False, "detail": "the gateway is stopping"},
                      reply.json()["checks"])
        self.assertEqual(gateway.get("/healthz").status, 200)
        self.assertEqual(gateway.get("/v1/capabilities").status, 200)
        log = gateway.directory / "log"
        gateway.process.send_signal(signal.SIGTERM)
        self.assertEqual(gateway.process.wait(timeout=WAIT_SECONDS), 0)
        events = [entry["event"] for entry in entries(log.read_text())]
        ends = [event for event in events if event in ("listeners_closing", "stopped")]
        self.assertEqual(ends, ["listeners_closing", "stopped"])

    def test_an_unreachable_redis_is_told_and_keeps_nobody_away(self):
        held = free_port()
        self.addCleanup(held.close)
        gateway = self.start_with_upstream(settings=[
            "free.store=redis", "free.redis.url=redis://127.0.0.1:%d" % held.getsockname()[1]])
        wait_for(gateway, "free_store_unreachable")
        reply = gateway.get("/readyz")
        self.assertEqual(reply.status, 200, "paid calls do without it")
        self.assertIn("The Redis of `free` does not answer: :free requests are refused.",
                      reply.json()["relaxed"])

    def test_chores_that_fail_say_which_and_why(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        gateway = self.start_with_upstream(postgres_url=postgres.new_database())
        postgres.stop()
        failing = wait_for(gateway, "chores_failing")[0]
        self.assertIn(failing["chore"], ("index usage", "set up accounts"))
        self.assertIn("cannot be reached", failing["reason"])


if __name__ == "__main__":
    unittest.main()
