// Output streams and the state folder of a verb.
#include <unistd.h>

#include <iostream>

#include "cli/verb.h"
#include "core/base/file.h"

namespace kernelift::cli {

std::filesystem::path Context::state_folder() const {
  if (!state.empty()) return std::filesystem::absolute(state);
  return find_state_folder(std::filesystem::current_path());
}

void Context::emit(const Json& document) const {
  if (json) std::cout << document.dump(1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

void Context::say(const std::string& text) const { (json ? std::cerr : std::cout) << text << std::endl; }
void Context::note(const std::string& text) const { std::cerr << text << std::endl; }
bool Context::terminal() const { return isatty(2); }

}  // namespace kernelift::cli
