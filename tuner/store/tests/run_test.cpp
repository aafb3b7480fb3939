// Tests of the run database: everything is read back, damage is reported in one sentence, a second writer is refused.
#include "tuner/store/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "core/base/file.h"
#include "core/base/shown/secrets.h"
#include "core/tests/expression_literal.h"
#include "tuner/search/trials.h"
#include "tuner/store/database.h"
#include "tuner/store/export.h"
#include "tuner/store/tests/run_of_format_1.h"
#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

using RunStore = Run;  // testing::Test has a private Run of its own.

using testing::HasSubstr;

class RunFile : public testing::Test {
 protected:
  RunMeta meta() {
    RunMeta made;
    made.mep = "/meps/k", made.mep_hash = "abc", made.kernel = "k<3>", made.device = "cpu", made.seed = 7;
    made.tiers = {"params"};
    return made;
  }
  Candidate candidate(const std::string& source, const std::string& tier, int64_t block) {
    Candidate made;
    made.source = source, made.tier = tier, made.values = {{"B", block}};
    return made;
  }
  RunStore filled() {
    RunStore run = std::move(*RunStore::create(file_, meta()));
    EXPECT_TRUE(run.record(candidate("s", "baseline", 64), fake_ok(1), {}, 0.5).ok());
    EXPECT_TRUE(run.record(candidate("s", "params", 128), fake_ok(1.5), {1}, 1).ok());
    EXPECT_TRUE(
        run.record(candidate("t", "source", 64), fake_failure(Outcome::Wrong, "bad \xff byte"), {1, 2}, 2).ok());
    Candidate flags = candidate("s", "compiler", 64);
    flags.recipe.level = "O1";
    EXPECT_TRUE(run.record(flags, fake_ok(2), {2}, 3).ok());
    return run;
  }

  TemporaryFolder folder_ = *TemporaryFolder::create("run");
  std::filesystem::path file_ = folder_.path() / "k-1.klrun";
};

TEST_F(RunFile, IsReadBackCompletely) {
  { RunStore run = filled(); }
  RunStore run = std::move(*RunStore::open(file_));
  auto trials = *run.history();
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_EQ(trials[2].parents, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(trials[2].verdict.outcome, Outcome::Wrong);
  EXPECT_EQ(trials[1].candidate.values.at("B"), 128);
  EXPECT_EQ(trials[2].candidate.source, "t");
  EXPECT_EQ(run.meta().kernel, "k<3>");
  EXPECT_EQ((*run.baseline())->id, 1);
}

TEST_F(RunFile, KeepsTheStepsOfACandidate) {
  Candidate made = candidate("u", "source", 64);
  made.add_step(
      {.origin = Step::Origin::Rule,
       .rule = "restrict_pointers",
       .place = "parameters of k",
       .parameters = {{"ldg", 1}},
       .summary = "__restrict__ and __ldg",
       .premises = {Premise::no_overlap({"x", "y"}, 3), Premise::holds("n > 0"_e), {"no divisor is denormal"}}});
  {
    RunStore run = filled();
    ASSERT_TRUE(run.record(made, fake_ok(1.2), {1}, 4).ok());
  }
  EXPECT_EQ(RunStore::open(file_)->history()->back().candidate.steps, made.steps);
}

TEST_F(RunFile, BestApplicableExcludesRecipes) {
  RunStore run = filled();
  EXPECT_EQ((*run.best())->id, 4);
  EXPECT_EQ((*run.best(true))->id, 2);
}

TEST_F(RunFile, ConfirmedFiguresReplaceScreenedOnes) {
  RunStore run = filled();
  ASSERT_TRUE(run.record_confirmation(4, fake_ok(1.1)).ok());
  ASSERT_TRUE(run.record_confirmation(2, fake_ok(1.3)).ok());
  EXPECT_EQ((*run.best())->id, 2);
}

TEST_F(RunFile, PrefersTheShortestOfPatchesWithIndistinguishableGains) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  auto record = [&](const std::string& source, const std::string& tier, const Verdict& verdict) {
    EXPECT_TRUE(run.record(candidate(source, tier, 64), verdict, {}, 1).ok());
  };
  record("a\nb\n", "baseline", fake_ok(1));
  record("a\nb1\nb2\nb3\n", "source", fake_noisy(1.20, 1.18, 1.22));
  record("a\nb1\n", "source", fake_noisy(1.19, 1.17, 1.21));
  record("a\nb2\n", "source", fake_noisy(1.12, 1.10, 1.14));
  record("a\nb\n", "params", fake_noisy(1.0, 0.8, 1.3));
  EXPECT_EQ((*run.best(true))->candidate.source, "a\nb1\n");
  EXPECT_EQ((*run.best(false))->figures().speedup(), 1.20) << "the length of a patch does not matter there";
}

