#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir {

/// Gathers what is wrong with a configuration, so that a person learns it all at once.
/// Threading: one thread.
class Mistakes {
 public:
  /// `key` says where ("cluster.ps[1]", "--seed"), `text` what was found and what to write instead.
  void Add(absl::string_view key, absl::string_view text);

  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return lines_.size() + left_out_; }

  /// kOk when there are none; else kInvalidArgument with exit code 2: `subject` ("TF_CONFIG",
  /// "weir run") and a line each. Beyond the first 1000 they are only counted.
  absl::Status ToStatus(absl::string_view subject) const;

 private:
  std::vector<std::string> lines_;
  std::size_t left_out_ = 0;
};

/// `text` as a terminal can be trusted with it: everything but printable ASCII escaped, and so are
/// quotes; cut after `limit` bytes.
std::string Printable(absl::string_view text, std::size_t limit = 80);

/// `text` in double quotes, fit for a terminal as Printable makes it.
std::string Quoted(absl::string_view text);

}  // namespace weir
