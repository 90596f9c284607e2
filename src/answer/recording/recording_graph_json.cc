#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "answer/recording/recording_graph.h"
#include "recorder/reader/op_names.h"

namespace wf::answer {
namespace {

using recorder::SubId;

// Lists of pages that nobody could hold; a recorder's are far below.
constexpr uint64_t kMostListedPages = 20'000'000;

// A JSON text handed on in pieces. Elements are written one by one and joined here.
class JsonPieces {
 public:
  explicit JsonPieces(const PieceSink& sink) : sink_(sink) {}

  Status Text(std::string_view text) {
    buffer_ += text;
    constexpr size_t kPiece = 1 << 20;
    return buffer_.size() < kPiece ? Status() : Flush();
  }
  Status BeginArray(std::string_view key) {
    first_ = true;
    return Text(fmt::format(",\"{}\":[", key));
  }
  Status Element(JsonWriter& json) {
    if (!first_) buffer_ += ',';
    first_ = false;
    return Text(json.Take());
  }
  Status Flush() {
    WF_TRY(sink_(buffer_));
    buffer_.clear();
    return {};
  }

 private:
  const PieceSink& sink_;
  std::string buffer_;
  bool first_ = true;
};

class GraphWriter {
 public:
  GraphWriter(OpenedRecording& opened, const SelectedGraph& graph, GraphPages pages,
              const PieceSink& sink)
      : o_(opened), r_(opened.recording()), graph_(graph), pages_(pages), out_(sink) {}

  Status Write() {
    WF_TRY(CheckPages());
    WF_TRY(Head());
    WF_TRY(Threads());
    WF_TRY(Objects());
    WF_TRY(Subs());
    WF_TRY(Edges());
    WF_TRY(Flows());
    WF_TRY(out_.Text("}\n"));
    return out_.Flush();
  }

 private:
  Status Head() {
    JsonWriter json;
    json.BeginObject().Field("version", 1).Key("depth").BeginArray();
    for (const std::string_view name : DepthNames(r_)) json.String(name);
    json.EndArray().Field("complete", r_.complete).Field("started_unix_ns", r_.started_unix_ns);
    json.EndObject();
    std::string head = json.Take();
    head.pop_back();  // the object goes on
    return out_.Text(head);
  }

  Status Threads() {
    WF_TRY(out_.BeginArray("threads"));
    for (const recorder::ThreadFacts& thread : r_.threads) {
      JsonWriter json;
      json.BeginObject().Field("id", uint64_t{thread.id}).Key("parent");
      if (thread.parent == recorder::kNoThread)
        json.Null();
      else
        json.Uint(thread.parent);
      WriteText(json, "name",
                thread.name.empty() ? std::nullopt : std::optional<std::string>(thread.name));
      json.EndObject();
      WF_TRY(out_.Element(json));
    }
    return out_.Text("]");
  }

  Status Objects() {
    WF_TRY(out_.BeginArray("objects"));
    for (const recorder::ObjectFacts& object : r_.objects) {
      JsonWriter json;
      json.BeginObject().Field("id", uint64_t{object.id});
      const std::string_view kind = recorder::NameOf(object.kind);
      WriteText(json, "kind", kind.empty() ? std::nullopt : std::optional(std::string(kind)));
      WriteText(json, "address",
                object.address == 0 ? std::nullopt : std::optional(HexAddress(object.address)));
      const bool thread = object.kind == recorder::ObjectKind::kThread;
      WriteText(json, "symbol", thread ? std::nullopt : o_.symbols().VariableAt(object.address));
      if (thread && object.thread != recorder::kNoThread)
        json.Field("thread", uint64_t{object.thread});
      json.EndObject();
      WF_TRY(out_.Element(json));
    }
    return out_.Text("]");
  }

  void ObjectId(JsonWriter& json, uint32_t object) const {
    json.Key("object");
    if (object == recorder::kNone)
      json.Null();
    else
      json.Uint(r_.objects[object].id);
  }

  static void PageList(JsonWriter& json, uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) json.String(PageAddress(first + i));
  }

  // Before anything is written: an answer is whole or none.
  Status CheckPages() const {
    if (pages_ == GraphPages::kCounts) return {};
    uint64_t listed = 0;
    const auto add = [&](uint64_t count) {
      listed += std::min(count, kMostListedPages + 1);
      return listed <= kMostListedPages;
    };
    bool few = true;
    for (const SubId s : graph_.subs) {
      const recorder::Slice runs = r_.subs[s].pages;
      for (uint32_t i = runs.begin; few && i < runs.end; ++i)
        few = add(r_.pages[i].written ? 2 * r_.pages[i].count : r_.pages[i].count);
    }
    for (size_t i = 0; few && i < graph_.data.edges.size(); ++i)
      few = add(graph_.data.edges[i].pages);
    if (few) return {};
    return BadInput(fmt::format("{}: more than {} pages to list", r_.file, kMostListedPages),
                    "ask for a part of it (--thread, --window, --around), or without --pages");
  }

  void SubPages(JsonWriter& json, const recorder::SubComputation& sub) {
    uint64_t reads = 0, writes = 0;
    for (uint32_t i = sub.pages.begin; i < sub.pages.end; ++i) {
      reads += r_.pages[i].count;
      if (r_.pages[i].written) writes += r_.pages[i].count;
    }
    json.Field("reads", reads).Field("writes", writes);
    if (pages_ == GraphPages::kCounts) return;
    json.Key("read_pages").BeginArray();
    for (uint32_t i = sub.pages.begin; i < sub.pages.end; ++i)
      PageList(json, r_.pages[i].first, r_.pages[i].count);
    json.EndArray().Key("write_pages").BeginArray();
    for (uint32_t i = sub.pages.begin; i < sub.pages.end; ++i) {
      if (r_.pages[i].written) PageList(json, r_.pages[i].first, r_.pages[i].count);
    }
    json.EndArray();
  }

