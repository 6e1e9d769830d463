"""Passwords and recovery codes, over HTTP, by command, and on pages in a real browser. The store
decides which tries wait and for how long: tests/conformance/passwords_test.cpp."""

import contextlib
import json
import sqlite3
import threading
import time
import unittest

from gateway import Gateway
from people import Browser
from walks import walk

PASSWORD = "rivers carry seven lamps"
ANOTHER = "seven lamps carry rivers"
IS_ENABLED = "A password alone signs people in and lets them spend (identity.password.enabled)."


def code_of(answer):
    return answer["error"]["code"]


class Passwords(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway().start()
        cls.addClassCleanup(cls.gateway.close)

    def change_rows(self, statement):
        with contextlib.closing(sqlite3.connect(self.gateway.directory / "turnpike.db")) as rows:
            rows.execute(statement)
            rows.commit()

    def new_person(self, *words):
        return self.gateway.run_json("user", "create", "--name", "Ann", "--login",
                                     self.id().rpartition(".")[2].lower(), *words)

    def with_password(self, *words):
        person = self.new_person(*words)
        browser = Browser(self.gateway)
        browser.sign_in(person["link"])
        self.assertEqual(browser.json("PUT", "/v1/me/password", {"newPassword": PASSWORD}),
                         (204, None))
        return person, browser

    def sign_in(self, browser, login, password):
        status, answer = browser.json("POST", "/v1/sign-in/password",
                                      {"login": login, "password": password})
        if status == 200:
            browser.page_token = answer["csrfToken"]
        return status, answer

    def test_from_setting_one_to_changing_it(self):  # S2, S7, S14
        account = self.gateway.run_json("account", "create", "--name", "Acme")["id"]
        person, first = self.with_password("--account", account, "--role", "owner")
        self.assertEqual(first.json("GET", "/v1/me")[1]["session"]["strength"], "single")
        browser = Browser(self.gateway)
        status, me = self.sign_in(browser, person["login"].upper(), PASSWORD)
        self.assertEqual(status, 200, me)
        self.assertEqual((me["hasPassword"], me["recoveryCodesLeft"]), (True, 0))
        self.assertEqual((me["session"]["method"], me["session"]["stepUpMethods"]),
                         ("password", ["password"]))
        self.change_rows("UPDATE session SET step_up_until = 0")
        status, answer = browser.json("POST", f"/v1/billing-accounts/{account}/api-keys",
                                      {"name": "k"})
        self.assertEqual((status, code_of(answer)), (403, "auth.step_up_required"))
        self.assertIn("POST /v1/step-up/password", answer["error"]["message"])
        self.assertNotIn("passkey", answer["error"]["message"])
        status, answer = browser.json("PUT", "/v1/me/password", {"newPassword": ANOTHER})
        self.assertEqual((status, code_of(answer)), (403, "auth.step_up_required"))
        before = browser.cookies["turnpike_session"]
        self.assertEqual(browser.json("POST", "/v1/step-up/password",
                                      {"password": PASSWORD})[0], 200)
        self.assertNotEqual(browser.cookies["turnpike_session"], before)
        self.assertEqual(browser.json("POST", f"/v1/billing-accounts/{account}/api-keys",
                                      {"name": "k"})[0], 201)
        status, answer = browser.json("PUT", "/v1/me/password", {"newPassword": ANOTHER})
        self.assertEqual((status, answer["error"]["fields"][0]["location"]),
                         (400, "/currentPassword"))
        status, answer = browser.json("PUT", "/v1/me/password",
                                      {"currentPassword": PASSWORD, "newPassword": "too short"})
        self.assertEqual((status, code_of(answer)), (400, "identity.password_rejected"))
        self.assertIn("15", answer["error"]["fields"][0]["fix"])
        self.assertEqual(browser.json("PUT", "/v1/me/password", {
            "currentPassword": PASSWORD, "newPassword": ANOTHER})[0], 204)
        self.assertEqual(self.sign_in(Browser(self.gateway), person["login"], PASSWORD)[0], 401)
        self.assertEqual(self.sign_in(Browser(self.gateway), person["login"], ANOTHER)[0], 200)
        status, answer = browser.json("DELETE", "/v1/me/password")
        self.assertEqual((status, code_of(answer)), (409, "identity.last_credential"))
        shown = self.gateway.run_json("user", "show", "--person", person["login"])
        self.assertEqual((shown["hasPassword"], shown["passkeys"]), (True, 0))

    def test_the_device_cookie_is_one_browsers(self):
        person, _ = self.with_password()
        reply = Browser(self.gateway).send("POST", "/v1/sign-in/password", json.dumps(
            {"login": person["login"], "password": PASSWORD}))
        cookie = next(value for value in reply.headers.get_all("Set-Cookie")
                      if value.startswith("turnpike_device="))
        self.assertRegex(cookie, "^turnpike_device=[0-9a-f]{32};")
        for attribute in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=31536000"):
            self.assertIn(attribute, cookie)

    def test_a_known_browser_does_not_wait_for_strangers(self):  # S15
        person, known = self.with_password()
        stranger = Browser(self.gateway)
        status, answer = self.sign_in(stranger, person["login"], "wrong")
        self.assertEqual((status, code_of(answer)), (401, "auth.sign_in_failed"))
        status, unknown = self.sign_in(stranger, "nobody.here", "wrong")
        self.assertEqual((status, unknown["error"]["message"]),
                         (401, answer["error"]["message"]))  # S16
        later = int(time.time() * 1000) + 500_000
        self.change_rows(f"UPDATE password SET failures = 14, retry_at = {later}"
                         f" WHERE person_id = '{person['id']}'")
        reply = stranger.send("POST", "/v1/sign-in/password", json.dumps(
            {"login": person["login"], "password": PASSWORD}))
        self.assertEqual((reply.status, code_of(json.loads(reply.body))), (429, "auth.throttled"))
        self.assertIn(int(reply.headers["Retry-After"]), range(1, 501))
        self.assertEqual(self.sign_in(known, person["login"], PASSWORD)[0], 200)
        self.assertEqual(self.sign_in(stranger, person["login"], PASSWORD)[0], 200)  # cleared

    def test_a_recovery_code_lets_in_once_and_only_to_enrol(self):  # S18
        person, browser = self.with_password()
        status, answer = browser.json("POST", "/v1/me/recovery-codes", {})
        self.assertEqual((status, len(answer["codes"])), (201, 8))
        other = Browser(self.gateway)
        asked = {"login": person["login"], "code": answer["codes"][0]}
        status, me = other.json("POST", "/v1/sign-in/recovery-code", asked)
        self.assertEqual((status, me["session"]["strength"], me["recoveryCodesLeft"]),
                         (200, "enrol", 7))
        other.page_token = me["csrfToken"]
        self.assertEqual(other.json("POST", "/v1/me/recovery-codes", {})[0], 403)
        status, again = Browser(self.gateway).json("POST", "/v1/sign-in/recovery-code", asked)
        self.assertEqual((status, code_of(again)), (401, "auth.sign_in_failed"))
        self.assertEqual(other.json("PUT", "/v1/me/password", {"newPassword": ANOTHER})[0], 204)
        self.assertEqual(self.sign_in(Browser(self.gateway), person["login"], ANOTHER)[0], 200)
        printed = json.dumps(self.gateway.run_json("audit", "list", "--limit", "1000"))
        for secret in (PASSWORD, ANOTHER, answer["codes"][0]):  # S25
            self.assertNotIn(secret, printed)

    def test_readyz_says_that_passwords_let_people_in(self):  # S24
        self.assertIn(IS_ENABLED, self.gateway.get("/readyz").json()["relaxed"])

    def walk_as(self, people):
        origin = "http://localhost:%d" % self.gateway.addresses["web"][1]
        for person in people:
            person["link"] = origin + "/login/link#" + person["link"].partition("#")[2]
        return walk("passwords.mjs", {"origin": origin, "people": people},
                    lambda _: self.change_rows("UPDATE session SET step_up_until = 0"))

    def test_on_the_pages_with_and_without_script(self):
        people = []
        for script in (False, True):
            account = self.gateway.run_json("account", "create", "--name", "Acme")["id"]
            login = "walker.%s" % str(script).lower()
            made = self.gateway.run_json("user", "create", "--name", "Walker", "--login", login,
                                         "--account", account, "--role", "owner")
            people.append({"link": made["link"], "login": login, "account": account,
                           "script": script})
        for person, seen in zip(people, self.walk_as(people)):
            with self.subTest(script=person["script"]):
                self.assertEqual(seen["axe"] + seen["sideways"], [])
                self.assertIn("easy to guess", seen["weak"])
                self.assertEqual(seen["wrong"], [
                    "/login/password", "Login and password do not belong together."])
                page = "/dashboard/" + person["account"] + "/keys"
                self.assertEqual((seen["afterSignIn"], seen["afterStepUp"]), (page, page))
                self.assertIn("fresh proof", seen["stepUpAsked"])
                self.assertEqual(self.gateway.get("/v1/auth/context", key=seen["key"]).status, 200)
                self.assertEqual((len(seen["codes"]), seen["codesLeft"]), (8, 1))
                self.assertEqual(seen["asksCurrentOfEnrolling"], 0)
                self.assertIn("last credential", seen["lastCredential"])
                self.assertEqual(sorted(seen["cookies"]), [
                    ["turnpike_device", True, "Lax"], ["turnpike_session", True, "Lax"]])
                for url in seen["urls"]:  # S19
                    self.assertNotIn("lamps", url)
                    self.assertFalse(any(code in url for code in seen["codes"]), url)


class WhereTheyAreOff(unittest.TestCase):
    def test_nobody_sets_or_uses_one(self):
        gateway = Gateway(settings=["identity.password.enabled=false"]).start()
        self.addCleanup(gateway.close)
        person = gateway.run_json("user", "create", "--name", "Ann", "--login", "ann")
        browser = Browser(gateway)
        browser.sign_in(person["link"])
        for method, path, body in (
                ("PUT", "/v1/me/password", {"newPassword": PASSWORD}),
                ("POST", "/v1/sign-in/password", {"login": "ann", "password": PASSWORD})):
            status, answer = browser.json(method, path, body)
            self.assertEqual((status, code_of(answer)), (403, "auth.method_disabled"), path)
        self.assertNotIn(b"password", browser.send("GET", "/account").body.lower())
        self.assertNotIn(b'type="password"', Browser(gateway).send("GET", "/login").body)
        self.assertNotIn(IS_ENABLED, gateway.get("/readyz").json()["relaxed"])


class ManyAtOnce(unittest.TestCase):
    def test_who_is_too_many_is_told_to_come_back(self):
        """One or two tries hash and 32 wait; refusing the others at once keeps the pool free."""
        gateway = Gateway().start()
        self.addCleanup(gateway.close)
        answers = []

        def try_it(number):
            reply = Browser(gateway).send("POST", "/v1/sign-in/password", json.dumps(
                {"login": f"nobody{number}", "password": PASSWORD}))
            answers.append((reply.status, code_of(json.loads(reply.body)),
                            reply.headers["Retry-After"]))

        threads = [threading.Thread(target=try_it, args=(number,)) for number in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        refused = [answer for answer in answers if answer[0] == 503]
        self.assertEqual(set(refused), {(503, "auth.overloaded", "1")}, answers)
        self.assertIn((401, "auth.sign_in_failed", None), answers)


if __name__ == "__main__":
    unittest.main()
