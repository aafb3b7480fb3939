// Test of the loop's own cost: a verdict costs as much after thousands of trials as after hundreds. Measured in
// allocated bytes, which would show a copy of all trials or keys, and not in time.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <numeric>

#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tests/fakes/mep_folder.h"
#include "tuner/tuner.h"

namespace {

thread_local size_t allocated = 0;

}  // namespace

void* operator new(size_t size) {
  allocated += size;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace kernelift::tuner {
namespace {

using RunStore = Run;  // testing::Test has a private Run of its own.

/// Proposes another source or another recipe each time, without end.
class Endless : public Proposer {
 public:
  std::string name() const override { return "endless"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History& history, size_t) override {
    int number = ++made_;
    Proposal proposal{history.baseline()->candidate, {history.baseline()->id}};
    if (number % 2) proposal.candidate.recipe.unroll_threshold = number, proposal.candidate.tier = "compiler";
    else proposal.candidate.source += "// " + std::to_string(number) + "\n", proposal.candidate.tier = "source";
    // As real proposers do in each call.
    EXPECT_LE(history.best_sources(16).size(), 16u);
    return {proposal};
  }

 private:
  int made_ = 0;
};

/// Answers at once: every fifth candidate fails, the others have different gains.
class Instant : public Evaluator {
 public:
  std::future<Evaluation> submit(Candidate candidate) override {
    int number = ++answered_;
    Verdict verdict = number % 5 ? fake_ok(1 + 0.2 / (1 + number * 7919 % 1009)) : fake_failure(Outcome::Wrong);
    verdict.image.identity = ImageIdentity{static_cast<uint64_t>(number)};
    std::promise<Evaluation> promise;
    promise.set_value(verdict);
    return promise.get_future();
  }
  Evaluation confirm(const Candidate&) override { return fake_ok(1.1); }

 private:
  int answered_ = 0;
};

TEST(TuningCost, OfAVerdictDoesNotGrowWithTheHistory) {
  constexpr size_t kWindow = 200, kVerdicts = 1600;
  MepFolder mep;
  auto folder = *TemporaryFolder::create("cost");
  RunMeta meta;
  meta.mep_hash = *hash_mep(mep.folder.path(), mep.mep);
  RunStore run = std::move(*RunStore::create(folder.path() / "k-1.klrun", meta));
  Instant evaluator;
  std::vector<std::unique_ptr<Proposer>> proposers;
  proposers.push_back(std::make_unique<Endless>());
  std::vector<size_t> after;
  after.reserve(2 * kVerdicts);
  TuneOptions options;
  options.evaluations = kVerdicts;
  options.progress = [&](const Progress& progress) {
    if (progress.message.empty()) after.push_back(allocated);
  };
  auto report = tune(mep.mep, mep.folder.path(), evaluator, run, std::move(proposers), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->tried, kVerdicts);
  ASSERT_GE(after.size(), kVerdicts);
  auto bytes = [&](size_t from) { return static_cast<double>(after[from + kWindow] - after[from]); };
  EXPECT_LT(bytes(kVerdicts - kWindow - 1), 1.2 * bytes(kWindow));
}

}  // namespace
}  // namespace kernelift::tuner
