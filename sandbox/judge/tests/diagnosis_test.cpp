// The advice that typical kernels' facts lead to.
#include "sandbox/judge/diagnosis.h"

#include <gtest/gtest.h>

namespace kernelift::sandbox {
namespace {

KernelFacts streaming() {
  KernelFacts facts;
  facts.device = "cuda: NVIDIA H200";
  facts.geometry = {{65536, 1, 1}, {256, 1, 1}};
  facts.multiprocessors = 132;
  facts.seconds = 250e-6;
  facts.peaks.dram_bytes = 4.2e12;
  facts.peaks.fp32_operations = 60e12;
  facts.dram_read_bytes = 640e6, facts.dram_written_bytes = 320e6;
  facts.fp32_operations = 160e6;
  facts.stalls = {{"long_scoreboard", 30}, {"selected", 1}, {"wait", 1}};
  return facts;
}

bool says(const Diagnosis& diagnosis, const std::string& words) {
  return diagnosis.paragraph().find(words) != std::string::npos;
}

TEST(Diagnosis, SaysThatAKernelAtTheRoofMustMoveLess) {
  Diagnosis diagnosis = diagnose(streaming());
  ASSERT_FALSE(diagnosis.roofs.empty());
  EXPECT_EQ(diagnosis.roofs.front().name, "DRAM");
  EXPECT_NEAR(diagnosis.roofs.front().share, 960e6 / 4.2e12 / 250e-6, 1e-9);
  EXPECT_TRUE(says(diagnosis, "91 % of the DRAM roof")) << diagnosis.paragraph();
  EXPECT_FALSE(says(diagnosis, "Warps wait")) << "advice on latency does not help at the roof";
}

TEST(Diagnosis, NamesTheMainStallOfALatencyBoundKernelWithARemedy) {
  KernelFacts facts = streaming();
  facts.seconds = 2e-3;
  facts.occupancy = 0.2, facts.limited_by = "registers", facts.registers = 168;
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_TRUE(says(diagnosis, "far from every roof")) << diagnosis.paragraph();
  EXPECT_TRUE(says(diagnosis, "more independent loads in flight"));
  EXPECT_TRUE(says(diagnosis, "Occupancy is 20 %, limited by 168 registers per thread"));
}

TEST(Diagnosis, SeesAGridTooSmallForTheGpu) {
  KernelFacts facts = streaming();
  facts.seconds = 2e-3;
  facts.geometry.grid = {32, 1, 1};
  EXPECT_TRUE(says(diagnose(facts), "leave 100 of 132 multiprocessors idle"));
}

TEST(Diagnosis, SeesAPartlyFilledLastWave) {
  KernelFacts facts = streaming();
  facts.seconds = 2e-3;
  facts.resident_blocks = 2, facts.geometry.grid = {300, 1, 1};
  EXPECT_TRUE(says(diagnose(facts), "1.1 waves"));
}

TEST(Diagnosis, SeesScatteredAccessesConflictsAndDivergence) {
  KernelFacts facts = streaming();
  facts.sectors_per_load = 31.5, facts.sectors_per_store = 4;
  facts.shared_wavefronts = 1000, facts.shared_conflicts = 600;
  facts.threads_per_instruction = 11;
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_TRUE(says(diagnosis, "Global loads touch 31.5 sectors"));
  EXPECT_FALSE(says(diagnosis, "Global stores"));
  EXPECT_TRUE(says(diagnosis, "60 % of its shared-memory work"));
  EXPECT_TRUE(says(diagnosis, "11.0 of 32 threads"));
}

TEST(Diagnosis, SuspectsDoublesInASinglePrecisionKernelButNotInADoubleOne) {
  KernelFacts facts = streaming();
  facts.instructions = {{"fp32", 80}, {"fp64", 20}};
  EXPECT_TRUE(says(diagnose(facts), "literals without an f"));
  facts.instructions = {{"fp32", 5}, {"fp64", 95}};
  EXPECT_FALSE(says(diagnose(facts), "literals without an f"));
}

TEST(Diagnosis, SaysWhyCountersAreMissingAndInventsNothing) {
  KernelFacts facts;
  facts.geometry = {{1024, 1, 1}, {128, 1, 1}};
  facts.seconds = 1e-3;
  facts.counters_missing = "the driver permits them to root only";
  Diagnosis diagnosis = diagnose(facts);
  EXPECT_TRUE(diagnosis.roofs.empty());
  EXPECT_EQ(diagnosis.findings.size(), 1u) << diagnosis.paragraph();
  EXPECT_TRUE(says(diagnosis, "root only"));
  EXPECT_EQ(facts_table(facts).find("DRAM"), std::string::npos);
}

TEST(KernelFacts, SurviveTheirJson) {
  KernelFacts facts = streaming();
  facts.registers = 40, facts.occupancy = 0.5;
  auto back = kernel_facts_from_json(to_json(facts), "facts");
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(to_json(*back), to_json(facts));
  EXPECT_FALSE(back->l2_bytes) << "a figure that was not measured stays unknown";
  Json damaged = to_json(facts);
  damaged.erase("stalls");
  EXPECT_FALSE(kernel_facts_from_json(damaged, "facts").ok());
}

}  // namespace
}  // namespace kernelift::sandbox
