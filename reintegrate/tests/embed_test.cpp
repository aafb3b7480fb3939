// Embedded code: the guard's conditions, the redirection of launches, and that the generated header
// compiles with nvcc for all architectures that an application may be built for.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/tests/expression_literal.h"
#include "reintegrate/embed/launcher.h"
#include "reintegrate/embed/redirect.h"
#include "reintegrate/embed/shape_guard.h"
#include "reintegrate/patch/source_patch.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

const char* const kEmbedded =
    ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry _Z5scalePfif(\n\t.param .u64 a,\n\t.param .u32 b,\n"
    "\t.param .f32 c\n)\n{\n\tret;\n}\n";

/// A kernel `void scale(float* data, int n, float factor)`, recorded with given values.
class Embed : public ::testing::Test {
 protected:
  struct Packed {
    uint64_t data;
    int32_t n;
    float factor;
  };
  void instance(uint64_t data, int32_t n, float factor, uint32_t blocks) {
    Packed packed{data, n, factor};
    MepInstance made;
    made.id = std::to_string(mep.instances.size());
    made.geometry = {{blocks, 1, 1}, {64, 1, 1}, 0, false};
    made.parameters = {{0, 8}, {8, 4}, {12, 4}};
    made.arguments.resize(sizeof packed);
    std::memcpy(made.arguments.data(), &packed, sizeof packed);
    mep.instances.push_back(made);
  }
  void SetUp() override {
    mep.kernel_name = "scale", mep.kernel_key = "scale(float*, int, float)", mep.kernel_id = "1";
    mep.parameters = {{"data", "float *", "float", false, ""},
                      {"n", "int", "", false, "int"},
                      {"factor", "float", "", false, "float"}};
    mep.language = "cuda";
    candidate.source = "changed";
    code = {kEmbedded,
            "_Z5scalePfif",
            "clang 22",
            "cuda: NVIDIA H200, sm_90, driver 580",
            "candidate #7 of scale-1.klrun",
            "nvcc makes less of it.",
            {}};
  }
  std::string conditions() {
    auto guard = shape_guard(mep, "original", candidate);
    if (!guard.ok()) return guard.error().message;
    std::string text;
    for (auto& clause : guard->clauses) text += clause.text + "; ";
    return text;
  }
  Mep mep;
  Candidate candidate;
  EmbeddedCode code;
};

TEST_F(Embed, GuardsAChangedSourceByWhatTheRecordedLaunchesHaveInCommon) {
  instance(0x7f0000000040, 4096, 0.5f, 64);
  EXPECT_EQ(conditions(),
            "block (64,1,1); dynamic shared memory 0 bytes; n == 4096; factor == 0.5; grid (64,1,1); data not null; "
            "data aligned to 32 bytes; ");
  instance(0x7f0000000104, 96, 0.5f, 64);
  EXPECT_EQ(conditions(),
            "block (64,1,1); dynamic shared memory 0 bytes; n divisible by 32; n from 96 to 4096; factor == 0.5; grid "
            "(64,1,1); "
            "data not null; data aligned to 4 bytes; ");
}

TEST_F(Embed, RequiresScalarsTogetherWithTheGridOfTheirLaunch) {
  instance(0x7f0000000040, 4096, 0.5f, 64);
  instance(0x7f0000000040, 96, 0.25f, 2);
  instance(0x7f0000000040, 104, 0.25f, 2);
  EXPECT_EQ(conditions(),
            "block (64,1,1); dynamic shared memory 0 bytes; grid (2,1,1) with n divisible by 8 and n from 96 to 104 "
            "and factor == 0.25, or "
            "(64,1,1) with n == 4096 and factor == 0.5; data not null; data aligned to 32 bytes; ");
  EXPECT_TRUE(shape_guard(mep, "original", candidate)->unguarded.empty());
  instance(0x7f0000000040, 96, 0.75f, 2);
  EXPECT_EQ(shape_guard(mep, "original", candidate)->unguarded,
            std::vector<std::string>{"the value of 'factor', which varied"});
  mep.instances[0].geometry.block = {32, 1, 1};
  EXPECT_NE(conditions().find("or (64,1,1) with block (32,1,1) and n == 4096"), std::string::npos) << conditions();
  // For many grids, only what all launches have in common is required.
  for (uint32_t more = 3; more < 10; ++more) instance(0x7f0000000040, 128, 0.5f, more);
  EXPECT_NE(conditions().find("n divisible by 8; n from 96 to 4096; grid (2,1,1) with block (64,1,1) or (3,1,1) with"),
            std::string::npos)
      << conditions();
}

TEST_F(Embed, AsksThePremiseUnderWhichTheCodeIsRight) {
  instance(0x7f0000000040, 4096, 0.5f, 64);
  auto clause = [&](const Premise& premise) {
    auto guard = shape_guard(mep, "original", candidate, LaunchGuard({premise}));
    if (!guard.ok()) return guard.error().message;
    auto found = std::ranges::find(guard->clauses, premise.text(), &GuardClause::text);
    return guard->any_arguments || found == guard->clauses.end() ? "none" : found->code;
  };
  EXPECT_EQ(clause(Premise::holds("n % 96 == 0"_e)), "((static_cast<long long>(number<4>(a[1]))) % 96 == 0)");
  EXPECT_EQ(clause(Premise::holds("gridDim.x > 9"_e)), "((static_cast<long long>(grid.x)) > 9)");
  EXPECT_EQ(clause(Premise::aligned("data", 16)), "(address(a[0]) % 16 == 0)");
  for (auto& [premise, name] : {std::pair{Premise::holds("m > 0"_e), "m"}, {Premise::aligned("n", 16), "n"}})
    EXPECT_NE(clause(premise).find(std::string("does not know ") + name), std::string::npos) << clause(premise);
  candidate.source = "original";
  EXPECT_NE(clause(Premise::holds("n > 1000"_e)), "none") << "the same text, launched otherwise";
}

TEST_F(Embed, NamesAssumptionsThatNoGuardCanCheck) {
  instance(0x7f0000000040, 4096, 0.5f, 64);
  MepVariable table;
  table.name = "_ZN3app5tableE", table.key = "app::table", table.spelling = "app::table", table.constant = true;
  mep.instances[0].variables = {table};
  auto unguarded = [&] { return shape_guard(mep, "original", candidate)->unguarded; };
  EXPECT_EQ(unguarded(), std::vector<std::string>{"the contents of the constant 'app::table'"});
  candidate.recipe.fast_math = {"ninf"};
  EXPECT_EQ(unguarded().back(), "that all numbers are finite, which the code assumes");
}

TEST_F(Embed, GuardsTheSameSourceCompiledDifferentlyByItsBlockAlone) {
  instance(0x7f0000000040, 4096, 0.5f, 64);
  candidate.source = "original", candidate.recipe.unroll_threshold = 900;
  EXPECT_EQ(conditions(), "block (64,1,1); dynamic shared memory 0 bytes; ");
  candidate.recipe.fast_math = {"reassoc"};
  EXPECT_NE(conditions().find("n == 4096"), std::string::npos);
}

TEST_F(Embed, RefusesLaunchesThatTheLauncherDoesNotSupport) {
  instance(0x7f0000000040, 4096, 0.5f, 64);
  mep.instances[0].geometry.cooperative = true;
  EXPECT_NE(conditions().find("cooperatively"), std::string::npos);
  mep.instances[0].geometry.cooperative = false, mep.instances[0].settings.cluster = {2, 1, 1};
  EXPECT_NE(conditions().find("clusters"), std::string::npos);
  mep.instances.clear();
  EXPECT_NE(conditions().find("no recorded launch"), std::string::npos);
}

TEST_F(Embed, BindsConstantsAndRefusesOtherVariablesByName) {
  instance(0x7f0000000040, 4096, 0.5f, 64);
  std::string ptx = std::string(kEmbedded) + ".visible .const .align 4 .b8 taps[64];\n";
  auto unknown = bound_variables(mep, ptx);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("the constant 'taps', but its name in the source"), std::string::npos);
  MepVariable variable;
  variable.name = "taps", variable.key = "taps", variable.spelling = "taps", variable.size = 64,
  variable.constant = true;
  mep.instances[0].variables = {variable};
  auto bound = bound_variables(mep, ptx);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  ASSERT_EQ(bound->size(), 1u);
  EXPECT_EQ(bound->at(0).size, 64u);
  auto global = bound_variables(mep, ptx + ".visible .global .align 4 .u32 counter;\n");
  ASSERT_FALSE(global.ok());
  EXPECT_NE(global.error().message.find("module variable 'counter'"), std::string::npos);
}

