"""Tools that the registry binds: each entry makes one operation a tool of its own, with a schema of
what the route declares, and is charged like the route."""

import json
import unittest

from gateway import ONE_UPSTREAM
from mcp_wire import LEGACY, MODERN, Wire, WithTools

TEST = "/v1/gateway/test"
GENERAL = ["service.capabilities.list", "service.capabilities.get", "service.route.execute"]
ROOT = GENERAL + ["service.route.read", "service.account.balance", "service.account.usage",
                  "service.account.call"]

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
free_policies:
  many: {{window: {{limit: 1000, seconds: 31536000}}, concurrency: 10, permit_ttl_seconds: 60}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 20000}}
routes:
  - path: /upstream/search/{{kind}}
    free: many
    query:
      parameters:
        after: {{type: string, bytes: 1..20}}
        limit: {{type: integer, range: 1..50}}
        tags: {{type: list, values: [green, deep red], items: 1..2, unique: true}}
        exact: {{type: boolean}}
        lang: {{type: string, values: [de, en], required: true}}
      rules: [{{at_least_one: [after, tags]}}]
  - {{path: /upstream/search/everything}}
  - path: /upstream/notes
    methods: [GET, POST]
    body: {{max_bytes: 100, media_types: [application/json]}}
  - {{path: "/upstream/bytes/{{size}}"}}
"""

TOOLS = """
tools:
  search:
    title: Search
    description: Finds things of one kind.
    route: GET /v1/gateway/test/upstream/search/{kind}
    arguments: {kind: Of what kind., limit: How many.}
    fixed: {lang: en}
  search.free:
    description: The same for nothing, within limits.
    route: GET /v1/gateway/test/upstream/search/{kind}
    variant: free
  add_note: {route: POST /v1/gateway/test/upstream/notes, description: Adds a note.}
  blob: {route: "GET /v1/gateway/test/upstream/bytes/{size}", description: So many bytes.}