TEST_F(RunFile, RefusesASecondWriter) {
  RunStore run = filled();
  auto second = RunStore::resume(file_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("another kernelift"));
  EXPECT_TRUE(RunStore::open(file_).ok());
}

TEST_F(RunFile, RefusesToOverwriteARun) {
  { RunStore run = filled(); }
  EXPECT_THAT(RunStore::create(file_, meta()).error().message, HasSubstr("--resume"));
}

TEST_F(RunFile, IsCreatedByOneOfSeveralProcessesThatTry) {
  for (int round = 0; round < 5; ++round) {
    auto file = folder_.path() / ("race-" + std::to_string(round) + ".klrun");
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      pid_t child = fork();
      if (child == 0) _exit(RunStore::create(file, meta()).ok() ? 0 : 1);
      children.push_back(child);
    }
    int created = 0, status = 0;
    for (pid_t child : children)
      created += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    EXPECT_EQ(created, 1);
    EXPECT_TRUE(RunStore::open(file).ok());
  }
}

TEST_F(RunFile, LeavesNothingBehindIfItCannotBeCreated) {
  pid_t child = fork();
  if (child == 0) {
    // Like a disk that is full after the first page.
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(RunStore::create(file_, meta()).ok() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the run was created in spite of the limit";
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << std::filesystem::directory_iterator(folder_.path())->path();
}

TEST_F(RunFile, AsksForAnotherFolderIfItsOwnCannotBeCreated) {
  std::ofstream(folder_.path() / "runs") << "a file";
  auto run = RunStore::create(folder_.path() / "runs" / "k-1.klrun", meta());
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("choose a writable place with --state DIR"));
}

TEST_F(RunFile, AdvisesResumeOnlyForAnExistingRun) {
  for (auto [mode, advice] :
       {std::pair{Database::Mode::Create, "start again"}, std::pair{Database::Mode::ReadWrite, "--resume"}}) {
    auto database = Database::open(file_, mode);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->execute("PRAGMA max_page_count=2").ok());
    Status full = database->execute("CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES(zeroblob(100000))");
    ASSERT_FALSE(full.ok());
    EXPECT_THAT(full.error().message, HasSubstr(advice));
  }
}

TEST_F(RunFile, RefusesAFileOfANewerFormat) {
  { RunStore run = filled(); }
  std::fstream(file_, std::ios::in | std::ios::out | std::ios::binary).seekp(63).put(9);
  auto before = *read_bytes(file_);
  auto run = RunStore::resume(file_);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("newer Kernelift"));
  EXPECT_EQ(*read_bytes(file_), before);
}

TEST_F(RunFile, RefusesATextFile) {
  ASSERT_TRUE(write_atomically(file_, std::string_view("hello")).ok());
  EXPECT_THAT(RunStore::open(file_).error().message, HasSubstr("is no run file"));
}

TEST_F(RunFile, NamesAMissingFile) {
  EXPECT_THAT(RunStore::open(file_).error().message, HasSubstr("k-1.klrun: no such run file"));
}

