// The library that `kernelift build` preloads into the processes of a build. In a compiler its constructor writes the
// command down; in every process it sees to it that what is started loads the library too, even with an environment
// that the build tool has made itself. It changes nothing else: the compiler, its arguments and its output are those of
// the same build without it. It lives in other people's processes: only the C library, no output, errno untouched.
#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>

#include "core/compiler/wrappers/build_tool.h"
#include "core/compiler/wrappers/watch_format.h"

extern char** environ;

namespace {

using namespace kernelift::wrappers;

constexpr const char* kPreload = "LD_PRELOAD";

/// "KERNELIFT_WATCH=…" and this library's path; empty if nothing is to be watched.
char g_folder[PATH_MAX + 32], g_library[PATH_MAX];

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// The value of the variable in `environment`, or nullptr.
const char* value_in(char* const* environment, const char* name) {
  size_t length = std::strlen(name);
  for (; environment && *environment; ++environment)
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
      return *environment + length + 1;
  return nullptr;
}

size_t count_of(char* const* words) {
  size_t count = 0;
  while (words && words[count]) ++count;
  return count;
}

/// A program's file, read without allocating: after vfork() a process may not.
class Program {
 public:
  explicit Program(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0 || !read(0, head_) || std::memcmp(head_.e_ident, ELFMAG, SELFMAG) != 0 ||
        head_.e_ident[EI_CLASS] != ELFCLASS64)
      head_.e_phnum = 0;
  }
  ~Program() {
    if (file_ >= 0) close(file_);
  }
  /// Whether it loads the library, which is named by its beginning.
  bool needs(const char* library) const {
    Elf64_Phdr segment{};
    for (unsigned i = 0; i < head_.e_phnum && segment.p_type != PT_DYNAMIC; ++i)
      if (!read(head_.e_phoff + i * sizeof segment, segment)) return false;
    if (segment.p_type != PT_DYNAMIC) return false;
    const Elf64_Off end = segment.p_offset + segment.p_filesz;
    Elf64_Dyn entry{};
    Elf64_Off names = 0;
    for (Elf64_Off at = segment.p_offset; at < end && read(at, entry) && entry.d_tag != DT_NULL; at += sizeof entry)
      if (entry.d_tag == DT_STRTAB) names = place_of(entry.d_un.d_ptr);
    for (Elf64_Off at = segment.p_offset; at < end && read(at, entry) && entry.d_tag != DT_NULL; at += sizeof entry) {
      char name[32]{};
      if (entry.d_tag != DT_NEEDED || pread(file_, name, sizeof name - 1, names + entry.d_un.d_val) <= 0) continue;
      if (std::strncmp(name, library, std::strlen(library)) == 0) return true;
    }
    return false;
  }

 private:
  template <class Part>
  bool read(Elf64_Off at, Part& part) const {
    return pread(file_, &part, sizeof part, static_cast<off_t>(at)) == sizeof part;
  }
  Elf64_Off place_of(Elf64_Addr address) const {
    Elf64_Phdr segment{};
    for (unsigned i = 0; i < head_.e_phnum && read(head_.e_phoff + i * sizeof segment, segment); ++i)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    return 0;
  }
  int file_;
  Elf64_Ehdr head_{};
};

/// gcc's AddressSanitizer ends a program that loads another library before it.
bool must_load_first(const char* program) {
  if (!std::strchr(program, '/')) return false;  // On PATH: a tool, not what a build has made.
  const int before = errno;
  Program file(program);
  bool first = file.needs("libasan.so") || file.needs("libclang_rt.asan");
  errno = before;
  return first;
}

/// Writes into `value` the libraries that are preloaded, without ours.
void write_others(char* value, const char* preloaded) {
  *value = '\0';
  while (preloaded && *preloaded) {
    size_t length = std::strcspn(preloaded, ": ");
    bool ours = std::strlen(g_library) == length && std::strncmp(preloaded, g_library, length) == 0;
    if (length > 0 && !ours) {
      if (*value) std::strcat(value, ":");
      std::strncat(value, preloaded, length);
    }
    preloaded += length + (preloaded[length] ? 1 : 0);
  }
}

