"""How programs find the gateway. Each document of the web host is valid against the schema
published for it, or against ours where there is none (tests/fixtures/discovery). Links resolve,
revalidation is cheap, and no document contains a brand other than the operator's."""

import base64
import http.client
import json
import re
import subprocess
import unittest
import urllib.parse

import parts
from gateway import ROOT, Gateway, new_directory, new_registry

JUDGE = ROOT / "tests" / "openapi" / "discovery.mjs"
FIXTURES = ROOT / "tests" / "fixtures" / "discovery"
CARDS = "/discovery/agent-capabilities.json"
CARDS_SCHEMA = "/discovery/agent-capabilities.schema.json"
KEY_LINE = "v=MCPv1; k=ed25519; p=" + base64.b64encode(bytes(32)).decode()

# Path, media type, schema.
DOCUMENTS = [
    ("/.well-known/api-catalog",
     'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
     FIXTURES / "api-catalog.schema.json"),
    ("/.well-known/ard.json", "application/json", "ard"),
    ("/.well-known/ai-catalog.json", "application/ai-catalog+json", "ard"),
    ("/.well-known/mcp.json", "application/json", FIXTURES / "mcp.schema.json"),
    ("/.well-known/mcp/server-card.json", "application/mcp-server-card+json",
     FIXTURES / "server-card.schema.json"),
    (CARDS, "application/json", None),
    (CARDS_SCHEMA, "application/schema+json", "2020-12"),
]

# Names in the protocol, which stay the same under every brand: reply headers, prefixes of keys and
# tokens, metrics, cookies, members of _meta.
PROTOCOL_NAMES = re.compile(
    r"Turnpike-[A-Z][A-Za-z-]+|turnpike_(sk|ss|oc|rt|at|ac)_|turnpike_[a-z_]+|turnpike/[a-z_]+|"
    r"__Host-turnpike_[a-z]+")

REGISTRY = """
provider:
  key: weather
  name: Weather
  base_path: /v1/gateway/weather
  listing:
    category: weather
    description: What stations measure.
    chains: [base]
    topics: [wind]
    source: {{name: Office, url: "https://data.example.org", licence: CC0, updated: 2026-11-24}}
upstreams:
  main: {{plugin: http, settings: {{base_url: "http://127.0.0.1:9", prefix: /v1/gateway/weather,
          allow_private_addresses: true}}}}
free_policies:
  few: {{window: {{limit: 60, seconds: 60}}, concurrency: 4, quota: {{limit: 9, seconds: 3600}}}}
prices: {{standard: {{version: 1, credit_cost: 1, no_charge_when: [empty_body]}}}}
defaults: {{price: standard}}
routes:
  - path: /stations/{{station}}/now
    summary: What a station measures
    free: few
    query: {{parameters: {{unit: {{type: string, values: [metric, imperial]}},
                          days: {{type: integer, range: 1..9, required: true}}}}}}
  - path: /reports
    methods: {{POST: {{body: {{max_bytes: 99, media_types: [application/json], required: true}}}}}}
  - path: /blocked
    readiness: {{status: blocked, reason: Not yet.}}
tools:
  station_now:
    route: GET /v1/gateway/weather/stations/{{station}}/now
    description: The weather at a station.
""".format()


def judged(documents):
    """The verdict on each (name, schema, text), from discovery.mjs."""
    for folder in (JUDGE.parent, ROOT / "tests" / "browser"):
        parts.require_packages(folder)
    asked = [{"name": name, "schema": str(schema), "body": body}
             for name, schema, body in documents]
    told = subprocess.run(["node", JUDGE], input=json.dumps(asked), text=True, check=True,
                          capture_output=True)
    return [json.loads(line) for line in told.stdout.splitlines()]


def links_in(value):
    """All URLs in a document, whichever member they are in."""
    if isinstance(value, dict):
        for name, one in value.items():
            # Templates and names are not links, and schemas and sources of others are not fetched.
            if name in ("$schema", "$id", "url_template", "free_url_template", "source",
                        "input_schema"):
                continue
            yield from links_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from links_in(one)
    elif isinstance(value, str) and re.match(r"https?://", value):
        yield value


