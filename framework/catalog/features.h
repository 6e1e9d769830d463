// Features: the optional ways of paying that this gateway offers now. A way that is off is not
// advertised, even where the registry has terms for it. Plain value; safe on any Thread.
#pragma once

namespace turnpike::catalog {

struct Features {
  bool free_lane = false;  // `:free` variants are served
  bool per_call = false;   // payment per call is taken, by the lane with terms
};

}  // namespace turnpike::catalog
