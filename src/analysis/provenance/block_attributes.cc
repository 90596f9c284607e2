// What blocks contain about themselves and about the process and thread that ran them.
#include <algorithm>

#include "analysis/provenance/trace_execution.h"

namespace wf::provenance {
namespace {

// Calls `take` for each value of `key` among packed attributes.
template <typename Take>
void EachValue(std::string_view packed, uint32_t key_code, Take take) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (key == key_code) take(value);
  }
}

template <typename Take>
void EachBlockValue(const Trace& trace, const Block& block, std::string_view key, Take take) {
  const EventBatch& events = *trace.events;
  const uint32_t code = events.strings.Find(key);
  if (code != UINT32_MAX) EachValue(trace.attrs(block), code, take);
  // Blocks of libwherefore carry labels instead of attributes.
  const auto index = static_cast<uint32_t>(&block - trace.blocks.data());
  const auto [begin, end] = trace.annotations_of(ElementKind::kBlock, index);
  for (const Annotation* a = begin; a != end; ++a) {
    if (a->name == key) take(a->value);
  }
  if (code == UINT32_MAX || block.process == kNone) return;
  const Process& process = events.processes[trace.processes[block.process]];
  EachValue(events.Slice(process.attrs_begin, process.attrs_end), code, take);
}

}  // namespace

std::optional<std::string> BlockAttribute(const Trace& trace, const Block& block,
                                          std::string_view key) {
  std::optional<std::string> found;
  EachBlockValue(trace, block, key, [&](const Value& value) {
    if (!found) found = ValueText(value);
  });
  return found;
}

std::vector<std::string> BlockAttributeValues(const Trace& trace, const Block& block,
                                              std::string_view key) {
  std::vector<std::string> found;
  EachBlockValue(trace, block, key, [&](const Value& value) {
    if (value.type != ValueType::kArray) {
      found.push_back(ValueText(value));
      return;
    }
    ArrayReader elements(value.text);
    for (Value element; elements.Next(element);) found.push_back(ValueText(element));
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string ProcessName(const Trace& trace, const Block& block) {
  std::string name(trace.service(block));
  if (const auto instance = BlockAttribute(trace, block, "service.instance.id"))
    return name + "/" + *instance;
  if (block.process == kNone) return name;
  const Process& process = trace.events->processes[trace.processes[block.process]];
  const std::string_view host = trace.events->str(process.host);
  if (host.empty()) return name;
  name += "@";
  name += host;
  if (const auto pid = BlockAttribute(trace, block, "process.pid")) name += ":" + *pid;
  return name;
}

std::string_view ThreadOf(const Trace& trace, const Block& block) {
  return trace.str(block.thread != 0 ? block.thread : trace.units[block.unit].thread);
}

}  // namespace wf::provenance
