#include "common/net/ucx/context.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/net_devices.h"
#include "common/net/ucx/port_range.h"
#include "common/net/ucx/process_setup.h"
#include "common/net/ucx/status.h"
#include "common/net/ucx/version.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

struct Setting {
  std::string key;
  std::string value;
  std::string variable = absl::StrCat("UCX_", key);
  // What happens where UCX does not take it. Empty: it only tunes.
  std::string without;
};

struct ConfigRelease {
  void operator()(ucp_config_t* config) const { ucp_config_release(config); }
};
using ConfigPtr = std::unique_ptr<ucp_config_t, ConfigRelease>;

Setting Needed(std::string key, std::string value, std::string without) {
  Setting setting{std::move(key), std::move(value)};
  setting.without = std::move(without);
  return setting;
}

constexpr char kMayAbortConnecting[] =
    "this process may abort when a peer dies while it is being connected to";

// The whole connection first, then data.
Setting ConnectsWhole() { return Needed("RESOLVE_REMOTE_EP_ID", "on", kMayAbortConnecting); }

// UCX warns of a transport's key when that transport is not in TLS, so each fabric has its own.
std::vector<Setting> SettingsOf(const UcxOptions& options) {
  std::vector<Setting> settings = {
      {"TLS", std::string(TransportsOf(options.fabric))},
      {"KEEPALIVE_INTERVAL", absl::StrCat(absl::ToInt64Microseconds(options.keepalive), "us")},
  };
  if (options.fabric == UcxFabric::kShm) {
    // Without it peer error handling takes the shared-memory lanes away.
    settings.push_back(Needed("MM_ERROR_HANDLING", "y", "there may be no shared-memory lanes"));
    settings.push_back(ConnectsWhole());
  } else if (options.fabric == UcxFabric::kRdma) {
    settings.push_back(ConnectsWhole());
    // For ever: ud makes connections, and UCX 1.13 aborts when it gives one up whose peer died in
    // the middle (UcxTransport::Disconnect). Those who wait for a connection have limits of their
    // own, and the chief tells who is lost.
    settings.push_back(Needed("UD_TIMEOUT", "10000000s", kMayAbortConnecting));
    if (!options.net_devices.empty()) settings.push_back({"NET_DEVICES", options.net_devices});
  } else {
    // Nothing that we send needs the peer's endpoint (UcxTransport::StartSend says why not).
    settings.push_back(Needed("RESOLVE_REMOTE_EP_ID", "off", kMayAbortConnecting));
    // Never zero-copy: when a connection breaks with a zero-copy send in the middle, UCX's tcp
    // completes that send twice (uct_tcp_ep_sendv) and aborts, and closing one writes into the
    // middle of the message, at which the peer aborts.
    settings.push_back(
        Needed("ZCOPY_THRESH", "inf", "this process may abort when a connection breaks"));
    // A block of up to 224 KiB and its headers leave and arrive in one segment, so that there is
    // one copy on the way, nothing to assemble, and the block is applied out of the segment.
    for (const char* name : {"TX_SEG_SIZE", "RX_SEG_SIZE"}) {
      settings.push_back({TcpKey(name), "256k", absl::StrCat("UCX_TCP_", name)});
    }
    if (options.loopback_only) {
      settings.push_back({"NET_DEVICES", "lo"});
    } else if (!options.net_devices.empty()) {
      settings.push_back({"NET_DEVICES", options.net_devices});
    }
    if (!options.port_range.empty()) {
      settings.push_back({TcpKey("PORT_RANGE"), options.port_range, "UCX_TCP_PORT_RANGE"});
    }
  }
  return settings;
}

absl::Status Apply(const Setting& setting, ucp_config_t* config) {
  if (const char* chosen = std::getenv(setting.variable.c_str()); chosen != nullptr) {
    LogInfo(setting.variable, "=", chosen, " of the environment is used instead of ",
            setting.value);
    return absl::OkStatus();
  }
  const ucs_status_t status = ucp_config_modify(config, setting.key.c_str(), setting.value.c_str());
  if (status == UCS_OK) return absl::OkStatus();
  // A newer UCX says this of a key that it no longer knows, too.
  const bool asked_for = setting.key == "TLS" || setting.key == "NET_DEVICES" ||
                         setting.variable == "UCX_TCP_PORT_RANGE";
  if (!asked_for) {
    if (setting.without.empty()) {
      LogDebug("this UCX does not take ", setting.variable, "=", setting.value);
    } else {
      LogWarning("this UCX (", UcxVersion(), ") does not take ", setting.variable, "=",
                 setting.value, ": ", setting.without);
    }
    return absl::OkStatus();
  }
  return WithExitCode(
      FromUcs(status, absl::StrCat("setting ", setting.variable, "=", setting.value)),
      ExitCode::kBadUsage);
}

absl::StatusOr<ConfigPtr> ConfigOf(const UcxOptions& options) {
  ucp_config_t* read = nullptr;
  WEIR_RETURN_IF_ERROR(
      FromUcs(ucp_config_read(nullptr, nullptr, &read), "reading the UCX_ variables"));
  ConfigPtr config(read);
  for (const Setting& setting : SettingsOf(options)) {
    WEIR_RETURN_IF_ERROR(Apply(setting, config.get()));
  }
  return config;
}

}  // namespace

absl::string_view TransportsOf(UcxFabric fabric) {
  switch (fabric) {
    case UcxFabric::kTcp:
    case UcxFabric::kTcpMapped:
      return "tcp";
    case UcxFabric::kShm:
      return "posix,sysv";
    case UcxFabric::kRdma:
      // Whichever of rc_mlx5 and rc_verbs the device has, and ud to connect them with.
      return "rc";
  }
  return "tcp";
}

absl::StatusOr<std::shared_ptr<UcxContext>> UcxContext::Create(const UcxOptions& options) {
  SetUpUcxInProcess();
  if (IsTcp(options.fabric) && !options.port_range.empty()) {
    WEIR_RETURN_IF_ERROR(CheckPortRange(options.port_range, options.loopback_only));
  }
  if (!options.net_devices.empty()) {
    WEIR_RETURN_IF_ERROR(CheckNetDevices(options.net_devices));
    if (options.loopback_only && IsTcp(options.fabric) && options.net_devices != "lo") {
      LogWarning(
          "every address of the cluster is of this host alone, so UCX's tcp uses lo and not ",
          options.net_devices, " (--net-devices)");
    }
  }
  WEIR_ASSIGN_OR_RETURN(const ConfigPtr config, ConfigOf(options));
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  if (options.fabric == UcxFabric::kRdma) params.features |= UCP_FEATURE_RMA;
  params.name = "weir";
  ucp_context_h context = nullptr;
  WEIR_RETURN_IF_ERROR(FromUcs(ucp_init(&params, config.get(), &context),
                               absl::StrCat("starting UCX over ", TransportsOf(options.fabric))));
  return std::shared_ptr<UcxContext>(new UcxContext(context));
}

UcxContext::~UcxContext() { ucp_cleanup(context_); }

}  // namespace weir::net
