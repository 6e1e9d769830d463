#include "storage/people/audit_rows.h"
#include "storage/purchases/purchase_store.h"

namespace turnpike::storage {
namespace {

using commerce::PublishedTerms;

#define TERMS_COLUMNS                                                                       \
  "revision, processor, currency, unit_minor, unit_credits, minimum_minor, maximum_minor," \
  " step_minor, validity_days, published_at, retired_at"
constexpr char terms_kinds[] = "ittiiiiiiii";
constexpr Query select_terms{"SELECT " TERMS_COLUMNS " FROM offer_terms ORDER BY revision DESC",
                             terms_kinds};
constexpr Query select_revision{"SELECT " TERMS_COLUMNS " FROM offer_terms WHERE revision = $1",
                                terms_kinds};
#undef TERMS_COLUMNS
constexpr Query next_revision{
    "UPDATE counter SET value = value + 1 WHERE name = 'offer_terms' RETURNING value", "i"};
constexpr Query insert_terms{
    "INSERT INTO offer_terms (revision, processor, currency, unit_minor, unit_credits,"
    " minimum_minor, maximum_minor, step_minor, validity_days, published_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};
constexpr Query retire_terms{
    "UPDATE offer_terms SET retired_at = $1 WHERE revision = $2 AND retired_at = -1"
    " RETURNING revision",
    "i"};

PublishedTerms terms_at(const Rows& rows, std::size_t row) {
  PublishedTerms published;
  published.revision = rows.number(row, 0);
  published.processor = rows.text(row, 1);
  published.terms = {rows.text(row, 2),   rows.number(row, 3), rows.number(row, 4),
                     rows.number(row, 5), rows.number(row, 6), rows.number(row, 7),
                     rows.number(row, 8)};
  published.published_at_ms = rows.number(row, 9);
  published.retired_at_ms = rows.number(row, 10);
  return published;
}

}  // namespace

SqlPurchaseStore::Answer<std::vector<PublishedTerms>> SqlPurchaseStore::terms() {
  using List = std::vector<PublishedTerms>;
  return read<List>("list terms", [&](Connection& connection) {
    const Rows rows = connection.run(select_terms);
    List list;
    for (std::size_t row = 0; row < rows.size(); ++row) list.push_back(terms_at(rows, row));
    return list;
  });
}

SqlPurchaseStore::Answer<PublishedTerms> SqlPurchaseStore::publish(const commerce::Terms& terms,
                                                                   std::string_view processor,
                                                                   const identity::Actor& actor) {
  using Published = Answer<PublishedTerms>;
  return change<PublishedTerms>("publish terms", [&](Transaction& transaction) -> Published {
    const std::int64_t revision = transaction.run(next_revision).number(0, 0);
    transaction.run(insert_terms,
                    {revision, processor, terms.currency, terms.unit_minor, terms.unit_credits,
                     terms.minimum_minor, terms.maximum_minor, terms.step_minor,
                     terms.validity_days, context_.now_ms(transaction)});
    write_audit(context_, transaction,
                {.actor = actor, .action = "offer.publish", .target = std::to_string(revision)});
    return terms_at(transaction.run(select_revision, {revision}), 0);
  });
}

SqlPurchaseStore::Answer<std::optional<PublishedTerms>> SqlPurchaseStore::retire(
    std::int64_t revision, const identity::Actor& actor) {
  using Retired = std::optional<PublishedTerms>;
  return change<Retired>("retire terms", [&](Transaction& transaction) -> Answer<Retired> {
    const bool is_new =
        !transaction.run(retire_terms, {context_.now_ms(transaction), revision}).empty();
    if (is_new) {
      write_audit(context_, transaction,
                  {.actor = actor, .action = "offer.retire", .target = std::to_string(revision)});
    }
    const Rows rows = transaction.run(select_revision, {revision});
    if (rows.empty()) return Retired{};
    return Retired{terms_at(rows, 0)};
  });
}

}  // namespace turnpike::storage
