// The operation pricing inventory: every operation with its route, closure and bounds, and the hash
// over all entries. Independent of readiness, so its text is made once per generation. Internal to
// catalog/; a pure function, safe on any Thread.
#pragma once

#include <string>

#include <turnpike/result.h>

#include "base/error.h"
#include "catalog/features.h"
#include "registry/generation.h"

namespace turnpike::catalog {

// The document in two halves; the text of `observed_at` goes between them.
struct InventoryText {
  std::string before_observed_at;
  std::string after_observed_at;
};

// Complete or an error: catalog.inventory_incomplete.
Result<InventoryText, base::Error> inventory_text(const registry::Installed& installed,
                                                  Features features);

}  // namespace turnpike::catalog
