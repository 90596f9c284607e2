// For tests: events as lines of text → EventBatch, and a modeled trace → lines of text, so that tests can be read
// without the code. The format is described in testdata/README.md.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/build_state.h"
#include "model/trace_builder.h"

namespace wf::testing {

// Ids are words in tests ("cart", "q1"); hex digits mean themselves.
class Words {
 public:
  uint64_t Id(const std::string& word) {
    const auto hex = ParseSpanId(word);
    const uint64_t id = hex.ok() && word.size() <= 16 ? hex->value : HashBytes(word);
    words_.emplace(id, word);
    return id;
  }
  // Names for derived ids: wait(q1), begin(cart); others are numbered in order of appearance.
  std::string Word(uint64_t id) {
    if (words_.empty()) return ToHex64(id);
    if (const auto at = words_.find(id); at != words_.end()) return at->second;
    static constexpr std::pair<IdRole, const char*> kRoles[] = {
        {kRoleUnit, "unit"}, {kRoleWait, "wait"}, {kRoleWork, "work"}, {kRoleHold, "hold"}};
    for (const auto& [known, word] : words_) {
      for (const auto& [role, text] : kRoles) {
        if (DeriveId(known, role) == id) return fmt::format("{}({})", text, word);
      }
    }
    return words_.emplace(id, fmt::format("new{}", ++numbered_)).first->second;
  }

 private:
  std::map<uint64_t, std::string> words_;
  int numbered_ = 0;
};

struct EventLines {
  EventBatch batch;
  Words words;
  std::vector<ClockOffset> clocks;
  HostClocks host_clocks;
  BuildOptions options;

  EventLines(const EventLines&) = delete;  // options point into it
  explicit EventLines(const std::string& text) {
    batch.scopes.push_back({});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      line = line.substr(0, line.find('#'));
      std::istringstream in(line);
      std::vector<std::string> fields;
      for (std::string field; in >> field;) fields.push_back(field);
      if (!fields.empty()) Add(fields);
    }
    host_clocks = HostClocks(clocks);
    options.clocks = &host_clocks;
  }

 private:
  static Nanos Time(const std::string& text) { return std::stoll(text); }

  uint32_t ProcessOf(const std::string& text) {
    const size_t at = text.find('@');
    const uint32_t service = batch.strings.Intern(text.substr(0, at));
    const uint32_t host = at == std::string::npos ? 0 : batch.strings.Intern(text.substr(at + 1));
    for (uint32_t p = 0; p < batch.processes.size(); ++p) {
      if (batch.processes[p].service == service && batch.processes[p].host == host) return p;
    }
    batch.processes.push_back({service, host, 0, 0});
    return static_cast<uint32_t>(batch.processes.size() - 1);
  }

