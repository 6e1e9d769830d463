"""The database takes too long over a settlement: the caller is told that the outcome is unknown.
Although the charge then commits, the call ends uncharged, through this process or the next one."""

import contextlib
import os
import subprocess
import threading
import unittest

from engines import OnPostgres
from gateway import Gateway, new_registry
from test_gateway import REGISTRY, TEST, UPSTREAM_KEY
from upstream import Upstream
from waiting import until

WAIT_SECONDS = 30


class Unknown(OnPostgres, unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.close)
        registry = new_registry(self, REGISTRY.format(address=self.upstream.address))
        os.environ["TEST_UPSTREAM_KEY"] = UPSTREAM_KEY
        self.gateway = Gateway(registry=registry, postgres_url=self.postgres_url())
        self.addCleanup(self.gateway.close)
        self.account, self.key = self.gateway.new_key()
        self.gateway.start()
        self.before = self.balance()

    @contextlib.contextmanager
    def held_facts(self):
        """Blocks all settlements, although the database has received them: another session has
        inserted, and not yet rolled back, a fact at the next position of every stream."""
        session = subprocess.Popen(
            [self.postgres.binaries / "psql", self.url, "-Atq"], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        session.stdin.write(
            "BEGIN; INSERT INTO fact (stream, seq, message_id, request_id, client_request_id,"
            " account_id, api_key_id, occurred_at, route_id, route_revision, method, lane,"
            " credit_cost, credits_charged, price_version, generation, outcome_reason,"
            " upstream_status, upstream_ms, lease_id) SELECT s.stream, 1 + COALESCE((SELECT"
            " MAX(f.seq) FROM fact f WHERE f.stream = s.stream), 0), 'held ' || s.stream, '', '',"
            " '', '', 0, '', 0, '', '', 0, 0, 0, '', '', 0, 0, 0 FROM settle_stream s"
            " RETURNING seq;\n")
        session.stdin.flush()
        self.assertGreater(int(session.stdout.readline()), 0)
        try:
            yield
        finally:
            session.communicate("ROLLBACK;\n")

    def balance(self):
        return self.gateway.balance(self.account, self.key)

    def until_told(self, call):
        """The request id of `call`, whose caller was told that the settlement is unknown."""
        self.upstream.release()
        call.join()
        error = self.reply.json()["error"]
        self.assertEqual((self.reply.status, error["code"], error["retry"]["advice"]),
                         (503, "billing.settlement_unknown", "never"))
        return error["request_id"]

    def call_held_upstream(self):
        def take_reply():
            self.reply = self.gateway.get(TEST + "/upstream/slow", key=self.key)
        call = threading.Thread(target=take_reply)
        call.start()
        self.assertTrue(self.upstream.arrived.acquire(timeout=WAIT_SECONDS))
        return call

    def is_charged(self, message):
        result = subprocess.run(
            [self.postgres.binaries / "psql", self.url, "-Atc",
             f"SELECT credits_charged FROM fact WHERE message_id = '{message}'"],
            check=True, capture_output=True, text=True)
        return result.stdout.strip() == "2"

    def check_undone(self, message):
        until(lambda: self.balance() == self.before, "the Credits did not come back")
        rows = self.gateway.get(
            f"/v1/billing-accounts/{self.account}/billing?collection=usage",
            key=self.key).json()["items"]
        row = next(row for row in rows if row["messageId"] == message)
        self.assertEqual((row["creditsCharged"], row["correction"]["kind"],
                          row["correction"]["creditsRestored"]), ("2", "void", "2"))
        self.gateway.stop()
        self.gateway.run("ledger", "verify")

    def test_the_process_undoes_a_charge_that_commits_after_all(self):
        call = self.call_held_upstream()
        with self.held_facts():
            message = self.until_told(call)
            self.assertFalse(self.is_charged(message))
        until(lambda: self.is_charged(message), "the charge did not commit")
        self.check_undone(message)

    def test_the_next_process_undoes_it_when_this_one_is_killed(self):
        call = self.call_held_upstream()
        with self.held_facts():
            message = self.until_told(call)
            self.gateway.kill()
        until(lambda: self.is_charged(message), "the charge did not commit")
        self.gateway.start()
        self.check_undone(message)


if __name__ == "__main__":
    unittest.main()
