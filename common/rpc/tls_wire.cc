#include "common/rpc/tls_wire.h"

#include <netdb.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "common/base/clock.h"

namespace weir::rpc {

TlsWire::TlsWire(SslPtr ssl, absl::Time deadline) : ssl_(std::move(ssl)), deadline_(deadline) {
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));  // both are the SSL's now
}

bool TlsWire::Wait(short events) const {
  const absl::Duration left = std::max(deadline_ - MonotonicNow(), absl::ZeroDuration());
  pollfd wait{.fd = socket_.get(), .events = events, .revents = 0};
  return poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) == 1;
}

TlsWire::End TlsWire::Connect(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return End::kClosed;
  const std::unique_ptr<addrinfo, OpenSslDeleter<freeaddrinfo>> addresses(found);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    socket_ = UniqueFd(
        socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    if (connect(socket_.get(), address->ai_addr, address->ai_addrlen) == 0) return End::kDone;
    if (errno != EINPROGRESS) continue;
    if (!Wait(POLLOUT)) return End::kTimedOut;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return End::kDone;
  }
  return End::kClosed;
}

/// What OpenSSL wrote goes out; where it waits for more, that is fetched.
TlsWire::End TlsWire::Exchange(bool wants_to_read) {
  std::array<char, 4096> bytes{};
  int count = 0;
  while ((count = BIO_read(SSL_get_wbio(ssl_.get()), bytes.data(), bytes.size())) > 0) {
    // A handshake's few bytes fit into any socket's buffer.
    if (send(socket_.get(), bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) != count) {
      return End::kClosed;
    }
  }
  if (!wants_to_read) return End::kDone;
  if (!Wait(POLLIN)) return End::kTimedOut;
  const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (got <= 0) return End::kClosed;
  BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(got));
  return End::kDone;
}

template <typename Step>
TlsWire::End TlsWire::Run(Step step) {
  ERR_clear_error();
  while (true) {
    const int result = step();
    const bool waits = result <= 0 && SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
    const End exchanged = Exchange(waits);
    if (!waits) return result > 0 ? End::kDone : End::kFailed;
    if (exchanged != End::kDone) return exchanged;
  }
}

TlsWire::End TlsWire::Handshake() {
  return Run([this] { return SSL_connect(ssl_.get()); });
}

TlsWire::End TlsWire::AwaitData() {
  char byte = 0;
  return Run([&] { return SSL_read(ssl_.get(), &byte, 1); });
}

}  // namespace weir::rpc
