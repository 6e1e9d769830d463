"""Buying Credits over real sockets, paid by transfers that an operator confirms: the routes, who
may use them, repeats, and the pages of the dashboard. On both engines."""

import concurrent.futures
import re
import time
import unittest

from engines import OnPostgres, OnSqlite
from gateway import Gateway
from people import Browser, Passkey
from waiting import until


def usd(amount):
    return {"currency": "USD", "amount": amount}


class Purchases(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(postgres_url=cls.postgres_url(), settings=[
            "processors.manual.days_to_pay=14", "commerce.open_purchases_max=100"])
        cls.addClassCleanup(cls.gateway.close)
        cls.gateway.start(frozenset({"api", "mcp", "web", "operator"}))

    def setUp(self):
        self.account, self.key = self.gateway.new_key()
        self.login = "p" + self.account[4:].lower()
        self.owner = self.session(self.login, "owner")
        self.keys = 0

    def session(self, login, role, account=None):
        made = self.gateway.run_json("user", "create", "--name", login, "--login", login,
                                     "--account", account or self.account, "--role", role)
        self.links = getattr(self, "links", {}) | {login: made["link"]}
        return self.gateway.run_json("session", "create", "--person", login)["token"]

    def path(self, more="", account=None):
        return f"/v1/billing-accounts/{account or self.account}{more}"

    def get(self, more, key=None, status=200):
        reply = self.gateway.get(self.path(more), key=key or self.owner)
        self.assertEqual(reply.status, status, reply.body)
        if status == 200:
            self.assertEqual(reply.headers["cache-control"], "private, no-store")
        return reply.json()

    def offer(self):
        (offer,) = self.get("/purchase-offers")
        return offer

    def post(self, body, key=None, session=None, account=None):
        if key is None:
            self.keys += 1
            key = f"key {self.keys}".replace(" ", "-")
        headers = [("Content-Type", "application/json")]
        if key:
            headers.append(("Idempotency-Key", key))
        return self.gateway.call("POST", self.path("/purchases", account), headers=headers,
                                 key=session or self.owner, body=body.encode())

    def wish(self, amount, offer=None):
        offer_id = offer or self.offer()["offerId"]
        return '{"offerId": "%s", "amount": {"currency": "USD", "amount": "%s"}}' % (
            offer_id, amount)

    def buy(self, amount="10.00", **more):
        reply = self.post(self.wish(amount), **more)
        self.assertEqual(reply.status, 201, reply.body)
        return reply.json()

    def assert_refused(self, reply, status, code):
        self.assertEqual((reply.status, reply.error_code()), (status, code), reply.body)

    def confirm(self, purchase, amount="10.00"):
        self.gateway.run("purchase", "confirm", purchase["purchaseId"], "--amount", amount)
        return self.wait_for(purchase["purchaseId"], "credited")

    def wait_for(self, purchase_id, state):
        def reached():
            found = self.get("/purchases/" + purchase_id)
            return found if found["state"] == state else None
        return until(reached, f"{purchase_id} is not {state}", seconds=30)

    # ---- offers and buying

    def test_the_base_offer_is_there(self):
        offer = self.offer()
        self.assertEqual(offer, {
            "offerId": offer["offerId"], "revision": offer["revision"], "processor": "manual",
            "unitAmount": usd("1.00"), "unitCredits": "1000", "minimumAmount": usd("1.00"),
            "maximumAmount": usd("1000.00"), "amountStep": usd("0.10"), "validityDays": 365,
            "expiresAt": None})

    def test_what_is_paid_is_credited_and_can_be_spent(self):
        before = self.gateway.balance(self.account, self.key)
        bought = self.buy("25.00")
        self.assertEqual((bought["state"], bought["credits"], bought["amount"], bought["tax"]),
                         ("awaiting_payment", "25000", usd("25.00"), None))
        page = self.get("/purchases")
        self.assertEqual([one["purchaseId"] for one in page["openPurchases"]],
                         [bought["purchaseId"]])
        credited = self.confirm(bought, "25.00")
        self.assertEqual(self.gateway.balance(self.account, self.key), before + 25_000)
        (allocation,) = [one for one in self.get("/billing?collection=allocations")["items"]
                         if one["origin"] == "purchase"]
        self.assertEqual((allocation["id"], allocation["credits"]),
                         (credited["allocationId"], "25000"))
        self.assertEqual(self.get("/purchases")["openPurchases"], [])
        # An API key may read invoices, too.
        for key in (self.owner, self.key):
            (invoice,) = self.get("/billing?collection=invoices", key)["items"]
            self.assertEqual(
                (invoice["purchaseId"], invoice["amount"], invoice["tax"], invoice["total"],
                 invoice["state"], invoice["documents"]),
                (bought["purchaseId"], usd("25.00"), usd("0.00"), usd("25.00"), "paid", []))
            self.assertEqual(invoice["issuedAt"], credited["paidAt"])

    def test_amounts_are_those_of_the_offer(self):
        for amount in ("0.90", "10.05", "1000.10", "0.00", "10", "10.0", "1,000.00", "-1.00", "",
                       "99999.00"):
            code = "request.body_rejected" if amount == "" else "purchase.amount_invalid"
            self.assert_refused(self.post(self.wish(amount)), 400, code)
        euros = self.wish("10.00").replace("USD", "EUR")
        self.assert_refused(self.post(euros), 400, "purchase.amount_invalid")
        for amount, credits in (("1.00", "1000"), ("1.10", "1100"), ("1000.00", "1000000")):
            self.assertEqual(self.buy(amount)["credits"], credits)

    def test_bodies_are_strict(self):
        offer = self.offer()["offerId"]
        for body in ("", "{", "[]", "{}", '{"offerId": "%s"}' % offer,
                     '{"offerId": 1, "amount": {"currency": "USD", "amount": "10.00"}}',
                     '{"offerId": "%s", "amount": "10.00"}' % offer,
                     '{"offerId": "%s", "amount": {"currency": "USD", "amount": 10.00}}' % offer,
                     '{"offerId": "%s", "amount": {"currency": "USD"}}' % offer,
                     self.wish("10.00").replace("{", '{"more": 1, ', 1)):
            self.assert_refused(self.post(body), 400, "request.body_rejected")
        self.assert_refused(self.post(self.wish("10.00"), key=""), 400, "request.malformed")
        self.assert_refused(self.post(self.wish("10.00", "off_none")), 404,
                            "purchase.offer_not_found")
        self.assert_refused(self.post(" " * 5_000), 413, "request.body_too_large")

    # ---- rights

    def test_admins_buy_members_look_and_keys_do_neither(self):
        admin = self.session(self.login + "-a", "admin")
        member = self.session(self.login + "-m", "member")
        other = self.gateway.run_json("account", "create", "--name", "other")["id"]
        stranger = self.session(self.login + "-s", "owner", other)
        bought = self.buy(session=admin)
        self.assert_refused(self.post(self.wish("10.00"), session=member), 403, "auth.role_missing")
        one = "/purchases/" + bought["purchaseId"]
        for more in ("/purchase-offers", "/purchases", one):
            self.get(more, member)
            for key, status, code in ((self.key, 403, "auth.human_required"),
                                      (stranger, 403, "account.forbidden")):
                reply = self.gateway.get(self.path(more), key=key)
                self.assert_refused(reply, status, code)
            reply = self.gateway.get(self.path(more, "acc_none"), key=self.owner)
            self.assert_refused(reply, 403, "account.forbidden")
        self.assert_refused(self.post(self.wish("10.00"), session=self.key), 403,
                            "auth.human_required")
        # Another account's purchase is not found.
        reply = self.gateway.get(self.path(one, other), key=stranger)
        self.assert_refused(reply, 404, "purchase.not_found")

    # ---- repeats

    def test_a_key_is_one_purchase_for_ever(self):
        wish = self.wish("10.00")
        first = self.post(wish, key="the-key")
        self.assertEqual(first.status, 201, first.body)
        self.assertNotIn("idempotent-replayed", first.headers)
        self.confirm(first.json())
        again = self.post(wish, key="the-key")
        self.assertEqual((again.status, again.body), (201, first.body))
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assert_refused(self.post(self.wish("10.10"), key="the-key"), 409,
                            "idempotency.conflict")
        # The same key of another account makes a purchase of its own.
        other = self.gateway.run_json("account", "create", "--name", "other")["id"]
        stranger = self.session(self.login + "-k", "owner", other)
        reply = self.post(wish, key="the-key", session=stranger, account=other)
        self.assertEqual(reply.status, 201)
        self.assertNotEqual(reply.body, first.body)

    def test_a_hundred_at_once_are_one_purchase(self):
        wish = self.wish("10.00")

        def send(_):
            while True:
                reply = self.post(wish, key="at-once")
                if reply.status == 201:
                    return reply.body
                self.assert_refused(reply, 409, "idempotency.in_progress")
                time.sleep(0.02)
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            bodies = set(pool.map(send, range(100)))
        self.assertEqual(len(bodies), 1)
        self.assertEqual(len(self.get("/purchases")["items"]), 1)

    # ---- lists

    def test_pages_lead_through_all_purchases(self):
        ids = [self.buy("1.00")["purchaseId"] for _ in range(5)]
        seen, after = [], ""
        while True:
            page = self.get("/purchases?limit=2" + after)
            seen += [one["purchaseId"] for one in page["items"]]
            self.assertEqual(len(page["openPurchases"]), 5)
            if page["nextCursor"] is None:
                break
            after = "&after=" + page["nextCursor"]
        self.assertEqual(seen, ids[::-1])
        other = self.gateway.run_json("account", "create", "--name", "other")["id"]
        stranger = self.session(self.login + "-c", "owner", other)
        for account, session, query in ((other, stranger, after), (self.account, self.owner,
                                                                   "&after=nonsense")):
            reply = self.gateway.get(self.path("/purchases?limit=2" + query, account), key=session)
            self.assert_refused(reply, 400, "purchase.cursor_invalid")
        for limit in ("0", "51", "x"):
            reply = self.gateway.get(self.path("/purchases?limit=" + limit), key=self.owner)
            self.assert_refused(reply, 400, "request.query_rejected")

    def test_documents(self):
        bought = self.buy()
        one = "/purchases/" + bought["purchaseId"] + "/payment-documents/"
        for action, status, code in (("foo", 400, "purchase.document_unknown"),
                                     ("invoice", 409, "purchase.not_paid")):
            self.assert_refused(self.gateway.get(self.path(one + action), key=self.owner), status,
                                code)
        self.confirm(bought)
        for action in ("invoice", "invoice_pdf", "receipt"):
            self.assert_refused(self.gateway.get(self.path(one + action), key=self.owner), 404,
                                "purchase.document_absent")
        missing = self.path("/purchases/pur_none/payment-documents/invoice")
        self.assert_refused(self.gateway.get(missing, key=self.owner), 404, "purchase.not_found")

    # ---- the dashboard

    def browser(self, login=None):
        passkey = Passkey()
        self.addCleanup(passkey.close)
        browser = Browser(self.gateway)
        browser.sign_in(self.links[login or self.login])
        browser.enrol(passkey)
        return browser

    def page(self, browser, more="", status=200):
        reply = browser.send("GET", f"/dashboard/{self.account}/purchases{more}")
        self.assertEqual(reply.status, status, reply.body[-500:])
        return reply.body.decode()

    def submit(self, browser, page, amount):
        fields = dict(re.findall(r'name="(key|offer)" value="([^"]+)"', page))
        return browser.submit(f"/dashboard/{self.account}/purchases", amount=amount, **fields)

    def test_people_buy_on_the_page(self):
        browser = self.browser()
        page = self.page(browser)
        self.assertIn("10.00 USD buys 10,000 Credits", page)
        self.assertIn("25.50 USD buys 25,500 Credits", self.page(browser, "?amount=25.5"))
        self.assertIn("no amount such as", self.page(browser, "?amount=much", 400))
        for _ in range(2):  # a double click is one purchase
            reply = self.submit(browser, page, "12.30")
            self.assertEqual(reply.status, 303, reply.body)
            where = reply.headers["location"]
        (bought,) = self.get("/purchases")["openPurchases"]
        self.assertEqual(bought["amount"], usd("12.30"))
        self.assertTrue(where.endswith(bought["purchaseId"] + "/pay"), where)
        reply = browser.send("GET", where)
        self.assertEqual((reply.status, reply.headers["location"]), (303, where[:-4]))
        shown = browser.send("GET", where[:-4] + "?returned=1").body.decode()
        for text in ("waits for payment", bought["purchaseId"], "12.30 USD", "12,300 Credits",
                     "Pay 12.30 USD and name the id"):
            self.assertIn(text, shown)
        # Open purchases are always shown.
        self.assertIn(bought["purchaseId"], self.page(browser).split("Buy Credits")[0])
        self.confirm(bought, "12.30")
        shown = browser.send("GET", where[:-4]).body.decode()
        self.assertIn("paid and credited", shown)
        self.assertIn("alc_", shown)
        billing = browser.send("GET", f"/dashboard/{self.account}/billing").body.decode()
        self.assertIn("Credited: purchase", billing)
        self.assertIn(bought["purchaseId"], billing.split(">Invoices<")[1])
        for action, status in (("foo", 400), ("invoice", 404)):
            reply = browser.send("GET", where[:-4] + "/documents/" + action)
            self.assertEqual(reply.status, status)
            self.assertTrue(reply.body.startswith(b"<!doctype html>"))

    def test_a_refused_form_comes_back_as_it_was_typed(self):
        browser = self.browser()
        page = self.page(browser)
        for amount, reason in (("10.05", "in steps of"), ("0.90", "must be from"),
                               ("much", "no amount such as")):
            reply = self.submit(browser, page, amount)
            text = reply.body.decode()
            self.assertEqual(reply.status, 400, text)
            self.assertIn(reason, text)
            self.assertIn(f'value="{amount}"', text)
            self.assertIn("purchase.amount_invalid", text)
        self.assertEqual(self.get("/purchases")["items"], [])

    def test_members_see_purchases_and_no_form(self):
        bought = self.buy()
        self.session(self.login + "-v", "member")
        browser = self.browser(self.login + "-v")
        page = self.page(browser)
        self.assertIn(bought["purchaseId"], page)
        self.assertIn("bought by the admins", page)
        self.assertNotIn('method="post" action="/dashboard', page)
        reply = browser.submit(f"/dashboard/{self.account}/purchases", amount="10", key="k",
                               offer=self.offer()["offerId"])
        self.assertEqual(reply.status, 403)


class PurchasesOnPostgres(OnPostgres, Purchases):
    """The same on PostgreSQL."""


class NothingSold(unittest.TestCase):
    def test_without_a_processor_there_is_no_offer(self):
        gateway = Gateway()
        self.addCleanup(gateway.close)
        account, key = gateway.new_key()
        gateway.run_json("user", "create", "--name", "O", "--login", "o", "--account", account,
                         "--role", "owner")
        session = gateway.run_json("session", "create", "--person", "o")["token"]
        gateway.start()
        path = f"/v1/billing-accounts/{account}"
        self.assertEqual(gateway.get(path + "/purchase-offers", key=session).json(), [])
        page = gateway.get(path + "/purchases", key=session).json()
        self.assertEqual((page["items"], page["openPurchases"], page["nextCursor"]), ([], [], None))
        reply = gateway.call("POST", path + "/purchases", key=session, headers=[
            ("Content-Type", "application/json"), ("Idempotency-Key", "k")], body=(
                b'{"offerId": "off_1", "amount": {"currency": "USD", "amount": "10.00"}}'))
        self.assertEqual((reply.status, reply.error_code()), (404, "purchase.offer_not_found"))
        page = gateway.get(path + "/billing?collection=invoices", key=key).json()
        self.assertEqual(page["items"], [])


if __name__ == "__main__":
    unittest.main()
