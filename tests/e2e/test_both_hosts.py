"""Every gateway case through both hosts: over HTTP, and as MCP's service.route.execute. The reply,
the request that reaches the upstream, the charge, the rows in the books and the free quotas
consumed must be the same. Where the hosts differ on purpose, the case says how.

The cases are the calls of test_first_call.py, test_gateway.py and test_free.py. Cases about
connections (bodies that break off, callers that disconnect) belong to one transport.
"""

import dataclasses
import json
import os
import re
import subprocess
import unittest
import urllib.parse

import test_free
import test_gateway
from engines import OnPostgres, OnSqlite
from gateway import GOVDATA_IMPORT, Gateway, new_registry
from mcp_wire import LEGACY, MODERN, Wire
from upstream import Upstream, json_of_size

TEST = "/v1/gateway/test"
GOVDATA = "/v1/gateway/govdata/global/v1"
JSON = "application/json"
CEILING = 256 * 1024
LANE_FIELDS = ("allow", "ratelimit", "ratelimit-policy", "idempotent-replayed", "retry-after")
MESSAGE = "message"  # of the error: each host explains the correct way in its own terms
HEAD = "head"        # HTTP refuses the head of a request before it is a call
WHOLE = "whole"  # a reply that is too large for a tool result


@dataclasses.dataclass
class Case:
    target: str
    status: int                    # over HTTP
    code: str = None               # of the gateway's error; None: the provider's reply
    method: str = "GET"
    body: str = None
    content_type: str = JSON
    idempotency_key: str = None
    credential: str = "own"        # own, none, bad, damaged, service
    payment: bool = False
    differs: frozenset = frozenset()

    def __str__(self):
        return f"{self.method} {self.target[:80]} {self.credential} {self.code or self.status}"


def refused(target, status, code, **rest):
    return Case(target, status, code, **rest)


def same(target, status=200, **rest):
    return Case(target, status, **rest)


def gateway_cases():
    """The cases of test_gateway.py, in its order."""
    echo = TEST + "/upstream/echo"
    query = "limit=99&limit=x&undeclared=%C3%A9&empty=&flag&a+b=c%20d&q=/?:@!$'()*,;~"
    failed = "gateway.upstream_transport_or_response_failure"
    yield same(f"{echo}?{query}")
    yield same(f"{echo}?a=" + "x" * 65_534)
    yield refused(f"{echo}?a=" + "x" * 65_535, 400, "request.query_too_long", differs={HEAD})
    yield refused(f"{echo}?a=%zz", 400, "request.query_malformed")
    yield same(TEST + "/upstream/status%2E/2%30%30")
    yield same(echo, method="POST", body='{"a" : "\\u00e9é", "a": 1}\n',
               content_type="application/json; charset=utf-8")
    yield same(echo, method="POST", body="")
    yield same(echo, method="POST", body=json_of_size(1000).decode())
    yield refused(echo, 400, "request.body_too_large", method="POST",
                  body=json_of_size(1001).decode())
    yield refused(echo, 400, "request.media_type_rejected", method="POST", body="a=1",
                  content_type="application/x-www-form-urlencoded")
    yield refused(echo, 400, "request.body_not_allowed", body="{}")
    for status in (400, 404, 409, 410, 422):
        yield same(f"{TEST}/upstream/status/{status}", status)
    for status in (401, 402, 403):
        yield refused(f"{TEST}/upstream/status/{status}", 503, "gateway.upstream_credential")
    yield refused(TEST + "/upstream/status/429", 503, "gateway.upstream_rate_limited")
    for status in (201, 204, 406, 500, 503):
        yield refused(f"{TEST}/upstream/status/{status}", 502, failed)
    yield refused(TEST + "/upstream/redirect", 502, "gateway.upstream_redirect")
    for path in ("/upstream/garbage", "/upstream/close", "/upstream/cut/1000", "/upstream/html",
                 "/dead/echo", "/private/echo"):
        yield refused(TEST + path, 502, failed)
    for items in ("[]", "null", "[null]", "[7]", "7"):
        yield same(TEST + "/gift/" + urllib.parse.quote(items))
    for path in ("/empty-gift", "/empty", "/slow-gift/10"):
        yield same(TEST + path)
    yield refused(TEST + "/short/upstream/slow", 504, "gateway.upstream_timeout")
    yield same(TEST + "/small/1000")
    yield refused(TEST + "/small/1001", 502, "gateway.upstream_response_too_large",
                  differs={MESSAGE})
    for kind in ("bytes", "chunks"):
        yield same(f"{TEST}/upstream/{kind}/{CEILING}")
        yield same(f"{TEST}/upstream/{kind}/{CEILING + 1}", differs={WHOLE})
    yield refused(TEST + "/blocked/echo", 503, "gateway.route_blocked")
    yield refused(TEST + "/unpriced/echo", 503, "billing.pricing_unavailable")
    yield refused(TEST + "/unpriced/echo", 401, "auth.credential_required", credential="none",
                  differs={MESSAGE})
    yield refused(TEST + "/keyless/echo", 503, "gateway.upstream_credential")
    yield same(TEST + "/enforced/echo?limit=10")
    yield refused(TEST + "/enforced/echo?limit=11&other=1", 400, "request.query_rejected")
    yield refused(TEST + "/nowhere", 400, "auth.credential_conflict", credential="bad",
                  payment=True, differs={MESSAGE})
    yield refused(TEST + "/nowhere", 404, "gateway.route_not_found")
    yield refused(TEST + "/nowhere", 404, "gateway.route_not_found", credential="bad")
    yield refused(TEST + "/blocked/echo?%zz", 401, "auth.credential_invalid", credential="bad")
    yield refused(TEST + "/blocked/echo?%zz", 503, "gateway.route_blocked")
    yield refused(f"{TEST}/upstream/../upstream/echo", 400, "request.path_malformed")
    yield same(echo + ":stream")
    yield refused(echo + ":free", 404, "gateway.route_not_found")
    yield same(echo + "%3Afree")
    for method in ("PUT", "DELETE", "PATCH", "HEAD"):
        yield refused(echo, 405, "gateway.method_not_allowed", method=method)


