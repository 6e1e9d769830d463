#include "hosts/pages.h"

namespace turnpike::hosts {

site::Facts Pages::facts() const {
  return {.view = parts_.backend.view(),
          .board = parts_.status == nullptr ? nullptr : parts_.status->board(),
          .now_ms = parts_.clock.now_ms(),
          .urls = parts_.urls};
}

}  // namespace turnpike::hosts
