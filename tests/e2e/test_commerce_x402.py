"""Buying Credits with USDC: an account pays for purchases with the official x402 client on a local
chain, and is granted what it paid, even if the gateway is killed midway. Received amounts are read
from the chain, never from the gateway."""

import concurrent.futures
import http.client
import json
import secrets
import unittest

from engines import OnPostgres, OnSqlite
from gateway import BUILD, ONE_UPSTREAM, Gateway, new_directory, new_registry
from upstream import Upstream
from waiting import until
from x402 import Chain, Facilitator, Payer, Shared, decoded

WAIT_SECONDS = 180
UNITS_PER_CENT = 10_000
CREDITS_PER_CENT = 10

REGISTRY = ONE_UPSTREAM + """
x402:
  enabled: true
  networks:
    local: {{id: "{network}", pay_to: "{pay_to}"}}
  assets:
    local-usdc: {{network: local, address: "{token}", decimals: 6, name: USDC, version: "2"}}
prices:
  test.standard: {{version: 1, credit_cost: 2, x402: [{{asset: local-usdc, amount: "10000000"}}]}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 10000}}
routes:
  - {{path: "/upstream/{{kind}}/{{argument}}"}}
"""

CONFIGURATION = """
accounts: {{starter_grant: {{enabled: false}}}}
commerce: {{open_purchases_max: 100}}
lanes:
  x402:
    facilitators:
      - {{url: "{facilitator}", allow_private_addresses: true,
         verify_timeout_ms: 10000, settle_timeout_ms: 6000}}
    chains:
      "{network}": {{rpc_url: "{chain}", allow_private_addresses: true}}
processors:
  x402: {{}}
"""


class BigPayer(Payer):
    def __init__(self):
        super().__init__(most="$1000")


class Purchases:
    """A gateway with a new account for each test. The chain, facilitator and payer are shared."""

    nodes_count = 1

    @classmethod
    def setUpClass(cls):
        cls.chain = Shared.part(Chain)
        cls.facilitator = Shared.part(Facilitator, cls.chain)
        cls.payer = Shared.part(BigPayer)
        cls.chain.fund(cls.payer.address, 1_000_000_000)

    def setUp(self):
        self.addCleanup(self.mend)
        self.pay_to = "0x" + secrets.token_hex(20)
        upstream = Upstream()
        self.addCleanup(upstream.close)
        self.registry = new_registry(self, REGISTRY.format(
            address=upstream.address, network=self.chain.network, pay_to=self.pay_to,
            token=self.chain.token))
        config = new_directory(self) / "turnpike.yaml"
        config.write_text(CONFIGURATION.format(
            facilitator=self.facilitator.url, network=self.chain.network, chain=self.chain.url))
        url = self.postgres_url()
        self.nodes = []
        for _ in range(self.nodes_count):
            node = Gateway(config=config, registry=self.registry, postgres_url=url,
                           plugins=BUILD / "plugins")
            self.addCleanup(node.close)
            self.nodes.append(node)
        self.gateway = self.nodes[0]
        self.account = self.gateway.run_json("account", "create", "--name", "Acme")["id"]
        person = self.gateway.run_json("user", "create", "--name", "Ann", "--login", "ann",
                                       "--account", self.account, "--role", "owner")
        self.token = self.gateway.run_json("session", "create", "--person", person["id"])["token"]
        self.path = f"/v1/billing-accounts/{self.account}"
        for node in self.nodes:
            self.start(node)
        self.keys = iter(range(1_000_000))

    def mend(self):
        self.facilitator.clear()
        self.chain.fault(None)
        self.chain.hold(False)

    def start(self, node):
        """Starts the node and waits until it offers what the facilitator supports."""
        node.start()
        self.until(lambda: node.get("/v1/gateway/test/upstream/bytes/1").status == 402,
                   "nothing is offered")

    def until(self, holds, what):
        until(holds, what, WAIT_SECONDS)

    def buy(self, amount="10.00", node=None):
        """Begins a purchase that can be paid. Returns its id and the URL where it is paid."""
        node = node or self.gateway
        offers = node.get(self.path + "/purchase-offers", key=self.token).json()
        offer = [each for each in offers if each["processor"] == "x402"][0]["offerId"]
        body = json.dumps({"offerId": offer, "amount": {"currency": "USD", "amount": amount}})
        key = f"key-{next(self.keys)}"
        bought = None

        def is_begun():
            nonlocal bought
            bought = node.call("POST", self.path + "/purchases", key=self.token,
                               body=body.encode(), headers=[("Idempotency-Key", key),
                                                            ("Content-Type", "application/json")])
            return bought.status == 201
        self.until(is_begun, "it is not begun")
        url = bought.json()["checkoutUrl"]
        self.until_payable(url, node)
        return bought.json()["purchaseId"], url

    def until_payable(self, url, node):
        """The processor asks the facilitator for itself, so it may be later than the lane."""
        self.until(lambda: node.get(url[url.index("/v1/"):]).status == 402, "nobody can pay")

    def balance(self):
        return self.gateway.balance(self.account, self.token)

    def received(self):
        return self.chain.balance(self.pay_to)

    def purchase(self, purchase_id):
        return self.gateway.run_json("purchase", "show", purchase_id)

    def until_state(self, purchase_id, state):
        self.until(lambda: self.gateway.purchase_state(self.account, self.token, purchase_id) ==
                   state, f"{purchase_id} is not {state}")

    def assert_granted_is_paid(self):
        """Checks that the balance is what the chain moved."""
        self.assertEqual(self.balance() * UNITS_PER_CENT, self.received() * CREDITS_PER_CENT)
        self.assertIn("the books are right", self.gateway.run("ledger", "verify").stdout)

    def in_background(self, work, *arguments):
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        self.addCleanup(self.mend)  # runs before the shutdown, which waits
        return pool.submit(work, *arguments)

    def url_at(self, url, node):
        """The same URL at the address where the node listens now."""
        return "http://%s:%d%s" % (*node.addresses["api"], url[url.index("/v1/"):])


