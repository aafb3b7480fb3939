// See extract.h. The MEP is made in a folder beside its place and moved there when it is whole, so that a full disk or
// a kill never leaves half a MEP under its name.
#include "extractor/extract/extract.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/shown/near_names.h"
#include "core/base/within.h"
#include "core/model/kernel/distinct_names.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/nvcc_command.h"
#include "extractor/extract/capture_join.h"
#include "extractor/extract/captured_inputs.h"
#include "extractor/extract/missing_source.h"
#include "extractor/extract/module_facts.h"
#include "extractor/extract/runtime_source.h"
#include "extractor/extract/synthetic_inputs.h"
#include "extractor/slice/slice.h"
#include "extractor/source/compile_database.h"
#include "mep-templates/mep_writer.h"

namespace fs = std::filesystem;

namespace kernelift::extractor {
namespace {

bool same_place(const ScannedKernel& a, const ScannedKernel& b) {
  return a.definition.file == b.definition.file && a.definition.begin == b.definition.begin;
}

/// "; did you mean forces?", of the kernels' names without their parameters.
std::string suggestion(const ScanIndex& index, const std::string& word) {
  std::vector<std::string> names;
  for (auto& kernel : index.kernels) names.push_back(base_name(kernel.key));
  return did_you_mean(word, names);
}

/// The one kernel that `word` names. Where it names several, the capture decides if only one of them has run.
Result<const ScannedKernel*> choose(const ScanIndex& index, const std::string& word, const Capture* capture) {
  auto found = index.find(word);
  if (found.empty()) {
    auto recorded = [&](auto& instance) { return key_matches(instance.kernel, word); };
    if (capture)
      if (auto one = std::ranges::find_if(capture->instances(), recorded); one != capture->instances().end())
        return refused("'" + word + "' was recorded, but " + why_without_source(index, *one));
    return usage_error("no kernel is called '" + word + "'" + suggestion(index, word) + " (kernelift scan lists the " +
                       std::to_string(index.kernels.size()) + " there are)");
  }
  auto all = [&](auto&& holds) { return std::all_of(found.begin(), found.end(), holds); };
  bool namesakes = all([&](auto* one) { return one->key == found.front()->key; });
  std::vector<const ScannedKernel*> captured;
  if (found.size() > 1 && capture) {
    CaptureJoin join(index, *capture);
    std::copy_if(found.begin(), found.end(), std::back_inserter(captured), [&](auto* kernel) {
      return std::any_of(capture->instances().begin(), capture->instances().end(),
                         [&](auto& instance) { return join.joins(instance, *kernel) == CaptureJoin::Answer::Yes; });
    });
  }
  if ((namesakes && !captured.empty()) || captured.size() == 1) found = captured;
  // One header's kernel in several units is one kernel: any of them will do.
  if (all([&](auto* one) { return one->key == found.front()->key && same_place(*one, *found.front()); }))
    return found.front();
  std::string message = "'" + word + "' names " + std::to_string(found.size()) + " kernels; use one of these ids:";
  std::vector<std::string> keys;
  for (auto* kernel : found) keys.push_back(kernel->key);
  const DistinctNames names(keys);
  for (auto* kernel : found)
    message += "\n  " + kernel->id + "  " + names.of(kernel->key) + "  (" + kernel->definition.file + ":" +
               std::to_string(kernel->definition.line) + ")" +
               (std::count(captured.begin(), captured.end(), kernel) ? ", recorded" : "");
  return usage_error(message);
}

/// The program, compiled while the application ran, that has the recorded kernel which the user names.
Result<std::optional<RuntimeProgram>> compiled_at_run_time(const Capture& capture, const ExtractOptions& options) {
  auto named = std::ranges::find_if(capture.instances(),
                                    [&](auto& instance) { return key_matches(instance.kernel, options.kernel); });
  if (named == capture.instances().end()) return std::optional<RuntimeProgram>();
  return program_of(capture, runtime_programs(options.state / "capture"), *named);
}

/// What was compiled after the scan is not in it: its kernels, and its launches of others.
Status check_complete(const ScanIndex& index) {
  if (index.database.empty()) return done();
  auto database = read_compile_database(index.database);
  if (!database.ok()) return done();  // Gone since; the sources themselves are looked at below.
  for (auto& unit : database->units)
    if (std::none_of(index.units.begin(), index.units.end(), [&](auto& scanned) { return scanned.file == unit.file; }))
      return usage_error(relative_to(unit.file, index.root) +
                         " was compiled after the application was scanned; run kernelift scan again");
  return done();
}

/// What was scanned must still be there: the capture belongs to that text, and launches and knobs are places in it. A
/// place is told by its line and by the character it ends with, so that a file that was only touched, or put back, is
/// fine.
Status check_unchanged(const ScanIndex& index, const ScannedKernel& kernel) {
  std::map<std::string, std::string> texts;
  auto holds = [&](const SourceRange& range, std::string_view ends) -> Status {
    if (range.begin >= range.end) return done();
    auto [at, fresh] = texts.try_emplace(range.file);
    if (fresh) {
      auto text = read_text(range.file);
      if (!text.ok())
        return environment_error(
            text.error().message +
            "; it was scanned, so scan the application again with kernelift scan once it is whole");
      at->second = std::move(*text);
    }
    const std::string& text = at->second;
    bool same = range.end <= text.size() && ends.find(text[range.end - 1]) != ends.npos &&
                std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(range.begin), '\n') + 1 == range.line;
    if (same) return done();
    return environment_error(range.file + " was changed after it was scanned (line " + std::to_string(range.line) +
                             "); run kernelift scan again, and kernelift record if " + kernel.name +
                             " or its launches changed");
  };
  KERNELIFT_TRY(holds(kernel.definition, kernel.through_macro ? ")};" : "}"));
  for (auto& site : index.launches)
    if (std::find(site.kernels.begin(), site.kernels.end(), kernel.id) != site.kernels.end())
      KERNELIFT_TRY(holds(site.range, ")"));
  return done();
}

bool is_relocatable(const ScannedUnit& unit) {
  auto command = parse_compiler_command(unit.command, unit.folder);
  return command.ok() && command->relocatable;
}

/// Of relocatable code, the other units that the slice has text of.
std::vector<std::string> linked_files(const ScanIndex& index, const ScannedKernel& kernel, const Slice& slice) {
  std::vector<std::string> files;
  if (!is_relocatable(slice.unit)) return files;
  for (auto& unit : index.units)
    if (unit.file != kernel.tu &&
        std::any_of(slice.origins.begin(), slice.origins.end(), [&](auto& line) { return line.file == unit.file; }))
      files.push_back(relative_to(unit.file, index.root));
  return files;
}

/// "app::smooth<float, 8>" -> "smooth", fit for a folder's name.
std::string folder_name(const ScannedKernel& kernel) {
  std::string name;
  for (char c : unqualified_name(base_name(kernel.key)))
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') name += c;
  return name + "-" + kernel.id;
}

/// Of the files that the kernel's text comes from: a patch of them must find what was extracted.
std::map<std::string, std::string> hashes_of(const std::vector<LineOrigin>& origins) {
  std::map<std::string, std::string> hashes;
  for (auto& origin : origins) {
    if (origin.file.empty() || hashes.contains(origin.file)) continue;
    if (auto text = read_text(origin.file); text.ok()) hashes[origin.file] = hash_text(*text).hex();
  }
  return hashes;
}

/// Launches of the kernel, of the others that its text defines, and where there may be more of them.
void add_launches(const ScanIndex& index, const ScannedKernel& kernel, Mep& mep) {
  auto launches = [](const LaunchSite& site, const std::string& id) {
    return std::find(site.kernels.begin(), site.kernels.end(), id) != site.kernels.end();
  };
  std::vector<const ScannedKernel*> siblings;
  for (auto& other : index.kernels)
    if (other.id != kernel.id && other.definition.file == kernel.definition.file &&
        other.definition.begin == kernel.definition.begin)
      siblings.push_back(&other);
  for (auto& site : index.launches) {
    if (launches(site, kernel.id)) mep.launches.push_back(site);
    else if (std::any_of(siblings.begin(), siblings.end(), [&](auto* one) { return launches(site, one->id); }))
      mep.sibling_launches.push_back(site);
  }
  for (auto& pointer : index.pointers)
    for (auto& id : pointer.kernels)
      if (id == kernel.id || std::any_of(siblings.begin(), siblings.end(), [&](auto* one) { return one->id == id; }))
        mep.unseen_launches = "its address is taken at " + relative_to(pointer.range.file, index.root) + ":" +
                              std::to_string(pointer.range.line);
  for (auto* one : siblings)
    if (mep.unseen_launches.empty() &&
        std::none_of(index.launches.begin(), index.launches.end(), [&](auto& site) { return launches(site, one->id); }))
      mep.unseen_launches = "where '" + one->name + "', which has its text, is launched is not known";
}

Mep describe(const ScanIndex& index, const ScannedKernel& kernel, const Slice& slice) {
  Mep mep;
  mep.language = index.language.empty() ? "cuda" : index.language;
  mep.kernel_key = kernel.key, mep.kernel_id = kernel.id;
  mep.kernel_name = slice.kernel_expression, mep.kernel_mangled = slice.mangled;
  mep.parameters = kernel.parameters;
  mep.slice_mode = slice.mode, mep.proven = slice.proof.proven;
  mep.proof_note = slice.note.empty() ? slice.proof.note : slice.note + "; " + slice.proof.note;
  mep.origins = slice.origins, mep.origin_hashes = hashes_of(slice.origins);
  mep.functions = slice.functions, mep.linked = linked_files(index, kernel, slice);
  mep.unit = kernel.tu, mep.app_root = index.root;
  mep.compile_flags = slice.compile_flags, mep.architecture = slice.architecture;
  mep.compile_command = slice.unit.command, mep.compile_folder = slice.unit.folder;
  mep.headers = slice.headers == HeaderSet::Toolkit ? "toolkit" : "lean";
  add_launches(index, kernel, mep);
  mep.knobs = slice.knobs;
  for (auto& knob : index.knobs) {
    const bool in_text = std::ranges::find(mep.knobs, knob.name, &Knob::name) != mep.knobs.end();
    const bool of_launch = knob.in_geometry && std::ranges::find(knob.kernels, kernel.id) != knob.kernels.end();
    if (!of_launch || in_text) continue;
    // A launch is changed where it is spelled; where a macro's definition spells it, by what that names.
    if (std::ranges::any_of(mep.launches, [&](auto& site) { return !site.spells_geometry() && site.uses(knob.name); }))
      mep.knobs.push_back(knob);
    else mep.constants.emplace(knob.name, knob.value);
  }
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

/// Where a MEP is written before it takes its place: a folder of its own beside it, which goes when this goes.
class Scaffold {
 public:
  static Result<Scaffold> raise(const fs::path& place) {
    auto folder = TemporaryFolder::create("." + place.filename().string(), place.parent_path());
    if (!folder.ok()) return environment_error(folder.error().message + "; choose another place with --out");
    Scaffold scaffold(std::move(*folder));
    std::error_code code;
    if (!fs::create_directories(scaffold.fresh() / "data", code))
      return environment_error("cannot create " + scaffold.fresh().string() + ": " + code.message());
    return scaffold;
  }
  fs::path fresh() const { return folder_.path() / "fresh"; }
  Status take_place(const fs::path& place) {
    std::error_code code, ignored;
    fs::path old = folder_.path() / "old";
    if (fs::exists(place, ignored)) {
      // The MEP that goes must not be gone before the one that comes is on the disk.
      if (int folder = ::open(fresh().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
        ::syncfs(folder);
        ::close(folder);
      }
      fs::rename(place, old, code);
    }
    if (!code) fs::rename(fresh(), place, code);
    if (!code) return done();
    if (fs::exists(old, ignored)) fs::rename(old, place, ignored);
    return environment_error("cannot put the MEP at " + place.string() + ": " + code.message());
  }

 private:
  explicit Scaffold(TemporaryFolder folder) : folder_(std::move(folder)) {}
  TemporaryFolder folder_;
};

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

/// A kernel that waits for what another process writes does not end when it runs alone.
Status check_waits(const ModuleFacts& facts, const ScannedKernel& kernel, const Slice& slice, const std::string& root,
                   const std::vector<const CapturedInstance*>& recorded) {
  auto place = [&](unsigned line) {
    if (line == 0 || line > slice.origins.size() || slice.origins[line - 1].file.empty())
      return relative_to(kernel.definition.file, root) + ":" + std::to_string(kernel.definition.line);
    const LineOrigin& origin = slice.origins[line - 1];
    return relative_to(origin.file, root) + ":" + std::to_string(origin.line);
  };
  for (auto& wait : facts.waits)
    for (auto* instance : recorded)
      for (auto& region : instance->regions) {
        const int argument = region.reached_from.argument;
        if (!region.shared || (wait.parameter >= 0 && argument >= 0 && argument != wait.parameter)) continue;
        return refused("kernel " + kernel.name + " waits for what another process writes, at " + place(wait.line) +
                       ": the memory of " + region.reached_from.text() +
                       " is shared with it. Alone it would wait for ever");
      }
  return done();
}

/// What made-up inputs fail on says nothing of the code.
Error despite(const Slice& slice, Error error) {
  if (error.exit == Exit::Refused)
    error.message += slice.proof.proven ? "; its code can be lifted, and is proven equal to the original's"
                                        : "; of its code: " + slice.proof.note;
  return error;
}

/// Made-up inputs have no recorded answers: the original's own take their place, and the MEP says so.
Status answer_made_up(const ExtractOptions& options, const fs::path& folder, templates::MepProgram& program) {
  std::string unknown = "nothing at hand can run it";
  if (options.answer) {
    // The kernel's text is what is run; the rest of the program is written once its answers are known.
    KERNELIFT_TRY(write_atomically(folder / program.mep.kernel_file(), program.kernel_text));
    KERNELIFT_ASSIGN(unknown, options.answer(folder, program.mep));
  }
  program.limits.push_back(
      unknown.empty()
          ? "The answers are what the original kernel itself computes from these inputs on the CPU device: they "
            "show that a change keeps its results, not that the results are right."
          : "The answers are not known, so nothing can be verified: " + unknown);
  return done();
}

}  // namespace

Result<fs::path> extract_mep(const ExtractOptions& options) {
  std::error_code code;
  std::optional<Capture> capture;
  if (!options.synthesise && fs::exists(options.state / "capture", code)) {
    KERNELIFT_ASSIGN(capture, Capture::open(options.state / "capture"));
    for (auto& damage : capture->damage())
      if (options.on_damage) options.on_damage(damage);
  }
  const bool scanned = fs::exists(options.state / "scan.json", code);
  ScanIndex index;
  if (scanned) {
    KERNELIFT_ASSIGN(index, ScanIndex::read(options.state / "scan.json"));
  }
  std::optional<RuntimeProgram> program;
  if (capture && index.find(options.kernel).empty()) {
    KERNELIFT_ASSIGN(program, compiled_at_run_time(*capture, options));
  }
  if (program) {
    KERNELIFT_ASSIGN(index, scan_program(*program, options.state));
  } else if (!scanned) {
    return usage_error("nothing has been scanned yet (no " + (options.state / "scan.json").string() +
                       "); run kernelift scan first");
  } else {
    KERNELIFT_TRY(check_complete(index));
  }
  if (!options.synthesise && !capture) {
    KERNELIFT_ASSIGN(capture, Capture::open(options.state / "capture"));  // Says what is missing.
  }
  KERNELIFT_ASSIGN(const ScannedKernel* chosen, choose(index, options.kernel, capture ? &*capture : nullptr));
  ScannedKernel taken = *chosen;
  const ScannedKernel* const kernel = &taken;
  KERNELIFT_TRY(check_unchanged(index, *kernel));
  std::vector<const CapturedInstance*> recorded;
  std::string left_out;
  if (capture) {
    KERNELIFT_ASSIGN(recorded, instances_of(*capture, index, *kernel));
    left_out = take_unit_of_launches(index, taken, recorded);
  }
  fs::path place =
      fs::absolute(options.out.empty() ? options.state / "mep" / folder_name(*kernel) : options.out).lexically_normal();
  if (place.filename().empty()) place = place.parent_path();
  KERNELIFT_TRY(check_place(place));

  SliceOptions slicing;
  for (auto* instance : recorded)
    if (slicing.ptx_version == 0) slicing.ptx_version = instance->settings.ptx_version;
  KERNELIFT_ASSIGN(Slice slice, slice_kernel(index, *kernel, slicing));
  guard_instantiation(slice);
  FrontendOptions frontend;
  frontend.language = index.language.empty() ? "cuda" : index.language;
  frontend.headers = slice.headers;
  frontend.flags = slice.compile_flags;
  if (!slice.architecture.empty()) frontend.arch = slice.architecture;
  KERNELIFT_ASSIGN(ModuleFacts facts, module_facts(slice.text, slice.mangled, frontend));
  if (!facts.undefined.empty() && is_relocatable(slice.unit))
    return refused("kernel " + kernel->name + " of " + kernel->tu + " uses " + facts.undefined.front() +
                   ", which no other file of relocatable code defines that is compiled in the same folder with the "
                   "same flags; it can be lifted "
                   "where such a one does, or a header");

  KERNELIFT_TRY(check_waits(facts, *kernel, slice, index.root, recorded));

  KERNELIFT_ASSIGN(Scaffold scaffold, Scaffold::raise(place));
  const fs::path fresh = scaffold.fresh();
  auto written = [&]() -> Status {
    templates::MepProgram program;
    program.mep = describe(index, *kernel, slice);
    program.kernel_text = slice.text;
    program.closure = closure_report(slice, index.root);
    MepInputs inputs;
    if (capture) {
      KERNELIFT_ASSIGN(inputs, take_inputs(*capture, recorded, *kernel, facts, fresh));
      for (auto& damage : inputs.damage)
        if (options.on_damage) options.on_damage(damage);
      program.mep.captured_on = capture->info().device.empty() ? "cpu" : capture->info().device;
    } else {
      auto made = make_inputs(*kernel, program.mep.launches, program.mep.knobs, fresh);
      if (!made.ok()) return despite(slice, std::move(made).error());
      inputs = std::move(*made);
      program.mep.inputs = "synth";
    }
    program.mep.instances = std::move(inputs.instances);
    program.limits = std::move(inputs.limits), program.sums = std::move(inputs.sums);
    if (!left_out.empty()) {
      program.limits.push_back(left_out + ".");
      if (options.on_doubt) options.on_doubt(left_out);
    }
    if (!slice.doubt.empty()) {
      program.limits.push_back(slice.doubt + ".");
      if (options.on_doubt) options.on_doubt(slice.doubt);
    }
    if (options.synthesise)
      if (Status answered = answer_made_up(options, fresh, program); !answered.ok())
        return despite(slice, std::move(answered).error());
    program.origin = relative_to(kernel->definition.file, index.root) + ":" + std::to_string(kernel->definition.line);
    return write_mep_program(program, options.templates, fresh);
  }();
  KERNELIFT_TRY(written);
  KERNELIFT_TRY(scaffold.take_place(place));
  return place;
}

}  // namespace kernelift::extractor