  Status Subs() {
    WF_TRY(out_.BeginArray("sub_computations"));
    const recorder::Clocks& clocks = o_.clocks();
    for (const SubId s : graph_.subs) {
      const recorder::SubComputation& sub = r_.subs[s];
      JsonWriter json;
      json.BeginObject().Field("id", recorder::SubName(sub)).Field("thread", uint64_t{sub.thread});
      json.Field("index", uint64_t{sub.index}).Key("clock").BeginArray();
      for (uint32_t t = 0; t < r_.threads.size(); ++t) json.Uint(clocks.At(s, t));
      json.EndArray().Field("start_ns", sub.start_ns).Key("end_ns");
      if (sub.end_ns == recorder::kNotEnded)
        json.Null();
      else
        json.Int(sub.end_ns);
      json.Field("wait_ns", sub.wait_ns).Key("sync").BeginObject();
      const std::string_view op = o_.OpOf(sub);
      WriteText(json, "op", op.empty() ? std::nullopt : std::optional(std::string(op)));
      ObjectId(json, sub.object);
      json.Key("site");
      WriteSite(json, o_.SiteOf(sub));
      const std::string_view call = recorder::CallOf(sub.op);
      if (call != recorder::NameOf(sub.op)) json.Field("call", call);
      json.EndObject();
      if (r_.has(recorder::kData)) SubPages(json, sub);
      json.EndObject();
      WF_TRY(out_.Element(json));
    }
    return out_.Text("]");
  }

  Status Edges() {
    WF_TRY(out_.BeginArray("edges"));
    for (const GraphEdge& edge : graph_.edges) {
      JsonWriter json;
      json.BeginObject().Field("from", o_.SubNameOf(edge.from)).Field("to", o_.SubNameOf(edge.to));
      json.Field("kind", NameOf(edge.kind));
      if (edge.kind == GraphEdgeKind::kSync) ObjectId(json, edge.object);
      if (edge.kind == GraphEdgeKind::kData) WF_TRY(DataPages(json, graph_.data.edges[edge.data]));
      json.EndObject();
      WF_TRY(out_.Element(json));
    }
    return out_.Text("]");
  }

  Status DataPages(JsonWriter& json, const lineage::DataEdge& edge) {
    json.Field("pages", edge.pages);
    if (pages_ == GraphPages::kLists) {
      WF_ASSIGN(const lineage::DataFlow* flow, o_.data_flow());
      json.Key("page_list").BeginArray();
      for (uint32_t i = edge.spans.begin; i < edge.spans.end; ++i) {
        const lineage::Span& span = flow->pages().spans()[graph_.data.spans[i]];
        PageList(json, span.first, span.count);
      }
      json.EndArray();
    }
    json.Field("granularity", "page");
    return {};
  }

  Status Flows() {
    WF_ASSIGN(const lineage::ByteFlows* bytes, o_.byte_flows());
    WF_TRY(FlowList("inputs", bytes->inputs()));
    return FlowList("outputs", WithDenied(bytes->outputs()));
  }

  // What the policy denied went nowhere, so it is no flow; that it was tried is told.
  std::vector<lineage::ByteFlow> WithDenied(std::vector<lineage::ByteFlow> outputs) const {
    const size_t passed = outputs.size();
    for (uint32_t t = 0; t < r_.transfers.size(); ++t) {
      const recorder::TransferFacts& one = r_.transfers[t];
      if ((one.flags & recorder::kDenied) != 0)
        outputs.push_back({one.sub, t, {one.begin, one.end}, t + 1, false});
    }
    if (outputs.size() > passed)
      std::stable_sort(outputs.begin(), outputs.end(),
                       [](const lineage::ByteFlow& a, const lineage::ByteFlow& b) {
                         return std::tie(a.sub, a.order) < std::tie(b.sub, b.order);
                       });
    return outputs;
  }

  Status FlowList(std::string_view key, const std::vector<lineage::ByteFlow>& flows) {
    WF_TRY(out_.BeginArray(key));
    for (const lineage::ByteFlow& flow : flows) {
      if (!std::binary_search(graph_.subs.begin(), graph_.subs.end(), flow.sub)) continue;
      const recorder::TransferFacts& transfer = r_.transfers[flow.transfer];
      JsonWriter json;
      json.BeginObject().Field("sub_computation", o_.SubNameOf(flow.sub));
      json.Field("op", recorder::TransferOpName(transfer.kind, transfer.flags, transfer.op));
      json.Field("kind", recorder::NameOf(transfer.kind)).Field("name", r_.NameOf(transfer));
      json.Key("range").BeginArray().Uint(flow.range.begin).Uint(flow.range.end).EndArray();
      if ((transfer.flags & recorder::kDenied) != 0) json.Field("policy", "denied");
      if ((transfer.flags & recorder::kReported) != 0) json.Field("policy", "reported");
      json.EndObject();
      WF_TRY(out_.Element(json));
    }
    return out_.Text("]");
  }

  OpenedRecording& o_;
  const recorder::Recording& r_;
  const SelectedGraph& graph_;
  const GraphPages pages_;
  JsonPieces out_;
};

}  // namespace

Status WriteGraphJson(OpenedRecording& opened, const GraphSelection& selection, GraphPages pages,
                      const PieceSink& sink) {
  WF_ASSIGN(const SelectedGraph graph, SelectGraph(opened, selection, pages));
  return GraphWriter(opened, graph, pages, sink).Write();
}

}  // namespace wf::answer
