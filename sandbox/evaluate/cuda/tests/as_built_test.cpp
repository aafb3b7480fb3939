// What the search climbs on where the application's compiler is nvcc: real compilers, a fake GPU. How long an image
// takes there is written in it, as the name of a variable: by clang so many microseconds, by nvcc so many. Sources that
// differ in that name alone cost nvcc one call: see LikeNvcc.
#include "sandbox/evaluate/cuda/as_built.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/evaluate/cuda/cuda_evaluator.h"
#include "sandbox/evaluate/runner/tests/fake_images.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;
using Worth = BuildChoice::Worth;

Candidate of_tier(const std::string& tier) {
  Candidate candidate;
  candidate.tier = tier;
  return candidate;
}

TEST(BuildChoice, WantsWhoeverSeemsToGainAndIsNearTheBest) {
  BuildChoice choice;
  EXPECT_EQ(choice.of(of_tier("params"), 1.3), Worth::Yes);
  choice.screened(6), choice.built(2);
  EXPECT_EQ(choice.of(of_tier("params"), 5.9), Worth::Yes);
  EXPECT_EQ(choice.of(of_tier("params"), 1.7), Worth::Yes) << "clang's best must not shut out what may be nvcc's";
  EXPECT_NE(choice.of(of_tier("params"), 1.5), Worth::Yes);
}

TEST(BuildChoice, LooksAtTheOthersWhenThereIsNothingBetterToDo) {
  BuildChoice choice;
  EXPECT_EQ(choice.of(of_tier("params"), 1.0), Worth::IfIdle) << "what clang does by itself may be all of nvcc's gain";
  EXPECT_EQ(choice.of(of_tier("source"), 0.6), Worth::IfIdle);
  int sampled = 0;
  for (int i = 0; i < 80; ++i) sampled += choice.of(of_tier("params"), 0.3) == Worth::IfIdle;
  EXPECT_EQ(sampled, 10);
}

/// Of what is done but once; there before any runner's process is.
std::filesystem::path once() {
  static const TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-as-built-test"));
  return folder.path() / "once";
}

/// `manners`: "dies_once_", "dies_once_by_nvcc_", "dies_later_by_nvcc_" (after one that died once), "picky_" (survives
/// nothing but the recorded inputs), "differs_by_clang_" and "differs_by_nvcc_" (one element is wrong); words of the
/// same name.
std::string source(int clang_us, int nvcc_us, const std::string& index = "i", const std::string& manners = "") {
  // All of one length, for LikeNvcc.
  std::string mark = "mark" + std::string(24 - manners.size(), '_') + manners + "takes_" +
                     std::to_string(10000 + clang_us) + "_or_" + std::to_string(10000 + nvcc_us);
  return "__constant__ float bias;\n__device__ int " + mark + ";\n" +
         "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (factor == 12345.5f) " +
         mark + " = " + index + ";\n" +
         "  if (i < n) out[i] = in[i] * factor + bias;\n"
         "}\n";
}

/// An image as a compiler made it: it computes what the kernel does, and takes as long as it says.
std::optional<FakeImage> compiled(std::string_view image) {
  int clang_us = 0, nvcc_us = 0;
  size_t at = image.find("takes_");
  if (at == image.npos ||
      std::sscanf(std::string(image.substr(at, 40)).c_str(), "takes_%d_or_%d", &clang_us, &nvcc_us) != 2)
    return std::nullopt;
  // Line tables name clang's own header.
  bool by_clang = image.find("__clang_cuda") != image.npos;
  double seconds = std::max(((by_clang ? clang_us : nvcc_us) - 10000) * 1e-6, 1e-9);
  auto has = [&](const char* manner) { return image.find(manner) != image.npos; };
  bool dies_once = has("dies_once_takes") || (!by_clang && has("dies_once_by_nvcc_")),
       dies_later = !by_clang && has("dies_later_by_nvcc_");
  bool picky = has("picky_"),
       differs = has("differs_") && (!has("differs_by_clang_") || by_clang) && (!has("differs_by_nvcc_") || !by_clang);
  FakeImage made;
  made.kernels["_Z5scalePKfPfif"] = fake::kernel([=](const fake::Scale& call) {
    bool later = std::filesystem::exists(once());
    if (dies_once && !later) (void)write_atomically(once(), "");
    if ((dies_once && !later) || (dies_later && later)) _exit(3);
    for (int i = 0; picky && i < call.n; ++i)
      if (call.in[i] != static_cast<float>(i % 1000) * 0.5f - 100.0f)
        return FakeRun{1e-6, DeviceFault::Crashed, "an illegal memory access was encountered"};
    call.run();
    if (differs) call.out[17] += 1;
    return FakeRun{seconds};
  });
  made.variables["bias"] = sizeof(float);
  return made;
}

