"""Auto Top-Up in a real browser: Debian's Chromium (tests/browser) saves a card at the checkout
page of the fake Stripe, turns Auto Top-Up on, and sees the effects of calls that spend Credits."""

import unittest

from fake_stripe import FakeStripe
from gateway import new_registry
from test_auto_top_up import REGISTRY
from test_commerce_stripe import Shop
from upstream import Upstream
from walks import walk

FIRST_CREDITS = 2_005
CALLS = 10


class InABrowser(unittest.TestCase):
    def setUp(self):
        self.stripe = FakeStripe()
        self.addCleanup(self.stripe.close)
        upstream = Upstream()
        self.addCleanup(upstream.close)
        registry = new_registry(self, REGISTRY.format(address=upstream.address))
        self.shop = Shop(self.addCleanup, self.stripe, registry=registry)
        self.gateway = self.shop.nodes[0]
        self.stripe.send_webhooks_to("http://%s:%d/v1/plugins/stripe/webhook" %
                                     self.gateway.addresses["api"])
        self.origin = "http://localhost:%d" % self.gateway.addresses["web"][1]
        self.people = []

    def person(self, name, script):
        account = self.gateway.run_json("account", "create", "--name", name + " account")["id"]
        self.gateway.run("grant", "--account", account, "--credits", str(FIRST_CREDITS))
        made = self.gateway.run_json("user", "create", "--name", name, "--login", name.lower(),
                                     "--account", account, "--role", "owner")
        key = self.gateway.run_json("key", "create", "--account", account, "--name", "k")["secret"]
        link = self.origin + "/login/link#" + made["link"].partition("#")[2]
        return {"name": name, "account": account, "script": script, "link": link, "key": key}

    def spend(self, person):
        for _ in range(CALLS):
            reply = self.gateway.get("/v1/gateway/test/upstream/echo", key=person["key"])
            self.assertEqual(reply.status, 200, reply.body)

    def break_card(self, person):
        """Makes the next charge require the person, and voids the Credits so that one is due."""
        for method in self.stripe.of("payment_method"):
            self.stripe.require_3ds(method["id"])
        allocations = self.gateway.run_json("allocation", "list", "--account", person["account"])
        for allocation in allocations["items"]:
            self.gateway.run("allocation", "void", "--id", allocation["id"])

    def top_up(self, *people):
        steps = {"origin": self.origin, "people": [
            {name: value for name, value in person.items() if name != "key"}
            for person in people]}
        at = 0

        def answer(what):
            nonlocal at
            if what == "spend":
                self.spend(people[at])
            else:
                self.break_card(people[at])
                at += 1

        return walk("topping_up.mjs", steps, answer, gateway=self.gateway)

    def test_saved_turned_on_topped_up_paused_and_turned_off(self):
        people = [self.person("Scripted", True), self.person("Plain", False)]
        for seen in self.top_up(*people):
            with self.subTest(seen["name"]):
                self.check_the_setup(seen)
                self.check_the_top_up(seen)
        self.shop.until(lambda: not [one for one in self.stripe.of("payment_method")
                                     if one["customer"]], "a removed card is still there")
        paid = [one["amount"] for one in self.stripe.of("charge") if one["paid"]]
        self.assertEqual(paid, [1000, 1000])
        self.assertIn("the books are right", self.gateway.run("ledger", "verify").stdout)

    def check_the_setup(self, seen):
        self.assertEqual(seen["axe"], [])
        self.assertEqual(seen["sideways"], [])
        self.assertEqual([one for one in seen["errors"] if "40" not in one], [])
        self.assertEqual(seen["first"], ["off", "Off"])
        self.assertIn("Choose the method of payment", seen["withoutMethod"])
        self.assertEqual(seen["checkout"], "Save a card")
        self.assertRegex(seen["saved"], r"^visa, ends in 4242, until \d+/\d{4}$")
        self.assertIn("less than the threshold of 20000", seen["tooSmall"])
        self.assertEqual(seen["kept"], "20,000")

    def check_the_top_up(self, seen):
        self.assertEqual(seen["on"][0], "on")
        self.assertEqual(seen["on"][1], "Below 2,000 Credits, buys for 10.00 USD, at most "
                                        "50.00 USD a month")
        self.assertEqual(seen["on"][2], seen["saved"])
        self.assertEqual(seen["on"][3], "2,005 Credits")
        self.assertIn("paid and credited", seen["run"])
        self.assertEqual(seen["after"], ["11,995 Credits", "10.00 USD"])
        self.assertEqual(seen["purchase"], ["10,000 Credits for 10.00 USD", "paid and credited"])
        self.assertTrue(seen["paused"].startswith("paused"), seen["paused"])
        self.assertIn("authentication_required", seen["why"])
        self.assertIn("Auto Top-Up is paused. The card was declined", seen["overview"])
        self.assertEqual(seen["off"], "Off")
        self.assertEqual(len(seen["revisions"]), 2)
        self.assertTrue(seen["removed"].startswith("It was removed"), seen["removed"])


if __name__ == "__main__":
    unittest.main()
