// Builds Settings for tests. Any Thread.
#pragma once

#include <turnpike/settings.h>

#include <string>
#include <utility>
#include <vector>

namespace turnpike {

inline Settings scalar(std::string text, bool quoted = false, bool is_secret = false) {
  Settings node;
  node.kind = Settings::Kind::scalar;
  node.text = std::move(text);
  node.quoted = quoted;
  node.is_secret = is_secret;
  return node;
}

inline Settings map(std::vector<Settings::Field> fields) {
  Settings node;
  node.kind = Settings::Kind::map;
  node.fields = std::move(fields);
  return node;
}

}  // namespace turnpike
