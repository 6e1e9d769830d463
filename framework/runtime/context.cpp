#include "runtime/context.h"

#include <cxxabi.h>

#include <boost/context/detail/fcontext.hpp>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace turnpike::runtime {

namespace fcontext = boost::context::detail;

struct ContextEntry {
  static void start(fcontext::transfer_t arrival) {
    Context& previous = *static_cast<Context*>(arrival.data);
    Context& self = *previous.next_;
    self.arrive(arrival.fctx, previous);
    self.entry_();
  }
};

void Context::prepare(const Stack& stack, void (*entry)()) {
  entry_ = entry;
  exceptions_ = {};
  handle_ = fcontext::make_fcontext(stack.top(), stack.bytes, &ContextEntry::start);
#if defined(__SANITIZE_ADDRESS__)
  // Clears poisoned frames of an earlier fiber that were left without return.
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
  fake_stack_ = nullptr;
  stack_bottom_ = stack.bottom;
  stack_bytes_ = stack.bytes;
#endif
#if defined(__SANITIZE_THREAD__)
  thread_record_ = __tsan_create_fiber(0);
#endif
}

void Context::release() noexcept {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(thread_record_);
#endif
}

void Context::adopt_thread() noexcept {
#if defined(__SANITIZE_THREAD__)
  thread_record_ = __tsan_get_current_fiber();
#endif
}

void Context::arrive(void* previous_handle, Context& previous) noexcept {
  previous.handle_ = previous_handle;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack_, &previous.stack_bottom_, &previous.stack_bytes_);
#endif
}

void Context::leave(Context& from, Context& to, [[maybe_unused]] bool is_finished) noexcept {
  auto& live = *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  from.exceptions_ = live;
  live = to.exceptions_;
  from.next_ = &to;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(is_finished ? nullptr : &from.fake_stack_, to.stack_bottom_,
                                 to.stack_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.thread_record_, 0);
#endif
  const fcontext::transfer_t arrival = fcontext::jump_fcontext(to.handle_, &from);
  from.arrive(arrival.fctx, *static_cast<Context*>(arrival.data));
}

void Context::switch_from(Context& from, Context& to) noexcept { leave(from, to, false); }

void Context::switch_from_finished(Context& from, Context& to) noexcept {
  leave(from, to, true);
  __builtin_unreachable();
}

}  // namespace turnpike::runtime
