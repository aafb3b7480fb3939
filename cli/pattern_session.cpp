// See pattern_session.h.
#include "cli/pattern_session.h"

#include "core/base/words.h"
#include "core/compiler/paths.h"
#include "tuner/inherit/earlier_search.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

constexpr const char* kNone = "none";

}  // namespace

PatternSession::PatternSession(const Context& context, const std::string& named, const Mep& mep)
    : context_(context), mep_(mep), shipped_(named.empty()) {
  if (named == kNone || mep.instances.empty()) return;
  file_ = named.empty() ? tuner::users_patterns() : fs::path(named);
}

tuner::PatternLibrary PatternSession::library() const {
  tuner::PatternLibrary library;
  auto add = [&](const fs::path& file) {
    auto read = tuner::PatternLibrary::read(file);
    if (read.ok()) library.add_from(*read);
    else context_.note("  nothing is inherited from the patterns of " + read.error().message);
  };
  add(file_);
  if (shipped_) add(shipped_patterns());
  return library;
}

std::shared_ptr<tuner::InheritedPatterns> PatternSession::inherit(Evaluator& evaluator, const std::string& architecture,
                                                                  tuner::Bound bound, int64_t evaluations) {
  if (file_.empty()) return nullptr;
  inherited_ = std::make_shared<tuner::InheritedPatterns>();
  const auto model = evaluator.kernel_model();
  const auto features =
      tuner::KernelFeatures::of(tuner::heaviest(mep_).geometry, model.ok() ? &*model : nullptr, bound);
  inherited_->context = tuner::PatternContext::of(mep_, features, architecture);
  inherited_->offers = library().offers(inherited_->context, tuner::most_patterns(evaluations));
  return inherited_;
}

Status PatternSession::keep(tuner::Run& run) const {
  if (!inherited_) return done();
  KERNELIFT_ASSIGN(auto trials, run.history());
  if (!inherited_->tried.empty()) {
    Json tried = Json::array();
    for (auto& one : inherited_->tried) tried.push_back(tuner::to_json(one));
    const tuner::FirstClose close = tuner::first_close(trials);
    KERNELIFT_TRY(run.put_state(
        tuner::kPatternState,
        compact(
            {{"tried", tried}, {"within", tuner::kClose}, {"evaluations", close.evaluations}, {"best", close.best}})));
  }
  auto found = patterns_of(trials, mep_, inherited_->context);
  auto written = tuner::PatternLibrary::update(file_, inherited_->outcomes(), found);
  if (!written.ok()) context_.note("  the library of patterns learns nothing of this run: " + written.error().message);
  else if (!found.empty())
    context_.note("  " + counted(found.size(), "pattern") + " of this run " + (found.size() == 1 ? "is" : "are") +
                  " in " + file_.string() + ", for other kernels to begin from");
  return done();
}

}  // namespace kernelift::cli
