#include "catalog/rendering.h"

#include <functional>
#include <utility>

#include "crypto/digest.h"

namespace turnpike::catalog {

std::string etag_of(std::string_view body) {
  return "\"" + crypto::sha256_hex(body).substr(0, 32) + "\"";
}

std::shared_ptr<const Rendering> make_rendering(std::string body, std::string signature,
                                                std::optional<std::int64_t> observed_at_ms) {
  std::string etag = etag_of(body);
  return std::make_shared<const Rendering>(
      Rendering{std::move(body), std::move(etag), std::move(signature), observed_at_ms});
}

std::size_t RenderingCache::slot_of(std::string_view key) const noexcept {
  return std::hash<std::string_view>{}(key) % slots_.size();
}

std::shared_ptr<const Rendering> RenderingCache::find(std::string_view key,
                                                      std::string_view signature,
                                                      std::int64_t now_ms) const {
  std::shared_ptr<const Rendering> found;
  {
    const std::lock_guard lock(mutex_);
    const Slot& slot = slots_[slot_of(key)];
    if (slot.key != key || slot.rendering == nullptr) return nullptr;
    found = slot.rendering;
  }
  if (found->signature != signature) return nullptr;
  const std::int64_t age_ms = found->observed_at_ms ? now_ms - *found->observed_at_ms : 0;
  return age_ms >= 0 && age_ms < age_ms_max ? found : nullptr;
}

void RenderingCache::store(std::string key, std::shared_ptr<const Rendering> rendering) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[slot_of(key)];
  slot.key = std::move(key);
  slot.rendering.swap(rendering);  // the old one is freed after unlocking
}

}  // namespace turnpike::catalog
