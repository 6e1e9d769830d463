"""People without a browser: sign-in by link, sessions of both kinds, roles, keys, members,
invitations and the audit log, by HTTP and by command, on both engines. Passkeys need a browser and
are in test_people_browser.py."""

import json
import threading
import unittest

from engines import OnPostgres, OnSqlite
from gateway import ONE_UPSTREAM, Gateway, Postgres, new_registry
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
CALL = "/v1/gateway/test/upstream/bytes/100"


class Program:
    """A Bearer session at the API host."""

    def __init__(self, gateway, token):
        self.gateway, self.token = gateway, token

    def json(self, method, path, document=None):
        body = None if document is None else json.dumps(document).encode()
        headers = [("Content-Type", "application/json")] if body else []
        reply = self.gateway.call(method, path, key=self.token, headers=headers, body=body)
        return reply.status, json.loads(reply.body) if reply.body else None


def code_of(answer):
    return answer["error"]["code"]


class People(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        cls.gateway = Gateway(registry=registry, postgres_url=cls.postgres_url()).start()
        cls.addClassCleanup(cls.gateway.close)

    def new_account(self):
        return self.gateway.run_json("account", "create", "--name", "Acme")["id"]

    def new_person(self, login, account=None, role=None):
        words = ["--account", account, "--role", role] if account else []
        return self.gateway.run_json("user", "create", "--name", login.title(), "--login",
                                     self.id().rpartition(".")[2] + "." + login, *words)

    def program_of(self, person):
        made = self.gateway.run_json("session", "create", "--person", person["id"])
        return Program(self.gateway, made["token"])

    def member(self, account, login, role):
        person = self.new_person(login, account, role)
        return person, self.program_of(person)

    def test_a_link_lets_in_once_and_only_to_enrol(self):  # S18
        account = self.new_account()
        person = self.new_person("ann", account, "owner")
        browser = Browser(self.gateway)
        me = browser.sign_in(person["link"])
        self.assertEqual(me["session"]["strength"], "enrol")
        self.assertEqual([(one["billingAccountId"], one["role"]) for one in me["memberships"]],
                         [(account, "owner")])
        status, answer = browser.json("GET", "/v1/billing-accounts")
        self.assertEqual((status, code_of(answer)), (403, "auth.step_up_required"))
        other = Browser(self.gateway)
        status, answer = other.json("POST", "/v1/sign-in/link",
                                    {"token": person["link"].partition("#")[2]})
        self.assertEqual((status, code_of(answer)), (400, "auth.link_ended"))
        self.assertEqual(other.cookies, {})

    def test_a_new_link_ends_the_one_before(self):
        person = self.new_person("bob")
        self.gateway.run_json("user", "link", "--person", person["login"])
        status, answer = Browser(self.gateway).json(
            "POST", "/v1/sign-in/link", {"token": person["link"].partition("#")[2]})
        self.assertEqual((status, code_of(answer)), (400, "auth.link_ended"))

    def test_one_of_many_uses_a_link(self):
        person = self.new_person("race")
        statuses = []

        def try_it():
            statuses.append(Browser(self.gateway).json(
                "POST", "/v1/sign-in/link", {"token": person["link"].partition("#")[2]})[0])

        threads = [threading.Thread(target=try_it) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [200] + 7 * [400])

    def test_the_cookie_is_what_a_browser_needs_on_http(self):  # S4, S9
        person = self.new_person("cook")
        browser = Browser(self.gateway)
        reply = browser.send("POST", "/v1/sign-in/link",
                             json.dumps({"token": person["link"].partition("#")[2]}))
        cookie = reply.headers["Set-Cookie"]
        self.assertTrue(cookie.startswith("turnpike_session=turnpike_ss_v1_dev_"), cookie)
        for attribute in ("HttpOnly", "SameSite=Lax", "Path=/"):
            self.assertIn(attribute, cookie)
        for attribute in ("Secure", "Domain"):
            self.assertNotIn(attribute, cookie)
        browser.page_token = json.loads(reply.body)["csrfToken"]
        left = browser.send("POST", "/v1/sign-out")
        self.assertEqual(left.status, 204)
        self.assertEqual(left.headers["Clear-Site-Data"], '"cache"')
        self.assertEqual(left.headers["Cache-Control"], "private, no-store")

    def test_behind_https_the_cookie_is_of_this_host_alone(self):  # S9
        gateway = Gateway(settings=["hosts.web.base_url=https://people.example"]).start()
        self.addCleanup(gateway.close)
        person = gateway.run_json("user", "create", "--name", "Ann", "--login", "ann")
        self.assertTrue(person["link"].startswith("https://people.example/login/link#"))
        browser = Browser(gateway)
        browser.origin = "https://people.example"
        reply = browser.send("POST", "/v1/sign-in/link",
                             json.dumps({"token": person["link"].partition("#")[2]}),
                             headers={"Host": "people.example"})
        cookie = reply.headers["Set-Cookie"]
        self.assertTrue(cookie.startswith("__Host-turnpike_session="), cookie)
        for attribute in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
            self.assertIn(attribute, cookie)
        self.assertNotIn("Domain", cookie)

    def test_a_session_ends_at_sign_out_and_its_cookie_is_taken_back(self):
        person = self.new_person("out")
        browser = Browser(self.gateway)
        browser.sign_in(person["link"])
        kept = dict(browser.cookies)
        self.assertEqual(browser.json("POST", "/v1/sign-out")[0], 204)
        browser.cookies = kept
        reply = browser.send("GET", "/v1/me")
        self.assertEqual((reply.status, code_of(json.loads(reply.body))),
                         (401, "auth.session_ended"))
        self.assertIn("Max-Age=0", reply.headers["Set-Cookie"])
        self.assertEqual(browser.cookies, {})

    def test_no_page_of_another_origin_changes_anything(self):  # S10
        person = self.new_person("evil")
        browser = Browser(self.gateway)
        browser.sign_in(person["link"])
        for headers in ({"Origin": "http://localhost:1"}, {"Origin": "null"},
                        {"Origin": "https://evil.example"}, {"Turnpike-CSRF": ""},
                        {"Turnpike-CSRF": "0" * 64}):
            status, answer = browser.json("POST", "/v1/sign-out", headers=headers)
            self.assertEqual((status, code_of(answer)), (403, "auth.origin_rejected"), headers)
        self.assertEqual(browser.json("GET", "/v1/me")[0], 200)

    def test_keys_are_made_used_renamed_capped_and_revoked(self):
        account = self.new_account()
        _, admin = self.member(account, "admin", "admin")
        keys = f"/v1/billing-accounts/{account}/api-keys"
        status, key = admin.json("POST", keys, {"name": "research"})
        self.assertEqual(status, 201)
        self.assertEqual(self.gateway.get(CALL, key=key["secret"]).status, 200)
        status, answer = admin.json("POST", keys, {"name": "x", "environment": "production"})
        self.assertEqual((status, answer["error"]["fields"][0]["location"]),
                         (400, "/environment"))
        one = f"{keys}/{key['id']}"
        status, renamed = admin.json("PATCH", one, {"name": "other", "caps": {
            "perDay": "3", "perMonth": None}})
        self.assertEqual((status, renamed["name"], renamed["caps"]),
                         (200, "other", {"perDay": "3", "perMonth": None}))
        status, expiring = admin.json("PATCH", one, {"expiresAt": "2999-12-31T23:59:59Z"})
        self.assertEqual((status, expiring["expiresAt"], expiring["name"]),
                         (200, "2999-12-31T23:59:59.000Z", "other"))
        for refused in "2020-01-01T00:00:00Z", "soon", 5:
            self.assertEqual(admin.json("PATCH", one, {"name": "lost", "expiresAt": refused})[0],
                             400, refused)
        self.assertEqual(admin.json("PATCH", one, {"expiresAt": None})[1]["name"], "other")
        self.assertEqual(admin.json("PATCH", one, {"caps": {"perDay": 3}})[1]["error"]["fields"][0]
                         ["location"], "/caps/perDay")
        status, listed = admin.json("GET", keys)
        self.assertEqual([row["name"] for row in listed["items"]], ["other"])
        self.assertNotIn("secret", listed["items"][0])
        self.assertEqual(admin.json("DELETE", one), (204, None))
        self.assertEqual(self.gateway.get(CALL, key=key["secret"]).status, 401)
        self.assertEqual(code_of(admin.json("DELETE", f"{keys}/key_none")[1]),
                         "request.not_found")

    def test_a_key_of_another_account_is_none(self):  # S23
        mine, theirs = self.new_account(), self.new_account()
        _, admin = self.member(mine, "mine", "admin")
        _, other = self.member(theirs, "theirs", "owner")
        key = other.json("POST", f"/v1/billing-accounts/{theirs}/api-keys", {"name": "k"})[1]
        for method, body in (("DELETE", None), ("PATCH", {"name": "stolen"})):
            status, answer = admin.json(
                method, f"/v1/billing-accounts/{mine}/api-keys/{key['id']}", body)
            self.assertEqual((status, code_of(answer)), (404, "request.not_found"))
        for path in (f"/v1/billing-accounts/{theirs}/api-keys",
                     "/v1/billing-accounts/acc_none/api-keys"):
            status, answer = admin.json("GET", path)
            self.assertEqual((status, code_of(answer)), (403, "account.forbidden"))
        self.assertEqual(self.gateway.get(CALL, key=key["secret"]).status, 200)

    def test_roles_decide(self):
        account = self.new_account()
        base = f"/v1/billing-accounts/{account}"
        _, member = self.member(account, "member", "member")
        _, admin = self.member(account, "admin", "admin")
        owner, _ = self.member(account, "owner", "owner")
        self.assertEqual(member.json("GET", base + "/credit-balance")[0], 200)
        self.assertEqual(member.json("GET", base + "/members")[0], 200)
        for method, path, body in (("GET", "/api-keys", None), ("POST", "/api-keys", {"name": "k"}),
                                   ("GET", "/invitations", None), ("GET", "/audit-events", None),
                                   ("POST", "/invitations", {"role": "member"}),
                                   ("PATCH", f"/members/{owner['id']}", {"role": "member"})):
            status, answer = member.json(method, base + path, body)
            self.assertEqual((status, code_of(answer)), (403, "auth.role_missing"), path)
        for method, body in (("PATCH", {"role": "member"}), ("DELETE", None)):
            status, answer = admin.json(method, f"{base}/members/{owner['id']}", body)
            self.assertEqual((status, code_of(answer)), (403, "auth.role_missing"), method)
        status, answer = admin.json("POST", base + "/invitations", {"role": "owner"})
        self.assertEqual((status, code_of(answer)), (403, "auth.role_missing"))

    def test_an_api_key_is_no_person(self):
        account, key = self.gateway.new_key()
        for method, path in (("GET", "/v1/billing-accounts"), ("GET", "/v1/me"),
                             ("GET", f"/v1/billing-accounts/{account}/api-keys"),
                             ("DELETE", f"/v1/billing-accounts/{account}/api-keys/key_x")):
            reply = self.gateway.call(method, path, key=key)
            self.assertEqual((reply.status, reply.error_code()), (403, "auth.human_required"), path)
            self.assertEqual(self.gateway.call(method, path).status, 401)

    def test_a_session_is_no_api_key(self):
        account = self.new_account()
        _, owner = self.member(account, "owner", "owner")
        for path in (CALL, "/v1/auth/context"):
            reply = self.gateway.get(path, key=owner.token)
            self.assertEqual((reply.status, reply.error_code()), (401, "auth.credential_invalid"))

    def test_a_cookie_session_is_no_bearer_session_nor_the_other_way_round(self):
        account = self.new_account()
        person = self.new_person("two", account, "owner")
        browser = Browser(self.gateway)
        browser.sign_in(person["link"])
        stolen = Program(self.gateway, browser.cookies["turnpike_session"])
        self.assertEqual(code_of(stolen.json("GET", "/v1/me")[1]), "auth.session_ended")
        browser.cookies["turnpike_session"] = self.program_of(person).token
        self.assertEqual(code_of(browser.json("GET", "/v1/me")[1]), "auth.session_ended")
        cookie = [("Cookie", "turnpike_session=" + stolen.token)]
        self.assertEqual(self.gateway.get("/v1/me", headers=cookie).status, 401)

    def join(self, link, login):
        """A stranger accepts an invitation, which creates a person who may then enrol."""
        browser = Browser(self.gateway)
        status, answer = browser.json("POST", "/v1/invitations/join", {
            "token": link.partition("#")[2], "name": login.title(), "login": login})
        return browser, status, answer

    def test_an_invitation_makes_one_stranger_a_member(self):
        account = self.new_account()
        _, owner = self.member(account, "owner", "owner")
        made = owner.json("POST", f"/v1/billing-accounts/{account}/invitations",
                          {"role": "admin", "email": "eve@example.org"})[1]
        self.assertRegex(made["link"], r"^http://localhost:\d+/invitation#turnpike_ln_v1_dev_")
        login = self.id() + ".eve"
        browser, status, me = self.join(made["link"], login)
        self.assertEqual((status, me["session"]["strength"], me["memberships"][0]["role"]),
                         (200, "enrol", "admin"))
        self.assertEqual(browser.json("GET", "/v1/me")[1]["login"], login.lower())
        _, status, answer = self.join(made["link"], login + "2")
        self.assertEqual((status, code_of(answer)), (400, "auth.link_ended"))
        members = owner.json("GET", f"/v1/billing-accounts/{account}/members")[1]["items"]
        self.assertIn((me["id"], "admin"), [(one["userId"], one["role"]) for one in members])
        self.assertEqual(owner.json("GET", f"/v1/billing-accounts/{account}/invitations")[1],
                         {"items": []})

    def test_a_login_that_is_taken_leaves_the_invitation_as_it_is(self):  # S26
        account = self.new_account()
        person, owner = self.member(account, "owner", "owner")
        made = owner.json("POST", f"/v1/billing-accounts/{account}/invitations",
                          {"role": "member"})[1]
        _, status, answer = self.join(made["link"], person["login"])
        self.assertEqual((status, code_of(answer)), (409, "identity.login_taken"))
        self.assertEqual(self.join(made["link"], self.id() + ".free")[1], 200)

    def test_a_withdrawn_invitation_is_of_no_use(self):
        account = self.new_account()
        _, owner = self.member(account, "owner", "owner")
        base = f"/v1/billing-accounts/{account}/invitations"
        made = owner.json("POST", base, {"role": "member"})[1]
        self.assertEqual(owner.json("DELETE", f"{base}/{made['id']}")[0], 204)
        self.assertEqual(code_of(owner.json("DELETE", f"{base}/{made['id']}")[1]),
                         "request.not_found")

    def test_the_last_owner_stays(self):
        account = self.new_account()
        first, owner = self.member(account, "first", "owner")
        base = f"/v1/billing-accounts/{account}/members"
        for method, body in (("DELETE", None), ("PATCH", {"role": "admin"})):
            status, answer = owner.json(method, f"{base}/{first['id']}", body)
            self.assertEqual((status, code_of(answer)), (409, "identity.last_owner"))
        second, other = self.member(account, "second", "owner")
        statuses = []

        def leave(person, program):
            statuses.append(program.json("DELETE", f"{base}/{person['id']}")[0])

        threads = [threading.Thread(target=leave, args=pair)
                   for pair in ((first, owner), (second, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [204, 409])

    def test_disabling_a_person_ends_what_they_have(self):  # S5
        account = self.new_account()
        person, program = self.member(account, "gone", "admin")
        self.assertEqual(program.json("GET", "/v1/me")[0], 200)
        self.gateway.run_json("user", "disable", "--person", person["id"])
        self.assertEqual(code_of(program.json("GET", "/v1/me")[1]), "auth.session_ended")
        status, answer = Browser(self.gateway).json(
            "POST", "/v1/sign-in/link", {"token": person["link"].partition("#")[2]})
        self.assertEqual((status, code_of(answer)), (400, "auth.link_ended"))

    def test_sessions_are_listed_and_ended(self):  # S8
        person = self.new_person("many")
        first, second = self.program_of(person), self.program_of(person)
        rows = first.json("GET", "/v1/me/sessions")[1]["items"]
        self.assertEqual([row["current"] for row in rows].count(True), 1)
        other = next(row for row in rows if not row["current"])
        self.gateway.run_json("session", "end", "--id", other["id"])
        self.assertEqual([program.json("GET", "/v1/me")[0] for program in (first, second)],
                         [200, 401])
        self.gateway.run_json("session", "end", "--person", person["id"])
        self.assertEqual(first.json("GET", "/v1/me")[0], 401)

    def test_what_people_and_operators_do_is_audited(self):  # S25
        account = self.new_account()
        person, owner = self.member(account, "owner", "owner")
        key = owner.json("POST", f"/v1/billing-accounts/{account}/api-keys", {"name": "k"})[1]
        self.gateway.run_json("key", "revoke", "--id", key["id"])
        page = owner.json("GET", f"/v1/billing-accounts/{account}/audit-events?limit=2")[1]
        rows = [(one["actor"], one["action"], one["target"]) for one in page["items"]]
        self.assertEqual(rows, [("operator:cli", "key.revoke", key["id"]),
                                (f"user:{person['id']}", "key.create", key["id"])])
        self.assertEqual(page["items"][1]["address"], "127.0.0.1")
        rest = owner.json("GET", f"/v1/billing-accounts/{account}/audit-events?after="
                          + page["nextCursor"])[1]
        self.assertEqual([one["action"] for one in rest["items"]],
                         ["member.add", "person.create"])
        self.assertNotIn(key["secret"], json.dumps([page, rest]))
        everything = self.gateway.run("audit", "list", "--limit", "10000").stdout
        self.assertNotIn("turnpike_ln_v1_", everything)
        self.assertNotIn("turnpike_ss_v1_", everything)

    def test_failed_tries_of_a_source_are_throttled(self):  # S15
        gateway = Gateway(registry=self.gateway.registry,
                          settings=["hosts.trusted_proxies=127.0.0.1", "log.level=info"]).start()
        self.addCleanup(gateway.close)

        def fail_from(address):
            status, answer = Browser(gateway).json(
                "POST", "/v1/sign-in/link", {"token": "x" * 68},
                headers={"X-Forwarded-For": "203.0.113.9, " + address})
            return status, code_of(answer)

        answers = {fail_from("192.0.2.1") for _ in range(45)}  # in at most two windows
        self.assertEqual(answers, {(400, "auth.link_ended"), (429, "auth.throttled")})
        self.assertEqual(fail_from("192.0.2.2"), (400, "auth.link_ended"))
        events = gateway.run_json("audit", "list")["items"]
        self.assertEqual({event["address"] for event in events}, {"192.0.2.1", "192.0.2.2"})
        self.assertEqual({event["outcome"] for event in events}, {"refused"})
        self.assertLess(len(events), 12, "of a flood its size is kept, and no line for each")
        self.assertIn("auth.link_ended, failure 16 within 1 min",
                      {event["detail"] for event in events})
        gateway.stop()
        lines = [json.loads(line) for line in gateway.log_text().splitlines() if '"access"' in line]
        self.assertLessEqual({"192.0.2.1", "192.0.2.2"}, {line["client"] for line in lines})

    def test_passkeys_are_not_lost_by_a_new_name_of_the_host(self):
        gateway = Gateway(registry=self.gateway.registry).start()
        self.addCleanup(gateway.close)
        person = gateway.run_json("user", "create", "--name", "P", "--login", "p")
        passkey = Passkey()
        self.addCleanup(passkey.close)
        browser = Browser(gateway)
        browser.sign_in(person["link"])
        browser.enrol(passkey)
        gateway.stop()
        gateway.settings.append("hosts.web.base_url=https://new.example")
        with self.assertRaisesRegex(RuntimeError, "bound to localhost.*former_rp_ids: .localhost"):
            gateway.start()
        gateway.settings.append("identity.passkeys.former_rp_ids=localhost")
        gateway.start({"api", "web"})
        page = Browser(gateway).send("GET", "/login", headers={"Host": "new.example"})
        self.assertEqual(page.headers["Strict-Transport-Security"], "max-age=31536000")  # S11

    def test_a_login_is_taken_once(self):
        self.new_person("same")
        refused = self.gateway.run("user", "create", "--name", "x", "--login",
                                   self.id().rpartition(".")[2].upper() + ".SAME", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("login", refused.stderr)

    def test_pages_send_strangers_to_sign_in(self):
        browser = Browser(self.gateway)
        reply = browser.send("GET", "/account")
        self.assertEqual((reply.status, reply.headers["Location"]),
                         (303, "/login?return_to=%2Faccount"))
        for asked, next_page in (("/account", "/account"), ("https://evil.example", "/account"),
                                 ("//evil.example", "/account"), ("/dashboard/a", "/dashboard/a"),
                                 ("/dashboard/..%5cevil", "/account")):
            page = browser.send("GET", "/login?return_to=" + asked).body.decode()
            self.assertIn(f'data-next="{next_page}"', page)  # S12
        reply = browser.send("GET", "/account", headers={"Host": "127.0.0.1:1"})
        self.assertEqual((reply.status, reply.headers["Location"]),
                         (307, browser.origin + "/account"))

    def test_where_nothing_is_people_get_a_page_and_programs_an_envelope(self):
        page = Browser(self.gateway).send("GET", "/nowhere")
        self.assertEqual((page.status, page.headers["Content-Type"]),
                         (404, "text/html; charset=utf-8"))
        self.assertIn("frame-ancestors 'none'", page.headers["Content-Security-Policy"])
        self.assertIn("There is nothing here", page.body.decode())
        status, answer = Browser(self.gateway).json("GET", "/v1/nowhere")
        self.assertEqual((status, code_of(answer)), (404, "request.not_found"))

    def test_pages_keep_to_themselves(self):  # S11
        reply = Browser(self.gateway).send("GET", "/login")
        policy = reply.headers["Content-Security-Policy"]
        for rule in ("default-src 'none'", "script-src 'self'", "base-uri 'none'",
                     "frame-ancestors 'none'", "form-action 'self'"):
            self.assertIn(rule, policy)
        self.assertEqual(reply.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(reply.headers["Referrer-Policy"], "same-origin")


class PeopleOnPostgres(OnPostgres, People):
    """The same on PostgreSQL."""


class WhileTheDatabaseIsAway(unittest.TestCase):
    def test_nobody_is_signed_out(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        gateway = Gateway(postgres_url=postgres.new_database()).start()
        self.addCleanup(gateway.close)
        person = gateway.run_json("user", "create", "--name", "Ann", "--login", "ann")
        browser = Browser(gateway)
        browser.sign_in(person["link"])
        token = gateway.run_json("session", "create", "--person", "ann")["token"]
        postgres.stop()
        reply = browser.send("GET", "/v1/me")
        self.assertEqual((reply.status, code_of(json.loads(reply.body))),
                         (503, "auth.unavailable"))
        self.assertNotIn("Set-Cookie", reply.headers)
        self.assertEqual(browser.send("GET", "/account").status, 503)
        self.assertEqual(gateway.get("/v1/me", key=token).status, 503)
        postgres.start()
        until(lambda: browser.json("GET", "/v1/me")[0] == 200, "it has not connected again")
        self.assertEqual(gateway.get("/v1/me", key=token).status, 200)


if __name__ == "__main__":
    unittest.main()
