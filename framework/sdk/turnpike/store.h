// Store: durable keys and values of one plugin, the same for all nodes of a deployment. A plugin
// sees only its own keys, including those of its earlier versions. The host owns it; any fiber and
// any Thread that the host runs the plugin on may use it. Its members suspend a cooperative
// plugin's fiber instead of blocking its thread, until the call's deadline at most.
//
// Every record has a version: a number that the host draws at random for each apply() and never
// uses again, so a record that was removed and created again has another version. For an atomic
// read-modify-write, apply() with a check of the version that was read; of several concurrent
// writers one succeeds.
//
// Keys are 1 to 200 bytes of visible ASCII ('!' to '~'), values up to 2 MiB of any bytes. One
// apply() names up to 64 keys, a key at most once in its checks and once in its writes, with up to
// 4 MiB in all. More than that is a fault of the plugin: nothing is written, and the log tells the
// reason. Records that are written at about the same time cost the disk least when their keys share
// a prefix.
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

// Holds while the record of `key` has this version. Version 0: while there is no such record.
struct StoreCheck {
  std::string_view key;
  std::uint64_t version = 0;
};

// Without a value, apply() removes the record, if there is one.
struct StoreWrite {
  std::string_view key;
  std::optional<std::string_view> value;
};

enum class StoreOutcome : std::uint8_t {
  applied,      // as durable as the operator's setting for the ledger says
  conflict,     // a check does not hold; nothing is written
  unavailable,  // certainly nothing is written, and nothing will be
  unknown,      // perhaps written now or later: get() tells once the store is back
};

struct StoreApplied {
  StoreOutcome outcome = StoreOutcome::unavailable;
  std::uint64_t version = 0;  // applied: that of every record written
};

struct StoreRecord {
  std::string key;
  std::string value;
  std::uint64_t version = 0;  // never 0
};

class Store {
 public:
  virtual ~Store() = default;
  // One atomic, durable step: if all checks hold, all writes are done; otherwise none. Applies are
  // isolated against each other, on all nodes. Once apply() waits, a cancellation by the caller has
  // no effect: apply() waits for the outcome until the deadline. It copies its arguments.
  virtual StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes,
                             Call& call) noexcept = 0;
  // The record as of some moment during the call. It includes every apply() that returned before.
  virtual Result<std::optional<StoreRecord>> get(std::string_view key, Call& call) noexcept = 0;
  // Records whose keys begin with `prefix` and are greater than `after`, in byte order: the first
  // `limit` of them, or fewer (but at least one) when they exceed 4 MiB. At most 1,000 for each
  // page, whatever `limit` says. The next page begins after the last key.
  virtual Result<std::vector<StoreRecord>> scan(std::string_view prefix, std::string_view after,
                                                std::uint32_t limit, Call& call) noexcept = 0;
  // The deployment's clock (the database's), without waiting: milliseconds since 1970. For times
  // that several nodes compare, such as the end of a lease.
  [[nodiscard]] virtual std::int64_t now_ms() const noexcept = 0;
};

}  // namespace turnpike
