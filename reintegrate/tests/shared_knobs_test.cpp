// Which kernels share a knob, and what a gain is worth together with the effect on them.
#include "reintegrate/patch/constants/shared_knobs.h"

#include <gtest/gtest.h>

namespace kernelift::reintegrate {
namespace {

ScannedKernel kernel(const std::string& id, const std::string& name) {
  ScannedKernel made;
  made.id = id, made.key = name + "()", made.name = name;
  return made;
}

TEST(SharedKnobs, NameEveryOtherKernelThatUsesAChangedKnobOnce) {
  ScanIndex scan;
  scan.kernels = {kernel("1", "mine"), kernel("2", "mine"), kernel("3", "blur"),
                  kernel("4", "blur"), kernel("5", "sum"),  kernel("6", "fill")};
  Mep mep;
  mep.kernel_key = "mine()", mep.kernel_id = "1";
  mep.knobs.resize(3);
  mep.knobs[0].name = "BLOCK", mep.knobs[0].value = 64, mep.knobs[0].kernels = {"1", "2", "3", "4", "5"};
  mep.knobs[1].name = "ROWS", mep.knobs[1].value = 4, mep.knobs[1].kernels = {"1", "6"};
  mep.knobs[2].name = "OWN", mep.knobs[2].value = 1, mep.knobs[2].kernels = {"1", "2"};
  SharedKnobs reach = shared_knobs(mep, scan, {{"BLOCK", 128}, {"ROWS", 4}, {"OWN", 2}});
  EXPECT_EQ(reach.knobs, (Bindings{{"BLOCK", 128}}));
  EXPECT_EQ(text_of(reach), "BLOCK is also used by blur and sum");
  EXPECT_TRUE(shared_knobs(mep, scan, {{"OWN", 2}}).empty());
  for (auto name : {"a", "b", "c"}) {
    scan.kernels.push_back(kernel(name, name));
    mep.knobs[1].kernels.push_back(name);
  }
  EXPECT_EQ(text_of(shared_knobs(mep, scan, {{"ROWS", 8}})), "ROWS is also used by fill, a, b and 1 more kernel");
}

TEST(SharedKnobs, SubtractTheLossOfOtherKernelsFromTheGain) {
  EXPECT_DOUBLE_EQ(equivalent_gain(1.5, 0.5, {}), 1.5);
  EXPECT_DOUBLE_EQ(equivalent_gain(1.5, 0.5, {{"blur", 0.5, 0.75}}), 1);
  EXPECT_DOUBLE_EQ(equivalent_gain(2, 0.4, {{"blur", 0.2, 2}}), 4) << "others may gain too";
  EXPECT_DOUBLE_EQ(equivalent_gain(1.5, 0.5, {{"not known", 0.5, 0}}), 1.5);
  EXPECT_DOUBLE_EQ(equivalent_gain(1.5, 0.1, {{"blur", 0.9, 2}}), 1e9)
      << "the other kernel gains more time than this kernel takes: the largest gain";
}

}  // namespace
}  // namespace kernelift::reintegrate
