"""The public pages over HTTP: both forms of each page say the same to an independent reader of
Markdown, links resolve, a mistake leaves the served site in place, and `turnpike check` names it.
"""

import html.parser
import json
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

from gateway import ONE_UPSTREAM, ROOT, Gateway, new_directory, new_registry
from upstream import Upstream

REGISTRY = ONE_UPSTREAM.replace("Test provider", "\"Test <b>|</b> `provider` *x*\"") + """
prices:
  test.standard: {{version: 1, credit_cost: 2}}
defaults: {{price: test.standard, upstream: main, deadline_ms: 20000}}
routes:
  - {{path: "/upstream/bytes/{{size}}", summary: "Bytes | <i>raw</i> [x](javascript:y) `z`"}}
"""
NEGOTIATED = ("/", "/about", "/contact", "/developers", "/products", "/pricing")
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


class Text(html.parser.HTMLParser):
    """The text of one element, or of the whole page, without navigation, forms, drawings and their
    captions."""

    LEFT_OUT = {"nav", "form", "figure", "script", "style"}

    def __init__(self, element=None):
        super().__init__(convert_charrefs=True)
        self.element, self.depth, self.out_depth = element, 0, 0
        self.text, self.links, self.ids = [], [], set()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == self.element:
            self.depth += 1
        if tag in self.LEFT_OUT:
            self.out_depth += 1
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if attributes.get("id"):
            self.ids.add(attributes["id"])

    def handle_endtag(self, tag):
        if tag == self.element:
            self.depth -= 1
        if tag in self.LEFT_OUT:
            self.out_depth -= 1

    def handle_data(self, data):
        if (self.element is None or self.depth > 0) and self.out_depth == 0:
            self.text.append(data)

    def words(self):
        return " ".join("".join(self.text).split())


def read(text, element=None):
    reader = Text(element)
    reader.feed(text)
    return reader


