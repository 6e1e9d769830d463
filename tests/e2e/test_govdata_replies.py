"""Checks every reply of the ten govdata routes, over all data at hand, against the JSON Schemas
that the gateway publishes. Also covers the events route once an operator prices it."""

import json
import shutil
import subprocess
import time
import unittest
import urllib.parse

from gateway import GOVDATA_IMPORT, ROOT, Gateway, new_directory
from mcp_wire import Wire

BASE = "/v1/gateway/govdata/global/v1"
SHARED = ROOT.parent / "shared" / "data" / "govdata"
# The real data for each import format: arguments, then the file.
IMPORTS = [
    ("snapshot-graphql", ["--dao", "decentraland"],
     "decentraland/derived.snapshot-hub.proposals.json"),
    ("snapshot-graphql", ["--dao", "decentraland"], "decentraland/derived.snapshot-hub.votes.json"),
    ("governor-logs", ["--dao", "uniswap", "--scope", "eip155:1:uni"],
     "governor-uniswap/ProposalCreated.csv"),
    ("governor-logs", ["--dao", "uniswap", "--scope", "eip155:1:uni"],
     "governor-uniswap/VoteCast.proposal83.csv"),
    ("governor-logs", ["--dao", "optimism", "--scope", "eip155:10:op", "--chain-id", "10"],
     "governor-optimism/ProposalCreated.standard.csv"),
    ("governor-logs", ["--dao", "optimism", "--scope", "eip155:10:op", "--chain-id", "10"],
     "governor-optimism/ProposalCreated.module.csv"),
    ("discourse", ["--dao", "forum", "--base-url", "https://forum.example.org"],
     "discourse/latest.json"),
    ("discourse", ["--dao", "forum", "--base-url", "https://forum.example.org"],
     "discourse/topic.json"),
]


# Tools for a few of the routes, as an operator binds them.
TOOLS = """
tools:
  daos.list: {route: GET /v1/gateway/govdata/global/v1/daos, description: All DAOs.}
  daos.brief:
    route: GET /v1/gateway/govdata/global/v1/daos/{dao_id}/brief
    description: One DAO.
  signals.list:
    route: GET /v1/gateway/govdata/global/v1/governance-signals
    description: Signals.
"""


def priced_registry(test):
    """The shipped registry with the provider's usual price on the events route, and with tools."""
    folder = new_directory(test) / "registry"
    shutil.copytree(ROOT / "registry", folder)
    file = folder / "providers" / "govdata.yaml"
    unpriced = "    price: unavailable\n    free: none\n    credential_required: true\n"
    before, found, after = file.read_text().partition(unpriced)
    if not found:
        raise AssertionError("the shipped events route is not as this test knows it")
    file.write_text(before + after)
    (folder / "tools").mkdir()
    (folder / "tools" / "test.yaml").write_text(TOOLS)
    return folder


def quoted(text):
    return urllib.parse.quote(text, safe="")


