"""What an operator may offer besides EIP-3009 tokens, over HTTP: Permit2 and Solana. The local
chain has neither, so the facilitator is a script here. tests/plugins/x402/lane_offers_test.cpp
covers what the gateway itself checks of such payments."""

import base64
import csv
import http.server
import io
import json
import pathlib
import re
import shutil
import threading
import time
import unittest

from gateway import BUILD, ONE_UPSTREAM, Gateway, new_directory, new_registry
from upstream import Upstream
from waiting import until
from x402 import decoded, encoded

PATH = "/v1/gateway/test/upstream/bytes/100"
BASE = "eip155:84532"
SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
FEE_PAYER = "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5"
PAYER = {BASE: "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf",
         SOLANA: "9xAXssX9j7vuK99c7cFwqbixzL3bFrzPy9PUhCtDPAYJ"}
TRANSACTION = {BASE: "0x" + "a" * 64,
               SOLANA: "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFm"
                       "BV6UjKdiSZkQUW"}

PAY_TO = "0x209693bc6afc0c5328ba36faf03c514ef312287c"
DAI = "0x50c5725949a6f0c72e6c4a641f24049a917db0cb"

REGISTRY = ONE_UPSTREAM + """
x402:
  enabled: true
  networks:
    base: {{id: "eip155:84532", pay_to: "0x209693bc6afc0c5328ba36faf03c514ef312287c"}}
    solana: {{id: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
             pay_to: "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"}}
  assets:
    dai: {{network: base, address: "0x50c5725949a6f0c72e6c4a641f24049a917db0cb", decimals: 18,
          transfer: permit2}}
    usdc: {{network: solana, address: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", decimals: 6}}
prices:
  test.standard: {{version: 1, credit_cost: 2, x402: [{{asset: dai, amount: "1000"}},
                                                    {{asset: usdc, amount: "2000"}}]}}
routes:
  - {{path: "/upstream/{{kind}}/{{argument}}", price: test.standard, deadline_ms: 10000}}
"""

CONFIGURATION = """
lanes:
  x402:
    facilitators: [{{url: "{url}", allow_private_addresses: true}}]
"""


