"""What models do with the gateway over MCP: choose a route by its purpose, write arguments in their
own way, read the account, and read why a call was refused."""

import json
import unittest

from gateway import ONE_UPSTREAM
from mcp_wire import LEGACY, MODERN, Wire, WithTools

TEST = "/v1/gateway/test"
ROOT_TOOLS = ["service.capabilities.list", "service.capabilities.get", "service.route.execute",
              "service.route.read", "service.account.balance", "service.account.usage",
              "service.account.call"]

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 20000}}
routes:
  - path: /upstream/forecast/{{place}}
    summary: Weather of the next days at a place
    query:
      parameters:
        hours: {{type: integer, range: 1..48}}
        exact: {{type: boolean}}
  - path: /upstream/orders
    summary: Places an order
    methods: [GET, POST]
    body: {{max_bytes: 1000, media_types: [application/json], required: true}}
  - {{path: "/upstream/bytes/{{size}}"}}
"""

TOOLS = """
tools:
  forecast:
    description: Tells the weather.
    route: GET /v1/gateway/test/upstream/forecast/{place}
  order.place: {route: POST /v1/gateway/test/upstream/orders, description: Places an order.}
"""


class Models(WithTools):
    registry_yaml, tools_yaml = REGISTRY, TOOLS

    def call(self, name, arguments, *, key=None):
        return self.wire.call(name, arguments, key=self.key if key is None else key)

    def execute(self, **arguments):
        return self.call("service.route.execute", {"method": "GET", **arguments})

    def raw_call(self, text):
        """Sends tools/call with these params, byte for byte."""
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + text.encode() + b"}"
        return self.gateway.call("POST", "/", host="mcp", key=self.key, body=body,
                                 headers=[("Content-Type", "application/json"),
                                          ("MCP-Protocol-Version", LEGACY)])

    def test_a_json_body_reaches_the_upstream_as_it_was_written(self):
        body = '{ "n": 123456789012345678901234567890, "e":1e2,\n "z": -0, "u": "\\u00e9" }'
        for name, more in (("order.place", ""),
                           ("service.route.execute",
                            f'"method":"POST","path":"{TEST}/upstream/orders",')):
            reply = self.raw_call('{"name":"%s","arguments":{%s"body":%s}}' % (name, more, body))
            self.assertFalse(reply.json()["result"]["isError"], reply.json())
            self.assertEqual(self.upstream.requests[-1]["body"], body)
        self.assertEqual(self.charged(), 4)

    def test_a_call_without_the_body_that_is_required_is_refused_before_anything_moves(self):
        reply = self.gateway.call("POST", TEST + "/upstream/orders", key=self.key, body=b"",
                                  headers=[("Content-Type", "application/json")])
        self.assertEqual((reply.status, reply.error_code()), (400, "request.body_rejected"))
        self.assertEqual(reply.json()["error"]["fields"][0]["location"], "body")
        tool = self.call("order.place", {})
        self.assertEqual(tool.error_code(), "request.malformed")
        self.assertEqual(tool.said["error"]["fields"][0]["location"], "/body")
        run = self.execute(method="POST", path=TEST + "/upstream/orders")
        self.assertEqual(run.error_code(), "request.body_rejected")
        self.assertEqual((self.upstream.requests, self.charged()), ([], 0))
        [schema] = [tool["inputSchema"] for tool in self.wire.tools()
                    if tool["name"] == "order.place"]
        self.assertEqual(schema["required"], ["body"])
        operation = self.gateway.get("/openapi.json").json()["paths"][TEST + "/upstream/orders"]
        self.assertIs(operation["post"]["requestBody"]["required"], True)
        over_http = self.gateway.call("POST", TEST + "/upstream/orders", key=self.key,
                                      headers=[("Content-Type", "application/json")], body=b"{}")
        self.assertEqual(over_http.status, 200)
        self.assertEqual(self.gateway.get(TEST + "/upstream/orders", key=self.key).status, 200)

    def test_what_models_write_reaches_the_upstream_as_meant(self):
        path = TEST + "/upstream/forecast/here"
        for query in ("?hours=1", "hours=1", {"hours": 1}, {"hours": "1", "place": None}):
            self.assertEqual(self.execute(path=path, query=query).said["http_status"], 200)
            self.assertEqual(self.upstream.requests[-1]["target"],
                             "/upstream/forecast/here?hours=1")
        self.assertEqual(self.execute(method="get", path=path).said["http_status"], 200)
        tool = self.call("forecast", {"place": "here", "hours": "24", "exact": "true"})
        self.assertEqual(tool.said["http_status"], 200, tool.message)
        self.assertEqual(self.upstream.requests[-1]["target"],
                         "/upstream/forecast/here?exact=true&hours=24")
        reply = self.raw_call('{"name":"service.capabilities.list","arguments":null,'
                              '"_meta":{"x402/payment":null,"progressToken":null}}')
        self.assertFalse(reply.json()["result"]["isError"], reply.json())

    def test_routes_are_found_by_what_they_are_for(self):
        over_http = self.gateway.get("/v1/capabilities?q=Weather+PLACE".replace("+", "%20")).json()
        [entry] = over_http["capabilities"]
        self.assertEqual((entry["path"], entry["summary"]),
                         (TEST + "/upstream/forecast/{place}",
                          "Weather of the next days at a place"))
        for era in (LEGACY, MODERN):
            wire = Wire(self.gateway, era=era)
            [found] = wire.call("service.capabilities.list", {"q": "weather"}).said["capabilities"]
            self.assertEqual(found, entry)
            detail = wire.call("service.capabilities.get",
                               {"capability_id": found["capability_id"]}).said["capability"]
            self.assertEqual(detail["summary"], entry["summary"])
        read = self.wire.send("resources/read",
                              {"uri": "service://capabilities?q=order"}).json()["result"]
        page = json.loads(read["contents"][0]["text"])
        self.assertEqual([each["summary"] for each in page["capabilities"]], ["Places an order"])
        self.assertEqual(self.call("service.capabilities.list",
                                   {"q": "Test provider"}).said["capabilities"].__len__(), 3)
        refused = self.gateway.get("/v1/capabilities?q=" + "a" * 201)
        self.assertEqual((refused.status, refused.error_code()), (400, "catalog.filter_invalid"))

    def test_refusals_say_what_would_be_right(self):
        forecast = TEST + "/upstream/forecast/here"
        free = self.execute(path=forecast, free=True)
        self.assertIn("no free variant", free.said["error"]["message"])
        over_http = self.gateway.get(forecast + ":free", key=self.key)
        self.assertEqual((over_http.status, over_http.error_code()),
                         (404, "gateway.route_not_found"))
        self.assertIn("no free variant", over_http.json()["error"]["message"])
        method = self.execute(method="POST", path=forecast)
        self.assertEqual(method.error_code(), "gateway.method_not_allowed")
        self.assertIn("it has: GET", method.said["error"]["message"])
        self.assertNotIn("Allow header", method.said["error"]["message"])
        unfilled = self.execute(path=TEST + "/upstream/forecast/{place}")
        self.assertIn("{place}", unfilled.said["error"]["fields"][0]["problem"])
        for refused in (free, method, unfilled):
            self.assertEqual(refused.said["error"]["retry"]["advice"], "after_change")
        long = self.execute(path=f"{TEST}/upstream/bytes/{256 * 1024 + 1}")
        self.assertEqual((long.error_code(), long.said["error"]["fault"]),
                         ("gateway.upstream_response_too_large", "gateway"))
        self.assertEqual(self.charged(), 0)

    def test_the_account_can_be_looked_after_over_mcp(self):
        self.assertEqual([tool["name"] for tool in self.wire.tools()][:7], ROOT_TOOLS)
        paid = self.execute(path=TEST + "/upstream/forecast/here")
        balance = self.call("service.account.balance", {}).said
        self.assertEqual(balance["creditBalance"], str(self.granted - 2))
        self.assertEqual(balance["billingAccountId"], self.account)
        call = self.call("service.account.call", {"request_id": paid.said["request_id"]}).said
        self.assertEqual((call["status"], call["credits_charged"]), ("final", 2))
        usage = self.call("service.account.usage", {"granularity": "hour",
                                                    "from": "2026-01-01T00:00:00Z"})
        self.assertEqual(usage.error_code(), "request.query_rejected", "too many hours")
        self.assertEqual(usage.said["error"]["fields"][0]["location"], "/granularity")
        usage = self.call("service.account.usage", {"granularity": "month"}).said
        self.assertEqual(usage["totals"]["creditsCharged"], "2")
        self.assertEqual(self.charged(), 2, "looking cost nothing")

        none = self.call("service.account.call",
                         {"request_id": "019a0000-0000-7000-8000-000000000001"})
        self.assertEqual(none.error_code(), "billing.message_not_found")
        unknown = self.call("service.account.balance", {"account": "x"})
        self.assertEqual(unknown.error_code(), "request.malformed")
        for name in ROOT_TOOLS[4:]:
            for key, code in (("", "auth.credential_required"), ("bad", "auth.credential_invalid")):
                refused = self.wire.call(name, {}, key=key or None)
                self.assertEqual((refused.status, refused.error_code()), (401, code))
            door = Wire(self.gateway, door="/x402")
            self.assertEqual(door.call(name, {}).error["code"], -32602)

    def test_a_route_can_be_read_by_a_tool_that_only_reads(self):
        reply = self.call("service.route.read", {"path": TEST + "/upstream/forecast/here"})
        self.assertEqual((reply.said["execution_status"], reply.said["credits_charged"]),
                         ("registry_paid_route_executed", 2))
        reply = self.call("service.route.read", {"path": TEST + "/upstream/orders", "body": "{}"})
        self.assertEqual(reply.error_code(), "request.malformed")


class ManyRoutes(WithTools):
    """The size of a single result is bounded."""

    registry_yaml = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
defaults: {{price: test.standard, upstream: main}}
routes:
""" + "".join(f"  - {{{{path: /upstream/things/{'x' * 80}-{n}, summary: {'s' * 150}}}}}\n"
              for n in range(700))
    tools_yaml = "tools: {}\n"

    def test_a_page_of_a_thousand_is_no_longer_than_any_result(self):
        seen, arguments = [], {"limit": 1000}
        while True:
            said = self.wire.call("service.capabilities.list", arguments)
            text = said.result["content"][0]["text"]
            self.assertLessEqual(len(text), 256 * 1024)
            seen += [entry["capability_id"] for entry in said.said["capabilities"]]
            cursor = said.said["next_cursor"]
            read = self.wire.send("resources/read", {"uri": "service://capabilities?limit=1000" + (
                "&cursor=" + arguments["cursor"] if "cursor" in arguments else "")})
            self.assertLessEqual(len(read.json()["result"]["contents"][0]["text"]), 256 * 1024)
            if cursor is None:
                break
            self.assertGreater(len(text), 200 * 1024)
            arguments["cursor"] = cursor
        self.assertEqual((len(seen), len(set(seen))), (700, 700))
        over_http = self.gateway.get("/v1/capabilities?limit=1000").json()
        self.assertEqual(len(over_http["capabilities"]), 700)


