// Settings of plugins as they are read from YAML, built by hand. Any Thread.
#pragma once

#include <turnpike/settings.h>

#include <string>
#include <utility>
#include <vector>

namespace turnpike {

inline Settings scalar(std::string text) {
  Settings node;
  node.kind = Settings::Kind::scalar;
  node.text = std::move(text);
  return node;
}

inline Settings quoted(std::string text) {
  Settings node = scalar(std::move(text));
  node.quoted = true;
  return node;
}

inline Settings secret(std::string text) {
  Settings node = scalar(std::move(text));
  node.is_secret = true;
  return node;
}

inline Settings list(std::vector<Settings> items) {
  Settings node;
  node.kind = Settings::Kind::list;
  node.items = std::move(items);
  return node;
}

inline Settings map(std::vector<Settings::Field> fields) {
  Settings node;
  node.kind = Settings::Kind::map;
  node.fields = std::move(fields);
  return node;
}

}  // namespace turnpike
