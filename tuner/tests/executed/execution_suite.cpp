// See execution_suite.h.
#include "tuner/tests/executed/execution_suite.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include "core/compiler/frontend.h"
#include "core/model/verdict/verdict.h"
#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {
namespace {

using legality::Answer;
using legality::SuiteKernel;

/// Rules that compute the same in another precision: results may differ by so much, relatively. Elsewhere it is what a
/// function of several numbers at once (expf) may differ from that of one. Sums and products of the drawn values are
/// exact, so that their order makes no difference.
constexpr double kRounded = 1e-3, kSameRounding = 1e-6;
const std::set<std::string> kRoundingRules = {"fast_math", "reciprocal", "double_to_float", "float_literals"};

std::string text_of(const Bindings& sizes, const SuiteKernel& kernel) {
  std::string text;
  for (auto& [variable, value] : sizes) {
    auto name = kernel.names.find(variable);
    text += (text.empty() ? "" : ", ") + (name == kernel.names.end() ? variable : name->second) + " = " +
            std::to_string(value);
  }
  return text;
}

/// The recorded sizes first, then sizes around them and around the block's, one parameter at a time and all together.
std::vector<Bindings> sizes_of(const SuiteKernel& kernel, const Bindings& recorded) {
  std::vector<Bindings> all{recorded};
  auto add = [&](const Bindings& sizes) {
    if (std::find(all.begin(), all.end(), sizes) == all.end()) all.push_back(sizes);
  };
  const int64_t threads = std::max({kernel.launch.block.x, kernel.launch.block.y, kernel.launch.block.z});
  auto changed = [&](int64_t size, int which) {
    const int64_t sizes[] = {size - 1, size + 1, 1, threads - 1, threads + 1, 0};
    return sizes[which];
  };
  for (int which = 0; which < 6; ++which) {
    Bindings together = recorded;
    for (auto& [name, size] : recorded) {
      if (kernel.fixed.contains(name)) continue;
      Bindings one = recorded;
      one[name] = together[name] = changed(size, which);
      add(one);
    }
    add(together);
  }
  return all;
}

struct Reference {
  Bindings sizes;
  ExecutedText::Outcome outcome;
};

/// What a launch does at the sizes at which the original runs without a fault or a finding.
std::vector<Reference> references(const SuiteKernel& kernel, const ExecutedText& original, KernelMemory& memory,
                                  const std::vector<Bindings>& further) {
  std::vector<Reference> all;
  const Bindings recorded = recorded_sizes(kernel, memory);
  auto every = sizes_of(kernel, recorded);
  for (auto sizes : further) {
    for (auto& [name, value] : recorded) sizes.emplace(name, value);
    every.push_back(std::move(sizes));
  }
  for (auto& sizes : every) {
    auto geometry = geometry_at(kernel.launch, sizes);
    // An element for each thread: more would be found, but not before it is written.
    if (!geometry || geometry->threads() > KernelMemory::kMostElements) continue;
    auto outcome = original.run(memory, *geometry, sizes);
    if (outcome.fault.empty() && outcome.findings.empty()) all.push_back({sizes, std::move(outcome)});
  }
  return all;
}

std::string text_of(const Answer& answer) {
  switch (answer.kind) {
    case Answer::Kind::Proven: return "proven for all sizes";
    case Answer::Kind::UnderPremise: return "proven where " + answer.premise->text() + "; elsewhere: " + answer.why;
    case Answer::Kind::Refuted: return "refuted: " + answer.why;
    default: return "not known: " + answer.why;
  }
}

bool holds(const Answer& answer, const Bindings& sizes) {
  if (answer.kind == Answer::Kind::Proven) return true;
  if (answer.kind != Answer::Kind::UnderPremise) return false;
  auto value = answer.premise->evaluate(sizes);
  return value.ok() && *value != 0;
}

class Executor {
 public:
  /// `sizes`: further ones at which it is executed.
  Executor(const SuiteKernel& kernel, const ExecutionOptions& options, std::vector<Executed>& all,
           const std::vector<Bindings>& sizes = {})
      : kernel_(kernel),
        options_(options),
        all_(all),
        source_(must(KernelSource::parse(kernel.text, frontend_arguments({})))),
        memory_(source_, kernel_name(kernel.text), permuted(kernel)),
        compiled_(must(CompiledText::make(kernel.text))),
        original_(must(ExecutedText::make(compiled_))),
        references_(references(kernel, original_, memory_, sizes)),
        mep_(recorded_mep(kernel, source_, memory_, original_)) {}

  void run() {
    Candidate original;
    original.source = kernel_.text;
    go_on(original, 1);
  }

