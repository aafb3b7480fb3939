// See command_model.h.
#include "tuner/source/llm/providers/command_model.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/process_tree.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kQuotedOutput = 200;  ///< Characters of the program's error output that are shown.

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
  ProcessTree tree;
  ProcessOptions process;
  process.output_limit = kLargestAnswer;
  process.timeout = std::chrono::milliseconds(static_cast<int64_t>(limits.seconds * 1000));
  // By which what it leaves running is found.
  const std::pair<std::string, std::string> mark("KERNELIFT_MODEL_CALL", folder->path().string());
  process.environment.push_back(mark);
  process.prepare = tree.prepare([&] { return take_as_stdin(prompt); });
  std::atomic<bool> ended = false;
  std::thread ender([&] {
    while (!ended && !stop) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    while (!ended) tree.kill(), std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  auto ran = run_process(words_, process);
  ended = true;
  ender.join();
  end_processes_with(mark.first + "=" + mark.second);
  if (stop) return {environment_error("stopped"), 1};
  if (!ran.ok()) return {std::move(ran).error(), 0};
  if (!ran->ok()) {
    const std::string said = shown_line(without_secrets(ran->err.empty() ? ran->out : ran->err), kQuotedOutput);
    return {environment_error("'" + words_[0] + "' " + ran->describe() +
                              (said.empty() ? " and said nothing" : " and said: " + said)),
            1};
  }
  return {plain_answer(request, std::move(ran->out)), 1};
}

}  // namespace kernelift::tuner
