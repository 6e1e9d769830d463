#include "hosts/account/account_routes.h"

#include <string>

namespace turnpike::hosts::account {

namespace {

std::string account_of(const Asked& asked) { return std::string(asked.caller->account_id); }

constexpr DescribedReply credit_balance_replies[] = {
    {.status = 200, .description = "The balance.", .schema = "AccountCreditBalanceResponse"}};

constexpr Parameter billing_query[] = {
    {.name = "collection",
     .description = "What to list. `invoices` are the purchases that were paid, by when they were "
                    "begun.",
     .schema = R"({"type": "string", "enum": ["allocations", "usage", "invoices"]})",
     .is_required = true,
     .example = R"("usage")"},
    {.name = "limit",
     .description = "Rows on the page.",
     .schema = R"({"type": "integer", "minimum": 1, "maximum": 100, "default": 50})"},
    {.name = "after",
     .description =
         "`nextCursor` of the page before, unchanged, for the same account and collection.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 1024})"},
};

constexpr DescribedReply billing_replies[] = {
    {.status = 200, .description = "A page.", .schema = "AccountBillingPage"}};

constexpr Parameter usage_query[] = {
    {.name = "from",
     .description = "Begin, in UTC. Default: 30 days before `to`.",
     .schema = R"({"type": "string", "format": "date-time"})",
     .example = R"("2026-11-01T00:00:00Z")"},
    {.name = "to",
     .description = "End, exclusive, in UTC. Default: the end of today.",
     .schema = R"({"type": "string", "format": "date-time"})",
     .example = R"("2026-11-21T00:00:00Z")"},
    {.name = "granularity",
     .description = "Step of the series, in UTC; at most 1,000 steps. The first and the last one "
                    "count only what lies between `from` and `to`.",
     .schema = R"({"type": "string", "enum": ["hour", "day", "month"], "default": "day"})"},
    {.name = "route_id",
     .description = "Only calls of this operation's route.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 128})"},
    {.name = "api_key_id",
     .description = "Only calls with this key.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 128})"},
};

constexpr DescribedReply usage_replies[] = {
    {.status = 200, .description = "The sums.", .schema = "AccountUsageSummary"}};

constexpr DescribedReply free_quotas_replies[] = {
    {.status = 200, .description = "The quotas.", .schema = "AccountFreeQuotasResponse"}};

constexpr Route<AccountRooms> read_rows[] = {
    {.facts = {.method = "GET",
               .path = "/v1/billing-accounts/{billing_account_id}/credit-balance",
               .endpoint = "credit_balance",
               .callers = Callers::account_or_member(),
               .cache_control = kept_by_nobody,
               .described = {.operation_id = "getCreditBalance",
                             .tag = "Account",
                             .summary = "Read the Credit balance",
                             .description =
                                 "The authoritative balance of the account. `private, no-store`.",
                             .path_parameters = account_path,
                             .replies = credit_balance_replies,
                             .refusals = "400 401 403 500 502 503"}},
     .answer =
         [](const AccountRooms& rooms, Turn& turn, const Asked& asked) {
           send_or_refuse(turn, rooms.account.credit_balance(account_of(asked)));
         }},
    {.facts =
         {.method = "GET",
          .path = "/v1/billing-accounts/{billing_account_id}/billing",
          .endpoint = "billing",
          .callers = Callers::account_or_member(),
          .query = billing_query,
          .cache_control = kept_by_nobody,
          .described =
              {.operation_id = "listBilling",
               .tag = "Account",
               .summary = "List allocations, usage or invoices",
               .description =
                   "A page of one collection of the account, newest first. Follow "
                   "`nextCursor` until it is null. Every row has one lasting place in the ledger's "
                   "order: what is committed while you page stands above the first page, and no "
                   "row "
                   "appears below one that was read before. `private, no-store`.",
               .path_parameters = account_path,
               .replies = billing_replies,
               .refusals = "400 401 403 500 502 503"}},
     .answer =
         [](const AccountRooms& rooms, Turn& turn, const Asked& asked) {
           send_or_refuse(turn, rooms.account.billing(account_of(asked), asked.query));
         }},
    {.facts = {.method = "GET",
               .path = "/v1/billing-accounts/{billing_account_id}/usage",
               .endpoint = "usage",
               .callers = Callers::account_or_member(),
               .query = usage_query,
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "getUsage",
                    .tag = "Account",
                    .summary = "Sum the usage over a time",
                    .description =
                        "Sums of the calls that occurred from `from` to before `to`, by time, by "
                        "operation and by key; the totals equal the ledger. `private, no-store`.",
                    .path_parameters = account_path,
                    .replies = usage_replies,
                    .refusals = "400 401 403 500 502 503"}},
     .answer =
         [](const AccountRooms& rooms, Turn& turn, const Asked& asked) {
           send_or_refuse(turn, rooms.account.usage(account_of(asked), asked.query));
         }},
    {.facts =
         {.method = "GET",
          .path = "/v1/billing-accounts/{billing_account_id}/free-quotas",
          .endpoint = "free_quotas",
          .callers = Callers::account_or_member(),
          .cache_control = kept_by_nobody,
          .described = {.operation_id = "getFreeQuotas",
                        .tag = "Account",
                        .summary = "Read what is left of the free variants' limits",
                        .description =
                            "Of the account, for each provider and bucket scope; where routes are "
                            "counted one by one, that of the route with the least left. `private, "
                            "no-store`.",
                        .path_parameters = account_path,
                        .replies = free_quotas_replies,
                        .refusals = "400 401 403 502 503"}},
     .answer =
         [](const AccountRooms& rooms, Turn& turn, const Asked& asked) {
           send_or_refuse(turn, rooms.account.free_quotas(account_of(asked)));
         }},
};

}  // namespace

std::span<const Route<AccountRooms>> account_routes() noexcept { return read_rows; }

void send_or_refuse(Turn& turn, const Result<std::string, base::Error>& body) {
  if (body.ok()) {
    turn.reply({.body = *body});
  } else {
    turn.refuse(body.error());
  }
}

}  // namespace turnpike::hosts::account
