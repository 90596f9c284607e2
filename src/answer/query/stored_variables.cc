#include "answer/query/stored_variables.h"

#include <algorithm>

namespace wf::answer {
namespace {

// Texts, numbers, booleans and lists of these; what a query has no value for becomes the text a person would type.
advice::Value ScalarOf(const Value& value) {
  switch (value.type) {
    case ValueType::kNull:
      return {};
    case ValueType::kBool:
      return value.boolean;
    case ValueType::kInt:
      return value.integer;
    case ValueType::kDouble:
      // NaN and infinities are no values of queries.
      if (value.number - value.number != 0) return {};
      return value.number;
    case ValueType::kString:
      return std::string(value.text);
    default:
      return ValueText(value);
  }
}

advice::Value QueryValue(const Value& value) {
  if (value.type != ValueType::kArray) return ScalarOf(value);
  advice::List list;
  ArrayReader elements(value.text);
  for (Value element; elements.Next(element);) list.push_back(ScalarOf(element));
  return list;
}

}  // namespace

VariableReader::VariableReader(std::vector<std::string> names) : names_(std::move(names)) {
  static constexpr struct {
    std::string_view name;
    Which which;
  } kKnown[] = {{"host", Which::kHost},
                {"time", Which::kTime},
                {"procName", Which::kProcName},
                {"procId", Which::kProcId},
                {"tracepoint", Which::kTracepoint},
                {"duration", Which::kDuration},
                {"alignedTime", Which::kAlignedTime}};
  constexpr std::string_view kPrefix = "attr.";
  for (const std::string& name : names_) {
    Which which = Which::kAttribute;
    for (const auto& known : kKnown)
      if (name == known.name) which = known.which;
    which_.push_back(which);
    if (which == Which::kAlignedTime) reads_aligned_ = true;
    // Where a span has no duration, an attribute may: at its begin.
    const bool prefixed = name.compare(0, kPrefix.size(), kPrefix) == 0;
    const std::string key = prefixed ? name.substr(kPrefix.size()) : name;
    const auto at = std::find(keys_.begin(), keys_.end(), key);
    key_of_.push_back(static_cast<size_t>(at - keys_.begin()));
    if (at == keys_.end()) keys_.push_back(key);
  }
}

void VariableReader::SetBatch(const EventBatch& batch) {
  batch_ = &batch;
  codes_.clear();
  for (const std::string& key : keys_) codes_.push_back(batch.strings.Find(key));
  const uint32_t host_name = batch.strings.Find("host.name");
  const uint32_t pid = batch.strings.Find("process.pid");
  const auto text = [&](uint32_t code) {
    return code == 0 ? advice::Value() : advice::Value(std::string(batch.str(code)));
  };
  processes_.clear();
  for (const Process& process : batch.processes) {
    const std::string_view attributes = batch.Slice(process.attrs_begin, process.attrs_end);
    ProcessFacts facts;
    facts.name = text(process.service);
    facts.host = Find(attributes, host_name).value_or(text(process.host));
    facts.pid = Find(attributes, pid).value_or(advice::Value());
    processes_.push_back(std::move(facts));
  }
}

// Of a key that stands twice the last value counts.
std::optional<advice::Value> VariableReader::Find(std::string_view packed, uint32_t code) const {
  if (code == UINT32_MAX || packed.empty()) return std::nullopt;
  std::optional<Value> found;
  AttributeReader reader(packed);
  uint32_t key = 0;
  for (Value value; reader.Next(key, value);)
    if (key == code) found = value;
  if (!found) return std::nullopt;
  return QueryValue(*found);
}

advice::Value VariableReader::Attribute(size_t variable, const StoredEvent& event) const {
  const uint32_t code = codes_[key_of_[variable]];
  if (auto value = Find(event.attributes, code)) return std::move(*value);
  if (auto value = Find(event.scope_attributes, code)) return std::move(*value);
  const std::string& key = keys_[key_of_[variable]];
  for (const Annotation* one = event.annotations; one != event.annotations_end; ++one)
    if (one->name == key) return QueryValue(one->value);
  if (event.process != kNone) {
    const Process& process = batch_->processes[event.process];
    if (auto value = Find(batch_->Slice(process.attrs_begin, process.attrs_end), code))
      return std::move(*value);
  }
  if (names_[variable] == "traceId") return ToHex(event.trace_id);
  if (names_[variable] == "spanId") return ToHex64(event.span_id);
  if (names_[variable] == "kind") return std::string(event.kind);
  if (names_[variable] == "status") return std::string(event.status);
  return {};
}

advice::Value VariableReader::Read(size_t variable, const StoredEvent& event) const {
  const ProcessFacts* const process = event.process == kNone ? nullptr : &processes_[event.process];
  switch (which_[variable]) {
    case Which::kHost:
      return process == nullptr ? advice::Value() : process->host;
    case Which::kTime:
      return event.time_ns;
    case Which::kProcName:
      if (!event.service.empty()) return std::string(event.service);
      return process == nullptr ? advice::Value() : process->name;
    case Which::kProcId:
      return process == nullptr ? advice::Value() : process->pid;
    case Which::kTracepoint:
      return std::string(event.tracepoint);
    case Which::kDuration:
      return event.duration_ns ? advice::Value(*event.duration_ns) : Attribute(variable, event);
    case Which::kAlignedTime:
      return event.aligned_ns ? advice::Value(*event.aligned_ns) : advice::Value();
    case Which::kAttribute:
      return Attribute(variable, event);
  }
  return {};
}

advice::Tuple VariableReader::ReadAll(const StoredEvent& event) const {
  advice::Tuple values;
  for (size_t i = 0; i < names_.size(); ++i) values.push_back(Read(i, event));
  return values;
}

}  // namespace wf::answer
