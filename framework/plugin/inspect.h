// inspect(): reads a plugin file's description of itself from its bytes, without running its code.
// This is the first of the three gates before a plugin's code is called:
//
//   1  the file is an ELF shared object for this machine that exports turnpike_plugin_v1 and
//      nothing else, uses the shared libstdc++ with its operator new and delete, and whose
//      descriptor begins with the magic                                          inspect()
//   2  the descriptor's size, ABI number and build fingerprint are this gateway's, compared in the
//      file and again after loading                                    built_like_us(), Library
//   3  each factory returns an object, and its offers are well-formed                   Library
//
// Pure functions of the file; safe on any Thread. They block on the file: start-up and tools only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <turnpike/abi.h>
#include <turnpike/result.h>

namespace turnpike::plugin {

inline constexpr std::string_view descriptor_symbol = "turnpike_plugin_v1";
inline constexpr std::uint64_t plugin_file_bytes_max = 256ull * 1024 * 1024;

// Why a file is not a plugin for this gateway: the file, the fault, and what to do about it.
struct LoadError {
  std::string file;
  std::string problem;
  [[nodiscard]] std::string text() const { return file + ": " + problem; }
};

struct PluginInfo {
  std::string file;
  std::string sha256;  // hex, of the inspected bytes
  std::uint32_t descriptor_size = 0;
  std::uint32_t abi = 0;
  // The members below are read only when size and ABI number are ours: otherwise their offsets are
  // unknown.
  bool is_readable = false;
  std::vector<Slot> slots;  // slots that the plugin fills, each once; at least one
  Execution execution = Execution::cooperative;
  std::string name;
  std::string version;
  std::string fingerprint;
  std::vector<std::string> needed_libraries;
};

std::string_view name_of(Slot slot) noexcept;  // empty: not a slot of this gateway
// "provider" or "provider, lane".
std::string names_of(const std::vector<Slot>& slots);
std::string_view name_of(Execution execution) noexcept;

// The slots that a descriptor fills, in its order.
std::vector<Slot> slots_of(const Descriptor& descriptor);

bool fills(const PluginInfo& info, Slot slot) noexcept;

// The first gate.
Result<PluginInfo, LoadError> inspect(const std::filesystem::path& file);
Result<PluginInfo, LoadError> inspect(std::string file_name, std::span<const std::uint8_t> bytes);

// The part of the second gate that the file alone allows; nullopt: passed.
std::optional<LoadError> built_like_us(const PluginInfo& info);

}  // namespace turnpike::plugin