def replay_cases():
    """The cases of test_replay.py: a charged reply is replayed; another request is a conflict."""
    echo = TEST + "/upstream/echo"
    yield same(echo, idempotency_key="k")
    yield same(echo, idempotency_key="k")
    yield refused(echo + "?other=1", 409, "idempotency.conflict", idempotency_key="k")
    yield same(TEST + "/upstream/status/404", 404, idempotency_key="l")
    yield same(TEST + "/upstream/status/404", 404, idempotency_key="l")


def credential_cases(target):
    """The cases of test_first_call.py."""
    yield refused(target, 401, "auth.credential_required", credential="none", differs={MESSAGE})
    yield refused(target, 401, "auth.credential_invalid", credential="bad")
    yield refused(target, 401, "auth.credential_invalid", credential="damaged")
    yield refused(target, 401, "auth.credential_invalid", credential="service")
    yield refused(target, 400, "auth.credential_conflict", payment=True, differs={MESSAGE})
    yield refused(target, 400, "x402.not_payable", credential="none", payment=True,
                  differs={MESSAGE})


def free_cases():
    """The cases of test_free.py; they use up the quotas of `five` and `total`."""
    failed = "gateway.upstream_transport_or_response_failure"
    yield same(TEST + "/many/upstream/echo:free?a=%20b")
    yield same(TEST + "/many/upstream/echo:free", idempotency_key="same")
    yield same(TEST + "/many/upstream/echo:free", idempotency_key="same")
    yield same(TEST + "/many/upstream/echo")
    yield same(f"{TEST}/upstream/bytes/{CEILING}:free")
    yield same(f"{TEST}/upstream/bytes/{CEILING + 1}:free", differs={WHOLE})
    yield same(TEST + "/upstream/status/404:free", 404)
    yield refused(TEST + "/upstream/status/500:free", 502, failed)
    for _ in range(5):
        yield same(TEST + "/five/upstream/echo:free")
    yield refused(TEST + "/five/upstream/echo:free", 429, "gateway.free_rate_limited")
    yield same(TEST + "/five/upstream/echo")
    for path in ("one", "other", "one"):
        yield same(f"{TEST}/pair/upstream/{path}:free")
    yield refused(TEST + "/pair/upstream/other:free", 429, "gateway.free_rate_limited")
    for _ in range(2):
        yield same(TEST + "/total/upstream/echo:free")
    yield refused(TEST + "/total/upstream/echo:free", 429, "gateway.free_limit_reached")
    yield refused(TEST + "/two/upstream/short:free", 504, "gateway.upstream_timeout")
    yield from credential_cases(TEST + "/many/upstream/echo:free")
    yield refused(TEST + "/paid/upstream/echo:free", 404, "gateway.route_not_found")
    yield same(TEST + "/upstream/echo/x%3Afree")


