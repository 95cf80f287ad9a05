#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/occurrences.h"
#include "common/net/transport.h"
#include "common/net/ucx/batch_format.h"
#include "common/net/ucx/context.h"
#include "common/net/ucx/endpoint.h"
#include "common/net/ucx/get_operation.h"
#include "common/net/ucx/options.h"
#include "common/net/ucx/send_pool.h"
#include "common/net/ucx/waiter.h"

namespace weir::net {

/// UCX active messages over tcp, shared memory or RDMA, always with peer error handling, always
/// eager: a rendezvous would let later messages overtake. One UCP worker.
///
/// UCX trusts the fabric: random bytes at its ports do nothing, but whoever sends its magic number
/// and then nonsense makes 1.13 abort (tcp_ep.c, an assertion on the length). Bind to trusted
/// networks.
class UcxTransport final : public Transport {
 public:
  /// Errors: as UcxContext::Create, and kResourceExhausted for ports or descriptors.
  static absl::StatusOr<std::unique_ptr<UcxTransport>> Create(const UcxOptions& options);
  /// Takes at most kTeardownTime; what UCX still holds then is logged.
  ~UcxTransport() override;

  std::string address() const override;
  absl::StatusOr<PeerId> Connect(const std::string& address, const std::string& name) override;
  void Disconnect(PeerId peer) override;
  absl::StatusOr<std::unique_ptr<Memory>> Allocate(std::size_t bytes) override;
  absl::StatusOr<std::unique_ptr<MappedMemory>> Map(PeerId owner, const std::string& key,
                                                    std::size_t bytes) override;
  absl::StatusOr<std::unique_ptr<RemoteMemory>> Open(PeerId owner, const std::string& key,
                                                     std::size_t bytes) override;
  void Get(const RemoteMemory& from, std::size_t offset, MutableByteSpan into, const Memory& memory,
           GetToken token) override;
  void Send(PeerId peer, std::uint8_t type, ByteSpan header, ByteSpan payload, const Memory* memory,
            SendToken token) override;
  bool Progress(TransportEvents& events) override;
  void Wait(absl::Duration timeout) override;
  void Wake() override;
  std::string PathTo(PeerId peer) const override;

  /// Messages that were dropped, and logged, because no transport of ours sends such: longer than
  /// the contract allows, by rendezvous, or a batch that is none. UCX does not say whose they were.
  /// Owner's thread.
  std::uint64_t dropped_messages() const { return dropped_messages_; }

 private:
  static constexpr absl::Duration kTeardownTime = absl::Seconds(3);
  // Between two calls of Progress: the credits of a few peers. More is legal, and allocates.
  static constexpr std::size_t kUsualCompletions = 256;
  // Of one peer, that wait or leave together: room from the start, since a first full socket, or a
  // first large batch, may come at any step, and steps allocate nothing.
  static constexpr std::size_t kUsualSends = kMaxBatchRecords;

  struct Completion {
    SendToken token;
    absl::Status status;
  };
  struct GetCompletion {
    GetToken token;
    absl::Status status;
  };
  // What UCX passes to the handler of one message type.
  struct Inbound {
    UcxTransport* transport = nullptr;
    std::uint8_t type = 0;
  };
  struct WorkerDestroy {
    void operator()(ucp_worker_h worker) const { ucp_worker_destroy(worker); }
  };
  using WorkerPtr = std::unique_ptr<ucp_worker, WorkerDestroy>;

  UcxTransport(const UcxOptions& options, std::shared_ptr<UcxContext> context, WorkerPtr worker,
               UcxWaiter waiter);

  // UCX's callbacks. All only note what happened, but for messages, which go to the owner at once.
  static ucs_status_t OnActiveMessage(void* inbound, const void* header, std::size_t header_bytes,
                                      void* data, std::size_t data_bytes,
                                      const ucp_am_recv_param_t* param);
  static void OnSendDone(void* request, ucs_status_t status, void* operation);
  static void OnGetDone(void* request, ucs_status_t status, void* operation);
  static void OnEndpointError(void* endpoint, ucp_ep_h handle, ucs_status_t status);
  static void OnFlushed(void* request, ucs_status_t status, void* endpoint);
  static void OnClosed(void* request, ucs_status_t status, void* endpoint);

