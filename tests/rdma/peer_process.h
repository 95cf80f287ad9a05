#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace weir::testing {

/// A peer in a process of its own, which can be killed: the program rdma_peer, which lies beside
/// this one. It has memory that may be read, and receives messages.
/// Threads: one at a time.
class PeerProcess {
 public:
  static constexpr std::size_t kMemoryBytes = 1'000'000;

  /// Returns once it can be connected to. Where it cannot be started, address() is empty.
  PeerProcess();
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  const std::string& address() const { return address_; }        ///< for Transport::Connect
  const std::string& memory_key() const { return memory_key_; }  ///< for Transport::Open
  /// Kills it with SIGKILL; returns once it is gone.
  void Kill();

 private:
  pid_t pid_ = -1;  ///< -1 once it is gone
  std::string address_;
  std::string memory_key_;
};

}  // namespace weir::testing
