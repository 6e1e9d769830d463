#include "site/facts.h"

namespace turnpike::site {

Foot foot_of(const Facts& facts) {
  Foot foot;
  if (facts.view != nullptr) foot.generation = facts.view->generation().id;
  if (facts.board == nullptr) return foot;
  const status::BoardOrigin& origin = facts.board->origin();
  if (origin.round != 0) {
    foot.round = std::to_string(origin.round);
    foot.head = origin.head;
  }
  foot.judgement = status::name_of(origin.level_at(facts.now_ms));
  if (!facts.urls.api.empty()) foot.evidence_url = facts.urls.api + "/v1/status/evidence";
  return foot;
}

}  // namespace turnpike::site
