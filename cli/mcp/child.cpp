// See child.h.
#include "cli/mcp/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/executable.h"

namespace kernelift::cli::mcp {
namespace {

constexpr int kSignalled = 128;  ///< Shells add this to the signal that ended a command.
constexpr int kCannotRun = 126;

void close_file(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

/// In the forked child: becomes the program, or ends.
[[noreturn]] void become(std::vector<std::string> words, int in, int out, int err,
                         const std::function<Status()>& prepare) {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setpgid(0, 0);
  dup2(in, 0), dup2(out, 1), dup2(err, 2);
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const bool ready = prepare().ok();
  restore_descriptor_limit();
  if (ready) execv(pointers[0], pointers.data());
  _exit(kCannotRun);
}

}  // namespace

Result<std::unique_ptr<Child>> Child::start(EventLoop& loop, const std::vector<std::string>& words, Handlers handlers) {
  KERNELIFT_ASSIGN(std::filesystem::path program, executable());
  std::vector<std::string> argv{program.string()};
  argv.insert(argv.end(), words.begin(), words.end());
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  const bool piped = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
  std::unique_ptr<Child> child(new Child(loop, std::move(handlers)));
  const auto prepare = child->tree_.prepare();
  const pid_t process = piped ? fork() : -1;
  const int why = errno;
  if (process == 0) become(std::move(argv), in[0], out[1], err[1], prepare);
  close_file(in[0]), close_file(out[1]), close_file(err[1]);
  child->input_ = in[1], child->out_.fd = out[0], child->err_.fd = err[0];
  if (process < 0) return environment_error("cannot start a process: " + std::string(std::strerror(why)));
  child->process_ = process;
  child->process_file_ = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (child->process_file_ < 0)
    return environment_error("cannot watch a process: " + std::string(std::strerror(errno)) +
                             "; this needs Linux 5.3 or later");
  for (auto* stream : {&child->out_, &child->err_}) fcntl(stream->fd, F_SETFL, O_NONBLOCK);
  Child* self = child.get();
  loop.watch(self->out_.fd, [self] { self->read(self->out_, self->handlers_.out); });
  loop.watch(self->err_.fd, [self] { self->read(self->err_, self->handlers_.note); });
  loop.watch(self->process_file_, [self] { self->ended(); });
  return child;
}

Child::~Child() {
  close_input();
  if (process_ > 0) {
    tree_.kill();
    ::kill(process_, SIGKILL);  // The supervisor, which has nothing left to do.
    waitpid(process_, nullptr, 0);
  }
  close(out_), close(err_);
  if (process_file_ >= 0) loop_.forget(process_file_);
  close_file(process_file_);
}

void Child::end(std::unique_ptr<Child> child) {
  if (!child) return;
  child->unheard_ = true;
  EventLoop& loop = child->loop_;
  // Not now: this may be called by a handler, to which the child returns.
  loop.at(EventLoop::Clock::now(), [gone = std::shared_ptr<Child>(std::move(child))] {});
}

void Child::close(Stream& stream) {
  if (stream.fd >= 0) loop_.forget(stream.fd);
  close_file(stream.fd);
}

bool Child::write(const std::string& text) { return input_ >= 0 && write_all(input_, text); }
void Child::close_input() { close_file(input_); }

void Child::interrupt() {
  if (pid_t command = tree_.command(); process_ > 0 && command > 0) ::kill(command, SIGINT);
}

void Child::read(Stream& stream, const std::function<void(const std::string&)>& handler) {
  char buffer[1 << 16];
  while (stream.fd >= 0) {
    const ssize_t got = ::read(stream.fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 && (got == 0 || errno != EAGAIN)) close(stream);
    if (got <= 0) break;
    stream.lines.add({buffer, static_cast<size_t>(got)});
    while (auto line = stream.lines.next())
      if (handler && !unheard_) handler(line->text);
    if (static_cast<size_t>(got) < sizeof buffer) break;
  }
}

void Child::ended() {
  int status = 0;
  if (waitpid(process_, &status, WNOHANG) != process_) return;
  process_ = -1;
  loop_.forget(process_file_);
  // What it wrote before it ended; others that still have its pipes are not waited for.
  for (auto [stream, handler] : {std::pair{&out_, &handlers_.out}, std::pair{&err_, &handlers_.note}}) {
    read(*stream, *handler);
    if (!stream->lines.rest().empty() && *handler && !unheard_) (*handler)(stream->lines.rest());
    close(*stream);
  }
  if (unheard_) return;
  auto handler = std::move(handlers_.ended);
  handler(WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status));
}

}  // namespace kernelift::cli::mcp