class Discovery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(registry=new_registry(cls, REGISTRY), settings=[
            f"hosts.web.mcp_registry_auth={KEY_LINE}"])
        cls.addClassCleanup(cls.gateway.close)
        cls.gateway.start(frozenset({"api", "mcp", "web"}))

    def get(self, path, **options):
        return self.gateway.get(path, host="web", **options)

    def test_each_document_keeps_its_schema(self):
        documents = []
        for path, media_type, schema in DOCUMENTS:
            reply = self.get(path)
            self.assertEqual(reply.status, 200, path)
            self.assertEqual(reply.headers["content-type"], media_type, path)
            documents.append((path, schema or ROOT / "docs" / "schemas" /
                              "agent-capabilities.schema.json", reply.body.decode()))
        for verdict in judged(documents):
            self.assertEqual(verdict["errors"], [], verdict["name"])
            self.assertEqual(verdict["warnings"], [], verdict["name"])

    def test_the_judges_refuse_what_is_wrong(self):
        catalog = self.get("/.well-known/ard.json").json()
        del catalog["entries"][0]["displayName"]
        cards = self.get(CARDS).json()
        cards["capabilities"][0]["operations"][0]["output"]["statuses"] = []
        card = self.get("/.well-known/mcp/server-card.json").json()
        card["tools"] = []
        linkset = self.get("/.well-known/api-catalog").json()
        del linkset["linkset"][0]["item"]
        verdicts = judged([
            ("ard", "ard", json.dumps(catalog)),
            ("cards", ROOT / "docs" / "schemas" / "agent-capabilities.schema.json",
             json.dumps(cards)),
            ("card", FIXTURES / "server-card.schema.json", json.dumps(card)),
            ("linkset", FIXTURES / "api-catalog.schema.json", json.dumps(linkset))])
        for verdict in verdicts:
            self.assertNotEqual(verdict["errors"], [], verdict["name"])

    def test_all_may_be_read_by_everyone_and_kept_for_a_while(self):
        paths = [path for path, _, _ in DOCUMENTS] + ["/.well-known/mcp-registry-auth"]
        for path in paths:
            with self.subTest(path):
                reply = self.get(path, headers=[("Origin", "https://agents.example")])
                self.assertEqual(reply.headers["access-control-allow-origin"], "*")
                self.assertEqual(reply.headers["cache-control"], "public, max-age=300")
                head = self.gateway.call("HEAD", path, host="web")
                self.assertEqual(head.status, 200)
                self.assertEqual(head.body, b"")
                for name in ("etag", "content-type", "content-length", "cache-control"):
                    self.assertEqual(head.headers[name], reply.headers[name], name)
                again = self.get(path, headers=[("If-None-Match", reply.headers["etag"])])
                self.assertEqual((again.status, again.body), (304, b""))
                self.assertEqual(again.headers["etag"], reply.headers["etag"])
                other = self.get(path, headers=[("If-None-Match", '"another"')])
                self.assertEqual((other.status, other.body), (200, reply.body))
                self.assertEqual(self.gateway.call("POST", path, host="web", body=b"").status, 405)
                self.assertEqual(self.get(path + "/").status, 404)

    def test_the_api_catalog_names_itself_with_each_reply(self):
        url = f"http://localhost:{self.gateway.addresses['web'][1]}/.well-known/api-catalog"
        for method in ("GET", "HEAD"):
            reply = self.gateway.call(method, "/.well-known/api-catalog", host="web")
            self.assertIn(f'<{url}>; rel="api-catalog"', reply.headers["link"])

    def test_two_hosts_publish_the_same_bytes(self):
        for path in ("/.well-known/mcp.json", "/.well-known/mcp/server-card.json"):
            self.assertEqual(self.get(path).body, self.gateway.get(path, host="mcp").body)
        self.assertEqual(self.get("/.well-known/mcp/server-card.json").body,
                         self.gateway.get("/server-card", host="mcp").body)
        self.assertEqual(self.get("/.well-known/ard.json").body,
                         self.get("/.well-known/ai-catalog.json").body)

    def test_the_line_of_the_mcp_registry_is_as_configured(self):
        reply = self.get("/.well-known/mcp-registry-auth")
        self.assertEqual(reply.body.decode(), KEY_LINE)
        self.assertTrue(reply.headers["content-type"].startswith("text/plain"))

    def test_what_is_not_configured_is_not_there(self):
        other = Gateway(settings=["hosts.mcp.listen="], registry=new_registry(self, REGISTRY))
        self.addCleanup(other.close)
        other.start(frozenset({"api", "web"}))
        for path in ("/.well-known/mcp-registry-auth", "/.well-known/mcp.json",
                     "/.well-known/mcp/server-card.json", "/.well-known/ard.json",
                     "/.well-known/ai-catalog.json"):
            reply = other.get(path, host="web")
            self.assertEqual(reply.status, 404, path)
            self.assertEqual(reply.error_code(), "request.not_found")
        for card in other.get(CARDS, host="web").json()["capabilities"]:
            self.assertIsNone(card["operations"][0]["call"]["tools"])

    def follow(self, url):
        """The status of a GET of this URL, which belongs to one of this gateway's hosts."""
        parsed = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", parsed.port, timeout=30)
        try:
            connection.request("GET", parsed.path or "/", headers={"Host": parsed.netloc})
            return connection.getresponse().status
        finally:
            connection.close()

    def test_links_lead_to_what_they_say(self):
        mcp = f"http://127.0.0.1:{self.gateway.addresses['mcp'][1]}"
        api = f"http://127.0.0.1:{self.gateway.addresses['api'][1]}"
        followed = set()
        for path, media_type, _ in DOCUMENTS:
            if not media_type.startswith("application/schema"):
                followed |= set(links_in(self.get(path).json()))
        self.assertGreater(len(followed), 10)
        # These are endpoints, not documents: messages are posted to them, or routes are below them.
        endpoints = {mcp: 405, mcp + "/x402": 405, api: 404}
        for url in sorted(followed):
            with self.subTest(url):
                self.assertEqual(self.follow(url), endpoints.get(url, 200))

    def test_a_card_is_what_the_catalog_and_the_tools_say(self):
        cards = self.get(CARDS).json()
        self.assertEqual(len(cards["capabilities"]), 2, "one is blocked")
        version = self.gateway.get("/version").json()
        self.assertEqual(cards["generation"], version["generation"])
        for card in cards["capabilities"]:
            detail = self.gateway.get(urllib.parse.urlsplit(card["detail"]).path).json()
            capability = detail["capability"]
            self.assertEqual(card["id"], capability["capability_id"])
            for shown, told in zip(card["operations"], capability["operations"], strict=True):
                self.assertEqual(shown["method"], told["method"])
                price = dict(shown["price"])
                billing = dict(told["billing"])
                self.assertEqual(price.get("credit_cost"), billing.get("credit_cost"))
                self.assertEqual(price["no_charge_when"], billing["no_charge_when"])
                self.assertEqual(shown["free"], told.get("free_rate_limit"))
            page = urllib.parse.urlsplit(card["provenance"]["page"]).path
            self.assertEqual(page, "/discovery/sources/weather")
        weather = next(card for card in cards["capabilities"] if card["path"].endswith("/now"))
        listed = self.gateway.call(
            "POST", "/", host="mcp", headers=[
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream")],
            body=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                             "params": {}}).encode()).json()
        tool = next(one for one in listed["result"]["tools"] if one["name"] == "station_now")
        self.assertEqual(weather["operations"][0]["input_schema"], tool["inputSchema"])

    def test_cards_follow_a_reload(self):
        before = self.get(CARDS)
        registry = self.gateway.registry / "test.yaml"
        text = registry.read_text()
        try:
            registry.write_text(text.replace("What stations measure.", "Other words."))
            self.gateway.run("reload")
            after = self.get(CARDS)
            self.assertNotEqual(after.headers["etag"], before.headers["etag"])
            self.assertNotEqual(after.json()["generation"]["id"],
                                before.json()["generation"]["id"])
        finally:
            registry.write_text(text)
            self.gateway.run("reload")
        self.assertEqual(self.get(CARDS).body, before.body)


