#include "runtime/tagged_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// A line without end is cut here: this process keeps no more of it.
constexpr std::size_t kLongestLine = 64 * 1024;

}  // namespace

absl::StatusOr<TaggedOutput> TaggedOutput::Create(std::string tag) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  TaggedOutput output;
  output.tag_ = std::move(tag);
  output.reader_ = UniqueFd(ends[0]);
  output.writer_ = UniqueFd(ends[1]);
  // This end alone: a child that finds its stdout not ready would lose what it prints.
  fcntl(output.reader_.get(), F_SETFL, O_NONBLOCK);
  return output;
}

void TaggedOutput::PassOn() {
  std::array<char, 4096> piece{};
  while (reader_.valid()) {
    const ssize_t count = read(reader_.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      reader_.reset();
      break;
    }
    partial_.append(piece.data(), static_cast<std::size_t>(count));
    for (std::size_t end = partial_.find('\n'); end != std::string::npos;
         end = partial_.find('\n')) {
      Print(partial_.substr(0, end));
      partial_.erase(0, end + 1);
    }
    if (partial_.size() > kLongestLine) Print(std::exchange(partial_, ""));
  }
  std::fflush(stdout);
}

void TaggedOutput::Finish() {
  PassOn();
  if (!partial_.empty()) Print(std::exchange(partial_, ""));
  std::fflush(stdout);
  reader_.reset();
}

void TaggedOutput::Print(const std::string& line) const {
  std::fputs(absl::StrCat(tag_, ": ", line, "\n").c_str(), stdout);
}

}  // namespace weir