class Buying(Purchases):
    def test_an_account_buys_credits_with_the_official_client(self):
        purchase, url = self.buy()
        reply = self.payer.fetch(url)
        self.assertEqual(reply["status"], 200, reply["body"])
        # The reply comes only after the Credits are granted.
        self.assertEqual(self.balance(), 10_000)
        self.assertEqual(self.received(), 1_000 * UNITS_PER_CENT)
        self.assertTrue(reply["settled"]["success"])
        self.assertEqual(self.chain.status(reply["settled"]["transaction"]), 1)
        self.assertEqual(json.loads(reply["body"])["purchaseId"], purchase)
        self.assertEqual(self.purchase(purchase)["state"], "credited")
        again, = self.payer.send(url, reply["payment"])
        self.assertEqual((again["status"], again["body"]), (200, reply["body"]))
        self.assertEqual(self.payer.get(url)["status"], 409)
        self.assertEqual(self.payer.get(url + "x")["status"], 404)
        self.assert_granted_is_paid()
        listed = self.gateway.run("x402", "payments").stdout
        self.assertEqual(json.loads(listed)["purchase"], purchase)

    def test_a_client_that_repeats_no_extensions_and_a_post_pay_as_well(self):
        _, url = self.buy()
        reply = self.payer.fetch_without_echo(url, method="POST")
        self.assertEqual(reply["status"], 200, reply["body"])
        self.assert_granted_is_paid()

    def test_a_payment_for_a_purchase_buys_no_call_and_no_other_purchase(self):
        _, url = self.buy()
        _, other = self.buy()
        call = self.url_at("/v1/gateway/test/upstream/bytes/1", self.gateway)
        reply = self.payer.fetch_without_echo(url)
        self.assertEqual(reply["status"], 200, reply["body"])
        for place in (other, call):
            refused, = self.payer.send(place, reply["payment"])
            self.assertEqual(refused["status"], 409, refused["body"])
        paid = self.payer.fetch_without_echo(call)
        self.assertEqual(paid["status"], 200, paid["body"])
        refused, = self.payer.send(other, paid["payment"])
        self.assertEqual(refused["status"], 409, refused["body"])
        self.assertEqual(self.balance(), 10_000)
        self.assertEqual(self.received(), 2_000 * UNITS_PER_CENT)

    def test_one_of_many_payments_at_once_is_collected(self):
        _, url = self.buy()
        payments = [self.payer.payment_for(url) for _ in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(self.pay_at(url), payments))
        statuses = sorted(reply.status for reply in replies)
        self.assertEqual(statuses[0], 200, [reply.body for reply in replies])
        self.assertEqual(set(statuses[1:]), {409})
        self.assert_granted_is_paid()
        self.assertEqual(self.balance(), 10_000)

    def pay_at(self, url):
        def pay(payment):
            return self.gateway.call("GET", url[url.index("/v1/"):],
                                     headers=[("PAYMENT-SIGNATURE", payment)])
        return pay

    def test_killed_between_claim_and_settlement(self):
        """The payer does not retry, and still the payment is collected once and credited."""
        for kind, moved in (("hang", 0), ("hang_settled", 1_000 * UNITS_PER_CENT)):
            before, granted = self.received(), self.balance()
            purchase, url = self.buy()
            place = self.url_at(url, self.gateway)
            payment = self.payer.payment_for(place)
            settled = self.facilitator.calls()["settle"]
            self.facilitator.fault("settle", kind, times=1)
            paying = self.in_background(self.pay_at(url), payment)
            self.facilitator.wait("settle", settled + 1)
            self.until(lambda: self.received() - before == moved, "it is not settled")
            self.gateway.kill()
            self.assertIsInstance(paying.exception(), (OSError, http.client.HTTPException))
            self.mend()
            self.start(self.gateway)
            self.until_state(purchase, "credited")
            self.assertEqual(self.balance() - granted, 10_000)
            self.assert_granted_is_paid()
            again, = self.payer.send(self.url_at(url, self.gateway), payment)
            self.assertEqual(again["status"], 200, again["body"])
            self.assertEqual(self.received() - before, 1_000 * UNITS_PER_CENT)

    def test_killed_before_anything_was_asked_for(self):
        purchase, url = self.buy()
        payment = self.payer.payment_for(url)
        verified = self.facilitator.calls()["verify"]
        self.facilitator.fault("verify", "hang", times=1)
        paying = self.in_background(self.pay_at(url), payment)
        self.facilitator.wait("verify", verified + 1)
        self.gateway.kill()
        self.assertIsInstance(paying.exception(), (OSError, http.client.HTTPException))
        self.mend()
        self.start(self.gateway)
        self.assertEqual(self.received(), 0)
        place = self.url_at(url, self.gateway)
        self.until(lambda: self.payer.send(place, payment)[0]["status"] == 200, "it is not paid")
        self.assertEqual(self.purchase(purchase)["state"], "credited")
        self.assert_granted_is_paid()

    def test_granted_is_what_was_paid_whatever_the_facilitator_does(self):
        bought = []
        for kind in ("lost", "pending", "error", "disown", "no_transaction", None):
            purchase, url = self.buy("2.50")
            place = self.url_at(url, self.gateway)
            payment = self.payer.payment_for(place)
            if kind is not None:
                self.facilitator.fault("settle", kind, times=1)
            reply, = self.payer.send(place, payment)
            self.assertIn(reply["status"], (200, 503), f"{kind}: {reply['body']}")
            bought.append(purchase)
            self.mend()
            if kind in ("lost", "disown"):
                self.gateway.kill()
                self.start(self.gateway)
        for purchase in bought:
            self.until_state(purchase, "credited")
        self.assertEqual(self.received(), len(bought) * 250 * UNITS_PER_CENT)
        self.assert_granted_is_paid()

    def test_a_refund_is_owed_until_its_transaction_is_recorded(self):
        purchase, url = self.buy()
        self.assertEqual(self.payer.fetch(url)["status"], 200)
        self.gateway.run("purchase", "refund", purchase)
        self.until_state(purchase, "refunded")
        self.assertEqual(self.balance(), 0)
        owed, = self.gateway.run_json("x402", "obligations")
        self.assertEqual(owed["amount"], str(1_000 * UNITS_PER_CENT))
        self.assertEqual(owed["payer"].lower(), self.payer.address.lower())
        self.assertEqual(owed["purchase"], purchase)
        self.gateway.run("x402", "refunded", owed["payment"], "--transaction", "0x" + "ab" * 32)
        self.assertEqual(self.gateway.run_json("x402", "obligations"), [])
        self.assertEqual(self.payer.get(url)["status"], 409)

    def test_checks_say_whether_it_is_set_up(self):
        self.gateway.run("check")
        checked = self.gateway.run("commerce", "check", check=False)
        self.assertIn("x402", checked.stdout + checked.stderr)
        alone = new_directory(self) / "turnpike.yaml"
        alone.write_text("processors: {x402: {pay_to: '0x12'}}\n")
        gateway = Gateway(config=alone, registry=self.registry, plugins=BUILD / "plugins")
        self.addCleanup(gateway.close)
        checked = gateway.run("check", check=False)
        self.assertNotEqual(checked.returncode, 0)
        told = checked.stdout + checked.stderr
        self.assertIn("lanes.x402.facilitators", told)
        self.assertIn("processors.x402.pay_to", told)


