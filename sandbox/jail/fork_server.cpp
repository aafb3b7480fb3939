// The fork server's loop and its client side; see fork_server.h. The only request is to fork. The reply contains the
// worker's socket, a pidfd and the shared cell's memory; when the fork server reaps the worker, it writes the worker's
// exit status into the cell. In a process namespace the fork server is process 1, so that nothing in it outlives the
// fork server; the process that the main process forked then only waits for it.
#include "sandbox/jail/fork_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "core/base/wire.h"
#include "sandbox/jail/environment.h"
#include "sandbox/jail/namespaces.h"
#include "sandbox/jail/system_calls.h"

namespace kernelift::sandbox {
namespace {

constexpr uint32_t kSpawn = 1, kSpawned = 2;
constexpr auto kSpawnLimit = std::chrono::seconds(60);  // The first spawn waits for the warm-up.
constexpr auto kEndLimit = std::chrono::seconds(10);
constexpr int kNoFork = 71, kSignalled = 128;  // Exit codes of a fork server that could not begin, or was ended.
constexpr size_t kShownOutput = 300;           // Bytes of what a worker printed, in the sentence about its end.

template <size_t N>
void put(char (&into)[N], std::string_view text) {
  into[text.copy(into, N - 1)] = 0;
}
template <size_t N>
std::string get(const char (&from)[N]) {
  return std::string(from, strnlen(from, N));
}

WorkerCell* map_cell(int fd) {
  void* at = mmap(nullptr, sizeof(WorkerCell), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<WorkerCell*>(at);
}

/// A worker as its fork server knows it.
struct Running {
  WorkerCell* cell = nullptr;
  Descriptor output;  ///< What it prints.
  size_t kept = 0;    ///< Bytes of it that are in the cell.

  /// Reads what there is, so that a worker never waits; what is beyond the cell's room is dropped.
  void read_output() {
    char buffer[65536];
    for (int reads = 0; output && reads < 16; ++reads) {
      const ssize_t got = read(output.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) output.reset();
      if (got <= 0) return;
      const size_t room = sizeof cell->output - 1 - kept, taken = std::min(room, static_cast<size_t>(got));
      std::memcpy(cell->output + kept, buffer, taken);
      kept += taken;
    }
  }
};

/// The fork server process. Never returns.
class ForkServerProcess {
 public:
  ForkServerProcess(ForkServer::Plan plan, Channel control, WorkerCell& own)
      : plan_(std::move(plan)), control_(std::move(control)), own_(own) {}

  [[noreturn]] void run() {
    report_faults_to(&own_.fault);
    own_.set_stage("forgetting the environment");
    forget_environment(plan_.name);
    own_.set_stage("entering its namespaces");
    prctl(PR_SET_NAME, plan_.name.c_str());
    setsid();  // No terminal.
    close_foreign_descriptors();
    // The owner decides; of the process that waits, too, with whose end this one ends.
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
    if (plan_.apart) separate();
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child_ended, &unblocked_);
    sigdelset(&unblocked_, SIGCHLD);
    Descriptor ended(signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK));
    own_.set_stage("preparing the jail's filters");
    prepare_filters();
    own_.set_stage("warming up");
    if (plan_.warm_up) plan_.warm_up();
    own_.set_stage("waiting for requests");
    for (;;) {
      std::vector<pollfd> items = {{control_.fd(), POLLIN, 0}, {ended.get(), POLLIN, 0}};
      for (auto& [child, worker] : workers_) items.push_back({worker.output.get(), POLLIN, 0});
      if (poll(items.data(), items.size(), -1) < 0 && errno != EINTR) _exit(1);
      size_t item = 2;
      for (auto& [child, worker] : workers_)
        if (items[item++].revents) worker.read_output();
      if (items[1].revents) reap(ended.get());
      if (!items[0].revents) continue;
      Frame frame = control_.receive(after(std::chrono::seconds(1)), 0);
      if (!frame || frame.type != kSpawn) _exit(0);
      spawn();
    }
  }

 private:
  void close_foreign_descriptors() {
    int nowhere = open("/dev/null", O_RDWR);
    for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, standard);
    close_descriptors_but({control_.fd()});
  }

