// Candidates that are chosen at the launch for the recorded shapes that they are faster for.
#include "reintegrate/shape_choice.h"

#include <cstring>

#include "core/tests/expression_literal.h"
#include "reintegrate/apply_best.h"
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

/// Of one recorded launch: its argument n, its blocks, and how much faster the candidate is there.
struct Shape {
  int32_t n = 0;
  uint32_t blocks = 1;
  double speedup = 1, weight = 1;
};

void record(const std::vector<Shape>& shapes, Mep& mep, Verdict& verdict) {
  mep.parameters = {{"a", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
  mep.instances.clear(), verdict.timings.clear();
  for (auto& shape : shapes) {
    MepInstance instance;
    instance.id = "000" + std::to_string(mep.instances.size());
    instance.geometry = {{shape.blocks, 1, 1}, {64, 1, 1}};
    instance.arguments.resize(12);
    std::memcpy(instance.arguments.data() + 8, &shape.n, 4);
    instance.parameters = {{0, 8}, {8, 4}};
    verdict.timings.push_back({instance.id, shape.weight, shape.speedup, 1, shape.speedup, shape.speedup - 0.02,
                               shape.speedup + 0.02, 20, false});
    mep.instances.push_back(std::move(instance));
  }
}

std::optional<ShapeChoice> choice(const std::vector<Shape>& shapes) {
  Mep mep;
  Verdict verdict;
  record(shapes, mep, verdict);
  return shape_choice(mep, verdict);
}
std::string where(const std::vector<Shape>& shapes) {
  auto found = choice(shapes);
  return found ? found->where.text() : "";
}

TEST(ShapeChoice, IsWhatSeparatesLaunchesThatGainFromThoseThatLose) {
  EXPECT_EQ(where({{64, 1, 0.5}, {4096, 1, 2}, {9000, 1, 1.5}}), "n >= 4096");
  EXPECT_EQ(where({{64, 1, 1.5}, {4096, 1, 0.7}}), "n <= 64");
  EXPECT_EQ(where({{7, 4, 0.5}, {7, 64, 2}}), "gridDim.x >= 64") << "n is the same for both";
  EXPECT_EQ(where({{64, 1, 0.5}, {500, 1, 1}, {4096, 1, 2}}), "n >= 4096") << "nothing is known of 500";
}

TEST(ShapeChoice, IsNoneWithoutLaunchesOfBothKindsOrAnythingThatSeparatesThem) {
  EXPECT_EQ(where({{64, 1, 1}, {4096, 1, 2}}), "");
  EXPECT_EQ(where({{64, 1, 0.5}, {4096, 1, 1.02}}), "") << "no certain gain";
  EXPECT_EQ(where({{64, 1, 2}, {500, 1, 0.5}, {4096, 1, 2}}), "");
  EXPECT_EQ(where({{64, 1, 2}}), "");
}

TEST(ShapeChoice, HasTheOriginalsFiguresWhereTheOriginalRuns) {
  auto found = choice({{64, 1, 0.5}, {4096, 1, 2}});
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->figures.speedup(), 2 / (1 + 1 / 2.0));
  EXPECT_DOUBLE_EQ(found->figures.timings[0].seconds, found->figures.timings[0].baseline_seconds);
}

class ShapeChoicePatch : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    write("src/k.cu",
          "__global__ void k(float* a, int n) {\n  a[n] = 1.0;\n}\n"
          "void host(float* a, int n) { k<<<1, 64>>>(a, n); }\n");
    const std::string text = read("src/k.cu");
    Mep& mep = request.mep;
    mep.kernel_name = "k", mep.kernel_key = "k(float*, int)";
    mep.origins.clear(), request.original.clear();
    for (uint32_t line = 1; line <= 3; ++line) mep.origins.push_back({"src/k.cu", line});
    request.original = text.substr(0, text.find("void host"));
    ScannedKernel kernel;
    kernel.id = "1234abcd", kernel.name = "k", kernel.key = mep.kernel_key;
    kernel.definition = {"src/k.cu", 0, request.original.size() - 1, 1, 3};
    request.scan.emplace().kernels = {kernel};
    LaunchSite site;
    auto range = [&](const std::string& part) {
      const size_t begin = text.find(part, text.find("<<<") - 1);
      return SourceRange{"src/k.cu", begin, begin + part.size(), 4, 4};
    };
    site.kernels = {"1234abcd"}, site.range = range("k<<<1, 64>>>(a, n)"), site.kernel_range = range("k");
    site.grid_range = range("1"), site.block_range = range("64");
    site.grid_form = site.block_form = "number", site.argument_text = {"a", "n"};
    site.argument_types = {{1, "int"}};
    for (int axis = 0; axis < 3; ++axis) site.grid[axis] = site.block[axis] = "1"_e;
    site.block[0] = "64"_e;
    mep.launches = {site};
  }
  void offered(const std::string& to, const std::vector<Shape>& shapes) {
    tuner::RunTrial made;
    made.id = static_cast<int64_t>(offer.promising.size()) + 1;
    made.candidate.source = request.original;
    made.candidate.source.replace(made.candidate.source.find("1.0"), 3, to);
    made.candidate.tier = "source", made.candidate.steps = {Step::described(to)};
    record(shapes, request.mep, made.verdict);
    made.confirmed = made.verdict;
    offer.promising.push_back(std::move(made));
  }
  Result<PatchPreview> preview() {
    offer.request = request;
    return preview_best(offer);
  }
  RunOffer offer;
};

TEST_F(ShapeChoicePatch, LaunchesTheTunedKernelWhereItIsFasterAndTheOriginalElsewhere) {
  offered("3.0", {{64, 1, 0.5}, {4096, 1, 2}});
  auto patch = preview();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_NE(patch->diff.find("+void host(float* a, int n) { (n >= 4096 ? k_tuned : k)<<<1, 64>>>(a, n); }"),
            std::string::npos)
      << patch->diff;
  EXPECT_NE(patch->diff.find("+  a[n] = 3.0;"), std::string::npos);
  EXPECT_EQ(patch->diff.find("-  a[n] = 1.0;"), std::string::npos) << "the original stays";
  EXPECT_EQ(patch->label, "#1 (source: 3.0; only where n >= 4096, 1.33x)");
  EXPECT_DOUBLE_EQ(patch->predicted.kernel_gain, 2 / 1.5);
}

TEST_F(ShapeChoicePatch, IsMadeOnlyWhereItIsCertainlyFasterThanTheBestForAllLaunches) {
  offered("3.0", {{64, 1, 0.9}, {4096, 1, 2}});
  offered("2.0", {{64, 1, 1.4}, {4096, 1, 1.4}});
  EXPECT_EQ(preview()->label, "#2 (source: 2.0, 1.40x)") << "1.33x with a choice";
  offered("4.0", {{64, 1, 0.9}, {4096, 1, 8}});
  EXPECT_EQ(preview()->label, "#3 (source: 4.0; only where n >= 4096, 1.78x)");
  request.guards = false;
  EXPECT_EQ(preview()->candidate, 3) << "it is the fastest on the whole, too";
  EXPECT_EQ(preview()->label, "#3 (source: 4.0, 1.62x)");
}

}  // namespace
}  // namespace kernelift::reintegrate
