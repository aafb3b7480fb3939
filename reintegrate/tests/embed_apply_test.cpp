// Embedding PTX in an application: when it is preferred to a patch of the source, what the patch looks like, and that a
// file which the patch creates is removed with the patch.
#include <filesystem>

#include "reintegrate/apply_best.h"
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

Verdict timed_run(double speedup) {
  Verdict verdict;
  verdict.stage = Stage::Time, verdict.device = "cuda: NVIDIA H200, sm_90, driver 580";
  verdict.timings = {{"0001", 1, speedup, 1, speedup, speedup - 0.01, speedup + 0.01, 20, false}};
  return verdict;
}

/// The toy build takes the delay from the header if the source launches through it.
class EmbedApply : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    write("build.sh",
          "set -e\nmkdir -p out\nf=src/k.cu\n! grep -q 'kernelift_sleepy::launch' src/k.cu || "
          "f=src/kernelift_sleepy.cuh\n"
          "{ echo '#!/bin/sh'; sed -n 's/.*delay(\\([0-9.]*\\)).*/sleep \\1/p' $f; } > out/app.new\n"
          "chmod +x out/app.new\nmv out/app.new out/app\n");
    keep_whatever_is_measured();
    Mep& mep = request.mep;
    mep.parameters = {{"a", "float *", "float", false, ""}};
    MepInstance instance;
    instance.geometry = {{1, 1, 1}, {64, 1, 1}, 0, false};
    instance.parameters = {{0, 8}};
    instance.arguments.assign(8, std::byte{0x40});
    mep.instances = {instance};
    LaunchSite site;
    site.kernels = {mep.kernel_id}, site.argument_text = {"a"};
    std::string text = read("src/k.cu"), call = "sleepy<<<1, BLOCK>>>(a)";
    site.range = {"src/k.cu", text.find(call), text.find(call) + call.size(), 8, 8};
    mep.launches = {site};
    ScanIndex scan;
    ScannedKernel kernel;
    kernel.id = mep.kernel_id, kernel.key = mep.kernel_key, kernel.name = "sleepy";
    kernel.definition = {"src/k.cu", text.find("__global__"), text.find("}\n") + 1, 3, 6};
    scan.kernels = {kernel};
    request.scan = scan;
    offer.embedding = Embedding::Auto;
    offer.make_embedded = [this](const tuner::RunTrial& trial) -> Result<EmbeddedCode> {
      ++made;
      if (!trouble.empty()) return refused(trouble);
      return EmbeddedCode{".version 7.8\n.target sm_90\n" + module_scope +
                              ".visible .entry _Z6sleepyPf(\n)\n{\n\tdelay(" + embedded_delay + ");\n}\n",
                          "_Z6sleepyPf",
                          "clang 22",
                          trial.figures().device,
                          "candidate #1",
                          "nvcc makes slower code.",
                          {"Checked."}};
    };
  }
  void candidate(double by_nvcc, double embedded, const std::string& to = "0.04") {
    tuner::RunTrial trial;
    trial.id = static_cast<int64_t>(offer.promising.size()) + 1;
    trial.candidate.source = request.original;
    size_t at = trial.candidate.source.find("0.05");
    trial.candidate.source.replace(at, 4, to);
    trial.candidate.tier = "source", trial.candidate.steps = {Step::described(to)};
    trial.verdict = timed_run(by_nvcc);
    if (embedded > 0) trial.verdict.embedded = RaceFigures{embedded, embedded - 0.01};
    trial.confirmed = trial.verdict;
    offer.promising.push_back(trial);
  }
  Result<ApplyReport> go() {
    offer.request = request;
    offer.request.progress = [&](const std::string& line) { said += line + "\n"; };
    return apply_best(offer, [&](const tuner::RunTrial&) -> Result<Verdict> { return confirmed_as; });
  }
  ApplyReport must_go() {
    auto report = go();
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? *report : ApplyReport{};
  }
  bool header_is_there() const { return std::filesystem::exists(root / "src/kernelift_sleepy.cuh"); }

  RunOffer offer;
  Verdict confirmed_as = timed_run(1);
  std::string trouble, module_scope, said, embedded_delay = "0.01";
  int made = 0;
};

