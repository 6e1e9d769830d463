"""The parts that x402 is tested with, against the official Express middleware as a seller: a
payment moves real balances, the token refuses what USDC refuses, and each fault does what it says.
"""

import http.client
import json
import tempfile
import threading
import time
import unittest
import urllib.parse

from x402 import Chain, Facilitator, Payer, Seller, decoded, encoded

PRICE = 1000
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.chain = Chain()
        cls.addClassCleanup(cls.chain.close)
        cls.facilitator = Facilitator(cls.chain)
        cls.addClassCleanup(cls.facilitator.close)
        cls.seller = Seller(cls.facilitator.url, price=PRICE)
        cls.addClassCleanup(cls.seller.close)
        cls.payer = Payer()
        cls.addClassCleanup(cls.payer.close)
        cls.chain.fund(cls.payer.address, 500_000)
        cls.paid = cls.seller.url + "/paid"

    def setUp(self):
        self.addCleanup(self.facilitator.clear)
        self.addCleanup(self.chain.hold, False)
        self.addCleanup(self.chain.fault, None)
        self.balances = self.read_balances()

    def read_balances(self):
        return (self.chain.balance(self.payer.address), self.chain.balance(self.seller.pay_to))

    def assert_charged(self, times):
        """Since the test began, the price has moved exactly `times` times."""
        payer, seller = self.balances
        self.assertEqual(self.read_balances(), (payer - times * PRICE, seller + times * PRICE))


