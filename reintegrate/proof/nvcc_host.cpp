// See nvcc_host.h.
#include "reintegrate/proof/nvcc_host.h"

#include <llvm/Demangle/Demangle.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/words.h"
#include "core/compiler/paths.h"
#include "reintegrate/patch/text_diff.h"
#include "sandbox/jail/jail.h"
#include "sandbox/jail/namespaces.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr std::chrono::seconds kLongestStep{300};  ///< For one text or assembly of a unit.

/// The commands by which nvcc comes to a unit's host program, as lines for a shell.
struct HostCommands {
  std::string preprocess, front_end, compile;
};

/// A line of `nvcc --dryrun`, with the output that it names replaced.
std::string with_output(std::string line, const std::string& flags, const fs::path& output) {
  const size_t at = line.rfind(" -o ");
  if (at == line.npos) return {};
  return line.substr(0, at) + " " + flags + " -o " + join_command({output.string()});
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  if (size_t at = text.find(what); at != text.npos) text.replace(at, what.size(), by);
  return text;
}

/// The assembly with its local labels numbered in the order in which it has them: compilers number functions that they
/// leave out, too.
std::string with_own_labels(const std::string& assembly) {
  std::map<std::string, size_t> labels;
  std::string text;
  for (size_t at = 0; at < assembly.size();) {
    const bool begins = assembly.compare(at, 2, ".L") == 0 && (at == 0 || !word_character(assembly[at - 1]));
    size_t end = at + (begins ? 2 : 1);
    while (begins && end < assembly.size() && word_character(assembly[end])) ++end;
    const std::string word = assembly.substr(at, end - at);
    text += begins ? ".L" + std::to_string(labels.emplace(word, labels.size()).first->second) : word;
    at = end;
  }
  return text;
}

class HostPrograms {
 public:
  HostPrograms(const HostUnit& unit, fs::path folder) : unit_(unit), folder_(std::move(folder)) {}

  Status begin() {
    const auto toolkit = cuda_toolkit();
    if (!toolkit) return environment_error("no CUDA toolkit is installed");
    bin_ = *toolkit / "bin";
    std::error_code code;
    fs::create_directories(texts(), code), fs::create_directories(work(), code);
    auto compiler = std::ranges::find_if(unit_.words, [](auto& word) { return fs::path(word).filename() == "nvcc"; });
    if (compiler == unit_.words.end()) return environment_error("nvcc does not build it");
    std::vector<std::string> dry{(bin_ / "nvcc").string()};
    dry.insert(dry.end(), compiler + 1, unit_.words.end());
    for (auto* word : {"--dryrun", "--keep", "--keep-dir"}) dry.emplace_back(word);
    dry.push_back(work().string());
    ProcessOptions options;
    options.folder = unit_.folder, options.timeout = kLongestStep, options.output_limit = 64 << 20;
    KERNELIFT_ASSIGN(ProcessOutcome outcome, run_process(dry, options));
    if (!outcome.ok()) return environment_error("nvcc --dryrun " + outcome.describe());
    const std::string stem = fs::path(unit_.file).stem().string();
    for (auto& line : split_lines(outcome.err)) {
      constexpr std::string_view kMark = "#$ ";
      if (!line.text.starts_with(kMark)) continue;
      const std::string command(line.text.substr(kMark.size()));
      auto names = [&](const char* extension) { return command.find("/" + stem + extension + "\"") != command.npos; };
      if (command.find(" -E ") != command.npos && names(".cpp4.ii")) commands_.preprocess = command;
      if (command.starts_with("cudafe++") && names(".cpp4.ii")) commands_.front_end = command;
      if (command.find(" -c ") != command.npos && names(".cudafe1.cpp")) commands_.compile = command;
    }
    stub_ = work() / (stem + ".cudafe1.stub.c");  // Kernels' own stubs, which are no part of what is compared.
    if (commands_.preprocess.empty() || commands_.front_end.empty() || commands_.compile.empty())
      return environment_error("nvcc does not say how it compiles it");
    return done();
  }

  /// What the host's compiler reads. `texts`: of the files, by path.
  Result<std::string> text(const std::map<fs::path, std::string>& texts) { return run(texts, " -E -P ", ""); }
  /// What it makes of that, without what is not used.
  Result<std::string> assembly(const std::map<fs::path, std::string>& texts) {
    KERNELIFT_ASSIGN(std::string made, run(texts, " -S ", "-O1 -g0 -fno-lto -fno-keep-static-consts"));
    return with_own_labels(made);
  }

 private:
  fs::path texts() const { return folder_ / "texts"; }
  fs::path work() const { return folder_ / "work"; }

