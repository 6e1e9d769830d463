// Invoice: a paid purchase, as lists of invoices show it. A value; any Thread.
#pragma once

#include "commerce/purchase.h"

namespace turnpike::hosts {

struct Invoice {
  commerce::Purchase purchase;
  bool has_documents = false;  // the payment service has documents of it
};

}  // namespace turnpike::hosts
