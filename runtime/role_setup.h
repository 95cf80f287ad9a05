#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "common/config/cluster_spec.h"
#include "common/config/job_options.h"
#include "common/model/layout.h"
#include "common/net/transport.h"
#include "common/rpc/tls_identity.h"
#include "schemas/chief_generated.h"
#include "weir/job.h"
#include "worker/client/data_client.h"

namespace weir {

/// How a role ended: the exit code, and the reason to log.
struct RoleEnd {
  int exit_code = 0;
  std::string reason;
};

/// What every role of one process is given. Borrowed parts outlive the roles.
struct RoleSetup {
  ClusterSpec cluster;
  JobOptions options;
  std::string job_name;
  const Job* job = nullptr;   ///< null in a program that uses weir::Client: it is `external`
  bool tensors_only = false;  ///< no role of `weir` can train or evaluate the job
  const Layout* layout = nullptr;
  bool external() const { return job == nullptr; }
  std::string own_address;                ///< host:port that this process serves at; empty: none
  std::uint64_t max_steps = 0;            ///< the options', or the job's own
  std::shared_ptr<rpc::TlsIdentity> tls;  ///< of the options' files; null: no TLS

  Task task;  ///< the role that is set up
};

/// The process's identity of --tls-cert, --tls-key, --tls-ca; null without them. Errors: exit 2.
absl::StatusOr<std::shared_ptr<rpc::TlsIdentity>> LoadTls(const JobOptions& options);

/// A readable line of the settings that all members must share, and its fingerprint.
std::string SharedSettings(const RoleSetup& setup);
std::uint64_t SettingsFingerprint(const RoleSetup& setup);

/// The tensors and the number of ps, for people; cut short where there are many.
std::string DescribeLayout(const Layout& layout);

/// What this role says when it joins; `incarnation` new with every call.
wire::JoinRequestT JoinRequestOf(const RoleSetup& setup);

/// The rank of a ps among the listed ones, as Layout numbers them. Indices may have gaps.
int PsRank(const ClusterSpec& cluster, int ps_index);
/// Worker indices of this cluster are below this.
int WorkerIndexBound(const ClusterSpec& cluster);
/// This worker's rank among the listed ones: its share of the data.
int WorkerRank(const ClusterSpec& cluster, int worker_index);

/// Turns `setup`'s --transport into what the chief's welcome made of it, for all that follows here.
/// A program of its own, which has no flags, takes the chief's. Errors (exit 2): a transport that
/// this version does not know.
absl::Status FollowChief(const wire::JoinReplyT& welcome, RoleSetup& setup);

/// What CreateTransport makes, for a worker and a ps to compare: "ucx tcp", "ucx shm", "ucx rdma".
std::string TransportKind(const RoleSetup& setup);

/// Whether a worker is to map the memory of the ps on its host.
Mapping MappingOf(const RoleSetup& setup);

/// Whether a worker is to read the memory of the ps from afar.
OneSidedReads OneSidedReadsOf(const RoleSetup& setup);

/// The UCX transport that the options ask for.
absl::StatusOr<std::unique_ptr<net::Transport>> CreateTransport(const RoleSetup& setup);

/// Equal for processes on one host: /proc's boot id and the host's name.
std::string HostId();

/// Where a failed role leads: its exit code and the text.
RoleEnd EndOf(const absl::Status& status);

}  // namespace weir