class Redirect : public Embed {
 protected:
  std::string redirected(const std::string& source, const std::string& call, std::vector<std::string> kernels = {"1"}) {
    LaunchSite site;
    site.kernels = kernels, site.argument_text = {"a", "n", "f"}, site.through_macro = through_macro;
    site.range = {"k.cu", source.find(call), source.find(call) + call.size(), 1, 1};
    auto edits = redirect_launch(mep, site, source, "L::");
    if (!edits.ok()) return edits.error().message;
    std::string text = source;
    for (auto edit = edits->rbegin(); edit != edits->rend(); ++edit)
      text.replace(edit->begin, edit->end - edit->begin, edit->text);
    return text;
  }
  bool through_macro = false;
};

TEST_F(Redirect, ChangesOnlyTheNameAndTheBrackets) {
  EXPECT_EQ(redirected("{ scale<<<(n + 63) / 64, dim3(64), f(\">>>(\"), s>>> (a, n, 1.0f); }",
                       "scale<<<(n + 63) / 64, dim3(64), f(\">>>(\"), s>>> (a, n, 1.0f)"),
            "{ L::launch(scale, (n + 63) / 64, dim3(64), f(\">>>(\"), s) (a, n, 1.0f); }");
  EXPECT_EQ(redirected("::scale <<< g, /* >>>( */ b >>>(a, n, f);", "::scale <<< g, /* >>>( */ b >>>(a, n, f)"),
            "L::launch(::scale,  g, /* >>>( */ b )(a, n, f);");
}

