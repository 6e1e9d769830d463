"""Several gateways on one PostgreSQL: together they spend one account to exactly zero, even if one
of them is killed midway; caps of keys hold across them; and a node whose link to the database is
cut answers 503 at once while the others go on, and recovers by itself."""

import http.client
import json
import selectors
import socket
import threading
import time
import unittest

from engines import OnPostgres
from gateway import ONE_UPSTREAM, Gateway, new_registry
from upstream import Upstream
from waiting import until

TARGET = "/v1/gateway/test/upstream/echo"

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 1}}
defaults: {{price: test.standard, upstream: main}}
routes:
  - {{path: "/upstream/{{kind}}", deadline_ms: 3000}}
"""

# With the deadline above, the leases of a crashed node end after about fourteen seconds.
SHORT_LEASES = [
    "limits.transfer_timeout_ms=1000",
    "limits.transfer_bytes_per_second_min=1000000000",
    "ledger.lease_hold_ms=1000",
    "ledger.lease_settle_margin_ms=1000",
    "accounts.starter_grant.enabled=false",
]


class Proxy:
    """A TCP link to the PostgreSQL of this test that can be cut or made silent."""

    def __init__(self, postgres):
        self.target = str(postgres.directory / ".s.PGSQL.5432")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.links = set()
        self.lock = threading.Lock()
        self.is_cut = False
        self.flows = threading.Event()
        self.flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, direct):
        name = direct.rpartition("@/")[2].partition("?")[0]
        return f"postgresql://turnpike@127.0.0.1:{self.port}/{name}?sslmode=disable"

    def cut(self):
        with self.lock:
            self.is_cut = True
            for link in self.links:
                for end in link:
                    end.shutdown(socket.SHUT_RDWR)

    def mend(self):
        self.is_cut = False

    def close(self):
        self.flows.set()
        self.cut()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            with self.lock:
                if self.is_cut:
                    near.close()
                    far.close()
                    continue
                far.connect(self.target)
                self.links.add((near, far))
            threading.Thread(target=self._carry, args=(near, far), daemon=True).start()

    def _carry(self, near, far):
        with near, far, selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, near)
            try:
                while True:
                    for key, _ in ready.select():
                        data = key.fileobj.recv(65536)
                        self.flows.wait()
                        if not data:
                            return
                        key.data.sendall(data)
            except OSError:
                return
            finally:
                with self.lock:
                    self.links.discard((near, far))


class Caller(threading.Thread):
    """Calls one node on a kept connection until the Credits are spent or the node is gone."""

    def __init__(self, gateway, key, tally):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(*gateway.addresses["api"], timeout=60)
        self.key = key
        self.tally = tally

    def run(self):
        while True:
            try:
                self.connection.request("GET", TARGET,
                                        headers={"Authorization": "Bearer " + self.key})
                response = self.connection.getresponse()
                body = response.read()
            except (OSError, http.client.HTTPException):
                self.tally.add("cut")
                return
            code = "200" if response.status == 200 else json.loads(body)["error"]["code"]
            self.tally.add(code)
            if code not in ("200", "billing.credits_reserved"):
                return


class Tally:
    def __init__(self):
        self.lock = threading.Condition()
        self.counts = {}

    def add(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1
            self.lock.notify_all()

    def __getitem__(self, what):
        return self.counts.get(what, 0)

    def wait_for(self, what, count):
        with self.lock:
            if not self.lock.wait_for(lambda: self[what] >= count, timeout=120):
                raise AssertionError(f"{what} never came to {count}: {self.counts}")


class Nodes(OnPostgres, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))

    def start(self, *urls):
        nodes = [Gateway(registry=self.registry, postgres_url=url,
                         settings=SHORT_LEASES)
                 for url in urls]
        for node in nodes:
            self.addCleanup(node.close)
        accounts = nodes[0]
        accounts.run("migrate")
        return nodes

    def test_one_account_is_spent_to_exactly_zero_though_a_node_is_killed(self):
        granted = 400
        nodes = self.start(*[self.postgres_url()] * 3)
        account, key = nodes[0].new_key(credits=granted)
        for node in nodes:
            node.start()
        tally, doomed = Tally(), Tally()
        callers = [Caller(node, key, doomed if node is nodes[2] else tally)
                   for node in nodes for _ in range(4)]
        for caller in callers:
            caller.start()
        doomed.wait_for("200", 40)
        nodes[2].kill()
        killed = time.monotonic()
        for caller in callers:
            caller.join(timeout=120)
        complete = tally["200"] + doomed["200"]
        charged = granted - nodes[0].balance(account, key)
        print(f"\n{complete} complete 200 replies, {charged} charged of {granted}, "
              f"{doomed['cut']} cut by the kill, {tally['billing.credits_reserved']} times 429, "
              f"spent {time.monotonic() - killed:.1f} s after the kill")
        self.assertEqual(charged, granted)
        self.assertEqual(tally["billing.credits_exhausted"], 8, tally.counts)
        self.assertEqual(doomed["cut"], 4, doomed.counts)
        self.assertLessEqual(complete, charged)
        self.assertGreaterEqual(complete + doomed["cut"], charged)
        self.assertEqual(set(tally.counts) - {"200", "billing.credits_exhausted",
                                              "billing.credits_reserved"}, set())

    def test_several_accounts_and_a_cap_are_exact_across_nodes(self):
        nodes = self.start(*[self.postgres_url()] * 3)
        payers = [nodes[0].new_key(credits=credits) for credits in (61, 90, 45)]
        capped_account, capped_key = nodes[0].new_key(credits=1000)
        key_id = nodes[0].run_json("key", "list", "--account", capped_account)["items"][0]["id"]
        nodes[0].run("key", "cap", "--id", key_id, "--per-day", "37")
        for node in nodes:
            node.start()
        tallies = [Tally() for _ in range(4)]
        keys = [key for _, key in payers] + [capped_key]
        callers = [Caller(node, key, tally) for key, tally in zip(keys, tallies)
                   for node in nodes for _ in range(2)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(timeout=120)
        for (account, key), tally, credits in zip(payers, tallies, (61, 90, 45)):
            self.assertEqual(tally["200"], credits, tally.counts)
            self.assertEqual(tally["billing.credits_exhausted"], 6, tally.counts)
            self.assertEqual(nodes[1].balance(account, key), 0)
        self.assertEqual(tallies[3]["200"], 37, tallies[3].counts)
        self.assertEqual(tallies[3]["billing.key_cap_reached"], 6, tallies[3].counts)
        self.assertEqual(nodes[1].balance(capped_account, capped_key), 1000 - 37)
        refused = nodes[2].get(TARGET, key=capped_key)
        self.assertEqual(refused.status, 429)
        self.assertLessEqual(int(refused.headers["retry-after"]), 24 * 60 * 60)
        self.assertRegex(refused.json()["error"]["message"], r"37 Credits in a day .*T00:00:00")

    def check_outage(self, begin, end):
        direct = self.postgres_url()
        proxy = Proxy(self.postgres)
        self.addCleanup(proxy.close)
        far, near = self.start(direct, proxy.url(direct))
        account, key = far.new_key(credits=1000)
        far.start()
        near.start()
        replies = []

        def call(node):
            began = time.monotonic()
            replies.append(node.get(TARGET, key=key))
            return replies[-1].status, time.monotonic() - began

        self.assertEqual(call(far)[0], 200)
        self.assertEqual(call(near)[0], 200)
        begin(proxy)
        # Calls in progress, and calls made before every heartbeat has seen the outage, may wait.
        # After that, replies are quick.
        seen = time.monotonic() + 4
        while time.monotonic() < seen:
            call(near)
        times = []
        for _ in range(20):
            status, seconds = call(near)
            self.assertEqual(status, 503)
            times.append(seconds)
            self.assertEqual(call(far)[0], 200)
        self.assertLess(sorted(times)[15], 1, times)  # a busy machine may delay a few
        end(proxy)
        until(lambda: call(near)[0] == 200, near.log_text)
        complete = sum(reply.status == 200 for reply in replies)
        unknown = sum(reply.status == 503 and
                      reply.error_code() == "billing.settlement_unknown" for reply in replies)
        charged = 1000 - far.balance(account, key)
        self.assertGreaterEqual(charged, complete)
        self.assertLessEqual(charged, complete + unknown)

    def test_a_node_whose_link_is_cut_is_503_at_once_and_recovers(self):
        self.check_outage(Proxy.cut, Proxy.mend)

    def test_a_node_whose_link_is_silent_is_503_too_and_recovers(self):
        self.check_outage(lambda proxy: proxy.flows.clear(), lambda proxy: proxy.flows.set())


if __name__ == "__main__":
    unittest.main()
