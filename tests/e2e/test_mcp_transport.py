"""The MCP host below its methods, on a real gateway: memory that any peer can occupy, bytes that
are not JSON, forms of a credential, versions, and calls that are cancelled by hand."""

import http.client
import json
import select
import socket
import unittest

from gateway import ONE_UPSTREAM
from mcp_wire import WithTools
from waiting import until

TEST = "/v1/gateway/test"

REGISTRY = ONE_UPSTREAM + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 20000}}
routes:
  - {{path: /upstream/slow}}
  - {{path: "/upstream/bytes/{{size}}"}}
"""

TOOLS = "tools: {}\n"
MESSAGES_BYTES_MAX = 4_194_304
TRIES = 2_000


def message(method, params=None, **rest):
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}, **rest}).encode()


PING = message("ping", id=1)


class Transport(WithTools):
    registry_yaml, tools_yaml = REGISTRY, TOOLS
    settings = (f"limits.mcp_messages_bytes_max={MESSAGES_BYTES_MAX}", "log.level=info")

    def post(self, body, *, key=None, headers=(), source="127.0.0.1", door="/"):
        caller = http.client.HTTPConnection(*self.gateway.addresses["mcp"], timeout=60,
                                            source_address=(source, 0))
        try:
            caller.request("POST", door, body, {
                "Content-Type": "application/json", **dict(headers),
                **({"Authorization": f"Bearer {key}"} if key else {})})
            reply = caller.getresponse()
            return reply.status, reply.read()
        finally:
            caller.close()

    def begin(self, framing, body):
        """Sends a message whose end never comes."""
        connection = socket.create_connection(self.gateway.addresses["mcp"], timeout=60)
        self.addCleanup(connection.close)
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost:%d\r\n"
                           b"Content-Type: application/json\r\n%s\r\n\r\n%s"
                           % (self.gateway.addresses["mcp"][1], framing, body))
        return connection

    def test_what_is_only_announced_keeps_nobody_out(self):
        """The attack as it was found: each message sends one byte."""
        for _ in range(2 * MESSAGES_BYTES_MAX // 65_536):
            self.begin(b"Content-Length: 65536", b"{")
        for _ in range(4):
            self.begin(b"Transfer-Encoding: chunked", b"1\r\n{\r\n")
        for _ in range(20):  # while the gateway accepts the others
            self.assertEqual(self.post(PING)[0], 200)
            self.assertEqual(self.post(PING, key=self.key)[0], 200)
        self.assertEqual(self.post(PING.ljust(1_000_000))[0], 200)
        chunks = iter([PING])  # without a length the body is chunked
        self.assertEqual(self.post(chunks, key=self.key)[0], 200)

    def test_what_has_come_keeps_neither_callers_with_a_key_nor_other_peers_out(self):
        framing, unended = b"Content-Length: 2097152", b"{".ljust(2_097_151)
        held = self.begin(framing, unended)
        status = 200
        for _ in range(TRIES):  # until the gateway has read it
            status, body = self.post(PING.ljust(200_000))
            if status != 200:
                break
            if select.select([held], [], [], 0)[0]:  # refused, as the ping took the room
                held = self.begin(framing, unended)
        self.assertEqual(status, 503, body)
        self.assertEqual(self.post(PING.ljust(200_000), key=self.key)[0], 200)
        self.assertEqual(self.post(PING.ljust(200_000), source="127.0.0.2")[0], 200)

    def test_a_message_ends_where_its_body_ends(self):
        for rest in (b"\0", b"\0garbage", b" \0{}"):
            status, body = self.post(PING + rest)
            self.assertEqual((status, json.loads(body)["error"]["code"]), (400, -32700), rest)

    def test_a_handshake_is_answered_whatever_version_its_header_names(self):
        for version in ("2025-03-26", "2099-01-01", "draft"):
            status, body = self.post(
                message("initialize", {"protocolVersion": version, "capabilities": {},
                                       "clientInfo": {"name": "test", "version": "1"}}, id=1),
                headers=[("MCP-Protocol-Version", version)])
            self.assertEqual(status, 200, body)
            self.assertEqual(json.loads(body)["result"]["protocolVersion"], "2025-11-25")

    def test_a_bearer_is_read_by_one_rule(self):
        for scheme in ("Bearer ", "bearer ", "BEARER    "):
            for asked in (message("tools/list", id=1), message(
                    "tools/call", {"name": "service.route.execute",
                                   "arguments": {"method": "GET", "path": TEST +
                                                 "/upstream/bytes/100"}}, id=1)):
                status, body = self.post(asked, headers=[("Authorization", scheme + self.key)])
                self.assertEqual(status, 200, (scheme, body))

    def begin_call(self, request_id, key=None):
        while self.upstream.arrived.acquire(blocking=False):
            pass  # arrivals of earlier calls
        body = message("tools/call", {"name": "service.route.execute",
                                      "arguments": {"method": "GET",
                                                    "path": TEST + "/upstream/slow"}},
                       id=request_id)
        caller = self.begin(b"Authorization: Bearer %s\r\nContent-Length: %d"
                            % ((key or self.key).encode(), len(body)), body)
        self.upstream.arrived.acquire()
        return caller

    def cancel(self, request_id, key=None):
        notification = message("notifications/cancelled", {"requestId": request_id})
        self.assertEqual(self.post(notification, key=key), (202, b""))

    def test_a_cancelled_call_is_not_charged(self):
        self.addCleanup(self.upstream.release)
        self.addCleanup(self.upstream.released.clear)
        caller = self.begin_call("a")
        self.cancel("a", self.key)
        answer = http.client.HTTPResponse(caller)
        answer.begin()
        told = json.loads(answer.read())
        self.assertEqual((answer.status, told["id"], told["error"]["code"]), (200, "a", -32800))
        page = f"/v1/billing-accounts/{self.account}/billing?collection=usage"
        rows = until(lambda: self.gateway.get(page, key=self.key).json()["items"],
                     "the call is not in the books")
        self.assertEqual([(row["outcome"], row["outcomeReason"]) for row in rows],
                         [("released", "client_gone_before_reply")])
        self.assertEqual(self.charged(), 0)
        self.gateway.stop()
        [line] = [line for line in map(json.loads, self.gateway.log_text().splitlines())
                  if line.get("rpc") == "tools/call service.route.execute"]
        self.assertEqual((line.get("error"), line["whole"], line["credits_charged"]),
                         (None, False, 0))

    def test_nobody_else_cancels_a_call(self):
        self.addCleanup(self.upstream.released.clear)
        _, other = self.gateway.new_key()
        caller = self.begin_call(7)
        self.cancel(7)
        self.cancel(7, other)
        self.cancel("7", self.key)
        self.cancel(8, self.key)
        self.upstream.release()
        answer = http.client.HTTPResponse(caller)
        answer.begin()
        self.assertEqual(json.loads(answer.read())["result"]["structuredContent"]["http_status"],
                         200)
        self.assertEqual(self.charged(), 2)


if __name__ == "__main__":
    unittest.main()