TEST_F(Redirect, ComparesAtRunTimeIfASiteLaunchesSeveralKernels) {
  EXPECT_EQ(redirected("(x ? scale : other)<<<g, b>>>(a, n, f);", "(x ? scale : other)<<<g, b>>>(a, n, f)", {"1", "2"}),
            "L::launch_one(scale, (x ? scale : other), g, b)(a, n, f);");
  EXPECT_NE(redirected("scale<<<g, b>>>(a, n, f);", "scale<<<g, b>>>(a, n, f)", {"1", "2"})
                .find("serves 2 kernels by the one name 'scale'"),
            std::string::npos);
  mep.kernel_name = "ns::scale<float, 8>";
  EXPECT_EQ(redirected("scale<T, N><<<g, b>>>(a, n, f);", "scale<T, N><<<g, b>>>(a, n, f)", {"1", "2"}),
            "L::launch_one(ns::scale<float, 8>, scale<T, N>, g, b)(a, n, f);");
  EXPECT_EQ(redirected("scale<<<g, b>>>(a, n, f);", "scale<<<g, b>>>(a, n, f)"),
            "L::launch(ns::scale<float, 8>, g, b)(a, n, f);");
  EXPECT_EQ(redirected("ns::scale<float, 8><<<g, b>>>(a, n, f);", "ns::scale<float, 8><<<g, b>>>(a, n, f)"),
            "L::launch(ns::scale<float, 8>, g, b)(a, n, f);");
  EXPECT_NE(
      redirected("scale<<<g, b>>>(a, n, f);", "scale<<<g, b>>>(a, n, f)", {"1", "2"}).find("could not distinguish"),
      std::string::npos);
}

TEST_F(Redirect, ComparesAtRunTimeIfTheCalleeIsAVariable) {
  EXPECT_EQ(redirected("how<<<g, b>>>(a, n, f);", "how<<<g, b>>>(a, n, f)"),
            "L::launch_one(scale, how, g, b)(a, n, f);");
  mep.kernel_name = "ns::scale<float, 8>";
  EXPECT_EQ(redirected("how<<<g, b>>>(a, n, f);", "how<<<g, b>>>(a, n, f)"),
            "L::launch_one(ns::scale<float, 8>, how, g, b)(a, n, f);");
  mep.kernel_name = "ns::scale";
  EXPECT_EQ(redirected("scale<<<g, b>>>(a, n, f);", "scale<<<g, b>>>(a, n, f)"), "L::launch(scale, g, b)(a, n, f);");
}

TEST_F(Redirect, RedirectsCudaLaunchKernelAndRefusesOtherLaunchesByName) {
  EXPECT_EQ(redirected("e = cudaLaunchKernel((const void*)scale, g, b, args, 0, s);",
                       "cudaLaunchKernel((const void*)scale, g, b, args, 0, s)"),
            "e = L::launch_packed(scale, (const void*)scale, g, b, args, 0, s);");
  EXPECT_NE(
      redirected("cudaLaunchKernelEx(&c, scale, a);", "cudaLaunchKernelEx(&c, scale, a)").find("cudaLaunchKernelEx"),
      std::string::npos);
  std::string name = std::exchange(mep.kernel_name, "apply<(lambda at k.cu:3:4)>");
  EXPECT_NE(redirected("apply<<<g, b>>>(a, n, f);", "apply<<<g, b>>>(a, n, f)").find("type without a name"),
            std::string::npos);
  mep.kernel_name = name, through_macro = true;
  EXPECT_NE(redirected("scale<<<g, b>>>(a, n, f);", "scale<<<g, b>>>(a, n, f)").find("written by a macro"),
            std::string::npos);
}

