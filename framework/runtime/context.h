// Context: a suspended execution and the switch between two of them. Chosen library: Boost.Context
// (its low-level fcontext, in context.cpp only). Our switch adds what the library omits: the C++
// runtime's record of exceptions being handled moves with the execution (otherwise a wait inside a
// catch block would rethrow another fiber's exception), and ASan and TSan are notified.
//
// Owned by a fiber or by a loop's scheduler; used by the loop's Thread only.
#pragma once

#include <cstddef>

#include "runtime/stack.h"

namespace turnpike::runtime {

class Context {
 public:
  Context() noexcept = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Makes this context start in `entry` on `stack` at the next switch to it. `entry` must not
  // return; its last act is switch_from_finished(). REQUIRES: not started, or release()d.
  void prepare(const Stack& stack, void (*entry)());
  // Call after the context finished: releases the sanitizers' records of it.
  void release() noexcept;
  // Makes this context stand for the running Thread's own stack.
  void adopt_thread() noexcept;

  // Suspends `from`, which is running, and continues `to`; returns when `from` is switched to
  // again.
  static void switch_from(Context& from, Context& to) noexcept;
  [[noreturn]] static void switch_from_finished(Context& from, Context& to) noexcept;

 private:
  friend struct ContextEntry;

  // The C++ ABI's state of a Thread: its stack of caught exceptions and its count of uncaught ones.
  struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };

  static void leave(Context& from, Context& to, bool is_finished) noexcept;
  void arrive(void* previous_handle, Context& previous) noexcept;

  void* handle_ = nullptr;
  Context* next_ = nullptr;  // target of the current switch; not on a stack, which may be freed
  void (*entry_)() = nullptr;
  ExceptionState exceptions_;
  // Used under ASan and TSan only.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* stack_bottom_ = nullptr;
  [[maybe_unused]] std::size_t stack_bytes_ = 0;
  [[maybe_unused]] void* thread_record_ = nullptr;
};

}  // namespace turnpike::runtime