def govdata_cases():
    """The cases of test_first_call.py on real data."""
    for path in ("/meta/pricing", "/daos", "/activity?hours=168&limit=5",
                 "/proposals/lookup?title=proposal&limit=5", "/daos:free"):
        yield same(GOVDATA + path)
    yield same(GOVDATA + "/daos/no-such-dao/brief", 404)
    yield refused(GOVDATA + "/nothing", 404, "gateway.route_not_found")
    yield refused(GOVDATA + "/governance-events:free", 404, "gateway.route_not_found")
    yield same(GOVDATA + "/governance-signals?start_ms=1&end_ms=2")
    yield refused(GOVDATA + "/governance-events?start_ms=1&end_ms=2", 503,
                  "billing.pricing_unavailable")
    yield refused(GOVDATA + "/daos", 405, "gateway.method_not_allowed", method="POST", body="{}")
    yield from credential_cases(GOVDATA + "/daos")


class Account:
    """One of two identical accounts: each host has its own, so that both meet the same limits."""

    def __init__(self, gateway, credits=0):
        self.gateway = gateway
        self.id, self.key = gateway.new_key(credits)

    def read(self, what):
        return self.gateway.get(f"/v1/billing-accounts/{self.id}/{what}", key=self.key).json()

    def balance(self):
        return self.gateway.balance(self.id, self.key)

    def facts(self):
        """All usage rows by the client's id of the call, without the columns that differ between
        calls."""
        rows, after = {}, ""
        while True:
            page = self.read("billing?collection=usage&limit=100" + after)
            for row in page["items"]:
                for name in ("messageId", "requestId", "occurredAt", "upstreamMs", "apiKeyId"):
                    row.pop(name)
                rows.setdefault(row["clientRequestId"], []).append(row)
            if not page["nextCursor"]:
                return rows
            after = "&after=" + page["nextCursor"]

    def quotas(self):
        providers = self.read("free-quotas")["providers"]
        for entry in providers:
            for window in ("primaryQuota", "quota"):
                if entry[window]:
                    entry[window].pop("resetsAt")
        return providers

    def token(self, case):
        return {"own": self.key, "bad": "nonsense", "damaged": self.key[:-1] + "!"}.get(
            case.credential)

    def headers(self, case, name):
        headers = [("X-Request-Id", name)]
        if case.payment:
            headers.append(("PAYMENT-SIGNATURE", "x"))
        if case.credential == "service":
            headers.append(("X-Service-Api-Key", self.key))
        return headers


@dataclasses.dataclass
class Outcome:
    """What a caller was told, in terms that both hosts have."""
    status: int
    code: str
    error: dict
    body: object
    content_type: str
    reply_from: str
    credits_charged: int
    lane_fields: dict
    free: bool
    generation: bool


def without(error, *names):
    return {name: value for name, value in (error or {}).items() if name not in names}


