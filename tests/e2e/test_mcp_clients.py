"""The official MCP clients and the inspector against the gateway: what a person's client sees, from
the handshake to a paid call.
"""

import functools
import json
import secrets
import unittest

from gateway import BUILD, ONE_UPSTREAM, Gateway, new_directory, new_registry
from mcp import LEGACY, MODERN, Client, ClientError, Inspection
from upstream import Upstream
from waiting import until
from x402 import Chain, Facilitator, Payer, decoded, encoded

TEST = "/v1/gateway/test"
ITEM = TEST + "/upstream/bytes/100"
PRICE = 1000
STARTER_CREDITS = 1000

REGISTRY = ONE_UPSTREAM + """
x402:
  enabled: {payments}
  networks:
    local: {{id: "{network}", pay_to: "{pay_to}"}}
  assets:
    local-usdc: {{network: local, address: "{token}", decimals: 6, name: USDC, version: "2"}}
prices:
  test.standard: {{version: 1, credit_cost: 2, x402: [{{asset: local-usdc, amount: "1000"}}]}}
free_policies:
  many: {{window: {{limit: 100000, seconds: 31536000}}, concurrency: 100, permit_ttl_seconds: 60}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 50000, free: many}}
routes:
  - {{path: "/upstream/{{kind}}/{{argument}}"}}
"""

CONFIGURATION = """
lanes:
  x402:
    facilitators:
      - {{url: "{facilitator}", allow_private_addresses: true}}
    chains:
      "{network}": {{rpc_url: "{chain}", allow_private_addresses: true}}
"""

# (SDK, the era it is asked to speak, the version it then speaks)
CLIENTS = [(1, "legacy", LEGACY), (2, "legacy", LEGACY), (2, "auto", MODERN),
           (2, "modern", MODERN)]


@functools.cache
def official_client(sdk, era):
    """One for all tests, which connect anew: to start its process takes longer than most tests."""
    client = Client(sdk=sdk, era=era)
    unittest.addModuleCleanup(client.close)
    return client


def with_each_client(test):
    """Runs the test with a client of each kind, and passes the version that it must speak."""

    @functools.wraps(test)
    def run(self):
        for sdk, era, version in CLIENTS:
            with self.subTest(sdk=sdk, era=era):
                test(self, official_client(sdk, era), version)

    return run


class Callers(unittest.TestCase):
    """One gateway, chain and facilitator for all tests; no test here changes what another sees."""

    @classmethod
    def setUpClass(cls):
        cls.has_payments = (BUILD / "plugins" / "x402.so").exists()
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.chain = Chain()
        cls.addClassCleanup(cls.chain.close)
        cls.facilitator = Facilitator(cls.chain)
        cls.addClassCleanup(cls.facilitator.close)
        registry = new_registry(cls, REGISTRY.format(
            address=cls.upstream.address, network=cls.chain.network, token=cls.chain.token,
            pay_to="0x" + secrets.token_hex(20), payments=str(cls.has_payments).lower()))
        config = new_directory(cls) / "turnpike.yaml"
        config.write_text(CONFIGURATION.format(
            facilitator=cls.facilitator.url, network=cls.chain.network, chain=cls.chain.url)
            if cls.has_payments else "")
        cls.gateway = Gateway(registry=registry, config=config, plugins=BUILD / "plugins",
                              settings=["hosts.mcp.progress_interval_ms=100"])
        cls.addClassCleanup(cls.gateway.close)
        cls.gateway.start()
        cls.url = "http://%s:%d" % cls.gateway.addresses["mcp"]


