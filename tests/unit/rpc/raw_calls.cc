#include "tests/unit/rpc/raw_calls.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include "common/rpc/grpc_setup.h"

namespace weir::rpc {

RawReply RawCall(const std::string& address, const std::string& method, const std::string& bytes,
                 const std::string& ca) {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = ca;
  grpc::GenericStub stub(grpc::CreateChannel(
      address, ca.empty() ? grpc::InsecureChannelCredentials() : grpc::SslCredentials(tls)));
  grpc::ClientContext context;
  context.set_deadline(DeadlineAfter(absl::Seconds(10)));
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::CompletionQueue queue;
  auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  RawReply result{status.error_code(), status.error_message(), ""};
  grpc::Slice whole;
  if (status.ok() && reply.DumpToSingleSlice(&whole).ok())
    result.bytes.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  return result;
}

}  // namespace weir::rpc

// Debian's c-ares, which resolves names for gRPC, forgets ten bytes; only LeakSanitizer calls this.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libcares"; }
