// Finds the run that a user names, and which shares of the profile a prediction may use.
#include "reintegrate/apply_request.h"

#include <gtest/gtest.h>

#include "core/base/file.h"

namespace kernelift::reintegrate {
namespace {

namespace fs = std::filesystem;

class FindRun : public ::testing::Test {
 protected:
  fs::path run(const std::string& name, int age) {
    fs::path file = folder_.path() / "runs" / name;
    fs::create_directories(file.parent_path());
    EXPECT_TRUE(write_atomically(file, "a run").ok());
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(age));
    return file;
  }
  std::string found(const std::string& name) {
    auto file = find_run(name, folder_.path());
    return file.ok() ? file->filename().string() : "none";
  }
  TemporaryFolder folder_ = std::move(*TemporaryFolder::create("kernelift-find-run"));
};

TEST_F(FindRun, FindsTheLatestRunByTheKernelsName) {
  run("smooth-1f0a93c2-9.klrun", 3), run("smooth-1f0a93c2-10.klrun", 2), run("smooth-77777777-1.klrun", 5);
  run("smooth_rows-1f0a93c2-11.klrun", 1), run("smooth-extra-1.klrun", 1), run("smooth-1f0a93c2-12.klrun.lock", 1);
  EXPECT_EQ(found("smooth"), "smooth-1f0a93c2-10.klrun");
  EXPECT_EQ(found("smooth_rows"), "smooth_rows-1f0a93c2-11.klrun");
  EXPECT_EQ(found("heat::smooth<float, 4>"), "smooth-1f0a93c2-10.klrun");
  EXPECT_EQ(found("smo"), "none");
}

TEST_F(FindRun, FindsAKernelsRunWhereAProgramHasItsName) {
  run("spmv-00000000-1.klrun", 1);
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  EXPECT_TRUE(write_atomically("spmv", "a program").ok());
  EXPECT_TRUE(write_atomically("other", std::string("SQLite format 3\0 and damaged", 28)).ok());
  EXPECT_EQ(found("spmv"), "spmv-00000000-1.klrun");
  EXPECT_EQ(found("other"), "other") << "what may be a run is not passed over";
  fs::current_path(before);
}

TEST_F(FindRun, FindsARunByItsFileOrFileName) {
  fs::path file = run("k-00000000-1.klrun", 1);
  EXPECT_EQ(*find_run(file, "/nowhere"), file);
  EXPECT_EQ(found("k-00000000-1.klrun"), "k-00000000-1.klrun");
  EXPECT_EQ(found("k-00000000"), "k-00000000-1.klrun") << "by the MEP's name";
  auto none = find_run("other", folder_.path());
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("there is no run 'other'"), std::string::npos) << none.error().message;
}

TEST(RunOffer, TakesAKernelsShareOfTheKernelsSpanFromAProfileOfThatCommand) {
  auto folder = TemporaryFolder::create("kernelift-shares");
  CaptureInfo info;
  info.command = {"sh", "-c", "./app"}, info.run_seconds = 10, info.span_seconds = 0.5, info.complete = true;
  info.profile.emplace_back();
  info.profile[0].key = "k", info.profile[0].count = 1, info.profile[0].total_us = 250'000;
  {
    auto writer = CaptureWriter::create(folder->path() / "profile");
    ASSERT_TRUE(writer.ok() && (*writer)->finish(info).ok());
  }
  auto share = [&](const std::string& run, const Metric& metric) {
    RunOffer offer;
    offer.request.state = folder->path(), offer.request.mep.kernel_key = "k";
    offer.recorded = {"sh", "-c", "./app"}, offer.kernel_share = 0.025, offer.shares = {{"k", 0.025}};
    set_commands(run, "", metric, offer);
    EXPECT_EQ(offer.request.notes.empty(), offer.kernel_share > 0);
    return offer.kernel_share;
  };
  EXPECT_EQ(share("./app", Metric::kernel_span()), 0.5);
  EXPECT_EQ(share("./other", Metric::kernel_span()), 0);
  EXPECT_EQ(share("./app", *Metric::parse("FOM = (.*)", "higher")), 0);
}

TEST(RunOffer, PredictsNothingForAnotherCommandLineThanTheRecordedOne) {
  auto share = [](const std::vector<std::string>& recorded, const std::string& run, const std::string& check = "") {
    RunOffer offer;
    offer.recorded = recorded, offer.kernel_share = 0.5, offer.shares = {{"k", 0.5}};
    set_commands(run, check, {}, offer);
    EXPECT_EQ(offer.request.notes.size(), offer.kernel_share > 0 ? 0u : 1u);
    EXPECT_EQ(offer.request.notes.empty(), !offer.shares.empty());
    return offer.kernel_share;
  };
  EXPECT_EQ(share({"sh", "-c", "./app  input.dat"}, "./app input.dat"), 0.5);
  EXPECT_EQ(share({"./app", "two words"}, "./app 'two words'"), 0.5);
  EXPECT_EQ(share({}, "./app"), 0.5) << "an old capture does not name its command";
  EXPECT_EQ(share({"/opt/python/bin/python3", "run.py"}, "python3 run.py"), 0.5) << "by a script of that name on PATH";
  EXPECT_EQ(share({"/opt/python/bin/python3", "run.py"}, "./python3 run.py"), 0);
  EXPECT_EQ(share({"./app", "input.dat"}, "./app large.dat"), 0);
  EXPECT_EQ(share({"sh", "-c", "./app"}, "./app && ./app"), 0);
  EXPECT_EQ(share({"../app", "in"}, "cd data && rm -f out && ../app in > out"), 0.5);
  EXPECT_EQ(share({"../app", "in"}, "cd data && ../app other > out"), 0);
  EXPECT_EQ(share({"./app"}, "repeat ./app"), 0) << "another program's argument";
  EXPECT_EQ(share({"./app"}, "", "./check"), 0) << "without --run the check is timed";
}

TEST(RunOffer, DetectsAProfileLineThatSumsSeveralKernels) {
  ScanIndex scan;
  std::vector<CapturedInstance> recorded;
  auto kernel = [&](const std::string& file, uint64_t begin) {
    scan.kernels.emplace_back().key = "step(int)";
    scan.kernels.back().definition.file = file, scan.kernels.back().definition.begin = begin;
  };
  auto launch = [&](const std::string& unit) {
    recorded.emplace_back().kernel = "step(int)";
    recorded.back().unit = unit;
  };
  kernel("shared.h", 7), kernel("shared.h", 7), launch("a.cu"), launch("b.cu");
  EXPECT_FALSE(profile_line_is_ambiguous("step(int)", scan, recorded))
      << "a header's kernel in two units is one kernel";
  kernel("c.cu", 7);
  EXPECT_TRUE(profile_line_is_ambiguous("step(int)", scan, recorded));
  EXPECT_FALSE(profile_line_is_ambiguous("other(int)", scan, recorded));
  recorded.clear(), launch("c.cu"), launch("c.cu");
  EXPECT_FALSE(profile_line_is_ambiguous("step(int)", scan, recorded)) << "only one of the kernels was launched";
  launch("");
  EXPECT_TRUE(profile_line_is_ambiguous("step(int)", scan, recorded)) << "the unit of one launch is not known";
}

}  // namespace
}  // namespace kernelift::reintegrate
