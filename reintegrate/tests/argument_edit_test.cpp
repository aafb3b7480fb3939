// Another argument for a kernel's template: at every launch of the instance and in its instantiations, or nowhere.
#include "core/model/knob/template_arguments.h"
#include "core/tests/expression_literal.h"
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

class ArgumentEdit : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    lines_ =
        "template <typename T, int B> __global__ void scale(T* a, int n) {\n"
        "  int i = blockIdx.x * B + threadIdx.x;\n"
        "  if (i < n) a[i] = 2;\n"
        "}\n";
    launches(
        "template __global__ void scale<float, 128>(float* a, int n);\n"
        "template __global__ void scale<double, 128>(double* a, int n);\n"
        "void host(float* a, int n) {\n"
        "  scale<float, 128><<<(n + 127) / 128, 128>>>(a, n);\n"
        "  scale<float,128><<<1, 128>>>(a, n);\n"
        "}\n");
    Mep& mep = request.mep;
    mep.kernel_name = "scale<float, 128>";
    mep.origins.clear();
    request.original = lines_;
    for (uint32_t line = 1; line <= 4; ++line) mep.origins.push_back({"src/k.cu", line});
    mep.origins.resize(6);
    request.original +=
        "constexpr int scale_B = 128;\ntemplate __global__ void ::scale<float, scale_B>(float *, int);\n";
    mep.parameters = {{"a", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
    MepInstance instance;
    instance.geometry = {{8, 1, 1}, {128, 1, 1}};
    mep.instances = {instance};
    ScannedKernel kernel;
    kernel.id = "1234abcd", kernel.name = mep.kernel_name;
    kernel.definition = {"src/k.cu", 0, lines_.size() - 1, 1, 4};
    request.scan.emplace().kernels = {kernel};
    Candidate& candidate = request.candidate;
    candidate.source = request.original;
    candidate.source.replace(candidate.source.find("= 128"), 5, "= 64");
    candidate.values["scale_B"] = 64;
    candidate.launches = {CandidateLaunch::as_recorded("scale<float, 64>")};
    candidate.launches[0].grid[0] = "ceil_div(gx * 128, scale_B)"_e, candidate.launches[0].block[0] = "scale_B"_e;
  }
  /// The file with these lines behind the kernel; its launches are of the kernel.
  void launches(const std::string& text) {
    write("src/k.cu", lines_ + text);
    const std::string whole = lines_ + text;
    Mep& mep = request.mep;
    mep.launches.clear();
    for (size_t chevrons = whole.find("<<<"); chevrons != whole.npos; chevrons = whole.find("<<<", chevrons + 1)) {
      const size_t begin = whole.rfind("scale", chevrons), comma = whole.find(", ", chevrons),
                   end = whole.find(">>>", comma);
      LaunchSite site;
      auto range = [&](size_t from, size_t to) { return SourceRange{"src/k.cu", from, to, 1, 1}; };
      site.kernels = {"1234abcd"}, site.range = range(begin, end + 3), site.kernel_range = range(begin, chevrons);
      site.grid_range = range(chevrons + 3, comma), site.block_range = range(comma + 2, end);
      site.grid_form = site.block_form = "number", site.argument_text = {"a", "n"};
      site.grid[0] = expression_of(whole.substr(chevrons + 3, comma - chevrons - 3));
      site.block[0] = expression_of(whole.substr(comma + 2, end - comma - 2));
      for (int axis : {1, 2}) site.grid[axis] = site.block[axis] = "1"_e;
      mep.launches.push_back(site);
    }
    const size_t first = whole.find("128", mep.launches[0].kernel_range.begin);
    mep.knobs = {{"scale_B", 128, {"src/k.cu", first, first + 3, 1, 1}, false, true, true, {"1234abcd"}}};
  }
  std::string planned() {
    auto patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root});
    return patch.ok() ? patch->changes.at(0).after : patch.error().message;
  }
  std::string lines_;
};

TEST_F(ArgumentEdit, ChangesEveryLaunchOfTheInstanceAndItsInstantiation) {
  EXPECT_EQ(planned(), lines_ +
                           "template __global__ void scale<float, 64>(float* a, int n);\n"
                           "template __global__ void scale<double, 128>(double* a, int n);\n"
                           "void host(float* a, int n) {\n"
                           "  scale<float, 64><<<((n + 127) / 128) * 2, 64>>>(a, n);\n"
                           "  scale<float,64><<<2, 64>>>(a, n);\n"
                           "}\n");
}

