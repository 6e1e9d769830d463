#include "app/commands/export.h"

#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hosts/account_json.h"
#include "hosts/row_lines.h"
#include "ledger/statements/statements.h"

namespace turnpike::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t page_rows = 1'000;
constexpr std::int64_t catch_up_timeout_ms = 600'000;

constexpr const char* allocation_columns[] = {"billingAccountId", "id",        "origin",
                                              "credits",          "remaining", "effectiveAt",
                                              "expiresAt",        "status"};

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// One JSON object per row, for both formats.
Json row_of(const ledger::UsageRow& usage) { return hosts::line_json(usage); }

Json row_of(const ledger::Allocation& allocation) {
  Json row = {{"billingAccountId", allocation.account_id}};
  row.update(hosts::row_json(allocation));
  return row;
}

std::int64_t time_of(const ledger::UsageRow& usage) { return usage.occurred_at_ms; }
std::int64_t time_of(const ledger::Allocation& allocation) { return allocation.effective_at_ms; }

// Every row has exactly one outcome, so the counts of the outcomes add up to the requests.
struct UsageTotals {
  ledger::UsageSums sums;
  std::int64_t replayed = 0;
  ledger::Credits restored = 0;

  void add(const ledger::UsageRow& usage) {
    if (usage.restored) restored += usage.restored->units;
    const std::string_view outcome = ledger::outcome_of(usage.outcome_reason);
    replayed += outcome == "replayed" ? 1 : 0;
    sums += {1, outcome == "charged" ? 1 : 0, outcome == "released" ? 1 : 0, usage.credits_charged};
  }
  [[nodiscard]] Json row() const {
    return {{"requests", sums.requests},
            {"charged", sums.charged},
            {"released", sums.released},
            {"replayed", replayed},
            {"creditsCharged", std::to_string(sums.credits)},
            {"creditsRestored", std::to_string(restored)}};
  }
};

struct AllocationTotals {
  std::int64_t rows = 0;
  ledger::Credits credits = 0;
  ledger::Credits remaining = 0;

  void add(const ledger::Allocation& allocation) {
    ++rows;
    credits += allocation.units;
    remaining += allocation.remaining;
  }
  [[nodiscard]] Json row() const {
    return {{"allocations", rows},
            {"credits", std::to_string(credits)},
            {"remaining", std::to_string(remaining)}};
  }
};

class Lines {
 public:
  Lines(ExportFormat format, std::span<const char* const> columns, std::ostream& out)
      : form_(format == ExportFormat::csv ? hosts::LineForm::csv : hosts::LineForm::ndjson),
        columns_(columns),
        out_(out) {
    out_ << hosts::head_line(form_, columns_);
  }

  void row(const Json& row) { out_ << hosts::line_of(form_, columns_, row); }

 private:
  const hosts::LineForm form_;
  const std::span<const char* const> columns_;
  std::ostream& out_;
};

// Writes all rows of the accounts, read through `read` page by page, one account after the other.
template <class Totals, class Read>
Exported write_rows(const std::vector<std::string>& accounts, const ExportRequest& request,
                    Lines lines, std::ostream& out, Read&& read) {
  Totals totals;
  for (const std::string& account : accounts) {
    ledger::PageQuery query{account, std::nullopt, page_rows};
    do {
      const auto page = read(query);
      if (!page.ok()) return page.error().message;
      if (!page->has_value()) return std::string("the index of usage was made anew meanwhile");
      for (const auto& item : (*page)->items) {
        if (time_of(item) < request.from_ms) continue;
        if (request.to_ms && time_of(item) >= *request.to_ms) continue;
        totals.add(item);
        lines.row(row_of(item));
      }
      query.after = (*page)->next;
    } while (query.after && out.good());
  }
  if (!out.flush()) return std::string("the output could not be written");
  return ExportTotals{text_of(Json{{"totals", totals.row()}})};
}

Result<std::vector<std::string>, std::string> accounts_of(storage::Node& node,
                                                          const ExportRequest& request) {
  if (request.account_id) {
    const auto account = node.accounts().find(*request.account_id);
    if (!account.ok()) return account.error().message;
    if (!account->has_value()) return "there is no account '" + *request.account_id + "'";
    return std::vector<std::string>{*request.account_id};
  }
  const auto all = node.accounts().list(std::nullopt);
  if (!all.ok()) return all.error().message;
  std::vector<std::string> ids = {""};  // calls paid without an account
  for (const identity::Account& account : *all) ids.push_back(account.id);
  return ids;
}

}  // namespace

Exported write_export(storage::Node& node, const ExportRequest& request, std::ostream& out) {
  const auto accounts = accounts_of(node, request);
  if (!accounts.ok()) return accounts.error();
  if (request.collection == ExportCollection::allocations) {
    return write_rows<AllocationTotals>(
        *accounts, request, Lines(request.format, allocation_columns, out), out,
        [&](const ledger::PageQuery& query) { return node.usage().allocations(query); });
  }
  const auto indexed =
      ledger::catch_up_whole(node.usage(), runtime::Deadline::after_ms(catch_up_timeout_ms));
  if (!indexed.ok()) return indexed.error().message;
  return write_rows<UsageTotals>(
      *accounts, request, Lines(request.format, hosts::usage_columns, out), out,
      [&](const ledger::PageQuery& query) { return node.usage().usage(query); });
}

}  // namespace turnpike::app
