// Tests of corrections that need no model.
#include "tuner/source/llm/mechanical_fix.h"

#include "tuner/source/tests/llm_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::Contains;
using testing::HasSubstr;

Candidate text(const std::string& source) {
  Candidate candidate;
  candidate.source = source;
  return candidate;
}

std::string fixed(const std::string& source, const std::string& detail, const std::string& base = "") {
  auto fix = mechanical_fix(text(source), fake_failure(Outcome::CompileFailed, detail), text(base));
  return fix ? fix->candidate.source : "";
}

TEST(MechanicalFix, TakesTheCompilersSuggestion) {
  const std::string detail = "k.cu:1:1: error: use of undeclared identifier 'tlie'; did you mean 'tile'?";
  EXPECT_EQ(fixed("tile[0] = tlie[1] + my_tlie;", detail), "tile[0] = tile[1] + my_tlie;");
  EXPECT_EQ(fixed("tile[0] = tlie[1];", detail, "int tlie;"), "") << "the application's own name";
}

TEST(MechanicalFix, RestoresALostDefinition) {
  const std::string base = "#define TILE 16\nconstexpr int WIDTH = 4;\n", use = "int a[TILE], b[WIDTH];\n";
  EXPECT_EQ(fixed(use, "error: use of undeclared identifier 'TILE'", base), "#define TILE 16\n" + use);
  EXPECT_EQ(fixed(use, "error: use of undeclared identifier 'WIDTH'", base), "constexpr int WIDTH = 4;\n" + use);
  EXPECT_EQ(fixed(use, "error: use of undeclared identifier 'DEPTH'", base), "");
}

TEST(MechanicalFix, KnowsOtherSpellings) {
  EXPECT_EQ(fixed("s += __shfl_down(s, 1);", "error: use of undeclared identifier '__shfl_down'"),
            "s += __shfl_down_sync(0xffffffffu, s, 1);");
  EXPECT_EQ(fixed("__local float t[4];", "error: unknown type name '__local'"), "__shared__ float t[4];");
  EXPECT_EQ(fixed("int i = get_global_id(0);", "error: use of undeclared identifier 'get_global_id'"),
            "int i = (blockIdx.x * blockDim.x + threadIdx.x);");
}

TEST(MechanicalFix, HalvesANewTileThatIsTooLarge) {
  Candidate tiled = text("#define TILE 128\n__shared__ float t[TILE][TILE];\n");
  tiled.values = {{"TILE", 128}, {"OLD", 256}};
  Candidate base = text("");
  base.values = {{"OLD", 256}};
  const Verdict verdict = fake_failure(Outcome::OverResources, "shared memory: 65536, limit 49152");
  auto fix = mechanical_fix(tiled, verdict, base);
  ASSERT_TRUE(fix);
  EXPECT_THAT(fix->candidate.source, HasSubstr("#define TILE 64\n"));
  EXPECT_EQ(fix->candidate.values.at("TILE"), 64);
  base.values = tiled.values;
  EXPECT_FALSE(mechanical_fix(tiled, verdict, base)) << "none of them is new";
}

TEST(MechanicalFix, LeavesAllElseToTheModel) {
  EXPECT_FALSE(mechanical_fix(text("x"), fake_failure(Outcome::Wrong, "use of undeclared identifier 'x'"), text("")));
  for (auto* detail : {"", "use of undeclared identifier '", "error: expected ';'", "unknown type name '<'"})
    EXPECT_EQ(fixed("x", detail), "") << detail;
}

TEST_F(LlmTest, FixesWithoutARequestAndThenAsks) {
  ModelServer server(
      {{200, "IDEA: x\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U 1\n// tlie\n>>>>>>> REPLACE\n", {}, 0, 0},
       {200, kGoodEdit, {}, 0, 0}});
  auto model = proposer(server);
  auto proposals = next(*model);
  judge(*model, proposals,
        fake_failure(Outcome::CompileFailed, "use of undeclared identifier 'tlie'; did you mean 'tile'?"));
  auto fixed = model->propose(history_, 1);
  ASSERT_EQ(fixed.size(), 1u);
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_THAT(fixed[0].candidate.source, HasSubstr("// tile\n"));
  EXPECT_THAT(fixed[0].candidate.note(), HasSubstr("x (fixed: 'tlie' is 'tile')"));
  judge(*model, fixed, fake_failure(Outcome::CompileFailed, "expected ';'"));
  EXPECT_EQ(next(*model).size(), 1u);
  EXPECT_THAT(last_prompt(server, 1), HasSubstr("expected ';'"));
}

}  // namespace
}  // namespace kernelift::tuner
