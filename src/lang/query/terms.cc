#include "lang/query/terms.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace wf::query {
namespace {

template <typename Number>
void AppendBytes(std::string& key, Number number) {
  static_assert(std::is_arithmetic_v<Number>);
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  key.append(bytes, sizeof bytes);
}

// By kind and bytes: 1 and 1.0 are different constants, as they print differently.
void AppendValue(std::string& key, const advice::Value& value) {
  key.push_back(static_cast<char>('0' + value.index()));
  if (const auto* b = std::get_if<bool>(&value)) key.push_back(*b ? '1' : '0');
  if (const auto* i = std::get_if<int64_t>(&value)) AppendBytes(key, *i);
  if (const auto* d = std::get_if<double>(&value)) AppendBytes(key, *d);
  if (const auto* s = std::get_if<std::string>(&value)) key.append(*s);
}

}  // namespace

TermId Terms::Intern(std::string key, Term term) {
  auto [at, added] = known_.try_emplace(std::move(key), static_cast<TermId>(terms_.size()));
  if (added) terms_.push_back(std::move(term));
  return at->second;
}

TermId Terms::Constant(advice::Value value) {
  std::string key = "v";
  AppendValue(key, value);
  Term term;
  term.constant = std::move(value);
  return Intern(std::move(key), std::move(term));
}

TermId Terms::Column(uint32_t node, uint32_t index) {
  std::string key = "c";
  AppendBytes(key, node);
  AppendBytes(key, index);
  Term term;
  term.kind = Term::Kind::kColumn;
  term.node = node;
  term.index = index;
  term.nodes = {node};
  return Intern(std::move(key), std::move(term));
}

TermId Terms::Key(uint32_t index) {
  std::string key = "k";
  AppendBytes(key, index);
  Term term;
  term.kind = Term::Kind::kKey;
  term.index = index;
  return Intern(std::move(key), std::move(term));
}

TermId Terms::Aggregate(uint32_t index) {
  std::string key = "a";
  AppendBytes(key, index);
  Term term;
  term.kind = Term::Kind::kAggregate;
  term.index = index;
  return Intern(std::move(key), std::move(term));
}

TermId Terms::Operation(advice::Op op, std::vector<TermId> args) {
  std::string key = "o";
  key.push_back(static_cast<char>(op));
  Term term;
  term.kind = Term::Kind::kOperation;
  term.op = op;
  for (size_t i = 0; i < args.size(); ++i) {
    AppendBytes(key, args[i]);
    const Term& arg = terms_[args[i]];
    term.size = std::min(kUnboundedSize, term.size + arg.size);
    term.stack = std::max(term.stack, arg.stack + i);
    term.nodes.insert(term.nodes.end(), arg.nodes.begin(), arg.nodes.end());
  }
  std::sort(term.nodes.begin(), term.nodes.end());
  term.nodes.erase(std::unique(term.nodes.begin(), term.nodes.end()), term.nodes.end());
  term.args = std::move(args);
  return Intern(std::move(key), std::move(term));
}

}  // namespace wf::query