  /// The sizes at which the text differs from the original, each with the first difference.
  std::vector<std::pair<const Reference*, std::string>> differences(const ExecutedText& text,
                                                                    const legality::LaunchShape& shape,
                                                                    double relative) {
    std::vector<std::pair<const Reference*, std::string>> found;
    for (auto& reference : references_)
      if (auto what = difference(text, shape, reference, relative); !what.empty())
        found.emplace_back(&reference, text_of(reference.sizes, kernel_) + ": " + what);
    return found;
  }

 private:
  template <class T>
  static T must(Result<T> made) {
    if (!made.ok()) std::fprintf(stderr, "%s\n", made.error().message.c_str()), std::exit(2);
    return std::move(*made);
  }

  static std::map<std::string, Drawn> permuted(const SuiteKernel& kernel) {
    std::map<std::string, Drawn> drawn;
    for (auto& name : kernel.permuted) drawn[name] = Drawn::Permutation;
    return drawn;
  }

  void go_on(const Candidate& from, int step) {
    for (auto& rewrite : rewrites(mep_, from)) {
      if (!options_.rule.empty() && step == 1 && rewrite.rule != options_.rule) continue;
      // Which ones run is decided by what they are, and the same in every run.
      const uint64_t drawn = ImageIdentity::of(kernel_.name + rewrite.candidate.key().hex()).bits;
      if (drawn % options_.of == 0) all_.push_back(execute(rewrite));
      if (step < options_.steps && drawn / 1000 % options_.of == 0) go_on(rewrite.candidate, step + 1);
    }
  }

  Executed execute(const Rewrite& rewrite) {
    Executed made{&kernel_, rewrite, Fate::Equal, 0, {}};
    auto& candidate = rewrite.candidate;
    if (options_.verbose)
      std::fprintf(stderr, "%s: %s: %s\n", kernel_.name.c_str(), rewrite.rule.c_str(), candidate.note().c_str());
    // Other launches of the same text need no compile.
    std::optional<CompiledText> own;
    auto text = Result<ExecutedText>(original_);
    if (candidate.source != kernel_.text) {
      auto compiled = CompiledText::make(candidate.source);
      if (compiled.ok()) own.emplace(std::move(*compiled)), text = ExecutedText::make(*own);
      else text = compiled.error();
    }
    if (!text.ok()) {
      made.fate = text.error().exit == Exit::Refused ? Fate::NotRun : Fate::Broken;
      made.why = text.error().message;
      return made;
    }
    const CompiledText& changed = own ? *own : compiled_;
    const auto shape = shape_of(candidate, kernel_.launch);
    const auto differences = this->differences(*text, shape, rounds(candidate) ? kRounded : kSameRounding);
    made.sizes = static_cast<int>(references_.size());
    if (differences.empty()) {
      if (options_.judge) judge(made, changed, shape);
      return made;
    }
    made.why = differences.front().second;
    if (differences.front().first == &references_.front()) {
      made.fate = Fate::SeenWrong;
      if (options_.judge) judge(made, changed, shape);
      return made;
    }
    const Answer answer = judged(changed, shape);
    made.answer = answer.kind;
    made.fate = answer.kind == Answer::Kind::NotKnown ? Fate::NotKnown : Fate::JudgedWrong;
    for (auto& [reference, what] : differences)
      if (holds(answer, reference->sizes) && grants(candidate, reference->sizes))
        made.fate = Fate::Unnoticed, made.why = what;
    made.why += "; " + text_of(answer);
    return made;
  }

  Answer judged(const CompiledText& text, const legality::LaunchShape& shape) const {
    auto after = text.model(shape.block);
    if (!model_ || !after) return {Answer::Kind::NotKnown, {}, "there is no model", 0, {}};
    const legality::Side original{*model_, kernel_.launch}, changed{*after, shape};
    return &text == &compiled_ ? legality::compare_launches(original, changed, kernel_.names)
                               : legality::compare_memory(original, changed, kernel_.names);
  }

  void judge(Executed& made, const CompiledText& text, const legality::LaunchShape& shape) const {
    const Answer answer = judged(text, shape);
    made.answer = answer.kind;
    made.why += (made.why.empty() ? "" : "; ") + text_of(answer);
  }

