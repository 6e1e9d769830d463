#!/usr/bin/env python3
"""Compares the x402 lane with the official Express middleware, in one run on this machine's
loopback.

1. Challenges: an unpaid call, answered 402 with an offer signed by ES256K.
2. Paid calls: every request carries a payment of its own. Both sides ask the same facilitator to
   verify and settle it, and it answers at once (nginx with fixed bodies, as is the upstream of the
   gateway; Express makes its reply itself). The gateway stores every payment durably, Express
   stores nothing. Both sign a receipt.

wrk uses 32 connections; rounds alternate; figures are medians; CPU is that of the server's
processes only. The middleware runs as its documentation says, in one process, and in one for each
of two cores. ROUNDS (3) rounds of SECONDS_EACH (3) seconds after one to warm up; payments are
signed before each.
"""

import base64
import concurrent.futures
import json
import os
import pathlib
import secrets
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "benchmarks" / "gateway")]

from driving import new_scratch  # noqa: E402: the path is set above
from forward_and_hold import (  # noqa: E402
    SECONDS_EACH, Nginx, fdatasync_p50_us, free_port)
from gateway import BUILD, Gateway, Postgres  # noqa: E402
from sides import Side, compare, print_head  # noqa: E402
from x402 import Payer, Seller, decoded  # noqa: E402

NETWORK = "eip155:84532"
TOKEN = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
TARGET = "/v1/gateway/bench/item"
# More than a side can use in a second; with too few, the benchmark fails.
PAYMENTS_A_SECOND = {"express": 3000, "turnpike": int(os.environ.get("PAYMENTS_A_SECOND", "9000"))}

REGISTRY = """
provider: {{key: bench, name: Bench, base_path: /v1/gateway/bench}}
x402:
  enabled: true
  networks: {{local: {{id: "{network}", pay_to: "{pay_to}"}}}}
  assets:
    local-usdc: {{network: local, address: "{token}", decimals: 6, name: USDC, version: "2"}}
prices:
  bench.standard: {{version: 1, credit_cost: 1, x402: [{{asset: local-usdc, amount: "1000"}}]}}
upstreams:
  bench:
    plugin: http
    settings: {{base_url: "http://{address}", prefix: /v1/gateway/bench,
               allow_private_addresses: true, connections_max: 512}}
defaults: {{price: bench.standard}}
routes: [{{path: /item}}]
"""

CONFIGURATION = """
lanes:
  x402:
    facilitators: [{{url: "http://{facilitator}", allow_private_addresses: true}}]
"""


def instant(payer):
    """Facilitator and upstream in one nginx, which replies at once with fixed bodies. Returns it
    and its address."""
    port = free_port()
    transaction = "0x" + "12" * 32
    replies = {
        "= /supported": '{"kinds":[{"x402Version":2,"scheme":"exact","network":"%s"}],'
                        '"extensions":[],"signers":{}}' % NETWORK,
        "= /verify": '{"isValid":true,"payer":"%s"}' % payer,
        "= /settle": '{"success":true,"payer":"%s","transaction":"%s","network":"%s"}' % (
            payer, transaction, NETWORK),
        "/": '{"data":"' + "x" * 1010 + '"}',
    }
    locations = "\n".join(f"location {path} {{ return 200 '{body}'; }}"
                          for path, body in replies.items())
    return Nginx(1, f"server {{ listen 127.0.0.1:{port} backlog=4096; "
                    f"default_type application/json;\n{locations} }}"), f"127.0.0.1:{port}"


class Shop(Side):
    def __init__(self, name, kind, url, pid):
        super().__init__(name, pid)
        self.kind, self.url = kind, url

    def ask_price(self):
        self.wrk(self.url, refused=True)

    def pay(self, payers):
        """Signs the payments now, because a challenge expires, and then sends them."""
        challenge = payers[0].get(self.url)["headers"]["payment-required"]
        count = PAYMENTS_A_SECOND[self.kind] * SECONDS_EACH // len(payers)
        with tempfile.TemporaryDirectory(prefix="turnpike-payments-") as directory:
            files = [pathlib.Path(directory, str(number)) for number in range(len(payers))]
            with concurrent.futures.ThreadPoolExecutor(len(payers)) as pool:
                list(pool.map(lambda payer, file: payer.sign_many(challenge, count, file),
                              payers, files))
            payments = pathlib.Path(directory, "payments")
            payments.write_bytes(b"".join(file.read_bytes() for file in files))
            script = pathlib.Path(__file__).with_name("paid.lua")
            self.wrk("-s", script, self.url, "--", payments, refused=False)

    def check(self, payer):
        """Checks that both sides sell the same: an offer signed by ES256K, verified, for the same
        price."""
        challenge = payer.get(self.url)["headers"]["payment-required"]
        [offer] = payer.verify_offers(challenge)
        [signed] = decoded(challenge)["extensions"]["offer-receipt"]["info"]["offers"]
        head = signed["signature"].split(".")[0]
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
        if (offer["amount"], header["alg"]) != ("1000", "ES256K"):
            raise RuntimeError(f"{self.name}: another offer: {offer} {header}")
        paid = payer.fetch(self.url)
        if paid["status"] != 200 or len(paid["body"]) != 1021:
            raise RuntimeError(f"{self.name}: {paid['status']} {paid['body']}")


def start_gateway(address, postgres_url=None):
    scratch = new_scratch()
    (scratch / "registry").mkdir()
    (scratch / "registry" / "bench.yaml").write_text(REGISTRY.format(
        network=NETWORK, token=TOKEN, address=address, pay_to="0x" + secrets.token_hex(20)))
    (scratch / "turnpike.yaml").write_text(CONFIGURATION.format(facilitator=address))
    gateway = Gateway(registry=scratch / "registry", config=scratch / "turnpike.yaml",
                      plugins=BUILD / "plugins", postgres_url=postgres_url).start()
    while gateway.get(TARGET).status != 402:  # until it has asked for /supported
        pass
    return gateway


def main():
    if not (BUILD / "plugins" / "x402.so").exists():
        print("this build has no x402 lane: nothing to measure")
        return
    # One key, because the instant facilitator names one payer; two processes, because signing is
    # slow.
    payers = [Payer()]
    payers.append(Payer(key=payers[0].key))
    nginx, address = instant(payers[0].address)
    sellers = [Seller(f"http://{address}", processes=count) for count in (1, 2)]
    postgres = Postgres()
    gateways = []
    try:
        gateways.append(start_gateway(address))
        gateways.append(start_gateway(address, postgres.new_database()))
        express = [Shop(f"Express, {count} process{'es' * (count > 1)}", "express",
                        seller.url + "/paid", seller.process.pid)
                   for count, seller in enumerate(sellers, 1)]
        urls = ["http://%s:%d%s" % (*gateway.addresses["api"], TARGET) for gateway in gateways]
        ours = [Shop(name, "turnpike", url, gateway.process.pid) for name, url, gateway in zip(
            ("turnpike, SQLite", "turnpike, PostgreSQL"), urls, gateways)]
        for side in express + ours:
            side.check(payers[0])
        print_head(f"fdatasync p50 {fdatasync_p50_us(gateways[0].directory):.0f} us", "to Express")
        compare("challenge", express + ours[:1], Shop.ask_price)
        compare("paid", express + ours, lambda shop: shop.pay(payers))
    finally:
        for gateway in gateways:
            gateway.close()
        for part in (*sellers, *payers, nginx, postgres):
            part.close()


if __name__ == "__main__":
    main()
