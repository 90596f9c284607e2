#include "scenario/message_generator_otlp.h"

#include "base/hash.h"
#include "import/otlp/otlp_encoder.h"
#include "model/event_batch.h"
#include "scenario/message_generator_truth.h"

namespace wf::scenario {
namespace {

constexpr size_t kRowsPerLine = 512;
constexpr size_t kSpansPiece = size_t{1} << 20;

Status CheckSpansConfig(const GeneratorConfig& config) {
  if (config.drop)
    return BadInput("drop: spans are not sniffed", "leave it out, or write --as text or pcap");
  for (const TraceletGroup& group : config.groups) {
    for (const Tracelet& tracelet : group.tracelets) {
      for (const TraceletMessage& message : tracelet.messages) {
        if (message.kind == MessageKind::kMessage)
          return BadInput("MSG: a one-way message is not a span", "write --as text");
      }
    }
  }
  return {};
}

class OtlpWriter {
 public:
  OtlpWriter(const GeneratorConfig& config, const GeneratorRequest& request)
      : config_(config),
        request_(request),
        generator_(config, request.seed),
        truth_(generator_, truth_text_) {
    NewBatch();
  }

  Result<GeneratedTrace> Run(const TextSink& lines, const TextSink& truth) {
    GeneratedMessage message;
    while (generator_.Next(message)) {
      const TraceletMessage& shape = message.shape();
      ++lines_;
      if (shape.kind == MessageKind::kCall) {
        truth_.Show(*message.run, message.index, lines_);
      } else {
        AddSpans(message, shape);
      }
      if (batch_.size() >= kRowsPerLine) WriteBatch();
      if (text_.size() + truth_text_.size() >= kSpansPiece) WF_TRY(Flush(lines, truth));
    }
    if (!batch_.empty()) WriteBatch();
    WF_TRY(Flush(lines, truth));
    return GeneratedTrace{generator_.counts(), lines_};
  }

 private:
  enum class Side : uint64_t { kClient = 1, kServer = 2 };

  // Looks random, is never 0, and is different for each path, call and side.
  uint64_t SpanId(uint64_t path, uint32_t call, Side side) const {
    const uint64_t number = (path << 20 | call) << 2 | static_cast<uint64_t>(side);
    return MixBits(number ^ MixBits(request_.seed)) | 1;
  }

  void NewBatch() {
    batch_ = EventBatch();
    for (const std::string& node : config_.nodes) {
      const uint32_t begin = batch_.ArenaSize();
      PutVarint(batch_.strings.Intern("service.name"), batch_.bytes);
      PutString(node, batch_.bytes);
      batch_.processes.push_back({batch_.strings.Intern(node), 0, begin, batch_.ArenaSize()});
    }
    batch_.scopes.push_back(
        {batch_.strings.Intern("wherefore generate"), 0, batch_.ArenaSize(), batch_.ArenaSize()});
  }

  void AddSpans(const GeneratedMessage& message, const TraceletMessage& reply) {
    const uint64_t path = message.path();
    const TraceletMessage& call = message.run->tracelet->messages[reply.call];
    const uint64_t client = SpanId(path, reply.call, Side::kClient);
    const uint64_t parent =
        call.parent == kNoMessage ? 0 : SpanId(path, call.parent, Side::kServer);
    const Nanos begin = request_.start + message.run->times[reply.call];
    const Nanos end = request_.start + message.time;
    AddSpan(path, client, parent, SpanKind::kClient, call.from, call.to, begin, end);
    AddSpan(path, SpanId(path, reply.call, Side::kServer), client, SpanKind::kServer, call.to,
            call.to, begin, end);
  }

  void AddSpan(uint64_t path, uint64_t id, uint64_t parent, SpanKind kind, uint32_t node,
               uint32_t callee, Nanos begin, Nanos end) {
    batch_.AddRow();
    batch_.trace_hi.back() = MixBits(request_.seed + 1);
    batch_.trace_lo.back() = MixBits(path);
    batch_.id1.back() = id;
    batch_.id2.back() = parent;
    batch_.type.back() = EventType::kSpan;
    batch_.kind.back() = kind;
    batch_.parent_ref.back() = parent == 0 ? ParentRef::kNone : ParentRef::kChildOf;
    batch_.marks.back() = kHasStart | kHasEnd;
    batch_.flags.back() = 1;
    batch_.start_ns.back() = begin + config_.skews[node];
    batch_.end_ns.back() = end + config_.skews[node];
    batch_.name.back() = batch_.strings.Intern(config_.nodes[callee]);
    batch_.process.back() = node;
    batch_.EndAttributes();
  }

  void WriteBatch() {
    text_ += otlp::EncodeOtlpJson(batch_, otlp::AllRows(batch_));
    text_ += '\n';
    NewBatch();
  }

  Status Flush(const TextSink& lines, const TextSink& truth) {
    WF_TRY(lines(text_));
    text_.clear();
    if (truth) WF_TRY(truth(truth_text_));
    truth_text_.clear();
    return {};
  }

  const GeneratorConfig& config_;
  const GeneratorRequest& request_;
  MessageGenerator generator_;
  EventBatch batch_;
  std::string text_, truth_text_;
  GeneratedTruth truth_;
  uint64_t lines_ = 0;
};

}  // namespace

Result<GeneratedTrace> GenerateOtlp(const GeneratorConfig& config, const GeneratorRequest& request,
                                    const TextSink& lines, const TextSink& truth) {
  WF_TRY(CheckSpansConfig(config));
  return OtlpWriter(config, request).Run(lines, truth);
}

}  // namespace wf::scenario
