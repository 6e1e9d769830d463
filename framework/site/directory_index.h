// The index of a program and of a board, without rendering: the providers of each word, the offers
// of each provider, and its status. Internal to site/.
//
// Values, made once for a program or a board; any Thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/program.h"
#include "status/board.h"

namespace turnpike::site {

// Indexes refer to the Program.
struct ListedProvider {
  std::vector<std::uint32_t> routes;  // ordered by path
  std::uint32_t operations = 0;
  std::uint32_t offered = 0;  // of `routes`: those with a price, not blocked
  // Prices of the offered operations, in Credits.
  std::optional<std::uint32_t> cheapest = {};
  std::optional<std::uint32_t> dearest = {};
  std::optional<std::uint32_t> free_policy = {};  // of its first route with a free variant
  bool is_sold_per_call = false;                  // an operation is
  std::uint32_t fresh_within_seconds = 0;         // the smallest bound of its samples; 0: none
};

using ProvidersByWord = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

struct DirectoryIndex {
  std::vector<ListedProvider> providers;  // parallel to Program::providers(), sorted by key
  ProvidersByWord categories;
  ProvidersByWord chains;
  ProvidersByWord topics;
  std::uint32_t offered = 0;
};
DirectoryIndex index_of(const registry::Program& program);

// Returns the index of the provider with this key; nothing: there is none.
std::optional<std::uint32_t> provider_named(const registry::Program& program,
                                            std::string_view key) noexcept;

// The status of a provider, as in the document of the gateway.
struct ProviderFigures {
  std::string status = "unknown";
  std::string good_percentage = {};  // "99.5"; empty: too few calls, or not known
  std::uint64_t window_seconds = 0;
  std::optional<std::uint64_t> requests = {};  // none: the operator does not publish counts
};

struct BoardFigures {
  std::map<std::string, ProviderFigures, std::less<>> providers;  // by key
  std::uint64_t round = 0;  // 0: there is no round
};
BoardFigures figures_of(const status::Board& board, std::int64_t now_ms);

// Returns the status of each method of a capability, parallel to Route::methods; "unknown" where
// the board has none.
std::vector<std::string> statuses_of(const status::Board* board, const registry::Route& route,
                                     std::int64_t now_ms);

}  // namespace turnpike::site
