"""The free lane over real sockets, on both databases: what it grants, refuses and reports, that it
never costs anything, and that neither a restart nor a kill gives used quota back."""

import http.client
import json
import os
import re
import shutil
import subprocess
import threading
import unittest

from engines import OnPostgres, OnSqlite
from gateway import BUILD, GOVDATA_IMPORT, ONE_UPSTREAM, Gateway, Redis, new_registry
from upstream import Upstream
from waiting import until

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
free_policies:
  many: {{window: {{limit: 100000, seconds: 31536000}}, concurrency: 100,
         permit_ttl_seconds: 60, bucket_scope: route}}
  five: {{window: {{limit: 5, seconds: 31536000}}, concurrency: 5,
         permit_ttl_seconds: 60, bucket_scope: route}}
  pair: {{window: {{limit: 3, seconds: 31536000}}, concurrency: 5,
         permit_ttl_seconds: 60, bucket_scope: {{shared: pair}}}}
  total: {{window: {{limit: 100, seconds: 31536000}}, concurrency: 5, permit_ttl_seconds: 60,
          quota: {{limit: 50, seconds: 31536000}}, cumulative_limit: 2}}
  two_at_once: {{window: {{limit: 1000, seconds: 31536000}}, concurrency: 2,
                permit_ttl_seconds: 60, bucket_scope: {{shared: slow}}}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 20000}}
routes:
  - {{path: "/upstream/{{kind}}/{{argument}}", free: many}}
  - {{path: /many/upstream/echo, free: many}}
  - {{path: /five/upstream/echo, free: five}}
  - {{path: /pair/upstream/one, free: pair}}
  - {{path: /pair/upstream/other, free: pair}}
  - {{path: /total/upstream/echo, free: total}}
  - {{path: /two/upstream/slow, free: two_at_once, deadline_ms: 20000,
     upstream_settings: {{path: /upstream/slow}}}}
  - {{path: /two/upstream/short, free: two_at_once, deadline_ms: 300,
     upstream_settings: {{path: /upstream/slow}}}}
  - {{path: /paid/upstream/echo}}
"""

TEST = "/v1/gateway/test"

BROKEN_PLUGIN = """
provider: {key: test, name: Test provider, base_path: /v1/gateway/test}
upstreams: {main: {plugin: faulty}}
prices: {test.standard: {version: 1, credit_cost: 2}}
free_policies:
  one: {window: {limit: 1000, seconds: 31536000}, concurrency: 1, permit_ttl_seconds: 60}
defaults: {price: test.standard, upstream: main, free: one}
routes:
  - {path: /throws, upstream_settings: {fault: throws}}
  - {path: /throws_private, upstream_settings: {fault: throws_private}}
  - {path: /no_head, upstream_settings: {fault: no_head}}
  - {path: /oversize, upstream_settings: {fault: oversize}}
"""


def left(reply, name):
    """The remaining count `r` of one item in the reply's RateLimit."""
    return int(re.search(rf'"{name}";r=(\d+)', reply.headers["ratelimit"]).group(1))


def compare_free_variants(test, gateway):
    """Asserts that both documents say the same of every operation. Returns how many operations have
    a free variant."""
    document = gateway.get("/openapi.json").json()
    page = gateway.get("/v1/capabilities?limit=1000").json()
    shown = 0
    for summary in page["capabilities"]:
        detail = gateway.get("/v1/capabilities/" + summary["capability_id"]).json()["capability"]
        if detail["readiness"]["status"] != "ready":
            test.assertNotIn(summary["path"], document["paths"])
            continue
        for operation in detail["operations"]:
            if operation["billing"]["mode"] == "pricing_unavailable":
                test.assertNotIn(summary["path"], document["paths"])
                continue
            path = document["paths"][summary["path"]][operation["method"].lower()]
            test.assertEqual(operation.get("free_rate_limit"), path.get("x-service-free-variant"))
            test.assertEqual(summary["free"], "free_rate_limit" in operation)
            shown += "free_rate_limit" in operation
    return shown