Result<std::unique_ptr<ForkServer>> fake_runners(const Mep& mep, const std::filesystem::path& folder,
                                                 const RunnerSettings& settings) {
  auto open = [](int) -> Result<std::unique_ptr<Device>> {
    auto device = std::make_unique<FakeDevice>(std::map<std::string, FakeImage>{});
    device->unregistered = compiled;
    return std::unique_ptr<Device>(std::move(device));
  };
  return RunnerProcess::fork_server(mep, folder, settings, {open});
}

/// An nvcc that answers with what nvcc made of source(0, 0), the mark replaced. Whatever else differs is left to nvcc
/// itself.
class LikeNvcc {
 public:
  /// Empty where there is no nvcc.
  static std::filesystem::path program() {
    static const LikeNvcc one;
    return one.program_;
  }

 private:
  LikeNvcc() {
    auto nvcc = NvccCompiler::find({});
    if (!nvcc.ok()) return;
    CompileReply image = nvcc->compile(source(0, 0), {"scale"});
    EXPECT_TRUE(image.ok()) << image.detail;
    std::string text =
        "#!/bin/sh\nexport LC_ALL=C\nfor file; do :; done\nmark=$(sed -n 's/^__device__ int \\(.*\\);/\\1/p' "
        "\"$file\")\n"
        "sed \"s/$mark/MARK/g\" \"$file\" | cmp -s - ROOT/source || exec NVCC \"$@\"\n"
        "while [ \"$1\" != -o ]; do shift; done\nsed \"s/MARK/$mark/g\" ROOT/image > \"$2\"\n";
    std::string blank = source(0, 0), root = folder_.path();
    size_t at = blank.find("mark_");
    std::string mark = blank.substr(at, blank.find(';', at) - at);
    for (const auto& [word, value] : {std::pair{"MARK", mark}, {"ROOT", root}, {"NVCC", nvcc->program().string()}})
      for (size_t found = text.find(word); found != text.npos; found = text.find(word, found + value.size()))
        text.replace(found, 4, value);
    program_ = folder_.path() / "bin" / "nvcc";
    EXPECT_TRUE(write_atomically(folder_.path() / "source", blank).ok() &&
                write_atomically(folder_.path() / "image", image.image).ok());
    EXPECT_TRUE(write_atomically(program_, text).ok());
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
  }
  TemporaryFolder folder_ = std::move(*TemporaryFolder::create("kernelift-like-nvcc"));
  std::filesystem::path program_;
};

class AsBuiltTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (LikeNvcc::program().empty()) GTEST_SKIP() << "no nvcc";
    fixture_.mep.compile_command = {LikeNvcc::program().string(), "-O3", "-c", "scale.cu"};
    std::filesystem::remove(once());
    fixture_.set_source(source(200, 100));
    start();
  }
  Result<std::unique_ptr<Evaluator>> create() {
    EvaluatorOptions how;
    how.device = "cuda", how.compile_workers = 1, how.few_candidates = true;
    KERNELIFT_ASSIGN(auto gpu,
                     open_gpu("cuda", fixture_.mep, fixture_.path(), runner_settings(how), true, fake_runners));
    return CudaEvaluator::create(fixture_.mep, fixture_.path(), how, std::move(gpu));
  }
  void start() {
    auto made = create();
    ASSERT_TRUE(made.ok()) << made.error().message;
    evaluator_ = std::move(*made);
  }
  /// What the capture holds is the machine code that nvcc makes of `text`; but here is an nvcc that does not work.
  void break_nvcc(const std::string& text) {
    auto nvcc = NvccCompiler::find(nvcc_options(fixture_.mep, "sm_90"));
    CompileReply recorded = nvcc->compile(text, {"scale"});
    ASSERT_TRUE(recorded.ok()) << recorded.detail;
    for (auto& instance : fixture_.mep.instances) {
      instance.code = *Mep::store(fixture_.path(), std::as_bytes(std::span(recorded.image)));
      instance.settings.binary_version = 90;
    }
    auto broken = fixture_.path() / "nvcc";
    ASSERT_TRUE(write_atomically(broken, "#!/bin/sh\necho cicc: not found >&2\nexit 1\n").ok());
    std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
    fixture_.mep.compile_command = {broken.string(), "-O3", "-c", "scale.cu"};
  }
  Candidate candidate(const std::string& text, const std::string& tier = "source") {
    Candidate made = of_tier(tier);
    made.source = text;
    return made;
  }
  Verdict judge(const std::string& text, const std::string& tier = "source") {
    return std::get<Verdict>(evaluator_->submit(candidate(text, tier)).get());
  }
  MepFixture fixture_ = scale_mep();
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(AsBuiltTest, FiguresAreThoseOfTheApplicationsCompiler) {
  Verdict original = judge(source(200, 100), "baseline");
  ASSERT_TRUE(original.ok()) << original.text();
  EXPECT_NEAR(original.seconds(), 100e-6, 1e-9);

  Verdict dazzling = judge(source(20, 90));
  ASSERT_TRUE(dazzling.ok()) << dazzling.text();
  EXPECT_NEAR(dazzling.speedup(), 100.0 / 90, 1e-3);
  EXPECT_NEAR(dazzling.by_clang.value().speedup, 10, 1e-3);
  EXPECT_NEAR(dazzling.by_clang.value().seconds, 20e-6, 1e-9);
  EXPECT_EQ(dazzling.built_by, BuiltBy::Application);
  EXPECT_THAT(dazzling.detail, HasSubstr("as built by nvcc"));

  Verdict quiet = judge(source(200, 50));
  EXPECT_NEAR(quiet.speedup(), 2, 1e-3) << "nothing to clang, everything to nvcc: " << quiet.text();

  Verdict slow = judge(source(1000, 10));
  ASSERT_TRUE(slow.ok()) << slow.text();
  EXPECT_NEAR(slow.speedup(), 0.1, 1e-3)
      << "beside what the application runs: never on another scale than those that were built";
  EXPECT_NEAR(slow.by_clang.value().speedup, 0.2, 1e-3);
  EXPECT_EQ(slow.built_by, BuiltBy::Clang);
  EXPECT_THAT(slow.detail, HasSubstr("built by clang"));

  Verdict refused = judge(source(30, 30, "__builtin_rotateleft32(i, 1)"));
  EXPECT_EQ(refused.outcome, Outcome::CompileFailed);
  EXPECT_THAT(refused.detail, HasSubstr("as built by nvcc"));
  EXPECT_NEAR(refused.by_clang.value().speedup, 200.0 / 30, 1e-3);
}

TEST_F(AsBuiltTest, VerificationTimesNothing) {
  Verdict right = std::get<Verdict>(evaluator_->verify(candidate(source(1000, 10))));
  EXPECT_TRUE(right.ok()) << right.text();
  EXPECT_EQ(right.stage, Stage::Verify);
  EXPECT_TRUE(right.timings.empty());
  EXPECT_EQ(right.text(), "ok, not timed");
  Verdict wrong = std::get<Verdict>(evaluator_->verify(candidate(source(20, 90, "i", "differs_by_clang_"))));
  EXPECT_EQ(wrong.outcome, Outcome::Wrong) << wrong.text();
}

