// The binary contract between gateway and plugin: one exported symbol, `turnpike_plugin_v1`, a
// Descriptor in the ELF section "boostdll". The Descriptor stores its texts in place, so `turnpike
// plugin inspect` and the gateway's first check read it from the file and run no code of the
// plugin.
//
// The fingerprint covers everything that changes the layout of the types that cross the boundary.
// The gateway refuses at start every plugin whose fingerprint differs from its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#ifndef TURNPIKE_SDK_HASH
#error "TURNPIKE_SDK_HASH is not defined: build plugins with turnpike_add_plugin()"
#endif

namespace turnpike {

class SlotObject;

inline constexpr std::uint32_t abi_number = 1;

// The slots that a plugin can fill. A new slot takes a new number; the others keep theirs.
enum class Slot : std::uint32_t { none = 0, provider = 1, lane = 2, processor = 3 };

// How the host runs a plugin's functions; see provider.h.
enum class Execution : std::uint32_t { cooperative = 1, blocking = 2 };

// A text of fixed size, stored in place: without a pointer it needs no relocation.
template <std::size_t Size>
struct FixedText {
  char bytes[Size] = {};
  constexpr FixedText() = default;
  template <std::size_t Length>
  constexpr FixedText(const char (&text)[Length]) {  // NOLINT: literals convert by intention
    static_assert(Length <= Size, "text is too long for its place in the descriptor");
    for (std::size_t at = 0; at < Length; ++at) bytes[at] = text[at];
  }
  [[nodiscard]] constexpr std::string_view view() const noexcept {
    std::size_t length = 0;
    while (length < Size && bytes[length] != '\0') ++length;
    return {bytes, length};
  }
};

// A slot that the plugin fills, with the factory of its object: a Provider for Slot::provider, a
// Lane for Slot::lane, a Processor for Slot::processor. The factory may throw.
struct FilledSlot {
  Slot slot = Slot::none;
  SlotObject* (*make)() = nullptr;
};

inline constexpr std::size_t slots_max = 8;

struct Descriptor {
  FixedText<16> magic{"turnpike-plugin"};
  std::uint32_t size = sizeof(Descriptor);
  std::uint32_t abi = abi_number;
  Execution execution = Execution::cooperative;
  FixedText<64> name;
  FixedText<32> version;
  FixedText<192> fingerprint;
  FilledSlot slots[slots_max] = {};  // each slot at most once; unused entries come last
};

#define TURNPIKE_TEXT_(x) #x
#define TURNPIKE_TEXT(x) TURNPIKE_TEXT_(x)

#if defined(__SANITIZE_ADDRESS__)
#define TURNPIKE_SANITIZER_NAME "address"
#elif defined(__SANITIZE_THREAD__)
#define TURNPIKE_SANITIZER_NAME "thread"
#else
#define TURNPIKE_SANITIZER_NAME "none"
#endif

#ifdef _GLIBCXX_DEBUG
#define TURNPIKE_DEBUG_CONTAINERS "yes"
#else
#define TURNPIKE_DEBUG_CONTAINERS "no"
#endif

#ifdef __clang__
#define TURNPIKE_COMPILER "clang-" TURNPIKE_TEXT(__clang_major__)
#else
#define TURNPIKE_COMPILER "gcc-" TURNPIKE_TEXT(__GNUC__)
#endif

inline constexpr char build_fingerprint[] =
    TURNPIKE_COMPILER " cxx-" TURNPIKE_TEXT(__cplusplus) " string-abi-" TURNPIKE_TEXT(
        _GLIBCXX_USE_CXX11_ABI) " pointer-" TURNPIKE_TEXT(__SIZEOF_POINTER__)
        " sanitizer-" TURNPIKE_SANITIZER_NAME " debug-containers-" TURNPIKE_DEBUG_CONTAINERS
        " sdk-" TURNPIKE_SDK_HASH;

}  // namespace turnpike
