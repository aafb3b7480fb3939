// kernelift model: shows what a MEP's kernel does with memory, for every size, as the comparison of sizes sees it.
#include "cli/mep_folder.h"
#include "cli/verbs.h"
#include "core/base/words.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::cli {
namespace {

namespace fs = std::filesystem;

/// The parameters as the source spells them, in place of "arg.a0".
std::string with_names(std::string text, const Mep& mep) {
  for (size_t p = mep.parameters.size(); p-- > 0;) {
    const std::string variable = "arg.a" + std::to_string(p);
    auto places = whole_words(text, variable);
    for (auto at = places.rbegin(); at != places.rend(); ++at)
      text.replace(*at, variable.size(), mep.parameters[p].name);
  }
  return text;
}

Result<Exit> show(const std::string& wanted, const Context& context) {
  KERNELIFT_ASSIGN(fs::path folder, find_mep(wanted, context.state_folder()));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  KERNELIFT_ASSIGN(KernelModel model, sandbox::model_of(mep, folder));
  const size_t known = model.known_accesses();
  context.say_lines(with_names(to_text(model), mep));
  context.say(std::to_string(known) + " of " + std::to_string(model.accesses.size()) +
              " accesses follow from positions, loops and parameters alone; " +
              (model.complete() ? "the model is complete" : "not understood: " + counted(model.gaps.size(), "place")));
  Json document = to_json(model);
  document["kernel"] = mep.kernel_name, document["known_accesses"] = known, document["complete"] = model.complete();
  context.emit(document);
  return Exit::Done;
}

}  // namespace

const Verb kModel = {
    "model", "Show what an extracted kernel does with memory, for every size", "kernelift model smooth",
    [](CLI::App& app) -> Action {
      auto folder = std::make_shared<std::string>();
      app.add_option("MEP", *folder, "Folder of the minimal executable program, or its kernel's name")->required();
      return [folder](const Context& context) { return show(*folder, context); };
    }};

}  // namespace kernelift::cli
