// SqlStatusStore: status::StatusStore on SQLite and PostgreSQL. Its members are implemented by
// subject: status_lease.cpp, status_rounds.cpp, status_history.cpp, status_incidents.cpp,
// status_words.cpp, status_sweeps.cpp, status_prune.cpp.
//
// Private to storage/; owned by Node; safe for concurrent use.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "status/store.h"
#include "storage/stores.h"

namespace turnpike::storage {

class SqlStatusStore final : public status::StatusStore {
 public:
  explicit SqlStatusStore(const Context& context)
      : context_(context), engine_(context.database.engine()) {}

  Answer<std::optional<status::Lease>> hold_lease(std::string_view node,
                                                  std::int64_t hold_ms) override;
  Answer<Unit> release_lease(std::string_view node) override;
  Answer<std::optional<status::Lease>> lease() override;

  Answer<status::Closing> close_round(const status::ClosedRound& round) override;
  Answer<std::uint64_t> newest_round(std::string_view stream) override;
  Answer<std::optional<status::NewestRound>> newest(std::string_view stream) override;
  Answer<std::vector<status::StoredRound>> rounds(std::string_view stream,
                                                  std::uint64_t from_round,
                                                  std::uint32_t limit) override;
  Answer<std::string> target_set(std::string_view hash) override;
  Answer<std::string> book_after(std::string_view stream, std::uint64_t round) override;
  Answer<std::uint64_t> first_verifiable(std::string_view stream) override;
  Answer<std::vector<status::SigningKey>> keys() override;

  Answer<Unit> write_report(const status::NodeReport& report) override;
  Answer<std::vector<status::NodeReport>> reports(std::int64_t from_ms) override;

  Answer<std::vector<status::Segment>> segments(std::string_view scope, std::int64_t length_ms,
                                                std::int64_t from_ms) override;
  Answer<std::vector<status::Segment>> all_segments(std::int64_t length_ms,
                                                    std::int64_t from_ms) override;
  Answer<std::vector<status::ShownIncident>> incidents(
      const status::IncidentQuery& query) override;
  Answer<std::vector<status::ShownIncident>> recent_incidents(std::int64_t since_ms) override;
  Answer<std::optional<status::ShownIncident>> incident(std::string_view id) override;
  Answer<std::uint64_t> prune(const status::Retention& retention) override;

  Answer<bool> add_note(std::string_view incident_id, std::string_view text,
                        const identity::Actor& actor) override;
  Answer<std::string> open_incident(std::string_view scope, status::Level severity,
                                    std::string_view text, const identity::Actor& actor) override;
  Answer<bool> resolve_incident(std::string_view incident_id, std::string_view text,
                                const identity::Actor& actor) override;
  Answer<std::string> announce(const status::Maintenance& maintenance,
                               const identity::Actor& actor) override;
  Answer<bool> cancel_maintenance(std::string_view id, const identity::Actor& actor) override;
  Answer<std::vector<status::Maintenance>> maintenance(std::int64_t now_ms) override;

  Answer<Unit> keep_shape(std::string_view operation, std::string_view shape) override;
  Answer<std::vector<std::pair<std::string, std::string>>> shapes() override;

  Answer<status::Sweep> begin_sweep(const status::Sweep& sweep) override;
  Answer<std::optional<status::Sweep>> sweep(std::string_view id) override;
  Answer<std::optional<status::Sweep>> running_sweep() override;
  Answer<std::vector<status::Sweep>> sweeps(std::uint32_t limit) override;
  Answer<Unit> answer_sweep(std::string_view id,
                            std::span<const status::SweepTarget> answers) override;
  Answer<std::optional<status::Sweep>> end_sweep(std::string_view id, status::SweepState state,
                                                 std::string_view reason) override;

 private:
  // One read on any session; `work` takes a Connection&.
  template <class T, class F>
  Answer<T> read(std::string_view what, F&& work) {
    return answered<T>(context_, base::ErrorCode::status_unavailable, what,
                       [&]() -> T { return context_.database.with(std::forward<F>(work)); });
  }
  // Several reads in one snapshot; `work` takes a Transaction&.
  template <class T, class F>
  Answer<T> read_at_once(std::string_view what, F&& work) {
    return read<T>(what, [&](Connection& connection) -> T {
      Transaction snapshot(connection, Transaction::Kind::snapshot, context_.database.writer());
      return work(snapshot);
    });
  }
  // A write transaction of its own; `work` takes a Transaction&.
  template <class T, class F>
  Answer<T> write(std::string_view what, F&& work) {
    return answered<T>(context_, base::ErrorCode::status_unavailable, what,
                       [&]() -> T { return context_.database.write(std::forward<F>(work)); });
  }

  // Reads incidents with their notes and events.
  std::vector<status::ShownIncident> shown(Transaction& transaction, const Rows& rows);
  static std::optional<status::Sweep> sweep_in(Transaction& transaction, const Rows& rows);
  static status::Sweep sweep_at(Transaction& transaction, const Rows& rows, std::size_t row);

  const Context& context_;
  const Engine engine_;
};

}  // namespace turnpike::storage
