"""Buying Credits by card: the gateway with the stripe plugin against the fake Stripe, with faults
between the two: notices that are lost, duplicated, late or forged, replies that are lost, and nodes
that are killed."""

import json
import os
import pathlib
import random
import tempfile
import threading
import time
import unittest

from fake_stripe import FakeStripe
from gateway import BUILD, Gateway, Postgres
from waiting import until

# `./dev soak` raises these numbers.
PURCHASES = int(os.environ.get("TURNPIKE_PURCHASES", "60"))
KILLS = int(os.environ.get("TURNPIKE_KILLS", "4"))
WAIT_SECONDS = 120
SECRETS = {"TURNPIKE_TEST_STRIPE_KEY": "rk_test_fake",
           "TURNPIKE_TEST_STRIPE_SECRET": "whsec_fake"}
CONFIG = """\
processors:
  stripe:
    api_key: {{secret: {{env: TURNPIKE_TEST_STRIPE_KEY}}}}
    webhook_secrets: [{{secret: {{env: TURNPIKE_TEST_STRIPE_SECRET}}}}]
    api_base: {url}
commerce: {{open_purchases_max: 100}}
accounts: {{starter_grant: {{enabled: false}}}}
"""


class Shop:
    """One or more nodes, and accounts with their owners."""

    def __init__(self, add_cleanup, stripe, nodes=1, postgres_url=None, registry=None):
        os.environ.update(SECRETS)
        for name in SECRETS:
            add_cleanup(os.environ.pop, name, None)
        self.nodes = []
        directory = tempfile.TemporaryDirectory(prefix="turnpike-shop-")
        add_cleanup(directory.cleanup)
        config = pathlib.Path(directory.name) / "turnpike.yaml"
        config.write_text(CONFIG.format(url=stripe.url))
        for _ in range(nodes):
            node = Gateway(config=config, settings=["log.level=info"], postgres_url=postgres_url,
                           registry=registry, plugins=BUILD / "plugins")
            add_cleanup(node.close)
            self.nodes.append(node)
        self.accounts = []
        self.add_account("ann")
        for node in self.nodes:
            node.start(frozenset({"api", "mcp", "web", "operator"}))

    def add_account(self, login):
        first = self.nodes[0]
        account = first.run_json("account", "create", "--name", login)["id"]
        person = first.run_json("user", "create", "--name", login, "--login", login, "--account",
                                account, "--role", "owner")
        token = first.run_json("session", "create", "--person", person["id"])["token"]
        self.accounts.append((account, token))

    def path(self, account=None):
        return f"/v1/billing-accounts/{account or self.accounts[0][0]}"

    def offer(self, node):
        account, token = self.accounts[0]
        return node.get(self.path(account) + "/purchase-offers", key=token).json()[0]["offerId"]

    def buy(self, key, amount="10.00", node=None, account=None, offer=None):
        node = node or self.nodes[0]
        account, token = account or self.accounts[0]
        body = json.dumps({"offerId": offer or self.offer(node),
                           "amount": {"currency": "USD", "amount": amount}})
        return node.call("POST", self.path(account) + "/purchases", key=token, body=body.encode(),
                         headers=[("Idempotency-Key", key), ("Content-Type", "application/json")])

    def purchase(self, purchase_id, node=None):
        return (node or self.nodes[0]).run_json("purchase", "show", purchase_id)

    def balance(self, account=None):
        account, token = account or self.accounts[0]
        return self.nodes[0].balance(account, token)

    def until(self, holds, what):
        until(holds, what, WAIT_SECONDS)

    def until_state(self, purchase_id, state):
        account, token = self.accounts[0]
        self.until(lambda: self.nodes[0].purchase_state(account, token, purchase_id) == state,
                   f"{purchase_id} is not {state}")


class SetUpWrong(unittest.TestCase):
    def test_what_is_wrong_is_in_the_log_from_the_start_on(self):
        stripe = FakeStripe()  # without a webhook endpoint
        self.addCleanup(stripe.close)
        shop = Shop(self.addCleanup, stripe)
        node = shop.nodes[0]
        shop.until(lambda: "processor_set_up_wrong" in node.log_text(), "nothing was found")
        self.assertIn("/v1/plugins/stripe/webhook", node.log_text())


class OneNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stripe = FakeStripe()
        cls.addClassCleanup(cls.stripe.close)
        cls.shop = Shop(cls.addClassCleanup, cls.stripe)
        cls.stripe.send_webhooks_to("http://%s:%d/v1/plugins/stripe/webhook" %
                                    cls.shop.nodes[0].addresses["api"])
        cls.keys = iter(range(1_000_000))

    def buy(self, amount="10.00"):
        reply = self.shop.buy(f"key-{next(self.keys)}", amount)
        self.assertEqual(reply.status, 201, reply.body)
        return reply.json()

    def test_paid_and_credited_by_a_notice(self):
        before = self.shop.balance()
        bought = self.buy()
        self.assertTrue(bought["checkoutUrl"].startswith(self.stripe.url), bought)
        self.stripe.pay(self.stripe.session_of(bought["purchaseId"]))
        self.stripe.flush()
        self.shop.until_state(bought["purchaseId"], "credited")
        self.assertEqual(self.shop.balance() - before, 10_000)

    def test_lost_notices_lose_nothing(self):
        before = self.shop.balance()
        bought = self.buy()
        self.stripe.event_fault("checkout.session.completed", "drop")
        self.stripe.event_fault("payment_intent.succeeded", "drop")
        self.stripe.pay(self.stripe.session_of(bought["purchaseId"]))
        self.shop.until_state(bought["purchaseId"], "credited")
        self.assertEqual(self.shop.balance() - before, 10_000)

    def test_a_forged_notice_is_refused_and_credits_nothing(self):
        before = self.shop.balance()
        bought = self.buy()
        session = self.stripe.session_of(bought["purchaseId"])
        body = json.dumps({"id": "evt_1", "object": "event", "type": "checkout.session.completed",
                           "data": {"object": {"id": session, "object": "checkout.session"}}})
        target = "/v1/plugins/stripe/webhook"
        for signature in ("", "t=1,v1=00", f"t={int(time.time())},v1={'0' * 64}"):
            reply = self.shop.nodes[0].call("POST", target, body=body.encode(), headers=[
                ("Stripe-Signature", signature), ("Content-Type", "application/json")])
            self.assertEqual(reply.status, 400, signature)
        # A notice signed with the true secret only triggers a look-up.
        self.stripe.event_fault("checkout.session.completed", "double")
        self.assertEqual(self.shop.purchase(bought["purchaseId"])["state"], "awaiting_payment")
        self.assertEqual(self.shop.balance(), before)

    def test_a_card_that_is_declined_may_be_followed_by_one_that_is_not(self):
        before = self.shop.balance()
        bought = self.buy()
        session = self.stripe.session_of(bought["purchaseId"])
        self.stripe.decline(session)
        self.stripe.pay(session)
        self.shop.until_state(bought["purchaseId"], "credited")
        self.assertEqual(self.shop.balance() - before, 10_000)

    def test_an_expired_checkout(self):
        bought = self.buy()
        self.stripe.expire(self.stripe.session_of(bought["purchaseId"]))
        self.shop.until_state(bought["purchaseId"], "expired")

    def test_money_that_goes_back_takes_its_credits(self):
        before = self.shop.balance()
        bought = self.buy()
        session = self.stripe.session_of(bought["purchaseId"])
        self.stripe.pay(session)
        self.shop.until_state(bought["purchaseId"], "credited")
        payment = self.shop.purchase(bought["purchaseId"])["payment"]
        self.stripe.refund(payment, 400)
        self.shop.until(lambda: self.shop.balance() - before == 6_000, "nothing was taken back")
        # An operator refunds the rest.
        self.shop.nodes[0].run("purchase", "refund", bought["purchaseId"])
        self.shop.until_state(bought["purchaseId"], "refunded")
        self.assertEqual(self.shop.balance(), before)
        self.assertEqual(sum(one["amount"] for one in self.stripe.of("refund")
                             if one["payment_intent"] == payment), 1_000)

    def test_a_begin_whose_reply_is_lost(self):
        before = self.shop.balance()
        self.stripe.fault("POST /v1/checkout/sessions", "lost", times=2)
        reply = self.shop.buy("lost")
        if reply.status == 503:
            self.assertEqual(reply.error_code(), "purchase.processor_unavailable")
        self.shop.until(lambda: self.shop.buy("lost").status == 201, "it is not begun")
        bought = self.shop.buy("lost").json()
        self.stripe.pay(self.stripe.session_of(bought["purchaseId"]))
        self.shop.until_state(bought["purchaseId"], "credited")
        self.assertEqual(self.shop.balance() - before, 10_000)

    def test_documents_are_those_of_stripe(self):
        bought = self.buy()
        path = f"{self.shop.path()}/purchases/{bought['purchaseId']}/payment-documents/receipt"
        _, token = self.shop.accounts[0]
        node = self.shop.nodes[0]
        self.assertEqual(node.get(path, key=token).error_code(), "purchase.not_paid")
        self.stripe.pay(self.stripe.session_of(bought["purchaseId"]))
        self.shop.until_state(bought["purchaseId"], "credited")
        reply = node.get(path, key=token)
        self.assertEqual(reply.status, 303, reply.body)
        self.assertTrue(reply.headers["location"].startswith(("https://", self.stripe.url)))

    def test_no_secret_is_in_the_log(self):
        self.buy()
        log = self.shop.nodes[0].log_text()
        for secret in SECRETS.values():
            self.assertNotIn(secret, log)

    def test_the_operator_is_told_that_it_is_set_up(self):
        checked = self.shop.nodes[0].run("commerce", "check", check=False)
        self.assertIn("stripe", checked.stdout + checked.stderr)
        for secret in SECRETS.values():
            self.assertNotIn(secret, checked.stdout + checked.stderr)


