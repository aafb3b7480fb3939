// What no patch could change is known from the MEP alone.
#include "reintegrate/patch/patch_reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelift {
namespace {

using ::testing::HasSubstr;

class Reach : public ::testing::Test {
 protected:
  void SetUp() override {
    mep.app_root = "/app";
    mep.functions = {{"dep::scale", "/opt/dep/scale.h", 12, 20, false}};
    mep.launches.resize(1);
    mep.launches[0].range.file = "/opt/dep/scale.h";
  }
  Mep mep;
};

TEST_F(Reach, IsNoneWhereTextAndLaunchesLieOutside) {
  EXPECT_TRUE(patch_reach(mep).none());
  EXPECT_EQ(patch_reach(mep).why(),
            "its source lies outside the application (/opt/dep/scale.h:12), where no patch goes, and its launches "
            "cannot be patched alone");
  mep.app_root = "/opt";
  EXPECT_FALSE(patch_reach(mep).none());
  EXPECT_EQ(patch_reach(mep).why(), "");
}

TEST_F(Reach, IsOfTheLaunchesWhereTheseAreTheApplications) {
  mep.launches[0].range.file = "/app/main.cu";
  EXPECT_FALSE(patch_reach(mep).none());
  EXPECT_FALSE(patch_reach(mep).text);
  EXPECT_THAT(patch_reach(mep).why(), HasSubstr("; only its launches are the application's own"));
  Mep other = mep;
  other.launches[0].through_macro = true;
  EXPECT_TRUE(patch_reach(other).none()) << "a macro's launch is not patched";
  mep.launches.resize(2), mep.launches[1].range.file = "/opt/dep/scale.h";
  EXPECT_TRUE(patch_reach(mep).none()) << "launches change together";
}

TEST_F(Reach, IsOfTheTextWhereTheApplicationGaveAFunctionOrAConstantToIt) {
  Mep other = mep;
  other.functions.push_back({"Square::operator()", "/app/main.cu", 3, 3, true});
  EXPECT_TRUE(patch_reach(other).text);
  other = mep;
  other.knobs = {{"BLOCK", 64, {"/app/config.h", 10, 12, 1, 1}, true, true, true, {}}};
  EXPECT_TRUE(patch_reach(other).text);
}

TEST_F(Reach, IsToldByTheLinesOfAMepThatDoesNotListFunctions) {
  mep.functions.clear(), mep.origins = {{"", 0}, {"/opt/dep/scale.h", 5}};
  EXPECT_TRUE(patch_reach(mep).none());
  mep.origins.push_back({"src/types.h", 1});
  EXPECT_TRUE(patch_reach(mep).text);
}

}  // namespace
}  // namespace kernelift
