#include "site/authored_pages.h"

#include <algorithm>
#include <utility>

#include "site/directory.h"
#include "site/markdown.h"

namespace turnpike::site {

namespace {

constexpr std::string_view negotiated[] = {"/",           "/about",    "/contact",
                                           "/developers", "/products", "/pricing"};
constexpr std::string_view of_products = "/products/";

// Returns the text unchanged within code or where Markdown is not parsed; otherwise escaped, if any
// character could be special.
std::string shown_text(std::string_view text, bool is_plain) {
  std::string plain(text);
  std::replace_if(plain.begin(), plain.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  const bool is_harmless = std::all_of(plain.begin(), plain.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == ' ' || c == '@' || c == '.' || c == ':' || c == '/' || c == ',';
  });
  if (!is_plain) return is_harmless ? plain : escaped_markdown(plain);
  std::replace(plain.begin(), plain.end(), '`', '\'');
  return plain;
}

enum class Reading : std::uint8_t { markdown, plain };

// Fills one page, and reports its mistakes and the values that the operator must still set.
class PageFiller final : public PieceFiller {
 public:
  PageFiller(const LiveContext& context, const AuthoredPage& page, Reading reading,
             Problems* problems = nullptr, Problems* marks = nullptr)
      : context_(context), page_(page), reading_(reading), problems_(problems), marks_(marks) {}

  std::string fill(const Piece& piece) override {
    if (!piece.is_part) return value(piece);
    auto made = live_part(piece.name, piece.options, context_);
    if (!made.ok()) {
      fault(piece.line, std::move(made).error().text);
      return {};
    }
    while (made->ends_with('\n')) made->pop_back();
    return *std::move(made);
  }

  void fault(int line, std::string message) override { note(problems_, line, std::move(message)); }

 private:
  std::string value(const Piece& piece) {
    const bool is_plain = piece.is_in_code || reading_ == Reading::plain;
    const Brand& brand = context_.site.brand();
    const HostUrls& urls = context_.facts.urls;
    const registry::Provider* const provider = context_.provider;
    if (piece.name == "fill") return mark(piece, piece.options, is_plain);
    if (!piece.options.empty()) {
      fault(piece.line, "`{{" + std::string(piece.name) + "}}` takes nothing behind a colon");
    }
    if (piece.name == "site") return shown_text(brand.name, is_plain);
    if (piece.name == "tagline") return shown_text(brand.tagline, is_plain);
    if (piece.name == "legal_name") {
      return brand.legal_name.empty() ? mark(piece, "site.brand.legal_name", is_plain)
                                      : shown_text(brand.legal_name, is_plain);
    }
    if (piece.name == "contact") {
      return brand.contact.empty() ? mark(piece, "site.brand.contact", is_plain)
                                   : shown_text(brand.contact, is_plain);
    }
    if (piece.name == "api") return urls.api;
    if (piece.name == "mcp") return urls.mcp;
    if (piece.name == "web") return urls.web;
    if (context_.is_of_provider && piece.name == "provider") {
      return provider == nullptr ? "" : shown_text(provider->name, is_plain);
    }
    if (context_.is_of_provider && piece.name == "provider_key") {
      return provider == nullptr ? "" : provider->key;
    }
    fault(piece.line, "there is no value `{{" + std::string(piece.name) +
                          "}}`; there are site, tagline, legal_name, contact, api, mcp, web, fill, "
                          "and for providers' pages provider, provider_key");
    return {};
  }

  std::string mark(const Piece& piece, std::string_view what, bool is_plain) {
    if (what.empty()) {
      fault(piece.line, "`{{fill: ...}}` says behind the colon what is to be filled in");
    }
    note(marks_, piece.line, "the operator has not said yet: " + std::string(what));
    const std::string text = "The operator has not said yet: " + std::string(what);
    return is_plain ? "[" + text + "]" : "\\[" + escaped_markdown(text) + "\\]";
  }

  void note(Problems* into, int line, std::string message) {
    if (into == nullptr) return;
    into->push_back(
        {"site", page_.place, page_.first_line - 1 + line, 0, {}, std::move(message)});
  }

