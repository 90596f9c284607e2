// FeatureCompiler: programs of the feature language → the nodes of one plan, with every type checked. Named
// pipelines are compiled where they are defined, a def's body at each call. There is no recursion, because a
// body sees only earlier definitions. Thread safety: none.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/feature/dataset_plan.h"
#include "lang/feature/feature_functions.h"
#include "lang/feature/feature_parser.h"
#include "lang/feature/plan_builder.h"

namespace wf::feature {

class FeatureCompiler {
 public:
  explicit FeatureCompiler(const FeatureLibrary& library);

  // Compiles a text that is one pipeline. kNoNode if it is not, or has errors.
  int CompilePipelineText(std::string_view text, const std::string& part);
  // Compiles a text of columns. Its names are private: texts that include one another do not see each
  // other's.
  void CompileColumns(std::string_view text, const std::string& part);

  // What Row means in what is compiled from here on; kNoNode: the trace.
  void SetRow(int node) { row_ = node; }
  void Complain(const std::string& part, const lang::Diagnostic& diagnostic);

  PlanBuilder builder;
  std::vector<DatasetDiagnostic> diagnostics;

  // Max number of compiled calls in all texts: bodies of defs count each time. A program written by hand has
  // some hundred.
  static constexpr int kMaxCalls = 20'000;
  // Max depth of pipelines within pipelines, those of defs included: the compiler recurses once for each.
  static constexpr int kMaxDepth = 150;
  static constexpr size_t kMaxColumns = 1'000;

 private:
  struct Fault {  // thrown and caught inside the compiler
    lang::Diagnostic diagnostic;
  };
  struct Definition {
    enum class Kind { kPipeline, kDef, kSpoiled } kind = Kind::kSpoiled;
    int node = kNoNode;
    const Statement* def = nullptr;
    int order = 0;  // a def's body sees earlier ones only
    int line = 1;
  };
  struct Scope {
    std::string part;
    std::map<std::string, Definition, std::less<>> definitions;
    std::vector<std::string> used;     // texts included by `use`, so that each is included once
    std::vector<std::string> opening;  // those being included now: a text may not use itself
  };
  struct Environment;
  // The meaning of a parameter of a def: an argument in the caller's environment, or the piped input.
  struct Binding {
    const Argument* argument = nullptr;
    const Environment* caller = nullptr;
    int node = kNoNode;
  };
  struct Environment {
    Scope* scope = nullptr;
    int before = 1 << 30;  // definitions of a lower order are visible
    int it = kNoNode;
    bool in_def = false;
    std::map<std::string, Binding, std::less<>> parameters;
  };

  // feature_compiler.cc: programs, names, calls
  void CompileProgram(const Program& program, const Parsed& parsed, Scope& scope);
  void CompileStatement(const Statement& statement, Scope& scope);
  void Use(const Statement& statement, Scope& scope);
  void Define(const Statement& statement, Scope& scope, Definition definition);
  void CheckNewName(const Statement& statement, const Scope& scope) const;
  void CheckNames(const Pipeline& pipeline, const Statement& def, const Scope& scope) const;
  void CheckNames(const Call& call, bool is_stage, const Statement& def, const Scope& scope) const;
  int CompilePipeline(const Pipeline& pipeline, const Environment& env);
  int CompileSource(const Call& call, const Environment& env);
  int CompileStage(const Call& call, int input, const Environment& env);
  int CallDef(const Definition& definition, const Call& call, int input, const Environment& env);
  int ParameterNode(const Binding& binding, const Place& place);
  const Definition* Find(const std::string& name, const Environment& env) const;
  [[noreturn]] void UnknownName(const Call& call, const Environment& env) const;
  void CheckCall(const FunctionInfo& info, const Call& call) const;
  [[noreturn]] static void Fail(const Place& place, std::string message, std::string hint = {});
  int RowNode();
  int TraceNode();

  // stage_compiler.cc: dispatches functions; compile_….cc: what each accepts and returns
  int Apply(const FunctionInfo& info, const Call& call, int input, const Environment& env);
  int Navigate(const FunctionInfo& info, const Call& call, int input);
  int Filter(const Call& call, int input, const Environment& env);
  int Over(Op op, const Call& call, const Argument& argument, int input, const Environment& env);
  int Body(Op op, const Call& call, const Argument& argument, int source, int frame,
           const Environment& env);
  int Pick(const Call& call, int input, int nth);
  int ReadKey(const FunctionInfo& info, const Call& call, int input, const Environment& env);
  int Property(const FunctionInfo& info, const Call& call, int input);
  int CounterDelta(const Call& call, int input, const Environment& env);
  int CriticalPathOf(const Call& call, const Environment& env);
  int Aggregate(const FunctionInfo& info, const Call& call, int input);
  int Calculate(const FunctionInfo& info, const Call& call, int input, const Environment& env);
  int CompareWith(const FunctionInfo& info, const Call& call, int input, const Environment& env);
  int Logical(const FunctionInfo& info, const Call& call, int input, const Environment& env);
  int Choose(const Call& call, int input, const Environment& env);
  int WithDefault(const Call& call, int input, const Environment& env);
  int Record(const Call& call, int input, const Environment& env);

  // Arguments.
  std::string KeyArgument(const Call& call, const Argument& argument, const Environment& env) const;
  std::optional<std::string> AsKey(const Argument& argument, const Environment& env) const;
  int PipelineArgument(const Call& call, const Argument& argument, const Environment& env);
  int OneValueArgument(const Call& call, const Argument& argument, const Environment& env);
  const Literal& LiteralArgument(const Argument& argument, const std::string& what) const;
  int CompileCondition(const Condition& condition);
  int AsValue(int node);  // the count, for the result of Distinct
  int Promote(int node);  // to double
  int Unary(Op op, uint8_t sub, Type type, int input, int imm = 0);
  [[noreturn]] void WrongInput(const Call& call, int input, const std::string& takes,
                               const std::string& hint) const;

  const FeatureLibrary& library_;
  std::deque<Parsed> parsed_;  // definitions point into these
  int row_ = kNoNode;
  int order_ = 0, calls_ = 0, depth_ = 0;
};

}  // namespace wf::feature
