// A run whose model is asked is killed with kill -9 again and again: islands, choice of model and prompt, hypotheses
// and budget go on as in a run that was not.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/source/evolution/population.h"
#include "tuner/store/run.h"
#include "tuner/tests/fakes/mep_folder.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {
namespace {

class KilledEvolution : public testing::Test {
 protected:
  void tune(const std::filesystem::path& file, int evaluations, int kill_at = 0) {
    std::filesystem::create_directories(file.parent_path());
    std::vector<std::string> words{(executable_folder() / "evolving").string(), mep_.folder.path().string(),
                                   file.string(), std::to_string(evaluations)};
    if (kill_at > 0) words.push_back(std::to_string(kill_at));
    const pid_t child = fork();
    if (child == 0) {
      std::vector<char*> pointers;
      for (auto& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (kill_at > 0) EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    else EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  struct Told {
    std::vector<std::string> trials;
    std::map<std::string, std::string> states;
    std::string islands;
  };
  static Told told(const std::filesystem::path& file) {
    Told all;
    auto run = Run::open(file);
    Population population(7);
    const auto trials = *run->history();
    for (auto& trial : trials) {
      std::string text = trial.candidate.key().hex() + " " + trial.candidate.note() + " from";
      for (int64_t parent : trial.parents) text += " " + std::to_string(parent);
      all.trials.push_back(std::move(text));
      population.add(trial);
    }
    for (Family family : kFamilies)
      for (auto& [cell, member] : population.island(family))
        all.islands += std::string(name(family)) + " " + cell.text() + " #" + std::to_string(member.id) + "\n";
    const auto states = *run->states();
    for (auto& [key, value] : states)
      if (key.starts_with("llm")) all.states[key] = value;
    // The time for which calls were waited is the machine's.
    if (Json use = Json::parse(all.states["llm"]); use.is_object())
      use.erase("seconds"), all.states["llm"] = use.dump();
    return all;
  }

  MepFolder mep_;
  TemporaryFolder folder_ = *TemporaryFolder::create("evolving");
};

TEST_F(KilledEvolution, GoesOnExactlyAsARunThatWasNotKilled) {
  const auto whole = folder_.path() / "whole" / "k-1.klrun", killed = folder_.path() / "killed" / "k-1.klrun";
  tune(whole, 40);
  for (int at : {1, 4, 5, 13, 22, 31}) tune(killed, 40, at);
  tune(killed, 40);
  const Told expected = told(whole), got = told(killed);
  EXPECT_EQ(got.trials, expected.trials);
  EXPECT_EQ(got.states, expected.states) << "requests with model, kind, parent, card and cost; cards; budget";
  EXPECT_EQ(got.islands, expected.islands);
  EXPECT_GT(expected.trials.size(), 30u);
}

TEST_F(KilledEvolution, NeverExceedsItsBudgetHoweverOftenItIsKilled) {
  const auto file = folder_.path() / "k-1.klrun";
  for (int at : {3, 9, 20, 30}) tune(file, 1000, at);
  tune(file, 1000);
  EXPECT_EQ(Json::parse(told(file).states["llm"])["calls"], 80);
}

}  // namespace
}  // namespace kernelift::tuner
