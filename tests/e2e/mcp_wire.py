"""MCP by hand, in either era: one JSON-RPC message in one POST, without the repairs of a client
library."""

import json
import unittest

from gateway import Gateway, new_registry
from upstream import Upstream

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


class ToolReply:
    """The outcome of a tools/call: the HTTP status and the part of the result that models see."""

    def __init__(self, reply):
        self.reply = reply
        self.status = reply.status
        self.message = reply.json()
        self.result = self.message.get("result")
        self.error = self.message.get("error")  # the error of JSON-RPC
        self.said = self.result.get("structuredContent") if self.result else None

    def error_code(self):
        return self.said.get("error", {}).get("code")


class Wire:
    def __init__(self, gateway, *, door="/", era=LEGACY):
        self.gateway, self.door, self.era = gateway, door, era

    def send(self, method, params=None, *, key=None, headers=()):
        params = dict(params or {})
        headers = [("Content-Type", "application/json"),
                   ("Accept", "application/json, text/event-stream"),
                   ("MCP-Protocol-Version", self.era), *headers]
        if self.era == MODERN:
            params["_meta"] = {META + "protocolVersion": MODERN, META + "clientCapabilities": {},
                               **params.get("_meta", {})}
            headers.append(("Mcp-Method", method))
            if "name" in params:
                headers.append(("Mcp-Name", params["name"]))
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.gateway.call("POST", self.door, host="mcp", key=key, headers=headers,
                                 body=json.dumps(body).encode())

    def tools(self, *, key=None):
        """All tools of tools/list, across all pages."""
        tools, cursor = [], {}
        while True:
            page = self.send("tools/list", cursor, key=key).json()["result"]
            tools += page["tools"]
            if "nextCursor" not in page:
                return tools
            cursor = {"cursor": page["nextCursor"]}

    def call(self, name, arguments, *, key=None, headers=()):
        return ToolReply(self.send("tools/call", {"name": name, "arguments": arguments}, key=key,
                                   headers=headers))


class WithTools(unittest.TestCase):
    """A gateway with a registry, some tools and an account."""

    registry_yaml, tools_yaml = None, None
    settings = ()

    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)

    def setUp(self):
        self.registry = new_registry(
            self, self.registry_yaml.format(address=self.upstream.address))
        (self.registry / "tools").mkdir()
        (self.registry / "tools" / "test.yaml").write_text(self.tools_yaml)
        self.gateway = Gateway(registry=self.registry, settings=[*self.settings])
        self.addCleanup(self.gateway.close)
        self.account, self.key = self.gateway.new_key()
        self.gateway.start()
        self.wire = Wire(self.gateway)
        self.upstream.requests.clear()
        self.granted = self.balance()

    def balance(self):
        return self.gateway.balance(self.account, self.key)

    def charged(self):
        return self.granted - self.balance()
