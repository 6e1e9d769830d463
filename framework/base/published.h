// Published<T>: the newest of a sequence of immutable values, replaced as a whole (the installed
// program). LoopView<T>: one loop's view of it: pin() costs one atomic load and a plain increment;
// no shared reference count is touched per call. A value lives until every loop has released it.
//
// Published is safe on any Thread. A LoopView and its Pins belong to one loop Thread; the Published
// outlives its views, a view outlives its Pins.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace turnpike::base {

template <class T>
class Published {
 public:
  void publish(std::shared_ptr<const T> value) {
    {
      const std::scoped_lock lock(mutex_);
      value_.swap(value);
      version_.fetch_add(1, std::memory_order_release);
    }
    // `value` holds the old value now; if this is its last owner it is destroyed here, outside the
    // lock.
  }

  [[nodiscard]] std::shared_ptr<const T> current() const {
    const std::scoped_lock lock(mutex_);
    return value_;
  }

  // Incremented by every publish().
  [[nodiscard]] std::uint64_t version() const noexcept {
    return version_.load(std::memory_order_acquire);
  }

 private:
  template <class>
  friend class LoopView;

  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
  std::atomic<std::uint64_t> version_{0};
};

template <class T>
class LoopView {
  struct Slot {
    std::shared_ptr<const T> value;
    std::uint32_t pins = 0;
    Slot* next = nullptr;  // older values that still have pins
  };

 public:
  // Keeps one value alive; null when nothing was published.
  class Pin {
   public:
    Pin() = default;
    Pin(Pin&& other) noexcept
        : view_(std::exchange(other.view_, nullptr)), slot_(std::exchange(other.slot_, nullptr)) {}
    Pin& operator=(Pin&& other) noexcept {
      Pin old(std::move(*this));
      view_ = std::exchange(other.view_, nullptr);
      slot_ = std::exchange(other.slot_, nullptr);
      return *this;
    }
    ~Pin() {
      if (slot_ != nullptr) view_->unpin(slot_);
    }
    [[nodiscard]] const T* get() const noexcept {
      return slot_ == nullptr ? nullptr : slot_->value.get();
    }
    const T* operator->() const noexcept { return get(); }
    const T& operator*() const noexcept { return *get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

   private:
    friend class LoopView;
    Pin(LoopView* view, Slot* slot) : view_(view), slot_(slot) {}
    LoopView* view_ = nullptr;
    Slot* slot_ = nullptr;
  };

  explicit LoopView(const Published<T>& published) : published_(published), current_(new Slot) {}
  ~LoopView() { delete current_; }
  LoopView(const LoopView&) = delete;
  LoopView& operator=(const LoopView&) = delete;

  [[nodiscard]] Pin pin() {
    refresh();
    ++current_->pins;
    return Pin(this, current_);
  }

  // Pins the value that `is_wanted` selects, if this loop still has it; else the newest.
  template <class Predicate>
  [[nodiscard]] Pin pin_where(Predicate is_wanted) {
    refresh();
    Slot* wanted = current_;
    for (Slot* slot = current_; slot != nullptr; slot = slot == current_ ? retired_ : slot->next) {
      if (slot->value == nullptr || !is_wanted(*slot->value)) continue;
      wanted = slot;
      break;
    }
    ++wanted->pins;
    return Pin(this, wanted);
  }

  // A shared owner of the value, to keep it while the fiber waits. Takes no lock.
  [[nodiscard]] std::shared_ptr<const T> share() {
    refresh();
    return current_->value;
  }

  // Switches to a newer value. pin() does so too; an idle loop calls this from a timer, so that it
  // does not keep an old value alive.
  void refresh() {
    if (published_.version() == version_) [[likely]]
      return;
    auto* fresh = new Slot;
    {
      const std::scoped_lock lock(published_.mutex_);
      fresh->value = published_.value_;
      version_ = published_.version_.load(std::memory_order_relaxed);
    }
    Slot* old = std::exchange(current_, fresh);
    if (old->pins == 0) {
      delete old;
    } else {
      old->next = std::exchange(retired_, old);
    }
  }

  // The number of values that are no longer current but still pinned here.
  [[nodiscard]] std::uint32_t retired() const noexcept {
    std::uint32_t count = 0;
    for (const Slot* slot = retired_; slot != nullptr; slot = slot->next) ++count;
    return count;
  }

 private:
  void unpin(Slot* slot) {
    if (--slot->pins != 0 || slot == current_) return;
    Slot** link = &retired_;
    while (*link != slot) link = &(*link)->next;
    *link = slot->next;
    delete slot;
  }

  const Published<T>& published_;
  std::uint64_t version_ = 0;
  Slot* current_;
  Slot* retired_ = nullptr;
};

}  // namespace turnpike::base
