// Which parts of a kernel a patch could change, from the MEP alone.
#include "reintegrate/patch/patchable_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelift::reintegrate {
namespace {

using ::testing::HasSubstr;

class PatchablePartsOf : public ::testing::Test {
 protected:
  void SetUp() override {
    mep.app_root = "/app";
    mep.functions = {{"dep::scale", "/opt/dep/scale.h", 12, 20, false}};
    mep.launches.resize(1);
    mep.launches[0].range.file = "/opt/dep/scale.h";
  }
  Mep mep;
};

TEST_F(PatchablePartsOf, AKernelOutsideTheApplicationAreNone) {
  EXPECT_TRUE(patchable_parts(mep).none());
  EXPECT_EQ(patchable_parts(mep).why(),
            "its source lies outside the application (/opt/dep/scale.h:12) and is not patched unless --repo names "
            "its repository, and its launches cannot be patched alone");
  EXPECT_TRUE(patchable_parts(mep, {"/opt/dep"}).text);
  EXPECT_TRUE(patchable_parts(mep, {"/opt/other"}).none());
  mep.app_root = "/opt";
  EXPECT_FALSE(patchable_parts(mep).none());
  EXPECT_EQ(patchable_parts(mep).why(), "");
}

TEST_F(PatchablePartsOf, AKernelLaunchedByTheApplicationIncludeItsLaunches) {
  mep.launches[0].range.file = "/app/main.cu";
  EXPECT_FALSE(patchable_parts(mep).none());
  EXPECT_FALSE(patchable_parts(mep).text);
  EXPECT_THAT(patchable_parts(mep).why(), HasSubstr("; only its launches are in the application"));
  Mep other = mep;
  other.launches[0].through_macro = true;
  EXPECT_TRUE(patchable_parts(other).none()) << "a launch written by a macro is not patched";
  mep.launches.resize(2), mep.launches[1].range.file = "/opt/dep/scale.h";
  EXPECT_TRUE(patchable_parts(mep).none()) << "launches change together or not at all";
}

TEST_F(PatchablePartsOf, AKernelThatUsesAFunctionOrConstantOfTheApplicationIncludeItsText) {
  Mep other = mep;
  other.functions.push_back({"Square::operator()", "/app/main.cu", 3, 3, true});
  EXPECT_TRUE(patchable_parts(other).text);
  other = mep;
  other.knobs = {{"BLOCK", 64, {"/app/config.h", 10, 12, 1, 1}, true, true, true, {}}};
  EXPECT_TRUE(patchable_parts(other).text);
}

TEST_F(PatchablePartsOf, AMepThatListsNoFunctionsAreFoundByItsLines) {
  mep.functions.clear(), mep.origins = {{"", 0}, {"/opt/dep/scale.h", 5}};
  EXPECT_TRUE(patchable_parts(mep).none());
  mep.origins.push_back({"src/types.h", 1});
  EXPECT_TRUE(patchable_parts(mep).text);
}

}  // namespace
}  // namespace kernelift::reintegrate
