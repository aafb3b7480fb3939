// Three texts of each file are compiled, equal ones once: `declared` has what the patch declares and none of the
// candidate's text, `after` is the patched file, and `knobs` has only knobs' new numbers. A knob's value is the user's
// own constant with another number in its place, wherever it is used; that edit needs no comparison.
//   declared = after    but for stubs and shadows
//   knobs = declared    but for the configuration of launches
#include "reintegrate/proof/host_proof.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>

#include "core/compiler/paths.h"
#include "core/compiler/written/source_tokens.h"
#include "reintegrate/patch/text_diff.h"
#include "reintegrate/proof/host_difference.h"
#include "reintegrate/proof/nvcc_host.h"
#include "reintegrate/proof/proof_process.h"
#include "reintegrate/proof/touched_units.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// Where the numbers of `text`'s lines have to go on as in `original`. None if the text numbers its lines itself.
std::vector<LineNote> line_notes(const std::string& original, const std::string& text) {
  if (original == text) return {};
  auto tokens = source_tokens(text);
  for (auto& directive : directives(tokens))
    if (directive.begin < directive.end &&
        (tokens[directive.begin].is("line") || tokens[directive.begin].kind == SourceToken::Kind::Number))
      return {};
  auto from = split_lines(original), to = split_lines(text);
  std::vector<LineNote> notes;
  for (auto& hunk : diff_lines(from, to)) {
    if (hunk.new_end == 0 || hunk.old_end - hunk.old_begin == hunk.new_end - hunk.new_begin) continue;
    notes.push_back(
        {static_cast<size_t>(to[hunk.new_end - 1].text.data() - text.data()), static_cast<unsigned>(hunk.old_end + 1)});
  }
  return notes;
}

const std::string kForHost = "__attribute__((host)) ";

/// The text in which the functions that begin there are the host's, too.
FileVersion on_both_sides(const FileVersion& version, const std::set<size_t>& begins) {
  FileVersion both = version;
  size_t added = 0;
  for (size_t begin : begins) {
    both.text.insert(begin + added, kForHost);
    added += kForHost.size();
    for (auto& note : both.lines)
      if (note.offset >= begin + added - kForHost.size()) note.offset += kForHost.size();
  }
  return both;
}

std::vector<FileVersion> on_both_sides(std::vector<FileVersion> files,
                                       const std::map<fs::path, std::set<size_t>>& begins) {
  for (auto& version : files)
    if (auto found = begins.find(version.path); found != begins.end()) version = on_both_sides(version, found->second);
  return files;
}

std::string first_error(const std::string& diagnostics) {
  size_t at = diagnostics.find("error:");
  size_t begin = at == std::string::npos ? 0 : diagnostics.rfind('\n', at) + 1;
  return diagnostics.substr(begin, diagnostics.find('\n', begin) - begin);
}

FileVersion version_of(const FileChange& change, const std::string& text) {
  return {change.path, text, line_notes(change.before, text)};
}

Status compare_by_nvcc(const HostQuestion& question, HostProof& proof) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<FileVersion> declared, after;
  for (auto& change : question.patch.changes) {
    if (change.of_build) continue;
    declared.push_back(version_of(change, change.declared)), after.push_back(version_of(change, change.after));
  }
  proof.by_nvcc = proof.units > 0;
  for (auto& unit : known_units(question.mep, question.scan)) {
    if (unit.language != SourceInput::Language::Cuda || std::ranges::find(proof.files, unit.file) == proof.files.end())
      continue;
    HostUnit asked = unit;
    for (auto& one : question.patch.definitions)
      asked.words = redefined(std::move(asked.words), one.name, one.before, one.after);
    auto difference = difference_by_nvcc(asked, declared, after);
    const std::string name = fs::path(unit.file).filename().string();
    if (!difference.ok()) {
      proof.by_nvcc = false;
      proof.notes.push_back("The host program that nvcc makes of " + name +
                            " was not compared: " + difference.error().message + ".");
    } else if (*difference) {
      return refused("the patch would change the host program, of which a candidate may change nothing but launches: " +
                     name + ", " + **difference);
    }
  }
  proof.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return done();
}

