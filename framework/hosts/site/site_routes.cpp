#include "hosts/site/site_routes.h"

#include <exception>
#include <optional>
#include <utility>

#include "hosts/accept.h"
#include "hosts/page.h"
#include "hosts/query.h"
#include "hosts/route_table.h"

namespace turnpike::hosts::public_site {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::uint32_t renders_at_once_max = 4;
constexpr std::uint32_t renders_waiting_max = 256;
constexpr std::string_view markdown_ending = ".md";
constexpr std::string_view by_url = "public, max-age=300";
constexpr std::string_view by_accept = "private, no-store";
constexpr std::string_view as_page_of_people = "no-cache";  // may be cached, must be revalidated

Error not_found() {
  return {ErrorCode::request_not_found,
          "There is no page at this path; / is where the pages begin."};
}

// The path of the page, and whether its Markdown is requested.
struct Wanted {
  std::string_view path;
  bool is_markdown = false;
};

Wanted wanted_of(std::string_view path) noexcept {
  if (!path.ends_with(markdown_ending) || path.ends_with("/.md")) return {path, false};
  path.remove_suffix(markdown_ending.size());
  if (path == "/index") path = "/";
  return {path, true};
}

void send_form(Turn& turn, const PageBytes& form, std::string_view cache_control,
               std::string_view vary, bool is_for_everyone) {
  ReplyFields more;
  more.add("Vary", vary);
  if (!form.location.empty()) more.add("Content-Location", form.location);
  if (!form.link.empty()) more.add("Link", form.link);
  const bool is_compressed = choose_brotli(turn.request.headers(), form.brotli, more);
  const Reply reply{.content_type = form.content_type,
                    .body = is_compressed ? form.brotli : form.body,
                    .etag = is_compressed ? form.brotli_etag : form.etag,
                    .cache_control = cache_control};
  if (is_for_everyone) {
    turn.reply_to_everyone(reply, more);
  } else {
    turn.reply(reply, more);
  }
}

// 406: neither form is acceptable (RFC 9110 section 15.5.7).
void send_neither(Turn& turn) {
  ReplyFields fields;
  fields.add("Vary", "Accept");
  turn.refuse({base::ErrorCode::request_not_acceptable,
               "This page is there as text/html and as text/markdown; Accept takes neither."},
              fields);
}

void send_moved(Turn& turn, int status, std::string_view to) {
  ReplyFields fields;
  fields.add("Location", to);
  fields.add("Cache-Control", status == 308 ? by_url : std::string_view("no-store"));
  turn.send(status, fields, {});
}

constexpr std::string_view plain_vary = "Accept-Encoding";
constexpr std::string_view negotiated_vary = "Accept, Accept-Encoding";

void send_negotiated(Turn& turn, const CachedPage& page) {
  switch (page_form(turn.request.headers())) {
    case PageForm::neither:
      return send_neither(turn);
    case PageForm::markdown:
      return send_form(turn, page.markdown, by_accept, negotiated_vary, false);
    case PageForm::html:
      break;
  }
  send_form(turn, page.html, as_page_of_people, negotiated_vary, false);
}

// Returns the fields sent with the page's form; nothing: the query is invalid, or the page has no
// form.
std::optional<NamedValues> sent_with(const Turn& turn, std::string_view path) {
  if (path != "/pricing" || turn.request.query().empty()) return std::nullopt;
  auto asked = read_query(turn.request.query(), {"calls", "price"});
  if (!asked.ok() || asked->size() == 0) return std::nullopt;
  return *std::move(asked);
}

void send_answered(const SiteRooms& rooms, Turn& turn, std::string_view path,
                   const NamedValues& asked) {
  const auto html = rooms.answered(path, asked);
  if (!html.ok()) {
    turn.refuse(html.error());
    return;
  }
  ReplyFields more;
  more.add("Vary", negotiated_vary);
  turn.reply({.content_type = page_type, .body = *html, .cache_control = as_page_of_people}, more);
}

void send_page(const SiteRooms& rooms, Turn& turn, const Wanted& wanted, const CachedPage& page) {
  if (!page.moved_to.empty()) {
    return send_moved(turn, 308, wanted.is_markdown ? markdown_path(page.moved_to) : page.moved_to);
  }
  if (page.is_text || wanted.is_markdown) {
    return send_form(turn, page.markdown, by_url, plain_vary, true);
  }
  if (!page.is_negotiated) {
    return send_form(turn, page.html, as_page_of_people, plain_vary, false);
  }
  const auto asked = sent_with(turn, wanted.path);
  if (asked && page_form(turn.request.headers()) == PageForm::html) {
    return send_answered(rooms, turn, wanted.path, *asked);
  }
  send_negotiated(turn, page);
}

// Paths below /v1/ are for programs only, which read the envelope.
constexpr RouteFacts of_programs{.method = "", .path = "", .endpoint = ""};

void take_page(const SiteRooms& rooms, Turn& turn) {
  if (turn.request.path().starts_with("/v1/")) {
    turn.follow(of_programs);
    turn.refuse(not_found());
    return;
  }
  const Wanted wanted = wanted_of(turn.request.path());
  const auto page = rooms.page(wanted.path);
  if (!page.ok()) {
    turn.refuse(page.error());
    return;
  }
  // A text file such as /robots.txt has no Markdown form.
  if (*page == nullptr || ((*page)->is_text && wanted.is_markdown)) {
    turn.refuse(not_found());
    return;
  }
  const std::string_view method = turn.request.method();
  if (method != "GET" && method != "HEAD") {
    turn.refuse({ErrorCode::request_method_not_allowed, "A page answers GET and HEAD."},
                "GET, HEAD, OPTIONS");
    return;
  }
  if (turn.request.has_body()) {
    turn.refuse({ErrorCode::request_body_not_allowed, "A page takes no request body."});
    return;
  }
  send_page(rooms, turn, wanted, **page);
}

// ---- other hosts

void send_to_api(const SiteRooms& rooms, Turn& turn, std::string_view path) {
  const std::string& api = rooms.parts().pages.urls().api;
  if (api.empty()) {
    turn.refuse(not_found());
    return;
  }
  send_moved(turn, 307, api + std::string(path));
}

void show_openapi(const SiteRooms& rooms, Turn& turn, const Asked&) {
  send_to_api(rooms, turn, "/openapi.json");
}

void show_reference(const SiteRooms& rooms, Turn& turn, const Asked&) {
  send_to_api(rooms, turn, "/reference");
}

// The path behind /docs is passed on unchanged.
void show_docs(const SiteRooms& rooms, Turn& turn, const Asked&) {
  const std::string& docs = rooms.parts().docs_url;
  if (docs.empty()) {
    turn.refuse(not_found());
    return;
  }
  constexpr std::string_view here = "/docs";
  std::string to = docs + std::string(turn.request.path().substr(here.size()));
  if (!turn.request.query().empty()) to.append("?").append(turn.request.query());
  send_moved(turn, 307, to);
}

constexpr RouteFacts page_facts(std::string_view path, std::string_view endpoint) {
  return {.method = "GET, HEAD",
          .path = path,
          .endpoint = endpoint,
          .takes_any_query = true,
          .takes_all = true,
          .takes_any_method = true,
          .cache_control = as_page_of_people,
          .has_etag = true,
          .page_policy = page_policy,
          .refusal_form = as_page};
}

constexpr RouteFacts redirect_facts(std::string_view path, std::string_view endpoint) {
  return {.method = "GET",
          .path = path,
          .endpoint = endpoint,
          .takes_any_query = true,
          .answers_head = true,
          .page_policy = page_policy,
          .refusal_form = as_page};
}

constexpr Route<SiteRooms> known_rows[] = {
    {.facts = page_facts("/", "home_page"), .take = take_page},
    {.facts = redirect_facts("/openapi.json", "to_api"), .answer = show_openapi},
    {.facts = redirect_facts("/api", "to_api"), .answer = show_reference},
    {.facts = redirect_facts("/api-reference", "to_api"), .answer = show_reference},
    {.facts = redirect_facts("/docs", "to_docs"), .answer = show_docs},
    {.facts = redirect_facts("/docs/{path...}", "to_docs"), .answer = show_docs},
};

constexpr Route<SiteRooms> last_rows[] = {
    {.facts = page_facts("/{path...}", "page"), .take = take_page},
};

}  // namespace