class SmallResults(WithTools):
    registry_yaml, tools_yaml = REGISTRY, TOOLS
    settings = ("limits.mcp_reply_bytes_max=1024",)

    def test_what_the_account_reads_is_as_long_as_any_result(self):
        self.assertEqual(self.wire.call("service.account.usage", {"granularity": "month"},
                                        key=self.key).said["granularity"], "month")
        refused = self.wire.call("service.account.usage", {}, key=self.key)
        self.assertEqual(refused.error_code(), "request.query_rejected")
        self.assertIn("1024", refused.said["error"]["message"])
        page = self.wire.call("service.capabilities.list", {}).said
        self.assertEqual(len(page["capabilities"]), 1, "one at least, or nobody gets on")
        self.assertTrue(page["next_cursor"])


class UnderscoredNames(WithTools):
    """Some hosts refuse names with dots."""

    registry_yaml, tools_yaml = REGISTRY, TOOLS
    settings = ("hosts.mcp.tool_names=underscored",)

    def test_no_tool_is_listed_with_a_dot_and_both_names_are_taken(self):
        for era in (LEGACY, MODERN):
            wire = Wire(self.gateway, era=era)
            tools = wire.tools()
            for tool in tools:
                self.assertRegex(tool["name"], "^[a-zA-Z0-9_-]{1,64}$")
                self.assertNotIn("service.", tool["description"])
            self.assertEqual([tool["name"] for tool in tools][:7],
                             [name.replace(".", "_") for name in ROOT_TOOLS])
            for name in ("order_place", "order.place"):
                reply = wire.call(name, {"body": {}}, key=self.key)
                self.assertEqual(reply.said["http_status"], 200, reply.message)
        hello = self.wire.send("initialize", {"protocolVersion": LEGACY, "capabilities": {},
                                              "clientInfo": {"name": "t", "version": "1"}})
        self.assertIn("service_route_execute", hello.json()["result"]["instructions"])
        prompt = self.wire.send("prompts/get", {"name": "find_route",
                                                "arguments": {"question": "which?"}})
        self.assertIn("service_capabilities_list",
                      prompt.json()["result"]["messages"][0]["content"]["text"])


if __name__ == "__main__":
    unittest.main()
