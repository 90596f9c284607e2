#include "lang/feature/feature_compiler.h"

#include <algorithm>

#include "lang/common/suggestion.h"

namespace wf::feature {

FeatureCompiler::FeatureCompiler(const FeatureLibrary& library) : library_(library) {}

void FeatureCompiler::Fail(const Place& place, std::string message, std::string hint) {
  throw Fault{{place.line, place.column, place.length, std::move(message), std::move(hint)}};
}

void FeatureCompiler::Complain(const std::string& part, const lang::Diagnostic& diagnostic) {
  // Without words: a use of what was spoiled where it was defined, and said there.
  if (!diagnostic.message.empty()) diagnostics.push_back({part, diagnostic});
}

int FeatureCompiler::TraceNode() {
  Node node;
  node.op = Op::kTrace;
  node.type = OneType(Element::kTrace);
  return builder.Add(node);
}

int FeatureCompiler::RowNode() { return row_ == kNoNode ? TraceNode() : row_; }

int FeatureCompiler::CompilePipelineText(std::string_view text, const std::string& part) {
  Parsed& parsed = parsed_.emplace_back(Parse(text));
  for (const lang::Diagnostic& diagnostic : parsed.diagnostics) Complain(part, diagnostic);
  if (!parsed.diagnostics.empty()) return kNoNode;
  Scope scope;
  scope.part = part;
  const std::vector<Statement>& statements = parsed.program.statements;
  if (statements.empty()) {
    Complain(part, {1, 1, 1, "there is no pipeline", "as in: Blocks | Filter(kind=\"server\")"});
    return kNoNode;
  }
  // Names and defs may stand before it; the last statement is the pipeline.
  const size_t faults = diagnostics.size();
  int node = kNoNode;
  for (size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    const bool last = i + 1 == statements.size();
    try {
      if (last && statement.kind != Statement::Kind::kPipeline)
        Fail(statement.place, "the last statement must be the pipeline itself",
             "write the name alone on a line of its own");
      if (!last && statement.kind == Statement::Kind::kPipeline)
        Fail(statement.place, "one pipeline is wanted here", "name this one: NAME = …");
      if (!last) {
        CompileStatement(statement, scope);
      } else {
        Environment env;
        env.scope = &scope;
        node = CompilePipeline(statement.pipeline, env);
      }
    } catch (const Fault& fault) {
      Complain(part, fault.diagnostic);
      node = kNoNode;
    }
  }
  return diagnostics.size() == faults ? node : kNoNode;
}

void FeatureCompiler::CompileColumns(std::string_view text, const std::string& part) {
  Parsed& parsed = parsed_.emplace_back(Parse(text));
  Scope scope;
  scope.part = part;
  CompileProgram(parsed.program, parsed, scope);
}

void FeatureCompiler::CompileProgram(const Program& program, const Parsed& parsed, Scope& scope) {
  for (const lang::Diagnostic& diagnostic : parsed.diagnostics) Complain(scope.part, diagnostic);
  for (const std::string& name : parsed.spoiled) scope.definitions[name] = Definition{};
  for (const Statement& statement : program.statements) {
    try {
      CompileStatement(statement, scope);
    } catch (const Fault& fault) {
      Complain(scope.part, fault.diagnostic);
      const bool names =
          statement.kind == Statement::Kind::kName || statement.kind == Statement::Kind::kDef;
      // Its uses are no faults of their own.
      if (names) scope.definitions.emplace(statement.name, Definition{});
    }
  }
}

void FeatureCompiler::CompileStatement(const Statement& statement, Scope& scope) {
  Environment env;
  env.scope = &scope;
  switch (statement.kind) {
    case Statement::Kind::kUse:
      return Use(statement, scope);
    case Statement::Kind::kPipeline:
      CompilePipeline(statement.pipeline, env);
      return;
    case Statement::Kind::kName: {
      CheckNewName(statement, scope);
      Definition definition;
      definition.kind = Definition::Kind::kPipeline;
      definition.node = CompilePipeline(statement.pipeline, env);
      return Define(statement, scope, definition);
    }
    case Statement::Kind::kDef: {
      CheckNewName(statement, scope);
      for (const std::string& parameter : statement.parameters) {
        if (FindFunction(parameter) != nullptr)
          Fail(statement.place, "the parameter " + parameter + " is called like a function",
               "choose another name for it");
      }
      CheckNames(statement.pipeline, statement, scope);
      Definition definition;
      definition.kind = Definition::Kind::kDef;
      definition.def = &statement;
      return Define(statement, scope, definition);
    }
  }
}

void FeatureCompiler::CheckNewName(const Statement& statement, const Scope& scope) const {
  if (FindFunction(statement.name) != nullptr)
    Fail(statement.place, statement.name + " is a function of the language", "choose another name");
  const auto known = scope.definitions.find(statement.name);
  if (known != scope.definitions.end() && known->second.kind != Definition::Kind::kSpoiled)
    Fail(statement.place,
         statement.name + " has a meaning since line " + std::to_string(known->second.line),
         "choose another name");
}

void FeatureCompiler::Define(const Statement& statement, Scope& scope, Definition definition) {
  definition.order = ++order_;
  definition.line = statement.place.line;
  scope.definitions[statement.name] = definition;
}

void FeatureCompiler::Use(const Statement& statement, Scope& scope) {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), statement.name) != names.end();
  };
  if (has(scope.opening))
    Fail(statement.place, "\"" + statement.name + "\" uses itself", "remove one of the uses");
  if (has(scope.used)) return;
  const std::optional<std::string> text =
      library_ ? library_(statement.name) : std::optional<std::string>();
  if (!text)
    Fail(statement.place, "there is no text \"" + statement.name + "\"",
         "use takes the name of a dataset, or of a file beside this one");
  scope.used.push_back(statement.name);
  scope.opening.push_back(statement.name);
  if (scope.opening.size() > 20)
    Fail(statement.place, "texts use one another too deeply", "use them from one place");
  Parsed& parsed = parsed_.emplace_back(Parse(*text));
  const std::string part = scope.part;
  scope.part = statement.name;
  CompileProgram(parsed.program, parsed, scope);
  scope.part = part;
  scope.opening.pop_back();
}

