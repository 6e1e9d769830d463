// Source: one YAML file as a flat tree of our own, with the place of every value. yaml-cpp is used
// only here, and only its event interface, since its nodes keep the first of two equal keys, read
// 010 as 8 and yes as true, and expand aliases. Anchors, aliases, tags, merge keys and several
// documents are refused; scalars keep their text, and the reader converts them.
//
// Internal to registry/. A Tree is built by one Thread and is immutable afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "registry/problems.h"

namespace turnpike::registry {

enum class NodeKind : std::uint8_t { null, scalar, list, map };

inline constexpr std::uint32_t no_node = 0xFFFFFFFFu;

struct Node {
  NodeKind kind = NodeKind::null;
  bool quoted = false;
  std::uint32_t line = 0;  // from 1
  std::uint32_t column = 0;
  std::uint32_t text_offset = 0;  // scalar
  std::uint32_t text_bytes = 0;
  std::uint32_t first_child = no_node;  // list: items; map: key, value, key, value
  std::uint32_t next = no_node;
};

class Tree {
 public:
  [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }  // no document in the file
  [[nodiscard]] const Node& root() const noexcept { return nodes_.front(); }
  [[nodiscard]] const Node& at(std::uint32_t index) const noexcept { return nodes_[index]; }
  [[nodiscard]] std::string_view text(const Node& node) const noexcept {
    return std::string_view(text_).substr(node.text_offset, node.text_bytes);
  }
  [[nodiscard]] std::uint32_t file() const noexcept { return file_; }
  [[nodiscard]] Place place(const Node& node) const noexcept {
    return {file_, node.line, node.column};
  }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  friend class TreeBuilder;
  std::vector<Node> nodes_;  // the root first
  std::string text_;
  std::uint32_t file_ = 0;
};

// Reads sources[file]; problems are added to `problems`, and the tree then holds the part before
// the problem, or nothing. `nodes_left` is the budget of the whole program and is decreased.
Tree read_tree(const Source& source, std::uint32_t file, std::size_t& nodes_left,
               Problems& problems);

}  // namespace turnpike::registry
