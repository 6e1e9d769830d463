// The name that `top -H`, debuggers and profilers show for a Thread. A Thread sets its own name
// first.
#pragma once

#include <pthread.h>

namespace turnpike::base {

// At most 15 bytes; with a longer name the process's name stays.
inline void name_this_thread(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace turnpike::base
