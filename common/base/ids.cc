#include "common/base/ids.h"

#include <random>

namespace weir {

std::uint64_t RandomId() {
  std::random_device device;
  std::uint64_t id = 0;
  while (id == 0) id = (std::uint64_t{device()} << 32) | device();
  return id;
}

}  // namespace weir
