// The cache of parsed units: its entries as files, and whole scans of small applications before and after a change.
#include "extractor/scan/unit_cache.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

namespace fs = std::filesystem;
using kernelift::extractor::apps::knob;
using kernelift::extractor::apps::TestApp;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code missing;
  for (auto& one : fs::directory_iterator(folder, missing)) files.push_back(one.path());
  return files;
}

class UnitCacheTest : public ::testing::Test {
 protected:
  UnitCacheTest() {
    found_.units.resize(1);
    found_.kernels.resize(1);
    found_.kernels[0].name = "app::smooth";
    EXPECT_TRUE(write_atomically(header_, std::string_view("int x;")).ok());
    answers_.kinds = {{header_, "file"}, {header_ + "pp", "nothing"}};
  }
  bool knows(uint64_t unit) { return UnitCache(cache_).find({0, unit}).has_value(); }
  void keep(uint64_t unit) { UnitCache(cache_).keep({0, unit}, found_, answers_); }

  SlotFolder folder_;
  fs::path cache_ = folder_.path() / "scan";
  std::string header_ = (folder_.path() / "a.h").string();
  ScanIndex found_;
  FileAnswers answers_;
};

TEST_F(UnitCacheTest, ReturnsAnEntryWhileTheFilesAreUnchanged) {
  keep(1);
  auto found = UnitCache(cache_).find({0, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(to_json(*found), to_json(found_));
  EXPECT_FALSE(knows(2)) << "another command";
  EXPECT_TRUE(write_atomically(header_ + "pp", std::string_view("")).ok());
  EXPECT_FALSE(knows(1)) << "a file was created";
}

TEST_F(UnitCacheTest, KeepsNoEntryIfFilesChangedDuringTheParse) {
  answers_.settled = false;
  keep(1);
  EXPECT_FALSE(knows(1));
}

TEST_F(UnitCacheTest, IgnoresADamagedEntry) {
  keep(1);
  const fs::path entry = files_in(cache_).at(0);
  const std::string whole = *read_text(entry);
  auto damaged = [&](const std::string& text) {
    EXPECT_TRUE(write_atomically(entry, text).ok());
    return knows(1);
  };
  for (size_t at = 0; at < whole.size(); at += 1 + at / 8) {
    EXPECT_FALSE(damaged(whole.substr(0, at))) << at;
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 7));
    EXPECT_FALSE(damaged(flipped)) << at;
  }
  EXPECT_TRUE(damaged(whole)) << "the entry itself is sound";
}

TEST_F(UnitCacheTest, IgnoresAnEntryWithAValidHashButAnotherContent) {
  keep(1);
  const fs::path entry = files_in(cache_).at(0);
  for (const char* body :
       {"", "[]", "7", "{}", R"({"answers":{}})", R"({"answers":{"kinds":{},"folders":{},"contents":{}}})",
        R"({"answers":{"kinds":{"/":7},"folders":{},"contents":{}},"found":{}})",
        R"({"answers":{"kinds":{},"folders":{},"contents":{}},"found":{"format":"kernelift-scan","version":1}})"}) {
    EXPECT_TRUE(write_atomically(entry, hash_text(body).hex() + "\n" + body).ok());
    EXPECT_FALSE(knows(1)) << body;
  }
}

TEST_F(UnitCacheTest, KeepsTheMostRecentlyUsedEntryWhenItShrinks) {
  keep(1), keep(2), keep(3);
  auto entries = files_in(cache_);
  ASSERT_EQ(entries.size(), 3u);
  for (auto& entry : entries) fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(knows(2));
  UnitCache(cache_).shrink(fs::file_size(entries[0]));
  EXPECT_EQ(files_in(cache_).size(), 1u);
  EXPECT_TRUE(knows(2));
}

/// Whole scans, one after the other.
class ScanAgain : public ::testing::Test {
 protected:
  ScanIndex scan() {
    ScanOptions options;
    options.cache = app_.root() / ".kernelift/scan";
    reused_ = 0, options.reused = &reused_;
    return app_.scan(options);
  }
  TestApp app_;
  size_t reused_ = 0;
};

constexpr const char* kUnit =
    "#include <config.h>\n__global__ void k(int* x) { x[N * threadIdx.x] = 1; }\nvoid run(int* x) { k<<<1, 32>>>(x); "
    "}\n";
