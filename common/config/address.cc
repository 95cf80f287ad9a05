#include "common/config/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/config/mistakes.h"

namespace weir {
namespace {

absl::Status Wrong(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " ", why));
}

std::optional<std::uint16_t> ParsePort(absl::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), absl::ascii_isdigit))
    return std::nullopt;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

// The bytes of an IPv6 address; a zone ("%eth0") is not part of them.
std::optional<in6_addr> ParseIpv6(absl::string_view host) {
  in6_addr bytes{};
  const std::string digits(host.substr(0, host.find('%')));
  if (inet_pton(AF_INET6, digits.c_str(), &bytes) != 1) return std::nullopt;
  return bytes;
}

std::optional<in_addr> ParseIpv4(const std::string& host) {
  in_addr bytes{};
  if (inet_pton(AF_INET, host.c_str(), &bytes) != 1) return std::nullopt;
  return bytes;
}

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
}

bool IsDigitsAndDots(absl::string_view host) {
  return std::all_of(host.begin(), host.end(), [](char c) {
    return c == '.' || absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// What is wrong with a host that stood without brackets; "" when nothing is.
std::string NameProblem(const std::string& host) {
  if (host.empty()) return "has no host; write host:port";
  if (host.find(':') != std::string::npos)
    return ParseIpv6(host).has_value()
               ? absl::StrCat("needs brackets around IPv6; write [", host, "]:port")
               : "has more than one colon; write host:port, or [IPv6]:port";
  if (!std::all_of(host.begin(), host.end(), IsNameCharacter))
    return "has a character that no host's name has; write host:port";
  // The resolver would read "127.1" as 127.0.0.1 and look "256.1.1.1" up as a name.
  if (IsDigitsAndDots(host) && !ParseIpv4(host).has_value())
    return "is not an IPv4 address; write four numbers 0-255 with dots, then :port";
  return "";
}

// "127.0.0.1" for ::ffff:127.0.0.1, else the shortest form, with the zone.
std::string CanonicalIpv6(const std::string& host) {
  const std::optional<in6_addr> bytes = ParseIpv6(host);
  if (!bytes.has_value()) return host;
  char text[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&*bytes)) {
    inet_ntop(AF_INET, &bytes->s6_addr[12], text, sizeof text);
    return text;
  }
  inet_ntop(AF_INET6, &*bytes, text, sizeof text);
  const std::size_t zone = host.find('%');
  return absl::StrCat(text, zone == std::string::npos ? "" : host.substr(zone));
}

std::string CanonicalHost(const HostPort& address) {
  if (address.is_ipv6()) return CanonicalIpv6(address.host);
  std::string host = absl::AsciiStrToLower(absl::StripSuffix(address.host, "."));
  return host == "localhost" ? "127.0.0.1" : host;
}

}  // namespace

std::string HostPort::ToString() const {
  return is_ipv6() ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::StatusOr<HostPort> ParseAddress(absl::string_view text) {
  if (text.empty()) return Wrong(text, "is empty; write host:port");
  if (const std::size_t scheme = text.find("://"); scheme != absl::string_view::npos) {
    const absl::string_view rest = text.substr(scheme + 3);
    return Wrong(text,
                 absl::StrCat("has a scheme; write ",
                              rest.empty() ? "host:port" : Quoted(rest.substr(0, rest.find('/')))));
  }
  if (absl::StrContains(text, "/")) return Wrong(text, "has a \"/\"; write host:port and no path");
  const std::size_t colon = text.rfind(':');
  // In "[::1]" the last colon is the address's own.
  if (colon == absl::string_view::npos || text.back() == ']')
    return Wrong(text, "has no port; write host:port");
  const absl::string_view port_text = text.substr(colon + 1);
  const std::optional<std::uint16_t> port = ParsePort(port_text);
  std::string host(text.substr(0, colon));
  if (!port.has_value())
    return Wrong(text,
                 absl::StrCat("has the port ", Quoted(port_text), "; write a number 1-65535"));
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
    if (!absl::StrContains(host, ":") || !ParseIpv6(host).has_value())
      return Wrong(text, "has no IPv6 address in its brackets; write host:port, or [IPv6]:port");
    return HostPort{std::move(host), *port};
  }
  if (const std::string problem = NameProblem(host); !problem.empty()) return Wrong(text, problem);
  return HostPort{std::move(host), *port};
}

bool IsLoopback(const HostPort& address) {
  const std::string host = CanonicalHost(address);
  if (const std::optional<in_addr> ipv4 = ParseIpv4(host)) return ntohl(ipv4->s_addr) >> 24U == 127;
  const std::optional<in6_addr> ipv6 = ParseIpv6(host);
  return ipv6.has_value() && IN6_IS_ADDR_LOOPBACK(&*ipv6);
}

std::string CanonicalAddress(const HostPort& address) {
  return HostPort{CanonicalHost(address), address.port}.ToString();
}

}  // namespace weir
