"""The operator console over real sockets: who may read it, what its pages show of calls,
corrections, reloads and unknown settlements, and that no public listener serves it."""

import re
import unittest
import urllib.parse

import test_unknown
from gateway import Gateway, new_registry
from upstream import Upstream
from waiting import until
from walks import walk

HOSTILE = "<script>alert(1)</script>"
PAGES = ["/console", "/console/providers", "/console/revenue", "/console/errors",
         "/console/ledger", "/console/generations", "/console/sweeps", "/console/accounts"]

REGISTRY = """
provider: {{key: shop, name: "{hostile}", base_path: /v1/gateway/shop}}
upstreams:
  main:
    plugin: http
    settings:
      base_url: http://{address}
      prefix: /v1/gateway/shop
      allow_private_addresses: true
      breaker: {{failures: 1000}}
  keyless:
    plugin: http
    settings:
      base_url: http://{address}
      prefix: /v1/gateway/shop/keyless
      allow_private_addresses: true
      credential: {{header: X-Api-Key, value: {{secret: {{env: TEST_CONSOLE_NO_SUCH}}}}}}
prices: {{shop.standard: {{version: {version}, credit_cost: {cost}}}}}
free_policies:
  shop.free: {{window: {{limit: 1000, seconds: 60}}, concurrency: 10}}
defaults: {{price: shop.standard, upstream: main, free: shop.free}}
routes:
  - path: /upstream/{{kind}}
  - {{path: /other, upstream_settings: {{path: /upstream/echo}}}}
  - {{path: /keyless, upstream: keyless}}
"""


class Operator:
    """An operator with a browser at the operator listener."""

    def __init__(self, gateway, *authorities):
        self.gateway = gateway
        words = [word for each in authorities for word in ("--authority", each)]
        self.credential = gateway.run_json("operator", "create", "--name", f"Ann {HOSTILE}",
                                           *words)
        self.cookie = ""
        self.token = ""

    @property
    def origin(self):
        return "http://%s:%d" % self.gateway.addresses["operator"]

    def get(self, path):
        reply = self.gateway.get(path, host="operator", headers=[("Cookie", self.cookie)])
        found = re.search(rb'name="csrf" content="([^"]+)"', reply.body)
        if found:
            self.token = found[1].decode()
        return reply

    def post(self, path, **fields):
        body = urllib.parse.urlencode({"csrf": self.token, **fields}).encode()
        return self.gateway.call(
            "POST", path, host="operator", body=body,
            headers=[("Cookie", self.cookie), ("Origin", self.origin),
                     ("Content-Type", "application/x-www-form-urlencoded")])

    def sign_in(self):
        reply = self.post("/console/login", credential=self.credential["secret"])
        assert reply.status == 303, reply.body
        self.cookie = reply.headers["set-cookie"].partition(";")[0]
        self.get("/console")
        return self

    def page(self, path):
        reply = self.get(path)
        assert reply.status == 200, (path, reply.status, reply.body)
        return reply.body.decode()


