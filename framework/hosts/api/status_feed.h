// The feed of the status: incidents and maintenance in Atom (RFC 4287), for readers of feeds. Pure
// function; any Thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "status/store.h"

namespace turnpike::hosts::api {

struct FeedInput {
  std::string_view stream;  // ids follow from it and from those of incidents alone
  std::string_view url;     // of the host, without a slash at the end; empty: no links
  std::span<const status::ShownIncident> incidents;
  std::span<const status::Maintenance> maintenance;
};

inline constexpr std::string_view feed_type = "application/atom+xml; charset=utf-8";

// Whatever the texts hold, the feed is well-formed.
std::string feed_text(const FeedInput& input);

}  // namespace turnpike::hosts::api
