// See extract.h. The MEP is made in a folder beside its place and moved there when it is whole, so that a full disk or
// a kill never leaves half a MEP under its name.
#include "extractor/extract/extract.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/model/kernel_key.h"
#include "extractor/extract/captured_inputs.h"
#include "extractor/extract/module_facts.h"
#include "extractor/extract/synthetic_inputs.h"
#include "extractor/slice/slice.h"
#include "mep-templates/mep_writer.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

/// The one kernel that `word` names. Equal kernels of several units are told apart by the capture where it can.
Result<const ScannedKernel*> choose(const ScanIndex& index, const std::string& word, const Capture* capture) {
  auto found = index.find(word);
  if (found.empty())
    return usage_error("no kernel is called '" + word + "'; kernelift scan lists the " +
                       std::to_string(index.kernels.size()) + " there are");
  bool namesakes = std::all_of(found.begin(), found.end(), [&](auto* one) { return one->key == found.front()->key; });
  if (found.size() > 1 && namesakes && capture) {
    std::vector<const ScannedKernel*> captured;
    for (auto* kernel : found)
      if (std::any_of(capture->instances().begin(), capture->instances().end(),
                      [&](auto& instance) { return instance.kernel == kernel->key && instance.unit == kernel->tu; }))
        captured.push_back(kernel);
    if (!captured.empty()) found = captured;
  }
  // One header's kernel in several units is one kernel: any of them will do.
  bool one_place = std::all_of(found.begin(), found.end(), [&](auto* one) {
    return one->key == found.front()->key && one->definition.file == found.front()->definition.file &&
           one->definition.begin == found.front()->definition.begin;
  });
  if (one_place) return found.front();
  std::string message = "'" + word + "' names " + std::to_string(found.size()) + " kernels; use one of these ids:";
  for (auto* kernel : found)
    message += "\n  " + kernel->id + "  " + kernel->name + "  (" + kernel->definition.file + ":" +
               std::to_string(kernel->definition.line) + ")";
  return usage_error(message);
}

/// "app::smooth<float, 8>" -> "smooth", fit for a folder's name.
std::string folder_name(const ScannedKernel& kernel) {
  std::string base = base_name(kernel.key), name;
  if (size_t at = base.rfind("::"); at != std::string::npos) base.erase(0, at + 2);
  for (char c : base)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') name += c;
  return name + "-" + kernel.id;
}

std::string relative_to(const std::string& file, const std::string& root) {
  auto relative = fs::path(file).lexically_relative(root);
  return relative.empty() || *relative.begin() == ".." ? file : relative.string();
}

Mep describe(const ScanIndex& index, const ScannedKernel& kernel, const Slice& slice) {
  Mep mep;
  mep.language = index.language.empty() ? "cuda" : index.language;
  mep.kernel_key = kernel.key, mep.kernel_id = kernel.id;
  mep.kernel_name = slice.kernel_expression, mep.kernel_mangled = slice.mangled;
  mep.parameters = kernel.parameters;
  mep.slice_mode = slice.mode, mep.proven = slice.proof.proven;
  mep.proof_note = slice.note.empty() ? slice.proof.note : slice.note + "; " + slice.proof.note;
  mep.origins = slice.origins;
  mep.unit = kernel.tu, mep.app_root = index.root;
  mep.compile_flags = slice.compile_flags;
  mep.headers = slice.headers == HeaderSet::Toolkit ? "toolkit" : "lean";
  for (auto& site : index.launches)
    if (std::find(site.kernels.begin(), site.kernels.end(), kernel.id) != site.kernels.end())
      mep.launches.push_back(site);
  mep.knobs = slice.knobs;
  return mep;
}

/// The line that instantiates a template is for clang alone: g++, which nvcc runs, refuses one that names a kernel of
/// an unnamed namespace from outside, and does not need it because main takes the kernel's address.
void guard_instantiation(Slice& slice) {
  if (slice.instantiation.empty()) return;
  size_t at = slice.text.rfind(slice.instantiation);
  if (at == std::string::npos || (at > 0 && slice.text[at - 1] != '\n')) return;
  auto line = std::count(slice.text.begin(), slice.text.begin() + static_cast<ptrdiff_t>(at), '\n');
  slice.text.insert(at + slice.instantiation.size(), "\n#endif");
  slice.text.insert(at, "#ifdef __clang__\n");
  if (size_t(line) >= slice.origins.size()) return;
  slice.origins.insert(slice.origins.begin() + line + 1, LineOrigin{});
  slice.origins.insert(slice.origins.begin() + line, LineOrigin{});
}

