"""OAuth clients that a document at their own URL describes (O25 of the checklist in
docs/protocols.md, "OAuth"): a host that serves good documents, and one that lies in every way it
can. Documents of this machine are accepted only in development, so the gateway runs in development;
the last tests cover other environments."""

import collections
import http.server
import json
import os
import ssl
import subprocess
import threading
import unittest

from gateway import Gateway, new_directory, new_registry
from oauth_client import Client, pkce, query_of
from people import Browser, Passkey
from test_oauth import REGISTRY
from upstream import Upstream

CALLBACK = "http://127.0.0.1/callback"


class DocumentHost:
    """Serves what a test sets in `answers`: by path, a (status, headers, body), or a function that
    gets the handler. Counts the requests for each path."""

    def __init__(self, context=None):
        self.answers = {}
        self.asked = collections.Counter()
        self.headers = {}
        self.lock = threading.Lock()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with owner.lock:
                    owner.asked[self.path] += 1
                    owner.headers[self.path] = dict(self.headers)
                answer = owner.answers.get(self.path)
                if callable(answer):
                    answer(self)
                    return
                status, headers, body = answer or (404, {}, b"")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if context:
            self.scheme = "https"
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path, host="127.0.0.1"):
        return f"{self.scheme}://{host}:{self.server.server_address[1]}{path}"

    def serve(self, path, headers=None, host="127.0.0.1", **changes):
        """Serves a good document with these changes. Returns its id."""
        document = {"client_id": self.url(path, host), "client_name": "Described",
                    "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none",
                    "logo_uri": self.url("/logo"), "jwks_uri": self.url("/keys"), **changes}
        self.answers[path] = (200, {"Content-Type": "application/json", **(headers or {})},
                              json.dumps(document).encode())
        return self.url(path, host)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))

    def setUp(self):
        # Each test has its own gateway, because the gateway counts fetches by host.
        self.gateway = Gateway(registry=self.registry, settings=["log.level=info"]).start(
            {"mcp", "web"})
        self.addCleanup(self.gateway.close)
        self.host = DocumentHost()
        self.addCleanup(self.host.close)
        self.client = Client(self.gateway)
        self.name = "/" + self.id().rpartition(".")[2]

    def authorize(self, client_id, **changes):
        self.client.id = client_id
        return self.client.authorize(pkce()[1], **changes)

    def accepted(self, client_id, **changes):
        answer = self.authorize(client_id, **changes)
        self.assertEqual(answer.status, 303, answer.text)
        self.assertIn("/oauth/consent?request=", answer.headers["Location"])
        return answer

    def refused(self, client_id, why):
        answer = self.authorize(client_id)
        self.assertEqual(answer.status, 400, answer.text)  # O2: a page, and no redirect
        self.assertNotIn("Location", answer.headers)
        self.assertIn("text/html", answer.headers["Content-Type"])
        self.assertIn(why, answer.text)

    def test_the_server_says_that_it_takes_them(self):
        server = self.client.send("GET", "/.well-known/oauth-authorization-server").json
        self.assertIs(server["client_id_metadata_document_supported"], True)
        self.assertEqual(server["token_endpoint_auth_methods_supported"], ["none"])

    def test_a_described_client_gets_its_tokens(self):
        client_id = self.host.serve(self.name, client_name="Described <client>")
        account = self.gateway.run_json("account", "create", "--name", "Acme")["id"]
        person = self.gateway.run_json("user", "create", "--name", "Ann", "--login", "ann",
                                       "--account", account, "--role", "owner")
        browser, passkey = Browser(self.gateway), Passkey()
        self.addCleanup(passkey.close)
        browser.sign_in(person["link"])
        browser.enrol(passkey)
        browser.step_up(passkey)
        verifier, challenge = pkce()
        self.client.id = client_id
        request = query_of(self.client.authorize(challenge).headers["Location"])["request"]
        page = browser.send("GET", "/oauth/consent?request=" + request).body.decode()
        self.assertIn("Described &lt;client&gt;", page)  # O12
        self.assertIn("<dt>Described by</dt><dd><strong>this computer</strong></dd>", page)
        reply = browser.submit("/oauth/consent", request=request, decision="approve",
                               account=account)
        # The document is no longer needed.
        self.host.answers.clear()
        answer = self.client.exchange(query_of(reply.headers["Location"])["code"], verifier)
        self.assertEqual(answer.status, 200, answer.text)
        refreshed = self.client.refresh(answer.json["refresh_token"])
        called = self.client.mcp(refreshed.json["access_token"])
        self.assertEqual(called.json["result"]["structuredContent"]["credits_charged"], 2)
        [grant] = browser.json("GET", "/v1/me/grants")[1]["items"]
        self.assertEqual(grant["clientName"], "Described <client>")
        listed = {one["id"]: one for one in
                  self.gateway.run_json("oauth", "client", "list")["items"]}
        self.assertEqual(listed[client_id]["kind"], "document")
        # Nothing else was fetched, not even what the document links to.
        self.assertEqual(dict(self.host.asked), {self.name: 1})
        self.assertEqual(self.client.revoke(answer.json["refresh_token"]).status, 200)
        self.gateway.run("oauth", "client", "block", "--id", client_id)
        self.refused(client_id, "no client")

    def test_a_document_is_fetched_once_and_believed(self):
        client_id = self.host.serve(self.name)
        for _ in range(3):
            self.accepted(client_id)
        self.assertEqual(self.host.asked[self.name], 1)
        sent = {name.lower(): value for name, value in self.host.headers[self.name].items()}
        self.assertEqual(sent["accept"], "application/json")
        self.assertNotIn("cookie", sent)
        self.assertNotIn("authorization", sent)

    def test_a_redirect_uri_must_stand_in_the_document(self):
        client_id = self.host.serve(self.name)
        for uri in ("https://evil.example/", "http://127.0.0.1/other"):
            answer = self.authorize(client_id, redirect_uri=uri)
            self.assertEqual(answer.status, 400)
            self.assertNotIn("Location", answer.headers)
        # Errors that the client can correct are sent to it, as for other clients.
        back = query_of(self.authorize(client_id, code_challenge=None).headers["Location"])
        self.assertEqual((back["error"], back["iss"]), ("invalid_request", self.client.issuer))

    def test_nothing_is_redirected_and_no_answer_but_200_counts(self):
        target = self.host.serve("/target")
        for status in (301, 302, 303, 307, 308):
            self.host.answers[self.name] = (status, {"Location": target}, b"")
            self.refused(self.host.url(self.name), f"the answer was {status}, not 200")
        self.assertEqual(self.host.asked["/target"], 0)
        good = self.host.serve(self.name)
        for status in (201, 203, 206, 400, 404, 500, 503):
            self.host.answers[self.name] = (status, *self.host.answers[self.name][1:])
            self.refused(good, f"the answer was {status}, not 200")

    def test_what_is_no_document_of_the_client(self):
        name, serve = self.name, self.host.serve
        for changes, why in (({"client_id": self.host.url("/other")}, "another client_id"),
                             ({"token_endpoint_auth_method": "private_key_jwt"}, "none"),
                             ({"client_secret": "s"}, "secret"),
                             ({"redirect_uris": ["http://evil.example/"]}, "redirect_uris[0]"),
                             ({"redirect_uris": []}, "redirect_uris"),
                             ({"client_name": "a\u202eb"}, "client_name"),
                             ({"padding": "x" * 5120}, "larger than 5120 bytes")):
            self.refused(serve(name, **changes), why)
        url = self.host.url(name)
        for content_type in ("text/html", "text/json", "application/jsonx", "application/xml+jso"):
            self.refused(serve(name, {"Content-Type": content_type}), "no JSON")
        for body in (b"", b"{", b"[]", b"\xff"):
            self.host.answers[name] = (200, {"Content-Type": "application/json"}, body)
            self.refused(url, "no JSON object")
        # None of these was stored: a correct document is accepted afterwards.
        self.accepted(serve(name, {"Content-Type": "application/json; charset=utf-8"}))

    def test_other_json_types_are_json(self):
        self.accepted(self.host.serve(self.name, {"Content-Type": "application/client+json"}))

    def test_a_document_without_end_is_left(self):
        def chunks(handler):
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            try:
                while True:
                    handler.wfile.write(b"400\r\n" + b" " * 0x400 + b"\r\n")
            except OSError:
                ended.set()

        ended = threading.Event()
        self.host.answers[self.name] = chunks
        self.refused(self.host.url(self.name), "larger than 5120 bytes")
        self.assertTrue(ended.wait(60), "the gateway reads on")

    def test_a_silent_host_and_one_that_trickles_hold_up_nobody_else(self):
        over = threading.Event()
        self.addCleanup(over.set)

        def silent(_handler):
            over.wait(60)

        def trickle(handler):
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", "5000")
            handler.end_headers()
            try:
                while not over.wait(0.2):
                    handler.wfile.write(b" ")
            except OSError:
                pass

        self.host.answers = {"/silent": silent, "/trickle": trickle}
        good = self.host.serve(self.name)
        answers = {}

        def ask(path):
            client = Client(self.gateway)
            client.id = self.host.url(path)
            answers[path] = client.authorize(pkce()[1])

        threads = [threading.Thread(target=ask, args=[path]) for path in ("/silent", "/trickle")
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        self.accepted(good)  # while all of those wait
        self.assertEqual(answers, {})
        for thread in threads:
            thread.join(60)
        for path in ("/silent", "/trickle"):
            self.assertEqual(answers[path].status, 400)
            self.assertIn("it took too long", answers[path].text)
            # One fetch at a time; a caller that came late may have begun another.
            self.assertLessEqual(self.host.asked[path], 2)

    def test_many_at_once_wait_for_one_fetch(self):
        gate, begun = threading.Event(), threading.Event()
        client_id = self.host.serve(self.name)
        status, headers, body = self.host.answers[self.name]

        def late(handler):
            begun.set()
            gate.wait(60)
            handler.send_response(status)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        self.host.answers[self.name] = late
        statuses = []

        def ask():
            client = Client(self.gateway)
            client.id = client_id
            statuses.append(client.authorize(pkce()[1]).status)

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        self.assertTrue(begun.wait(60))
        gate.set()
        for thread in threads:
            thread.join(60)
        self.assertEqual(statuses, [303] * 12)
        self.assertEqual(self.host.asked[self.name], 1)

    def test_one_host_is_asked_thirty_times_a_minute(self):
        host = "[::1]"
        statuses = collections.Counter()
        for at in range(70):  # at most two windows
            answer = self.authorize(f"http://{host}:9/{at}")
            statuses[answer.status] += 1
            if answer.status == 429:
                break
        self.assertEqual(answer.status, 429, statuses)
        self.assertGreaterEqual(statuses[400], 30)
        self.assertIn(int(answer.headers["Retry-After"]), range(1, 61))
        self.accepted(self.host.serve(self.name))  # other hosts are still asked

    def test_no_url_that_could_be_another_place(self):
        port = self.host.server.server_address[1]
        for client_id in (f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/",
                          f"http://127.0.0.1:{port}/a/../c", f"http://127.0.0.1:{port}/%2e%2e/c",
                          f"http://u@127.0.0.1:{port}/c", f"http://127.0.0.1:{port}/c#f",
                          "http://example.com/c", "https://example.com:8443/c",
                          "http://127.0.0.2/c"):
            self.refused(client_id, "No document is fetched from this client_id")
        self.assertEqual(self.host.asked, {})

    def test_private_addresses_are_not_asked(self):
        # In development, too: only this machine may be asked, by its own names.
        for client_id in ("https://10.0.0.1/c", "https://192.168.1.1/c",
                          "https://169.254.169.254/c", "https://127.0.0.2/c",
                          "https://[::ffff:127.0.0.1]/c",
                          "https://[fd00::1]/c", "https://0.0.0.0/c"):
            self.refused(client_id, "its address is not public")

    def test_what_a_stranger_asks_for_is_not_logged(self):  # O27
        client_id = self.host.serve(self.name + "-secret-path")
        answer = self.accepted(client_id, state="state-of-the-client")
        self.gateway.stop()
        log = self.gateway.log_text()
        self.assertIn('"path":"/oauth/authorize"', log)
        request = query_of(answer.headers["Location"])["request"]
        for text in ("state-of-the-client", "secret-path", request, "code_challenge"):
            self.assertNotIn(text, log)


class Tls(unittest.TestCase):
    """Over HTTPS, as outside development, with an authority that the gateway's machine trusts."""

    @classmethod
    def setUpClass(cls):
        cls.folder = new_directory(cls)
        for name in ("trusted", "stranger"):
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", cls.folder / f"{name}.key",
                 "-out", cls.folder / f"{name}.pem", "-days", "2", "-subj", "/CN=localhost",
                 "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)

    def start(self, *settings):
        before = os.environ.get("SSL_CERT_FILE")
        os.environ["SSL_CERT_FILE"] = str(self.folder / "trusted.pem")
        try:
            gateway = Gateway(settings=settings).start()
        finally:
            if before is None:
                del os.environ["SSL_CERT_FILE"]
            else:
                os.environ["SSL_CERT_FILE"] = before
        self.addCleanup(gateway.close)
        return gateway

    def host(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        host = DocumentHost(context)
        self.addCleanup(host.close)
        return host

    def test_a_document_counts_by_the_certificate_of_its_host(self):
        client = Client(self.start())
        client.id = self.host("trusted").serve("/c", host="localhost")
        answer = client.authorize(pkce()[1])
        self.assertEqual(answer.status, 303, answer.text)
        for host, name in (("trusted", "127.0.0.1"), ("stranger", "localhost")):
            client.id = self.host(host).serve("/c", host=name)
            answer = client.authorize(pkce()[1])
            self.assertEqual(answer.status, 400, host)
            self.assertIn("no way to its host", answer.text)

    def test_outside_development_nothing_of_this_machine_is_asked(self):
        gateway = self.start("environment=staging", "limits.unready_before_stop_ms=0")
        client = Client(gateway)
        host = self.host("trusted")
        client.id = host.serve("/c", host="localhost")
        answer = client.authorize(pkce()[1])
        self.assertEqual(answer.status, 400)
        self.assertIn("it lies on this machine", answer.text)
        self.assertEqual(host.asked, {})

    def test_it_can_be_turned_off(self):
        client = Client(self.start("oauth.client_documents=false"))
        server = client.send("GET", "/.well-known/oauth-authorization-server").json
        self.assertNotIn("client_id_metadata_document_supported", server)
        host = self.host("trusted")
        client.id = host.serve("/c", host="localhost")
        answer = client.authorize(pkce()[1])
        self.assertEqual(answer.status, 400)
        self.assertIn("no client", answer.text)
        self.assertEqual(host.asked, {})


if __name__ == "__main__":
    unittest.main()
