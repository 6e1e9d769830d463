#include "x402/published_keys.h"

#include <algorithm>
#include <string>
#include <utility>

#include "x402/offers/did.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view prefix = "k/";
constexpr std::uint32_t keys_per_page = 200;

}  // namespace

Done publish_keys(const KeyRing& ring, Store& store, Call& call) {
  for (const PublishedKey& key : ring.published()) {
    const std::string name = std::string(prefix) + key.fragment;
    const std::string text = to_json(key);
    const auto stored = store.get(name, call);
    if (!stored.ok()) return stored.error();
    if (*stored && (*stored)->value == text) continue;
    const StoreWrite write[] = {{name, text}};
    if (store.apply({}, write, call).outcome != StoreOutcome::applied) {
      return Failure{FailureKind::unavailable, "the store does not answer", {}, false};
    }
  }
  return Unit{};
}

Result<bool> has_published_keys(Store& store, Call& call) {
  const auto page = store.scan(prefix, {}, 1, call);
  if (!page.ok()) return page.error();
  return !page->empty();
}

Result<std::vector<PublishedKey>> published_keys(Store& store, Call& call) {
  std::vector<PublishedKey> keys;
  std::string after;
  for (;;) {
    const auto page = store.scan(prefix, after, keys_per_page, call);
    if (!page.ok()) return page.error();
    if (page->empty()) break;
    for (const StoreRecord& record : *page) {
      if (auto key = published_key_of_json(record.value)) keys.push_back(*std::move(key));
    }
    after = page->back().key;
  }
  std::sort(keys.begin(), keys.end(),
            [](const auto& left, const auto& right) { return left.created_ms > right.created_ms; });
  return keys;
}

}  // namespace turnpike::x402
