"""Sign-in with an identity of another provider: against a certified provider, and against one that
lies. No browser is needed: people.py and idp.py send what a browser would."""

import json
import re
import sqlite3
import threading
import unittest

import idp
from engines import OnPostgres, OnSqlite
from gateway import Gateway, new_directory
from oauth_client import query_of
from people import Browser, Passkey
from walks import walk


def configuration(test, providers):
    path = new_directory(test) / "turnpike.yaml"
    path.write_text(json.dumps({"identity": {"providers": providers}}))
    return path


def code_of(reply):
    """The error code on a page that refuses, or None."""
    found = re.search(rb'<p class="quiet">([a-z._]+), request', reply.body)
    return found and found.group(1).decode()


class Person(Browser):
    """A browser that visits providers."""

    def leave(self, key, return_to=None, **headers):
        """The reply to a click on a provider's button."""
        query = "" if return_to is None else "?return_to=" + idp.urllib.parse.quote(return_to, "")
        return self.send("GET", f"/login/oidc/{key}{query}",
                         headers={"Sec-Fetch-Site": "same-origin", **headers})

    def submit_to(self, path, **fields):
        """The URL to which a form leads by way of a handover page."""
        reply = self.submit(path, **fields)
        assert reply.status == 200, reply.body
        return idp.next_url(reply.body)

    def come_back(self, url):
        assert url.startswith(self.origin), url
        return self.send("GET", idp.path_of(url), headers={"Sec-Fetch-Site": "cross-site"})

    def is_signed_in(self):
        return "turnpike_session" in self.cookies

    def me(self):
        status, me = self.json("GET", "/v1/me")
        assert status == 200, me
        self.page_token = me["csrfToken"]
        return me


