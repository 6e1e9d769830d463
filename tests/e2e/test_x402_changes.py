"""How payments per call survive changes of the registry, what happens to a settlement that the
chain does not show, and what forged payments achieve."""

import http.server
import json
import re
import threading
import unittest

from engines import OnSqlite
from test_x402 import GOOD, TEST, Lane
from waiting import until
from x402 import decoded, encoded


class RegistryChanges(OnSqlite, Lane, unittest.TestCase):
    def change(self, old, new):
        """Changes the registry. Returns the result of `reload`."""
        file = self.registry / "test.yaml"
        text = file.read_text()
        self.assertIn(old, text)
        file.write_text(text.replace(old, new))
        return self.gateway.run("reload")

    def paid(self, path=GOOD):
        payment = self.payment(path)
        reply = self.pay(payment, path)
        self.assert_paid(reply)
        return payment, reply

    def assert_given_again(self, payment, reply, path=GOOD):
        again = self.pay(payment, path)
        self.assertEqual((again.status, again.body), (200, reply.body), again.body)
        self.assertEqual(again.headers["payment-response"], reply.headers["payment-response"])
        self.assertEqual(again.headers["idempotent-replayed"], "true")

    def test_payments_are_turned_off(self):
        payment, reply = self.paid()
        unpaid = self.payment()
        keys = self.gateway.get("/.well-known/did.json").json()
        self.facilitator.fault("settle", "lost")
        lost = self.payment()
        self.assert_unknown(self.pay(lost))
        self.chain.fault("error")
        told = self.change("enabled: true", "enabled: false")
        self.assertRegex(told.stderr, r"1 payment is open: [0-9a-f]{64} \(GET /v1/gateway/test/")
        self.assert_given_again(payment, reply)
        self.assertEqual(self.gateway.get("/.well-known/did.json").json(), keys)
        self.assert_refused(self.pay(unpaid), 400, "x402.not_payable")
        self.assertEqual(self.gateway.get(TEST + GOOD).status, 401)
        until(lambda: self.open_settlements() == 1, "the open settlement is not counted")
        self.mend()
        until(lambda: self.open_settlements() == 0, "the settlement is not ended")
        self.assertEqual(self.pay(lost).status, 200)
        self.assert_charged(2)
        did, receipt = self.directory / "did.json", self.directory / "receipt"
        did.write_bytes(self.gateway.get("/.well-known/did.json").body)
        receipt.write_text(reply.headers["payment-response"])
        verified = self.gateway.run("receipt", "verify", str(receipt), "--did", str(did))
        self.assertIn(self.payer.address.lower(), verified.stdout.lower())

    def open_settlements(self):
        text = self.gateway.get("/metrics", host="operator").body.decode()
        found = re.search(r'^turnpike_plugin_settlements_open{[^}]*} (\S+)$', text, re.MULTILINE)
        return found and float(found[1])

    def test_the_terms_are_removed(self):
        payment, reply = self.paid()
        self.change("test.standard: {version: 1, credit_cost: 2, x402: [{asset: local-usdc, "
                    'amount: "1000"}]}', "test.standard: {version: 2, credit_cost: 2}")
        self.assert_given_again(payment, reply)

    def test_the_route_is_removed_or_blocked(self):
        payment, reply = self.paid()
        route = '  - {path: "/upstream/{kind}/{argument}"}\n'
        self.change(route, route.replace("}\n", ", revision: 2, readiness: {status: blocked, "
                                         "reason: It rests.}}\n"))
        self.assertEqual(self.gateway.get(TEST + GOOD).error_code(), "gateway.route_blocked")
        self.assert_given_again(payment, reply)
        listed = self.gateway.get("/.well-known/x402").json()["resources"]
        self.assertIn(self.address("/upstream/%7Bkind%7D"), listed)
        self.assertNotIn(self.address("/upstream/%7Bkind%7D/%7Bargument%7D"), listed)
        file = self.registry / "test.yaml"
        file.write_text("".join(line for line in file.read_text().splitlines(keepends=True)
                                if "It rests." not in line))
        self.gateway.run("reload")
        self.assertEqual(self.gateway.get(TEST + GOOD).error_code(), "gateway.route_not_found")
        self.assert_given_again(payment, reply)
        self.assert_charged(1)


class Liar(http.server.BaseHTTPRequestHandler):
    """A facilitator that confirms everything and does nothing."""

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({"kinds": [{"x402Version": 2, "scheme": "exact",
                                "network": self.server.network}]})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(self.path)
        self.answer({"isValid": True, "success": True, "network": self.server.network,
                     "transaction": "0x" + "ab" * 32})

    def log_message(self, *words):
        pass


class LyingFacilitator(OnSqlite, Lane, unittest.TestCase):
    def configure(self, *_):
        liar = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
        liar.network, liar.asked = self.chain.network, []
        threading.Thread(target=liar.serve_forever, daemon=True).start()
        self.addCleanup(liar.server_close)
        self.addCleanup(liar.shutdown)
        self.liar = liar
        super().configure(type("At", (), {"url": "http://127.0.0.1:%d" % liar.server_address[1]}))
        file = self.directory / "turnpike.yaml"
        file.write_text(file.read_text().replace(
            "{rpc_url:", "{audit_after_s: 1, doubt_after_s: 2, rpc_url:"))

    def gauge(self, name):
        text = self.gateway.get("/metrics", host="operator").body.decode()
        found = re.search(rf"^turnpike_plugin_{name}{{[^}}]*}} (\S+)$", text, re.MULTILINE)
        return found and float(found[1])

    def test_a_bogus_settlement_raises_an_alarm(self):
        reply = self.pay(self.payment())
        self.assertEqual(reply.status, 200, "it is believed at first")
        self.assert_charged(0)
        until(lambda: self.gauge("settlements_doubted") == 1, "nobody doubts it")
        [doubted] = self.gateway.run_json("x402", "doubted")
        self.assertEqual((doubted["audit"], doubted["transaction"]), ("doubted", "0x" + "ab" * 32))
        self.assertIn("the chain does not show the payment", self.gateway.log_text())

    def test_nobody_pays_with_what_another_has_not_signed(self):
        payment = decoded(self.payment())
        payment["payload"]["authorization"]["from"] = "0x" + "22" * 20
        reply = self.pay(encoded(payment))
        self.assert_challenged(reply, "invalid_exact_evm_signature")
        wallet = self.chain.wallet("0x" + "11" * 20)
        payment["payload"]["authorization"]["from"] = wallet
        self.assert_challenged(self.pay(encoded(payment)), "invalid_exact_evm_signature")
        self.assertEqual(self.liar.asked, [])
        self.assertEqual(self.gateway.run("x402", "payments").stdout, "")


if __name__ == "__main__":
    unittest.main()
