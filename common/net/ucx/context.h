#pragma once

#include <ucp/api/ucp.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/net/ucx/options.h"

namespace weir::net {

/// Owns a UCP context that was set up as UcxOptions say. Kept alive by its workers and memory.
class UcxContext {
 public:
  /// Errors: as CheckPortRange; kInvalidArgument for a value that UCX refuses; kNotFound,
  /// kUnavailable and others as UCX says.
  static absl::StatusOr<std::shared_ptr<UcxContext>> Create(const UcxOptions& options);
  ~UcxContext();
  UcxContext(const UcxContext&) = delete;
  UcxContext& operator=(const UcxContext&) = delete;

  ucp_context_h get() const { return context_; }

 private:
  explicit UcxContext(ucp_context_h context) : context_(context) {}

  ucp_context_h context_;
};

/// UCX_TLS for `fabric`, and what PathTo shows as long as UCX cannot tell.
absl::string_view TransportsOf(UcxFabric fabric);

}  // namespace weir::net
