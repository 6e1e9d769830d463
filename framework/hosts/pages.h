// Pages: the site in service and the facts that its pages show, for all hosts that have pages. A
// reload replaces the site; a page that is being rendered finishes with the site it began with.
//
// Owned by app/, outlives the hosts; any Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <turnpike/host.h>

#include "hosts/backend.h"
#include "hosts/status_source.h"
#include "site/facts.h"
#include "site/site.h"

namespace turnpike::hosts {

class Pages {
 public:
  // The inputs whose change makes a rendered page stale; taken without allocating.
  struct Moment {
    std::shared_ptr<const catalog::View> view;   // as in Facts
    std::shared_ptr<const status::Board> board;
    std::int64_t now_ms = 0;
  };
  struct Parts {
    Backend& backend;
    StatusSource* status;  // null: there is no status
    const Clock& clock;
    site::HostUrls urls;
  };
  Pages(Parts parts, std::shared_ptr<const site::Site> site)
      : parts_(std::move(parts)), site_(std::move(site)) {}

  [[nodiscard]] std::shared_ptr<const site::Site> site() const { return site_.load(); }
  void install(std::shared_ptr<const site::Site> site) { site_.store(std::move(site)); }

  [[nodiscard]] const site::HostUrls& urls() const noexcept { return parts_.urls; }
  [[nodiscard]] const Clock& clock() const noexcept { return parts_.clock; }
  // Called on the fiber of a request.
  [[nodiscard]] Moment moment() const;
  [[nodiscard]] site::Facts facts() const;

  // Renders a page with the current footer; `fill` gets the Slots of the layout.
  template <class Fill>
  [[nodiscard]] std::string page(site::Frame frame, std::string_view layout, Fill&& fill) const {
    frame.foot = site::foot_of(facts());
    return site()->page(frame, layout, std::forward<Fill>(fill));
  }

 private:
  const Parts parts_;
  std::atomic<std::shared_ptr<const site::Site>> site_;
};

}  // namespace turnpike::hosts
