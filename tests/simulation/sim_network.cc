#include "tests/simulation/sim_network.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::sim {

absl::Duration SimNetwork::Delay() {
  return random_.Upto(random_.Chance(scenario_.slow) ? scenario_.slow_delay : scenario_.delay);
}

void SimNetwork::Send(Message message) {
  const auto shared = std::make_shared<Message>(std::move(message));
  scheduler_.Trace(absl::StrCat("send     ", shared->label));
  if (shared->sent_early && shared->sent) {
    processes_.After(shared->from, absl::ZeroDuration(), [shared] { shared->sent(); });
  }
  processes_.After(shared->from, Delay(), [this, shared] { Read(shared); });
}

void SimNetwork::Read(const std::shared_ptr<Message>& message) {
  if (message->read && !message->read()) return;
  if (message->sent && !message->sent_early) {
    processes_.After(message->from, Delay(), [message] { message->sent(); });
  }
  if (random_.Chance(scenario_.drop)) {
    scheduler_.Trace(absl::StrCat("DROP     ", message->label));
    if (message->lost) message->lost();
    return;
  }
  const int copies = 1 + (random_.Chance(scenario_.duplicate) ? random_.Int(1, 2) : 0);
  for (int i = 0; i < copies; ++i) {
    processes_.After(message->to, Delay(), [this, message, i] {
      scheduler_.Trace(absl::StrCat(i == 0 ? "deliver  " : "REPEAT   ", message->label));
      message->deliver(i > 0);
    });
  }
}

}  // namespace weir::sim
