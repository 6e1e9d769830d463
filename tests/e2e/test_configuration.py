"""What the deployment's configuration promises happens, or the gateway says that it does not."""

import pathlib
import stat
import subprocess
import unittest

from gateway import BUILD, GOVDATA_IMPORT, ROOT, Gateway


class Configuration(unittest.TestCase):
    def new_gateway(self, *settings):
        gateway = Gateway(settings=settings)
        self.addCleanup(gateway.close)
        subprocess.run([GOVDATA_IMPORT, "sample", "--database",
                        gateway.directory / "govdata.db"], check=True, capture_output=True)
        return gateway

    def test_documents_name_the_port_that_was_taken(self):
        gateway = self.new_gateway()  # listens on port 0 and has no base_url
        gateway.start()
        host, port = gateway.addresses["api"]
        self.assertNotEqual(port, 0)
        self.assertEqual(gateway.get("/openapi.json").json()["servers"],
                         [{"url": f"http://{host}:{port}"}])

    def test_documents_name_the_base_url_that_was_given(self):
        gateway = self.new_gateway("hosts.api.base_url=https://api.example.com/")
        gateway.start()
        self.assertEqual(gateway.get("/openapi.json").json()["servers"],
                         [{"url": "https://api.example.com"}])

    def test_discovery_names_the_ports_that_were_taken(self):
        gateway = self.new_gateway("oauth.enabled=false")
        gateway.start()
        url = "http://%s:%d" % gateway.addresses["mcp"]
        manifest = gateway.get("/.well-known/mcp.json")
        self.assertEqual(manifest.json()["transport"]["endpoint"], url)
        takes_payments = (BUILD / "plugins" / "x402.so").exists()
        self.assertEqual([remote["url"] for remote in manifest.json()["remotes"]],
                         [url, url + "/x402"] if takes_payments else [url])
        self.assertEqual(gateway.get("/.well-known/mcp.json", host="mcp").body, manifest.body)
        self.assertEqual(gateway.get("/server-card", host="mcp").json()["remotes"][0]["url"], url)
        for host in ("api", "mcp"):
            for path in ("oauth-protected-resource", "oauth-authorization-server",
                         "openai-apps-challenge"):
                self.assertEqual(gateway.get("/.well-known/" + path, host=host).status, 404)
        self.assertEqual(gateway.get("/oauth/authorize", host="mcp").status, 404)

    def test_without_a_web_host_nobody_can_be_asked(self):
        gateway = self.new_gateway("hosts.web.listen=")
        gateway.start()
        self.assertEqual(
            gateway.get("/.well-known/oauth-authorization-server", host="mcp").status, 404)

    def test_discovery_names_the_urls_that_were_given(self):
        gateway = self.new_gateway("hosts.mcp.base_url=https://mcp.example.com/",
                                   "hosts.mcp.openai_apps_challenge=token-1")
        gateway.start()
        manifest = gateway.get("/.well-known/mcp.json").json()
        self.assertEqual(manifest["transport"]["endpoint"], "https://mcp.example.com")
        card = gateway.get("/server-card", host="mcp").json()
        self.assertEqual(card["name"], "com.example.mcp/turnpike")
        challenge = gateway.get("/.well-known/openai-apps-challenge", host="mcp")
        self.assertEqual((challenge.status, challenge.body), (200, b"token-1"))

    def list_tools(self, gateway, **headers):
        """The status of tools/list for a caller that sends exactly these headers."""
        message = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = (f"POST / HTTP/1.1\r\n{fields}Connection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(message)}\r\n\r\n")
        return int(gateway.raw(head.encode() + message, host="mcp").split()[1])

    def test_the_mcp_host_answers_to_its_own_names_and_to_pages_of_this_machine(self):
        gateway = self.new_gateway()
        gateway.start()
        own = "localhost:%d" % gateway.addresses["mcp"][1]
        self.assertEqual(self.list_tools(gateway, Host=own), 200)
        self.assertEqual(self.list_tools(gateway, Host="evil.example"), 403)
        self.assertEqual(self.list_tools(gateway, Host=own, Origin="http://localhost:6274"), 200)
        self.assertEqual(self.list_tools(gateway, Host=own, Origin="https://evil.example"), 403)

    def test_the_mcp_host_answers_to_the_names_and_pages_that_were_given(self):
        gateway = self.new_gateway("hosts.mcp.allowed_hosts=mcp.internal",
                                   "hosts.mcp.allowed_origins=https://app.example")
        gateway.start()
        own = "localhost:%d" % gateway.addresses["mcp"][1]
        self.assertEqual(self.list_tools(gateway, Host="mcp.internal"), 200)
        self.assertEqual(self.list_tools(gateway, Host=own), 403)
        self.assertEqual(self.list_tools(gateway, Host="mcp.internal",
                                         Origin="https://app.example"), 200)
        self.assertEqual(self.list_tools(gateway, Host="mcp.internal",
                                         Origin="http://localhost:6274"), 403)

    def test_the_mcp_host_can_be_left_out(self):
        gateway = self.new_gateway("hosts.mcp.listen=")
        gateway.start(wanted={"api", "operator"})
        self.assertEqual(gateway.get("/.well-known/mcp.json").status, 404)

    def test_the_web_host_can_be_left_out(self):
        gateway = self.new_gateway("hosts.web.listen=")
        gateway.start()
        self.assertEqual(set(gateway.addresses), {"api", "mcp", "operator"})

    def test_a_misspelt_command_touches_no_database(self):
        gateway = Gateway()
        self.addCleanup(gateway.close)
        result = gateway.run("chekc", check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn('there is no command "chekc"; did you mean "check"?', result.stderr)
        self.assertFalse((gateway.directory / "turnpike.db").exists())

    def test_a_data_directory_that_is_too_long_is_refused_before_anything_is_bound(self):
        gateway = Gateway()
        self.addCleanup(gateway.close)
        gateway.settings.append(f"data_dir={gateway.directory}/{'x' * 100}")
        result = gateway.run("serve", check=False)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("data_dir: is too long", result.stderr)

    @unittest.skipUnless(BUILD == ROOT / "build" / "release", "./dev runs the release build")
    def test_the_demo_key_is_kept_in_the_data_directory(self):
        gateway = Gateway()
        self.addCleanup(gateway.close)
        data = gateway.directory / "elsewhere"
        gateway.settings.append(f"data_dir={data}")
        script = 'source ./dev; prepare_demo "$@"; prepare_demo "$@"'
        options = gateway.command("serve")[2:]
        ours = pathlib.Path(ROOT / "var" / "demo.key")
        before = ours.stat() if ours.exists() else None
        subprocess.run(["bash", "-c", script, "dev", *options], check=True, cwd=ROOT,
                       capture_output=True)
        self.assertEqual(ours.stat() if ours.exists() else None, before)
        key = data / "demo.key"
        self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
        gateway.start()
        daos = gateway.get("/v1/gateway/govdata/global/v1/daos", key=key.read_text().strip())
        self.assertEqual(daos.status, 200, daos.body)


if __name__ == "__main__":
    unittest.main()
