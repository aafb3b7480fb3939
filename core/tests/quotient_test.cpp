// Which launches round their grids up over a size that the kernel is told.
#include "core/model/launch/quotient.h"

#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"

namespace kernelift {
namespace {

std::string parts(const std::string& text) {
  auto quotient = Expression::parse(text)->as_quotient();
  return quotient ? quotient->dividend.text() + " by " + quotient->divisor.text() : "none";
}

TEST(Quotient, IsTheLastDivision) {
  EXPECT_EQ(parts("(n + B - 1) / B"), "n + B - 1 by B");
  EXPECT_EQ(parts("ceil_div(n * m, B * 2)"), "n * m by B * 2");
  EXPECT_EQ(parts("n / 4 / B"), "n / 4 by B");
  EXPECT_EQ(parts("n / B + 1"), "none");
  EXPECT_EQ(parts("n / B * 2"), "none");
  EXPECT_EQ(parts("n"), "none");
}

bool rounded(const std::optional<Expression>& grid, const Expression& block) {
  Mep mep;
  mep.instances.resize(1);
  mep.instances[0].geometry = {{16, 1, 1}, {64, 1, 1}};
  LaunchSite site;
  site.grid[0] = grid, site.block[0] = block, site.argument_text = {"a", "s", "n - first"};
  return rounds_up(mep, site, 0);
}

TEST(Quotient, RoundsUpWhereTheLaunchCoversWhatTheKernelIsTold) {
  for (auto& grid : {"(n + 63) / 64"_e, "ceil_div(n - first, 64)"_e, "(s.n + 127) / 128"_e, "16"_e})
    EXPECT_TRUE(rounded(grid, "64"_e)) << grid.text();
  EXPECT_TRUE(rounded("(n + threads - 1) / threads"_e, "threads"_e));
  for (auto& grid : {"n / 64"_e, "blocks"_e, "(part + 63) / 64"_e, "((n + 63) / 64 + 6) / 7"_e, "3"_e})
    EXPECT_FALSE(rounded(grid, "64"_e)) << grid.text();
  EXPECT_FALSE(rounded(std::nullopt, "64"_e));
  EXPECT_FALSE(rounded("(n + 63) / 64"_e, "threads"_e));
}

TEST(Quotient, KnowsWhichParametersHoldTheSizesThatAreCovered) {
  auto covered = [](const std::vector<Expression>& grids) -> std::string {
    Mep mep;
    for (auto& grid : grids) {
      LaunchSite site;
      site.grid[0] = grid, site.block[0] = "64"_e, site.argument_text = {"a", "s", "(int)n", "n - first", "s.m"};
      mep.launches.push_back(site);
    }
    auto sizes = covered_sizes(mep, 0);
    std::string text;
    if (sizes)
      for (auto& size : *sizes) text += std::to_string(size.parameter) + size.member + " ";
    return sizes ? text : "any";
  };
  EXPECT_EQ(covered({"(n + 63) / 64"_e}), "2 3 ");
  EXPECT_EQ(covered({"(s.n + 63) / 64"_e}), "1n ");
  EXPECT_EQ(covered({"(s.m + 63) / 64"_e}), "1m 4 ");
  EXPECT_EQ(covered({"16"_e}), "any");
  EXPECT_EQ(covered({"(n / 2 + 63) / 64"_e}), "") << "half of what it is told";
  EXPECT_EQ(covered({"(2 * n + 63) / 64"_e}), "2 3 ");
  EXPECT_EQ(covered({"(n * m + 63) / 64"_e}), "2 3 ");
  EXPECT_EQ(covered({"(n + 63) / 64"_e, "16"_e}), "2 3 ");
  EXPECT_EQ(covered({"(n + 63) / 64"_e, "(s.n + 63) / 64"_e}), "") << "no guard asks of both";
}

}  // namespace
}  // namespace kernelift
