#include <turnpike/plugin.h>

#include "x402/lane.h"

TURNPIKE_LANE("x402", "0.1.0", cooperative,
              [] { return std::make_unique<turnpike::x402::X402Lane>(); })