def other_reader(texts):
    run = subprocess.run(["node", ROOT / "tests" / "browser" / "markdown.mjs"],
                         input=json.dumps(texts), capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.registry = new_registry(cls, REGISTRY.format(address=cls.upstream.address))
        cls.overlay = new_directory(cls) / "overlay"
        shutil.copytree(ROOT / "tests" / "fixtures" / "site", cls.overlay)
        cls.settings = [f"site.overlay={cls.overlay}", "status.enabled=true",
                        "site.brand.name=Fähre <b>&</b> *Maut*",
                        "site.brand.legal_name=Beispiel_GmbH"]
        cls.gateway = Gateway(registry=cls.registry, settings=cls.settings).start(
            frozenset({"api", "mcp", "web", "operator"}))
        cls.addClassCleanup(cls.gateway.close)

    def get(self, path, accept=None, **options):
        headers = [("Accept", accept)] if accept else []
        return self.gateway.call("GET", path, headers=headers, host="web", **options)

    def pages(self):
        """The paths in the sitemap."""
        root = xml.etree.ElementTree.fromstring(self.get("/sitemap.xml").body)
        urls = [node.text for node in root.iter() if node.tag.endswith("}loc")]
        host = "http://localhost:" + str(self.gateway.addresses["web"][1])
        for url in urls:
            self.assertTrue(url.startswith(host + "/"), url)
        return [url[len(host):] for url in urls]

    def test_both_forms_say_the_same(self):
        pages = self.pages()
        self.assertIn("/everything", pages)
        self.assertIn("/products/test", pages)
        self.assertIn("/blog/a-post", pages)
        markdown = [self.get("/index.md" if path == "/" else path + ".md").body.decode()
                    for path in pages]
        for path, text, rendered in zip(pages, markdown, other_reader(markdown)):
            with self.subTest(path=path):
                main = read(self.get(path).body.decode(), "main")
                self.assertEqual(main.words(), read(rendered).words())
                self.assertNotIn("turnpike prices", text)
                self.assertNotIn("{{", re.sub(r"`[^`]*`|\{\{site\}\}", "", text))

    def test_links_lead_somewhere(self):
        texts = {}

        def page(path):
            if path not in texts:
                reply = self.get(path)
                texts[path] = (reply.status, read(reply.body.decode(errors="replace")))
            return texts[path]

        for path in self.pages():
            for link in page(path)[1].links:
                if not link.startswith("/"):
                    continue
                target, _, anchor = link.partition("#")
                # The directory and its documents are pages of another source.
                if target.startswith(("/discovery", "/.well-known", "/docs", "/dashboard")):
                    continue
                with self.subTest(path=path, link=link):
                    status, content = page(target)
                    self.assertLess(status, 400)
                    if anchor:
                        self.assertIn(anchor, content.ids)

    def test_hostile_names_stay_text(self):
        for path in ("/", "/everything", "/products/test", "/nothing"):
            text = self.get(path).body.decode()
            with self.subTest(path=path):
                for part in ("<b>", "<i>raw", "href=\"javascript"):
                    self.assertNotIn(part, text)
        self.assertIn("Test <b>|</b> `provider` *x*",
                      read(self.get("/products/test").body.decode(), "main").words())

    def test_accept_chooses_the_form(self):
        present = [path for path in NEGOTIATED if self.get(path).status == 200]
        self.assertIn("/", present)
        for path in present:
            with self.subTest(path=path):
                page = self.get(path, BROWSER)
                self.assertEqual(page.headers["content-type"], "text/html; charset=utf-8")
                text = self.get(path, "text/markdown, text/html;q=0.9")
                self.assertEqual(text.headers["content-type"], "text/markdown; charset=utf-8")
                self.assertEqual(text.headers["cache-control"], "private, no-store")
                self.assertEqual(self.get(path, "image/png").status, 406)
                head = self.gateway.call("HEAD", path, host="web",
                                         headers=[("Accept", "text/markdown")])
                self.assertEqual(head.headers["etag"], text.headers["etag"])
                self.assertEqual(head.body, b"")
        for accept, kind in ((BROWSER, "text/html"), ("text/markdown", "text/markdown"),
                             (None, "text/html")):
            nothing = self.get("/nothing/here", accept)
            self.assertEqual(nothing.status, 404)
            self.assertTrue(nothing.headers["content-type"].startswith(kind))
        self.assertEqual(self.get("/v1/nothing").error_code(), "request.not_found")

    def test_files_for_machines(self):
        for path in ("/llms.txt", "/llms-full.txt", "/developers/llms.txt", "/robots.txt"):
            reply = self.get(path)
            self.assertEqual(reply.status, 200, path)
            self.assertEqual(reply.headers["content-type"], "text/plain; charset=utf-8")
            self.assertEqual(reply.headers["access-control-allow-origin"], "*")
            same = self.gateway.call("GET", path, host="web",
                                     headers=[("If-None-Match", reply.headers["etag"])])
            self.assertEqual(same.status, 304, path)
        for link in re.findall(r"\]\((http[^)]*)\)", self.get("/llms.txt").body.decode()):
            path = "/" + link.split("/", 3)[3]
            self.assertEqual(self.get(path).status, 200, path)
        api = "http://127.0.0.1:" + str(self.gateway.addresses["api"][1])
        for path, to in (("/openapi.json", "/openapi.json"), ("/api", "/reference"),
                         ("/api-reference", "/reference")):
            reply = self.get(path)
            self.assertEqual((reply.status, reply.headers["location"]), (307, api + to))
        self.assertEqual(self.get("/docs").status, 404)
        self.assertEqual(self.get("/docs/a").status, 404)

    def test_a_mistake_keeps_the_site(self):
        page = self.overlay / "pages" / "changing.md"
        self.addCleanup(lambda: (page.unlink(), self.gateway.run("reload")))
        front = "---\ntitle: Changing\ndescription: It changes.\n---\n"
        page.write_text(front + "# First\n")
        self.gateway.run("reload")
        self.assertEqual(self.get("/changing.md").body, b"# First\n")
        page.write_text(front + "# Second\n\n[dead](/not-there)\n\n```turnpike cake\n```\n")
        refused = self.gateway.run("reload", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("changing.md:7: the link `/not-there` leads nowhere", refused.stderr)
        self.assertIn("changing.md:9: there is no live part `cake`", refused.stderr)
        self.assertEqual(self.get("/changing.md").body, b"# First\n")
        self.assertIn("site_refused", self.gateway.log_text())
        checked = self.gateway.run("check", check=False)
        self.assertEqual(checked.returncode, 1)
        self.assertIn("changing.md:7: the link `/not-there` leads nowhere", checked.stderr)
        page.write_text(front + "# Third\n")
        self.gateway.run("reload")
        self.assertEqual(self.get("/changing.md").body, b"# Third\n")

    def test_a_page_of_ours_is_removed(self):
        post = "/blog/a-status-that-can-be-proven-wrong"
        file = self.overlay / "blog" / "a-status-that-can-be-proven-wrong.md"
        lists = ("/sitemap.xml", "/llms.txt", "/llms-full.txt", "/blog", "/blog.md")
        self.assertEqual(self.get(post).status, 200)
        for path in lists:
            self.assertIn(post.encode(), self.get(path).body, path)
        self.addCleanup(lambda: (file.unlink(), self.gateway.run("reload")))
        file.write_text("---\nremoved: page\n---\n")
        self.gateway.run("reload")
        for path in (post, post + ".md"):
            self.assertEqual(self.get(path).status, 404)
        for path in lists:
            self.assertEqual(self.get(path).status, 200)
            self.assertNotIn(post.encode(), self.get(path).body, path)
        # Other pages link to the removed page: they are named, and the current site goes on
        # serving.
        linked = self.overlay / "pages" / "developers" / "plugins.md"
        linked.parent.mkdir(exist_ok=True)
        self.addCleanup(linked.unlink)
        linked.write_text("---\nremoved: all\n---\n")
        for command in ("check", "reload"):
            refused = self.gateway.run(command, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertRegex(refused.stderr, r"developers\.md:\d+: the link `/developers/plugins` "
                                             "leads to a page that the overlay removes")
        self.assertEqual(self.get("/developers/plugins").status, 200)

    def test_check_asks_the_registry_about_links_into_the_catalog(self):
        page = self.overlay / "pages" / "sources.md"
        self.addCleanup(lambda: (page.unlink(), self.gateway.run("reload")))
        page.write_text("---\ntitle: Sources\ndescription: Some.\n---\n# Sources\n\n"
                        "[one](/products/test) [two](/discovery/sources/test)\n\n"
                        "[gone](/products/gone)\n\n[gone](/discovery/sources/gone.md)\n")
        checked = self.gateway.run("check", check=False)
        self.assertEqual(checked.returncode, 1)
        found = re.findall(r"sources\.md:(\d+): the link `(\S+)` leads nowhere", checked.stderr)
        self.assertEqual(found, [("9", "/products/gone"), ("11", "/discovery/sources/gone.md")])
        self.gateway.run("reload")  # providers change independently of pages
        page.write_text("---\ntitle: Sources\ndescription: Some.\n---\n# Sources\n")
        self.gateway.run("check")

    def test_check_says_what_the_operator_must_fill_in(self):
        marked = "everything.md:55: the operator has not said yet: the court that decides disputes"
        self.assertNotIn(marked, self.gateway.run("check").stderr)
        production = Gateway(registry=self.registry,
                             settings=[*self.settings, "environment=production",
                                       "hosts.api.base_url=https://api.example.com",
                                       "hosts.mcp.base_url=https://mcp.example.com",
                                       "hosts.web.base_url=https://example.com"])
        self.addCleanup(production.close)
        notes = production.run("check", check=False).stderr
        self.assertIn(marked, notes)
        self.assertIn("the operator has not said yet: site.brand.contact", notes)
        self.assertNotIn("site.brand.legal_name", notes)

    def test_docs_lead_where_the_operator_says(self):
        with_docs = Gateway(registry=self.registry,
                            settings=["hosts.web.docs_url=https://docs.example.com/"])
        self.addCleanup(with_docs.close)
        with_docs.start(frozenset({"web"}))
        for path, to in (("/docs", ""), ("/docs/a?b=c", "/a?b=c")):
            reply = with_docs.call("GET", path, host="web")
            self.assertEqual((reply.status, reply.headers["location"]),
                             (307, "https://docs.example.com" + to))
        wrong = Gateway(registry=self.registry, settings=["hosts.web.docs_url=docs"])
        self.addCleanup(wrong.close)
        self.assertIn("docs_url", wrong.run("check", check=False).stderr)


if __name__ == "__main__":
    unittest.main()
