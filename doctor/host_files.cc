#include "doctor/host_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "common/config/small_file.h"

namespace weir::doctor {
namespace {

// Linux refuses a read of 4 MiB or more from /proc/sys, however little there is (ENOMEM).
constexpr std::size_t kMostBytes = std::size_t{256} << 10U;

}  // namespace

std::optional<std::string> HostFiles::Text(const std::string& path) const {
  absl::StatusOr<std::string> text = ReadSmallFile(root_ + path, kMostBytes);
  if (!text.ok()) return std::nullopt;
  absl::StripAsciiWhitespace(&*text);
  return *std::move(text);
}

std::vector<std::string> HostFiles::Names(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(root_ + folder, error);
  const std::filesystem::directory_iterator end;
  while (!error && entry != end) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  std::ranges::sort(names);
  return names;
}

bool HostFiles::Has(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(root_ + path, error);
}

}  // namespace weir::doctor
