// What compute-sanitizer reports, as its version 2025.3.1 words it, and what becomes of a candidate. No GPU is needed.
#include "sandbox/evaluate/cuda/device_sanitizer.h"

#include <gtest/gtest.h>

namespace kernelift::sandbox {
namespace {

constexpr const char* kNothing = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
constexpr const char* kRace =
    "========= COMPUTE-SANITIZER\n"
    "========= Error: Race reported between Write access at sums(float *)+0xa0 in kernel.cu:4\n"
    "=========     and Read access at sums(float *)+0xb0 in kernel.cu:4 [2048 hazards]\n"
    "========= \n"
    "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";
constexpr const char* kOutside =
    "========= COMPUTE-SANITIZER\n"
    "========= Invalid __shared__ write of size 4 bytes\n"
    "=========     at sums(float *, int)+0xd0 in kernel.cu:5\n"
    "=========     by thread (128,0,0) in block (0,0,0)\n"
    "=========     Access to 0x800 is out of bounds\n"
    "========= \n"
    "========= Invalid __shared__ write of size 4 bytes\n"
    "=========     at sums(float *, int)+0xd0 in kernel.cu:5\n"
    "=========     by thread (129,0,0) in block (0,0,0)\n"
    "=========     Access to 0x804 is out of bounds\n"
    "========= \n"
    "========= ERROR SUMMARY: 129 errors\n"
    "========= ERROR SUMMARY: 127 errors were not printed. Use --print-limit option to adjust the number of printed "
    "errors\n";
constexpr const char* kMisaligned =
    "========= COMPUTE-SANITIZER\n"
    "========= Invalid __shared__ write of size 16 bytes\n"
    "=========     at sums(float *)+0x70 in kernel.cu:7\n"
    "=========     by thread (0,0,0) in block (0,0,0)\n"
    "=========     Access to 0x404 is misaligned\n"
    "========= \n"
    "========= ERROR SUMMARY: 1 error\n";
constexpr const char* kDivergent =
    "========= COMPUTE-SANITIZER\n"
    "========= Barrier error detected. Divergent thread(s) in warp.\n"
    "=========     at sums(float *)+0x70 in kernel.cu:8\n"
    "=========     by thread (32,0,0) in block (0,0,0)\n"
    "========= \n"
    "========= ERROR SUMMARY: 8 errors\n";

TEST(SanitizerLog, HasAReportForEachErrorWithWhatAndWhere) {
  const SanitizerLog log = read_sanitizer_log(kOutside);
  ASSERT_EQ(log.reports.size(), 2u);
  EXPECT_TRUE(log.complete);
  EXPECT_EQ(
      log.reports[0].text(),
      "Invalid __shared__ write of size 4 bytes, at sums(float *, int)+0xd0 in kernel.cu:5, by thread (128,0,0) in "
      "block (0,0,0), Access to 0x800 is out of bounds");
  EXPECT_TRUE(read_sanitizer_log(kNothing).reports.empty());
}

TEST(SanitizerLog, OfAToolThatEndedEarlyIsNotComplete) {
  const std::string whole = kRace;
  EXPECT_FALSE(read_sanitizer_log(whole.substr(0, whole.find("========= RACECHECK"))).complete);
  EXPECT_FALSE(read_sanitizer_log("").complete);
  EXPECT_FALSE(read_sanitizer_log("Error: no CUDA\n").complete);
  EXPECT_TRUE(read_sanitizer_log("=========     indented, of no report\n").reports.empty());
}

TEST(SanitizerLog, TellsKindsOfReportsApartAndNoPlaces) {
  auto first = [](const char* log) { return read_sanitizer_log(log).reports[0]; };
  EXPECT_TRUE(first(kOutside).is_like(read_sanitizer_log(kOutside).reports[1]));
  EXPECT_FALSE(first(kOutside).is_like(first(kMisaligned)));
  EXPECT_FALSE(first(kRace).is_like(first(kDivergent)));
  std::string other = kRace;
  other.replace(other.find("and Read"), 8, "and Write");
  EXPECT_FALSE(first(kRace).is_like(first(other.c_str())));
  std::string wider = kOutside;
  wider.replace(wider.find("size 4"), 6, "size 16");
  EXPECT_FALSE(first(kOutside).is_like(first(wider.c_str())));
}

/// What tools report of the candidate, and of the original.
struct Said {
  std::map<std::string, std::string> candidate, original;
  std::vector<std::string> runs = {};
};

Verdict judged(Said& said) {
  RunnableCode candidate, original;
  candidate.image = "candidate", original.image = "original";
  DeviceSanitizer sanitizer([&](const std::string& tool, const RunnableCode& code) -> Result<SanitizerLog> {
    said.runs.push_back(code.image + " " + tool);
    auto& logs = code.image == "candidate" ? said.candidate : said.original;
    auto log = logs.find(tool);
    if (log == logs.end()) return read_sanitizer_log(kNothing);
    if (log->second.empty()) return environment_error(tool + " takes more than 90 s for one launch");
    return read_sanitizer_log(log->second);
  });
  Verdict verdict;
  verdict.timings.resize(1);
  return sanitizer.judged(verdict, candidate, original);
}

TEST(DeviceSanitizer, SaysWhichToolsReportNothingAndRunsTheOriginalUnderNone) {
  Said said;
  const Verdict verdict = judged(said);
  EXPECT_TRUE(verdict.ok());
  EXPECT_EQ(verdict.sanitized->text(), "memcheck, racecheck and synccheck report nothing");
  EXPECT_EQ(said.runs.size(), 3u);
  EXPECT_EQ(verdict.beyond_recorded(),
            std::vector<std::string>{"By compute-sanitizer: memcheck, racecheck and synccheck report nothing"});
}

TEST(DeviceSanitizer, RefusesARaceAnAccessOutsideAndADivergentBarrier) {
  Said race{{{"racecheck", kRace}}, {}};
  Verdict verdict = judged(race);
  EXPECT_EQ(verdict.outcome, Outcome::Unstable);
  EXPECT_TRUE(verdict.timings.empty());
  EXPECT_EQ(verdict.detail.find("compute-sanitizer's racecheck: Error: Race reported between Write access"), 0u)
      << verdict.detail;
  Said outside{{{"memcheck", kOutside}}, {}};
  EXPECT_EQ(judged(outside).outcome, Outcome::WroteOutside);
  Said divergent{{{"synccheck", kDivergent}}, {}};
  EXPECT_EQ(judged(divergent).outcome, Outcome::Crashed);
}

TEST(DeviceSanitizer, HoldsNothingAgainstACandidateThatTheOriginalDoesToo) {
  Said both{{{"synccheck", kDivergent}}, {{"synccheck", kDivergent}}};
  const Verdict verdict = judged(both);
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.sanitized->text(),
            "memcheck, racecheck and synccheck report nothing that the original does not do");
  Said slow{{{"synccheck", kDivergent}}, {{"synccheck", ""}}};
  const Verdict open = judged(slow);
  EXPECT_TRUE(open.ok()) << "what the original does is not known";
  EXPECT_EQ(
      open.sanitized->text(),
      "memcheck and racecheck report nothing; others were not run: of the original: synccheck takes more than 90 s "
      "for one launch");
  Said other{{{"memcheck", kMisaligned}}, {{"memcheck", kOutside}}};
  EXPECT_EQ(judged(other).outcome, Outcome::Crashed);
}

TEST(DeviceSanitizer, SaysWhyAToolWasNotRun) {
  Said slow{{{"racecheck", ""}}, {}};
  const Verdict verdict = judged(slow);
  EXPECT_TRUE(verdict.ok());
  EXPECT_EQ(verdict.sanitized->text(),
            "memcheck reports nothing; others were not run: racecheck takes more than 90 s for one launch");
}

}  // namespace
}  // namespace kernelift::sandbox
