// Conversion of CUPTI's metrics to facts, without a GPU.
#include "sandbox/device/cuda/counters/counters.h"

#include <gtest/gtest.h>

#include <set>

namespace kernelift::sandbox {
namespace {

TEST(CounterMetrics, CountAFusedMultiplyAddAsTwoOperations) {
  KernelFacts facts;
  facts_from_metrics({{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 3},
                      {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 5},
                      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 100}},
                     facts);
  ASSERT_TRUE(facts.fp32_operations);
  EXPECT_EQ(*facts.fp32_operations, 208);
  EXPECT_FALSE(facts.fp64_operations) << "unknown, not zero";
}

TEST(CounterMetrics, ConvertPercentToShares) {
  KernelFacts facts;
  facts_from_metrics({{"sm__warps_active.avg.pct_of_peak_sustained_active", 43.5}}, facts);
  ASSERT_TRUE(facts.occupancy);
  EXPECT_DOUBLE_EQ(*facts.occupancy, 0.435);
}

TEST(CounterMetrics, LeaveOutSectorsOfRequestsThatWereNeverMade) {
  KernelFacts facts;
  facts_from_metrics({{"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", 0}}, facts);
  EXPECT_FALSE(facts.sectors_per_store);
}

TEST(CounterMetrics, AreWantedOnceEach) {
  std::set<std::string> names(wanted_metrics().begin(), wanted_metrics().end());
  EXPECT_EQ(names.size(), wanted_metrics().size());
}

TEST(CounterMetrics, AreAllConvertedToFacts) {
  for (auto& metric : wanted_metrics()) {
    KernelFacts without, with;
    std::map<std::string, double> all;
    for (auto& other : wanted_metrics()) all[other] = 7;
    facts_from_metrics(all, with);
    all.erase(metric);
    facts_from_metrics(all, without);
    EXPECT_NE(to_json(with), to_json(without)) << metric << " is collected and then ignored";
  }
}

}  // namespace
}  // namespace kernelift::sandbox
