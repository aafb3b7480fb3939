// What is said of a machine that lacks a layer, on kernels and in containers that do lack it.
#include "sandbox/jail/layers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>

#include "sandbox/jail/fork_server.h"
#include "sandbox/jail/tests/lesser_kernel.h"

namespace kernelift::sandbox {
namespace {

/// What `say` returns in a process for which `lose` has taken something away.
std::string on_a_machine_that(const std::function<bool()>& lose, const std::function<std::string()>& say) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    std::string text = lose() ? say() : "nothing was lost";
    (void)!write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

std::string missing_layers() {
  std::string names;
  for (auto& layer : jail_layers())
    if (!layer.works) names += layer.name + (layer.fix.empty() ? " without a fix" : "") + ", ";
  return names;
}

std::string whether_candidates_run() {
  Status holds = require_jail();
  return holds.ok() ? "they run" : std::to_string(static_cast<int>(holds.error().exit)) + ": " + holds.error().message;
}

TEST(Layers, ThatWorkNeedNoFix) {
  auto layers = jail_layers();
  ASSERT_GE(layers.size(), 10u);
  for (auto& layer : layers) {
    EXPECT_EQ(layer.works, layer.fix.empty()) << layer.name;
    EXPECT_FALSE(layer.holds_back.empty()) << layer.name;
  }
}

TEST(Layers, CandidatesDoNotRunWithoutLandlock) {
  const std::string missing = on_a_machine_that(lose_landlock, missing_layers);
  for (const char* name : {"files, ", "network, ", "signals and sockets, ", "devices, "})
    EXPECT_NE(missing.find(name), std::string::npos) << missing;
  EXPECT_EQ(missing.find("system calls"), std::string::npos);
  const std::string said = on_a_machine_that(lose_landlock, whether_candidates_run);
  EXPECT_EQ(said.substr(0, 3), "3: ") << said;
  for (const char* words : {"files: ", "--allow-weak-jail", "5.13"}) EXPECT_NE(said.find(words), said.npos) << said;
}

TEST(Layers, CandidatesDoNotRunWithoutAFilterOfSystemCalls) {
  auto lose_seccomp = [] { return refuse_calls({{SYS_seccomp, ENOSYS}}); };
  const std::string said = on_a_machine_that(lose_seccomp, whether_candidates_run);
  EXPECT_EQ(said.substr(0, 3), "3: ") << said;
  EXPECT_NE(said.find("system calls: "), said.npos) << said;
}

TEST(Layers, CandidatesRunWithoutNamespacesWhichAreNamed) {
  EXPECT_EQ(on_a_machine_that(lose_namespaces, whether_candidates_run), "they run");
  const std::string missing = on_a_machine_that(lose_namespaces, missing_layers);
  for (const char* name : {"process namespace, ", "network namespace, ", "ipc namespace, ", "private disk, "})
    EXPECT_NE(missing.find(name), std::string::npos) << missing;
}

TEST(Layers, WorkersStartWithoutNamespacesAndWithoutLandlock) {
  for (auto& lose : {lose_namespaces, lose_landlock})
    EXPECT_EQ(on_a_machine_that(lose,
                                [] {
                                  auto fork_server =
                                      ForkServer::start({"kl-test", {}, [](Channel& channel, WorkerCell&) {
                                                           channel.send(1, enter_jail({}).ok() ? "confined" : "not");
                                                         }});
                                  auto worker = (*fork_server)->spawn();
                                  if (!worker.ok()) return worker.error().message;
                                  return worker->channel().receive(after(std::chrono::seconds(60))).body;
                                }),
              "confined");
}

}  // namespace
}  // namespace kernelift::sandbox