class ByACertifiedProvider(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.provider = idp.Certified()
        cls.addClassCleanup(cls.provider.close)
        common = {"issuer": cls.provider.issuer, "create_people": True}
        clients = {
            "basic": {"client_secret": "a secret: of basic/?&"},
            "post": {"client_secret": "a secret of post"},
            "public": {},
            "pss": {},
            "ec": {"counts_as_strong": True},
            "closed": {"create_people": False},
            "domains": {"allowed_domains": ["Acme.example"]},
        }
        providers = [{"key": key, "name": key.title(), "client_id": "client " + key, **common,
                      **more} for key, more in clients.items()]
        cls.gateway = Gateway(
            config=configuration(cls, providers), settings=["log.level=info"],
            postgres_url=cls.postgres_url()).start(wanted={"api", "web"})
        cls.addClassCleanup(cls.gateway.close)
        origin = Browser(cls.gateway).origin
        methods = {"basic": "client_secret_basic", "post": "client_secret_post"}
        algorithms = {"pss": "PS256", "ec": "ES256"}
        cls.provider.configure([
            {"client_id": "client " + key,
             "redirect_uris": [f"{origin}/login/oidc/{key}/callback"],
             "token_endpoint_auth_method": methods.get(key, "none"),
             "id_token_signed_response_alg": algorithms.get(key, "RS256"),
             **({"client_secret": more["client_secret"]} if "client_secret" in more else {})}
            for key, more in clients.items()])

    def setUp(self):
        self.provider.become("ann")
        self.jar = {}  # the browser's cookies at the provider

    def sign_in(self, key, return_to=None, person=None):
        person = person or Person(self.gateway)
        left = person.leave(key, return_to)
        self.assertEqual(left.status, 303, left.body)
        back = self.provider.visit(left.headers["Location"], self.jar)
        return person, person.come_back(back)

    def linked(self, key, link):
        """A new person who signed in with a link and then linked the identity."""
        person = Person(self.gateway)
        person.sign_in(link)
        url = person.submit_to("/account/external-identities/link", provider=key)
        reply = person.come_back(self.provider.visit(url, self.jar))
        self.assertEqual(reply.status, 303, reply.body)
        return person

    def new_link(self, login):
        return self.gateway.run_json("user", "create", "--name", login, "--login",
                                     self.id().rpartition(".")[2] + login)["link"]

    def test_whoever_comes_first_becomes_a_person_and_stays_the_same(self):  # S21
        ids = set()
        for key in ("basic", "post", "public", "pss", "ec", "basic"):
            person, reply = self.sign_in(key)
            self.assertEqual((reply.status, reply.headers["Location"]), (303, "/account"))
            me = person.me()
            self.assertEqual(me["session"]["method"], "oidc")
            self.assertEqual(me["name"], "Ann")
            # A sign-in is no fresh proof; only the operator says that a provider uses two factors.
            self.assertIsNone(me["session"]["stepUpUntil"])  # S22
            self.assertEqual(me["session"]["strength"], "multi" if key == "ec" else "single")
            self.assertFalse(me["emailVerified"])
            ids.add(me["id"])
        self.assertEqual(len(ids), 1)
        status, listed = person.json("GET", "/v1/me/external-identities")
        self.assertEqual(status, 200)
        self.assertEqual([(one["provider"], one["providerName"], one["issuer"], one["email"])
                          for one in listed["items"]],
                         [("basic", "Basic", self.provider.issuer, "ann@acme.example")])
        shown = self.gateway.run_json("user", "show", "--person", ids.pop())
        self.assertEqual((shown["passkeys"], shown["externalIdentities"]), (0, 1))

    def test_a_sign_in_leads_to_known_pages_alone(self):  # S12
        for asked, led in (("/dashboard/acc_1", "/dashboard/acc_1"),
                           ("https://evil.example/", None),
                           ("//evil.example", None), ("/v1/sign-out", None)):
            reply = self.sign_in("public", asked)[1]
            self.assertEqual(reply.headers["Location"], led or "/account")

    def test_only_the_user_begins_it(self):  # S13
        for site in ("cross-site", "same-site"):
            person = Person(self.gateway)
            reply = person.leave("public", "/account", **{"Sec-Fetch-Site": site})
            self.assertEqual((reply.status, reply.headers["Location"]),
                             (303, "/login?return_to=%2Faccount"))
            self.assertEqual(person.cookies, {})

    def test_nobody_is_made_where_the_provider_may_not(self):
        self.provider.become("stranger")
        person, reply = self.sign_in("closed")
        self.assertEqual((reply.status, code_of(reply)), (403, "auth.registration_closed"))
        self.assertIn(b"link the identity on your page", reply.body)
        self.assertFalse(person.is_signed_in())

    def test_new_people_are_of_allowed_domains_by_a_verified_address(self):
        for account in ("other-eve", "unverified-eve"):
            self.provider.become(account)
            self.jar = {}
            person, reply = self.sign_in("domains")
            self.assertEqual((reply.status, code_of(reply)), (403, "auth.registration_closed"))
            self.assertFalse(person.is_signed_in())
        self.provider.become("ann")
        self.jar = {}
        self.assertTrue(self.sign_in("domains")[0].is_signed_in())

    def test_who_does_not_agree_is_told_so(self):
        self.provider.become("nobody")
        person, reply = self.sign_in("public")
        self.assertEqual((reply.status, code_of(reply)), (401, "auth.sign_in_failed"))
        self.assertIn(b"you did not agree", reply.body)
        self.assertFalse(person.is_signed_in())

    def test_an_identity_is_linked_used_and_unlinked_but_for_the_last(self):  # S2, S6
        self.provider.become("bob")
        person = self.linked("closed", self.new_link("bob"))
        me = person.me()
        self.assertEqual((me["session"]["method"], me["session"]["strength"]), ("oidc", "single"))
        again = self.sign_in("closed")[0]
        self.assertEqual(again.me()["id"], me["id"])
        # The identity belongs to that person and to nobody else.
        other = Person(self.gateway)
        other.sign_in(self.new_link("other"))
        url = other.submit_to("/account/external-identities/link", provider="closed")
        reply = other.come_back(self.provider.visit(url, self.jar))
        self.assertEqual((reply.status, code_of(reply)), (409, "identity.already_linked"))
        # Linking and unlinking need a fresh proof.
        identity = again.json("GET", "/v1/me/external-identities")[1]["items"][0]["id"]
        path = "/v1/me/external-identities/" + identity
        self.assertEqual(again.json("DELETE", path)[0], 403)
        reply = again.submit("/account/external-identities/link", provider="closed")
        self.assertEqual((reply.status, code_of(reply)), (403, "auth.step_up_required"))
        # S22: the provider gives a fresh proof.
        before = again.cookies["turnpike_session"]
        url = again.submit_to("/account/step-up/oidc", provider="closed", return_to="/account")
        self.assertEqual(query_of(url)["max_age"], "0")
        reply = again.come_back(self.provider.visit(url, self.jar))
        self.assertEqual((reply.status, reply.headers["Location"]), (303, "/account"))
        self.assertNotEqual(again.cookies["turnpike_session"], before)
        self.assertIsNotNone(again.me()["session"]["stepUpUntil"])
        status, answer = again.json("DELETE", path)
        self.assertEqual((status, answer["error"]["code"]), (409, "identity.last_credential"))
        passkey = Passkey()
        self.addCleanup(passkey.close)
        again.enrol(passkey)
        again.me()
        before = again.cookies["turnpike_session"]
        self.assertEqual(again.json("DELETE", path)[0], 204)
        self.assertNotEqual(again.cookies["turnpike_session"], before)
        self.assertEqual(again.json("GET", "/v1/me/external-identities")[1], {"items": []})
        self.assertEqual(code_of(self.sign_in("closed")[1]), "auth.registration_closed")

    def test_a_step_up_by_somebody_elses_identity_is_none(self):  # S22
        self.provider.become("fay")
        person = self.sign_in("public")[0]
        person.me()
        url = person.submit_to("/account/step-up/oidc", provider="public", return_to="/account")
        self.provider.become("gil")
        reply = person.come_back(self.provider.visit(url, {}))
        self.assertEqual((reply.status, code_of(reply)), (401, "auth.sign_in_failed"))
        self.assertIsNone(person.me()["session"]["stepUpUntil"])

    def test_the_pages_show_what_can_be_done(self):
        login = Person(self.gateway).send("GET", "/login?return_to=/dashboard/acc_1").body.decode()
        self.assertIn('href="/login/oidc/basic?return_to=%2Fdashboard%2Facc_1"', login)
        self.assertIn("Sign in with Basic", login)
        person = self.sign_in("public")[0]
        page = person.send("GET", "/account").body.decode()
        self.assertIn("Prove it with", page)
        self.assertNotIn("Link Public", page)
        self.assertIn("ann@acme.example", page)
        person.me()
        refused = person.submit("/account/billing-accounts", name="x")
        self.assertEqual(refused.status, 403)
        self.assertIn(b"Prove it with", refused.body)

    def test_in_a_real_browser_with_scripts_and_without(self):
        for scripts in (True, False):
            with self.subTest(scripts=scripts):
                self.provider.become("scripted" if scripts else "scriptless")
                self.browse(scripts)

    def browse(self, scripts):
        steps = {"origin": Browser(self.gateway).origin, "provider": "Public", "scripts": scripts,
                 "looks": scripts and self.looks}
        seen = walk("providers.mjs", steps)
        self.assertEqual(seen["axe"] + seen["sideways"], [])
        self.assertIn("You are its owner", seen["account"])
        self.assertIn("identity.already_linked", seen["linkedTwice"])
        self.assertIn("identity.last_credential", seen["lastCredential"])


class ByACertifiedProviderOnPostgres(OnPostgres, ByACertifiedProvider):
    """The same on PostgreSQL."""


class ByALiar(unittest.TestCase):
    """Lies of a provider, none of which begins a session."""

    NAMES = ("honest", "other", "sends_iss", "wrong_issuer", "no_basic", "http_elsewhere",
             "huge_metadata", "huge_keys", "huge_token", "moved_metadata", "moved_keys",
             "moved_token", "slow_keys", "late_keys", "no_keys", "text", "public", "dead")

    @classmethod
    def setUpClass(cls):
        cls.liar = idp.Liar()
        cls.addClassCleanup(cls.liar.close)
        providers = [{"key": name.replace("_", "-"), "name": name, "issuer": cls.liar.issuer(name),
                      "client_id": "us", "create_people": True} for name in cls.NAMES]
        providers[cls.NAMES.index("no_basic")]["client_secret"] = "s"
        providers[cls.NAMES.index("dead")]["issuer"] = "http://127.0.0.1:1"
        cls.gateway = Gateway(config=configuration(cls, providers),
                              settings=["log.level=info"]).start(wanted={"api", "web"})
        cls.addClassCleanup(cls.gateway.close)

    def forget_tries(self):
        """Clears the throttle, so that the failures of one test do not delay another."""
        with sqlite3.connect(self.gateway.directory / "turnpike.db", timeout=30) as database:
            database.execute("DELETE FROM throttle")

    def setUp(self):
        self.forget_tries()

    def begin(self, name):
        person = Person(self.gateway)
        reply = person.leave(name.replace("_", "-"))
        if reply.status != 303:
            return person, reply, None
        query = query_of(reply.headers["Location"])
        self.liar.nonce = query["nonce"]
        return person, reply, query

    def callback(self, person, name, state, **more):
        query = idp.urllib.parse.urlencode({"code": "c", "state": state, **more})
        return person.come_back(
            f"{person.origin}/login/oidc/{name.replace('_', '-')}/callback?{query}")

    def try_it(self, name="honest", **more):
        person, reply, query = self.begin(name)
        if query is not None:
            reply = self.callback(person, name, query["state"], **more)
        return person, reply

    def refuse(self, reply, person, status, code):
        self.assertEqual((reply.status, code_of(reply)), (status, code), reply.body)
        self.assertFalse(person.is_signed_in())

    def test_the_truth_is_taken(self):
        person, reply = self.try_it()
        self.assertEqual(reply.status, 303, reply.body)
        self.assertTrue(person.is_signed_in())
        self.assertNotIn("turnpike_provider", person.cookies)
        form = self.liar.forms[-1]
        self.assertEqual(form["grant_type"], "authorization_code")
        self.assertEqual(len(form["code_verifier"]), 43)

    def test_tokens_that_lie(self):  # S21
        claims, sign = self.liar.claims, self.liar.sign

        def now(name):
            return claims("honest")[name]
        lies = {
            "iss": lambda: sign(claims("honest", iss=self.liar.issuer("other"))),
            "iss with a slash": lambda: sign(
                claims("honest", iss=self.liar.issuer("honest") + "/")),
            "aud": lambda: sign(claims("honest", aud="them")),
            "aud of several": lambda: sign(claims("honest", aud=["them", "us"])),
            "azp": lambda: sign(claims("honest", aud=["them", "us"], azp="them")),
            "nonce": lambda: sign(claims("honest", nonce="another")),
            "no nonce": lambda: sign({**claims("honest"), "nonce": None}),
            "exp": lambda: sign(claims("honest", exp=now("iat") - 60)),
            "iat": lambda: sign(claims("honest", iat=now("iat") + 600)),
            "no exp": lambda: sign({**claims("honest"), "exp": "soon"}),
            "sub": lambda: sign(claims("honest", sub="")),
            "long sub": lambda: sign(claims("honest", sub="s" * 256)),
            "none": lambda: sign(claims("honest"), alg="none"),
            "HS256": lambda: sign(claims("honest"), alg="HS256"),
            "another key": lambda: sign(claims("honest"), key="unknown", kid="known"),
            "unknown kid": lambda: sign(claims("honest"), key="unknown"),
            "tampered": lambda: sign(claims("honest"))[:-8] + "AAAAAAAA",
            "no token": lambda: "no.token",
            "nested": lambda: idp.base64url(b'{"alg":"RS256","x":' + b"[" * 2000 + b"]" * 2000 +
                                            b"}") + ".e30.AAAA",
        }
        for name, lie in lies.items():
            with self.subTest(name):
                self.forget_tries()
                self.liar.tokens["honest"] = lie
                person, reply = self.try_it()
                self.refuse(reply, person, 401, "auth.sign_in_failed")
        del self.liar.tokens["honest"]

    def test_a_step_up_needs_the_time_of_a_fresh_proof(self):  # S22
        person = self.try_it()[0]
        for more, is_taken in (({}, False), ({"auth_time": 1}, False),
                               ({"auth_time": "now"}, False),
                               ({"auth_time": self.liar.claims("honest")["iat"]}, True)):
            with self.subTest(str(more)):
                self.forget_tries()
                person.me()
                url = person.submit_to("/account/step-up/oidc", provider="honest")
                self.liar.nonce = query_of(url)["nonce"]
                self.liar.tokens["honest"] = lambda: self.liar.sign(
                    self.liar.claims("honest", **more))
                reply = self.callback(person, "honest", query_of(url)["state"])
                del self.liar.tokens["honest"]
                self.assertEqual(reply.status, 303 if is_taken else 401, reply.body)
                self.assertEqual(person.me()["session"]["stepUpUntil"] is not None, is_taken)

    def test_states_that_are_not_this_browsers(self):  # S20
        person, _, query = self.begin("honest")
        other = self.begin("honest")[0]
        state = query["state"]
        before = len(self.liar.forms)
        # States of another browser, of another provider, changed, and made up; then no cookie.
        self.refuse(self.callback(other, "honest", state), other, 400, "auth.ceremony_ended")
        self.refuse(self.callback(person, "other", state), person, 400, "auth.ceremony_ended")
        for changed in (state[:-1] + ("A" if state[-1] != "A" else "B"), "p" + state[1:], "", "x"):
            reply = self.callback(person, "honest", changed)
            self.assertIn(reply.status, (400, 401))
            self.assertFalse(person.is_signed_in())
        fresh = Person(self.gateway)
        self.refuse(self.callback(fresh, "honest", state), fresh, 400, "auth.ceremony_ended")
        self.assertEqual(len(self.liar.forms), before)  # no code was sent for any of these
        # The state still works, and works once.
        self.liar.nonce = query["nonce"]
        cookies = dict(person.cookies)
        self.assertEqual(self.callback(person, "honest", state).status, 303)
        again = Person(self.gateway)
        again.cookies = cookies
        self.refuse(self.callback(again, "honest", state), again, 400, "auth.ceremony_ended")

    def test_of_two_callbacks_at_once_one_signs_in(self):  # S20
        person, _, query = self.begin("honest")
        people = [Person(self.gateway) for _ in range(2)]
        statuses = []

        def come(one):
            one.cookies = dict(person.cookies)
            statuses.append(self.callback(one, "honest", query["state"]).status)
        threads = [threading.Thread(target=come, args=(one,)) for one in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [303, 400])
        self.assertEqual(sum(one.is_signed_in() for one in people), 1)

    def test_an_answer_names_its_issuer_where_the_metadata_says_so(self):  # S21, RFC 9207
        self.liar.metadata["sends_iss"] = {"authorization_response_iss_parameter_supported": True}
        for issuer in (None, self.liar.issuer("other")):
            more = {} if issuer is None else {"iss": issuer}
            person, reply = self.try_it("sends_iss", **more)
            self.refuse(reply, person, 401, "auth.sign_in_failed")
        person, reply = self.try_it("sends_iss", iss=self.liar.issuer("sends_iss"))
        self.assertEqual(reply.status, 303, reply.body)
        # Otherwise an issuer is optional, but if it is there, it must be right.
        person, reply = self.try_it(iss=self.liar.issuer("other"))
        self.refuse(reply, person, 401, "auth.sign_in_failed")

    def test_errors_of_the_provider_are_told_without_its_words(self):
        person, reply = self.try_it(error="server_error", error_description="<b>Ask our office</b>")
        self.refuse(reply, person, 401, "auth.sign_in_failed")
        self.assertIn(b"server_error", reply.body)
        self.assertNotIn(b"our office", reply.body)
        person, reply = self.try_it(error="<script>")
        self.refuse(reply, person, 401, "auth.sign_in_failed")
        self.assertNotIn(b"script>.", reply.body)

    def test_metadata_that_cannot_be(self):
        self.liar.metadata["wrong_issuer"] = {"issuer": self.liar.issuer("honest")}
        self.liar.metadata["no_basic"] = {"token_endpoint_auth_methods_supported":
                                          ["private_key_jwt"]}
        self.liar.metadata["http_elsewhere"] = {"token_endpoint": "http://idp.example/token"}
        self.liar.replies["text/metadata"] = (200, {}, b"<html>")
        huge = (200, {}, b'{"a":"' + b"a" * 200_000 + b'"}')
        moved = (302, {"Location": self.liar.issuer("honest") +
                       "/.well-known/openid-configuration"}, b"")
        self.liar.replies["huge_metadata/metadata"] = huge
        self.liar.replies["moved_metadata/metadata"] = moved
        for name in ("wrong_issuer", "no_basic", "http_elsewhere", "text", "huge_metadata",
                     "moved_metadata", "dead"):
            with self.subTest(name):
                person, reply = self.try_it(name)
                self.refuse(reply, person, 503, "auth.unavailable")

    def test_keys_and_tokens_that_cannot_be(self):
        huge = (200, {}, b'{"keys":[],"id_token":"' + b"a" * 200_000 + b'"}')
        for name, document in (("huge_keys", "jwks"), ("huge_token", "token")):
            self.liar.replies[f"{name}/{document}"] = huge
        for name, document in (("moved_keys", "jwks"), ("moved_token", "token")):
            self.liar.replies[f"{name}/{document}"] = (
                307, {"Location": self.liar.issuer("honest") + "/" + document}, b"")
        self.liar.replies["no_keys/jwks"] = (200, {}, b'{"keys":7}')
        for name in ("huge_keys", "huge_token", "moved_keys", "moved_token", "no_keys"):
            with self.subTest(name):
                person, reply = self.try_it(name)
                self.refuse(reply, person, 503, "auth.unavailable")

    def test_slow_keys_are_waited_for_until_a_deadline(self):
        self.liar.replies["slow_keys/jwks"] = lambda: (self.liar.released.wait(), (500, {}, b""))[1]
        person, reply = self.try_it("slow_keys")
        self.refuse(reply, person, 503, "auth.unavailable")
        # Other sign-ins continue meanwhile and afterwards.
        self.assertEqual(self.try_it()[1].status, 303)

    def test_an_unknown_key_is_looked_for_once(self):
        keys = [self.liar.jwks("known")]
        self.liar.replies["late_keys/jwks"] = lambda: (200, {}, json.dumps(keys[0]).encode())
        self.assertEqual(self.try_it("late_keys")[1].status, 303)
        self.liar.tokens["late_keys"] = lambda: self.liar.sign(self.liar.claims("late_keys"),
                                                               key="unknown")
        for _ in range(3):
            self.refuse(*reversed(self.try_it("late_keys")), 401, "auth.sign_in_failed")
        # The keys were fetched just now, so nobody makes the gateway fetch them again within 30 s.
        self.assertEqual(self.liar.asked.count("late_keys/jwks"), 1)
        self.assertEqual(self.liar.asked.count("late_keys/metadata"), 1)

    def test_the_log_tells_reasons_and_no_secrets(self):  # O27 of what comes in
        self.liar.replies["moved_metadata/metadata"] = (302, {"Location": "/"}, b"")
        gateway = Gateway(settings=["log.level=info"], config=configuration(self, [
            {"key": name.replace("_", "-"), "name": name, "issuer": self.liar.issuer(name),
             "client_id": "us", "client_secret": "the secret of us", "create_people": True}
            for name in ("honest", "moved_metadata")])).start(wanted={"api", "web"})
        self.addCleanup(gateway.close)
        person = Person(gateway)
        self.assertEqual(person.leave("moved-metadata").status, 503)
        query = query_of(person.leave("honest").headers["Location"])
        self.liar.nonce = query["nonce"]
        self.assertEqual(self.callback(person, "honest", query["state"], code="the-code").status,
                         303)
        self.assertTrue(self.liar.headers[-1]["Authorization"].startswith("Basic "))
        events = json.dumps(gateway.run_json("audit", "list"))
        gateway.stop()  # writes all lines
        log = gateway.log_text()
        self.assertIn("openid-configuration answered 302", log)
        self.assertIn("/login/oidc/honest/callback", log)
        for secret in (query["state"], query["nonce"], "the-code", "the secret"):
            self.assertNotIn(secret, log + events)

    def test_many_failures_of_one_source_wait(self):  # S15
        # At most two windows of a minute, whenever the test begins.
        statuses = []
        while 429 not in statuses and len(statuses) < 41:
            statuses.append(self.try_it(code="")[1].status)
        self.assertGreaterEqual(statuses.count(401), 20)
        self.assertEqual(statuses[-1], 429)


class Configured(unittest.TestCase):
    def test_every_mistake_is_told_with_its_place(self):
        config = configuration(self, [
            {"key": "Acme!", "name": "", "issuer": "http://idp.example", "client_id": ""},
            {"key": "a", "name": "A", "issuer": "https://a.example/?x", "client_id": "c",
             "allowed_domains": ["@a"], "colour": "red"},
            {"key": "a", "name": "A", "issuer": "http://localhost:1", "client_id": "c",
             "client_secret": {"secret": {"env": "TURNPIKE_TEST_NOT_SET"}}},
            7])
        gateway = Gateway(config=config, settings=["environment=production"])
        self.addCleanup(gateway.close)
        told = gateway.run("check", check=False)
        text = told.stdout + told.stderr
        self.assertNotEqual(told.returncode, 0)
        for place in ("providers[0].key", "providers[0].name", "providers[0].issuer",
                      "providers[0].client_id", "providers[1].issuer",
                      "providers[1].allowed_domains", 'unknown key "colour"', "providers[2].key",
                      "providers[2].issuer", "TURNPIKE_TEST_NOT_SET",
                      "providers[3]: expected a map"):
            self.assertIn(place, text)
        self.assertIn("turnpike.yaml:1:", text)


if __name__ == "__main__":
    unittest.main()
