#include "advice/emitted_events.h"

#include <map>
#include <set>
#include <utility>

#include "advice/wire.h"

namespace wf::advice {
namespace {

bool IsDefault(std::string_view name) {
  return name == "host" || name == "time" || name == "procName" || name == "procId" ||
         name == "tracepoint";
}

}  // namespace

std::vector<EmittedPlace> EmittedPlaces(const Program& program) {
  std::map<std::string, std::set<std::string>> reads;
  for (const Advice& advice : program.advice) {
    for (const std::string& tracepoint : advice.tracepoints) {
      std::set<std::string>& variables = reads[tracepoint];
      for (const Step& step : advice.steps) {
        const auto* observe = std::get_if<Observe>(&step);
        if (observe == nullptr) continue;
        for (const std::string& name : observe->variables)
          if (!IsDefault(name)) variables.insert(name);
      }
    }
  }
  std::vector<EmittedPlace> places;
  for (auto& [tracepoint, variables] : reads)
    places.push_back({tracepoint, {variables.begin(), variables.end()}});
  return places;
}

void AppendEvent(const EmittedEvent& event, std::string& out) {
  Writer writer(out);
  writer.Varint(event.place);
  writer.Fixed64(event.id);
  writer.Signed(event.time_ns);
  writer.Varint(event.after.size());
  for (const uint64_t id : event.after) writer.Fixed64(id);
  StringTable strings;
  for (const Value& value : event.values) WriteValue(value, writer, strings);
}

bool DecodeEvents(std::string_view bytes, const std::vector<EmittedPlace>& places,
                  std::vector<EmittedEvent>& out) {
  Reader reader(bytes);
  while (reader.ok() && reader.left() != 0) {
    EmittedEvent event;
    const uint64_t place = reader.Varint();
    if (place > places.size()) return false;
    event.place = static_cast<uint32_t>(place);
    event.id = reader.Fixed64();
    event.time_ns = reader.Signed();
    const size_t before = reader.Count();
    for (size_t i = 0; i < before && reader.ok(); ++i) event.after.push_back(reader.Fixed64());
    StringReferences strings;
    const size_t values = place == 0 ? 0 : places[place - 1].variables.size();
    for (size_t i = 0; i < values && reader.ok(); ++i)
      event.values.push_back(ReadValue(reader, strings));
    if (!reader.ok() || event.id == kLostPast) return false;
    out.push_back(std::move(event));
  }
  return reader.ok();
}

}  // namespace wf::advice