class Proving {
 public:
  explicit Proving(const HostQuestion& question) : q_(question) {
    for (auto& change : q_.patch.changes) {
      if (change.of_build) continue;
      any_ |= change.created || change.before != change.after;
      auto version = [&](const std::string& text) { return version_of(change, text); };
      if (!change.created) before_.push_back(version(change.before)), knobs_.push_back(version(change.knobs));
      if (!change.created || q_.patch.embeds()) declared_.push_back(version(change.declared));
      after_.push_back(version(change.after));
      only_knobs_ &= change.declared == change.knobs;
    }
  }

  Result<HostProof> run() {
    auto begin = std::chrono::steady_clock::now();
    if (!any_) return std::move(proof_);  // Flags of a closed set, none of which reaches the host's compiler.
    TouchedUnits touched = touched_units(q_.mep, q_.scan, q_.patch);
    if (!touched.unread.empty() || touched.units.empty()) {
      std::string file = touched.unread.empty() ? q_.patch.changes[0].name : touched.unread[0];
      KERNELIFT_TRY(unproven(file, "no compile command is known that reads it; run `kernelift scan` again"));
    }
    for (auto& one : touched.unknown) KERNELIFT_TRY(unproven(one.name, "whether it reads the patch: " + one.why));
    for (auto& unit : touched.units) KERNELIFT_TRY(prove(unit));
    if (!permitted_.empty()) {
      std::string names;
      for (auto& name : permitted_) names += (names.empty() ? "'" : ", '") + name + "'";
      proof_.notes.push_back("Allowed: the patch changes " + names +
                             " for the host too; what they use is what they used before.");
    }
    proof_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(proof_);
  }

 private:
  /// For what cannot be compared: an Error, or a note if the user allows it.
  Status unproven(const std::string& file, const std::string& why) {
    if (!q_.rules.allow_unproven)
      return refused("that the host program stays as it is cannot be proven for " + file + ": " + why +
                     " (--allow-unproven-host patches it all the same)");
    proof_.notes.push_back("Not proven for " + file + ", that the host program stays as it is: " + why + ".");
    return done();
  }

  std::string name_of(const HostUnit& unit) const {
    std::error_code ignored;
    fs::path root = fs::weakly_canonical(q_.mep.app_root, ignored);
    fs::path relative = fs::path(unit.file).lexically_relative(root);
    return relative.empty() || relative.native().starts_with("..") ? unit.file : relative.string();
  }

  Error changed(const HostUnit& unit, const HostChange& change) const {
    std::string what = change.symbol.empty() ? change.what : "'" + change.symbol + "': " + change.what;
    return refused("the patch would change the host program, of which a candidate may change nothing but launches: " +
                   name_of(unit) + ", " + what);
  }

  Status prove(HostUnit unit) {
    // The text must be right with the values that the patch gives to macros in the build.
    for (auto& one : q_.patch.definitions)
      unit.command.preprocessor = redefined(std::move(unit.command.preprocessor), one.name, one.before, one.after);
    llvm::LLVMContext context;
    auto declared = compile_host_half(context, unit, q_.patch.embeds() ? before_ : declared_);
    if (!declared.ok()) {
      if (compile_host_half(context, unit, before_).ok())
        return refused("the host half of " + name_of(unit) +
                       " does not compile with the patch's launches: " + first_error(declared.error().message));
      return unproven(name_of(unit), "clang cannot compile its host half, with the patch or without: " +
                                         first_error(declared.error().message));
    }
    unit.headers = declared->headers;
    KERNELIFT_TRY(check_names_of(unit));
    auto after = compile_host_half(context, unit, after_, true);
    if (!after.ok())
      return refused("the host half of " + name_of(unit) +
                     " does not compile with the patch: " + first_error(after.error().message));
    ++proof_.units, proof_.files.push_back(unit.file);
    if (q_.patch.embeds()) {
      auto change = change_beyond_launcher(*declared->module, *after->module, q_.patch.launcher);
      return change ? Status(changed(unit, *change)) : done();
    }
    std::set<std::string>* permitted = q_.rules.allow_changes ? &permitted_ : nullptr;
    if (auto change = change_by_candidate(*declared->module, *after->module, unit.command.relocatable, permitted)) {
      Error error = changed(unit, *change);
      if (is_for_both(change->symbol) && !permitted)
        error.message += "; --allow-host-changes lets functions change that are compiled for both sides";
      return error;
    }
    KERNELIFT_TRY(check_device_functions(unit, context, *declared, *after));
    if (only_knobs_) return done();
    auto knobs = compile_host_half(context, unit, knobs_, true);
    if (!knobs.ok())
      return refused("the host half of " + name_of(unit) +
                     " does not compile with the patch's constants: " + first_error(knobs.error().message));
    auto change = change_beyond_launches(*knobs->module, *declared->module, q_.patch.kernel, q_.patch.beside);
    return change ? Status(changed(unit, *change)) : done();
  }