/// Calls `start` with the environment in which `program` is to be started: `given`, and the variables that make it
/// load this library. On the stack, because a process after vfork() may not allocate.
template <class Start>
int start_watched(const char* program, char* const* given, const Start& start) {
  if (!*g_library) return start(given);
  const char* preloaded = value_in(given, kPreload);
  const bool wanted = !must_load_first(program), loads = preloaded && std::strstr(preloaded, g_library);
  if (wanted == loads && value_in(given, kWatchFolder)) return start(given);
  size_t count = count_of(given), added = 0;
  auto** fresh = static_cast<char**>(alloca((count + 3) * sizeof(char*)));
  auto* others = static_cast<char*>(alloca((preloaded ? std::strlen(preloaded) : 0) + 1));
  write_others(others, preloaded);
  auto* library = static_cast<char*>(alloca(sizeof "LD_PRELOAD=:" + std::strlen(g_library) + std::strlen(others)));
  std::strcpy(library, "LD_PRELOAD=");
  if (wanted) std::strcat(library, g_library);
  if (library[sizeof "LD_PRELOAD=" - 1] && *others) std::strcat(library, ":");
  std::strcat(library, others);
  for (size_t i = 0; i < count; ++i)
    if (std::strncmp(given[i], "LD_PRELOAD=", sizeof "LD_PRELOAD=" - 1) != 0 &&
        std::strncmp(given[i], g_folder, std::strlen(kWatchFolder) + 1) != 0)
      fresh[added++] = given[i];
  if (library[sizeof "LD_PRELOAD=" - 1]) fresh[added++] = library;
  fresh[added++] = g_folder, fresh[added] = nullptr;
  return start(fresh);
}