TEST_F(AsBuiltTest, AConfirmationSaysWhatAPatchGivesAndWhatEmbedding) {
  Verdict patch = std::get<Verdict>(evaluator_->confirm(candidate(source(20, 90))));
  ASSERT_TRUE(patch.ok()) << patch.text();
  EXPECT_EQ(patch.timings.size(), 2u) << "held-out instances too";
  EXPECT_NEAR(patch.speedup(), 100.0 / 90, 1e-3);
  EXPECT_NEAR(patch.embedded.value().speedup, 5, 1e-3);
  EXPECT_NEAR(patch.embedded.value().seconds, 20e-6, 1e-9);
  EXPECT_NEAR(patch.embedded.value().baseline_seconds, 100e-6, 1e-9);
  EXPECT_NEAR(patch.by_clang.value().speedup, 10, 1e-3);
  EXPECT_NE(patch.image.identity, patch.image.clang_identity);
  EXPECT_EQ(patch.field.value().found, FieldEquality::Found::Equal) << patch.field->text();

  Candidate recipe = candidate(source(50, 100), "compiler");
  recipe.recipe.level = "O2";
  Verdict searched = std::get<Verdict>(evaluator_->submit(recipe).get());
  ASSERT_TRUE(searched.ok()) << searched.text();
  EXPECT_NEAR(searched.speedup(), 2, 1e-3) << "against what the application runs, not against clang's original";
  Verdict embedded = std::get<Verdict>(evaluator_->confirm(recipe));
  ASSERT_TRUE(embedded.ok()) << embedded.text();
  EXPECT_NEAR(embedded.speedup(), 2, 1e-3);
  EXPECT_NEAR(embedded.embedded.value().speedup, 2, 1e-3);
  EXPECT_NEAR(embedded.by_clang.value().speedup, 4, 1e-3);
}

TEST_F(AsBuiltTest, AFinalistRunsInCheckModeOfTheProcessorBeforeItIsConfirmed) {
  std::string text = source(20, 90);
  text.insert(text.find("  if (i < n)"), "  if (i < 64) out[64] = in[i];\n");
  const Candidate racing = candidate(text);
  Evaluation screened = evaluator_->submit(racing).get();
  ASSERT_TRUE(std::get<Verdict>(screened).ok())
      << "on the fake GPU all is well: " << std::get<Verdict>(screened).text();
  for (auto& evaluation : {evaluator_->confirm(racing), evaluator_->with_checks(screened, racing)}) {
    const Verdict& verdict = std::get<Verdict>(evaluation);
    EXPECT_EQ(verdict.outcome, Outcome::Unstable) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr("out[64] at kernel.cu:6"));
    EXPECT_FALSE(verdict.embedded);
  }
}

TEST_F(AsBuiltTest, ConfirmationsShareAProcessUntilTheSearchGoesOn) {
  EXPECT_EQ(evaluator_->confirm_cost().once, 0) << "the first has judged nothing yet";
  ASSERT_TRUE(std::get<Verdict>(evaluator_->confirm(candidate(source(20, 90)))).ok());
  EXPECT_EQ(evaluator_->confirm_cost().once, 0);
  EXPECT_GT(evaluator_->confirm_cost().each, 0);
  ASSERT_TRUE(judge(source(20, 91)).ok());
  EXPECT_GT(evaluator_->confirm_cost().once, 0);
}

TEST_F(AsBuiltTest, ACompilerThatDoesNotWorkHereSaysNothingOfCandidates) {
  evaluator_.reset();
  break_nvcc(source(200, 100));
  start();
  Verdict verdict = judge(source(20, 90));
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_NEAR(verdict.speedup(), 5, 1e-3) << "20 us beside the application's 100, not beside clang's 200";
  EXPECT_NEAR(verdict.by_clang.value().speedup, 10, 1e-3);
  EXPECT_EQ(verdict.built_by, BuiltBy::Clang);
  Verdict confirmed = std::get<Verdict>(evaluator_->confirm(candidate(source(20, 90))));
  ASSERT_TRUE(confirmed.ok()) << confirmed.text();
  EXPECT_NEAR(confirmed.speedup(), 5, 1e-3);
  EXPECT_THAT(confirmed.detail, HasSubstr("not confirmed as the application's own compiler builds it: nvcc does not "
                                          "compile the original's slice here: "));
  EXPECT_NEAR(confirmed.embedded.value().speedup, 5, 1e-3) << "what the application runs is known all the same";
}