class ADispute(unittest.TestCase):
    def test_locks_the_account_until_it_is_won(self):
        stripe = FakeStripe()
        self.addCleanup(stripe.close)
        shop = Shop(self.addCleanup, stripe)
        stripe.send_webhooks_to("http://%s:%d/v1/plugins/stripe/webhook" %
                                shop.nodes[0].addresses["api"])
        bought = shop.buy("k").json()
        stripe.pay(stripe.session_of(bought["purchaseId"]))
        shop.until_state(bought["purchaseId"], "credited")
        dispute = stripe.dispute(shop.purchase(bought["purchaseId"])["payment"])
        shop.until_state(bought["purchaseId"], "disputed")
        self.assertEqual(shop.balance(), 0)
        _, token = shop.accounts[0]
        refused = shop.nodes[0].get(shop.path() + "/purchase-offers", key=token)
        self.assertEqual(refused.error_code(), "purchase.account_locked")
        stripe.end_dispute(dispute, "won")
        shop.until_state(bought["purchaseId"], "credited")
        self.assertEqual(shop.balance(), 10_000)
        self.assertIn("the books are right", shop.nodes[0].run("ledger", "verify").stdout)


class TwoNodes(unittest.TestCase):
    def test_granted_is_what_was_paid_though_notices_are_lost_and_nodes_killed(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        stripe = FakeStripe()
        self.addCleanup(stripe.close)
        chance = random.Random(20_261_124)
        stripe.event_rule = lambda event: "drop" if chance.random() < 0.3 else "triple"
        shop = Shop(self.addCleanup, stripe, nodes=2, postgres_url=postgres.new_database())
        for index in range(7):
            shop.add_account(f"person{index}")
        offer = shop.offer(shop.nodes[1])
        lock, left, paid = threading.Lock(), list(range(PURCHASES)), {}

        def buy_all(worker):
            random_worker = random.Random(worker)
            while True:
                with lock:
                    if not left:
                        return
                    number = left.pop()
                account = shop.accounts[number % len(shop.accounts)]
                amount = 100 + 10 * random_worker.randrange(1, 200)
                purchase = None
                while purchase is None:
                    try:
                        node = shop.nodes[random_worker.randrange(2)]
                        reply = shop.buy(f"key-{number}", f"{amount // 100}.{amount % 100:02}",
                                         node, account, offer)
                        if reply.status == 201:
                            purchase = reply.json()["purchaseId"]
                    except (OSError, KeyError, AttributeError):
                        time.sleep(0.2)  # the node was killed and will come back
                if random_worker.random() < 0.8:
                    stripe.pay(stripe.session_of(purchase))
                    with lock:
                        paid[purchase] = (account[0], amount * 10)

        workers = [threading.Thread(target=buy_all, args=(worker,)) for worker in range(4)]
        for worker in workers:
            worker.start()
        kills = 0
        while kills < KILLS or any(worker.is_alive() for worker in workers):
            node = shop.nodes[kills % 2]
            time.sleep(0.5 + chance.random())
            if kills < KILLS:
                node.kill()
                node.start()
                kills += 1
        for worker in workers:
            worker.join()
        shop.until(lambda: all(
            one["state"] == "credited" for one in self.purchases(shop) if one["id"] in paid),
            "not all that was paid is credited")
        granted = {account: 0 for account, _ in shop.accounts}
        for account, credits in paid.values():
            granted[account] += credits
        for account in shop.accounts:
            self.assertEqual(shop.balance(account), granted[account[0]])
        credited = [one for one in self.purchases(shop) if one["state"] == "credited"]
        self.assertEqual({one["id"] for one in credited}, set(paid))
        self.assertIn("the books are right", shop.nodes[0].run("ledger", "verify").stdout)

    @staticmethod
    def purchases(shop):
        return shop.nodes[0].run_json("purchase", "list", "--limit", "10000")


if __name__ == "__main__":
    unittest.main()
