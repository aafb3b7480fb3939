// Claims about core/model/candidate.h and verdict.h.
#include <gtest/gtest.h>

#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"
#include "core/tests/expression_literal.h"

namespace kernelift {
namespace {

Candidate coarsened() {
  Candidate candidate;
  candidate.source = "__global__ void k(float* x) {}";
  candidate.values = {{"K", 4}};
  candidate.recipe.fast_math = {"contract", "reassoc"};
  candidate.launches.push_back(CandidateLaunch::as_recorded("k"));
  candidate.launches[0].grid[0] = *Expression::parse("ceil_div(gx, K)");
  candidate.scratch.push_back({*Expression::parse("gx * 4"), true});
  return candidate;
}

TEST(Candidate, WithANumberThatIsNoIntegerOrDoesNotFitIsRefused) {
  for (const char* number : {"1E28", "-1e19", "0.5", "18446744073709551615"}) {
    auto json = parse_json(std::string(R"({"source": "k", "values": {"B": )") + number + "}}", "text");
    ASSERT_TRUE(json.ok());
    auto candidate = candidate_from_json(*json, "text");
    ASSERT_FALSE(candidate.ok()) << number;
    EXPECT_NE(candidate.error().message.find("is no integer of this size"), std::string::npos)
        << candidate.error().message;
  }
  auto whole = candidate_from_json(*parse_json(R"({"source": "k", "values": {"B": 64}})", "text"), "text");
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->values.at("B"), 64);
}

TEST(Candidate, KeyDependsOnWhatIsRunAndNotOnWhoProposedIt) {
  Candidate a = coarsened(), b = coarsened();
  b.proposer = "someone", b.tier = "source", b.steps = {Step::described("why")};
  EXPECT_EQ(a.key(), b.key());
  b.recipe.level = "O2";
  EXPECT_NE(a.key(), b.key());
  b = coarsened();
  b.launches[0].grid[0] = *Expression::parse("gx");
  EXPECT_NE(a.key(), b.key());
}

TEST(Candidate, SurvivesJson) {
  Candidate a = coarsened();
  auto back = candidate_from_json(to_json(a), "test");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->key(), a.key());
}

Candidate stepwise() {
  Candidate candidate = coarsened();
  candidate.add_step({.origin = Step::Origin::Rule,
                      .rule = "unroll",
                      .place = "the loop over k",
                      .parameters = {{"factor", 4}},
                      .summary = "by 4",
                      .premises = {{"x is aligned", 3}, {"y is aligned", 3}, Premise::holds("n % 2 == 0"_e)},
                      .effects = {"rounds differently", "needs more registers"}});
  candidate.add_step({.origin = Step::Origin::Knob, .parameters = {{"B", 32}}, .replaced = {{"B", 64}}});
  candidate.add_step({.origin = Step::Origin::Model, .rule = "a-model", .summary = "prefetch the next tile"});
  candidate.add_step({.origin = Step::Origin::Recipe, .rule = "passes", .summary = "default<O1>"});
  return candidate;
}

TEST(CandidateTest, TellsTheLastValueOfAKnobOnce) {
  auto knob = [](const char* name, int64_t before, int64_t after) {
    return Step{.origin = Step::Origin::Knob, .parameters = {{name, after}}, .replaced = {{name, before}}};
  };
  const Step unroll{.origin = Step::Origin::Rule, .rule = "unroll", .place = "k"};
  Candidate candidate;
  candidate.steps = {knob("A", 8, 16), knob("B", 1, 2), unroll, knob("A", 16, 32), knob("B", 2, 1)};
  EXPECT_EQ(candidate.note(), "unroll k; A 8 -> 32");
  EXPECT_EQ(candidate.steps.size(), 5u);
}

TEST(Premise, IsConditionsAndPointersThroughJson) {
  const std::vector<Premise> all = {Premise::holds("n % 4 == 0"_e, 3),
                                    Premise::no_overlap({"y", "x"}),
                                    Premise::no_overlap({"x"}, 1),
                                    Premise::aligned("x", 16),
                                    {"no divisor is denormal"}};
  for (auto& premise : all) {
    const Json json = to_json(premise);
    EXPECT_EQ(premise_from_json(json), premise) << json;
    EXPECT_EQ(json["text"], premise.text());
  }
  EXPECT_EQ(all[0].text(), "n % 4 == 0");
  EXPECT_EQ(all[1].text(), "x and y do not overlap");
  EXPECT_EQ(all[2].text(), "x overlaps no other array");
  EXPECT_EQ(all[3].text(), "x is a multiple of 16 bytes");
}

