// Section: reads the keys of one map of the configuration, remembers the keys that were read, and
// reports problems with their place. A key that was not read by the section's end is unknown. Lives
// within read_config(); used by one Thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/settings.h>

#include "registry/compile.h"

namespace turnpike::app {

// The findings of reading a configuration, besides its values.
struct Reading {
  std::vector<registry::Problem> problems;
  std::vector<registry::Problem> notes;  // valid but probably unintended settings
  std::vector<std::string> keys;  // all keys that were read, present or not: "hosts.api.listen"
};

class Section {
 public:
  Section(const Settings& tree, Reading& reading);
  Section(Section& parent, const std::string& key);
  // Calls `read(section, index)` for each map of the list under `key`; `index` counts from 0. If
  // the list is missing, it calls `read` once with an absent section and no index, so that the keys
  // of its maps are known.
  template <class F>
  void each(const std::string& key, F&& read) {
    const Settings* list = child(key);
    if (list == nullptr) {
      Section none(*this, nullptr, key + "[]");
      return read(none, std::optional<std::size_t>());
    }
    if (list->kind != Settings::Kind::list) return report(key, "expected a list, [] for none");
    for (std::size_t at = 0; at < list->items.size(); ++at) {
      Section item(*this, &list->items[at], key + "[" + std::to_string(at) + "]");
      read(item, std::optional(at));
    }
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  ~Section();

  // The value under `key`; null if it is missing or empty.
  [[nodiscard]] const Settings* child(const std::string& key);
  // The keys that are present, read or not.
  [[nodiscard]] std::vector<std::string> keys() const;

  void text(const std::string& key, std::string& out);
  void text_or_secret(const std::string& key, std::string& out);
  void boolean(const std::string& key, bool& out);
  void integer(const std::string& key, std::uint32_t& out, std::int64_t minimum,
               std::int64_t maximum);
  // Reads a list of texts; a single text is a list of one. False: the value has another type.
  bool texts(const std::string& key, std::optional<std::vector<std::string>>& out);
  // Reads a path; a relative path is relative to the file that holds the value.
  void path(const std::string& key, std::string& out);
  // The same for one path or a list of paths.
  void paths(const std::string& key, std::vector<std::string>& out);
  // Reads a listen address, "address:port"; empty: the host is not served.
  void listener(const std::string& key, std::string& out);
  // Reads the public URL of a host, normalized: without parts that are implied.
  void public_url(const std::string& key, std::string& out);
  // Reads origins of pages, as browsers write them, and "*".
  void origins(const std::string& key, std::optional<std::vector<std::string>>& out);

  template <class Value>
  void choice(const std::string& key, Value& out,
              std::initializer_list<std::pair<std::string_view, Value>> choices) {
    const Settings* value = child(key);
    if (value == nullptr) return;
    std::string names;
    for (const auto& [name, chosen] : choices) {
      if (value->kind == Settings::Kind::scalar && value->text == name) {
        out = chosen;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    report(key, "expected one of " + names);
  }

  // Report at the value of `key`, or at the nearest enclosing section that is present.
  void report(const std::string& key, const std::string& message);
  void note(const std::string& key, const std::string& message);

 private:
  // Makes the section of a map in a list, whose place is that of the map, if it has one.
  Section(Section& parent, const Settings* item, const std::string& name);

  [[nodiscard]] static std::string resolved(const Settings& written, std::string path);
  [[nodiscard]] registry::Problem problem(const std::string& key, const std::string& message) const;
  [[nodiscard]] std::string join(const std::string& key) const;
  [[nodiscard]] const Settings* find(const std::string& key) const;

  Reading& reading_;
  const std::string path_;
  const Settings* node_;  // null: the section is absent
  const Settings& place_;
  std::vector<std::string> known_;
};

// Whether an address that listener() accepted means all interfaces.
bool listens_everywhere(std::string_view address) noexcept;

// Whether two such addresses conflict. Port 0 is any free one, so it never conflicts; a name and a
// number count as different addresses.
bool is_same_port(std::string_view left, std::string_view right) noexcept;

}  // namespace turnpike::app
