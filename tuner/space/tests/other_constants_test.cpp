// An application with other constants: what is changed for the question, and which constants are not asked about.
#include "tuner/space/other_constants.h"

#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"

namespace kernelift::tuner {
namespace {

constexpr const char* kStencil =
    "#define RADIUS 3\n"
    "__global__ void k(const float* x, float* y, int n) { y[threadIdx.x] = x[threadIdx.x + RADIUS]; }\n";

class OtherConstantsTest : public testing::Test {
 protected:
  OtherConstantsTest() {
    LaunchSite site;
    site.grid[0] = "(n + B - 1) / B"_e, site.grid[1] = site.grid[2] = "1"_e;
    site.block[0] = "B"_e, site.block[1] = site.block[2] = "1"_e;
    mep.launches = {site};
    mep.knobs = {{"RADIUS", 3, {}, true, true, false, {}}};
    mep.constants = {{"B", 128}};
    mep.instances.resize(1);
    mep.instances[0].geometry = {{8, 1, 1}, {128, 1, 1}, 0, false};
    candidate.source = std::string(kStencil) + "// changed\n";
  }
  std::string made() const {
    const OtherConstants others = other_constants(mep, kStencil, candidate);
    std::string all;
    for (auto& one : others.values)
      all += one.name + "=" + std::to_string(one.value) + ":" + std::to_string(one.mep.instances[0].geometry.block.x) +
             (one.candidate.source == candidate.source ? "" : one.candidate.source.substr(0, 16)) + " ";
    for (auto& name : others.not_made) all += "not " + name;
    return all;
  }
  Mep mep;
  Candidate candidate;
};

TEST_F(OtherConstantsTest, ChangeTextsAndRecordedBlocks) {
  EXPECT_EQ(made(), "B=64:64 B=192:192 B=256:256 RADIUS=4:128#define RADIUS 4 RADIUS=6:128#define RADIUS 6 ");
}

TEST_F(OtherConstantsTest, LeaveBlocksBelowTheLimit) {
  mep.constants["B"] = 1024, mep.instances[0].geometry.block.x = 1024;
  EXPECT_EQ(made().substr(0, 12), "B=512:512 RA");
}

TEST_F(OtherConstantsTest, AreNoneThatTheCandidateChanges) {
  candidate.values = {{"B", 256}};
  EXPECT_EQ(made().substr(0, 9), "RADIUS=4:");
}

TEST_F(OtherConstantsTest, AreNotMadeWhereATextHasTheNumberInItsPlace) {
  candidate.source = "__global__ void k(const float* x, float* y, int n) { y[threadIdx.x] = x[threadIdx.x + 3]; }\n";
  EXPECT_EQ(made(), "B=64:64 B=192:192 B=256:256 not RADIUS");
}

TEST_F(OtherConstantsTest, AreFoundByTheirOwnNameInANamespace) {
  mep.knobs[0].name = "solver::RADIUS";
  EXPECT_NE(made().find("solver::RADIUS=4:128#define RADIUS 4"), std::string::npos) << made();
}

TEST_F(OtherConstantsTest, AreNoneOfTheOriginalText) {
  candidate.source = kStencil;
  EXPECT_EQ(made(), "");
}

}  // namespace
}  // namespace kernelift::tuner
