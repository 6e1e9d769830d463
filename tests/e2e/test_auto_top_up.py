"""Auto Top-Up over sockets: the gateway with the stripe plugin against the fake Stripe. A card is
saved, calls spend the Credits, and one of two nodes charges the card as the policy says."""

import concurrent.futures
import json
import pathlib
import tempfile
import unittest

from engines import OnPostgres, OnSqlite
from fake_stripe import FakeStripe
from gateway import ONE_UPSTREAM
from test_commerce_stripe import Shop
from upstream import Upstream

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 1}}
defaults: {{price: test.standard, upstream: main}}
routes:
  - {{path: "/upstream/{{kind}}", deadline_ms: 3000}}
"""
SETUPS = "/credit-auto-reload/payment-method-setups"
CONFIRM = "POST /v1/payment_intents/{id}/confirm"


def money(amount):
    return {"currency": "USD", "amount": amount}


class TopUps(OnSqlite):
    """What the tests share: one shop and its accounts."""

    NODES = 1

    @classmethod
    def setUpClass(cls):
        cls.stripe = FakeStripe()
        cls.addClassCleanup(cls.stripe.close)
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        directory = tempfile.TemporaryDirectory(prefix="turnpike-test-")
        cls.addClassCleanup(directory.cleanup)
        registry = pathlib.Path(directory.name)
        (registry / "test.yaml").write_text(REGISTRY.format(address=cls.upstream.address))
        cls.shop = Shop(cls.addClassCleanup, cls.stripe, nodes=cls.NODES,
                        postgres_url=cls.postgres_url(), registry=registry)
        cls.node = cls.shop.nodes[0]
        cls.stripe.send_webhooks_to("http://%s:%d/v1/plugins/stripe/webhook" %
                                    cls.node.addresses["api"])
        cls.names = iter(range(1_000_000))

    def setUp(self):
        self.shop.add_account(f"person-{next(self.names)}")
        self.account, self.token = self.shop.accounts.pop()

    # ---- what people do

    def send(self, method, tail, body=None, key=None, token=None, account=None):
        headers = [("Content-Type", "application/json")] if body is not None else []
        if key:
            headers.append(("Idempotency-Key", key))
        return self.node.call(method, self.shop.path(account or self.account) + tail,
                              key=token or self.token, headers=headers,
                              body=None if body is None else json.dumps(body).encode())

    def begin(self, key="save"):
        return self.send("POST", SETUPS, {"processor": "stripe"}, key)

    def setup(self, setup_id):
        return self.send("GET", f"{SETUPS}/{setup_id}")

    def save(self, key="save"):
        """Saves a card. Returns the id of its setup and its id at Stripe."""
        begun = self.begin(key)
        self.assertEqual(begun.status, 201, begun.body)
        setup_id = begun.json()["setupId"]
        self.stripe.pay(self.stripe.session_of(setup_id))
        self.shop.until(lambda: self.setup(setup_id).json()["state"] == "succeeded",
                        "the card is not saved")
        method = [one for one in self.stripe.of("payment_method") if one["customer"]][-1]
        return setup_id, method["id"]

    def policy(self, method, **changes):
        return {"enabled": True, "thresholdCredits": "2000", "amount": money("10.00"),
                "monthlyLimit": money("50.00"), "paymentMethodId": method,
                "expectedRevision": 0, **changes}

    def put(self, body, key="policy", **more):
        return self.send("PUT", "/credit-auto-reload", body, key, **more)

    def view(self):
        reply = self.send("GET", "/credit-auto-reload")
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()

    def balance(self):
        return self.node.balance(self.account, self.token)

    def until(self, holds, what):
        self.shop.until(holds, what)

    def charges(self):
        customers = {one["id"] for one in self.stripe.of("customer")
                     if one["metadata"].get("turnpike_account") == self.account}
        return [one for one in self.stripe.of("charge") if one["customer"] in customers]


class OneNode(TopUps, unittest.TestCase):
    def test_a_card_is_saved_and_charged_below_the_threshold(self):
        self.assertEqual(self.view()["state"], "off")
        self.assertEqual(self.view()["revision"], 0)
        setup_id, _ = self.save()
        method = self.setup(setup_id).json()["paymentMethod"]
        self.assertEqual((method["brand"], method["last4"]), ("visa", "4242"))
        reply = self.put(self.policy(setup_id))
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(reply.json()["revision"], 1)
        self.until(lambda: self.balance() == 10_000, "the Credits did not come")
        view = self.view()
        self.assertEqual(view["spentThisMonth"], money("10.00"))
        self.assertEqual(view["lastRun"]["state"], "credited")
        run = self.send("GET", "/purchases/" + view["lastRun"]["purchaseId"]).json()
        self.assertEqual(run["origin"], "auto_top_up")
        self.assertEqual(len(self.charges()), 1)
        again = self.put(self.policy(setup_id))
        self.assertEqual(again.body, reply.body)
        self.assertEqual(again.headers["idempotent-replayed"], "true")

    def test_a_setup_that_is_not_answered_stands(self):
        sessions = "POST /v1/checkout/sessions"
        self.stripe.fault(sessions, "500_before", times=100)
        begun = self.begin()
        self.stripe.faults.pop(sessions)
        self.assertEqual(begun.status, 202, begun.body)
        setup = begun.json()
        self.assertEqual((setup["state"], setup["setupUrl"]), ("needs_reconciliation", None))
        again = self.begin()
        self.assertIn(again.status, (201, 409), again.body)  # 409: it is being started
        self.until(lambda: self.setup(setup["setupId"]).json()["state"] == "requires_action",
                   "it was not begun again")
        again = self.begin()
        self.assertEqual(again.status, 201)
        self.assertEqual(again.json()["setupId"], setup["setupId"])
        self.assertEqual(self.begin().body, again.body)

    def test_what_is_refused(self):
        setup_id, method = self.save()
        for number, (change, status, code) in enumerate((
                ({"thresholdCredits": "10001"}, 400, "auto_reload.amount_below_threshold"),
                ({"amount": money("10.05")}, 400, "purchase.amount_invalid"),
                ({"amount": money("0.00")}, 400, "purchase.amount_invalid"),
                ({"monthlyLimit": money("9.90")}, 400, "request.body_rejected"),
                ({"paymentMethodId": None}, 400, "request.body_rejected"),
                ({"enabled": "yes"}, 400, "request.body_rejected"),
                ({"more": 1}, 400, "request.body_rejected"),
                ({"paymentMethodId": "pms_none"}, 409, "auto_reload.payment_method_conflict"),
                ({"expectedRevision": 7}, 409, "auto_reload.revision_conflict"))):
            reply = self.put({**self.policy(setup_id), **change}, f"key-{number}")
            self.assertEqual((reply.status, reply.error_code()), (status, code), change)
        self.assertEqual(self.put(self.policy(setup_id, enabled=False)).status, 200)
        reply = self.put(self.policy(setup_id, enabled=False, thresholdCredits="3"))
        self.assertEqual(reply.error_code(), "idempotency.conflict")
        for tail, status, code in (("/wrong", 400, "request.path_malformed"),
                                   ("/pms_none", 404, "auto_reload.setup_not_found")):
            reply = self.send("GET", SETUPS + tail)
            self.assertEqual((reply.status, reply.error_code()), (status, code))
        reply = self.send("POST", SETUPS, {"processor": "none"}, "other")
        self.assertEqual((reply.status, reply.error_code()), (404, "purchase.offer_not_found"))
        self.stripe.detach(method)
        self.until(lambda: self.setup(setup_id).status == 409, "the card is still there")
        self.assertEqual(self.setup(setup_id).error_code(), "auto_reload.payment_method_conflict")
        reply = self.put(self.policy(setup_id, expectedRevision=1), "gone")
        self.assertEqual(reply.error_code(), "auto_reload.payment_method_conflict")

    def test_a_removed_card_is_charged_no_more_and_detached(self):
        setup_id, method = self.save()
        self.assertEqual(self.put(self.policy(setup_id)).status, 200)
        self.until(lambda: self.balance() == 10_000, "the Credits did not come")
        open_id = self.begin("open").json()["setupId"]
        for tail, status, code in (("/wrong", 400, "request.path_malformed"),
                                   ("/pms_none", 404, "auto_reload.setup_not_found"),
                                   ("/" + open_id, 409, "auto_reload.payment_method_conflict")):
            reply = self.send("DELETE", SETUPS + tail)
            self.assertEqual((reply.status, reply.error_code()), (status, code))
        detach = "POST /v1/payment_methods/{id}/detach"
        self.stripe.fault(detach, "500_before", times=2)
        for _ in range(2):
            reply = self.send("DELETE", f"{SETUPS}/{setup_id}")
            self.assertEqual((reply.status, reply.body), (204, b""))
        self.assertEqual(self.setup(setup_id).error_code(), "auto_reload.payment_method_conflict")
        view = self.view()
        self.assertEqual((view["state"], view["pause"]["code"]),
                         ("needs_payment_method", "payment_method_removed"))
        self.until(lambda: self.stripe.objects[method]["customer"] is None,
                   "the payment service still has the card")
        reply = self.put(self.policy(setup_id, expectedRevision=1), "again")
        self.assertEqual(reply.error_code(), "auto_reload.payment_method_conflict")
        self.assertEqual(len(self.charges()), 1)
        events = self.node.run_json("audit", "list", "--account", self.account)["items"]
        self.assertIn("payment_method.remove", [one["action"] for one in events])

    def test_members_look_and_keys_do_not(self):
        member = self.node.run_json("user", "create", "--name", "m", "--login",
                                    f"m-{self.account[-6:].lower()}", "--account", self.account,
                                    "--role", "member")
        token = self.node.run_json("session", "create", "--person", member["id"])["token"]
        self.assertEqual(self.send("GET", "/credit-auto-reload", token=token).status, 200)
        for reply in (self.put(self.policy("pms_1"), token=token),
                      self.send("POST", SETUPS, {"processor": "stripe"}, "k", token=token),
                      self.send("DELETE", SETUPS + "/pms_1", token=token)):
            self.assertEqual((reply.status, reply.error_code()), (403, "auth.role_missing"))
        key = self.node.run_json("key", "create", "--account", self.account, "--name",
                                 "k")["secret"]
        for method, tail in (("GET", "/credit-auto-reload"), ("GET", SETUPS + "/pms_1")):
            reply = self.send(method, tail, token=key)
            self.assertEqual((reply.status, reply.error_code()), (403, "auth.human_required"))
        self.assertEqual(self.send("GET", "/credit-auto-reload", account="acc_none").status, 403)

    def test_a_card_that_needs_its_owner_pauses_at_once(self):
        setup_id, method = self.save()
        self.stripe.require_3ds(method)
        self.put(self.policy(setup_id))
        self.until(lambda: self.view()["state"] == "paused_failure", "it is not paused")
        view = self.view()
        self.assertEqual(view["pause"]["code"], "authentication_required")
        self.assertEqual(view["lastRun"]["state"], "failed")
        self.assertEqual(self.balance(), 0)
        self.assertEqual(len(self.charges()), 1)
        listed = self.node.run_json("auto-top-up", "list", "--paused")
        self.assertIn(self.account, [one["billingAccountId"] for one in listed])
        # A person repairs the card and confirms it with a new revision.
        self.stripe.accept_card(method)
        self.assertEqual(self.put(self.policy(setup_id, expectedRevision=1), "anew").status, 200)
        self.until(lambda: self.balance() == 10_000, "it did not go on")

    def test_a_decline_is_not_hammered_and_an_operator_resumes(self):
        setup_id, method = self.save()
        self.stripe.decline_card(method, decline_code="insufficient_funds")
        self.put(self.policy(setup_id))
        self.until(lambda: self.view()["nextAttemptAt"], "it was not declined")
        self.assertEqual(self.view()["state"], "active")
        self.assertEqual(len(self.charges()), 1)
        self.stripe.accept_card(method)
        self.node.run_json("auto-top-up", "pause", "--account", self.account)
        self.assertEqual(self.view()["pause"]["code"], "operator")
        self.node.run_json("auto-top-up", "resume", "--account", self.account)
        self.until(lambda: self.balance() == 10_000, "it did not go on")

    def test_a_charge_whose_answer_is_lost_is_one_charge(self):
        setup_id, _ = self.save()
        self.stripe.fault(CONFIRM, "lost")
        self.put(self.policy(setup_id))
        self.until(lambda: self.balance() == 10_000, "the Credits did not come")
        paid = [one for one in self.charges() if one["paid"]]
        self.assertEqual(len(paid), 1)

    def test_a_charge_that_did_not_arrive_is_sent_again_unless_it_was_turned_off(self):
        setup_id, _ = self.save()
        self.stripe.fault(CONFIRM, "500_before", times=100)
        self.put(self.policy(setup_id))
        # The plugin must first give up that charge, which it retries under its idempotency key.
        self.until(lambda: '"step":"charge"' in self.node.log_text(), "no charge was given up")
        off = self.put(self.policy(setup_id, enabled=False, expectedRevision=1), "off")
        self.assertEqual(off.status, 200)
        self.stripe.faults.pop(CONFIRM)
        self.until(lambda: self.view()["lastRun"]["state"] == "cancelled", "it is not cancelled")
        self.assertEqual([one for one in self.charges() if one["paid"]], [])
        self.assertEqual((self.balance(), self.view()["state"]), (0, "off"))

    def test_the_books_are_right(self):
        self.assertEqual(self.node.run("ledger", "verify").returncode, 0)


class TwoNodes(OnPostgres, TopUps, unittest.TestCase):
    NODES = 2

    def test_64_calls_across_the_threshold_are_one_charge(self):
        self.node.run_json("grant", "--account", self.account, "--credits", "2032")
        key = self.node.run_json("key", "create", "--account", self.account, "--name",
                                 "k")["secret"]
        setup_id, _ = self.save()
        self.assertEqual(self.put(self.policy(setup_id)).status, 200)
        self.assertEqual(self.charges(), [])

        def call(number):
            node = self.shop.nodes[number % 2]
            return node.get("/v1/gateway/test/upstream/echo", key=key).status

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertEqual(set(pool.map(call, range(64))), {200})
        self.until(lambda: self.balance() == 2032 - 64 + 10_000, "the Credits did not come")
        self.assertEqual(len(self.charges()), 1)
        self.assertEqual(self.node.run("ledger", "verify").returncode, 0)

    def test_a_node_that_dies_while_it_charges_charges_once(self):
        setup_id, _ = self.save()
        held = self.stripe.fault(CONFIRM, "held")
        self.put(self.policy(setup_id))
        self.assertTrue(held.arrived.wait(60), "nothing was charged")
        for node in self.shop.nodes:
            node.kill()
        held.release()
        for node in self.shop.nodes:
            node.start()
        self.until(lambda: self.balance() == 10_000, "the Credits did not come")
        self.assertEqual(len([one for one in self.charges() if one["paid"]]), 1)


if __name__ == "__main__":
    unittest.main()
