"""A gateway in use, for tests of pages and for screenshots: sample data, an account with purchases
and with calls of several outcomes, its owner and a colleague, keys, and an operator."""

import json
import subprocess

from gateway import GOVDATA_IMPORT, Gateway
from people import Browser, Passkey
from waiting import until

BASE = "/v1/gateway/govdata/global/v1"


class Scene:
    def __init__(self, *, settings=(), postgres_url=None, registry=None):
        self.gateway = Gateway(postgres_url=postgres_url, registry=registry, settings=[
            "status.enabled=true", "status.round_ms=1000", "site.brand.contact=help@example.com",
            "site.brand.legal_name=Example GmbH", "processors.manual.days_to_pay=14",
            "processors.manual.instructions_url=https://example.com/pay?reference={purchase}",
            *settings])
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        self.gateway.directory / "govdata.db"], check=True, capture_output=True)
        self.account, self.key = self.gateway.new_key()
        owner = self.gateway.run_json("user", "create", "--name", "Ada Owner", "--login", "ada",
                                      "--account", self.account, "--role", "owner")
        self.gateway.run_json("user", "create", "--name", "Max Member", "--login", "max",
                              "--account", self.account, "--role", "member")
        self.owner_link = owner["link"]
        self.passkey = Passkey()
        self.gateway.start(frozenset({"api", "mcp", "web", "operator"}))
        self.origin = "http://localhost:%d" % self.gateway.addresses["web"][1]
        self.operator_origin = "http://127.0.0.1:%d" % self.gateway.addresses["operator"][1]
        self.last_request_id = self.make_calls(self.key)
        self.make_notifications()
        self.purchase_ids = self.make_purchases()

    def make_calls(self, key):
        """Makes calls that are paid, free, refused, or find nothing. Returns the id of the last
        one, which is paid. Five of them are in the books, and four of those are charged."""
        for path in ("/daos", "/activity?hours=168&limit=3", "/meta/pricing", "/nothing",
                     "/daos/nobody/brief", "/daos:free"):
            self.gateway.get(BASE + path, key=key)
        return self.gateway.get(BASE + "/daos", key=key).headers["x-request-id"]

    def make_notifications(self):
        """Makes one endpoint whose host name does not resolve, and one that is disabled."""
        session = self.gateway.run_json("session", "create", "--person", "ada")["token"]
        path = f"/v1/billing-accounts/{self.account}/notification-endpoints"
        for body in ({"url": "https://hooks.invalid/turnpike", "description": "web shop"},
                     {"url": "https://old.invalid/", "enabled": False,
                      "eventTypes": ["credits.low"]}):
            reply = self.gateway.call("POST", path, key=session, body=json.dumps(body).encode(),
                                      headers=[("Content-Type", "application/json")])
            assert reply.status == 201, reply.body

    def make_purchases(self):
        """Makes one purchase that is credited and one that waits for its payment. Returns their
        ids, newest first."""
        session = self.gateway.run_json("session", "create", "--person", "ada")["token"]
        path = f"/v1/billing-accounts/{self.account}"
        (offer,) = self.gateway.get(path + "/purchase-offers", key=session).json()
        ids = []
        for amount in ("10.00", "25.00"):
            wish = {"offerId": offer["offerId"], "amount": {"currency": "USD", "amount": amount}}
            reply = self.gateway.call("POST", path + "/purchases", key=session, headers=[
                ("Content-Type", "application/json"), ("Idempotency-Key", amount)],
                body=json.dumps(wish).encode())
            assert reply.status == 201, reply.body
            ids.insert(0, reply.json()["purchaseId"])
        self.gateway.run("purchase", "confirm", ids[-1], "--amount", "10.00")
        until(lambda: self.gateway.purchase_state(self.account, session, ids[-1]) == "credited",
              "the purchase was not credited")
        return ids

    def owner(self):
        """A browser with the owner signed in."""
        browser = Browser(self.gateway)
        browser.sign_in(self.owner_link)
        browser.enrol(self.passkey)
        return browser

    def close(self):
        self.passkey.close()
        self.gateway.stop()
        self.gateway.close()
