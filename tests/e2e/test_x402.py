"""The x402 lane against real counterparts (x402.py): what callers pay on the chain and what they
are told, even if the gateway itself fails midway. test_x402_failures.py covers failures of the
other parties.

Balances are read from the chain, never from the gateway.
"""

import concurrent.futures
import http.client
import json
import re
import secrets
import time
import unittest

from engines import OnPostgres, OnSqlite
from gateway import BUILD, ONE_UPSTREAM, Gateway, new_directory, new_registry
from mcp_wire import ToolReply, Wire
from test_console import Operator
from upstream import Upstream
from waiting import until
from x402 import Chain, Facilitator, Payer, Shared, decoded, encoded

PRICE = 1000
TEST = "/v1/gateway/test"
GOOD = "/upstream/bytes/100"
INVENTORY = "/v1/operation-pricing-inventory"
WAIT_SECONDS = 60
HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0

# A payment that met one of these may still succeed: its caller repeats the same request.
OPEN = {"x402.settlement_unknown": 503, "x402.in_progress": 409}

REGISTRY = ONE_UPSTREAM + """
x402:
  enabled: true
  networks:
    local: {{id: "{network}", pay_to: "{pay_to}"}}
  assets:
    local-usdc: {{network: local, address: "{token}", decimals: 6, name: USDC, version: "2"}}
prices:
  test.standard: {{version: 1, credit_cost: 2, x402: [{{asset: local-usdc, amount: "1000"}}]}}
  test.credits: {{version: 1, credit_cost: 2}}
free_policies:
  many: {{window: {{limit: 100000, seconds: 31536000}}, concurrency: 100, permit_ttl_seconds: 60}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 10000}}
routes:
  - path: /upstream/{{kind}}
    methods: [GET, POST]
    body: {{max_bytes: 1000, media_types: [application/json]}}
    free: many
  - {{path: "/upstream/{{kind}}/{{argument}}"}}
  - {{path: "/unverified/upstream/{{kind}}", x402: {{verify: false}}}}
  - {{path: "/upfront/upstream/{{kind}}/{{argument}}", x402: {{flow: upfront, on_failure: retry}}}}
  - {{path: "/refund/upstream/{{kind}}/{{argument}}", x402: {{flow: upfront, on_failure: refund}}}}
  - {{path: "/bound/upstream/{{kind}}/{{argument}}", x402: {{binding: required}}}}
  - {{path: "/credits/upstream/{{kind}}", price: test.credits}}
  - {{path: "/account/upstream/{{kind}}", credential_required: true}}
"""

FACILITATOR = """
      - {{url: "{url}", allow_private_addresses: true,
         verify_timeout_ms: 2000, settle_timeout_ms: 2000}}"""

CONFIGURATION = """
lanes:
  x402:
    facilitators: {facilitators}
    chains:
      "{network}": {{rpc_url: "{chain}", allow_private_addresses: true}}
"""


