"""Mail, with a real SMTP receiver from npm (tests/mail) over TLS with a test's own authority.
People sign up, confirm an address, recover, are invited and are notified, on both engines."""

import json
import re
import socket
import subprocess
import unittest

from engines import OnPostgres, OnSqlite
from gateway import ROOT, Gateway, new_directory
from parts import Part
from people import Browser, Passkey
from walks import walk

SERVER = ROOT / "tests" / "mail" / "server.mjs"
USER, PASSWORD = "gate", "a password = with + signs"


def openssl(directory, *words):
    subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)


def new_authority(directory, name):
    openssl(directory, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2")
    return directory / f"{name}.pem"


def new_certificate(directory, authority, host):
    openssl(directory, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{host}.key", "-out",
            f"{host}.csr", "-subj", f"/CN={host}")
    (directory / "names").write_text(f"subjectAltName=DNS:{host}\n")
    openssl(directory, "x509", "-req", "-in", f"{host}.csr", "-CA", f"{authority}.pem", "-CAkey",
            f"{authority}.key", "-CAcreateserial", "-out", f"{host}.pem", "-days", "2",
            "-extfile", "names")
    return {"key": directory / f"{host}.key", "cert": directory / f"{host}.pem"}


def settings_for(port, authority, **changes):
    words = {"host": "localhost", "port": port, "tls": "starttls", "user": USER,
             "password": PASSWORD, "from": "noreply@gate.example", "authorities": authority,
             **changes}
    return [f"mail.smtp.{name}={value}" for name, value in words.items() if value is not None]


def token_in(mail):
    return re.search(r"#(turnpike_ln_v1_dev_\w+)$", mail["text"], re.MULTILINE)[1]


def path_in(mail):
    return re.search(r"http://localhost:\d+(/\S*)#", mail["text"])[1]


def code_of(answer):
    return answer["error"]["code"]


class Receiver:
    def __init__(self, test, **words):
        self.part = Part(SERVER, **words)
        self.port = self.part.ready["port"]
        (test.addClassCleanup if isinstance(test, type) else test.addCleanup)(self.part.close)

    def mails(self, count=0):
        return self.part.send_command("mails", count=count)["mails"]

    def mail(self):
        mails = self.mails(1)
        assert len(mails) == 1, mails
        return mails[0]

    def refuse(self, step, code, times):
        self.part.send_command("refuse", step=step, code=code, times=times)


def wait_for(gateway, state, count=1):
    """Waits for `count` mails in that state and returns them; each check starts a process."""
    for _ in range(400):
        mails = [mail for mail in gateway.run_json("mail", "list", "--all")["items"]
                 if mail["state"] == state and (state != "waiting" or mail["problem"])]
        if len(mails) >= count:
            return mails
    raise AssertionError(f"no {state} mail: {gateway.run_json('mail', 'list', '--all')}")


class ByMail(OnSqlite, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = new_directory(cls)
        authority = new_authority(directory, "authority")
        cls.receiver = Receiver(cls, tls="starttls", user=USER, password=PASSWORD,
                                **new_certificate(directory, "authority", "localhost"))
        cls.gateway = Gateway(postgres_url=cls.postgres_url(), settings=[
            "identity.registration=open", "site.brand.name=Gät",
            *settings_for(cls.receiver.port, authority)]).start()
        cls.addClassCleanup(cls.gateway.close)

    def setUp(self):
        self.receiver.mails()

    def browser(self):
        return Browser(self.gateway)

    def passkey(self):
        passkey = Passkey()
        self.addCleanup(passkey.close)
        return passkey

    def signed_up(self, login):
        """A person with a passkey, whose session is stepped up."""
        browser, passkey = self.browser(), self.passkey()
        self.assertEqual(browser.send("POST", "/v1/sign-up", json.dumps(
            {"login": login, "name": "New Person"})).status, 202)
        mail = self.receiver.mail()
        status, me = browser.json("POST", "/v1/sign-up/confirm", {"token": token_in(mail)})
        self.assertEqual(status, 200, me)
        browser.page_token = me["csrfToken"]
        browser.enrol(passkey)
        return browser, me, mail

    def test_a_stranger_signs_up_and_comes_back_by_mail(self):  # S18, S19
        browser, me, mail = self.signed_up("New.Person@example.org")
        self.assertEqual(mail["envelope"],
                         {"from": "noreply@gate.example", "to": ["new.person@example.org"]})
        self.assertTrue(mail["secure"])
        self.assertEqual(mail["user"], USER)
        self.assertEqual(mail["from"][0], {"name": "Gät", "address": "noreply@gate.example"})
        self.assertEqual(mail["subject"], "Confirm your sign-up on Gät")
        self.assertEqual(path_in(mail), "/sign-up/confirm")
        self.assertIn("Then do nothing", mail["text"])
        self.assertEqual((me["login"], me["email"], me["emailVerified"]),
                         ("new.person@example.org", "new.person@example.org", True))
        self.assertEqual(me["session"]["strength"], "enrol")
        account, = me["memberships"]
        self.assertEqual((account["role"], account["status"]), ("owner", "active"))
        other = self.browser()
        status, answer = other.json("POST", "/v1/sign-up/confirm", {"token": token_in(mail)})
        self.assertEqual((status, code_of(answer)), (400, "auth.link_ended"))

        self.assertEqual(other.send("POST", "/v1/recovery", json.dumps(
            {"login": "new.person@example.org"})).status, 202)
        mail = self.receiver.mail()
        self.assertEqual(path_in(mail), "/login/link")
        back = other.sign_in("#" + token_in(mail))
        self.assertEqual(back["session"]["method"], "recovery")
        self.assertEqual(back["session"]["strength"], "enrol")
        status, answer = other.json("GET", "/v1/billing-accounts")
        self.assertEqual((status, code_of(answer)), (403, "auth.step_up_required"))
        notice = self.receiver.mail()  # S6
        self.assertEqual(notice["subject"], "A recovery mail was used to sign in on Gät")
        self.assertIn("from the address 127.0.0.1", notice["text"])
        self.assertEqual(browser.json("GET", "/v1/me/notices")[1]["items"], [])

    def test_known_and_unknown_logins_are_answered_alike(self):  # S16
        self.signed_up("alike@example.org")
        answers = []
        for path, login in (("/v1/recovery", "alike@example.org"), ("/v1/recovery", "nobody"),
                            ("/v1/sign-up", "alike@example.org"),
                            ("/v1/sign-up", "fresh@example.org")):
            body = {"login": login} if path == "/v1/recovery" else {"login": login, "name": "N"}
            reply = self.browser().send("POST", path, json.dumps(body))
            names = sorted(name for name in reply.headers.keys())
            answers.append((reply.status, reply.body, names))
        self.assertEqual(answers[0][0], 202)
        self.assertEqual([answer for answer in answers if answer != answers[0]], [])
        subjects = sorted(mail["subject"] for mail in self.receiver.mails(3))
        self.assertEqual(subjects, ["Confirm your sign-up on Gät", "Sign in to Gät again",
                                    "You have a login on Gät"])

    def test_an_address_is_proved_by_the_button_alone(self):  # S2, S6, S7, S19
        person = self.gateway.run_json("user", "create", "--name", "Bob", "--login", self.id())
        browser, passkey = self.browser(), self.passkey()
        browser.sign_in(person["link"])
        status, answer = browser.json("PUT", "/v1/me/email", {"email": "bob@example.org"})
        self.assertEqual((status, code_of(answer)), (403, "auth.step_up_required"))
        browser.enrol(passkey)
        reply = browser.send("PUT", "/v1/me/email", json.dumps({"email": "bob@example.org"}))
        self.assertEqual(reply.status, 202, reply.body)
        me = browser.json("GET", "/v1/me")[1]
        self.assertEqual((me["email"], me["emailVerified"]), ("bob@example.org", False))
        mail = self.receiver.mail()
        page = browser.send("GET", "/account/email/verify")
        self.assertIn(b"Confirm", page.body)
        self.assertEqual(browser.json("GET", "/v1/me")[1]["emailVerified"], False)
        before = dict(browser.cookies)
        done = browser.submit("/account/email/verify", token=token_in(mail))
        self.assertEqual((done.status, done.headers["Location"]), (303, "/account"))
        self.assertNotEqual(browser.cookies["turnpike_session"], before["turnpike_session"])
        me = browser.json("GET", "/v1/me")[1]
        self.assertEqual((me["email"], me["emailVerified"]), ("bob@example.org", True))
        again = browser.submit("/account/email/verify", token=token_in(mail))
        self.assertEqual(again.status, 400)
        # There was no address before, so the page shows the notice until it is seen.
        shown = browser.send("GET", "/account").body.decode()
        self.assertIn("The e-mail address was changed (bob@example.org)", shown)
        until = re.search(r'name="until" value="(\d+)"', shown)[1]
        self.assertEqual(browser.submit("/account/notices/seen", until=until).status, 303)
        self.assertNotIn("was changed", browser.send("GET", "/account").body.decode())
        # From now on notices are sent by mail.
        browser.enrol(self.passkey())
        self.assertEqual(self.receiver.mail()["subject"], "A passkey was added on Gät")

    def test_an_invitation_goes_to_its_address_and_is_for_it(self):
        browser, me, _ = self.signed_up("owner@example.org")
        account = me["memberships"][0]["billingAccountId"]
        self.assertEqual(browser.json("PATCH", "/v1/me", {"name": "Ada\u2028 visit evil.example"})
                         [0], 200)
        status, made = browser.json("POST", f"/v1/billing-accounts/{account}/invitations",
                                    {"email": "Guest@example.org", "role": "member"})
        self.assertEqual(status, 201, made)
        mail = self.receiver.mail()
        self.assertEqual(mail["envelope"]["to"], ["Guest@example.org"])
        self.assertEqual(path_in(mail), "/invitation")
        self.assertNotIn("evil.example", mail["text"])
        guest = self.browser()
        shown = made["link"].partition("#")[2]
        status, answer = guest.json("POST", "/v1/invitations/join",
                                    {"token": shown, "name": "Guest", "login": "guest"})
        self.assertEqual((status, code_of(answer)), (403, "account.forbidden"))
        # Whoever is invited cannot take the address of somebody who has yet to sign up.
        status, answer = guest.json("POST", "/v1/invitations/join", {
            "token": token_in(mail), "name": "Guest", "login": "victim@example.org"})
        self.assertEqual((status, code_of(answer)), (400, "request.malformed"))
        status, joined = guest.json("POST", "/v1/invitations/join", {
            "token": token_in(mail), "name": "Guest", "login": "guest@example.org"})
        self.assertEqual(status, 200, joined)
        self.assertEqual((joined["email"], joined["emailVerified"]), ("Guest@example.org", True))

    def test_nothing_can_be_slipped_into_a_mail(self):
        browser, me, _ = self.signed_up("inject@example.org")
        account = me["memberships"][0]["billingAccountId"]
        path = f"/v1/billing-accounts/{account}/invitations"
        for email in ("a@example.org\r\nBcc: eve@example.org", "a@example.org, eve@example.org",
                      "a@example.org>\r\nRCPT TO:<eve@example.org", "<a@example.org>",
                      "a@example.org\u0000", "a@example.org\n.\n"):
            self.assertEqual(browser.json("POST", path, {"email": email, "role": "member"})[0], 400,
                             email)
            self.assertEqual(browser.json("PUT", "/v1/me/email", {"email": email})[0], 400, email)
            self.assertEqual(browser.json("POST", "/v1/sign-up",
                                          {"login": email, "name": "N"})[0], 400, email)
        self.assertEqual(browser.json("POST", "/v1/sign-up", {
            "login": "n@example.org", "name": "N\r\nBcc: eve@example.org"})[0], 400)
        name = ".\u00a0Bcc: eve@example.org =?utf-8?q?=0d=0aBcc:_eve@example.org?="
        other = browser.json("POST", "/v1/billing-accounts", {"name": name})[1]["id"]
        self.assertEqual(browser.json("POST", f"/v1/billing-accounts/{other}/invitations",
                                      {"email": "friend@example.org", "role": "member"})[0], 201)
        mail = self.receiver.mail()
        self.assertEqual(mail["envelope"]["to"], ["friend@example.org"])
        self.assertIsNone(mail["bcc"])
        self.assertEqual(mail["headers"], [
            "from", "to", "subject", "date", "message-id", "mime-version", "content-type",
            "content-transfer-encoding", "auto-submitted"])

    def test_a_refusal_for_now_is_tried_again_and_one_for_good_is_not(self):
        self.signed_up("later@example.org")
        self.receiver.refuse("recipient", 451, 1)
        self.browser().send("POST", "/v1/recovery", json.dumps({"login": "later@example.org"}))
        stuck, = wait_for(self.gateway, "waiting")
        self.assertIn("451", stuck["problem"])
        self.assertEqual(self.gateway.run_json("mail", "retry", "--id", stuck["id"]), {"due": 1})
        self.assertEqual(self.receiver.mail()["messageId"], f"<{stuck['id']}@gate.example>")
        self.receiver.refuse("message", 554, 1)
        self.browser().send("POST", "/v1/recovery", json.dumps({"login": "later@example.org"}))
        given_up, = wait_for(self.gateway, "given_up")
        self.assertEqual((given_up["tries"], given_up["recipient"]), (1, "later@example.org"))
        self.assertIn('"mail_given_up"', self.gateway.log_text())
        self.assertNotIn("later@example.org", self.gateway.log_text())
        metrics = self.gateway.call("GET", "/metrics", host="operator").body.decode()
        self.assertIn('turnpike_mails_total{outcome="given_up"} 1', metrics)
        self.assertEqual(self.gateway.run_json("mail", "retry", "--all"), {"due": 1})
        self.receiver.mail()

    def test_pages_need_no_script(self):
        browser = self.browser()
        login = browser.send("GET", "/login").body.decode()
        self.assertIn('href="/login/recovery"', login)
        self.assertIn('href="/sign-up"', login)
        self.assertEqual(browser.submit("/sign-up", login="page@example.org", name="Pat").status,
                         200)
        mail = self.receiver.mail()
        done = browser.submit(path_in(mail), token=token_in(mail))
        self.assertEqual((done.status, done.headers["Location"]), (303, "/account"))
        shown = browser.send("GET", "/account").body.decode()
        self.assertIn("<strong>page@example.org</strong>, confirmed.", shown)
        asked = self.browser().submit("/login/recovery/mail", login="page@example.org")
        self.assertEqual(asked.status, 200)
        mail = self.receiver.mail()
        self.assertEqual(self.browser().submit(path_in(mail), token=token_in(mail)).status, 303)


class InABrowser(unittest.TestCase):
    def test_a_screen_reader_gets_along_with_the_pages(self):
        directory = new_directory(self)
        authority = new_authority(directory, "authority")
        receiver = Receiver(self, tls="starttls", user=USER, password=PASSWORD,
                            **new_certificate(directory, "authority", "localhost"))
        gateway = Gateway(settings=["identity.registration=open",
                                    *settings_for(receiver.port, authority)]).start()
        self.addCleanup(gateway.close)
        account = gateway.run_json("account", "create", "--name", "Acme")["id"]
        person = gateway.run_json("user", "create", "--name", "Ann", "--login", "ann",
                                  "--account", account, "--role", "owner")
        browser = Browser(gateway)
        browser.sign_in(person["link"])
        for _ in range(2):  # the second one causes a notice
            passkey = Passkey()
            self.addCleanup(passkey.close)
            browser.enrol(passkey)
        browser.json("PUT", "/v1/me/email", {"email": "ann@example.org"})
        self.assertEqual(self.look(browser, "", ["/login", "/login/recovery/mail", "/sign-up",
                                                 "/sign-up/confirm", "/account/email/verify"]),
                         ["Sign in", "Lost your passkey?", "Sign up", "Confirm your sign-up",
                          "Confirm your e-mail address"])
        session = browser.cookies["turnpike_session"]
        shown = browser.send("GET", "/account").body.decode()
        self.assertIn("News of your sign-in", shown)
        self.assertIn("waits for you to confirm", shown)
        self.assertEqual(self.look(browser, session, ["/account", "/account/email/verify",
                                                      "/account/events",
                                                      f"/dashboard/{account}/keys",
                                                      f"/dashboard/{account}/members",
                                                      f"/dashboard/{account}/security-log"]),
                         ["Your account", "Confirm your e-mail address", "What happened",
                          "API keys", "Members", "Security log"])

    def look(self, browser, session, paths):
        pages = walk("look.mjs", {
            "origin": browser.origin, "cookies": {"turnpike_session": session} if session else {},
            "pages": [{"name": path, "path": path} for path in paths],
            "schemes": ["light"], "widths": [1280], "axe": [("light", 1280)]})
        for page in pages:
            self.assertEqual(page["problems"], [], page["path"])
        titles = {page["path"]: page["title"].removesuffix(" - Turnpike") for page in pages}
        return [titles[path] for path in paths]


class ByMailOnPostgres(OnPostgres, ByMail):
    """The same on PostgreSQL."""


class Servers(unittest.TestCase):
    """How the gateway judges a mail server; `turnpike mail test` reports it at once."""

    @classmethod
    def setUpClass(cls):
        cls.directory = new_directory(cls)
        cls.authority = new_authority(cls.directory, "authority")
        cls.other = new_authority(cls.directory, "other")
        cls.of_localhost = new_certificate(cls.directory, "authority", "localhost")
        cls.of_another = new_certificate(cls.directory, "authority", "mail.example.org")

    def send(self, port, **changes):
        gateway = Gateway(settings=settings_for(port, self.authority, **changes))
        self.addCleanup(gateway.close)
        return gateway.run("mail", "test", "--to", "ann@example.org", check=False)

    def receiver(self, tls="starttls", **words):
        return Receiver(self, **{"tls": tls, "user": USER, "password": PASSWORD,
                                 **self.of_localhost, **words})

    def test_both_ways_to_tls_and_to_log_in(self):
        for tls in ("starttls", "implicit"):
            for methods in ("PLAIN", "LOGIN"):
                with self.subTest(tls=tls, methods=methods):
                    receiver = self.receiver(tls, methods=methods)
                    done = self.send(receiver.port, tls=tls)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    mail = receiver.mail()
                    self.assertEqual((mail["secure"], mail["user"]), (True, USER))

    def test_a_server_that_is_not_the_one_gets_neither_password_nor_mail(self):
        cases = {"authority": (self.receiver(), {"authorities": self.other}),
                 "system's": (self.receiver(), {"authorities": None}),
                 "name": (self.receiver(**self.of_another), {}),
                 "implicit name": (self.receiver("implicit", **self.of_another),
                                   {"tls": "implicit"}),
                 "no TLS": (Receiver(self, tls="none"), {"user": None, "password": None})}
        for name, (receiver, changes) in cases.items():
            with self.subTest(name):
                done = self.send(receiver.port, **changes)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(receiver.mails(), [])

    def test_a_wrong_password_is_said(self):
        done = self.send(self.receiver().port, password="wrong")
        self.assertEqual(done.returncode, 1)
        self.assertIn("535", done.stderr)
        self.assertNotIn("wrong password", done.stderr)

    def test_without_tls_in_development_alone(self):
        receiver = Receiver(self, tls="none")
        done = self.send(receiver.port, tls="none", user=None, password=None)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(receiver.mail()["secure"])

    def test_a_server_that_is_away_keeps_nobody_waiting(self):
        with socket.socket() as reserved:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            port = reserved.getsockname()[1]
            gateway = Gateway(settings=["identity.registration=open",
                                        *settings_for(port, self.authority)]).start()
            self.addCleanup(gateway.close)
            reply = Browser(gateway).send("POST", "/v1/sign-up", json.dumps(
                {"login": "ann@example.org", "name": "Ann"}))
            self.assertEqual(reply.status, 202)
            stuck, = wait_for(gateway, "waiting")
            self.assertIn("refused", stuck["problem"].lower())
            self.assertIn('"mail_fails"', gateway.log_text())
            receiver = self.receiver(port=port)
            self.assertEqual(gateway.run_json("mail", "retry", "--all"), {"due": 1})
            self.assertEqual(receiver.mail()["subject"], "Confirm your sign-up on Turnpike")
            gateway.stop()

    def test_a_server_that_says_nothing_does_not_keep_the_gateway_from_stopping(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            gateway = Gateway(settings=["identity.registration=open", *settings_for(
                silent.getsockname()[1], self.authority)]).start()
            self.addCleanup(gateway.close)
            Browser(gateway).send("POST", "/v1/sign-up", json.dumps(
                {"login": "ann@example.org", "name": "Ann"}))
            connection, _ = silent.accept()
            with connection:
                gateway.stop()


class Configuration(unittest.TestCase):
    def check(self, *settings):
        gateway = Gateway(settings=settings)
        self.addCleanup(gateway.close)
        return gateway.run("check", check=False)

    def test_mistakes_are_told(self):
        right = settings_for(25, "/tmp/x.pem")
        for changes, said in (({"from": "nobody"}, "mail.smtp.from"),
                              ({"password": None}, "mail.smtp.password"),
                              ({"host": None}, "mail.smtp.host"),
                              ({"tls": "maybe"}, "mail.smtp.tls"),
                              ({"port": 0}, "mail.smtp.port")):
            done = self.check(*settings_for(**{"port": 25, "authority": "/tmp/x.pem", **changes}))
            self.assertEqual(done.returncode, 1, changes)
            self.assertIn(said, done.stdout + done.stderr, changes)
        done = self.check(*right, "environment=production", "mail.smtp.host=mail.example.org",
                          "mail.smtp.tls=none")
        self.assertIn("mail.smtp.tls", done.stdout + done.stderr)
        done = self.check("identity.registration=open")
        self.assertIn("mail.smtp", done.stdout + done.stderr)
        done = self.check(*right, "hosts.web.listen=")
        self.assertIn("hosts.web", done.stdout + done.stderr)

    def test_without_mail_everything_is_as_it_was(self):
        gateway = Gateway().start()
        self.addCleanup(gateway.close)
        browser = Browser(gateway)
        status, answer = browser.json("POST", "/v1/recovery", {"login": "ann"})
        self.assertEqual((status, code_of(answer)), (403, "auth.method_disabled"))
        status, answer = browser.json("POST", "/v1/sign-up", {"login": "a@b.org", "name": "A"})
        self.assertEqual((status, code_of(answer)), (403, "auth.registration_closed"))
        self.assertNotIn("by mail", browser.send("GET", "/login/recovery").body.decode())
        self.assertEqual(browser.send("GET", "/sign-up").status, 403)
        account = gateway.run_json("account", "create", "--name", "Acme")["id"]
        made = gateway.run_json("invitation", "create", "--account", account, "--role", "member",
                                "--email", "ann@example.org")
        status, me = browser.json("POST", "/v1/invitations/join", {
            "token": made["link"].partition("#")[2], "name": "Ann", "login": "ann"})
        self.assertEqual((status, me["email"]), (200, None))
        self.assertEqual(gateway.run_json("mail", "list", "--all")["items"], [])

    def test_closed_to_strangers_even_with_an_invitation(self):
        gateway = Gateway(settings=["identity.registration=closed"]).start()
        self.addCleanup(gateway.close)
        account = gateway.run_json("account", "create", "--name", "Acme")["id"]
        made = gateway.run_json("invitation", "create", "--account", account, "--role", "member")
        status, answer = Browser(gateway).json("POST", "/v1/invitations/join", {
            "token": made["link"].partition("#")[2], "name": "Ann", "login": "ann"})
        self.assertEqual((status, code_of(answer)), (403, "auth.registration_closed"))


if __name__ == "__main__":
    unittest.main()
