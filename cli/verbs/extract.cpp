// kernelift extract KERNEL: extracts one kernel of the scanned and recorded application as a MEP.
#include "extractor/extract/extract.h"
#include "cli/verbs.h"
#include "core/base/shown/outside_text.h"
#include "core/compiler/paths.h"
#include "core/model/mep.h"
#include "extractor/record/hot_list.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::cli {
namespace {

struct Options {
  std::string kernel, inputs = "capture", out;
};

std::string summary(const Mep& mep, const std::filesystem::path& folder) {
  std::string text = shown_line(mep.kernel_name) + "\n  source     ";
  text += mep.slice_mode == "slice" ? "a slice of " : "the whole of ";
  text += shown_line(mep.unit) + (mep.proven ? ", proven equal to the original" : ", NOT proven equal to the original");
  if (!mep.proven && !mep.proof_note.empty()) text += ": " + shown_line(mep.proof_note);
  size_t held_out = 0;
  uint64_t bytes = 0;
  for (auto& instance : mep.instances) {
    held_out += instance.held_out;
    bytes += instance.region_bytes();
  }
  text += "\n  instances  " + std::to_string(mep.instances.size()) +
          (mep.inputs == "capture" ? " recorded" : " made up, with the original's own results as reference") +
          (held_out ? ", " + std::to_string(held_out) + " of them held out for verification" : "") + ", " +
          record::size_text(bytes) + " of memory";
  std::string knobs;
  for (auto& knob : mep.knobs) knobs += (knobs.empty() ? "" : ", ") + knob.name + "=" + std::to_string(knob.value);
  if (!knobs.empty()) text += "\n  knobs      " + shown_line(knobs);
  return text + "\n  folder     " + shown_line(folder.string());
}

Result<Exit> extract(const Context& context, const Options& options) {
  extractor::ExtractOptions request;
  request.kernel = options.kernel;
  request.state = context.state_folder();
  request.templates = template_folder();
  request.out = options.out;
  request.synthesise = options.inputs == "synth";
  request.on_doubt = [&](const std::string& doubt) { context.note("warning: " + doubt); };
  request.on_damage = [&](const std::string& damage) {
    context.note("warning: the capture is damaged; the readable part of it is used: " + damage);
  };
  std::string unanswered;
  request.answer = [&](const std::filesystem::path& folder, Mep& mep) -> Result<std::string> {
    KERNELIFT_ASSIGN(unanswered, sandbox::answer_by_original(folder, mep));
    return unanswered;
  };
  KERNELIFT_ASSIGN(auto folder, extract_mep(request));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  context.say_lines(summary(mep, folder));
  if (!mep.proven)
    context.note("warning: the extracted kernel may differ from the application's; see " +
                 (folder / "README.md").string());
  if (!mep.linked.empty()) context.note("warning: " + mep.linked_text());
  if (!unanswered.empty())
    context.note("warning: the reference results for the made-up inputs are not known: " + unanswered);
  Json instances = Json::array();
  for (auto& instance : mep.instances)
    instances.push_back({{"id", instance.id},
                         {"geometry", to_json(instance.geometry)},
                         {"microseconds", instance.microseconds},
                         {"weight", instance.weight},
                         {"held_out", instance.held_out},
                         {"regions", instance.regions.size()}});
  context.emit({{"mep", folder.string()},
                {"kernel", mep.kernel_key},
                {"id", mep.kernel_id},
                {"name", mep.kernel_name},
                {"mode", mep.slice_mode},
                {"proven", mep.proven},
                {"proof_note", mep.proof_note},
                {"inputs", mep.inputs},
                {"answered", unanswered.empty()},
                {"linked", mep.linked},
                {"instances", instances}});
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("kernel", options->kernel,
                 "The kernel: its qualified name or a part of it, its key, or its id from scan")
      ->required();
  app.add_option("--inputs", options->inputs, "capture: recorded inputs; synth: made up from the parameters' types")
      ->check(CLI::IsMember({"capture", "synth"}))
      ->capture_default_str();
  app.add_option("--out", options->out, "Folder for the MEP (default: mep/NAME-ID in the state folder)");
  return [options](const Context& context) { return extract(context, *options); };
}

}  // namespace

const Verb kExtract = {
    "extract", "Extract one kernel as a program of its own (a MEP), with its recorded inputs",
    "kernelift extract smooth            # a kernel from record's table, with or without its namespace", setup, true};

}  // namespace kernelift::cli
