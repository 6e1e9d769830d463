"""Notifications over real sockets: a receiver on loopback gets them, verifies them with the
official client of Standard Webhooks, and answers as a test says. On both engines."""

import http.server
import json
import shutil
import subprocess
import threading
import time
import unittest

import parts
from engines import OnPostgres, OnSqlite
from gateway import GOVDATA_IMPORT, ROOT, Gateway, Postgres
from people import Browser, Passkey
from waiting import until

SECONDS = 60
WEBHOOKS = ROOT / "tests" / "webhooks"


class Receiver:
    """Takes webhooks and answers each with the next of `answers`, then with 204. An answer is a
    status, or an Event that is waited for before a 204."""

    def __init__(self):
        self.requests = []
        self.answers = []
        self.lock = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                with receiver.lock:
                    receiver.requests.append((self.path, dict(self.headers.items()), body))
                    answer = receiver.answers.pop(0) if receiver.answers else 204
                    receiver.lock.notify_all()
                if not isinstance(answer, int):
                    answer.wait(SECONDS)
                    answer = 204
                try:
                    self.send_response(answer)
                    if answer == 302:
                        self.send_header("Location", receiver.url + "/elsewhere")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    pass  # the sender was killed

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def wait_for(self, count):
        with self.lock:
            if not self.lock.wait_for(lambda: len(self.requests) >= count, SECONDS):
                raise AssertionError(f"{len(self.requests)} webhooks came, not {count}")
            return list(self.requests)


def lower(headers):
    return {name.lower(): value for name, value in headers.items()}


class Account:
    """An account with an owner, whose session makes the requests."""

    def __init__(self, gateway, name, credits=0):
        self.gateway = gateway
        self.id, self.key = gateway.new_key(credits)
        self.links = {}
        self.owner = self.person(name, "owner")

    def person(self, login, role):
        made = self.gateway.run_json("user", "create", "--name", login, "--login", login,
                                     "--account", self.id, "--role", role)
        self.links[login] = made["link"]
        return self.gateway.run_json("session", "create", "--person", login)["token"]

    def path(self, more):
        return f"/v1/billing-accounts/{self.id}{more}"

    def send(self, method, more, document=None, session=None, gateway=None, headers=()):
        without = b"" if method == "POST" else None
        body = without if document is None else json.dumps(document).encode()
        typed = [] if document is None else [("Content-Type", "application/json")]
        return (gateway or self.gateway).call(method, self.path(more), body=body,
                                              key=session or self.owner,
                                              headers=[*typed, *headers])

    def endpoint(self, url, **more):
        reply = self.send("POST", "/notification-endpoints", {"url": url, **more})
        assert reply.status == 201, reply.body
        return reply.json()

    def deliveries(self, query="", gateway=None):
        reply = self.send("GET", "/notification-deliveries" + query, gateway=gateway)
        assert reply.status == 200, reply.body
        return reply.json()

    def endpoints(self, session=None):
        return self.send("GET", "/notification-endpoints", session=session).json()

    def buy(self, key):
        (offer,) = self.send("GET", "/purchase-offers").json()
        wish = {"offerId": offer["offerId"], "amount": {"currency": "USD", "amount": "10.00"}}
        reply = self.send("POST", "/purchases", wish, headers=[("Idempotency-Key", key)])
        assert reply.status == 201, reply.body
        purchase_id = reply.json()["purchaseId"]
        self.gateway.run("purchase", "confirm", purchase_id, "--amount", "10.00")
        return purchase_id


SETTINGS = ["processors.manual.days_to_pay=14", "notifications.allow_private_addresses=true",
            "log.level=debug"]