class Payments(Parts):
    def test_paying_moves_balances_by_exactly_the_price(self):
        reply = self.payer.fetch(self.paid)
        self.assertEqual(reply["status"], 200, reply["body"])
        self.assert_charged(1)
        self.assertTrue(reply["settled"]["success"])
        self.assertEqual(self.chain.status(reply["settled"]["transaction"]), 1)

    def test_many_payments_at_once_are_as_good(self):
        challenge = self.payer.get(self.paid)["headers"]["payment-required"]
        with tempfile.NamedTemporaryFile("r") as file:
            self.payer.sign_many(challenge, 3, file.name)
            payments = file.read().split()
        for payment in payments:
            self.assertEqual(self.payer.send(self.paid, payment)[0]["status"], 200)
        self.assert_charged(3)

    def test_nobody_pays_unasked(self):
        reply = self.payer.get(self.paid)
        self.assertEqual(reply["status"], 402)
        self.assertEqual(reply["required"]["accepts"][0]["amount"], str(PRICE))
        self.assert_charged(0)

    def test_a_payment_is_good_once(self):
        payment = self.payer.fetch(self.paid)["payment"]
        [reply] = self.payer.send(self.paid, payment)
        self.assertEqual(reply["status"], 402)
        self.assertTrue(reply["required"]["error"].endswith("nonce_already_used"))
        self.assert_charged(1)

    def test_the_seller_works_for_each_of_several_at_once(self):
        """What the official middleware does with one header sent 4 times, and the gateway must not
        do."""
        payment = self.payer.payment_for(self.paid)
        served = self.seller.served()
        settles = self.facilitator.calls()["settle"]
        self.facilitator.fault("settle", "hang")
        replies = []
        sender = threading.Thread(
            target=lambda: replies.extend(self.payer.send(self.paid, payment, times=4)))
        sender.start()
        self.facilitator.wait("settle", settles + 4)
        self.assertEqual(self.seller.served() - served, 4)
        self.facilitator.clear()
        sender.join()
        self.assertEqual(sorted(reply["status"] for reply in replies), [200, 402, 402, 402])
        self.assert_charged(1)

    def test_a_payment_is_not_bound_to_its_resource(self):
        payment = self.payer.payment_for(self.paid)
        [reply] = self.payer.send(self.seller.url + "/other", payment)
        self.assertEqual(reply["status"], 200, "so binding is ours to do")

    def test_a_failed_handler_costs_nothing_unless_paid_upfront(self):
        self.assertEqual(self.payer.fetch(self.seller.url + "/fails")["status"], 500)
        self.assert_charged(0)
        self.assertEqual(self.payer.fetch(self.seller.url + "/upfront")["status"], 200)
        self.assert_charged(1)

    def test_a_changed_signature_is_refused(self):
        payment = decoded(self.payer.payment_for(self.paid))
        signature = payment["payload"]["signature"]
        payment["payload"]["signature"] = signature[:20] + ("0" if signature[20] != "0" else "1") \
            + signature[21:]
        [reply] = self.payer.send(self.paid, encoded(payment))
        self.assertEqual((reply["status"], reply["required"]["error"]),
                         (402, "invalid_exact_evm_signature"))
        self.assert_charged(0)

    def test_an_empty_purse_is_refused(self):
        pauper = Payer()
        self.addCleanup(pauper.close)
        reply = pauper.fetch(self.paid)
        self.assertEqual((reply["status"], reply["required"]["error"]),
                         (402, "invalid_exact_evm_insufficient_balance"))

    def test_a_contract_wallet_pays_by_its_owners_signature(self):
        address = self.chain.wallet(self.payer.address)
        self.chain.fund(address, 10 * PRICE)
        wallet = Payer(key=self.payer.key, wallet=address)
        self.addCleanup(wallet.close)
        reply = wallet.fetch(self.paid)
        self.assertEqual(reply["status"], 200, reply)
        self.assertEqual(len(decoded(reply["payment"])["payload"]["signature"]), 2 + 2 * 66)
        self.assertEqual(self.chain.balance(address), 9 * PRICE)

    def test_a_strangers_signature_is_not_the_wallets(self):
        address = self.chain.wallet("0x" + "11" * 20)
        self.chain.fund(address, 10 * PRICE)
        wallet = Payer(wallet=address)
        self.addCleanup(wallet.close)
        self.assertEqual(wallet.fetch(self.paid)["required"]["error"],
                         "invalid_exact_evm_signature")

    def test_the_client_verifies_offer_and_receipt(self):
        challenge = self.payer.get(self.paid)["headers"]["payment-required"]
        [offer] = self.payer.verify_offers(challenge)
        self.assertEqual((offer["resourceUrl"], offer["amount"]), (self.paid, str(PRICE)))
        [reply] = self.payer.send(self.paid, self.payer.sign(challenge))
        verified = self.payer.verify_receipt(reply["headers"]["payment-response"], challenge)
        self.assertTrue(verified["fits"])
        self.assertEqual(verified["receipt"]["payer"].lower(), self.payer.address.lower())

    def test_a_changed_offer_is_not_verified(self):
        challenge = decoded(self.payer.get(self.paid)["headers"]["payment-required"])
        [offer] = challenge["extensions"]["offer-receipt"]["info"]["offers"]
        head, payload, signature = offer["signature"].split(".")
        offer["signature"] = ".".join([head, payload[:-1] + ("A" if payload[-1] != "A" else "B"),
                                       signature])
        with self.assertRaises(RuntimeError):
            self.payer.verify_offers(encoded(challenge))


