#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/rpc/wire_checks.h"
// gRPC first: flatbuffers/grpc.h is not self-contained.
#include <grpcpp/support/byte_buffer.h>

#include "flatbuffers/grpc.h"

#if !FLATBUFFERS_GRPC_DISABLE_AUTO_VERIFICATION
#error "build with FLATBUFFERS_GRPC_DISABLE_AUTO_VERIFICATION=1: Decode verifies (see meson.build)"
#endif

// The one place where structs (JoinRequestT) become messages and messages become structs.
namespace weir::rpc {

inline constexpr int kMaxMessageBytes = 16 << 20;

template <typename Table>
flatbuffers::grpc::Message<Table> Encode(const typename Table::NativeTableType& object) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Table::Pack(builder, &object));
  return flatbuffers::grpc::Message<Table>(
      ::grpc::Slice(builder.GetBufferPointer(), builder.GetSize()));
}

/// Verifies and unpacks. `object` is set only on success.
/// Errors: kInvalidArgument for anything that is not a whole message; `name` stands in it.
template <typename Table>
absl::Status Decode(const flatbuffers::grpc::Message<Table>& message, absl::string_view name,
                    typename Table::NativeTableType* object) {
  // A slice may lie anywhere in gRPC's receive buffer; the Verifier checks alignment against the
  // message's start only. operator new[] aligns the start.
  const auto bytes = std::make_unique<std::uint8_t[]>(message.size() + 1);
  std::copy(message.data(), message.data() + message.size(), bytes.get());
  flatbuffers::Verifier verifier(bytes.get(), message.size(), /*max_depth=*/16);
  const auto malformed = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("malformed ", name, " message of ", message.size(), " bytes"));
  };
  if (!verifier.template VerifyBuffer<Table>(nullptr)) return malformed();
  const Table& table = *flatbuffers::GetRoot<Table>(bytes.get());
  if (!Aligned(table)) return malformed();
  // Into a fresh object: UnPackTo neither resets nor frees a union that is already set.
  typename Table::NativeTableType fresh;
  table.UnPackTo(&fresh);
  if (!Complete(fresh)) return malformed();
  *object = std::move(fresh);
  return absl::OkStatus();
}

}  // namespace weir::rpc