TEST_F(RunFile, DamageIsAnErrorOrHarmless) {
  { RunStore run = filled(); }
  auto good = *read_bytes(file_);
  int refused = 0;
  for (size_t cut = 0; cut < good.size(); cut += good.size() / 40) {
    std::filesystem::remove(file_.string() + "-wal");
    ASSERT_TRUE(write_atomically(file_, std::span(good).first(cut)).ok());
    auto run = RunStore::open(file_);
    refused += !run.ok();
  }
  EXPECT_GE(refused, 35);
  int reported = 0;
  for (size_t at = 100; at < good.size(); at += good.size() / 60) {
    auto damaged = good;
    damaged[at] ^= std::byte{0x55};
    ASSERT_TRUE(write_atomically(file_, damaged).ok());
    auto run = RunStore::open(file_);
    auto trials = run.ok() ? run->history() : Result<std::vector<RunTrial>>(std::move(run).error());
    if (trials.ok()) EXPECT_EQ(trials->size(), 4u) << "trials are missing without an error; byte " << at;
    else EXPECT_THAT(trials.error().message, HasSubstr("k-1.klrun"));
    reported += !trials.ok();
  }
  EXPECT_GT(reported, 0);
}

TEST_F(RunFile, NumbersNewRunsAfterTheHighest) {
  EXPECT_EQ(RunStore::next_path(folder_.path(), "k").filename(), "k-1.klrun");
  std::filesystem::create_directories(folder_.path() / "runs");
  for (auto* name : {"k-2.klrun", "k-10.klrun", "k-x.klrun", "kk-40.klrun"})
    std::ofstream(folder_.path() / "runs" / name);
  EXPECT_EQ(RunStore::next_path(folder_.path(), "k").filename(), "k-11.klrun");
  EXPECT_EQ(RunStore::latest_path(folder_.path(), "k").filename(), "k-10.klrun");
}

TEST_F(RunFile, ExportsWhatTheTrialReaderReads) {
  RunStore run = filled();
  for (auto* format : {"t4", "cachefile"}) {
    auto trials = parse_trials(export_run(run, format)->dump(), format);
    ASSERT_TRUE(trials.ok()) << trials.error().message;
    EXPECT_EQ(trials->results.size(), 4u);
    EXPECT_EQ(trials->failures, 1u);
    EXPECT_DOUBLE_EQ(trials->optimum, 0.5);
  }
}

TEST_F(RunFile, ExportsConfirmedFigures) {
  RunStore run = filled();
  ASSERT_TRUE(run.record_confirmation(4, fake_ok(1.25)).ok());
  auto t4 = *export_run(run, "t4");
  EXPECT_DOUBLE_EQ(t4["results"][3]["measurements"][0]["value"], 1 / 1.25);
  EXPECT_DOUBLE_EQ(parse_trials(export_run(run, "cachefile")->dump(), "c")->optimum, 1 / 1.5);
}

TEST_F(RunFile, ExportsTimeouts) {
  RunStore run = filled();
  ASSERT_TRUE(run.record(candidate("u", "source", 64), fake_failure(Outcome::TimedOut), {1}, 4).ok());
  EXPECT_EQ((*export_run(run, "t4"))["results"][4]["invalidity"], "timeout");
}