class Token(Parts):
    def payment(self, **changes):
        """A payment of the payer for terms with `changes`."""
        challenge = decoded(self.payer.get(self.paid)["headers"]["payment-required"])
        challenge["accepts"][0].update(changes)
        return self.payer.sign(encoded(challenge))

    def refused(self, payment, why):
        with self.assertRaisesRegex(RuntimeError, why):
            self.chain.send(self.payer.transfer_data(payment))
        self.assert_charged(0)

    def test_anyone_may_settle_a_payment_once(self):
        payment = self.payment()
        self.assertFalse(self.is_used(payment))
        data = self.payer.transfer_data(payment)
        self.assertEqual(self.chain.status(self.chain.send(data)), 1)
        self.assertTrue(self.is_used(payment))
        with self.assertRaisesRegex(RuntimeError, "authorization is used or canceled"):
            self.chain.send(data)
        self.assert_charged(1)

    def is_used(self, payment):
        authorization = decoded(payment)["payload"]["authorization"]
        return self.chain.is_used(authorization["from"], authorization["nonce"])

    def test_a_settlement_is_found_by_its_events(self):
        payment = self.payment()
        transaction = self.chain.send(self.payer.transfer_data(payment))
        nonce = decoded(payment)["payload"]["authorization"]["nonce"]
        # keccak256 of AuthorizationUsed(address,bytes32)
        used = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
        logs = self.chain.rpc("eth_getLogs", {
            "address": self.chain.token, "fromBlock": "0x0", "toBlock": "latest",
            "topics": [used, None, nonce]})
        self.assertEqual([log["transactionHash"] for log in logs], [transaction])

    def test_a_cancelled_payment_cannot_be_settled(self):
        payment = self.payment()
        self.chain.send(self.payer.cancel_data(payment))
        self.assertTrue(self.is_used(payment))
        self.refused(payment, "authorization is used or canceled")

    def test_an_expired_payment_is_refused(self):
        self.refused(self.payment(maxTimeoutSeconds=-60), "authorization is expired")

    def test_more_than_the_balance_is_refused(self):
        self.refused(self.payment(amount="900000"), "transfer amount exceeds balance")

    def test_the_malleable_twin_of_a_signature_is_refused(self):
        payment = decoded(self.payment())
        signature = payment["payload"]["signature"]
        r, s, v = signature[2:66], int(signature[66:130], 16), int(signature[130:], 16)
        payment["payload"]["signature"] = f"0x{r}{ORDER - s:064x}{55 - v:02x}"
        self.refused(encoded(payment), "invalid signature")

    def test_v_is_27_or_28(self):
        payment = decoded(self.payment())
        signature = payment["payload"]["signature"]
        payment["payload"]["signature"] = f"{signature[:130]}{int(signature[130:], 16) - 27:02x}"
        self.refused(encoded(payment), "invalid signature")

    def test_the_chain_can_be_out_of_order(self):
        for kind in ("close", "error", "html"):
            self.chain.fault(kind)
            with self.assertRaises((OSError, http.client.HTTPException, ValueError)):
                self.chain.balance(self.payer.address)
        self.chain.fault(None)
        self.assert_charged(0)


