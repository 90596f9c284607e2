#include <fmt/format.h>
#include <limits.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>

#include "answer/frame/text_table.h"
#include "answer/recording/recording_answer.h"
#include "recorder/reader/op_names.h"

namespace wf::answer {
namespace {

using recorder::SubId;

struct NamedRange {
  std::string name;
  lineage::RangeSet ranges;  // empty: all
};

std::optional<lineage::ByteRange> ParseRange(std::string_view text) {
  lineage::ByteRange range;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.begin);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto last = std::from_chars(first.ptr + 1, end, range.end);
  if (last.ec != std::errc() || last.ptr != end || range.begin >= range.end) return std::nullopt;
  return range;
}

// Names may themselves hold colons and what looks like a range, so the whole text is tried first.
template <typename Find>
Result<std::vector<uint32_t>> FindFlows(const std::string& text, const char* what,
                                        const std::vector<std::string>& known, const Find& find) {
  std::vector<NamedRange> tries{{text, {}}};
  const size_t colon = text.rfind(':');
  if (colon != std::string::npos) {
    if (const auto range = ParseRange(std::string_view(text).substr(colon + 1)))
      tries.push_back({text.substr(0, colon), lineage::RangeSet(*range)});
  }
  // A path is recorded whole; it may be given as the shell has it.
  for (size_t i = 0, count = tries.size(); i < count; ++i) {
    char whole[PATH_MAX];
    if (realpath(tries[i].name.c_str(), whole) != nullptr && tries[i].name != whole)
      tries.push_back({whole, tries[i].ranges});
  }
  for (const NamedRange& one : tries) {
    std::vector<uint32_t> found = find(one.name, one.ranges);
    if (!found.empty()) return found;
  }
  std::string hint =
      known.empty() ? fmt::format("it has no {}s", what) : fmt::format("{}s are: ", what);
  constexpr size_t kMostNamed = 12;
  for (size_t i = 0; i < known.size() && i < kMostNamed; ++i)
    hint += (i == 0 ? "" : ", ") + Printable(known[i]);
  if (known.size() > kMostNamed) hint += fmt::format(" and {} more", known.size() - kMostNamed);
  return NotFound(fmt::format("{}: no such {} in the recording", text, what), hint);
}

std::vector<std::string> NamesOf(const recorder::Recording& r,
                                 const std::vector<lineage::ByteFlow>& flows) {
  std::vector<std::string> names;
  for (const lineage::ByteFlow& flow : flows) names.push_back(r.NameOf(r.transfers[flow.transfer]));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<uint64_t> ParseHex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  uint64_t address = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, address, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end || text.empty()) return std::nullopt;
  return address;
}

// No name begins with a digit; what could be both is a name if there is one.
Result<uint64_t> ParseAddress(OpenedRecording& opened, const std::string& text) {
  const auto hex = ParseHex(text);
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    if (hex) return *hex;
    return BadInput(text + ": is not an address", "write it as 0x7ffd1000, or a variable's name");
  }
  Result<uint64_t> named = opened.symbols().AddressOf(text);
  if (!named.ok() && hex) return *hex;
  return named;
}

class LineageAnswer {
 public:
  LineageAnswer(OpenedRecording& opened, const LineageQuestion& question)
      : o_(opened), q_(question) {}

  Status Find() {
    WF_TRY(o_.Require(recorder::kData));
    const int asked = int{q_.of.has_value()} + int{q_.address.has_value()} +
                      int{q_.from.has_value()} + int{q_.crash};
    if (asked != 1)
      return BadInput(
          asked == 0 ? "lineage: no subject given" : "lineage: more than one subject given",
          "give one of --of OUTPUT[:a-b], --address HEX|SYMBOL[+off], "
          "--from INPUT[:a-b], --crash");
    if (!q_.at.empty() && !q_.address)
      return BadInput("--at: needs --address", "it chooses when the memory is read");
    WF_ASSIGN(const lineage::DataFlow* flow, o_.data_flow());
    WF_ASSIGN(const lineage::ByteFlows* bytes, o_.byte_flows());
    const lineage::LineageFinder finder(*flow, *bytes);
    const recorder::Recording& r = o_.recording();
    if (q_.of) {
      WF_ASSIGN(const auto found,
                FindFlows(*q_.of, "output", NamesOf(r, bytes->outputs()),
                          [&](const std::string& name, const lineage::RangeSet& ranges) {
                            return finder.FindOutputs(name, ranges);
                          }));
      lineage_ = finder.OfOutputs(found, q_.steps);
    } else if (q_.from) {
      WF_ASSIGN(const auto found,
                FindFlows(*q_.from, "input", NamesOf(r, bytes->inputs()),
                          [&](const std::string& name, const lineage::RangeSet& ranges) {
                            return finder.FindInputs(name, ranges);
                          }));
      lineage_ = finder.FromInputs(found, q_.steps);
    } else if (q_.address) {
      return FindAddress(finder, *flow);
    } else {
      if (!r.crash || r.crash->sub == recorder::kNone)
        return NotFound(r.file + ": no crash was recorded", "ask with --of, --address or --from");
      lineage_ = finder.OfSub(r.crash->sub, q_.steps);
    }
    return {};
  }

