#include "lang/feature/plan_builder.h"

#include "lang/feature/element_keys.h"

namespace wf::feature {
namespace {

void Append(std::string& key, int64_t number) {
  key += std::to_string(number);
  key += ' ';
}

}  // namespace

bool PlanBuilder::Encloses(int outer, int inner) const {
  while (inner != kNoNode && inner != outer) inner = plan.frames[static_cast<size_t>(inner)].parent;
  return inner == outer;
}

int PlanBuilder::Intern(const Node& node) {
  std::string key;
  Append(key, static_cast<int>(node.op));
  Append(key, node.sub);
  Append(key, node.frame);
  Append(key, static_cast<int>(node.type.shape));
  Append(key, static_cast<int>(node.type.element));
  Append(key, static_cast<int>(node.type.value));
  Append(key, node.type.distinct ? 1 : 0);
  for (const int in : node.in) Append(key, in);
  if (node.op == Op::kFilterKeys) {
    for (int i = node.imm; i < node.imm + node.extra; ++i) {
      const PlanCondition& condition = plan.conditions[static_cast<size_t>(i)];
      Append(key, condition.key);
      Append(key, condition.negated ? 1 : 0);
      Append(key, static_cast<int>(condition.compare));
      for (const Literal& literal : condition.literals) {
        Append(key, static_cast<int>(literal.kind));
        Append(key, literal.integer);
        key.append(reinterpret_cast<const char*>(&literal.number), sizeof literal.number);
        key += std::to_string(literal.text.size()) + ":" + literal.text;
      }
    }
  } else {
    Append(key, node.imm);
  }
  const auto [at, is_new] = known_.emplace(std::move(key), static_cast<int>(plan.nodes.size()));
  if (is_new) plan.nodes.push_back(node);
  return at->second;
}

int PlanBuilder::Add(Node node, int at_least) {
  node.frame = at_least;
  for (const int in : node.in) {
    if (in == kNoNode) continue;
    const int frame = this->node(in).frame;
    if (Encloses(node.frame, frame)) {
      node.frame = frame;
    } else if (!Encloses(frame, node.frame)) {
      if (!conflict.happened) conflict = {true, frame, node.frame};
      return Intern(node);  // thrown away with the whole body
    }
  }
  for (int& in : node.in) {
    if (in != kNoNode) in = Broadcast(in, node.frame);
  }
  return Intern(node);
}

int PlanBuilder::AddOver(Node node, int frame) {
  const int body_frame = this->node(node.in[1]).frame;
  if (!Encloses(body_frame, frame)) {
    if (!conflict.happened) conflict = {true, body_frame, frame};
  } else {
    node.in[1] = Broadcast(node.in[1], frame);
  }
  node.frame = this->node(node.in[0]).frame;
  return Intern(node);
}

int PlanBuilder::Constant(const Literal& literal) {
  std::string key = std::to_string(static_cast<int>(literal.kind)) + " " +
                    std::to_string(literal.integer) + " " + literal.text;
  if (literal.kind == Literal::Kind::kDouble)
    key.append(reinterpret_cast<const char*>(&literal.number), sizeof literal.number);
  const auto [at, is_new] = constants_.emplace(key, static_cast<int>(plan.constants.size()));
  if (is_new) plan.constants.push_back(literal);
  Node node;
  node.op = Op::kConstant;
  node.imm = at->second;
  switch (literal.kind) {
    case Literal::Kind::kText:
      node.type = ValueType(ColumnType::kText);
      break;
    case Literal::Kind::kInt:
      node.type = ValueType(ColumnType::kInt);
      break;
    case Literal::Kind::kDouble:
      node.type = ValueType(ColumnType::kDouble);
      break;
    case Literal::Kind::kBool:
      node.type = ValueType(ColumnType::kBool);
      break;
  }
  return Add(node);
}

int PlanBuilder::KeyIndex(const std::string& name) {
  const auto [at, is_new] = keys_.emplace(name, static_cast<int>(plan.keys.size()));
  if (is_new) plan.keys.push_back({name, PropertyIndex(name)});
  return at->second;
}

int PlanBuilder::OpenFrame(int source) {
  for (size_t frame = 1; frame < plan.frames.size(); ++frame) {
    if (plan.frames[frame].source != source || open_[frame]) continue;
    open_[frame] = 1;
    return static_cast<int>(frame);
  }
  const int parent = node(source).frame;
  plan.frames.push_back({parent, source, plan.frames[static_cast<size_t>(parent)].depth + 1});
  open_.push_back(1);
  return static_cast<int>(plan.frames.size()) - 1;
}

void PlanBuilder::CloseFrame(int frame) { open_[static_cast<size_t>(frame)] = 0; }

int PlanBuilder::Broadcast(int id, int frame) {
  if (node(id).frame == frame) return id;
  Node broadcast;
  broadcast.op = Op::kBroadcast;
  broadcast.type = type(id);
  broadcast.in[0] = id;
  broadcast.frame = frame;
  return Intern(broadcast);
}

}  // namespace wf::feature