class Console(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = new_registry(cls, cls.registry_text(version=1, cost=2))
        cls.gateway = Gateway(registry=cls.registry)
        cls.addClassCleanup(cls.gateway.close)
        gateway = cls.gateway
        cls.account = gateway.run_json("account", "create", "--name", f"Acme {HOSTILE}")["id"]
        gateway.run_json("grant", "--account", cls.account, "--credits", "1000")
        key = gateway.run_json("key", "create", "--account", cls.account, "--name", HOSTILE)
        cls.key = key["secret"]
        gateway.start({"api", "mcp", "web", "operator"})
        cls.operator = Operator(gateway, "console.read", "status.annotate",
                                "usage.correct").sign_in()
        cls.first = cls.generation()
        cls.message = cls.call("/upstream/echo").headers["x-request-id"]
        cls.call("/upstream/echo")
        assert cls.call("/upstream/echo:free").status == 200
        assert cls.call("/keyless").status == 503
        assert cls.call("/nothing").status == 404

    @classmethod
    def registry_text(cls, version, cost):
        return REGISTRY.format(address=cls.upstream.address, hostile=HOSTILE, version=version,
                               cost=cost)

    @classmethod
    def call(cls, path):
        return cls.gateway.get("/v1/gateway/shop" + path, key=cls.key)

    @classmethod
    def generation(cls):
        return cls.gateway.get("/v1/capabilities?limit=1").json()["generation"]["id"]

    def reload(self, text, expected=0):
        (self.registry / "test.yaml").write_text(text)
        result = self.gateway.run("reload", check=False)
        self.assertEqual(result.returncode, expected, result.stdout + result.stderr)

    def assert_shows(self, page, *texts):
        for text in texts:
            self.assertIn(text, page)
        self.assertNotIn("<script>alert", page)

    def test_no_public_listener_has_it(self):
        for host in ("api", "mcp", "web"):
            for path in [*PAGES, "/console/login", f"/console/accounts/{self.account}"]:
                reply = self.gateway.get(path, host=host,
                                         headers=[("Cookie", self.operator.cookie)])
                self.assertIn(reply.status, (400, 401, 403, 404, 405), (host, path))
                self.assertNotIn(b"Operator console", reply.body)
            reply = self.gateway.call(
                "POST", "/console/login", host=host,
                body=b"credential=" + self.operator.credential["secret"].encode(),
                headers=[("Content-Type", "application/x-www-form-urlencoded")])
            self.assertIn(reply.status, (400, 401, 403, 404, 405), host)
            self.assertNotIn("set-cookie", reply.headers)

    def test_what_was_there_stays_as_it_was(self):
        home = self.gateway.get("/", host="operator")
        self.assertEqual((home.status, home.headers["location"]), (303, "/console"))
        self.assertIn(b"turnpike_lane_calls_total",
                      self.gateway.get("/metrics", host="operator").body)
        for path in ("/healthz", "/debug/fibers"):
            self.assertEqual(self.gateway.get(path, host="operator").status, 200)
        reply = self.gateway.get("/internal/v1", host="operator")
        self.assertEqual((reply.status, reply.error_code()), (404, "request.not_found"))
        # The console's cookie is no credential for the routes for programs.
        reply = self.gateway.call(
            "POST", "/internal/v1/status/incidents", host="operator", body=b"{}",
            headers=[("Cookie", self.operator.cookie), ("Content-Type", "application/json")])
        self.assertEqual((reply.status, reply.error_code()), (401, "auth.credential_required"))

    def test_pages_load_from_this_listener_alone(self):
        page = self.operator.page("/console")
        assets = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page)
        self.assertGreater(len(assets), 2)
        for asset in assets:
            self.assertEqual(self.gateway.get(asset, host="operator").status, 200, asset)
        self.assertNotRegex(page, r'(?:src|href)="//')

    def test_overview_and_errors_count_calls(self):
        overview = self.operator.page("/console")
        self.assert_shows(overview, "This node serves.", "calls a second", "Credits held by nodes",
                          "none is open")
        self.assertIn("Secrets are missing", overview)
        errors = self.operator.page("/console/errors")
        self.assert_shows(errors, "gateway.upstream_credential", "gateway.route_not_found",
                          "/v1/gateway/shop/keyless")

    def test_revenue_is_that_of_the_books(self):
        # The sums are computed off the commit path; a read of the account computes them.
        self.gateway.get(f"/v1/billing-accounts/{self.account}/billing?collection=usage",
                         key=self.key)
        page = self.operator.page("/console/revenue")
        self.assert_shows(page, "Credits spent", "credits</td>", "free</td>")
        self.assertRegex(page, r"<b>2,000</b><span>Credits granted")  # the starter grant plus 1,000
        self.assertIn("<svg", page)

    def test_a_correction_is_made_and_shown_with_who_and_why(self):
        page = self.operator.page(f"/console/accounts/{self.account}")
        self.assert_shows(page, f"message={self.message}", "success")
        self.assertNotIn(self.key, page)
        self.assertIn(self.key[:24], page)
        form = self.operator.page(f"/console/ledger?account={self.account}"
                                  f"&message={self.message}")
        form_key = re.search(r'name="form_key" value="([^"]+)"', form)[1]
        before = self.gateway.balance(self.account, self.key)
        for _ in range(2):
            reply = self.operator.post("/console/corrections", account=self.account,
                                       message=self.message, kind="refund", credits="1",
                                       reason=f"slow {HOSTILE}", reference="T-1",
                                       form_key=form_key)
            self.assertEqual((reply.status, reply.headers["location"]), (303, "/console/ledger"))
        self.assertEqual(self.gateway.balance(self.account, self.key), before + 1)
        page = self.operator.page("/console/ledger")
        self.assert_shows(page, "slow &lt;script&gt;", "Ann &lt;script&gt;", "T-1")
        reply = self.operator.post("/console/corrections", account=self.account,
                                   message=self.message, kind="refund", credits="9",
                                   reason="more", form_key="other")
        self.assertEqual(reply.status, 409)
        self.assertIn(b"billing.correction_exceeds_charge", reply.body)

    def test_a_verification_and_a_checkpoint_are_remembered(self):
        self.gateway.run("ledger", "verify")
        self.gateway.run("ledger", "checkpoint", "--out",
                         str(self.gateway.directory / "checkpoint.json"))
        page = self.operator.page("/console/ledger")
        self.assert_shows(page, "the books are right",
                          "since the books were added up: they were right")
        self.assertRegex(page, r"<b>\d+ s</b><span>since the last checkpoint")

    def test_generations_show_a_changed_price_and_its_callers_and_a_refused_reload(self):
        self.reload(self.registry_text(version=2, cost=5))
        second = self.generation()
        page = self.operator.page("/console/generations")
        self.assert_shows(page, self.first, second, "TEST_CONSOLE_NO_SUCH")
        link = f"/console/generations/difference?before={self.first}&after={second}"
        self.assertIn(link.replace("&", "&amp;"), page)
        # Positions of usage rows are assigned off the commit path; a read assigns them.
        self.gateway.get(f"/v1/billing-accounts/{self.account}/billing?collection=usage",
                         key=self.key)
        difference = self.operator.page(link)
        self.assert_shows(difference, "/credit_cost", "2 Credits (shop.standard version 1)",
                          "5 Credits (shop.standard version 2)")
        row = re.search(r"<tr><td><code>/v1/gateway/shop/upstream/\{kind\}</code>.*?</tr>",
                        difference, re.S)[0]
        self.assertIn('<td class="number">1</td>', row)
        row = re.search(r"<tr><td><code>/v1/gateway/shop/other</code>.*?</tr>", difference,
                        re.S)[0]
        self.assertIn('<td class="number">0</td>', row)
        self.assertEqual(self.operator.get(link.replace(second, "gen_none")).status, 404)
        self.reload(self.registry_text(version=2, cost=5) + "\nnot_a_key: 1\n", expected=1)
        page = self.operator.page("/console/generations")
        self.assert_shows(page, "was refused", "unknown key &quot;not_a_key&quot;")
        self.assertIn("The last reload was refused", self.operator.page("/console"))
        self.reload(self.registry_text(version=2, cost=5))
        self.assertNotIn("was refused", self.operator.page("/console/generations"))

    def test_accounts_are_found_and_never_their_secrets(self):
        for words in ("acme", self.account, self.key[:24]):
            page = self.operator.page("/console/accounts?q=" + urllib.parse.quote(words))
            self.assert_shows(page, f"/console/accounts/{self.account}", "Acme &lt;script&gt;")
        page = self.operator.page("/console/accounts?q=nobody&status=active")
        self.assertIn("No account is like that", page)
        self.assertEqual(self.operator.get("/console/accounts?secret=1").status, 400)

    def test_a_revoked_operator_is_out_at_once(self):
        operator = Operator(self.gateway, "console.read").sign_in()
        self.assertEqual(operator.get("/console").status, 200)
        self.assertNotIn("Open an incident", operator.page("/console/providers"))
        self.gateway.run("operator", "revoke", "--id",
                         operator.credential["id"])
        reply = operator.get("/console/ledger")
        self.assertEqual((reply.status, reply.headers["location"]),
                         (303, "/console/login?return_to=%2Fconsole%2Fledger"))

    def test_in_a_browser(self):
        self.reload(self.registry_text(version=2, cost=5))  # so that there is a difference
        steps = {"origin": self.operator.origin,
                 "credential": self.operator.credential["secret"],
                 "paths": [*PAGES, f"/console/accounts/{self.account}",
                           f"/console/ledger?account={self.account}&message={self.message}",
                           f"/console/generations/difference?before={self.first}"
                           f"&after={self.generation()}"]}
        seen = walk("console.mjs", steps)
        self.assertEqual(seen["axe"], [])
        self.assertEqual(seen["sideways"], [])
        self.assertEqual(seen["errors"], [])
        self.assertEqual(seen["outside"], [])
        self.assertEqual(seen["first"], "/console/login")
        self.assertEqual(seen["cookieForScripts"], "")
        self.assertEqual(seen["afterBack"], "/console/login")
        self.assertGreaterEqual(seen["said"], 1)


class UnknownSettlement(test_unknown.Unknown):
    """A charge that the caller was told is unknown is shown to operators until it is known."""
    test_the_process_undoes_a_charge_that_commits_after_all = None
    test_the_next_process_undoes_it_when_this_one_is_killed = None

    def test_it_is_shown_until_it_is_known(self):
        operator = Operator(self.gateway, "console.read").sign_in()
        call = self.call_held_upstream()
        with self.held_facts():
            message = self.until_told(call)
            page = operator.page("/console")
            self.assertIn(message, page)
            self.assertIn(self.account, page)
        until(lambda: "none is open" in operator.page("/console"), "it stayed unknown")


if __name__ == "__main__":
    unittest.main()
