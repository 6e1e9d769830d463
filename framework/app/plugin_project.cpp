#include "app/plugin_project.h"

#include <algorithm>
#include <utility>

namespace turnpike::app {
namespace {

constexpr std::size_t name_bytes_max = 40;  // the descriptor's bound is 64

bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

char to_upper(char letter) {
  return is_lower(letter) ? static_cast<char>(letter - 'a' + 'A') : letter;
}

// "dao_votes" as "DaoVotes" with an empty `joint`, as "Dao-Votes" with "-".
std::string capitalized(std::string_view name, std::string_view joint) {
  std::string words;
  bool begins = true;
  for (const char letter : name) {
    if (letter == '_') {
      words += joint;
    } else {
      words += begins ? to_upper(letter) : letter;
    }
    begins = letter == '_';
  }
  return words;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (;;) {
    const std::size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == text.npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

}  // namespace

std::string problem_of_plugin_name(std::string_view name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char letter) {
    return is_lower(letter) || is_digit(letter) || letter == '_';
  });
  if (name.empty() || !is_lower(name.front()) || !is_plain || name.ends_with('_') ||
      name.find("__") != name.npos || name.size() > name_bytes_max) {
    return "a plugin's name is words of a-z and 0-9 joined by _, " +
           std::to_string(name_bytes_max) + " letters at most, such as dao_votes";
  }
  return {};
}

std::vector<ProjectFile> plugin_project(Slot slot, std::string_view name) {
  const bool is_lane = slot == Slot::lane;
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), to_upper);
  const std::pair<std::string_view, std::string> words[] = {
      {"{{name}}", std::string(name)},
      {"{{NAME}}", upper},
      {"{{Class}}", capitalized(name, "")},
      {"{{Header}}", capitalized(name, "-")},
      {"{{header}}", replaced(name, "_", "-")},
      {"{{slot}}", is_lane ? "lane" : "provider"},
      {"{{next}}", is_lane ? "Lanes are taken at a start, so restart the gateway."
                           : "Name it in a registry file and run `turnpike reload`."}};
  const auto file = [&](std::string file_name, std::string_view text) {
    ProjectFile made{std::move(file_name), std::string(text)};
    for (const auto& [word, value] : words) made.text = replaced(made.text, word, value);
    return made;
  };
  const std::string stem(name);
  return {file("CMakeLists.txt", plugin_cmake()), file("README.md", plugin_readme()),
          file(stem + ".cpp", is_lane ? lane_source() : provider_source()),
          file(stem + "_test.cpp", is_lane ? lane_test() : provider_test())};
}

}  // namespace turnpike::app
