// kernelift model: shows what a MEP's kernel does with memory, for every size, as the comparison of sizes sees it, and
// what rewrite rules could change in it.
#include "cli/mcp/facts.h"
#include "cli/mep_folder.h"
#include "cli/verbs.h"
#include "core/model/recorded_facts.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "sandbox/evaluate/evaluate.h"
#include "tuner/tiers.h"
#include "tuner/tuner.h"

namespace kernelift::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string mep;
  bool formula = false;
};

/// What rewrite rules could change in the text.
Status show_rules(const Mep& mep, const fs::path& folder, const Context& context, Json& document) {
  KERNELIFT_ASSIGN(Candidate original, tuner::original_candidate(mep, folder));
  tuner::TierOptions tier;
  tier.clang_arguments = clang_argument_sets(mep, folder), tier.on_cpu = record::is_processor(context.device);
  const tuner::RulesThatApply rules = tuner::rules_that_apply(mep, original, tier);
  context.say(rules.offers.empty() ? "No rewrite rule applies." : "Rewrite rules that apply:");
  document["rules"] = Json::array();
  for (auto& offer : rules.offers) {
    context.say("  " + offer.text());
    document["rules"].push_back({{"rule", offer.rule}, {"places", offer.places}, {"rewrites", offer.rewrites}});
  }
  if (!rules.declined.empty()) context.say(rules.declined), document["rules_declined"] = rules.declined;
  return done();
}

Result<Exit> show(const Options& options, const Context& context) {
  KERNELIFT_ASSIGN(fs::path folder, find_mep(options.mep, context.state_folder()));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  KERNELIFT_ASSIGN(KernelModel model, sandbox::model_of(mep, folder));
  const size_t known = model.known_accesses();
  VariableNames names;
  for (size_t p = 0; p < mep.parameters.size(); ++p) names["arg.a" + std::to_string(p)] = mep.parameters[p].name;
  context.say_lines(to_text(model, names));
  context.say(std::to_string(known) + " of " + std::to_string(model.accesses.size()) +
              " accesses follow from positions, loops and parameters alone; " +
              (model.complete() ? "the model is complete" : "not understood: " + counted(model.gaps.size(), "place")));
  const std::vector<std::string> lines = access_lines(mep, model);
  if (!lines.empty()) context.say("As recorded:");
  for (auto& line : lines) context.say("  " + line);
  Json document = to_json(model);
  document["as_recorded"] = lines;
  if (context.json) {
    const std::vector<std::string> inputs = input_values(mep, folder);
    for (size_t p = 0; p < inputs.size(); ++p)
      if (!inputs[p].empty()) document["inputs"][mep.parameters[p].name] = inputs[p];
    document["tried"] = mcp::tried_in_runs(context.state_folder(), folder, mep, record::is_processor(context.device));
  }
  KERNELIFT_TRY(show_rules(mep, folder, context, document));
  document["kernel"] = mep.kernel_name, document["known_accesses"] = known, document["complete"] = model.complete();
  if (options.formula) {
    KERNELIFT_ASSIGN(FieldEquality field, sandbox::formula_of(mep, folder));
    const bool settled = field.found == FieldEquality::Found::Equal;
    auto with = [](const char* before, const std::string& what) { return what.empty() ? "" : before + what; };
    context.say(settled ? "field runs settle whether another text has its formula" +
                              with(", wherever floats decide as the recorded ones do: ", field.decided) +
                              with(", whatever function it is: ", field.function)
                        : "field runs do not settle its formula: " + field.why);
    document["formula"] = to_json(field);
  }
  context.emit(document);
  return Exit::Done;
}

}  // namespace

const Verb kModel = {
    "model", "Show what an extracted kernel does with memory, for every size", "kernelift model smooth",
    [](CLI::App& app) -> Action {
      auto options = std::make_shared<Options>();
      app.add_option("MEP", options->mep, "Folder of the minimal executable program, or its kernel's name")->required();
      app.add_flag("--formula", options->formula,
                   "Also run it in exact arithmetic: can its formula be compared with that of another text?");
      return [options](const Context& context) { return show(*options, context); };
    }};

}  // namespace kernelift::cli