  const LiveContext& context_;
  const AuthoredPage& page_;
  const Reading reading_;
  Problems* const problems_;
  Problems* const marks_;
};

std::string filled_text(std::string_view text, const LiveContext& context,
                        const AuthoredPage& page) {
  PageFiller filler(context, page, Reading::plain);
  return filled(text, filler);
}

std::string section_of(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> sections[] = {
      {"/developers", "Docs"},         {"/products", "Products"},
      {"/blog", "Blog"},               {"/privacy-policy", "Optional"},
      {"/terms-of-service", "Optional"}, {"/agents", "For agents"},
      {"/auth", "For agents"}};
  for (const auto& [prefix, section] : sections) {
    if (path == prefix || path.starts_with(std::string(prefix) + "/")) return std::string(section);
  }
  return "Pages";
}

// Returns the page without its Markdown.
MarkdownPage card_of(const AuthoredPage& page, std::string path, const LiveContext& context) {
  MarkdownPage card;
  card.title = filled_text(page.title, context, page);
  card.description = filled_text(page.description, context, page);
  card.layout = page.layout;
  card.updated = page.updated;
  card.is_indexed = page.is_indexed;
  card.is_negotiated = is_negotiated_path(path);
  card.section = page.is_indexed ? section_of(path) : "";
  card.path = std::move(path);
  return card;
}

MarkdownPage page_of(const AuthoredPage& page, std::string path, const LiveContext& context) {
  MarkdownPage made = card_of(page, std::move(path), context);
  PageFiller filler(context, page, Reading::markdown);
  made.markdown = filled(page.markdown, filler);
  return made;
}

const registry::Provider* provider_at(const Facts& facts, std::string_view path) noexcept {
  if (facts.view == nullptr || !path.starts_with(of_products)) return nullptr;
  const auto& providers = facts.view->program().providers();
  const auto found = std::find_if(providers.begin(), providers.end(), [&](const auto& provider) {
    return provider.key == path.substr(of_products.size());
  });
  return found == providers.end() ? nullptr : &*found;
}

}  // namespace

bool is_negotiated_path(std::string_view path) noexcept {
  return std::find(std::begin(negotiated), std::end(negotiated), path) != std::end(negotiated);
}

std::optional<MarkdownPage> AuthoredPages::find(const Site& site, const Facts& facts,
                                                std::string_view path) const {
  LiveContext context{.site = site, .facts = facts, .settings = settings_};
  if (const AuthoredPage* const page = site.authored().find(path)) {
    return page_of(*page, std::string(path), context);
  }
  const AuthoredPage* const common = site.authored().of_provider();
  context.provider = provider_at(facts, path);
  context.is_of_provider = true;
  if (common == nullptr || context.provider == nullptr) return std::nullopt;
  return page_of(*common, std::string(path), context);
}

std::string AuthoredPages::moved_to(const Facts&, std::string_view path) const {
  return path == "/index" ? "/" : "";
}

std::vector<MarkdownPage> AuthoredPages::list(const Site& site, const Facts& facts) const {
  std::vector<MarkdownPage> all;
  LiveContext context{.site = site, .facts = facts, .settings = settings_};
  for (const auto& [path, page] : site.authored().pages()) {
    all.push_back(card_of(page, path, context));
  }
  const AuthoredPage* const common = site.authored().of_provider();
  if (common == nullptr || facts.view == nullptr) return all;
  context.is_of_provider = true;
  for (const registry::Provider& provider : facts.view->program().providers()) {
    const std::string path = std::string(of_products) + provider.key;
    if (site.authored().find(path) != nullptr) continue;
    context.provider = &provider;
    all.push_back(card_of(*common, path, context));
  }
  return all;
}

// ---- checks

namespace {

// Other paths that a link may name: those of this host and its redirects.
constexpr std::string_view other_paths[] = {
    "/login",        "/account",       "/dashboard",    "/sign-up",   "/llms.txt",
    "/llms-full.txt", "/developers/llms.txt", "/sitemap.xml", "/robots.txt", "/openapi.json",
    "/api",          "/api-reference", "/docs",         "/discovery"};
constexpr std::string_view other_folders[] = {"/dashboard/", "/discovery/", "/docs/", "/login/",
                                              "/.well-known/", "/v1/"};

// Fills in values and drops live parts, so that line numbers stay.
class LinkFiller final : public PieceFiller {
 public:
  explicit LinkFiller(PageFiller& values) : values_(values) {}
  std::string fill(const Piece& piece) override {
    return piece.is_part ? "\n" : values_.fill(piece);
  }
  void fault(int, std::string) override {}

 private:
  PageFiller& values_;
};

class SiteCheck {
 public:
  SiteCheck(const Site& site, Problems& problems, Problems& marks)
      : site_(site), problems_(problems), marks_(marks) {
    for (const auto& [path, page] : site.authored().pages()) texts_[&page] = linkable(page);
    if (const AuthoredPage* const page = site.authored().of_provider()) {
      texts_[page] = linkable(*page);
    }
  }

  void run() {
    for (const auto& [page, text] : texts_) check(*page, text);
  }

  // Checks only links into the catalog.
  void run_on(const registry::Program& program) {
    for (const auto& [page, text] : texts_) {
      for (const MarkdownLink& link : links_of(text)) {
        const std::string_view path = path_in(link.url);
        if (site_.authored().find(path) != nullptr || leads_into(program, path)) continue;
        fault(*page, link.line, "the link `" + link.url +
                                    "` leads nowhere: the registry has no such provider or word");
      }
    }
  }

 private:
  [[nodiscard]] LiveContext context_of(const AuthoredPage& page) const {
    return {.site = site_,
            .facts = none_,
            .settings = settings_,
            .is_of_provider = page.path.empty()};
  }

  [[nodiscard]] std::string linkable(const AuthoredPage& page) const {
    const LiveContext context = context_of(page);
    PageFiller values(context, page, Reading::markdown);
    LinkFiller filler(values);
    return filled(page.markdown, filler);
  }

