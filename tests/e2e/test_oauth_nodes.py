"""The authorization server on three nodes that share one PostgreSQL: what may be used once is used
once across the nodes, and what ends a grant ends its tokens on every node within a second. (On
SQLite one gateway has the database; tests/conformance/grants_test.cpp races three stores on it.)"""

import collections
import threading
import time
import unittest

from gateway import Gateway, Postgres, new_registry
from oauth_client import Client, pkce, query_of
from people import Browser, Passkey
from test_oauth import REGISTRY
from upstream import Upstream

RACERS_OF_NODE = 4


class OauthOnNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        postgres = Postgres()
        cls.addClassCleanup(postgres.close)
        url = postgres.new_database()
        cls.nodes = [Gateway(registry=registry, postgres_url=url) for _ in range(3)]
        cls.nodes[0].run("migrate")
        for node in cls.nodes:
            cls.addClassCleanup(node.close)
            node.start({"api", "mcp", "web", "operator"})

    def setUp(self):
        self.operator = self.nodes[0]
        self.account = self.operator.run_json("account", "create", "--name", "Acme")["id"]
        login = self.id().rpartition(".")[2]
        self.person = self.operator.run_json("user", "create", "--name", "Ann", "--login", login,
                                             "--account", self.account, "--role", "owner")
        first, passkey = Browser(self.nodes[0]), Passkey()
        self.addCleanup(passkey.close)
        first.sign_in(self.person["link"])
        first.enrol(passkey)
        first.step_up(passkey)
        # All browsers share one session, as behind a load balancer.
        self.browsers = [first]
        for node in self.nodes[1:]:
            browser = Browser(node)
            browser.cookies, browser.page_token = dict(first.cookies), first.page_token
            self.browsers.append(browser)
        self.clients = [Client(node) for node in self.nodes]
        self.clients[0].register(client_name=self.id())
        for client in self.clients[1:]:
            client.id = self.clients[0].id

    def race(self, work):
        """Several threads for each node call `work` with the node's number, all at once."""
        answers = []
        gate = threading.Barrier(len(self.nodes) * RACERS_OF_NODE)

        def run(at):
            gate.wait(60)
            answers.append(work(at))

        threads = [threading.Thread(target=run, args=[at]) for at in range(len(self.nodes))
                   for _ in range(RACERS_OF_NODE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        self.assertEqual(len(answers), len(threads))
        return answers

    def request_of(self, challenge, at=0):
        answer = self.clients[at].authorize(challenge, resource=None)
        self.assertEqual(answer.status, 303, answer.text)
        return query_of(answer.headers["Location"])["request"]

    def decide(self, request, at=0, decision="approve"):
        return self.browsers[at].submit("/oauth/consent", request=request, decision=decision,
                                        account=self.account)

    def code(self, challenge, at=0):
        reply = self.decide(self.request_of(challenge, at), at)
        self.assertEqual(reply.status, 303, reply.body)
        return query_of(reply.headers["Location"])["code"]

    def tokens(self):
        verifier, challenge = pkce()
        # Requested at one node, approved at another, exchanged at a third.
        request = self.request_of(challenge, 0)
        code = query_of(self.decide(request, 1).headers["Location"])["code"]
        answer = self.clients[2].exchange(code, verifier)
        self.assertEqual(answer.status, 200, answer.text)
        return answer.json

    def test_a_request_is_decided_once(self):  # O13
        for decision in ("approve", "deny"):
            request = self.request_of(pkce()[1])
            statuses = self.race(lambda at, request=request, decision=decision:
                                 self.decide(request, at, decision).status)
            self.assertEqual(collections.Counter(statuses), {303: 1, 400: len(statuses) - 1})
        listed = self.browsers[2].json("GET", "/v1/me/grants")[1]["items"]
        self.assertEqual(len(listed), 1)

    def test_a_code_is_exchanged_once(self):  # O7
        verifier, challenge = pkce()
        code = self.code(challenge)
        answers = self.race(lambda at: self.clients[at].exchange(code, verifier))
        statuses = [answer.status for answer in answers]
        self.assertEqual(collections.Counter(statuses), {200: 1, 400: len(statuses) - 1})
        [tokens] = [answer.json for answer in answers if answer.status == 200]
        for client in self.clients:
            self.assertEqual(client.mcp(tokens["access_token"]).status, 200)

    def test_a_refresh_token_has_one_successor(self):  # O17
        token = self.tokens()["refresh_token"]
        answers = self.race(lambda at: self.clients[at].refresh(token))
        self.assertEqual({answer.status for answer in answers}, {200})
        [successor] = {answer.json["refresh_token"] for answer in answers}
        for client, answer in zip(self.clients, answers):
            self.assertEqual(client.mcp(answer.json["access_token"]).status, 200)
        # The successor is used at one node. Repeating the first token at another then ends
        # everything.
        self.assertEqual(self.clients[1].refresh(successor).status, 200)
        self.assertEqual(self.clients[2].refresh(token).json["error"], "invalid_grant")
        self.assertEqual(self.clients[0].mcp(answers[0].json["access_token"]).status, 401)

    def seconds_until_dead(self, token, end):
        """How many seconds after `end` returned each node, which has the token in memory, refuses
        it."""
        for client in self.clients:
            self.assertTrue(client.calls(token))
        end()
        began = time.monotonic()
        seconds = {}

        def watch(at):
            while self.clients[at].calls(token) and time.monotonic() < began + 30:
                pass
            seconds[at] = time.monotonic() - began

        threads = [threading.Thread(target=watch, args=[at]) for at in range(len(self.nodes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return [seconds[at] for at in sorted(seconds)]

    def test_what_ends_a_grant_ends_it_on_every_node(self):  # O21, O22
        def by_its_person():
            [grant] = self.browsers[1].json("GET", "/v1/me/grants")[1]["items"]
            self.assertEqual(
                self.browsers[1].json("DELETE", "/v1/me/grants/" + grant["id"])[0], 204)

        second = self.operator.run_json("user", "create", "--name", "Bob", "--login",
                                        self.person["id"] + ".bob", "--account", self.account,
                                        "--role", "owner")
        member = ("--account", self.account, "--person", self.person["id"])
        ends = {"its person": by_its_person,
                "its client": lambda: self.clients[0].revoke(tokens["refresh_token"]),
                "a role": lambda: self.operator.run("member", "set", *member, "--role", "member"),
                "the account": lambda: self.operator.run("account", "suspend", "--id",
                                                         self.account)}
        for name, end in ends.items():
            with self.subTest(by=name):
                self.operator.run("member", "set", *member, "--role", "owner")
                tokens = self.tokens()
                seconds = self.seconds_until_dead(tokens["access_token"], end)
                print(f"\nended by {name}: refused after",
                      ", ".join(f"{one:.2f} s" for one in seconds), flush=True)
                self.assertEqual(len(seconds), 3)
                self.assertLess(max(seconds), 1.5)  # a second, plus slack for a busy machine
        self.assertTrue(second["id"])


if __name__ == "__main__":
    unittest.main()