  void Add(const std::vector<std::string>& fields) {
    if (fields[0] == "clock") {  // clock HOST FROM OFFSET ERROR
      clocks.push_back({fields.at(1), Time(fields.at(2)), Time(fields.at(3)), Time(fields.at(4))});
      return;
    }
    if (fields[0] == "now") {
      options.now_ns = Time(fields.at(1));
      return;
    }
    if (fields[0] == "raw") {
      options.clock = ClockMode::kRaw;
      return;
    }
    const EventType type = wherefore::ParseEventType(fields[0]);
    const uint32_t process = ProcessOf("shop");
    batch.AddRow();
    batch.trace_lo.back() = 1;
    batch.type.back() = type;
    batch.process.back() = process;
    batch.marks.back() = 0;
    if (type == EventType::kUnknown) batch.name.back() = batch.strings.Intern(fields[0]);
    std::string points, links;
    std::string attributes;
    for (size_t i = 1; i < fields.size(); ++i) {
      const std::string& field = fields[i];
      const size_t equals = field.find('=');
      const std::string key = field.substr(0, equals);
      const std::string value = equals == std::string::npos ? "" : field.substr(equals + 1);
      const size_t dots = field.find("..");
      if (i == 1) {
        batch.id1.back() = words.Id(field);
      } else if (key == "parent" || key == "in") {
        batch.id2.back() = words.Id(value);
        if (type == EventType::kSpan) {
          if (batch.parent_ref.back() == ParentRef::kNone)
            batch.parent_ref.back() = ParentRef::kChildOf;
        }
      } else if (equals == std::string::npos && dots != std::string::npos) {
        if (dots > 0)
          batch.start_ns.back() = Time(field.substr(0, dots)), batch.marks.back() |= kHasStart;
        if (dots + 2 < field.size())
          batch.end_ns.back() = Time(field.substr(dots + 2)), batch.marks.back() |= kHasEnd;
      } else if (field[0] == '@') {
        batch.start_ns.back() = Time(field.substr(1));
        batch.marks.back() |= kHasStart;
      } else if (key == "process") {
        const uint32_t named = ProcessOf(value);
        batch.process.back() = named;
      } else if (key == "name") {
        batch.name.back() = batch.strings.Intern(value);
      } else if (key == "kind") {
        static constexpr std::string_view kKinds[] = {"unspecified", "internal", "server",
                                                      "client",      "producer", "consumer"};
        const auto at = std::find(std::begin(kKinds), std::end(kKinds), value);
        if (at == std::end(kKinds)) throw std::runtime_error("kind " + value);
        batch.kind.back() = static_cast<SpanKind>(at - std::begin(kKinds));
      } else if (key == "status") {
        batch.status.back() = value == "error" ? SpanStatus::kError : SpanStatus::kOk;
      } else if (key == "follows") {
        batch.id2.back() = words.Id(value);
        batch.parent_ref.back() = ParentRef::kFollowsFrom;
      } else if (key == "thread") {
        PutVarint(batch.strings.Intern("thread.id"), attributes);
        PutInt(std::stoll(value), attributes);
      } else if (key == "async") {
        PutVarint(batch.strings.Intern("wherefore.async"), attributes);
        PutBool(true, attributes);
      } else if (key == "seq") {
        batch.SetSequence(Time(value));
      } else if (key == "received") {
        batch.SetReceived(Time(value));
      } else if (key == "event") {  // event=NAME@TIME
        const size_t at = value.find('@');
        PutPoint({Time(value.substr(at + 1)), batch.strings.Intern(value.substr(0, at)), {}},
                 points);
      } else if (key == "link") {
        // link=WORD, or link=TRACE/WORD: of a trace by its number
        const size_t slash = value.find('/');
        const uint64_t trace = slash == std::string::npos ? 1 : std::stoull(value.substr(0, slash));
        const std::string word = slash == std::string::npos ? value : value.substr(slash + 1);
        PutLink({{0, trace}, {words.Id(word)}, 0, 0, 0, {}}, links);
      } else if (equals != std::string::npos) {
        PutVarint(batch.strings.Intern(key), attributes);
        PutString(value, attributes);
      } else {
        throw std::runtime_error("cannot read " + field);
      }
    }
    batch.bytes += attributes;
    batch.EndAttributes();
    batch.bytes += points;
    batch.EndPoints();
    batch.bytes += links;
    batch.EndLinks();
  }
};

inline std::string AnnotationsText(const Trace& t, ElementKind element, uint32_t index) {
  std::string out;
  const auto [begin, end] = t.annotations_of(element, index);
  for (const Annotation* a = begin; a != end; ++a) {
    out += fmt::format(" {}:{}{}{}={}", AnnotationKindName(a->kind), a->name,
                       a->unit.empty() ? "" : ":", a->unit, ValueText(a->value));
  }
  return out;
}

