#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::doctor {

/// What the kernel tells in /proc and /sys. The tree may be another one, so that tests can prepare
/// theirs. Nothing here fails: what cannot be read, for whatever reason, is not there.
/// Threading: immutable.
class HostFiles {
 public:
  explicit HostFiles(std::string root = "") : root_(std::move(root)) {}

  /// A file's text without white space at its ends; `path` is absolute. None: missing, forbidden,
  /// or larger than 256 KiB.
  std::optional<std::string> Text(const std::string& path) const;
  /// What the folder holds, in order; empty when it cannot be listed.
  std::vector<std::string> Names(const std::string& folder) const;
  bool Has(const std::string& path) const;

 private:
  std::string root_;  ///< put before every path
};

}  // namespace weir::doctor
