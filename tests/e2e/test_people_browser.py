"""People in a real browser: Debian's Chromium with a virtual authenticator (tests/browser)."""

import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import unittest

from gateway import ROOT, Gateway

BROWSER = ROOT / "tests" / "browser"


class InABrowser(unittest.TestCase):
    def test_from_the_first_link_to_the_last_owner(self):
        gateway = Gateway().start()
        self.addCleanup(gateway.close)
        account = gateway.run_json("account", "create", "--name", "demo")["id"]
        origin = "http://localhost:%d" % gateway.addresses["web"][1]

        def link(*words):
            printed = gateway.run_json("user", "create", *words)["link"]
            return origin + "/login/link#" + printed.partition("#")[2]

        steps = {"origin": origin, "account": account,
                 "link": link("--name", "Owner", "--login", "owner", "--account", account,
                              "--role", "owner"),
                 "secondLink": link("--name", "Plain", "--login", "plain")}
        if "TURNPIKE_SCREENSHOTS" in os.environ:
            steps["screenshots"] = os.environ["TURNPIKE_SCREENSHOTS"]
            pathlib.Path(steps["screenshots"]).mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(["node", "people.mjs", json.dumps(steps)], cwd=BROWSER, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as browser:
            self.addCleanup(browser.kill)
            printed = browser.stdout.readline()
            if printed == "age\n":
                with contextlib.closing(sqlite3.connect(gateway.directory / "turnpike.db")) as db:
                    db.execute("UPDATE session SET step_up_until = 0")
                    db.commit()
            out, errors = browser.communicate("\n", timeout=300)
        self.assertEqual(browser.returncode, 0, printed + out + errors)
        seen = json.loads(out)

        self.assertEqual(seen["axe"], [])
        self.assertEqual(seen["stranger"], "/login")
        self.assertFalse(seen["fragmentKept"])  # not in the history
        self.assertTrue(seen["tokenFilled"])
        self.assertEqual(seen["cookieForScripts"], "")  # S9
        self.assertEqual(seen["afterBack"], "/login")  # S4: nothing of the account is kept
        self.assertIn("fresh proof", seen["stepUpAsked"])  # S7
        self.assertFalse(seen["keyShownAgain"])
        self.assertIn("owner", seen["removeOwner"])
        self.assertIn("only owner", seen["lastOwner"])
        self.assertIn("last credential", seen["lastCredential"])
        self.assertNotEqual(seen["unverified"], "")
        self.assertIn("You are its owner", seen["ownAccount"])
        self.assertEqual(seen["withoutScript"], ["/account", "Your account", 0, "/login"])

        self.assertTrue(seen["key"].startswith("turnpike_sk_v1_dev_"))
        self.assertEqual(gateway.get("/v1/auth/context", key=seen["key"]).status, 401)  # revoked
        events = gateway.run_json("audit", "list", "--limit", "1000")["items"]
        actions = {event["action"] for event in events}
        self.assertLessEqual({"person.create", "session.begin", "passkey.create", "key.create",
                              "key.revoke", "invitation.create", "member.add"}, actions)
        self.assertNotIn("turnpike_", json.dumps(events))


if __name__ == "__main__":
    unittest.main()
