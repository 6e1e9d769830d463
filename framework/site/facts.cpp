#include "site/facts.h"

namespace turnpike::site {

namespace {

constexpr std::size_t head_characters_shown = sizeof "sha256:" - 1 + 12;

std::string_view sentence_of(status::Level level) noexcept {
  switch (level) {
    case status::Level::operational:
      return "Everything works.";
    case status::Level::unknown:
      return "How the gateway does is not known now.";
    case status::Level::degraded:
      return "Something works badly, or not.";
    case status::Level::major_outage:
      return "Something that the gateway needs is out.";
  }
  return {};
}

}  // namespace

Foot foot_of(const Facts& facts) {
  Foot foot;
  if (facts.view != nullptr) foot.generation = facts.view->generation().id;
  if (facts.board == nullptr) return foot;
  const status::BoardOrigin& origin = facts.board->origin();
  if (origin.round != 0) {
    foot.round = std::to_string(origin.round);
    foot.head = origin.head.substr(0, head_characters_shown);
  }
  foot.judgement = sentence_of(origin.level_at(facts.now_ms));
  if (!facts.urls.api.empty()) foot.evidence_url = facts.urls.api + "/v1/status/evidence";
  return foot;
}

}  // namespace turnpike::site
