// A unit that starts from precompiled headers yields the same facts as one whose headers are read as text.
#include "extractor/source/parsed_unit.h"

#include "clang/Lex/MacroInfo.h"
#include "extractor/source/source_items.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::only;
using kernelift::extractor::apps::TestApp;

struct Observed {
  std::vector<std::string> includes;  ///< Each with the chain of files that include it.
  std::vector<std::string> uses;
  size_t items = 0;
  Json answers;
};

Observed observe(const UnitCommand& unit, const std::string& root) {
  Observed observed;
  FileAnswers answers;
  auto outcome = parse_unit(
      unit, root,
      [&](ParsedUnit& parsed) {
        for (auto& include : parsed.record.includes) {
          std::string all = include.spelling + " " + include.path;
          for (auto at = include.entered; at.isValid(); at = parsed.sources.getFileID(parsed.sources.getIncludeLoc(at)))
            all += (parsed.is_user(at) ? " < the application's " : " < ") + parsed.path(at) +
                   (parsed.path(at).empty() ? "" : std::to_string(parsed.text(at).size()));
          observed.includes.push_back(all);
        }
        for (auto& use : parsed.record.uses)
          if (parsed.is_user(use.at.file))
            observed.uses.push_back(
                use.name + (use.macro ? " " + parsed.path(parsed.place(use.macro->getDefinitionLoc()).file) : ""));
        observed.items = SourceItems(parsed).all().size();
      },
      HeaderSet::Lean, &answers);
  EXPECT_TRUE(outcome.ok() && outcome->errors == 0)
      << (outcome.ok() && outcome->errors ? outcome->problems.front() : "");
  EXPECT_TRUE(answers.settled);
  observed.answers = to_json(answers);
  return observed;
}

TEST(ParsedUnit, IsTheSameWithPrecompiledHeadersAsWithHeadersReadAsText) {
  TestApp app;
  app.header("forced.h", "__device__ float twice(float x) { return 2 * x; }\n");
  app.unit("a.cu",
           "#include <limits.h>\n#include <cuda_runtime.h>\n#include <stddef.h>\n#include <cmath>\n#include "
           "<functional>\n#include <cuda_fp16.h>\n"
           "namespace std { template <> struct hash<float3>; }\n"
           "__global__ void k(float* x) { x[0] = twice(sqrtf(INT_MAX)) + N; }\nint run() { return CHAR_BIT; }\n",
           {"-std=c++17", "-DN=3", "-include", "forced.h"});
  auto database = read_compile_database(app.database());
  ASSERT_TRUE(database.ok() && database->units.size() == 1);
  auto as_text = observe(database->units[0], app.root());
  EXPECT_GT(as_text.includes.size(), 20u);
  for (int time = 0; time < 2; ++time) {  // Precompiled the second time.
    auto precompiled = observe(database->units[0], app.root());
    ASSERT_EQ(precompiled.includes.size(), as_text.includes.size());
    for (size_t i = 0; i < as_text.includes.size(); ++i) EXPECT_EQ(precompiled.includes[i], as_text.includes[i]);
    EXPECT_EQ(precompiled.uses, as_text.uses);
    EXPECT_EQ(precompiled.items, as_text.items);
    for (auto& [kind, answers] : as_text.answers.items())
      for (auto& [path, answer] : answers.items())
        EXPECT_EQ(precompiled.answers[kind].value(path, "not asked"), answer.get<std::string>())
            << kind << " of " << path;
  }
}

/// The processes of a scan of many units inherit headers that the scan precompiled after its first unit.
TEST(ParsedUnit, GivesScansTheSameMacrosWithPrecompiledHeaders) {
  TestApp app;
  for (const char* name : {"a", "b", "c", "d"})
    app.unit(std::string(name) + ".cu",
             std::string("#include <limits.h>\n#define BLOCK 64\n__global__ void ") + name +
                 "(float* x) { for (int i = 0; i < N; ++i) x[i] = BLOCK; }\n"
                 "void run(float* x) { " +
                 name + "<<<N + SHRT_MAX, BLOCK>>>(x); }\n",
             {"-std=c++17", "-DN=3"});
  ScanOptions options;
  options.jobs = 1, options.headers = HeaderSet::Lean;
  auto index = app.scan(options);
  ASSERT_EQ(index.launches.size(), 4u);
  std::vector<std::string> knobs[2];
  for (auto& site : index.launches) EXPECT_EQ(site.grid[0], index.launches[0].grid[0]);
  for (auto& knob : index.knobs)
    for (int i : {0, 1})
      if (std::ranges::count(knob.kernels, only(index, i ? "d" : "a").id))
        knobs[i].push_back(knob.name + std::to_string(knob.value));
  EXPECT_EQ(knobs[0], knobs[1]);
  EXPECT_FALSE(knobs[0].empty());
}

}  // namespace
}  // namespace kernelift::extractor