  /// A constant function of the device that is gone may have been the one that nvcc's host code found.
  Status check_removed(const HostUnit& unit, const HostHalf& declared, const HostHalf& after) {
    std::set<std::string> left;
    for (auto& function : after.device_functions) left.insert(function.name);
    for (auto& function : declared.device_functions)
      if (!function.is_kernel && function.is_constant && !left.contains(function.name))
        return refused("the candidate removes the constant device function '" + function.name + "' from " +
                       name_of(unit) + ", which host code may have found");
    return done();
  }

  /// What clang folds leaves no trace in its IR, and may be a call to another compiler. So no host code may reach a
  /// function that the candidate adds or changes, all that is the device's being the host's, too.
  Status check_host_uses(const HostUnit& unit, const HostHalf& declared, const HostHalf& after) {
    const bool changed = std::ranges::any_of(
        after.written, [&](auto& function) { return !function.is_kernel && !declared.written.contains(function); });
    if (!changed) return done();
    std::map<fs::path, std::set<size_t>> places;
    for (auto& function : after.device_functions)
      if (!function.by_macro && !function.is_kernel) places[function.file].insert(function.begin);
    const auto visible = on_both_sides(after_, places);
    KERNELIFT_ASSIGN(auto uses, host_uses(unit, visible, declared.written, kForHost));
    for (auto& use : uses) {
      if (q_.rules.allow_changes && is_for_both(use.function)) continue;
      Error error = refused(
          "the patch would change the host program, of which a candidate may change nothing but "
          "launches: in " +
          name_of(unit) + " host code ('" + use.user + "') uses '" + use.function +
          "', which the candidate adds or changes");
      if (is_for_both(use.function))
        error.message += "; --allow-host-changes lets functions change that are compiled for both sides";
      return error;
    }
    return done();
  }

  /// nvcc lets host code find functions of the device, which clang does not: templates and initialisers then run what
  /// is a constant expression, and end the program at the rest; what is not static it makes a name of the program, too.
  /// So the unit is compared once more with the candidate's functions as the host's: it has to use none of them.
  Status check_device_functions(const HostUnit& unit, llvm::LLVMContext& context, const HostHalf& declared,
                                const HostHalf& after) {
    KERNELIFT_TRY(check_host_uses(unit, declared, after));
    using Known = std::tuple<std::string, std::string, bool, bool>;
    auto known_as = [](const DeviceFunction& function) {
      return Known(function.name, function.seen, function.is_global, function.is_visible);
    };
    std::set<Known> known;
    for (auto& function : declared.device_functions) known.insert(known_as(function));
    std::map<fs::path, std::set<size_t>> places;
    std::string names;
    for (auto& function : after.device_functions) {
      if (known.contains(known_as(function))) continue;
      const std::string its = "the candidate's device function '" + function.name + "' in " + name_of(unit);
      if (function.name.ends_with("operator!="))
        return refused(its + " keeps compilers of C++20 from reversing ==, and not all alike");
      if (function.by_macro) return refused(its + " is named by a macro, so that host code may find it");
      if (function.is_global)
        return refused(its + " would be a name of the whole program: declare it static or inline");
      const bool beside = function.is_kernel && !q_.patch.beside.empty() && function.name.ends_with(q_.patch.beside);
      if (function.is_visible && !beside && (function.is_kernel || unit.command.relocatable))
        return refused(its +
                       " would be a name that other files of the program may have, too, of which one is linked: " +
                       "declare it static, or put it into an unnamed namespace");
      if (function.is_kernel) continue;
      places[function.file].insert(function.begin);
      names += (names.empty() ? "'" : ", '") + function.name + "'";
    }
    KERNELIFT_TRY(check_removed(unit, declared, after));
    if (places.empty()) return done();
    const auto visible = on_both_sides(after_, places);
    auto seen = compile_host_half(context, unit, visible, true);
    if (!seen.ok())
      return refused("the host half of " + name_of(unit) + " does not compile where host code finds " + names +
                     " of the candidate, as nvcc's does: " + first_error(seen.error().message));
    auto change = change_by_candidate(*declared.module, *seen->module, unit.command.relocatable, nullptr);
    if (!change) return done();
    Error error = changed(unit, *change);
    error.message += "; so it is where host code finds " + names + " of the candidate, as nvcc's does";
    return error;
  }

