"""Gateway semantics over real sockets, on both databases: what reaches the upstream, how its
replies are handled, and what the caller is charged."""

import json
import os
import shutil
import socket
import threading
import time
import unittest
import urllib.parse

from engines import OnPostgres, OnSqlite
from gateway import BUILD, Gateway, new_directory, new_registry
from upstream import Upstream, json_of_size
from waiting import until

UPSTREAM_KEY = "upstream-secret-7531"

REGISTRY = """
provider: {{key: test, name: Test provider, base_path: /v1/gateway/test}}
prices:
  test.standard: {{version: 1, credit_cost: 2}}
upstreams:
  main:
    plugin: http
    settings:
      base_url: http://{address}
      prefix: /v1/gateway/test
      allow_private_addresses: true
      credential: {{header: X-Api-Key, value: {{secret: {{env: TEST_UPSTREAM_KEY}}}}}}
      breaker: {{failures: 1000}}
  keyless:
    plugin: http
    settings:
      base_url: http://{address}
      prefix: /v1/gateway/test/keyless
      allow_private_addresses: true
      credential: {{header: X-Api-Key, value: {{secret: {{env: TEST_NO_SUCH_VARIABLE}}}}}}
  dead:
    plugin: http
    settings: {{base_url: "http://127.0.0.1:1", prefix: /v1/gateway/test/dead,
               allow_private_addresses: true, breaker: {{failures: 1000}}}}
  private:
    plugin: http
    settings: {{base_url: "http://{address}", prefix: /v1/gateway/test/private}}
defaults:
  price: test.standard
  upstream: main
  query:
    max_encoded_bytes: 16384
    parameters: {{limit: {{type: integer, range: 1..10}}}}
routes:
  - path: /upstream/{{kind}}
    methods: [GET, POST]
    body: {{max_bytes: 1000, media_types: [application/json]}}
    deadline_ms: 20000
  - {{path: "/upstream/{{kind}}/{{argument}}", response: {{max_bytes: 3000000}}}}
  - {{path: /short/upstream/slow, deadline_ms: 300, upstream_settings: {{path: /upstream/slow}}}}
  - path: /brief/{{size}}
    deadline_ms: 500
    response: {{max_bytes: 12000000}}
    upstream_settings: {{path: "/upstream/bytes/{{size}}"}}
  - path: /small/{{size}}
    response: {{max_bytes: 1000}}
    upstream_settings: {{path: "/upstream/bytes/{{size}}"}}
  - {{path: /enforced/echo, enforcement: declared, upstream_settings: {{path: /upstream/echo}}}}
  - {{path: /blocked/echo, readiness: {{status: blocked, reason: Closed for the winter.}}}}
  - {{path: /keyless/echo, upstream: keyless}}
  - {{path: /dead/echo, upstream: dead}}
  - {{path: /private/echo, upstream: private}}
  - {{path: /unpriced/echo, price: unavailable, credential_required: true}}
  - path: /gift/{{items}}
    no_charge_when: [{{empty_at: /items}}, {{empty_at: /items/0}}]
    upstream_settings: {{path: "/upstream/items/{{items}}"}}
  - path: /slow-gift/{{size}}
    no_charge_when: [{{upstream_over_ms: 1}}]
    upstream_settings: {{path: "/upstream/late/{{size}}"}}
  - path: /empty-gift
    no_charge_when: [empty_body]
    upstream_settings: {{path: /upstream/empty}}
  - {{path: /empty, upstream_settings: {{path: /upstream/empty}}}}
"""

TEST = "/v1/gateway/test"


