#include "common/rpc/listen_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/unique_fd.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

struct HostPort {
  std::string host;
  int port = 0;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  std::string text;  // numeric, as gRPC takes it
};

/// What every error says first.
struct Complaint {
  absl::string_view who;
  const std::string& address;
  absl::Status Invalid(absl::string_view reason) const {
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat(who, " cannot listen on ", address, ": ", reason)),
        ExitCode::kBadUsage);
  }
  absl::Status InUse(int port) const {
    return WithExitCode(
        absl::AlreadyExistsError(absl::StrCat(
            who, " cannot listen on ", address,
            ": address already in use; stop the process that holds it (ss -ltnp 'sport = :", port,
            "') or give another port")),
        ExitCode::kBadUsage);
  }
};

absl::StatusOr<HostPort> Split(const Complaint& complaint) {
  const absl::string_view address = complaint.address;
  const std::size_t colon = address.rfind(':');
  HostPort parts;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &parts.port) || parts.port < 0 ||
      parts.port > 65535) {
    return complaint.Invalid("write host:port, with a port of 0 to 65535");
  }
  absl::string_view host = address.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (host.empty() || (!bracketed && host.find(':') != absl::string_view::npos))
    return complaint.Invalid("an IPv6 address stands in brackets: [::1]:2222");
  parts.host = std::string(host);
  return parts;
}

SocketAddress FromAddrInfo(const addrinfo& info) {
  SocketAddress address;
  std::memcpy(&address.storage, info.ai_addr, info.ai_addrlen);
  address.length = info.ai_addrlen;
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  getnameinfo(info.ai_addr, info.ai_addrlen, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  address.text = info.ai_family == AF_INET6 ? absl::StrCat("[", host, "]:", port)
                                            : absl::StrCat(host, ":", port);
  return address;
}

/// The addresses of `host`, IPv4 first, each once.
absl::StatusOr<std::vector<SocketAddress>> Resolve(const Complaint& complaint,
                                                   const HostPort& where) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(where.host.c_str(), absl::StrCat(where.port).c_str(), &hints, &found);
  if (error != 0)
    return complaint.Invalid(absl::StrCat("the host does not resolve (", gai_strerror(error), ")"));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
      if (info->ai_family != family) continue;
      SocketAddress address = FromAddrInfo(*info);
      const bool known = std::any_of(addresses.begin(), addresses.end(),
                                     [&](const auto& other) { return other.text == address.text; });
      if (!known) addresses.push_back(std::move(address));
    }
  }
  return addresses;
}

/// 0 or the errno of a bind as gRPC does it: SO_REUSEADDR, IPv6 sockets take IPv4 too.
int TryBind(const SocketAddress& address) {
  const UniqueFd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errno;
  const int on = 1;
  const int off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6)
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.storage);
  return bind(fd.get(), raw, address.length) == 0 ? 0 : errno;
}

bool NotOfThisMachine(int error) { return error == EADDRNOTAVAIL || error == EAFNOSUPPORT; }

absl::Status BindError(const Complaint& complaint, int port, int error) {
  if (error == EADDRINUSE) return complaint.InUse(port);
  if (error == EACCES)
    return complaint.Invalid("ports below 1024 need a privilege; give another port");
  return complaint.Invalid(std::strerror(error));
}

absl::StatusOr<std::vector<std::string>> Wildcard(const Complaint& complaint, int port) {
  int error = 0;
  for (const char* host : {"::", "0.0.0.0"}) {
    WEIR_ASSIGN_OR_RETURN(const auto addresses, Resolve(complaint, HostPort{host, port}));
    error = TryBind(addresses.front());
    if (error == 0) return std::vector<std::string>{addresses.front().text};
    if (!NotOfThisMachine(error)) break;  // IPv6 is there: so is the reason
  }
  return BindError(complaint, port, error);
}

absl::StatusOr<std::vector<std::string>> Loopback(const Complaint& complaint,
                                                  const HostPort& where) {
  WEIR_ASSIGN_OR_RETURN(const auto addresses, Resolve(complaint, where));
  std::vector<std::string> texts;
  int missing = 0;
  for (const SocketAddress& address : addresses) {
    const int error = TryBind(address);
    if (error != 0 && !NotOfThisMachine(error)) return BindError(complaint, where.port, error);
    if (error == 0) texts.push_back(address.text);
    if (error != 0) missing = error;
    if (where.port == 0 && !texts.empty()) break;
  }
  if (texts.empty()) return BindError(complaint, where.port, missing);
  return texts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListenAddresses(absl::string_view who,
                                                         const std::string& address,
                                                         bool loopback_only) {
  const Complaint complaint{who, address};
  WEIR_ASSIGN_OR_RETURN(const HostPort where, Split(complaint));
  return loopback_only ? Loopback(complaint, where) : Wildcard(complaint, where.port);
}

}  // namespace weir::rpc
