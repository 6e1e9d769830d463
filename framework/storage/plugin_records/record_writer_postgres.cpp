#include <charconv>

#include "base/crash_points.h"
#include "storage/engine/row_text.h"
#include "storage/plugin_records/record_table.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::CrashPoint;

constexpr Query call_write{
    "SELECT write_records_v1($1, $2, $3::json, $4::json, $5::json,"
    " NULLIF($6::text, '')::json) AS conflicts",
    "t"};
// Rows of sessions that ended in a crash; outcomes are never awaited that long.
constexpr Query delete_old_streams{
    "DELETE FROM record_stream WHERE id = $1 OR used_at < clock_timestamp() - INTERVAL '7 days'"};
constexpr Query insert_record_stream{"INSERT INTO record_stream DEFAULT VALUES RETURNING id", "i"};
constexpr Query fence{
    "UPDATE record_stream SET is_fenced = TRUE WHERE id = $1 RETURNING no, conflicts", "it"};

records::Conflicts read_conflicts(const std::string& text) {
  records::Conflicts conflicts;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::size_t position = 0;
    at = std::from_chars(at, end, position).ptr + 1;  // the comma
    conflicts.push_back(position);
  }
  return conflicts;
}

class PostgresWriter final : public records::Writer {
 public:
  explicit PostgresWriter(const Context& context)
      : context_(context), connection_(context.database.connect()) {}

  records::Stored<records::Conflicts> write(std::span<const records::Apply> batch) override {
    return tabled<records::Conflicts>([&] {
      reconnect_if_broken();
      if (stream_ == 0) open_stream();
      pass(CrashPoint::record_before);
      fill_checks(checks_, batch);
      fill(batch);
      std::string conflicts;
      try {
        conflicts =
            connection_->run(call_write, {stream_, number_ + 1, names_, checks_, writes_, removes_})
                .text(0, 0);
      } catch (const StoreError& error) {
        // The statement is the whole transaction: without an answer it may have committed.
        if (connection_->broken()) throw StoreError(StoreError::Kind::unknown, error.what());
        leave_stream();
        throw;
      }
      ++number_;
      pass(CrashPoint::record_after);
      return read_conflicts(conflicts);
    });
  }

  records::Stored<std::optional<records::Conflicts>> outcome() override {
    using Answer = std::optional<records::Conflicts>;
    return tabled<Answer>([&]() -> Answer {
      connection_ = context_.database.connect();
      const Rows rows = connection_->run(fence, {stream_});
      leave_stream();
      if (rows.empty() || rows.number(0, 0) == number_) return std::nullopt;
      return read_conflicts(rows.text(0, 1));
    });
  }

  records::Stored<std::optional<std::int64_t>> now_ms() override {
    using Answer = std::optional<std::int64_t>;
    return tabled<Answer>([&]() -> Answer {
      if (context_.time == TimeSource::argument) return std::nullopt;
      reconnect_if_broken();
      return connection_->run(server_time).number(0, 0);
    });
  }

 private:
  void reconnect_if_broken() {
    if (!connection_->broken()) return;
    connection_ = context_.database.connect();
    leave_stream();
  }

  // REQUIRES: the outcome of its last group is known.
  void leave_stream() { left_stream_ = std::exchange(stream_, 0); }

  void open_stream() {
    connection_->run(delete_old_streams, {left_stream_});
    stream_ = connection_->run(insert_record_stream).number(0, 0);
    number_ = 0;
  }

  void fill(std::span<const records::Apply> batch) {
    names_ = "[";
    writes_ = "[";
    removes_ = "[";
    for (std::size_t at = 0; at < batch.size(); ++at) {
      const records::Apply& apply = batch[at];
      for (const StoreCheck& check : apply.checks) add_name(apply.plugin, check.key);
      for (const StoreWrite& write : apply.writes) {
        add_name(apply.plugin, write.key);
        RowText row(write.value ? writes_ : removes_);
        row.add('a', static_cast<std::int64_t>(at));
        row.add('p', apply.plugin);
        row.add('k', write.key);
        if (!write.value) continue;
        row.add('v', static_cast<std::int64_t>(apply.version));
        row.add('b', text::hex({reinterpret_cast<const std::uint8_t*>(write.value->data()),
                                write.value->size()}));
      }
    }
    close_array(names_);
    close_array(writes_);
    if (removes_.size() == 1) {
      removes_.clear();
    } else {
      close_array(removes_);
    }
  }

  void add_name(std::string_view plugin, std::string_view key) {
    RowText row(names_);
    row.add('p', plugin);
    row.add('k', key);
  }

  const Context& context_;
  std::unique_ptr<Connection> connection_;
  std::int64_t stream_ = 0;  // 0: not opened yet
  std::int64_t left_stream_ = 0;
  std::int64_t number_ = 0;  // of the last committed group of this stream
  std::string names_;
  std::string checks_;
  std::string writes_;
  std::string removes_;
};

}  // namespace

std::unique_ptr<records::Writer> make_postgres_writer(const Context& context) {
  return std::make_unique<PostgresWriter>(context);
}

}  // namespace turnpike::storage
