// What may have been meant by a name that nothing has.
#include "core/base/shown/near_names.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

const std::vector<std::string> kNames{"app::smooth", "app::twice", "forces", "force_sum", "correlate"};

TEST(NearNames, AreThoseFewLettersAway) {
  EXPECT_EQ(did_you_mean("smoth", kNames), "; did you mean app::smooth?");
  EXPECT_EQ(did_you_mean("corelate", kNames), "; did you mean correlate?");
  EXPECT_EQ(did_you_mean("Corelate", kNames), "; did you mean correlate?") << "upper and lower case are equal";
  EXPECT_EQ(did_you_mean("app::twise", kNames), "; did you mean app::twice?");
}

TEST(NearNames, AreThoseThatContainTheWord) {
  EXPECT_EQ(did_you_mean("force", kNames), "; did you mean force_sum, forces?");
}

TEST(NearNames, AreNoneForAnythingElse) {
  EXPECT_EQ(did_you_mean("something_else", kNames), "");
  EXPECT_EQ(did_you_mean("", kNames), "");
  EXPECT_EQ(did_you_mean(std::string(1000, 'x'), {std::string(1000, 'x')}), "") << "nobody types so long a name";
}

TEST(NearNames, AreThreeAtMost) {
  EXPECT_EQ(did_you_mean("kernel", {"kernel1", "kernel2", "kernel3", "kernel4"}),
            "; did you mean kernel1, kernel2, kernel3?");
}

}  // namespace
}  // namespace kernelift
