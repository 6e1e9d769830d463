#include "hosts/site/text_files.h"

#include <algorithm>
#include <utility>

#include "text/xml_text.h"

namespace turnpike::hosts::public_site {

namespace {

using site::MarkdownPage;

std::vector<MarkdownPage> pages_of(const PageSources& sources, const PageContext& context) {
  std::vector<MarkdownPage> all;
  for (const site::PageSource* const source : sources) {
    for (MarkdownPage& page : source->list(context.site, context.facts)) {
      if (page.is_indexed) all.push_back(std::move(page));
    }
  }
  return all;
}

// llms.txt: a heading, a summary, then lists of links to Markdown by section (llmstxt.org).
void append_sections(std::string& out, const std::vector<MarkdownPage>& pages,
                     const std::string& web) {
  std::vector<std::string> sections;
  for (const MarkdownPage& page : pages) {
    if (std::find(sections.begin(), sections.end(), page.section) == sections.end()) {
      sections.push_back(page.section);
    }
  }
  // The section "Optional" may be skipped by readers, so it comes last.
  std::stable_partition(sections.begin(), sections.end(),
                        [](const std::string& section) { return section != "Optional"; });
  for (const std::string& section : sections) {
    if (section.empty()) continue;
    out += "\n## " + section + "\n\n";
    for (const MarkdownPage& page : pages) {
      if (page.section != section) continue;
      out += "- [" + page.title + "](" + web + markdown_path(page.path) + "): " +
             page.description + "\n";
    }
  }
}

std::string llms(const std::vector<MarkdownPage>& pages, const PageContext& context,
                 std::string_view of) {
  const site::Brand& brand = context.site.brand();
  const site::HostUrls& urls = context.facts.urls;
  std::string out = "# " + brand.name + (of.empty() ? "" : ": " + std::string(of)) + "\n\n> " +
                    brand.tagline + "\n";
  if (!urls.api.empty()) {
    out += "\n- HTTP API: " + urls.api + " (OpenAPI: " + urls.api + "/openapi.json)\n";
  }
  if (!urls.mcp.empty()) out += "- MCP, streamable HTTP: " + urls.mcp + "\n";
  append_sections(out, pages, urls.web);
  return out;
}

std::string llms_full(const PageSources& sources, const PageContext& context) {
  std::string out;
  for (const site::PageSource* const source : sources) {
    for (const MarkdownPage& card : source->list(context.site, context.facts)) {
      if (!card.is_indexed || card.section.empty()) continue;
      const auto page = source->find(context.site, context.facts, card.path);
      if (!page) continue;
      out += "Source: " + context.facts.urls.web + markdown_path(page->path) + "\n\n" +
             page->markdown + (page->markdown.ends_with('\n') ? "\n" : "\n\n");
    }
  }
  return out;
}

std::string sitemap(const std::vector<MarkdownPage>& pages, const std::string& web) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
  for (const MarkdownPage& page : pages) {
    out += "<url><loc>";
    text::append_xml(out, web + page.path);
    out += "</loc>";
    if (!page.updated.empty()) out += "<lastmod>" + page.updated + "</lastmod>";
    out += "</url>\n";
  }
  return out + "</urlset>\n";
}

std::string robots(const std::string& web) {
  return "User-agent: *\n"
         "Disallow: /account\n"
         "Disallow: /accounts/\n"
         "Disallow: /dashboard\n"
         "Disallow: /login\n"
         "Disallow: /oauth/\n"
         "Disallow: /v1/\n"
         "Content-Signal: search=yes, ai-input=yes, ai-train=no\n\n"
         "Sitemap: " + web + "/sitemap.xml\n";
}

}  // namespace

std::optional<CachedPage> text_file(std::string_view path, const PageSources& sources,
                                    const PageContext& context) {
  const std::string& web = context.facts.urls.web;
  if (path == "/llms-full.txt") return rendered_text(llms_full(sources, context), text_type);
  const bool is_of_list = path == "/llms.txt" || path == "/developers/llms.txt" ||
                          path == "/sitemap.xml" || path == "/robots.txt";
  if (!is_of_list || web.empty()) return std::nullopt;
  if (path == "/robots.txt") return rendered_text(robots(web), text_type);
  std::vector<MarkdownPage> pages = pages_of(sources, context);
  if (path == "/sitemap.xml") return rendered_text(sitemap(pages, web), "application/xml");
  if (path == "/llms.txt") return rendered_text(llms(pages, context, {}), text_type);
  std::erase_if(pages, [](const MarkdownPage& page) { return page.section != "Docs"; });
  return rendered_text(llms(pages, context, "for developers"), text_type);
}

}  // namespace turnpike::hosts::public_site
