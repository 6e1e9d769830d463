"""The main job on real input: priced govdata operations over HTTP, charged, with real answers."""

import json
import subprocess
import time
import unittest

from engines import OnPostgres, OnSqlite
from gateway import GOVDATA_IMPORT, Gateway, Postgres
from waiting import until

BASE = "/v1/gateway/govdata/global/v1"
YEAR_MS = 365 * 86_400_000
SHIPPED = 11  # number of routes in the shipped registry


def now_ms():
    return int(time.time() * 1000)


class FirstCall(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(postgres_url=cls.postgres_url(),
                              settings=["accounts.starter_grant.credits=100"])
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        cls.gateway.directory / "govdata.db"], check=True, capture_output=True)
        cls.account, cls.key = cls.gateway.new_key()
        cls.gateway.start()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        cls.gateway.close()

    def balance(self, account=None, key=None):
        return self.gateway.balance(account or self.account, key or self.key)

    def assert_refused(self, reply, status, code):
        self.assertEqual((reply.status, reply.error_code()), (status, code), reply.body)
        error = reply.json()["error"]
        self.assertEqual(error["request_id"], reply.headers["x-request-id"])
        self.assertTrue(error["message"])

    def evidence_path(self):
        found = self.gateway.get(BASE + "/proposals/lookup?title=proposal&limit=1", key=self.key)
        path = found.json()["data"]["candidates"][0]["evidencePath"]
        self.assertTrue(path.startswith(BASE))
        return path[len(BASE):]

    def test_every_ready_operation_answers_and_costs_one_credit(self):
        daos = self.gateway.get(BASE + "/daos", key=self.key).json()["data"]["items"]
        dao = daos[0]["daoId"]
        activity = self.gateway.get(BASE + "/activity?hours=168", key=self.key).json()
        ref = activity["data"]["items"][0]["itemRef"]
        evidence = self.evidence_path()
        before = self.balance()
        paths = ["/meta/pricing", "/daos", "/system/freshness",
                 f"/daos/{dao}/brief?activity_limit=3",
                 f"/items/{ref['kind']}/{ref['externalId']}", "/activity?hours=168&limit=5",
                 "/proposals/lookup?title=proposal&limit=5",
                 f"/governance-signals?start_ms={now_ms() - YEAR_MS}&end_ms={now_ms()}",
                 evidence]
        for path in paths:
            reply = self.gateway.get(BASE + path, key=self.key)
            self.assertEqual(reply.status, 200, f"{path}: {reply.body}")
            self.assertEqual(reply.headers["content-type"].split(";")[0], "application/json")
            self.assertEqual(reply.headers["turnpike-lane"], "credits")
            self.assertEqual(reply.headers["turnpike-credits-charged"], "1")
            self.assertEqual(reply.headers["turnpike-reply-from"], "provider")
            self.assertIn("upstream;dur=", reply.headers["server-timing"])
            self.assertTrue(reply.headers["turnpike-generation"].startswith("gen_"))
            self.assertIn("freshness", reply.json())
        self.assertEqual(self.balance(), before - len(paths))

    def test_an_uncharged_answer_of_the_provider_is_delivered_unchanged(self):
        before = self.balance()
        reply = self.gateway.get(BASE + "/daos/no-such-dao/brief", key=self.key)
        self.assertEqual(reply.status, 404)
        self.assertEqual(reply.json()["error"]["code"], "not_found")
        self.assertEqual(reply.headers["turnpike-reply-from"], "provider")
        self.assertEqual(reply.headers["turnpike-credits-charged"], "0")
        self.assertEqual(self.balance(), before)

    def test_refusals_say_what_is_wrong_and_cost_nothing(self):
        before = self.balance()
        get = self.gateway.get
        self.assert_refused(get(BASE + "/daos"), 401, "auth.credential_required")
        self.assert_refused(get(BASE + "/daos", key="nonsense"), 401, "auth.credential_invalid")
        self.assert_refused(get(BASE + "/daos", key=self.key[:-1] + "!"), 401,
                            "auth.credential_invalid")
        self.assert_refused(get(BASE + "/nothing", key=self.key), 404, "gateway.route_not_found")
        self.assert_refused(get(BASE + "/governance-events:free", key=self.key), 404,
                            "gateway.route_not_found")
        self.assert_refused(get(BASE + "/daos?a=%zz", key=self.key), 400, "request.query_malformed")
        self.assert_refused(get(BASE + "/daos?" + "a" * 65_537, key=self.key), 400,
                            "request.query_too_long")
        wrong_method = self.gateway.call("POST", BASE + "/daos", key=self.key, body=b"{}")
        self.assert_refused(wrong_method, 405, "gateway.method_not_allowed")
        self.assertEqual(wrong_method.headers["allow"], "GET")
        self.assertEqual(self.gateway.call("HEAD", BASE + "/daos", key=self.key).status, 405)
        self.assert_refused(get(BASE + "/daos", key=self.key, headers=[("PAYMENT-SIGNATURE", "x")]),
                            400, "auth.credential_conflict")
        self.assert_refused(get(BASE + "/daos", headers=[("PAYMENT-SIGNATURE", "x")]), 400,
                            "x402.not_payable")
        self.assert_refused(get(BASE + "/daos", headers=[("X-Service-Api-Key", self.key)]), 401,
                            "auth.credential_invalid")
        self.assert_refused(get(BASE + "/governance-events?start_ms=1&end_ms=2"), 401,
                            "auth.credential_required")
        self.assert_refused(
            get(BASE + "/governance-events?start_ms=1&end_ms=2", key=self.key), 503,
            "billing.pricing_unavailable")
        self.assertEqual(self.balance(), before)

    def test_exhausted_credits_are_402_and_a_grant_lifts_it(self):
        account, key = self.gateway.new_key()
        for left in range(99, -1, -1):
            reply = self.gateway.get(BASE + "/daos", key=key)
            self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(self.balance(account, key), 0)
        refused = self.gateway.get(BASE + "/daos", key=key)
        self.assert_refused(refused, 402, "billing.credits_exhausted")
        self.assertEqual(refused.json()["error"]["retry"]["advice"], "after_top_up")
        self.gateway.run_json("grant", "--account", account, "--credits", "2")
        until(lambda: self.gateway.get(BASE + "/daos", key=key).status == 200,
              "the grant took no effect", seconds=10)
        self.assertEqual(self.balance(account, key), 1)

    def test_a_revoked_key_is_refused_within_a_second_everywhere(self):
        account, key = self.gateway.new_key()
        self.assertEqual(self.gateway.get("/v1/auth/context", key=key).status, 200)
        listed = self.gateway.run_json("key", "list", "--account", account)
        identifier = (listed["items"] if isinstance(listed, dict) else listed)[0]["id"]
        self.gateway.run("key", "revoke", "--id", identifier)

        def refusal():
            reply = self.gateway.get("/v1/auth/context", key=key)
            return reply if reply.status == 401 else None
        self.assert_refused(until(refusal, "the key is still taken", seconds=10), 401,
                            "auth.credential_invalid")

    def test_accounts_see_their_own_alone(self):
        context = self.gateway.get("/v1/auth/context", key=self.key)
        self.assertEqual(context.headers["cache-control"], "private, no-store")
        self.assertEqual(context.json()["billing_account_id"], self.account)
        self.assertIsNone(context.json()["actor_subject_id"])
        other, _ = self.gateway.new_key()
        for stranger in (other, "no-such-account"):
            reply = self.gateway.get(f"/v1/billing-accounts/{stranger}/credit-balance",
                                     key=self.key)
            self.assert_refused(reply, 403, "account.forbidden")

    def test_public_documents_agree_with_each_other(self):
        page = self.gateway.get("/v1/capabilities?limit=1000").json()
        self.assertEqual(len(page["capabilities"]), SHIPPED)
        openapi = self.gateway.get("/openapi.json").json()
        for capability in page["capabilities"]:
            detail = self.gateway.get("/v1/capabilities/" + capability["capability_id"]).json()
            self.assertEqual(detail["generation"], page["generation"])
            self.assertEqual(detail["capability"]["readiness"], capability["readiness"])
            billing = capability["operations"][0]["billing"]["mode"]
            self.assertEqual(capability["readiness"]["status"], "ready")
            self.assertEqual(capability["path"] in openapi["paths"], billing == "service_priced",
                             capability["path"])
        inventory = self.gateway.get("/v1/operation-pricing-inventory").json()
        self.assertEqual(inventory["schema_version"], "service.operation-pricing-inventory.v2")
        self.assertEqual(self.gateway.get("/healthz").status, 200)
        self.assertEqual(self.gateway.get("/readyz").status, 200)
        self.assertIn("generation", json.dumps(self.gateway.get("/version").json()))

    def test_paging_walks_every_capability_once(self):
        seen, cursor = [], ""
        while cursor is not None:
            page = self.gateway.get("/v1/capabilities?limit=3" +
                                    (f"&cursor={cursor}" if cursor else "")).json()
            seen += [capability["capability_id"] for capability in page["capabilities"]]
            cursor = page["next_cursor"]
        self.assertEqual(len(seen), SHIPPED)
        self.assertEqual(len(set(seen)), SHIPPED)


class FirstCallOnPostgres(OnPostgres, FirstCall):
    """The same on PostgreSQL."""


class Hash(unittest.TestCase):
    def test_the_same_yaml_has_the_same_hash_in_both_databases(self):
        postgres = Postgres()
        self.addCleanup(postgres.close)
        hashes = []
        for url in (None, postgres.new_database()):
            gateway = Gateway(postgres_url=url).start()
            self.addCleanup(gateway.close)
            hashes.append(gateway.get("/v1/capabilities").json()["generation"]["payload_hash"])
        gateway = Gateway()
        self.addCleanup(gateway.close)
        hashes.append(gateway.run("registry", "hash").stdout.strip())
        self.assertEqual(len(set(hashes)), 1, hashes)


if __name__ == "__main__":
    unittest.main()