class Lane:
    """A gateway and an upstream for each test. Chain, facilitator and payer are shared by a
    whole module, and each class has a seller address of its own."""

    settings = ()
    plugins = BUILD / "plugins"
    is_checked = False

    @classmethod
    def setUpClass(cls):
        cls.chain = Shared.part(Chain)
        cls.facilitator = Shared.part(Facilitator, cls.chain)
        cls.payer = Shared.part(Payer)
        cls.chain.fund(cls.payer.address, 1_000_000)
        cls.pay_to = "0x" + secrets.token_hex(20)

    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.close)
        self.directory = new_directory(self)
        self.registry = new_registry(self, REGISTRY.format(
            address=self.upstream.address, network=self.chain.network, pay_to=self.pay_to,
            token=self.chain.token))
        self.configure(self.facilitator)
        self.addCleanup(self.mend)
        self.url = self.postgres_url()
        self.gateway = self.new_gateway()
        if not self.is_checked:
            self.gateway.run("check")
            type(self).is_checked = True
        self.start(self.gateway)
        self.balances = self.read_balances()
        self.calls = self.facilitator.calls()

    def configure(self, *facilitators):
        (self.directory / "turnpike.yaml").write_text(CONFIGURATION.format(
            facilitators="".join(FACILITATOR.format(url=each.url) for each in facilitators),
            chain=self.chain.url, network=self.chain.network))

    def mend(self):
        self.facilitator.clear()
        self.chain.fault(None)
        self.chain.hold(False)

    def new_gateway(self):
        gateway = Gateway(registry=self.registry, postgres_url=self.url,
                          config=self.directory / "turnpike.yaml", plugins=self.plugins,
                          settings=self.settings)
        self.addCleanup(gateway.close)
        return gateway

    def start(self, gateway):
        """Starts the gateway and waits until it offers what the facilitator supports."""
        gateway.start()
        until(lambda: gateway.get(TEST + GOOD).status == 402, "nothing is offered")

    def restart(self):
        self.gateway.kill()
        self.start_again()

    def start_again(self):
        self.mend()
        self.start(self.gateway)

    # --- money

    def read_balances(self):
        return self.chain.balance(self.payer.address), self.chain.balance(self.pay_to)

    def assert_charged(self, times):
        payer, seller = self.balances
        self.assertEqual(self.read_balances(), (payer - times * PRICE, seller + times * PRICE))

    def new_calls(self, name):
        return self.facilitator.calls()[name] - self.calls[name]

    # --- calls

    def address(self, path, gateway=None):
        return "http://%s:%d%s%s" % (*(gateway or self.gateway).addresses["api"], TEST, path)

    def challenge(self, path=GOOD, *, gateway=None, method="GET", headers=(), body=None):
        reply = (gateway or self.gateway).call(method, TEST + path, headers=headers, body=body)
        self.assertEqual(reply.status, 402, reply.body)
        return reply.headers["payment-required"]

    def payment(self, path=GOOD, *, payer=None, **request):
        return (payer or self.payer).sign(self.challenge(path, **request))

    def pay(self, payment, path=GOOD, *, gateway=None, method="GET", headers=(), **request):
        return (gateway or self.gateway).call(
            method, TEST + path, headers=[("PAYMENT-SIGNATURE", payment), *headers], **request)

    def pay_in_background(self, payment, path=GOOD, **request):
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        self.addCleanup(self.mend)  # runs before the shutdown, which waits
        return pool.submit(self.pay, payment, path, **request)

    def assert_paid(self, reply):
        """Asserts that the call succeeded. Returns the decoded PAYMENT-RESPONSE."""
        self.assertEqual(reply.status, 200, reply.body)
        settled = decoded(reply.headers["payment-response"])
        self.assertTrue(settled["success"])
        self.assertEqual(settled["network"], self.chain.network)
        self.assertEqual(settled["payer"].lower(), self.payer.address.lower())
        self.assertEqual(self.chain.status(settled["transaction"]), 1)
        return settled

    def assert_refused(self, reply, status, code):
        self.assertEqual((reply.status, reply.error_code()), (status, code), reply.body)
        self.assertNotIn("payment-required", reply.headers)

    def assert_challenged(self, reply, reason="."):
        """Asserts a 402 with a challenge that gives the reason, and that nothing was done."""
        self.assertEqual(reply.status, 402, reply.body)
        self.assertRegex(decoded(reply.headers["payment-required"])["error"], reason)
        self.assertEqual(self.upstream.requests, [])
        self.assert_charged(0)

    def assert_unknown(self, reply):
        """Asserts that no new payment is asked for while the old one may have moved money."""
        self.assert_refused(reply, 503, "x402.settlement_unknown")
        self.assertEqual(reply.json()["error"]["retry"]["advice"], "same_request")
        self.assertGreater(int(reply.headers["retry-after"]), 0)
        self.assertNotIn(b"secret internals", reply.body)

    def is_open(self, reply):
        return reply.status in OPEN.values() and reply.error_code() in OPEN

    def assert_open(self, reply):
        self.assertTrue(self.is_open(reply), (reply.status, reply.body))
        self.assertNotIn("payment-required", reply.headers)

    def until_ended(self, payment, path=GOOD, **request):
        """Repeats the same request, as advised, until it ends. Returns the last reply."""
        deadline = time.monotonic() + WAIT_SECONDS
        while self.is_open(reply := self.pay(payment, path, **request)):
            self.assert_open(reply)
            self.assertLess(time.monotonic(), deadline, "it did not come to its end")
            time.sleep(0.1)
        return reply

    def until_paid(self, payment, path=GOOD, **request):
        reply = self.until_ended(payment, path, **request)
        self.assert_paid(reply)
        return reply


