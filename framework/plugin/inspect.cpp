#include "plugin/inspect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <system_error>

#include "crypto/digest.h"
#include "plugin/elf.h"

namespace turnpike::plugin {

namespace {

constexpr std::string_view rebuild =
    "; rebuild it with turnpike_add_plugin() of this gateway's installed package";

// The replaceable forms of operator new and delete (Itanium C++ ABI names).
bool is_allocation_function(std::string_view symbol) noexcept {
  const bool is_placement = symbol.ends_with("mPv") || symbol.ends_with("PvS_");
  if (is_placement) return false;  // a library's inline function, not an allocator
  return symbol.starts_with("_Znw") || symbol.starts_with("_Zna") || symbol.starts_with("_Zdl") ||
         symbol.starts_with("_Zda");
}

bool imports(const ElfImage& image, std::string_view prefix) {
  return std::any_of(image.symbols().begin(), image.symbols().end(), [&](const ElfSymbol& symbol) {
    return !symbol.is_defined && symbol.name.starts_with(prefix);
  });
}

// A second libstdc++ or allocator in the process would free memory that the other allocated and not
// catch the other's exceptions. A hidden operator new is in no table of a stripped file, but then
// the file does not import libstdc++'s operator new either, which every plugin calls in its
// factory.
std::string problem_of_runtime(const ElfImage& image) {
  const auto& needed = image.needed_libraries();
  if (std::find(needed.begin(), needed.end(), "libstdc++.so.6") == needed.end()) {
    return "does not need libstdc++.so.6, so its allocator and exceptions would be its own; "
           "build it with turnpike_add_plugin() and without -static-libstdc++";
  }
  const bool defines_allocation =
      std::any_of(image.symbols().begin(), image.symbols().end(), [](const ElfSymbol& symbol) {
        return symbol.is_defined && is_allocation_function(symbol.name);
      });
  if (defines_allocation || !imports(image, "_Znw") || !imports(image, "_Zdl")) {
    return "brings its own operator new or delete, so memory could not cross its boundary; "
           "remove it";
  }
  return {};
}

std::string problem_of_exports(const ElfImage& image) {
  const ElfSymbol* own = image.find(descriptor_symbol);
  if (own == nullptr || !own->is_defined) {
    return "does not export turnpike_plugin_v1, so it is no plugin; put TURNPIKE_PROVIDER or "
           "TURNPIKE_LANE into one source file and build it with turnpike_add_plugin()";
  }
  return {};
}

std::string problem_of_further_exports(const ElfImage& image) {
  for (const ElfSymbol& symbol : image.symbols()) {
    if (!symbol.is_defined || symbol.name == descriptor_symbol) continue;
    return "exports " + std::string(symbol.name) +
           " besides turnpike_plugin_v1, which could replace a symbol of the gateway or of another "
           "plugin; build it with turnpike_add_plugin()";
  }
  return {};
}

// Reads the descriptor's bytes into `info`; returns the fault, if any.
std::string read_descriptor(const ElfImage& image, PluginInfo& info) {
  const std::uint64_t address = image.find(descriptor_symbol)->address;
  Descriptor descriptor;
  const Descriptor expected;
  constexpr std::size_t head = offsetof(Descriptor, execution);
  const auto head_bytes = image.bytes_at(address, head);
  if (!head_bytes) return "is damaged (its descriptor is not in the file); build or copy it again";
  std::memcpy(static_cast<void*>(&descriptor), head_bytes->data(), head);
  if (descriptor.magic.view() != expected.magic.view()) {
    return "has no Turnpike descriptor at turnpike_plugin_v1" + std::string(rebuild);
  }
  info.descriptor_size = descriptor.size;
  info.abi = descriptor.abi;
  if (descriptor.abi != abi_number || descriptor.size != sizeof(Descriptor)) return {};
  const auto bytes = image.bytes_at(address, sizeof(Descriptor));
  if (!bytes) return "is damaged (its descriptor is cut short); build or copy it again";
  // Includes the factories' addresses as in the file, before relocation.
  std::memcpy(static_cast<void*>(&descriptor), bytes->data(), sizeof(Descriptor));
  info.is_readable = true;
  info.slots = slots_of(descriptor);
  info.execution = descriptor.execution;
  info.name = descriptor.name.view();
  info.version = descriptor.version.view();
  info.fingerprint = descriptor.fingerprint.view();
  return {};
}

// Names become metric labels and words of the operator's YAML.
bool is_plain_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_' ||
           letter == '-';
  });
}

bool is_printable(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return letter >= ' ' && letter <= '~'; });
}

std::string problem_of_slots(const std::vector<Slot>& slots) {
  if (slots.empty()) return "fills no slot; name at least one in its TURNPIKE_ macro";
  for (auto slot = slots.begin(); slot != slots.end(); ++slot) {
    if (name_of(*slot).empty()) {
      return "names slot " + std::to_string(static_cast<std::uint32_t>(*slot)) +
             ", which this gateway does not have" + std::string(rebuild);
    }
    if (std::find(slots.begin(), slot, *slot) != slot) {
      return "fills the slot " + std::string(name_of(*slot)) + " twice; name it once";
    }
  }
  return {};
}

