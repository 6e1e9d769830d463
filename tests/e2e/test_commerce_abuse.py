"""The webhook intake for Stripe under abuse: a flood of forged notices, bodies at the size limit,
and notices signed with a stolen secret. Also the places where no secret may appear."""

import concurrent.futures
import contextlib
import http.client
import json
import sqlite3
import threading
import time
import unittest

from fake_stripe import FakeStripe, sign
from test_commerce_stripe import SECRETS, Shop

WEBHOOK = "/v1/plugins/stripe/webhook"
LOOK_UP = "GET /v1/checkout/sessions/{id}"
BODY_BYTES_MAX = 256 * 1024
FLOOD, CONNECTIONS = 5_000, 8
SECRET = SECRETS["TURNPIKE_TEST_STRIPE_SECRET"]


def p99_ms(seconds):
    return sorted(seconds)[len(seconds) * 99 // 100] * 1_000


class Abuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stripe = FakeStripe()
        cls.addClassCleanup(cls.stripe.close)
        cls.shop = Shop(cls.addClassCleanup, cls.stripe)
        cls.gateway = cls.shop.nodes[0]
        cls.keys = iter(range(1_000_000))

    def buy(self):
        """(purchase id, session id)"""
        reply = self.shop.buy(f"key-{next(self.keys)}")
        self.assertEqual(reply.status, 201, reply.body)
        purchase_id = reply.json()["purchaseId"]
        return purchase_id, self.stripe.session_of(purchase_id)

    def buy_and_pay(self):
        purchase_id, session = self.buy()
        self.stripe.pay(session)
        self.notify("checkout.session.completed", self.about(purchase_id, session))
        self.shop.until_state(purchase_id, "credited")
        return purchase_id, session

    @staticmethod
    def about(purchase_id, session, **more):
        """The object of an event about one of the gateway's sessions."""
        return {"id": session, "object": "checkout.session",
                "metadata": {"turnpike_purchase": purchase_id}, **more}

    def post(self, body, *signatures):
        return self.gateway.call("POST", WEBHOOK, body=body, headers=[
            ("Content-Type", "application/json"),
            *(("Stripe-Signature", each) for each in signatures)])

    def notify(self, kind, about, **more):
        """Posts a notice signed with the real secret, which must be accepted."""
        body, signature = self.stripe.signed_event(kind, about, **more)
        reply = self.post(body, signature)
        self.assertEqual((reply.status, reply.body), (200, b"noted\n"))

    def looks(self, session):
        return len([one for one in self.stripe.calls(LOOK_UP) if one["reply"]["id"] == session])

    def until_looked_at(self, session, before):
        self.shop.until(lambda: self.looks(session) > before, f"nobody looked at {session}")

    def metric(self, name, *labels):
        """The sum of the lines that have all these labels."""
        text = self.gateway.get("/metrics", host="operator").body.decode()
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines()
                   if line.startswith(name + "{") and all(each in line for each in labels))

    def rows(self):
        """The number of rows of each table."""
        path = self.gateway.directory / "turnpike.db"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            names = [name for name, in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            return {name: database.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0]
                    for name in names}

    # ---- a flood

    def forged(self, number, about):
        """(body, signatures) of a forged notice, of each kind in turn."""
        event = {"id": f"evt_{number}", "object": "event", "type": "checkout.session.completed",
                 "livemode": False, "data": {"object": about}}
        body = json.dumps(event).encode()
        now = self.stripe.now()
        right = sign(SECRET, body, now)
        return [
            (body, []),
            (body, [""]),
            (body, ["t=1,v1=00"]),
            (body, [sign("whsec_guessed", body, now)]),
            (body, [sign(SECRET, body, now - 301)]),
            (body, [sign(SECRET, body, now + 3_600)]),
            (body, [right.replace("v1=", "v0=")]),
            (body, [right, right]),
            (body, [right.upper()]),
            (body + b" ", [right]),
            (body.replace(b"paid", b"owed"), [right]),
            (b"", [right]),
        ][number % 12]

    def flood(self, connection_number, about):
        """Sends one connection's share. Returns the count of each status."""
        statuses = {}
        connection = http.client.HTTPConnection(*self.gateway.addresses["api"], timeout=60)
        try:
            for number in range(connection_number, FLOOD, CONNECTIONS):
                body, signatures = self.forged(number, about)
                connection.putrequest("POST", WEBHOOK)
                connection.putheader("Content-Length", str(len(body)))
                for each in signatures:
                    connection.putheader("Stripe-Signature", each)
                connection.endheaders(body)
                reply = connection.getresponse()
                reply.read()
                statuses[reply.status] = statuses.get(reply.status, 0) + 1
        finally:
            connection.close()
        return statuses

    def use(self, purchase_id, balance):
        """Requests that other users make meanwhile. Returns how many seconds each took."""
        _, token = self.shop.accounts[0]
        seconds = []
        for target, is_right in (
                (self.shop.path() + "/credit-balance",
                 lambda reply: int(reply.json()["creditBalance"]) == balance),
                (f"{self.shop.path()}/purchases/{purchase_id}",
                 lambda reply: reply.json()["state"] == "credited"),
                ("/v1/capabilities", lambda reply: reply.json()["capabilities"])):
            begun = time.monotonic()
            reply = self.gateway.get(target, key=token)
            seconds.append(time.monotonic() - begun)
            self.assertEqual(reply.status, 200, reply.body)
            self.assertTrue(is_right(reply), reply.body)
        return seconds

    def test_a_flood_of_forged_notices_is_refused_and_moves_nothing(self):
        purchase_id, session = self.buy_and_pay()
        balance = self.shop.balance()
        alone = [each for _ in range(100) for each in self.use(purchase_id, balance)]
        looks, rows = self.looks(session), self.rows()
        hints = self.metric("turnpike_purchase_hints_total")
        refused = self.metric("turnpike_plugin_webhooks_refused_total")
        about = self.about(purchase_id, session, payment_status="paid")
        beside, over = [], threading.Event()

        def use_all_the_time():
            while not over.is_set():
                beside.extend(self.use(purchase_id, balance))

        with concurrent.futures.ThreadPoolExecutor(CONNECTIONS + 1) as pool:
            user = pool.submit(use_all_the_time)
            begun = time.monotonic()
            flood = [pool.submit(self.flood, number, about) for number in range(CONNECTIONS)]
            statuses = [each.result() for each in flood]
            took = time.monotonic() - begun
            over.set()
            user.result()
        print(f"\n{FLOOD} forged notices in {took:.1f} s; p99 of other routes alone "
              f"{p99_ms(alone):.1f} ms, beside the flood {p99_ms(beside):.1f} ms "
              f"(of {len(beside)})")
        self.assertEqual(sum(each.pop(400) for each in statuses), FLOOD)
        self.assertEqual([each for each in statuses if each], [])
        self.assertEqual(self.metric("turnpike_plugin_webhooks_refused_total") - refused, FLOOD)
        self.assertEqual(self.metric("turnpike_purchase_hints_total"), hints)
        self.assertEqual(self.looks(session), looks)
        self.assertEqual(self.rows(), rows)
        self.assertNotIn("evt_", self.gateway.log_text())
        # A genuine notice still gets through and triggers a look-up of the payment.
        self.notify("checkout.session.completed", about)
        self.until_looked_at(session, looks)
        self.assertEqual(self.metric("turnpike_purchase_hints_total"), hints + 1)
        self.assertEqual(self.shop.balance(), balance)

    # ---- sizes

    def padded(self, length, purchase_id, session):
        about = self.about(purchase_id, session, padding="")
        body, _ = self.stripe.signed_event("checkout.session.completed", about)
        about["padding"] = "x" * (length - len(body))
        body, signature = self.stripe.signed_event("checkout.session.completed", about)
        return body, signature

    def test_a_body_of_256_kib_is_read_and_one_past_is_refused(self):
        purchase_id, session = self.buy()
        lengths = {}
        while len(lengths) < 2:  # event ids grow, which changes the length
            for length in (BODY_BYTES_MAX, BODY_BYTES_MAX + 1):
                body, signature = self.padded(length, purchase_id, session)
                if len(body) == length:
                    lengths[length] = (body, signature)
        hints = self.metric("turnpike_purchase_hints_total")
        body, signature = lengths[BODY_BYTES_MAX]
        self.assertEqual(self.post(body, signature).status, 200)
        self.assertEqual(self.metric("turnpike_purchase_hints_total"), hints + 1)
        body, signature = lengths[BODY_BYTES_MAX + 1]
        reply = self.post(body, signature)
        self.assertEqual((reply.status, reply.error_code()), (413, "request.body_too_large"))
        chunked = (f"POST {WEBHOOK} HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n"
                   f"Stripe-Signature: {signature}\r\nConnection: close\r\n\r\n"
                   f"{len(body):x}\r\n").encode() + body + b"\r\n0\r\n\r\n"
        self.assertTrue(self.gateway.raw(chunked).startswith(b"HTTP/1.1 413 "))
        self.assertEqual(self.metric("turnpike_purchase_hints_total"), hints + 1)

    # ---- the secret is stolen

    def tell_lies(self, purchase_id, session):
        """Sends every kind of event about a purchase that a holder of the secret can sign."""
        told = self.about(purchase_id, session, status="complete", payment_status="paid",
                          amount_subtotal=1_000, amount_total=1_000, currency="usd",
                          client_reference_id=purchase_id)
        intent = {"id": "pi_forged", "object": "payment_intent", "status": "succeeded",
                  "amount": 1_000, "amount_received": 1_000, "currency": "usd",
                  "metadata": told["metadata"]}
        for kind, each in (
                ("checkout.session.completed", told),
                ("checkout.session.async_payment_succeeded", told),
                ("checkout.session.expired", {**told, "status": "expired"}),
                ("payment_intent.succeeded", intent),
                ("payment_intent.payment_failed", {**intent, "status": "canceled"}),
                ("checkout.session.completed", {**told, "id": "cs_test_nobody"})):
            self.notify(kind, each)

    def test_a_stolen_secret_credits_nothing_and_ends_nothing(self):
        balance = self.shop.balance()
        purchase_id, session = self.buy()
        before = self.looks(session)
        self.tell_lies(purchase_id, session)
        self.until_looked_at(session, before)
        self.assertEqual(self.shop.purchase(purchase_id)["state"], "awaiting_payment")
        self.assertEqual(self.shop.balance(), balance)
        # The purchase can still be paid, and is credited once.
        self.stripe.pay(session)
        self.tell_lies(purchase_id, session)
        self.shop.until_state(purchase_id, "credited")
        self.assertEqual(self.shop.balance(), balance + 10_000)
        self.assertIn("the books are right", self.gateway.run("ledger", "verify").stdout)

    def test_a_stolen_secret_takes_nothing_back(self):
        purchase_id, session = self.buy_and_pay()
        balance = self.shop.balance()
        payment = self.shop.purchase(purchase_id)["payment"]
        before = self.looks(session)
        self.notify("refund.created", {"id": "re_forged", "object": "refund", "amount": 1_000,
                                       "payment_intent": payment, "status": "succeeded"})
        self.until_looked_at(session, before)
        before = self.looks(session)
        self.notify("charge.dispute.created", {"id": "du_forged", "object": "dispute",
                                               "amount": 1_000, "payment_intent": payment,
                                               "status": "needs_response"})
        self.until_looked_at(session, before)
        # A look-up begins only after the previous one has ended.
        before = self.looks(session)
        self.notify("refund.updated", {"id": "re_forged", "object": "refund",
                                       "payment_intent": payment, "status": "succeeded"})
        self.until_looked_at(session, before)
        self.assertEqual(self.shop.purchase(purchase_id)["state"], "credited")
        self.assertEqual(self.shop.balance(), balance)

    # ---- secrets

    def test_no_secret_is_in_logs_replies_and_metrics(self):
        _, token = self.shop.accounts[0]
        purchase_id, session = self.buy_and_pay()
        replies = [self.post(b"{}", signature) for signature in ("", "t=1,v1=00", SECRET)]
        self.stripe.key = "rk_test_rolled"
        try:
            # Stripe itself repeats the key in its error.
            replies.append(self.shop.buy("refused"))
            self.assertEqual(replies[-1].status, 503, replies[-1].body)
            replies.append(self.gateway.get(f"{self.shop.path()}/purchases/{purchase_id}/"
                                            "payment-documents/receipt", key=token))
            checked = self.gateway.run("commerce", "check", check=False)
        finally:
            self.stripe.key = SECRETS["TURNPIKE_TEST_STRIPE_KEY"]
        self.assertIn("api_key", checked.stdout + checked.stderr)
        replies += [
            self.gateway.get(f"{self.shop.path()}/purchases", key=token),
            self.gateway.get("/metrics", host="operator"),
            self.gateway.get("/v1/capabilities"),
        ]
        texts = [reply.body.decode() + str(reply.headers) for reply in replies]
        texts += [self.gateway.log_text(), checked.stdout, checked.stderr,
                  json.dumps(self.shop.purchase(purchase_id)),
                  json.dumps(self.gateway.run_json("audit", "list", "--limit", "1000"))]
        for secret in SECRETS.values():
            for text in texts:
                self.assertNotIn(secret, text)


if __name__ == "__main__":
    unittest.main()
