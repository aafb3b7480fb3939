// See access_token.h.
#include "cli/mcp/http/access_token.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/descriptor.h"
#include "core/base/file.h"

namespace kernelift::cli::mcp {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kShortest = 32;  ///< Characters; a token that the user chose may be any text without blanks.

Result<std::string> read_token(int fd, const std::filesystem::path& file) {
  struct stat about{};
  if (fstat(fd, &about) != 0) return file_error("read", file);
  if (about.st_uid != geteuid() || !S_ISREG(about.st_mode) || (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return environment_error("others may read or change the token in " + file.string() +
                             ": remove it, and a new one is made");
  char buffer[4096];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  if (got < 0) return file_error("read", file);
  std::string token(buffer, static_cast<size_t>(got));
  while (token.ends_with('\n')) token.pop_back();
  for (unsigned char c : token)
    if (c <= ' ' || c > '~') token.clear();
  if (token.size() < kShortest)
    return environment_error(file.string() + " holds no token, a line of at least " + std::to_string(kShortest) +
                             " visible characters: remove it, and one is made");
  return token;
}

}  // namespace

Result<std::string> random_name(size_t bytes) {
  std::string random(bytes, '\0'), text;
  if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    return environment_error("the system has no random bytes");
  constexpr char kDigits[] = "0123456789abcdef";
  for (unsigned char byte : random) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

Result<std::string> access_token(const std::filesystem::path& file) {
  // A file that somebody else has put there, or a link, is not written to; one that exists is read.
  int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) {
    fd = open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return file_error("read", file);
    auto token = read_token(fd, file);
    close(fd);
    return token;
  }
  if (fd < 0) return file_error("write", file);
  auto token = random_name(kTokenBytes);
  const bool written = token.ok() && fchmod(fd, 0600) == 0 && write_all(fd, *token + "\n");
  if (token.ok() && !written) token = file_error("write", file);
  close(fd);
  if (!token.ok()) unlink(file.c_str());
  return token;
}

bool is_same_secret(std::string_view given, std::string_view expected) {
  unsigned differs = given.size() == expected.size() ? 0 : 1;
  for (size_t i = 0; i < expected.size(); ++i)
    differs |= static_cast<unsigned char>(i < given.size() ? given[i] : 0) ^ static_cast<unsigned char>(expected[i]);
  return differs == 0;
}

}  // namespace kernelift::cli::mcp
