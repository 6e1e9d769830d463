"""Runtime upgrades verified over HTTP and over MCP: an upgrade of a fake chain from its proposal to
its end, and nodes that lie, forget or delay.
"""

import base64
import json
import unittest

from fake_chain import AUTHORIZED, CODE, NEW, OLD, FakeChain, blake2, text
from gateway import BUILD, Gateway, new_registry
from mcp import Client
from mcp_wire import Wire

ROUTE = "/v1/gateway/substrate/runtime-upgrade/verify"
TOOL = "service.substrate.runtime_upgrade.verify"

REGISTRY = """
provider: {{key: substrate, name: Substrate}}
upstreams:
  verifier:
    plugin: substrate
    settings:
      chains:
        - key: example
          genesis_hash: "{genesis}"
          endpoints: ["{url}"]
          allow_private_addresses: true
          call_timeout_ms: 1000
          cache_answers: false
prices:
  verify: {{version: 1, credit_cost: 3}}
routes:
  - path: /runtime-upgrade/verify
    price: verify
    methods: [POST]
    body: {{max_bytes: 25165824, media_types: [application/json], required: true}}
"""

EXPECTED = {"code_hash": text(blake2(NEW)), "spec_version": 1000001}
LIVE = {"mode": "live", "chain": "example", "expected": EXPECTED}
PROPOSAL = {"chain": "example", "code": {"hex": text(NEW)},
            "proposal": {"call": "0x0009" + blake2(NEW).hex()}}


class Verifying(unittest.TestCase):
    def setUp(self):
        self.chain = FakeChain()
        self.addCleanup(self.chain.close)
        self.gateway = Gateway(
            registry=new_registry(self, REGISTRY.format(
                genesis=text(self.chain.blocks[0].hash), url=self.chain.url)),
            plugins=BUILD / "plugins")
        self.addCleanup(self.gateway.close)
        self.gateway.start()
        self.account, self.key = self.gateway.new_key()
        self.url = "http://%s:%d" % self.gateway.addresses["mcp"]

    def post(self, asked, **options):
        return self.gateway.call("POST", ROUTE, key=self.key, body=json.dumps(asked).encode(),
                                 headers=[("Content-Type", "application/json")], **options)

    def verdict(self, asked):
        reply = self.post(asked)
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()["verdict"]


class OverHttp(Verifying):
    def test_an_upgrade_from_its_proposal_to_its_end(self):
        self.assertEqual(self.verdict(PROPOSAL), "inconclusive")
        self.chain.add(OLD, 1000000).storage[AUTHORIZED] = blake2(NEW) + b"\x01"
        self.assertEqual(self.verdict(PROPOSAL), "pending")
        self.chain.add(NEW, 1000001, replaces=True)
        self.chain.finalized = 1
        self.assertEqual(self.verdict(LIVE), "pending")
        self.assertEqual(self.verdict({**LIVE, "at": {"block_number": 2}}), "inconclusive")
        self.chain.finalized = 2
        self.assertEqual(self.verdict(LIVE), "verified")
        told = self.post({"chain": "example", "from": {"block_number": 0},
                          "expected": EXPECTED}).json()
        self.assertEqual((told["verdict"], told["applied_at"]), ("verified", 2))

    def test_nodes_that_lie_forget_or_tarry_verify_nothing(self):
        self.chain.add(NEW, 1000001, replaces=True)

        def lies(method, params, result):
            is_bytes = method == "state_getStorage" and params[0] == CODE
            return text(OLD) if is_bytes else result

        def forgets(method, params, result):
            if method.startswith("state_"):
                raise LookupError("State already discarded")
            return result

        def is_other(method, params, result):
            return text(bytes(32)) if params == [0] else result

        for meddle, wanted in ((lies, "mismatch"), (forgets, "inconclusive"),
                               (is_other, "mismatch")):
            self.chain.meddle = meddle
            self.assertEqual(self.verdict({**LIVE, "min_assurance": 3}), wanted, meddle)

    def test_nobody_pays_for_a_node_that_is_away_or_for_wrong_input(self):
        before = self.gateway.balance(self.account, self.key)
        self.assertEqual(self.post({}).status, 400)
        self.assertEqual(self.post({**LIVE, "chain": "other"}).status, 400)
        self.chain.server.server_close()
        self.assertIn(self.post(LIVE).status, (502, 503, 504))
        self.assertEqual(self.gateway.balance(self.account, self.key), before)

    def test_a_blob_of_sixteen_mebibytes(self):
        blob = bytes(16 * 1024 * 1024)
        told = self.post({"code": {"base64": base64.b64encode(blob).decode()}}).json()
        self.assertEqual(told["code"]["code_hash"], text(blake2(blob)))
        self.assertEqual(told["verdict"], "mismatch")


class OverMcp(Verifying):
    def test_every_era_gets_what_http_gets(self):
        self.chain.add(NEW, 1000001, replaces=True)
        over_http = self.post(LIVE).json()
        for sdk, era in ((1, "legacy"), (2, "modern")):
            client = Client(sdk=sdk, era=era)
            self.addCleanup(client.close)
            client.connect(self.url, key=self.key)
            [tool] = [one for one in client.command("tools") if one["name"] == TOOL]
            self.assertIn("outputSchema", tool)
            before = self.gateway.balance(self.account, self.key)
            result = client.call(TOOL, **LIVE)
            self.assertFalse(result.get("isError"), result)
            told = result["structuredContent"]
            for part in ("verdict", "summary", "runtime", "at", "assurance"):
                self.assertEqual(told[part], over_http[part])
            self.assertEqual([(one["id"], one["status"]) for one in told["checks"]],
                             [(one["id"], one["status"]) for one in over_http["checks"]])
            self.assertEqual(result["content"][0]["text"], told["summary"])
            self.assertEqual(self.gateway.balance(self.account, self.key), before - 3)
            wrong = client.call(TOOL, expected={"code_hash": "0x12"})
            self.assertTrue(wrong["isError"])
            self.assertIn("/expected/code_hash", wrong["content"][0]["text"])

    def test_a_blob_longer_than_other_messages(self):
        client = Client(sdk=2, era="modern")
        self.addCleanup(client.close)
        client.connect(self.url, key=self.key)
        blob = bytes(3 * 1024 * 1024)
        told = client.call(TOOL, code={"base64": base64.b64encode(blob).decode()})
        self.assertEqual(told["structuredContent"]["code"]["code_hash"], text(blake2(blob)))

    def test_it_is_not_at_the_door_for_payments(self):
        names = {door: [tool["name"] for tool in Wire(self.gateway, door=door).tools()]
                 for door in ("/", "/x402")}
        self.assertIn(TOOL, names["/"])
        self.assertNotIn(TOOL, names["/x402"])


if __name__ == "__main__":
    unittest.main()
