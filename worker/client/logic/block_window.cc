#include "worker/client/logic/block_window.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "absl/strings/str_cat.h"

namespace weir::client {

BlockWindow::BlockWindow(std::size_t blocks) : entries_(blocks), ring_(blocks) {
  active_.reserve(blocks);
}

bool BlockWindow::IsActive(State state) {
  return state == State::kUnderWay || state == State::kDelayed || state == State::kAwaitingView;
}

void BlockWindow::Start() {
  Stop();
  remaining_ = held_ = entries_.size();
  for (Entry& entry : entries_) {
    entry.state = State::kHeld;
    entry.refusals = 0;
  }
}

bool BlockWindow::Release(absl::Time now, std::size_t position) {
  Entry& entry = entries_[position];
  if (entry.state != State::kHeld) return false;
  --held_;
  if (entry.reading) {
    entry.due = now;
    Enter(position, State::kDelayed);
  } else {
    MakeReady(position);
  }
  return true;
}

void BlockWindow::Stop() {
  active_.clear();
  ring_first_ = ring_size_ = 0;
  remaining_ = held_ = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].state = State::kIdle;
    SettleCredit(i);
  }
}

BlockRun BlockWindow::Take(absl::Time due, std::size_t most) {
  BlockRun run;
  while (run.count < most && SkipAnswered()) {
    const std::size_t position = ring_[ring_first_];
    Entry& entry = entries_[position];
    if (!entry.holds_credit && used_ >= credits_) break;
    if (run.count == 0) run.first = position;
    if (position != run.first + run.count) break;
    PopFront();
    entry.due = due;
    if (!entry.holds_credit) ++used_;
    entry.holds_credit = true;
    Enter(position, State::kUnderWay);
    ++run.count;
  }
  return run;
}

bool BlockWindow::SkipAnswered() {
  while (ring_size_ > 0 && entries_[ring_[ring_first_]].state != State::kReady) PopFront();
  return ring_size_ > 0;
}

void BlockWindow::PopFront() {
  ring_first_ = (ring_first_ + 1) % ring_.size();
  --ring_size_;
}

void BlockWindow::BytesLent(std::size_t position) {
  assert(!entries_[position].reading);
  entries_[position].reading = true;
  ++reading_;
}

void BlockWindow::BytesRead(absl::Time now, std::size_t position) {
  Entry& entry = entries_[position];
  if (!entry.reading) return;
  entry.reading = false;
  --reading_;
  const bool waits = entry.state == State::kUnderWay || entry.state == State::kDelayed;
  if (waits && entry.due <= now) {
    SendAgain(position);
  } else {
    SettleCredit(position);
  }
}

bool BlockWindow::Finish(std::size_t position) {
  const State state = entries_[position].state;
  // Nobody asked for what is held: such an answer is not to be believed.
  if (state == State::kDone || state == State::kIdle || state == State::kHeld) return false;
  Enter(position, State::kDone);
  --remaining_;
  SettleCredit(position);
  return true;
}

bool BlockWindow::Delay(absl::Time now, std::size_t position, const Backoff& backoff) {
  Entry& entry = entries_[position];
  if (entry.state != State::kUnderWay) return false;
  if (entry.refusals < std::numeric_limits<std::uint8_t>::max()) ++entry.refusals;
  entry.due = now + backoff.After(entry.refusals);
  Enter(position, State::kDelayed);
  SettleCredit(position);
  return true;
}

bool BlockWindow::AwaitView(std::size_t position) {
  if (entries_[position].state != State::kUnderWay) return false;
  Enter(position, State::kAwaitingView);
  SettleCredit(position);
  return true;
}

void BlockWindow::ViewCame(absl::Time now) {
  // Backwards: an entry that leaves is replaced by the last one, which was seen already.
  for (std::size_t i = active_.size(); i-- > 0;) {
    const std::size_t position = active_[i];
    Entry& entry = entries_[position];
    entry.refusals = 0;
    if (entry.state != State::kAwaitingView) continue;
    if (entry.reading) {
      entry.due = now;
      Enter(position, State::kDelayed);
    } else {
      MakeReady(position);
    }
  }
}

void BlockWindow::Expire(absl::Time now) {
  for (std::size_t i = active_.size(); i-- > 0;) {
    const std::size_t position = active_[i];
    const Entry& entry = entries_[position];
    // Bytes that are being read are not lent a second time: BytesRead readies those.
    if (entry.state == State::kAwaitingView || entry.reading || entry.due > now) continue;
    SendAgain(position);
  }
}

absl::Time BlockWindow::next_due() const {
  absl::Time next = absl::InfiniteFuture();
  for (std::uint32_t position : active_) {
    const Entry& entry = entries_[position];
    if (entry.state == State::kAwaitingView || entry.reading) continue;
    next = std::min(next, entry.due);
  }
  return next;
}

void BlockWindow::Enter(std::size_t position, State state) {
  Entry& entry = entries_[position];
  if (IsActive(entry.state) && !IsActive(state)) {
    active_[entry.active_at] = active_.back();
    entries_[active_.back()].active_at = entry.active_at;
    active_.pop_back();
  } else if (!IsActive(entry.state) && IsActive(state)) {
    entry.active_at = static_cast<std::uint32_t>(active_.size());
    active_.push_back(static_cast<std::uint32_t>(position));
  }
  entry.state = state;
}

void BlockWindow::MakeReady(std::size_t position) {
  Enter(position, State::kReady);
  assert(ring_size_ < ring_.size());
  ring_[(ring_first_ + ring_size_) % ring_.size()] = static_cast<std::uint32_t>(position);
  ++ring_size_;
}

void BlockWindow::SendAgain(std::size_t position) {
  if (entries_[position].state == State::kDelayed) {
    MakeReady(position);
    return SettleCredit(position);
  }
  // The first send may still arrive, so its credit serves the second: at the front of the ring,
  // where those without one cannot be in its way.
  Enter(position, State::kReady);
  assert(ring_size_ < ring_.size());
  ring_first_ = (ring_first_ + ring_.size() - 1) % ring_.size();
  ring_[ring_first_] = static_cast<std::uint32_t>(position);
  ++ring_size_;
}

void BlockWindow::SettleCredit(std::size_t position) {
  Entry& entry = entries_[position];
  if (!entry.holds_credit || entry.reading || entry.state == State::kUnderWay) return;
  entry.holds_credit = false;
  --used_;
}

BlockRun BlockWindow::Missing() const {
  BlockRun run;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].state == State::kDone) continue;
    if (run.count == 0) run.first = i;
    run.count = i - run.first + 1;
  }
  return run;
}

std::string BlockWindow::Describe() const {
  const auto count = [&](State state) {
    return std::ranges::count(entries_, state, &Entry::state);
  };
  std::string text;
  const auto add = [&](auto n, const char* what) {
    if (n > 0) absl::StrAppend(&text, text.empty() ? "" : ", ", n, " ", what);
  };
  add(count(State::kUnderWay), "unanswered");
  add(count(State::kDelayed), "refused for now");
  add(count(State::kAwaitingView), "waiting for a view");
  add(count(State::kReady), "not sent yet");
  add(count(State::kHeld), "held back");
  if (remaining_ == 0) add(reading_, "still being sent");
  return text;
}

}  // namespace weir::client
