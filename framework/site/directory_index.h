// What the directory knows of a program and of a board without rendering anything: which providers
// stand under which word, what each offers, and how each does. Internal to site/.
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

// Indexes are those of the Program.
struct ListedProvider {
  std::vector<std::uint32_t> routes;  // by path
  std::uint32_t operations = 0;
  std::uint32_t offered = 0;  // of them: with a price and not blocked
  // Of what is offered, in Credits.
  std::optional<std::uint32_t> cheapest = {};
  std::optional<std::uint32_t> dearest = {};
  std::optional<std::uint32_t> free_policy = {};  // of the first route that has a free variant
  bool is_sold_per_call = false;                  // something is
  std::uint32_t fresh_within_seconds = 0;         // the strictest that looks expect; 0: nothing
};

using ProvidersByWord = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

struct DirectoryIndex {
  std::vector<ListedProvider> providers;  // parallel to Program::providers(), which is by key
  ProvidersByWord categories;
  ProvidersByWord chains;
  ProvidersByWord topics;
  std::uint32_t offered = 0;
};
DirectoryIndex index_of(const registry::Program& program);

// The provider with this key, as an index; nothing: there is none.
std::optional<std::uint32_t> provider_named(const registry::Program& program,
                                            std::string_view key) noexcept;

// How a provider does, as the document of the gateway tells.
struct ProviderFigures {
  std::string status = "unknown";
  std::string good_percentage = {};  // "99.5"; empty: too few calls, or none known
  std::uint64_t window_seconds = 0;
  std::optional<std::uint64_t> requests = {};  // none: the operator does not publish numbers
};

struct BoardFigures {
  std::map<std::string, ProviderFigures, std::less<>> providers;  // by key
  std::uint64_t round = 0;  // 0: there is none
};
BoardFigures figures_of(const status::Board& board, std::int64_t now_ms);

// The status of each method of a capability, parallel to Route::methods; "unknown" where the board
// does not tell.
std::vector<std::string> statuses_of(const status::Board* board, const registry::Route& route,
                                     std::int64_t now_ms);

}  // namespace turnpike::site
