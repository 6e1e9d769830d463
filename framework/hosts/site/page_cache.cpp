#include "hosts/site/page_cache.h"

#include <utility>

namespace turnpike::hosts::public_site {

namespace {

std::size_t bytes_of(const PageBytes& form) noexcept {
  return form.body.size() + form.brotli.size() + form.link.size() + form.location.size();
}

}  // namespace

Edition edition_of(const Pages::Moment& moment, std::shared_ptr<const site::Site> site) {
  Edition edition;
  edition.site = std::move(site);
  if (moment.view != nullptr) {
    edition.manifest_sequence = moment.view->generation().manifest_sequence;
  }
  if (moment.board != nullptr) {
    edition.round = moment.board->origin().round;
    edition.is_stale = moment.now_ms >= moment.board->origin().valid_until_ms;
  }
  return edition;
}

std::size_t CachedPage::bytes() const noexcept {
  return sizeof(CachedPage) + bytes_of(html) + bytes_of(markdown);
}

CachedPagePtr PageCache::find(std::string_view path, const Edition& edition,
                              std::int64_t now_ms) const {
  const Shard& shard = shards_[shard_of(path)];
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.pages.find(path);
  if (found == shard.pages.end()) return nullptr;
  const CachedPage& page = *found->second;
  return page.edition == edition && now_ms < page.good_until_ms ? found->second : nullptr;
}

void PageCache::store(std::string path, CachedPagePtr page) {
  Shard& shard = shards_[shard_of(path)];
  const std::size_t bytes = path.size() + page->bytes();
  CachedPagePtr before;  // freed after the lock
  const std::scoped_lock lock(shard.mutex);
  if (bytes > bytes_max_ / shard_count) return;
  if (const auto known = shard.pages.find(path); known != shard.pages.end()) {
    before = std::move(known->second);
    shard.bytes -= path.size() + before->bytes();
    shard.pages.erase(known);
  }
  make_room(shard, page->edition, bytes_max_ / shard_count - bytes);
  shard.bytes += bytes;
  shard.pages.emplace(std::move(path), std::move(page));
}

void PageCache::make_room(Shard& shard, const Edition& edition, std::size_t bytes_max) {
  for (const bool takes_any : {false, true}) {
    for (auto at = shard.pages.begin(); at != shard.pages.end() && shard.bytes > bytes_max;) {
      if (!takes_any && at->second->edition == edition) {
        ++at;
        continue;
      }
      shard.bytes -= at->first.size() + at->second->bytes();
      at = shard.pages.erase(at);
    }
  }
}

}  // namespace turnpike::hosts::public_site
