// The public pages of the web host: pages of site/ and of the directory in both forms, the text
// files made from the list of pages, and redirects from old paths. The set of pages is known only
// when a site is loaded, so one row takes all paths that no other row has.
//
// Owned by app/, outlives the host; called on the fibers of all loop Threads, suspends them while a
// page that is not cached is rendered on the pool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/pages.h"
#include "hosts/route.h"
#include "hosts/site/page_cache.h"
#include "hosts/site/text_files.h"
#include "runtime/pool.h"

namespace turnpike::hosts::public_site {

class SiteRooms {
 public:
  // All parts outlive the rooms.
  struct Parts {
    const Pages& pages;
    runtime::BlockingPool& pool;
    PageSources sources;   // the first source that has a page renders it
    std::string docs_url;  // target of /docs; empty: none
  };
  explicit SiteRooms(Parts parts);

  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }

  // Null: there is no such page. `path`: without ".md". Error: gateway.overloaded.
  [[nodiscard]] Result<CachedPagePtr, base::Error> page(std::string_view path) const;
  // Renders the page with the values sent with its form.
  [[nodiscard]] Result<std::string, base::Error> answered(std::string_view path,
                                                          const NamedValues& asked) const;

 private:
  [[nodiscard]] CachedPagePtr render(std::string_view path, Edition edition,
                                     const site::Facts& facts) const;

  const Parts parts_;
  const runtime::PoolUser user_;
  mutable PageCache cache_;
};

// Rows of fixed paths, for the host's table.
std::span<const Route<SiteRooms>> site_routes() noexcept;
// The row of all other paths; it must be matched last.
std::span<const Route<SiteRooms>> page_routes() noexcept;

}  // namespace turnpike::hosts::public_site
