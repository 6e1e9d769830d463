// Features: the optional ways of payment that this gateway offers now. A disabled way is not
// advertised, even if the registry has terms for it. Plain value; safe on any Thread.
#pragma once

namespace turnpike::catalog {

struct Features {
  bool free_lane = false;  // `:free` variants are served
  bool per_call = false;   // payment per call is accepted by the lane with terms
};

}  // namespace turnpike::catalog
