"""Calls over MCP and over HTTP, on one gateway and one account: what the two hosts share, what
happens when a caller disconnects, and how references from an earlier generation are refused."""

import http.client
import json
import unittest

from gateway import ONE_UPSTREAM
from mcp_wire import LEGACY, MODERN, Wire, WithTools
from waiting import until

TEST = "/v1/gateway/test"

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
free_policies:
  three: {{window: {{limit: 3, seconds: 31536000}}, concurrency: 10, permit_ttl_seconds: 60}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 20000}}
routes:
  - {{path: "/upstream/things/{{name}}", free: three}}
  - {{path: /upstream/slow}}
  - {{path: "/upstream/bytes/{{size}}"}}
  - {{path: /upstream/leaving}}
"""

TOOLS = """
tools:
  thing: {route: "GET /v1/gateway/test/upstream/things/{name}", description: A thing by its name.}
  leaving: {route: GET /v1/gateway/test/upstream/leaving, description: Not for long.}
"""


class Calls(WithTools):
    registry_yaml, tools_yaml = REGISTRY, TOOLS
    settings = ("log.level=info",)

    def facts(self):
        return self.gateway.get(f"/v1/billing-accounts/{self.account}/billing?collection=usage",
                                key=self.key).json()["items"]

    def execute(self, path, **arguments):
        return self.wire.call("service.route.execute",
                              {"method": "GET", "path": TEST + path, **arguments}, key=self.key)

    def over_http(self, path, **options):
        return self.gateway.get(TEST + path, key=self.key, **options)

    def test_a_free_variant_is_counted_once_for_both_hosts(self):
        self.assertEqual(self.over_http("/upstream/things/a:free").status, 200)
        for era in (LEGACY, MODERN):
            reply = Wire(self.gateway, era=era).call(
                "service.route.execute",
                {"method": "GET", "path": TEST + "/upstream/things/b", "free": True}, key=self.key)
            self.assertEqual(reply.said["execution_status"], "registry_free_route_executed")
        reply = self.execute("/upstream/things/c:free")
        self.assertEqual((reply.status, reply.error_code()), (200, "gateway.free_rate_limited"))
        self.assertEqual(self.over_http("/upstream/things/c:free").status, 429)
        self.assertEqual((len(self.upstream.requests), self.charged()), (3, 0))

    def test_an_idempotency_key_is_one_at_both_hosts(self):
        first = self.over_http("/upstream/things/a?at=1", headers=[("Idempotency-Key", "one")])
        repeat = self.execute("/upstream/things/a", query="at=1", idempotency_key="one")
        self.assertEqual(repeat.said["body"], first.json())
        self.assertEqual(repeat.said["credits_charged"], 0)
        self.assertEqual(repeat.said["headers"]["idempotent-replayed"], "true")
        other = self.execute("/upstream/things/a", query="at=2", idempotency_key="one")
        self.assertEqual(other.error_code(), "idempotency.conflict")
        tool = self.wire.call("thing", {"name": "b", "idempotency_key": "two"}, key=self.key)
        self.assertEqual(tool.said["credits_charged"], 2)
        repeat = self.over_http("/upstream/things/b", headers=[("Idempotency-Key", "two")])
        self.assertEqual(repeat.headers["idempotent-replayed"], "true")
        self.assertEqual((len(self.upstream.requests), self.charged()), (2, 4))

    def test_a_stored_reply_that_is_too_long_for_a_result_is_not_charged_again(self):
        path, size = "/upstream/bytes/400000", 400_000
        first = self.over_http(path, headers=[("Idempotency-Key", "long")])
        self.assertEqual((first.status, len(first.body)), (200, size))
        repeat = self.execute(path, idempotency_key="long")
        self.assertEqual(repeat.error_code(), "gateway.upstream_response_too_large")
        self.assertIn(path, repeat.said["error"]["message"])
        self.assertEqual((len(self.upstream.requests), self.charged()), (1, 2))

    def test_a_caller_who_leaves_is_not_charged_and_no_fault_of_the_gateway(self):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": "service.route.execute",
                              "arguments": {"method": "GET", "path": TEST + "/upstream/slow"}}}
        while self.upstream.arrived.acquire(blocking=False):
            pass  # arrivals of earlier calls
        caller = http.client.HTTPConnection(*self.gateway.addresses["mcp"], timeout=60)
        caller.request("POST", "/", json.dumps(message),
                       {"Authorization": "Bearer " + self.key, "Content-Type": "application/json"})
        self.upstream.arrived.acquire()
        caller.close()
        facts = until(self.facts, "the call is not in the books")
        self.assertEqual([(fact["outcome"], fact["outcomeReason"]) for fact in facts],
                         [("released", "client_gone_before_reply")])
        self.assertEqual(self.charged(), 0)
        self.gateway.stop()
        [line] = [line for line in map(json.loads, self.gateway.log_text().splitlines())
                  if line.get("rpc") == "tools/call service.route.execute"]
        self.assertEqual((line.get("error"), line["whole"], line["credits_charged"]),
                         (None, False, 0))

    def test_what_another_generation_told_is_refused_with_what_to_do(self):
        page = self.wire.call("service.capabilities.list", {"limit": 1}).said
        [leaving] = [tool for tool in self.wire.tools() if tool["name"] == "leaving"]
        source = (self.registry / "test.yaml").read_text()
        (self.registry / "test.yaml").write_text(
            source.replace("  - {path: /upstream/leaving}\n", ""))
        refused = self.gateway.run("reload", check=False)
        self.assertNotEqual(refused.returncode, 0, "a tool still stands on the route")
        self.assertEqual(self.wire.call("leaving", {}, key=self.key).said["http_status"], 200)
        (self.registry / "tools" / "test.yaml").unlink()
        self.gateway.run("reload")

        cursor = page["next_cursor"]
        stale = self.wire.call("service.capabilities.list", {"limit": 1, "cursor": cursor})
        self.assertEqual(stale.error_code(), "catalog.cursor_stale")
        self.assertEqual(stale.said["error"]["retry"]["advice"], "restart_paging")
        self.assertEqual([field["location"] for field in stale.said["error"]["fields"]],
                         ["/cursor"])
        for method in ("resources/list", "tools/list"):
            error = self.wire.send(method, {"cursor": cursor}).json()["error"]
            self.assertEqual(error["code"], -32602, method)
        gone = self.wire.call("leaving", {}, key=self.key)
        self.assertEqual(gone.error["code"], -32602)
        self.assertIn("tools/list", gone.error["message"])
        detail = self.wire.call("service.capabilities.get",
                                {"capability_id": leaving["_meta"]["turnpike/capability_id"]})
        self.assertEqual(detail.error_code(), "catalog.capability_not_found")
        call = self.execute("/upstream/leaving")
        self.assertEqual(call.error_code(), "gateway.route_not_found")
        self.assertIn("service.capabilities.list", call.said["error"]["message"])
        self.assertEqual(self.charged(), 2)


if __name__ == "__main__":
    unittest.main()