  /// Whether the premises of its steps hold, as far as they are conditions.
  bool grants(const Candidate& candidate, const Bindings& sizes) const {
    Bindings known;
    for (auto& [variable, value] : sizes)
      if (auto name = kernel_.names.find(variable); name != kernel_.names.end()) known[name->second] = value;
    const auto geometry = geometry_at(kernel_.launch, sizes);
    for (int axis = 0; geometry && axis < 3; ++axis) {
      known[std::string("gridDim.") + "xyz"[axis]] = along(geometry->grid, axis);
      known[std::string("blockDim.") + "xyz"[axis]] = along(geometry->block, axis);
    }
    for (auto& step : candidate.steps)
      for (auto& premise : step.premises)
        if (premise.kind == Premise::Kind::Holds)
          if (auto value = premise.condition.evaluate(known); value.ok() && *value == 0) return false;
    return true;
  }

  static bool rounds(const Candidate& candidate) {
    return std::ranges::any_of(candidate.steps, [](auto& step) { return kRoundingRules.contains(step.rule); });
  }

  std::string difference(const ExecutedText& text, const legality::LaunchShape& shape, const Reference& reference,
                         double relative) {
    auto geometry = geometry_at(shape, reference.sizes);
    if (!geometry) return "its grid cannot be launched";
    const std::set<std::string> none, own = own_variables(text);
    // What it keeps in variables of its own is no answer to the next launch.
    for (auto* kept : {&none, &own}) {
      auto outcome = text.run(memory_, *geometry, reference.sizes, *kept);
      const std::string when = kept == &own ? "in a launch after another: " : "";
      if (!outcome.fault.empty()) return when + outcome.fault;
      if (auto differs = memory_.difference(reference.outcome.contents, outcome.contents, relative); !differs.empty())
        return when + differs;
      if (!outcome.findings.empty()) return when + outcome.findings.front().text();
      if (own.empty()) break;
    }
    return "";
  }

  /// Those that the original's text does not have.
  std::set<std::string> own_variables(const ExecutedText& text) const {
    std::set<std::string> own;
    for (uint32_t i = 0; i < text.image().variable_count; ++i) own.insert(text.image().variables[i].name);
    for (uint32_t i = 0; i < original_.image().variable_count; ++i) own.erase(original_.image().variables[i].name);
    return own;
  }

  const SuiteKernel& kernel_;
  const ExecutionOptions& options_;
  std::vector<Executed>& all_;
  KernelSource source_;
  KernelMemory memory_;
  CompiledText compiled_;
  ExecutedText original_;
  std::optional<KernelModel> model_ = compiled_.model(kernel_.launch.block);
  std::vector<Reference> references_;
  Mep mep_;
};

}  // namespace

const char* name(Fate fate) {
  switch (fate) {
    case Fate::Equal: return "equal";
    case Fate::SeenWrong: return "wrong where recorded";
    case Fate::JudgedWrong: return "judged wrong";
    case Fate::NotKnown: return "not known";
    case Fate::Unnoticed: return "UNNOTICED";
    case Fate::Broken: return "BROKEN";
    default: return "not run";
  }
}

std::vector<Executed> execute(const std::vector<SuiteKernel>& kernels, const ExecutionOptions& options) {
  std::vector<std::vector<Executed>> of(kernels.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < kernels.size();)
      if ((options.kernel.empty() || kernels[i].name == options.kernel) && !kernels[i].unordered)
        Executor(kernels[i], options, of[i]).run();
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < options.jobs; ++i) others.emplace_back(work);
    work();
  }
  std::vector<Executed> all;
  for (auto& some : of) std::ranges::move(some, std::back_inserter(all));
  return all;
}

namespace {

/// In a process of its own: whether `claim` holds, or the process crashes.
bool ends_early_or(const std::function<bool()>& claim) {
  const pid_t child = fork();
  if (child == 0) {
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGABRT}) std::signal(signal, SIG_DFL);
    _exit(claim() ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return !WIFEXITED(status) || WEXITSTATUS(status) == 0;
}

}  // namespace

std::vector<std::string> wrong_variants_not_seen(const SuiteKernel& kernel) {
  std::vector<std::string> missed;
  std::vector<Bindings> sizes;
  for (auto& variant : kernel.variants) sizes.insert(sizes.end(), variant.at.begin(), variant.at.end());
  std::vector<Executed> none;
  const ExecutionOptions options;
  Executor executor(kernel, options, none, sizes);
  for (auto& variant : kernel.variants) {
    if (variant.label == legality::Variant::Label::Right) continue;
    if (!ends_early_or([&] {
          auto compiled = CompiledText::make(variant.text);
          if (!compiled.ok()) return true;
          auto text = ExecutedText::make(*compiled);
          return !text.ok() || !executor.differences(*text, variant.launch, kSameRounding).empty();
        }))
      missed.push_back(kernel.name + ": " + variant.kind + ": " + variant.what);
  }
  return missed;
}

