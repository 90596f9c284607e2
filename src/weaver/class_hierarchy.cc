#include "weaver/class_hierarchy.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "weaver/dwarf_function.h"
#include "weaver/dwarf_types.h"
#include "weaver/function_name.h"

namespace wf::weaver {
namespace {

constexpr std::chrono::milliseconds kBudget{800};
constexpr int kMaxDepth = 16;

struct Method {
  std::string symbol;
  std::string parameters;
};
struct Class {
  std::set<std::string> bases;
  std::vector<Method> methods;  // virtual ones of the name in question
};

// Reads the classes of a file as far as they matter: their bases, and their virtual methods of one name.
class ClassReader {
 public:
  explicit ClassReader(std::string method)
      : method_(std::move(method)), until_(std::chrono::steady_clock::now() + kBudget) {}

  bool Read(const Dwarf_Die& scope, const std::string& prefix, int depth) {
    if (depth > kMaxDepth) return true;
    Dwarf_Die copy = scope, child;
    if (dwarf_child(&copy, &child) != 0) return true;
    do {
      if (++visited_ % 1024 == 0 && std::chrono::steady_clock::now() > until_) return false;
      const int tag = TagOf(child);
      const bool is_class = IsClass(child);
      if (!is_class && tag != DW_TAG_namespace) continue;
      const std::string name = DieName(child);
      // Unnamed namespaces are invisible in what people write.
      const std::string own = name.empty() ? prefix : prefix.empty() ? name : prefix + "::" + name;
      if (is_class && !name.empty() && !HasFlag(child, DW_AT_declaration)) ReadClass(child, own);
      if (!Read(child, own, depth + 1)) return false;
    } while (dwarf_siblingof(&child, &child) == 0);
    return true;
  }

  std::map<std::string, Class>& classes() { return classes_; }

 private:
  void ReadClass(const Dwarf_Die& die, const std::string& name) {
    Class& own = classes_[name];
    for (const Dwarf_Die& child : Children(die)) {
      const int tag = TagOf(child);
      if (tag == DW_TAG_inheritance) {
        if (const auto base = Peel(TypeOf(child))) own.bases.insert(QualifiedNameOf(*base));
      }
      if (tag != DW_TAG_subprogram || DieName(child) != method_) continue;
      const bool is_virtual = UnsignedAttribute(child, DW_AT_virtuality).value_or(0) != 0;
      if (!is_virtual) continue;
      const std::string symbol = LinkageName(child);
      const FunctionName parsed = ParseFunctionName(symbol);
      const auto same = [&](const Method& m) { return m.symbol == symbol; };
      if (std::none_of(own.methods.begin(), own.methods.end(), same))
        own.methods.push_back({symbol, parsed.parameters});
    }
  }

  std::string QualifiedNameOf(const Dwarf_Die& type) {
    Dwarf_Die copy = type;
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&copy, &scopes);
    std::string out;
    for (int i = count - 1; i >= 0; --i) {
      if (TagOf(scopes[i]) != DW_TAG_namespace && !IsClass(scopes[i])) continue;
      const std::string name = DieName(scopes[i]);
      if (!name.empty()) out += (out.empty() ? "" : "::") + name;
    }
    std::free(scopes);  // NOLINT: libdw's own
    return out;
  }

  std::string method_;
  std::chrono::steady_clock::time_point until_;
  size_t visited_ = 0;
  std::map<std::string, Class> classes_;
};

}  // namespace

Overriders FindOverriders(const elf::ElfImage& image, std::string_view method,
                          const std::string* signature) {
  Overriders out;
  const size_t split = method.rfind("::");
  if (split == std::string_view::npos || split == 0) return out;
  const std::string base(method.substr(0, split));
  ClassReader reader{std::string(method.substr(split + 2))};
  for (const Dwarf_Die& unit : image.Units()) {
    if (!reader.Read(unit, {}, 0)) {
      out.complete = false;
      break;
    }
  }
  auto& classes = reader.classes();
  const auto found = classes.find(base);
  if (found == classes.end()) return out;
  std::vector<std::string> parameters;  // of the overloads that are meant
  for (const Method& one : found->second.methods) {
    if (signature == nullptr || SignatureMatches(*signature, one.parameters))
      parameters.push_back(one.parameters);
  }
  if (parameters.empty()) return out;
  out.is_virtual = true;
  std::set<std::string> family{base};
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& [name, one] : classes) {
      if (family.count(name) != 0) continue;
      const bool derived = std::any_of(one.bases.begin(), one.bases.end(),
                                       [&](const std::string& b) { return family.count(b) != 0; });
      if (!derived) continue;
      family.insert(name);
      grown = true;
    }
  }
  for (const std::string& name : family) {
    if (name == base) continue;
    for (const Method& one : classes[name].methods) {
      // An overrider has the same parameters; another overload has not.
      if (std::find(parameters.begin(), parameters.end(), one.parameters) != parameters.end())
        out.symbols.push_back(one.symbol);
    }
  }
  std::sort(out.symbols.begin(), out.symbols.end());
  out.symbols.erase(std::unique(out.symbols.begin(), out.symbols.end()), out.symbols.end());
  return out;
}

}  // namespace wf::weaver
