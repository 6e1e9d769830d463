"""The crash table: a real gateway is killed at every point of a paid call (base/crash_points.h), on
both databases. Each row says what the caller saw, what was charged, and what a repeat gets after
the restart.

The table is framework/ledger/CRASHES.md. This test rebuilds it and fails if it differs;
TURNPIKE_UPDATE=1 writes it instead.
"""

import collections
import http.client
import os
import re
import unittest

import gateway as gateway_module
from engines import OnPostgres, OnSqlite
from gateway import BUILD, ROOT, Gateway, new_directory, new_registry, plugins_of
from test_replay import REGISTRY, TEST
from upstream import Upstream
from waiting import until

TABLE = ROOT / "framework" / "ledger" / "CRASHES.md"
POINTS = dict(re.findall(r'X\((\w+),\s+"([^"]+)"\)',
                         (ROOT / "framework" / "base" / "crash_points.h").read_text()))
# Status rounds close whatever calls do, and purchases are not calls.
BY_NO_CALL = {point for point in POINTS
             if point.startswith(("round_", "purchase_", "refund_"))}
# Points of the records of plugins, which calls for Credits do not write; test_x402_crash.py covers
# them.
OF_RECORDS = {"record_before", "record_after"}
# These points come after the reply: an uncharged call is recorded lazily, and a heartbeat posts
# what was charged to its lease.
UNCHARGED = ["fact_before", "fact_after"]
CHARGED = ["post_before", "post_after"]
AT_LEISURE = UNCHARGED + CHARGED
LEASING = ["lease_before", "lease_after"]  # passed by a node that has no lease yet
CRASHING = BUILD / "tests" / "turnpike_crash"
CREDITS = 2  # of one call

# `path` is relative to the upstream. `repeats`: the call that dies repeats a charged one.
Call = collections.namedtuple("Call", "title method path has_key repeats", defaults=(True, False))

CALLS = [
    Call("GET with an Idempotency-Key, reply of 100 bytes", "GET", "/bytes/100"),
    Call("POST with an Idempotency-Key", "POST", "/echo"),
    Call("GET with an Idempotency-Key, streamed reply of 400,000 bytes", "GET", "/bytes/400000"),
    Call("GET with an Idempotency-Key, reply too long to be stored", "GET", "/bytes/1500000"),
    Call("GET with an Idempotency-Key, answered 404 by the provider", "GET", "/status/404"),
    Call("GET that repeats a charged one under its Idempotency-Key", "GET", "/bytes/100",
         repeats=True),
    Call("GET without a key", "GET", "/bytes/100", has_key=False),
]

INTRODUCTION = """\
# What a crash leaves behind

A gateway is one process; this is what remains when it dies at any point of a call that is paid in
Credits, on SQLite and on PostgreSQL alike. `tests/e2e/test_crash.py` kills a real gateway at every
point of `base/crash_points.h` that such a call comes by, starts it again on the same data, and
writes this table; it fails when the table is not this one. Payments per call:
`plugins/x402/CRASHES.md`.

- **Caller saw**: nothing, a part (a broken connection, which no client takes for a reply), or all.
- **Charged**: Credits that the call has cost once the gateway is up again.
- **Repeat**: what the same request under the same key gets then, and **in all** what both have
  cost.

In every row: a caller who saw all of a successful reply was charged, call and repeat under a key
were charged once at most, and what was charged can be had again under its key, up to the 1 MiB of a
reply that is stored. Without a key, what a broken call was charged is in the account's usage.
"""


class Reply:
    """What came back of one call, possibly nothing."""

    def __init__(self, gateway, key, call, idempotency_key):
        self.status, self.headers, self.saw, self.body = None, {}, "nothing", b""
        connection = http.client.HTTPConnection(*gateway.addresses["api"], timeout=60)
        headers = {"Authorization": "Bearer " + key}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        try:
            connection.request(call.method, TEST + call.path, headers=headers)
            response = connection.getresponse()
            self.status = response.status
            self.headers = {name.lower(): value for name, value in response.getheaders()}
            self.saw = "a part"
            self.body = response.read()
            self.saw = "all"
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    def is_replay(self):
        return self.headers.get("idempotent-replayed") == "true"

    def in_words(self):
        if self.is_replay():
            return "the stored reply"
        if self.status in (200, 404):
            return "run again"
        return f"{self.status} `{self.body.decode().split(chr(34))[5]}`"


