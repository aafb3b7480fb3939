// See transcript_folder.h.
#include "tuner/source/llm/transcript_folder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/base/file.h"
#include "core/base/shown/secrets.h"

namespace fs = std::filesystem;

namespace kernelift::tuner {

TranscriptFolder::TranscriptFolder(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error))
    last_ = std::max(last_, std::atoi(at->path().filename().c_str()));
}

Status TranscriptFolder::keep(const std::string& kind, const Json& transcript) {
  char name[64];
  std::snprintf(name, sizeof name, "%04d-%s.json", ++last_, kind.c_str());
  const std::string text = json_without_secrets(transcript).dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
  return write_atomically(folder_ / name, std::string_view(text));
}

}  // namespace kernelift::tuner
