#include "govdata/live/page.h"

#include <algorithm>

namespace turnpike::govdata {
namespace {

// Like a file, a page is refused if more than a fifth of its records are bad. Exceptions: up to
// four bad records among good ones do not block all later pages; and bad records from a chain are
// left out whatever their share, because the chain will never change them.
constexpr std::int64_t bad_denominator = 5;
constexpr std::int64_t bad_tolerated = 4;

bool is_malformed(SourceType type, const ImportSummary& summary) {
  if (type == SourceType::governor) return false;
  const std::int64_t bad = summary.rows_rejected;
  if (bad > 0 && bad == summary.rows_in) return true;
  return bad > bad_tolerated && bad * bad_denominator > summary.rows_in;
}

ImportOptions options_of(const SourceSettings& source, const Page& page, std::int64_t now_ms) {
  ImportOptions options;
  options.dao.dao_id = source.dao_id;
  if (!source.dao_name.empty()) options.dao.name = source.dao_name;
  options.scope = source.scope;
  options.clock_mode = source.clock_mode;
  options.chain_id = source.chain_id;
  options.stale_after_s = source.stale_after_s;
  options.now_ms = now_ms;
  options.ignores_unknown_proposals = true;
  options.pace = page.pace;
  if (source.type == SourceType::discourse) options.base_url = source.url;
  return options;
}

std::int64_t begin_page(Database& database, std::int64_t source_id, const SourceSettings& source,
                        const Page& page, std::int64_t now_ms) {
  database
      .prepare(
          "INSERT INTO import_run(source_id, importer, input_name, started_at, finished_at, status)"
          " VALUES (?1,?2,?3,?4,?4,'ok')")
      .with(source_id, "poll-" + std::string(name_of(source.type)), page.label, now_ms)
      .run();
  return database.last_row_id();
}

// Removes the run of a page that changed nothing.
void end_page(Database& database, std::int64_t run_id, const ImportSummary& summary,
              const std::string& note) {
  if (summary.rows_new + summary.rows_changed == 0) {
    database.prepare("DELETE FROM import_run WHERE run_id=?1").with(run_id).run();
    return;
  }
  database
      .prepare(
          "UPDATE import_run SET status=?2, rows_in=?3, rows_new=?4, rows_changed=?5, rows_same=?6,"
          " rows_rejected=?7, error=nullif(?8,'') WHERE run_id=?1")
      .with(run_id, note.empty() ? "ok" : "partial", summary.rows_in, summary.rows_new,
            summary.rows_changed, summary.rows_same, summary.rows_rejected, note)
      .run();
}

// `as_of` moves only at the end of a round. In the middle of one, the data is not complete up to a
// later time than before.
void move_on(Database& database, std::int64_t source_id, const std::string& cursor,
             const std::optional<std::int64_t>& as_of, const Page& page, const std::string& note,
             std::int64_t now_ms) {
  database
      .prepare(
          "UPDATE source SET cursor=?2, last_attempt_at=?3, last_error=nullif(?4,''),"
          " as_of = max(coalesce(?5, ?6), coalesce(?6, ?5)),"
          " last_success_at = CASE WHEN ?6 IS NULL THEN last_success_at ELSE ?3 END"
          " WHERE source_id=?1")
      .with(source_id, cursor, now_ms, note, as_of, page.complete_to_ms)
      .run();
}

std::optional<std::int64_t> as_of_of(Database& database, std::int64_t source_id) {
  auto row = database.prepare("SELECT as_of FROM source WHERE source_id=?1");
  row.with(source_id);
  return row.step() ? row.maybe_integer(0) : std::nullopt;
}

Applied apply_in_transaction(Database& database, std::int64_t source_id,
                             const SourceSettings& source, const Page& page, std::int64_t now_ms) {
  Transaction transaction(database, Transaction::Kind::write);
  if (read_cursor(database, source_id) != page.before) {
    return {"somebody else polls the same source into this store", 0, 0};
  }
  const auto as_of = as_of_of(database, source_id);
  ImportSummary summary;
  std::string note;
  const ImportOptions options = options_of(source, page, now_ms);
  if (page.read) {
    const std::int64_t run_id = begin_page(database, source_id, source, page, now_ms);
    Writer writer(database, {now_ms, page.as_of_ms.value_or(now_ms), run_id});
    std::string first;
    const OnRejected on_rejected = [&](const std::string& position, const std::string&) {
      if (first.empty()) first = position;
    };
    Run run(writer, options, on_rejected);
    writer.put_dao(options.dao);
    page.read(run);
    summary = run.summary();
    if (summary.rows_rejected > 0) {
      note = std::to_string(summary.rows_rejected) + " of " + std::to_string(summary.rows_in) +
             " records rejected, the first at " + first;
    }
    if (is_malformed(source.type, summary)) return {note + "; nothing of the page was kept", 0, 0};
    if (summary.rows_new + summary.rows_changed > 0) writer.finish();
    end_page(database, run_id, summary, note);
  }
  if (page.complete_to_ms) Writer(database, {now_ms, now_ms, {}}).count_participation();
  std::string after = page.after;
  if (page.finish_cursor) {
    page.finish_cursor(database.number("SELECT max(run_id) FROM import_run"), after);
  }
  move_on(database, source_id, after, as_of, page, note, now_ms);
  transaction.commit();
  return {{}, summary.rows_in, summary.rows_new + summary.rows_changed};
}

}  // namespace

std::int64_t open_source(Database& database, const SourceSettings& source, std::int64_t now_ms) {
  Transaction transaction(database, Transaction::Kind::write);
  Writer writer(database, {now_ms, now_ms, std::nullopt});
  DaoRecord dao;
  dao.dao_id = source.dao_id;
  if (!source.dao_name.empty()) dao.name = source.dao_name;
  if (source.type == SourceType::snapshot) dao.aliases = {source.scope};
  writer.put_dao(dao);
  const bool is_governor = source.type == SourceType::governor;
  const std::string kind = source.type == SourceType::discourse ? "forum" : "proposal";
  MaybeText base_url;
  if (source.type == SourceType::discourse) base_url = source.url;
  if (source.type == SourceType::snapshot) base_url = "https://snapshot.org";
  MaybeInteger chain_id;
  MaybeText contract;
  if (is_governor) {
    chain_id = source.chain_id;
    contract = source.contract;
  }
  auto upsert = database.prepare(
      "INSERT INTO source(dao_id, provider, scope, kind, base_url, chain_id, contract,"
      " stale_after_s) VALUES (?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT(provider, scope, kind)"
      " DO UPDATE SET stale_after_s = excluded.stale_after_s RETURNING source_id, dao_id");
  const std::string provider(name_of(source.type));
  upsert.with(source.dao_id, provider, source.scope, kind, base_url, chain_id, contract,
              source.stale_after_s);
  upsert.step();
  const std::int64_t id = upsert.integer(0);
  const std::string owner = upsert.text(1);
  while (upsert.step()) {
  }
  if (owner != source.dao_id) {
    throw SqliteError(SQLITE_CONSTRAINT, source.name() + " belongs to the DAO " + owner +
                                             " in this store: set `dao: " + owner + "`");
  }
  transaction.commit();
  return id;
}

std::string read_cursor(Database& database, std::int64_t source_id) {
  auto row = database.prepare("SELECT coalesce(cursor, '') FROM source WHERE source_id=?1");
  row.with(source_id);
  return row.step() ? row.text(0) : std::string();
}

void note_failure(Database& database, std::int64_t source_id, const std::string& problem,
                  std::int64_t now_ms) {
  Transaction transaction(database, Transaction::Kind::write);
  database.prepare("UPDATE source SET last_attempt_at=?2, last_error=?3 WHERE source_id=?1")
      .with(source_id, now_ms, problem)
      .run();
  transaction.commit();
}

Applied apply_page(Database& database, std::int64_t source_id, const SourceSettings& source,
                   const Page& page, std::int64_t now_ms) {
  try {
    return apply_in_transaction(database, source_id, source, page, now_ms);
  } catch (const ImportError&) {
    return {"the source's answer is no JSON of its form", 0, 0};
  } catch (const BadRecord&) {
    return {"the source's answer is not of its form", 0, 0};
  } catch (const SqliteError& error) {
    // The result may name the kind of problem, but never a path or the request.
    const int code = error.code() & 0xFF;
    const bool is_busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
    return {is_busy ? "the store is busy" : "the store refused the page", 0, 0};
  }
}

}  // namespace turnpike::govdata
