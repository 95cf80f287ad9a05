#pragma once

#include <random>
#include <string>

namespace weir {

/// One to four small changes: a bit, a byte, a digit, a removal, a repetition, a cut.
std::string Mutate(std::string text, std::mt19937& random);

}  // namespace weir
