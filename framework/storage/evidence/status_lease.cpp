#include "storage/evidence/status_store.h"

namespace turnpike::storage {
namespace {

using status::Lease;

// Locks the row until the commit, so that times are read in the order of the changes.
constexpr Query lock_leader{
    "UPDATE status_lease SET name = name WHERE name = 'leader'"
    " RETURNING holder, epoch, until_ms",
    "tii"};
constexpr Query update_leader{
    "UPDATE status_lease SET holder = $1, epoch = $2, until_ms = $3 WHERE name = 'leader'"};
constexpr Query release_leader{
    "UPDATE status_lease SET holder = '', until_ms = 0 WHERE name = 'leader' AND holder = $1"};
constexpr Query select_leader{
    "SELECT holder, epoch, until_ms FROM status_lease WHERE name = 'leader' AND holder <> ''",
    "tii"};

Lease lease_at(const Rows& rows) {
  return {rows.text(0, 0), static_cast<std::uint64_t>(rows.number(0, 1)), rows.number(0, 2)};
}

}  // namespace

SqlStatusStore::Answer<std::optional<Lease>> SqlStatusStore::hold_lease(std::string_view node,
                                                                       std::int64_t hold_ms) {
  using Held = std::optional<Lease>;
  return write<Held>("hold status lease", [&](Transaction& transaction) -> Held {
    Lease lease = lease_at(transaction.run(lock_leader));
    const std::int64_t now_ms = context_.now_ms(transaction);
    const bool is_free = lease.until_ms <= now_ms;
    if (!is_free && lease.holder != node) return std::nullopt;
    if (is_free) ++lease.epoch;
    lease.holder = node;
    lease.until_ms = now_ms + hold_ms;
    transaction.run(update_leader,
                    {node, static_cast<std::int64_t>(lease.epoch), lease.until_ms});
    return lease;
  });
}

SqlStatusStore::Answer<Unit> SqlStatusStore::release_lease(std::string_view node) {
  return write<Unit>("release status lease", [&](Transaction& transaction) {
    transaction.run(release_leader, {node});
    return Unit{};
  });
}

SqlStatusStore::Answer<std::optional<Lease>> SqlStatusStore::lease() {
  using Held = std::optional<Lease>;
  return read<Held>("read status lease", [&](Connection& connection) -> Held {
    const Rows rows = connection.run(select_leader);
    if (rows.empty()) return std::nullopt;
    return lease_at(rows);
  });
}

}  // namespace turnpike::storage
