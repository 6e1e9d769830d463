"""The stripe plugin over real sockets against the fake (fake_stripe.py), with Stripe's own client
and its types as references (tests/stripe; `./dev deps` installs them): what the plugin sends and
the fake answers is checked against the types, and the client drives the fake and accepts its
webhooks."""

import http.client
import json
import pathlib
import subprocess
import tempfile
import unittest
import urllib.parse

import parts
from fake_stripe import FakeStripe, sign
from gateway import BUILD

PARTS = pathlib.Path(__file__).resolve().parents[1] / "stripe"
SECRET = "whsec_test_secret"
CONFIRM = "POST /v1/payment_intents/{id}/confirm"
SESSIONS = "POST /v1/checkout/sessions"


def order(number, **more):
    return {"purchase_id": f"pur_{number}", "account_id": "acc_1", "title": "10,000 Credits",
            "customer": "", "success_url": "http://127.0.0.1:9/bought",
            "cancel_url": "http://127.0.0.1:9/not", "step_key": f"pur_{number}.begin",
            "minor": 1000, **more}


class Contract(unittest.TestCase):
    def setUp(self):
        self.fake = FakeStripe(webhook_secret=SECRET, tax_percent=19)
        self.addCleanup(self.fake.close)
        self.plugin = parts.Process([BUILD / "tests" / "stripe_driver", self.fake.url,
                                     self.fake.key, SECRET])
        self.addCleanup(self.plugin.close)

    def do(self, name, **rest):
        answer = self.plugin.send_command(name, **rest)
        self.assertIn("done", answer, answer)
        return answer["done"]

    def fail_to(self, name, **rest):
        answer = self.plugin.send_command(name, **rest)
        self.assertIn("failed", answer, answer)
        self.assertNotIn(self.fake.key, answer["failed"])
        return answer

    def look_up(self, reference):
        return self.do("look_up", reference=reference)

    def begin(self, number=1, **more):
        return self.do("begin", order=order(number, **more))

    def saved_card(self, customer=""):
        """The customer and the method of a card that a person has saved."""
        setup = self.do("begin_setup", order=order("s", purchase_id="pms_1", customer=customer,
                                                   step_key="pms_1.begin"))
        self.fake.pay(setup["reference"], last4="1881")
        state = self.do("look_up_setup", reference=setup["reference"])
        return setup["customer"], state["method"]["reference"]

    def charge(self, number, customer, method, **more):
        begun = self.begin(number, customer=customer, saved_method=method, **more)
        charged = order(number, customer=customer, saved_method=method,
                        step_key=f"pur_{number}.charge", **more)
        return begun["reference"], charged

    def client(self):
        parts.require_packages(PARTS)
        process = parts.Process(["node", PARTS / "client.mjs", self.fake.url, self.fake.key,
                                 SECRET])
        self.addCleanup(process.close)

        def ask(name, **rest):
            return process.send_command(name, **rest)

        return ask

    # ---- everything that buying includes

    def buy_on_a_page(self):
        begun = self.begin()
        self.assertTrue(begun["reference"].startswith("cs_"))
        self.assertEqual(self.look_up(begun["reference"])["progress"], "open")
        self.fake.decline(begun["reference"], decline_code="insufficient_funds")
        self.assertEqual(self.look_up(begun["reference"])["progress"], "open")
        self.fake.pay(begun["reference"])
        paid = self.look_up(begun["reference"])
        self.assertEqual((paid["progress"], paid["net"], paid["total"], paid["currency"]),
                         ("paid", 1000, 1190, "USD"))
        self.assertEqual(paid["purchase_id"], "pur_1")
        for kind in range(3):
            url = self.do("document", reference=begun["reference"], kind=kind)
            self.assertTrue(url.startswith(self.fake.url), url)
        return begun, paid["payment"]

    def give_back(self, begun, payment):
        refund = self.do("refund", reference=payment, minor=500, key="ref_1")
        self.assertEqual(refund["refusal"], "")
        self.assertEqual(self.do("refund", reference=payment, minor=500, key="ref_1"), refund)
        self.assertEqual(self.look_up(begun["reference"])["refunded"], 500)
        pending = self.fake.refund(payment, 100, status="pending")
        self.assertEqual(self.look_up(begun["reference"])["refunded"], 600)
        self.fake.end_refund(pending, "failed")
        self.assertEqual(self.look_up(begun["reference"])["refunded"], 500)
        refused = self.do("refund", reference=payment, minor=5000, key="ref_2")
        self.assertEqual(refused["refusal"], "amount_too_large")
        for begins, ends in (("warning_needs_response", "warning_closed"),
                             ("needs_response", "won"), ("needs_response", "lost")):
            dispute = self.fake.dispute(payment, begins)
            seen = self.look_up(begun["reference"])["dispute"]
            self.assertEqual(seen, "inquiry" if begins.startswith("warning") else "open")
            self.fake.end_dispute(dispute, ends)
        self.assertEqual(self.look_up(begun["reference"])["dispute"], "lost")

    def end_otherwise(self, customer):
        expired = self.begin(2, customer=customer)
        self.do("cancel", reference=expired["reference"])
        self.assertEqual(self.look_up(expired["reference"])["progress"], "expired")
        self.do("cancel", reference=expired["reference"])
        for number, succeeds, ends in ((3, True, "paid"), (4, False, "declined")):
            late = self.begin(number, customer=customer)["reference"]
            self.fake.pay(late, delayed=True)
            self.assertEqual(self.look_up(late)["progress"], "processing")
            self.fake.settle(late, succeeds)
            self.assertEqual(self.look_up(late)["progress"], ends)

    def charge_a_saved_card(self, customer):
        customer, method = self.saved_card(customer)
        reference, charged = self.charge(5, customer, method)
        self.assertEqual(self.look_up(reference)["progress"], "never_ran")
        self.assertEqual(self.do("charge", order=charged, reference=reference)["progress"], "paid")
        self.assertEqual(self.look_up(reference)["net"], 1000)
        self.assertIsNone(self.do("document", reference=reference, kind=0))
        self.assertTrue(self.do("document", reference=reference, kind=2))
        self.fake.require_3ds(method)
        reference, charged = self.charge(6, customer, method)
        for seen in (self.do("charge", order=charged, reference=reference),
                     self.look_up(reference)):
            self.assertEqual((seen["progress"], seen["decline"], seen["code"]),
                             ("declined", "needs_customer", "authentication_required"))
        reference, _ = self.charge(7, customer, method)
        self.do("cancel", reference=reference)
        self.assertEqual(self.look_up(reference)["progress"], "cancelled")
        for _ in range(2):
            self.do("forget_method", reference=method)
            self.assertIsNone(self.fake.objects[method]["customer"])

    def test_what_is_sent_and_answered_is_as_stripes_types_have_it(self):
        parts.require_packages(PARTS)
        begun, payment = self.buy_on_a_page()
        self.give_back(begun, payment)
        self.end_otherwise(begun["customer"])
        self.charge_a_saved_card(begun["customer"])
        self.fake.send_webhooks_to("http://gateway.test/v1/plugins/stripe/webhook")
        found = self.do("check")
        self.assertEqual([one["text"] for one in found if one["is_wrong"]], [])
        page = self.do("changes")
        hints = page["hints"]
        while page["cursor"]:
            page = self.do("changes", cursor=page["cursor"])
            hints += page["hints"]
        self.assertIn("reference " + begun["reference"], hints)
        self.assertIn("payment " + payment, hints)
        with tempfile.TemporaryDirectory(prefix="turnpike-stripe-") as folder:
            schemas, recordings = (pathlib.Path(folder, name) for name in ("schemas", "recordings"))
            subprocess.run(["node", PARTS / "schemas.mjs", schemas], check=True, timeout=900)
            events = [{"route": "event", "params": {}, "status": 200, "reply": event}
                      for event in self.fake.events]
            recordings.write_text(json.dumps([self.fake.requests + events,
                                              *self.recordings_with_a_misspelt_name()]))
            judged, *misspelt = json.loads(subprocess.run(
                ["node", PARTS / "validate.mjs", schemas, recordings], check=True, timeout=900,
                capture_output=True, text=True).stdout)
        self.assertEqual(judged["wrong"], [])
        routes = {f"request {method} {path}" for method, path, *_ in FakeStripe.ROUTES}
        self.assertEqual({name for name in judged["held"] if name.startswith("request")}, routes)
        self.assertEqual([len(each["wrong"]) for each in misspelt], [1, 1, 1])

    def recordings_with_a_misspelt_name(self):
        """Three recordings in which the validator must report one error each."""
        session = self.fake.calls(SESSIONS)[0]
        nested = json.loads(json.dumps(session))
        price = nested["params"]["line_items"][0]["price_data"]
        price["unit_amont"] = price.pop("unit_amount")
        old = json.loads(json.dumps(session))
        old["params"]["payment_method_types"] = ["card"]
        reply = json.loads(json.dumps(session))
        del reply["reply"]["payment_status"]
        return [nested], [old], [reply]

    # ---- faults between the plugin and Stripe

    def test_a_session_whose_answer_is_lost_is_found_again(self):
        self.fake.fault(SESSIONS, "lost")
        begun = self.begin()
        self.assertEqual(len(self.fake.of("checkout.session")), 1)
        self.assertEqual(len(self.fake.of("customer")), 1)
        self.assertEqual(self.begin()["reference"], begun["reference"])

    def test_a_session_that_failed_at_stripe_is_made_anew(self):
        for number, kind in enumerate(("500_before", "500_after", "409", "broken"), 1):
            with self.subTest(fault=kind):
                self.fake.fault(SESSIONS, kind)
                begun = self.begin(number)
                self.assertEqual(self.look_up(begun["reference"])["purchase_id"], f"pur_{number}")
        # Stripe keeps the error under the key for a day; a purchase must not wait for that.
        self.fake.fault(SESSIONS, "500_before", times=3)
        self.fail_to("begin", order=order(9))
        self.assertTrue(self.begin(9)["url"])

    def test_begin_under_the_same_key_with_other_terms_is_made_anew(self):
        first = self.begin()
        self.assertNotEqual(self.begin(customer=first["customer"])["reference"], "")

    def test_a_limit_is_no_refusal(self):
        self.fake.fault(SESSIONS, "429")
        failed = self.fail_to("begin", order=order(1, customer=""))
        self.assertFalse(failed["maybe_sent"])
        self.assertTrue(self.begin()["url"])

    def test_a_charge_of_which_nothing_is_known_is_looked_up_and_never_taken_twice(self):
        customer, method = self.saved_card()
        for number, kind in enumerate(("lost", "500_after", "500_before", "broken", "409"), 10):
            with self.subTest(fault=kind):
                reference, charged = self.charge(number, customer, method)
                self.fake.fault(CONFIRM, kind, times=3)
                answer = self.plugin.send_command("charge", order=charged, reference=reference)
                if "failed" in answer:
                    self.assertTrue(answer["maybe_sent"])
                seen = self.look_up(reference)["progress"]
                self.assertIn(seen, ("paid", "never_ran"))
                if seen == "never_ran":
                    # The key may hold an error; the charge is still made, and only once.
                    again = self.do("charge", order=charged, reference=reference)
                    self.assertEqual(again["progress"], "paid")
                charges = [one for one in self.fake.of("charge")
                           if one["payment_intent"] == reference]
                self.assertEqual(len(charges), 1)

    def test_a_charge_that_is_under_way_is_waited_for(self):
        customer, method = self.saved_card()
        reference, charged = self.charge(1, customer, method)
        held = self.fake.fault(CONFIRM, "held")
        failed = self.fail_to("charge", order=charged, reference=reference, timeout_ms=300)
        self.assertTrue(held.arrived.is_set())
        self.assertTrue(failed["maybe_sent"])
        self.fail_to("charge", order=charged, reference=reference)  # 409 until the deadline
        held.release()
        self.assertEqual(self.do("charge", order=charged, reference=reference)["progress"], "paid")
        self.assertEqual(len(self.fake.of("charge")), 1)

    def test_a_refund_is_made_once_whatever_is_lost(self):
        begun = self.begin()
        self.fake.pay(begun["reference"])
        payment = self.look_up(begun["reference"])["payment"]
        for number, kind in enumerate(("lost", "500_after", "broken", "409")):
            with self.subTest(fault=kind):
                self.fake.fault("POST /v1/refunds", kind, times=3)
                asked = {"reference": payment, "minor": 10, "key": f"ref_{number}"}
                self.plugin.send_command("refund", **asked)
                self.assertEqual(self.do("refund", **asked)["refusal"], "")
                self.fake.kept.clear()  # a day has passed
                self.do("refund", **asked)
                self.assertEqual(self.look_up(begun["reference"])["refunded"], 10 * (number + 1))

    # ---- the page of the fake for browsers

    def press(self, url, **form):
        """Presses a button of a session's page. Returns where the browser goes."""
        parts_of_url = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts_of_url.netloc, timeout=30)
        self.addCleanup(connection.close)
        connection.request("POST", parts_of_url.path, urllib.parse.urlencode(form))
        reply = connection.getresponse()
        reply.read()
        self.assertEqual(reply.status, 303)
        return reply.headers["Location"]

    def test_what_a_card_comes_to_on_the_page(self):
        begun = self.begin()
        page = urllib.parse.urlsplit(begun["url"]).path
        for form in ({"do": "decline"}, {"do": "pay", "number": "4000 0000 0000 9995"},
                     {"do": "pay", "number": "1"}):
            self.assertEqual(self.press(begun["url"], **form), page)
            self.assertEqual(self.look_up(begun["reference"])["progress"], "open")
        self.assertIn("not taken (incorrect_number)", self.fake.page(page)[1])
        self.assertEqual(self.press(begun["url"], do="cancel"), "http://127.0.0.1:9/not")
        self.assertEqual(self.look_up(begun["reference"])["progress"], "open")
        paid = self.press(begun["url"], do="pay", number="5555 5555 5555 4444")
        self.assertEqual(paid, "http://127.0.0.1:9/bought")
        self.assertEqual(self.look_up(begun["reference"])["progress"], "paid")
        self.assertIn("no longer open", self.fake.page(page)[1])

    def test_what_a_card_comes_to_that_was_kept_on_the_page(self):
        numbers = {"4242424242424242": ("paid", "none", ""),
                   "4000000000000341": ("declined", "later", "generic_decline"),
                   "4000002760003184": ("declined", "needs_customer", "authentication_required")}
        for at, (number, comes_to) in enumerate(numbers.items(), 1):
            setup = self.do("begin_setup", order=order("s", purchase_id=f"pms_{at}",
                                                       step_key=f"pms_{at}.begin"))
            self.press(setup["url"], do="decline")
            self.assertIsNone(self.do("look_up_setup", reference=setup["reference"]).get("method"))
            self.press(setup["url"], do="pay", number=number)
            method = self.do("look_up_setup", reference=setup["reference"])["method"]
            self.assertEqual(method["last4"], number[-4:])
            reference, charged = self.charge(at, setup["customer"], method["reference"])
            seen = self.do("charge", order=charged, reference=reference)
            self.assertEqual((seen["progress"], seen["decline"], seen["code"]), comes_to)

    def test_a_wrong_key_ends_no_purchase(self):
        begun = self.begin()
        self.fake.key = "rk_test_rolled"
        self.assertIn("does not know the api_key",
                      self.fail_to("look_up", reference=begun["reference"])["failed"])
        self.fail_to("begin", order=order(2))
        self.assertTrue(self.do("check")[0]["is_wrong"])

    # ---- webhooks, and Stripe's own client

    def test_the_clients_events_are_believed_and_the_clients_believes_the_fakes(self):
        ask = self.client()
        begun = self.begin()
        session = self.fake.of("checkout.session")[0]
        body, signature = self.fake.signed_event("checkout.session.completed", session)
        event = ask("constructEvent", body=body.decode(), signature=signature)["done"]
        self.assertEqual(event["data"]["object"]["id"], begun["reference"])
        theirs = ask("sign", body=body.decode(), timestamp=self.fake.now())["done"]
        for each in (signature, theirs):
            notice = self.do("notice", body=body.decode(), signature=each)
            self.assertEqual(notice, {"status": 200,
                                      "hints": ["reference " + begun["reference"]]})
        forged = ask("sign", body=body.decode(), timestamp=self.fake.now(), by="whsec_x")["done"]
        for each in (forged, "", sign(SECRET, body, self.fake.now() - 400)):
            self.assertEqual(self.do("notice", body=body.decode(), signature=each),
                             {"status": 400, "hints": []})
            refused = ask("constructEvent", body=body.decode(), signature=each)
            self.assertEqual(refused["failed"], "StripeSignatureVerificationError")

    def test_the_client_drives_the_fake(self):
        ask = self.client()

        def call(path, *parameters):
            answer = ask("call", path=path, parameters=parameters)
            self.assertIn("done", answer, answer)
            return answer["done"]

        customer = call("customers.create", {"metadata": {"turnpike_account": "acc_1"}})["id"]
        session = call("checkout.sessions.create", {
            "mode": "payment", "customer": customer, "client_reference_id": "pur_1",
            "success_url": "http://127.0.0.1:9/", "allowed_payment_method_types": ["card"],
            "line_items": [{"quantity": 1, "price_data": {
                "currency": "usd", "unit_amount": 1000,
                "product_data": {"name": "10,000 Credits"}}}]})
        self.assertEqual((session["status"], session["amount_total"]), ("open", 1000))
        self.fake.pay(session["id"])
        seen = call("checkout.sessions.retrieve", session["id"],
                    {"expand": ["payment_intent.latest_charge"]})
        self.assertEqual(seen["payment_status"], "paid")
        self.assertTrue(seen["payment_intent"]["latest_charge"]["receipt_url"])
        refund = call("refunds.create", {"payment_intent": seen["payment_intent"]["id"],
                                         "amount": 400})
        self.assertEqual(refund["status"], "succeeded")
        listed = call("refunds.list", {"payment_intent": seen["payment_intent"]["id"]})
        self.assertEqual([one["id"] for one in listed["data"]], [refund["id"]])
        types = [one["type"] for one in call("events.list", {"limit": 2})["data"]]
        self.assertEqual(types, ["refund.created", "checkout.session.completed"])
        refused = ask("call", path="checkout.sessions.create", parameters=[
            {"mode": "payment", "payment_method_types": ["card"]}])
        self.assertEqual((refused["status"], refused["code"]),
                         (400, "payment_method_types_no_longer_supported"))


if __name__ == "__main__":
    unittest.main()
