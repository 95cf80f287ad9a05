#include "chief/member_session.h"

namespace weir::chief {

void MemberSession::Abort(const std::string& why) {
  {
    MutexLock lock(&mutex_);
    if (outcome_.ok()) outcome_ = absl::AbortedError(why);
    if (stream_ != nullptr) stream_->Cancel();
  }
  outbox_.Close();
}

void MemberSession::WriteQueued(rpc::MemberStream& stream) {
  while (auto message = outbox_.Pop()) {
    if (!stream.Write(*message)) return;
  }
}

void MemberSession::Detach() {
  MutexLock lock(&mutex_);
  stream_ = nullptr;
}

absl::Status MemberSession::outcome() const {
  MutexLock lock(&mutex_);
  return outcome_;
}

}  // namespace weir::chief
