// Mistakes: collects all that is wrong with the settings, so that the author of the YAML can
// correct everything in one go. After a mistake bind() continues with a default in place of the
// wrong value, and fails at the end with all mistakes:
//
//   Mistakes mistakes;
//   mistakes.only(settings, {"path", "retries"});
//   const std::int64_t retries = mistakes.take(settings.integer("retries", 2, 0, 5), 2);
//   if (!mistakes.none()) return mistakes.failure();
//
// All mistakes cross to the gateway in one Failure (invalid_settings): the first in `where` and
// `message`, each further one as a line of `message`, "where: message". The gateway separates them
// with split_mistakes() and shows each at its place. A `where` that begins with operations[N] is
// about the N-th of Binding::operations, in the `upstream_settings` of its route; of_operation()
// makes it.
//
// Helpers are compiled into the plugin that uses them; nothing of them crosses the boundary, so
// they are not part of the fingerprint. Plain values; one Thread at a time.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/settings.h>

namespace turnpike {

struct Mistake {
  std::string where;  // path of the setting; empty: the settings as a whole
  std::string message;
};

// The mistakes that a Failure of bind() reports.
inline std::vector<Mistake> split_mistakes(const Failure& failure) {
  std::string_view rest = failure.message;
  const auto next_line = [&rest] {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    return line;
  };
  std::vector<Mistake> mistakes = {{failure.where, std::string(next_line())}};
  while (!rest.empty()) {
    const std::string_view line = next_line();
    const std::size_t colon = std::min(line.find(": "), line.size());
    mistakes.push_back({std::string(line.substr(0, colon)),
                        std::string(line.substr(std::min(line.size(), colon + 2)))});
  }
  return mistakes;
}

class Mistakes {
 public:
  void add(std::string_view where, std::string_view message) {
    found_.push_back({in_one_line(where), in_one_line(message)});
    // `where` must not contain ": ", which separates it from the message. A key in it might, since
    // the author of the YAML chooses the keys.
    std::string& path = found_.back().where;
    for (std::size_t at = path.find(": "); at != path.npos; at = path.find(": ", at)) {
      path.erase(at + 1, 1);
    }
  }
  // Adds the mistakes of a failure, whose paths are relative to the map under `key`. An empty `key`
  // leaves the paths as they are.
  void add(const Failure& failure, std::string_view key = {}) {
    for (const Mistake& mistake : split_mistakes(failure)) {
      const bool is_joined = mistake.where.empty() || key.empty() || mistake.where.starts_with('[');
      add(std::string(key) + (is_joined ? "" : ".") + mistake.where, mistake.message);
    }
  }
  void note(const Done& done, std::string_view key = {}) {
    if (!done.ok()) add(done.error(), key);
  }
  // The value; or `instead`, after the mistake was added.
  template <class T>
  T take(Result<T> read, T instead = {}, std::string_view key = {}) {
    if (read.ok()) return std::move(read).value();
    add(read.error(), key);
    return instead;
  }
  // Like Settings::only(), but adds every unknown key.
  void only(const Settings& settings, std::initializer_list<std::string_view> known) {
    if (settings.kind == Settings::Kind::null) return;
    if (settings.kind != Settings::Kind::map) return add("", "expected a map");
    for (const Settings::Field& field : settings.fields) {
      if (std::find(known.begin(), known.end(), field.name) != known.end()) continue;
      const std::string_view meant = nearest_name(field.name, known);
      add(field.name, meant.empty() ? "unknown key"
                                    : "unknown key; did you mean `" + std::string(meant) + "`?");
    }
  }

  [[nodiscard]] bool none() const noexcept { return found_.empty(); }
  [[nodiscard]] const std::vector<Mistake>& found() const noexcept { return found_; }
  // REQUIRES: !none().
  [[nodiscard]] Failure failure() const {
    std::string message = found_.front().message;
    for (auto mistake = found_.begin() + 1; mistake != found_.end(); ++mistake) {
      message += "\n" + mistake->where + ": " + mistake->message;
    }
    return Failure{FailureKind::invalid_settings, std::move(message), found_.front().where, false};
  }
  [[nodiscard]] Done done() const {
    if (none()) return Unit{};
    return failure();
  }

 private:
  static std::string in_one_line(std::string_view text) {
    std::string line(text);
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
  }

  std::vector<Mistake> found_;
};

// The `where` of a mistake in the N-th of Binding::operations.
inline std::string of_operation(std::size_t number) {
  return "operations[" + std::to_string(number) + "]";
}

}  // namespace turnpike
