"""What a crash leaves of a purchase: a real gateway is killed at every point of base/crash_points.h
that buying, crediting and refunding pass, restarted on the same data, and left to finish.
framework/commerce/CRASHES.md is the table of what remained; the test fails if the table differs."""

import json
import os
import re
import unittest

import gateway as gateway_module
from fake_stripe import FakeStripe
from engines import OnPostgres, OnSqlite
from gateway import BUILD, ROOT, Gateway, new_directory
from test_commerce_stripe import CONFIG, SECRETS
from waiting import until

TABLE = ROOT / "framework" / "commerce" / "CRASHES.md"
POINTS = {name: text for name, text in
          re.findall(r'X\((\w+),\s+"([^"]+)"\)',
                     (ROOT / "framework" / "base" / "crash_points.h").read_text())
          if name.startswith(("purchase_", "refund_"))}
# A processor that only an operator knows of sends no notices.
BY_NOTICES = {"purchase_hinted"}
CRASHING = BUILD / "tests" / "turnpike_crash"
CREDITS = 10_000
DEADLINE_SECONDS = 90

INTRODUCTION = """\
# What a crash leaves of a purchase

A gateway is one process; this is what remains when it dies at any point of buying Credits, on
SQLite and on PostgreSQL alike. `tests/e2e/test_commerce_crash.py` kills a real gateway at every
point of `base/crash_points.h` that such a purchase comes by, starts it again on the same data, and
writes this table; it fails when the table is not this one. The n-th time that the point is come by
stands behind its name.

- **Buyer saw**: the reply to the purchase, or nothing.
- **Left**: the state of the purchase before the gateway is up again.
- **Repeat**: what the same request under the same key gets then; it is always the same purchase.
- **In the end**: the Credits of the account once the gateway has finished by itself.

In every row the purchase is paid once and credited once, and what is refunded is taken back once.
Nobody waits for a top-up, so its buyer saw nothing and repeats nothing; the card is charged once.
"""