class GatewaySemantics(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        os.environ["TEST_UPSTREAM_KEY"] = UPSTREAM_KEY
        cls.gateway = Gateway(registry=cls.registry, postgres_url=cls.postgres_url(),
                              settings=["log.level=debug"])
        cls.addClassCleanup(cls.gateway.close)
        cls.gateway.run("check")
        cls.account, cls.key = cls.gateway.new_key(credits=1_000_000)
        cls.gateway.start()

    def balance(self):
        return self.gateway.balance(self.account, self.key)

    def call(self, method, path, **options):
        """Makes a call. Returns the reply and what it charged."""
        before = self.balance()
        reply = self.gateway.call(method, TEST + path, key=self.key, **options)
        charged = before - self.balance()
        self.assertEqual(reply.headers.get("turnpike-credits-charged", "0"), str(charged))
        return reply, charged

    def refused(self, reply, status, code, charged=0):
        self.assertEqual((reply[0].status, reply[0].error_code(), reply[1]),
                         (status, code, charged), reply[0].body)
        return reply[0].json()["error"]

    # ---- what reaches the upstream ---------------------------------------------------------------

    def test_query_bytes_pass_unchanged(self):
        query = "limit=99&limit=x&undeclared=%C3%A9&empty=&flag&a+b=c%20d&q=/?:@!$'()*,;~"
        reply, charged = self.call("GET", "/upstream/echo?" + query)
        self.assertEqual(reply.json()["target"], "/upstream/echo?" + query)
        self.assertEqual(charged, 2)

    def test_the_longest_query_passes_and_one_byte_more_is_refused(self):
        query = "a=" + "x" * 65_534
        self.assertEqual(self.call("GET", "/upstream/echo?" + query)[0].json()["target"],
                         "/upstream/echo?" + query)
        self.refused(self.call("GET", "/upstream/echo?" + query + "x"), 400,
                     "request.query_too_long")

    def test_raw_path_bytes_pass_unchanged(self):
        reply, _ = self.call("GET", "/upstream/status%2E/2%30%30")
        self.assertEqual(self.upstream.requests[-1]["target"], "/upstream/status%2E/2%30%30")
        self.assertEqual(reply.status, 200)

    def test_post_body_passes_byte_for_byte_and_an_empty_one_is_omitted(self):
        body = b'{"a" : "\\u00e9\xc3\xa9", "a": 1}\n'
        reply, charged = self.call("POST", "/upstream/echo", body=body,
                                   headers=[("Content-Type", "application/json; charset=utf-8")])
        self.assertEqual(reply.json()["body"], body.decode("latin-1"))
        self.assertEqual(charged, 2)
        reply, _ = self.call("POST", "/upstream/echo", body=b"")
        names = [name for name, _ in reply.json()["headers"]]
        self.assertNotIn("content-type", names)
        self.assertEqual(reply.json()["body"], "")

    def test_bodies_out_of_bounds_are_refused(self):
        json_type = [("Content-Type", "application/json")]
        self.assertEqual(self.call("POST", "/upstream/echo", body=json_of_size(1000),
                                   headers=json_type)[0].status, 200)
        self.refused(self.call("POST", "/upstream/echo", body=json_of_size(1001),
                               headers=json_type), 400, "request.body_too_large")
        self.refused(self.call("POST", "/upstream/echo", body=b"a=1", headers=[
            ("Content-Type", "application/x-www-form-urlencoded")]), 400,
            "request.media_type_rejected")
        self.refused(self.call("GET", "/upstream/echo", body=b"{}", headers=json_type), 400,
                     "request.body_not_allowed")

    def test_credentials_stay_where_they_belong(self):
        reply, _ = self.call("GET", "/upstream/echo", headers=[
            ("Cookie", "a=b"), ("X-Request-Id", "mine-1"), ("If-None-Match", '"x"'),
            ("Range", "bytes=0-1")])
        sent = reply.json()["headers"]
        self.assertIn(["x-api-key", UPSTREAM_KEY], sent)
        self.assertIn(["accept-encoding", "identity"], sent)
        names = [name for name, _ in sent]
        for name in ("authorization", "cookie", "if-none-match", "range"):
            self.assertNotIn(name, names)
        self.assertNotIn(self.key, reply.body.decode())
        self.assertNotEqual(reply.headers["x-request-id"], "mine-1")
        for reply, _ in (self.call("GET", "/dead/echo"), self.call("GET", "/upstream/garbage")):
            self.assertNotIn(UPSTREAM_KEY, reply.body.decode() + str(reply.headers))
        self.assertNotIn(UPSTREAM_KEY, self.gateway.log_text())
        self.assertNotIn(self.key, self.gateway.log_text())

    # ---- how its replies are handled -------------------------------------------------------------

    def test_uncharged_statuses_are_delivered_unchanged(self):
        for status in (400, 404, 409, 410, 422):
            reply, charged = self.call("GET", f"/upstream/status/{status}")
            self.assertEqual((reply.status, reply.json(), charged),
                             (status, {"status": status}, 0))
            self.assertEqual(reply.headers["turnpike-reply-from"], "provider")

    def test_other_statuses_are_the_gateways_to_explain(self):
        for status in (401, 402, 403):
            reply = self.call("GET", f"/upstream/status/{status}")
            self.refused(reply, 503, "gateway.upstream_credential")
            self.assertNotIn("payment-required", reply[0].headers)
        limited = self.call("GET", "/upstream/status/429")
        self.refused(limited, 503, "gateway.upstream_rate_limited")
        self.assertEqual(limited[0].headers["retry-after"], "7")
        for status in (201, 204, 406, 500, 503):
            self.refused(self.call("GET", f"/upstream/status/{status}"), 502,
                         "gateway.upstream_transport_or_response_failure")
        self.refused(self.call("GET", "/upstream/redirect"), 502, "gateway.upstream_redirect")

    def test_broken_upstreams_are_502(self):
        for path in ("/upstream/garbage", "/upstream/close", "/upstream/cut/1000",
                     "/upstream/html", "/dead/echo", "/private/echo"):
            error = self.refused(self.call("GET", path), 502,
                                 "gateway.upstream_transport_or_response_failure")
            self.assertEqual(error["fault"], "provider", path)

    def test_declared_conditions_make_a_success_free(self):
        for items, cost in (("[]", 0), ("null", 0), ("[null]", 0), ("[7]", 2), ("7", 2)):
            reply, charged = self.call("GET", "/gift/" + urllib.parse.quote(items))
            self.assertEqual((reply.status, charged), (200, cost), items)
            self.assertEqual(reply.headers["turnpike-credits-charged"], str(cost))
            self.assertEqual(reply.headers["turnpike-reply-from"], "provider")
            self.assertEqual(reply.json(), {"items": json.loads(items)})
        self.assertEqual(self.call("GET", "/empty-gift")[1], 0)
        self.assertEqual(self.call("GET", "/empty")[1], 2)
        reply, charged = self.call("GET", "/slow-gift/10")
        self.assertEqual((len(reply.body), charged), (10, 0))
        reply, charged = self.call("GET", "/slow-gift/2000000")
        self.assertEqual((len(reply.body), charged), (2_000_000, 0))
        self.assertEqual(reply.headers["turnpike-credits-charged"], "0")

    def test_a_slow_upstream_is_504(self):
        self.refused(self.call("GET", "/short/upstream/slow"), 504, "gateway.upstream_timeout")

    def test_the_reply_ceiling_at_the_limit_and_one_past(self):
        reply, charged = self.call("GET", "/small/1000")
        self.assertEqual((len(reply.body), charged), (1000, 2))
        self.refused(self.call("GET", "/small/1001"), 502, "gateway.upstream_response_too_large")

    def test_long_replies_stream_and_are_charged_before_their_end(self):
        for kind in ("bytes", "chunks"):
            reply, charged = self.call("GET", f"/upstream/{kind}/2500000")
            self.assertEqual((reply.body, charged), (json_of_size(2_500_000), 2))

    def test_a_long_reply_that_breaks_off_looks_broken_and_costs_nothing(self):
        for kind in ("cut", "cut-chunks"):
            before = self.balance()
            request = (f"GET {TEST}/upstream/{kind}/1000000 HTTP/1.1\r\nHost: t\r\n"
                       f"Authorization: Bearer {self.key}\r\n\r\n").encode()
            received = self.gateway.raw(request)
            head, _, body = received.partition(b"\r\n\r\n")
            self.assertTrue(head.startswith(b"HTTP/1.1 200"), head)
            self.assertLess(len(body), 1_000_000)
            self.assertFalse(body.endswith(b"0\r\n\r\n"))
            self.assertEqual(self.balance(), before)

    def begin_large_call(self, path="/brief/12000000"):
        """Begins a reply that is larger than all socket buffers. Returns the connection and the
        number of body bytes read so far."""
        for _ in range(20):
            connection, head, body = self.try_large_call(path)
            if not head.startswith(b"HTTP/1.1 504"):  # a busy machine was late, at no charge
                break
            connection.close()
        self.assertTrue(head.startswith(b"HTTP/1.1 200"), head)
        return connection, len(body)

    def try_large_call(self, path):
        connection = socket.socket()
        connection.settimeout(60)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 131072)
        connection.connect(self.gateway.addresses["api"])
        connection.sendall((f"GET {TEST}{path} HTTP/1.1\r\nHost: t\r\n"
                            f"Authorization: Bearer {self.key}\r\n\r\n").encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(4096)
        head, _, body = received.partition(b"\r\n\r\n")
        return connection, head, body

    def test_a_slow_reader_gets_a_large_reply_whole_long_after_the_deadline(self):
        before = self.balance()
        connection, taken = self.begin_large_call()
        with connection:
            begun = time.monotonic()
            while taken < 12_000_000 and (piece := connection.recv(131072, socket.MSG_WAITALL)):
                taken += len(piece)
                self.pause(0.02)
        self.assertEqual(taken, 12_000_000)
        self.assertGreater(time.monotonic() - begun, 1.5)
        self.assertEqual(before - self.balance(), 2)

    def test_a_reader_who_stalls_past_the_deadline_and_leaves_is_charged(self):
        before = self.balance()
        connection, _ = self.begin_large_call()
        self.addCleanup(connection.close)
        self.pause(0.8)  # the deadline of the route is 500 ms
        self.assertEqual(self.balance(), before)
        connection.close()
        until(lambda: self.balance() != before, "the call was not charged")
        self.assertEqual(before - self.balance(), 2)

    @staticmethod
    def pause(seconds):
        threading.Event().wait(seconds)

    # ---- order of refusal, readiness -------------------------------------------------------------

    def test_blocked_unpriced_and_keyless_operations(self):
        error = self.refused(self.call("GET", "/blocked/echo"), 503, "gateway.route_blocked")
        self.assertIn("Closed for the winter.", error["message"])
        self.refused(self.call("GET", "/unpriced/echo"), 503, "billing.pricing_unavailable")
        self.assertEqual(self.gateway.get(TEST + "/unpriced/echo").status, 401)
        self.refused(self.call("GET", "/keyless/echo"), 503, "gateway.upstream_credential")

    def test_declared_policies_bind_only_where_enforced(self):
        self.assertEqual(self.call("GET", "/enforced/echo?limit=10")[1], 2)
        reply = self.call("GET", "/enforced/echo?limit=11&other=1")
        error = self.refused(reply, 400, "request.query_rejected")
        self.assertEqual({field["location"] for field in error["fields"]},
                         {"query.limit", "query.other"})

    def test_refusals_come_in_their_order(self):
        conflict = [("PAYMENT-SIGNATURE", "x")]
        get = self.gateway.get
        cases = [
            (get(TEST + "/nowhere", key="bad", headers=conflict), 400, "auth.credential_conflict"),
            (get(TEST + "/nowhere", key="bad"), 404, "gateway.route_not_found"),
            (get(TEST + "/blocked/echo?%zz", key="bad"), 401, "auth.credential_invalid"),
            (get(TEST + "/blocked/echo?%zz", key=self.key), 503, "gateway.route_blocked"),
            (get(TEST + "/upstream/echo?%zz", key=self.key), 400, "request.query_malformed"),
        ]
        for reply, status, code in cases:
            self.assertEqual((reply.status, reply.error_code()), (status, code))

    def test_stream_is_no_suffix_and_free_is(self):
        reply, charged = self.call("GET", "/upstream/echo:stream")
        self.assertEqual((reply.status, charged), (200, 2))
        self.assertEqual(self.upstream.requests[-1]["target"], "/upstream/echo:stream")
        self.refused(self.call("GET", "/upstream/echo:free"), 404, "gateway.route_not_found")
        reply, _ = self.call("GET", "/upstream/echo%3Afree")
        self.assertEqual(reply.status, 200)

    def test_preflight_never_reaches_the_upstream_and_other_methods_are_405(self):
        seen = len(self.upstream.requests)
        reply = self.gateway.call("OPTIONS", TEST + "/upstream/echo", headers=[
            ("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST")])
        self.assertIn(reply.status, (200, 204))
        self.assertIn("POST", reply.headers["access-control-allow-methods"])
        for method in ("PUT", "DELETE", "PATCH", "HEAD", "TRACE"):
            body = b"" if method in ("PUT", "PATCH") else None  # these methods announce a length
            reply = self.gateway.call(method, TEST + "/upstream/echo", key=self.key, body=body)
            self.assertEqual((reply.status, reply.headers["allow"]), (405, "GET, POST"), method)
        self.assertEqual(len(self.upstream.requests), seen)

    def test_unread_bodies_are_not_the_next_request(self):
        """Request smuggling: a refused POST whose body looks like a request."""
        inner = (f"GET {TEST}/upstream/echo HTTP/1.1\r\nHost: t\r\n"
                 f"Authorization: Bearer {self.key}\r\n\r\n")
        for path in ("/upstream/echo", "/nowhere"):
            seen = len(self.upstream.requests)
            received = self.gateway.raw(
                (f"POST {TEST}{path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"
                 f"Content-Length: {len(inner)}\r\n\r\n{inner}").encode())
            self.assertEqual(received.count(b"HTTP/1.1 "), 1, received)
            self.assertEqual(len(self.upstream.requests), seen)

    def test_a_caller_who_leaves_before_the_reply_is_not_charged(self):
        before = self.balance()
        connection = self.open_slow_call()
        connection.close()
        # The gateway notices while the upstream is still working, and then its release is in the
        # books.
        until(lambda: self.balance() == before and not self.in_flight(), "the call did not end")

    def test_a_half_closed_caller_has_left_but_is_told_what_needs_no_wait(self):
        def half_closed(path):
            with socket.create_connection(self.gateway.addresses["api"], timeout=20) as connection:
                connection.sendall((f"GET {path} HTTP/1.1\r\nHost: t\r\n"
                                    f"Authorization: Bearer {self.key}\r\n\r\n").encode())
                connection.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: connection.recv(65536), b""))
        before = self.balance()
        self.assertTrue(half_closed("/healthz").startswith(b"HTTP/1.1 200 "))
        self.assertEqual(half_closed(TEST + "/upstream/slow"), b"")
        self.assertEqual(self.balance(), before)

    def open_slow_call(self):
        while self.upstream.arrived.acquire(blocking=False):
            pass
        connection = socket.create_connection(self.gateway.addresses["api"])
        connection.sendall((f"GET {TEST}/upstream/slow HTTP/1.1\r\nHost: t\r\n"
                            f"Authorization: Bearer {self.key}\r\n\r\n").encode())
        self.upstream.arrived.acquire()
        return connection

    def in_flight(self):
        fibers = self.gateway.get("/debug/fibers", host="operator").json()["fibers"]
        return [fiber for fiber in fibers if not fiber["background"] and fiber["age_ms"] > 100]

    def test_metrics_tell_what_happened(self):
        self.call("GET", "/upstream/echo")
        text = self.gateway.get("/metrics", host="operator").body.decode()
        self.assertIn("turnpike_http_requests_total", text)
        self.assertNotIn(self.key, text)


