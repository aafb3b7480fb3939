// kernelift model: shows what a MEP's kernel does with memory, for every size, as the comparison of sizes sees it.
#include "cli/mep_folder.h"
#include "cli/verbs.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::cli {
namespace {

namespace fs = std::filesystem;

Result<Exit> show(const std::string& wanted, const Context& context) {
  KERNELIFT_ASSIGN(fs::path folder, find_mep(wanted, context.state_folder()));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  KERNELIFT_ASSIGN(KernelModel model, sandbox::model_of(mep, folder));
  const size_t known = model.known_accesses();
  VariableNames names;
  for (size_t p = 0; p < mep.parameters.size(); ++p) names["arg.a" + std::to_string(p)] = mep.parameters[p].name;
  context.say_lines(to_text(model, names));
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
