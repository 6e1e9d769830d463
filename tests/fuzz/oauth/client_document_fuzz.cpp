// An arbitrary client metadata document: its URL in the first line, Cache-Control in the second,
// then the document. A URL is fetched only if a slower reading allows it, an accepted document
// belongs to its URL and could have been registered, and its lifetime is within our bounds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/check.h"
#include "oauth/client_document.h"
#include "oauth/redirect_uri.h"
#include "oracle/redirect_uri_reading.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;

std::string line_of(std::string& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string line = text.substr(0, end);
  text.erase(0, std::min(end + 1, text.size()));
  return line;
}

// Whether resolving its dot segments changes a path. Each "%2e" counts as a dot.
bool climbs(std::string path) {
  for (const char* const escape : {"%2e", "%2E"}) {
    for (std::size_t at = path.find(escape); at != path.npos; at = path.find(escape)) {
      path = path.substr(0, at) + "." + path.substr(at + 3);
    }
  }
  path += '/';
  return path.find("/./") != path.npos || path.find("/../") != path.npos;
}

bool may_fetch(const std::string& url, bool takes_loopback) {
  if (!oracle::may_redirect_to(url, {{}})) return false;
  const oracle::RedirectReading reading = oracle::read_redirect(url);
  if (reading.scheme != "https" && reading.scheme != "http") return false;
  const bool is_near = oracle::is_loopback_host(reading.host);
  if (is_near ? !takes_loopback : !reading.port.empty() && reading.port != ":443") return false;
  const std::string path = reading.rest.substr(0, reading.rest.find('?'));
  return path.size() > 1 && !climbs(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  const std::string url = line_of(text);
  const std::string cache_control = line_of(text);
  for (const bool takes_loopback : {false, true}) {
    const bool is_taken = !oauth::fault_in_document_url(url, takes_loopback);
    check(is_taken == may_fetch(url, takes_loopback));
    if (!is_taken) continue;
    check(oauth::is_document_id(url) && !oauth::document_host(url).empty());
    check(takes_loopback || !oauth::is_document_nearby(url));
  }
  const std::int64_t kept_ms = oauth::document_kept_ms(cache_control);
  check(kept_ms >= oauth::document_kept_ms_min && kept_ms <= oauth::document_kept_ms_max);
  const oauth::RedirectRules rules;
  const auto read = oauth::read_client_document(url, text, rules);
  if (!read.ok()) {
    check(!read.error().message.empty());
    return 0;
  }
  check(text.size() <= oauth::document_bytes_max);
  check(oauth::read_client_metadata(text, rules).ok());
  for (const std::string& uri : read->redirect_uris) {
    check(!oauth::fault_in_redirect_uri(uri, rules));
  }
  return 0;
}