// For a def that is never called, at least the names are checked.
void FeatureCompiler::CheckNames(const Pipeline& pipeline, const Statement& def,
                                 const Scope& scope) const {
  if (pipeline.operand.kind == Operand::Kind::kPipeline)
    CheckNames(*pipeline.operand.pipeline, def, scope);
  if (pipeline.operand.kind == Operand::Kind::kCall)
    CheckNames(pipeline.operand.call, false, def, scope);
  for (const Call& call : pipeline.stages) CheckNames(call, true, def, scope);
}

void FeatureCompiler::CheckNames(const Call& call, bool is_stage, const Statement& def,
                                 const Scope& scope) const {
  const FunctionInfo* info = FindFunction(call.name);
  const auto& parameters = def.parameters;
  const bool parameter =
      !is_stage && std::find(parameters.begin(), parameters.end(), call.name) != parameters.end();
  if (info == nullptr && !parameter && scope.definitions.count(call.name) == 0) {
    if (call.name == def.name)
      Fail(call.place, "a def may not call itself", "there is no recursion");
    Environment env;
    env.scope = const_cast<Scope*>(&scope);
    for (const std::string& name : parameters) env.parameters.emplace(name, Binding{});
    UnknownName(call, env);
  }
  if (info != nullptr) CheckCall(*info, call);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Argument& argument = call.arguments[i];
    if (argument.kind != Argument::Kind::kPipeline && argument.kind != Argument::Kind::kRange)
      continue;
    const bool may_be_key = argument.kind == Argument::Kind::kPipeline &&
                            argument.from->AsKey() != nullptr &&
                            (info == nullptr || (info->takes_key && i == 0));
    if (may_be_key) continue;
    CheckNames(*argument.from, def, scope);
    if (argument.to) CheckNames(*argument.to, def, scope);
  }
}

int FeatureCompiler::CompilePipeline(const Pipeline& pipeline, const Environment& env) {
  if (++depth_ > kMaxDepth)
    Fail(pipeline.place, "pipelines are nested too deeply", "name the inner ones: NAME = …");
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};
  int node = kNoNode;
  switch (pipeline.operand.kind) {
    case Operand::Kind::kLiteral:
      node = builder.Constant(pipeline.operand.literal);
      break;
    case Operand::Kind::kPipeline:
      node = CompilePipeline(*pipeline.operand.pipeline, env);
      break;
    case Operand::Kind::kCall:
      node = CompileSource(pipeline.operand.call, env);
      break;
  }
  for (const Call& call : pipeline.stages) node = CompileStage(call, node, env);
  return node;
}

const FeatureCompiler::Definition* FeatureCompiler::Find(const std::string& name,
                                                         const Environment& env) const {
  const auto at = env.scope->definitions.find(name);
  if (at == env.scope->definitions.end()) return nullptr;
  return at->second.order < env.before ? &at->second : nullptr;
}

void FeatureCompiler::UnknownName(const Call& call, const Environment& env) const {
  std::vector<std::string> known = FunctionNames();
  for (const auto& [name, definition] : env.scope->definitions) known.push_back(name);
  for (const auto& [name, binding] : env.parameters) known.push_back(name);
  std::string hint = lang::DidYouMean(call.name, known);
  if (hint.empty())
    hint = "define it before this line: " + call.name +
           " = …; docs/reference/feature-language.md lists the functions";
  Fail(call.place, "unknown name " + call.name + " here", std::move(hint));
}

void FeatureCompiler::CheckCall(const FunctionInfo& info, const Call& call) const {
  const int count = static_cast<int>(call.arguments.size());
  if (count >= info.least && (info.most < 0 || count <= info.most)) return;
  std::string wants =
      info.least == 0 && info.most == 0 ? "no argument"
      : info.most < 0                   ? "at least one argument"
      : info.least == info.most
          ? std::to_string(info.least) + (info.least == 1 ? " argument" : " arguments")
          : "at most " + std::to_string(info.most) + " argument";
  Fail(call.place, call.name + " takes " + wants + ", not " + std::to_string(count),
       "as in: " + std::string(info.usage));
}

