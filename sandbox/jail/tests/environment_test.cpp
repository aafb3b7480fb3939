// Variables of the user, keys above all, and the memory of a process that works for a candidate.
#include "sandbox/jail/environment.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "core/base/process.h"
#include "sandbox/jail/fork_server.h"

namespace kernelift::sandbox {
namespace {

constexpr const char* kSecret = "KERNELIFT_TEST_API_KEY";
constexpr const char* kOther = "KERNELIFT_TEST_REMARK";
constexpr char kMask = 0x55;  // The scan's own copy of what it looks for must not be found.

std::string masked(std::string text) {
  for (char& c : text) c ^= kMask;
  return text;
}

struct Mapping {
  const char *begin = nullptr, *end = nullptr;
};

std::vector<Mapping> readable_memory() {
  std::vector<Mapping> all;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char rights[8] = "";
    if (std::sscanf(line.c_str(), "%llx-%llx %7s", &begin, &end, rights) != 3 || rights[0] != 'r') continue;
    if (line.find("[v") != line.npos || end - begin > (1ull << 32)) continue;
    all.push_back({reinterpret_cast<const char*>(begin), reinterpret_cast<const char*>(end)});
  }
  return all;
}

/// How often the text occurs in memory, whole or without its first bytes.
__attribute__((no_sanitize_address, no_sanitize_thread)) size_t occurrences(const std::vector<Mapping>& memory,
                                                                            const std::string& text_masked) {
  constexpr size_t kTail = 12;
  const char* wanted = text_masked.data() + text_masked.size() - kTail;
  size_t count = 0;
  for (const Mapping& mapping : memory)
    for (const char* at = mapping.begin; at + kTail <= mapping.end; ++at) {
      size_t same = 0;
      while (same < kTail && at[same] == static_cast<char>(wanted[same] ^ kMask)) ++same;
      count += same == kTail;
    }
  return count;
}

/// Runs in a process of its own, whose first environment holds both variables; see the test below.
TEST(Environment, DISABLED_IsLookedForInAJailedWorker) {
  const std::string secret = masked(std::getenv(kSecret)), remark = masked(std::getenv(kOther));
  {
    // Copies that a program makes: of the value, by setenv, and one that is freed.
    std::string kept(std::getenv(kSecret)), freed = std::string("Authorization: ") + std::getenv(kSecret);
    setenv("KERNELIFT_TEST_TOKEN", kept.c_str(), 1);
    setenv("KERNELIFT_TEST_TOKEN", kept.c_str(), 1);
  }
  std::string still_there(std::getenv(kSecret));
  ASSERT_GE(occurrences(readable_memory(), secret), 3u) << "the scan finds what is there";
  ASSERT_GE(occurrences(readable_memory(), remark), 1u);

  auto fork_server = ForkServer::start({"kl-test", {}, [&](Channel& channel, WorkerCell& cell) {
                                          report_faults_to(&cell.fault);
                                          const std::vector<Mapping> memory = readable_memory();
                                          if (!enter_jail({}).ok()) return;
                                          size_t found = occurrences(memory, secret);
                                          channel.send(1, std::to_string(found) + " and " +
                                                              std::to_string(occurrences(memory, remark)) + " " +
                                                              (getenv("PATH") ? "with" : "without") + " a path");
                                        }});
  ASSERT_TRUE(fork_server.ok());
  auto worker = (*fork_server)->spawn();
  ASSERT_TRUE(worker.ok());
  Frame frame = worker->channel().receive(after(std::chrono::seconds(120)));
  EXPECT_EQ(frame.body, "0 and 0 with a path") << worker->end();
}

TEST(Environment, OfTheUserIsNowhereInTheMemoryOfAJailedWorker) {
  ProcessOptions options;
  // Made here, because a text in this program would be in every process's memory.
  std::random_device random;
  auto text = [&](const char* what) {
    return what + std::to_string(random()) + "-" + std::to_string(random()) + "-" + std::to_string(random());
  };
  options.environment = {{kSecret, text("canary-")}, {kOther, text("remark-")}};
  auto run = run_process({"/proc/self/exe", "--gtest_also_run_disabled_tests",
                          "--gtest_filter=Environment.DISABLED_IsLookedForInAJailedWorker"},
                         options);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->exit_code, 0) << run->out << run->err;
}

TEST(Environment, IsForgottenAlsoWhereAMappingCannotBeReadThroughout) {
  setenv(kSecret, "canary-7c0fe1d2903b55aa", 1);
  // Readable by its rights, and a bus error where the file has no bytes; a page of it holds a copy.
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int file = memfd_create("mapping", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(page)), 0);
  auto* mapping = static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
  ASSERT_NE(mapping, MAP_FAILED);
  std::strcpy(mapping + page / 2, std::getenv(kSecret));
  auto fork_server = ForkServer::start({"kl-test", {}, [mapping, page](Channel& channel, WorkerCell&) {
                                          channel.send(1, mapping[page / 2 + 4] == 0 ? "gone" : "still there");
                                        }});
  auto worker = (*fork_server)->spawn();
  ASSERT_TRUE(worker.ok()) << worker.error().message;
  EXPECT_EQ(worker->channel().receive(after(std::chrono::seconds(60))).body, "gone");
  munmap(mapping, 4 * page), close(file);
  unsetenv(kSecret);
}

TEST(Environment, OfAWorkerIsNotInItsFileOfProcEither) {
  setenv(kSecret, "canary-5c1d9f27a3b8e604", 1);
  auto fork_server = ForkServer::start({"kl-test", {}, [](Channel& channel, WorkerCell&) {
                                          std::ifstream file("/proc/self/environ"), line("/proc/self/cmdline");
                                          std::string text, name;
                                          std::getline(file, text), std::getline(line, name);
                                          channel.send(1, name.substr(0, name.find('\0')) + "|" +
                                                              (text.find("canary") == text.npos ? "" : text));
                                        }});
  auto worker = (*fork_server)->spawn();
  EXPECT_EQ(worker->channel().receive(after(std::chrono::seconds(60))).body, "kl-test|");
  unsetenv(kSecret);
}

TEST(Environment, OfAProgramThatIsStartedForACandidateHasNoKeys) {
  ProcessOptions options;
  options.environment = {{kSecret, "canary"}, {"FURTHER", "kept"}};
  options.prepare = [] {
    const char* further[] = {"FURTHER"};
    narrow_environment(further);
    return done();
  };
  auto run = run_process({"env"}, options);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out.find("canary"), std::string::npos);
  EXPECT_NE(run->out.find("FURTHER=kept"), std::string::npos);
  EXPECT_NE(run->out.find("PATH="), std::string::npos);
}

TEST(Environment, OfACandidatesProcessNamesTheFoldersOfCudasLibraries) {
  ProcessOptions options;
  options.environment = {{"KERNELIFT_CUDA_LIBRARIES", "/opt/cuda/lib"}};
  options.prepare = [] {
    narrow_environment({});
    return done();
  };
  auto run = run_process({"env"}, options);
  ASSERT_TRUE(run.ok());
  EXPECT_NE(run->out.find("KERNELIFT_CUDA_LIBRARIES=/opt/cuda/lib"), std::string::npos);
}

}  // namespace
}  // namespace kernelift::sandbox
