#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace weir {

/// Passes what a child process prints on to this process's stdout, line by line, with a tag in
/// front: "worker 1: loss 0.25". Driven by its owner: no thread. Movable.
class TaggedOutput {
 public:
  /// Errors: kResourceExhausted without descriptors.
  static absl::StatusOr<TaggedOutput> Create(std::string tag);

  /// The child's stdout; close it here once the child has it.
  UniqueFd& writer() { return writer_; }
  /// Becomes readable when there is something to pass on; -1 at the output's end.
  int reader() const { return reader_.get(); }
  /// Passes on what is there, whole lines only. Does not wait for the child.
  void PassOn();
  /// The same, and the rest without its newline. Nothing is passed on after it.
  void Finish();

 private:
  void Print(const std::string& line) const;

  std::string tag_;
  std::string partial_;
  UniqueFd reader_;
  UniqueFd writer_;
};

}  // namespace weir
