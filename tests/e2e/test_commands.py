"""The command line: which deployment a command works on, what it refuses for closed accounts and
revoked keys, corrections by command, help, version and exports."""

import csv
import io
import json
import os
import subprocess
import unittest

from gateway import BUILD, TURNPIKE, Gateway, new_directory, new_registry
from test_gateway import REGISTRY, TEST, UPSTREAM_KEY
from upstream import Upstream


def turnpike(*words, cwd="/", **environment):
    return subprocess.run([TURNPIKE, *words], capture_output=True, text=True, timeout=60, cwd=cwd,
                          env={**os.environ, **environment})


class Deployments(unittest.TestCase):
    """Two configurations, one of which the environment names."""

    def setUp(self):
        self.directory = new_directory(self)
        self.ours, self.other = (self.new_deployment(name) for name in ("ours", "other"))

    def new_deployment(self, name):
        config = self.directory / f"{name}.yaml"
        config.write_text(f"data_dir: {self.directory / name}\n"
                          f"plugins: {{directory: {BUILD / 'plugins'}}}\n")
        return config

    def run_here(self, *words):
        result = turnpike(*words, "--config", self.ours, TURNPIKE_CONFIG=str(self.other))
        return result

    def test_the_option_wins_over_the_environment_in_every_command(self):
        account = json.loads(self.run_here("account", "create", "--name", "a", "--json").stdout)
        key = json.loads(self.run_here("key", "create", "--account", account["id"], "--name", "k",
                                       "--json").stdout)
        which = ["--account", account["id"]]
        for words in (["paths"], ["migrate"], ["check"], ["account", "list"],
                      ["key", "list", *which], ["grant", *which, "--credits", "5"],
                      ["allocation", "list", *which],
                      ["key", "rename", "--id", key["id"], "--name", "other"],
                      ["key", "cap", "--id", key["id"], "--per-day", "5"],
                      ["export", *which, "--collection", "usage"], ["ledger", "verify"],
                      ["ledger", "key"], ["ledger", "checkpoint"], ["ledger", "restored"],
                      ["operator", "create", "--name", "o", "--authority", "usage.correct"],
                      ["operator", "list"], ["status", "lease"], ["status", "incidents"],
                      ["registry", "hash"], ["registry", "dump"],
                      ["account", "suspend", "--id", account["id"]], ["x402", "unknown"],
                      ["key", "revoke", "--id", key["id"]]):
            result = self.run_here(*words)
            if words == ["paths"]:
                self.assertIn(f"data_dir {self.directory / 'ours'}\n", result.stdout)
            self.assertNotIn(str(self.directory / "other"), result.stdout + result.stderr, words)
        self.assertTrue((self.directory / "ours" / "turnpike.db").exists())
        self.assertFalse((self.directory / "other").exists())

    def test_the_environment_wins_over_the_file_of_the_working_directory(self):
        (self.directory / "config").mkdir()
        self.ours.rename(self.directory / "config" / "turnpike.yaml")
        here = turnpike("paths", cwd=self.directory)
        self.assertIn(f"data_dir {self.directory / 'ours'}\n", here.stdout)
        named = turnpike("paths", cwd=self.directory, TURNPIKE_CONFIG=str(self.other))
        self.assertIn(f"data_dir {self.directory / 'other'}\n", named.stdout)

    def test_an_option_that_names_nothing_means_no_other_deployment(self):
        for words in (["paths"], ["x402", "unknown"]):
            result = turnpike(*words, "--config", "", TURNPIKE_CONFIG=str(self.other))
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("--config: names no file", result.stderr)
        self.assertFalse((self.directory / "other").exists())


class Help(unittest.TestCase):
    def test_version_and_help_are_answered_however_they_are_asked_for(self):
        version = turnpike("version").stdout
        self.assertTrue(version.startswith("turnpike 0."), version)
        self.assertEqual(turnpike("--version").stdout, version)
        whole = turnpike("--help")
        self.assertEqual((whole.returncode, whole.stderr), (0, ""))
        self.assertEqual(turnpike("help").stdout, whole.stdout)
        inner = turnpike("help", "key", "create")
        self.assertEqual((inner.returncode, inner.stdout),
                         (0, turnpike("key", "create", "--help").stdout))
        wrong = turnpike("help", "kye")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn('there is no command "kye"; did you mean "key"?', wrong.stderr)

    @unittest.skipUnless((BUILD / "plugins" / "x402.so").exists(), "the lane is not built")
    def test_a_lane_tells_its_usage_without_a_database(self):
        directory = new_directory(self)
        for words in (["x402", "--help"], ["x402", "payments", "-h"], ["help", "x402"]):
            result = turnpike(*words, cwd=directory)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertIn("usage: turnpike x402 payments", result.stdout)
        self.assertIn("usage: turnpike receipt verify", turnpike("receipt", "--help").stdout)
        self.assertEqual(list(directory.iterdir()), [])


