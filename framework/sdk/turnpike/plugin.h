// The macro that defines a plugin. In exactly one source file, at namespace scope:
//
//   TURNPIKE_PROVIDER("acme", "1.2.0", cooperative, [] { return std::make_unique<Acme>(); })
//   TURNPIKE_LANE("vouchers", "0.3.0", blocking, [] { return std::make_unique<Vouchers>(); })
//   TURNPIKE_PROCESSOR("bank", "1.0.0", cooperative, [] { return std::make_unique<Bank>(); })
//
// or, for a plugin that fills several slots:
//
//   TURNPIKE_PLUGIN("acme", "1.2.0", cooperative,
//                   turnpike::fills<turnpike::Provider, [] { return std::make_unique<Acme>(); }>(),
//                   turnpike::fills<turnpike::Lane, [] { return std::make_unique<Coins>(); }>())
//
// The macro exports the descriptor (turnpike/abi.h). The gateway catches every exception at each
// call into the plugin, copies its text, and makes a Failure of it. (Functions that the interfaces
// declare noexcept must not throw: that ends the process.)
#pragma once

#include <memory>

#include <turnpike/abi.h>
#include <turnpike/lane.h>
#include <turnpike/processor.h>
#include <turnpike/provider.h>

namespace turnpike {

template <class Interface>
inline constexpr Slot slot_of = Slot::none;
template <>
inline constexpr Slot slot_of<Provider> = Slot::provider;
template <>
inline constexpr Slot slot_of<Lane> = Slot::lane;
template <>
inline constexpr Slot slot_of<Processor> = Slot::processor;

// Fills the slot of `Interface` with the objects that `factory()` returns: each a std::unique_ptr
// to an implementation of the interface.
template <class Interface, auto factory>
constexpr FilledSlot fills() noexcept {
  static_assert(slot_of<Interface> != Slot::none, "not the interface of a slot");
  return {slot_of<Interface>, []() -> SlotObject* {
            std::unique_ptr<Interface> object = factory();
            return object.release();
          }};
}

}  // namespace turnpike

// The section in which the gateway's first check looks for the descriptor. `used` keeps the symbol,
// which nothing in the plugin refers to.
#define TURNPIKE_EXPORT_DESCRIPTOR             \
  extern "C"                                   \
      [[gnu::visibility("default"), gnu::used, \
        gnu::section("boostdll")]] constinit const ::turnpike::Descriptor turnpike_plugin_v1

#define TURNPIKE_PLUGIN(plugin_name, plugin_version, execution_kind, ...)           \
  TURNPIKE_EXPORT_DESCRIPTOR = {.execution = ::turnpike::Execution::execution_kind, \
                                .name = plugin_name,                                \
                                .version = plugin_version,                          \
                                .fingerprint = ::turnpike::build_fingerprint,       \
                                .slots = {__VA_ARGS__}};

#define TURNPIKE_PROVIDER(plugin_name, plugin_version, execution_kind, ...) \
  TURNPIKE_PLUGIN(plugin_name, plugin_version, execution_kind,              \
                  ::turnpike::fills<::turnpike::Provider, __VA_ARGS__>())

#define TURNPIKE_LANE(plugin_name, plugin_version, execution_kind, ...) \
  TURNPIKE_PLUGIN(plugin_name, plugin_version, execution_kind,          \
                  ::turnpike::fills<::turnpike::Lane, __VA_ARGS__>())

#define TURNPIKE_PROCESSOR(plugin_name, plugin_version, execution_kind, ...) \
  TURNPIKE_PLUGIN(plugin_name, plugin_version, execution_kind,               \
                  ::turnpike::fills<::turnpike::Processor, __VA_ARGS__>())