class BuyingOnSqlite(OnSqlite, Buying, unittest.TestCase):
    pass


class BuyingOnPostgres(OnPostgres, Buying, unittest.TestCase):
    pass


class TwoNodes(OnPostgres, Purchases, unittest.TestCase):
    nodes_count = 2

    def test_one_node_sells_and_another_collects(self):
        first, second = self.nodes
        purchase, url = self.buy(node=first)
        self.until_payable(url, second)
        reply = self.payer.fetch(self.url_at(url, second))
        self.assertEqual(reply["status"], 200, reply["body"])
        self.assertEqual(decoded(reply["headers"]["payment-response"])["success"], True)
        self.assertEqual(self.purchase(purchase)["state"], "credited")
        self.assert_granted_is_paid()

    def test_another_node_finishes_what_a_dead_one_began(self):
        first, second = self.nodes
        purchase, url = self.buy(node=second)
        payment = self.payer.payment_for(self.url_at(url, second))
        settled = self.facilitator.calls()["settle"]
        self.facilitator.fault("settle", "hang", times=1)
        paying = self.in_background(lambda: second.call(
            "GET", url[url.index("/v1/"):], headers=[("PAYMENT-SIGNATURE", payment)]))
        self.facilitator.wait("settle", settled + 1)
        second.kill()
        self.assertIsInstance(paying.exception(), (OSError, http.client.HTTPException))
        self.mend()
        self.until_state(purchase, "credited")
        self.assert_granted_is_paid()
        self.assertIsNotNone(first)


if __name__ == "__main__":
    unittest.main()