class GatewayOnPostgres(OnPostgres, GatewaySemantics):
    """The same on PostgreSQL."""


class Drain(unittest.TestCase):
    def test_calls_in_flight_end_whole_while_the_gateway_stops(self):
        upstream = Upstream()
        self.addCleanup(upstream.close)
        registry = new_registry(self, REGISTRY.format(address=upstream.address))
        os.environ["TEST_UPSTREAM_KEY"] = UPSTREAM_KEY
        gateway = Gateway(registry=registry)
        self.addCleanup(gateway.close)
        account, key = gateway.new_key()
        gateway.start()
        replies = []
        callers = [threading.Thread(target=lambda: replies.append(
            gateway.get(TEST + "/upstream/slow", key=key))) for _ in range(8)]
        for caller in callers:
            caller.start()
        for _ in callers:
            upstream.arrived.acquire()
        gateway.process.terminate()
        upstream.release()
        for caller in callers:
            caller.join()
        self.assertEqual([reply.status for reply in replies], [200] * 8)
        self.assertEqual(gateway.process.wait(timeout=30), 0, gateway.log_text())


class OneGateway(unittest.TestCase):
    """A gateway and a registry for a single test."""

    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.close)

    def start(self, registry, **options):
        directory = new_registry(self, registry)
        os.environ["TEST_UPSTREAM_KEY"] = UPSTREAM_KEY
        self.gateway = Gateway(registry=directory, **options)
        self.addCleanup(self.gateway.close)
        self.account, self.key = self.gateway.new_key(credits=1_000)
        self.gateway.start()

    def balance(self):
        return self.gateway.balance(self.account, self.key)

    def begin_heavy_call(self):
        connection = socket.create_connection(self.gateway.addresses["api"])
        self.addCleanup(connection.close)
        connection.sendall((f"GET {TEST}/heavy HTTP/1.1\r\nHost: t\r\n"
                            f"Authorization: Bearer {self.key}\r\n\r\n").encode())
        self.assertTrue(connection.recv(12).startswith(b"HTTP/1.1 200"))
        return connection

    def test_one_heavy_transfer_more_than_the_limit_is_503_and_costs_nothing(self):
        # The reply exceeds all buffers on the way, so the transfer goes on until the client reads
        # it.
        self.start(REGISTRY.format(address=self.upstream.address) +
                   "  - {path: /heavy, deadline_ms: 300000, response: {max_bytes: 30000000},\n"
                   "     upstream_settings: {path: /upstream/bytes/30000000}}\n",
                   settings=["limits.heavy_transfers_max=2", "limits.heavy_transfer_wait_ms=50"])
        running = [self.begin_heavy_call() for _ in range(2)]
        before = self.balance()
        reply = self.gateway.get(TEST + "/upstream/bytes/1048577", key=self.key)
        self.assertEqual((reply.status, reply.error_code(), reply.headers["retry-after"]),
                         (503, "gateway.transfer_limit", "2"))
        self.assertEqual(self.balance(), before)
        light = self.gateway.get(TEST + "/upstream/bytes/1048576", key=self.key)
        self.assertEqual(light.status, 200, "a lighter reply needs no such place")
        running[0].close()  # drained and charged, and its place is freed
        until(lambda: self.gateway.get(TEST + "/upstream/bytes/1048577", key=self.key).status ==
              200, "the place was not freed")

    def test_conditions_of_a_provider_block_its_operations_before_anything_is_held(self):
        plugins = new_directory(self)
        plugins.chmod(0o755)
        shutil.copy(BUILD / "tests/fixtures/plugins/good/echo.so", plugins)
        self.start("""
provider: {key: test, name: Test provider, base_path: /v1/gateway/test}
prices: {test.standard: {version: 1, credit_cost: 2}}
upstreams:
  stale: {plugin: echo, settings: {condition: evidence_stale, reason: Older than a day.}}
  keyless: {plugin: echo, settings: {condition: credential_missing, reason: No key is set.}}
defaults: {price: test.standard}
routes:
  - {path: /stale, upstream: stale}
  - {path: /keyless, upstream: keyless}
""", plugins=plugins)
        before = self.balance()
        for path, code, reason in (("/stale", "gateway.evidence_stale", "Older than a day."),
                                   ("/keyless", "gateway.upstream_credential", "No key is set.")):
            reply = self.gateway.get(TEST + path, key=self.key)
            self.assertEqual((reply.status, reply.error_code()), (503, code))
            self.assertIn(reason, reply.json()["error"]["message"])
        self.assertEqual(self.balance(), before)


if __name__ == "__main__":
    unittest.main()
