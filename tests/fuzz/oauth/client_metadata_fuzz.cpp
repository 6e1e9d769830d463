// Arbitrary client metadata: an accepted client could be registered and found again, and its id
// does not depend on the order of its URIs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oauth/redirect_uri.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike;
  const oauth::RedirectRules rules;
  auto read = oauth::read_client_metadata({reinterpret_cast<const char*>(data), size}, rules);
  if (!read.ok()) return 0;
  for (const std::string& uri : read->redirect_uris) {
    if (oauth::fault_in_redirect_uri(uri, rules)) std::abort();
    if (!oauth::matches_redirect_uri(uri, uri)) std::abort();
  }
  const std::string id = oauth::client_id_of(*read);
  std::reverse(read->redirect_uris.begin(), read->redirect_uris.end());
  if (oauth::client_id_of(*read) != id) std::abort();
  return 0;
}