  std::string Json() {
    JsonWriter json;
    json.BeginObject().Key(q_.from ? "sinks" : "sources").BeginArray();
    for (const lineage::LineageEnd& end : lineage_.ends) {
      json.BeginObject().Field("kind", recorder::NameOf(end.kind)).Field("name", end.name);
      json.Key("ranges").BeginArray();
      for (const lineage::ByteRange& range : end.ranges)
        json.BeginArray().Uint(range.begin).Uint(range.end).EndArray();
      json.EndArray().Field("unordered", end.unordered).EndObject();
    }
    json.EndArray().Key("sub_computations").BeginArray();
    for (const lineage::LineageSub& sub : lineage_.subs) {
      json.BeginObject().Field("id", o_.SubNameOf(sub.sub));
      json.Field("unordered", sub.unordered).EndObject();
    }
    json.EndArray();
    if (q_.address) {
      json.Key("memory").BeginObject().Field("address", HexAddress(address_));
      json.Field("page", PageAddress(address_ / recorder::kPageBytes));
      WriteText(json, "symbol", o_.symbols().VariableAt(address_));
      json.Key("allocation");
      if (const recorder::AllocationFacts* const one = Allocation()) {
        json.BeginObject().Field("address", HexAddress(one->address)).Field("size", one->size);
        json.Key("site");
        WriteSite(json, o_.symbols().Site(one->site, one->from_ns));
        json.EndObject();
      } else {
        json.Null();
      }
      json.EndObject();
    }
    if (q_.crash) {
      const recorder::CrashFacts& crash = *o_.recording().crash;
      json.Key("crash").BeginObject().Field("signal", uint64_t{crash.signal});
      json.Field("sub_computation", o_.SubNameOf(crash.sub)).Field("time_ns", crash.time_ns);
      WriteText(json, "address",
                crash.address == 0 ? std::nullopt : std::optional(HexAddress(crash.address)));
      json.Key("site");
      WriteSite(json, o_.symbols().Site(crash.site, crash.time_ns));
      json.EndObject();
    }
    json.EndObject();
    return json.Take() + "\n";
  }

  std::string Text() {
    std::string out = Subject() + "\n";
    out += lineage_.ends.empty() ? (q_.from ? "reaches no output\n" : "comes from no input\n")
                                 : (q_.from ? "\nreaches\n" : "\ncomes from\n");
    for (const lineage::LineageEnd& end : lineage_.ends) {
      std::string bytes;
      for (const lineage::ByteRange& range : end.ranges)
        bytes += fmt::format("{}{}-{}", bytes.empty() ? "" : ", ", range.begin, range.end);
      out += Line(fmt::format("  {}{}{}{}", end.name, bytes.empty() ? "" : ", bytes ", bytes,
                              end.unordered ? ", unordered" : ""));
    }
    const size_t count = lineage_.subs.size();
    out += fmt::format("\nthrough {} sub-computation{}\n", count, count == 1 ? "" : "s");
    constexpr size_t kMostLines = 100;
    for (size_t i = 0; i < count && i < kMostLines; ++i) {
      const recorder::SubComputation& sub = o_.recording().subs[lineage_.subs[i].sub];
      const std::string site = SiteText(o_.SiteOf(sub));
      out += Line(fmt::format("  {:<8} until {}{}{}{}", recorder::SubName(sub), o_.OpOf(sub),
                              site.empty() ? "" : " in ", site,
                              lineage_.subs[i].unordered ? ", unordered" : ""));
    }
    if (count > kMostLines) out += fmt::format("  … and {} more\n", count - kMostLines);
    return out;
  }

 private:
  Status FindAddress(const lineage::LineageFinder& finder, const lineage::DataFlow& flow) {
    WF_ASSIGN(address_, ParseAddress(o_, *q_.address));
    if (!q_.at.empty()) {
      WF_ASSIGN(at_, o_.FindSub(q_.at));
    }
    const uint64_t page = address_ / recorder::kPageBytes;
    if (flow.pages().SpanOf(page) == recorder::kNone)
      return NotFound(
          fmt::format("{}: no recorded access to its page {}", *q_.address, PageAddress(page)),
          "wherefore cpg F pages lists the pages");
    lineage_ = finder.OfPage(page, at_, q_.steps);
    return {};
  }

  const recorder::AllocationFacts* Allocation() {
    const int64_t time =
        at_ == recorder::kNone ? recorder::kNotEnded : o_.recording().subs[at_].end_ns;
    return o_.symbols().AllocationAt(address_, time);
  }

  std::string Subject() {
    if (q_.of) return "output " + Printable(*q_.of);
    if (q_.from) return "input " + Printable(*q_.from);
    if (q_.crash) {
      const recorder::CrashFacts& crash = *o_.recording().crash;
      return fmt::format("what {} had read when signal {} ended the program",
                         o_.SubNameOf(crash.sub), crash.signal);
    }
    std::string out = "memory at " + HexAddress(address_);
    if (const auto symbol = o_.symbols().VariableAt(address_)) out += ", " + *symbol;
    if (const recorder::AllocationFacts* const one = Allocation()) {
      out += fmt::format(", {} bytes allocated", one->size);
      const std::string site = SiteText(o_.symbols().Site(one->site, one->from_ns));
      if (!site.empty()) out += " by " + site;
    }
    return CutToWidth(out, 100);
  }

  static std::string Line(const std::string& text) {
    return CutToWidth(Printable(text), 100) + "\n";
  }

  OpenedRecording& o_;
  const LineageQuestion& q_;
  lineage::Lineage lineage_;
  uint64_t address_ = 0;
  SubId at_ = recorder::kNone;
};

}  // namespace

Result<std::string> AnswerLineage(OpenedRecording& opened, const LineageQuestion& question,
                                  RecordingFormat format) {
  LineageAnswer answer(opened, question);
  WF_TRY(answer.Find());
  return format == RecordingFormat::kJson ? answer.Json() : answer.Text();
}

}  // namespace wf::answer
