"""A program that asks for access to an account with plain HTTP requests."""

import base64
import hashlib
import http.client
import json
import os
import urllib.parse

CALL = "/v1/gateway/test/upstream/bytes/100"
REDIRECT = "http://127.0.0.1/callback"
AT_PORT = "http://127.0.0.1:51234/callback"


def pkce():
    verifier = base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()
    digest = hashlib.sha256(verifier.encode()).digest()
    return verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def query_of(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


class Answer:
    def __init__(self, reply):
        self.status, self.headers, self.text = reply.status, reply.headers, reply.read().decode()

    @property
    def json(self):
        return json.loads(self.text)


class Client:
    """Sends plain requests to the MCP host and keeps the client id that it registers."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.issuer = "http://%s:%d" % gateway.addresses["mcp"]
        self.id = ""

    def send(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(*self.gateway.addresses["mcp"], timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def register(self, **metadata):
        answer = self.send("POST", "/oauth/register", json.dumps(
            {"client_name": "Test client", "redirect_uris": [REDIRECT], **metadata}),
            {"Content-Type": "application/json"})
        if answer.status == 201:
            self.id = answer.json["client_id"]
        return answer

    def authorize(self, challenge, **changes):
        query = {"response_type": "code", "client_id": self.id, "redirect_uri": AT_PORT,
                 "code_challenge": challenge, "code_challenge_method": "S256", "state": "s t/1",
                 "resource": self.issuer, **changes}
        query = {name: value for name, value in query.items() if value is not None}
        return self.send("GET", "/oauth/authorize?" + urllib.parse.urlencode(query))

    def form(self, path, **fields):
        return self.send("POST", path, urllib.parse.urlencode(fields),
                         {"Content-Type": "application/x-www-form-urlencoded"})

    def exchange(self, code, verifier, **changes):
        return self.form("/oauth/token", **{
            "grant_type": "authorization_code", "client_id": self.id, "code": code,
            "redirect_uri": AT_PORT, "code_verifier": verifier, **changes})

    def refresh(self, token):
        return self.form("/oauth/token", grant_type="refresh_token", client_id=self.id,
                         refresh_token=token)

    def revoke(self, token):
        return self.form("/oauth/revoke", token=token, client_id=self.id)

    def mcp(self, token, name="service.route.execute", path="/", **arguments):
        arguments = arguments or {"method": "GET", "path": CALL}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": name, "arguments": arguments}}
        return self.send("POST", path, json.dumps(body), {
            "Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25",
            "Accept": "application/json, text/event-stream",
            **({"Authorization": "Bearer " + token} if token else {})})

    def calls(self, token):
        """Whether a call with this token is served. A refusal by a tool is a 200, too."""
        answer = self.mcp(token)
        return answer.status == 200 and not answer.json["result"].get("isError")
