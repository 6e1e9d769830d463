#include <turnpike/plugin.h>

#include "manual/processor.h"

TURNPIKE_PROCESSOR("manual", "1.0.0", cooperative,
                   [] { return std::make_unique<turnpike::manual::ManualProcessor>(); })