class Offers(Lane):
    def test_a_call_without_credentials_is_told_the_price(self):
        reply = self.gateway.get(TEST + GOOD, headers=[("Origin", "https://shop.example")])
        self.assertEqual(reply.status, 402)
        self.assertEqual(reply.headers["cache-control"], "no-store")
        exposed = reply.headers["access-control-expose-headers"].lower()
        self.assertIn("payment-required", exposed)
        self.assertIn("payment-response", exposed)
        self.assertLess(len(reply.headers["payment-required"]), 8192)
        challenge = decoded(reply.headers["payment-required"])
        self.assertEqual(challenge["x402Version"], 2)
        self.assertEqual(challenge["resource"]["url"], self.address(GOOD))
        [terms] = challenge["accepts"]
        self.assertGreater(terms.pop("maxTimeoutSeconds"), 10)
        self.assertEqual({name: str(value).lower() for name, value in terms.items()}, {
            "scheme": "exact", "network": self.chain.network, "amount": str(PRICE),
            "asset": self.chain.token.lower(), "payTo": self.pay_to,
            "extra": str({"name": "usdc", "version": "2"})})
        self.assertLessEqual({"turnpike-binding", "offer-receipt", "payment-identifier"},
                             set(challenge["extensions"]))
        self.assertEqual(self.upstream.requests, [])

    def test_upfront_terms_say_so(self):
        [terms] = decoded(self.challenge("/upfront" + GOOD))["accepts"]
        self.assertEqual(terms["extra"]["paymentFlow"], "upfront")

    def test_the_host_header_has_no_say(self):
        head = f"GET {TEST}{GOOD} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        reply = self.gateway.raw(head.encode()).decode()
        [header] = [line for line in reply.split("\r\n")
                    if line.lower().startswith("payment-required:")]
        challenge = decoded(header.partition(":")[2].strip())
        self.assertNotIn("evil.example", json.dumps(challenge))
        [offer] = self.payer.verify_offers(encoded(challenge))
        self.assertEqual(offer["resourceUrl"], self.address(GOOD))

    def test_offers_and_receipts_are_verified_by_the_official_client(self):
        challenge = self.challenge()
        [offer] = self.payer.verify_offers(challenge)
        self.assertEqual((offer["resourceUrl"], offer["amount"], offer["payTo"].lower()),
                         (self.address(GOOD), str(PRICE), self.pay_to))
        self.assertGreater(offer["validUntil"], time.time())
        reply = self.pay(self.payer.sign(challenge))
        self.assert_paid(reply)
        verified = self.payer.verify_receipt(reply.headers["payment-response"], challenge)
        self.assertTrue(verified["fits"])
        self.assertEqual(verified["receipt"]["resourceUrl"], self.address(GOOD))

    def test_receipts_verify_offline(self):
        reply = self.pay(self.payment())
        settled = self.assert_paid(reply)
        document = self.gateway.get("/.well-known/did.json")
        self.assertEqual(document.headers["content-type"], "application/did+json")
        did, receipt = self.directory / "did.json", self.directory / "receipt"
        did.write_bytes(document.body)
        jws = settled["extensions"]["offer-receipt"]["info"]["receipt"]["signature"]
        for text in (reply.headers["payment-response"], jws):
            receipt.write_text(text)
            result = self.gateway.run("receipt", "verify", str(receipt), "--did", str(did))
            self.assertIn(self.payer.address.lower(), result.stdout.lower())
        head, payload, signature = jws.split(".")
        receipt.write_text(".".join([head, payload, "A" * len(signature)]))
        result = self.gateway.run("receipt", "verify", str(receipt), "--did", str(did),
                                  check=False)
        self.assertNotEqual(result.returncode, 0)

    def test_old_receipts_verify_after_the_key_was_rotated(self):
        def did():
            return self.gateway.get("/.well-known/did.json").json()

        challenge = self.challenge()
        old = self.pay(self.payer.sign(challenge))
        self.assertEqual(old.status, 200, old.body)
        [first] = did()["assertionMethod"]
        self.gateway.run("x402", "rotate")
        until(lambda: did()["assertionMethod"] != [first], "the new key is not published")
        self.assertEqual(len(did()["verificationMethod"]), 2)
        self.assertTrue(self.payer.verify_receipt(old.headers["payment-response"],
                                                  challenge)["fits"])
        new = self.challenge()
        self.payer.verify_offers(new)
        reply = self.pay(self.payer.sign(new))
        self.assertEqual(reply.status, 200, reply.body)
        self.assertTrue(self.payer.verify_receipt(reply.headers["payment-response"], new)["fits"])

    def test_a_preflight_is_free(self):
        reply = self.gateway.call("OPTIONS", TEST + GOOD, headers=[
            ("Origin", "https://shop.example"), ("Access-Control-Request-Method", "GET"),
            ("Access-Control-Request-Headers", "payment-signature")])
        self.assertLess(reply.status, 300)
        self.assertIn("payment-signature", reply.headers["access-control-allow-headers"].lower())

    def test_the_documents_and_the_inventory_are_there(self):
        listed = self.gateway.get("/.well-known/x402").json()
        self.assertIn(self.address("/upstream/%7Bkind%7D"), listed["resources"])
        for url in listed["resources"]:  # directories call each of them
            path = url.removeprefix(self.address("").removesuffix(TEST))
            self.assertIn(self.gateway.get(path).status, (402, 405), url)
        self.assertEqual(self.gateway.get("/.well-known/did.json").status, 200)
        inventory = self.gateway.get(INVENTORY).json()
        self.assertEqual((inventory["schema_version"], inventory["x402_contract_version"]),
                         ("service.operation-pricing-inventory.v3", "service.x402.v2"))

    def test_without_payments_there_is_no_list_and_the_old_inventory(self):
        offering = self.gateway.get(INVENTORY).json()
        self.gateway.kill()
        file = self.registry / "test.yaml"
        file.write_text(file.read_text().replace("enabled: true", "enabled: false"))
        self.gateway.start()
        self.assertEqual(self.gateway.get("/.well-known/x402").status, 404)
        self.assertEqual(self.gateway.get("/.well-known/did.json").status, 200,
                         "receipts are verified with it")
        inventory = self.gateway.get(INVENTORY).json()
        self.assertEqual(inventory["schema_version"], "service.operation-pricing-inventory.v2")
        self.assertNotIn("x402_contract_version", inventory)
        self.assertNotEqual(inventory["entry_set_hash"], offering["entry_set_hash"])
        reply = self.gateway.get(TEST + GOOD)
        self.assertEqual(reply.status, 401)
        self.assertNotIn("payment-required", reply.headers)