TEST_F(EmbedApply, EmbedsPtxThatIsClearlyFasterThanTheSourceAndReportsIt) {
  make_git();
  candidate(1.5, 5);
  ApplyReport report = must_go();
  ASSERT_TRUE(report.kept()) << report.why;
  EXPECT_TRUE(report.embeds);
  EXPECT_DOUBLE_EQ(report.predicted.kernel_gain, 5);
  EXPECT_EQ(read("src/k.cu"),
            "#include \"kernelift_sleepy.cuh\"  // Tuned code for 'sleepy'.\n#include \"config.h\"\n// The kernel.\n"
            "// Launches run the tuned code in kernelift_sleepy.cuh where its guard holds: after a change here, "
            "generate that file again.\n"
            "__global__ void sleepy(float* a) {\n\tdelay(0.05);   // ümlaut, tab\n  a[0] = 1.0;\n}\n\n"
            "void host(float* a) { kernelift_sleepy::launch(sleepy, 1, BLOCK)(a); }\n");
  EXPECT_EQ(shell("git status --porcelain"), "");
  EXPECT_NE(shell("git log -1 --format=%B").find("The patch embeds PTX (kernelift_sleepy.cuh)"), std::string::npos);
  EXPECT_EQ(shell("git show --name-only --format= HEAD"), "src/k.cu\nsrc/kernelift_sleepy.cuh\n");
  EXPECT_NE(report.text().find("note: The patch embeds PTX (kernelift_sleepy.cuh): nvcc makes slower code."),
            std::string::npos);
  EXPECT_NE(report.text().find("more lines of a generated file"), std::string::npos);
  // git accepts the patch file.
  EXPECT_EQ(shell("git checkout -q main && git apply --check .kernelift/apply/1/patch.diff && echo good"), "good\n");
  EXPECT_FALSE(header_is_there());
}

TEST_F(EmbedApply, PrefersTheSourceIfPtxIsNotClearlyFaster) {
  candidate(1.5, 1.55, "0.01");
  ApplyReport report = must_go();
  ASSERT_TRUE(report.kept()) << report.why;
  EXPECT_FALSE(report.embeds);
  EXPECT_EQ(made, 0);
  EXPECT_NE(read("src/k.cu").find("delay(0.01)"), std::string::npos);
}

TEST_F(EmbedApply, FollowsTheEmbedOption) {
  candidate(1.5, 5, "0.01");
  offer.embedding = Embedding::Never;
  EXPECT_FALSE(must_go().embeds);
  write("src/k.cu", kKernelText);
  offer.promising.clear();
  candidate(1.5, 1.2, "0.01");
  offer.embedding = Embedding::Only;
  EXPECT_TRUE(must_go().embeds);
  EXPECT_FALSE(embedding_on("cuda", "maybe").ok());
  EXPECT_FALSE(embedding_on("cpu", "only").ok());
  EXPECT_EQ(*embedding_on("cpu", "auto"), Embedding::Never);
}

TEST_F(EmbedApply, EmbedsCodeThatNvccDoesNotCompileOrThatNeedsARecipe) {
  candidate(2, 3);
  Verdict failed = timed_run(0);
  failed.outcome = Outcome::CompileFailed, failed.embedded = offer.promising[0].verdict.embedded;
  offer.promising[0].confirmed = failed;
  EXPECT_TRUE(must_go().embeds);
  ASSERT_EQ(shell("rm src/kernelift_sleepy.cuh"), "");
  write("src/k.cu", kKernelText);
  offer.promising.clear();
  candidate(3, 3);
  offer.promising[0].candidate.recipe.unroll_threshold = 900;
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_TRUE(report.embeds);
}

TEST_F(EmbedApply, OffersNoRecipeThatWasTimedOnlyAgainstClangsBuildOfTheOriginal) {
  candidate(3, 0);
  tuner::RunTrial& recipe = offer.promising[0];
  recipe.candidate.recipe.unroll_threshold = 900;
  EXPECT_EQ(embedded_gain(recipe).low, 0);
  recipe.confirmed->embedded = RaceFigures{2, 1.9};
  EXPECT_EQ(embedded_gain(recipe).low, 1.9);
  // A screened recipe whose confirmation does not compare with the application's code either.
  confirmed_as = timed_run(3);
  recipe.confirmed.reset();
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(said.find("its gain over the application's own code is not known"), std::string::npos) << said;
  EXPECT_EQ(made, 0);
}

TEST_F(EmbedApply, PatchesTheSourceIfThePtxIsRefused) {
  candidate(4, 5, "0.01");
  module_scope = ".visible .global .align 4 .b8 taps[64];\n";
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_FALSE(report.embeds);
  ASSERT_EQ(report.passed_over.size(), 1u);
  EXPECT_NE(report.passed_over[0].text().find("5.00x as embedded PTX): the kernel uses the module variable 'taps'"),
            std::string::npos)
      << report.passed_over[0].text();
}