  void check(const AuthoredPage& page, const std::string& text) {
    if (!site_.has_layout(page.layout)) {
      fault(page, 2 - page.first_line, "there is no layout layouts/" + page.layout);
    }
    const LiveContext context = context_of(page);
    PageFiller filler(context, page, Reading::markdown, &problems_, &marks_);
    (void)filled(page.markdown, filler);
    AuthoredPage front = page;
    front.first_line = 1;
    PageFiller words(context, front, Reading::plain, &problems_, &marks_);
    (void)filled(page.title, words);
    (void)filled(page.description, words);
    const std::size_t begin = text.find_first_not_of('\n');
    if (begin == text.npos || !text.substr(begin).starts_with("# ")) {
      fault(page, 1, "the text begins with its heading: a line `# ...`");
    }
    for (const MarkdownLink& link : links_of(text)) check(page, link, text);
  }

  static std::string_view path_in(std::string_view url) noexcept {
    return url.substr(0, std::min(url.find('#'), url.find('?')));
  }

  // Also true for paths outside of the catalog.
  static bool leads_into(const registry::Program& program, std::string_view path) {
    constexpr std::string_view markdown = ".md";
    constexpr std::string_view of_directory = "/discovery/";
    if (path.ends_with(".json")) return true;  // documents, which always exist
    if (path.ends_with(markdown)) path.remove_suffix(markdown.size());
    if (path.starts_with(of_products)) {
      const std::string_view key = path.substr(of_products.size());
      return std::any_of(program.providers().begin(), program.providers().end(),
                         [&](const auto& provider) { return provider.key == key; });
    }
    return !path.starts_with(of_directory) || Directory::has(program, path);
  }

  void check(const AuthoredPage& page, const MarkdownLink& link, const std::string& text) {
    const std::string_view url = link.url;
    if (url.find(':') != url.npos && !url.starts_with('/')) return;  // of another host, or mailto
    const std::size_t hash = url.find('#');
    const std::string_view path = path_in(url);
    const std::string_view anchor = hash == url.npos ? std::string_view() : url.substr(hash + 1);
    if (path.empty()) return check_anchor(page, link, text, anchor);
    if (!path.starts_with('/') || path.starts_with("//")) {
      return fault(page, link.line, "the link `" + link.url + "` does not begin at the root");
    }
    if (const AuthoredPage* const target = site_.authored().find(path)) {
      return check_anchor(page, link, texts_.at(target), anchor);
    }
    if (site_.authored().is_removed(path)) {
      return fault(page, link.line, "the link `" + link.url + "` leads to a page that the overlay "
                                    "removes: replace this page by one without it");
    }
    if (!is_other(path)) fault(page, link.line, "the link `" + link.url + "` leads nowhere");
  }

  void check_anchor(const AuthoredPage& page, const MarkdownLink& link, const std::string& text,
                    std::string_view anchor) {
    if (anchor.empty()) return;
    const auto anchors = anchors_of(text);
    if (std::find(anchors.begin(), anchors.end(), anchor) != anchors.end()) return;
    fault(page, link.line, "the link `" + link.url + "` names no heading of the page it leads to");
  }

  [[nodiscard]] bool is_other(std::string_view path) const {
    constexpr std::string_view markdown = ".md";
    if (path == "/index.md") return site_.authored().find("/") != nullptr;
    if (path.ends_with(markdown)) {
      path.remove_suffix(markdown.size());
      if (site_.authored().find(path) != nullptr) return true;
    }
    constexpr std::string_view assets = "/assets/";
    if (path.starts_with(assets)) {
      return site_.assets().find(path.substr(assets.size())) != nullptr;
    }
    if (path.starts_with(of_products)) return site_.authored().of_provider() != nullptr;
    return std::find(std::begin(other_paths), std::end(other_paths), path) !=
               std::end(other_paths) ||
           std::any_of(std::begin(other_folders), std::end(other_folders),
                       [&](std::string_view folder) { return path.starts_with(folder); });
  }

  void fault(const AuthoredPage& page, int line, std::string message) {
    problems_.push_back(
        {"site", page.place, page.first_line - 1 + line, 0, {}, std::move(message)});
  }

  const Site& site_;
  Problems& problems_;
  Problems& marks_;
  const Facts none_;
  const LiveSettings settings_{.http_status = [](base::ErrorCode) noexcept { return 0; }};
  std::map<const AuthoredPage*, std::string> texts_;
};

void sort_by_place(Problems& problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const auto& left, const auto& right) {
    return std::pair(left.file, left.line) < std::pair(right.file, right.line);
  });
}

}  // namespace

Problems problems_of(const Site& site) {
  Problems problems;
  Problems marks;
  SiteCheck(site, problems, marks).run();
  sort_by_place(problems);
  return problems;
}

Problems dead_links_to_catalog(const Site& site, const registry::Program& program) {
  Problems problems;
  Problems marks;
  SiteCheck(site, problems, marks).run_on(program);
  sort_by_place(problems);
  return problems;
}

Problems unfilled_marks(const Site& site) {
  Problems problems;
  Problems marks;
  SiteCheck(site, problems, marks).run();
  sort_by_place(marks);
  return marks;
}

}  // namespace turnpike::site
