"""Simulated people: a browser that keeps cookies, and a passkey made with OpenSSL's command line,
so that a person can authenticate without a real browser."""

import base64
import hashlib
import http.client
import json
import os
import struct
import subprocess
import tempfile
import urllib.parse

PRESENT_AND_VERIFIED = 0x05
WITH_A_NEW_KEY = 0x40


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Browser:
    """Keeps the cookies of one host and the page's CSRF token, and sends them with Origin."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.origin = "http://localhost:%d" % gateway.addresses["web"][1]
        self.cookies = {}
        self.page_token = ""

    def send(self, method, path, body=None, *, form=False, headers=None):
        connection = http.client.HTTPConnection(*self.gateway.addresses["web"], timeout=60)
        try:
            sent = {"Host": self.origin.removeprefix("http://"), "Origin": self.origin}
            if self.cookies:
                sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in
                                           self.cookies.items())
            if self.page_token and method != "GET":
                sent["Turnpike-CSRF"] = self.page_token
            if body is not None:
                sent["Content-Type"] = ("application/x-www-form-urlencoded" if form
                                        else "application/json")
            connection.request(method, path, body, {**sent, **(headers or {})})
            reply = connection.getresponse()
            reply.body = reply.read()
            for value in reply.headers.get_all("Set-Cookie") or []:
                name, _, rest = value.partition("=")
                self.cookies[name] = rest.partition(";")[0]
                if not self.cookies[name]:
                    del self.cookies[name]
            return reply
        finally:
            connection.close()

    def json(self, method, path, document=None, **options):
        body = None if document is None else json.dumps(document)
        reply = self.send(method, path, body, **options)
        return reply.status, json.loads(reply.body) if reply.body else None

    def submit(self, path, **fields):
        """Submits a form of a page."""
        body = urllib.parse.urlencode({"csrf": self.page_token, **fields})
        return self.send("POST", path, body, form=True)

    def sign_in(self, link):
        status, me = self.json("POST", "/v1/sign-in/link", {"token": link.partition("#")[2]})
        assert status == 200, me
        self.page_token = me["csrfToken"]
        return me

    def enrol(self, passkey):
        """Adds the passkey; from then on the session counts as verified by it."""
        status, begun = self.json("POST", "/v1/me/passkeys/options", {})
        assert status == 200, begun
        status, added = self.json("POST", "/v1/me/passkeys", {
            "ceremonyId": begun["ceremonyId"], "name": "soft",
            "credential": passkey.register(begun["publicKey"], self.origin)})
        assert status == 201, added

    def step_up(self, passkey):
        status, begun = self.json("POST", "/v1/step-up/passkey/options", {})
        assert status == 200, begun
        status, me = self.json("POST", "/v1/step-up/passkey", {
            "ceremonyId": begun["ceremonyId"],
            "credential": passkey.prove(begun["publicKey"], self.origin)})
        assert status == 200, me


class Passkey:
    """An ES256 passkey, in a folder that close() removes."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-passkey-")
        self.key = os.path.join(self.folder.name, "key.pem")
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                        self.key], check=True, capture_output=True)
        public = subprocess.run(["openssl", "ec", "-in", self.key, "-pubout", "-outform", "DER"],
                                check=True, capture_output=True).stdout
        self.point = public[-64:]  # the structure ends with x and y
        self.id = os.urandom(32)

    def close(self):
        self.folder.cleanup()

    def register(self, options, origin):
        rp_hash = hashlib.sha256(options["rp"]["id"].encode()).digest()
        key = (bytes.fromhex("a5010203262001215820") + self.point[:32] +
               bytes.fromhex("225820") + self.point[32:])
        data = (rp_hash + bytes([PRESENT_AND_VERIFIED | WITH_A_NEW_KEY]) + bytes(4) + bytes(16) +
                struct.pack(">H", len(self.id)) + self.id + key)
        return self.credential(options, origin, "webauthn.create", data, {"transports": []})

    def prove(self, options, origin):
        rp_hash = hashlib.sha256(options["rpId"].encode()).digest()
        data = rp_hash + bytes([PRESENT_AND_VERIFIED]) + bytes(4)
        client = self.client_data(options, origin, "webauthn.get")
        signed = data + hashlib.sha256(client).digest()
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=signed,
                                   check=True, capture_output=True).stdout
        return self.credential(options, origin, "webauthn.get", data,
                               {"signature": base64url(signature)})

    @staticmethod
    def client_data(options, origin, kind):
        return json.dumps({"type": kind, "challenge": options["challenge"], "origin": origin,
                           "crossOrigin": False}).encode()

    def credential(self, options, origin, kind, data, more):
        return {"id": base64url(self.id), "rawId": base64url(self.id), "type": "public-key",
                "clientExtensionResults": {},
                "response": {"clientDataJSON": base64url(self.client_data(options, origin, kind)),
                             "authenticatorData": base64url(data), **more}}