  Result<std::string> run(const std::map<fs::path, std::string>& files, const char* action, const char* flags) {
    const fs::path output = work() / "host";
    std::error_code code;
    fs::remove(output, code);
    std::vector<std::pair<fs::path, fs::path>> mounts;
    for (auto& [path, text] : files) {
      mounts.emplace_back(texts() / std::to_string(mounts.size()), path);
      KERNELIFT_TRY(write_atomically(mounts.back().first, std::string_view(text)));
      fs::last_write_time(mounts.back().first, fs::file_time_type(), code);  // __TIMESTAMP__ shows it.
    }
    const std::string line = commands_.preprocess + " && " + commands_.front_end + " && : > " +
                             join_command({stub_.string()}) + " && " +
                             with_output(replaced(commands_.compile, " -c ", action), flags, output);
    ProcessOptions options;
    options.folder = unit_.folder, options.timeout = kLongestStep;
    const char* path = std::getenv("PATH");
    options.environment = {{"PATH", bin_.string() + (path ? std::string(":") + path : "")}, {"SOURCE_DATE_EPOCH", "0"}};
    options.prepare = [&]() -> Status {
      if (!sandbox::enter_namespaces().mount) return environment_error("no mounts are permitted here");
      for (auto& [text, over] : mounts)
        if (mount(text.c_str(), over.c_str(), nullptr, MS_BIND, nullptr) != 0)
          return environment_error(over.string() + ": " + std::strerror(errno));
      sandbox::JailSpec jail;
      jail.kind = sandbox::JailKind::Toolchain, jail.readable = {"/"}, jail.writable = work();
      jail.extra_memory_bytes = 16ull << 30;
      return enter_jail(jail);
    };
    KERNELIFT_ASSIGN(ProcessOutcome outcome, run_process({"/bin/sh", "-c", line}, options));
    constexpr int kNotPrepared = 126;
    if (!outcome.ok()) {
      const std::string said = outcome.err.empty() ? outcome.describe() : outcome.err.substr(0, outcome.err.find('\n'));
      return outcome.exit_code == kNotPrepared ? environment_error(said) : refused(said);
    }
    return read_text(output);
  }

  const HostUnit& unit_;
  const fs::path folder_;
  fs::path bin_, stub_;
  HostCommands commands_;
};

/// The symbol in whose part of the assembly the first difference is.
std::string first_symbol(const std::string& one, const std::string& other) {
  const auto lines = split_lines(one), others = split_lines(other);
  std::string symbol;
  for (size_t at = 0; at < lines.size() && at < others.size() && lines[at].text == others[at].text; ++at)
    if (const std::string_view text = lines[at].text; text.ends_with(':') && !text.starts_with('.'))
      symbol = text.substr(0, text.size() - 1);
  return symbol.empty() ? "" : "in or behind '" + llvm::demangle(symbol) + "'";
}

size_t end_of_line(const std::string& text, size_t at) {
  const size_t end = text.find('\n', at);
  return end == text.npos ? text.size() : end + 1;
}

/// Where the lines of the original begin again in a text, by their number there: offset and line.
struct Resumed {
  size_t offset = 0;
  long line = 0;
};
std::map<unsigned, Resumed> resumptions(const FileVersion& version) {
  std::map<unsigned, Resumed> all;
  for (auto& note : version.lines) {
    const size_t offset = end_of_line(version.text, note.offset);
    all[note.next] = {offset,
                      1 + std::count(version.text.begin(), version.text.begin() + static_cast<long>(offset), '\n')};
  }
  return all;
}

/// The same for a line of the original that is unchanged in the text.
Resumed place_of(const FileVersion& version, const std::map<unsigned, Resumed>& known, unsigned line) {
  auto behind = known.upper_bound(line);
  long at = line;
  if (behind != known.begin()) at = std::prev(behind)->second.line + (line - std::prev(behind)->first);
  size_t offset = 0;
  for (long lines = 1; lines < at && offset < version.text.size(); ++lines) offset = end_of_line(version.text, offset);
  return {offset, at};
}

}  // namespace

std::pair<std::string, std::string> with_equal_lines(const FileVersion& one, const FileVersion& other) {
  const auto first = resumptions(one), second = resumptions(other);
  std::set<unsigned> lines;
  for (auto* all : {&first, &second})
    for (auto& [line, place] : *all) lines.insert(line);
  std::string texts[2] = {one.text, other.text};
  size_t added[2] = {0, 0};
  for (unsigned line : lines) {
    const Resumed places[2] = {place_of(one, first, line), place_of(other, second, line)};
    const long numbers[2] = {places[0].line + static_cast<long>(added[0]),
                             places[1].line + static_cast<long>(added[1])};
    for (int which : {0, 1}) {
      const long missing = numbers[1 - which] - numbers[which];
      if (missing <= 0) continue;
      texts[which].insert(places[which].offset + added[which], static_cast<size_t>(missing), '\n');
      added[which] += static_cast<size_t>(missing);
    }
  }
  return {texts[0], texts[1]};
}

Result<std::optional<std::string>> difference_by_nvcc(const HostUnit& unit, const std::vector<FileVersion>& without,
                                                      const std::vector<FileVersion>& with) {
  KERNELIFT_ASSIGN(TemporaryFolder folder, TemporaryFolder::create("kernelift-host"));
  HostPrograms programs(unit, folder.path());
  KERNELIFT_TRY(programs.begin());
  std::map<fs::path, std::string> one, other;
  for (auto& version : without)
    for (auto& second : with)
      if (second.path == version.path)
        std::tie(one[version.path], other[version.path]) = with_equal_lines(version, second);
  auto ask = [](const Result<std::string>& made, const char* which) -> Status {
    if (made.ok()) return done();
    if (made.error().exit != Exit::Refused) return made.error();
    return environment_error(std::string("nvcc does not compile it ") + which + ": " + made.error().message);
  };
  auto text = programs.text(one);
  KERNELIFT_TRY(ask(text, "as it is"));
  auto changed = programs.text(other);
  if (!changed.ok() && changed.error().exit == Exit::Refused)
    return std::optional("nvcc does not compile it with the patch: " + changed.error().message);
  KERNELIFT_TRY(ask(changed, "with the patch"));
  if (*text == *changed) return std::optional<std::string>();
  auto assembly = programs.assembly(one);
  KERNELIFT_TRY(ask(assembly, "as it is"));
  auto changed_assembly = programs.assembly(other);
  KERNELIFT_TRY(ask(changed_assembly, "with the patch"));
  if (*assembly == *changed_assembly) return std::optional<std::string>();
  return std::optional("the host's compiler gets another program from nvcc " +
                       first_symbol(*assembly, *changed_assembly));
}

}  // namespace kernelift::reintegrate