class Accounts(Callers):
    def setUp(self):
        _, self.key = self.gateway.new_key()

    @with_each_client
    def test_every_client_connects_in_its_era_and_finds_the_tools(self, client, version):
        about = client.connect(self.url)
        self.assertEqual(about["version"], version)
        self.assertIsNone(about["session"])
        self.assertEqual(about["server"]["name"], "turnpike")
        self.assertEqual(set(about["capabilities"]), {"tools", "resources", "prompts"})
        tools = client.command("tools")
        self.assertEqual([tool["name"] for tool in tools], [
            "service.capabilities.list", "service.capabilities.get", "service.route.execute",
            "service.route.read", "service.account.balance", "service.account.usage",
            "service.account.call"])
        for tool in tools:
            self.assertEqual(set(tool["annotations"]) & {"readOnlyHint", "destructiveHint"},
                             {"readOnlyHint", "destructiveHint"})
            self.assertIn("securitySchemes", tool["_meta"])

    @with_each_client
    def test_every_client_reads_the_catalog_without_a_credential(self, client, version):
        client.connect(self.url)
        client.command("tools")  # from here on it checks results against output schemas
        page = client.call("service.capabilities.list", limit=1)["structuredContent"]
        [entry] = page["capabilities"]
        found = client.call("service.capabilities.get", capability_id=entry["capability_id"])
        self.assertEqual(found["structuredContent"]["capability"]["capability_id"],
                         entry["capability_id"])
        self.assertEqual(json.loads(found["content"][0]["text"]), found["structuredContent"])

    @with_each_client
    def test_every_client_reads_resources_and_prompts(self, client, version):
        client.connect(self.url)
        resources = client.command("resources")
        self.assertGreater(len(resources), 0)
        for resource in resources:
            [content] = client.command("read", uri=resource["uri"])["contents"]
            self.assertEqual(content["uri"], resource["uri"])
            self.assertTrue(content["text"])
        templates = client.command("templates")
        self.assertTrue(any("{" in template["uriTemplate"] for template in templates))
        prompts = client.command("prompts")
        self.assertEqual(len(prompts), 3)
        for prompt in prompts:
            arguments = {each["name"]: "anything" for each in prompt.get("arguments", ())}
            got = client.command("prompt", name=prompt["name"], arguments=arguments)
            self.assertGreater(len(got["messages"]), 0)

    @with_each_client
    def test_every_client_runs_a_route_and_is_charged_what_it_costs(self, client, version):
        account, key = self.gateway.new_key()
        client.connect(self.url, key=key)
        client.command("tools")
        result = client.call("service.route.execute", method="GET", path=ITEM)
        told = result["structuredContent"]
        self.assertFalse(result.get("isError"), result)
        self.assertEqual((told["execution_status"], told["http_status"],
                          told["credits_charged"], told["reply_from"]),
                         ("registry_paid_route_executed", 200, 2, "provider"))
        self.assertEqual(told["body"], "x" * 98)
        self.assertEqual(json.loads(result["content"][0]["text"]), told)
        self.assertEqual(self.gateway.balance(account, key), STARTER_CREDITS - 2)

    @with_each_client
    def test_every_client_runs_a_free_variant_and_is_charged_nothing(self, client, version):
        account, key = self.gateway.new_key()
        client.connect(self.url, key=key)
        for how in ({"path": ITEM, "free": True}, {"path": ITEM + ":free"}):
            told = client.call("service.route.execute", method="GET",
                               **how)["structuredContent"]
            self.assertEqual((told["execution_status"], told["credits_charged"]),
                             ("registry_free_route_executed", 0))
        self.assertEqual(self.gateway.balance(account, key), STARTER_CREDITS)

    @with_each_client
    def test_every_client_asks_for_the_health_of_the_service(self, client, version):
        client.connect(self.url)
        for path in ("/healthz", "/readyz", "/version"):
            told = client.call("service.route.execute", method="GET",
                               path=path)["structuredContent"]
            self.assertEqual((told["execution_status"], told["http_status"],
                              told["credits_charged"]), ("free_health_executed", 200, 0))

    @with_each_client
    def test_every_client_is_told_to_authenticate_where_a_key_is_needed(self, client, version):
        client.connect(self.url)
        with self.assertRaises(ClientError) as refused:
            client.call("service.route.execute", method="GET", path=ITEM)
        self.assertEqual(refused.exception.http_status, 401, refused.exception)

    @with_each_client
    def test_every_client_is_told_that_its_key_is_not_valid(self, client, version):
        with self.assertRaises(ClientError) as refused:
            client.connect(self.url, key="turnpike_sk_v1_dev_" + "0" * 49)
            client.call("service.route.execute", method="GET", path=ITEM)
        self.assertEqual(refused.exception.http_status, 401, refused.exception)

    @with_each_client
    def test_arguments_that_are_wrong_are_a_result_that_a_model_can_read(self, client, version):
        client.connect(self.url, key=self.key)
        client.command("tools")
        result = client.call("service.route.execute", method="GET", path="no-slash")
        self.assertTrue(result["isError"])
        self.assertEqual(result["structuredContent"]["execution_status"], "refused")

    @with_each_client
    def test_a_tool_that_does_not_exist_is_an_error_of_the_protocol(self, client, version):
        client.connect(self.url)
        with self.assertRaises(ClientError) as refused:
            client.call("service.none")
        self.assertIn("-32602", f"{refused.exception.code} {refused.exception}")