TEST_F(EmbedApply, DoesNotTryCandidatesPredictedBelowTheMeasuredInterval) {
  // The first candidate gains less than is required, as if its guard had not held; it is far from both limits, however
  // busy the machine is.
  request.trial.smallest_gain = 1e5;
  request.run = "grep -q 0.01 out/app || sleep 0.3";
  offer.kernel_share = 1;
  candidate(1.005, 2e6);
  candidate(1.03, 0);
  ApplyReport report = must_go();
  EXPECT_EQ(report.outcome, ApplyOutcome::NotFaster);
  EXPECT_EQ(report.candidate, 1);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_TRUE(report.notes.back().starts_with("1 other not tried: predicted for the application is no more than the "))
      << report.notes.back();
  offer.promising.pop_back();
  candidate(1e6, 0);
  EXPECT_EQ(must_go().candidate, 2);
}

TEST_F(EmbedApply, CountsOnlyLaunchesOfItsOwnLauncherInThePatchedApplication) {
  candidate(1.005, 5);
  // Another kernel has a launcher too, and the unpatched application contains an earlier version of this one.
  request.run =
      "./out/app && echo kernelift_other 7 tuned 0 original >> $KERNELIFT_EMBED_REPORT && "
      "if grep -q 0.01 out/app; then echo kernelift_sleepy 3 tuned 2 original; else echo kernelift_sleepy 100 tuned 0 "
      "original; fi >> $KERNELIFT_EMBED_REPORT";
  request.check = request.run + " && ! grep -q wrong src/k.cu";
  ApplyReport report = must_go();
  ASSERT_TRUE(report.kept()) << report.why;
  EXPECT_NE(said.find("In the check 3 of 5 launches"), std::string::npos) << said;
  EXPECT_NE(said.find("In the timed runs 6 of 10 launches"), std::string::npos) << said;
}

TEST_F(EmbedApply, IsNotKeptIfNoTimedRunRanIt) {
  candidate(1.005, 5);
  request.run = "./out/app && echo kernelift_sleepy 0 tuned 5 original >> $KERNELIFT_EMBED_REPORT";
  request.check = "./out/app && ! grep -q wrong src/k.cu";
  ApplyReport report = must_go();
  EXPECT_EQ(report.outcome, ApplyOutcome::NotFaster) << report.why;
  EXPECT_NE(report.why.find("no timed run ran the embedded code"), std::string::npos) << report.why;
}

TEST_F(EmbedApply, RefusesLaunchesInDeviceCodeAndInFilesWithAnotherConstant) {
  auto refusal = [&] {
    offer.promising.clear();
    candidate(1.005, 5);
    auto report = go();
    return report.ok() ? report->why : report.error().message;
  };
  LaunchSite site = request.mep.launches[0];
  request.mep.launches[0].range.begin = request.scan->kernels[0].definition.begin + 1;
  EXPECT_NE(refusal().find("the launch at src/k.cu:8 is in device code, inside 'sleepy'"), std::string::npos)
      << refusal();

  const std::string text = read("src/k.cu"), call = "sleepy<<<1, BLOCK>>>(a)";
  write("src/host.cu", text.substr(text.find("void host")));
  site.range = {"src/host.cu", read("src/host.cu").find(call), read("src/host.cu").find(call) + call.size(), 1, 1};
  request.mep.launches[0] = site;
  module_scope = ".visible .const .align 4 .b8 taps[64];\n";
  MepVariable taps;
  taps.name = taps.key = taps.spelling = "taps", taps.size = 64, taps.constant = true;
  request.mep.instances[0].variables = {taps};
  EXPECT_NE(refusal().find("the launch at src/host.cu:1 is in another file than the kernel, where 'taps', which the "
                           "kernel reads, may be another variable"),
            std::string::npos)
      << refusal();
  module_scope.clear();
  offer.promising.clear();
  candidate(1.005, 5);
  ApplyReport report = must_go();
  EXPECT_EQ(report.files, (std::vector<std::string>{"src/host.cu", "src/k.cu", "src/kernelift_sleepy.cuh"}))
      << report.why;
}

