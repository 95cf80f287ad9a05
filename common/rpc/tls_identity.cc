#include "common/rpc/tls_identity.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/small_file.h"
#include "common/rpc/certificate.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // a system's whole list of CAs is a quarter of that

absl::Status Bad(absl::string_view flag, const std::string& file, absl::string_view what) {
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat(flag, " ", file, ": ", what)),
                      ExitCode::kBadUsage);
}

absl::StatusOr<std::string> ReadFile(absl::string_view flag, const std::string& file) {
  auto text = ReadSmallFile(file, kMostBytes);
  if (!text.ok()) return Bad(flag, file, absl::StrCat("cannot be read: ", text.status().message()));
  return text;
}

absl::StatusOr<TlsMaterial> Read(const TlsFiles& files) {
  TlsMaterial material;
  WEIR_ASSIGN_OR_RETURN(material.cert, ReadFile("--tls-cert", files.cert));
  WEIR_ASSIGN_OR_RETURN(material.key, ReadFile("--tls-key", files.key));
  WEIR_ASSIGN_OR_RETURN(material.ca, ReadFile("--tls-ca", files.ca));
  return material;
}

absl::Status Check(const TlsFiles& files, const TlsMaterial& material) {
  const std::vector<X509Ptr> chain = ParseCertificates(material.cert);
  if (chain.empty()) return Bad("--tls-cert", files.cert, "holds no whole PEM certificate");
  const KeyPtr key = ParsePrivateKey(material.key);
  if (key == nullptr) {
    return Bad("--tls-key", files.key,
               absl::StrContains(material.key, "ENCRYPTED")
                   ? "is encrypted; weir cannot ask for a password: write it in clear, mode 0600"
                   : "holds no whole PEM private key");
  }
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    return Bad("--tls-key", files.key,
               absl::StrCat("is not the key of the certificate in ", files.cert));
  }
  const std::vector<X509Ptr> roots = ParseCertificates(material.ca);
  if (roots.empty()) return Bad("--tls-ca", files.ca, "holds no whole PEM certificate");
  const absl::Status chained = CheckChain(chain, roots);
  if (chained.ok()) return absl::OkStatus();
  return Bad("--tls-cert", files.cert,
             absl::StrCat(chained.message(), " (", Describe(*chain.front()), "; --tls-ca ",
                          files.ca, ")"));
}

absl::Status CheckNamed(const TlsFiles& files) {
  std::vector<std::string> missing;
  for (const auto& [flag, file] :
       {std::pair("--tls-cert", &files.cert), {"--tls-key", &files.key}, {"--tls-ca", &files.ca}}) {
    if (file->empty()) missing.emplace_back(flag);
  }
  if (missing.empty()) return absl::OkStatus();
  return WithExitCode(
      absl::InvalidArgumentError(absl::StrCat(
          absl::StrJoin(missing, ", "), missing.size() == 1 ? " is" : " are",
          " missing: --tls-cert, --tls-key and --tls-ca are given together, as each end of a "
          "connection shows its certificate and checks the other's")),
      ExitCode::kBadUsage);
}

void WarnOfReadableKey(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) == 0 && (info.st_mode & S_IROTH) != 0) {
    LogWarning("--tls-key ", file, ": everybody on this machine can read it; chmod 600 it");
  }
}

}  // namespace

TlsIdentity::TlsIdentity(TlsFiles files, TlsMaterial material)
    : files_(std::move(files)),
      current_(std::make_shared<const TlsMaterial>(std::move(material))) {}

absl::StatusOr<std::shared_ptr<TlsIdentity>> TlsIdentity::Load(const TlsFiles& files) {
  if (files.cert.empty() && files.key.empty() && files.ca.empty()) return nullptr;
  WEIR_RETURN_IF_ERROR(CheckNamed(files));
  WEIR_ASSIGN_OR_RETURN(TlsMaterial material, Read(files));
  WEIR_RETURN_IF_ERROR(Check(files, material));
  WarnOfReadableKey(files.key);
  return std::shared_ptr<TlsIdentity>(new TlsIdentity(files, std::move(material)));
}

std::shared_ptr<const TlsMaterial> TlsIdentity::Current() {
  MutexLock lock(&mutex_);
  absl::StatusOr<TlsMaterial> read = Read(files_);
  if (read.ok() && *read == *current_) {
    refused_.clear();
    return current_;
  }
  const absl::Status good = read.ok() ? Check(files_, *read) : read.status();
  if (good.ok()) {
    current_ = std::make_shared<const TlsMaterial>(*std::move(read));
    refused_.clear();
    LogInfo("TLS: new connections use the certificate now in ", files_.cert, " (",
            Describe(*ParseCertificates(current_->cert).front()), ")");
  } else if (refused_ != good.message()) {
    refused_ = std::string(good.message());
    LogWarning("TLS: stays with the certificate it has: ", refused_);
  }
  return current_;
}

}  // namespace weir::rpc
