// Rendering: one public document as sent, with its strong ETag; and the cache that keeps renderings
// while their contents are valid. Renderings are immutable; the cache belongs to one View and may
// be used from any Thread (a short lock, never held while rendering or waiting).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::catalog {

struct Rendering {
  std::string body;
  std::string etag;                            // with its quotes
  std::string signature;                       // the readiness shown in the body, as text
  std::optional<std::int64_t> observed_at_ms;  // as shown in the body; nullopt: no time
};

// The strong ETag of these bytes, with its quotes.
std::string etag_of(std::string_view body);

// Computes the ETag from the body.
std::shared_ptr<const Rendering> make_rendering(std::string body, std::string signature,
                                                std::optional<std::int64_t> observed_at_ms);

// Direct-mapped: a newer rendering replaces the one in its slot.
class RenderingCache {
 public:
  explicit RenderingCache(std::size_t slots) : slots_(slots) {}

  // The rendering under `key` if its signature is `signature` and its time is within the age limit.
  [[nodiscard]] std::shared_ptr<const Rendering> find(std::string_view key,
                                                      std::string_view signature,
                                                      std::int64_t now_ms) const;
  void store(std::string key, std::shared_ptr<const Rendering> rendering);

  // Maximum age of a document's `observed_at`.
  static constexpr std::int64_t age_ms_max = 10'000;

 private:
  struct Slot {
    std::string key;
    std::shared_ptr<const Rendering> rendering;
  };
  [[nodiscard]] std::size_t slot_of(std::string_view key) const noexcept;

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
};

}  // namespace turnpike::catalog
