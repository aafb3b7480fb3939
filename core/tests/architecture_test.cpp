// The architecture for which a source is compiled.
#include "core/toolchain/architecture.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

CompilerCommand command(std::vector<std::string> words) {
  words.insert(words.begin(), "nvcc");
  words.insert(words.end(), {"-c", "a.cu"});
  auto parsed = parse_compiler_command(words, "/");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() ? *parsed : CompilerCommand();
}
const std::vector<std::string> kTwo{"-gencode", "arch=compute_75,code=sm_75", "-gencode", "arch=compute_90,code=sm_90"};

TEST(Architecture, IsTheNewestOfACommandThatOurHeadersSupport) {
  EXPECT_EQ(newest_architecture(command(kTwo)), "sm_90");
  EXPECT_EQ(newest_architecture(command({"-arch=sm_60"})), "sm_60");
  EXPECT_EQ(newest_architecture(command({"-arch=sm_90a"})), "sm_90");
  EXPECT_EQ(newest_architecture(command({"-arch=sm_120"})), "sm_90");
  EXPECT_EQ(newest_architecture(command({"-arch=sm_35"})), "sm_50");
  EXPECT_EQ(newest_architecture(command({})), "sm_75");
}

TEST(Architecture, OfNativeAndAllIsTheNewestThatOurHeadersSupport) {
  for (const char* word : {"-arch=native", "-arch=all", "-arch=all-major"})
    EXPECT_EQ(newest_architecture(command({word})), "sm_90") << word;
}

TEST(Architecture, ThatRanIsTheDriversFigureInTheCommandsSpelling) {
  EXPECT_EQ(architecture_that_ran(command(kTwo), 75), "sm_75");
  EXPECT_EQ(architecture_that_ran(command({"-arch=sm_90a"}), 90), "sm_90a");
  EXPECT_EQ(architecture_that_ran(command({"-arch=native"}), 80), "sm_80");
  EXPECT_EQ(architecture_that_ran(command({"-gencode=arch=compute_70,code=sm_75"}), 70), "sm_70");
  EXPECT_EQ(architecture_that_ran(command(kTwo), 0), "sm_90");
}

TEST(Architecture, OfATargetIsTheSourcesUnlessTheGpuIsOlder) {
  EXPECT_EQ(TargetArchitecture::of("sm_75", "sm_90").nvcc_flag(), "-gencode=arch=compute_75,code=sm_90");
  EXPECT_EQ(TargetArchitecture::of("sm_90", "sm_90").nvcc_flag(), "-arch=sm_90");
  EXPECT_EQ(TargetArchitecture::of("sm_90a", "sm_90").nvcc_flag(), "-arch=sm_90a");
  EXPECT_EQ(TargetArchitecture::of("sm_90", "sm_80").nvcc_flag(), "-arch=sm_80");
  EXPECT_EQ(TargetArchitecture::of("", "sm_80").nvcc_flag(), "-arch=sm_80");
}

TEST(Architecture, IsZeroForOtherNames) {
  for (const char* name : {"", "sm_", "native", "gfx90a", "compute_x"}) EXPECT_EQ(compute_capability(name), 0) << name;
  EXPECT_EQ(compute_capability("compute_100f"), 100);
}

}  // namespace
}  // namespace kernelift
