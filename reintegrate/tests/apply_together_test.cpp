// Gains that show only together. The application prints how much work it does, so that nothing here depends on time:
// 10000 of its own, and what the kernels state.
#include "reintegrate/apply_together.h"

#include <csignal>

#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

constexpr double kWork = 200;  ///< Of each kernel.

class ApplyTogether : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    write("build.sh",
          "set -e\nmkdir -p out\necho built >> out/builds\nif grep -q broken src/*.cu; then exit 1; fi\n"
          "work=$(cat src/*.cu | awk 'BEGIN { sum = 10000 } match($0, /work\\([0-9]+/) "
          "{ sum += substr($0, RSTART + 5, RLENGTH - 5) } END { print sum }')\n"
          "printf '#!/bin/sh\\necho work = %s\\n' $work > out/app.new\nchmod +x out/app.new\nmv out/app.new out/app\n");
    for (auto* name : {"a", "b", "c", "d", "e", "f"}) write(source(name), text_of(name));
    make_git();
    request.check = "sh check.sh";
    write("check.sh", "true\n");
    shell("git add -A && git commit -q -m check");
    auto metric = Metric::parse("work = ([0-9]+)", "lower");
    ASSERT_TRUE(metric.ok());
    request.trial.metric = *metric;
    request.progress = [&](const std::string& line) { said += line + "\n"; };
  }

  static std::string source(const std::string& name) { return "src/" + name + ".cu"; }
  static std::string text_of(const std::string& name) {
    return "__global__ void " + name + "(float* x) {\n  work(" + std::to_string(int(kWork)) + ");\n}\n";
  }
  /// The change of a kernel after which it states this work; its gain in the MEP is what that promises.
  void change(const std::string& name, int work, const std::string& more = "") {
    KernelChange made;
    made.mep.kernel_key = name + "(float*)", made.mep.kernel_name = name, made.mep.kernel_id = name + name;
    made.mep.unit = source(name), made.mep.app_root = root.string();
    made.original = text_of(name);
    for (uint32_t line = 1; line <= 3; ++line) made.mep.origins.push_back({source(name), line});
    made.candidate.source = made.original;
    const std::string from = "work(" + std::to_string(int(kWork)) + ");";
    made.candidate.source.replace(made.original.find(from), from.size(),
                                  "work(" + std::to_string(work) + ");" + (more.empty() ? "" : "  // " + more));
    made.candidate.steps = {Step::described("less work in " + name)};
    made.candidate_id = static_cast<int64_t>(changes.size()) + 1;
    made.run_file = name + "-1.klrun";
    made.predicted.kernel_gain = kWork / work;
    auto planned = plan_patch({made.mep, made.original, made.candidate, nullptr, root, nullptr});
    ASSERT_TRUE(planned.ok()) << planned.error().message;
    made.planned = *planned;
    changes.push_back(std::move(made));
  }
  void must_go() {
    auto applied = apply_together(request, changes);
    ASSERT_TRUE(applied.ok()) << applied.error().message;
    report = *applied;
  }
  const TogetherKernel& kernel(const std::string& name) const {
    return *std::ranges::find(report.kernels, name, &TogetherKernel::kernel);
  }
  size_t builds() { return split_lines(read("out/builds")).size(); }

  std::vector<KernelChange> changes;
  TogetherReport report;
  std::string said;
};

