// What is said of a recorded kernel without a source: one test per thing that the recording can know.
#include "extractor/extract/missing_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extractor/scan/lost_kernels.h"

namespace kernelift::extractor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class MissingSource : public ::testing::Test {
 protected:
  void SetUp() override {
    index_.root = "/app";
    for (auto* file : {"/app/src/whole.cu", "/app/src/torn.cu"}) {
      ScannedUnit unit;
      unit.file = file;
      index_.units.push_back(unit);
    }
    instance_.kernel = "segment(float*)";
  }
  void tear(const std::vector<std::string>& problems) { index_.units[1].problems = problems; }
  std::string why() const { return why_without_source(index_, instance_); }

  ScanIndex index_;
  CapturedInstance instance_;
};

TEST_F(MissingSource, IsInWhatWasLostOfAUnit) {
  tear({"line 7: no such type", lost_kernels_text({"segment (torn.cu:9)"})});
  instance_.unit = "(memory)";
  EXPECT_THAT(why(), HasSubstr("the kernel is in what was lost: src/torn.cu (line 7: no such type)"));
}

TEST_F(MissingSource, WasMadeWhileTheApplicationRan) {
  tear({"line 7: no such type"});
  instance_.unit = "(memory)";
  EXPECT_THAT(why(), AllOf(HasSubstr("made or loaded while the application ran"), Not(HasSubstr("torn.cu"))));
}

TEST_F(MissingSource, IsOfALibrary) {
  instance_.unit = "libcublas.so.13";
  EXPECT_THAT(why(), HasSubstr("is that of the library libcublas.so.13"));
}

TEST_F(MissingSource, IsOfALibraryOfHeaders) {
  instance_.kernel = "cub::CUB_200_SM_90::reduce<float>(float*)", instance_.source_stem = "whole";
  EXPECT_THAT(why(), HasSubstr("it is a kernel of cub"));
}

TEST_F(MissingSource, IsOfAHeaderThatAUnitUses) {
  instance_.source_stem = "whole", instance_.unit = "app";
  EXPECT_THAT(why(), HasSubstr("its file, src/whole.cu, was read completely and does not define it"));
  instance_.source_stem.clear(), instance_.unit = "/app/src/whole.cu";
  EXPECT_THAT(why(), HasSubstr("its file, src/whole.cu, was read completely and does not define it"))
      << "the CPU device knows the path";
}

TEST_F(MissingSource, IsOfAFileThatWasReadInPart) {
  tear({"line 7: no such type"});
  instance_.source_stem = "torn";
  EXPECT_THAT(why(), HasSubstr("its file was read in part only: src/torn.cu (line 7: no such type)"));
}

TEST_F(MissingSource, IsOfAFileThatWasNotScanned) {
  tear({"line 7: no such type"});
  instance_.source_stem = "other", instance_.unit = "app";
  EXPECT_THAT(why(), AllOf(HasSubstr("its file, other.cu, is not among the compile commands"),
                           HasSubstr("build again from clean"), Not(HasSubstr("torn.cu"))));
  instance_.unit = "libown.so";
  EXPECT_THAT(why(), HasSubstr("its file, other.cu of the library libown.so, is not among the compile commands"));
  instance_.source_stem.clear(), instance_.unit = "/elsewhere/dependency.cu";
  EXPECT_THAT(why(), AllOf(HasSubstr("its file, /elsewhere/dependency.cu, is not among the compile commands"),
                           HasSubstr("outside of the application (/app)")));
}

TEST_F(MissingSource, IsNotKnownIfTheRecordingSaysNothing) {
  EXPECT_THAT(why(), HasSubstr("the recording does not say where its code came from"));
  instance_.unit = "app";  // A program whose symbols were removed.
  EXPECT_THAT(why(), HasSubstr("the recording does not say where its code came from"));
  tear({"line 7: no such type"});
  EXPECT_THAT(why(), HasSubstr("1 file was read in part only: src/torn.cu (line 7: no such type)"));
}

}  // namespace
}  // namespace kernelift::extractor
