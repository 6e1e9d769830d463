// Directory: the pages below /discovery: every provider of the registry as a source of data, by
// category, chain and topic, and comparisons of two providers of one category. Pages are rendered
// on request from the program in service and the board of the newest round, since there are as many
// comparisons as pairs. An index of each is kept as long as it is in service.
//
// No page grows with the registry: further entries are on further pages, or counted with a link.
// All texts of providers are escaped.
//
// Owned by app/, outlives the hosts; any Thread (a short lock, never held while rendering).
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "registry/program.h"
#include "site/page_source.h"

namespace turnpike::site {

struct DirectoryIndex;
struct BoardFigures;

class Directory final : public PageSource {
 public:
  Directory();
  ~Directory() override;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // Whether the path leads to a page, directly or by moved_to(), with this program.
  [[nodiscard]] static bool has(const registry::Program& program, std::string_view path);

  [[nodiscard]] std::optional<MarkdownPage> find(const Site& site, const Facts& facts,
                                                 std::string_view path) const override;
  // Redirects of first pages of lists, and of comparisons in reverse order.
  [[nodiscard]] std::string moved_to(const Facts& facts, std::string_view path) const override;
  // Lists only the first 1,000 comparisons.
  [[nodiscard]] std::vector<MarkdownPage> list(const Site& site,
                                               const Facts& facts) const override;

 private:
  [[nodiscard]] std::shared_ptr<const DirectoryIndex> index(const Facts& facts) const;
  [[nodiscard]] std::shared_ptr<const BoardFigures> figures(const Facts& facts) const;

  mutable std::mutex mutex_;
  mutable std::weak_ptr<const catalog::View> indexed_;
  mutable std::shared_ptr<const DirectoryIndex> index_;
  mutable std::weak_ptr<const status::Board> read_;
  mutable bool is_read_stale_ = false;
  mutable std::shared_ptr<const BoardFigures> figures_;
};

}  // namespace turnpike::site
