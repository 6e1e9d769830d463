#include "app/plugins/plugin_project.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace turnpike::app {
namespace {

constexpr std::size_t name_bytes_max = 40;  // the descriptor's bound is 64

bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

char to_upper(char letter) {
  return is_lower(letter) ? static_cast<char>(letter - 'a' + 'A') : letter;
}

// "dao_votes" becomes "DaoVotes" with an empty `joint`, "Dao-Votes" with "-".
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

// The parts of a slot's project.
struct SlotProject {
  Slot slot;
  std::string_view word;
  std::string_view next;  // advice on the built plugin
  std::string_view (*source)() noexcept;
  std::string_view (*test)() noexcept;
};

constexpr SlotProject projects[] = {
    {Slot::provider, slot_words[0], "Name it in a registry file and run `turnpike reload`.",
     &provider_source, &provider_test},
    {Slot::lane, slot_words[1], "Lanes are taken at a start, so restart the gateway.", &lane_source,
     &lane_test},
    {Slot::processor, slot_words[2], "Processors are taken at a start, so restart the gateway.",
     &processor_source, &processor_test}};
static_assert(std::size(projects) == std::size(slot_words));

const SlotProject& project_of(Slot slot) {
  return *std::find_if(std::begin(projects), std::end(projects),
                       [slot](const SlotProject& each) { return each.slot == slot; });
}

}  // namespace

std::optional<Slot> slot_named(std::string_view word) {
  for (const SlotProject& each : projects) {
    if (each.word == word) return each.slot;
  }
  return std::nullopt;
}

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
  const SlotProject& project = project_of(slot);
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), to_upper);
  const std::pair<std::string_view, std::string> words[] = {
      {"{{name}}", std::string(name)},          {"{{NAME}}", upper},
      {"{{Class}}", capitalized(name, "")},     {"{{Header}}", capitalized(name, "-")},
      {"{{header}}", replaced(name, "_", "-")}, {"{{slot}}", std::string(project.word)},
      {"{{next}}", std::string(project.next)}};
  const auto file = [&](std::string file_name, std::string_view text) {
    ProjectFile made{std::move(file_name), std::string(text)};
    for (const auto& [word, value] : words) made.text = replaced(made.text, word, value);
    return made;
  };
  const std::string stem(name);
  return {file("CMakeLists.txt", plugin_cmake()), file("README.md", plugin_readme()),
          file(stem + ".cpp", project.source()), file(stem + "_test.cpp", project.test())};
}

}  // namespace turnpike::app
