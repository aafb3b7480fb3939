// See exchange_model.h.
#include "tuner/source/llm/providers/exchange_model.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift::tuner {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPoll = std::chrono::milliseconds(50);
/// An answer that has not changed for so long is whole: editors and copies write in pieces.
constexpr auto kSettled = std::chrono::milliseconds(500);

/// An answer file as it was last seen.
struct Seen {
  uintmax_t size = 0;
  fs::file_time_type written;
  bool operator==(const Seen&) const = default;
};

std::optional<Seen> look_at(const fs::path& file) {
  std::error_code error;
  Seen seen{fs::file_size(file, error), {}};
  if (error) return std::nullopt;
  seen.written = fs::last_write_time(file, error);
  return error ? std::nullopt : std::optional(seen);
}

fs::path numbered(const fs::path& folder, int number, const char* what) {
  char name[32];
  std::snprintf(name, sizeof name, "%04d.%s.md", number, what);
  return folder / name;
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> ExchangeModel::open(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    return environment_error("--llm exchange: the folder " + folder.string() + " cannot be made");
  return std::unique_ptr<LanguageModel>(new ExchangeModel(folder));
}

Result<fs::path> ExchangeModel::offer(const std::string& prompt) {
  std::lock_guard hold(numbering_);
  int number = 1;
  for (std::error_code error; fs::exists(numbered(folder_, number, "prompt"), error); ++number)
    if (auto known = read_text(numbered(folder_, number, "prompt")); known.ok() && *known == prompt)
      return numbered(folder_, number, "answer");
  KERNELIFT_TRY(write_atomically(numbered(folder_, number, "prompt"), std::string_view(prompt)));
  return numbered(folder_, number, "answer");
}

ModelReply ExchangeModel::ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) {
  auto file = offer(one_text(request));
  if (!file.ok()) return {std::move(file).error(), 0};
  const auto begin = Clock::now();
  std::optional<Seen> last;
  Clock::time_point since = begin;
  while (!stop) {
    auto now = look_at(*file);
    if (now != last) last = now, since = Clock::now();
    if (now && Clock::now() - since >= kSettled) {
      if (now->size > kLargestAnswer)
        return {environment_error(file->string() + " is larger than an answer may be"), 1};
      auto text = read_text(*file);
      if (!text.ok()) return {std::move(text).error(), 1};
      return {plain_answer(request, *std::move(text)), 1};
    }
    if (Clock::now() - begin >= std::chrono::duration<double>(limits.seconds))
      return {environment_error(file->string() + " did not appear in time"), 1};
    std::this_thread::sleep_for(kPoll);
  }
  return {environment_error("stopped"), 1};
}

}  // namespace kernelift::tuner