SiteRooms::SiteRooms(Parts parts)
    : parts_(std::move(parts)),
      user_(parts_.pool.add_user("pages", renders_at_once_max, renders_waiting_max)) {}

Result<CachedPagePtr, Error> SiteRooms::page(std::string_view path) const {
  const Pages::Moment moment = parts_.pages.moment();
  Edition edition = edition_of(moment, parts_.pages.site());
  if (CachedPagePtr kept = cache_.find(path, edition, moment.now_ms)) return kept;
  const site::Facts facts{.view = moment.view,
                          .board = moment.board,
                          .now_ms = moment.now_ms,
                          .urls = parts_.pages.urls()};
  CachedPagePtr made;
  std::exception_ptr thrown;
  const bool was_run = parts_.pool.run_to_end(user_, [&]() noexcept {
    try {
      made = render(path, std::move(edition), facts);
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (!was_run) {
    return Error{ErrorCode::gateway_overloaded, "Too many pages are being made at once.", 1};
  }
  if (thrown) std::rethrow_exception(thrown);
  if (made != nullptr) cache_.store(std::string(path), made);
  return made;
}

CachedPagePtr SiteRooms::render(std::string_view path, Edition edition,
                                const site::Facts& facts) const {
  const std::shared_ptr<const site::Site> site = edition.site;
  const PageContext context{*site, facts};
  std::optional<CachedPage> made = text_file(path, parts_.sources, context);
  for (const site::PageSource* const source : parts_.sources) {
    if (made) break;
    if (const auto page = source->find(*site, facts, path)) {
      made = rendered(*page, context);
    } else if (std::string to = source->moved_to(facts, path); !to.empty()) {
      made.emplace().moved_to = std::move(to);
    }
  }
  if (!made) return nullptr;
  made->edition = std::move(edition);
  made->good_until_ms = facts.now_ms + cached_page_ms_max;
  return std::make_shared<const CachedPage>(*std::move(made));
}

Result<std::string, Error> SiteRooms::answered(std::string_view path,
                                               const NamedValues& asked) const {
  const site::Facts facts = parts_.pages.facts();
  const auto site = parts_.pages.site();
  std::string html;
  std::exception_ptr thrown;
  const bool was_run = parts_.pool.run_to_end(user_, [&]() noexcept {
    try {
      for (const site::PageSource* const source : parts_.sources) {
        const auto page = source->find(*site, facts, path);
        if (!page) continue;
        html = html_of(*page, {*site, facts}, asked);
        return;
      }
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (!was_run) {
    return Error{ErrorCode::gateway_overloaded, "Too many pages are being made at once.", 1};
  }
  if (thrown) std::rethrow_exception(thrown);
  return html;
}

std::span<const Route<SiteRooms>> site_routes() noexcept { return known_rows; }
std::span<const Route<SiteRooms>> page_routes() noexcept { return last_rows; }

}  // namespace turnpike::hosts::public_site