class Crashes:
    """One gateway on one database, killed and started again."""

    def __init__(self, test, postgres_url):
        self.test = test
        directory = new_directory(test)
        self.at, self.log = directory / "at", directory / "log"
        for name, path in (("TURNPIKE_CRASH_AT", self.at), ("TURNPIKE_CRASH_LOG", self.log)):
            os.environ[name] = str(path)
            test.addCleanup(os.environ.pop, name)
        self.stripe = FakeStripe()
        test.addCleanup(self.stripe.close)
        os.environ.update(SECRETS)
        for name in SECRETS:
            test.addCleanup(os.environ.pop, name, None)
        config = directory / "turnpike.yaml"
        config.write_text(CONFIG.format(url=self.stripe.url))
        self.gateway = Gateway(config=config, settings=["processors.manual.days_to_pay=3"],
                               postgres_url=postgres_url, plugins=BUILD / "plugins")
        test.addCleanup(self.gateway.close)
        self.account = self.gateway.run_json("account", "create", "--name", "Acme")["id"]
        person = self.gateway.run_json("user", "create", "--name", "Ann", "--login", "ann",
                                       "--account", self.account, "--role", "owner")
        self.token = self.gateway.run_json("session", "create", "--person",
                                           person["id"])["token"]
        self.gateway.start()
        self.path = f"/v1/billing-accounts/{self.account}"
        offers = self.gateway.get(self.path + "/purchase-offers", key=self.token).json()
        (self.offer,) = (one["offerId"] for one in offers if one["processor"] == "manual")
        self.bought = 0

    def credits(self):
        return self.gateway.balance(self.account, self.token)

    def state(self, purchase):
        return self.gateway.run_json("purchase", "show", purchase)["state"]

    def buy(self, key):
        """The reply, or None if the gateway died."""
        body = ('{"offerId": "%s", "amount": {"currency": "USD", "amount": "10.00"}}' % self.offer)
        try:
            return self.gateway.call("POST", self.path + "/purchases", key=self.token,
                                     headers=[("Idempotency-Key", key),
                                              ("Content-Type", "application/json")],
                                     body=body.encode())
        except OSError:
            return None

    def restart(self):
        self.gateway.kill()
        self.at.unlink(missing_ok=True)
        self.gateway.start()

    def until(self, holds, what):
        until(holds, what, DEADLINE_SECONDS)

    def new_key(self):
        self.bought += 1
        return f"key-{self.bought}"

    def confirm(self, purchase):
        self.gateway.run("purchase", "confirm", purchase, "--amount", "10.00")

    def finish(self, purchase, before):
        """Lets the gateway finish. Returns by how much the account's Credits grew."""
        self.until(lambda: self.state(purchase) == "credited", f"{purchase} is not credited")
        return self.credits() - before

    # ---- the three stages of a purchase, each undisturbed or killed at a point

    def die_at(self, point, work, left):
        """Kills the gateway at `point` during `work`. Returns the result of `work`, and that of
        `left`, which is called while the gateway is dead."""
        self.at.write_text(point)
        result = work()
        self.test.assertEqual(self.gateway.process.wait(timeout=60), -9, point)
        found = left()
        self.restart()
        return result, found

    def newest_of(self, account, count=1):
        """The state of the newest of `count` purchases, or "none" if there are fewer."""
        listed = self.gateway.run_json("purchase", "list", "--account", account)
        return listed[0]["state"] if len(listed) == count else "none"

    def buying(self, point):
        before, key = self.credits(), self.new_key()
        reply, left = self.die_at(point, lambda: self.buy(key),
                                  lambda: self.newest_of(self.account, self.bought))
        self.until_answered(key)
        again = self.buy(key)
        self.test.assertEqual(again.status, 201, again.body)
        purchase = again.json()["purchaseId"]
        listed = self.gateway.run_json("purchase", "list", "--account", self.account)
        self.test.assertEqual(len(listed), self.bought, "one key, one purchase")
        self.confirm(purchase)
        return ["the reply" if reply is not None else "nothing", left, "201",
                str(self.finish(purchase, before))]

    def until_answered(self, key):
        def answered():
            reply = self.buy(key)
            if reply.status == 409:
                self.test.assertEqual(reply.error_code(), "idempotency.in_progress")
            return reply.status == 201
        self.until(answered, f"{key} is not answered")

    def crediting(self, point):
        before, key = self.credits(), self.new_key()
        purchase = self.buy(key).json()["purchaseId"]
        _, left = self.die_at(point, lambda: self.confirm(purchase),
                              lambda: self.state(purchase))
        again = self.buy(key)
        self.test.assertEqual(again.json()["purchaseId"], purchase)
        return ["the reply", left, str(again.status), str(self.finish(purchase, before))]

    def refunding(self, point):
        before, key = self.credits(), self.new_key()
        purchase = self.buy(key).json()["purchaseId"]
        self.confirm(purchase)
        self.finish(purchase, before)
        _, left = self.die_at(
            point, lambda: self.gateway.run("purchase", "refund", purchase, "--full"),
            lambda: self.state(purchase))
        self.until(lambda: self.state(purchase) == "refunded", f"{purchase} is not refunded")
        shown = self.gateway.run_json("purchase", "show", purchase)
        self.test.assertEqual([refund["state"] for refund in shown["refunds"]], ["sent"])
        self.test.assertEqual(shown["refundedAmount"]["amount"], "10.00")
        return ["the reply", left, str(self.buy(key).status), str(self.credits() - before)]

    # ---- a top-up, on an account of its own with a saved card

    def send(self, method, path, body, token, key):
        return self.gateway.call(method, path, key=token, body=json.dumps(body).encode(),
                                 headers=[("Idempotency-Key", key),
                                          ("Content-Type", "application/json")])

    def saver(self):
        """Makes an account with a saved card. Returns its id, its owner's session, the path of Auto
        Top-Up, and the setup's id."""
        name = self.new_key()
        account = self.gateway.run_json("account", "create", "--name", name)["id"]
        person = self.gateway.run_json("user", "create", "--name", name, "--login", name,
                                       "--account", account, "--role", "owner")
        token = self.gateway.run_json("session", "create", "--person", person["id"])["token"]
        path = f"/v1/billing-accounts/{account}/credit-auto-reload"
        setups = path + "/payment-method-setups"
        setup = self.send("POST", setups, {"processor": "stripe"}, token, "save")
        setup_id = setup.json()["setupId"]
        self.stripe.pay(self.stripe.session_of(setup_id))
        self.until(lambda: self.gateway.get(f"{setups}/{setup_id}", key=token).json()["state"] ==
                   "succeeded", "the card is not saved")
        return account, token, path, setup_id

    def topping_up(self, point):
        account, token, path, setup_id = self.saver()
        policy = {"enabled": True, "thresholdCredits": "2000", "paymentMethodId": setup_id,
                  "amount": {"currency": "USD", "amount": "10.00"},
                  "monthlyLimit": {"currency": "USD", "amount": "50.00"}, "expectedRevision": 0}
        before = len([one for one in self.stripe.of("charge") if one["paid"]])
        _, left = self.die_at(point, lambda: self.send("PUT", path, policy, token, "policy"),
                              lambda: self.newest_of(account))
        self.until(lambda: self.gateway.balance(account, token) > 0, "it is not topped up")
        charges = [one for one in self.stripe.of("charge") if one["paid"]]
        self.test.assertEqual(len(charges) - before, 1, point)
        self.test.assertEqual(len(self.gateway.run_json("purchase", "list", "--account",
                                                        account)), 1)
        return ["nothing", left, "none", str(self.gateway.balance(account, token))]

    def table(self):
        text, passed = INTRODUCTION, set()
        parts = [
            ("Buying, until the reply", self.buying,
             ["purchase_opened", "purchase_begun", "purchase_before", "purchase_after"]),
            ("Crediting, after the money came", self.crediting,
             ["purchase_looked", "purchase_before", "purchase_after"]),
            ("A refund by an operator", self.refunding,
             ["refund_before", "refund_sent", "purchase_looked", "purchase_before",
              "purchase_after"]),
            ("A top-up by a saved card", self.topping_up,
             ["purchase_begun", "purchase_before", "purchase_after", "purchase_charged"]),
        ]
        for title, part, points in parts:
            text += (f"\n## {title}\n\n| point | what has been done | buyer saw | left | repeat |"
                     " in the end |\n|---|---|---|---|---|---|\n")
            for point in points:
                passed.add(point)
                text += "| " + " | ".join([f"`{point}`", POINTS[point], *part(point)]) + " |\n"
        self.test.assertEqual(set(POINTS) - passed, BY_NOTICES)
        verified = self.gateway.run("ledger", "verify").stdout
        self.test.assertIn("the books are right", verified)
        return text


class CrashTable(OnSqlite, unittest.TestCase):
    maxDiff = None

    def test_every_point(self):
        saved, gateway_module.TURNPIKE = gateway_module.TURNPIKE, CRASHING
        self.addCleanup(setattr, gateway_module, "TURNPIKE", saved)
        made = Crashes(self, self.postgres_url()).table()
        if os.environ.get("TURNPIKE_UPDATE"):
            TABLE.write_text(made)
        self.assertEqual(made, TABLE.read_text())


class CrashesOnPostgres(OnPostgres, CrashTable):
    """The same on PostgreSQL."""


if __name__ == "__main__":
    unittest.main()
