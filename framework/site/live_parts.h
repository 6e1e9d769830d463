// Live parts: what the fenced parts of pages become: Markdown made of the facts of one moment, the
// same for both forms of a page. Every text of a provider or an operator is escaped. Pure
// functions; any Thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "base/limits.h"
#include "site/facts.h"
#include "site/site.h"

namespace turnpike::site {

// Facts that the program does not hold; they stand for as long as the gateway runs.
struct LiveSettings {
  int (*http_status)(base::ErrorCode) noexcept = nullptr;  // as the API host answers
  std::uint32_t calls_per_account_max = base::limits::calls_per_account_max;
  std::uint32_t mcp_reply_bytes_max = base::limits::mcp_reply_bytes_max;
};

struct LiveContext {
  const Site& site;
  const Facts& facts;
  const LiveSettings& settings;
  const registry::Provider* provider = nullptr;  // whose page it is; null: of none
  bool is_of_provider = false;  // the page is one that providers have in common
};

// "provider=govdata count=3"; the error says what is wrong with it.
using LiveOptions = std::map<std::string, std::string, std::less<>>;

// One sentence for who wrote the page: no such part, no such option.
struct WritersMistake {
  std::string text;
};

Result<std::string, WritersMistake> live_part(std::string_view word, std::string_view options,
                                           const LiveContext& context);

struct SnippetCall {
  std::string method;
  std::string path;   // encoded
  std::string query;  // encoded, without '?'
  std::string body = {};
  std::string content_type = {};  // of the body
};
// How that call of the operation is made, as Markdown. `in`: curl, javascript, python, mcp, x402.
std::string snippet(std::string_view in, const SnippetCall& call,
                    const registry::Operation& operation, const LiveContext& context);
// The same of its sample.
std::string snippet(std::string_view in, const registry::Operation& operation,
                    const LiveContext& context);

// ---- Markdown of texts that are not ours

std::string listing_of(std::string_view language, std::string_view text);

// ---- words for figures

std::string bytes_text(std::uint64_t bytes);  // "64 KiB"
// What a call costs without an account: "$0.001"; empty: it is not sold so.
std::string per_call_text(const registry::Operation& operation, const LiveContext& context);

}  // namespace turnpike::site
