// `listing:` of a provider: what the directory of sources says of it.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <memory>

#include "registry/program.h"
#include "registry/reader.h"

namespace turnpike::registry {

// Chains or topics of one provider.
inline constexpr std::size_t listing_words_max = 16;
inline constexpr std::size_t listing_slug_bytes_max = 40;

// Null once it is reported why.
std::shared_ptr<const Listing> read_listing(const Cursor& value);

}  // namespace turnpike::registry
