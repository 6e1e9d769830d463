// What `top -H`, debuggers and profilers call a Thread. Each Thread names itself when it begins.
#pragma once

#include <pthread.h>

namespace turnpike::base {

// At most 15 bytes, or the name stays the process's.
inline void name_this_thread(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace turnpike::base