class FinalStates(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway()
        self.addCleanup(self.gateway.close)

    def new_account(self, *changes):
        account = self.gateway.run_json("account", "create", "--name", "a")["id"]
        for change in changes:
            self.gateway.run("account", change, "--id", account)
        return account

    def assert_refused(self, sentence, *words):
        result = self.gateway.run(*words, check=False)
        self.assertEqual(result.returncode, 1, words)
        self.assertIn(sentence, result.stderr)

    def test_a_closed_account_is_given_nothing(self):
        account = self.new_account("close")
        for words in (["grant", "--credits", "5"], ["key", "create", "--name", "k"]):
            self.assert_refused("The account is closed, which is final", *words, "--account",
                                account)
        self.assertEqual(self.gateway.run_json("key", "list", "--account", account)["items"], [])
        granted = self.gateway.run_json("allocation", "list", "--account", account)["items"]
        self.assertEqual([each["origin"] for each in granted], ["starter_grant"])
        for change in ("suspend", "resume"):
            self.assert_refused("The account is closed", "account", change, "--id", account)

    def test_a_suspended_account_is_given_what_it_uses_once_it_is_resumed(self):
        account = self.new_account("suspend")
        self.gateway.run("grant", "--account", account, "--credits", "5")
        key = self.gateway.run_json("key", "create", "--account", account, "--name", "k")["secret"]
        self.gateway.start()
        balance = f"/v1/billing-accounts/{account}/credit-balance"
        self.assertEqual(self.gateway.get(balance, key=key).error_code(), "account.suspended")
        self.gateway.run("account", "resume", "--id", account)
        self.gateway.stop()  # a running loop needs up to a second to see it
        self.gateway.start()
        self.assertEqual(self.gateway.balance(account, key), 1_005)

    def test_a_revoked_key_takes_no_cap_and_stays_revoked(self):
        account = self.new_account()
        key = self.gateway.run_json("key", "create", "--account", account, "--name", "k")["id"]
        self.gateway.run("key", "revoke", "--id", key)
        self.assert_refused("The key is revoked, which is final", "key", "cap", "--id", key,
                            "--per-day", "5")
        renamed = self.gateway.run_json("key", "rename", "--id", key, "--name", "leaked")
        self.assertEqual(renamed["name"], "leaked")
        self.assertIsNotNone(renamed["revokedAt"])
        self.assertEqual(renamed["caps"], {"perDay": None, "perMonth": None})

    def test_voiding_twice_takes_nothing_twice(self):
        account = self.new_account()
        starter = self.gateway.run_json("allocation", "list", "--account", account)["items"][0]
        once = self.gateway.run_json("allocation", "void", "--id", starter["id"])
        self.assertEqual(self.gateway.run_json("allocation", "void", "--id", starter["id"]), once)
        self.assertEqual((once["status"], once["remaining"]), ("voided", "0"))
        self.gateway.run("ledger", "verify")

    def test_what_is_not_there_is_no_empty_list(self):
        for words in (["key", "list"], ["allocation", "list"],
                      ["export", "--collection", "usage"]):
            self.new_account()
            self.assert_refused("there is no account 'acc_none'", *words, "--account", "acc_none")


class Corrections(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        os.environ["TEST_UPSTREAM_KEY"] = UPSTREAM_KEY
        registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        cls.gateway = Gateway(registry=registry, settings=["log.level=info"])
        cls.addClassCleanup(cls.gateway.close)
        cls.account, cls.key = cls.gateway.new_key()
        cls.gateway.start()

    def charged_message(self, *headers):
        reply = self.gateway.get(TEST + "/upstream/echo", key=self.key, headers=headers)
        self.assertEqual(reply.status, 200)
        return reply.headers["x-request-id"]

    def correct(self, message, *words):
        return ["correction", "create", "--account", self.account, "--message", message,
                "--reason", "too slow", *words]

    def test_the_same_command_again_is_the_same_correction(self):
        message = self.charged_message()
        before = self.gateway.balance(self.account, self.key)
        first = self.gateway.run_json(*self.correct(message, "--credits", "1"))
        self.assertEqual((first["creditsRestored"], first["kind"], first["operatorId"]),
                         ("1", "refund", "command-line"))
        self.assertEqual(self.gateway.run_json(*self.correct(message, "--credits", "1")), first)
        self.assertIn("was recorded before: " + first["correctionId"],
                      self.gateway.run(*self.correct(message, "--credits", "1")).stdout)
        self.assertEqual(self.gateway.balance(self.account, self.key), before + 1)
        other = self.gateway.run_json(*self.correct(message, "--credits", "1",
                                                    "--idempotency-key", "second"))
        self.assertNotEqual(other["correctionId"], first["correctionId"])
        beyond = self.gateway.run(*self.correct(message, "--credits", "1", "--kind", "void"),
                                  check=False)
        self.assertEqual(beyond.returncode, 1)
        self.assertIn("0 Credits are left to be restored", beyond.stderr)

    def test_what_it_does_not_take_is_said_before_the_books_are_opened(self):
        for words, sentence in ((["--credits", "0"], "--credits"),
                                (["--credits", "1", "--kind", "gift"], "--kind"),
                                (["--credits", "1", "--idempotency-key", "a b"],
                                 "visible ASCII"),
                                (["--credits", "1", "--reference", "x" * 201], "/reference")):
            result = self.gateway.run(*self.correct("none", *words), check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(sentence, result.stderr)
        result = self.gateway.run(*self.correct("none", "--credits", "1"), check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no usage with this message id", result.stderr)

    def test_a_repeat_over_http_is_logged_once(self):
        message = self.charged_message()
        token = self.gateway.run_json("operator", "create", "--name", "o", "--authority",
                                      "usage.correct")["secret"]
        replies = [self.gateway.call(
            "POST", f"/internal/v1/billing-accounts/{self.account}/usage/{message}/corrections",
            host="operator", key=token,
            body=b'{"reason":"late","kind":"refund","credits":"1"}',
            headers=[("Idempotency-Key", message), ("Content-Type", "application/json")])
            for _ in range(3)]
        self.assertEqual({reply.body for reply in replies}, {replies[0].body})
        correction = replies[0].json()["correctionId"]
        self.gateway.stop()  # writes all lines
        lines = [line for line in self.gateway.log_text().splitlines()
                 if "usage_corrected" in line and correction in line]
        self.gateway.start()
        self.assertEqual(len(lines), 1)

    def test_operators_say_what_they_know_of_the_status(self):
        status = ["status", "incident"]
        opened = self.gateway.run_json(*status, "open", "--scope", "lane:credits", "--severity",
                                       "degraded", "--note", "Grants are late.")
        word = [opened["incident_id"], "--note", "They are not."]
        self.assertEqual(opened["state"], "open")
        self.assertEqual(len(self.gateway.run_json(*status, "note", *word)["notes"]), 2)
        self.assertIn(word[0], self.gateway.run("status", "incidents").stdout)
        resolved = self.gateway.run_json(*status, "resolve", *word)
        self.assertEqual(resolved["state"], "resolved")
        again = self.gateway.run(*status, "resolve", *word, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("no open incident of operators", again.stderr)
        items = self.gateway.run_json("status", "incidents", "--all", "--limit", "1")["items"]
        self.assertEqual([each["incident_id"] for each in items], word[:1])
        actions = [each["action"] for each in self.gateway.run_json("audit", "list")["items"]]
        self.assertEqual(actions[:3], ["incident.resolve", "incident.note", "incident.open"])

    def test_maintenance_is_announced_listed_and_cancelled(self):
        times = ["--from", "2099-01-31T18:00:00Z", "--to", "2099-01-31T19:00:00Z"]
        maintenance = ["status", "maintenance"]
        announced = self.gateway.run_json(*maintenance, "announce", "--scope", "gateway", *times,
                                          "--note", "The database is moved.")
        listed = self.gateway.run_json(*maintenance, "list")["items"]
        self.assertEqual(listed, [announced])
        self.gateway.run(*maintenance, "cancel", announced["maintenance_id"])
        self.assertEqual(self.gateway.run_json(*maintenance, "list")["items"], [])
        self.assertEqual(self.gateway.run(*maintenance, "cancel", "mnt_none",
                                          check=False).returncode, 1)

    def test_words_on_the_status_that_make_no_sense_are_told_by_their_options(self):
        incident = ["status", "incident", "open", "--note", "n"]
        maintenance = ["status", "maintenance", "announce", "--scope", "gateway", "--note", "n"]
        for words, option in (
                ([*incident, "--scope", "everything", "--severity", "degraded"], "--scope"),
                ([*incident, "--scope", "gateway", "--severity", "fine"], "--severity"),
                (["status", "incident", "note", "inc_1", "--note", "x" * 501], "--note"),
                ([*maintenance, "--from", "soon", "--to", "2099-01-01T00:00:00Z"], "--from"),
                ([*maintenance, "--from", "2099-01-01T00:00:00Z", "--to",
                  "2099-01-01T00:00:00Z"], "--to")):
            result = self.gateway.run(*words, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(option + ":", result.stderr)

    def test_an_export_adds_up_and_has_rows_alone(self):
        again = ("Idempotency-Key", "export-1")
        for _ in range(2):
            self.charged_message(again)
        self.gateway.get(TEST + "/upstream/status/404", key=self.key)
        self.gateway.stop()  # facts of calls that were not charged are written lazily
        exported = ["export", "--account", self.account, "--collection", "usage"]
        lines = self.gateway.run(*exported)
        rows = [json.loads(line) for line in lines.stdout.splitlines()]
        totals = json.loads(lines.stderr)["totals"]
        table = self.gateway.run(*exported, "--format", "csv")
        self.gateway.start()
        self.assertGreaterEqual(totals["replayed"], 1)
        self.assertEqual(totals["requests"],
                         totals["charged"] + totals["released"] + totals["replayed"])
        self.assertEqual(totals["requests"], len(rows))
        listed = list(csv.DictReader(io.StringIO(table.stdout, newline="")))
        self.assertEqual([row["messageId"] for row in listed], [row["messageId"] for row in rows])
        self.assertEqual(json.loads(table.stderr), {"totals": totals})


if __name__ == "__main__":
    unittest.main()