TEST_F(ApplyTogether, KeepsInOneCommitWhatShowsOnlyTogether) {
  for (auto* name : {"a", "b", "c", "d"}) change(name, 100);  // 0.9 % each.
  auto alone = request;
  static_cast<KernelChange&>(alone) = changes[0];
  auto single = apply(alone);
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(single->outcome, ApplyOutcome::NotFaster) << single->why;

  must_go();
  EXPECT_TRUE(report.kept());
  EXPECT_NEAR(report.speedup(), 11200. / 10800, 1e-9);
  EXPECT_EQ(kernel("b").why, "kept together with a, c and d");
  EXPECT_EQ(report.trials.size(), 1u);
  EXPECT_EQ(shell("git rev-list --count main..HEAD"), "1\n");
  EXPECT_EQ(shell("git branch --show-current"), "kernelift/together-1\n");
  EXPECT_EQ(shell("git status --porcelain"), "");
  const std::string message = shell("git log -1 --format=%B");
  EXPECT_TRUE(message.starts_with("Tune 4 kernels together\n\na:\n- less work in a\n")) << message;
  EXPECT_NE(message.find("\n\nd:\n- less work in d\n"), std::string::npos) << message;
  EXPECT_NE(message.find("Kernelift-Run: a-1.klrun #1\n"), std::string::npos) << message;
  EXPECT_NE(message.find("Kernelift-Run: d-1.klrun #4\n"), std::string::npos) << message;
  EXPECT_EQ(report.way_back(), "git switch main");
  EXPECT_NE(read("out/app").find("work = 10800"), std::string::npos) << "the kept patch is what is built";
}

TEST_F(ApplyTogether, TheKernelThatBreaksTheCheckIsFoundAndTheOthersAreKept) {
  for (auto* name : {"a", "b", "c", "d", "e", "f"}) change(name, 100, name == std::string("d") ? "wrong" : "");
  write("check.sh", "! grep -q wrong src/*.cu\n"), shell("git commit -qam check");
  must_go();
  EXPECT_TRUE(report.kept());
  EXPECT_NE(kernel("d").why.find("dropped: it fails together with a, b and c: the application's check fails"),
            std::string::npos)
      << kernel("d").why;
  EXPECT_EQ(kernel("f").why, "kept together with a, b, c and e");
  EXPECT_LE(report.checks, 3u) << "by halving";
  EXPECT_EQ(shell("git diff --name-only main HEAD"), "src/a.cu\nsrc/b.cu\nsrc/c.cu\nsrc/e.cu\nsrc/f.cu\n");
}

TEST_F(ApplyTogether, OfTwoThatFailOnlyTogetherTheSmallerGainIsGivenUp) {
  for (auto* name : {"a", "b", "c", "d"}) {
    change(name, name == std::string("a") ? 150 : 50, "half");
    changes.back().predicted.kernel_share = 0.1;
  }
  // a gains least: with a and c both changed the check fails.
  write("check.sh", "! { grep -q half src/a.cu && grep -q half src/c.cu; }\n"), shell("git commit -qam check");
  must_go();
  EXPECT_TRUE(report.kept());
  EXPECT_FALSE(kernel("a").kept);
  EXPECT_TRUE(kernel("c").kept);
  EXPECT_NE(kernel("a").why.find("it fails together with b, c and d"), std::string::npos) << kernel("a").why;
}

TEST_F(ApplyTogether, AKernelThatDoesNotBuildCostsTheOthersNothing) {
  change("a", 100, "broken");
  for (auto* name : {"b", "c", "d"}) change(name, 100);
  must_go();
  EXPECT_TRUE(report.kept());
  EXPECT_NE(kernel("a").why.find("dropped: it fails by itself: the application does not build"), std::string::npos)
      << kernel("a").why;
  EXPECT_TRUE(kernel("b").kept);
}

TEST_F(ApplyTogether, EachHalfIsTriedWhereTheSumDisappoints) {
  for (auto* name : {"a", "b"}) change(name, 50);    // 1.3 % each.
  for (auto* name : {"c", "d"}) change(name, 2000);  // Much slower in the application.
  must_go();
  EXPECT_TRUE(report.kept());
  EXPECT_EQ(kernel("a").why, "kept together with b");
  EXPECT_NE(kernel("c").why.find("dropped: the application is not measurably faster"), std::string::npos)
      << kernel("c").why;
  EXPECT_EQ(report.trials.size(), 5u) << "all, a and b, c and d, c, d";
  EXPECT_EQ(shell("git rev-list --count main..HEAD"), "1\n");
  EXPECT_NE(read("out/app").find("work = 10900"), std::string::npos) << read("out/app");
}

