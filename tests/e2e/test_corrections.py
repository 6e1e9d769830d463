"""Corrections by an operator: credentials by command line, receipts over HTTP, both databases."""

import json
import os
import pathlib
import tempfile
import unittest

from gateway import Gateway, Postgres
from test_gateway import REGISTRY, TEST, UPSTREAM_KEY
from upstream import Upstream


class Corrections:
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = tempfile.TemporaryDirectory(prefix="turnpike-registry-")
        cls.addClassCleanup(cls.registry.cleanup)
        (pathlib.Path(cls.registry.name) / "test.yaml").write_text(
            REGISTRY.format(address=cls.upstream.address))
        os.environ["TEST_UPSTREAM_KEY"] = UPSTREAM_KEY
        cls.gateway = Gateway(registry=cls.registry.name, postgres_url=cls.postgres_url())
        cls.addClassCleanup(cls.gateway.close)
        cls.account, cls.key = cls.gateway.new_key(credits=1_000)
        cls.gateway.start()

    def new_operator(self):
        return self.gateway.run_json("operator", "create", "--name", "e2e", "--authority",
                                     "usage.correct")

    def balance(self):
        return int(self.gateway.get(f"/v1/billing-accounts/{self.account}/credit-balance",
                                    key=self.key).json()["creditBalance"])

    def correct(self, message, key, token, host="operator", **body):
        return self.gateway.call(
            "POST", f"/internal/v1/billing-accounts/{self.account}/usage/{message}/corrections",
            key=token, host=host, body=json.dumps(body).encode(),
            headers=[("Idempotency-Key", key), ("Content-Type", "application/json")])

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


class OnSqlite(Corrections, unittest.TestCase):
    @classmethod
    def postgres_url(cls):
        return None


class OnPostgres(Corrections, unittest.TestCase):
    @classmethod
    def postgres_url(cls):
        postgres = Postgres()
        cls.addClassCleanup(postgres.close)
        return postgres.new_database()


if __name__ == "__main__":
    unittest.main()