std::string table(const std::vector<Executed>& all) {
  struct Row {
    int offered = 0, launches = 0;
    std::map<Fate, int> fates;
    std::set<std::string> kernels;
  };
  std::map<std::string, Row> rows;
  for (auto* rule : all_rules()) rows[rule->name];
  for (auto& one : all)
    for (auto& name : {one.rewrite.rule, std::string("all")}) {
      auto& row = rows[name];
      ++row.offered, ++row.fates[one.fate], row.launches += one.sizes;
      row.kernels.insert(one.kernel->name);
    }
  std::string text =
      "rule                  kernels  rewrites  launches   equal  wrong where recorded  judged wrong  not known  "
      "unnoticed  broken  not run\n";
  auto line = [&](const std::string& name, Row& row) {
    char made[200];
    std::snprintf(made, sizeof made, "%-20s  %7zu  %8d  %8d  %6d  %20d  %12d  %9d  %9d  %6d  %7d\n", name.c_str(),
                  row.kernels.size(), row.offered, row.launches, row.fates[Fate::Equal], row.fates[Fate::SeenWrong],
                  row.fates[Fate::JudgedWrong], row.fates[Fate::NotKnown], row.fates[Fate::Unnoticed],
                  row.fates[Fate::Broken], row.fates[Fate::NotRun]);
    text += made;
  };
  for (auto& [name, row] : rows)
    if (name != "all") line(name, row);
  line("all", rows["all"]);
  return text;
}

namespace {

/// "256, 512 (2)": names in order, with how many of each there are.
std::string counted_names(const std::map<std::string, int>& names) {
  std::string text;
  for (auto& [name, count] : names)
    text += (text.empty() ? "" : ", ") + name + (count > 1 ? " (" + std::to_string(count) + ")" : "");
  return text.empty() ? "–" : text;
}

std::string block_of(const Candidate& candidate, const legality::LaunchShape& launch) {
  const Dim3 block = shape_of(candidate, launch).block;
  std::string text = std::to_string(block.x);
  if (launch.block.y > 1 || launch.block.z > 1 || block.y > 1 || block.z > 1) text += "x" + std::to_string(block.y);
  return block.z > 1 || launch.block.z > 1 ? text + "x" + std::to_string(block.z) : text;
}

}  // namespace

std::string offers(const std::vector<SuiteKernel>& kernels, const std::vector<Executed>& all) {
  using Kind = Answer::Kind;
  constexpr std::pair<Kind, const char*> kColumns[] = {{Kind::Proven, "proven"},
                                                       {Kind::UnderPremise, "under a premise"},
                                                       {Kind::NotKnown, "not known"},
                                                       {Kind::Refuted, "refuted"}};
  std::string text = "| kernel | offered |", line = "|---|---|";
  for (auto& [kind, title] : kColumns) text += std::string(" ") + title + " |", line += "---|";
  text += " wrong when run |\n" + line + "---|\n";
  struct Sum {
    std::map<Kind, int> kinds;
    std::set<std::string> kernels;
    int wrong = 0;
  };
  std::map<std::string, Sum> sums;
  for (auto& kernel : kernels)
    for (bool blocks : {true, false}) {
      std::map<Kind, std::map<std::string, int>> offered;
      std::map<std::string, int> wrong;
      for (auto& one : all) {
        if (one.kernel != &kernel || (one.rewrite.rule == kBlockSize) != blocks || !one.answer) continue;
        const std::string name = blocks ? block_of(one.rewrite.candidate, kernel.launch) : one.rewrite.rule;
        Sum& sum = sums[one.rewrite.rule];
        ++offered[*one.answer][name], ++sum.kinds[*one.answer], sum.kernels.insert(kernel.name);
        if (one.fate != Fate::Equal) ++wrong[name + ": " + tuner::name(one.fate)], ++sum.wrong;
      }
      text += "| " + (blocks ? kernel.name + " | blocks" : std::string(" | rules"));
      for (auto& [kind, title] : kColumns) text += " | " + counted_names(offered[kind]);
      text += " | " + counted_names(wrong) + " |\n";
    }
  text += "\n| rule | kernels |";
  for (auto& [kind, title] : kColumns) text += std::string(" ") + title + " |";
  text += " wrong when run |\n|---|---|" + line.substr(std::strlen("|---|---|")) + "---|\n";
  for (auto& [name, sum] : sums) {
    text += "| " + name + " | " + std::to_string(sum.kernels.size()) + " |";
    for (auto& [kind, title] : kColumns) text += " " + std::to_string(sum.kinds[kind]) + " |";
    text += " " + std::to_string(sum.wrong) + " |\n";
  }
  return text;
}

}  // namespace kernelift::tuner