class Payments(Lane):
    def test_the_official_client_pays_exactly_the_price(self):
        reply = self.payer.fetch(self.address(GOOD), headers={"Origin": "https://shop.example"})
        self.assertEqual((reply["status"], len(reply["body"])), (200, 100), reply["body"])
        self.assertTrue(reply["settled"]["success"])
        self.assertEqual(self.chain.status(reply["settled"]["transaction"]), 1)
        self.assertIn("private", reply["headers"]["cache-control"])
        self.assertEqual((reply["headers"]["turnpike-lane"],
                          reply["headers"]["turnpike-credits-charged"]), ("x402", "0"))
        self.assertEqual(len(self.upstream.requests), 1)
        self.assertNotIn("payment-signature", dict(self.upstream.requests[0]["headers"]))
        self.assert_charged(1)

    def test_operators_see_payments_by_asset(self):
        operator = Operator(self.gateway, "console.read").sign_in()
        self.assertIn("No call was paid that way.", operator.page("/console/revenue"))
        for _ in range(2):
            self.assert_paid(self.pay(self.payment()))
        # A call is counted when its line is logged, which is after its last byte.
        until(lambda: '<td>x402</td><td class="number">2</td>' in
                   operator.page("/console/revenue"), "two calls of the lane are counted")
        page = operator.page("/console/revenue")
        self.assertNotIn("No call was paid that way.", page)
        row = re.search(r'aria-label="Payments by asset".*?<tbody>\s*(.*?)</tbody>', page, re.S)[1]
        self.assertRegex(row, r'^<tr><td><code>[^<]+</code></td><td class="number">2</td>'
                              r'<td class="number">2,000</td></tr>\s*$')
        self.assert_charged(2)

    def test_a_body_is_paid_for_too(self):
        request = {"method": "POST", "headers": {"Content-Type": "application/json"},
                   "body": '{"a":1}'}
        reply = self.payer.fetch(self.address("/upstream/echo"), **request)
        self.assertEqual((reply["status"], json.loads(reply["body"])["body"]), (200, '{"a":1}'))
        self.assert_charged(1)

    def test_a_contract_wallet_pays(self):
        address = self.chain.wallet(self.payer.address)
        self.chain.fund(address, 10 * PRICE)
        wallet = Payer(key=self.payer.key, wallet=address)
        self.addCleanup(wallet.close)
        reply = wallet.fetch(self.address(GOOD))
        self.assertEqual(reply["status"], 200, reply["body"])
        self.assertEqual(self.chain.balance(address), 9 * PRICE)

    def test_a_client_that_echoes_no_extensions_buys_one_call(self):
        reply = self.payer.fetch_without_echo(self.address(GOOD))
        self.assertEqual((reply["status"], len(reply["body"])), (200, 100), reply["body"])
        self.assertNotIn("extensions", decoded(reply["payment"]))
        self.assertTrue(reply["settled"]["success"])
        again = self.pay(reply["payment"])
        self.assert_refused(again, 409, "idempotency.reply_not_stored")
        transaction = reply["settled"]["transaction"]
        self.assertIn(transaction, again.json()["error"]["message"])
        self.assertEqual(decoded(again.headers["payment-response"])["transaction"], transaction)
        self.assert_refused(self.pay(reply["payment"], "/upstream/bytes/200"), 409,
                            "idempotency.conflict")
        self.restart()
        self.assertEqual(self.pay(reply["payment"]).status, 409)
        self.assertEqual(len(self.upstream.requests), 1)
        self.assert_charged(1)

    def test_without_an_echo_it_pays_upfront_too_and_a_failure_is_owed_back_at_once(self):
        for path, status, code in (("/upfront/upstream/bytes/100", 200, None),
                                   ("/upfront/upstream/once/500", 502, "x402.refund_owed")):
            payment = decoded(self.payment(path))
            del payment["extensions"]
            reply = self.pay(encoded(payment), path)
            self.assertEqual(reply.status, status, reply.body)
            if code:
                self.assertEqual(reply.error_code(), code)
        self.assertEqual(len(self.gateway.run_json("x402", "obligations")), 1)
        self.assert_charged(2)

    def execute(self, payment, path=GOOD):
        """Makes the call over MCP, with the payment as an object."""
        wire = Wire(self.gateway, door="/x402")
        return ToolReply(wire.send("tools/call", {
            "name": "service.route.execute",
            "arguments": {"method": "GET", "path": TEST + path},
            "_meta": {"x402/payment": decoded(payment)}}))

    def test_a_payment_over_http_is_the_same_as_an_object_over_mcp(self):
        for first, second in ((self.pay, self.execute), (self.execute, self.pay)):
            payment = self.payment()
            for call in (first, second):
                reply = call(payment)
                self.assertEqual(reply.status, 200)
                if isinstance(reply, ToolReply):
                    self.assertEqual(len(reply.said["body"]), 98, reply.said)
        self.assertEqual(len(self.upstream.requests), 2)
        self.assert_charged(2)

    def test_what_mcp_cannot_carry_is_kept_for_http(self):
        path = "/upfront/upstream/bytes/300000"
        payment = self.payment(path)
        for _ in range(2):
            refused = self.execute(payment, path)
            self.assertEqual(refused.error_code(), "gateway.upstream_response_too_large")
            self.assertIn("It is kept", refused.said["error"]["message"])
            self.assertIn(self.address(path), refused.said["error"]["message"])
            self.assertTrue(refused.result["_meta"]["x402/payment-response"]["success"])
        reply = self.pay(payment, path)
        self.assert_paid(reply)
        self.assertEqual(len(reply.body), 300000)
        self.assertEqual(len(self.upstream.requests), 1)
        self.assert_charged(1)

    def test_a_repeat_has_the_stored_reply(self):
        payment = self.payment()
        first = self.pay(payment)
        self.assert_paid(first)
        for _ in range(2):
            again = self.pay(payment)
            self.assertEqual((again.status, again.body), (200, first.body))
            self.assertEqual(again.headers["payment-response"], first.headers["payment-response"])
            self.restart()
        self.assertEqual((len(self.upstream.requests), self.new_calls("settle")), (1, 1))
        self.assert_charged(1)

    def test_who_reads_a_payment_on_the_chain_is_not_given_what_it_bought(self):
        payment = self.payment()
        first = self.pay(payment)
        self.assert_paid(first)
        copied = decoded(payment)
        copied["extensions"] = decoded(self.challenge())["extensions"]
        self.assertNotEqual(copied, decoded(payment))
        self.assert_refused(self.pay(encoded(copied)), 409, "idempotency.conflict")
        self.assertEqual(self.pay(payment).body, first.body)
        self.assert_charged(1)

    def test_the_same_header_eight_times_at_once_is_one_call_and_one_charge(self):
        payment = self.payment("/upstream/slow")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(self.pay, payment, "/upstream/slow") for _ in range(8)]
            self.assertTrue(self.upstream.arrived.acquire(timeout=WAIT_SECONDS))
            self.upstream.release()
        replies = [call.result() for call in calls]
        self.assertEqual({reply.status for reply in replies}, {200})
        self.assertEqual(len({reply.body for reply in replies}), 1)
        self.assertEqual(len({reply.headers["payment-response"] for reply in replies}), 1)
        self.assertEqual((len(self.upstream.requests), self.new_calls("settle")), (1, 1))
        self.assert_charged(1)

    def test_a_payment_buys_only_what_it_was_signed_for(self):
        post = {"method": "POST", "headers": [("Content-Type", "application/json")]}
        payment = self.payment("/upstream/echo", body=b'{"a":1}', **post)
        for path, request in (("/upstream/bytes/100", {}), ("/upstream/echo", {}),
                              ("/upstream/echo?a=1", {**post, "body": b'{"a":1}'}),
                              ("/upstream/echo", {**post, "body": b'{"a":2}'})):
            self.assert_challenged(self.pay(payment, path, **request))
        self.assert_paid(self.pay(payment, "/upstream/echo", body=b'{"a":1}', **post))
        # The stored reply is not given to another request either.
        self.assertEqual(self.pay(payment, "/upstream/echo", body=b'{"a":2}', **post).status, 402)
        self.assert_charged(1)

    def test_a_challenge_outlives_the_process(self):
        payment = self.payment()
        self.restart()
        self.assert_paid(self.pay(payment))
        self.assert_charged(1)

    def test_one_payment_identifier_is_one_payment(self):
        first, other = (decoded(self.payment()) for _ in range(2))
        for payment in (first, other):
            payment["extensions"]["payment-identifier"]["info"]["id"] = "pay_" + "0" * 32
        self.assert_paid(self.pay(encoded(first)))
        self.assert_refused(self.pay(encoded(other)), 409, "idempotency.conflict")
        self.assert_paid(self.pay(encoded(first)))
        self.assert_charged(1)


    def test_the_books_say_what_the_chain_says(self):
        transactions = {self.assert_paid(self.pay(self.payment()))["transaction"] for _ in "ab"}
        [totals] = self.gateway.run_json("x402", "totals")
        self.assertEqual((totals["network"], totals["payments"], totals["settled"]),
                         (self.chain.network, 2, str(2 * PRICE)))
        entries = [json.loads(line)
                   for line in self.gateway.run("x402", "payments").stdout.splitlines()]
        self.assertEqual({entry["transaction"] for entry in entries}, transactions)
        self.assertEqual({entry["amount"] for entry in entries}, {str(PRICE)})
        self.assert_charged(2)

    def test_nothing_is_written_to_usage_and_accounts(self):
        def rows(collection):
            exported = self.gateway.run("export", "--all", "--collection", collection).stdout
            return len(exported.splitlines())
        self.assert_paid(self.pay(self.payment()))
        self.assertEqual((rows("usage"), rows("allocations")), (0, 0))
        _, key = self.gateway.new_key()
        self.assertEqual(self.gateway.get(TEST + GOOD, key=key).status, 200)
        self.assertEqual((rows("usage"), rows("allocations")), (1, 1))