  /// Continues in the first process of a new process namespace, if there may be one.
  void separate() {
    const Namespaces entered = enter_namespaces();
    if (entered.mount) {
      if (!plan_.scratch.empty()) (void)mount_memory(plan_.scratch, plan_.scratch_bytes);
      for (auto& folder : plan_.hidden) (void)mount_memory(folder, 0);
    }
    if (!entered.process) return;
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (entered.mount) (void)show_own_processes_only();
      return;
    }
    prctl(PR_SET_NAME, "kl-waiting");
    control_.close();
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    // The owner learns how it ended; the same signal would write this process's memory to a core file.
    _exit(child < 0 ? kNoFork : WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status));
  }

  void spawn() {
    auto ends = Channel::pair();
    int output[2] = {-1, -1};
    if (pipe2(output, O_CLOEXEC) != 0) output[0] = output[1] = -1;
    Descriptor printed(output[0]), printing(output[1]);
    Descriptor memory(memfd_create("kernelift-cell", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    WorkerCell* cell = nullptr;
    // Sealed, because a worker that shortened the file would make its owner's reads fault.
    if (memory && ftruncate(memory.get(), sizeof(WorkerCell)) == 0 &&
        fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
      cell = map_cell(memory.get());
    pid_t self = getpid(), child = ends.ok() && cell && printing ? fork() : -1;
    if (child == 0) {
      control_.close();
      memory.reset();
      report_faults_to(&cell->fault);
      munmap(&own_, sizeof own_);
      dup2(printing.get(), STDOUT_FILENO), dup2(printing.get(), STDERR_FILENO);
      printing.reset(), printed.reset();
      // What a worker says of itself is not for the candidates that it runs in children of its own.
      madvise(cell, sizeof *cell, MADV_DONTFORK);
      // Other workers' cells and output are not this one's.
      for (auto& [other, worker] : workers_) munmap(worker.cell, sizeof(WorkerCell));
      workers_.clear();
      std::signal(SIGINT, SIG_IGN);
      sigprocmask(SIG_SETMASK, &unblocked_, nullptr);
      ends->first.close();
      if (bind_to_parent(self)) plan_.work(ends->second, *cell);
      _exit(0);
    }
    if (child < 0) {
      if (cell) munmap(cell, sizeof *cell);
      control_.send(kSpawned, WireWriter().number(0).take());
      return;
    }
    Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    fcntl(printed.get(), F_SETFL, O_NONBLOCK);
    workers_[child] = {cell, std::move(printed)};
    int descriptors[] = {ends->first.fd(), process.get(), memory.get()};
    if (!control_.send(kSpawned, WireWriter().number(child).take(), descriptors)) _exit(0);
  }

  void reap(int signals) {
    signalfd_siginfo ignored;
    while (read(signals, &ignored, sizeof ignored) > 0) {}
    int status = 0;
    for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) > 0;) {
      auto found = workers_.find(child);
      if (found == workers_.end()) continue;
      found->second.read_output();
      WorkerCell* cell = found->second.cell;
      cell->wait_status = status;
      cell->ended.store(1);
      munmap(cell, sizeof(WorkerCell));
      workers_.erase(found);
    }
  }

  ForkServer::Plan plan_;
  Channel control_;
  WorkerCell& own_;  ///< What this process does and how it ends.
  sigset_t unblocked_;
  std::map<pid_t, Running> workers_;
};

bool wait_readable(int fd, std::chrono::milliseconds limit) {
  pollfd item{fd, POLLIN, 0};
  int ready;
  while ((ready = poll(&item, 1, static_cast<int>(limit.count()))) < 0 && errno == EINTR) {}
  return ready > 0;
}

}  // namespace

void WorkerCell::set_stage(std::string_view text) { put(stage, text); }
void WorkerCell::set_item(std::string_view text) { put(item, text); }
void WorkerCell::set_message(std::string_view text) { put(message, text); }
std::string WorkerCell::read_stage() const { return get(stage); }
std::string WorkerCell::read_item() const { return get(item); }
std::string WorkerCell::read_message() const { return get(message); }
std::string WorkerCell::read_output() const {
  std::string line;
  for (unsigned char c : get(output)) {
    const bool plain = c > ' ' && c < 0x7f;
    if (plain) line += static_cast<char>(c);
    else if (!line.empty() && line.back() != ' ') line += ' ';
  }
  return line;
}

Worker::Worker(Worker&& other) noexcept { *this = std::move(other); }
Worker& Worker::operator=(Worker&& other) noexcept {
  std::swap(channel_, other.channel_), std::swap(process_, other.process_);
  std::swap(pid_, other.pid_), std::swap(cell_, other.cell_);
  return *this;
}
Worker::~Worker() {
  if (cell_) {
    signal(SIGKILL);
    munmap(cell_, sizeof *cell_);
  }
}