int FeatureCompiler::CompileSource(const Call& call, const Environment& env) {
  if (++calls_ > kMaxCalls)
    Fail(call.place, "the program is too large, its defs written out",
         "name what is used several times: NAME = …");
  if (const auto parameter = env.parameters.find(call.name); parameter != env.parameters.end()) {
    if (call.parenthesized)
      Fail(call.place, call.name + " is a parameter and takes no arguments", "write it alone");
    return ParameterNode(parameter->second, call.place);
  }
  if (const FunctionInfo* info = FindFunction(call.name)) {
    CheckCall(*info, call);
    if (info->standing == Standing::kStage)
      Fail(call.place, call.name + " cannot begin a pipeline",
           "it needs something before it: " + std::string(info->usage));
    switch (info->function) {
      case Function::kTrace:
        return TraceNode();
      case Function::kRow:
        return RowNode();
      case Function::kIt:
        if (env.it == kNoNode)
          Fail(call.place, "It has a meaning inside Where( ) and Map( ) only",
               env.in_def ? "pass It to the def as an argument"
                          : "as in: Blocks | Where(It | Duration | Gt(5ms))");
        return env.it;
      case Function::kCriticalPath:
        return CriticalPathOf(call, env);
      case Function::kCounterDelta:
        return CounterDelta(call, TraceNode(), env);
      default:
        return Navigate(*info, call, TraceNode());
    }
  }
  const Definition* definition = Find(call.name, env);
  if (definition == nullptr) UnknownName(call, env);
  switch (definition->kind) {
    case Definition::Kind::kSpoiled:
      throw Fault{};  // said where it was defined; Complain drops it
    case Definition::Kind::kPipeline:
      if (call.parenthesized)
        Fail(call.place, call.name + " is a named pipeline and takes no arguments",
             "write it alone, or make it a def");
      return definition->node;
    case Definition::Kind::kDef:
      return CallDef(*definition, call, kNoNode, env);
  }
  return kNoNode;
}

int FeatureCompiler::CompileStage(const Call& call, int input, const Environment& env) {
  if (++calls_ > kMaxCalls)
    Fail(call.place, "the program is too large, its defs written out",
         "name what is used several times: NAME = …");
  if (const FunctionInfo* info = FindFunction(call.name)) {
    CheckCall(*info, call);
    if (info->standing == Standing::kSource)
      Fail(call.place, call.name + " begins a pipeline; it cannot follow |",
           "as in: " + std::string(info->usage));
    return Apply(*info, call, input, env);
  }
  const Definition* definition = Find(call.name, env);
  if (definition == nullptr) UnknownName(call, env);
  if (definition->kind == Definition::Kind::kSpoiled) throw Fault{};
  if (definition->kind == Definition::Kind::kPipeline)
    Fail(call.place, call.name + " is a whole pipeline; it cannot follow |",
         "to use it as a stage, make it a def: def " + call.name + "(x) = x | …");
  return CallDef(*definition, call, input, env);
}

int FeatureCompiler::CallDef(const Definition& definition, const Call& call, int input,
                             const Environment& env) {
  const Statement& def = *definition.def;
  const size_t piped = input == kNoNode ? 0 : 1;
  if (call.arguments.size() + piped != def.parameters.size()) {
    std::string list;
    for (const std::string& parameter : def.parameters)
      list += (list.empty() ? "" : ", ") + parameter;
    Fail(call.place,
         call.name + " takes " + std::to_string(def.parameters.size()) +
             (def.parameters.size() == 1 ? " argument, not " : " arguments, not ") +
             std::to_string(call.arguments.size() + piped),
         call.name + "(" + list + "); what stands before | is the first");
  }
  Environment inner;
  inner.scope = env.scope;
  inner.before = definition.order;
  inner.in_def = true;
  for (size_t i = 0; i < def.parameters.size(); ++i) {
    Binding binding;
    binding.caller = &env;
    if (i < piped)
      binding.node = input;
    else
      binding.argument = &call.arguments[i - piped];
    inner.parameters.emplace(def.parameters[i], binding);
  }
  try {
    return CompilePipeline(def.pipeline, inner);
  } catch (Fault& fault) {
    // Shown where it is called: the body is right for other arguments, maybe, and may stand in another text.
    if (fault.diagnostic.message.empty()) throw;
    fault.diagnostic.message = "in " + call.name + ", line " +
                               std::to_string(fault.diagnostic.line) + ": " +
                               fault.diagnostic.message;
    fault.diagnostic.line = call.place.line;
    fault.diagnostic.column = call.place.column;
    fault.diagnostic.length = call.place.length;
    throw;
  }
}

int FeatureCompiler::ParameterNode(const Binding& binding, const Place& place) {
  if (binding.argument == nullptr) return binding.node;
  if (binding.argument->kind != Argument::Kind::kPipeline)
    Fail(place, "this parameter was given no pipeline", "pass a pipeline");
  return CompilePipeline(*binding.argument->from, *binding.caller);
}

}  // namespace wf::feature
