#include "answer/paths/kept_paths.h"

#include <fmt/format.h>

#include "import/messages/message_text.h"

namespace wf::answer {
namespace {

// Messages of the store as sightings, in order of time.
class StoredSightings : public SightingSource {
 public:
  StoredSightings(std::vector<Message> messages, StringTable& nodes)
      : messages_(std::move(messages)), nodes_(nodes) {}

  Result<bool> Next(SightingLine& line) override {
    if (next_ == messages_.size()) return false;
    const Message& m = messages_[next_++];
    Sighting& s = line.sighting;
    s = Sighting();
    s.time_ns = m.time_ns;
    s.place = {1, next_};
    s.sender = nodes_.Intern(m.sender);
    s.receiver = nodes_.Intern(m.receiver);
    ReadOp(m.kind, s);
    s.id = m.id == "-" ? 0 : KeyOf(m.id);
    messages::ReadMessageKeys(m.keys, s);
    return true;
  }

 private:
  static void ReadOp(const std::string& op, Sighting& s) {
    for (const MessageKind kind :
         {MessageKind::kCall, MessageKind::kReturn, MessageKind::kMessage}) {
      for (const SightedBy by : {SightedBy::kCommon, SightedBy::kSender, SightedBy::kReceiver}) {
        if (messages::OpName(kind, by) == op) s.kind = kind, s.by = by;
      }
    }
  }
  const std::vector<Message> messages_;
  StringTable& nodes_;
  size_t next_ = 0;
};

size_t MemoryOf(const InferredPaths& paths) {
  size_t bytes = sizeof paths + paths.names.MemoryBytes() + paths.findings.patterns->MemoryBytes();
  if (paths.findings.convolution) {
    const paths::ConvolutionResult& result = *paths.findings.convolution;
    bytes += result.vertices.capacity() * sizeof(NodeId);
    for (const paths::ConvolutionEdge& edge : result.edges)
      bytes += sizeof edge + edge.delays.capacity() * sizeof(paths::ConvolutionDelay);
  }
  return bytes;
}

Result<std::shared_ptr<const InferredPaths>> Infer(const AnswerContext& context,
                                                   store::TimeRange time,
                                                   const paths::PathsRequest& request) {
  WF_ASSIGN(std::vector<Message> messages, context.store.ReadMessages(context.tenant, time));
  if (messages.empty())
    return NotFound("no messages in that time range",
                    "wherefore import FILE stores them; --since reaches further back");
  auto paths = std::make_shared<InferredPaths>();
  StoredSightings source(std::move(messages), paths->names);
  WF_ASSIGN(paths->findings, paths::InferPaths(source, paths->names, request));
  paths->findings.patterns->ReleaseScratch();
  return std::shared_ptr<const InferredPaths>(std::move(paths));
}

}  // namespace

Result<std::shared_ptr<const InferredPaths>> InferStoredPaths(const AnswerContext& context,
                                                              store::TimeRange time,
                                                              const paths::PathsRequest& request) {
  if (context.kept_paths == nullptr) return Infer(context, time, request);
  // The time asked for is no part of the key: what lies in it is.
  WF_ASSIGN(const store::MessagesDigest digest, context.store.DigestMessages(context.tenant, time));
  const std::string key =
      fmt::format("{} {} {} {:016x}{:016x} {}", paths::NameOf(request.algorithm),
                  static_cast<int>(request.distributions), digest.count, digest.hash.hi,
                  digest.hash.lo, context.tenant);
  return context.kept_paths->Get(key, [&]() -> Result<KeptPaths::Made> {
    WF_ASSIGN(auto paths, Infer(context, time, request));
    // Messages that came or went meanwhile may be in it.
    WF_ASSIGN(const store::MessagesDigest after,
              context.store.DigestMessages(context.tenant, time));
    const size_t bytes = MemoryOf(*paths);
    return KeptPaths::Made{std::move(paths), bytes,
                           after == digest ? KeptPaths::Keep::kYes : KeptPaths::Keep::kNo};
  });
}

}  // namespace wf::answer
