#include "weaver/function_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weaver/class_hierarchy.h"
#include "weaver/dwarf_function.h"
#include "weaver/dwarf_types.h"

namespace wf::weaver {
namespace {

// More places than this are never intended; a glob is too broad.
constexpr size_t kMaxFunctions = 500;

// Code that only leads to a function: adjusting `this`, or deleting what another destructor destroyed. Probing it too
// would count one call twice.
bool IsStub(std::string_view symbol, const FunctionName& name) {
  if (symbol.starts_with("_ZTh") || symbol.starts_with("_ZTv") || symbol.starts_with("_ZTc"))
    return true;
  return name.qualified.find("::~") != std::string::npos &&
         symbol.find("D0Ev") != std::string_view::npos;
}

enum class Piece : uint8_t { kWhole, kCopy, kPart };
// What a compiler's suffix means for callers of the function.
Piece PieceOf(std::string_view clone) {
  if (clone.find("cold") != std::string_view::npos || clone.find("part.") != std::string_view::npos)
    return Piece::kPart;
  for (const std::string_view mark : {"isra.", "constprop.", "llvm."}) {
    if (clone.find(mark) != std::string_view::npos) return Piece::kCopy;
  }
  return Piece::kWhole;
}

// By the debug information: for C, whose symbols have no parameters, and for names that typedefs gave.
std::optional<bool> DwarfSignatureMatches(const elf::ElfImage& image, uint64_t address,
                                          std::string_view signature) {
  const auto function = FindDwarfFunction(image, address);
  if (!function) return std::nullopt;
  if (signature.starts_with('(') && signature.ends_with(')'))
    signature = signature.substr(1, signature.size() - 2);
  const auto wanted = SplitParameters(signature);
  size_t at = 0;
  for (const Dwarf_Die& child : ParametersOf(function->die)) {
    if (HasFlag(child, DW_AT_artificial)) continue;
    if (at == wanted.size()) return false;
    // The names of types in debug information lack their namespaces.
    const auto plain = [](std::string_view text) { return Unqualified(CanonicalType(text)); };
    const std::string own = plain(wanted[at++]);
    const auto type = TypeOf(child);
    if (own != plain(TypeName(type)) && own != plain(ResolvedTypeName(type))) return false;
  }
  return at == wanted.size();
}

class FunctionSearch {
 public:
  FunctionSearch(const elf::ElfImage& image, const Location& location)
      : image_(image), location_(location), pattern_(location.function) {}

  Result<FoundFunctions> Run() {
    MatchSymbols();
    if (location_.overriders && !pattern_.glob()) AddOverriders();
    auto& functions = out_.functions;
    std::sort(functions.begin(), functions.end(),
              [](const FoundFunction& a, const FoundFunction& b) {
                return std::tie(a.symbol.address, a.symbol.name) <
                       std::tie(b.symbol.address, b.symbol.name);
              });
    // One place, several names (aliases, constructors of complete and of base objects): once.
    functions.erase(std::unique(functions.begin(), functions.end(),
                                [](const FoundFunction& a, const FoundFunction& b) {
                                  return a.symbol.address == b.symbol.address;
                                }),
                    functions.end());
    if (functions.size() > kMaxFunctions) {
      return BadInput(fmt::format("'{}' is {} functions of {}, more than {}", location_.function,
                                  functions.size(), image_.file(), kMaxFunctions),
                      "write a narrower pattern or a signature");
    }
    NoteInlined();
    if (functions.empty()) return Missing();
    return std::move(out_);
  }

 private:
  void MatchSymbols() {
    for (const elf::FunctionSymbol& symbol : image_.symbols()) {
      if (!pattern_.MayMatch(symbol.name)) continue;
      const FunctionName name = ParseFunctionName(symbol.name);
      if (!pattern_.Matches(symbol.name, name) || IsStub(symbol.name, name)) continue;
      Take(symbol, name);
    }
  }

  void Take(const elf::FunctionSymbol& symbol, const FunctionName& name) {
    if (location_.has_signature && !SignatureFits(symbol, name)) {
      other_overloads_.insert(name.demangled);
      return;
    }
    if (symbol.chosen_at_run_time) {
      out_.notes.push_back(fmt::format(
          "{} is chosen among several when the program starts (IFUNC); name the one that runs",
          symbol.name));
      chosen_at_run_time_ = true;
      return;
    }
    const Piece piece = PieceOf(name.clone);
    if (piece == Piece::kPart) {
      if (name.clone.find("part.") != std::string::npos) {
        out_.notes.push_back(fmt::format(
            "{}: its beginning was inlined into callers; those calls that do not reach {}.{} are "
            "not seen",
            name.demangled, name.qualified, name.clone));
      }
      return;
    }
    out_.functions.push_back({symbol, name, piece == Piece::kCopy});
  }

  bool SignatureFits(const elf::FunctionSymbol& symbol, const FunctionName& name) {
    if (name.has_parameters && SignatureMatches(location_.signature, name.parameters)) return true;
    const auto by_dwarf = DwarfSignatureMatches(image_, symbol.address, location_.signature);
    if (by_dwarf) return *by_dwarf;
    if (name.has_parameters) return false;
    out_.notes.push_back(fmt::format(
        "{}: its parameters are not known here; the signature was not checked", name.demangled));
    return true;
  }