TEST_F(RunFile, RecordsTheVersionThatCreatedIt) {
  { RunStore run = filled(); }
  EXPECT_THAT(RunStore::open(file_)->meta().kernelift, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST_F(RunFile, ExportsAllTrialsAsJson) {
  RunStore run = filled();
  auto json = *export_run(run, "json");
  EXPECT_EQ(json["format"], "kernelift-run");
  EXPECT_EQ(json["trials"].size(), 4u);
}

TEST_F(RunFile, ListsTheExportFormats) {
  RunStore run = filled();
  EXPECT_THAT(export_run(run, "xml").error().message, HasSubstr("t4, cachefile and json"));
}

class RunFileOfFormat1 : public RunFile {
 protected:
  RunFileOfFormat1() {
    auto database = Database::open(file_, Database::Mode::Create);
    EXPECT_TRUE(database.ok() && database->execute(kRunOfFormat1).ok());
  }
  /// user_version in the file's header.
  int version() const { return std::to_integer<int>((*read_bytes(file_))[63]); }
};

TEST_F(RunFileOfFormat1, GivesTheSameFacts) {
  auto run = RunStore::open(file_);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(version(), 1) << "reading must not change the file";
  auto trials = run->history();
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  ASSERT_EQ(trials->size(), 3u);
  const Verdict& original = (*trials)[0].verdict;
  EXPECT_EQ(original.resources.registers, 32u);
  EXPECT_EQ(original.largest_ulps, 2);
  EXPECT_FALSE(original.image.identity || original.built_by || original.by_clang || original.embedded);
  EXPECT_FALSE(original.resources.threads || original.resources.occupancy);

  const Verdict& screened = (*trials)[1].verdict;
  EXPECT_NEAR(screened.speedup(), 1.5, 1e-9);
  EXPECT_EQ(screened.image.identity, ImageIdentity{2718281828459045});
  EXPECT_EQ(screened.image.clang_identity, ImageIdentity{3141592653589793});
  EXPECT_EQ(screened.image.spill_bytes, 8u);
  EXPECT_EQ(screened.resources.registers, 40u);
  EXPECT_EQ(screened.resources.local_bytes, 16u);
  EXPECT_EQ(screened.resources.shared_bytes, 2048u);
  EXPECT_EQ(screened.resources.threads, 256u);
  EXPECT_EQ(screened.resources.occupancy, 0.75);
  EXPECT_EQ(screened.throttled_samples, 5);
  EXPECT_EQ(screened.built_by, BuiltBy::Application);
  ASSERT_TRUE(screened.by_clang);
  EXPECT_EQ(screened.by_clang->speedup, 1.75);
  EXPECT_EQ(screened.by_clang->speedup_low, 1.7);
  EXPECT_NEAR(screened.by_clang->seconds, 571.5e-6, 1e-12);
  EXPECT_NEAR(screened.by_clang->baseline_seconds, 1e-3, 1e-12);
  EXPECT_FALSE(screened.embedded);

  ASSERT_TRUE((*trials)[1].confirmed && (*trials)[1].confirmed->embedded);
  const RaceFigures& embedded = *(*trials)[1].confirmed->embedded;
  EXPECT_EQ(embedded.speedup, 1.6);
  EXPECT_EQ(embedded.speedup_low, 1.55);
  EXPECT_NEAR(embedded.seconds, 625e-6, 1e-12);
  EXPECT_NEAR(embedded.baseline_seconds, 1e-3, 1e-12);

  const Verdict& wrong = (*trials)[2].verdict;
  EXPECT_EQ(wrong.image.code_bytes, 4096u);
  EXPECT_EQ(wrong.image.fiber_kernels, 1u);
  EXPECT_EQ(wrong.built_by, BuiltBy::Clang);
  EXPECT_FALSE(wrong.largest_ulps);
  EXPECT_EQ((*run->best(true))->id, 2);
}

TEST_F(RunFileOfFormat1, NamesRulesAsTheyAreCalledToday) {
  auto trials = *RunStore::open(file_)->history();
  EXPECT_TRUE(trials[0].candidate.steps.empty());
  EXPECT_EQ(trials[0].candidate.note(), "as recorded");
  EXPECT_EQ(trials[1].candidate.proposer, "rules/unroll_and_jam");
  EXPECT_EQ(trials[1].candidate.steps, std::vector{Step::described("jam neighbours along x (x 2, y 1, z 1)")});
}

TEST_F(RunFileOfFormat1, IsContinuedInTodaysFormat) {
  {
    auto run = RunStore::resume(file_);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_EQ(version(), kRunVersion) << "older versions must refuse the rows that are added";
    Verdict verdict = fake_ok(1.7);
    verdict.image.identity = ImageIdentity::of("code");
    verdict.largest_ulps = 1;
    ASSERT_TRUE(run->record(candidate("u", "source", 64), verdict, {2}, 3).ok());
  }
  auto run = RunStore::open(file_);
  ASSERT_TRUE(run.ok()) << run.error().message;
  auto trials = run->history();
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  ASSERT_EQ(trials->size(), 4u);
  EXPECT_EQ((*trials)[1].verdict.image.identity, ImageIdentity{2718281828459045});
  EXPECT_EQ((*trials)[3].verdict.image.identity, ImageIdentity::of("code"));
}

/// As another user, to whom everything in the folder is read-only; root ignores permissions. The child's exit code.
template <class Work>
int as_nobody(const std::filesystem::path& folder, Work&& work) {
  using std::filesystem::perms;
  for (auto& entry : std::filesystem::directory_iterator(folder))
    std::filesystem::permissions(entry, perms::owner_read | perms::group_read | perms::others_read);
  std::filesystem::permissions(folder, perms(0555));
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (getuid() == 0 && setuid(kNobody) != 0) _exit(100);
    _exit(access(folder.c_str(), W_OK) == 0 ? 101 : work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::filesystem::permissions(folder, perms(0755));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(RunFile, IsReadInAFolderInWhichNothingCanBeWritten) {
  { RunStore run = filled(); }
  EXPECT_EQ(as_nobody(folder_.path(),
                      [&] {
                        auto run = RunStore::open(file_);
                        if (!run.ok()) return std::fprintf(stderr, "%s\n", run.error().message.c_str()), 1;
                        auto document = export_run(*run, "json");
                        return document.ok() && (*document)["trials"].size() == 4 ? 0 : 2;
                      }),
            0);
}

TEST_F(RunFile, IsReadThereWithWhatAKilledWriterLeftInItsLog) {
  const pid_t writer = fork();
  if (writer == 0) {
    RunStore run = filled();
    kill(getpid(), SIGKILL);
  }
  waitpid(writer, nullptr, 0);
  ASSERT_GT(std::filesystem::file_size(file_.string() + "-wal"), 0u);
  std::filesystem::remove(file_.string() + "-shm");  // A copy of the run lacks it.
  auto anybodys = *TemporaryFolder::create("anybodys");
  std::filesystem::permissions(anybodys.path(), std::filesystem::perms::all);
  EXPECT_EQ(as_nobody(folder_.path(),
                      [&] {
                        setenv("TMPDIR", anybodys.path().c_str(), 1);
                        auto run = RunStore::open(file_);
                        if (!run.ok()) return std::fprintf(stderr, "%s\n", run.error().message.c_str()), 1;
                        auto trials = run->history();
                        return trials.ok() && trials->size() == 4 ? 0 : 2;
                      }),
            0);
}

TEST_F(RunFile, HoldsNoSecret) {
  keep_secret("run-canary-31337-x");
  {
    RunStore run = std::move(*RunStore::create(file_, meta()));
    Candidate made = candidate("// run-canary-31337-x", "source", 64);
    made.steps = {Step::described("read run-canary-31337-x")};
    ASSERT_TRUE(run.record(made, fake_failure(Outcome::Wrong, "assert run-canary-31337-x"), {}, 1).ok());
    ASSERT_TRUE(run.put_state("llm", "run-canary-31337-x").ok());
    auto trials = run.history();
    ASSERT_TRUE(trials.ok()) << trials.error().message;
    EXPECT_EQ((*trials)[0].verdict.detail, "assert [secret]");
  }
  for (auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(read_text(entry.path())->find("canary"), std::string::npos) << entry.path();
}

TEST_F(RunFile, KeepsTheStateOfProposers) {
  RunStore run = filled();
  ASSERT_TRUE(run.put_state("llm", "{\"tokens\": 12}").ok());
  EXPECT_EQ(*run.get_state("llm"), "{\"tokens\": 12}");
  EXPECT_EQ(*run.get_state("other"), "");
  EXPECT_EQ(run.states()->at("llm"), "{\"tokens\": 12}");
}

}  // namespace
}  // namespace kernelift::tuner