void Worker::signal(int number) const {
  if (process_) syscall(SYS_pidfd_send_signal, process_.get(), number, nullptr, 0);
}

bool Worker::alive() const { return process_ && !wait_readable(process_.get(), std::chrono::milliseconds(0)); }

int Worker::wait_status() const { return cell_ && cell_->ended.load() ? cell_->wait_status : 0; }

std::string Worker::end() {
  bool killed = alive();
  signal(SIGKILL);
  wait_readable(process_.get(), kEndLimit);
  // The pidfd is readable once the process is a zombie; the fork server writes its status a moment later.
  for (int tries = 0; !cell_->ended.load() && tries < 2000; ++tries) usleep(500);
  FaultReport fault = cell_->fault;
  if (fault.signal != 0) return fault.text();
  int status = wait_status();
  if (killed) return "killed";
  const std::string how =
      WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit code " + std::to_string(WEXITSTATUS(status));
  const std::string printed = cell_->read_output().substr(0, kShownOutput);
  return printed.empty() ? how : how + ", having printed: " + printed;
}

Result<std::unique_ptr<ForkServer>> ForkServer::start(Plan plan) {
  KERNELIFT_ASSIGN(auto ends, Channel::pair());
  std::unique_ptr<ForkServer> fork_server(new ForkServer);
  fork_server->cell_ = static_cast<WorkerCell*>(shared_memory(sizeof(WorkerCell)));
  if (!fork_server->cell_) return environment_error("out of memory for a worker process");
  pid_t child = fork();
  if (child < 0) return environment_error(std::string("cannot start a worker process: ") + std::strerror(errno));
  if (child == 0) {
    ends.first.close();
    ForkServerProcess(std::move(plan), std::move(ends.second), *fork_server->cell_).run();
  }
  fork_server->control_ = std::move(ends.first);
  fork_server->pid_ = child;
  return fork_server;
}

ForkServer::~ForkServer() {
  control_.close();
  // The process exits when its socket is closed. If its warm-up does not end, it is killed after 200 ms.
  for (int tries = 0; pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0; ++tries) {
    if (tries == 200) kill(pid_, SIGKILL);
    usleep(1000);
  }
  if (cell_) munmap(cell_, sizeof *cell_);
}

std::string ForkServer::how_it_died() {
  for (int tries = 0; pid_ > 0 && tries < 200; ++tries) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - kSignalled;
      const FaultReport fault = cell_->fault;
      died_ = fault.signal != 0 ? fault.text()
              : signal > 0      ? strsignal(signal)
                                : "exit code " + std::to_string(WEXITSTATUS(status));
      if (const std::string stage = cell_->read_stage(); !stage.empty()) died_ += ", while " + stage;
      char code[48];
      std::snprintf(code, sizeof code, ", at +0x%llx of this program", static_cast<unsigned long long>(fault.code));
      if (fault.code > 0) died_ += code;
    } else {
      usleep(1000);
    }
  }
  return died_;
}

bool ForkServer::has_died() {
  std::lock_guard lock(mutex_);
  return !died_.empty();
}

Result<Worker> ForkServer::spawn() {
  std::lock_guard lock(mutex_);
  auto gone = [&] {
    const std::string how = how_it_died();
    return environment_error("the process that starts workers " +
                             (how.empty() ? std::string("does not answer") : "has died (" + how + ")") +
                             "; run `kernelift doctor` to see what the jail lacks");
  };
  if (!died_.empty()) return gone();
  if (!control_.send(kSpawn, {})) return gone();
  Frame frame = control_.receive(after(kSpawnLimit), 64);
  if (!frame || frame.type != kSpawned) return gone();
  WireReader reader(frame.body);
  auto pid = static_cast<pid_t>(reader.number());
  if (pid <= 0 || frame.descriptors.size() != 3)
    return environment_error("no further worker process can be started: too many processes, or out of memory");
  Worker worker;
  worker.cell_ = map_cell(frame.descriptors[2].get());
  if (!worker.cell_) return environment_error("out of memory for a worker process");
  worker.channel_ = Channel(std::move(frame.descriptors[0]));
  worker.process_ = std::move(frame.descriptors[1]);
  // The fork server's number for it may be of another process namespace.
  const pid_t here = process_of(worker.process_.get());
  worker.pid_ = here > 0 ? here : pid;
  return worker;
}

}  // namespace kernelift::sandbox