  void AddOverriders() {
    if (image_.dwarf() == nullptr || location_.function.find("::") == std::string::npos) return;
    // A method that is there and not virtual needs no look at every class of the program.
    for (const FoundFunction& found : out_.functions) {
      const auto function = FindDwarfFunction(image_, found.symbol.address);
      if (function && UnsignedAttribute(function->die, DW_AT_virtuality).value_or(0) == 0) return;
    }
    const Overriders overriders = FindOverriders(
        image_, location_.function, location_.has_signature ? &location_.signature : nullptr);
    is_virtual_ = overriders.is_virtual;
    if (!overriders.complete)
      out_.notes.emplace_back("there are too many classes to look at; overriders may be missing");
    std::vector<std::string> added;
    for (const elf::FunctionSymbol& symbol : image_.symbols()) {
      if (!std::binary_search(overriders.symbols.begin(), overriders.symbols.end(),
                              std::string(symbol.name)))
        continue;
      const FunctionName name = ParseFunctionName(symbol.name);
      out_.functions.push_back({symbol, name, false});
      if (std::find(added.begin(), added.end(), name.qualified) == added.end())
        added.push_back(name.qualified);
    }
    if (!added.empty()) {
      out_.notes.push_back(fmt::format("{} is virtual; its overriders are covered too: {}",
                                       location_.function, fmt::join(added, ", ")));
    }
  }

  // Whether a place in the debug information is a copy of what was asked for.
  bool IsIt(const Dwarf_Die& die) const {
    const std::string symbol = LinkageName(die);
    if (!pattern_.MayMatch(symbol)) return false;
    const FunctionName name = ParseFunctionName(symbol);
    if (!pattern_.Matches(symbol, name)) return false;
    return !location_.has_signature || !name.has_parameters ||
           SignatureMatches(location_.signature, name.parameters);
  }

  void NoteInlined() {
    if (image_.dwarf() == nullptr) return;
    bool may = out_.functions.empty();
    for (const FoundFunction& found : out_.functions) {
      if (may) break;
      const auto function = FindDwarfFunction(image_, found.symbol.address);
      if (!function) continue;
      const uint64_t how =
          UnsignedAttribute(function->die, DW_AT_inline).value_or(DW_INL_not_inlined);
      may = how == DW_INL_inlined || how == DW_INL_declared_inlined;
    }
    if (!may) return;
    inlined_ = FindInlinedPlaces(image_, [&](const Dwarf_Die& die) { return IsIt(die); });
    if (inlined_.count == 0 || out_.functions.empty()) return;
    out_.notes.push_back(InlinedText() + "; calls there are not seen");
  }

  std::string InlinedText() const {
    return fmt::format("{} was inlined in {}{} place(s), in {}", location_.function,
                       inlined_.complete ? "" : "at least ", inlined_.count,
                       fmt::join(inlined_.callers, ", "));
  }

  Error Missing() const {
    const std::string what = location_.has_signature
                                 ? fmt::format("{}({})", location_.function, location_.signature)
                                 : location_.function;
    if (!other_overloads_.empty()) {
      return NotFound(fmt::format("{}: no function {}", image_.file(), what),
                      fmt::format("there are: {}", fmt::join(other_overloads_, "; ")));
    }
    if (chosen_at_run_time_)
      return NotFound(fmt::format("{}: {}", image_.file(), out_.notes.back()));
    if (inlined_.count > 0) {
      return NotFound(fmt::format("{}: {}, and is nowhere else", image_.file(), InlinedText()),
                      "choose a line (file and line), or a function around it");
    }
    if (is_virtual_)
      return NotFound(
          fmt::format("{}: {} is virtual and nothing here overrides it", image_.file(), what));
    return NotFound(fmt::format("{}: no function {}", image_.file(), what), Similar());
  }

  // Names that end like the one asked for.
  std::string Similar() const {
    std::string last = location_.function.substr(0, location_.function.find('('));
    last = last.substr(last.rfind(':') + 1);
    std::set<std::string> names;
    if (last.size() >= 3 && !pattern_.glob()) {
      for (const elf::FunctionSymbol& symbol : image_.symbols()) {
        if (symbol.name.find(last) == std::string_view::npos) continue;
        names.insert(ParseFunctionName(symbol.name).qualified);
        if (names.size() == 5) break;
      }
    }
    if (!names.empty()) return fmt::format("similar: {}", fmt::join(names, ", "));
    return image_.has_full_symbols() ? std::string()
                                     : "its symbols were stripped; install its debug symbols";
  }

  const elf::ElfImage& image_;
  const Location& location_;
  NamePattern pattern_;
  FoundFunctions out_;
  std::set<std::string> other_overloads_;
  InlinedPlaces inlined_;
  bool chosen_at_run_time_ = false;
  bool is_virtual_ = false;
};

}  // namespace

Result<FoundFunctions> FindFunctions(const elf::ElfImage& image, const Location& location) {
  return FunctionSearch(image, location).Run();
}

}  // namespace wf::weaver
