// Where the processes that are timed run: equal code is equally fast only if its threads are equally placed.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

namespace fs = std::filesystem;

/// The numbers that are entries of a folder below /proc.
std::vector<pid_t> numbers_in(const fs::path& folder) {
  std::vector<pid_t> numbers;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
    if (const int number = std::atoi(at->path().filename().c_str()); number > 0) numbers.push_back(number);
  return numbers;
}

pid_t parent_of(pid_t process) {
  std::ifstream info("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5);
  return 0;
}

bool descends_from_this(pid_t process) {
  while (process > 1 && process != getpid()) process = parent_of(process);
  return process == getpid();
}

cpu_set_t processors_of(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(thread, sizeof set, &set);
  return set;
}

/// All threads of a process have one processor each, and together they have `count`.
bool has_each_in_its_place(pid_t process, int count) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (pid_t thread : numbers_in("/proc/" + std::to_string(process) + "/task")) {
    const cpu_set_t own = processors_of(thread);
    if (CPU_COUNT(&own) != 1) return false;
    CPU_OR(&all, &all, &own);
  }
  return CPU_COUNT(&all) == count;
}

TEST(Placement, WhatIsTimedHasEachThreadOnAProcessorOfItsOwn) {
  const cpu_set_t mine = processors_of(0);
  if (CPU_COUNT(&mine) < 2) GTEST_SKIP() << "there is one processor";
  MepFixture fixture = scale_mep(200'000);
  EvaluatorOptions options;
  options.few_candidates = true, options.most_rounds = 8;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  // The original has just been timed.
  int in_place = 0;
  for (pid_t process : numbers_in("/proc"))
    in_place += descends_from_this(process) && has_each_in_its_place(process, CPU_COUNT(&mine));
  EXPECT_GT(in_place, 0);
}

}  // namespace
}  // namespace kernelift::sandbox