class Crashes:
    """One gateway on one database, killed and started again."""

    def __init__(self, test, postgres_url):
        self.test = test
        upstream = Upstream()
        test.addCleanup(upstream.close)
        directory = new_directory(test)
        self.at, self.log = directory / "at", directory / "log"
        registry = new_registry(test, REGISTRY.format(address=upstream.address))
        for name, path in (("TURNPIKE_CRASH_AT", self.at), ("TURNPIKE_CRASH_LOG", self.log)):
            os.environ[name] = str(path)
            test.addCleanup(os.environ.pop, name)
        self.gateway = Gateway(registry=registry, postgres_url=postgres_url,
                               plugins=plugins_of(test, "http"))
        test.addCleanup(self.gateway.close)
        self.account, self.key = self.gateway.new_key(credits=10_000)
        self.gateway.start()
        self.keys = 0

    def balance(self):
        return self.gateway.balance(self.account, self.key)

    def restart(self):
        """Restarts the gateway. No lease is open afterwards, so the next call draws one."""
        self.gateway.kill()
        self.at.unlink(missing_ok=True)
        self.gateway.start()

    def prepare(self, call):
        """Returns the key for making `call`."""
        if not call.has_key:
            return None
        self.keys += 1
        key = f"key-{self.keys}"
        if call.repeats:
            self.test.assertEqual(self.undisturbed(call, key)[0].status, 200)
        return key

    def undisturbed(self, call, key):
        """Returns the call's reply and the points it passed, in order. It waits for the last point,
        which comes after the reply."""
        self.log.write_text("")
        reply = Reply(self.gateway, self.key, call, key)
        self.test.assertEqual(reply.saw, "all")
        return reply, until(self.points_to_the_end, self.log.read_text, 30)

    def points_to_the_end(self):
        passed = dict.fromkeys(self.log.read_text().split())
        return passed if "reply_ended" in passed else None

    def points_of(self, call):
        key = self.prepare(call)
        self.restart()
        reply, passed = self.undisturbed(call, key)
        is_charged = reply.headers["turnpike-credits-charged"] != "0"
        return ([point for point in passed if point not in {*AT_LEISURE, *BY_NO_CALL}] +
                (CHARGED if is_charged else UNCHARGED))

    def crash(self, point, call):
        row = self.crash_once(point, call)
        while point in AT_LEISURE and row[2] != "all":  # this time the point came before the reply
            row = self.crash_once(point, call)
        return row

    def crash_once(self, point, call):
        if point in LEASING:
            self.restart()
        before = self.balance()
        key = self.prepare(call)
        spent = before - self.balance()
        self.at.write_text(point)
        reply = Reply(self.gateway, self.key, call, key)
        self.test.assertEqual(self.gateway.process.wait(timeout=60), -9, point)
        self.restart()
        charged = before - spent - self.balance()
        row = [f"`{point}`", POINTS[point], reply.saw, str(charged)]
        self.test.assertIn(charged, (0, CREDITS), point)
        if reply.saw == "all" and reply.status == 200 and not reply.is_replay():
            self.test.assertEqual(charged, CREDITS, f"{point}: a free reply")
        if "x-request-id" in reply.headers:
            self.check_receipt(reply, charged, point)
        if call.has_key:
            again = Reply(self.gateway, self.key, call, key)
            in_all = before - self.balance()
            self.check_repeat(call, reply, again, spent + charged, in_all, point)
            row += [again.in_words(), str(in_all)]
        return row

    def check_receipt(self, reply, charged, point):
        receipt = self.gateway.get("/v1/calls/" + reply.headers["x-request-id"], key=self.key)
        if charged:
            self.test.assertEqual(receipt.status, 200, f"{point}: a lost receipt")
            self.test.assertEqual(
                (receipt.json()["outcome"], receipt.json()["credits_charged"]),
                ("charged", CREDITS), point)
        else:  # the record of an uncharged call may be lost, but is never wrong
            self.test.assertIn(receipt.status, (200, 404), point)
            if receipt.status == 200:
                self.test.assertEqual(receipt.json()["credits_charged"], 0, point)

    def check_repeat(self, call, reply, again, charged, in_all, point):
        self.test.assertEqual(again.saw, "all", point)
        self.test.assertIn(in_all, (0, CREDITS), f"{point}: a double charge")
        if again.status == 200:
            self.test.assertEqual(in_all, CREDITS, f"{point}: a free reply")
            self.test.assertEqual(again.is_replay(), charged != 0, point)
        elif charged:
            self.test.assertEqual(again.in_words(), "409 `idempotency.reply_not_stored`", point)
            self.test.assertGreater(int(call.path.rpartition("/")[2]), 1024 * 1024, point)
        if again.is_replay() and reply.saw == "all":
            self.test.assertEqual(again.body, reply.body)

    def table(self):
        text, passed = INTRODUCTION, set()
        for call in CALLS:
            points = self.points_of(call)
            passed.update(points)
            columns = ["point", "what has been done", "caller saw", "charged"]
            columns += ["repeat", "in all"] if call.has_key else []
            text += f"\n## {call.title}\n\n| " + " | ".join(columns) + " |\n"
            text += "|---" * len(columns) + "|\n"
            for point in points:
                text += "| " + " | ".join(self.crash(point, call)) + " |\n"
        self.test.assertEqual(set(POINTS) - passed, OF_RECORDS | BY_NO_CALL,
                              "points that no call comes by")
        return text


class CrashTable:
    maxDiff = None

    def test_every_point(self):
        saved, gateway_module.TURNPIKE = gateway_module.TURNPIKE, CRASHING
        self.addCleanup(setattr, gateway_module, "TURNPIKE", saved)
        made = Crashes(self, self.postgres_url()).table()
        if os.environ.get("TURNPIKE_UPDATE"):
            TABLE.write_text(made)
        self.assertEqual(made, TABLE.read_text())


class CrashesOnSqlite(OnSqlite, CrashTable, unittest.TestCase):
    def test_a_released_gateway_has_no_crash_points(self):
        released, crashing = gateway_module.TURNPIKE.read_bytes(), CRASHING.read_bytes()
        for text in ["TURNPIKE_CRASH_AT", *POINTS]:
            self.assertNotIn(text.encode(), released)
            self.assertIn(text.encode(), crashing)


class CrashesOnPostgres(OnPostgres, CrashTable, unittest.TestCase):
    """The same on PostgreSQL."""


if __name__ == "__main__":
    unittest.main()