TEST(Premise, OfAnEarlierVersionIsAText) {
  auto candidate = candidate_from_json(
      Json{{"source", "k"},
           {"steps", {{{"origin", "rule"}, {"premises", {{{"text", "x and y do not overlap"}, {"launches", 2}}}}}}}},
      "a run");
  ASSERT_TRUE(candidate.ok()) << candidate.error().message;
  EXPECT_EQ(candidate->steps[0].premises, (std::vector<Premise>{{"x and y do not overlap", 2}}));
}

TEST(Premise, CanBeAskedOfSizesLaunchesAndAddressesThatALaunchKnows) {
  EXPECT_TRUE(Premise::holds("n % 4 == 0 && gridDim.y <= 16383"_e).askable({"n"}));
  EXPECT_FALSE(Premise::holds("width > 0"_e).askable({"n"})) << "a variable of the kernel's";
  EXPECT_TRUE(Premise::aligned("x", 16).askable({"x"}));
  EXPECT_FALSE(Premise::no_overlap({"x", "y"}).askable({"x", "y"}));
}

TEST(OtherSizes, SayWhatTheirProofTakesForGranted) {
  Verdict verdict;
  verdict.other_sizes = {OtherSizes::Known::Proven, {}, {}, {Premise::no_overlap({"x", "out"})}, false};
  auto back = verdict_from_json(to_json(verdict), "test");
  ASSERT_TRUE(back.ok() && back->other_sizes) << back.error().message;
  EXPECT_EQ(back->other_sizes->text(),
            "proven for all sizes to touch the same memory, assuming that out and x do not overlap; its values were "
            "compared at recorded sizes");
}

TEST(Candidate, KeepsItsStepsThroughJson) {
  const Json json = to_json(stepwise());
  auto back = candidate_from_json(json, "test");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->steps, stepwise().steps);
  EXPECT_EQ(json["steps"][1], (Json{{"origin", "knob"}, {"parameters", {{"B", 32}}}, {"replaced", {{"B", 64}}}}));
  EXPECT_EQ(json["note"], back->note());
}

TEST(Candidate, PrintsItsStepsInOneLine) {
  EXPECT_EQ(stepwise().note(),
            "unroll the loop over k (by 4), assuming that x is aligned and that y is aligned, as in all 3 recorded "
            "launches and that n % 2 == 0, which rounds differently and needs more registers; B 64 -> 32; prefetch the "
            "next tile; default<O1>");
  Candidate candidate;
  EXPECT_EQ(candidate.note(), "as recorded");
  const Step step{.origin = Step::Origin::Rule, .rule = "unroll", .place = "x", .parameters = {{"a", 1}, {"b", 2}}};
  for (int times = 0; times < 3; ++times) candidate.add_step(step);
  EXPECT_EQ(candidate.note(), "unroll x (a 1, b 2), 3 times");
}

TEST(Candidate, HasOneRecipe) {
  Candidate candidate = stepwise();
  candidate.add_step({.origin = Step::Origin::Recipe, .rule = "passes", .summary = "default<O2>"});
  ASSERT_EQ(candidate.steps.size(), 4u);
  EXPECT_EQ(candidate.steps.back().summary, "default<O2>");
  candidate.recipe.level = "O1";
  candidate.reset_recipe();
  EXPECT_TRUE(candidate.recipe.is_default());
  EXPECT_EQ(candidate.steps.size(), 3u);
  EXPECT_EQ(candidate.steps.back().origin, Step::Origin::Model);
  // What the application's compiler can follow stays.
  candidate.recipe.level = "O1", candidate.recipe.unit_flags.fast_math = true;
  EXPECT_FALSE(candidate.recipe.of_application());
  candidate.reset_recipe();
  EXPECT_TRUE(candidate.recipe.of_application() && candidate.recipe.unit_flags.fast_math);
  EXPECT_EQ(candidate.steps.back().summary, "-use_fast_math");
}

TEST(Candidate, WithoutStepsHasItsNoteAsTheOnlyStep) {
  auto read = [](const char* note) { return *candidate_from_json({{"source", ""}, {"note", note}}, "an earlier run"); };
  EXPECT_EQ(read("unroll the loop; B 64 -> 32").steps, std::vector{Step::described("unroll the loop; B 64 -> 32")});
  EXPECT_EQ(read("unroll the loop; B 64 -> 32").note(), "unroll the loop; B 64 -> 32");
  EXPECT_TRUE(read("as recorded").steps.empty()) << "the original";
  EXPECT_TRUE(read("").steps.empty());
}

