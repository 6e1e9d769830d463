#include "ledger/statements/statements.h"

#include <utility>

namespace turnpike::ledger {
namespace {

constexpr std::uint32_t statement_threads_max = 4;
constexpr std::uint32_t statement_queue_max = 1'024;

base::Error no_answer_in_time() {
  return {base::ErrorCode::billing_ledger_unavailable, "The books could not be read in time.", 1};
}

template <class Item>
Result<Page<Item>, base::Error> page_or_refusal(
    Result<std::optional<Page<Item>>, base::Error> page) {
  if (!page) return std::move(page).error();
  if (page->has_value()) return **std::move(page);
  base::Error error{base::ErrorCode::request_query_rejected,
                    "The cursor's place does not exist any more: start from the first page."};
  error.fields.push_back({"query.after", "its place is no longer known",
                          "Leave after out to start from the first page."});
  return error;
}

}  // namespace

Result<Unit, base::Error> catch_up_whole(UsageStore& store, runtime::Deadline deadline) {
  while (true) {
    const auto more = store.catch_up();
    if (!more) return more.error();
    if (!*more) return Unit{};
    if (deadline.passed()) return no_answer_in_time();
  }
}

PooledStatements::PooledStatements(UsageStore& store, runtime::BlockingPool& pool)
    : store_(store),
      pool_(pool),
      user_(pool.add_user("statements", statement_threads_max, statement_queue_max)) {}

template <class T, class F>
Result<T, base::Error> PooledStatements::read(F work, runtime::Deadline deadline) {
  auto reply = pool_.call(user_, std::move(work), deadline);
  if (reply.outcome == runtime::PoolOutcome::done) return *std::move(reply.value);
  return no_answer_in_time();
}

Result<Page<UsageRow>, base::Error> PooledStatements::usage(const PageQuery& query,
                                                            runtime::Deadline deadline) {
  return read<Page<UsageRow>>(
      [&store = store_, query, deadline]() -> Result<Page<UsageRow>, base::Error> {
        // Calls older than the cursor have their positions already.
        if (!query.after) {
          if (auto done = catch_up_whole(store, deadline); !done) return std::move(done).error();
        }
        return page_or_refusal(store.usage(query));
      },
      deadline);
}

Result<Page<Allocation>, base::Error> PooledStatements::allocations(const PageQuery& query,
                                                                    runtime::Deadline deadline) {
  return read<Page<Allocation>>(
      [&store = store_, query] { return page_or_refusal(store.allocations(query)); }, deadline);
}

Result<std::vector<CapsOfKey>, base::Error> PooledStatements::key_caps(std::string_view account_id,
                                                                       runtime::Deadline deadline) {
  return read<std::vector<CapsOfKey>>(
      [&store = store_, account = std::string(account_id)] { return store.key_caps(account); },
      deadline);
}

Result<UsageSummary, base::Error> PooledStatements::summary(const SummaryQuery& query,
                                                            runtime::Deadline deadline) {
  return read<UsageSummary>(
      [&store = store_, query, deadline]() -> Result<UsageSummary, base::Error> {
        if (auto done = catch_up_whole(store, deadline); !done) return std::move(done).error();
        return summarize(store, query, deadline);
      },
      deadline);
}

Result<Page<UsageRow>, base::Error> PooledStatements::search(const PageQuery& query,
                                                             const CallFilter& filter,
                                                             runtime::Deadline deadline) {
  return read<Page<UsageRow>>(
      [&store = store_, query, filter, deadline]() -> Result<Page<UsageRow>, base::Error> {
        if (!query.after) {
          if (auto done = catch_up_whole(store, deadline); !done) return std::move(done).error();
        }
        return page_or_refusal(store.search(query, filter));
      },
      deadline);
}

Result<std::vector<UsageRow>, base::Error> PooledStatements::calls_named(
    std::string_view account_id, std::string_view client_request_id, std::uint32_t limit,
    runtime::Deadline deadline) {
  using Rows = std::vector<UsageRow>;
  return read<Rows>(
      [&store = store_, account = std::string(account_id), name = std::string(client_request_id),
       limit, deadline]() -> Result<Rows, base::Error> {
        if (auto done = catch_up_whole(store, deadline); !done) return std::move(done).error();
        return store.calls_named(account, name, limit);
      },
      deadline);
}

Result<AccountStatement, base::Error> PooledStatements::statement(std::string_view account_id,
                                                                  std::int64_t from_ms,
                                                                  std::int64_t to_ms,
                                                                  runtime::Deadline deadline) {
  return read<AccountStatement>(
      [&store = store_, account = std::string(account_id), from_ms, to_ms,
       deadline]() -> Result<AccountStatement, base::Error> {
        if (auto done = catch_up_whole(store, deadline); !done) return std::move(done).error();
        return store.statement(account, from_ms, to_ms);
      },
      deadline);
}

Result<std::optional<Allocation>, base::Error> PooledStatements::expiring_next(
    std::string_view account_id, runtime::Deadline deadline) {
  return read<std::optional<Allocation>>(
      [&store = store_, account = std::string(account_id)] { return store.expiring_next(account); },
      deadline);
}

}  // namespace turnpike::ledger
