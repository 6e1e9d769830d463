// Live parts: renders the fenced parts of pages: Markdown made from the facts of one moment, the
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

// Facts outside of the program; constant while the gateway runs.
struct LiveSettings {
  int (*http_status)(base::ErrorCode) noexcept = nullptr;  // of the API host
  std::uint32_t calls_per_account_max = base::limits::calls_per_account_max;
  std::uint32_t mcp_reply_bytes_max = base::limits::mcp_reply_bytes_max;
};

struct LiveContext {
  const Site& site;
  const Facts& facts;
  const LiveSettings& settings;
  const registry::Provider* provider = nullptr;  // of the page; null: not a page of a provider
  bool is_of_provider = false;  // the common page of providers
};

// Reads "provider=govdata count=3"; the error describes the mistake.
using LiveOptions = std::map<std::string, std::string, std::less<>>;

// One sentence for the author of the page: no such part, no such option.
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
// Returns code that makes that call of the operation, as Markdown. `in`: curl, javascript, python,
// mcp, x402.
std::string snippet(std::string_view in, const SnippetCall& call,
                    const registry::Operation& operation, const LiveContext& context);
// The same for the operation's sample.
std::string snippet(std::string_view in, const registry::Operation& operation,
                    const LiveContext& context);

// ---- Markdown of texts of others

std::string listing_of(std::string_view language, std::string_view text);

// ---- texts of numbers

std::string bytes_text(std::uint64_t bytes);  // "64 KiB"
// Returns the price of a call without an account: "$0.001"; empty: not sold per call.
std::string per_call_text(const registry::Operation& operation, const LiveContext& context);

}  // namespace turnpike::site
