// Invoice: a purchase whose money came, as the lists of invoices show it. A value; any Thread.
#pragma once

#include "commerce/purchase.h"

namespace turnpike::hosts {

struct Invoice {
  commerce::Purchase purchase;
  bool has_documents = false;  // of the payment service
};

}  // namespace turnpike::hosts