TEST_F(AsBuiltTest, JudgesByNvccAloneWhereClangsBuildDoesNotReproduceTheCapture) {
  EXPECT_EQ(evaluator_->only_as_built(), "");
  evaluator_.reset();
  const std::string manner = "differs_by_clang_";
  fixture_.set_source(source(200, 100, "i", manner));
  start();
  EXPECT_THAT(evaluator_->only_as_built(), HasSubstr("only builds by nvcc are judged here"));
  EXPECT_THAT(evaluator_->only_as_built(), HasSubstr("instance a, out: 1 of 1000 elements differ"));
  Verdict original = judge(source(200, 100, "i", manner), "baseline");
  ASSERT_TRUE(original.ok()) << original.text();
  EXPECT_NEAR(original.seconds(), 100e-6, 1e-9);

  Verdict faster = judge(source(900, 50, "i", manner));
  ASSERT_TRUE(faster.ok()) << faster.text();
  EXPECT_NEAR(faster.speedup(), 2, 1e-3) << "clang's figure would have ended it";
  EXPECT_EQ(faster.built_by, BuiltBy::Application);
  EXPECT_FALSE(faster.by_clang);
  EXPECT_EQ(judge(source(10, 10, "i", "differs_by_nvcc_")).outcome, Outcome::Wrong);

  Candidate recipe = candidate(source(10, 10, "i", manner), "compiler");
  recipe.recipe.level = "O2";
  for (auto& evaluation : {evaluator_->submit(recipe).get(), evaluator_->confirm(recipe)}) {
    const Verdict& refused = std::get<Verdict>(evaluation);
    EXPECT_EQ(refused.outcome, Outcome::Refused) << refused.text();
    EXPECT_THAT(refused.detail, HasSubstr("a recipe is clang's to follow, but only builds by nvcc are judged here"));
  }
  Verdict confirmed = std::get<Verdict>(evaluator_->confirm(candidate(source(900, 50, "i", manner))));
  ASSERT_TRUE(confirmed.ok()) << confirmed.text();
  EXPECT_NEAR(confirmed.speedup(), 2, 1e-3);
  EXPECT_FALSE(confirmed.embedded) << "clang's image of it is wrong";
}

TEST_F(AsBuiltTest, SaysWhyNothingCanBeJudgedWhereClangsBuildDoesNotReproduceTheCapture) {
  evaluator_.reset();
  const std::string text = source(200, 100, "i", "differs_by_clang_");
  fixture_.set_source(text);
  break_nvcc(text);
  auto without_nvcc = create();
  ASSERT_FALSE(without_nvcc.ok());
  EXPECT_THAT(without_nvcc.error().message, HasSubstr("only builds by nvcc are judged here"));
  EXPECT_THAT(without_nvcc.error().message, HasSubstr("cicc: not found"));
  // What the application ran reproduces it, but that is not what nvcc makes of this source.
  fixture_.mep.compile_command = {LikeNvcc::program().string(), "-O3", "-c", "scale.cu"};
  fixture_.set_source(source(200, 100, "i", "differs_"));
  auto neither = create();
  ASSERT_FALSE(neither.ok());
  EXPECT_THAT(neither.error().message,
              HasSubstr("neither as clang builds it (instance a, out: 1 of 1000 elements differ"));
}

TEST_F(AsBuiltTest, AProcessThatEndsOnceIsNotTheCandidatesDoing) {
  Verdict innocent = judge(source(20, 90, "i", "dies_once_"));
  ASSERT_TRUE(innocent.ok()) << innocent.text();
  EXPECT_NEAR(innocent.speedup(), 100.0 / 90, 1e-3);
}

TEST_F(AsBuiltTest, ACandidateIsJudgedAgainWhereTheOriginalDiesOfAnExperiment) {
  evaluator_.reset();
  fixture_.mep.instances.clear();
  add_scale_instance(fixture_, "a", 1 << 20, 3.0f);
  fixture_.set_source(source(200, 100, "i", "picky_"));
  start();
  Verdict verdict = judge(source(0, 0));
  EXPECT_EQ(verdict.outcome, Outcome::Suspect) << verdict.text();
  EXPECT_THAT(verdict.detail, HasSubstr("no input could be perturbed"));
  Verdict confirmed = std::get<Verdict>(evaluator_->confirm(candidate(source(20, 90))));
  EXPECT_TRUE(confirmed.ok()) << confirmed.text();
}