TEST_F(EmbedApply, RefusesALaunchInASharedFileThatServesAnotherUnitsKernelOfTheSameName) {
  ScannedKernel other = request.scan->kernels[0];
  other.id = "feedbeef", other.definition.file = "src/other.cu";
  request.scan->kernels.push_back(other);
  candidate(1.005, 5);
  auto embedded = offer.make_embedded(offer.promising[0]);
  ASSERT_TRUE(embedded.ok());
  auto refusal = [&](const std::string& spelled) {
    const std::string call = spelled + "<<<1, 64>>>(a)", text = "void host(float* a) { " + call + "; }\n";
    write("src/harness.inl", text);
    LaunchSite& site = request.mep.launches[0];
    site.kernels = {request.mep.kernel_id, other.id};
    site.range = {"src/harness.inl", text.find(call), text.find(call) + call.size(), 1, 1};
    auto patch =
        plan_patch({request.mep, request.original, offer.promising[0].candidate, &*request.scan, root, &*embedded});
    return patch.ok() ? patch->diff() : patch.error().message;
  };
  for (auto spelled : {"sleepy", "(fast ? sleepy : other)"})
    EXPECT_NE(
        refusal(spelled).find("the launch at src/harness.inl:1 also serves the kernel 'sleepy' of src/other.cu:3, "
                              "which has the same name"),
        std::string::npos)
        << refusal(spelled);
  // Another kernel of another name is told apart at run time.
  request.scan->kernels[1].name = "other";
  EXPECT_NE(refusal("(fast ? sleepy : other)").find("launch_one(sleepy, (fast ? sleepy : other), 1, 64)"),
            std::string::npos)
      << refusal("(fast ? sleepy : other)");
}

TEST_F(EmbedApply, RunsOnlyWithoutTheMacrosForWhichTheKernelAsksIfTheRecordedBuildHadNone) {
  const std::string body = "  a[0] = 1.0;\n";
  std::string text = kKernelText;
  text.replace(text.find(body), body.size(), "#ifdef PERIODIC\n  a[0] = 2.0;\n#else\n" + body + "#endif\n");
  write("src/k.cu", text);
  slice();
  candidate(1.005, 5);
  auto embedded = offer.make_embedded(offer.promising[0]);
  ASSERT_TRUE(embedded.ok());
  auto& mep = request.mep;
  const std::string call = "sleepy<<<1, BLOCK>>>(a)";
  mep.launches[0].range = {"src/k.cu", text.find(call), text.find(call) + call.size(), 12, 12};
  request.scan->kernels[0].definition = {"src/k.cu", text.find("__global__"), text.find("}\n") + 1, 3, 10};
  auto condition = [&](const std::vector<SlicedFunction>& functions) {
    mep.functions = functions;
    auto patch = plan_patch({mep, request.original, offer.promising[0].candidate, &*request.scan, root, &*embedded});
    return patch.ok() ? patch->diff() : patch.error().message;
  };
  // A MEP of an earlier version does not list the functions.
  for (auto& functions : {std::vector<SlicedFunction>{{"sleepy", "src/k.cu", 3, 10, false}}, {}})
    EXPECT_NE(condition(functions).find("!defined(PERIODIC)"), std::string::npos) << condition(functions);
}

TEST_F(EmbedApply, RefusesANewValueOfAConstantThatAnotherKernelsEmbeddedCodeWasCompiledWith) {
  ScannedKernel other = request.scan->kernels[0];
  other.id = "feedbeef", other.name = "busy", other.key = "busy(float*)", other.definition.file = "lib/busy.cu";
  request.scan->kernels.push_back(other);
  write("lib/busy.cu", "void host(float* a) { kernelift_busy::launch(busy, 1, BLOCK)(a); }\n");
  const size_t at = read("src/config.h").find("64");
  request.mep.knobs = {
      {"BLOCK", 64, {"src/config.h", at, at + 2, 2, 2}, true, true, true, {request.mep.kernel_id, other.id}}};
  request.candidate.values["BLOCK"] = 128;
  auto planned = [&] {
    auto patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root});
    return patch.ok() ? "planned" : patch.error().message;
  };
  EXPECT_EQ(planned(), "planned");
  write("lib/kernelift_busy.cuh", "// Tuned code for the kernel 'busy', written by an earlier patch.\n");
  EXPECT_NE(planned().find("'BLOCK' is also used by 'busy', which runs embedded code (lib/kernelift_busy.cuh) that was "
                           "compiled with 64"),
            std::string::npos)
      << planned();
  request.mep.knobs[0].kernels = {request.mep.kernel_id};
  EXPECT_EQ(planned(), "planned") << "the other kernel does not use it";
}

TEST_F(EmbedApply, RemovesTheHeaderWhenThePatchIsRolledBack) {
  candidate(1.005, 5);
  request.trial.smallest_gain = 100;
  ApplyReport report = must_go();
  EXPECT_EQ(report.outcome, ApplyOutcome::NotFaster) << report.why;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_FALSE(header_is_there());
}

