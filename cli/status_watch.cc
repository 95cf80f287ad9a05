#include "cli/status_watch.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/status_view.h"
#include "cli/terminal_block.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/base/unique_fd.h"
#include "common/rpc/client.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

// Asked more often than shown: between the last step and the chief's exit may be little time.
constexpr absl::Duration kAskEvery = absl::Milliseconds(200);
constexpr absl::Duration kCallTimeout = absl::Seconds(1);
// A chief that is silent for as long as its members bear with it by default is lost.
constexpr absl::Duration kPatience = absl::Seconds(5);

/// SIGINT and SIGTERM as something to wait for beside time.
class SignalWait {
 public:
  SignalWait() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    fd_ = UniqueFd(signalfd(-1, &signals_, SFD_CLOEXEC));
  }

  /// The signal that came, or none within `timeout`.
  std::optional<int> For(absl::Duration timeout) {
    pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const auto ms = std::max<std::int64_t>(0, absl::ToInt64Milliseconds(timeout));
    if (poll(&waiting, 1, static_cast<int>(ms)) <= 0) return std::nullopt;
    signalfd_siginfo info{};
    if (read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t signals_;
  UniqueFd fd_;
};

class Watcher {
 public:
  Watcher(const StatusArguments& arguments, std::shared_ptr<rpc::TlsIdentity> tls)
      : arguments_(arguments),
        chief_(rpc::ChiefClient::Create({.address = arguments.chief,
                                         .peer = "chief",
                                         .token = arguments.token,
                                         .tls = std::move(tls)})) {}

  absl::StatusOr<int> Run() {
    for (;;) {
      auto status = chief_->GetStatus(kCallTimeout);
      if (status.ok()) {
        answered_at_ = MonotonicNow();
        if (!Take(*std::move(status))) return 0;
        if (last_->phase == "done") return End();
      } else if (!last_.has_value()) {
        return status.status();
      } else if (Ending()) {
        return End();
      } else if (MonotonicNow() - answered_at_ >= kPatience) {
        return Disappeared(status.status());
      }
      if (const auto signal = signals_.For(kAskEvery)) {
        block_.Erase();
        return 128 + *signal;
      }
    }
  }

 private:
  // Once the workers take no more steps, a chief that goes away, with whatever error, has done its
  // work.
  bool Ending() const {
    return last_->phase != "waiting for members" && last_->phase != "training";
  }

  // False when nobody reads what is shown.
  bool Take(wire::StatusReplyT status) {
    const bool news = !last_.has_value() || last_->phase != status.phase;
    last_ = std::move(status);
    shown_is_old_ = true;
    if (!news && MonotonicNow() - shown_at_ < *arguments_.watch) return true;
    return Show();
  }

  bool Show() {
    shown_at_ = MonotonicNow();
    shown_is_old_ = false;
    if (arguments_.json) return block_.Show(StatusJson(*last_, JsonLayout::kOneLine));
    const std::string gap = block_.in_place() || std::exchange(first_, false) ? "" : "\n";
    return block_.Show(absl::StrCat(gap, StatusTable(*last_)));
  }

  int End() {
    if (shown_is_old_) Show();
    return 0;
  }

  absl::Status Disappeared(const absl::Status& why) {
    return WithExitCode(absl::UnavailableError(absl::StrCat(
                            "the chief at ", arguments_.chief,
                            " disappeared in the middle of the job (", last_->phase, ", step ",
                            last_->global_step, " of ", last_->max_steps, "): ", why.message(),
                            "\n  its log and its members' tell more; they end with exit code 4")),
                        ExitCode::kPeerLost);
  }

  const StatusArguments& arguments_;
  SignalWait signals_;  // first: threads of the client inherit that they are blocked
  const std::unique_ptr<rpc::ChiefClient> chief_;
  TerminalBlock block_;
  std::optional<wire::StatusReplyT> last_;
  absl::Time answered_at_;
  absl::Time shown_at_;
  bool shown_is_old_ = false;
  bool first_ = true;
};

}  // namespace

absl::StatusOr<int> WatchStatus(const StatusArguments& arguments) {
  WEIR_ASSIGN_OR_RETURN(auto tls, rpc::TlsIdentity::Load(arguments.tls));
  return Watcher(arguments, std::move(tls)).Run();
}

}  // namespace weir::cli
