// BoardFacts: derives from the input of a board which facts are valid or stale, until when, and
// which days belong to which component. The documents are written from these facts.
//
// Made and used on one Thread while a board is made; the input outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "status/board.h"

namespace turnpike::status {

// The two forms of each document.
enum class Reading : std::uint8_t { found, stale };

inline constexpr std::int64_t history_day_ms = 86'400'000;
inline constexpr int history_days = 90;

// The shown state of one component.
struct ShownLevel {
  Level level = Level::unknown;
  Evidence evidence = Evidence::missing_or_stale;
  std::int64_t observed_at_ms = 0;  // 0: never observed
};

// The level of several components together, such as the methods of a capability: outage if all are
// in outage; else the worst of their levels, at most degraded; unknown without components.
Level levels_together(const std::vector<Level>& levels) noexcept;
Evidence evidence_together(const std::vector<Evidence>& evidence) noexcept;

// "<capability_id>:<METHOD>", as in names of targets and scopes.
std::string operation_name(const registry::Program& program, const registry::Operation& operation);

class BoardFacts {
 public:
  explicit BoardFacts(const BoardInput& input);
  BoardFacts(const BoardFacts&) = delete;
  BoardFacts& operator=(const BoardFacts&) = delete;

  [[nodiscard]] const BoardInput& input() const noexcept { return input_; }
  [[nodiscard]] const registry::Program& program() const noexcept { return input_.program; }

  // The newest round belongs to the installed generation and is signed with a key of the stream.
  [[nodiscard]] bool is_verified() const noexcept { return is_verified_; }
  // End of the newest round; without a verified round, the time when the board was made.
  [[nodiscard]] std::int64_t as_of_ms() const noexcept;

  [[nodiscard]] ShownLevel scope(std::string_view name, Reading reading) const;
  // For a target that has looks of its own.
  [[nodiscard]] ShownLevel target(const Target& target, Reading reading) const;
  // Null: the book has no figures for it in this generation.
  [[nodiscard]] const ScopeFigures* scope_figures(std::string_view name) const noexcept;
  [[nodiscard]] const TargetFigures* figures(std::string_view target) const noexcept;
  // True if a look at the target at `at_ms` is still fresh.
  [[nodiscard]] bool is_fresh(const Target& target, std::int64_t at_ms) const noexcept;

  // The time until which the current figures are valid: overall, of a provider, of an operation by
  // name.
  [[nodiscard]] std::int64_t valid_until_ms() const noexcept { return valid_until_ms_; }
  [[nodiscard]] std::int64_t valid_until_ms_of_provider(std::string_view key) const noexcept;
  [[nodiscard]] std::int64_t valid_until_ms_of_operation(std::string_view name) const noexcept;

  // The day segments of a scope within the window, oldest first.
  [[nodiscard]] const std::vector<const Segment*>& days_of(std::string_view scope) const noexcept;
  // The provider's operations, as indexes into Program::operations().
  [[nodiscard]] const std::vector<std::uint32_t>& operations_of(std::uint32_t provider) const {
    return operations_[provider];
  }
  [[nodiscard]] const std::string& name_of_operation(std::uint32_t operation) const {
    return names_[operation];
  }

  // Writes the whole document in the given form.
  using Write = std::function<std::string(Reading)>;
  [[nodiscard]] BoardDocument document(std::int64_t valid_until_ms, const Write& write) const;

 private:
  using Times = std::map<std::string, std::int64_t, std::less<>>;

  [[nodiscard]] std::int64_t believed_until_ms(const Target& target,
                                               std::int64_t at_ms) const noexcept;
  [[nodiscard]] std::int64_t believed_until_ms(const Target& target) const noexcept;
  [[nodiscard]] std::int64_t of(const Times& times, std::string_view name) const noexcept;

  const BoardInput& input_;
  const bool is_verified_;
  std::int64_t valid_until_ms_ = 0;
  Times of_providers_;
  Times of_operations_;
  std::map<std::string, std::vector<const Segment*>, std::less<>> days_;
  std::vector<std::vector<std::uint32_t>> operations_;
  std::vector<std::string> names_;
};

}  // namespace turnpike::status
