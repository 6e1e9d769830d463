"""Idempotency-Keys over real sockets, on both databases: one upstream call and one charge for any
number of callers, and a stored reply that survives the process."""

import concurrent.futures
import unittest

from engines import OnPostgres, OnSqlite
from gateway import ONE_UPSTREAM, Gateway, new_registry
from upstream import Upstream

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
defaults: {{price: test.standard, upstream: main}}
routes:
  - path: /upstream/{{kind}}
    methods: [GET, POST]
    body: {{max_bytes: 1000, media_types: [application/json]}}
  - {{path: "/upstream/{{kind}}/{{argument}}", response: {{max_bytes: 3000000}}}}
"""

TEST = "/v1/gateway/test/upstream"
CALLERS = 24


class Replay(OnSqlite, unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.close)
        self.registry = new_registry(self, REGISTRY.format(address=self.upstream.address))
        self.url = self.postgres_url()
        self.gateway = self.new_gateway()
        self.gateway.run("check")
        self.account, self.key = self.gateway.new_key()
        self.gateway.start()
        self.granted = self.balance()

    def new_gateway(self):
        gateway = Gateway(registry=self.registry, postgres_url=self.url)
        self.addCleanup(gateway.close)
        return gateway

    def balance(self):
        return self.gateway.balance(self.account, self.key)

    def charged(self):
        return self.granted - self.balance()

    def call(self, path, key, method="GET", node=None, **options):
        if method == "POST":
            options.setdefault("body", b"")
        return (node or self.gateway).call(method, TEST + path, key=self.key,
                                           headers=[("Idempotency-Key", key)], **options)

    def check_replayed(self, reply, first):
        self.assertEqual((reply.status, reply.body), (first.status, first.body))
        self.assertEqual(reply.headers["content-type"], first.headers["content-type"])
        self.assertEqual(reply.headers["idempotent-replayed"], "true")
        self.assertEqual(reply.headers["turnpike-credits-charged"], "0")

    def test_many_callers_at_once_make_one_upstream_call_and_one_charge(self):
        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            calls = [pool.submit(self.call, "/slow", "same") for _ in range(CALLERS)]
            self.upstream.arrived.acquire()
            # All callers except the one that waits for the upstream are answered at once.
            answered = []
            for call in concurrent.futures.as_completed(calls, timeout=60):
                answered.append(call.result())
                if len(answered) == CALLERS - 1:
                    break
            self.upstream.release()
        for reply in answered:
            self.assertEqual((reply.status, reply.error_code()),
                             (409, "idempotency.in_progress"))
            self.assertEqual(reply.json()["error"]["retry"]["advice"], "after_delay")
        first = next(call.result() for call in calls if call.result().status == 200)
        self.assertNotIn("idempotent-replayed", first.headers)
        self.check_replayed(self.call("/slow", "same"), first)
        self.assertEqual(len(self.upstream.requests), 1)
        self.assertEqual(self.charged(), 2)

    def test_a_stored_reply_outlives_a_crash(self):
        for path, method in (("/echo", "GET"), ("/echo", "POST"), ("/bytes/600000", "GET"),
                             ("/chunks/600000", "GET")):
            key = method + path
            first = self.call(path, key, method)
            self.assertEqual(first.status, 200)
            calls, charged = len(self.upstream.requests), self.charged()
            self.gateway.kill()
            self.gateway.start()
            self.check_replayed(self.call(path, key, method), first)
            self.assertEqual((len(self.upstream.requests), self.charged()), (calls, charged))

    def test_a_reply_over_the_limit_is_refused_not_charged_again(self):
        self.assertEqual(self.call("/bytes/1048577", "large").status, 200)
        again = self.call("/bytes/1048577", "large")
        self.assertEqual((again.status, again.error_code()),
                         (409, "idempotency.reply_not_stored"))
        self.assertEqual((len(self.upstream.requests), self.charged()), (1, 2))

    def test_another_request_under_the_key_is_a_conflict(self):
        self.assertEqual(self.call("/echo", "k").status, 200)
        for path, options in (("/echo?a=1", {}), ("/other", {}), ("/echo", {"method": "POST"})):
            reply = self.call(path, "k", **options)
            self.assertEqual((reply.status, reply.error_code()), (409, "idempotency.conflict"))
        self.assertEqual(self.charged(), 2)

    def test_an_uncharged_outcome_frees_the_key(self):
        for _ in range(2):
            self.assertEqual(self.call("/status/404", "k").status, 404)
        self.assertEqual((len(self.upstream.requests), self.charged()), (2, 0))

    def test_each_call_tells_what_became_of_it(self):
        charged, replayed = self.call("/echo", "k"), self.call("/echo", "k")
        released = self.call("/status/404", "other")
        for reply, outcome, reason, credits in ((charged, "charged", "success", 2),
                                                (replayed, "replayed", "replayed", 0),
                                                (released, "released", "upstream_status", 0)):
            state = self.told(reply).json()
            self.assertEqual(
                (state["status"], state["outcome"], state["outcome_reason"],
                 state["credits_charged"], state["upstream_status"], state["generation"]),
                ("final", outcome, reason, credits, reply.status,
                 reply.headers["turnpike-generation"]))
            self.assertEqual(state["ledger_entry"]["message_id"], reply.headers["x-request-id"])
        stranger = self.gateway.new_key()[1]
        self.assertEqual(self.told(charged, stranger).status, 404)

    def told(self, reply, key=None):
        return self.gateway.get("/v1/calls/" + reply.headers["x-request-id"], key=key or self.key)


class ReplayOnPostgres(OnPostgres, Replay):
    def test_nodes_share_keys(self):
        other = self.new_gateway().start()
        first = self.call("/echo", "k")
        self.check_replayed(self.call("/echo", "k", node=other), first)
        self.upstream.arrived.acquire()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(self.call, "/slow", "slow")
            self.upstream.arrived.acquire()
            reply = self.call("/slow", "slow", node=other)
            self.assertEqual((reply.status, reply.error_code()),
                             (409, "idempotency.in_progress"))
            self.upstream.release()
        self.check_replayed(self.call("/slow", "slow", node=other), first.result())
        self.assertEqual((len(self.upstream.requests), self.charged()), (2, 4))


if __name__ == "__main__":
    unittest.main()
