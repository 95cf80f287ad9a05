#include "common/net/ucx/address.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"
#include "common/base/checksum.h"
#include "common/model/protocol.h"
#include "common/net/ucx/version.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

// "weir-ucx", 8 bytes of checksum over the rest, 1 byte of version's length, version, address.
constexpr absl::string_view kMagic = "weir-ucx";
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

std::string ChecksumOf(absl::string_view text) {
  const std::uint64_t checksum =
      Checksum(std::as_bytes(std::span<const char>(text.data(), text.size())));
  std::string bytes(kChecksumBytes, '\0');
  std::memcpy(bytes.data(), &checksum, kChecksumBytes);
  return bytes;
}

}  // namespace

std::string PackUcxAddress(absl::string_view worker_address) {
  const std::string version = UcxVersion();
  const std::string rest =
      absl::StrCat(absl::string_view(std::string(1, static_cast<char>(version.size()))), version,
                   worker_address);
  return absl::StrCat(kMagic, ChecksumOf(rest), rest);
}

absl::StatusOr<std::string> UnpackUcxAddress(absl::string_view packed) {
  const auto refuse = [&packed](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a UCX address (", packed.size(), " bytes): ", why));
  };
  if (packed.size() < kMagic.size() + kChecksumBytes + 1) return refuse("too short");
  if (packed.substr(0, kMagic.size()) != kMagic) return refuse("wrong start");
  const absl::string_view checksum = packed.substr(kMagic.size(), kChecksumBytes);
  const absl::string_view rest = packed.substr(kMagic.size() + kChecksumBytes);
  if (checksum != ChecksumOf(rest)) return refuse("wrong checksum");
  const std::size_t version_size = static_cast<unsigned char>(rest[0]);
  if (rest.size() <= 1 + version_size) return refuse("no worker address in it");
  const absl::string_view version = rest.substr(1, version_size);
  if (!SameUcxSeries(version, UcxVersion())) {
    return WithExitCode(absl::FailedPreconditionError(absl::StrCat(
                            "the peer has UCX ", version, ", this process has UCX ", UcxVersion(),
                            ": install the same major.minor version of UCX on every host")),
                        ExitCode::kBadUsage);
  }
  return std::string(rest.substr(1 + version_size));
}

}  // namespace weir::net