TEST_F(ApplyTogether, TheSecondHalfIsCarriedOverToWhatTheFirstMade) {
  // All in one file: after the first half was kept, the lines of the second have moved.
  std::string both;
  for (auto* name : {"a", "b", "c", "d"}) both += text_of(name), std::filesystem::remove(root / source(name));
  write("src/all.cu", both), shell("git add -A && git commit -qm 'one file'");
  uint32_t line = 0;
  for (auto* name : {"a", "b", "c", "d"}) {
    KernelChange made;
    made.mep.kernel_key = name + std::string("(float*)"), made.mep.kernel_name = made.mep.kernel_id = name;
    made.mep.unit = "src/all.cu", made.mep.app_root = root.string(), made.original = text_of(name);
    for (int i = 0; i < 3; ++i) made.mep.origins.push_back({"src/all.cu", ++line});
    made.candidate.source = made.original;
    const bool slower = name == std::string("c");
    made.candidate.source.replace(made.original.find("  work(200);"), 12,
                                  slower ? "  work(800);" : "  // less\n  work(20);");
    auto planned = plan_patch({made.mep, made.original, made.candidate, nullptr, root, nullptr});
    ASSERT_TRUE(planned.ok()) << planned.error().message;
    made.planned = *planned;
    changes.push_back(std::move(made));
  }
  must_go();
  EXPECT_EQ(kernel("a").why, "kept together with b");
  EXPECT_EQ(kernel("d").why, "kept");
  EXPECT_FALSE(kernel("c").kept);
  EXPECT_EQ(shell("git rev-list --count main..HEAD"), "2\n");
  EXPECT_NE(read("src/all.cu").find("void c(float* x) {\n  work(200);\n}\n__global__ void d(float* x) {\n  // less\n"),
            std::string::npos)
      << read("src/all.cu");
}

TEST_F(ApplyTogether, NothingIsTriedIfTwiceTheSumIsTooSmall) {
  for (auto* name : {"a", "b"}) change(name, 100), changes.back().predicted.kernel_share = 0.002;
  must_go();
  EXPECT_FALSE(report.kept());
  EXPECT_NE(kernel("a").why.find("even twice the gain of 0.2 %"), std::string::npos) << kernel("a").why;
  EXPECT_FALSE(std::filesystem::exists(root / "out/builds"));
}

TEST_F(ApplyTogether, ChangesOfTheSameLinesAreNotPatchedTogether) {
  change("a", 50), change("a", 60), change("b", 50);
  changes[1].mep.kernel_name = "a2";
  must_go();
  EXPECT_EQ(kernel("a").why, "kept together with b");
  EXPECT_NE(kernel("a2").why.find("it does not go together with the others: line 2 of src/a.cu would have to change in "
                                  "two ways"),
            std::string::npos)
      << kernel("a2").why;
}

TEST_F(ApplyTogether, AnInterruptionRestoresAllFiles) {
  for (auto* name : {"a", "b", "c"}) change(name, 50);
  request.progress = [&](const std::string& line) {
    if (line.starts_with("checking with the patch")) raise(SIGINT);
  };
  must_go();
  EXPECT_TRUE(report.interrupted);
  EXPECT_FALSE(report.kept());
  EXPECT_EQ(read("src/a.cu"), text_of("a"));
  EXPECT_EQ(shell("git status --porcelain"), "");
}

TEST_F(ApplyTogether, AKillAtAnyWriteLeavesNoFileHalfPatched) {
  for (auto* name : {"a", "b", "c"}) change(name, 50);
  for (auto* when : {"building with the patch", "checking with the patch", "timing the two", "keeping the patch"}) {
    EXPECT_TRUE(is_killed_in([&] {
      request.progress = [&](const std::string& line) {
        if (line.starts_with(when)) raise(SIGKILL);
      };
      (void)apply_together(request, changes);
    })) << when;
    auto restored = roll_back_interrupted(request.state);
    ASSERT_TRUE(restored.ok()) << restored.error().message;
    for (auto* name : {"a", "b", "c"}) EXPECT_EQ(read(source(name)), text_of(name)) << when;
    EXPECT_EQ(shell("git status --porcelain"), "") << when;
  }
}

}  // namespace
}  // namespace kernelift::reintegrate