class Refusals(Lane):
    def changed(self, change, **request):
        payment = decoded(self.payment(**request))
        change(payment)
        return encoded(payment)

    def test_a_changed_signature(self):
        def change(payment):
            signature = payment["payload"]["signature"]
            payment["payload"]["signature"] = "0x" + signature[2:12][::-1] + signature[12:]
        self.assert_challenged(self.pay(self.changed(change)), "signature")

    def test_the_malleable_twin_of_a_signature(self):
        def change(payment):
            text = payment["payload"]["signature"]
            s, v = int(text[66:130], 16), int(text[130:], 16)
            twin = 2 * HALF_ORDER + 1 - s
            payment["payload"]["signature"] = f"{text[:66]}{twin:064x}{55 - v:02x}"
        self.assert_challenged(self.pay(self.changed(change)), "signature")

    def test_other_terms(self):
        for name, value in (("amount", "1"), ("payTo", "0x" + "22" * 20), ("network", "eip155:1"),
                            ("maxTimeoutSeconds", 1)):
            with self.subTest(name):
                payment = self.changed(lambda payment: payment["accepted"].update({name: value}))
                self.assert_challenged(self.pay(payment))

    def test_without_its_binding(self):
        def nothing(payment):
            del payment["extensions"]

        def forged(payment):
            info = payment["extensions"]["turnpike-binding"]["info"]
            info["expires"] += 1
        bound = "/bound" + GOOD
        self.assert_challenged(self.pay(self.changed(nothing, path=bound), bound), "missing")
        self.assert_challenged(self.pay(self.changed(forged)), "mismatch")

    def test_too_little_time_left(self):
        challenge = decoded(self.challenge())
        terms = challenge["accepts"][0]
        offered, terms["maxTimeoutSeconds"] = terms["maxTimeoutSeconds"], 5
        payment = decoded(self.payer.sign(encoded(challenge)))
        payment["accepted"]["maxTimeoutSeconds"] = offered
        self.assert_challenged(self.pay(encoded(payment)), "valid_before")

    def test_an_empty_purse_costs_no_upstream_call(self):
        pauper = Payer()
        self.addCleanup(pauper.close)
        self.assert_challenged(self.pay(self.payment(payer=pauper)), "insufficient_balance")

    def test_an_empty_purse_on_a_route_that_does_not_ask_first(self):
        pauper = Payer()
        self.addCleanup(pauper.close)
        path = "/unverified/upstream/echo"
        reply = self.pay(self.payment(path, payer=pauper), path)
        self.assertEqual(reply.status, 402)
        self.assertNotIn(b'"target"', reply.body, "the upstream's reply is withheld")
        self.assertEqual((self.new_calls("verify"), len(self.upstream.requests)), (0, 1))

    def test_malformed_headers(self):
        good = self.payment()
        hexadecimal = decoded(good)
        hexadecimal["payload"]["authorization"]["value"] = "0x3e8"
        version = decoded(good)
        version["x402Version"] = 3
        for header in ("!", "e30", encoded([]), encoded({}), encoded("text"), good[:-5],
                       good.rstrip("=") + "_-==", encoded(version), encoded(hexadecimal),
                       encoded({**decoded(good), "padding": "x" * 16384})):
            with self.subTest(header[:40]):
                self.assert_refused(self.pay(header), 400, "x402.payment_malformed")
        self.assertEqual((self.new_calls("verify"), self.upstream.requests), (0, []))

    def test_two_credentials(self):
        _, key = self.gateway.new_key()
        payment = self.payment()
        for headers in ([("Authorization", "Bearer " + key)], [("X-Service-Api-Key", key)],
                        [("PAYMENT-SIGNATURE", payment)]):
            self.assert_refused(self.pay(payment, headers=headers), 400,
                                "auth.credential_conflict")
        self.assert_charged(0)

    def test_what_cannot_be_paid_per_call(self):
        payment = self.payment()
        for path in ("/upstream/echo:free", "/credits/upstream/echo", "/account/upstream/echo"):
            self.assert_refused(self.pay(payment, path), 400, "x402.not_payable")
            reply = self.gateway.get(TEST + path)
            self.assertEqual(reply.status, 401)
            self.assertNotIn("payment-required", reply.headers)

    def test_a_key_that_is_wrong_or_out_of_credits_is_not_asked_for_a_payment(self):
        reply = self.gateway.get(TEST + GOOD, key="wrong")
        self.assertEqual(reply.status, 401)
        self.assertNotIn("payment-required", reply.headers)


