// The headers that are included implicitly before every source, precompiled in memory: nothing is written to disk, so a
// confined process can precompile, and processes that are forked later inherit their parent's precompiled headers.
#pragma once
#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/compiler/clang_job.h"
#include "core/compiler/frontend.h"

namespace kernelift {

struct Precompiled {
  std::string bytes;        ///< Empty if the headers do not compile with these flags.
  std::string source = {};  ///< What includes further headers; empty: there are none.
  /// The virtual files through which a job finds it at kPrecompiledPath.
  std::vector<VirtualFile> files() const;
};
extern const char* const kPrecompiledPath;

/// The headers that a source includes in angle brackets before anything else, in order: "cub/cub.cuh".
std::vector<std::string> leading_headers(std::string_view source);
std::string including(const std::vector<std::string>& headers);  ///< A line for each.

/// The headers that the front end includes implicitly before a source with such options.
std::vector<std::string> forced_headers(const FrontendOptions& options);

/// Observers of the headers' parse.
struct PrecompileWatch {
  std::function<void(clang::CompilerInstance&)> begin;                                    ///< Called before the parse.
  std::function<std::unique_ptr<clang::ASTConsumer>(clang::CompilerInstance&)> observer;  ///< Makes a consumer.
};

/// Compiles only `headers`, which the cc1 `job` includes implicitly, with the job's flags, and then `source`.
Precompiled precompile(const std::vector<std::string>& job, const std::vector<std::string>& headers,
                       const PrecompileWatch& watch = {}, const std::string& source = {});

/// The cc1 line that takes `headers` as they are precompiled instead of including them.
std::vector<std::string> with_precompiled(const std::vector<std::string>& job, const std::vector<std::string>& headers);

/// What the precompiled headers of a cc1 line for `file` depend on: its words without those that differ from file to
/// file.
std::string flags_of(const std::vector<std::string>& job, const std::string& file);

/// A cache of results by set of flags, which keeps the most recently used ones.
template <class Made>
class KeptByFlags {
 public:
  /// The result for `flags`; nullptr if there is none.
  std::shared_ptr<const Made> find(const std::string& flags) const {
    auto at = std::ranges::find(kept_, flags, &Entry::first);
    return at == kept_.end() ? nullptr : at->second;
  }
  /// The result for `flags`, made by make() at the second use. nullptr at the first use, because most flags are used
  /// only once.
  template <class Make>
  std::shared_ptr<const Made> use(const std::string& flags, Make&& make) {
    return touch(flags) ? this->make(flags, make) : nullptr;
  }
  /// The same for flags that are known to be used again: made at the first use.
  template <class Make>
  std::shared_ptr<const Made> make(const std::string& flags, Make&& make) {
    (void)touch(flags);
    auto& made = kept_.front().second;
    if (!made) made = std::make_shared<const Made>(make());
    return made;
  }

 private:
  /// Makes it the most recently used; true if it was known.
  bool touch(const std::string& flags) {
    auto at = std::ranges::find(kept_, flags, &Entry::first);
    const bool known = at != kept_.end();
    if (known) kept_.splice(kept_.begin(), kept_, at);
    else kept_.emplace_front(flags, nullptr);
    if (kept_.size() > kMost) kept_.pop_back();
    return known;
  }

  static constexpr size_t kMost = 24;
  using Entry = std::pair<std::string, std::shared_ptr<const Made>>;
  std::list<Entry> kept_;
};

}  // namespace kernelift
