// Reads `listing:` of a provider: its entry in the directory of sources.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <memory>

#include "registry/program.h"
#include "registry/reader.h"

namespace turnpike::registry {

// Maximum number of chains or topics of one provider.
inline constexpr std::size_t listing_words_max = 16;
inline constexpr std::size_t listing_slug_bytes_max = 40;

// Null after a reported problem.
std::shared_ptr<const Listing> read_listing(const Cursor& value);

}  // namespace turnpike::registry
