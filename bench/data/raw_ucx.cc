#include "bench/data/raw_ucx.h"

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/process_setup.h"
#include "common/net/ucx/status.h"
#include "common/net/ucx/version.h"

namespace weir::bench {
namespace {

using net::FromUcs;
using Settings = std::vector<std::pair<std::string, std::string>>;

Settings SettingsOf(net::UcxFabric fabric) {
  if (fabric == net::UcxFabric::kShm) return {{"TLS", "sm,self"}};
  if (fabric == net::UcxFabric::kRdma) return {{"TLS", "rc"}};
  return {{"TLS", "tcp"},
          {"NET_DEVICES", "lo"},
          {"ZCOPY_THRESH", "8k"},
          {net::TcpKey("RX_SEG_SIZE"), "256k"}};
}

absl::Status Configure(net::UcxFabric fabric, ucp_config_t* config) {
  for (const auto& [key, value] : SettingsOf(fabric)) {
    const bool of_tcp = key.find("SEG_SIZE") != std::string::npos;
    const std::string variable = of_tcp ? "UCX_TCP_RX_SEG_SIZE" : absl::StrCat("UCX_", key);
    if (std::getenv(variable.c_str()) != nullptr) continue;
    WEIR_RETURN_IF_ERROR(FromUcs(ucp_config_modify(config, key.c_str(), value.c_str()),
                                 absl::StrCat("setting ", variable, "=", value)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RawUcx>> RawUcx::Create(net::UcxFabric fabric, std::size_t bytes) {
  net::SetUpUcxInProcess();
  ucp_config_t* config = nullptr;
  WEIR_RETURN_IF_ERROR(
      FromUcs(ucp_config_read(nullptr, nullptr, &config), "reading the UCX_ variables"));
  std::unique_ptr<RawUcx> ucx(new RawUcx());
  absl::Status status = Configure(fabric, config);
  if (status.ok()) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;
    status = FromUcs(ucp_init(&params, config, &ucx->context_), "starting UCX for the control");
  }
  ucp_config_release(config);
  WEIR_RETURN_IF_ERROR(status);
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  WEIR_RETURN_IF_ERROR(
      FromUcs(ucp_worker_create(ucx->context_, &params, &ucx->worker_), "opening a UCX worker"));
  WEIR_RETURN_IF_ERROR(ucx->Allocate(bytes));
  return ucx;
}

RawUcx::~RawUcx() {
  if (memory_ != nullptr) ucp_mem_unmap(context_, memory_);
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

absl::Status RawUcx::Allocate(std::size_t bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  WEIR_RETURN_IF_ERROR(FromUcs(ucp_mem_map(context_, &params, &memory_),
                               absl::StrCat("registering ", bytes, " bytes")));
  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  WEIR_RETURN_IF_ERROR(FromUcs(ucp_mem_query(memory_, &attributes), "asking for an address"));
  bytes_ = MutableByteSpan(static_cast<std::byte*>(attributes.address), bytes);
  std::memset(bytes_.data(), 0, bytes_.size());  // touches every page
  return absl::OkStatus();
}

absl::Status RawUcx::Handle(unsigned id, ucp_am_recv_callback_t callback, void* argument) {
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                     UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = id;
  param.flags = UCP_AM_FLAG_WHOLE_MSG;
  param.cb = callback;
  param.arg = argument;
  return FromUcs(ucp_worker_set_am_recv_handler(worker_, &param), "setting a message handler");
}

absl::StatusOr<std::string> RawUcx::Address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  WEIR_RETURN_IF_ERROR(
      FromUcs(ucp_worker_get_address(worker_, &address, &bytes), "asking UCX for its address"));
  std::string copy(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  return copy;
}

absl::StatusOr<std::string> RawUcx::MemoryKey() const {
  void* key = nullptr;
  std::size_t bytes = 0;
  WEIR_RETURN_IF_ERROR(
      FromUcs(ucp_rkey_pack(context_, memory_, &key, &bytes), "packing the key of memory"));
  std::string copy(static_cast<const char*>(key), bytes);
  ucp_rkey_buffer_release(key);
  return copy;
}

}  // namespace weir::bench
