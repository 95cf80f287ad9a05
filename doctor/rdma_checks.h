#pragma once

#include <vector>

#include "common/net/verbs/devices.h"
#include "doctor/check.h"
#include "doctor/host_files.h"

namespace weir::doctor {

using net::RdmaDevice;
using net::RdmaGid;
using net::RdmaPort;
using net::RdmaView;

/// The devices that the kernel has, by name, whether or not this process may open them.
std::vector<std::string> KernelRdmaDevices(const HostFiles& files);
/// Whether a port of one of them is active, as the kernel says.
bool KernelHasActivePort(const HostFiles& files);

/// One line for no device at all, else one a port (and one for a device that has none to show).
std::vector<Check> CheckRdma(const RdmaView& view, std::span<const std::string> kernel_devices);

}  // namespace weir::doctor
