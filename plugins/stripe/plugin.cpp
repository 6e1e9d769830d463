#include <turnpike/plugin.h>

#include "stripe/processor.h"

TURNPIKE_PROCESSOR("stripe", "0.1.0", cooperative,
                   [] { return std::make_unique<turnpike::stripe::StripeProcessor>(); })