class CallsThatLast(Callers):
    """Calls of an upstream that answers when the test releases it."""

    def setUp(self):
        self.addCleanup(self.upstream.release)

    def begin(self, client, **options):
        """Begins a call and waits until it has reached the upstream. Returns the account and its
        key."""
        self.upstream.released.clear()
        account, key = self.gateway.new_key()
        client.connect(self.url, key=key)
        while self.upstream.arrived.acquire(blocking=False):
            pass  # arrivals of earlier calls
        client.begin("service.route.execute", method="GET", path=TEST + "/upstream/slow/x",
                     **options)
        self.upstream.arrived.acquire()
        return account, key

    def usage(self, account, key):
        """Outcome, reason and charge of the account's only row, once it is there."""
        page = f"/v1/billing-accounts/{account}/billing?collection=usage"
        [row] = until(lambda: self.gateway.get(page, key=key).json()["items"],
                      "the call is not in the books")
        return row["outcome"], row["outcomeReason"], row["creditsCharged"]

    @with_each_client
    def test_a_call_that_is_given_up_is_not_charged(self, client, version):
        account, key = self.begin(client)
        client.command("abort")
        with self.assertRaises(ClientError):
            client.command("end")
        self.assertEqual(self.usage(account, key), ("released", "client_gone_before_reply", "0"))
        self.assertEqual(self.gateway.balance(account, key), STARTER_CREDITS)
        told = client.call("service.route.execute", method="GET", path=ITEM)["structuredContent"]
        self.assertEqual(told["credits_charged"], 2, "the client goes on")

    @with_each_client
    def test_a_call_that_takes_a_client_too_long_is_not_charged(self, client, version):
        account, key = self.begin(client, timeout=2_000)
        with self.assertRaises(ClientError) as late:
            client.command("end")
        self.assertRegex(str(late.exception), "(?i)timed out|timeout")
        self.assertEqual(self.usage(account, key), ("released", "client_gone_before_reply", "0"))
        self.assertEqual(self.gateway.balance(account, key), STARTER_CREDITS)

    @with_each_client
    def test_progress_keeps_a_client_patient(self, client, version):
        account, key = self.begin(client, timeout=3_000, progress=True)
        # Twice as long as the client would have waited without progress.
        told = client.command("progress", count=60)
        values = [one["progress"] for one in told]
        self.assertEqual(values, sorted(set(values)))
        self.assertGreater(values[-1], 6 * 0.9)
        self.upstream.release()
        result = client.command("end")
        self.assertFalse(result.get("isError"), result)
        self.assertEqual(result["structuredContent"]["credits_charged"], 2)
        self.assertEqual(self.usage(account, key), ("charged", "success", "2"))


class Inspector(Callers):
    def test_it_sees_what_the_clients_see(self):
        _, key = self.gateway.new_key()
        for era in ("legacy", "modern", "auto"):
            with self.subTest(era=era):
                tools = Inspection(self.url, "tools/list", "--strict", era=era)
                self.assertEqual(tools.code, 0, tools.error)
                self.assertEqual(len(tools.result["tools"]), 7)
                resources = Inspection(self.url, "resources/list", era=era).result["resources"]
                read = Inspection(self.url, "resources/read", "--uri", resources[0]["uri"], era=era)
                self.assertEqual(read.code, 0, read.error)
                self.assertTrue(read.result["contents"][0]["text"])
                self.assertEqual(
                    len(Inspection(self.url, "prompts/list", era=era).result["prompts"]), 3)
                arguments = json.dumps({"method": "GET", "path": ITEM})
                call = ("tools/call", "--tool-name", "service.route.execute",
                        "--tool-args-json", arguments)
                paid = Inspection(self.url, *call, era=era, key=key)
                self.assertEqual(paid.code, 0, paid.error)
                self.assertEqual(paid.result["structuredContent"]["credits_charged"], 2)
                refused = Inspection(self.url, *call, era=era)
                self.assertEqual((refused.code, json.loads(refused.error)["error"]["code"]),
                                 (3, "auth_required"))


