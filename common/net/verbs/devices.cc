// LookAtRdma where the build has libibverbs.
#include "common/net/verbs/devices.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <system_error>

namespace weir::net {
namespace {

// A device has a few GIDs for each address of its interface; more than these help nobody.
constexpr std::size_t kMostGids = 512;

struct CloseDevice {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using OpenDevice = std::unique_ptr<ibv_context, CloseDevice>;

std::string ErrnoText(int error) { return std::generic_category().message(error); }

const char* TypeName(std::uint32_t type) {
  switch (type) {
    case IBV_GID_TYPE_IB:
      return "IB";
    case IBV_GID_TYPE_ROCE_V1:
      return "RoCE v1";
    case IBV_GID_TYPE_ROCE_V2:
      return "RoCE v2";
    default:
      return "unknown type";
  }
}

RdmaGid GidOf(const ibv_gid_entry& entry) {
  std::array<char, INET6_ADDRSTRLEN> address{};
  inet_ntop(AF_INET6, entry.gid.raw, address.data(), address.size());
  std::array<char, IF_NAMESIZE> interface {};
  if (entry.ndev_ifindex != 0) if_indextoname(entry.ndev_ifindex, interface.data());
  return {.index = entry.gid_index,
          .address = address.data(),
          .type = TypeName(entry.gid_type),
          .interface = interface.data()};
}

std::vector<ibv_gid_entry> GidsOf(ibv_context* context) {
  std::vector<ibv_gid_entry> entries(kMostGids);
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  entries.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return entries;
}

RdmaPort PortOf(int number, const ibv_port_attr& attributes, std::span<const ibv_gid_entry> gids) {
  RdmaPort port{
      .number = number,
      .active = attributes.state == IBV_PORT_ACTIVE,
      .state = ibv_port_state_str(attributes.state),
      .ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET,
      .gigabits_per_second = PortGigabits(attributes.active_width, attributes.active_speed)};
  for (const ibv_gid_entry& entry : gids) {
    if (entry.port_num == static_cast<std::uint32_t>(number)) port.gids.push_back(GidOf(entry));
  }
  return port;
}

RdmaDevice DeviceOf(ibv_device* listed) {
  RdmaDevice device{.name = ibv_get_device_name(listed)};
  const OpenDevice context(ibv_open_device(listed));
  if (context == nullptr) {
    device.problem = "cannot be opened: " + ErrnoText(errno);
    return device;
  }
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(context.get(), &attributes); error != 0) {
    device.problem = "cannot be queried: " + ErrnoText(error);
    return device;
  }
  const std::vector<ibv_gid_entry> gids = GidsOf(context.get());
  for (int number = 1; number <= attributes.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    if (ibv_query_port(context.get(), static_cast<std::uint8_t>(number), &port) == 0) {
      device.ports.push_back(PortOf(number, port, gids));
    }
  }
  return device;
}

}  // namespace

RdmaView LookAtRdma() {
  RdmaView view{.in_this_build = true};
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list == nullptr) return view;  // a kernel without RDMA
  for (ibv_device* device : std::span(list, static_cast<std::size_t>(count))) {
    view.devices.push_back(DeviceOf(device));
  }
  ibv_free_device_list(list);
  return view;
}

}  // namespace weir::net
