// A worker of the job of examples/linear_regression.json that does what its argument says, and
// exits with 1, naming the line, where weir::Client does not keep its word.
#include <weir/client.h>
#include <weir/exit_code.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

#define EXPECT(condition)                                                  \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

std::unique_ptr<weir::Client> Connect() {
  auto client = weir::Client::Connect(
      {.job = "linear-regression",
       .tensors = {{.name = "weights", .shape = {3}}, {.name = "bias", .shape = {1}}}});
  if (!client.ok()) {
    std::fprintf(stderr, "%s\n", std::string(client.status().message()).c_str());
    std::exit(static_cast<int>(weir::ExitCodeOf(client.status())));
  }
  return *std::move(client);
}

weir::Parameters Allocate(weir::Client& client) {
  auto parameters = client.AllocateParameters();
  EXPECT(parameters.ok());
  return *std::move(parameters);
}

bool Near(float a, float b) { return std::abs(a - b) < 1e-6F; }

// All alone, with max_steps 3 and a learning rate of 0.1.
void Contract() {
  const std::unique_ptr<weir::Client> client = Connect();
  weir::Parameters weights = Allocate(*client);
  weir::Parameters gradients = Allocate(*client);
  EXPECT(weights.size() == 2 && weights[0].size() == 3 && weights[1].size() == 1);
  EXPECT(weights.Named("bias")->data() == weights[1].data());
  EXPECT(absl::IsNotFound(weights.Named("biases").status()));
  EXPECT(reinterpret_cast<std::uintptr_t>(weights[1].data()) % 64 == 0);
  for (std::size_t t = 0; t < 2; ++t) {
    for (float& g : gradients[t]) g = 1.0F;
  }

  EXPECT(client->Pull(weights).ok() && weights[0][0] == 0.0F);
  EXPECT(client->Clock() == 0);
  EXPECT(client->Push(gradients).ok());  // takes the first step by itself
  EXPECT(client->Clock() == 1);
  EXPECT(client->Pull(weights).ok() && Near(weights[0][2], -0.1F) && Near(weights[1][0], -0.1F));

  const std::uint64_t first = client->GlobalStep();
  const auto second = client->NextStep(weights);
  EXPECT(second.ok() && second->has_value() && **second == first + 1);
  EXPECT(client->GlobalStep() == **second);
  EXPECT(absl::IsFailedPrecondition(client->NextStep(weights).status()));
  EXPECT(client->Pull(weights).ok());  // a mistake changes nothing
  EXPECT(client->Push(gradients).ok() && client->Push(gradients).ok());
  EXPECT(absl::IsOutOfRange(client->Push(gradients)));
  const auto none = client->NextStep(weights);
  EXPECT(none.ok() && !none->has_value());
  EXPECT(client->Pull(weights).ok() && Near(weights[0][0], -0.3F));

  const weir::Parameters moved = std::move(gradients);
  EXPECT(absl::IsInvalidArgument(client->Push(gradients)));
  EXPECT(client->Finish().ok());
  EXPECT(client->Clock() == 3);
  EXPECT(absl::IsFailedPrecondition(client->Pull(weights)));
  EXPECT(absl::IsFailedPrecondition(client->Finish()));
  weights[0][0] = 1.0F;  // the memory is still there
  std::puts("contract kept");
}

// Takes a step and goes: the others get it.
void Leave() {
  const std::unique_ptr<weir::Client> client = Connect();
  weir::Parameters weights = Allocate(*client);
  EXPECT(client->NextStep(weights).ok());
}

// Reads what others learn, and takes no step.
void Read() {
  const std::unique_ptr<weir::Client> client = Connect();
  weir::Parameters weights = Allocate(*client);
  while (weights[0][1] > -2.5F) EXPECT(client->Pull(weights).ok());
  EXPECT(client->Clock() == 0);
  EXPECT(client->Finish().ok());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "contract") {
    Contract();
  } else if (what == "leave") {
    Leave();
  } else if (what == "read") {
    Read();
  } else {
    return 2;
  }
  return 0;
}