class Upfront(Lane):
    def test_a_reply_that_is_too_long_is_owed_back_at_once(self):
        path = "/upfront/upstream/bytes/1048577"
        payment = self.payment(path)
        reply = self.pay(payment, path)
        self.assertEqual((reply.status, reply.error_code()), (502, "x402.refund_owed"))
        self.assertIn("longer", reply.json()["error"]["message"])
        self.assertEqual(len(self.gateway.run_json("x402", "obligations")), 1)
        self.assert_refused(self.pay(payment, path), 502, "x402.refund_owed")
        self.assertEqual(len(self.upstream.requests), 1)
        self.assert_charged(1)

    def test_it_is_collected_before_the_work(self):
        path = "/upfront/upstream/bytes/100"
        self.facilitator.fault("settle", "refuse", times=1)
        payment = self.payment(path)
        self.assertEqual(self.pay(payment, path).status, 402)
        self.assertEqual(self.upstream.requests, [])
        self.assert_paid(self.pay(payment, path))
        self.assert_charged(1)

    def test_a_failed_upstream_is_asked_again_for_the_same_payment(self):
        path = "/upfront/upstream/once/500"
        payment = self.payment(path)
        reply = self.pay(payment, path)
        self.assertEqual((reply.status, reply.error_code()), (502, "x402.work_failed"))
        self.assertEqual(reply.json()["error"]["retry"]["advice"], "same_request")
        self.assert_charged(1)
        self.restart()
        self.assert_paid(self.pay(payment, path))
        self.assertEqual((len(self.upstream.requests), self.new_calls("settle")), (2, 1))
        self.assert_charged(1)

    def test_or_a_refund_is_owed_and_listed(self):
        path = "/refund/upstream/once/500"
        payment = self.payment(path)
        reply = self.pay(payment, path)
        self.assertEqual((reply.status, reply.error_code()), (502, "x402.refund_owed"))
        self.assert_charged(1)
        self.restart()
        [owed] = self.gateway.run_json("x402", "obligations")
        self.assertEqual((owed["payer"].lower(), owed["amount"], owed["network"]),
                         (self.payer.address.lower(), str(PRICE), self.chain.network))
        self.assertEqual(self.chain.status(owed["transaction"]), 1)
        self.assert_refused(self.pay(payment, path), 502, "x402.refund_owed")
        self.assertEqual(len(self.upstream.requests), 1)

    def test_an_unknown_settlement_is_waited_for_before_the_work(self):
        path = "/upfront/upstream/bytes/100"
        payment = self.payment(path)
        self.facilitator.fault("settle", "lost")
        reply = self.pay(payment, path)
        if reply.status != 200:
            self.assert_unknown(reply)
        self.until_paid(payment, path)
        self.assertEqual(len(self.upstream.requests), 1)
        self.assert_charged(1)