TEST_F(ArgumentEdit, IsRefusedWhereTheApplicationSetsAnAttributeOfTheInstance) {
  request.scan->settings = {{{"another"}, {"src/k.cu", 1, 2, 6, 6}}};
  EXPECT_NE(planned().find("scale<float, 64><<<"), std::string::npos);
  request.scan->settings.push_back({{"1234abcd"}, {"src/k.cu", 1, 2, 7, 7}});
  EXPECT_NE(planned().find("src/k.cu:7 sets an attribute of this instance"), std::string::npos) << planned();
}

TEST_F(ArgumentEdit, ReachesNoOtherKernel) {
  auto patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root});
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_FALSE(patch->reaches_others);
  EXPECT_TRUE(patch->notes.empty()) << patch->notes[0];
}

TEST_F(ArgumentEdit, IsRefusedWhereALaunchDoesNotSpellIt) {
  launches("void host(float* a, int n) { scale<float, 128><<<1, 128>>>(a, n); scale<float, N><<<1, 128>>>(a, n); }\n");
  EXPECT_NE(planned().find("the launch at src/k.cu:1 does not spell it"), std::string::npos) << planned();
}

TEST_F(ArgumentEdit, IsRefusedWhereNotAllLaunchesAreKnown) {
  request.mep.unseen_launches = "its address is taken at src/k.cu:9";
  EXPECT_NE(planned().find("would become 64, and its address is taken at"), std::string::npos) << planned();
}

TEST_F(ArgumentEdit, IsRefusedForAnInstanceThatNoKnobExplains) {
  request.candidate.launches[0].kernel = "scale<double, 64>";
  EXPECT_NE(planned().find("would have to name another kernel"), std::string::npos) << planned();
  request.candidate.launches[0].kernel = "scale<float, 32>";
  EXPECT_NE(planned().find("would have to name another kernel"), std::string::npos) << planned();
}

TEST_F(ArgumentEdit, ChangesTheConstantThatLaunchesName) {
  write("src/k.cu",
        "constexpr int BLOCK = 128;\n" + lines_ +
            "void host(float* a, int n) { scale<float, BLOCK><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(a, n); }\n");
  Mep& mep = request.mep;
  Candidate& candidate = request.candidate;
  mep.knobs = {{"BLOCK", 128, {"src/k.cu", 22, 25, 1, 1}, false, true, true, {"1234abcd", "5678abcd"}}};
  mep.launches.resize(1);
  LaunchSite& site = mep.launches[0];
  const std::string text = "constexpr int BLOCK = 128;\n" + lines_;
  const size_t begin = text.size() + std::string("void host(float* a, int n) { ").size();
  const size_t grid = begin + std::string("scale<float, BLOCK><<<").size(), block = grid + 26;
  site.range = {"src/k.cu", begin, block + 8, 6, 6}, site.kernel_range = {"src/k.cu", begin, grid - 3, 6, 6};
  site.grid_range = {"src/k.cu", grid, block - 2, 6, 6}, site.block_range = {"src/k.cu", block, block + 5, 6, 6};
  site.grid[0] = "(n + BLOCK - 1) / BLOCK"_e, site.block[0] = "BLOCK"_e;
  request.original =
      "constexpr int BLOCK = 128;\n" + lines_ + "template __global__ void ::scale<float, BLOCK>(float *, int);\n";
  mep.origins.clear();
  for (uint32_t line = 1; line <= 5; ++line) mep.origins.push_back({"src/k.cu", line});
  mep.origins.resize(6);
  candidate.source = request.original;
  candidate.source.replace(candidate.source.find("128"), 3, "64");
  candidate.values = {{"BLOCK", 64}};
  candidate.launches[0].grid[0] = "ceil_div(gx * 128, BLOCK)"_e, candidate.launches[0].block[0] = "BLOCK"_e;
  EXPECT_EQ(planned(),
            "constexpr int BLOCK = 64;\n" + lines_ +
                "void host(float* a, int n) { scale<float, BLOCK><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(a, n); }\n");
  candidate.launches[0].kernel = "scale<float, 32>";
  EXPECT_NE(planned().find("would have to name another kernel"), std::string::npos) << planned();
}

TEST(TemplateArguments, AreThoseAtTheEndOfAName) {
  auto list = [](const std::string& name) {
    std::string all;
    for (auto& part : template_arguments(name)) all += "[" + name.substr(part.begin, part.end - part.begin) + "]";
    return all;
  };
  EXPECT_EQ(list("ns::Outer<int>::scale< float , 128>"), "[float][128]");
  EXPECT_EQ(list("k<&step<float, 8>, (A > 2), Pair<int, 4>>"), "[&step<float, 8>][(A > 2)][Pair<int, 4>]");
  EXPECT_EQ(list("Outer<int>::plain"), "");
  EXPECT_EQ(list("plain"), "");
}

}  // namespace
}  // namespace kernelift::reintegrate
