"""Corrections by an operator: credentials from the command line, receipts over HTTP, both
databases."""

import concurrent.futures
import contextlib
import json
import os
import sqlite3
import subprocess
import unittest

from engines import OnPostgres, OnSqlite
from gateway import Gateway, new_registry
from test_gateway import REGISTRY, TEST, UPSTREAM_KEY
from upstream import Upstream
from waiting import until

BODY = {"reason": "too slow", "kind": "refund", "credits": "1"}
AT_ONCE = 8


class Corrections:
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        os.environ["TEST_UPSTREAM_KEY"] = UPSTREAM_KEY
        cls.gateway = Gateway(registry=cls.registry, postgres_url=cls.postgres_url())
        cls.addClassCleanup(cls.gateway.close)
        cls.account, cls.key = cls.gateway.new_key(credits=1_000)
        cls.gateway.start()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        if "verify" in cls.gateway.run("ledger", "--help", check=False).stdout:
            cls.gateway.run("ledger", "verify")  # no test restored more than was charged

    def new_operator(self):
        return self.gateway.run_json("operator", "create", "--name", "e2e", "--authority",
                                     "usage.correct")

    def balance(self):
        return self.gateway.balance(self.account, self.key)

    def correct(self, message, key, token, host="operator", **body):
        return self.gateway.call(
            "POST", f"/internal/v1/billing-accounts/{self.account}/usage/{message}/corrections",
            key=token, host=host, body=json.dumps(body).encode(),
            headers=[("Idempotency-Key", key), ("Content-Type", "application/json")])

    def status_and_code(self, method, target, body=None, *headers):
        reply = self.gateway.call(method, target, host="operator", body=body, headers=headers)
        if reply.status == 405:
            self.assertEqual(reply.headers["allow"], "POST, OPTIONS")
        if reply.status == 401:
            self.assertEqual(reply.headers["www-authenticate"], 'Bearer error="invalid_token"')
        self.assertEqual(reply.json()["error"]["request_id"], reply.headers["x-request-id"])
        return reply.status, reply.error_code()

    def charged_message(self):
        reply = self.gateway.get(TEST + "/upstream/echo", key=self.key)
        self.assertEqual(reply.headers["turnpike-credits-charged"], "2")
        return reply.headers["x-request-id"]

    def test_a_charge_is_corrected_to_the_unit_and_never_beyond(self):
        operator = self.new_operator()
        self.assertTrue(operator["secret"].startswith("turnpike_op_v1_dev_"))
        message = self.charged_message()
        before = self.balance()
        body = {"reason": "too slow", "kind": "refund", "credits": "1"}
        receipt = self.correct(message, "first-" + message, operator["secret"], **body)
        self.assertEqual(receipt.status, 200, receipt.body)
        self.assertEqual((receipt.json()["creditsRestored"], receipt.json()["operatorId"]),
                         ("1", operator["id"]))
        again = self.correct(message, "first-" + message, operator["secret"], **body)
        self.assertEqual((again.status, again.body), (200, receipt.body))
        other = self.correct(message, "first-" + message, operator["secret"],
                             **{**body, "credits": "2"})
        self.assertEqual((other.status, other.error_code()), (409, "idempotency.conflict"))
        more = self.correct(message, "second-" + message, operator["secret"],
                            **{**body, "credits": "2"})
        self.assertEqual((more.status, more.error_code()),
                         (409, "billing.correction_exceeds_charge"))
        self.assertEqual(self.balance(), before + 1)

    def test_a_correction_shows_in_usage_and_allocations(self):
        message = self.charged_message()
        receipt = self.correct(message, message, self.new_operator()["secret"], **BODY).json()
        page = f"/v1/billing-accounts/{self.account}/billing?limit=100&collection="
        rows = self.gateway.get(page + "usage", key=self.key).json()["items"]
        row = next(row for row in rows if row["messageId"] == message)
        self.assertEqual((row["outcome"], row["creditsCharged"]), ("charged", "2"))
        self.assertEqual(row["correction"], {name: receipt[name] for name in (
            "correctionId", "kind", "creditsRestored", "recordedAt")})
        rows = self.gateway.get(page + "allocations", key=self.key).json()["items"]
        carried = next(row for row in rows if row["id"] == receipt["allocationId"])
        self.assertEqual((carried["origin"], carried["credits"]), ("correction", "1"))

    def test_every_refusal_has_its_status(self):
        operator = self.new_operator()
        message = self.charged_message()
        target = f"/internal/v1/billing-accounts/{self.account}/usage/{message}/corrections"
        body = json.dumps(BODY).encode()
        who = ("Authorization", "Bearer " + operator["secret"])
        key = ("Idempotency-Key", "refused-" + message)
        kind = ("Content-Type", "application/json")
        before = self.balance()
        for expected, call in {
            (401, "auth.credential_required"): ("POST", target, body, key, kind),
            (401, "auth.credential_invalid"):
                ("POST", target, body, (who[0], who[1] + "x"), key, kind),
            (400, "auth.credential_conflict"): ("POST", target, body, who, who, key, kind),
            (400, "request.malformed"): ("POST", target, body, who, kind),
            (415, "request.media_type_rejected"): ("POST", target, body, who, key),
            (400, "request.body_rejected"): ("POST", target, b'{"credits": 1}', who, key, kind),
            (404, "request.not_found"): ("POST", target + "/x", body, who, key, kind),
            (404, "billing.message_not_found"):
                ("POST", target.replace(message, "none"), body, who, key, kind),
            (405, "request.method_not_allowed"): ("GET", target, None, who, key),
            (411, "request.length_required"): ("POST", target, None, who, key, kind),
        }.items():
            self.assertEqual(self.status_and_code(*call), expected)
        self.run_sql("UPDATE operator_credential SET authorities = 'usage usage.corrections' "
                     f"WHERE id = '{operator['id']}'")
        self.assertEqual(self.status_and_code("POST", target, body, who, key, kind),
                         (403, "auth.authority_missing"))
        self.assertEqual(self.balance(), before)

    def test_what_was_not_charged_cannot_be_restored(self):
        operator = self.new_operator()
        reply = self.gateway.get(TEST + "/upstream/status/404", key=self.key)
        self.assertEqual((reply.status, reply.headers["turnpike-credits-charged"]), (404, "0"))
        message = reply.headers["x-request-id"]
        # Uncharged facts are written lazily.
        until(lambda: self.correct(message, message, operator["secret"], **BODY).error_code() ==
              "billing.correction_exceeds_charge", "the call is not in the books")

    def at_once(self, keys, message, secret):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as callers:
            return list(callers.map(
                lambda key: self.correct(message, key, secret, **BODY), keys))

    def test_operators_at_once_restore_a_charge_to_the_unit(self):
        secret = self.new_operator()["secret"]
        message = self.charged_message()
        before = self.balance()
        replies = self.at_once([f"{message}-{at}" for at in range(AT_ONCE)], message, secret)
        refused = [reply.error_code() for reply in replies if reply.status != 200]
        self.assertEqual(refused, ["billing.correction_exceeds_charge"] * (AT_ONCE - 2))
        self.assertEqual(self.balance(), before + 2)

    def test_repeats_at_once_and_after_a_crash_are_one_correction(self):
        secret = self.new_operator()["secret"]
        message = self.charged_message()
        before = self.balance()
        replies = self.at_once([message] * AT_ONCE, message, secret)
        self.gateway.kill()
        self.gateway.start()
        replies.append(self.correct(message, message, secret, **BODY))
        self.assertEqual({(reply.status, reply.body) for reply in replies},
                         {(200, replies[0].body)})
        self.assertEqual(self.balance(), before + 1)

    def test_only_operators_correct_and_only_on_their_listener(self):
        operator = self.new_operator()
        message = self.charged_message()
        body = {"reason": "r", "kind": "void", "credits": "2"}
        self.assertEqual(self.correct(message, "k", self.key, **body).status, 401)
        self.assertEqual(self.correct(message, "k", None, **body).status, 401)
        self.assertEqual(self.correct(message, "k", operator["secret"], host="api",
                                      **body).status, 404)
        for target in (TEST + "/upstream/echo", "/v1/auth/context"):
            refused = self.gateway.get(target, key=operator["secret"])
            self.assertEqual((refused.status, refused.error_code()),
                             (401, "auth.credential_invalid"), target)
        listed = self.gateway.run_json("operator", "list")["items"]
        self.assertNotIn(operator["secret"], json.dumps(listed))
        self.gateway.run("operator", "revoke", "--id", operator["id"])
        self.assertEqual(self.correct(message, "k", operator["secret"], **body).status, 401)
        self.assertNotIn(operator["secret"], self.gateway.log_text())

    def test_the_command_line_takes_exact_authorities_alone(self):
        for names in (["usage"], ["usage.correct", "usage.*"]):
            words = [word for name in names for word in ("--authority", name)]
            result = self.gateway.run("operator", "create", "--name", "x", *words, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("usage.correct", result.stderr)
        self.assertEqual(self.gateway.run("operator", "revoke", "--id", "opr_none",
                                          check=False).returncode, 1)


class CorrectionsOnSqlite(OnSqlite, Corrections, unittest.TestCase):
    def run_sql(self, text):
        path = self.gateway.directory / "turnpike.db"
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute(text)


class CorrectionsOnPostgres(OnPostgres, Corrections, unittest.TestCase):
    def run_sql(self, text):
        subprocess.run([self.postgres.binaries / "psql", self.url, "-c", text], check=True,
                       capture_output=True)

    def test_without_the_database_it_is_503_and_the_same_request_may_be_repeated(self):
        secret = self.new_operator()["secret"]
        message = self.charged_message()
        before = self.balance()
        self.postgres.stop()
        refused = self.correct(message, message, secret, **BODY)
        self.postgres.start()
        self.assertEqual((refused.status, refused.headers["retry-after"]), (503, "1"))
        until(lambda: self.correct(message, message, secret, **BODY).status == 200,
              "it is not corrected")
        balance = f"/v1/billing-accounts/{self.account}/credit-balance"
        until(lambda: self.gateway.get(balance, key=self.key).status == 200, "it is not shown")
        self.assertEqual(self.balance(), before + 1)


if __name__ == "__main__":
    unittest.main()
