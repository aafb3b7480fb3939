// See model_key.h.
#include "tuner/source/llm/providers/model_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/base/shown/secrets.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLargestKeyFile = 4096;
constexpr const char* kBlanks = " \t\r\n";

struct KeyFile {
  explicit KeyFile(const char* path) : fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~KeyFile() {
    if (fd >= 0) ::close(fd);
  }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  const int fd;
};

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(kBlanks) + 1);
  text.erase(0, text.find_first_not_of(kBlanks));
  return text;
}

/// "" if the variable is not set.
std::string variable_of(const std::string& name) {
  const char* set = std::getenv(name.c_str());
  return set ? trimmed(set) : "";
}

/// `variable` names the file in errors.
Result<std::string> key_in_file(const std::string& path, const std::string& variable) {
  const KeyFile file(path.c_str());
  auto wrong = [&](const std::string& what) {
    return environment_error("the file that " + variable + " names " + what);
  };
  if (file.fd < 0)
    return wrong(std::string("cannot be read: ") + std::strerror(errno) +
                 "; the variable holds the path of a file with the key, not the key");
  struct stat about{};
  if (::fstat(file.fd, &about) != 0) return wrong(std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return wrong("is no regular file; write the key into a file");
  if (about.st_uid != ::geteuid() && about.st_uid != 0)
    return wrong("belongs to another user, who may change it; make a copy of your own");
  if (about.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH))
    return wrong("can be read or written by others than its owner; run: chmod 600 \"$" + variable + "\"");
  std::vector<char> bytes(kLargestKeyFile + 1);  // One more than a key may have.
  size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < bytes.size(); size += static_cast<size_t>(got))
    if (got = ::read(file.fd, bytes.data() + size, bytes.size() - size); got < 0)
      return wrong(std::string("cannot be read: ") + std::strerror(errno));
  std::string key = size > kLargestKeyFile ? "" : trimmed(std::string(bytes.data(), size));
  ::explicit_bzero(bytes.data(), bytes.size());
  if (size > kLargestKeyFile) return wrong("is larger than 4 kB; it must hold the key alone");
  if (key.empty()) return wrong("is empty; write the key into it");
  if (!std::ranges::all_of(key, [](char c) { return c > ' ' && c < '\x7f'; }))
    return wrong("has more than one word, or characters that no key has; it must hold the key alone, on one line");
  return key;
}

}  // namespace

Result<ModelKey> model_key(const ModelSpec& spec) {
  const std::string own = spec.key_variable(), of_file = own + "_FILE";
  ModelKey key{variable_of(own), own};
  if (const std::string path = variable_of(of_file); key.value.empty() && !path.empty()) {
    KERNELIFT_ASSIGN(key.value, key_in_file(path, of_file));
    key.variable = of_file;
  }
  keep_secret(key.value);
  if (key.value.empty() && !spec.own_server)
    return environment_error(own + " is not set; export it, name a file with the key in " + of_file +
                             ", or leave --llm away");
  return key;
}

}  // namespace kernelift::tuner