class FreeLane(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        cls.gateway = Gateway(registry=cls.registry, postgres_url=cls.postgres_url())
        cls.addClassCleanup(cls.gateway.close)
        cls.gateway.run("check")
        cls.gateway.start()

    def setUp(self):
        self.account, self.key = self.gateway.new_key()

    def balance(self):
        return self.gateway.balance(self.account, self.key)

    def free(self, path, **options):
        return self.gateway.get(TEST + path, key=self.key, **options)

    def refused(self, reply, status, code):
        self.assertEqual((reply.status, reply.error_code()), (status, code), reply.body)
        return reply

    def test_costs_nothing_and_forwards_the_same_request(self):
        before = self.balance()
        reply = self.free("/many/upstream/echo:free?a=%20b")
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.json()["target"].partition("?")[2], "a=%20b")
        self.assertNotIn(":free", reply.json()["target"])
        self.assertEqual(reply.headers["turnpike-lane"], "free")
        self.assertEqual(reply.headers["turnpike-credits-charged"], "0")
        self.assertEqual(reply.headers["ratelimit-policy"],
                         '"window";q=100000;w=31536000, '
                         '"concurrency";q=100;qu="concurrent-requests"')
        self.assertEqual(left(reply, "window"), 99999)
        self.assertNotIn(self.account, str(reply.headers))
        self.assertEqual(self.balance(), before)

    def test_leaves_no_usage_fact(self):
        def facts():
            reply = self.gateway.get(
                f"/v1/billing-accounts/{self.account}/billing?collection=usage", key=self.key)
            return [(row["lane"], row["creditsCharged"]) for row in reply.json()["items"]]

        self.assertEqual(self.free("/many/upstream/echo:free").status, 200)
        self.assertEqual(self.free("/upstream/status/404:free").status, 404)
        self.assertEqual(facts(), [])
        self.assertEqual(self.free("/many/upstream/echo").status, 200)
        self.assertEqual(facts(), [("credits", "2")], "a paid call leaves one")

    def test_an_idempotency_key_replays_nothing(self):
        headers = [("Idempotency-Key", "same")]
        for used in (1, 2):
            reply = self.free("/many/upstream/echo:free", headers=headers)
            self.assertEqual(reply.status, 200)
            self.assertNotIn("idempotent-replayed", reply.headers)
            self.assertEqual(left(reply, "window"), 100000 - used)

    def test_long_replies_carry_the_fields_too(self):
        reply = self.free("/upstream/bytes/700000:free")
        self.assertEqual((reply.status, len(reply.body)), (200, 700000))
        self.assertEqual(left(reply, "window"), 99999)

    def test_an_upstreams_failure_gives_nothing_back_but_the_permit(self):
        self.assertEqual(self.free("/upstream/status/404:free").status, 404)
        self.refused(self.free("/upstream/status/500:free"), 502,
                     "gateway.upstream_transport_or_response_failure")
        reply = self.free("/upstream/status/200:free")
        self.assertEqual((left(reply, "window"), left(reply, "concurrency")), (99997, 99))

    def test_the_window_is_exact_and_its_refusal_says_when(self):
        for used in range(1, 6):
            self.assertEqual(left(self.free("/five/upstream/echo:free"), "window"), 5 - used)
        reply = self.refused(self.free("/five/upstream/echo:free"), 429,
                             "gateway.free_rate_limited")
        seconds = int(reply.headers["retry-after"])
        self.assertGreater(seconds, 0)
        self.assertEqual(reply.json()["error"]["retry"],
                         {"advice": "after_delay", "after_seconds": seconds})
        item = re.fullmatch(r'"window";r=0;t=(\d+)', reply.headers["ratelimit"])
        self.assertLessEqual(int(item.group(1)), seconds)
        # The paid route still works, and another account is not affected.
        self.assertEqual(self.free("/five/upstream/echo").status, 200)
        _, other = self.gateway.new_key()
        self.assertEqual(self.gateway.get(TEST + "/five/upstream/echo:free", key=other).status, 200)

    def test_routes_share_a_named_bucket(self):
        for path in ("/pair/upstream/one", "/pair/upstream/other", "/pair/upstream/one"):
            self.assertEqual(self.free(path + ":free").status, 200)
        self.refused(self.free("/pair/upstream/other:free"), 429, "gateway.free_rate_limited")

    def test_a_total_ends_for_good(self):
        for _ in range(2):
            self.assertEqual(self.free("/total/upstream/echo:free").status, 200)
        reply = self.refused(self.free("/total/upstream/echo:free"), 429,
                             "gateway.free_limit_reached")
        self.assertNotIn("retry-after", reply.headers)
        self.assertEqual(reply.headers["ratelimit"], '"total";r=0')

    def test_permits_come_back_when_callers_leave_and_when_upstreams_take_too_long(self):
        target = TEST + "/two/upstream/slow:free"
        while self.upstream.arrived.acquire(blocking=False):
            pass  # arrivals of earlier calls
        callers = []
        for _ in range(2):
            caller = http.client.HTTPConnection(*self.gateway.addresses["api"], timeout=60)
            caller.request("GET", target, headers={"Authorization": "Bearer " + self.key})
            self.upstream.arrived.acquire()
            callers.append(caller)
        reply = self.refused(self.free("/two/upstream/slow:free"), 429,
                             "gateway.free_rate_limited")
        self.assertTrue(1 <= int(reply.headers["retry-after"]) <= 60)
        self.assertEqual(reply.headers["ratelimit"], '"concurrency";r=0')
        for caller in callers:
            caller.close()
        until(lambda: self.in_use("slow") == 0, "a place is still taken")
        # `short` counts in the same bucket, and its calls end at their deadline.
        for _ in range(3):
            self.refused(self.free("/two/upstream/short:free"), 504, "gateway.upstream_timeout")
        self.assertEqual(self.in_use("slow"), 0)

    def in_use(self, scope):
        reply = self.gateway.get(f"/v1/billing-accounts/{self.account}/free-quotas", key=self.key)
        self.assertEqual(reply.status, 200)
        return next(entry["concurrency"]["inUse"] for entry in reply.json()["providers"]
                    if entry["bucketScope"] == scope)

    def test_who_may_not_use_it(self):
        target = TEST + "/many/upstream/echo:free"
        self.refused(self.gateway.get(target), 401, "auth.credential_required")
        self.refused(self.gateway.get(target, headers=[("PAYMENT-SIGNATURE", "x")]), 400,
                     "x402.not_payable")
        before = self.balance()
        self.refused(self.free("/paid/upstream/echo:free"), 404, "gateway.route_not_found")
        self.assertEqual(self.balance(), before)
        # A literal suffix is written %3Afree. It is a value like any other, and the call is paid.
        reply = self.free("/upstream/echo/x%3Afree")
        self.assertEqual((reply.status, reply.headers["turnpike-lane"]), (200, "credits"))

    def test_the_catalog_and_the_openapi_document_say_the_same(self):
        self.assertEqual(compare_free_variants(self, self.gateway), 8)

    def test_free_quotas_show_the_own_account_alone(self):
        for _ in range(2):
            self.free("/pair/upstream/one:free")
        self.free("/total/upstream/echo:free")
        self.free("/five/upstream/echo:free")
        path = f"/v1/billing-accounts/{self.account}/free-quotas"
        reply = self.gateway.get(path, key=self.key)
        self.assertEqual((reply.status, reply.headers["cache-control"]),
                         (200, "private, no-store"))
        body = reply.json()
        self.assertEqual(body["billingAccountId"], self.account)
        entries = {entry["bucketScope"]: entry for entry in body["providers"]}
        self.assertEqual(sorted(entries), ["pair", "provider", "route", "slow"])
        pair = entries["pair"]
        self.assertEqual(pair["providerKey"], "test")
        self.assertEqual({**pair["primaryQuota"], "resetsAt": ""},
                         {"limit": 3, "used": 2, "remaining": 1, "windowSeconds": 31536000,
                          "resetsAt": ""})
        self.assertRegex(pair["primaryQuota"]["resetsAt"], r"^\d{4}-\d\d-\d\dT00:00:00.000Z$")
        self.assertEqual((pair["quota"], pair["cumulative"]), (None, None))
        self.assertEqual(pair["concurrency"], {"limit": 5, "inUse": 0})
        total = entries["provider"]
        self.assertEqual(total["cumulative"], {"limit": 2, "used": 1, "remaining": 1})
        self.assertEqual(total["quota"]["used"], 1)
        self.assertEqual(entries["route"]["primaryQuota"]["remaining"], 4)
        for hidden in ("shared:", "route-", "permit", "x402"):
            self.assertNotIn(hidden, json.dumps(body))
        other, key = self.gateway.new_key()
        self.refused(self.gateway.get(path, key=key), 403, "account.forbidden")
        self.refused(self.gateway.get(path), 401, "auth.credential_required")
        self.refused(self.gateway.get(path + "?x=1", key=self.key), 400, "request.query_rejected")

    def test_concurrent_callers_get_exactly_the_limit(self):
        statuses = []

        def call():
            statuses.append(self.free("/five/upstream/echo:free").status)

        callers = [threading.Thread(target=call) for _ in range(32)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        self.assertEqual(sorted(statuses), [200] * 5 + [429] * 27)

    def test_neither_a_restart_nor_a_kill_gives_anything_back(self):
        gateway = Gateway(registry=self.registry, postgres_url=self.postgres_url())
        self.addCleanup(gateway.close)
        _, key = gateway.new_key()

        def used():
            reply = gateway.get(TEST + "/many/upstream/echo:free", key=key)
            self.assertEqual(reply.status, 200)
            return 100000 - left(reply, "window")

        gateway.start()
        for expected in range(1, 21):
            self.assertEqual(used(), expected)
        gateway.stop()
        gateway.start()
        self.assertEqual(used(), 21, "an orderly stop takes nothing either")
        for expected in range(22, 41):
            self.assertEqual(used(), expected)
        gateway.kill()
        gateway.start()
        after = used()
        self.assertGreaterEqual(after, 41)
        self.assertLessEqual(after, 41 + 1024, "no more than was written ahead")


class ShippedRegistry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway()
        cls.addClassCleanup(cls.gateway.close)
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        cls.gateway.directory / "govdata.db"], check=True, capture_output=True)
        cls.gateway.start()

    def test_the_catalog_and_the_openapi_document_say_the_same(self):
        self.assertGreater(compare_free_variants(self, self.gateway), 4)

    def test_a_minutes_worth_is_granted_and_then_refused(self):
        _, key = self.gateway.new_key()
        granted = 0
        while (reply := self.gateway.get("/v1/gateway/govdata/global/v1/daos:free",
                                         key=key)).status == 200:
            self.assertEqual(reply.headers["turnpike-credits-charged"], "0")
            self.assertTrue(reply.json()["data"]["items"])
            granted += 1
        self.assertTrue(60 <= granted <= 120, granted)  # a minute may end in between
        self.assertEqual((reply.status, reply.error_code()), (429, "gateway.free_rate_limited"))
        self.assertTrue(1 <= int(reply.headers["retry-after"]) <= 60)