  absl::Status Listen();
  absl::Status CheckPeer(const UcxEndpoint* endpoint, PeerId peer) const;
  absl::Status CheckSend(const UcxEndpoint* endpoint, PeerId peer, std::uint8_t type,
                         ByteSpan header, ByteSpan payload) const;
  void DeliverMessage(std::uint8_t type, ByteSpan header, ByteSpan payload);
  void Drop(absl::string_view what);
  void Submit(UcxEndpoint& endpoint, SendOperation* operation);
  void SubmitAlone(UcxEndpoint& endpoint, SendOperation* operation);
  void StartSend(UcxEndpoint& endpoint, SendOperation* operation);
  ucs_status_ptr_t Post(UcxEndpoint& endpoint, SendOperation* operation, std::uint32_t flags);
  bool Flush(UcxEndpoint& endpoint);
  void Complete(const UcxEndpoint& endpoint, SendToken token, ucs_status_t status);
  void MarkDown(UcxEndpoint& endpoint, ucs_status_t status);
  void FailWaiting(UcxEndpoint& endpoint);
  UcxEndpoint* Find(PeerId peer) const;
  absl::Status OutcomeOf(const UcxEndpoint& endpoint, ucs_status_t status) const;

  void StartGet(UcxEndpoint& endpoint, GetOperation* operation);
  void FinishGet(GetOperation* operation, ucs_status_t status);
  void StartWaitingGets(UcxEndpoint& endpoint);
  void FailWaitingGets(UcxEndpoint& endpoint);
  bool ReportGets(TransportEvents& events);

  // ucx_batches.cc
  bool Batches(const SendOperation& operation) const;
  void AddToBatch(UcxEndpoint& endpoint, SendOperation* operation);
  void StartBatch(UcxEndpoint& endpoint);
  ByteSpan GatherPayloads();
  ByteSpan WriteBatchHeaders(bool in_a_row);
  ucs_status_t PostBatch(UcxEndpoint& endpoint);
  bool StartBatches();
  void OnBatch(Batch batch);

  bool ProgressWorker();
  bool StartWaiting();
  bool MustClose() const;
  void AbandonWorker();
  bool CloseEndpoints();
  bool ReportSends(TransportEvents& events);
  bool ReportDowns(TransportEvents& events);

  const UcxOptions options_;
  std::shared_ptr<UcxContext> context_;
  SendPool sends_;
  GetPool gets_;
  absl::flat_hash_map<PeerId, std::unique_ptr<UcxEndpoint>> endpoints_;
  std::array<Inbound, kBatchMessage + 1> inbound_;
  PeerId last_peer_;
  std::vector<Completion> completions_;
  std::vector<Completion> reporting_;  // kept for its capacity
  std::vector<GetCompletion> got_;
  std::vector<GetCompletion> reporting_gets_;  // kept for its capacity
  std::vector<PeerId> ready_;     // connected, or no longer full, since the last Progress
  std::vector<PeerId> starting_;  // these two are kept for their capacity
  std::vector<SendOperation*> resuming_;
  std::vector<SendOperation*> batch_;  // that is being started; kept for its capacity
  std::vector<PeerId> batching_;       // each once
  std::array<std::byte, kMaxBatchHeaderBytes> batch_headers_;  // of the one that is being started
  std::vector<std::byte> batch_payloads_;                      // gathered
  bool in_progress_ = false;                                   // within Progress
  std::vector<PeerId> downs_;
  std::vector<PeerId> closing_;
  TransportEvents* events_ = nullptr;       // only within Progress
  TransportEvents* last_events_ = nullptr;  // for the destructor
  std::uint64_t dropped_messages_ = 0;
  Occurrences drops_;

  // Last: destroying the worker may call back, which touches most of the above.
  WorkerPtr worker_;
  UcxWaiter waiter_;
};

}  // namespace weir::net
