#include "commerce/processors.h"

namespace turnpike::commerce {
namespace {

std::vector<Offer> offers_of(const std::vector<PublishedTerms>& published,
                             const Processors& processors, bool retired) {
  std::vector<Offer> offers;
  for (const PublishedTerms& each : published) {
    if ((each.retired_at_ms >= 0) != retired) continue;
    for (const ProcessorInService& processor : processors.list()) {
      if (!each.processor.empty() && each.processor != processor.name) continue;
      offers.push_back({offer_id(each.terms, processor.name), each.revision, processor.name,
                        processor.title, each.terms});
    }
  }
  return offers;
}

}  // namespace

std::vector<Offer> offers_in_force(const std::vector<PublishedTerms>& published,
                                   const Processors& processors) {
  return offers_of(published, processors, false);
}

std::vector<Offer> retired_offers(const std::vector<PublishedTerms>& published,
                                  const Processors& processors) {
  return offers_of(published, processors, true);
}

}  // namespace turnpike::commerce
