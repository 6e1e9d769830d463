#include "hosts/pages.h"

#include <utility>

namespace turnpike::hosts {

Pages::Moment Pages::moment() const {
  return {.view = parts_.backend.view(),
          .board = parts_.status == nullptr ? nullptr : parts_.status->board(),
          .now_ms = parts_.clock.now_ms()};
}

site::Facts Pages::facts() const {
  Moment moment = this->moment();
  return {.view = std::move(moment.view),
          .board = std::move(moment.board),
          .now_ms = moment.now_ms,
          .urls = parts_.urls};
}

}  // namespace turnpike::hosts
