// The names that a changed text brings. A candidate is judged beside the kernel's own text alone, and compiled beside
// all that the application's unit has: where a name of the candidate means something there already (a macro, an
// overload that is nearer to the arguments), other code runs than was judged. Found by tokens, so that nothing need
// compile, and so that the unit's text can be asked in the same way.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace kernelift {

struct IntroducedNames {
  /// Every identifier that the own text does not have, of locals and members too: none may be a macro of the unit that
  /// is none where the candidate was judged.
  std::set<std::string> words;
  /// What is declared at the scope of a namespace: functions, types, variables, enumerators, templates, namespaces; an
  /// operator as "operator+". None may be a word of the unit outside of the kernel.
  std::set<std::string> declared;
};
IntroducedNames introduced_names(std::string_view own, std::string_view changed);

/// The changed text with its own device functions static, where other files of the program could link them otherwise:
/// nvcc makes a host function of each, which ends the program. Functions with a name of the own text stay as they are.
std::string with_static_functions(std::string_view own, std::string_view changed);

/// The identifiers of a text, in code that is skipped too, and its operator functions as "operator+".
std::set<std::string> words_of(std::string_view text);
/// The names that a text defines as macros, whatever conditionals say.
std::set<std::string> macros_of(std::string_view text);

/// The first name that is taken, with the reason; empty if none is. `unit_words`: of the application's own files, the
/// kernel's text left out. `unit_macros`: of these, the headers and the command line.
std::string first_clash(const IntroducedNames& names, const std::set<std::string>& unit_words,
                        const std::set<std::string>& unit_macros);

}  // namespace kernelift