// One line an element. Begin and end points are left out: they are their block's bounds.
inline std::string Dump(const Trace& t, Words& words) {
  std::string out;
  const auto block_word = [&](uint32_t b) {
    return b == kNone ? std::string("-") : words.Word(t.blocks[b].id);
  };
  for (uint32_t u = 0; u < t.units.size(); ++u) {
    const Unit& unit = t.units[u];
    out += fmt::format("unit {} {}", words.Word(unit.id), t.str(unit.name));
    if (unit.host != 0) out += fmt::format("@{}", t.str(unit.host));
    if (unit.thread != 0) out += fmt::format(" thread={}", t.str(unit.thread));
    out += fmt::format(" {}..{}", unit.start_ns, unit.end_ns);
    if (unit.parent_block != kNone) out += " under " + block_word(unit.parent_block);
    if (unit.trace_start_ns != INT64_MIN)
      out += fmt::format(" trace-start@{}", unit.trace_start_ns);
    if (unit.source != Source::kRecorded)
      out += unit.source == Source::kInferred ? " inferred" : " repaired";
    out += AnnotationsText(t, ElementKind::kUnit, u) + "\n";
    for (uint32_t b = 0; b < t.blocks.size(); ++b) {
      const Block& block = t.blocks[b];
      if (block.unit != u) continue;
      out += fmt::format("  block {} {} {}..{}", words.Word(block.id), t.str(block.name),
                         block.start_ns, block.end_ns);
      if (block.kind != BlockKind::kUnspecified)
        out += fmt::format(" {}", BlockKindName(block.kind));
      if (block.raw_start_ns != block.start_ns || block.raw_end_ns != block.end_ns) {
        out += fmt::format(" raw {}..{}", block.raw_start_ns, block.raw_end_ns);
      }
      if (block.parent != kNone) out += " under " + block_word(block.parent);
      if (block.async()) out += " async";
      if (block.stand_in()) out += " stand-in";
      if (block.source != Source::kRecorded)
        out += block.source == Source::kInferred ? " inferred" : " repaired";
      if (block.status == SpanStatus::kError) out += " error";
      out += AnnotationsText(t, ElementKind::kBlock, b) + "\n";
      for (uint32_t p = 0; p < t.points.size(); ++p) {
        const Point& point = t.points[p];
        if (point.block != b || point.type == PointType::kBegin || point.type == PointType::kEnd)
          continue;
        out += fmt::format("    {} {}@{}", PointTypeName(point), t.str(point.name), point.time_ns);
        out += AnnotationsText(t, ElementKind::kPoint, p) + "\n";
      }
    }
  }
  for (uint32_t e = 0; e < t.edges.size(); ++e) {
    const Edge& edge = t.edges[e];
    const auto end = [&](uint32_t p) {
      return fmt::format("{}@{}", block_word(t.points[p].block), t.points[p].time_ns);
    };
    out +=
        fmt::format("edge {} {} -> {}{}", edge.type == EdgeType::kLink ? "link" : t.edge_type(edge),
                    end(edge.from), end(edge.to), edge.blocking ? " blocking" : "");
    out += AnnotationsText(t, ElementKind::kEdge, e) + "\n";
  }
  const auto value = [&](const RepairValue& v) {
    return v.type == RepairValue::Type::kNothing ? std::string("-")
           : v.type == RepairValue::Type::kTime  ? std::to_string(v.value)
                                                 : words.Word(static_cast<uint64_t>(v.value));
  };
  const auto element = [&](const Repair& r) {
    if (r.kind != ElementKind::kPoint) return words.Word(r.element);
    for (const Point& point : t.points) {
      if (point.id == r.element)
        return fmt::format("{} in {}", t.str(point.name), block_word(point.block));
    }
    return std::string("?");
  };
  for (const Repair& r : t.repairs) {
    out += fmt::format("repair {} {}: {} => {}\n", RepairPassName(r.pass), element(r),
                       value(r.before), value(r.after));
  }
  for (const Missing& m : t.missing) {
    out += fmt::format("missing {} {}{}\n", MissingWhatName(m.what), words.Word(m.id),
                       m.may_still_come ? " may come" : "");
  }
  for (const auto& [type, count] : t.unknown_events)
    out += fmt::format("unknown {} x{}\n", type, count);
  for (const Violation& v : t.violations) {
    out += fmt::format("violation {} {}\n", InvariantName(v.invariant), words.Word(v.element));
  }
  out += fmt::format("roots");
  for (const uint32_t root : t.roots) out += " " + block_word(root);
  out += fmt::format("; {}{}{}\n", t.complete ? "complete" : "incomplete",
                     t.rebuilt ? ", rebuilt" : "", t.usable() ? "" : ", not usable");
  return out;
}

}  // namespace wf::testing