TEST(Candidate, IsReadWithTheNamesThatRulesHaveToday) {
  Candidate candidate;
  candidate.proposer = "rules/merge_blocks";
  candidate.steps = {{.origin = Step::Origin::Rule, .rule = "jam"},
                     {.origin = Step::Origin::Rule, .rule = "unroll"},
                     {.origin = Step::Origin::Model, .rule = "wrap", .summary = "readonly x"}};
  auto back = candidate_from_json(to_json(candidate), "an earlier run");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->proposer, "rules/block_merging");
  EXPECT_EQ(back->steps[0].rule, "unroll_and_jam");
  EXPECT_EQ(back->steps[1].rule, "unroll");
  EXPECT_EQ(back->steps[2], candidate.steps[2]) << "no rule";
  candidate.proposer = "llm/jam";
  EXPECT_EQ(candidate_from_json(to_json(candidate), "test")->proposer, "llm/jam");
}

TEST(Candidate, NamesWhatIsWrongInDamagedJson) {
  Json damaged = to_json(coarsened());
  damaged["launches"][0]["grid"][0] = "1 +";
  auto back = candidate_from_json(damaged, "run 7");
  ASSERT_FALSE(back.ok());
  EXPECT_NE(back.error().message.find("run 7"), std::string::npos);
  damaged.erase("source");
  EXPECT_FALSE(candidate_from_json(damaged, "run 7").ok());
}

TEST(Candidate, OfAPersonNeedsItsSourceAlone) {
  auto read = [](const char* text) { return candidate_from_json(Json::parse(text), "mine.jsonl:3"); };
  auto bare = read(R"({"source": "text"})");
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  Candidate expected;
  expected.source = "text";
  EXPECT_EQ(bare->key(), expected.key());
  EXPECT_EQ(bare->tier, "source");

  auto partly = read(
      R"({"source": "", "recipe": {"level": "O1"}, "launches": [{"kernel": "k", "grid": ["gx / 2"], "block": [64, 2]}], "scratch": [{"bytes": "4 * gx"}]})");
  ASSERT_TRUE(partly.ok()) << partly.error().message;
  EXPECT_EQ(partly->recipe.level, "O1");
  EXPECT_TRUE(partly->recipe.vectorize);
  EXPECT_EQ(*partly->launches[0].evaluate({{10, 3, 1}, {32, 8, 1}, 16}, {}), (Geometry{{5, 3, 1}, {64, 2, 1}, 16}));
  EXPECT_EQ(partly->scratch[0].bytes.text(), "4 * gx");
}

TEST(Candidate, SaysByNameWhatAPersonMisspelled) {
  struct Case {
    const char *text, *said;
  };
  for (auto& [text, said] :
       {Case{R"({"note": "x"})", "'source' is missing"}, Case{R"(["source"])", "a candidate is an object"},
        Case{R"({"source": 7})", "source: type must be string"},
        Case{R"({"source": "", "sorce": ""})", "'sorce' is not known; a candidate has source, values"},
        Case{R"({"source": "", "recipe": {"levl": "O2"}})", "recipe: 'levl' is not known; a recipe has level"},
        Case{R"({"source": "", "values": {"K": "4"}})", R"(values: "4" is not a whole number)"},
        Case{R"({"source": "", "launches": [{"grid": []}]})", "launches: 'kernel' is missing"},
        Case{R"({"source": "", "launches": {"kernel": "k"}})", "is not a list"},
        Case{R"({"source": "", "launches": [{"kernel": "k", "grid": ["1", "1", "1", "1"]}]})",
             "up to three expressions"},
        Case{R"({"source": "", "launches": [{"kernel": "k", "shared": "1 +"}]})", "launches: shared: "},
        Case{R"({"source": "", "steps": [{"rule": "unroll"}]})", "steps: 'origin' is missing"},
        Case{R"({"source": "", "steps": [{"origin": "luck"}]})", "steps: origin: \"luck\" is not known"}}) {
    auto read = candidate_from_json(Json::parse(text), "mine.jsonl:3");
    ASSERT_FALSE(read.ok()) << text;
    const std::string& message = read.error().message;
    EXPECT_TRUE(message.starts_with("mine.jsonl:3: ")) << message;
    EXPECT_NE(message.find(said), std::string::npos) << message;
    EXPECT_EQ(message.find("damaged"), std::string::npos) << message;
    EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
  }
}

