// Names of C++ functions: demangled, split, and compared with what a person wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wf::weaver {

struct FunctionName {
  std::string demangled;  // complete
  std::string qualified;  // without return type, parameters, qualifiers: "ns::Cache<int>::get"
  // The text between the brackets, unless `!has_parameters` (C, and unmangled names).
  std::string parameters;
  bool has_parameters = false;
  // The suffix of a piece or copy that the compiler made: "constprop.0", "part.0", "cold"; empty: the
  // function itself.
  std::string clone;
};

FunctionName ParseFunctionName(std::string_view symbol);

// `pattern` is a name as in the source, or a glob (*, ?; they also match "::"). It need not write template arguments,
// ABI tags or unnamed namespaces. The symbol itself matches too.
class NamePattern {
 public:
  explicit NamePattern(std::string_view pattern);
  bool Matches(std::string_view symbol, const FunctionName& name) const;
  // Whether a symbol is worth demangling: quick, and a "no" is always right.
  bool MayMatch(std::string_view symbol) const;
  bool glob() const { return glob_; }

 private:
  std::string pattern_;     // without blanks
  std::string identifier_;  // must occur in the symbol; empty: unknown
  bool glob_ = false;
  bool templates_ = false;  // the pattern writes template arguments
};

bool GlobMatches(std::string_view pattern, std::string_view text);

// Splits "int, std::map<int, long> const&" at its outer commas. "" and "void" have none.
std::vector<std::string> SplitParameters(std::string_view parameters);
// A type in one spelling: "const std::string &" and "std::__cxx11::basic_string<char, …> const&" become equal, so do
// "unsigned long int", "unsigned long", "size_t" and "uint64_t".
std::string CanonicalType(std::string_view type);
// Without any "ns::", to compare with names that lack it.
std::string Unqualified(std::string_view type);
// Whether the parameters match `signature`; its brackets are optional.
bool SignatureMatches(std::string_view signature, std::string_view parameters);

}  // namespace wf::weaver
