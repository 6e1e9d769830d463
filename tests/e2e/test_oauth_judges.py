"""The authorization server against programs that others wrote: the scenarios of the official MCP
suite for such servers, two OAuth client libraries that share no code, and a certified server. Where
both servers implement the same thing, the certified one's answers to the same requests are the
right ones (tests/oauth; `./dev deps` installs the packages)."""

import json
import pathlib
import socket
import subprocess
import tempfile
import unittest
import urllib.request

import parts
from gateway import Gateway, new_registry
from mcp import LEGACY, MODERN, NODE, PACKAGES, SCENARIO_TIMEOUT_SECONDS, Verdict
from mcp import PARTS as MCP_PARTS
from oauth_client import Client, query_of
from people import Browser, Passkey
from test_oauth import REGISTRY
from upstream import Upstream

PARTS = pathlib.Path(__file__).resolve().parents[1] / "oauth"

# Requests where the gateway and the certified server differ on purpose: the gateway's answer and
# the reason.
OWN_WAYS = {
    # RFC 6749 section 4.1.2.1: a state that came twice cannot be sent back, so there is no
    # redirect. The certified server redirects without a state.
    "authorize, twice": "page 400",
    # RFC 7636 section 4.5 requires the verifier, and RFC 6749 section 5.2 has invalid_request for a
    # missing parameter.
    "exchange, no verifier": "400 invalid_request no-store",
    # RFC 7591 leaves this open. Here, clients that register at each start are one client.
    "register, same again": True,
}


class Judged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        cls.gateway = Gateway(registry=registry).start()
        cls.addClassCleanup(cls.gateway.close)
        cls.account = cls.gateway.run_json("account", "create", "--name", "Acme")["id"]
        person = cls.gateway.run_json("user", "create", "--name", "Ann", "--login", "ann",
                                      "--account", cls.account, "--role", "owner")
        cls.browser, passkey = Browser(cls.gateway), Passkey()
        cls.addClassCleanup(passkey.close)
        cls.browser.sign_in(person["link"])
        cls.browser.enrol(passkey)
        cls.browser.step_up(passkey)
        cls.client = Client(cls.gateway)
        cls.person = {"account": cls.account, "csrf": cls.browser.page_token, "cookie": "; ".join(
            "=".join(one) for one in cls.browser.cookies.items())}

    def judge(self):
        judge = parts.Part(PARTS / "judge.mjs", node=NODE)
        self.addCleanup(judge.close)

        def ask(do, **rest):
            reply = judge.send_command(do, **rest)
            self.assertIn("done", reply, reply)
            return reply["done"]

        return ask

    def test_two_client_libraries_agree(self):
        ask = self.judge()
        for library in ("oauth4webapi", "badgateway"):
            with self.subTest(library=library):
                seen = ask("flow", library=library, url=self.client.issuer, person=self.person)
                self.assertEqual(seen["type"].lower(), "bearer")
                self.assertIn(seen["lifetime"], range(3590, 3601))
                self.assertEqual(seen["afterwards"], "invalid_grant")  # O21
                self.assertEqual(seen["nobody"], "invalid_client")  # O19
                self.assertNotEqual(seen["access"], seen["refreshed"])
                # It was revoked with its grant.
                self.assertEqual(self.client.mcp(seen["refreshed"]).status, 401)

    def test_a_certified_server_answers_as_the_gateway_does(self):
        ask = self.judge()
        oracle = parts.Part(PARTS / "oracle_server.mjs", node=NODE)
        self.addCleanup(oracle.close)
        right = ask("battery", url=oracle.ready["url"])
        ours = ask("battery", url=self.client.issuer, person=self.person)
        self.assertEqual(ours.keys(), right.keys())
        self.assertGreater(len(right), 40)
        for name in right:
            with self.subTest(request=name):
                if name in OWN_WAYS:
                    self.assertNotEqual(ours[name], right[name], "they agree: list it no more")
                    self.assertEqual(ours[name], OWN_WAYS[name])
                else:
                    self.assertEqual(ours[name], right[name])

    def decide(self, url):
        """Does what a browser does with the URL that the suite prints, up to the suite's own
        server."""
        sent = self.client.send("GET", url.removeprefix(self.client.issuer))
        self.assertEqual(sent.status, 303, sent.text)
        reply = self.browser.submit("/oauth/consent", decision="approve", account=self.account,
                                    request=query_of(sent.headers["Location"])["request"])
        self.assertEqual(reply.status, 303, reply.body)
        urllib.request.urlopen(reply.headers["Location"], timeout=60).close()

    def run_suite(self, revision):
        parts.require_packages(MCP_PARTS)
        self.client.register(client_name="suite")
        # The suite binds the port that it is given; this one was free a moment ago.
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with tempfile.TemporaryDirectory(prefix="turnpike-oauth-") as output:
            suite = subprocess.Popen(
                [NODE, PACKAGES / "@modelcontextprotocol/conformance/dist/index.js",
                 "authorization", "--url", self.client.issuer, "--client-id", self.client.id,
                 "--resource", self.client.issuer, "--port", str(port), "--spec-version", revision,
                 "-o", output], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"})
            report, url, listens = "", None, False
            for line in suite.stdout:
                report += line
                # It prints the URL, and starts the server for the answer, in either order.
                if line.startswith(self.client.issuer + "/oauth/authorize?"):
                    url = line.strip()
                listens = listens or line.startswith("Callback server started")
                if url and listens:
                    self.decide(url)
                    url = None
            suite.wait(SCENARIO_TIMEOUT_SECONDS)
            suite.stdout.close()
            checks = [check for file in pathlib.Path(output).glob("**/checks.json")
                      for check in json.loads(file.read_text())]
        return Verdict(checks, report)

    def test_the_official_suite_passes(self):
        for revision in (LEGACY, MODERN):
            with self.subTest(revision=revision):
                verdict = self.run_suite(revision)
                self.assertEqual(verdict.failed(), set(), verdict.report)
                self.assertIn("authorization-code-grant", verdict.statuses, verdict.report)
                self.assertGreaterEqual(verdict.count("SUCCESS"), 2, verdict.report)
                self.assertEqual(verdict.count("SKIPPED"), 0, verdict.report)


if __name__ == "__main__":
    unittest.main()
