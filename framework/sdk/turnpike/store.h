// Store: durable keys and values of one plugin, the same for all nodes of a deployment. A plugin
// sees its own keys only, and those of its earlier versions. The host owns it; any fiber and any
// Thread that the host runs the plugin on may use it. Its members suspend a cooperative plugin's
// fiber instead of blocking its thread, until the call's deadline at most.
//
// Every record has a version: a number that the host draws at random for each apply() and never
// uses again, so a record that was removed and made anew is not taken for the old one. To change
// what was read, apply() with a check of the version read; of several who do so, one succeeds.
//
// Keys are 1 to 200 bytes of visible ASCII ('!' to '~'), values up to 2 MiB of any bytes. One
// apply() names up to 64 keys, a key at most once in its checks and once in its writes, and brings
// up to 4 MiB. More than that is a fault of the plugin: nothing is done, and the log says what it
// was. Keys that begin alike for what is written at about the same time cost the disk least.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

namespace turnpike {

class Call;

// Holds while the record of that key has that version; version 0: while there is none.
struct StoreCheck {
  std::string_view key;
  std::uint64_t version = 0;
};

// Without a value the record is removed, if there is one.
struct StoreWrite {
  std::string_view key;
  std::optional<std::string_view> value;
};

enum class StoreOutcome : std::uint8_t {
  applied,      // durably, as far as the operator's setting for the ledger says
  conflict,     // a check does not hold; nothing is written
  unavailable,  // certainly nothing is written, and nothing will be
  unknown,      // it may have been written, or may yet be: get() tells once the store is back
};

struct StoreApplied {
  StoreOutcome outcome = StoreOutcome::unavailable;
  std::uint64_t version = 0;  // applied: of every record that it wrote
};

struct StoreRecord {
  std::string key;
  std::string value;
  std::uint64_t version = 0;  // never 0
};

class Store {
 public:
  virtual ~Store() = default;
  // In one durable step: if all checks hold, all writes are done; else none. Applies are atomic and
  // isolated against each other, on all nodes. Once it waits, the caller's cancellation changes
  // nothing: the outcome is waited for until the deadline. What it is given is copied.
  virtual StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes,
                             Call& call) noexcept = 0;
  // The record as of some moment during the call; an apply() that was answered before is seen.
  virtual Result<std::optional<StoreRecord>> get(std::string_view key, Call& call) noexcept = 0;
  // Records whose keys begin with `prefix` and are greater than `after`, in the order of their
  // bytes: the first `limit` of them, or fewer (but one at least) when these come to more than
  // 4 MiB. The next page begins after the last key. At most 1,000 a page, whatever `limit` says.
  virtual Result<std::vector<StoreRecord>> scan(std::string_view prefix, std::string_view after,
                                                std::uint32_t limit, Call& call) noexcept = 0;
  // The deployment's clock (the database's), as known without waiting: milliseconds since 1970. For
  // times that several nodes compare, such as when a lease ends.
  [[nodiscard]] virtual std::int64_t now_ms() const noexcept = 0;
};

}  // namespace turnpike
