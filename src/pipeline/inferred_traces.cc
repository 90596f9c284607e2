#include "pipeline/inferred_traces.h"

#include <algorithm>

#include "import/decode/attribute_writer.h"
#include "wherefore/event.h"

namespace wf::pipeline {
namespace {

TraceId IdOfPath(const paths::Call& root, const StringTable& nodes) {
  Hasher128 hasher;
  hasher.Add("inferred path");
  hasher.Add(nodes.At(root.caller));
  hasher.Add(nodes.At(root.callee));
  for (const Nanos time : {root.sent_ns, root.received_ns, root.replied_ns, root.returned_ns})
    hasher.Add(static_cast<uint64_t>(time));
  hasher.Add(root.place.line);  // two equal requests at one instant are two
  const Hash128 hash = hasher.Finish();
  return {hash.hi, hash.lo | 1};  // never zero
}

// Spans of one path, into a batch.
class PathWriter {
 public:
  explicit PathWriter(const StringTable& nodes) : nodes_(nodes) { Renew(); }

  EventBatch& batch() { return batch_; }
  EventBatch Take() {
    EventBatch full = std::move(batch_);
    Renew();
    return full;
  }
  void BeginTrace(TraceId id) {
    trace_ = id;
    next_id_ = 0;
  }
  // Returns the server span's id, which the call's own children name as their parent. 0: the root's parent.
  uint64_t Write(const paths::Call& call, uint64_t parent, float probability) {
    if (parent != 0) {
      const uint64_t client = NewId();
      Row(client, parent, SpanKind::kClient, call.caller, "call ", call.callee, call.sent_ns,
          call.returned_ns, probability);
      parent = client;
    }
    const uint64_t server = NewId();
    Row(server, parent, SpanKind::kServer, call.callee, "request from ", call.caller,
        call.received_ns, call.replied_ns, probability);
    return server;
  }

 private:
  void Renew() {
    batch_ = EventBatch();
    processes_.clear();
    scope_ = decode::FinishScope(batch_, batch_.strings.Intern("wherefore.paths"), 0,
                                 batch_.ArenaSize());
  }
  uint64_t NewId() {
    const uint64_t id = MixBits(trace_.lo ^ MixBits(++next_id_));
    return id == 0 ? 1 : id;
  }
  uint32_t ProcessOf(NodeId node) {
    if (node >= processes_.size()) processes_.resize(node + 1, UINT32_MAX);
    if (processes_[node] == UINT32_MAX) {
      const uint32_t begin = batch_.ArenaSize();
      PutVarint(batch_.strings.Intern("service.name"), batch_.bytes);
      PutString(nodes_.At(node), batch_.bytes);
      processes_[node] = decode::FinishProcess(batch_, begin);
    }
    return processes_[node];
  }
  void Row(uint64_t id, uint64_t parent, SpanKind kind, NodeId at, std::string_view what,
           NodeId other, Nanos start, Nanos end, float probability) {
    const uint32_t process = ProcessOf(at);
    batch_.AddRow();
    batch_.process.back() = process;
    batch_.scope.back() = scope_;
    batch_.trace_hi.back() = trace_.hi;
    batch_.trace_lo.back() = trace_.lo;
    batch_.id1.back() = id;
    batch_.id2.back() = parent;
    if (parent != 0) batch_.parent_ref.back() = ParentRef::kChildOf;
    batch_.type.back() = EventType::kSpan;
    batch_.kind.back() = kind;
    batch_.start_ns.back() = start;
    batch_.end_ns.back() = std::max(start, end);
    batch_.marks.back() = kHasStart | kHasEnd;
    batch_.name.back() = batch_.strings.Intern(std::string(what).append(nodes_.At(other)));
    batch_.SetSource(Source::kInferred, probability);
    batch_.EndAttributes();
    batch_.EndPoints();
    batch_.EndLinks();
  }

  const StringTable& nodes_;
  EventBatch batch_;
  std::vector<uint32_t> processes_;  // by node; UINT32_MAX: not in this batch yet
  uint32_t scope_ = 0;
  TraceId trace_;
  uint64_t next_id_ = 0;
};

}  // namespace

Result<InferredTraceCounts> WriteInferredTraces(std::span<const paths::Call> calls,
                                                const std::vector<paths::Assignment>& assignments,
                                                const StringTable& nodes, size_t max_rows,
                                                const InferredSink& sink) {
  InferredTraceCounts counts;
  // Children of each call, in line order: of call i, children[first[i] .. first[i + 1]).
  std::vector<uint32_t> first(calls.size() + 1, 0), children;
  // What hangs below a call that never returned is a path of its own: that call's span has no end to draw.
  const auto parent_of = [&](size_t i) {
    const uint32_t parent = assignments[i].parent;
    return parent == paths::kNoParent || !calls[parent].returned ? paths::kNoParent : parent;
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].returned && parent_of(i) != paths::kNoParent) ++first[parent_of(i) + 1];
  }
  for (size_t i = 0; i < calls.size(); ++i) first[i + 1] += first[i];
  children.resize(first.back());
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].returned && parent_of(i) != paths::kNoParent)
      children[next[parent_of(i)]++] = static_cast<uint32_t>(i);
  }

  PathWriter writer(nodes);
  struct Open {
    uint32_t call;
    uint64_t parent;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].returned) {
      ++counts.unreturned;
      continue;
    }
    if (parent_of(i) != paths::kNoParent) continue;
    ++counts.traces;
    writer.BeginTrace(IdOfPath(calls[i], nodes));
    open.push_back({static_cast<uint32_t>(i), 0});
    while (!open.empty()) {
      const Open one = open.back();
      open.pop_back();
      const uint64_t server =
          writer.Write(calls[one.call], one.parent, static_cast<float>(assignments[one.call].p));
      for (uint32_t c = first[one.call + 1]; c-- > first[one.call];)
        open.push_back({children[c], server});
    }
    if (writer.batch().size() >= max_rows) {
      counts.spans += writer.batch().size();
      WF_TRY(sink(writer.Take()));
    }
  }
  if (!writer.batch().empty()) {
    counts.spans += writer.batch().size();
    WF_TRY(sink(writer.Take()));
  }
  return counts;
}

}  // namespace wf::pipeline