TEST(Candidate, ComputesItsLaunchFromTheRecordedOne) {
  Geometry recorded{{10, 2, 1}, {128, 1, 1}, 64};
  auto geometry = coarsened().launches[0].evaluate(recorded, {{"K", 4}});
  ASSERT_TRUE(geometry.ok());
  EXPECT_EQ(geometry->grid, (Dim3{3, 2, 1}));
  EXPECT_EQ(geometry->block, (Dim3{128, 1, 1}));
  EXPECT_EQ(geometry->shared_bytes, 64u);
}

TEST(Candidate, RefusesALaunchOfNoBlocks) {
  auto launch = CandidateLaunch::as_recorded("k");
  launch.grid[0] = *Expression::parse("gx - 10");
  auto geometry = launch.evaluate({{10, 1, 1}, {1, 1, 1}}, {});
  ASSERT_FALSE(geometry.ok());
  EXPECT_NE(geometry.error().message.find("gx - 10"), std::string::npos);
}

TEST(Verdict, WeighsInstancesByTheirShareOfTheKernelsTime) {
  Verdict verdict;
  verdict.timings = {{"a", 0.75, 4e-3, 2e-3, 2.0, 1.9, 2.1}, {"b", 0.25, 1e-3, 1e-3, 1.0, 0.98, 1.02}};
  EXPECT_NEAR(verdict.speedup(), 1 / (0.75 / 2 + 0.25), 1e-12);
  EXPECT_LT(verdict.speedup_low(), verdict.speedup());
  verdict.outcome = Outcome::Wrong;
  EXPECT_EQ(verdict.speedup(), 0);
}

TEST(Verdict, SurvivesJson) {
  Verdict verdict;
  verdict.outcome = Outcome::Wrong, verdict.stage = Stage::Verify, verdict.buffer = "out", verdict.index = 17;
  verdict.distance = __builtin_inf();
  verdict.resources = {32, 16, 2048, 256, 0.75};
  verdict.image = {ImageIdentity::of("by nvcc"), ImageIdentity::of("by clang"), 8, 4096, 1};
  verdict.largest_ulps = 2.5, verdict.throttled_samples = 3, verdict.built_by = BuiltBy::Application;
  verdict.by_clang = RaceFigures{1.7, 1.6, 5e-4, 1e-3}, verdict.embedded = RaceFigures{1.4, 1.3, 6e-4, 1e-3};
  verdict.timings = {{"a", 1, 4e-3, 2e-3, 2.0, 1.9, 2.1, 30, true}};
  verdict.other_sizes =
      OtherSizes{OtherSizes::Known::UnderPremise, "n % 4 == 0"_e, "n = 3", {Premise::no_overlap({"x", "y"})}, true};
  verdict.sizes_run.emplace().right = {{"a", {{"n", 31}}, ""}};
  verdict.unreached = Unreached{{{3, 13}}, {"v = 0;"}};
  verdict.field.emplace().why = "exp";
  verdict.tolerance = 0.1, verdict.further_inputs = 0;
  verdict.sanitized = Sanitized{{"memcheck", "racecheck"}, true, "initcheck is not installed"};
  auto text = parse_json(to_json(verdict).dump(), "v");
  ASSERT_TRUE(text.ok());
  auto back = verdict_from_json(*text, "v");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->text(), verdict.text());
  EXPECT_EQ(back->timings[0].samples, 30);
  EXPECT_EQ(back->distance, __builtin_inf());
  EXPECT_EQ(to_json(*back), to_json(verdict));
  EXPECT_EQ(back->beyond_recorded(), verdict.beyond_recorded());
  EXPECT_EQ(back->unreached->places, verdict.unreached->places);
  EXPECT_EQ(back->beyond_recorded().size(), 6u) << "each of what a verdict may know";
  EXPECT_EQ(back->image.identity, verdict.image.identity);
  EXPECT_EQ(back->resources.occupancy, 0.75);
  EXPECT_EQ(back->embedded->baseline_seconds, 1e-3);
}

TEST(Verdict, HasNoFigureThatIsNotKnown) {
  Json json = to_json(Verdict());
  EXPECT_TRUE(json["image"].empty() && json["resources"].empty());
  for (auto* absent : {"largest_ulps", "built_by", "by_clang", "embedded"}) EXPECT_FALSE(json.contains(absent));
  auto back = verdict_from_json(json, "v");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_FALSE(back->largest_ulps || back->built_by || back->by_clang || back->embedded);
  EXPECT_FALSE(back->image.identity || back->resources.registers);
}

TEST(Verdict, RefusesAnIdentityThatIsNone) {
  Json json = to_json(Verdict());
  json["image"]["identity"] = "not hex, really";
  auto back = verdict_from_json(json, "v");
  ASSERT_FALSE(back.ok());
  EXPECT_NE(back.error().message.find("no identity of an image"), std::string::npos) << back.error().message;
}

