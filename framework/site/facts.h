// Facts: the inputs of live parts at one moment: the program in service, the board of the newest
// round, and the URLs of the hosts. Values, cheap to copy; any Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "catalog/view.h"
#include "site/frame.h"
#include "status/board.h"

namespace turnpike::site {

// URLs of the hosts without a final slash; empty: the host is not served.
struct HostUrls {
  std::string api = {};
  std::string mcp = {};
  std::string web = {};
};

struct Facts {
  std::shared_ptr<const catalog::View> view;    // null: no valid program is installed
  std::shared_ptr<const status::Board> board;   // null: there is none yet
  std::int64_t now_ms = 0;
  HostUrls urls = {};
};

Foot foot_of(const Facts& facts);

}  // namespace turnpike::site
