"""The authorization server of the MCP endpoint as its clients see it: registration, consent,
tokens, what they open and what ends them, on both engines. The ids in comments are those of the
checklist in docs/protocols.md, "OAuth"."""

import contextlib
import json
import re
import sqlite3
import threading
import time
import unittest

import mcp
from engines import OnPostgres, OnSqlite
from gateway import ONE_UPSTREAM, Gateway, new_registry
from oauth_client import AT_PORT, CALL, REDIRECT, Client, pkce, query_of
from people import Browser, Passkey
from upstream import Upstream
from waiting import until

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 20000}}
routes:
  - {{path: "/upstream/bytes/{{size}}"}}
"""


class Oauth(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        cls.gateway = Gateway(registry=registry, postgres_url=cls.postgres_url()).start()
        cls.addClassCleanup(cls.gateway.close)

    def setUp(self):
        self.account = self.gateway.run_json("account", "create", "--name", "Acme")["id"]
        self.person, self.browser, self.passkey = self.new_person("owner", "owner")
        self.client = Client(self.gateway)
        answer = self.client.register(client_name=self.id())
        self.assertEqual(answer.status, 201, answer.text)

    def new_person(self, login, role):
        person = self.gateway.run_json(
            "user", "create", "--name", login.title(), "--login",
            self.id().rpartition(".")[2] + "." + login, "--account", self.account, "--role", role)
        browser, passkey = Browser(self.gateway), Passkey()
        self.addCleanup(passkey.close)
        browser.sign_in(person["link"])
        browser.enrol(passkey)
        browser.step_up(passkey)
        return person, browser, passkey

    def request_of(self, challenge, **changes):
        """The request that is passed to the consent page."""
        answer = self.client.authorize(challenge, **changes)
        self.assertEqual(answer.status, 303, answer.text)
        return query_of(answer.headers["Location"])["request"]

    def decide(self, request, decision="approve", browser=None, **fields):
        return (browser or self.browser).submit("/oauth/consent", request=request,
                                                decision=decision,
                                                **{"account": self.account, **fields})

    def grant(self, **fields):
        """Makes a new grant and returns its tokens."""
        verifier, challenge = pkce()
        reply = self.decide(self.request_of(challenge), **fields)
        self.assertEqual(reply.status, 303, reply.body)
        answer = self.client.exchange(query_of(reply.headers["Location"])["code"], verifier)
        self.assertEqual(answer.status, 200, answer.text)
        return answer.json

    def refused(self, answer, error, status=400):
        self.assertEqual((answer.status, answer.json.get("error")), (status, error), answer.text)
        self.assertNotIn("request_id", answer.text)  # O16: RFC bodies, never our envelope

    def ends_within_a_second(self, token):
        until(lambda: not self.client.calls(token), "the token lives on", seconds=1.5)

    def test_the_documents_say_what_is_answered(self):  # O1
        server = self.client.send("GET", "/.well-known/oauth-authorization-server").json
        self.assertEqual(server["issuer"], self.client.issuer)
        self.assertEqual(server["code_challenge_methods_supported"], ["S256"])
        for name in ("registration", "token", "revocation", "authorization"):
            path = server[name + "_endpoint"].removeprefix(self.client.issuer)
            self.assertNotEqual(self.client.send("OPTIONS", path).status, 404, path)
        resource = self.client.send("GET", "/.well-known/oauth-protected-resource").json
        self.assertEqual(resource["resource"], self.client.issuer)
        self.assertEqual(resource["authorization_servers"], [self.client.issuer])
        # The API host takes no OAuth tokens, so it names no authorization server.
        of_api = self.gateway.get("/.well-known/oauth-protected-resource").json()
        self.assertNotIn("authorization_servers", of_api)

    def test_a_call_without_a_credential_says_where_to_begin(self):
        answer = self.client.mcp(None)
        self.assertEqual(answer.status, 401)
        self.assertIn("resource_metadata=\"" + self.client.issuer,
                      answer.headers["WWW-Authenticate"])
        meta = answer.json["result"]["_meta"]["mcp/www_authenticate"]
        self.assertIn("resource_metadata", meta[0])

    def test_a_person_gives_access_and_the_client_spends(self):
        tokens = self.grant()
        self.assertEqual((tokens["token_type"], tokens["expires_in"]), ("Bearer", 3600))
        answer = self.client.mcp(tokens["access_token"])
        self.assertEqual(answer.status, 200, answer.text)
        self.assertEqual(answer.json["result"]["structuredContent"]["credits_charged"], 2)
        balance = self.client.mcp(tokens["access_token"], name="service.account.balance", x=None)
        self.assertEqual(balance.status, 200)
        listed = self.browser.json("GET", "/v1/me/grants")[1]["items"]
        self.assertEqual([one["billingAccountId"] for one in listed], [self.account])
        self.assertEqual(listed[0]["clientHost"], "this computer")

    def test_tokens_open_the_endpoint_of_accounts_alone(self):  # O23
        token = self.grant()["access_token"]
        for path in (CALL, "/v1/auth/context"):
            reply = self.gateway.call("GET", path, key=token)
            self.assertEqual((reply.status, json.loads(reply.body)["error"]["code"]),
                             (401, "auth.credential_invalid"), path)
        at_payments = self.client.mcp(token, path="/x402")
        self.assertEqual(at_payments.status, 403, at_payments.text)
        self.assertEqual(self.browser.send("GET", "/v1/me", headers={
            "Authorization": "Bearer " + token}).status, 403)

    def test_answers_go_where_the_client_registered_alone(self):  # O2, O3
        _, challenge = pkce()
        for changes in ({"client_id": "cli_unknown"}, {"redirect_uri": "https://evil.example/"},
                        {"redirect_uri": "http://127.0.0.1:1/other"},
                        {"redirect_uri": "http://localhost:51234/callback"},
                        {"redirect_uri": None}, {"client_id": None}):
            answer = self.client.authorize(challenge, **changes)
            self.assertEqual(answer.status, 400, changes)
            self.assertNotIn("Location", answer.headers)
            self.assertNotIn("WWW-Authenticate", answer.headers)
            self.assertIn("text/html", answer.headers["Content-Type"])

    def test_a_request_that_the_client_can_mend_goes_back_to_it(self):  # O2, O6, O9, O11
        _, challenge = pkce()
        for changes, error in (({"response_type": "token"}, "unsupported_response_type"),
                               ({"code_challenge": None}, "invalid_request"),
                               ({"code_challenge_method": "plain"}, "invalid_request"),
                               ({"code_challenge_method": None}, "invalid_request"),
                               ({"response_mode": "fragment"}, "invalid_request"),
                               ({"resource": "https://other.example"}, "invalid_target")):
            answer = self.client.authorize(challenge, **changes)
            self.assertEqual(answer.status, 303, changes)
            self.assertTrue(answer.headers["Location"].startswith(AT_PORT + "?"))
            back = query_of(answer.headers["Location"])
            self.assertEqual((back["error"], back["state"], back["iss"]),
                             (error, "s t/1", self.client.issuer))
        for resource in (None, self.client.issuer + "/"):
            self.assertIn("/oauth/consent?", self.client.authorize(
                challenge, resource=resource).headers["Location"])
        twice = self.client.send("GET", "/oauth/authorize?state=1&state=2")  # O15
        self.assertEqual(twice.status, 400)

    def test_the_port_of_this_machine_is_the_clients_own(self):  # O3
        _, challenge = pkce()
        self.client.register(client_name=self.id() + "2", redirect_uris=[
            REDIRECT, "http://[::1]/cb", "https://app.example/cb"])
        for asked in (REDIRECT, "http://127.0.0.1:1/callback", "http://[::1]:65535/cb",
                      "https://app.example/cb"):
            answer = self.client.authorize(challenge, redirect_uri=asked)
            self.assertEqual(answer.status, 303, asked)
        for asked in ("http://127.0.0.1:65536/callback", "http://127.0.0.1:/callback",
                      "http://127.0.0.1:80@evil.example/callback", "http://[::1]:1/callback",
                      "https://app.example:443/cb", "https://app.example/cb?",
                      "HTTP://127.0.0.1/callback", "https://app.example/cb/",
                      "http://127.0.0.1:1/callback#x"):
            self.assertEqual(self.client.authorize(challenge, redirect_uri=asked).status, 400,
                             asked)

    def test_the_person_is_asked_every_time_and_may_say_no(self):  # O12, O13
        _, challenge = pkce()
        request = self.request_of(challenge)
        page = self.browser.send("GET", "/oauth/consent?request=" + request)
        text = page.body.decode()
        self.assertEqual(page.status, 200, text)
        for shown in (self.id(), "this computer", "Acme (1,000 Credits left)", "180 days",
                      "30 days", "cap_per_day"):
            self.assertIn(shown, text)
        self.assertEqual(page.headers["X-Frame-Options"], "DENY")
        self.assertIsNone(page.headers["Access-Control-Allow-Origin"])  # O10
        policy = page.headers["Content-Security-Policy"]
        self.assertIn("frame-ancestors 'none'", policy)
        self.assertNotIn("form-action", policy)
        reply = self.decide(request, "deny")
        back = query_of(reply.headers["Location"])
        self.assertEqual((reply.status, back["error"], back["state"], back["iss"]),
                         (303, "access_denied", "s t/1", self.client.issuer))
        again = self.decide(request, "approve")
        self.assertEqual(again.status, 400)
        self.assertIn("decided already", again.body.decode())

    def test_a_stranger_signs_in_first_and_comes_back(self):
        request = self.request_of(pkce()[1])
        stranger = Browser(self.gateway)
        path = "/oauth/consent?request=" + request
        reply = stranger.send("GET", path)
        self.assertEqual(reply.status, 303)
        self.assertEqual(query_of(reply.headers["Location"])["return_to"], path)
        login = stranger.send("GET", reply.headers["Location"]).body.decode()
        self.assertIn(f'data-next="{path}"', login)

    def test_pages_of_any_origin_may_be_clients_but_none_may_authorize(self):  # O10
        asks = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
        for path, allowed in (("register", "*"), ("token", "*"), ("revoke", "*"),
                              ("authorize", None)):
            answer = self.client.send("OPTIONS", "/oauth/" + path, headers=asks)
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], allowed, path)
            self.assertNotIn("Access-Control-Allow-Credentials", answer.headers)
        here = {"Origin": "https://app.example"}
        for name in ("oauth-authorization-server", "oauth-protected-resource"):
            answer = self.client.send("GET", "/.well-known/" + name, headers=here)
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*", name)
            self.assertNotIn("Access-Control-Allow-Credentials", answer.headers)
        answer = self.client.send("GET", "/oauth/authorize?client_id=x", headers=here)
        self.assertNotIn("Access-Control-Allow-Origin", answer.headers)

    def test_a_request_of_nobody_is_refused(self):
        request = self.request_of(pkce()[1])
        for text in (request[:-2], request + "x", "", "a.b"):
            reply = self.browser.send("GET", "/oauth/consent?request=" + text)
            self.assertEqual(reply.status, 400, text)

    def test_access_takes_an_admin_who_has_just_proved_who_they_are(self):  # O12, S7
        _, member, _ = self.new_person("member", "member")
        request = self.request_of(pkce()[1])
        self.assertIn("nothing to give", member.send(
            "GET", "/oauth/consent?request=" + request).body.decode())
        self.assertEqual(self.decide(request, browser=member).status, 403)
        link = self.gateway.run_json("user", "link", "--person", self.person["id"])["link"]
        enrolling = Browser(self.gateway)
        enrolling.sign_in(link)
        self.assertEqual(self.decide(request, browser=enrolling).status, 403)
        foreign = self.gateway.run_json("account", "create", "--name", "Other")["id"]
        self.assertEqual(self.decide(request, account=foreign).status, 403)
        self.assertEqual(self.decide(request).status, 303)  # no refusal used it up
        without_token = Browser(self.gateway)
        without_token.cookies = dict(self.browser.cookies)
        self.assertEqual(self.decide(self.request_of(pkce()[1]), browser=without_token).status, 403)

    def test_a_code_is_good_once_for_its_client_uri_and_verifier(self):  # O6, O7, O8
        verifier, challenge = pkce()
        code = query_of(self.decide(self.request_of(challenge)).headers["Location"])["code"]
        other = Client(self.gateway)
        other.register(client_name="Other")
        self.refused(other.exchange(code, verifier), "invalid_grant")
        self.refused(self.client.exchange(code, pkce()[0]), "invalid_grant")
        self.refused(self.client.exchange(code, verifier, redirect_uri=REDIRECT), "invalid_grant")
        self.refused(self.client.exchange(code, "short"), "invalid_request")
        self.refused(self.client.exchange(code, verifier, resource="https://other.example"),
                     "invalid_target")
        tokens = self.client.exchange(code, verifier)
        self.assertEqual(tokens.status, 200, tokens.text)
        self.assertEqual(tokens.headers["Cache-Control"], "no-store")  # O16
        self.refused(self.client.exchange(code, verifier), "invalid_grant")
        self.assertEqual(self.client.mcp(tokens.json["access_token"]).status, 200)

    def test_a_refresh_token_is_used_once_and_may_be_repeated_shortly(self):  # O17
        first = self.grant()
        second = self.client.refresh(first["refresh_token"]).json
        self.assertNotEqual(second["refresh_token"], first["refresh_token"])
        again = self.client.refresh(first["refresh_token"]).json
        self.assertEqual(again["refresh_token"], second["refresh_token"])
        for tokens in (second, again):
            self.assertEqual(self.client.mcp(tokens["access_token"]).status, 200)
        third = self.client.refresh(second["refresh_token"]).json
        # The successor was used, so a repeat of the first token means that it was stolen.
        self.refused(self.client.refresh(first["refresh_token"]), "invalid_grant")
        self.refused(self.client.refresh(third["refresh_token"]), "invalid_grant")
        self.ends_within_a_second(third["access_token"])

    def test_many_refreshes_at_once_have_one_successor(self):  # O17
        token = self.grant()["refresh_token"]
        successors, threads = [], []
        for _ in range(8):
            threads.append(threading.Thread(target=lambda: successors.append(
                self.client.refresh(token).json["refresh_token"])))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(successors), len(set(successors))), (8, 1))

    def test_one_of_many_exchanges_a_code(self):  # O7
        verifier, challenge = pkce()
        code = query_of(self.decide(self.request_of(challenge)).headers["Location"])["code"]
        statuses, threads = [], []
        for _ in range(8):
            threads.append(threading.Thread(target=lambda: statuses.append(
                self.client.exchange(code, verifier).status)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [200] + [400] * 7)

    def test_a_client_ends_what_it_has(self):  # O21
        tokens = self.grant()
        other = Client(self.gateway)
        other.register(client_name="Other")
        self.assertEqual(other.revoke(tokens["access_token"]).status, 200)
        self.assertEqual(self.client.mcp(tokens["access_token"]).status, 200)
        self.assertEqual(self.client.revoke("nobody's").status, 200)
        self.assertEqual(self.client.revoke(tokens["access_token"]).status, 200)
        self.ends_within_a_second(tokens["access_token"])
        fresh = self.client.refresh(tokens["refresh_token"]).json
        self.assertEqual(self.client.mcp(fresh["access_token"]).status, 200)
        self.assertEqual(self.client.revoke(fresh["refresh_token"]).status, 200)
        self.ends_within_a_second(fresh["access_token"])
        self.refused(self.client.refresh(fresh["refresh_token"]), "invalid_grant")
        self.refused(self.client.form("/oauth/revoke", client_id=self.client.id), "invalid_request")
        self.refused(self.client.form("/oauth/revoke", token="x", client_id="cli_x"),
                     "invalid_client", 401)

    def test_what_ends_a_grant(self):  # O21, O22
        second, admin, _ = self.new_person("admin", "admin")
        tokens = self.grant()
        grant = self.browser.json("GET", "/v1/me/grants")[1]["items"][0]
        self.assertEqual(self.browser.json("DELETE", "/v1/me/grants/" + grant["id"])[0], 204)
        self.ends_within_a_second(tokens["access_token"])
        self.refused(self.client.refresh(tokens["refresh_token"]), "invalid_grant")

        def grant_of_admin():
            verifier, challenge = pkce()
            reply = self.decide(self.request_of(challenge), browser=admin)
            code = query_of(reply.headers["Location"])["code"]
            return self.client.exchange(code, verifier).json

        tokens = grant_of_admin()
        base = f"/v1/billing-accounts/{self.account}/grants"
        listed = self.browser.json("GET", base)[1]["items"]
        self.assertEqual([one["userId"] for one in listed], [second["id"]])
        self.assertEqual(self.browser.json("DELETE", f"{base}/{listed[0]['id']}")[0], 204)
        self.ends_within_a_second(tokens["access_token"])
        tokens = grant_of_admin()
        self.gateway.run("member", "set", "--account", self.account, "--person", second["id"],
                         "--role", "member")
        self.ends_within_a_second(tokens["access_token"])
        self.gateway.run("member", "set", "--account", self.account, "--person", second["id"],
                         "--role", "admin")
        tokens = grant_of_admin()
        self.assertEqual(self.client.mcp(tokens["access_token"]).status, 200)
        self.gateway.run("account", "suspend", "--id", self.account)
        self.ends_within_a_second(tokens["access_token"])
        self.gateway.run("account", "resume", "--id", self.account)
        self.gateway.run("user", "disable", "--person", second["id"])
        self.ends_within_a_second(tokens["access_token"])
        self.refused(self.client.refresh(tokens["refresh_token"]), "invalid_grant")

    def test_a_cap_holds_for_a_grant(self):
        tokens = self.grant(cap_per_day="4")
        for _ in range(2):
            self.assertEqual(self.client.mcp(tokens["access_token"]).status, 200)
        text = self.client.mcp(tokens["access_token"]).text
        self.assertIn("billing.key_cap_reached", text)
        grant = self.browser.json("GET", "/v1/me/grants")[1]["items"][0]
        self.assertEqual(grant["caps"], {"perDay": "4", "perMonth": None})
        status, changed = self.browser.json("PATCH", "/v1/me/grants/" + grant["id"],
                                            {"caps": {"perDay": "6", "perMonth": None}})
        self.assertEqual((status, changed["caps"]["perDay"]), (200, "6"))

    def test_registration_is_idempotent_and_refuses_what_it_must(self):  # O4, O24, O26
        again = Client(self.gateway)
        self.assertEqual(again.register(client_name=self.id()).json["client_id"], self.client.id)
        self.assertNotIn("client_secret", again.register().text)
        for uris in (["http://evil.example/cb"], ["javascript:alert(1)"], [], ["https://a/#x"],
                     ["https://u@a.example/"]):
            self.refused(again.register(redirect_uris=uris), "invalid_redirect_uri")
        self.refused(again.register(client_name=7), "invalid_client_metadata")
        self.refused(again.register(grant_types=["client_credentials"]), "invalid_client_metadata")
        self.assertEqual(again.register(redirect_uris=["cursor://anysphere/cb"]).status, 201)

    def test_what_a_client_does_wrong_is_told_as_rfc_6749_says(self):  # O14, O15, O16, O19
        self.refused(self.client.form("/oauth/token", grant_type="password", username="a"),
                     "unsupported_grant_type")
        self.refused(self.client.form("/oauth/token"), "invalid_request")
        self.refused(self.client.refresh("turnpike_rt_v1_dev_x"), "invalid_grant")
        self.refused(self.client.form("/oauth/token", grant_type="refresh_token",
                                      refresh_token="x", client_id="cli_gone"),
                     "invalid_client", 401)
        gone = self.client.form("/oauth/revoke", token="x", client_id="cli_gone")
        self.assertNotIn("WWW-Authenticate", gone.headers)
        twice = self.client.send("POST", "/oauth/token", "grant_type=a&grant_type=b",
                                 {"Content-Type": "application/x-www-form-urlencoded"})
        self.refused(twice, "invalid_request")
        as_json = self.client.send("POST", "/oauth/token", "{}",
                                   {"Content-Type": "application/json"})
        self.assertEqual(as_json.status, 415)
        self.assertEqual(as_json.json["error"], "invalid_request")
        self.assertEqual(self.client.send("GET", "/oauth/token").status, 405)
        for grant_type in ("client_credentials", "implicit",
                           "urn:ietf:params:oauth:grant-type:device_code"):
            self.refused(self.client.form("/oauth/token", grant_type=grant_type),
                         "unsupported_grant_type")
        # A query must not carry secrets, because proxies would log it.
        self.refused(self.client.form("/oauth/token?code=x", grant_type="authorization_code"),
                     "invalid_request")
        odd = self.client.send("POST", "/oauth/token", "%22%5c%c3%a9=1&%22%5c%c3%a9=2",
                               {"Content-Type": "application/x-www-form-urlencoded"})
        self.refused(odd, "invalid_request")
        allowed = set(range(0x20, 0x7F)) - {0x22, 0x5C}
        self.assertLessEqual(set(map(ord, odd.json["error_description"])), allowed, odd.text)
        for answer in (twice, as_json, odd):
            self.assertEqual(answer.headers["Cache-Control"], "no-store")

    def test_no_id_is_that_of_another_kind(self):  # O26
        tokens = self.grant()
        [grant] = self.browser.json("GET", "/v1/me/grants")[1]["items"]
        begins = {"cli_": self.client.id, "ogr_": grant["id"], "usr_": self.person["id"],
                  "acc_": self.account, "turnpike_at_v1_": tokens["access_token"],
                  "turnpike_rt_v1_": tokens["refresh_token"]}
        for begin, made in begins.items():
            self.assertTrue(made.startswith(begin), made)
        # None is accepted where another kind is wanted, although all have one form.
        self.refused(self.client.refresh(tokens["access_token"]), "invalid_grant")
        self.refused(self.client.exchange(tokens["refresh_token"], pkce()[0]), "invalid_grant")
        self.assertEqual(self.client.mcp(tokens["refresh_token"]).status, 401)
        self.assertEqual(self.client.mcp(tokens["refresh_token"].replace("_rt_", "_at_")).status,
                         401)  # O20

    def test_pages_of_the_account_name_the_program_that_called(self):
        token = self.grant()["access_token"]
        self.assertTrue(self.client.calls(token))
        [grant] = self.browser.json("GET", "/v1/me/grants")[1]["items"]
        base = "/dashboard/" + self.account

        def page(path):
            reply = self.browser.send("GET", base + path)
            self.assertEqual(reply.status, 200, reply.body)
            return reply.body.decode()

        call = re.search(base + r"/calls/([0-9a-f-]{36})", page(""))[1]
        paths = ("", "/calls", "/calls/" + call, "/usage", "/calls?api_key_id=" + grant["id"])
        for path in paths:
            self.assertIn(self.id(), page(path), path)
            self.assertIn(grant["id"], page(path), path)
        # The client is still named as the caller after it has lost access.
        status, _ = self.browser.json("DELETE", "/v1/me/grants/" + grant["id"])
        self.assertEqual(status, 204)
        for path in paths:
            self.assertIn(self.id(), page(path), path)

    def test_the_official_clients_complete_it_unattended(self):
        person = {"cookie": "; ".join("=".join(one) for one in self.browser.cookies.items()),
                  "csrf": self.browser.page_token, "account": self.account}
        for sdk, era in ((1, "legacy"), (2, "legacy"), (2, "modern")):
            with self.subTest(sdk=sdk, era=era):
                client = mcp.Client(sdk=sdk, era=era)
                self.addCleanup(client.close)
                client.command("connect", url=self.client.issuer, headers={}, person=person)
                called = client.call("service.route.execute", method="GET", path=CALL)
                self.assertEqual(called["structuredContent"]["credits_charged"], 2)
        names = {one["clientName"] for one in self.browser.json("GET", "/v1/me/grants")[1]["items"]}
        self.assertEqual(names, {"official client"})

    def test_grants_are_audited_without_their_secrets(self):  # O27
        tokens = self.grant()
        listed = self.gateway.run_json("audit", "list", "--account", self.account)
        text = json.dumps(listed)
        self.assertIn("grant.create", text)
        self.client.refresh(tokens["refresh_token"])
        for secret in (tokens["access_token"], tokens["refresh_token"]):
            self.assertNotIn(secret, text)
            self.assertNotIn(secret[24:], self.gateway.log_text())


class Ceilings(unittest.TestCase):
    """Each test has its own gateway, because registrations of other tests would count."""

    def test_a_source_registers_so_many_clients_in_an_hour(self):  # O24
        gateway = Gateway().start({"mcp"})
        self.addCleanup(gateway.close)
        client = Client(gateway)
        first = client.register(client_name="0").json["client_id"]
        for at in range(1, 121):  # 60 an hour, and at most two windows
            answer = client.register(client_name=str(at))
            if answer.status != 201:
                break
        self.assertEqual(answer.status, 429, answer.text)
        self.assertGreaterEqual(at, 60)
        self.assertIn(int(answer.headers["Retry-After"]), range(1, 3601))
        self.assertEqual(answer.json["error"], "temporarily_unavailable")
        # A known client is not a new one.
        self.assertEqual(client.register(client_name="0").json["client_id"], first)
        too_long = client.register(client_name="x", padding="x" * 16_384)
        self.assertEqual(too_long.status, 413)
        self.assertEqual(too_long.json["error"], "invalid_request")

    def test_of_too_many_clients_that_nobody_decided_about_the_oldest_goes(self):  # O24
        gateway = Gateway().start({"mcp"})
        self.addCleanup(gateway.close)
        now_ms = int(time.time() * 1000)
        rows = [(f"cli_unused{at}", now_ms - 20_000 + at, -1) for at in range(10_000)]
        rows.append(("cli_granted", 1, now_ms))
        path = gateway.directory / "turnpike.db"
        with contextlib.closing(sqlite3.connect(path, timeout=20)) as database, database:
            database.executemany(
                "INSERT INTO oauth_client (id, name, uri, redirect_uris, created_at, last_used_at)"
                " VALUES (?, '', '', '[]', ?, ?)", rows)
        new = Client(gateway).register(client_name="new").json["client_id"]
        with contextlib.closing(sqlite3.connect(path, timeout=20)) as database:
            left = {row[0] for row in database.execute("SELECT id FROM oauth_client")}
        self.assertEqual(left, {row[0] for row in rows[1:]} | {new})


class OauthOnPostgres(OnPostgres, Oauth):
    """The same on PostgreSQL."""


if __name__ == "__main__":
    unittest.main()
