// The name that `top -H`, debuggers and profilers show for a Thread. A Thread names itself at once.
#pragma once

#include <pthread.h>

namespace turnpike::base {

// At most 15 bytes, or the name stays the process's.
inline void name_this_thread(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace turnpike::base
