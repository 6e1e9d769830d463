"""A gateway in use: sample data, an account with calls of several outcomes, its owner and a
colleague, keys, an operator. What tests of pages and the screenshots show."""

import subprocess

from gateway import GOVDATA_IMPORT, Gateway
from people import Browser, Passkey

BASE = "/v1/gateway/govdata/global/v1"


class Scene:
    def __init__(self, *, settings=(), postgres_url=None, registry=None):
        self.gateway = Gateway(postgres_url=postgres_url, registry=registry, settings=[
            "status.enabled=true", "status.round_ms=1000", "site.brand.contact=help@example.com",
            "site.brand.legal_name=Example GmbH", *settings])
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        self.gateway.directory / "govdata.db"], check=True, capture_output=True)
        self.account, self.key = self.gateway.new_key()
        owner = self.gateway.run_json("user", "create", "--name", "Ada Owner", "--login", "ada",
                                      "--account", self.account, "--role", "owner")
        self.gateway.run_json("user", "create", "--name", "Max Member", "--login", "max",
                              "--account", self.account, "--role", "member")
        self.owner_link = owner["link"]
        self.passkey = Passkey()
        self.gateway.start(frozenset({"api", "mcp", "web", "operator"}))
        self.origin = "http://localhost:%d" % self.gateway.addresses["web"][1]
        self.operator_origin = "http://127.0.0.1:%d" % self.gateway.addresses["operator"][1]
        self.last_request_id = self.make_calls(self.key)

    def make_calls(self, key):
        """Calls that are paid, free, refused and found nothing; the id of the last one, a paid one.
        Five of them are in the books, four of those are charged."""
        for path in ("/daos", "/activity?hours=168&limit=3", "/meta/pricing", "/nothing",
                     "/daos/nobody/brief", "/daos:free"):
            self.gateway.get(BASE + path, key=key)
        return self.gateway.get(BASE + "/daos", key=key).headers["x-request-id"]

    def owner(self):
        """A browser in which the owner is signed in."""
        browser = Browser(self.gateway)
        browser.sign_in(self.owner_link)
        browser.enrol(self.passkey)
        return browser

    def close(self):
        self.passkey.close()
        self.gateway.stop()
        self.gateway.close()