class Notifications(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(postgres_url=cls.postgres_url(), settings=SETTINGS)
        cls.addClassCleanup(cls.gateway.close)
        cls.gateway.start(frozenset({"api", "mcp", "web", "operator"}))
        cls.client = parts.Part(WEBHOOKS / "verify.mjs")
        cls.addClassCleanup(cls.client.close)
        cls.names = 0

    def setUp(self):
        type(self).names += 1
        self.account = Account(self.gateway, f"owner{self.names}")
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)

    def verify(self, request, secret):
        _, headers, body = request
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        sent = lower(headers)
        answer = self.client.send_command("verify", secret=secret, body=body,
                                          headers={name: sent[name] for name in names})
        self.assertIn("done", answer, answer)
        return answer["done"]

    def refused(self, reply, status, code):
        self.assertEqual((reply.status, reply.error_code()), (status, code), reply.body)

    def until_state(self, state, account=None):
        account = account or self.account
        return until(lambda: [one for one in account.deliveries()["items"]
                              if one["state"] == state], f"no delivery is {state}")[0]

    # ---- what is sent

    def test_a_purchase_is_told_and_the_official_client_verifies_it(self):
        made = self.account.endpoint(self.receiver.url + "/hook?token=t0ken",
                                     eventTypes=["purchase.credited"], description="mine")
        self.assertTrue(made["secret"].startswith("whsec_"))
        purchase_id = self.account.buy("one")
        (request,) = self.receiver.wait_for(1)
        self.assertEqual(request[0], "/hook?token=t0ken")
        headers = lower(request[1])
        self.assertEqual(headers["content-type"], "application/json")
        self.assertLess(abs(int(headers["webhook-timestamp"]) - time.time()), SECONDS)
        event = self.verify(request, made["secret"])
        self.assertEqual(list(event), ["type", "timestamp", "data"])
        self.assertEqual(event["type"], "purchase.credited")
        self.assertEqual(event["data"]["purchaseId"], purchase_id)
        self.assertEqual(event["data"]["billingAccountId"], self.account.id)
        self.assertEqual(event["data"]["amount"], {"currency": "USD", "amount": "10.00"})
        delivery = self.until_state("delivered")
        self.assertEqual((delivery["eventType"], delivery["attempts"], delivery["lastStatus"],
                          delivery["webhookId"], delivery["nextAttemptAt"]),
                         ("purchase.credited", 1, 204, headers["webhook-id"], None))
        other = self.client.send_command("verify", secret="whsec_" + "A" * 43 + "=",
                                         body=request[2], headers=headers)
        self.assertIn("failed", other)

    def test_what_fails_is_sent_again_under_the_same_id(self):
        made = self.account.endpoint(self.receiver.url)
        self.receiver.answers = [500]
        self.account.send("POST", f"/notification-endpoints/{made['endpointId']}/test")
        waiting = until(lambda: [one for one in self.account.deliveries()["items"]
                                 if one["attempts"] == 1], "it was not tried once")[0]
        self.assertEqual((waiting["state"], waiting["lastStatus"]), ("pending", 500))
        self.assertIsNotNone(waiting["nextAttemptAt"])
        self.assertIsNotNone(self.account.endpoints()[0]["failingSince"])
        first, second = self.receiver.wait_for(2)
        self.assertEqual(lower(first[1])["webhook-id"], lower(second[1])["webhook-id"])
        self.assertEqual(first[2], second[2])
        self.assertEqual(self.verify(second, made["secret"])["type"], "endpoint.test")
        self.assertEqual(self.until_state("delivered")["attempts"], 2)
        self.assertIsNone(self.account.endpoints()[0]["failingSince"])

    def test_a_410_disables_the_endpoint(self):
        made = self.account.endpoint(self.receiver.url)
        self.receiver.answers = [410]
        self.account.buy("one")
        self.until_state("failed")
        (endpoint,) = self.account.endpoints()
        self.assertEqual((endpoint["enabled"], endpoint["disabledReason"]), (False, "gone"))
        second = self.account.buy("two")
        until(lambda: self.account.send("GET", "/purchases/" + second).json().get("state") ==
              "credited", "it was not credited")
        self.assertEqual(len(self.account.deliveries()["items"]), 1)
        test = f"/notification-endpoints/{made['endpointId']}/test"
        self.refused(self.account.send("POST", test), 400, "notification.endpoint_invalid")
        self.account.send("PATCH", f"/notification-endpoints/{made['endpointId']}",
                          {"enabled": True})
        (delivery,) = self.account.deliveries()["items"]
        retry = f"/notification-deliveries/{delivery['deliveryId']}/retry"
        self.assertEqual(self.account.send("POST", retry).status, 202)
        self.until_state("delivered")

    def test_redirects_are_not_followed(self):
        self.account.endpoint(self.receiver.url + "/here")
        self.receiver.answers = [302]
        self.account.buy("one")
        self.receiver.wait_for(2)
        self.assertEqual({request[0] for request in self.receiver.requests}, {"/here"})

    def test_a_rotated_secret_signs_beside_the_one_before(self):
        made = self.account.endpoint(self.receiver.url)
        path = f"/notification-endpoints/{made['endpointId']}"
        rotated = self.account.send("POST", path + "/rotate-secret").json()
        self.assertNotEqual(rotated["secret"], made["secret"])
        self.assertIsNotNone(rotated["previousSecretEndsAt"])
        self.account.send("POST", path + "/test")
        (request,) = self.receiver.wait_for(1)
        self.assertEqual(len(lower(request[1])["webhook-signature"].split(" ")), 2)
        for secret in (made["secret"], rotated["secret"]):
            self.assertEqual(self.verify(request, secret)["type"], "endpoint.test")

    def test_low_credits_are_told_once(self):
        self.account.endpoint(self.receiver.url, eventTypes=["credits.low"])
        balance = self.gateway.balance(self.account.id, self.account.key)
        reply = self.account.send("PUT", "/notification-settings",
                                  {"creditsLowThreshold": str(balance + 1)})
        self.assertEqual(reply.json(), {"billingAccountId": self.account.id,
                                        "creditsLowThreshold": str(balance + 1)})
        (request,) = self.receiver.wait_for(1)
        data = json.loads(request[2])["data"]
        self.assertEqual((data["balance"], data["threshold"]), (str(balance), str(balance + 1)))
        self.account.buy("one")  # 10,000 Credits, far above the threshold
        until(lambda: self.gateway.balance(self.account.id, self.account.key) == balance + 10_000,
              "the Credits did not come")
        # The balance has not fallen since, so the next notification is about the new threshold.
        self.account.send("PUT", "/notification-settings",
                          {"creditsLowThreshold": str(balance + 10_001)})
        data = json.loads(self.receiver.wait_for(2)[1][2])["data"]
        self.assertEqual((data["balance"], data["threshold"]),
                         (str(balance + 10_000), str(balance + 10_001)))

    # ---- rights and bodies

    def test_members_read_and_admins_write(self):
        made = self.account.endpoint(self.receiver.url)
        member = self.account.person(f"member{self.names}", "member")
        path = f"/notification-endpoints/{made['endpointId']}"
        (seen,) = self.account.endpoints(member)
        self.assertNotIn("secret", seen)
        self.assertEqual(self.account.send("GET", "/notification-deliveries",
                                           session=member).status, 200)
        new = {"url": "https://a.example"}
        for method, more, body in (("POST", "/notification-endpoints", new),
                                   ("PATCH", path, {"enabled": False}), ("DELETE", path, None),
                                   ("POST", path + "/rotate-secret", None),
                                   ("POST", path + "/test", None),
                                   ("PUT", "/notification-settings",
                                    {"creditsLowThreshold": None})):
            self.refused(self.account.send(method, more, body, member), 403, "auth.role_missing")
        self.refused(self.account.send("GET", "/notification-endpoints",
                                       session=self.account.key), 403, "auth.human_required")
        stranger = Account(self.gateway, f"stranger{self.names}")
        self.refused(self.account.send("GET", "/notification-endpoints",
                                       session=stranger.owner), 403, "account.forbidden")
        self.refused(stranger.send("PATCH", path, {"enabled": False}), 404,
                     "notification.endpoint_not_found")
        self.assertEqual(self.account.send("DELETE", path).status, 204)
        self.assertEqual(self.account.endpoints(), [])

    def test_bodies_are_strict(self):
        for body in ({}, {"url": 1}, {"url": "https://a.example", "more": 1},
                     {"url": "https://a.example", "eventTypes": []},
                     {"url": "https://a.example", "eventTypes": ["purchase"]},
                     {"url": "https://a.example", "enabled": "yes"}):
            self.refused(self.account.send("POST", "/notification-endpoints", body), 400,
                         "request.body_rejected")
        for url in ("http://example.com/", "ftp://a.example/", "https://a.example/#f",
                    "https://u:p@a.example/", "a.example"):
            self.refused(self.account.send("POST", "/notification-endpoints", {"url": url}), 400,
                         "notification.endpoint_invalid")
        self.refused(self.account.send("GET", "/notification-deliveries?after=x"), 400,
                     "request.query_rejected")
        for _ in range(10):
            self.account.endpoint(self.receiver.url)
        self.refused(self.account.send("POST", "/notification-endpoints",
                                       {"url": self.receiver.url}), 409,
                     "notification.too_many_endpoints")

    def test_deliveries_come_in_pages(self):
        for _ in range(3):
            self.account.endpoint(self.receiver.url)
        self.account.buy("one")
        self.receiver.wait_for(3)  # sent once the purchase is credited
        first = self.account.deliveries("?limit=2")
        second = self.account.deliveries("?limit=2&after=" + first["nextCursor"])
        self.assertIsNone(second["nextCursor"])
        ids = [one["deliveryId"] for one in first["items"] + second["items"]]
        self.assertEqual(len(set(ids)), 3)

    # ---- the page

    def test_the_page_does_all_without_a_script(self):
        browser = Browser(self.gateway)
        browser.sign_in(self.account.links[f"owner{self.names}"])
        passkey = Passkey()
        self.addCleanup(passkey.close)
        browser.enrol(passkey)
        page = f"/dashboard/{self.account.id}/notifications"
        self.assertIn(b"There are none", browser.send("GET", page).body)
        refused = browser.submit(page + "/endpoints", url="http://example.com/x", description="d")
        self.assertEqual(refused.status, 400)
        self.assertIn(b"http://example.com/x", refused.body)
        made = browser.submit(page + "/endpoints", url=self.receiver.url + "/page",
                              description="mine", **{"purchase.credited": "yes"})
        self.assertEqual(made.status, 201, made.body)
        self.assertIn(b"whsec_", made.body)
        (endpoint,) = self.account.endpoints()
        self.assertEqual(endpoint["eventTypes"], ["purchase.credited"])
        form = f"{page}/endpoints/{endpoint['endpointId']}"
        shown = browser.send("GET", page).body
        self.assertIn(endpoint["endpointId"].encode(), shown)
        self.assertNotIn(b"whsec_", shown)
        self.assertEqual(browser.submit(form + "/test").status, 303)
        self.receiver.wait_for(1)
        delivery = self.until_state("delivered")
        self.assertIn(b"answered 204", browser.send("GET", page).body)
        self.assertEqual(browser.submit(
            f"{page}/deliveries/{delivery['deliveryId']}/retry").status, 303)
        self.receiver.wait_for(2)
        self.assertIn(b"whsec_", browser.submit(form + "/rotate-secret").body)
        self.assertEqual(browser.submit(page + "/threshold", threshold="x").status, 400)
        self.assertEqual(browser.submit(page + "/threshold", threshold="500").status, 303)
        self.assertIn(b'value="500"', browser.send("GET", page).body)
        self.assertEqual(browser.submit(form + "/enabled", enabled="no").status, 303)
        self.assertEqual(self.account.endpoints()[0]["disabledReason"], "by_member")
        self.assertEqual(browser.submit(form + "/remove").status, 303)
        self.assertEqual(self.account.endpoints(), [])

    # ---- secrets

    def test_no_secret_is_in_a_log(self):
        made = self.account.endpoint(self.receiver.url + "/t0ken-of-mine")
        rotated = self.account.send(
            "POST", f"/notification-endpoints/{made['endpointId']}/rotate-secret").json()
        self.receiver.answers = [410]
        self.account.buy("one")
        self.until_state("failed")
        log = until(lambda: "notification_endpoint_disabled" in self.gateway.log_text() and
                    self.gateway.log_text(), "it was not disabled")
        for secret in (made["secret"], rotated["secret"]):
            self.assertNotIn(secret, log)
            self.assertNotIn(secret.removeprefix("whsec_"), log)
        self.assertNotIn("t0ken-of-mine", log)