class Brand(unittest.TestCase):
    """Under another brand, nothing that callers see says Turnpike."""

    @classmethod
    def setUpClass(cls):
        config = new_directory(cls) / "turnpike.yaml"
        config.write_text("site:\n  brand:\n    name: Acme Data\n    tagline: Data by the call.\n")
        cls.gateway = Gateway(config=config, registry=new_registry(cls, REGISTRY))
        cls.addClassCleanup(cls.gateway.close)
        cls.gateway.start(frozenset({"api", "mcp", "web"}))

    def expect_no_other_name(self, what, text):
        rest = PROTOCOL_NAMES.sub("", text)
        found = [rest[max(0, one.start() - 60):one.end() + 60]
                 for one in re.finditer("Turnpike", rest)]
        self.assertEqual(found, [], what)

    def test_documents(self):
        paths = {"api": ["/openapi.json", "/reference", "/.well-known/mcp.json", "/healthz",
                         "/version", "/v1/capabilities", "/v1/status", "/v1/status/gateway",
                         "/v1/status/feed.atom", "/v1/status/rules", "/nothing",
                         "/.well-known/oauth-protected-resource",
                         "/v1/operation-pricing-inventory"],
                 "mcp": ["/server-card", "/.well-known/mcp.json", "/version", "/nothing",
                         "/.well-known/oauth-protected-resource",
                         "/.well-known/oauth-authorization-server"],
                 "web": [path for path, _, _ in DOCUMENTS] + ["/login", "/nothing"]}
        for host, targets in paths.items():
            for target in targets:
                reply = self.gateway.get(target, host=host)
                self.expect_no_other_name((host, target, reply.status), reply.body.decode())
        self.assertEqual(self.gateway.get("/openapi.json").json()["info"]["title"],
                         "Acme Data API")
        resource = self.gateway.get("/.well-known/oauth-protected-resource", host="mcp")
        self.assertEqual(resource.json()["resource_name"], "Acme Data")
        card = self.gateway.get("/server-card", host="mcp").json()
        self.assertEqual((card["title"], card["description"]),
                         ("Acme Data", "Data by the call."))
        self.assertTrue(card["name"].endswith("/acme-data"), card["name"])
        catalog = self.gateway.get("/.well-known/ard.json", host="web").json()
        self.assertEqual(catalog["host"]["displayName"], "Acme Data")
        self.assertEqual(self.gateway.get(CARDS, host="web").json()["service"]["name"],
                         "Acme Data")

    def message(self, method, params):
        reply = self.gateway.call(
            "POST", "/", host="mcp", headers=[
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream")],
            body=json.dumps({"jsonrpc": "2.0", "id": 1, "method": method,
                             "params": params}).encode())
        self.assertEqual(reply.status, 200, reply.body)
        self.expect_no_other_name(method, reply.body.decode())
        return reply.json()["result"]

    def test_what_models_are_told(self):
        hello = self.message("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}})
        self.assertEqual(hello["serverInfo"]["name"], "acme-data")
        self.assertEqual(hello["serverInfo"]["title"], "Acme Data")
        self.assertTrue(hello["instructions"].startswith("Acme Data runs operations"))
        self.message("tools/list", {})
        for prompt in self.message("prompts/list", {})["prompts"]:
            self.message("prompts/get", {"name": prompt["name"], "arguments": {
                one["name"]: "x" for one in prompt.get("arguments", [])}})
        for resource in self.message("resources/list", {})["resources"]:
            self.message("resources/read", {"uri": resource["uri"]})


class Configuration(unittest.TestCase):
    def test_a_line_that_the_registry_could_not_read_is_refused(self):
        for line in ("v=MCPv1; k=ed25519; p=short", "x" * 30,
                     "v=MCPv1; k=rsa; p=" + "A" * 43 + "=", KEY_LINE + "x"):
            gateway = Gateway(settings=[f"hosts.web.mcp_registry_auth={line}"])
            self.addCleanup(gateway.close)
            refused = gateway.run("check", check=False)
            self.assertNotEqual(refused.returncode, 0, line)
            self.assertIn("hosts.web.mcp_registry_auth", refused.stdout + refused.stderr)


if __name__ == "__main__":
    unittest.main()
