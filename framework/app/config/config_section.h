// Section: reads the keys of one map of the configuration, remembers which it was asked for, and
// reports what is wrong with its place. A key that nobody asked for by the section's end is
// unknown. Lives within read_config(); used by one Thread.
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

// The findings of reading a configuration, beside its values.
struct Reading {
  std::vector<registry::Problem> problems;
  std::vector<registry::Problem> notes;  // on what is valid and probably not meant
  std::vector<std::string> keys;  // all that were asked for, there or not: "hosts.api.listen"
};

class Section {
 public:
  Section(const Settings& tree, Reading& reading);
  Section(Section& parent, const std::string& key);
  // The maps of the list under `key`, each to be read by `read(section, place)`, where `place` is
  // its number from 0 on. Where there is none, it is called once with a section that is not there
  // and nothing, so that what a list's maps may have is known.
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

  // The value under `key`; null where there is none or it is left empty.
  [[nodiscard]] const Settings* child(const std::string& key);
  // The keys that are there, asked for or not.
  [[nodiscard]] std::vector<std::string> keys() const;

  void text(const std::string& key, std::string& out);
  void text_or_secret(const std::string& key, std::string& out);
  void boolean(const std::string& key, bool& out);
  void integer(const std::string& key, std::uint32_t& out, std::int64_t minimum,
               std::int64_t maximum);
  // A list of texts; one text is a list of one. False: it was something else.
  bool texts(const std::string& key, std::optional<std::vector<std::string>>& out);
  // A path: relative ones are relative to the file the value stands in.
  void path(const std::string& key, std::string& out);
  // The same, one or a list of them.
  void paths(const std::string& key, std::vector<std::string>& out);
  // Where to listen, as "address:port"; empty: nowhere.
  void listener(const std::string& key, std::string& out);
  // The URL of a host as callers reach it; given back without what goes without saying.
  void public_url(const std::string& key, std::string& out);
  // Origins of pages, as browsers write them, and "*".
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

  // At the value of `key`, or at the nearest section around it that is there.
  void report(const std::string& key, const std::string& message);
  void note(const std::string& key, const std::string& message);

 private:
  // A map in a list: its place, where it has one, is its own.
  Section(Section& parent, const Settings* item, const std::string& name);

  [[nodiscard]] static std::string resolved(const Settings& written, std::string path);
  [[nodiscard]] registry::Problem problem(const std::string& key, const std::string& message) const;
  [[nodiscard]] std::string join(const std::string& key) const;
  [[nodiscard]] const Settings* find(const std::string& key) const;

  Reading& reading_;
  const std::string path_;
  const Settings* node_;  // null: the section is not there
  const Settings& place_;
  std::vector<std::string> known_;
};

// Whether an address that listener() let pass is that of every interface.
bool listens_everywhere(std::string_view address) noexcept;

// Whether one of two such addresses keeps the other from being listened on. Port 0 is any free one;
// a name is taken for another address than a number.
bool is_same_port(std::string_view left, std::string_view right) noexcept;

}  // namespace turnpike::app
