"""`turnpike ledger`: the audit beside a running gateway and of books that were tampered with, and
checkpoints, which the service signs and which are checked with only the public key."""

import base64
import json
import shutil
import sqlite3
import subprocess
import unittest

from engines import OnPostgres, OnSqlite
from gateway import GOVDATA_IMPORT, Gateway

TARGET = "/v1/gateway/govdata/global/v1/daos"
CALLS = 12


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Ledger:
    def setUp(self):
        self.gateway = Gateway(postgres_url=self.postgres_url(),
                               settings=["accounts.starter_grant.enabled=false"])
        self.addCleanup(self.gateway.close)
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        self.gateway.directory / "govdata.db"], check=True, capture_output=True)
        self.account, self.key = self.gateway.new_key(credits=1000)
        self.gateway.start()
        self.call()
        self.file = self.gateway.directory / "checkpoint.json"

    def call(self):
        for _ in range(CALLS):
            self.assertEqual(self.gateway.get(TARGET, key=self.key).status, 200)

    def ledger(self, *words, code=0):
        result = self.gateway.run("ledger", *map(str, words), "--json", check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def test_books_are_right_beside_a_running_gateway(self):
        verified = self.ledger("verify")
        self.assertTrue(verified["ok"])
        self.assertEqual(verified["problems"], [])
        self.assertEqual(verified["facts"], CALLS)
        self.assertEqual(verified["totals"]["granted"], "1000")
        account, = verified["accounts"]
        self.assertEqual(account["accountId"], self.account)
        self.assertTrue(account["balanced"])
        self.assertEqual(1000 - int(account["charged"]),
                         self.gateway.balance(self.account, self.key))
        text = self.gateway.run("ledger", "verify").stdout
        self.assertIn("granted 1000 = ", text)
        self.assertIn(f"facts {CALLS}, accounts 1: the books are right", text)

    def test_a_row_that_was_changed_is_named_and_nothing_is_signed(self):
        self.gateway.stop()
        message = self.sql("SELECT message_id FROM fact WHERE seq = 3")
        stream = self.sql("SELECT stream FROM fact WHERE seq = 3")
        self.sql("UPDATE fact SET route_id = 'other' WHERE seq = 3")
        problem = (f"fact 3 of stream {stream} (message {message}) was changed: its hash is not "
                   "that of its columns and the fact before")
        verified = self.ledger("verify", code=1)
        self.assertFalse(verified["ok"])
        self.assertEqual(verified["problems"], [problem])
        result = self.gateway.run("ledger", "verify", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(problem, result.stdout)
        self.assertEqual(self.ledger("checkpoint", "--out", self.file, code=1)["problems"],
                         [problem])
        self.assertFalse(self.file.exists())

    def test_books_contain_a_checkpoint_until_their_end_is_cut_off(self):
        self.ledger("checkpoint", "--out", self.file)
        self.call()
        self.assertTrue(self.ledger("verify", "--checkpoint", self.file)["ok"])
        self.gateway.stop()
        stream = self.sql("SELECT MAX(stream) FROM fact")
        self.sql("DELETE FROM fact")
        self.sql("DELETE FROM settle_batch")
        problems = self.ledger("verify", "--checkpoint", self.file, code=1)["problems"]
        self.assertIn(f"stream {stream} ends with fact 0, the checkpoint lists fact {CALLS}",
                      problems)

    def test_a_checkpoint_is_checked_by_the_public_key_alone(self):
        self.ledger("checkpoint", "--out", self.file)
        text = self.file.read_bytes()
        self.assertEqual(text, canonical(json.loads(text)) + b"\n")
        printed = self.ledger("key")
        key = printed["publicKey"]
        self.assertEqual(json.loads(text)["publicKey"], key)
        self.assertEqual((self.gateway.directory / "signing_key").stat().st_mode & 0o777, 0o600)
        alone = ["verify", "--checkpoint", self.file, "--signature-only", "--public-key"]
        self.assertTrue(self.ledger(*alone, key)["ok"])
        self.assertIn("was not signed by this key",
                      self.ledger(*alone, "A" * 43, code=1)["message"])
        self.file.write_bytes(text.replace(b'"granted":"1000"', b'"granted":"1001"'))
        self.assertIn("was not signed by this key", self.ledger(*alone, key, code=1)["message"])
        self.file.write_text("{}")
        self.assertIn("this is no checkpoint", self.ledger(*alone, key, code=1)["message"])

    @unittest.skipUnless(shutil.which("openssl"), "needs the openssl command")
    def test_a_checkpoint_is_checked_by_openssl(self):
        file = json.loads(self.gateway.run("ledger", "checkpoint").stdout)
        parts = {"signed": canonical(file["checkpoint"]), "signature": unpadded(file["signature"]),
                 "key.pem": self.gateway.run("ledger", "key").stdout.encode()}
        for name, content in parts.items():
            (self.gateway.directory / name).write_bytes(content)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin",
                   "-in", "signed", "-sigfile", "signature"]
        check = subprocess.run(command, cwd=self.gateway.directory, capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        (self.gateway.directory / "signed").write_bytes(parts["signed"] + b" ")
        check = subprocess.run(command, cwd=self.gateway.directory, capture_output=True, text=True)
        self.assertNotEqual(check.returncode, 0)


class LedgerOnSqlite(OnSqlite, Ledger, unittest.TestCase):
    def sql(self, statement):
        connection = sqlite3.connect(self.gateway.directory / "turnpike.db")
        with connection:
            row = connection.execute(statement).fetchone()
        connection.close()
        return row[0] if row else None


class LedgerOnPostgres(OnPostgres, Ledger, unittest.TestCase):
    def sql(self, statement):
        result = subprocess.run([self.postgres.binaries / "psql", "-XAtq", "-c", statement,
                                 self.url], check=True, capture_output=True, text=True)
        return result.stdout.strip()


if __name__ == "__main__":
    unittest.main()
