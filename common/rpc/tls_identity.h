#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"

namespace weir::rpc {

/// --tls-cert, --tls-key, --tls-ca: PEM files. All empty: no TLS.
struct TlsFiles {
  std::string
      cert;         ///< this process's certificate, as server and as client; intermediates after it
  std::string key;  ///< its private key, not encrypted
  std::string ca;   ///< whom a peer's certificate must lead to; several may stand there
};

/// What the three files held when they were last found good.
struct TlsMaterial {
  std::string cert;
  std::string key;
  std::string ca;
  bool operator==(const TlsMaterial&) const = default;
};

/// Who this process is on the control plane, and whom it trusts. Made once a process and given to
/// every server and client (ServerOptions, ChannelOptions, SessionOptions). Any thread.
///
/// The files are read again whenever a connection is made: a renewed certificate counts from the
/// next connection on, and those that are open stay. What was found good stays in use while the
/// files are missing, half written or do not fit together; that is logged, once for each change.
class TlsIdentity {
 public:
  /// Null where no file is named. Warns where others on this machine can read the key.
  /// Errors: kInvalidArgument (exit 2): a file is missing in `files`, by its flag; or, naming the
  /// file: it cannot be read or is no PEM; the key is encrypted or another certificate's; the
  /// certificate has expired, does not lead to the CA, or may not be used by servers and clients.
  static absl::StatusOr<std::shared_ptr<TlsIdentity>> Load(const TlsFiles& files);

  /// What to use for a connection that is made now.
  std::shared_ptr<const TlsMaterial> Current();
  const TlsFiles& files() const { return files_; }

 private:
  TlsIdentity(TlsFiles files, TlsMaterial material);

  const TlsFiles files_;
  Mutex mutex_;
  std::shared_ptr<const TlsMaterial> current_ ABSL_GUARDED_BY(mutex_);
  std::string refused_ ABSL_GUARDED_BY(mutex_);  // why the files were not taken; empty: they were
};

}  // namespace weir::rpc
