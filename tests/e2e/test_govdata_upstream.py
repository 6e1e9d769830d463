"""Governance data from a real service on loopback, through a gateway, with the charges. `mode:
proxy` passes requests on, and `proxy_v2` translates them for version 2."""

import json
import os
import re
import shutil
import subprocess
import unittest

from fake_governance import Fake
from gateway import ROOT, Gateway, new_directory

BASE = "/v1/gateway/govdata/global/v1"
TOKEN = "token-of-the-service-42"
ITEM = {"proposalId": "p1_x", "daoId": "tide-eth", "title": "Fund the harbour", "proposerId": None,
        "source": {"provider": "snapshot", "externalId": "0x" + "1" * 64, "discussionUrl": None,
                   "url": "https://snapshot.org/#/tide.eth/proposal/0x11"},
        "status": "closed", "outcome": "passed", "executionStatus": "not_applicable",
        "createdAt": "2026-01-01T00:00:00.000Z", "votingStartsAt": "2026-01-02T00:00:00.000Z",
        "votingEndsAt": "2026-01-05T00:00:00.000Z", "dataAsOf": "2026-02-01T00:00:00.000Z"}


class Service(Fake):
    """Both versions of the service. All paths but the health check and the lists of DAOs need the
    token, and a wrong token gets a 402."""

    def reply(self, method, path, query, headers, body):
        if path == "/health":
            return 200, {"ok": True}
        if path not in ("/v1/daos", "/v2/daos") and headers.get("x-degov-api-token") != TOKEN:
            return 402, {"error": "pay"}
        if path.startswith("/v1/"):
            return 200, {"path": path, "query": query}
        if path == "/v2/daos":
            return 200, {"data": [{"daoId": "tide-eth", "name": "Tide", "sources": ["snapshot"],
                                   "availableData": ["proposals"],
                                   "proposalCounts": {"total": 3, "active": 0},
                                   "participation": None, "latestActivity": {}}],
                         "page": {"hasMore": False, "nextCursor": None}}
        if path == "/v2/proposals/resolve":
            known = json.loads(body) == {"by": "url", "url": ITEM["source"]["url"]} or \
                json.loads(body).get("externalId") == ITEM["source"]["externalId"]
            return (200, {"data": ITEM}) if known else (404, {"error": {"code": "NOT_FOUND"}})
        if path == "/v2/proposals/p1_x":
            return 200, {"data": {**ITEM, "body": "All of it", "choices": None,
                                  "quorumRequired": None, "sourceUpdatedAt": None}}
        if path in ("/v2/proposals", "/v2/forum-topics"):
            return 200, {"data": [ITEM] if path == "/v2/proposals" else [],
                         "page": {"hasMore": False, "nextCursor": None}}
        return 404, {"error": {"code": "NOT_FOUND"}}


