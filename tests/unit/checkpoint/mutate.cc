#include "tests/unit/checkpoint/mutate.h"

namespace weir {

std::string Mutate(std::string text, std::mt19937& random) {
  static constexpr char kSyntax[] = "{}[]\",:0123456789-.eE\\ \0\xff";
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    switch (random() % 6) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      case 1:
        text[at] = kSyntax[random() % (sizeof kSyntax - 1)];
        break;
      case 2:
        text.insert(at, 1, kSyntax[random() % (sizeof kSyntax - 1)]);
        break;
      case 3:
        text.erase(at, 1 + random() % 20);
        break;
      case 4:
        text.insert(at, text.substr(at, 1 + random() % 60));
        break;
      default:
        if (random() % 4 == 0) text.resize(at);
    }
  }
  return text;
}

}  // namespace weir
