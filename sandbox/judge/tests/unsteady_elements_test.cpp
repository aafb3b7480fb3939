// Which elements rounding decides, by what the original leaves on inputs that are rounded otherwise.
#include "sandbox/judge/unsteady_elements.h"

#include <gtest/gtest.h>

namespace kernelift::sandbox {
namespace {

std::span<const std::byte> floats_as_bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

TEST(UnsteadyElements, AdmitsWhatIsAsFarOffAsTheOriginalMoves) {
  const std::vector<float> answer(100'000, 5.0f);
  std::vector<float> run = answer;
  run[7] = -5.0f;
  UnsteadyElements unsteady(ElementType::parse("float"));
  unsteady.add(floats_as_bytes(answer), floats_as_bytes(run));
  EXPECT_TRUE(unsteady.admits(7, 5, -5));
  EXPECT_FALSE(unsteady.admits(7, 5, -50));
  EXPECT_FALSE(unsteady.admits(8, 5, -5)) << "it stays";
  EXPECT_FALSE(unsteady.admits(100'000, 5, -5));
}

TEST(UnsteadyElements, AdmitsNothingOfAnUnstableComputation) {
  const std::vector<float> answer(100'000, 5.0f);
  std::vector<float> run = answer;
  for (size_t i = 0; i < run.size(); i += 500) run[i] = 4.0f;
  UnsteadyElements unsteady(ElementType::parse("float"));
  unsteady.add(floats_as_bytes(answer), floats_as_bytes(run));
  EXPECT_FALSE(unsteady.admits(500, 5, 4));
}

}  // namespace
}  // namespace kernelift::sandbox