std::string problem_of_words(const PluginInfo& info) {
  if (std::string problem = problem_of_slots(info.slots); !problem.empty()) return problem;
  if (info.execution != Execution::cooperative && info.execution != Execution::blocking) {
    return "is neither `cooperative` nor `blocking`" + std::string(rebuild);
  }
  if (!is_plain_name(info.name)) {
    return "has a name that is not made of a-z, 0-9, _ and -; change it in its TURNPIKE_ macro";
  }
  if (!is_printable(info.version) || !is_printable(info.fingerprint)) {
    return "has a descriptor with unprintable text" + std::string(rebuild);
  }
  return {};
}

struct FileBytes {
  std::unique_ptr<std::uint8_t[]> memory;  // not zeroed first: files with symbols are large
  std::size_t size = 0;
};

Result<FileBytes, std::string> read_file(const std::filesystem::path& file) {
  const auto system_problem = [](const char* what) {
    return std::string(what) + ": " + std::generic_category().message(errno);
  };
  // O_NONBLOCK: opening a FIFO must not block the start.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_problem("cannot be opened");
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return system_problem("cannot be read");
  if (!S_ISREG(status.st_mode)) return std::string("is not a regular file");
  if ((status.st_mode & S_IWOTH) != 0) {
    return std::string(
        "may be written by every user of this machine, who could then run code in "
        "the gateway; take that right away (chmod o-w)");
  }
  if (static_cast<std::uint64_t>(status.st_size) > plugin_file_bytes_max) {
    return "is larger than " + std::to_string(plugin_file_bytes_max) + " bytes";
  }
  const auto bytes_max = static_cast<std::size_t>(status.st_size);
  FileBytes read{std::make_unique_for_overwrite<std::uint8_t[]>(bytes_max)};
  while (read.size < bytes_max) {
    const ssize_t count = ::read(descriptor, read.memory.get() + read.size, bytes_max - read.size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_problem("cannot be read");
    if (count == 0) break;  // the file shrank meanwhile
    read.size += static_cast<std::size_t>(count);
  }
  return read;
}

}  // namespace

std::vector<Slot> slots_of(const Descriptor& descriptor) {
  std::vector<Slot> slots;
  for (const FilledSlot& filled : descriptor.slots) {
    if (filled.slot == Slot::none) break;
    slots.push_back(filled.slot);
  }
  return slots;
}

bool fills(const PluginInfo& info, Slot slot) noexcept {
  return std::find(info.slots.begin(), info.slots.end(), slot) != info.slots.end();
}

std::string_view name_of(Slot slot) noexcept {
  switch (slot) {
    case Slot::none: break;
    case Slot::provider: return "provider";
    case Slot::lane: return "lane";
    case Slot::processor: return "processor";
  }
  return {};
}

std::string names_of(const std::vector<Slot>& slots) {
  std::string names;
  for (const Slot slot : slots) names.append(names.empty() ? "" : ", ").append(name_of(slot));
  return names;
}

std::string_view name_of(Execution execution) noexcept {
  return execution == Execution::cooperative ? "cooperative" : "blocking";
}

Result<PluginInfo, LoadError> inspect(std::string file_name, std::span<const std::uint8_t> bytes) {
  PluginInfo info;
  info.file = std::move(file_name);
  const auto image = ElfImage::parse(bytes);
  if (!image.ok()) return LoadError{info.file, image.error()};
  std::string problem = problem_of_exports(*image);
  if (problem.empty()) problem = problem_of_runtime(*image);
  if (problem.empty()) problem = problem_of_further_exports(*image);
  if (problem.empty()) problem = read_descriptor(*image, info);
  if (problem.empty() && info.is_readable) problem = problem_of_words(info);
  if (!problem.empty()) return LoadError{info.file, std::move(problem)};
  info.needed_libraries.assign(image->needed_libraries().begin(), image->needed_libraries().end());
  info.sha256 = crypto::sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return info;
}

Result<PluginInfo, LoadError> inspect(const std::filesystem::path& file) {
  try {
    const auto bytes = read_file(file);
    if (!bytes.ok()) return LoadError{file.string(), bytes.error()};
    return inspect(file.string(), std::span(bytes->memory.get(), bytes->size));
  } catch (const std::bad_alloc&) {
    return LoadError{file.string(), "does not fit into memory"};
  }
}

std::optional<LoadError> built_like_us(const PluginInfo& info) {
  if (info.abi != abi_number) {
    return LoadError{info.file, "was built for plugin ABI " + std::to_string(info.abi) +
                                    ", this gateway has " + std::to_string(abi_number) +
                                    std::string(rebuild)};
  }
  if (info.descriptor_size != sizeof(Descriptor)) {
    return LoadError{info.file, "has a descriptor of " + std::to_string(info.descriptor_size) +
                                    " bytes, this gateway's has " +
                                    std::to_string(sizeof(Descriptor)) + std::string(rebuild)};
  }
  if (info.fingerprint != build_fingerprint) {
    return LoadError{info.file, "was built as \"" + info.fingerprint + "\", this gateway is \"" +
                                    build_fingerprint + "\"" + std::string(rebuild)};
  }
  return std::nullopt;
}

}  // namespace turnpike::plugin
