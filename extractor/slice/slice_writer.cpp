// The pieces to be written are collected as elements, sorted by their position in the translation unit (not by file: a
// fragment's text belongs where it was included), then written one after the other. System includes come first: they do
// not depend on the application's text, and every declaration may depend on them.
#include "extractor/slice/slice_writer.h"

#include <algorithm>
#include <map>
#include <set>

#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Lex/MacroInfo.h"
#include "core/model/knob/build_definition.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

struct Edit {
  unsigned begin = 0, end = 0;
  std::string text;
};

/// The end of the preprocessor line at `at`, with its continuation lines and an open block comment.
unsigned directive_end(llvm::StringRef text, unsigned at) {
  bool comment = false;
  for (; at < text.size(); ++at) {
    if (comment) {
      if (text.substr(at).starts_with("*/")) comment = false, ++at;
    } else if (text.substr(at).starts_with("/*")) {
      comment = true, ++at;
    } else if (text[at] == '\n') {
      unsigned last = at > 0 && text[at - 1] == '\r' ? at - 1 : at;
      if (last == 0 || text[last - 1] != '\\') return last;
    }
  }
  return at;
}

unsigned line_start(llvm::StringRef text, unsigned at) {
  while (at > 0 && text[at - 1] != '\n') --at;
  return at;
}

class Writer {
 public:
  explicit Writer(const ParsedUnit& unit, const std::vector<BodyCut>& cuts) : unit_(unit), cuts_(cuts) {
    for (auto& include : unit.record.includes) includes_[include.hash.file].push_back(&include);
  }
  SliceText result;

