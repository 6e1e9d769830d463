"""The pages about people and about who may use an account, without scripts and on both engines:
what they show, what their forms refuse, and that no name is run as code."""

import contextlib
import html
import json
import re
import sqlite3
import unittest

from engines import OnPostgres, OnSqlite
from gateway import ONE_UPSTREAM, Gateway, new_registry
from people import Browser, Passkey
from upstream import Upstream

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 20000}}
routes:
  - {{path: "/upstream/bytes/{{size}}"}}
"""
CALL = "/v1/gateway/test/upstream/bytes/100"
HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(2)> {{TITLE}} javascript:alert(3)"


class Pages(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        cls.gateway = Gateway(registry=registry, postgres_url=cls.postgres_url(),
                              settings=["site.brand.name=Acme Data"]).start()
        cls.addClassCleanup(cls.gateway.close)

    def setUp(self):
        self.account = self.gateway.run_json("account", "create", "--name", "Acme")["id"]
        self.base = f"/dashboard/{self.account}"

    def person(self, login, role, account=None, enrolled=True, name=None):
        """A browser whose person has just authenticated with a new passkey, unless `enrolled` is
        false."""
        made = self.gateway.run_json(
            "user", "create", "--name", name or login.title(), "--login",
            self.id().rpartition(".")[2] + "." + login, "--account", account or self.account,
            "--role", role)
        browser = Browser(self.gateway)
        browser.person_id = browser.sign_in(made["link"])["id"]
        if enrolled:
            passkey = Passkey()
            self.addCleanup(passkey.close)
            browser.enrol(passkey)
            browser.passkey = passkey
            self.renew(browser)
        return browser

    def renew(self, browser):
        browser.page_token = browser.json("GET", "/v1/me")[1]["csrfToken"]

    def page(self, browser, path, status=200):
        reply = browser.send("GET", path)
        self.assertEqual(reply.status, status, reply.body.decode())
        return reply.body.decode()

    def new_key(self, owner, **fields):
        reply = owner.submit(self.base + "/keys", **{"name": "research", **fields})
        shown = reply.body.decode()
        self.assertEqual(reply.status, 201, shown)
        secret = re.search(r'id="secret">([^<]+)<', shown)[1]
        key_id = re.findall(r"/keys/(key_\w+)", self.page(owner, self.base + "/keys"))[-1]
        return key_id, secret, shown

    def test_a_new_key_is_shown_once_in_the_forms_that_programs_take(self):
        owner = self.person("owner", "owner")
        _, secret, shown = self.new_key(owner)
        self.assertIn(f"ACME_DATA_API_KEY={secret}", shown)
        self.assertIn(f"Authorization: Bearer {secret}", html.unescape(shown))
        configuration = json.loads(html.unescape(re.search(
            r"<code>(\{.*?)</code>", shown, re.DOTALL)[1]))
        self.assertEqual(configuration["mcpServers"]["acme-data"]["headers"],
                         {"Authorization": "Bearer " + secret})
        self.assertNotIn(secret, self.page(owner, self.base + "/keys"))
        self.assertEqual(self.gateway.get("/v1/auth/context", key=secret).status, 200)

    def test_what_a_key_spent_and_may_spend_is_what_the_ledger_enforces(self):
        owner = self.person("owner", "owner")
        key_id, secret, _ = self.new_key(owner, cap_per_day="5", cap_per_month="")
        self.assertEqual(self.gateway.get(CALL, key=secret).status, 200)
        self.assertEqual(self.gateway.get(CALL, key=secret).status, 200)
        refused = self.gateway.get(CALL, key=secret)
        self.assertEqual((refused.status, refused.error_code()),
                         (429, "billing.key_cap_reached"))
        shown = self.page(owner, f"{self.base}/keys/{key_id}")
        text = html.unescape(re.sub("<[^>]+>", "", shown))
        self.assertRegex(text, r"4\s+of\s+5 Credits are used")
        self.assertIn(f"/dashboard/{self.account}/calls?api_key_id={key_id}", shown)
        listed = self.page(owner, self.base + "/keys")
        self.assertIn("4 of 5 this day", listed)
        self.assertIn('<td class="number">4</td>', listed)
        raised = owner.submit(f"{self.base}/keys/{key_id}/bounds", cap_per_day="100",
                              cap_per_month="1000", last_day="")
        self.assertEqual((raised.status, raised.headers["Location"]),
                         (303, f"{self.base}/keys/{key_id}"))

    def test_a_form_that_is_refused_says_why_and_keeps_what_was_typed(self):
        owner = self.person("owner", "owner")
        key_id, _, _ = self.new_key(owner)
        one = f"{self.base}/keys/{key_id}"
        for path, fields, why in (
                (self.base + "/keys", {"name": "", "cap_per_day": "7"}, "name"),
                (self.base + "/keys", {"name": "x", "cap_per_day": "a lot"}, "whole number"),
                (self.base + "/keys", {"name": "x", "last_day": "soon"}, "no day such as"),
                (self.base + "/keys", {"name": "x", "last_day": "2020-01-01"}, "not in the future"),
                (one + "/name", {"name": ""}, "name"),
                (one + "/bounds", {"cap_per_day": "-1", "last_day": ""}, "whole number"),
                (one + "/revoke", {"confirm": "Research"}, "not the key&#39;s name"),
                (self.base + "/members/role", {"id": owner.person_id, "role": "king"},
                 "one of the roles"),
                (self.base + "/members/role", {"id": owner.person_id, "role": "member"},
                 "only owner"),
                (self.base + "/members/remove", {"id": owner.person_id}, "only owner"),
                (self.base + "/members/invitations", {"role": ""}, "one of the roles"),
                (self.base + "/members/invitations/withdraw", {"id": "inv_none"}, "invitation")):
            reply = owner.submit(path, **fields)
            shown = reply.body.decode()
            self.assertIn(reply.status, (400, 404, 409), path)
            problem = re.search(r'id="problem".*?</div>', shown, re.DOTALL)[0]
            self.assertIn(why, problem, path)
            self.assertRegex(problem, r"request <code>[\w-]+</code>")
            if fields.get("cap_per_day"):
                self.assertIn(f'value="{fields["cap_per_day"]}"', shown)
        keys = owner.json("GET", f"/v1/billing-accounts/{self.account}/api-keys")[1]["items"]
        self.assertEqual([(key["name"], key["revokedAt"]) for key in keys], [("research", None)])

    def test_forms_are_for_admins_with_a_fresh_proof_from_their_own_page(self):
        owner = self.person("owner", "owner")
        key_id, _, _ = self.new_key(owner)
        member, stranger = self.person("member", "member"), self.person(
            "stranger", "owner", self.gateway.run_json("account", "create", "--name", "B")["id"])
        new = self.person("new", "admin", enrolled=False)
        one = f"{self.base}/keys/{key_id}"
        for path, fields in ((self.base + "/keys", {"name": "x"}), (one + "/name", {"name": "x"}),
                             (one + "/bounds", {}), (one + "/revoke", {"confirm": "research"}),
                             (self.base + "/members/role", {"id": owner.person_id}),
                             (self.base + "/members/remove", {"id": owner.person_id}),
                             (self.base + "/members/invitations", {"role": "member"}),
                             (self.base + "/members/invitations/withdraw", {"id": "x"})):
            for browser, why in ((member, "auth.role_missing"), (stranger, "account.forbidden"),
                                 (new, "add a passkey")):
                reply = browser.submit(path, **fields)
                self.assertEqual(reply.status, 403, (path, why))
                self.assertIn(why, reply.body.decode(), path)
            token, owner.page_token = owner.page_token, "0" * 64
            self.assertEqual(owner.submit(path, **fields).status, 403)
            owner.page_token = token
            reply = owner.send("POST", path, "csrf=" + token, form=True,
                               headers={"Origin": "https://evil.example"})
            self.assertEqual(reply.status, 403)
        self.assertEqual(stranger.send("GET", one).status, 403)
        other = stranger.send("GET", one.replace(self.account, stranger.json(
            "GET", "/v1/me")[1]["memberships"][0]["billingAccountId"]))
        self.assertEqual(other.status, 404)
        for path, note in (("/keys", "made and seen by the admins"),
                           ("/security-log", "seen by the admins")):
            shown = self.page(member, self.base + path)
            self.assertIn(note, shown)
            self.assertNotIn("research", shown)
        shown = self.page(member, self.base + "/members")
        self.assertEqual(shown.count(f'action="{self.base}'), 1)  # the form to leave
        self.assertIn("<button>Leave</button>", shown)

    def test_the_old_page_of_an_account_leads_to_its_keys(self):
        reply = Browser(self.gateway).send("GET", f"/accounts/{self.account}")
        self.assertEqual((reply.status, reply.headers["Location"]), (303, self.base + "/keys"))

    def test_names_run_nothing(self):
        self.account = self.gateway.run_json("account", "create", "--name", HOSTILE)["id"]
        self.base = f"/dashboard/{self.account}"
        owner = self.person("owner", "owner", name=HOSTILE)
        key_id, _, _ = self.new_key(owner, name=HOSTILE)
        owner.json("PUT", "/v1/me/email", {"email": "x@example.org"})
        for path in ("/account", "/account/events", self.base + "/keys",
                     f"{self.base}/keys/{key_id}", self.base + "/members",
                     self.base + "/security-log", f"{self.base}/security-log?action=%3Cscript%3E",
                     f"{self.base}/security-log?actor=%22%3E%3Cscript%3E"):
            shown = self.page(owner, path)
            self.assertNotIn("<script>", shown, path)
            self.assertNotIn("<img src=x", shown, path)
        refused = owner.submit(f"{self.base}/keys/{key_id}/revoke", confirm="<script>")
        self.assertNotIn(b"<script>", refused.body)
        login = Browser(self.gateway).submit("/login/password", login=HOSTILE, password="x",
                                             return_to="javascript:alert(1)")
        self.assertNotIn(b"<script>", login.body)
        self.assertIn(html.escape(HOSTILE, quote=True).split("{{")[0].encode(), login.body)

    def test_the_log_has_filters_and_pages(self):
        owner = self.person("owner", "owner")
        for number in range(60):
            self.new_key_by_json(owner, f"k{number}")
        newest = self.page(owner, self.base + "/security-log")
        older = html.unescape(re.search(r'href="([^"]+)" rel="next"', newest)[1])
        self.assertIn("<strong>k59</strong>", newest)
        self.assertNotIn("<strong>k3</strong>", newest)
        self.assertIn("<strong>k3</strong>", self.page(owner, older))
        filtered = self.page(owner, f"{self.base}/security-log?action=member.add")
        self.assertEqual(filtered.count("<code>member.<wbr>add</code>"), 1)
        self.assertNotIn("key.<wbr>create</code>", filtered)
        nobody = self.page(owner, f"{self.base}/security-log?actor=user:usr_none")
        self.assertIn("There is no such event", nobody)
        mine = self.page(owner, f"{self.base}/security-log?actor=user:{owner.person_id}")
        self.assertIn("key.<wbr>create</code>", mine)
        for bad in ("after=x", "after=-1", "after=0", "after=99999999999999999999", "what=x"):
            self.page(owner, f"{self.base}/security-log?{bad}", 400)
        own = self.page(owner, "/account/events")
        self.assertIn("key.<wbr>create</code>", own)
        self.assertIn("<td>you</td>", own)

    def new_key_by_json(self, owner, name):
        status, answer = owner.json("POST", f"/v1/billing-accounts/{self.account}/api-keys",
                                    {"name": name})
        self.assertEqual(status, 201, answer)

    def test_pages_say_the_name_of_the_brand_and_no_other(self):
        owner = self.person("owner", "owner")
        stranger = Browser(self.gateway)
        for browser, path in ((stranger, "/login"), (stranger, "/login/link"),
                              (stranger, "/nowhere"), (stranger, "/login/recovery"),
                              (owner, "/account"), (owner, self.base + "/keys"),
                              (owner, self.base + "/members"),
                              (owner, self.base + "/security-log")):
            shown = browser.send("GET", path).body.decode()
            self.assertIn("- Acme Data</title>", shown, path)
            self.assertNotIn("Turnpike", re.sub(r'name="turnpike[^"]*"', "", shown), path)

    def test_each_page_has_one_heading_and_labels_for_its_fields(self):
        owner = self.person("owner", "owner")
        key_id, _, _ = self.new_key(owner)
        for browser, path in ((Browser(self.gateway), "/login"),
                              (Browser(self.gateway), "/login/link"),
                              (Browser(self.gateway), "/login/recovery"),
                              (Browser(self.gateway), "/invitation"), (owner, "/account"),
                              (owner, self.base + "/keys"), (owner, f"{self.base}/keys/{key_id}"),
                              (owner, self.base + "/members"),
                              (owner, self.base + "/security-log")):
            shown = self.page(browser, path)
            self.assertEqual(shown.count("<h1"), 1, path)
            self.assertEqual(len(re.findall(r' id="([^"]+)"', shown)),
                             len(set(re.findall(r' id="([^"]+)"', shown))), path)
            for field in re.findall(r'<(?:input|select) [^>]*id="([^"]+)"', shown):
                self.assertIn(f'for="{field}"', shown, (path, field))
            self.assertNotIn(" style=", shown, path)


class PagesOnPostgres(OnPostgres, Pages):
    """The same on PostgreSQL."""


class WhenAProofIsOld(unittest.TestCase):
    def test_forms_offer_the_step_up_and_lead_back(self):
        gateway = Gateway().start()
        self.addCleanup(gateway.close)
        account = gateway.run_json("account", "create", "--name", "Acme")["id"]
        link = gateway.run_json("user", "create", "--name", "Ann", "--login", "ann", "--account",
                                account, "--role", "owner")["link"]
        browser = Browser(gateway)
        me = browser.sign_in(link)
        passkey = Passkey()
        self.addCleanup(passkey.close)
        browser.enrol(passkey)
        browser.page_token = browser.json("GET", "/v1/me")[1]["csrfToken"]
        with contextlib.closing(sqlite3.connect(gateway.directory / "turnpike.db")) as database:
            database.execute("UPDATE session SET step_up_until = 0")
            database.commit()
        base = f"/dashboard/{account}"
        for path, fields, back in (
                (base + "/keys", {"name": "x"}, base + "/keys"),
                (base + "/keys/key_1/name", {"name": "x"}, base + "/keys/key_1"),
                (base + "/keys/key_1/revoke", {"confirm": "x"}, base + "/keys/key_1"),
                (base + "/members/role", {"id": me["id"], "role": "member"}, base + "/members"),
                (base + "/members/invitations", {"role": "member"}, base + "/members")):
            reply = browser.submit(path, **fields)
            shown = reply.body.decode()
            self.assertEqual(reply.status, 403, path)
            self.assertIn("fresh proof", shown)
            self.assertIn(f'data-passkey="stepUp" data-next="{back}"', shown)
            self.assertIn(f'href="{back}">Back</a>', shown)


if __name__ == "__main__":
    unittest.main()
