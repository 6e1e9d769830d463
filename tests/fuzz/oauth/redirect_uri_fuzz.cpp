// Two arbitrary redirect URIs, separated by a line break. Acceptance and matching must agree with a
// slower reading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "oauth/redirect_uri.h"
#include "oracle/redirect_uri_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike;
  if (size > 2'200) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  const std::string uri = text.substr(0, line);
  const std::string asked = line == text.npos ? uri : text.substr(line + 1);
  const oauth::RedirectRules rules;
  const bool is_taken = !oauth::fault_in_redirect_uri(uri, rules);
  if (is_taken != oracle::may_redirect_to(uri, rules)) std::abort();
  if (!is_taken) return 0;
  if (oauth::matches_redirect_uri(uri, asked) != oracle::is_same_redirect(uri, asked)) std::abort();
  if (oauth::redirect_target(uri).empty()) std::abort();
  return 0;
}