/// The arguments of execl() and the like, on the caller's stack.
#define KERNELIFT_COLLECT_ARGUMENTS(words, first, list)                               \
  va_list list;                                                                       \
  va_start(list, first);                                                              \
  size_t count_of_##words = first ? 1 : 0;                                            \
  while (first && va_arg(list, const char*)) ++count_of_##words;                      \
  va_end(list);                                                                       \
  auto** words = static_cast<char**>(alloca((count_of_##words + 1) * sizeof(char*))); \
  va_start(list, first);                                                              \
  words[0] = const_cast<char*>(first);                                                \
  for (size_t i = 1; i <= count_of_##words; ++i) words[i] = va_arg(list, char*)

/// A record under way.
class Record {
 public:
  explicit Record(const char* path) : file_(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {}
  ~Record() {
    if (file_ >= 0) close(file_);
  }
  bool open_for_writing() const { return file_ >= 0; }
  bool complete() const { return file_ >= 0 && !failed_; }
  void add(const char* bytes, size_t size) {
    while (size > 0 && !failed_) {
      ssize_t written = write(file_, bytes, size);
      if (written < 0 && errno == EINTR) continue;
      failed_ = written <= 0;
      if (!failed_) bytes += written, size -= static_cast<size_t>(written);
    }
  }
  void add(const char* text) { add(text, std::strlen(text) + 1); }

 private:
  int file_;
  bool failed_ = false;
};

bool copy_file(const char* from, const char* to) {
  int source = open(from, O_RDONLY | O_CLOEXEC);
  if (source < 0) return false;
  Record copy(to);
  char buffer[4096];
  ssize_t got = 0;
  while (copy.open_for_writing() && (got = read(source, buffer, sizeof buffer)) > 0)
    copy.add(buffer, static_cast<size_t>(got));
  close(source);
  return copy.complete() && got == 0;
}

/// The part of an argument that names a response file; nullptr if it names none.
const char* response_file_in(char* const* argv, int at) {
  const char* word = argv[at];
  if (word[0] == '@' && word[1]) return word + 1;
  for (const char* option : {"-optf", "--options-file"}) {
    size_t length = std::strlen(option);
    if (std::strncmp(word, option, length) == 0 && word[length] == '=') return word + length + 1;
    if (at > 0 && std::strcmp(argv[at - 1], option) == 0) return word;
  }
  return nullptr;
}

void record(const char* folder, int argc, char* const* argv) {
  char name[PATH_MAX], unfinished[PATH_MAX + 8], copy[PATH_MAX + 16], working[PATH_MAX];
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  std::snprintf(name, sizeof name, "%s/%012lld%09ld-%d", folder, static_cast<long long>(now.tv_sec), now.tv_nsec,
                static_cast<int>(getpid()));
  std::snprintf(unfinished, sizeof unfinished, "%s%s", name, kWatchUnfinished);
  Record text(unfinished);
  if (!text.open_for_writing()) return;
  text.add(getcwd(working, sizeof working) ? working : "");
  char number[16];
  std::snprintf(number, sizeof number, "%d", argc);
  text.add(number);
  for (int i = 0; i < argc; ++i) {
    const char* file = response_file_in(argv, i);
    std::snprintf(copy, sizeof copy, "%s.%d", name, i);
    if (!file || !copy_file(file, copy)) {
      text.add(argv[i]);
      continue;
    }
    text.add(argv[i], static_cast<size_t>(file - argv[i]));
    text.add(copy);
  }
  auto add_named = [&](const char* what, const char* value) {
    text.add(what, std::strlen(what));
    text.add("=", 1);
    text.add(value);
  };
  for (const char* variable : kWatchedVariables)
    if (const char* value = std::getenv(variable); value && *value) add_named(variable, value);
  if (const char* tool = build_tool_above()) add_named(kBuiltBy, tool);
  if (text.complete()) rename(unfinished, name);
}

__attribute__((constructor)) void watch(int argc, char** argv, char**) {
  const int before = errno;
  const char* folder = std::getenv(kWatchFolder);
  Dl_info own;
  if (folder && std::strlen(folder) < PATH_MAX / 2 && dladdr(reinterpret_cast<void*>(&watch), &own) && own.dli_fname &&
      std::strlen(own.dli_fname) < sizeof g_library) {
    std::snprintf(g_folder, sizeof g_folder, "%s=%s", kWatchFolder, folder);
    std::strcpy(g_library, own.dli_fname);
    int at = 0;
    while (at + 1 < argc && is_compiler_launcher(argv[at])) ++at;
    if (at < argc && is_gpu_compiler(argv[at]) && !std::getenv(kWatchInside)) {
      record(folder, argc - at, argv + at);
      setenv(kWatchInside, "1", 1);
    }
  }
  errno = before;
}

}  // namespace

extern "C" {

#define KERNELIFT_SHOWN __attribute__((visibility("default")))

KERNELIFT_SHOWN int execve(const char* path, char* const* argv, char* const* environment) noexcept {
  auto start = next<int (*)(const char*, char* const*, char* const*)>("execve");
  return start_watched(path, environment, [&](char* const* fresh) { return start(path, argv, fresh); });
}
KERNELIFT_SHOWN int execvpe(const char* file, char* const* argv, char* const* environment) noexcept {
  auto start = next<int (*)(const char*, char* const*, char* const*)>("execvpe");
  return start_watched(file, environment, [&](char* const* fresh) { return start(file, argv, fresh); });
}
KERNELIFT_SHOWN int execv(const char* path, char* const* argv) noexcept { return execve(path, argv, environ); }
KERNELIFT_SHOWN int execvp(const char* file, char* const* argv) noexcept { return execvpe(file, argv, environ); }

KERNELIFT_SHOWN int execl(const char* path, const char* first, ...) noexcept {
  KERNELIFT_COLLECT_ARGUMENTS(words, first, list);
  va_end(list);
  return execve(path, words, environ);
}
KERNELIFT_SHOWN int execlp(const char* file, const char* first, ...) noexcept {
  KERNELIFT_COLLECT_ARGUMENTS(words, first, list);
  va_end(list);
  return execvpe(file, words, environ);
}
KERNELIFT_SHOWN int execle(const char* path, const char* first, ...) noexcept {
  KERNELIFT_COLLECT_ARGUMENTS(words, first, list);
  char* const* environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, words, environment);
}

using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                      char* const*);
KERNELIFT_SHOWN int posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const* argv, char* const* environment) {
  auto start = next<Spawn>("posix_spawn");
  return start_watched(path, environment,
                       [&](char* const* fresh) { return start(process, path, actions, attributes, argv, fresh); });
}
KERNELIFT_SHOWN int posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, char* const* argv, char* const* environment) {
  auto start = next<Spawn>("posix_spawnp");
  return start_watched(file, environment,
                       [&](char* const* fresh) { return start(process, file, actions, attributes, argv, fresh); });
}

}  // extern "C"
