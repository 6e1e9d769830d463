// The status feed: incidents and maintenance in Atom (RFC 4287), for feed readers. Pure function;
// any Thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "status/store.h"

namespace turnpike::hosts::api {

struct FeedInput {
  std::string_view stream;  // ids derive only from this and the incidents' ids
  std::string_view url;     // of the host, without a final slash; empty: no links
  std::span<const status::ShownIncident> incidents;
  std::span<const status::Maintenance> maintenance;
};

inline constexpr std::string_view feed_type = "application/atom+xml; charset=utf-8";

// The feed is well-formed, whatever the texts hold.
std::string feed_text(const FeedInput& input);

}  // namespace turnpike::hosts::api