TEST(ImageIdentity, IsWhatRunsOfFormat1CouldKeepOfAHash) {
  ImageIdentity identity = ImageIdentity::of("an image");
  EXPECT_EQ(identity.bits, hash_text("an image").high >> 12);
  EXPECT_EQ(ImageIdentity::from_hex(identity.hex()), identity);
  EXPECT_EQ(ImageIdentity{10}.hex(), "000000000000a");
  EXPECT_NE(ImageIdentity::of("another image"), identity);
}

TEST(Evaluation, SurvivesJsonWithOrWithoutAVerdict) {
  Verdict wrong;
  wrong.outcome = Outcome::Wrong, wrong.stage = Stage::Verify;
  auto judged = evaluation_from_json(to_json(Evaluation(wrong)), "e");
  ASSERT_TRUE(judged.ok()) << judged.error().message;
  ASSERT_TRUE(std::holds_alternative<Verdict>(*judged));
  EXPECT_EQ(std::get<Verdict>(*judged).text(), wrong.text());

  Json json = to_json(Evaluation(NotJudged{"no GPU"}));
  auto none = evaluation_from_json(json, "e");
  ASSERT_TRUE(none.ok()) << none.error().message;
  ASSERT_TRUE(std::holds_alternative<NotJudged>(*none));
  EXPECT_EQ(std::get<NotJudged>(*none).why, "no GPU");
  EXPECT_FALSE(verdict_from_json(json, "e").ok()) << "it is not a verdict";
  EXPECT_FALSE(evaluation_from_json(Json::object(), "e").ok());
}

TEST(Verdict, KeepsTextsOfOthersBoundedAndWithoutControlCharacters) {
  Verdict hostile;
  for (auto* text : {&hostile.detail, &hostile.instance, &hostile.buffer, &hostile.expected, &hostile.got})
    *text = "error: \x1b[2J" + std::string(1 << 20, 'x') + "\nsecond line\r";
  hostile.timings.emplace_back().instance = "1\x07";
  const auto verdict = std::get<Verdict>(with_bounded_texts(hostile));
  for (auto* text : {&verdict.detail, &verdict.instance, &verdict.buffer, &verdict.expected, &verdict.got}) {
    EXPECT_TRUE(text->starts_with("error: \\x1b[2Jxx")) << text->substr(0, 40);
    EXPECT_NE(text->find("\nsecond line"), text->npos) << "a compiler's message keeps its lines";
    EXPECT_LT(text->size(), kLongestVerdictText + 100);
    EXPECT_EQ(text->find('\r'), text->npos);
  }
  EXPECT_EQ(verdict.timings[0].instance, "1\\x07");
  hostile.detail.clear();
  for (int i = 0; i < 100'000; ++i) hostile.detail += "a line\n";
  EXPECT_LT(std::get<Verdict>(with_bounded_texts(hostile)).detail.size(), kLongestVerdictText + 100);
  const auto none = std::get<NotJudged>(with_bounded_texts(NotJudged{"lost\x1b" + std::string(1 << 20, 'x')}));
  EXPECT_TRUE(none.why.starts_with("lost\\x1bxx"));
  EXPECT_LT(none.why.size(), kLongestVerdictText + 100);
}

TEST(UnitFlags, AreAClosedSetThatIsSpelledAsNvccTakesIt) {
  const UnitFlags all{.fast_math = true, .fused = false, .most_registers = 64, .cache_loads = "cg"};
  EXPECT_EQ(all.text(), "-use_fast_math --fmad=false --maxrregcount=64 -Xptxas=-dlcm=cg");
  EXPECT_EQ(unit_flags_from_json(to_json(all)), all);
  EXPECT_TRUE(to_json(UnitFlags()).empty());
  for (const char* flags : {R"({"cache_loads": "cg -I/etc"})", R"({"most_registers": 9999})", R"({"other": "-DX"})"}) {
    const std::string text = R"({"source": "", "recipe": {"unit_flags": )" + std::string(flags) + "}}";
    EXPECT_FALSE(candidate_from_json(*parse_json(text, "t"), "t").ok()) << flags;
  }
}

TEST(UnitFlags, LeaveTheKeysOfCandidatesWithoutThemAsTheyWere) {
  EXPECT_FALSE(to_json(Recipe()).contains("unit_flags"));
  Candidate with, without;
  with.recipe.unit_flags.most_registers = 64;
  EXPECT_NE(with.key(), without.key());
  EXPECT_EQ(with.recipe.text(), "--maxrregcount=64");
}

}  // namespace
}  // namespace kernelift