"""


class BoundTools(WithTools):
    registry_yaml, tools_yaml = REGISTRY, TOOLS

    def call(self, name, **arguments):
        return self.wire.call(name, arguments, key=self.key)

    def assert_refused(self, reply, code, *locations):
        self.assertEqual((reply.status, reply.error_code()), (200, code), reply.message)
        self.assertTrue(reply.result["isError"])
        self.assertEqual(reply.said["execution_status"], "refused")
        fields = reply.said["error"].get("fields", [])
        self.assertEqual([field["location"] for field in fields], list(locations))
        self.assertEqual((self.upstream.requests, self.charged()), ([], 0))
        return fields

    def test_are_listed_behind_the_general_ones_with_the_schema_of_their_route(self):
        for era in (LEGACY, MODERN):
            tools = Wire(self.gateway, era=era).tools()
            self.assertEqual([tool["name"] for tool in tools],
                             ROOT + ["add_note", "blob", "search", "search.free"])
        tools = {tool["name"]: tool for tool in tools}
        search = tools["search"]
        self.assertEqual((search["title"], search["description"]), (
            "Search", "Finds things of one kind. At least one of `after`, `tags` is given. A "
            "success costs 2 Credits."))
        schema = search["inputSchema"]
        self.assertEqual((schema["type"], schema["required"], schema["additionalProperties"]),
                         ("object", ["kind"], False))
        self.assertEqual(list(schema["properties"]),
                         ["kind", "after", "exact", "limit", "tags", "idempotency_key"])
        self.assertEqual(schema["properties"]["limit"],
                         {"type": "integer", "minimum": 1, "maximum": 50,
                          "description": "How many."})
        self.assertEqual(tools["search.free"]["inputSchema"]["required"], ["kind", "lang"])
        self.assertEqual(search["outputSchema"], tools["service.route.execute"]["outputSchema"])
        self.assertEqual(search["securitySchemes"], [{"type": "oauth2", "scopes": []}])
        self.assertEqual(search["_meta"]["securitySchemes"], search["securitySchemes"])
        self.assertEqual(search["annotations"]["readOnlyHint"], True)
        self.assertEqual(tools["add_note"]["annotations"]["readOnlyHint"], False)
        detail = self.call("service.capabilities.get",
                           capability_id=search["_meta"]["turnpike/capability_id"])
        self.assertEqual(detail.said["capability"]["capability_id"],
                         search["_meta"]["turnpike/capability_id"])

    def test_are_not_at_the_door_for_payments(self):
        wire = Wire(self.gateway, door="/x402")
        self.assertEqual([tool["name"] for tool in wire.tools()], GENERAL)
        self.assertEqual(wire.call("search", {"kind": "a"}).error["code"], -32602)

    def test_run_their_route_and_are_charged_like_it(self):
        for era in (LEGACY, MODERN):
            reply = Wire(self.gateway, era=era).call(
                "search", {"kind": "a-b ü:free", "tags": ["deep red", "green"],
                           "limit": 50, "exact": True, "after": "x&y=+"}, key=self.key)
            self.assertEqual(reply.status, 200, reply.message)
            self.assertFalse(reply.result["isError"])
            said = reply.said
            self.assertEqual((said["execution_status"], said["http_status"],
                              said["credits_charged"], said["reply_from"]),
                             ("registry_paid_route_executed", 200, 2, "provider"))
            self.assertEqual(said["body"]["target"],
                             "/upstream/search/a-b%20%C3%BC%3Afree?after=x%26y%3D%2B&exact=true&"
                             "lang=en&limit=50&tags=deep%20red,green")
            self.assertEqual(json.loads(reply.result["content"][0]["text"]), said)
        self.assertEqual(self.charged(), 4)

    def test_of_the_free_variant_cost_nothing(self):
        reply = self.call("search.free", kind="a", lang="de", after="b")
        self.assertEqual((reply.said["execution_status"], reply.said["credits_charged"]),
                         ("registry_free_route_executed", 0))
        self.assertEqual(self.upstream.requests[-1]["target"], "/upstream/search/a?after=b&lang=de")
        self.assertEqual(self.charged(), 0)

    def test_send_a_body_once_for_each_key(self):
        note = {"text": "é", "at": 1}
        for round in range(2):
            reply = self.call("add_note", body=note, idempotency_key="note-1")
            self.assertEqual(reply.said["http_status"], 200, reply.message)
            self.assertEqual(json.loads(reply.said["body"]["body"].encode("latin-1")), note)
            self.assertEqual(reply.said["credits_charged"], 2 if round == 0 else 0)
        [request] = self.upstream.requests
        self.assertEqual(request["method"], "POST")
        self.assertIn(("content-type", "application/json"), request["headers"])
        self.assertEqual(self.charged(), 2)

    def test_say_what_is_wrong_with_arguments_and_how_to_mend_it(self):
        fields = self.assert_refused(self.call("search", limit="seven", tags=["blue"], colour=1),
                                     "request.malformed", "/colour", "/kind", "/limit", "/tags")
        self.assertEqual(fields[2]["fix"], "give an integer, without quotes")
        self.assert_refused(self.call("search", kind="a"), "request.malformed", "")
        self.assert_refused(self.call("search", kind="a", after="b", lang="de"),
                            "request.malformed", "/lang")
        self.assert_refused(self.call("search", kind="everything", after="b"),
                            "request.malformed", "/kind")
        self.assert_refused(self.call("add_note", body={"text": "x" * 100}), "request.malformed",
                            "/body")

    def test_need_a_key(self):
        reply = self.wire.call("search", {"kind": "a", "after": "b"})
        self.assertEqual((reply.status, reply.error_code()), (401, "auth.credential_required"))
        self.assertEqual(self.upstream.requests, [])

    def test_bring_no_more_than_the_ceiling_and_name_the_way_to_more(self):
        limit = 256 * 1024
        reply = self.call("blob", size=str(limit))
        self.assertEqual((reply.said["http_status"], len(reply.said["body"]) + 2), (200, limit))
        self.assertEqual(self.charged(), 2)
        reply = self.call("blob", size=str(limit + 1))
        self.assertEqual((reply.error_code(), reply.said["credits_charged"]),
                         ("gateway.upstream_response_too_large", 0))
        address = "http://%s:%d" % self.gateway.addresses["api"]
        self.assertIn(f"GET {address}{TEST}/upstream/bytes/{limit + 1}",
                      reply.said["error"]["message"])
        self.assertEqual(self.charged(), 2)
        over_http = self.gateway.get(f"{TEST}/upstream/bytes/{limit + 1}", key=self.key)
        self.assertEqual((over_http.status, len(over_http.body)), (200, limit + 1))

    def test_follow_the_registry_at_a_reload(self):
        file = self.registry / "tools" / "test.yaml"
        file.write_text(TOOLS.replace("add_note:", "write_note:"))
        self.gateway.run("reload")
        names = [tool["name"] for tool in self.wire.tools()]
        self.assertEqual(names, ROOT + ["blob", "search", "search.free", "write_note"])
        self.assertEqual(self.call("add_note", body={}).error["code"], -32602)
        self.assertEqual(self.call("write_note", body={}).said["http_status"], 200)
        file.write_text(TOOLS.replace("route: POST", "route: PUT"))
        refused = self.gateway.run("reload", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("no operation is named", refused.stderr)
        self.assertEqual([tool["name"] for tool in self.wire.tools()], names)

    def test_show_in_check(self):
        self.assertEqual(self.gateway.run_json("check")["tools"], 4)
        self.assertIn("4 tools", self.gateway.run("check").stdout)


if __name__ == "__main__":
    unittest.main()
