"""Buying Credits by card in a real browser: Debian's Chromium (tests/browser) goes from the
dashboard to the checkout page of the fake Stripe and comes back. On both engines."""

import unittest

from fake_stripe import FakeStripe
from engines import OnPostgres, OnSqlite
from test_commerce_stripe import SECRETS, Shop
from walks import walk

LOOK_UP = "GET /v1/checkout/sessions/{id}"
NOTICES = ("checkout.session.completed", "payment_intent.succeeded")


class InABrowser(OnSqlite, unittest.TestCase):
    def setUp(self):
        self.stripe = FakeStripe()
        self.addCleanup(self.stripe.close)
        self.shop = Shop(self.addCleanup, self.stripe,
                         postgres_url=self.postgres_url())
        self.gateway = self.shop.nodes[0]
        self.stripe.send_webhooks_to("http://%s:%d/v1/plugins/stripe/webhook" %
                                     self.gateway.addresses["api"])
        self.origin = "http://localhost:%d" % self.gateway.addresses["web"][1]

    def person(self, name, script):
        account = self.gateway.run_json("account", "create", "--name", name + " account")["id"]
        made = self.gateway.run_json("user", "create", "--name", name, "--login", name.lower(),
                                     "--account", account, "--role", "owner")
        self.token = self.gateway.run_json("session", "create", "--person", made["id"])["token"]
        return {"name": name, "account": account, "script": script,
                "looks": script and self.looks,
                "link": self.origin + "/login/link#" + made["link"].partition("#")[2]}

    def buy(self, *people):
        """Returns what each person saw. Until the browser is back, the gateway learns nothing of
        the first of a person's two payments: notices are late and look-ups fail."""
        payments = 0

        def answer(what):
            nonlocal payments
            payments += what == "pay"
            if payments % 2 == 1:
                self.know_nothing() if what == "pay" else self.know_again()

        return walk("buying.mjs", {"origin": self.origin, "people": people}, answer,
                    gateway=self.gateway)

    def know_nothing(self):
        for kind in NOTICES:
            self.stripe.event_fault(kind, "late")
        self.stripe.fault(LOOK_UP, "500_before", times=1_000)

    def know_again(self):
        with self.stripe.lock:
            self.stripe.faults.clear()
        self.stripe.release_events()

    def test_declined_cancelled_paid_and_credited(self):
        # The pages without scripts have the same content as those with scripts.
        people = [self.person("Scripted", True), self.person("Plain", False)]
        for person, seen in zip(people, self.buy(*people)):
            with self.subTest(person["name"]):
                self.check_the_form(seen)
                self.check_the_payments(seen)
                self.check_what_was_bought(seen)
        self.assertEqual([one["amount"] for one in self.stripe.of("charge") if one["paid"]],
                         [1230, 250] * 2)
        self.assertIn("the books are right", self.gateway.run("ledger", "verify").stdout)
        for secret in SECRETS.values():
            self.assertNotIn(secret, self.gateway.log_text())

    def check_the_form(self, seen):
        self.assertEqual(seen["axe"], [])
        self.assertEqual(seen["sideways"], [])
        self.assertEqual([one for one in seen["errors"] if "400" not in one], [])
        valid = ", which are valid for 365 days."
        self.assertEqual(seen["usual"], ["10.00", "10.00 USD buys 10,000 Credits" + valid])
        self.assertEqual(seen["sums"], {
            "12.3": "12.30 USD buys 12,300 Credits" + valid,
            "1": "1.00 USD buys 1,000 Credits" + valid,
            "1,000": "1,000.00 USD buys 1,000,000 Credits" + valid,
            "0.10": "", "12.35": "", "1000.10": "", "much": ""})

    def check_the_payments(self, seen):
        self.assertEqual(seen["checkout"], "Pay 12.30 USD")
        self.assertTrue(seen["declined"][0])
        self.assertIn("generic_decline", seen["declined"][1])
        self.assertIn("insufficient_funds", seen["declinedAgain"])
        self.assertEqual(seen["cancelled"], ["waits for payment", "Go on to pay"])
        (opened,) = seen["open"]
        self.assertIn("waits for payment", opened)
        self.assertIn("12.30 USD", opened)
        self.assertEqual(seen["returned"], ["?returned=1", "waits for payment", 1])
        self.assertEqual(seen["credited"][:2], [seen["first"], "12,300 Credits for 12.30 USD"])
        self.assertRegex(seen["credited"][2], "12,300 Credits, valid until .* UTC")
        self.assertEqual(seen["credited"][3], "12.30 USD")
        self.assertGreaterEqual(seen["loadsByItself"], 1)

    def check_what_was_bought(self, seen):
        kinds = [path.strip("/").partition("/")[0] for path in seen["documents"]]
        self.assertEqual(kinds, ["invoices", "invoices", "receipts"])
        (row,) = seen["history"]
        for words in ("paid and credited", "12.30 USD", "12,300", seen["first"]):
            self.assertIn(words, row)
        (invoice,) = seen["invoices"]
        for words in ("paid", "12.30 USD", "0.00 USD", seen["first"]):
            self.assertIn(words, invoice)
        self.assertIn("Credited: purchase", seen["statement"])
        balances = [seen[one].split()[0] for one in ("balance", "balanceAfterDecline",
                                                     "balanceAtLast")]
        self.assertEqual(balances, ["12,300", "12,300", "14,800"])
        self.assertNotEqual(seen["first"], seen["second"])


class InABrowserOnPostgres(OnPostgres, InABrowser):
    """The same on PostgreSQL."""


if __name__ == "__main__":
    unittest.main()