class Payments(Callers):
    def setUp(self):
        if not self.has_payments:
            self.skipTest("this build has no x402 lane")
        self.payer = Payer()
        self.addCleanup(self.payer.close)
        self.chain.fund(self.payer.address, 10 * PRICE)
        self.url = self.url + "/x402"

    def ask(self, client, payment=None):
        meta = None if payment is None else {"x402/payment": payment}
        return client.call("service.route.execute", meta, method="GET", path=ITEM)

    def challenge(self, client):
        """What the gateway asks to be paid, which must be the same in the three places where
        clients look."""
        result = self.ask(client)
        self.assertTrue(result["isError"], result)
        required = result["structuredContent"]
        self.assertEqual(json.loads(result["content"][0]["text"]), required)
        self.assertEqual(result["_meta"]["x402/error"], required)
        self.assertEqual(required["x402Version"], 2)
        return required

    def sign(self, required):
        """Signs with the official payment client."""
        return decoded(self.payer.sign(encoded(required)))

    def paid(self):
        return 10 * PRICE - self.chain.balance(self.payer.address)

    @with_each_client
    def test_every_client_pays_once_for_a_call_and_has_its_receipt(self, client, version):
        before = self.paid()
        client.connect(self.url)
        client.command("tools")
        payment = self.sign(self.challenge(client))
        result = self.ask(client, payment)
        self.assertFalse(result.get("isError"), result)
        self.assertEqual(result["structuredContent"]["execution_status"],
                         "registry_x402_route_executed")
        self.assertEqual(result["structuredContent"]["body"], "x" * 98)
        receipt = result["_meta"]["x402/payment-response"]
        self.assertTrue(receipt["success"])
        self.assertEqual(self.chain.status(receipt["transaction"]), 1)
        self.assertEqual(self.paid(), before + PRICE)
        again = self.ask(client, payment)
        self.assertEqual(again["structuredContent"]["body"], "x" * 98)
        self.assertEqual(self.paid(), before + PRICE)

    def test_a_client_that_pays_by_itself_gets_what_it_asks_for(self):
        for sdk, era, _ in CLIENTS:
            with self.subTest(sdk=sdk, era=era):
                before = self.paid()
                client = Client(sdk=sdk, era=era, payer=self.payer.key)
                try:
                    client.connect(self.url)
                    client.command("tools")
                    result = self.ask(client)
                finally:
                    client.close()
                self.assertFalse(result.get("isError"), result)
                self.assertEqual(result["structuredContent"]["body"], "x" * 98)
                self.assertTrue(result["_meta"]["x402/payment-response"]["success"])
                self.assertEqual(self.paid(), before + PRICE)

    @with_each_client
    def test_a_payment_may_come_as_the_text_of_its_header(self, client, version):
        before = self.paid()
        client.connect(self.url)
        payment = self.payer.sign(encoded(self.challenge(client)))
        self.assertFalse(self.ask(client, payment).get("isError"))
        self.assertEqual(self.paid(), before + PRICE)

    @with_each_client
    def test_a_payment_that_is_wrong_is_refused_and_nothing_moves(self, client, version):
        client.connect(self.url)
        client.command("tools")
        payment = self.sign(self.challenge(client))
        payment["payload"]["authorization"]["value"] = str(2 * PRICE)
        result = self.ask(client, payment)
        self.assertTrue(result["isError"], result)
        self.assertNotIn("x402/payment-response", result.get("_meta", {}))
        self.assertEqual(self.paid(), 0)

    @with_each_client
    def test_a_bearer_is_refused_with_403_so_that_no_client_begins_an_oauth_dance(self, client,
                                                                                   version):
        _, key = self.gateway.new_key()
        with self.assertRaises(ClientError) as refused:
            client.connect(self.url, key=key)
        self.assertEqual(refused.exception.http_status, 403, refused.exception)

    @with_each_client
    def test_a_payment_at_the_door_of_accounts_is_refused(self, client, version):
        client.connect(self.url)
        payment = self.sign(self.challenge(client))
        client.connect(self.url.removesuffix("/x402"))
        result = self.ask(client, payment)
        self.assertTrue(result["isError"])
        self.assertEqual(result["structuredContent"]["error"]["code"], "x402.not_payable")
        self.assertEqual(self.paid(), 0)

    @with_each_client
    def test_every_tool_at_the_door_of_payments_declares_no_authentication(self, client, version):
        client.connect(self.url)
        self.assertEqual([tool["_meta"]["securitySchemes"] for tool in client.command("tools")],
                         [[{"type": "noauth"}]] * 3)

    @with_each_client
    def test_the_health_of_the_service_costs_nothing(self, client, version):
        client.connect(self.url)
        told = client.call("service.route.execute", method="GET",
                           path="/healthz")["structuredContent"]
        self.assertEqual(told["execution_status"], "free_health_executed")


if __name__ == "__main__":
    unittest.main()
