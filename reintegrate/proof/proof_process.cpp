// The child sends one message and ends without running destructors, which belong to its parent.
#include "reintegrate/proof/proof_process.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/base/wire.h"

namespace kernelift::reintegrate {
namespace {

/// Processor time for all units of a patch together; the largest that were seen need a hundredth.
constexpr rlim_t kSeconds = 300, kBytes = rlim_t(16) << 30;

void limit_child() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (auto [what, most] : {std::pair{RLIMIT_CPU, kSeconds}, {RLIMIT_AS, kBytes}, {RLIMIT_CORE, rlim_t(0)}}) {
    rlimit limit{};
    if (getrlimit(what, &limit) != 0) continue;
    limit.rlim_cur = std::min(limit.rlim_cur, most);
    setrlimit(what, &limit);
  }
}

[[noreturn]] void send(const Result<HostProof>& proof, int pipe) {
  WireWriter message;
  if (proof.ok()) message.number(1).number(proof->units).real(proof->seconds).texts(proof->notes);
  else message.number(0).number(static_cast<uint64_t>(proof.error().exit)).text(proof.error().message);
  _exit(write_all(pipe, message.take()) ? 0 : 1);
}

std::string read_all(int pipe) {
  std::string bytes;
  char buffer[1 << 14];
  for (;;) {
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
  return proof;
}

}  // namespace

Result<HostProof> in_own_process(const std::function<Result<HostProof>()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return environment_error(std::string("no pipe could be made: ") + std::strerror(errno));
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    limit_child();
    send(work(), ends[1]);
  }
  int reason = errno;
  close(ends[1]);
  std::string bytes = child > 0 ? read_all(ends[0]) : std::string();
  close(ends[0]);
  if (child < 0) return environment_error(std::string("no process could be started: ") + std::strerror(reason));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !bytes.empty()) return decoded(bytes);
  std::string how = !WIFSIGNALED(status)          ? "it ended without an answer"
                    : WTERMSIG(status) == SIGXCPU ? "it was still busy after " + std::to_string(kSeconds) + " s"
                                                  : strsignal(WTERMSIG(status));
  return refused("that the host program stays as it is cannot be proven: the compiler failed on the patch (" + how +
                 ")");
}

}  // namespace kernelift::reintegrate
