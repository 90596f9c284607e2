// `cpg F thunks ID`: the way a sub-computation took, branch by branch.
#include <fmt/format.h>

#include <unordered_map>

#include "answer/frame/text_table.h"
#include "answer/recording/recording_answer.h"
#include "recorder/control/recording_thunks.h"
#include "recorder/control/thunk_reader.h"

namespace wf::answer {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr uint64_t kMostLines = 1000;

// The pieces of the answer, until one of them cannot be delivered.
class Pieces {
 public:
  explicit Pieces(const PieceSink& sink) : sink_(sink) {}
  void Add(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kPieceBytes) Deliver();
  }
  Status Finish() {
    Deliver();
    return status_;
  }

 private:
  void Deliver() {
    if (status_.ok() && !buffer_.empty()) status_ = sink_(buffer_);
    buffer_.clear();
  }
  const PieceSink& sink_;
  std::string buffer_;
  Status status_;
};

// Where a thunk's branch stands, written once: a loop comes back to it. Thunk 0 has none: it is where it begins.
class SiteTexts {
 public:
  SiteTexts(OpenedRecording& opened, int64_t time_ns, RecordingFormat format)
      : opened_(opened), time_ns_(time_ns), format_(format) {}
  const std::string& Of(const recorder::Thunk& thunk) {
    const uint64_t address = thunk.branch != 0 ? thunk.branch : thunk.start;
    const auto [place, fresh] = texts_.try_emplace(address);
    if (fresh) place->second = Write(address);
    return place->second;
  }

 private:
  std::string Write(uint64_t address) {
    // Symbols look behind a call, so before the address that they are given.
    const recorder::SitePlace site = opened_.symbols().Site(address + 1, time_ns_);
    if (format_ != RecordingFormat::kJson) return SiteText(site);
    JsonWriter json;
    WriteSite(json, site);
    return json.Take();
  }
  OpenedRecording& opened_;
  int64_t time_ns_;
  RecordingFormat format_;
  std::unordered_map<uint64_t, std::string> texts_;
};

Error NothingOf(const std::string& id) {
  return BadInput(id + ": no branches of its thread were recorded",
                  "a program started by another one records them only if it was compiled with "
                  "-fsanitize-coverage=trace-pc");
}

Status WriteJson(OpenedRecording& opened, recorder::SubId sub, const std::string& id,
                 const PieceSink& sink) {
  Pieces out(sink);
  SiteTexts sites(opened, opened.recording().subs[sub].start_ns, RecordingFormat::kJson);
  uint64_t index = 0;
  const auto begin = [&](recorder::BranchSource source) {
    out.Add(fmt::format("{{\"source\":\"{}\",\"thunks\":[", recorder::NameOf(source)));
  };
  WF_ASSIGN(const recorder::ThunksRead read,
            recorder::ReadThunks(opened.recording(), sub,
                                 [&](recorder::BranchSource source, const recorder::Thunk& thunk) {
                                   if (index == 0) begin(source);
                                   out.Add(fmt::format("{}{{\"index\":{},\"start\":\"{}\"",
                                                       index == 0 ? "" : ",", index,
                                                       HexAddress(thunk.start)));
                                   if (thunk.branch == 0)
                                     out.Add(",\"branch\":null,\"taken\":null");
                                   else
                                     out.Add(fmt::format(",\"branch\":\"{}\",\"taken\":{}",
                                                         HexAddress(thunk.branch), thunk.taken));
                                   out.Add(",\"site\":");
                                   out.Add(sites.Of(thunk));
                                   out.Add("}");
                                   ++index;
                                 }));
  if (!read.source) return NothingOf(id);
  if (index == 0) begin(*read.source);
  out.Add(fmt::format("],\"gaps\":{}}}\n", read.gaps));
  return out.Finish();
}

Status WriteText(OpenedRecording& opened, recorder::SubId sub, const std::string& id,
                 const PieceSink& sink) {
  SiteTexts sites(opened, opened.recording().subs[sub].start_ns, RecordingFormat::kText);
  TextTable table({"thunk", "branch", "taken", "leads to", "at"}, {0});
  uint64_t index = 0;
  WF_ASSIGN(
      const recorder::ThunksRead read,
      recorder::ReadThunks(
          opened.recording(), sub, [&](recorder::BranchSource, const recorder::Thunk& thunk) {
            if (index < kMostLines)
              table.Row({std::to_string(index), thunk.branch == 0 ? "" : HexAddress(thunk.branch),
                         thunk.branch == 0 ? ""
                         : thunk.taken     ? "yes"
                                           : "no",
                         HexAddress(thunk.start), sites.Of(thunk)});
            ++index;
          }));
  if (!read.source) return NothingOf(id);
  std::string out = fmt::format("{}: {}, recorded by {}; {}\n\n", id, CountOf(read.thunks, "thunk"),
                                recorder::NameOf(*read.source), CountOf(read.gaps, "gap"));
  out += table.Print(TextWidth(), 4);
  if (index > kMostLines)
    out += fmt::format("… and {} more: --format json lists all\n", index - kMostLines);
  return sink(out);
}

}  // namespace

Status AnswerThunks(OpenedRecording& opened, const std::string& id, RecordingFormat format,
                    const PieceSink& sink) {
  WF_TRY(opened.Require(recorder::kControl));
  WF_ASSIGN(const recorder::SubId sub, opened.FindSub(id));
  return format == RecordingFormat::kJson ? WriteJson(opened, sub, id, sink)
                                          : WriteText(opened, sub, id, sink);
}

}  // namespace wf::answer