  /// Copies [begin, end) of `file`, applying edits and writing included user files in place.
  void source(FileID file, unsigned begin, unsigned end, std::vector<Edit> edits) {
    for (auto* include : includes_[file])
      if (include->hash.offset >= begin && include->hash.offset < end) edits.push_back(inclusion(*include));
    for (auto& cut : cuts_)
      if (cut.file == file && cut.begin >= begin && cut.end <= end) {
        // The space before the brace goes with the body: `void f();`, not `void f() ;`.
        llvm::StringRef before = unit_.text(file).slice(0, cut.begin);
        edits.push_back({static_cast<unsigned>(before.rtrim(" \t\r\n").size()), cut.end, ";"});
      }
    std::sort(edits.begin(), edits.end(),
              [](auto& a, auto& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
    llvm::StringRef text = unit_.text(file);
    // A byte order mark is valid only at the beginning of a file.
    if (begin == 0 && text.starts_with("\xEF\xBB\xBF")) begin = 3;
    std::string path = unit_.path(file);
    unsigned line = unit_.line(file, begin), at = begin;
    for (auto& edit : edits) {
      if (edit.end <= at || edit.begin >= end) continue;
      copy(text, at, std::max(at, edit.begin), path, line);
      if (auto entered = entered_.find({file.getHashValue(), edit.begin});
          entered != entered_.end() && edit.text.empty()) {
        if (!fresh()) result.text += "\n";
        source(entered->second, 0, unit_.text(entered->second).size(), {});
      } else if (!edit.text.empty()) {
        put(edit.text, path, line);
      }
      for (unsigned i = std::max(at, edit.begin); i < std::min(edit.end, end); ++i) line += text[i] == '\n';
      at = std::min(edit.end, end);
    }
    copy(text, at, end, path, line);
    if (!fresh()) result.text += text.substr(end).starts_with("\r\n") ? "\r\n" : "\n";
  }

 private:
  bool fresh() const { return result.text.empty() || result.text.back() == '\n'; }
  void put(const std::string& bytes, const std::string& path, unsigned line) {
    if (fresh()) result.origins.push_back({path, line});
    result.text += bytes;
  }
  void copy(llvm::StringRef text, unsigned begin, unsigned end, const std::string& path, unsigned& line) {
    while (begin < end) {
      size_t newline = text.slice(begin, end).find('\n');
      unsigned stop = newline == llvm::StringRef::npos ? end : begin + newline + 1;
      put(text.slice(begin, stop).str(), path, line);
      if (newline != llvm::StringRef::npos) ++line;
      begin = stop;
    }
  }
  /// A user file is written in place of its directive; a system file's directive is kept; the directive of a user file
  /// that its guard skipped is removed.
  Edit inclusion(const IncludeRecord& include) {
    unsigned end = directive_end(unit_.text(include.hash.file), include.hash.offset);
    // With host bodies cut away, a header that does not exist here (MPI's, a library's) may be left out too.
    if (include.path.empty() && !cuts_.empty())
      return {include.hash.offset, end, "/* not found: " + include.spelling + " */"};
    bool user = include.entered.isValid() ? unit_.is_user(include.entered) : is_user_path(include.path);
    if (!user) return {include.hash.offset, end, unit_.text(include.hash.file).slice(include.hash.offset, end).str()};
    // The line's end is removed too: the text that replaces the directive ends its own lines.
    llvm::StringRef text = unit_.text(include.hash.file);
    if (text.substr(end).starts_with("\r")) ++end;
    if (text.substr(end).starts_with("\n")) ++end;
    if (include.entered.isValid()) entered_[{include.hash.file.getHashValue(), include.hash.offset}] = include.entered;
    return {include.hash.offset, end, ""};
  }
  bool is_user_path(const std::string& path) const {
    for (auto& include : unit_.record.includes)
      if (include.path == path && include.entered.isValid()) return unit_.is_user(include.entered);
    return false;
  }

  const ParsedUnit& unit_;
  const std::vector<BodyCut>& cuts_;
  std::map<FileID, std::vector<const IncludeRecord*>> includes_;
  std::map<std::pair<unsigned, unsigned>, FileID> entered_;
};

/// Chooses, for each system file that is needed, the application's #include that includes it with the fewest others.
class IncludeChooser {
 public:
  explicit IncludeChooser(const ParsedUnit& unit) : unit_(unit) {
    for (auto& include : unit.record.includes) {
      std::string from = unit.path(include.hash.file);
      if (!include.path.empty()) reaches_[from].insert(include.path);
      if (include.entered.isValid()) ++times_entered_[include.path];
      if (unit.is_user(include.hash.file) && !include.path.empty()) {
        bool user = include.entered.isValid() && unit.is_user(include.entered);
        if (!user) directives_.push_back(&include);
      }
    }
  }
  std::set<std::string> standard;  ///< Standard headers that are needed and that no directive includes.

  std::vector<const IncludeRecord*> choose(const std::set<FileID>& needed) {
    std::set<const IncludeRecord*> chosen;
    for (FileID file : needed) {
      // A header without a guard may be a different text each time, so the guarded header that includes it is named.
      while (times_entered_[unit_.path(file)] > 1 && unit_.sources.getIncludeLoc(file).isValid() &&
             !unit_.is_user(includer(file)))
        file = includer(file);
      std::string path = unit_.path(file);
      const IncludeRecord* best = nullptr;
      for (auto* directive : directives_) {
        auto& brought = closure_of(directive->path);
        if (!brought.count(path)) continue;
        bool exact = directive->path == path;
        if (!exact && from_prelude(file)) continue;
        if (!best || chosen.count(directive) || brought.size() < closure_of(best->path).size()) best = directive;
        if (chosen.count(directive)) break;
      }
      if (best) chosen.insert(best);
      else if (auto name = llvm::StringRef(path).rsplit('/').second; !name.contains('.') && !from_prelude(file))
        standard.insert("<" + name.str() + ">");  // <cstdint> that no directive reaches because the unit has errors.
    }
    std::vector<const IncludeRecord*> ordered;
    std::set<std::string> spelled;
    for (auto& include : unit_.record.includes)
      if (chosen.count(&include) && spelled.insert(include.spelling).second) ordered.push_back(&include);
    return ordered;
  }

 private:
  FileID includer(FileID file) const { return unit_.sources.getFileID(unit_.sources.getIncludeLoc(file)); }
  /// True if no file of the application includes it, directly or indirectly: every compile has it.
  bool from_prelude(FileID file) const {
    for (auto at = file; at.isValid(); at = includer(at)) {
      if (unit_.is_user(at)) return false;
      if (unit_.sources.getIncludeLoc(at).isInvalid()) break;
    }
    return true;
  }
  const std::set<std::string>& closure_of(const std::string& path) {
    auto [at, fresh] = closures_.try_emplace(path);
    if (!fresh) return at->second;
    std::set<std::string> all = {path};
    std::vector<std::string> work = {path};
    while (!work.empty()) {
      std::string one = std::move(work.back());
      work.pop_back();
      for (auto& next : reaches_[one])
        if (all.insert(next).second) work.push_back(next);
    }
    return closures_[path] = std::move(all);
  }

  const ParsedUnit& unit_;
  std::map<std::string, std::set<std::string>> reaches_, closures_;
  std::map<std::string, int> times_entered_;
  std::vector<const IncludeRecord*> directives_;
};

/// The item's declaration for the report: "function app::clamp".
std::string describe(const SourceItem& item) {
  for (auto* declaration : item.declarations) {
    auto* named = llvm::dyn_cast<NamedDecl>(declaration);
    if (auto* linkage = llvm::dyn_cast<LinkageSpecDecl>(declaration))
      for (auto* inner : linkage->decls()) named = llvm::dyn_cast<NamedDecl>(inner);
    if (!named || llvm::isa<UsingDirectiveDecl>(named)) continue;
    auto* entity = named;
    if (auto* pattern = llvm::dyn_cast<TemplateDecl>(named); pattern && pattern->getTemplatedDecl())
      entity = pattern->getTemplatedDecl();
    const char* kind = llvm::isa<FunctionDecl>(entity)      ? "function "
                       : llvm::isa<TagDecl>(entity)         ? "type "
                       : llvm::isa<VarDecl>(entity)         ? "variable "
                       : llvm::isa<TypedefNameDecl>(entity) ? "alias "
                                                            : "declaration ";
    return kind + named->getQualifiedNameAsString();
  }
  return "directive";
}

struct Element {
  SourceLocation place;
  const SourceItem* item = nullptr;  ///< Null for a preprocessor directive.
  FileID file;
  unsigned begin = 0, end = 0;
  bool line_sensitive = false;
  std::string what;
};

class SliceWriter {
 public:
  SliceWriter(const ParsedUnit& unit, const SourceItems& items, const Closure& closure, Conditionals conditionals)
      : unit_(unit), items_(items), closure_(closure), conditionals_(conditionals), writer_(unit, closure.cuts) {}

  SliceText run() {
    definitions_of_build();
    includes();
    collect();
    for (auto& element : elements_) write(element);
    scopes({});
    return std::move(writer_.result);
  }

 private:
  /// Integers that the command line defines, where a candidate can change them. The command that compiles this text
  /// defines them too.
  void definitions_of_build() {
    std::map<std::string, std::string> integers;  // In an order that no address decides.
    for (const MacroInfo* macro : closure_.macros) {
      if (!unit_.is_of_command(macro->getDefinitionLoc()) || macro->isFunctionLike() || macro->getNumTokens() != 1 ||
          macro->tokens_begin()->isNot(tok::numeric_constant))
        continue;
      llvm::SmallString<32> space;
      const std::string value = unit_.preprocessor.getSpelling(*macro->tokens_begin());
      if (int64_t number = 0; llvm::StringRef(value).getAsInteger(0, number)) continue;
      integers.emplace(unit_.preprocessor.getSpelling(macro->getDefinitionLoc(), space).str(), value);
    }
    for (auto& [name, value] : integers) {
      append_line(writer_.result, "#undef " + name);
      append_line(writer_.result, build_definition(name, value));
    }
  }

  void includes() {
    bool sized = false, plain = false;
    for (auto& type : closure_.standard_types) (type == "size_t" || type == "ptrdiff_t" ? plain : sized) = true;
    if (plain) append_line(writer_.result, "#include <stddef.h>");
    if (sized) append_line(writer_.result, "#include <stdint.h>");
    IncludeChooser chooser(unit_);
    auto chosen = chooser.choose(closure_.system_files);
    for (auto& name : chooser.standard) append_line(writer_.result, "#include " + name);
    for (auto* include : chosen) {
      unsigned begin = include->hash.offset, end = directive_end(unit_.text(include->hash.file), begin);
      writer_.source(include->hash.file, begin, end, {{begin, end, "#include " + include->spelling}});
      note(include->hash.file, begin, end, "include " + include->spelling);
    }
  }

  /// nvcc treats `extern __constant__ int n;` as a definition, unless code is relocatable. Such declarations are
  /// therefore dropped (`replaced`), and the variable's definition is moved to the first of them. Returns the new
  /// position of each item with such a definition.
  std::map<int, SourceLocation> definitions_moved(std::set<int>& replaced) const {
    std::map<int, SourceLocation> moved;
    for (int index : closure_.items) {
      std::set<int> definitions;
      for (auto* declaration : items_[index].declarations) {
        auto* variable = llvm::dyn_cast<VarDecl>(declaration);
        bool only_declares = variable && variable->isThisDeclarationADefinition() == VarDecl::DeclarationOnly;
        auto* definition = only_declares ? variable->getDefinition() : nullptr;
        definitions.insert(definition ? items_.of(definition) : -1);
      }
      if (definitions.empty() || definitions.contains(-1)) continue;
      if (!std::ranges::all_of(definitions, [&](int one) { return closure_.items.contains(one); })) continue;
      replaced.insert(index);
      SourceLocation place = location(items_[index].file, items_[index].code_begin);
      for (int one : definitions)
        if (auto [at, fresh] = moved.try_emplace(one, place);
            !fresh && unit_.sources.isBeforeInTranslationUnit(place, at->second))
          at->second = place;
    }
    return moved;
  }

  void collect() {
    std::set<int> replaced;
    auto moved = definitions_moved(replaced);
    for (int index : closure_.items) {
      if (replaced.contains(index)) continue;
      auto& item = items_[index];
      auto at = moved.find(index);
      Element element{at == moved.end() ? location(item.file, item.code_begin) : at->second,
                      &item,
                      item.file,
                      item.begin,
                      item.end,
                      closure_.line_sensitive.count(index) > 0,
                      describe(item)};
      elements_.push_back(std::move(element));
    }
    for (auto& definition : unit_.record.definitions)
      if (closure_.macros.count(definition.macro)) directive(definition.location, "macro " + definition.name);
    for (auto& undef : unit_.record.undefs)
      if (closure_.macro_names.count(undef.name)) directive(undef.location, "#undef " + undef.name);
    for (auto& pragma : unit_.record.pragmas) {
      llvm::StringRef text = unit_.text(pragma.hash.file).substr(pragma.hash.offset);
      text = text.drop_front().ltrim(" \t");
      if (!text.consume_front("pragma")) continue;
      text = text.ltrim(" \t");
      // Only pragmas that change the meaning of the declarations after them.
      if (text.starts_with("pack") || text.starts_with("STDC") || text.starts_with("clang fp"))
        directive(pragma.location, "#pragma");
    }
    std::sort(elements_.begin(), elements_.end(), [&](const Element& a, const Element& b) {
      return a.place != b.place && unit_.sources.isBeforeInTranslationUnit(a.place, b.place);
    });
  }

  SourceLocation location(FileID file, unsigned offset) const {
    return unit_.sources.getLocForStartOfFile(file).getLocWithOffset(static_cast<int>(offset));
  }

  /// Adds a preprocessor line, unless it is inside an item that is taken anyway.
  void directive(SourceLocation at, const std::string& what) {
    if (!unit_.is_user(at)) return;
    FileOffset place = unit_.place(at);
    for (int index : closure_.items) {
      auto& item = items_[index];
      if (item.file == place.file && place.offset >= item.code_begin && place.offset < item.code_end) return;
    }
    llvm::StringRef text = unit_.text(place.file);
    unsigned hash = place.offset;
    while (hash > 0 && text[hash] != '#') --hash;
    elements_.push_back({location(place.file, hash), nullptr, place.file, with_leading_comments(text, hash),
                         directive_end(text, place.offset), false, what});
  }

  void write(const Element& element) {
    if (element.item) scopes(element.item->scopes);
    llvm::StringRef text = unit_.text(element.file);
    if (element.item && blank_line_above(text, element.begin)) append_line(writer_.result, "");
    if (element.line_sensitive) {
      auto presumed = unit_.sources.getPresumedLoc(location(element.file, element.begin));
      append_line(writer_.result,
                  "#line " + std::to_string(presumed.getLine()) + " \"" + presumed.getFilename() + "\"");
    }
    writer_.source(element.file, element.begin, element.end, edits(element));
    note(element.file, element.begin, element.end, element.what);
  }

  static bool blank_line_above(llvm::StringRef text, unsigned at) {
    unsigned start = line_start(text, at);
    if (start == 0) return false;
    return text.slice(line_start(text, start - 1), start).trim().empty();
  }

  std::vector<Edit> edits(const Element& element) const {
    std::vector<Edit> all;
    int depth = 0;
    bool torn = false;
    for (auto& conditional : unit_.record.conditionals) {
      if (conditional.hash.file != element.file || conditional.hash.offset < element.begin ||
          conditional.hash.offset >= element.end)
        continue;
      if (conditional.kind == ConditionalRecord::Kind::If) ++depth;
      else torn |= depth == 0;
      if (conditional.kind == ConditionalRecord::Kind::Endif && depth > 0) --depth;
    }
    if (conditionals_ == Conditionals::Kept && !torn && depth == 0) return all;
    llvm::StringRef text = unit_.text(element.file);
    auto remove = [&](unsigned begin, unsigned end) {
      if (end < text.size() && text[end] == '\r') ++end;
      if (end < text.size() && text[end] == '\n') ++end;
      all.push_back({line_start(text, begin), end, ""});
    };
    for (auto& conditional : unit_.record.conditionals)
      if (conditional.hash.file == element.file && conditional.hash.offset >= element.begin &&
          conditional.hash.offset < element.end)
        remove(conditional.hash.offset, directive_end(text, conditional.hash.offset));
    for (auto& skipped : unit_.record.skipped)
      if (skipped.begin.file == element.file && skipped.end > element.begin && skipped.begin.offset < element.end)
        all.push_back(
            {std::max(skipped.begin.offset, element.begin), line_start(text, std::min(skipped.end, element.end)), ""});
    return all;
  }

  /// Closes and opens namespaces and linkage blocks so that the next item is in its original scope.
  void scopes(const std::vector<const DeclContext*>& wanted) {
    size_t common = 0;
    while (common < open_.size() && common < wanted.size() && same_scope(open_[common], wanted[common])) ++common;
    for (; open_.size() > common; open_.pop_back()) append_line(writer_.result, "}");
    for (; open_.size() < wanted.size(); open_.push_back(wanted[open_.size()])) {
      auto* scope = wanted[open_.size()];
      if (auto* space = llvm::dyn_cast<NamespaceDecl>(scope)) {
        std::string name = space->getNameAsString();
        append_line(writer_.result, std::string(space->isInline() ? "inline " : "") + "namespace " +
                                        (name.empty() ? "" : name + " ") + "{");
      } else {
        bool c = llvm::cast<LinkageSpecDecl>(scope)->getLanguage() == LinkageSpecLanguageIDs::C;
        append_line(writer_.result, c ? "extern \"C\" {" : "extern \"C++\" {");
      }
    }
  }
  static bool same_scope(const DeclContext* a, const DeclContext* b) {
    auto *left = llvm::dyn_cast<NamespaceDecl>(a), *right = llvm::dyn_cast<NamespaceDecl>(b);
    if (left && right) return left->getCanonicalDecl() == right->getCanonicalDecl();
    return a == b;
  }

  void note(FileID file, unsigned begin, unsigned end, const std::string& what) {
    auto range = unit_.range(file, begin, end);
    writer_.result.taken.push_back({range.file, range.line, range.end_line, what});
  }

  const ParsedUnit& unit_;
  const SourceItems& items_;
  const Closure& closure_;
  Conditionals conditionals_;
  Writer writer_;
  std::vector<Element> elements_;
  std::vector<const DeclContext*> open_;
};

}  // namespace

void append_line(SliceText& slice, const std::string& line) {
  if (!slice.text.empty() && slice.text.back() != '\n') slice.text += "\n";
  slice.text += line + "\n";
  slice.origins.push_back({});
}

SliceText write_slice(const ParsedUnit& unit, const SourceItems& items, const Closure& closure,
                      Conditionals conditionals) {
  return SliceWriter(unit, items, closure, conditionals).run();
}

SliceText write_whole_unit(const ParsedUnit& unit, const std::vector<BodyCut>& cuts) {
  Writer writer(unit, cuts);
  append_line(writer.result, "#define main kernelift_application_main");
  FileID main = unit.sources.getMainFileID();
  std::set<unsigned> files = {main.getHashValue()};
  writer.source(main, 0, unit.text(main).size(), {});
  append_line(writer.result, "#undef main");
  writer.result.taken.push_back({unit.path(main), 1, unit.line(main, unit.text(main).size()), "the whole unit"});
  for (auto& include : unit.record.includes)
    if (include.entered.isValid() && unit.is_user(include.entered) &&
        files.insert(include.entered.getHashValue()).second)
      writer.result.taken.push_back(
          {include.path, 1, unit.line(include.entered, unit.text(include.entered).size()), "the whole file"});
  return std::move(writer.result);
}

}  // namespace kernelift::extractor
