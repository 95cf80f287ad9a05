#include "doctor/route.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "doctor/amounts.h"

namespace weir::doctor {
namespace {

std::string ErrnoText() { return std::generic_category().message(errno); }

// sockaddr_storage is made to be looked at as the type that its family says.
template <typename Address>
const Address& As(const sockaddr* address) {
  return *reinterpret_cast<const Address*>(address);
}
const sockaddr* Plain(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr*>(&storage);
}

std::string TextOf(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &As<sockaddr_in>(address).sin_addr, text.data(), text.size());
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &As<sockaddr_in6>(address).sin6_addr, text.data(), text.size());
  }
  return text.data();
}

bool IsLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return ntohl(As<sockaddr_in>(address).sin_addr.s_addr) >> 24U == 127;
  }
  const in6_addr& ipv6 = As<sockaddr_in6>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) || (IN6_IS_ADDR_V4MAPPED(&ipv6) && ipv6.s6_addr[12] == 127);
}

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

// 127.0.0.2 is lo's too, though only 127.0.0.1 stands in the list.
std::string InterfaceOf(const sockaddr* local) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
  const std::string text = TextOf(local);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != local->sa_family) continue;
    if (TextOf(one->ifa_addr) == text) return one->ifa_name;
  }
  return IsLoopback(local) ? "lo" : "";
}

sockaddr_storage WithPort(const SocketAddress& address, std::uint16_t port) {
  sockaddr_storage storage = address.storage;
  if (storage.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);
  } else if (storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(port);
  }
  return storage;
}

}  // namespace

Route RouteTo(const SocketAddress& peer, std::uint16_t port) {
  const sockaddr_storage target = WithPort(peer, port);
  Route route{.peer = TextOf(Plain(target)), .loopback = IsLoopback(Plain(target))};
  // Connecting a datagram socket picks the route and the local address, and sends nothing.
  const UniqueFd socket_fd(socket(target.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid() || connect(socket_fd.get(), Plain(target), peer.length) != 0) {
    route.error = ErrnoText();
    return route;
  }
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  if (getsockname(socket_fd.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0) {
    route.error = ErrnoText();
    return route;
  }
  route.local = TextOf(Plain(local));
  route.interface = InterfaceOf(Plain(local));
  // The kernel sends to an address of its own from that very address.
  route.own = route.local == route.peer && !route.loopback;
  return route;
}

std::string LinkText(const HostFiles& files, const std::string& interface) {
  if (interface.empty() || interface == "lo") return "";
  const std::string folder = absl::StrCat("/sys/class/net/", interface);
  std::string text;
  // A virtual link's speed is -1, or cannot be read.
  if (const auto speed = Number(files.Text(folder + "/speed").value_or("")); speed.has_value()) {
    absl::StrAppend(&text, ", ", *speed, " Mb/s");
  }
  if (const auto mtu = Number(files.Text(folder + "/mtu").value_or("")); mtu.has_value()) {
    absl::StrAppend(&text, ", MTU ", *mtu);
  }
  return text;
}

}  // namespace weir::doctor