def over_http(gateway, account, case, name):
    headers = account.headers(case, name)
    if case.body is not None:
        headers.append(("Content-Type", case.content_type))
    if case.idempotency_key:
        headers.append(("Idempotency-Key", case.idempotency_key))
    body = None if case.body is None else case.body.encode()
    if body is None and case.method in ("PUT", "PATCH"):
        body = b""  # these methods announce a length
    reply = gateway.call(case.method, case.target, key=account.token(case), headers=headers,
                         body=body)
    is_error = reply.headers.get("turnpike-reply-from", "gateway") == "gateway"
    error = reply.json()["error"] if is_error and reply.body else None
    return Outcome(
        status=reply.status, code=error and error["code"],
        error=without(error, "request_id"), body=None if is_error else content(reply),
        content_type=None if is_error else reply.headers.get("content-type"),
        reply_from=reply.headers.get("turnpike-reply-from"),
        credits_charged=int(reply.headers.get("turnpike-credits-charged", "0")),
        lane_fields={name: value for name, value in reply.headers.items() if name in LANE_FIELDS},
        free=reply.headers.get("turnpike-lane") == "free" and not is_error,
        generation="turnpike-generation" in reply.headers and not is_error)


def content(reply):
    return json.loads(reply.body) if reply.body else ""


def over_mcp(wire, account, case, name):
    path, _, query = case.target.partition("?")
    arguments = {"method": case.method, "path": path}
    if query:
        arguments["query"] = query
    if case.body is not None:
        arguments |= {"body": case.body, "content_type": case.content_type}
    if case.idempotency_key:
        arguments["idempotency_key"] = case.idempotency_key
    reply = wire.call("service.route.execute", arguments, key=account.token(case),
                      headers=account.headers(case, name))
    said = reply.said
    error = said.get("error")
    # HTTP, too, answers 401: clients start authorization on it. Everything else is a tool result.
    assert reply.status == (401 if said["http_status"] == 401 else 200), reply.message
    assert reply.result["isError"] == (said["http_status"] >= 400), reply.message
    lane_fields = {name: value for name, value in said.get("headers", {}).items()
                   if name in LANE_FIELDS}
    if error and "after_seconds" in error["retry"]:
        lane_fields["retry-after"] = str(error["retry"]["after_seconds"])
    return Outcome(
        status=said["http_status"], code=error and error["code"],
        error=without(error, "request_id"), body=said.get("body"),
        content_type=said.get("content_type"), reply_from=said["reply_from"],
        credits_charged=said["credits_charged"], lane_fields=lane_fields,
        free=said["execution_status"] == "registry_free_route_executed",
        generation="generation" in said and not error)


