#include "common/net/verbs/devices.h"

namespace weir::net {
namespace {

int LanesOf(std::uint8_t width) {
  switch (width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

// Of one lane, by the InfiniBand specification's names.
double SpeedOf(std::uint8_t speed) {
  switch (speed) {
    case 1:  // SDR
      return 2.5;
    case 2:  // DDR
      return 5;
    case 4:  // QDR
    case 8:  // FDR10
      return 10;
    case 16:  // FDR
      return 14;
    case 32:  // EDR
      return 25;
    case 64:  // HDR
      return 50;
    case 128:  // NDR
      return 100;
    default:
      return 0;
  }
}

}  // namespace

double PortGigabits(std::uint8_t width, std::uint8_t speed) {
  return LanesOf(width) * SpeedOf(speed);
}

}  // namespace weir::net