class Faults(Parts):
    """Faults of the facilitator, which is called as a gateway would call it."""

    def setUp(self):
        super().setUp()
        self.payment = decoded(self.payer.payment_for(self.paid))
        self.before = self.facilitator.calls()

    def ask(self, endpoint):
        """Status, content type and body, or None if the connection ended without an answer."""
        connection = http.client.HTTPConnection(
            urllib.parse.urlsplit(self.facilitator.url).netloc, timeout=60)
        try:
            if endpoint == "supported":
                connection.request("GET", "/supported")
            else:
                connection.request("POST", "/" + endpoint, json.dumps({
                    "x402Version": 2, "paymentPayload": self.payment,
                    "paymentRequirements": self.payment["accepted"]}))
            reply = connection.getresponse()
            return reply.status, reply.getheader("content-type"), reply.read()
        except (ConnectionError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def ask_json(self, endpoint, expected_status=200):
        status, content_type, body = self.ask(endpoint)
        self.assertEqual((status, content_type), (expected_status, "application/json"), body)
        return json.loads(body)

    def new_calls(self, name):
        return self.facilitator.calls()[name] - self.before[name]

    def test_without_a_fault_it_verifies_and_settles(self):
        self.assertEqual([kind["network"] for kind in self.ask_json("supported")["kinds"]],
                         [self.chain.network])
        self.assertTrue(self.ask_json("verify")["isValid"])
        self.assert_charged(0)
        settled = self.ask_json("settle")
        self.assertTrue(settled["success"])
        self.assertEqual(self.chain.status(settled["transaction"]), 1)
        self.assert_charged(1)

    def test_faults_before_the_work_leave_nothing_behind(self):
        for endpoint in ("verify", "settle", "supported"):
            self.facilitator.fault(endpoint, "close")
            self.assertIsNone(self.ask(endpoint))
            self.facilitator.fault(endpoint, "html")
            self.assertEqual(self.ask(endpoint)[:2], (200, "text/html"))
            self.facilitator.fault(endpoint, "error")
            self.assertEqual(self.ask(endpoint)[:2], (500, "text/plain"))
            self.facilitator.fault(endpoint, "untyped")
            reply = self.ask_json(endpoint)
            self.assertEqual((reply["success"], reply["isValid"], reply["kinds"]), ("yes", 1, {}))
            self.assertEqual(self.new_calls(endpoint), 4)
        self.assertEqual(self.new_calls("broadcast"), 0)
        self.assert_charged(0)

    def test_refusals_come_with_either_status(self):
        for kind, status in (("refuse", 200), ("refuse_400", 400)):
            self.facilitator.fault("verify", kind)
            self.assertEqual(self.ask_json("verify", status)["isValid"], False)
            self.facilitator.fault("settle", kind)
            reply = self.ask_json("settle", status)
            self.assertEqual((reply["success"], reply["transaction"]), (False, ""))
        self.facilitator.fault("supported", "none")
        self.assertEqual(self.ask_json("supported")["kinds"], [])
        self.assert_charged(0)

    def test_a_fault_may_be_met_once(self):
        self.facilitator.fault("verify", "close", times=1)
        self.assertIsNone(self.ask("verify"))
        self.assertTrue(self.ask_json("verify")["isValid"])

    def test_an_answer_may_be_late(self):
        self.facilitator.fault("verify", None, delay_ms=100)
        started = time.monotonic()
        self.assertTrue(self.ask_json("verify")["isValid"])
        self.assertGreaterEqual(time.monotonic() - started, 0.1)

    def test_a_lost_answer_has_charged(self):
        self.facilitator.fault("settle", "lost")
        self.assertIsNone(self.ask("settle"))
        self.assert_charged(1)

    def hanging(self, kind, until):
        """Starts a settle call that hangs. Returns its thread and the list that will get its
        answer."""
        self.facilitator.fault("settle", kind)
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.ask_json("settle")))
        thread.start()
        self.facilitator.wait(until, self.before[until] + 1)
        self.assertEqual(answers, [])
        return thread, answers

    def test_a_hang_does_nothing_until_released(self):
        thread, answers = self.hanging("hang", "settle")
        self.assert_charged(0)
        self.facilitator.release()
        thread.join()
        self.assertTrue(answers[0]["success"])
        self.assert_charged(1)

    def test_a_hang_may_have_settled(self):
        thread, answers = self.hanging("hang_settled", "broadcast")
        self.assert_charged(1)
        self.facilitator.release()
        thread.join()
        self.assertTrue(answers[0]["success"])
        self.assert_charged(1)

    def test_pending_is_the_sdks_own_answer_and_asking_again_resolves_it(self):
        self.facilitator.fault("settle", "pending", times=1)
        pending = self.ask_json("settle")
        self.assertEqual((pending["success"], pending["errorReason"]),
                         (False, "settlement_pending"))
        self.assert_charged(1)
        settled = self.ask_json("settle")
        self.assertEqual((settled["success"], settled["transaction"]),
                         (True, pending["transaction"]))
        self.assert_charged(1)

    def test_a_chain_that_does_not_mine_is_pending_too(self):
        self.chain.hold()
        pending = self.ask_json("settle")
        self.assertEqual(pending["errorReason"], "settlement_pending")
        self.assertIsNone(self.chain.status(pending["transaction"]))
        self.assert_charged(0)
        self.chain.hold(False)
        self.assert_charged(1)
        self.assertTrue(self.ask_json("settle")["success"])

    def test_what_is_pending_may_never_happen(self):
        self.chain.hold()
        self.ask_json("settle")
        self.chain.drop()
        self.chain.hold(False)
        self.assert_charged(0)
        self.payment = decoded(self.payer.payment_for(self.paid))
        self.assertTrue(self.ask_json("settle")["success"], "the gas account goes on")
        self.assert_charged(1)

    def test_success_may_be_told_without_its_proof(self):
        self.facilitator.fault("settle", "no_transaction")
        reply = self.ask_json("settle")
        self.assertEqual((reply["success"], reply["transaction"]), (True, ""))
        self.assert_charged(1)
        self.payment = decoded(self.payer.payment_for(self.paid))
        self.facilitator.fault("settle", "other_network")
        self.assertEqual(self.ask_json("settle")["network"], "eip155:1")


if __name__ == "__main__":
    unittest.main()
