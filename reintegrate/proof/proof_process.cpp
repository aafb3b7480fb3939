// The child sends one message and ends without running destructors, which belong to its parent. It reads the unit's
// headers, wherever the application's commands say that they lie, so that every file can be read in its jail; what it
// found leaves it as a sentence only.
#include "reintegrate/proof/proof_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/base/wire.h"
#include "sandbox/jail/environment.h"
#include "sandbox/jail/jail.h"
#include "sandbox/jail/namespaces.h"

namespace kernelift::reintegrate {
namespace {

using Clock = std::chrono::steady_clock;

/// Processor time for all units of a patch together; the largest that were seen need a hundredth. On a machine that is
/// busy with other things it takes longer.
constexpr unsigned kSeconds = 300;
constexpr std::chrono::seconds kLongest{2 * kSeconds};
constexpr uint64_t kBytes = 16ull << 30;

Status confine_child(pid_t parent, int pipe) {
  if (!sandbox::bind_to_parent(parent)) _exit(1);
  const int nowhere = open("/dev/null", O_RDWR);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, standard);
  sandbox::close_descriptors_but({pipe});
  sandbox::forget_environment("kl-proof");
  (void)sandbox::enter_namespaces();  // As far as there are any.
  sandbox::JailSpec jail;
  jail.kind = sandbox::JailKind::Compiler, jail.readable = {"/"};
  jail.extra_memory_bytes = kBytes, jail.cpu_seconds = kSeconds;
  return enter_jail(jail);
}

[[noreturn]] void send(const Result<HostProof>& proof, int pipe) {
  WireWriter message;
  if (proof.ok()) message.number(1).number(proof->units).real(proof->seconds).texts(proof->notes).texts(proof->files);
  else message.number(0).number(static_cast<uint64_t>(proof.error().exit)).text(proof.error().message);
  _exit(write_all(pipe, message.take()) ? 0 : 1);
}

/// Until the child has said all, or there is no time left.
std::string read_all(int pipe, Clock::time_point end) {
  std::string bytes;
  char buffer[1 << 14];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return bytes;
    ssize_t got = read(pipe, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
  }
}

Result<HostProof> decoded(const std::string& bytes) {
  WireReader reader(bytes);
  if (reader.number() == 0) {
    auto exit = static_cast<Exit>(reader.number());
    return Error{reader.text(), exit};
  }
  HostProof proof;
  proof.units = reader.number(), proof.seconds = reader.real(), proof.notes = reader.texts();
  proof.files = reader.texts();
  return proof;
}

}  // namespace

Result<HostProof> in_own_process(const std::function<Result<HostProof>()>& work, std::chrono::seconds longest) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return environment_error(std::string("no pipe could be made: ") + std::strerror(errno));
  longest = std::min(longest, kLongest);
  const auto end = Clock::now() + longest;
  const pid_t self = getpid();
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Status confined = confine_child(self, ends[1]);
    send(confined.ok() ? work() : Result<HostProof>(std::move(confined).error()), ends[1]);
  }
  int reason = errno;
  close(ends[1]);
  std::string bytes = child > 0 ? read_all(ends[0], end) : std::string();
  close(ends[0]);
  if (child < 0) return environment_error(std::string("no process could be started: ") + std::strerror(reason));
  const bool late = Clock::now() >= end;
  if (late) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !bytes.empty()) return decoded(bytes);
  std::string how = late                          ? "it was not done after " + std::to_string(longest.count()) + " s"
                    : !WIFSIGNALED(status)        ? "it ended without an answer"
                    : WTERMSIG(status) == SIGXCPU ? "it was still busy after " + std::to_string(kSeconds) + " s"
                                                  : strsignal(WTERMSIG(status));
  return refused("that the host program stays as it is cannot be proven: the compiler failed on the patch (" + how +
                 ")");
}

}  // namespace kernelift::reintegrate
