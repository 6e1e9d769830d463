// Reader: typed access to a source tree with the checks that every part of the language needs. A
// Cursor is one value at its place; each reading method returns nothing after it has reported a
// problem.
//
// Internal to registry/. Cursors point to the Cursor they came from, which must outlive them: keep
// them in local variables. Used by one Thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/problems.h"
#include "registry/source.h"

namespace turnpike::registry {

// Limits of a number, both inclusive.
struct Bounds {
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
};

struct NumberBounds {
  double minimum = 0;
  double maximum = 0;
};

// The integers that JSON readers hold exactly (RFC 8259 section 6).
inline constexpr std::int64_t integer_max = 9'007'199'254'740'991;

using Names = std::initializer_list<std::string_view>;

class Cursor {
 public:
  Cursor(const Tree& tree, Problems& problems)
      : tree_(&tree), node_(&tree.root()), problems_(&problems) {}

  // A value below the root; `path` is its path, and must outlive the cursor.
  Cursor(const Tree& tree, const Node& node, std::string_view path, Problems& problems)
      : tree_(&tree), node_(&node), problems_(&problems), base_(path) {}

  [[nodiscard]] const Tree& tree() const noexcept { return *tree_; }
  [[nodiscard]] const Node& node() const noexcept { return *node_; }
  [[nodiscard]] NodeKind kind() const noexcept { return node_->kind; }
  [[nodiscard]] bool quoted() const noexcept { return node_->quoted; }
  [[nodiscard]] std::string_view raw_text() const noexcept { return tree_->text(*node_); }
  [[nodiscard]] Place place() const noexcept { return tree_->place(*node_); }
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string_view key() const noexcept { return key_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] Problems& problems() const noexcept { return *problems_; }

  void report(Rule rule, Names arguments = {}) const;
  // Reports at the key of this value, for wrong names.
  void report_key(Rule rule, Names arguments = {}) const;

  // Reports the actual kind if it is not the expected one; `expected` describes that in words.
  [[nodiscard]] bool expect(NodeKind kind, std::string_view expected) const;
  // True if this is a list of at most `most` items; `expected` describes it in words.
  [[nodiscard]] bool list_of(std::size_t most, std::string_view expected) const;
  // True if this is a map whose keys are all known.
  [[nodiscard]] bool map_of(Names known) const { return map_of(known, {}, false); }
  // As map_of(known), where a lane may have terms under its name `lane`; empty: there is no such
  // lane.
  [[nodiscard]] bool map_of(Names known, std::string_view lane) const {
    return map_of(known, lane, true);
  }

  // The value under `key`; reports nothing.
  [[nodiscard]] std::optional<Cursor> find(std::string_view key) const;
  // As find(), but a missing value is reported; `expected` describes it.
  [[nodiscard]] std::optional<Cursor> need(std::string_view key, std::string_view expected) const;

  [[nodiscard]] std::vector<Cursor> fields() const;  // of a map, in file order
  [[nodiscard]] std::vector<Cursor> items() const;   // of a list

  [[nodiscard]] std::optional<std::string_view> text(std::size_t minimum_bytes,
                                                     std::size_t maximum_bytes) const;
  [[nodiscard]] std::optional<std::int64_t> integer(Bounds bounds) const;
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<Bounds> range(Bounds bounds) const;  // MIN..MAX
  [[nodiscard]] std::optional<NumberBounds> number_range() const;  // as range(), for numbers
  // The index of the text in `choices`.
  [[nodiscard]] std::optional<std::size_t> one_of(std::span<const std::string_view> choices) const;
  // A name that the operator chose: lower-case letters, digits, and . _ - inside; at most 64 bytes.
  [[nodiscard]] std::optional<std::string> name() const;
  // As name(), for the key of this value.
  [[nodiscard]] std::optional<std::string> key_name() const;

 private:
  Cursor(const Cursor& parent, const Node& node) : Cursor(parent) {
    parent_ = &parent;
    node_ = &node;
    key_node_ = nullptr;
    key_ = {};
    index_ = 0;
  }

  [[nodiscard]] bool map_of(Names known, std::string_view lane, bool takes_terms) const;
  void report_unknown(const Node& key, std::span<const std::string_view> known,
                      bool may_be_terms) const;
  [[nodiscard]] std::optional<std::string> checked_name(std::string_view text, bool of_key) const;

  const Tree* tree_;
  const Node* node_;
  Problems* problems_;
  const Cursor* parent_ = nullptr;
  const Node* key_node_ = nullptr;
  std::string_view key_;
  std::string_view base_;  // the path of a cursor without a parent
  std::uint32_t index_ = 0;
};

// Digits with an optional minus sign and no leading zeros; nullopt for any other text.
std::optional<std::int64_t> decimal_integer(std::string_view text) noexcept;

// A number by JSON's grammar (RFC 8259 section 6) that a double can hold; nullopt for other text.
std::optional<double> decimal_number(std::string_view text) noexcept;

// "a, b, c".
std::string listed(std::span<const std::string_view> names);

}  // namespace turnpike::registry
