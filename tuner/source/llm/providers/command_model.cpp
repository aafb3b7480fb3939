// See command_model.h.
#include "tuner/source/llm/providers/command_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kQuoted = 200;  ///< Characters of the program's error output that are shown.

/// The id of a child, which the child itself writes: run_process() tells it only when the child has ended.
class SharedId {
 public:
  SharedId()
      : id_(static_cast<std::atomic<pid_t>*>(
            mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  SharedId(const SharedId&) = delete;
  ~SharedId() {
    if (ok()) munmap(id_, sizeof(std::atomic<pid_t>));
  }
  bool ok() const { return id_ != MAP_FAILED; }
  void write() { id_->store(getpid()); }
  pid_t get() const { return id_->load(); }

 private:
  std::atomic<pid_t>* id_;
};

Status take_as_stdin(const std::filesystem::path& file) {
  const int from = ::open(file.c_str(), O_RDONLY);
  if (from < 0 || dup2(from, 0) < 0) return environment_error("the prompt cannot be read");
  ::close(from);
  return done();
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> CommandModel::open(const std::string& command) {
  KERNELIFT_ASSIGN(auto words, split_command(command));
  if (words.empty()) return usage_error("--llm command: names no program");
  if (!find_program(words[0])) return environment_error("--llm command: there is no program '" + words[0] + "'");
  return std::unique_ptr<LanguageModel>(new CommandModel(std::move(words)));
}

ModelReply CommandModel::ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) {
  auto folder = TemporaryFolder::create("prompt");
  if (!folder.ok()) return {std::move(folder).error(), 0};
  const auto prompt = folder->path() / "prompt.txt";
  if (Status written = write_atomically(prompt, std::string_view(one_text(request))); !written.ok())
    return {std::move(written).error(), 0};
  SharedId child;
  if (!child.ok()) return {environment_error("no memory to follow the program with"), 0};
  ProcessOptions process;
  process.output_limit = kLargestAnswer;
  process.timeout = std::chrono::milliseconds(static_cast<int64_t>(limits.seconds * 1000));
  process.prepare = [&] {
    child.write();
    return take_as_stdin(prompt);
  };
  std::atomic<bool> ended = false;
  std::thread ender([&] {
    while (!ended && !stop) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    // In a process group of its own, so that what it has started ends, too.
    while (!ended) {
      if (const pid_t id = child.get()) kill(-id, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  auto ran = run_process(words_, process);
  ended = true;
  ender.join();
  if (stop) return {environment_error("stopped"), 1};
  if (!ran.ok()) return {std::move(ran).error(), 0};
  if (!ran->ok()) {
    const std::string said = shown_line(without_secrets(ran->err.empty() ? ran->out : ran->err), kQuoted);
    return {environment_error("'" + words_[0] + "' " + ran->describe() +
                              (said.empty() ? " and said nothing" : " and said: " + said)),
            1};
  }
  return {plain_answer(request, std::move(ran->out)), 1};
}

}  // namespace kernelift::tuner