class Upstream(unittest.TestCase):
    def serve(self, mode):
        self.service = Service()
        self.addCleanup(self.service.close)
        os.environ["GOVDATA_TOKEN"] = TOKEN
        self.addCleanup(os.environ.pop, "GOVDATA_TOKEN")
        directory = new_directory(self) / "registry"
        shutil.copytree(ROOT / "registry", directory)
        file = directory / "providers" / "govdata.yaml"
        text, count = re.subn("      mode: embedded.*\n      database: .*\n", lambda _: (
            f"      mode: {mode}\n      base_url: {self.service.url}\n"
            "      api_token: {secret: {env: GOVDATA_TOKEN}}\n"
            "      allow_private_addresses: true\n"), file.read_text())
        self.assertEqual(count, 1)
        file.write_text(text.replace("    plugin: govdata\n",
                                     "    plugin: govdata\n    deadline_ms: 2000\n"))
        self.gateway = Gateway(registry=directory, settings=["log.level=info"])
        self.addCleanup(self.gateway.close)
        self.gateway.start()
        self.account, self.key = self.gateway.new_key(credits=100)

    def get(self, path):
        return self.gateway.get(BASE + path, key=self.key)

    def check_schemas(self, replies):
        """Fetches pairs of a route's pattern and a path, and checks the replies against the
        published schemas."""
        lines = []
        listed = self.gateway.get("/v1/capabilities?provider_key=govdata&limit=1000").json()
        for entry in listed["capabilities"]:
            detail = self.gateway.get(f"/v1/capabilities/{entry['capability_id']}").json()
            lines.append({"schema": entry["path"][len(BASE):],
                          "definition": detail["capability"]["response"]["schema"]})
        for pattern, path in replies:
            reply = self.get(path)
            self.assertEqual(reply.status, 200, path)
            lines.append({"schema": pattern, "name": path, "body": reply.json()})
        run = subprocess.run(
            ["node", ROOT / "tests/openapi/validate_replies.mjs"], check=False, text=True,
            capture_output=True, input="".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        *wrong, last = run.stdout.splitlines()
        self.assertEqual(wrong, [])
        self.assertEqual(json.loads(last)["checked"], len(replies))

    def check_failures(self, path):
        """Each failure of the service becomes the gateway's own error, and costs nothing."""
        before = self.gateway.balance(self.account, self.key)
        for status, headers, wanted, code in (
                (401, {}, 503, "gateway.upstream_credential"),
                (402, {"PAYMENT-REQUIRED": "theirs"}, 503, "gateway.upstream_credential"),
                (403, {}, 503, "gateway.upstream_credential"),
                (429, {"Retry-After": "7"}, 503, "gateway.upstream_rate_limited"),
                (500, {}, 502, "gateway.upstream_transport_or_response_failure"),
                (503, {}, 502, "gateway.upstream_transport_or_response_failure"),
                (302, {"Location": "http://example.org/"}, 502, "gateway.upstream_redirect"),
                (None, {}, 502, "gateway.upstream_transport_or_response_failure")):
            with self.subTest(status=status):
                self.service.script(status, b"{}", {"Content-Type": "application/json", **headers})
                reply = self.get(path)
                self.assertEqual((reply.status, reply.error_code()), (wanted, code))
                self.assertNotIn("payment-required", reply.headers)
                if status == 429:
                    self.assertEqual(reply.headers["retry-after"], "7")
        arrived, release = self.service.hold()
        reply = self.get(path)
        self.assertEqual((reply.status, reply.error_code()), (504, "gateway.upstream_timeout"))
        release.set()
        self.assertEqual(self.gateway.balance(self.account, self.key), before)
        self.assertNotIn(TOKEN, self.gateway.log_text())


class TestProxy(Upstream):
    def test_passes_on_what_is_asked_and_answered(self):
        self.serve("proxy")
        reply = self.get("/daos/a%20b/brief?activity_limit=3&x=%20y")
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.json(), {"path": "/v1/daos/a%20b/brief",
                                        "query": {"activity_limit": ["3"], "x": [" y"]}})
        sent = self.service.requests[-1]["headers"]
        self.assertEqual(sent["x-degov-api-token"], TOKEN)
        self.assertEqual(sent["User-Agent"], "turnpike-govdata/1")
        self.assertEqual(sent["Accept"], "application/json")
        self.assertNotIn("Authorization", sent)
        before = self.gateway.balance(self.account, self.key)
        for status in (400, 404):
            self.service.script(status, b'{"error": {"code": "theirs"}}',
                                {"Content-Type": "application/json"})
            reply = self.get("/activity")
            self.assertEqual((reply.status, reply.json()), (status, {"error": {"code": "theirs"}}))
        self.assertEqual(self.gateway.balance(self.account, self.key), before)
        self.check_failures("/activity")


class TestProxyV2(Upstream):
    def test_answers_as_far_as_version_two_tells(self):
        self.serve("proxy_v2")
        daos = self.get("/daos").json()
        self.assertEqual(daos["data"]["items"][0]["daoId"], "tide-eth")
        self.assertEqual(daos["freshness"]["cacheStatus"], "refreshed_live")
        found = self.get("/proposals/lookup?url=https%3A%2F%2Fsnapshot.org%2F%23%2Ftide.eth"
                         "%2Fproposal%2F0x11").json()["data"]
        self.assertEqual(found["candidates"][0]["match"]["type"], "url_exact")
        item = self.get("/items/proposal/tide-eth~snapshot~0x" + "1" * 64).json()["data"]["item"]
        self.assertEqual((item["body"], item["outcome"]), ("All of it", "passed"))
        self.assertEqual(self.get("/items/proposal/tide-eth~snapshot~0x2").status, 404)
        self.assertEqual(self.get("/activity?hours=24").json()["data"]["items"], [])
        before = self.gateway.balance(self.account, self.key)
        for path in ("/system/freshness", "/daos/tide-eth/brief"):
            reply = self.get(path)
            self.assertEqual((reply.status, reply.error_code()), (503, "gateway.route_blocked"))
        capabilities = self.gateway.get("/v1/capabilities").json()["capabilities"]
        blocked = {entry["path"][len(BASE):] for entry in capabilities
                   if entry["readiness"]["status"] == "blocked"}
        self.assertLessEqual({"/system/freshness", "/daos/{dao_id}/brief"}, blocked)
        self.assertTrue(blocked.isdisjoint({"/daos", "/activity", "/proposals/lookup"}))
        self.assertEqual(self.gateway.balance(self.account, self.key), before)
        self.check_failures("/activity?types=proposal")
        self.check_schemas([
            ("/meta/pricing", "/meta/pricing"), ("/daos", "/daos"),
            ("/proposals/lookup", "/proposals/lookup?title=harbour"),
            ("/proposals/lookup", "/proposals/lookup?title=nothing+of+it"),
            ("/items/{kind}/{external_id}",
             "/items/proposal/tide-eth~snapshot~0x" + "1" * 64),
            ("/activity", "/activity?hours=168")])


if __name__ == "__main__":
    unittest.main()
