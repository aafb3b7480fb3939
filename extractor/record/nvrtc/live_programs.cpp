// See live_programs.h.
#include "extractor/record/nvrtc/live_programs.h"

#include <optional>

namespace kernelift::record {
namespace {

std::string text_of(const char* text) { return text ? text : ""; }

std::string output(void* program, int (*size_of)(void*, size_t*), int (*get)(void*, char*)) {
  size_t size = 0;
  if (!size_of || !get || size_of(program, &size) != 0 || size == 0) return "";
  std::string bytes(size, '\0');
  return get(program, bytes.data()) == 0 ? bytes : "";
}

}  // namespace

void LivePrograms::created(void* program, const char* source, const char* name, int headers, const char* const* texts,
                           const char* const* names) {
  Live live;
  live.program.source = text_of(source);
  live.program.name = name ? name : "default_program";  // As NVRTC calls it then.
  for (int i = 0; i < headers && texts && names; ++i) live.program.headers[text_of(names[i])] = text_of(texts[i]);
  std::lock_guard lock(mutex_);
  live_[program] = std::move(live);
}

void LivePrograms::named(void* program, const char* expression) {
  std::lock_guard lock(mutex_);
  if (auto at = live_.find(program); at != live_.end() && expression) at->second.expressions.emplace_back(expression);
}

std::optional<RuntimeProgram> LivePrograms::compiled(void* program, int options, const char* const* texts,
                                                     const NvrtcReader& reader) {
  std::unique_lock lock(mutex_);
  auto at = live_.find(program);
  if (at == live_.end()) return std::nullopt;
  Live live = at->second;
  lock.unlock();
  for (int i = 0; i < options && texts; ++i) live.program.options.push_back(text_of(texts[i]));
  for (auto& expression : live.expressions) {
    const char* lowered = nullptr;
    if (reader.lowered_name && reader.lowered_name(program, expression.c_str(), &lowered) == 0 && lowered)
      live.program.names[expression] = lowered;
  }
  live.program.image = output(program, reader.size_of_cubin, reader.cubin);
  if (live.program.image.empty()) {
    live.program.image = output(program, reader.size_of_ptx, reader.ptx);
    while (live.program.image.ends_with('\0')) live.program.image.pop_back();
  }
  if (live.program.image.empty()) return std::nullopt;
  return std::move(live.program);
}

void LivePrograms::destroyed(void* program) {
  std::lock_guard lock(mutex_);
  live_.erase(program);
}

}  // namespace kernelift::record
