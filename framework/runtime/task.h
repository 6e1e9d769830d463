// Task: a callable without arguments and result that may own what it uses (std::function cannot
// hold a move-only capture). Small callables (48 bytes) are stored in place. A plain value without
// sharing, so it may be passed from Thread to Thread.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace turnpike::runtime {

class Task {
 public:
  Task() noexcept = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Task> && std::is_invocable_v<F&>)
      Task(F&& function) {  // NOLINT: by intention
    using Held = std::remove_cvref_t<F>;
    if constexpr (fits<Held>) {
      new (place_) Held(std::forward<F>(function));
      kind_ = &in_place<Held>;
    } else {
      *reinterpret_cast<Held**>(place_) = new Held(std::forward<F>(function));
      kind_ = &on_heap<Held>;
    }
  }
  Task(Task&& other) noexcept { take(other); }
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Task() { reset(); }

  explicit operator bool() const noexcept { return kind_ != nullptr; }
  // REQUIRES: not empty.
  void operator()() { kind_->call(place_); }

  void reset() noexcept {
    if (kind_ != nullptr) std::exchange(kind_, nullptr)->destroy(place_);
  }

 private:
  struct Kind {
    void (*call)(void*);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };
  static constexpr std::size_t place_bytes = 48;
  template <class Held>
  static constexpr bool fits =
      sizeof(Held) <= place_bytes &&
      alignof(Held) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<Held>;
  template <class Held>
  static constexpr Kind in_place = {
      [](void* place) { (*static_cast<Held*>(place))(); },
      [](void* from, void* to) noexcept {
        new (to) Held(std::move(*static_cast<Held*>(from)));
        static_cast<Held*>(from)->~Held();
      },
      [](void* place) noexcept { static_cast<Held*>(place)->~Held(); }};
  template <class Held>
  static constexpr Kind on_heap = {
      [](void* place) { (**static_cast<Held**>(place))(); },
      [](void* from, void* to) noexcept { *static_cast<Held**>(to) = *static_cast<Held**>(from); },
      [](void* place) noexcept { delete *static_cast<Held**>(place); }};

  void take(Task& other) noexcept {
    kind_ = std::exchange(other.kind_, nullptr);
    if (kind_ != nullptr) kind_->move(other.place_, place_);
  }

  const Kind* kind_ = nullptr;
  alignas(std::max_align_t) std::byte place_[place_bytes];
};

}  // namespace turnpike::runtime
