#include "storage/plugin_records/record_table.h"

#include <algorithm>

#include "base/limits.h"
#include "storage/engine/row_text.h"

namespace turnpike::storage {
namespace {

// Values are read as hex, on SQLite too, since PostgreSQL's text cannot hold a NUL.
constexpr Query get_sqlite{
    "SELECT version, hex(value) AS bytes FROM plugin_record WHERE plugin = $1 AND key = $2", "it"};
constexpr Query get_postgres{
    "SELECT version, encode(value, 'hex') AS bytes FROM plugin_record"
    " WHERE plugin = $1 AND key = $2",
    "it"};

// Returns those of the first $4 records that begin before byte $5 of their concatenated values.
#define TURNPIKE_SCAN(hex)                                                                  \
  "SELECT r.key, r.version, " hex                                                           \
  " AS bytes FROM"                                                                          \
  " (SELECT key, SUM(size) OVER (ORDER BY key) - size AS before FROM"                       \
  " (SELECT key, length(value) AS size FROM plugin_record"                                  \
  " WHERE plugin = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4) AS page) AS sized"  \
  " JOIN plugin_record AS r ON r.plugin = $1 AND r.key = sized.key WHERE sized.before < $5" \
  " ORDER BY r.key"
constexpr Query scan_sqlite{TURNPIKE_SCAN("hex(r.value)"), "tit"};
constexpr Query scan_postgres{TURNPIKE_SCAN("encode(r.value, 'hex')"), "tit"};
#undef TURNPIKE_SCAN

int value_of(char digit) noexcept { return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10; }

// REQUIRES: an even number of hex digits.
std::string from_hex(const std::string& hex) {
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = static_cast<char>(value_of(hex[2 * at]) << 4 | value_of(hex[2 * at + 1]));
  }
  return bytes;
}

class SqlRecordTable final : public records::Table {
 public:
  explicit SqlRecordTable(const Context& context)
      : context_(context), is_sqlite_(context.database.engine() == Engine::sqlite) {}

  records::Stored<std::unique_ptr<records::Writer>> open_writer() override {
    return tabled<std::unique_ptr<records::Writer>>(
        [&] { return is_sqlite_ ? make_sqlite_writer(context_) : make_postgres_writer(context_); });
  }

  records::Stored<std::optional<StoreRecord>> get(std::string_view plugin,
                                                  std::string_view key) override {
    using Answer = std::optional<StoreRecord>;
    return tabled<Answer>([&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(is_sqlite_ ? get_sqlite : get_postgres, {plugin, key});
        if (rows.empty()) return std::nullopt;
        return StoreRecord{std::string(key), from_hex(rows.text(0, 1)),
                           static_cast<std::uint64_t>(rows.number(0, 0))};
      });
    });
  }

  records::Stored<std::vector<StoreRecord>> scan(std::string_view plugin, std::string_view prefix,
                                                 std::string_view after,
                                                 std::uint32_t limit) override {
    using Answer = std::vector<StoreRecord>;
    // Keys are visible ASCII, so these are lower and upper bounds.
    const std::string from = std::max(std::string(prefix), std::string(after) + '\x01');
    const std::string to = std::string(prefix) + '\x7f';
    return tabled<Answer>([&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows =
            connection.run(is_sqlite_ ? scan_sqlite : scan_postgres,
                           {plugin, from, to, std::int64_t{limit},
                            static_cast<std::int64_t>(base::limits::store_scan_bytes_max)});
        Answer records;
        records.reserve(rows.size());
        for (std::size_t row = 0; row < rows.size(); ++row) {
          records.push_back({rows.text(row, 0), from_hex(rows.text(row, 2)),
                             static_cast<std::uint64_t>(rows.number(row, 1))});
        }
        return records;
      });
    });
  }

 private:
  const Context& context_;
  const bool is_sqlite_;
};

}  // namespace

void fill_checks(std::string& text, std::span<const records::Apply> batch) {
  text = "[";
  for (std::size_t at = 0; at < batch.size(); ++at) {
    for (const StoreCheck& check : batch[at].checks) {
      RowText row(text);
      row.add('a', static_cast<std::int64_t>(at));
      row.add('p', batch[at].plugin);
      row.add('k', check.key);
      row.add('v', static_cast<std::int64_t>(check.version));
    }
  }
  close_array(text);
}

std::unique_ptr<records::Table> make_record_table(const Context& context) {
  return std::make_unique<SqlRecordTable>(context);
}

}  // namespace turnpike::storage