  bool is_for_both(const std::string& symbol) const {
    return std::ranges::any_of(q_.mep.functions, [&](auto& function) {
      return function.on_host && symbol.find(function.name) != std::string::npos;
    });
  }

  /// What the patch names, against what the unit reads, which is read once.
  Status check_names_of(const HostUnit& unit) {
    const IntroducedNames& names = q_.patch.introduced;
    const bool brings = !names.words.empty() || !names.declared.empty();
    if (q_.patch.macros.empty() && !brings && q_.patch.beside.empty()) return done();
    KERNELIFT_ASSIGN(HostText text, read_host_text(unit, before_, true));
    KERNELIFT_TRY(check_macros(unit, text));
    if (brings) KERNELIFT_TRY(check_introduced(unit, text));
    return check_beside(unit, text);
  }
  /// A new macro must have a name that the unit reads nowhere, in no header and in no conditional that it skips.
  Status check_macros(const HostUnit& unit, const HostText& text) {
    auto none_is_in = [&](const HostText& read) -> Status {
      for (auto& name : q_.patch.macros)
        if (read.identifiers.contains(name)) return taken(unit, name);
      return done();
    };
    KERNELIFT_TRY(none_is_in(text));
    if (q_.patch.macros.empty() || !cuda_toolkit() || unit.headers == HeaderSet::Toolkit) return done();
    HostUnit by_toolkit = unit;
    by_toolkit.headers = HeaderSet::Toolkit;
    auto other = read_host_text(by_toolkit, before_, true);
    return other.ok() ? none_is_in(*other) : done();
  }
  /// What the candidate names has to be nothing else in the unit: no macro that is none where it was judged, and, at
  /// the scope of a namespace, nothing that the application's own files mention.
  Status check_introduced(const HostUnit& unit, const HostText& text) {
    const fs::path main_file = fs::weakly_canonical(fs::path(unit.folder) / unit.file);
    const HostText alone = readable_host_text(unit, {{main_file, q_.patch.judged_beside, {}}}, false);
    std::set<std::string> macros;
    std::ranges::set_difference(text.macros, alone.macros, std::inserter(macros, macros.end()));
    const std::string clash = first_clash(q_.patch.introduced, text.own_identifiers, macros);
    return clash.empty() ? done() : refused("in " + name_of(unit) + " " + clash);
  }
  /// Nothing else of the program may have the name of the kernel beside, which other units may launch.
  Status check_beside(const HostUnit& unit, const HostText& text) {
    if (q_.patch.beside.empty() || !text.identifiers.contains(q_.patch.beside)) return done();
    return refused("the kernel beside '" + q_.patch.kernel + "' would be called '" + q_.patch.beside +
                   "', a name that " + name_of(unit) + " or a header that it includes uses");
  }
  Error taken(const HostUnit& unit, const std::string& name) const {
    return refused("the candidate defines the macro '" + name + "', a name that " + name_of(unit) +
                   " or a header that it includes uses");
  }

  const HostQuestion& q_;
  HostProof proof_;
  std::vector<FileVersion> before_, knobs_, declared_, after_;
  bool any_ = false;        ///< Something that a compiler reads changes.
  bool only_knobs_ = true;  ///< The patch declares no launches.
  std::set<std::string> permitted_;
};

}  // namespace

std::string HostProof::text() const {
  char line[96];
  std::snprintf(line, sizeof line, "the host half of %zu unit%s is as it was%s: compared in %.2f s", units,
                units == 1 ? "" : "s", by_nvcc ? ", for clang and for nvcc" : "", seconds);
  return line;
}

Result<HostProof> prove_host_half(const HostQuestion& question) {
  KERNELIFT_ASSIGN(HostProof proof, in_own_process([&] { return compare_host_half(question); }));
  // A patch that embeds code adds a launcher of our own; functions that may change are another program.
  const HostRules& rules = question.rules;
  if (rules.by_nvcc && !rules.allow_changes && !question.patch.embeds())
    KERNELIFT_TRY(compare_by_nvcc(question, proof));
  return proof;
}

Result<HostProof> compare_host_half(const HostQuestion& question) { return Proving(question).run(); }

}  // namespace kernelift::reintegrate