TEST_F(EmbedApply, KeepsTheHeaderUntilTheOriginalIsBuiltBecauseMakeRecordsDependencies) {
  candidate(1.005, 5);
  request.trial.smallest_gain = 100;
  // The build fails if a dependency recorded by an earlier compile does not exist, as make does.
  request.build =
      "{ ! test -e out/dep || test -e \"$(cat out/dep)\"; } && sh build.sh && rm -f out/dep && if grep -q kernelift_ "
      "src/k.cu; then echo src/kernelift_sleepy.cuh > out/dep; fi";
  EXPECT_EQ(must_go().outcome, ApplyOutcome::NotFaster);
  EXPECT_FALSE(header_is_there());
  EXPECT_EQ(shell("test -e out/dep && echo there"), "");
}

TEST_F(EmbedApply, RemovesTheHeaderAfterAKillAndOnUndo) {
  candidate(1.005, 5);
  std::string check = request.check;
  request.check = "! grep -q kernelift_ src/k.cu || kill -9 $(ps -o ppid= $PPID)";
  ASSERT_TRUE(is_killed_in([&] { (void)go(); }));
  ASSERT_TRUE(header_is_there());
  auto restored = roll_back_interrupted(request.state);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_FALSE(header_is_there());
  EXPECT_EQ(read("src/k.cu"), kKernelText);

  request.check = check;
  ASSERT_TRUE(must_go().kept());
  ASSERT_TRUE(header_is_there());
  ASSERT_TRUE(undo_last(request.state).ok());
  EXPECT_FALSE(header_is_there());
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(EmbedApply, RegeneratesTheHeaderIfLaunchesGoThroughItAlready) {
  write("src/kernelift_sleepy.cuh",
        "// Tuned code for the kernel 'sleepy', written by an earlier patch.\n\tdelay(0.04);\n");
  write("src/k.cu", std::string(kKernelText)
                        .replace(std::string(kKernelText).find("sleepy<<<1, BLOCK>>>"), 20,
                                 "kernelift_sleepy::launch(sleepy, 1, BLOCK)"));
  request.mep.launches.clear();
  std::string source = read("src/k.cu");
  candidate(3, 0);
  auto report = go();  // A patch of the source alone would have no effect.
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("runs embedded code (src/kernelift_sleepy.cuh)"), std::string::npos)
      << report.error().message;
  offer.promising.clear();
  candidate(1.005, 5);
  ApplyReport renewed = must_go();
  EXPECT_TRUE(renewed.kept()) << renewed.why;
  EXPECT_EQ(renewed.files, std::vector<std::string>{"src/kernelift_sleepy.cuh"});
  EXPECT_NE(read("src/kernelift_sleepy.cuh").find("delay(0.01)"), std::string::npos);
  EXPECT_EQ(read("src/k.cu"), source);
}

TEST_F(EmbedApply, RefusesToOverwriteAFileOfTheSameName) {
  candidate(1.005, 5);
  write("src/kernelift_sleepy.cuh", "// mine\n");
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("already exists and is not the launcher of 'sleepy'"), std::string::npos)
      << report.error().message;
  EXPECT_EQ(read("src/kernelift_sleepy.cuh"), "// mine\n");
}

TEST_F(EmbedApply, DistinguishesItsKernelFromAStaticKernelOfTheSameNameInAnotherFile) {
  // The kernel of src/other.cu has a launcher, in the same folder as src/k.cu.
  ScannedKernel other = request.scan->kernels[0];
  other.id = "feedbeef", other.definition.file = "src/other.cu";
  request.scan->kernels.push_back(other);
  write("src/other.cu", "void host(float* a) { kernelift_sleepy::launch(sleepy, 1, 64)(a); }\n");
  const std::string theirs = "// Tuned code for the kernel 'sleepy', written by an earlier patch.\n";
  write("src/kernelift_sleepy.cuh", theirs);
  candidate(1.005, 5);
  // Only the planned patch is examined, because the toy build knows only the plain name.
  tuner::RunTrial& trial = offer.promising[0];
  auto embedded = offer.make_embedded(trial);
  ASSERT_TRUE(embedded.ok());
  auto patch = plan_patch({request.mep, request.original, trial.candidate, &*request.scan, root, &*embedded});
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  std::string own = "kernelift_sleepy_" + request.mep.kernel_id;
  EXPECT_NE(patch->diff().find(own + "::launch(sleepy, 1, BLOCK)(a)"), std::string::npos) << patch->diff();
  EXPECT_NE(patch->diff().find("namespace " + own + " {"), std::string::npos);
  EXPECT_EQ(patch->diff().find("--- a/src/kernelift_sleepy.cuh"), std::string::npos);
  // The kernel's source may be patched in spite of the other kernel's launcher.
  EXPECT_TRUE(plan_patch({request.mep, request.original, trial.candidate, &*request.scan, root, nullptr}).ok());
}

}  // namespace
}  // namespace kernelift::reintegrate
