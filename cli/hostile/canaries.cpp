// See canaries.h.
#include "cli/hostile/canaries.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <random>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

std::string random_word(size_t letters) {
  std::random_device random;
  std::string word;
  while (word.size() < letters) word += "abcdefghijklmnopqrstuvwxyz"[random() % 26];
  return word;
}

int signal_pipe = -1;
extern "C" void tell_signal(int number) {
  const auto byte = static_cast<unsigned char>(number);
  (void)!write(signal_pipe, &byte, 1);
}

/// The canary process: waits, and tells of every signal that can be caught.
[[noreturn]] void wait_for_signals(int tell, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  signal_pipe = tell;
  for (int number = 1; number < NSIG; ++number)
    if (number != SIGKILL && number != SIGSTOP) std::signal(number, tell_signal);
  tell_signal(0);  // They are all installed.
  sigset_t none;
  sigemptyset(&none);
  for (;;) sigsuspend(&none);
}

}  // namespace

Result<std::unique_ptr<Canaries>> Canaries::plant(const fs::path& folder) {
  std::unique_ptr<Canaries> all(new Canaries(folder));
  Canaries& made = *all;
  made.owner_ = getpid();
  made.key_ = "sk-canary-" + random_word(30), made.mark_ = "mark-" + random_word(10);
  std::error_code code;
  for (auto& sub : {made.home(), made.work(), folder / "files"}) fs::create_directories(sub, code);
  if (code) return environment_error("cannot create " + folder.string() + ": " + code.message());
  const fs::path secret = folder / "files" / "secret.h", planted = folder / "files" / "planted";
  KERNELIFT_TRY(write_atomically(secret, "#define SECRET_KEY " + made.key_ + "\n"));
  KERNELIFT_TRY(write_atomically(folder / "files" / "kept", std::string_view("as it was\n")));

  made.listener_ = sandbox::Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (!made.listener_ || bind(made.listener_.get(), any, size) != 0 || listen(made.listener_.get(), 8) != 0 ||
      getsockname(made.listener_.get(), any, &size) != 0)
    return environment_error(std::string("cannot listen on the loopback interface: ") + std::strerror(errno));
  made.places_ = {{"FILE", planted.string()},
                  {"KEPT", (folder / "files" / "kept").string()},
                  {"SECRET", secret.string()},
                  {"PORT", std::to_string(ntohs(address.sin_port))},
                  {"MARK", made.mark_}};
  sched_getaffinity(0, sizeof made.own_cores_, &made.own_cores_);
  KERNELIFT_TRY(made.start_process());
  made.planted_ = made.listing();
  return all;
}

Canaries::~Canaries() {
  if (process_ <= 0 || owner_ != getpid()) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

Status Canaries::start_process() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return environment_error(std::string("pipe: ") + std::strerror(errno));
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) wait_for_signals(ends[1], parent);
  close(ends[1]);
  signals_ = sandbox::Descriptor(ends[0]);
  if (process_ < 0) return environment_error(std::string("fork: ") + std::strerror(errno));
  constexpr int kMilliseconds = 10'000;
  pollfd ready{signals_.get(), POLLIN, 0};
  unsigned char byte;
  if (poll(&ready, 1, kMilliseconds) != 1 || read(signals_.get(), &byte, 1) != 1)
    return environment_error("a process that was started does not answer");
  sched_getaffinity(process_, sizeof cores_, &cores_);
  places_["PID"] = std::to_string(process_);
  return done();
}

std::map<std::string, std::string> Canaries::listing() const {
  std::map<std::string, std::string> found;
  std::error_code code;
  for (auto& entry : fs::recursive_directory_iterator(folder_, code)) {
    struct stat about{};
    if (lstat(entry.path().c_str(), &about) != 0) continue;
    const bool folder = S_ISDIR(about.st_mode);  // Its time changes with what it holds, which is listed anyway.
    found[entry.path().lexically_relative(folder_).string()] =
        std::to_string(about.st_mode) +
        (folder ? ""
                : " " + std::to_string(about.st_size) + " " + std::to_string(about.st_mtim.tv_sec) + "." +
                      std::to_string(about.st_mtim.tv_nsec));
  }
  return found;
}

std::vector<std::string> Canaries::disturbed() {
  std::vector<std::string> what;
  auto now = listing();
  for (auto& [name, state] : now)
    if (!planted_.contains(name)) {
      what.push_back("wrote the file " + name);
      std::error_code ignored;
      fs::remove_all(folder_ / name, ignored);
    } else if (planted_[name] != state) {
      what.push_back("changed " + name);
    }
  for (auto& [name, state] : planted_)
    if (!now.contains(name)) what.push_back("removed " + name);
  planted_ = listing();

  while (true) {
    sandbox::Descriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!caller) break;
    what.push_back("connected to a listener on the loopback interface");
  }

  unsigned char numbers[64];
  for (ssize_t got; (got = read(signals_.get(), numbers, sizeof numbers)) > 0;)
    for (ssize_t i = 0; i < got; ++i) what.push_back("sent signal " + std::to_string(numbers[i]) + " to a process");
  int status = 0;
  cpu_set_t cores{};
  if (waitpid(process_, &status, WNOHANG | WUNTRACED) == process_) {
    what.push_back(WIFSIGNALED(status) ? "killed a process of the user by signal " + std::to_string(WTERMSIG(status))
                                       : "stopped a process of the user");
    if (!WIFSIGNALED(status)) kill(process_, SIGKILL), waitpid(process_, nullptr, 0);
    if (Status started = start_process(); !started.ok()) what.push_back(started.error().message);
  } else if (sched_getaffinity(process_, sizeof cores, &cores) == 0 && !CPU_EQUAL(&cores, &cores_)) {
    what.push_back("changed the cores on which a process of the user may run");
    sched_setaffinity(process_, sizeof cores_, &cores_);
  }
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 && !CPU_EQUAL(&cores, &own_cores_)) {
    what.push_back("changed the cores on which Kernelift may run");
    sched_setaffinity(0, sizeof own_cores_, &own_cores_);
  }
  if (getpriority(PRIO_PROCESS, static_cast<id_t>(process_)) != getpriority(PRIO_PROCESS, 0))
    what.push_back("changed the priority of a process of the user");
  return what;
}

bool Canaries::holds_key(std::string_view text) const {
  constexpr size_t kPart = 12;  // Of the random letters: no text holds so many of them by chance.
  for (size_t at = key_.find_last_of('-') + 1; at + kPart <= key_.size(); ++at)
    if (text.find(std::string_view(key_).substr(at, kPart)) != text.npos) return true;
  return false;
}

}  // namespace kernelift::cli