class NotificationsOnPostgres(OnPostgres, Notifications):
    """The same on PostgreSQL."""


class Addresses(unittest.TestCase):
    def test_private_addresses_are_refused_by_name_and_when_they_are_sent_to(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        gateway = Gateway(settings=SETTINGS)
        self.addCleanup(gateway.close)
        gateway.start()
        account = Account(gateway, "owner")
        made = account.endpoint(receiver.url)
        gateway.stop()
        # The operator no longer allows private addresses: nothing is sent to existing endpoints,
        # and new ones are refused.
        gateway.settings.append("notifications.allow_private_addresses=false")
        gateway.start()
        for url in (receiver.url, "https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/",
                    "https://169.254.169.254/latest/meta-data", "https://localhost/"):
            reply = account.send("POST", "/notification-endpoints", {"url": url})
            self.assertEqual((reply.status, reply.error_code()),
                             (400, "notification.endpoint_invalid"), url)
        account.send("POST", f"/notification-endpoints/{made['endpointId']}/test")
        until(lambda: account.deliveries()["items"][0]["attempts"], "it was not tried")
        (delivery,) = account.deliveries()["items"]
        self.assertIn("not public", delivery["lastProblem"])
        self.assertEqual(receiver.requests, [])

    def test_production_does_not_allow_them(self):
        gateway = Gateway(settings=["environment=production",
                                    "notifications.allow_private_addresses=true"])
        self.addCleanup(gateway.close)
        refused = gateway.run("serve", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("allow_private_addresses", refused.stderr + refused.stdout)


class PricesAndCaps(OnSqlite, unittest.TestCase):
    """Notifications about calls. On SQLite; the class below runs it on PostgreSQL."""

    def setUp(self):
        self.gateway = Gateway(postgres_url=self.postgres_url(), settings=SETTINGS)
        self.addCleanup(self.gateway.close)
        self.registry = self.gateway.directory / "registry"
        shutil.copytree(ROOT / "registry", self.registry)
        self.gateway.settings.append(f"registry.path={self.registry}")
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        self.gateway.directory / "govdata.db"], check=True, capture_output=True)
        self.gateway.start(frozenset({"api", "mcp", "web", "operator"}))
        self.account = Account(self.gateway, "owner", credits=100)
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)

    def call(self):
        return self.gateway.call("GET", "/v1/gateway/govdata/global/v1/daos",
                                 key=self.account.key)

    def told(self, count):
        return [json.loads(request[2]) for request in self.receiver.wait_for(count)]

    def test_a_key_that_may_spend_no_more_is_told_once(self):
        (key,) = self.gateway.run_json("key", "list", "--account", self.account.id)["items"]
        self.gateway.run("key", "cap", "--id", key["id"], "--per-day", "2")
        self.account.endpoint(self.receiver.url, eventTypes=["key.cap_reached", "credits.low"])
        self.assertEqual([self.call().status for _ in range(3)], [200, 200, 429])
        (event,) = self.told(1)
        self.assertEqual(event["type"], "key.cap_reached")
        data = event["data"]
        self.assertEqual((data["billingAccountId"], data["apiKeyId"], data["span"], data["cap"],
                          data["spent"]), (self.account.id, key["id"], "day", "2", "2"))
        # Each scan reports both kinds, so the next one shows that the cap is not reported again.
        self.account.send("PUT", "/notification-settings", {"creditsLowThreshold": "10000"})
        self.assertEqual([each["type"] for each in self.told(2)],
                         ["key.cap_reached", "credits.low"])

    def test_who_used_a_route_is_told_of_its_new_price(self):
        other = Account(self.gateway, "other", credits=100)
        for account in (self.account, other):
            account.endpoint(self.receiver.url, eventTypes=["price.changed"])
        before = self.gateway.balance(self.account.id, self.account.key)
        self.assertEqual(self.call().status, 200)
        path = self.registry / "prices" / "govdata.yaml"
        path.write_text(path.read_text().replace("version: 4", "version: 5")
                        .replace("credit_cost: 1", "credit_cost: 3"))
        self.gateway.run("reload")
        (event,) = self.told(1)
        data = event["data"]
        self.assertEqual((event["type"], data["billingAccountId"], data["moreChanges"]),
                         ("price.changed", self.account.id, 0))
        (change,) = [each for each in data["changes"] if each["path"].endswith("/daos")]
        self.assertEqual((change["method"], change["oldCreditCost"], change["newCreditCost"]),
                         ("GET", "1", "3"))
        self.assertEqual(self.call().status, 200)
        self.assertEqual(self.gateway.balance(self.account.id, self.account.key), before - 1 - 3)
        self.assertEqual(other.deliveries()["items"], [])