TEST_F(Redirect, PutsItsIncludeBeforeTheFirstUnconditionalInclude) {
  EXPECT_EQ(include_offset("// c\n#define _GNU_SOURCE\n#ifdef X\n#include <x>\n#endif\n#include <y>\n"),
            std::string("// c\n#define _GNU_SOURCE\n#ifdef X\n#include <x>\n#endif\n").size());
  EXPECT_EQ(include_offset("#ifndef H\n#define H\n#include <y>\n#endif\n"),
            std::string("#ifndef H\n#define H\n").size());
  EXPECT_EQ(include_offset("#pragma once\nnamespace a {\n#include \"inside.inc\"\n}\n"),
            std::string("#pragma once\n").size());
  EXPECT_EQ(include_offset("__global__ void k();\n"), 0u);
  EXPECT_EQ(include_offset("/* #include <a>\n*/ int x = '{';\n#include <b>"),
            std::string("/* #include <a>\n*/ int x = '{';\n").size());
  EXPECT_EQ(include_offset(""), 0u);
}

TEST_F(Redirect, ChangesNothingButALaunchInADamagedSource) {
  const std::string source =
      "#include <a>\n#if X\n#include \"b\"\n#endif\n/* c */ void f() { scale<<<(n + 63) / 64, dim3(64), g('\\'', "
      "\">>>(\")>>>(a, n, 1.0f); }\n";
  const std::string call = "scale<<<(n + 63) / 64, dim3(64), g('\\'', \">>>(\")>>>(a, n, 1.0f)";
  LaunchSite site;
  site.kernels = {"1"}, site.argument_text = {"a", "n", "f"};
  site.range = {"k.cu", source.find(call), source.find(call) + call.size(), 5, 5};
  site.grid_range = {"k.cu", source.find("(n + 63)"), source.find(", dim3"), 5, 5};
  size_t redirected_count = 0, refused_count = 0;
  auto examine = [&](const std::string& text) {
    const size_t include = include_offset(text);
    ASSERT_LE(include, text.size());
    EXPECT_TRUE(include == 0 || include == text.size() || text[include - 1] == '\n') << "not at the start of a line";
    auto edits = redirect_launch(mep, site, text, "L::");
    if (!edits.ok()) {
      ++refused_count;
      EXPECT_EQ(edits.error().exit, Exit::Refused);
      EXPECT_NE(edits.error().message.find("the launch at k.cu:5"), std::string::npos) << edits.error().message;
      return;
    }
    ++redirected_count;
    ASSERT_EQ(edits->size(), 2u);
    const ByteEdit &open = edits->at(0), &close = edits->at(1);
    EXPECT_EQ(open.begin, site.range.begin);
    EXPECT_EQ(text.substr(open.end - 3, 3), "<<<") << text;
    EXPECT_EQ(text.substr(close.begin, close.end - close.begin), ">>>") << text;
    EXPECT_LT(open.end, close.begin);
    EXPECT_LT(close.end, site.range.end);
  };
  for (size_t size = 0; size < source.size(); ++size) {
    examine(source.substr(0, size));
    EXPECT_EQ(redirected_count > 0, size >= site.range.end)
        << "a launch that is cut off was redirected, or a whole one not";
  }
  refused_count = redirected_count = 0;
  for (size_t at = 0; at < source.size(); ++at)
    for (char flip : {1, 2, 8, 32}) {
      std::string broken = source;
      broken[at] = static_cast<char>(broken[at] ^ flip);
      examine(broken);
    }
  EXPECT_GT(redirected_count, 4 * site.range.begin) << "damage before the launch does not affect it";
  EXPECT_GT(refused_count, 0u) << "a damaged bracket of the launch must be noticed";
}