class BrokenPlugin(unittest.TestCase):
    def test_permits_come_back_however_a_plugin_breaks(self):
        gateway = Gateway(registry=new_registry(self, BROKEN_PLUGIN),
                          plugins=BUILD / "tests" / "fixtures" / "plugins" / "good")
        self.addCleanup(gateway.close)
        _, key = gateway.new_key()
        gateway.start()
        for _ in range(2):
            for path, code in (("/throws", "gateway.plugin_fault"),
                               ("/throws_private", "gateway.plugin_fault"),
                               ("/no_head", "gateway.plugin_fault"),
                               ("/oversize", "gateway.upstream_transport_or_response_failure")):
                reply = gateway.get(TEST + path + ":free", key=key)
                self.assertEqual(reply.error_code(), code, path)


class FreeLaneOnPostgres(OnPostgres, FreeLane):
    """The same on PostgreSQL."""


@unittest.skipUnless(shutil.which("redis-server") or "TURNPIKE_REQUIRE_REDIS" in os.environ,
                     "redis-server is not installed")
class FreeLaneOfSeveralNodes(OnPostgres, unittest.TestCase):
    NODES = 3
    CALLERS = 64

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address).replace(
            "limit: 5,", "limit: 150,").replace("concurrency: 5,", "concurrency: 1000,"))

    def start(self, *settings):
        self.redis = Redis()
        self.addCleanup(self.redis.stop)
        url = self.postgres_url()
        self.nodes = []
        for _ in range(self.NODES):
            node = Gateway(registry=self.registry, postgres_url=url,
                           settings=["free.store=redis", *settings,
                                     f"free.redis.url={self.redis.url}"])
            self.addCleanup(node.close)
            self.nodes.append(node.start())
        self.account, self.key = self.nodes[0].new_key()

    def call_from_all(self, calls_each):
        """The statuses of concurrent calls by many callers over all nodes."""
        statuses = []

        def call(number):
            for at in range(calls_each):
                node = self.nodes[(number + at) % self.NODES]
                reply = node.get(TEST + "/five/upstream/echo:free", key=self.key)
                statuses.append(reply.status)

        callers = [threading.Thread(target=call, args=(number,)) for number in range(self.CALLERS)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        return statuses

    def test_all_nodes_together_grant_exactly_the_limit(self):
        self.start()
        statuses = self.call_from_all(4)
        self.assertEqual((statuses.count(200), statuses.count(429)), (150, 256 - 150))
        for node in self.nodes:
            reply = node.get(f"/v1/billing-accounts/{self.account}/free-quotas", key=self.key)
            entries = {entry["bucketScope"]: entry for entry in reply.json()["providers"]}
            self.assertEqual(entries["route"]["primaryQuota"]["remaining"], 0)
            self.assertEqual(entries["route"]["concurrency"]["inUse"], 0)

    def test_without_the_shared_store_calls_are_refused(self):
        self.start()
        self.redis.process.kill()
        reply = self.nodes[0].get(TEST + "/five/upstream/echo:free", key=self.key)
        self.assertEqual((reply.status, reply.error_code()), (503, "gateway.free_unavailable"))
        reply = self.nodes[0].get(f"/v1/billing-accounts/{self.account}/free-quotas", key=self.key)
        self.assertEqual((reply.status, reply.error_code()), (503, "gateway.free_unavailable"))
        self.assertEqual(
            self.nodes[0].get(TEST + "/five/upstream/echo", key=self.key).status, 200,
            "paid calls go on")

    def test_or_each_node_grants_its_share(self):
        self.start("free.unreachable=local", f"free.nodes={self.NODES}")
        self.redis.process.kill()
        statuses = self.call_from_all(4)
        self.assertEqual((statuses.count(200), statuses.count(429)), (150, 256 - 150))


if __name__ == "__main__":
    unittest.main()