class Kills(Lane):
    """kill -9 in every state of a payment; afterwards the same header gets its reply, paid once.
    test_x402_crash.py does the same at every durable write and every network step."""

    def check_repeat(self, payment, path=GOOD, *, upstream_calls, charged_before):
        """Checks the balances while the gateway is dead, restarts it, and repeats the request."""
        self.assert_charged(charged_before)
        self.start_again()
        self.until_paid(payment, path)
        self.assertEqual(len(self.upstream.requests), upstream_calls)
        self.assert_charged(1)

    def killed_when(self, payment, path, arrived):
        call = self.pay_in_background(payment, path)
        arrived()
        self.gateway.kill()
        with self.assertRaises((OSError, http.client.HTTPException)):
            call.result()

    def facilitator_asked(self, name):
        count = self.facilitator.calls()[name] + 1
        return lambda: self.facilitator.wait(name, count)

    def test_claimed(self):
        payment = self.payment()
        self.facilitator.fault("verify", "hang", times=1)
        self.killed_when(payment, GOOD, self.facilitator_asked("verify"))
        self.check_repeat(payment, upstream_calls=1, charged_before=0)

    def test_working(self):
        payment = self.payment("/upstream/slow")
        self.killed_when(payment, "/upstream/slow",
                         lambda: self.upstream.arrived.acquire(timeout=WAIT_SECONDS))
        self.upstream.release()
        self.check_repeat(payment, "/upstream/slow", upstream_calls=2, charged_before=0)

    def test_settling_before_the_chain_knows(self):
        payment = self.payment()
        self.facilitator.fault("settle", "hang", times=1)
        self.killed_when(payment, GOOD, self.facilitator_asked("settle"))
        self.check_repeat(payment, upstream_calls=1, charged_before=0)

    def test_settling_after_the_chain_knows(self):
        payment = self.payment()
        self.facilitator.fault("settle", "hang_settled", times=1)
        self.killed_when(payment, GOOD, self.facilitator_asked("broadcast"))
        self.check_repeat(payment, upstream_calls=1, charged_before=1)

    def test_unknown(self):
        payment = self.payment()
        self.facilitator.fault("settle", "html")
        self.assert_unknown(self.pay(payment))
        self.gateway.kill()
        self.check_repeat(payment, upstream_calls=1, charged_before=0)

    def test_upfront_and_paid(self):
        path = "/upfront/upstream/slow/1"
        payment = self.payment(path)
        self.killed_when(payment, path,
                         lambda: self.upstream.arrived.acquire(timeout=WAIT_SECONDS))
        self.upstream.release()
        self.check_repeat(payment, path, upstream_calls=2, charged_before=1)


