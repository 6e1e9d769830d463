// Features: which optional ways of paying this gateway offers now. What is off is not advertised,
// whatever the registry says about it. Plain value; safe on any Thread.
#pragma once

namespace turnpike::catalog {

struct Features {
  bool free_lane = false;  // `:free` variants are served
  bool x402 = false;       // payment per call is taken
};

}  // namespace turnpike::catalog
