// The files of a new plugin's project (`turnpike plugin new`): the templates in plugin_project/
// with the plugin's name filled in. Pure functions; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/abi.h>

namespace turnpike::app {

struct ProjectFile {
  std::string name;
  std::string text;
};

// The slots that have a project, by name.
std::optional<Slot> slot_named(std::string_view word);
inline constexpr const char* slot_words[] = {"provider", "lane", "processor"};

// REQUIRES: problem_of_plugin_name(name) is empty, and slot_named() knows the slot.
std::vector<ProjectFile> plugin_project(Slot slot, std::string_view name);

// Returns why this is not a name for a plugin and its files; empty: it is one.
std::string problem_of_plugin_name(std::string_view name);

// The templates, compiled in.
std::string_view plugin_cmake() noexcept;
std::string_view plugin_readme() noexcept;
std::string_view provider_source() noexcept;
std::string_view provider_test() noexcept;
std::string_view lane_source() noexcept;
std::string_view lane_test() noexcept;
std::string_view processor_source() noexcept;
std::string_view processor_test() noexcept;

}  // namespace turnpike::app