class Nodes(OnPostgres, Lane, unittest.TestCase):
    """Two nodes with one store: each accepts what the other offered, and a payment counts once."""

    settings = ("hosts.api.base_url=https://api.example.com",)

    def setUp(self):
        super().setUp()
        self.other = self.new_gateway()
        self.start(self.other)

    def test_a_challenge_of_one_is_paid_at_the_other(self):
        payment = self.payment()
        first = self.pay(payment, gateway=self.other)
        self.assert_paid(first)
        self.assertEqual(self.pay(payment).body, first.body)
        self.assertEqual(len(self.upstream.requests), 1)
        self.assert_charged(1)

    def test_the_same_header_at_both_at_once_is_one_call_and_one_charge(self):
        payment = self.payment("/upstream/slow")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(self.pay, payment, "/upstream/slow", gateway=gateway)
                     for gateway in 4 * (self.gateway, self.other)]
            self.assertTrue(self.upstream.arrived.acquire(timeout=WAIT_SECONDS))
            self.upstream.release()
        for reply in (call.result() for call in calls):
            self.assertTrue(reply.status == 200 or OPEN[reply.error_code()] == reply.status)
        self.until_paid(payment, "/upstream/slow")
        self.until_paid(payment, "/upstream/slow", gateway=self.other)
        self.assertEqual((len(self.upstream.requests), self.new_calls("settle")), (1, 1))
        self.assert_charged(1)

    def test_the_other_ends_what_a_dead_one_began(self):
        payment = self.payment()
        settles = self.facilitator.calls()["settle"]
        self.facilitator.fault("settle", "hang", times=1)
        call = self.pay_in_background(payment)
        self.facilitator.wait("settle", settles + 1)
        self.gateway.kill()
        with self.assertRaises((OSError, http.client.HTTPException)):
            call.result()
        self.until_paid(payment, gateway=self.other)
        self.assertEqual(len(self.upstream.requests), 1)
        self.assert_charged(1)

    def test_did_json_lists_the_keys_of_both(self):
        until(lambda: len({method["id"].partition("#")[2] for method in self.gateway.get(
            "/.well-known/did.json").json()["verificationMethod"]}) == 2, "one key is missing")


class OffersOnSqlite(OnSqlite, Offers, unittest.TestCase):
    pass


class PaymentsOnSqlite(OnSqlite, Payments, unittest.TestCase):
    pass


class PaymentsOnPostgres(OnPostgres, Payments, unittest.TestCase):
    pass


class RefusalsOnSqlite(OnSqlite, Refusals, unittest.TestCase):
    pass


class UpfrontOnSqlite(OnSqlite, Upfront, unittest.TestCase):
    pass


class UpfrontOnPostgres(OnPostgres, Upfront, unittest.TestCase):
    pass


class KillsOnSqlite(OnSqlite, Kills, unittest.TestCase):
    pass


class KillsOnPostgres(OnPostgres, Kills, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