class Generated : public Embed {
 protected:
  void SetUp() override {
    Embed::SetUp();
    nvcc = find_program("nvcc").value_or("/usr/local/cuda/bin/nvcc");
    auto made = TemporaryFolder::create("kernelift-embed");
    ASSERT_TRUE(made.ok());
    folder.emplace(std::move(*made));
    instance(0x7f0000000040, 4096, 0.5f, 64);
    mep.instances[0].geometry.shared_bytes = 65536,
    mep.instances[0].settings.carveout = 50;  // Set by the application.
    candidate.launches = {CandidateLaunch::as_recorded("scale")};
    candidate.launches[0].grid[0] = *Expression::parse("ceil_div(gx, PER)");
    candidate.values["PER"] = 4;
  }
  void write_header() {
    auto guard = shape_guard(mep, "original", candidate);
    ASSERT_TRUE(guard.ok());
    auto text = launcher_text(mep, candidate, code, *guard, bound, {"k.cu"});
    ASSERT_TRUE(text.ok()) << text.error().message;
    header = *text;
    ASSERT_TRUE(write_atomically(folder->path() / "kernelift_scale.cuh", header).ok());
  }
  std::string compile(const std::string& source, std::vector<std::string> words) {
    EXPECT_TRUE(write_atomically(folder->path() / "k.cu", source).ok());
    words.insert(words.begin(), nvcc.string());
    for (auto word : {"k.cu", "-c", "-o", "/dev/null"}) words.push_back(word);
    ProcessOptions options;
    options.folder = folder->path();
    auto ran = run_process(words, options);
    return !ran.ok() ? ran.error().message : ran->ok() ? ran->err : ran->out + ran->err + "(failed)";
  }
  /// The output of a program that includes the header; it needs no GPU as long as it launches nothing.
  std::string answer(const std::string& source, const std::vector<std::string>& more = {}) {
    EXPECT_TRUE(write_atomically(folder->path() / "k.cu", source).ok());
    ProcessOptions options;
    options.folder = folder->path();
    std::vector<std::string> words{
        nvcc.string(), "-std=c++11", "-arch=sm_90", "-Xcompiler=-Wall,-Wextra,-Werror", "k.cu", "-o", "k"};
    words.insert(words.end(), more.begin(), more.end());
    auto built = run_process(words, options);
    if (!built.ok() || !built->ok()) return built.ok() ? built->out + built->err : built.error().message;
    auto ran = run_process({(folder->path() / "k").string()}, options);
    return ran.ok() ? ran->out : ran.error().message;
  }
  fs::path nvcc;
  std::optional<TemporaryFolder> folder;
  std::vector<BoundVariable> bound;
  std::string header;
};
/// The cases that run nvcc or the host's compiler.
class GeneratedForCompilers : public Generated {};

/// Adds a recorded instance with these arguments, each at a multiple of eight bytes.
template <class... Value>
void add_instance(Mep& mep, Value... value) {
  MepInstance made;
  made.id = std::to_string(mep.instances.size());
  made.geometry = {{1, 1, 1}, {64, 1, 1}, 0, false};
  auto put = [&](auto one) {
    made.parameters.push_back({static_cast<uint32_t>(made.arguments.size()), sizeof one});
    made.arguments.resize(made.arguments.size() + 8);
    std::memcpy(made.arguments.data() + made.parameters.back().offset, &one, sizeof one);
  };
  (put(value), ...);
  mep.instances.push_back(made);
}

const char* const kApplication =
    "#include \"kernelift_scale.cuh\"\n"
    "namespace app {\n"
    "static __global__ void scale(float* __restrict__ data, const int n, float factor) { if (blockIdx.x == 0 && "
    "threadIdx.x < n) data[threadIdx.x] *= factor; }\n"
    "__global__ void other(float*, int, float) {}\n"
    "template <class T> __global__ void each(T* data) { data[threadIdx.x] *= 2; }\n"
    "template <class T> void twice(T* data) { kernelift_scale::launch_one(each<float>, each<T>, 1, 64)(data); }\n"
    "}\n"
    "void run(float* a, double* d, cudaStream_t s, bool x) {\n"
    "  kernelift_scale::launch(app::scale, 64, 64)(a, 4096, 0.5);\n"
    "  kernelift_scale::launch(app::scale, dim3(64), {64, 1}, 0, s)(a, 4096, .5f);\n"
    "  kernelift_scale::launch_one(app::scale, (x ? app::scale : app::other), (4096 + 63) / 64, 64, 0, 0)(a, 4096, "
    ".5f);\n"
    "  app::twice(a), app::twice(d);\n"
    "  int n = 4096; float f = 0.5f; void* args[] = {&a, &n, &f};\n"
    "  cudaError_t e = kernelift_scale::launch_packed(app::scale, (const void*)app::scale, 64, 64, args, 0, s);\n"
    "  e = kernelift_scale::launch_packed(app::scale, app::scale, 64, 64, args); (void)e;\n"
    "}\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST_F(GeneratedForCompilers, CompilesWithNvccForOldAndNewGpusAndToolkitsWithoutAWarning) {
  if (!fs::exists(nvcc)) GTEST_SKIP() << "no nvcc";
  write_header();
  // Variants for a toolkit without cudaLibraryLoadData, and for one without kernel libraries at all.
  std::string source = replaced(kApplication, "namespace app",
                                "#include \"kernelift_older.cuh\"\n#include \"kernelift_none.cuh\"\nnamespace app");
  source +=
      "void more(float* a) { kernelift_older::launch(app::scale, 64, 64)(a, 4096, .5f), "
      "kernelift_none::launch(app::scale, 64, 64)(a, 4096, .5f); }\n";
  for (auto [name, condition] :
       {std::pair{"kernelift_older", "CUDART_VERSION >= 12080"}, {"kernelift_none", "CUDART_VERSION >= 12010"}}) {
    ASSERT_NE(header.find(condition), header.npos);
    std::string older = replaced(replaced(header, "kernelift_scale", name), condition, "0");
    ASSERT_TRUE(write_atomically(folder->path() / (std::string(name) + ".cuh"), older).ok());
  }
  // And a variant for a kernel that reads constants.
  bound = {{"taps", "taps", 16}, {"_ZN3app4biasE", "app::bias", 4}};
  EXPECT_EQ(launcher_prefix("kernelift_scale", bound), "kernelift_scale::bind(taps, app::bias).");
  write_header();
  EXPECT_EQ(header.find('@'), std::string::npos);
  ASSERT_TRUE(
      write_atomically(folder->path() / "kernelift_bound.cuh", replaced(header, "kernelift_scale", "kernelift_bound"))
          .ok());
  bound.clear();
  write_header();
  source +=
      "#include \"kernelift_bound.cuh\"\nstatic __constant__ float taps[4];\nnamespace app { __constant__ int bias; }\n"
      "void last(float* a) { kernelift_bound::bind(taps, app::bias).launch(app::scale, 64, 64)(a, 4096, .5f);\n"
      "  kernelift_bound::bind(taps, app::bias).launch_one(app::scale, app::other, 64, 64)(a, 4096, .5f); }\n";
  EXPECT_EQ(compile(source,
                    {"-gencode=arch=compute_75,code=sm_75", "-gencode=arch=compute_90,code=sm_90", "-std=c++17",
                     "-Xcompiler=-Wall,-Wextra,-Werror,-Wno-deprecated-declarations", "-Wno-deprecated-declarations"}),
            "");
}

