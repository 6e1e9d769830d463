#include "ledger/escrow/unknown_calls.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/wait.h"

namespace turnpike::ledger {
namespace {

constexpr std::int64_t note_wait_ms = 2'000;

}  // namespace

struct UnknownCalls::Page {
  std::vector<UnknownCall> calls;
  std::optional<StoreFailure> failure;  // set before the event
  runtime::Event is_written;
};

struct UnknownCalls::Book {
  std::unique_ptr<UnknownNotes> notes;  // used by one task at a time
  std::mutex mutex;
  struct Open {
    std::string account_id;
    Credits units = 0;
    std::int64_t since_ns = 0;
  };
  std::unordered_map<std::string, Open> calls;  // open calls, by message
  std::shared_ptr<Page> next_page;                        // null: no note is waiting
  bool has_notes = false;                                 // written, or about to be
};

// Does the pending work of the book when it runs. A call is opened before it is noted, so without
// open calls no note is needed; and a note requested after that is written after the drop.
class UnknownCalls::Writing final : public runtime::PoolWork {
 public:
  explicit Writing(std::shared_ptr<Book> book) : book_(std::move(book)) {}

  void run() noexcept override {
    std::shared_ptr<Page> page;
    bool is_needed = false;
    bool is_dropped = false;
    {
      const std::lock_guard lock(book_->mutex);
      page = std::exchange(book_->next_page, nullptr);
      is_needed = !book_->calls.empty();
      is_dropped = !is_needed && std::exchange(book_->has_notes, false);
    }
    if (is_dropped) book_->notes->drop();
    if (page == nullptr) return;
    if (is_needed) {
      if (auto noted = book_->notes->note(page->calls); !noted) page->failure = noted.error();
    }
    page->is_written.set();
  }

 private:
  const std::shared_ptr<Book> book_;
};

UnknownCalls::UnknownCalls(runtime::BlockingPool& pool, base::Log& log)
    : pool_(pool),
      log_(log),
      user_(pool.add_user("unknown_calls", 1, 0)),
      book_(std::make_shared<Book>()) {}

Stored<std::vector<UnknownCall>> UnknownCalls::start(std::unique_ptr<UnknownNotes> notes) {
  book_->notes = std::move(notes);
  auto noted = book_->notes->noted();
  if (!noted) return noted;
  book_->has_notes = !noted->empty();
  for (const UnknownCall& call : *noted) open(call);
  return noted;
}

void UnknownCalls::open(const UnknownCall& call) {
  const std::lock_guard lock(book_->mutex);
  book_->calls.try_emplace(call.message_id,
                           Book::Open{call.account_id, call.units, runtime::now_ns()});
}

void UnknownCalls::note(const UnknownCall& call) {
  std::shared_ptr<Page> page;
  bool is_first = false;
  {
    const std::lock_guard lock(book_->mutex);
    book_->has_notes = true;
    is_first = book_->next_page == nullptr;
    if (is_first) book_->next_page = std::make_shared<Page>();
    page = book_->next_page;
    page->calls.push_back(call);
  }
  if (is_first) write_or_drop();
  const auto until = runtime::Deadline::after_ms(note_wait_ms);
  const bool is_written = page->is_written.wait(until) == runtime::Wake::ready;
  if (is_written && !page->failure) return;
  log_.write(Severity::error, "unknown_call_not_noted",
             {{"account", call.account_id},
              {"message", call.message_id},
              {"reason", is_written ? page->failure->text : "the disk did not answer"}});
}

void UnknownCalls::close(std::string_view message_id) {
  {
    const std::lock_guard lock(book_->mutex);
    book_->calls.erase(std::string(message_id));
    if (!book_->calls.empty() || !book_->has_notes) return;
  }
  write_or_drop();
}

bool UnknownCalls::is_open(std::string_view account_id, std::string_view message_id) const {
  const std::lock_guard lock(book_->mutex);
  const auto found = book_->calls.find(std::string(message_id));
  return found != book_->calls.end() && found->second.account_id == account_id;
}

std::vector<OpenCall> UnknownCalls::list(std::size_t most) const {
  const std::int64_t now_ns = runtime::now_ns();
  std::vector<OpenCall> open;
  {
    const std::lock_guard lock(book_->mutex);
    open.reserve(book_->calls.size());
    for (const auto& [message, call] : book_->calls) {
      open.push_back({{call.account_id, message, call.units},
                      (now_ns - call.since_ns) / 1'000'000});
    }
  }
  std::sort(open.begin(), open.end(), [](const OpenCall& left, const OpenCall& right) {
    return left.age_ms > right.age_ms;
  });
  if (open.size() > most) open.resize(most);
  return open;
}

// post() accepts the work even when the pool is full, so that no note is lost. Once the pool has
// stopped, no other task runs, and the work can run here.
void UnknownCalls::write_or_drop() {
  auto work = std::make_shared<Writing>(book_);
  if (!pool_.post(user_, work)) work->run();
}

}  // namespace turnpike::ledger
