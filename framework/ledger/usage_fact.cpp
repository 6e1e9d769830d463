#include "ledger/usage_fact.h"

#include <array>
#include <cstring>
#include <new>
#include <type_traits>

namespace turnpike::ledger {
namespace {

static_assert(std::is_trivially_destructible_v<UsageFact>);  // its block just goes

// The views of a fact, in one list.
template <class Fact>
auto texts_of(Fact& fact) {
  return std::array{&fact.message_id,    &fact.request_id, &fact.client_request_id,
                    &fact.account_id,    &fact.api_key_id, &fact.route_id,
                    &fact.method,        &fact.lane,       &fact.generation,
                    &fact.outcome_reason};
}

}  // namespace

OwnedFact::OwnedFact(const UsageFact& fact) {
  std::size_t size = sizeof fact;
  for (const std::string_view* text : texts_of(fact)) size += text->size();
  block_ = std::make_unique_for_overwrite<std::byte[]>(size);
  fact_ = new (block_.get()) UsageFact(fact);
  char* at = reinterpret_cast<char*>(fact_ + 1);
  for (std::string_view* text : texts_of(*fact_)) {
    if (!text->empty()) std::memcpy(at, text->data(), text->size());
    *text = {at, text->size()};
    at += text->size();
  }
}

}  // namespace turnpike::ledger