constexpr const char* kOther =
    "__global__ void other(int* x) { x[threadIdx.x] = 1; }\nvoid run(int* x) { other<<<1, M>>>(x); }\n";

TEST_F(ScanAgain, ParsesOnlyTheUnitsThatAChangeAffects) {
  app_.header("second/config.h", "#define N 4\n")
      .unit("a.cu", kUnit, {"-Ifirst", "-Isecond"})
      .unit("b.cu", kOther, {"-DM=3"});
  auto before = scan();
  EXPECT_EQ(reused_, 0u);
  EXPECT_EQ(to_json(scan()), to_json(before));
  EXPECT_EQ(reused_, 2u);

  app_.header("second/config.h", "#define N 4\n");
  scan();
  EXPECT_EQ(reused_, 2u) << "written again with the same content";

  app_.header("second/config.h", "#define N 5\n");
  EXPECT_EQ(knob(scan(), "N")->value, 5);
  EXPECT_EQ(reused_, 1u);

  app_.header("first/config.h", "#define N 6\n");
  EXPECT_EQ(knob(scan(), "N")->value, 6) << "a header that is found earlier on the include path";
  EXPECT_EQ(reused_, 1u);
}

TEST_F(ScanAgain, ParsesAUnitAgainWhoseFlagsChanged) {
  app_.unit("b.cu", kOther, {"-DM=3"});
  EXPECT_EQ(knob(scan(), "M")->value, 3);
  app_.recompile("b.cu", {"-DM=4"});
  EXPECT_EQ(knob(scan(), "M")->value, 4);
  EXPECT_EQ(reused_, 0u);
  app_.recompile("b.cu", {"-O3", "-DM=4"});
  EXPECT_EQ(scan().units[0].command[1], "-O3") << "flags that do not affect parsing are still listed";
}

TEST_F(ScanAgain, NoticesAHeaderThatDidNotExistBefore) {
  app_.unit("a.cu",
            "#if __has_include(\"wide.h\")\n#include \"wide.h\"\n#else\n#define W 1\n#endif\n__global__ void k(int* x) "
            "{ x[W * threadIdx.x] = 1; }\n");
  scan();
  app_.header("wide.h", "#define W 8\n");
  EXPECT_EQ(knob(scan(), "W")->value, 8);
}

/// clang needs minutes for it: 800 constant evaluations, each just below clang's limit for one.
constexpr const char* kEndless = R"(
constexpr int mix(int n) { int sum = 0; for (int i = 0; i < 200000; ++i) sum ^= i + n; return sum; }
template <int N> struct Chain { static constexpr int value = mix(N) ^ Chain<N - 1>::value; };
template <> struct Chain<0> { static constexpr int value = 0; };
constexpr int x = Chain<800>::value;
)";

TEST_F(ScanAgain, StopsAUnitThatExceedsItsProcessorTime) {
  app_.unit("slow.cu", kEndless, {"-std=c++17"});
  ScanOptions options;
  options.unit_seconds = 1;
  auto index = app_.scan(options);
  ASSERT_EQ(index.units[0].problems.size(), 1u);
  EXPECT_THAT(index.units[0].problems[0], ::testing::HasSubstr("1 s of processor time"));
}

TEST_F(ScanAgain, ReusesTheUnitsThatAStoppedScanHadFinished) {
  app_.unit("quick.cu", kOther, {"-DM=3"}).unit("slow.cu", kEndless, {"-std=c++17"});
  const fs::path cache = app_.root() / ".kernelift/scan";
  pid_t child = fork();
  if (child == 0) {
    ScanOptions options;
    options.cache = cache, options.jobs = 1, options.unit_seconds = 120;
    app_.scan(options);
    _exit(0);
  }
  auto begun_second = [&] {
    auto files = files_in(cache);
    return files.size() == 1 && files[0].filename().string()[0] != '.';
  };
  for (int tries = 0; tries < 12000 && !begun_second(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  app_.recompile("slow.cu", {});
  app_.header("slow.cu", "");
  scan();
  EXPECT_EQ(reused_, 1u);
}

}  // namespace
}  // namespace kernelift::extractor