Status take_place(const fs::path& fresh, const fs::path& place) {
  std::error_code code;
  fs::path old = place.string() + ".replaced";
  fs::remove_all(old, code);
  if (fs::exists(place, code)) fs::rename(place, old, code);
  if (!code) fs::rename(fresh, place, code);
  if (code) return environment_error("cannot put the MEP at " + place.string() + ": " + code.message());
  fs::remove_all(old, code);
  return done();
}

/// A folder that is neither empty nor a MEP is the user's own.
Status check_place(const fs::path& place) {
  std::error_code code;
  if (!fs::exists(place, code)) return done();
  if (!fs::is_directory(place, code))
    return usage_error(place.string() + " is a file; choose another place with --out");
  if (!fs::is_empty(place, code) && !fs::exists(place / "mep.json", code))
    return usage_error(place.string() + " is not empty and not a MEP; choose another place with --out");
  return done();
}

}  // namespace

Result<fs::path> extract_mep(const ExtractOptions& options) {
  std::error_code code;
  if (!fs::exists(options.state / "scan.json", code))
    return usage_error("nothing has been scanned yet (no " + (options.state / "scan.json").string() +
                       "); run kernelift scan first");
  KERNELIFT_ASSIGN(ScanIndex index, ScanIndex::read(options.state / "scan.json"));
  std::optional<Capture> capture;
  if (!options.synthesise) {
    KERNELIFT_ASSIGN(capture, Capture::open(options.state / "capture"));
  }
  KERNELIFT_ASSIGN(const ScannedKernel* kernel, choose(index, options.kernel, capture ? &*capture : nullptr));
  std::vector<const CapturedInstance*> recorded;
  if (capture) {
    KERNELIFT_ASSIGN(recorded, instances_of(*capture, *kernel));
  }
  fs::path place =
      fs::absolute(options.out.empty() ? options.state / "mep" / folder_name(*kernel) : options.out).lexically_normal();
  if (place.filename().empty()) place = place.parent_path();
  KERNELIFT_TRY(check_place(place));

  KERNELIFT_ASSIGN(Slice slice, slice_kernel(index, *kernel, {}));
  guard_instantiation(slice);
  FrontendOptions frontend;
  frontend.language = index.language.empty() ? "cuda" : index.language;
  frontend.headers = slice.headers;
  frontend.flags = slice.compile_flags;
  KERNELIFT_ASSIGN(ModuleFacts facts, module_facts(slice.text, frontend));

  fs::path fresh = place.string() + ".new";
  fs::remove_all(fresh, code);
  fs::create_directories(fresh / "data", code);
  if (code)
    return environment_error("cannot create " + fresh.string() + ": " + code.message() +
                             "; choose another place with --out");
  auto written = [&]() -> Status {
    MepProgram program;
    program.mep = describe(index, *kernel, slice);
    program.kernel_text = slice.text;
    program.closure = closure_report(slice, index.root);
    MepInputs inputs;
    if (capture) {
      KERNELIFT_ASSIGN(inputs, take_inputs(*capture, recorded, *kernel, facts, fresh));
      program.mep.captured_on = capture->info().device.empty() ? "cpu" : capture->info().device;
    } else {
      KERNELIFT_ASSIGN(inputs, make_inputs(*kernel, program.mep.launches, program.mep.knobs, facts, fresh));
      program.mep.inputs = "synth";
    }
    program.mep.instances = std::move(inputs.instances);
    program.limits = std::move(inputs.limits);
    program.origin = relative_to(kernel->definition.file, index.root) + ":" + std::to_string(kernel->definition.line);
    return write_mep_program(program, options.templates, fresh);
  }();
  if (written.ok()) written = take_place(fresh, place);
  if (!written.ok()) {
    fs::remove_all(fresh, code);
    return std::move(written).error();
  }
  return place;
}

}  // namespace kernelift