TEST_F(AsBuiltTest, NothingIsCalledAgainstTheApplicationOnceItsCodeIsNoLongerKnown) {
  evaluator_.reset();
  fixture_.set_source(source(200, 100, "i", "dies_later_by_nvcc_"));
  start();
  Verdict verdict = std::get<Verdict>(evaluator_->confirm(candidate(source(20, 90, "i", "dies_once_by_nvcc_"))));
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_NEAR(verdict.speedup(), 10, 1e-3) << "both by clang: never one by nvcc against the original by clang";
  EXPECT_FALSE(verdict.built_by);
  EXPECT_FALSE(verdict.embedded);
  EXPECT_THAT(verdict.detail, HasSubstr("not confirmed as the application's own compiler builds it: the application's "
                                        "own machine code ends the process"));
}

TEST_F(AsBuiltTest, WhatWasScreenedStandsWhereTheApplicationsCodeIsNoLongerKnown) {
  evaluator_.reset();
  fixture_.set_source(source(200, 100, "i", "dies_later_by_nvcc_"));
  start();
  Verdict verdict = judge(source(20, 90, "i", "dies_once_by_nvcc_"));
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_NEAR(verdict.speedup(), 5, 1e-3);
  EXPECT_NEAR(verdict.by_clang.value().speedup, 10, 1e-3);
  EXPECT_EQ(verdict.built_by, BuiltBy::Clang);
  EXPECT_THAT(verdict.detail, HasSubstr("both built by clang"));
}

TEST(AsBuilt, RemembersWhatTheCompilerSaysAndNotWhatTheMachineLacks) {
  MepFixture fixture = scale_mep();
  auto nvcc = fixture.path() / "nvcc";
  auto does = [&](const std::string& script) {
    ASSERT_TRUE(write_atomically(nvcc, "#!/bin/sh\n" + script + "\nexit 1\n").ok());
    std::filesystem::permissions(nvcc, std::filesystem::perms::owner_all);
  };
  does("echo 'kernel.cu(3): error: no such thing' >&2");
  fixture.mep.compile_command = {nvcc.string(), "-O3", "-c", "scale.cu"};
  AsBuilt as_built(fixture.mep, "sm_90", source(200, 100), "recorded");
  ASSERT_TRUE(as_built.builds()) << as_built.trouble();
  Candidate wrong, unlucky, killed;
  wrong.source = source(1, 1), unlucky.source = source(2, 2), killed.source = source(3, 3);
  EXPECT_TRUE(AsBuilt::is_about_source(as_built.build(wrong)));
  does("echo 'sh: 1: cicc: not found' >&2");
  EXPECT_THAT(as_built.build(wrong).detail, HasSubstr("no such thing")) << "asked once";
  CompileReply lacking = as_built.build(unlucky);
  EXPECT_THAT(lacking.detail, HasSubstr("not found"));
  EXPECT_FALSE(AsBuilt::is_about_source(lacking));
  does("kill -9 $$");
  EXPECT_FALSE(AsBuilt::is_about_source(as_built.build(killed)));
  does("echo 'kernel.cu(4): error: another' >&2");
  EXPECT_THAT(as_built.build(unlucky).detail, HasSubstr("another")) << "not remembered";
  EXPECT_THAT(as_built.build(killed).detail, HasSubstr("another"));
}

TEST_F(AsBuiltTest, WhatWaitsForTheOtherCompilerIsAnsweredWhenAbandoned) {
  std::vector<std::future<Evaluation>> verdicts;
  for (int i = 0; i < 6; ++i) verdicts.push_back(evaluator_->submit(candidate(source(20 + i, 60 + i))));
  ASSERT_TRUE(std::get<Verdict>(verdicts[0].get()).ok());
  evaluator_->abandon();
  for (size_t i = 1; i < verdicts.size(); ++i) {
    Evaluation evaluation = verdicts[i].get();
    auto* verdict = std::get_if<Verdict>(&evaluation);
    EXPECT_TRUE(!verdict || verdict->ok()) << verdict->text();
  }
}

}  // namespace
}  // namespace kernelift::sandbox
