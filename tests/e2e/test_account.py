"""What an account can read about itself: its usage, in pages and in totals, its allocations, and
the replies while it is being set up, is suspended or cannot be read. On both databases."""

import csv
import io
import json
import sqlite3
import subprocess
import threading
import unittest

from engines import OnPostgres, OnSqlite
from gateway import GOVDATA_IMPORT, Gateway
from waiting import until

BASE = "/v1/gateway/govdata/global/v1"


class Account:
    """The cases; the classes below run them on each database."""

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(postgres_url=cls.postgres_url(),
                              settings=["accounts.starter_grant.credits=100"])
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        cls.gateway.directory / "govdata.db"], check=True, capture_output=True)
        cls.gateway.run("migrate")
        cls.gateway.start()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        cls.gateway.close()

    def setUp(self):
        self.account, self.key = self.gateway.new_key()

    def read(self, route, key=None, account=None):
        return self.gateway.get(f"/v1/billing-accounts/{account or self.account}{route}",
                                key=key or self.key)

    def walk(self, collection, limit, until=()):
        rows, after = [], ""
        while True:
            page = self.read(f"/billing?collection={collection}&limit={limit}{after}").json()
            for row in page["items"]:
                if row.get("messageId") in until:
                    return rows
                rows.append(row)
            if page["nextCursor"] is None:
                return rows
            after = "&after=" + page["nextCursor"]

    def spend(self, calls):
        for _ in range(calls):
            reply = self.gateway.get(BASE + "/meta/pricing", key=self.key)
            self.assertEqual(reply.status, 200, reply.body)

    def test_a_call_shows_at_once_and_totals_equal_the_ledger(self):
        reply = self.gateway.get(BASE + "/meta/pricing", key=self.key,
                                 headers=[("X-Request-Id", "mine-1")])
        page = self.read("/billing?collection=usage")
        self.assertEqual(page.headers["cache-control"], "private, no-store")
        (row,) = page.json()["items"]
        self.assertEqual(row["requestId"], reply.headers["x-request-id"])
        self.assertEqual(row["clientRequestId"], "mine-1")
        self.assertEqual((row["outcome"], row["creditsCharged"], row["upstreamStatus"]),
                         ("charged", "1", 200))
        self.assertIsNone(row["correction"])
        self.assertEqual(row["generation"], reply.headers["turnpike-generation"])

        self.spend(4)
        missing = self.gateway.get(BASE + "/daos/no-such-dao/brief", key=self.key)
        self.assertEqual(missing.status, 404)
        balance = int(self.read("/credit-balance").json()["creditBalance"])
        self.assertEqual(balance, 95)
        # An uncharged fact is written lazily.
        until(lambda: self.read("/usage").json()["totals"]["requests"] == 6, "a call is missing")
        summary = self.read("/usage").json()
        self.assertEqual(summary["totals"], {"requests": 6, "charged": 5, "released": 1,
                                             "creditsCharged": "5"})
        self.assertEqual(len(summary["series"]), 30)
        self.assertEqual(sum(b["requests"] for b in summary["series"]), 6)
        self.assertEqual(sum(o["charged"] for o in summary["byOperation"]), 5)
        (by_key,) = summary["byKey"]
        self.assertEqual(by_key["requests"], 6)
        one = self.read(f"/usage?granularity=month&route_id={row['routeId']}"
                        f"&api_key_id={row['apiKeyId']}").json()
        self.assertEqual(one["totals"]["charged"], 5)
        # Bounds within the hour of the calls count exactly the calls between them.
        times = sorted(r["occurredAt"] for r in self.walk("usage", 100))
        cut = self.read(f"/usage?granularity=hour&from={times[1]}&to={times[-1]}").json()
        self.assertEqual(cut["totals"]["requests"],
                         sum(times[1] <= t < times[-1] for t in times))

    def test_pages_hold_still_while_callers_spend(self):
        """A client that repeatedly reads new rows down to the ones it knows ends up with every call
        once."""
        spenders = [threading.Thread(target=self.spend, args=(15,)) for _ in range(4)]
        for spender in spenders:
            spender.start()
        known = {}
        while any(spender.is_alive() for spender in spenders):
            for row in self.walk("usage", 3, until=known.keys()):
                self.assertNotIn(row["messageId"], known)
                known[row["messageId"]] = row
        for spender in spenders:
            spender.join()
        for row in self.walk("usage", 3, until=known.keys()):
            known[row["messageId"]] = row
        self.assertEqual(len(known), 60)
        self.assertEqual([row["messageId"] for row in self.walk("usage", 7)],
                         [row["messageId"] for row in self.walk("usage", 100)])

    def test_allocations_sum_to_the_balance(self):
        self.gateway.run("grant", "--account", self.account, "--credits", "7")
        self.spend(2)
        rows = self.walk("allocations", 1)
        self.assertEqual([row["origin"] for row in rows], ["operator_grant", "starter_grant"])
        self.assertEqual(sum(int(row["remaining"]) for row in rows),
                         int(self.read("/credit-balance").json()["creditBalance"]))
        self.assertEqual(self.walk("invoices", 1), [])

    def test_what_is_given_back_shows_and_still_sums_to_the_balance(self):
        self.spend(3)
        row = self.walk("usage", 10)[1]
        operator = self.gateway.run_json("operator", "create", "--name", "e2e", "--authority",
                                         "usage.correct")["secret"]
        receipt = self.gateway.call(
            "POST", f"/internal/v1/billing-accounts/{self.account}/usage/{row['messageId']}"
            "/corrections", key=operator, host="operator",
            headers=[("Idempotency-Key", "one"), ("Content-Type", "application/json")],
            body=b'{"reason": "Stale data.", "kind": "refund", "credits": "1"}')
        self.assertEqual(receipt.status, 200, receipt.body)
        self.assertEqual(self.walk("usage", 10)[1]["correction"],
                         {"correctionId": receipt.json()["correctionId"], "kind": "refund",
                          "creditsRestored": "1", "recordedAt": receipt.json()["recordedAt"]})
        self.assertEqual([r["correction"] for r in self.walk("usage", 10)].count(None), 2)
        # The charge stays; the refund is an allocation of its own.
        self.assertEqual(self.read("/usage").json()["totals"]["creditsCharged"], "3")
        allocations = self.walk("allocations", 10)
        self.assertEqual([each["origin"] for each in allocations], ["correction", "starter_grant"])
        self.assertEqual(self.read("/credit-balance").json()["creditBalance"], "98")
        self.assertEqual(sum(int(each["remaining"]) for each in allocations), 98)

    def test_without_a_valid_key_every_route_is_401(self):
        for route in ("/usage", "/billing?collection=usage", "/credit-balance", "context"):
            target = (f"/v1/billing-accounts/{self.account}{route}" if route[0] == "/"
                      else "/v1/auth/context")
            for key in (None, "x", self.key[:-1] + ("a" if self.key[-1] != "a" else "b")):
                reply = self.gateway.get(target, key=key)
                self.assertEqual(reply.status, 401, (target, key))
                self.assertEqual(reply.headers["www-authenticate"], 'Bearer error="invalid_token"')
                self.assertEqual(reply.headers["cache-control"], "private, no-store")

    def test_a_cursor_is_good_for_its_account_and_collection_alone(self):
        self.gateway.run("grant", "--account", self.account, "--credits", "7")
        cursor = self.read("/billing?collection=allocations&limit=1").json()["nextCursor"]
        self.assertTrue(cursor)
        after = "&limit=1&after=" + cursor
        self.assertEqual(self.read("/billing?collection=allocations" + after).status, 200)
        other, key = self.gateway.new_key()
        for reply in (self.read("/billing?collection=usage" + after),
                      self.read("/billing?collection=allocations" + after, key=key, account=other),
                      self.read("/billing?collection=allocations" + after[:-1])):
            self.assertEqual((reply.status, reply.error_code()), (400, "request.query_rejected"))
            self.assertEqual(reply.json()["error"]["fields"][0]["location"], "query.after")

    def test_other_accounts_are_403_existing_or_not(self):
        other, _ = self.gateway.new_key()
        for account in (other, "acc_none"):
            for route in ("/usage", "/billing?collection=usage", "/billing", "/credit-balance"):
                reply = self.read(route, account=account)
                self.assertEqual((reply.status, reply.error_code()), (403, "account.forbidden"))

    def test_bad_queries_are_400_with_field_and_fix(self):
        for route, location in (("/billing", "query.collection"),
                                ("/billing?collection=usage&limit=101", "query.limit"),
                                ("/billing?collection=usage&after=x", "query.after"),
                                ("/billing?collection=usage&page=2", "query.page"),
                                ("/usage?granularity=year", "query.granularity"),
                                ("/usage?from=yesterday", "query.from")):
            reply = self.read(route)
            self.assertEqual((reply.status, reply.error_code()), (400, "request.query_rejected"))
            (field,) = reply.json()["error"]["fields"]
            self.assertEqual(field["location"], location)
            self.assertTrue(field["fix"])

    def wait_for(self, status, route="/usage", holds=lambda reply: True, read=None):
        """Asks until the reply holds: nothing announces that a gateway has seen a change made
        outside it."""
        reply = None

        def held():
            nonlocal reply
            reply = (read or self.read)(route)
            return reply.status == status and holds(reply)
        until(held, lambda: f"still {reply.status}: {reply.body}", seconds=30)
        return reply

    def test_suspended_and_closed_accounts_are_403_on_every_lane(self):
        self.spend(1)
        for verb, code in (("suspend", "account.suspended"), ("close", "account.closed")):
            self.gateway.run("account", verb, "--id", self.account)
            self.wait_for(403, holds=lambda reply: reply.error_code() == code)
            for route in ("/meta/pricing", "/meta/pricing:free"):
                self.wait_for(403, BASE + route, lambda reply: reply.error_code() == code,
                              lambda path: self.gateway.get(path, key=self.key))
            if verb == "suspend":
                self.gateway.run("account", "resume", "--id", self.account)
                self.wait_for(200, BASE + "/meta/pricing",
                              read=lambda path: self.gateway.get(path, key=self.key))
        again = self.gateway.run("account", "resume", "--id", self.account, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("closed", again.stderr)

    def set_status(self, status):
        """Changes the database from outside, and leaves it as the gateway's own steps would."""
        self.sql(f"UPDATE account SET status = '{status}' WHERE id = '{self.account}'")
        self.sql("UPDATE counter SET value = value + 1 WHERE name = 'identity_change'")
        self.sql("INSERT INTO identity_change (sequence, account_id, digest) SELECT value,"
                 f" '{self.account}', '' FROM counter WHERE name = 'identity_change'")

    def test_an_account_that_could_not_be_set_up_is_502(self):
        self.set_status("provisioning_failed")
        for route in ("/usage", "/billing?collection=usage", "/credit-balance"):
            self.assertEqual(self.wait_for(502, route).error_code(), "account.absent")

    def test_a_pending_account_is_set_up_by_a_running_gateway(self):
        """An account that conflicts with the books ends as failed; otherwise it becomes active by
        itself."""
        self.sql(f"DELETE FROM posting WHERE account_id = '{self.account}'")
        self.sql(f"DELETE FROM allocation WHERE account_id = '{self.account}'")
        self.set_status("provisioning")
        self.wait_for(200, "/credit-balance", lambda read: read.json()["creditBalance"] == "100")
        self.set_status("provisioning")  # although it has its starter grant
        self.wait_for(502)

    def test_a_fact_that_is_gone_is_500_not_left_out(self):
        self.spend(2)
        row = self.walk("usage", 10)[0]
        self.sql(f"DELETE FROM fact WHERE message_id = '{row['messageId']}'")
        reply = self.read("/billing?collection=usage")
        self.assertEqual((reply.status, reply.error_code()), (500, "account.read_failed"))

    def test_keys_are_renamed_and_their_use_is_recorded(self):
        self.spend(1)
        (key,) = self.gateway.run_json("key", "list", "--account", self.account)["items"]
        renamed = self.gateway.run_json("key", "rename", "--id", key["id"], "--name", "other")
        self.assertEqual((renamed["id"], renamed["name"]), (key["id"], "other"))
        self.assertEqual(self.gateway.run("key", "rename", "--id", "key_none", "--name", "x",
                                          check=False).returncode, 1)
        # The use is written lazily, but revoking the key does not lose it.
        self.gateway.run("key", "revoke", "--id", key["id"])
        self.wait_for(401)

        def used_key():
            (listed,) = self.gateway.run_json("key", "list", "--account", self.account)["items"]
            return listed if listed["lastUsedAt"] else None
        key = until(used_key, "the use was lost")
        self.assertTrue(key["revokedAt"])

    def test_an_owner_gets_one_starter_grant_however_many_accounts(self):
        balances = []
        for _ in range(2):
            account = self.gateway.run_json("account", "create", "--name", "n", "--owner",
                                            "subject-of-" + self.account)
            self.assertEqual(account["status"], "active")
            secret = self.gateway.run_json("key", "create", "--account", account["id"], "--name",
                                           "k")["secret"]
            balances.append(self.read("/credit-balance", key=secret,
                                      account=account["id"]).json()["creditBalance"])
        self.assertEqual(balances, ["100", "0"])

    def test_exports_have_every_row_and_the_totals_beside_them(self):
        self.spend(5)
        exported = self.gateway.run("export", "--account", self.account, "--collection", "usage")
        rows = [json.loads(line) for line in exported.stdout.splitlines()]
        self.assertEqual([row["messageId"] for row in rows],
                         [row["messageId"] for row in self.walk("usage", 100)])
        self.assertEqual(json.loads(exported.stderr)["totals"],
                         {"requests": 5, "charged": 5, "released": 0, "replayed": 0,
                          "creditsCharged": "5", "creditsRestored": "0"})
        exported = self.gateway.run("export", "--all", "--collection", "allocations", "--format",
                                    "csv")
        table = list(csv.DictReader(io.StringIO(exported.stdout, newline="")))
        totals = json.loads(exported.stderr)["totals"]
        self.assertEqual(int(totals["credits"]), sum(int(row["credits"]) for row in table))
        self.assertEqual(self.gateway.run("export", "--collection", "usage",
                                          check=False).returncode, 2)


class AccountOnSqlite(OnSqlite, Account, unittest.TestCase):
    def sql(self, statement):
        with sqlite3.connect(self.gateway.directory / "turnpike.db", timeout=20) as database:
            database.execute(statement)
        database.close()


class AccountOnPostgres(OnPostgres, Account, unittest.TestCase):
    def wait_for_charges(self):
        """The ledger notices by itself that the books are back, whether or not anybody reads. A
        call of a new account needs a new lease and a batch: once it succeeds, the outage fails no
        further call."""
        _, key = self.gateway.new_key()
        self.wait_for(200, BASE + "/meta/pricing",
                      read=lambda path: self.gateway.get(path, key=key))

    def test_books_out_of_reach_are_503_until_they_are_back(self):
        self.spend(1)
        self.postgres.stop()
        routes = ("/usage", "/billing?collection=usage", "/billing?collection=allocations",
                  "/credit-balance")
        for route in routes:
            reply = self.wait_for(503, route)
            self.assertIn(reply.error_code(), ("billing.ledger_unavailable", "auth.unavailable"))
            self.assertEqual(reply.headers["cache-control"], "private, no-store")
        self.postgres.start()
        for route in routes:
            self.wait_for(200, route)
        self.assertEqual(self.read("/usage").json()["totals"]["charged"], 1)
        self.wait_for_charges()

    def test_a_restart_of_the_database_costs_no_later_call(self):
        """Every session in the pool dates from before the restart; a call must succeed on any of
        them."""
        self.spend(1)
        self.postgres.stop()
        self.postgres.start()
        self.wait_for_charges()
        self.wait_for(200, "/credit-balance")
        statuses = []
        callers = [threading.Thread(target=lambda: statuses.append(self.read("/usage").status))
                   for _ in range(16)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        self.assertEqual(statuses, [200] * 16)
        self.spend(1)

    def sql(self, statement):
        subprocess.run([self.postgres.binaries / "psql", "-q", "-v", "ON_ERROR_STOP=1", self.url,
                        "-c", statement], check=True, capture_output=True)


if __name__ == "__main__":
    unittest.main()