TEST_F(GeneratedForCompilers, GuardsTheRangeOfVaryingIntegersOfEveryType) {
  if (!fs::exists(nvcc)) GTEST_SKIP() << "no nvcc";
  mep.parameters.clear(), mep.instances.clear(), candidate.launches.clear();
  for (auto type : {"int", "unsigned int", "bool", "short", "long", "unsigned char"})
    mep.parameters.push_back({type, type, "", false, type});
  add_instance(mep, int32_t{-5}, uint32_t{3}, true, int16_t{-7}, int64_t{INT64_MIN}, uint8_t{1});
  add_instance(mep, int32_t{96}, uint32_t{4000000001u}, false, int16_t{9}, int64_t{3}, uint8_t{201});
  write_header();
  EXPECT_EQ(
      answer("#include \"kernelift_scale.cuh\"\n"
             "static int in(int i, unsigned u, bool b, short s, long l, unsigned char c) {\n"
             "  void* a[] = {&i, &u, &b, &s, &l, &c};\n  return kernelift_scale::code::verified(1, 64, 0, a);\n}\n"
             "int main() {\n  const long low = -9223372036854775807l - 1;\n"
             "  std::printf(\"%d%d%d \", in(-5, 3, true, -7, low, 1), in(96, 4000000001u, false, 9, 3, 201), in(0, "
             "2147483649u, true, 0, 0, 128));\n"
             "  std::printf(\"%d%d%d%d%d%d%d\\n\", in(-6, 3, true, -7, 0, 1), in(97, 3, true, -7, 0, 1), in(0, 2, "
             "true, 0, 0, 1), in(0, 4000000002u, true, 0, 0, 1),\n"
             "              in(0, 3, true, -8, 0, 1), in(0, 3, true, 0, 4, 1), in(0, 3, true, 0, 0, 202));\n}\n"),
      "111 0000000\n");
}

TEST_F(GeneratedForCompilers, RequiresDisjointBuffersToBeDisjointToTheLastByte) {
  if (!fs::exists(nvcc)) GTEST_SKIP() << "no nvcc";
  mep.parameters.clear(), mep.instances.clear(), candidate.launches.clear();
  for (auto name : {"in", "out", "also", "end"}) mep.parameters.push_back({name, "float *", "float", false, ""});
  add_instance(mep, uint64_t{0x1000}, uint64_t{0x2000}, uint64_t{0x2000}, uint64_t{0x2040});
  mep.instances[0].regions.resize(2);
  mep.instances[0].regions[0].address = 0x1000, mep.instances[0].regions[0].size = 256;
  mep.instances[0].regions[1].address = 0x2000, mep.instances[0].regions[1].size = 512;
  write_header();
  EXPECT_NE(header.find("out == also"), header.npos);
  EXPECT_EQ(
      answer("#include \"kernelift_scale.cuh\"\n"
             "static int at(unsigned long long in, unsigned long long out, unsigned long long also, unsigned long long "
             "end) {\n"
             "  void* a[] = {&in, &out, &also, &end};\n  return kernelift_scale::code::verified(1, 64, 0, a);\n}\n"
             "int main() {\n"
             "  std::printf(\"%d%d%d \", at(0x1000, 0x2000, 0x2000, 0x2040), at(0x1000, 0x1100, 0x1100, 0x1140), "
             "at(0x2200, 0x2000, 0x2000, 0x2040));\n"
             "  std::printf(\"%d%d%d%d%d\\n\", at(0x1000, 0x1000, 0x1000, 0x1040), at(0x1000, 0x10e0, 0x10e0, 0x1120), "
             "at(0x21e0, 0x2000, 0x2000, 0x2040),\n"
             "              at(0x1000, 0x2000, 0x4000, 0x2040), at(0x1000, 0x2000, 0x2000, 0x2080));\n}\n"),
      "111 00000\n");
}