class PricesAndCapsOnPostgres(OnPostgres, PricesAndCaps):
    """The same on PostgreSQL."""


class Crashes(unittest.TestCase):
    """Deliveries that a node took and did not finish are sent by the next node."""

    def test_a_killed_node_loses_nothing(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        gateway = Gateway(settings=SETTINGS)
        self.addCleanup(gateway.close)
        gateway.start()
        account = Account(gateway, "owner")
        account.endpoint(receiver.url)
        never = threading.Event()
        self.addCleanup(never.set)
        receiver.answers = [never]
        account.buy("one")
        (cut,) = receiver.wait_for(1)
        gateway.kill()
        gateway.start()
        # This happens once the lease of the killed process is over.
        until(lambda: len(receiver.requests) > 1, "it was not sent again", 2 * SECONDS)
        again = receiver.wait_for(2)[1]
        self.assertEqual(lower(again[1])["webhook-id"], lower(cut[1])["webhook-id"])
        self.assertEqual(again[2], cut[2])
        gateway.stop()

    def test_a_stop_gives_back_what_it_cuts(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        gateway = Gateway(settings=SETTINGS)
        self.addCleanup(gateway.close)
        gateway.start()
        account = Account(gateway, "owner")
        account.endpoint(receiver.url)
        never = threading.Event()
        self.addCleanup(never.set)
        receiver.answers = [never]
        account.buy("one")
        receiver.wait_for(1)
        gateway.stop()
        begun = time.monotonic()
        gateway.start()
        receiver.wait_for(2)
        self.assertLess(time.monotonic() - begun, 30, "the lease was not given back")


class TwoNodes(unittest.TestCase):
    def test_two_nodes_send_each_webhook_once(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        url = postgres.new_database()
        receiver = Receiver()
        self.addCleanup(receiver.close)
        nodes = [Gateway(settings=SETTINGS, postgres_url=url) for _ in range(2)]
        for node in nodes:
            self.addCleanup(node.close)
        nodes[0].run("migrate")
        account = Account(nodes[0], "owner")
        for node in nodes:
            node.start()
        for _ in range(5):
            account.endpoint(receiver.url)
        for number in range(4):
            account.buy(f"key{number}")
        requests = receiver.wait_for(20)
        until(lambda: {one["state"] for one in account.deliveries("?limit=100")["items"]} ==
              {"delivered"}, "not all were delivered")
        self.assertEqual(len(receiver.requests), 20)
        self.assertEqual(len({lower(request[1])["webhook-id"] for request in requests}), 4)


if __name__ == "__main__":
    unittest.main()
