// PageCache: rendered pages in both forms. A page is kept while its inputs stay the same: the site,
// the generation, the round of the status and whether the status is stale; and for a minute at
// most, since providers' readiness changes between rounds.
//
// Owned by the rooms of the public pages; any Thread. The lock is held for a look-up and a copy of
// a pointer, never while rendering or waiting.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hosts/pages.h"

namespace turnpike::hosts::public_site {

// One form of a page, and its header fields.
struct PageBytes {
  std::string_view content_type;
  std::string body;  // empty: the page has no such form
  std::string etag;
  std::string brotli;  // empty: not smaller than body
  std::string brotli_etag;
  std::string location;  // Content-Location; empty: none
  std::string link;      // Link; empty: none
};

// The inputs that rendered pages depend on, besides time.
struct Edition {
  std::shared_ptr<const site::Site> site;
  std::uint64_t manifest_sequence = 0;  // 0: no program is installed
  std::uint64_t round = 0;
  bool is_stale = true;

  bool operator==(const Edition&) const = default;
};
Edition edition_of(const Pages::Moment& moment, std::shared_ptr<const site::Site> site);

struct CachedPage {
  Edition edition;
  std::int64_t good_until_ms = 0;
  bool is_negotiated = false;
  bool is_text = false;  // a text file such as /llms.txt, held in `markdown`
  std::string moved_to = {};  // the page has moved to this path (308)
  PageBytes html = {};
  PageBytes markdown = {};

  [[nodiscard]] std::size_t bytes() const noexcept;
};
using CachedPagePtr = std::shared_ptr<const CachedPage>;

inline constexpr std::int64_t cached_page_ms_max = 60'000;

class PageCache {
 public:
  explicit PageCache(std::size_t bytes_max = 64 * 1024 * 1024) : bytes_max_(bytes_max) {}

  // Null: the page must be rendered. `path`: without ".md".
  [[nodiscard]] CachedPagePtr find(std::string_view path, const Edition& edition,
                                   std::int64_t now_ms) const;
  // Evicts pages of other editions first, then any.
  void store(std::string path, CachedPagePtr page);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, CachedPagePtr, Hash, std::equal_to<>> pages;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t shard_count = 8;

  [[nodiscard]] std::size_t shard_of(std::string_view path) const noexcept {
    return Hash()(path) % shard_count;
  }
  static void make_room(Shard& shard, const Edition& edition, std::size_t bytes_max);

  const std::size_t bytes_max_;
  std::array<Shard, shard_count> shards_;
};

}  // namespace turnpike::hosts::public_site
