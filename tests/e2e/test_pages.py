"""Every page as people get it: in light and dark, on wide and narrow screens, with and without
scripts. Also its size, its links, and the verdicts of Lighthouse and of the HTML standard."""

import concurrent.futures
import html.parser
import http.client
import itertools
import os
import re
import unittest
import urllib.parse

from scene import Scene
from walks import walk

PAGE_BYTES_MAX = 20_000  # HTML, style sheet and scripts of a first load, compressed
FONT_BYTES_MAX = 34_000
REQUESTS_MAX = 8


class Links(html.parser.HTMLParser):
    """What a page loads, where its links lead, and which ids can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.leads, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        have = dict(attributes)
        if "id" in have:
            self.ids.add(have["id"])
        if tag == "a" and "href" in have:
            self.leads.append(have["href"])
        if tag == "script" and "src" in have:
            self.loads.append(have["src"])
        if tag == "img":
            self.loads.append(have["src"])
        if tag == "link" and have.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(have["href"])


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = Scene()
        cls.owner = cls.scene.owner()

    @classmethod
    def tearDownClass(cls):
        cls.scene.close()

    def get(self, path, accept="text/html", coding="identity"):
        connection = http.client.HTTPConnection(*self.scene.gateway.addresses["web"], timeout=60)
        try:
            connection.request("GET", path, headers={
                "Host": self.scene.origin.removeprefix("http://"), "Accept": accept,
                "Accept-Encoding": coding})
            reply = connection.getresponse()
            reply.body = reply.read()
            return reply
        finally:
            connection.close()

    def public_paths(self):
        sitemap = self.get("/sitemap.xml").body.decode()
        paths = [urllib.parse.urlsplit(url).path
                 for url in re.findall(r"<loc>([^<]+)</loc>", sitemap)]
        self.assertIn("/", paths)
        self.assertIn("/pricing", paths)
        return [*paths, "/privacy-policy", "/terms-of-service", "/login", "/login/link",
                "/login/recovery"]

    def own_paths(self):
        account = f"/dashboard/{self.scene.account}"
        keys = self.scene.gateway.run_json("key", "list", "--account", self.scene.account)
        key_id = keys["items"][0]["id"]
        playground = self.owner.send("GET", account + "/playground").body.decode()
        operation = re.search(r'<option value="([^"]+)"[^>]*>The DAOs in the store', playground)[1]
        below = ("", "/calls", "/calls?outcome=released", "/calls?find=unknown",
                 f"/calls/{self.scene.last_request_id}", "/usage", "/keys",
                 f"/keys/{key_id}", "/playground",
                 f"/playground?operation={urllib.parse.quote(operation)}", "/free-quotas",
                 "/billing", "/purchases", "/purchases?amount=25.5",
                 *("/purchases/" + one for one in self.scene.purchase_ids), "/auto-top-up",
                 "/notifications", "/members", "/security-log", "/status")
        return ["/account", "/account/events", "/dashboard", *(account + path for path in below)]

    @staticmethod
    def named(paths, status=200):
        def name(path):
            path = re.sub(r"[0-9a-f-]{36}", "call", re.sub(r"=.*", "", path))
            path = re.sub(r"key_\w+", "key", re.sub(r"acc_\w+", "account", path))
            return re.sub(r"[/?.]", "-", path.strip("/")) or "home"
        return [{"name": name(path), "path": path, "status": status} for path in paths]

    def assert_no_problems(self, looks):
        found = [f"{look['path']}: {problem}"
                 for look in looks for problem in look["problems"]]
        self.assertEqual([], found, "\n".join(found))

    def look(self, pages, cookies=None, **more):
        """Axe takes half a second each time: `./dev shots`, which takes pictures, asks it about
        all schemes and widths, and other runs about each scheme once."""
        schemes, widths = ["light", "dark"], [1280, 390, 320]
        takes_pictures = "TURNPIKE_SCREENSHOTS" in os.environ
        axe = list(itertools.product(schemes, widths)) if takes_pictures else [
            ("light", 1280), ("dark", 390)]
        steps = {"origin": self.scene.origin, "cookies": cookies or {}, "pages": pages,
                 "schemes": schemes, "widths": widths, "axe": axe, **more}
        return walk("look.mjs", steps)

    def test_public_pages(self):
        paths = [*self.public_paths(), "/pricing?calls=12000&price=1"]
        looks = self.look(self.named(paths) + self.named(["/nothing-here"], 404))
        self.assert_no_problems(looks)
        for look in looks:
            self.assertLessEqual(look["requests"], REQUESTS_MAX, look["path"])

    def test_pages_of_people(self):
        self.assert_no_problems(self.look(self.named(self.own_paths()), self.owner.cookies))

    def test_pages_without_scripts(self):
        pages = self.named(self.own_paths()) + self.named(self.public_paths())
        self.assert_no_problems(self.look(pages, self.owner.cookies, scripts=False,
                                          schemes=["light"], widths=[390], axe=[]))

    def test_a_first_load_is_light(self):
        for path in self.public_paths():
            page = self.get(path, coding="br")
            text = self.get(path).body.decode()
            sizes = {"page": len(page.body), "fonts": 0}
            loads = set(Links(text).loads)
            sheets = [url for url in loads if ".css" in url]
            for sheet in sheets:
                loads |= set(re.findall(r'url\("([^"]+)"\)', self.get(sheet).body.decode()))
            for url in loads:
                self.assertTrue(url.startswith("/"), f"{path} loads {url}")
                reply = self.get(url, coding="br")
                self.assertEqual(reply.status, 200, url)
                sizes["fonts" if "/fonts/" in url else "page"] += len(reply.body)
            self.assertLessEqual(sizes["page"], PAGE_BYTES_MAX, path)
            self.assertLessEqual(sizes["fonts"], FONT_BYTES_MAX, path)

    def test_links_lead_somewhere(self):
        """Checks the links within this host, in pages, in their Markdown and in the files for
        models."""
        known = {}

        def fetch(path):
            reply = self.get(path)
            is_page = reply.headers["Content-Type"].startswith("text/html")
            return path, reply.status, Links(reply.body.decode()) if is_page else reply.body
        public = self.public_paths()
        texts = ["/llms.txt", "/developers/llms.txt", "/llms-full.txt", "/agents.md", "/auth.md"]
        texts += ["/index.md" if path == "/" else path + ".md" for path in public
                  if not path.startswith("/login")]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for path, status, found in pool.map(fetch, [*public, *texts]):
                self.assertEqual(status, 200, path)
                known[path] = found
        leads = {}
        for path, found in known.items():
            links = found.leads if isinstance(found, Links) else re.findall(
                r"\]\(<?([^)>\s]+)>?\)", found.decode())
            for link in links:
                to = urllib.parse.urlsplit(urllib.parse.urljoin(self.scene.origin + path, link))
                if f"{to.scheme}://{to.netloc}" == self.scene.origin:
                    leads.setdefault((to.path, to.query, to.fragment), path)
        for (path, query, fragment), source in leads.items():
            asked = path + ("?" + query if query else "")
            found = known.get(asked)
            if found is None:
                reply = self.get(asked)
                self.assertIn(reply.status, (200, 303, 307, 308), f"{source} leads to {asked}")
                found = Links(reply.body.decode()) if reply.headers["Content-Type"] and (
                    reply.headers["Content-Type"].startswith("text/html")) else reply.body
                known[asked] = found
            if fragment and isinstance(found, Links):
                self.assertIn(fragment, found.ids, f"{source} leads to {asked}#{fragment}")

    def test_the_markup_is_valid(self):
        pages = {path: self.get(path).body.decode() for path in self.public_paths()}
        for path in self.own_paths():
            pages[path] = self.owner.send("GET", path).body.decode()
        found = walk("valid.mjs", {"pages": pages})
        self.assertEqual([], found, "\n".join(found))

    def test_lighthouse_has_nothing_to_say(self):
        """Except for speed, which `./dev shots` reports: here other tests run at the same time."""
        urls = [self.scene.origin + path for path in (
            "/", "/pricing", "/status", "/products/govdata", "/developers/calling",
            "/developers/errors", "/discovery", "/discovery/sources/govdata", "/login")]
        for found in walk("lighthouse.mjs", {"urls": urls, "isWithoutSpeed": True}):
            self.assertEqual(found["isListed"], not found["url"].endswith("/login"))
            for score in found["scores"].values():
                self.assertEqual(score, 100, f"{found['url']}: {found['failed']}")


class Newcomer(unittest.TestCase):
    def test_from_the_home_page_to_the_inspector(self):
        scene = Scene()
        self.addCleanup(scene.close)
        link = scene.origin + "/login/link#" + scene.owner_link.partition("#")[2]
        seen = walk("newcomer.mjs", {"origin": scene.origin, "link": link,
                                     "source": "Governance data"})
        self.assertEqual(seen["errors"], [])
        self.assertIn("Governance data", seen["source"])
        self.assertIn("costs 1 Credit", seen["price"])
        self.assertIn("It cost 1 Credit.", seen["cost"])
        self.assertFalse(seen["keyKept"])
        self.assertIn("turnpike-credits-charged", seen["headers"])
        self.assertIn("Credits", seen["inspector"])
        self.assertIn("first", seen["inspector"])


if __name__ == "__main__":
    unittest.main()
