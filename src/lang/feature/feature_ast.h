// The syntax tree of a program in the feature language, following the grammar of
// docs/reference/feature-language.md; no names are resolved yet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wf::feature {

struct Place {
  int line = 1, column = 1, length = 1;
};

struct Literal {
  enum class Kind : uint8_t { kText, kInt, kDouble, kBool } kind = Kind::kInt;
  std::string text;
  int64_t integer = 0;  // also a bool's 0 or 1
  double number = 0;
};

struct Key {
  std::string name;
  Place place;
};

enum class Compare : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kMatch, kIn, kExists };

// [not] key compare literal
struct Condition {
  bool negated = false;
  Key key;
  Compare compare = Compare::kEq;
  std::vector<Literal> literals;  // one, several for `in`, none for `exists`
  Place literal_place;
};

struct Pipeline;

struct Argument {
  enum class Kind : uint8_t { kCondition, kRange, kPipeline, kKey } kind = Kind::kPipeline;
  Place place;
  Condition condition;
  std::unique_ptr<Pipeline> from;  // kPipeline, kRange
  std::unique_ptr<Pipeline> to;    // kRange: from -> to
  Key key;                         // kKey: a name with dots, which cannot be anything else
};

struct Call {
  std::string name;
  Place place;  // of the name
  bool parenthesized = false;
  std::vector<Argument> arguments;
};

struct Operand {
  enum class Kind : uint8_t { kLiteral, kPipeline, kCall } kind = Kind::kCall;
  Place place;
  Literal literal;
  std::unique_ptr<Pipeline> pipeline;
  Call call;
};

struct Pipeline {
  Operand operand;
  std::vector<Call> stages;
  Place place;

  // A single name or text, which is a key where a function takes one. Null if it is more than that.
  const std::string* AsKey() const {
    if (!stages.empty()) return nullptr;
    if (operand.kind == Operand::Kind::kCall && !operand.call.parenthesized)
      return &operand.call.name;
    if (operand.kind == Operand::Kind::kLiteral && operand.literal.kind == Literal::Kind::kText)
      return &operand.literal.text;
    return nullptr;
  }
};

struct Statement {
  enum class Kind : uint8_t { kUse, kName, kDef, kPipeline } kind = Kind::kPipeline;
  std::string name;  // of the used text, the pipeline or the def
  Place place;       // of the name
  std::vector<std::string> parameters;
  Pipeline pipeline;
};

struct Program {
  std::vector<Statement> statements;
};

}  // namespace wf::feature