/// The same source compiled with -DDATA_TYPE=double or -DN=100 is another kernel, even if its parameters have the same
/// sizes.
TEST_F(GeneratedForCompilers, AcceptsOnlyTheTypesAndMacrosThatItWasCompiledWith) {
  if (!fs::exists(nvcc)) GTEST_SKIP() << "no nvcc";
  mep.compile_flags = {"-O3", "-DN=64", "-D", "SHIFT=-2", "-DNAME=x", "-DPLAIN"};
  mep.parameters.push_back({"cell", "Cell", "", false, ""});
  mep.instances[0].parameters.push_back({16, 8}), mep.instances[0].arguments.resize(24);
  write_header();
  EXPECT_NE(header.find("compiled with N=64; compiled with SHIFT=-2"), header.npos) << header.substr(0, 2500);
  EXPECT_NE(header.find("the macro in -DNAME=x"), header.npos);
  EXPECT_NE(header.find("the type of 'cell' beyond its size"), header.npos);
  // The macros of the command line, set before each variant of the header.
  std::string source, calls;
  for (auto [name, macros] : {std::pair{"same", "#define N 64\n#define SHIFT -2\n#define PLAIN 1\n"},
                              {"larger", "#undef N\n#define N 100\n"},
                              {"without", "#undef N\n#define N 64\n#undef SHIFT\n"}}) {
    ASSERT_TRUE(
        write_atomically(folder->path() / (std::string(name) + ".cuh"), replaced(header, "kernelift_scale", name))
            .ok());
    source += std::string(macros) + "#include \"" + name + ".cuh\"\n";
    calls += std::string("  SAY(") + name + ");\n";
  }
  source +=
      "struct Cell { float x, y; };\nstruct Other { double x, y; };\nenum Way : int { kUp };\n"
      "#define SAY(header) std::printf(\"%d%d%d%d%d%d%d\\n\", header::code::same_parameters<float*, int, float, "
      "Cell>(), \\\n"
      "      header::code::same_parameters<const float*, const Way, float, Cell>(), "
      "header::code::same_parameters<double*, int, float, Cell>(), \\\n"
      "      header::code::same_parameters<float*, unsigned, float, Cell>(), header::code::same_parameters<float*, "
      "int, int, Cell>(), \\\n"
      "      header::code::same_parameters<float*, int, float, Other>(), header::code::same_parameters<float*, int, "
      "float>())\n";
  EXPECT_EQ(answer(source + "int main() {\n" + calls + "}\n"), "1100000\n0000000\n0000000\n");
}

TEST_F(Generated, IsNotCapturedInGraphsIfItIsRightForCertainArgumentsOnly) {
  const char* const stays_out = "const bool kInGraphs = false;";
  write_header();
  EXPECT_NE(header.find(stays_out), header.npos);
  EXPECT_NE(header.find("Launches that a CUDA graph captures run the original"), header.npos);
  candidate.source = "original",
  candidate.launches.clear();  // The same source, compiled differently: right for any arguments.
  write_header();
  EXPECT_NE(header.find("const bool kInGraphs = true;"), header.npos);
  EXPECT_EQ(header.find("Launches that a CUDA graph captures"), header.npos);
  bound = {{"taps", "taps", 16}};
  write_header();
  EXPECT_NE(header.find(stays_out), header.npos);
}

