"""People in a real browser: Debian's Chromium with a virtual authenticator (tests/browser)."""

import base64
import contextlib
import http.server
import json
import sqlite3
import threading
import unittest

from gateway import Gateway
from oauth_client import Client, pkce, query_of
from scene import Scene
from walks import walk


class InABrowser(unittest.TestCase):
    def listening_program(self):
        """Starts the server to which an OAuth client is redirected. Returns its URL."""
        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"the program")

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return "http://127.0.0.1:%d/callback" % server.server_address[1]

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
        program = Client(gateway)
        program.register(client_name="Test client")
        verifiers = [pkce() for _ in range(4)]
        steps["callback"] = self.listening_program()
        steps["consents"] = [
            program.authorize(challenge, redirect_uri=steps["callback"])
            .headers["Location"].removeprefix(origin) for _, challenge in verifiers]

        def age(_):
            with contextlib.closing(sqlite3.connect(gateway.directory / "turnpike.db")) as db:
                db.execute("UPDATE session SET step_up_until = 0")
                db.commit()

        seen = walk("people.mjs", steps, age)
        self.assertEqual(seen["axe"], [])
        self.assertEqual(seen["sideways"], [])
        self.assertEqual(seen["stranger"], "/login")
        self.assertFalse(seen["fragmentKept"])  # not in the history
        self.assertTrue(seen["tokenFilled"])
        self.assertEqual(seen["cookieForScripts"], "")  # S9
        self.assertEqual(seen["afterBack"], "/login")  # S4: nothing of the account is left
        self.assertEqual(base64.b64decode(seen["forgotten"] + "=="), b"removed")
        self.assertIn("fresh proof", seen["stepUpAsked"])  # S7
        self.assertFalse(seen["keyShownAgain"])
        self.assertEqual(seen["oldPathLedTo"], f"/dashboard/{account}/keys")
        self.assertEqual(seen["removeOwnerOffered"], 0)
        self.assertIn("only owner", seen["lastOwner"])
        self.assertIn("only owner", seen["lastOwnerRole"])
        self.assertIn("not in the future", seen["pastDay"])
        self.assertEqual((seen["capKept"], seen["ends"]), ("5", 1))
        self.assertEqual(len(seen["logged"]), 2)  # with the header row
        self.assertIn("Ownerchanged the caps of the key <b>research</b>", seen["logged"][1])
        self.assertIn("not the key's name", seen["wrongName"])
        self.assertEqual(seen["formsOfRevoked"], 1)  # only the one for its name
        self.assertIn("last credential", seen["lastCredential"])
        self.assertNotEqual(seen["unverified"], "")
        self.assertIn("You are its owner", seen["ownAccount"])
        self.assertEqual(seen["withoutScript"], ["/account", "Your account", 0, "/login"])

        self.assertEqual(query_of(seen["denied"])["error"], "access_denied")
        code = query_of(seen["approved"])["code"]
        self.assertEqual(program.exchange(code, verifiers[1][0]).status, 400)  # the grant has ended
        self.assertEqual((seen["grantsBefore"], seen["grantsLeft"]), (1, 0))
        self.assertIn("code", query_of(seen["approvedWithoutScript"]))  # O28
        self.assertIn("fresh proof", seen["consentNeedsProof"])
        self.assertEqual(seen["approveOffered"], 0)

        self.assertTrue(seen["key"].startswith("turnpike_sk_v1_dev_"))
        self.assertEqual(gateway.get("/v1/auth/context", key=seen["key"]).status, 401)  # revoked
        events = gateway.run_json("audit", "list", "--limit", "1000")["items"]
        actions = {event["action"] for event in events}
        self.assertLessEqual({"person.create", "session.begin", "passkey.create", "key.create",
                              "key.revoke", "invitation.create", "member.add"}, actions)
        self.assertNotIn("turnpike_", json.dumps(events))

    def test_by_keyboard_alone_with_script_and_without(self):
        scene = Scene()
        self.addCleanup(scene.close)
        gateway, origin = scene.gateway, scene.origin
        people = []
        for name, script in (("Scripted", True), ("Plain", False)):
            account = gateway.run_json("account", "create", "--name", name + " account")
            scene.make_calls(gateway.run_json("key", "create", "--account", account["id"],
                                              "--name", "programs")["secret"])
            link = gateway.run_json("user", "create", "--name", name, "--login", name.lower(),
                                    "--account", account["id"], "--role", "owner")["link"]
            people.append({"link": origin + "/login/link#" + link.partition("#")[2],
                           "account": account["name"], "script": script})
        for seen in walk("keyboard.mjs", {"origin": origin, "people": people}):
            self.assertEqual(seen["unseenFocus"], [])
            self.assertEqual(gateway.get("/v1/auth/context", key=seen["key"]).status, 200)
            self.assertTrue(seen["invitation"].startswith(origin + "/invitation#turnpike_ln_"))
            self.assertEqual(seen["invited"], 1)
            self.assertEqual((seen["calls"], seen["released"], seen["callsAgain"]), (5, 1, 5))
            self.assertIn("Not charged: the provider answered 404", seen["inspector"])
            self.assertEqual([url for url in seen["urls"] if not url.startswith(origin + "/")], [])


if __name__ == "__main__":
    unittest.main()
