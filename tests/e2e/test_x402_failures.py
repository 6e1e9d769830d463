"""Payments per call while the facilitator, the chain, the upstream or the database fails: nobody
pays for nothing, and no new payment is asked for while the old one may have moved money."""

import re
import unittest

from engines import OnPostgres, OnSqlite
from test_x402 import GOOD, TEST, WAIT_SECONDS, Lane
from waiting import until
from x402 import Facilitator, decoded


class Failures(Lane):
    def test_the_facilitator_does_not_verify(self):
        for kind in ("close", "html", "error", "untyped", "hang"):
            with self.subTest(kind):
                payment = self.payment()
                self.facilitator.fault("verify", kind)
                reply = self.pay(payment)
                self.assert_refused(reply, 503, "x402.unavailable")
                self.assertNotIn(b"secret internals", reply.body)
                self.assertEqual(self.upstream.requests, [])
                self.facilitator.clear()
        until(lambda: self.pay(payment).status == 200, "the payment is good later")
        self.assert_charged(1)

    def test_the_next_facilitator_is_asked_when_one_is_gone(self):
        gone = Facilitator(self.chain)
        self.addCleanup(gone.stop)
        self.configure(gone, self.facilitator)
        self.restart()
        payment = self.payment()
        gone.stop()
        self.assert_paid(self.pay(payment))
        self.assert_charged(1)

    def test_a_facilitator_that_is_gone_has_settled_nothing(self):
        gone = Facilitator(self.chain)
        self.addCleanup(gone.stop)
        self.configure(gone)
        self.restart()
        payment = self.payment("/unverified/upstream/echo")
        gone.stop()
        self.assert_refused(self.pay(payment, "/unverified/upstream/echo"), 503,
                            "x402.unavailable")
        self.assert_charged(0)

    def test_what_no_facilitator_supports_is_not_offered_and_credits_still_pay(self):
        self.gateway.kill()
        self.facilitator.fault("supported", "none")
        self.gateway.start()
        reply = self.gateway.get(TEST + GOOD)
        self.assertEqual(reply.status, 503, reply.body)
        self.assertNotIn("payment-required", reply.headers)
        _, key = self.gateway.new_key()
        self.assertEqual(self.gateway.get(TEST + GOOD, key=key).status, 200)

    def test_the_settlement_is_refused(self):
        for kind in ("refuse", "refuse_400"):
            with self.subTest(kind):
                self.facilitator.fault("settle", kind, times=1)
                payment = self.payment("/upstream/echo")
                reply = self.pay(payment, "/upstream/echo")
                self.assertEqual(reply.status, 402)
                settled = decoded(reply.headers["payment-response"])
                self.assertEqual((settled["success"], settled["errorReason"]),
                                 (False, "insufficient_funds"))
                self.assertNotIn(b'"target"', reply.body, "the upstream's reply is withheld")
        self.assert_charged(0)
        self.assert_paid(self.pay(payment, "/upstream/echo"))
        self.assert_charged(1)

    def check_unknown_then_paid(self, *kinds):
        """Nothing was settled, but the gateway cannot know that."""
        payments = []
        for kind in kinds:
            with self.subTest(kind):
                payments.append(self.payment())
                self.facilitator.fault("settle", kind)
                self.assert_unknown(self.pay(payments[-1]))
                self.assert_open(self.pay(payments[-1]))
                self.assert_charged(0)
        self.facilitator.clear()
        for kind, payment in zip(kinds, payments):
            with self.subTest(kind):
                self.until_paid(payment)
        self.assertEqual(len(self.upstream.requests), len(kinds))
        self.assert_charged(len(kinds))

    def open_settlements(self):
        """The number of open settlements in the metrics, and the age of the oldest."""
        text = self.gateway.get("/metrics", host="operator").body.decode()
        return [float(value) for value in re.findall(
            r'^turnpike_plugin_settlements_open(?:_oldest_seconds)?{plugin="x402"} (\S+)$', text,
            re.MULTILINE)]

    def test_open_settlements_are_in_the_metrics(self):
        until(lambda: self.open_settlements() == [0, 0], "none is open")
        payment = self.payment()
        self.facilitator.fault("settle", "html")
        self.assert_unknown(self.pay(payment))
        until(lambda: self.open_settlements()[0] == 1 and self.open_settlements()[1] >= 1,
                   "one is open, and grows old")
        self.facilitator.clear()
        self.until_paid(payment)
        until(lambda: self.open_settlements() == [0, 0], "none is open any more")
        self.assert_charged(1)

    def test_the_answer_to_a_settlement_is_lost(self):
        self.check_settled_then_paid("lost")

    def test_the_facilitator_hangs_before_it_settles(self):
        self.check_unknown_then_paid("hang")

    def test_the_facilitator_goes_away_before_it_settles(self):
        self.check_unknown_then_paid("close", "html", "error", "untyped")

    def test_the_facilitator_settles_and_says_so_badly(self):
        self.check_settled_then_paid("hang_settled", "no_transaction", "other_network", "pending")

    def check_settled_then_paid(self, *kinds):
        """The facilitator never reports success. The chain shows it, and the gateway may ask the
        chain at once."""
        payments = []
        for kind in kinds:
            with self.subTest(kind):
                payments.append(self.payment())
                self.facilitator.fault("settle", kind)
                reply = self.pay(payments[-1])
                if reply.status != 200:
                    self.assert_unknown(reply)
                self.assert_charged(len(payments))
        for kind, payment in zip(kinds, payments):
            with self.subTest(kind):
                self.until_paid(payment)
        self.assertEqual(len(self.upstream.requests), len(kinds))
        self.facilitator.clear()
        self.assert_charged(len(kinds))

    def test_the_facilitator_settles_and_says_that_it_did_not(self):
        self.check_settled_then_paid("disown")

    def test_the_chain_does_not_mine(self):
        payment = self.payment()
        self.chain.hold()
        self.assert_unknown(self.pay(payment))
        self.assert_charged(0)
        self.chain.hold(False)
        self.until_paid(payment)
        self.assert_charged(1)

    def test_a_refusal_after_an_unknown_outcome_proves_nothing(self):
        payment = self.payment()
        broadcast = self.facilitator.calls()["broadcast"]
        self.facilitator.fault("settle", "hang_settled", times=1)
        call = self.pay_in_background(payment)
        self.facilitator.wait("broadcast", broadcast + 1)
        self.chain.fault("close")
        self.facilitator.fault("settle", "refuse")
        self.assert_unknown(call.result())
        for _ in range(3):
            self.assert_open(self.pay(payment))
        self.chain.fault(None)
        self.until_paid(payment)
        self.assert_charged(1)

    def test_a_stranger_settles_first(self):
        payment = self.payment("/upstream/slow")
        call = self.pay_in_background(payment, "/upstream/slow")
        self.assertTrue(self.upstream.arrived.acquire(timeout=WAIT_SECONDS))
        self.chain.send(self.payer.transfer_data(payment))
        self.upstream.release()
        if call.result().status != 200:
            self.assert_unknown(call.result())
        self.until_paid(payment, "/upstream/slow")
        self.assertEqual(len(self.upstream.requests), 1)
        self.assert_charged(1)

    def test_the_payer_cancels_while_we_work(self):
        payment = self.payment("/upstream/slow")
        call = self.pay_in_background(payment, "/upstream/slow")
        self.assertTrue(self.upstream.arrived.acquire(timeout=WAIT_SECONDS))
        self.chain.send(self.payer.cancel_data(payment))
        self.upstream.release()
        for reply in (call.result(), self.until_ended(payment, "/upstream/slow")):
            self.assertNotIn(b'"target"', reply.body, "the upstream's reply is withheld")
        self.assertEqual(reply.status, 402)
        self.assert_charged(0)

    def test_a_failed_upstream_costs_nothing_and_the_payment_stays_good(self):
        for path in ("/upstream/once/500", "/upstream/once/404", "/upstream/once/429"):
            with self.subTest(path):
                self.balances = self.read_balances()
                payment = self.payment(path)
                reply = self.pay(payment, path)
                self.assertGreaterEqual(reply.status, 400)
                self.assertNotIn("payment-response", reply.headers)
                self.assertNotIn("payment-required", reply.headers)
                self.assert_charged(0)
                self.assert_paid(self.pay(payment, path))
                self.assert_charged(1)

    def test_an_upstream_that_breaks_off_costs_nothing(self):
        for path in ("/upstream/cut/1000", "/upstream/garbage", "/upstream/close",
                     "/upstream/html", "/upstream/bytes/1048577"):
            with self.subTest(path):
                reply = self.pay(self.payment(path), path)
                self.assertGreaterEqual(reply.status, 500)
        self.assertEqual(self.new_calls("settle"), 0)
        self.assert_charged(0)


class FailuresOnSqlite(OnSqlite, Failures, unittest.TestCase):
    pass


class FailuresOnPostgres(OnPostgres, Failures, unittest.TestCase):
    def test_nobody_is_asked_to_pay_while_the_database_is_away(self):
        payment = self.payment()
        self.postgres.stop()
        self.addCleanup(lambda: self.postgres.process.returncode is None or self.postgres.start())
        until(lambda: self.gateway.get(TEST + GOOD).status == 503, "it still asks for money")
        for reply in (self.gateway.get(TEST + GOOD), self.pay(payment)):
            self.assert_refused(reply, 503, "x402.unavailable")
        self.postgres.start()
        until(lambda: self.gateway.get(TEST + GOOD).status == 402, "it offers again")
        self.assert_paid(self.pay(payment))
        self.assert_charged(1)


if __name__ == "__main__":
    unittest.main()
