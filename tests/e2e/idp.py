"""Identity providers on loopback: the certified one from npm, and one that lies as a test tells it
to. Neither needs a browser."""

import base64
import hashlib
import hmac
import html
import http.client
import http.server
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import urllib.parse

from gateway import ROOT

OIDC = ROOT / "tests" / "e2e" / "oidc"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def path_of(url):
    parts = urllib.parse.urlsplit(url)
    return parts.path + ("?" + parts.query if parts.query else "")


def next_url(page):
    """The URL to which a handover page sends the browser."""
    return html.unescape(re.search(rb'content="0;url=([^"]*)"', page).group(1).decode())


class Certified:
    """npm oidc-provider. `configure` gives it its clients once their redirect URIs are known."""

    def __init__(self):
        self.process = subprocess.Popen(["node", "provider.mjs"], cwd=OIDC, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.issuer = json.loads(self.process.stdout.readline())["issuer"]

    def configure(self, clients):
        self.process.stdin.write(json.dumps({"clients": clients}) + "\n")
        self.process.stdin.flush()

    def become(self, account):
        """Sets the account that signs in from now on; "nobody" declines."""
        connection = http.client.HTTPConnection(self.issuer.removeprefix("http://"), timeout=60)
        connection.request("PUT", "/account", json.dumps({"account": account}))
        connection.getresponse().read()
        connection.close()

    def visit(self, url, cookies):
        """Visits `url` as a browser that keeps `cookies` until it is redirected off this provider.
        Returns the last URL."""
        while url.startswith(self.issuer):
            connection = http.client.HTTPConnection(self.issuer.removeprefix("http://"),
                                                    timeout=60)
            sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
            connection.request("GET", path_of(url), headers=sent if cookies else {})
            reply = connection.getresponse()
            body = reply.read()
            for value in reply.headers.get_all("Set-Cookie") or []:
                name, _, rest = value.partition("=")
                cookies[name] = rest.partition(";")[0]
            connection.close()
            assert reply.status in (302, 303), (url, reply.status, body)
            url = urllib.parse.urljoin(url, reply.headers["Location"])
        return url

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Liar:
    """Many issuers, each below a path of its own. A test sets what an issuer does wrong: a function
    under its name in `tokens`, members in `metadata`, or a reply under "<name>/<document>" in
    `replies`. A document is metadata, jwks or token; a reply is (status, headers, body), or a
    function that returns one."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-idp-")
        self.keys = {name: self._new_key(name) for name in ("known", "unknown")}
        self.nonce = ""
        self.tokens = {}
        self.metadata = {}
        self.replies = {}
        self.asked = []
        self.forms = []
        self.headers = []
        self.released = threading.Event()
        liar = self

        class Answers(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer(b"")

            def do_POST(self):
                self.answer(self.rfile.read(int(self.headers["Content-Length"])))

            def answer(self, body):
                try:
                    status, headers, text = liar.reply(self.path, body, self.headers)
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                """Ignored: the gateway closes connections in the middle of overlong replies."""
        self.server = Server(("127.0.0.1", 0), Answers)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()

    def issuer(self, name):
        return f"{self.url}/{name}"

    def _new_key(self, name):
        path = os.path.join(self.folder.name, name)
        subprocess.run(["openssl", "genrsa", "-out", path, "2048"], check=True,
                       capture_output=True)
        text = subprocess.run(["openssl", "rsa", "-in", path, "-noout", "-modulus"], check=True,
                              capture_output=True, text=True).stdout
        return path, bytes.fromhex(text.strip().partition("=")[2])

    def jwks(self, *names):
        return {"keys": [{"kty": "RSA", "use": "sig", "kid": name, "e": "AQAB",
                          "n": base64url(self.keys[name][1])} for name in names]}

    def claims(self, name, **more):
        now = int(time.time())
        return {"iss": self.issuer(name), "aud": "us", "sub": "somebody", "nonce": self.nonce,
                "iat": now, "exp": now + 300, **more}

    def sign(self, claims, key="known", kid=None, alg="RS256"):
        header = {"alg": alg, "kid": kid or key}
        signed = (base64url(json.dumps(header).encode()) + "." +
                  base64url(json.dumps(claims).encode()))
        path, modulus = self.keys[key]
        if alg == "none":
            signature = b""
        elif alg == "HS256":
            public = subprocess.run(["openssl", "rsa", "-in", path, "-pubout"], check=True,
                                    capture_output=True).stdout
            signature = hmac.new(public, signed.encode(), hashlib.sha256).digest()
        else:
            signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", path],
                                       input=signed.encode(), check=True,
                                       capture_output=True).stdout
        return signed + "." + base64url(signature)

    def reply(self, path, body, headers):
        _, name, document = path.split("?")[0].split("/", 2)
        document = {".well-known/openid-configuration": "metadata"}.get(document, document)
        self.asked.append(f"{name}/{document}")
        told = self.replies.get(f"{name}/{document}")
        if told is not None:
            return told() if callable(told) else told
        issuer = self.issuer(name)
        if document == "metadata":
            answer = {"issuer": issuer, "authorization_endpoint": issuer + "/authorize",
                      "token_endpoint": issuer + "/token", "jwks_uri": issuer + "/jwks",
                      **self.metadata.get(name, {})}
        elif document == "jwks":
            answer = self.jwks("known")
        else:
            self.forms.append(dict(urllib.parse.parse_qsl(body.decode())))
            self.headers.append(headers)
            token = self.tokens.get(name)
            answer = {"access_token": "a", "token_type": "Bearer",
                      "id_token": token() if token else self.sign(self.claims(name))}
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()
