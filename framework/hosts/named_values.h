// NamedValues: the fields of a query or of a form, decoded; each name once. A value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike::hosts {

class NamedValues {
 public:
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const {
    for (const auto& [key, value] : fields_) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
  [[nodiscard]] auto begin() const noexcept { return fields_.begin(); }
  [[nodiscard]] auto end() const noexcept { return fields_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace turnpike::hosts