class GovdataReplies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(registry=priced_registry(cls), settings=[
            "accounts.starter_grant.credits=1000000"])
        cls.addClassCleanup(cls.gateway.close)
        cls.database = cls.gateway.directory / "govdata.db"
        cls.importing("sample")
        if SHARED.exists():
            for format_name, arguments, file in IMPORTS:
                cls.importing(format_name, *arguments, SHARED / file)
        cls.account, cls.key = cls.gateway.new_key()
        cls.gateway.start()
        cls.addClassCleanup(cls.gateway.stop)

    @classmethod
    def importing(cls, format_name, *arguments):
        subprocess.run([GOVDATA_IMPORT, format_name, "--database", cls.database, *arguments],
                       check=True, capture_output=True)

    def get(self, path, status=200):
        reply = self.gateway.get(BASE + path, key=self.key)
        self.assertEqual(reply.status, status, f"{path}: {reply.body[:300]}")
        return reply.json()

    def details(self):
        """The provider's published capabilities by path."""
        page = self.gateway.get("/v1/capabilities?provider_key=govdata&limit=1000").json()
        by_path = {}
        for entry in page["capabilities"]:
            detail = self.gateway.get(f"/v1/capabilities/{entry['capability_id']}").json()
            by_path[entry["path"][len(BASE):]] = detail["capability"]
        return by_path

    def crawl(self):
        """Yields pairs of a route's pattern and a path that matches it, for all DAOs and all their
        items."""
        now = int(time.time() * 1000)
        for path in ("/meta/pricing", "/daos", "/system/freshness"):
            yield path, path
        for dao in self.get("/daos")["data"]["items"]:
            yield "/daos/{dao_id}/brief", f"/daos/{dao['daoId']}/brief?activity_limit=20"
        for query in ("title=proposal", "title=the", "external_id=1", "title=a%20b&dao_id=nobody"):
            yield "/proposals/lookup", f"/proposals/lookup?limit=200&{query}"
        for query in ("hours=168", "hours=1&dao_id=nobody", "governance_only=1"):
            yield "/activity", f"/activity?limit=200&{query}"
        items = set()
        for start, end in self.windows(now):
            window = f"start_ms={start}&end_ms={end}&limit=200"
            path = f"/governance-events?{window}&include_intelligence=true"
            yield "/governance-events", path
            for event in self.get(path)["data"]["items"]:
                ref = event["itemRef"]
                items.add((ref["kind"], ref["externalId"]))
            for surface in ("agent", "atlas_latest", "atlas_priority", "telegram_realtime"):
                yield "/governance-signals", f"/governance-signals?{window}&surface={surface}"
        for found in self.get("/proposals/lookup?limit=200&title=the")["data"]["candidates"]:
            items.add(("proposal", found["itemRef"]["externalId"]))
        for kind, external_id in sorted(items):
            path = f"/items/{kind}/{quoted(external_id)}"
            yield "/items/{kind}/{external_id}", path
            if kind == "proposal":
                link = self.get(path)["data"]["item"]["links"]["evidence"]
                yield ("/daos/{dao_id}/proposals/{source}/{external_id}/evidence",
                       link[len(BASE):])

    def windows(self, now):
        """Yields all time as one span, and then spans whose pages together hold every event."""
        yield 0, now
        start = 0
        while True:
            page = self.get(f"/governance-events?start_ms={start}&end_ms={now}&limit=200")["data"]
            if not page["items"]:
                return
            last = page["items"][-1]["eventTimeMs"]
            yield page["items"][0]["eventTimeMs"], last + 1
            if not page["truncated"]:
                return
            start = last + 1 if last == start else last

    def errors(self):
        yield "/daos/{dao_id}/brief", "/daos/nobody/brief", 404
        yield "/items/{kind}/{external_id}", "/items/proposal/nothing", 404
        yield "/items/{kind}/{external_id}", "/items/vote/1", 400
        yield "/proposals/lookup", "/proposals/lookup", 400
        yield "/activity", "/activity?hours=ten", 400
        yield "/governance-signals", "/governance-signals?start_ms=2&end_ms=1", 400
        yield "/governance-events", "/governance-events", 400
        yield ("/daos/{dao_id}/proposals/{source}/{external_id}/evidence",
               "/daos/nobody/proposals/snapshot/1/evidence", 404)

    def test_every_reply_conforms_to_its_published_schema(self):
        details = self.details()
        self.assertEqual(len(details), 10)
        lines = []
        for path, capability in details.items():
            response = capability["response"]
            lines.append({"schema": path, "definition": response["schema"]})
            lines.append({"schema": path + " error", "definition": response["error_schema"]})
        seen = set()
        for pattern, path in self.crawl():
            seen.add(pattern)
            lines.append({"schema": pattern, "name": path, "body": self.get(path)})
        self.assertEqual(seen, set(details))
        for pattern, path, status in self.errors():
            body = self.get(path, status)
            lines.append({"schema": pattern + " error", "name": path, "body": body})
        self.assertGreater(self.validated(lines), 100)

    def validated(self, lines):
        """Validates the replies and returns how many there were; fails if any does not conform."""
        run = subprocess.run(
            ["node", ROOT / "tests/openapi/validate_replies.mjs"], check=False, text=True,
            capture_output=True, input="".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(run.returncode, 0, run.stderr)
        *wrong, last = run.stdout.splitlines()
        self.assertEqual(wrong[:20], [])
        return json.loads(last)["checked"]

    def test_results_of_tools_conform_to_their_output_schemas(self):
        wire = Wire(self.gateway)
        tools = {tool["name"]: tool for tool in wire.tools(key=self.key)}
        now = int(time.time() * 1000)
        lines = []
        for name, arguments, status in (
                ("daos.list", {}, 200),
                ("daos.brief", {"dao_id": "sample-harbor-dao"}, 200),
                ("daos.brief", {"dao_id": "nobody"}, 404),
                ("signals.list", {"start_ms": now - 10**9, "end_ms": now}, 200),
                ("signals.list", {"start_ms": now, "end_ms": now - 10**9}, 400)):
            reply = wire.call(name, arguments, key=self.key)
            self.assertEqual(reply.said["http_status"], status, reply.said)
            self.assertIn("anyOf", tools[name]["outputSchema"]["properties"]["body"])
            lines.append({"schema": name, "definition": tools[name]["outputSchema"]})
            lines.append({"schema": name, "name": f"{name} {arguments}", "body": reply.said})
        self.assertEqual(self.validated(lines), 5)

    def test_events_are_served_once_they_are_priced(self):
        now = int(time.time() * 1000)
        path = f"/governance-events?start_ms={now - 365 * 86_400_000}&end_ms={now}"
        reply = self.gateway.get(BASE + path, key=self.key)
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(reply.headers["turnpike-credits-charged"], "1")
        self.assertGreater(reply.json()["data"]["count"], 20)

    def test_the_openapi_document_names_the_schemas(self):
        document = self.gateway.get("/openapi.json").json()
        operation = document["paths"][BASE + "/daos"]["get"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        self.assertEqual(schema, {"$ref": "#/components/schemas/govdata.reply_daos"})
        self.assertIn("govdata.reply_daos", document["components"]["schemas"])
        self.assertNotIn("#/$defs/", json.dumps(document["components"]["schemas"]))
        error = operation["responses"]["404"]["content"]["application/json"]["schema"]
        self.assertIn({"$ref": "#/components/schemas/govdata.error"}, error["anyOf"])


if __name__ == "__main__":
    unittest.main()
