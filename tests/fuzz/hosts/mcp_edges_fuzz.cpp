// The access checks of the MCP host and the URIs of its resources, with arbitrary bytes: the first
// line is Host, the second Origin, the rest a URI. Accepted values have one of the forms that a
// slow reading allows; every answer is JSON.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/sources.h"
#include "fuzz/check.h"
#include "hosts/mcp/access.h"
#include "hosts/mcp/rpc_fixture.h"
#include "hosts/mcp/service_prompts.h"
#include "hosts/mcp/service_resources.h"
#include "hosts/status_table.h"
#include "registry/compile.h"
#include "support/readiness.h"
#include "text/canonical_json.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;
using namespace turnpike::hosts;
using namespace turnpike::hosts::mcp;

std::shared_ptr<const catalog::View> make_view() {
  const std::string yaml =
      "provider: {key: a, name: A}\nupstreams: {a-main: {plugin: http}}\n"
      "prices: {a.p: {version: 1, credit_cost: 1}}\ndefaults: {price: a.p}\n"
      "routes: [{path: /x}, {path: /y}]\n";
  const registry::Source sources[] = {{"a.yaml", yaml}};
  auto program = registry::compile({.sources = sources, .installed = {}, .plugins = {}});
  if (!program.ok()) std::abort();
  registry::Generation generation;
  generation.id = "gen_1";
  return std::make_shared<const catalog::View>(
      registry::Installed{*program, generation}, std::make_shared<support::EverythingReady>(),
      catalog::ViewOptions{.base_url = "http://127.0.0.1:1",
                           .cursor_key = std::string(32, 'k'),
                           .features = {},
                           .http_status = http_status});
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// "http://" and a name of this machine, optionally with a numeric port.
bool is_of_this_machine(std::string_view origin) {
  for (const std::string_view name : {"http://localhost", "http://127.0.0.1", "http://[::1]"}) {
    if (origin == name) return true;
    if (origin.substr(0, name.size() + 1) != std::string(name) + ":") continue;
    const std::string_view port = origin.substr(name.size() + 1);
    return !port.empty() && port.find_first_not_of("0123456789") == port.npos;
  }
  return false;
}

void check_access(std::string_view host, std::string_view origin) {
  static const Access access(
      {.base_url = "https://mcp.example.com", .bound_address = "127.0.0.1:8403"});
  const HeaderField headers[] = {{"host", host}, {"origin", origin}};
  if (access.refusal(headers)) return;
  const std::string name = lower(host);
  check(name == "localhost:8403" || name == "127.0.0.1:8403" || name == "[::1]:8403" ||
        name == "mcp.example.com" || name.starts_with("mcp.example.com:"));
  check(origin == "https://mcp.example.com" || is_of_this_machine(origin));
}

void check_origin(std::string_view url) {
  const std::string origin = origin_of(url);
  if (origin.empty()) return;
  check(origin == origin_of(origin) && origin == lower(origin));
  check(!authority_of(origin).empty() && Origins({origin}).allows(origin));
}

void check_answer(const Answer& answer) {
  if (!answer.ok()) {
    check(!answer.error().message.empty());
    return;
  }
  const std::string& members = answer->kept != nullptr ? *answer->kept : answer->members;
  check(Json::parse("{" + members + "}").is_object());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto take_line = [&rest] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  };
  const std::string_view host = take_line();
  const std::string_view origin = take_line();
  check_access(host, origin);
  check_origin(host);
  check_origin(origin);
  check_origin(rest);
  if (!text::is_utf8(rest)) return 0;  // JSON text must be UTF-8

  static ViewBackend backend;
  if (backend.program == nullptr) backend.program = make_view();
  static const base::SystemClock clock{};
  static const ServiceResources resources(backend, clock);
  static const ServicePrompts prompts;
  const std::string text(rest);
  const OneRequest one;
  check_answer(resources.read(one.request, text));
  check_answer(resources.list(one.request, &text));
  check_answer(prompts.get(one.request, text, Json::object()));
  check_answer(prompts.get(one.request, "find_route", {{"question", text}}));
  return 0;
}
