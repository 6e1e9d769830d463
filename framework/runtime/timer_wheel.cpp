#include "runtime/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace turnpike::runtime {
namespace {

constexpr std::int64_t tick_ns = 1'000'000;

}  // namespace

TimerWheel::TimerWheel(std::int64_t now_ns) noexcept : tick_(now_ns / tick_ns) {}

void TimerWheel::arm(TimerNode& node, Deadline deadline) noexcept {
  const std::int64_t rounded_up = deadline.ns / tick_ns + (deadline.ns % tick_ns > 0 ? 1 : 0);
  // At least one tick ahead: a node that re-arms itself repeatedly cannot keep advance() from
  // returning.
  node.tick_ = std::max(rounded_up, tick_ + 1);
  place(node);
  ++size_;
}

void TimerWheel::disarm(TimerNode& node) noexcept {
  if (!node.armed()) return;
  unlink(node);
  --size_;
}

void TimerWheel::advance(std::int64_t now_ns) noexcept {
  const std::int64_t now_tick = now_ns / tick_ns;
  Due due;
  while (find_due(due) && due.tick <= now_tick) {
    tick_ = due.tick;
    open_slot(due);
  }
  tick_ = std::max(tick_, now_tick);
}

Deadline TimerWheel::next() const noexcept {
  Due due;
  return find_due(due) ? Deadline{due.tick * tick_ns} : Deadline::never();
}

// A level holds the ticks that differ from the current tick in the level's six bits and in no
// higher bits. All of a level is therefore due before the next level, and within a level the slots
// after the current one are due in order.
void TimerWheel::place(TimerNode& node) noexcept {
  constexpr std::int64_t reach = std::int64_t{1} << (levels * slot_bits - 1);
  const std::int64_t tick = std::min(node.tick_, tick_ + reach);
  const auto differing = static_cast<std::uint64_t>(tick ^ tick_) | (slots - 1);
  const int top_bit = static_cast<int>(std::bit_width(differing)) - 1;
  const int level = std::min(top_bit / slot_bits, levels - 1);
  const int slot = static_cast<int>(tick >> (level * slot_bits)) & (slots - 1);
  node.place_ = static_cast<std::uint16_t>(level * slots + slot);
  TimerNode*& head = heads_[node.place_];
  node.next_ = head;
  node.link_ = &head;
  if (head != nullptr) head->link_ = &node.next_;
  head = &node;
  occupied_[static_cast<std::size_t>(level)] |= std::uint64_t{1} << slot;
}

void TimerWheel::unlink(TimerNode& node) noexcept {
  *node.link_ = node.next_;
  if (node.next_ != nullptr) node.next_->link_ = node.link_;
  node.link_ = nullptr;
  if (heads_[node.place_] == nullptr) {
    occupied_[node.place_ / slots] &= ~(std::uint64_t{1} << (node.place_ % slots));
  }
}

bool TimerWheel::find_due(Due& due) const noexcept {
  for (int level = 0; level < levels; ++level) {
    const std::uint64_t occupied = occupied_[static_cast<std::size_t>(level)];
    if (occupied == 0) continue;
    const int shift = level * slot_bits;
    const int present = static_cast<int>(tick_ >> shift) & (slots - 1);
    const int slot = (present + std::countr_zero(std::rotr(occupied, present))) & (slots - 1);
    const std::int64_t span = std::int64_t{1} << (shift + slot_bits);
    std::int64_t tick = (tick_ & ~(span - 1)) + (std::int64_t{slot} << shift);
    if (tick < tick_) tick += span;  // the coarsest level wraps around
    due = {level, slot, tick};
    return true;
  }
  return false;
}

void TimerWheel::open_slot(const Due& due) noexcept {
  TimerNode*& head = heads_[static_cast<std::size_t>(due.level * slots + due.slot)];
  if (due.level == 0) {
    while (head != nullptr) {
      TimerNode& node = *head;
      disarm(node);
      node.expired();
    }
    return;
  }
  TimerNode* node = head;
  head = nullptr;
  occupied_[static_cast<std::size_t>(due.level)] &= ~(std::uint64_t{1} << due.slot);
  while (node != nullptr) {
    TimerNode* const next = node->next_;
    place(*node);
    node = next;
  }
}

}  // namespace turnpike::runtime
