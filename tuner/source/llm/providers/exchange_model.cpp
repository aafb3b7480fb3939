// See exchange_model.h.
#include "tuner/source/llm/providers/exchange_model.h"

#include <unistd.h>

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

/// Makes the file with all of its text, unless there is one of that name. False: there is.
Result<bool> create(const fs::path& file, const std::string& text) {
  const fs::path whole = file.string() + "." + std::to_string(getpid());
  KERNELIFT_TRY(write_atomically(whole, std::string_view(text)));
  std::error_code error;
  fs::create_hard_link(whole, file, error);
  std::error_code ignored;
  fs::remove(whole, ignored);
  if (error && error != std::errc::file_exists)
    return environment_error("--llm exchange: " + file.string() + " cannot be made: " + error.message());
  return !error;
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> ExchangeModel::open(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    return environment_error("--llm exchange: the folder " + folder.string() + " cannot be made");
  return std::unique_ptr<LanguageModel>(new ExchangeModel(folder));
}

fs::path ExchangeModel::file(int number, const char* ending) const {
  char name[32];
  std::snprintf(name, sizeof name, "%04d.%s", number, ending);
  return folder_ / name;
}

Result<int> ExchangeModel::offer(const ModelRequest& request) {
  std::lock_guard hold(numbering_);
  const std::string prompt = one_text(request);
  std::optional<int> late;
  std::error_code error;
  for (int number = 1;; ++number) {
    const bool prompted = fs::exists(file(number, "prompt.md"), error);
    const bool answered = fs::exists(file(number, "answer.md"), error);
    if (!prompted && answered) continue;  // To what, nobody knows.
    if (!prompted) {
      if (late) return *late;
      KERNELIFT_ASSIGN(const bool made, create(file(number, "prompt.md"), prompt));
      if (!made) continue;  // Another run's.
      KERNELIFT_TRY(write_atomically(file(number, "asked"), std::string_view(request.subject)));
      return number;
    }
    if (auto known = read_text(file(number, "prompt.md")); known.ok() && *known == prompt) return number;
    auto subject =
        answered && !late && !request.subject.empty() ? read_text(file(number, "asked")) : Result<std::string>("");
    if (subject.ok() && !subject->empty() && *subject == request.subject) late = number;
  }
}

ModelReply ExchangeModel::ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) {
  auto number = offer(request);
  if (!number.ok()) return {std::move(number).error(), 0};
  const fs::path answer = file(*number, "answer.md");
  const auto begin = Clock::now();
  std::optional<Seen> last;
  Clock::time_point since = begin;
  while (!stop) {
    auto now = look_at(answer);
    if (now != last) last = now, since = Clock::now();
    if (now && Clock::now() - since >= kSettled) {
      if (now->size > kLargestAnswer)
        return {environment_error(answer.string() + " is larger than an answer may be"), 1};
      auto text = read_text(answer);
      if (!text.ok()) return {std::move(text).error(), 1};
      std::error_code ignored;
      fs::rename(file(*number, "asked"), file(*number, "taken"), ignored);
      return {plain_answer(request, *std::move(text)), 1};
    }
    if (Clock::now() - begin >= std::chrono::duration<double>(limits.seconds))
      return {environment_error(answer.string() + " did not appear in time"), 1};
    std::this_thread::sleep_for(kPoll);
  }
  return {environment_error("stopped"), 1};
}

}  // namespace kernelift::tuner
