#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::net {

struct RdmaGid {
  std::uint32_t index = 0;
  std::string address;    ///< "fe80::1", "::ffff:10.0.0.1"
  std::string type;       ///< "RoCE v2", "RoCE v1", "IB"
  std::string interface;  ///< "eth1"; empty: none, or unknown
};

struct RdmaPort {
  int number = 0;  ///< from 1
  bool active = false;
  std::string state;               ///< "PORT_ACTIVE"
  bool ethernet = false;           ///< the link layer; else InfiniBand
  double gigabits_per_second = 0;  ///< 0: unknown
  std::vector<RdmaGid> gids;
};

struct RdmaDevice {
  std::string name;     ///< "mlx5_0"
  std::string problem;  ///< why it could not be opened or queried; empty: it could
  std::vector<RdmaPort> ports;
};

/// What libibverbs says of this host.
struct RdmaView {
  bool in_this_build = false;  ///< false: built without libibverbs, and the rest is empty
  std::vector<RdmaDevice> devices;
};

/// Opens every device in turn, and closes it. A driver may hang or crash: doctor calls it apart.
RdmaView LookAtRdma();

/// Of a port's encoded width and speed (ibv_port_attr); 0 for codes that are not known.
double PortGigabits(std::uint8_t width, std::uint8_t speed);

}  // namespace weir::net
