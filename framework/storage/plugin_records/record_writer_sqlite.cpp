#include <algorithm>

#include "base/crash_points.h"
#include "storage/plugin_records/record_table.h"

namespace turnpike::storage {
namespace {

using base::CrashPoint;

constexpr Query select_conflicts{
    "SELECT j.value ->> 'a' AS at FROM json_each($1) AS j LEFT JOIN plugin_record AS r"
    " ON r.plugin = j.value ->> 'p' AND r.key = j.value ->> 'k'"
    " WHERE COALESCE(r.version, 0) <> j.value ->> 'v'",
    "i"};
constexpr Query upsert_records{
    "INSERT INTO plugin_record (plugin, key, version, value) VALUES (?, ?, ?, CAST(? AS BLOB))"
    " ON CONFLICT (plugin, key) DO UPDATE SET version = excluded.version, value = excluded.value"};
constexpr Query delete_records{"DELETE FROM plugin_record WHERE plugin = ? AND key = ?"};

class SqliteWriter final : public records::Writer {
 public:
  explicit SqliteWriter(const Context& context)
      : context_(context), connection_(context.database.connect()) {}

  records::Stored<records::Conflicts> write(std::span<const records::Apply> batch) override {
    return tabled<records::Conflicts>([&] {
      pass(CrashPoint::record_before);
      fill_checks(checks_, batch);
      Transaction transaction(*connection_, Transaction::Kind::write, context_.database.writer());
      const Rows rows = transaction.run(select_conflicts, {checks_});
      records::Conflicts conflicts;
      for (std::size_t row = 0; row < rows.size(); ++row) {
        conflicts.push_back(static_cast<std::size_t>(rows.number(row, 0)));
      }
      std::sort(conflicts.begin(), conflicts.end());
      conflicts.erase(std::unique(conflicts.begin(), conflicts.end()), conflicts.end());
      fill(batch, conflicts);
      transaction.run_bulk(upsert_records, upserts_);
      transaction.run_bulk(delete_records, deletes_);
      transaction.commit();
      pass(CrashPoint::record_after);
      return conflicts;
    });
  }

  // A SQLite commit of unknown outcome is a fatal error, so there is never one to look up.
  records::Stored<std::optional<records::Conflicts>> outcome() override {
    return std::optional<records::Conflicts>();
  }

  records::Stored<std::optional<std::int64_t>> now_ms() override {
    return std::optional<std::int64_t>();
  }

 private:
  void fill(std::span<const records::Apply> batch, const records::Conflicts& conflicts) {
    upserts_.clear();
    deletes_.clear();
    auto conflict = conflicts.begin();
    for (std::size_t at = 0; at < batch.size(); ++at) {
      if (conflict != conflicts.end() && *conflict == at) {
        ++conflict;
        continue;
      }
      const records::Apply& apply = batch[at];
      for (const StoreWrite& write : apply.writes) {
        Bulk& rows = write.value ? upserts_ : deletes_;
        rows.add(0, apply.plugin);
        rows.add(1, write.key);
        if (!write.value) continue;
        rows.add(2, static_cast<std::int64_t>(apply.version));
        rows.add(3, *write.value);
      }
    }
  }

  const Context& context_;
  std::string checks_;
  // Bound by statements of the connection, which is therefore destroyed first.
  Bulk upserts_{"ttit"};
  Bulk deletes_{"tt"};
  const std::unique_ptr<Connection> connection_;
};

}  // namespace

std::unique_ptr<records::Writer> make_sqlite_writer(const Context& context) {
  return std::make_unique<SqliteWriter>(context);
}

}  // namespace turnpike::storage