class BothHosts(OnSqlite, unittest.TestCase):
    """The table of cases. A class below runs it on PostgreSQL, in the other era of MCP."""

    era = LEGACY

    def make(self, registry, *, credits=0, **options):
        upstream = Upstream()
        self.addCleanup(upstream.close)
        os.environ["TEST_UPSTREAM_KEY"] = test_gateway.UPSTREAM_KEY
        directory = new_registry(self, registry.format(address=upstream.address))
        gateway = self.start(registry=directory, **options)
        return gateway, upstream, Account(gateway, credits), Account(gateway, credits)

    def start(self, **options):
        gateway = Gateway(postgres_url=self.postgres_url(), **options)
        self.addCleanup(gateway.close)
        return gateway.start()

    def compare(self, cases, gateway, upstream, at_http, at_mcp):
        wire = Wire(gateway, era=self.era)
        cases = list(cases)
        for at, case in enumerate(cases):
            with self.subTest(str(case)):
                http = self.observe(at_http, upstream,
                                    lambda: over_http(gateway, at_http, case, f"case-{at}"))
                mcp = self.observe(at_mcp, upstream,
                                   lambda: over_mcp(wire, at_mcp, case, f"case-{at}"))
                self.allow_differences(case, http, mcp)
                self.assert_same(mcp, http)
        # Facts of uncharged calls are written lazily, but before an orderly stop ends.
        gateway.stop()
        gateway.start()
        http, mcp = at_http.facts(), at_mcp.facts()
        self.assertTrue(http)
        for at, case in enumerate(cases):
            with self.subTest("the fact of " + str(case)):
                told = [each.pop(f"case-{at}", []) for each in (mcp, http)]
                if WHOLE in case.differs and told[1]:
                    self.assertEqual([each[0]["outcomeReason"] for each in told],
                                     ["response_too_large", "success"])
                else:
                    self.assertEqual(*told)
        self.assertEqual((http, mcp), ({}, {}), "facts of no case")

    def observe(self, account, upstream, call):
        seen = len(upstream.requests) if upstream else 0
        balance = account.balance()
        told = call()
        return {**dataclasses.asdict(told), "charged": balance - account.balance(),
                "quotas": account.quotas(),
                "asked": [self.asked(each) for each in upstream.requests[seen:]]
                if upstream else None}

    def assert_same(self, mcp, http):
        self.assertEqual({name: value for name, value in mcp.items() if value != http[name]},
                         {name: value for name, value in http.items() if value != mcp[name]})

    @staticmethod
    def asked(request):
        """The request without the headers that name the connection: both hosts forward the headers
        that the route lists."""
        return dict(request, headers=sorted(
            field for field in request["headers"] if field[0] not in ("host", "x-request-id")))

    def allow_differences(self, case, http, mcp):
        """Checks the differences that a case declares, and then removes them from both sides."""
        self.assertEqual(http["status"], case.status)
        if case.method == "HEAD":  # a reply to HEAD has no body, and so no error code
            for name in ("code", "error"):
                http[name] = mcp[name]
        self.assertEqual(http["code"], case.code)
        for each in (http, mcp):
            # An echo contains the headers of the request, which are compared as `asked`. Some
            # providers report the request's id.
            if isinstance(each["body"], dict):
                each["body"] = without(each["body"], "headers", "requestId")
        self.settle_clocks(http, mcp)
        if MESSAGE in case.differs:
            for each in (http, mcp):
                self.assertTrue(each["error"].pop("message"))
        if HEAD in case.differs:
            self.assertEqual(http["reply_from"], None)
            self.assertTrue(mcp["error"].pop("fields"))
            http["reply_from"] = mcp["reply_from"]
        if WHOLE in case.differs:
            self.assertEqual((mcp["status"], mcp["code"]),
                             (502, "gateway.upstream_response_too_large"))
            self.assertIn(f"{CEILING} bytes", mcp["error"]["message"])
            self.assertEqual((mcp["charged"], mcp["credits_charged"]), (0, 0))
            for name in mcp.keys() - {"quotas", "asked"}:
                mcp[name] = http[name]

    def settle_clocks(self, http, mcp):
        """The two calls were made at different times, so remaining seconds may differ."""
        lefts = []
        for each in (http, mcp):
            fields = each["lane_fields"]
            lefts.append(int(fields.get("retry-after", 0)))
            for name in fields:
                fields[name] = re.sub(r";t=\d+", ";t=?", fields[name])
        self.assertTrue(0 <= lefts[0] - lefts[1] <= 5, lefts)
        if lefts[0] != lefts[1]:
            for each in (http, mcp):
                each["lane_fields"]["retry-after"] = each["error"]["retry"]["after_seconds"] = "?"

    def test_what_reaches_the_upstream_and_what_becomes_of_its_answers(self):
        self.compare(gateway_cases(), *self.make(test_gateway.REGISTRY, credits=1000))

    def test_replays(self):
        self.compare(replay_cases(), *self.make(test_gateway.REGISTRY, credits=1000))

    def test_the_free_lane(self):
        self.compare(free_cases(), *self.make(test_free.REGISTRY))

    def test_spent_credits(self):
        gateway, upstream, *accounts = self.make(
            test_gateway.REGISTRY, settings=["accounts.starter_grant.credits=3"])
        echo = TEST + "/upstream/echo"
        self.compare([same(echo), refused(echo, 402, "billing.credits_exhausted")], gateway,
                     upstream, *accounts)

    def test_real_data(self):
        gateway = Gateway(postgres_url=self.postgres_url())
        self.addCleanup(gateway.close)
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        gateway.directory / "govdata.db"], check=True, capture_output=True)
        gateway.start()
        first = Account(gateway)
        for case in govdata_cases():  # so that later calls find the provider's cache filled
            over_http(gateway, first, case, "warm")
        self.compare(govdata_cases(), gateway, None, Account(gateway), Account(gateway))


class BothHostsOnPostgres(OnPostgres, BothHosts):
    """The same on PostgreSQL, with the wire format of the other era."""

    era = MODERN


if __name__ == "__main__":
    unittest.main()