class ScriptedFacilitator(http.server.ThreadingHTTPServer):
    """Agrees to everything, unless `refusal` gives a reason not to."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        self.refusal = None
        self.asked = []  # (endpoint, network, extra)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        kind = {"x402Version": 2, "scheme": "exact"}
        self.answer({"kinds": [{**kind, "network": BASE},
                               {**kind, "network": SOLANA, "extra": {"feePayer": FEE_PAYER}}],
                     "extensions": [], "signers": {}})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        terms = request["paymentRequirements"]
        network = terms["network"]
        self.server.asked.append((self.path, network, terms["extra"]))
        if self.path == "/settle":
            self.answer({"success": True, "network": network, "payer": PAYER[network],
                         "transaction": TRANSACTION[network]})
        elif self.server.refusal:
            self.answer({"isValid": False, "invalidReason": self.server.refusal})
        else:
            self.answer({"isValid": True, "payer": PAYER[network]})


class Offers(unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.close)
        self.facilitator = ScriptedFacilitator()
        self.addCleanup(self.facilitator.close)
        registry = new_registry(self, REGISTRY.format(address=self.upstream.address))
        config = new_directory(self) / "turnpike.yaml"
        config.write_text(CONFIGURATION.format(url=self.facilitator.url))
        self.gateway = Gateway(registry=registry, plugins=BUILD / "plugins", config=config)
        self.addCleanup(self.gateway.close)
        self.gateway.run("check")
        self.gateway.start()
        until(lambda: self.gateway.get(PATH).status == 402, "nothing is offered")

    def payment(self, network, payload):
        """A payment for a fresh challenge, as a client would make it."""
        challenge = decoded(self.gateway.get(PATH).headers["payment-required"])
        [terms] = [terms for terms in challenge["accepts"] if terms["network"] == network]
        return encoded({"x402Version": 2, "resource": challenge["resource"], "accepted": terms,
                        "payload": payload(terms), "extensions": challenge["extensions"]})

    def permit(self, terms):
        return {"signature": "0x" + "11" * 65, "permit2Authorization": {
            "from": PAYER[BASE], "nonce": "77",
            "permitted": {"token": terms["asset"], "amount": terms["amount"]},
            "spender": "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
            "deadline": str(int(time.time()) + terms["maxTimeoutSeconds"]),
            "witness": {"to": terms["payTo"], "validAfter": "0"}}}

    def transfer(self, _):
        message = b"\x80\x02\x01\x01accounts and calls"
        return {"transaction": base64.b64encode(b"\x02" + b"s" * 128 + message).decode()}

    def pay(self, payment):
        return self.gateway.get(PATH, headers=[("PAYMENT-SIGNATURE", payment)])

    def assert_paid_once(self, payment, network):
        reply = self.pay(payment)
        self.assertEqual((reply.status, len(reply.body)), (200, 100), reply.body)
        settled = decoded(reply.headers["payment-response"])
        self.assertEqual((settled["network"], settled["transaction"], settled["payer"]),
                         (network, TRANSACTION[network], PAYER[network]))
        again = self.pay(payment)
        self.assertEqual((again.status, again.body), (200, reply.body))
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assertEqual(len(self.upstream.requests), 1)
        self.assertEqual([path for path, *_ in self.facilitator.asked].count("/settle"), 1)
        [totals] = self.gateway.run_json("x402", "totals")
        self.assertEqual((totals["network"], totals["payments"]), (network, 1))
        table = self.gateway.run("x402", "payments", "--format", "csv").stdout
        [paid] = csv.DictReader(io.StringIO(table))  # only entries
        self.assertEqual((paid["entry"], paid["transaction"], paid["amount"]),
                         ("settled", TRANSACTION[network], totals["settled"]))
        [line] = self.gateway.run("x402", "payments").stdout.splitlines()
        self.assertEqual(json.loads(line)["payment"], paid["payment"])

    def test_both_are_in_one_challenge(self):
        permit2, solana = decoded(self.gateway.get(PATH).headers["payment-required"])["accepts"]
        self.assertEqual((permit2["network"], permit2["extra"]),
                         (BASE, {"assetTransferMethod": "permit2"}))
        self.assertEqual((solana["network"], solana["extra"]), (SOLANA, {"feePayer": FEE_PAYER}))

    def test_a_missing_allowance_is_412_and_the_payment_stays_good(self):
        payment = self.payment(BASE, self.permit)
        self.facilitator.refusal = "permit2_allowance_required"
        reply = self.pay(payment)
        self.assertEqual(reply.status, 412, reply.body)
        challenge = decoded(reply.headers["payment-required"])
        self.assertEqual(challenge["error"], "permit2_allowance_required")
        self.assertEqual(challenge, reply.json())
        self.assertEqual(reply.headers["cache-control"], "no-store")
        self.assertEqual(self.upstream.requests, [])
        self.facilitator.refusal = None
        self.assert_paid_once(payment, BASE)

    def test_solana_is_paid_once(self):
        self.assert_paid_once(self.payment(SOLANA, self.transfer), SOLANA)
        self.assertEqual(self.facilitator.asked,
                         [("/verify", SOLANA, {"feePayer": FEE_PAYER}),
                          ("/settle", SOLANA, {"feePayer": FEE_PAYER})])

    def test_another_refusal_is_402(self):
        self.facilitator.refusal = "permit2_insufficient_balance"
        reply = self.pay(self.payment(BASE, self.permit))
        self.assertEqual(reply.status, 402, reply.body)
        self.assertEqual(decoded(reply.headers["payment-required"])["error"],
                         "permit2_insufficient_balance")
        self.assertEqual(self.upstream.requests, [])

    def check_places_of_valid_and_invalid_settings(self):
        """Each problem is reported with file and line, in the registry's file if it is there."""
        listed = CONFIGURATION.format(url=self.facilitator.url)
        configuration = pathlib.Path(self.gateway.config)

        def check(text, exit_code, place):
            configuration.write_text(text)
            result = self.gateway.run("check", check=False)
            self.assertEqual(result.returncode, exit_code, result.stderr)
            self.assertRegex(result.stderr, place)

        check(listed + '    chains: {"eip155:1": {rpc_url: "http://node.example"}}\n', 0,
              r"note: \S+turnpike\.yaml:5:\d+: lanes\.x402\.chains\.eip155:1: no price that is")
        check(listed.replace(self.facilitator.url, self.facilitator.url + "/verify"), 1,
              r"turnpike\.yaml:4:\d+: lanes\.x402\.facilitators\[0\]\.url: .*leave")
        check(listed.replace(", allow_private_addresses: true", ""), 1,
              r"turnpike\.yaml:4:\d+: lanes\.x402\.facilitators\[0\]\.url: has an address that is")
        registry = self.gateway.registry / "test.yaml"
        text = registry.read_text()
        for wrong, problem in (("0x" + 40 * "0", "is the zero address"),
                               (DAI, "is the token's own contract"),
                               (PAY_TO.replace("c", "C", 1), "has a wrong checksum")):
            registry.write_text(text.replace(f'"{PAY_TO}"', f'"{wrong}"'))
            check(listed, 1, r"test\.yaml:\d+:\d+: x402\.networks\.base\.pay_to: .*" + problem)
        registry.write_text(text)

    def test_check_names_the_place_of_each_wrong_setting_of_the_lane(self):
        listed = CONFIGURATION.format(url=self.facilitator.url)
        for line, path, problem in (
                ("max_timeout_secnds: 60", "max_timeout_secnds", "did you mean"),
                ("max_timeout_seconds: 3x", "max_timeout_seconds", "expected"),
                ("max_timeout_seconds: 40", "max_timeout_seconds", "settlement"),
                ("chains: {\"eip155:1\": {}}", "chains.eip155:1.rpc_url", "")):
            pathlib.Path(self.gateway.config).write_text(listed + f"    {line}\n")
            shutil.rmtree(self.gateway.directory / "x402")  # as before the first start
            result = self.gateway.run("check", check=False)
            self.assertEqual(result.returncode, 1, line)
            place = rf"turnpike\.yaml:5:\d+: lanes\.x402\.{re.escape(path)}: .*{problem}"
            self.assertRegex(result.stderr, place)
            self.assertFalse((self.gateway.directory / "x402").exists(), line)
            (self.gateway.directory / "x402").mkdir()
        self.check_places_of_valid_and_invalid_settings()
        pathlib.Path(self.gateway.config).write_text("lanes: {x403: {}}\n")
        self.assertIn("lanes.x403: no lane plugin of this name",
                      self.gateway.run("check", check=False).stderr)


if __name__ == "__main__":
    unittest.main()