/// Two files may each have a static kernel of one name. The functions of their launchers are inline, and the linker
/// keeps only one of several inline functions of the same name.
TEST_F(GeneratedForCompilers, KeepsLaunchersOfKernelsOfTheSameNameSeparateInOneProgram) {
  if (!fs::exists(nvcc)) GTEST_SKIP() << "no nvcc";
  for (const char* unit : {"a", "b"}) {
    auto guard = shape_guard(mep, "original", candidate);
    ASSERT_TRUE(guard.ok());
    auto text = launcher_text(mep, candidate, code, *guard, bound, {"k.cu"}, fs::path(unit) / "kernelift_scale.cuh");
    ASSERT_TRUE(text.ok());
    ASSERT_TRUE(write_atomically(folder->path() / (std::string(unit) + ".cuh"), *text).ok());
    ASSERT_TRUE(
        write_atomically(
            folder->path() / (std::string(unit) + ".cu"),
            "#include \"" + std::string(unit) + ".cuh\"\nbool in_" + unit +
                "(int n) {\n  float* data = reinterpret_cast<float*>(64); float f = 0.5f;\n"
                "  void* a[] = {&data, &n, &f};\n  return kernelift_scale::code::verified(64, 64, 65536, a);\n}\n")
            .ok());
    mep.instances.clear();
    instance(0x7f0000000040, 96, 0.5f, 64);  // The instance with which b was verified.
    mep.instances[0].geometry.shared_bytes = 65536;
  }
  EXPECT_EQ(answer("#include \"a.cu\"\nbool in_b(int n);\nint main() { std::printf(\"%d%d%d%d\\n\", in_a(4096), "
                   "in_a(96), in_b(4096), in_b(96)); }\n",
                   {"b.cu"}),
            "1001\n");
}

/// The CPU device's runtime cannot load kernel libraries: the application must still build there and be right.
TEST_F(GeneratedForCompilers, RunsTheOriginalOnTheCpuDevice) {
  fs::path kernelift = executable_folder() / "kernelift";
  if (!fs::exists(kernelift)) GTEST_SKIP() << "kernelift itself is not built here";
  bound = {{"taps", "taps", 16}};
  write_header();
  ASSERT_TRUE(
      write_atomically(folder->path() / "kernelift_bound.cuh", replaced(header, "kernelift_scale", "kernelift_bound"))
          .ok());
  bound.clear();
  write_header();
  const char* main_function =
      "#include <cstdio>\n#include \"kernelift_bound.cuh\"\nstatic __constant__ float taps[4];\n"
      "int main() {\n"
      "  float* a; double* d; float value = 8; cudaMalloc(&a, 256); cudaMalloc(&d, 8 * 64);\n"
      "  cudaMemcpy(a, &value, 4, cudaMemcpyHostToDevice);\n"
      "  run(a, d, 0, true);\n"
      "  kernelift_bound::bind(taps).launch(app::scale, 64, 64)(a, 4096, .5f);\n"
      "  cudaMemcpy(&value, a, 4, cudaMemcpyDeviceToHost);\n"
      "  printf(\"%g %s\\n\", value, cudaGetErrorName(cudaGetLastError()));\n"
      "}\n";
  ASSERT_TRUE(write_atomically(folder->path() / "k.cu", std::string(kApplication) + main_function).ok());
  ProcessOptions options;
  options.folder = folder->path();
  auto built = run_process(
      {kernelift.string(), "build", "--device", "cpu", "--", "nvcc", "-std=c++17", "k.cu", "-o", "k"}, options);
  ASSERT_TRUE(built.ok() && built->ok()) << built->out << built->err;
  auto ran = run_process({(folder->path() / "k").string()}, options);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->out, "0.25 cudaSuccess\n") << "8, halved six times and doubled once: " << ran->err;
}

TEST_F(Generated, DescribesItsOriginAndConditionsInItsHead) {
  write_header();
  const std::string head = replaced(header, "\n//   ", " ");  // Undoes the wrapping of comments.
  for (auto text : {"Tuned code for the kernel 'scale'", "compute capability 9.0", "n == 4096", "candidate #7 of",
                    "PTX 8.8", "dynamic shared memory 65536 bytes", "KERNELIFT_EMBED=0", "nvcc makes less of it."})
    EXPECT_NE(head.find(text), std::string::npos) << text << "\n" << header.substr(0, 2000);
  EXPECT_EQ(header.find('@'), std::string::npos);
  EXPECT_EQ(launcher_name("ns::smooth<float, 8>"), "kernelift_ns_smooth_float_8");
  EXPECT_LE(launcher_name(std::string(300, 'x')).size(), 60u);
  EXPECT_NE(launcher_name("k<-1>"), launcher_name("k<1>"));
}

TEST_F(Generated, RefusesATargetThatIsNotAPlainComputeCapability) {
  code.ptx = "\n.version 8.0\n.target sm_90a\n";
  auto guard = shape_guard(mep, "original", candidate);
  ASSERT_TRUE(guard.ok());
  auto text = launcher_text(mep, candidate, code, *guard, {}, {"k.cu"});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("sm_90a"), std::string::npos);
}

}  // namespace
}  // namespace kernelift::reintegrate
