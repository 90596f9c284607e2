#include "scenario/page_events.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace wf::scenario {
namespace {

// Clocks of machines in a data centre are kept within a few milliseconds.
Nanos ServerClock(std::string_view host) {
  return static_cast<Nanos>(HashBytes(host) % 4001) * kMicro - 2 * kMilli;
}

SimulatedHost ServerHost(std::string_view kind, int number) {
  SimulatedHost host;
  host.name = fmt::format("{}-{}", kind, number + 1);
  host.clock_offset = ServerClock(host.name);
  return host;
}

constexpr std::string_view kKindNames[] = {"css", "js", "img"};

// Static resources are known by a hash of what they are, as everywhere.
std::string ResourcePath(const PagePiece& piece, const PageResource& resource) {
  const std::string_view kind = kKindNames[static_cast<size_t>(resource.kind)];
  const std::string content = fmt::format("{}/{}/{}", piece.name, kind, resource.package);
  return fmt::format("/static/{:08x}.{}", HashBytes(content) & 0xffffffff, kind);
}

class PageRecorder {
 public:
  PageRecorder(const PageSite& site, const PageLoad& load, TraceEvents& events)
      : site_(site), load_(load), events_(events) {}

  void Record() {
    const SimulatedHost host{load_.user.host, load_.user.clock_offset};
    client_ = events_.BeginUnit(host, "browser", "Client", 0, 0,
                                {{"label:country", site_.countries[load_.user.country].code},
                                 {"label:endpoint", site_.endpoint}});
    page_ = events_.BeginBlock(client_, "load page", 0, {{"label:tier", "browser"}});
    events_.StartTrace(client_, 0, "web");
    RecordRequest();
    RecordServer();
    RecordDocument();
    for (size_t i = 0; i < site_.pieces.size(); ++i) RecordPiece(i);
    events_.Block(client_, "paint", load_.paint_begin, load_.display_done,
                  {{"label:tier", "browser"}});
    events_.Point(page_, "display done", load_.display_done, {{"label:marker", "display_done"}});
    events_.EndBlock(page_, load_.display_done);
    rest_ = events_.BeginBlock(client_, "load the rest", load_.display_done,
                               {{"label:tier", "browser"}});
    events_.Event("rpc_cr", render_, MainBlock(load_.response_received), load_.response_received);
    for (const PageResource& resource : load_.resources) {
      if (resource.awaited_by == kNobody) RecordResource(resource, MainBlock(resource.usable));
    }
    events_.EndBlock(rest_, load_.loaded);
    events_.EndUnit(client_, load_.loaded);
  }

 private:
  // The page until it is displayed, then what it still loads.
  uint64_t MainBlock(Nanos at) const { return at <= load_.display_done ? page_ : rest_; }

  static Annotations Tier(std::string_view tier) { return {{"label:tier", std::string(tier)}}; }
  static Annotations Tier(std::string_view tier, const PagePiece& piece) {
    return {{"label:tier", std::string(tier)}, {"label:piece", piece.name}};
  }

  void RecordRequest() {
    events_.Block(client_, "connect", load_.connect_begin, load_.connect_end, Tier("network"));
    request_ = events_.BeginBlock(client_, "request", load_.connect_end, Tier("network"));
    events_.EndBlock(request_, load_.head.received);
  }

  // A part of the document on its way from the server's block to the client's.
  void RecordPart(const DocumentPart& part, uint64_t from, uint64_t to) {
    const uint64_t edge = events_.NewId();
    events_.Event("edge_begin", edge, from, part.sent,
                  {{"label:type", "document"},
                   {"label:blocking", "true"},
                   {"counter:bytes:B", std::to_string(part.bytes)}});
    events_.Event("edge_end", edge, to, part.received);
  }

  void RecordServer() {
    const SimulatedHost host = ServerHost("web", load_.web_host);
    const uint64_t web = events_.BeginUnit(host, "web", "Web", load_.request_received, 0);
    render_ =
        events_.BeginBlock(web, "GET " + site_.endpoint, load_.request_received, Tier("server"));
    events_.Event("rpc_cs", render_, request_, load_.connect_end);
    events_.Event("rpc_sr", render_, render_, load_.request_received);
    const uint64_t head = events_.Block(web, "early flush", load_.request_received,
                                        load_.early_flushed, Tier("server"));
    RecordPart(load_.head, head, request_);
    if (load_.background_end != 0) RecordBackground(host);
    size_t phase = 0;
    for (size_t i = 0; i < site_.pieces.size(); ++i) {
      RecordServerPiece(web, i);
      if (i + 1 < site_.pieces.size() && site_.pieces[i + 1].phase == site_.pieces[i].phase)
        continue;
      const DocumentPart& part = load_.phases[phase++];
      if (phase == 1 && load_.awaited_background) AwaitBackground(web, load_.server[i].end, {});
      flushes_.push_back(
          events_.Block(web, "flush", part.flush_begin, part.sent,
                        {{"label:tier", "server"}, {"label:phase", std::to_string(phase)}}));
    }
    events_.Event("rpc_ss", render_, render_, load_.response_sent);
    events_.EndBlock(render_, load_.response_sent);
    events_.EndUnit(web, load_.response_sent);
  }

  // A continuation: created while the request is handled, run by another thread.
  void RecordBackground(const SimulatedHost& host) {
    const PagePiece& piece = *site_.Find(site_.background_piece);
    const uint64_t worker = events_.BeginUnit(host, "web", "WebWorker", load_.background_begin, 0);
    background_ =
        events_.BeginBlock(worker, "prepare", load_.background_begin, Tier("server", piece));
    const uint64_t task = events_.NewId();
    events_.Event("task_create", task, render_, load_.early_flushed);
    events_.Event("task_run", task, background_, load_.background_begin);
    events_.EndBlock(background_, load_.background_end);
    events_.EndUnit(worker, load_.background_end);
  }

  // If the continuation is already done there is no wait, and nothing is recorded.
  void AwaitBackground(uint64_t web, Nanos from, Annotations more) {
    if (load_.background_end <= from) return;
    more.emplace_back("label:tier", "server");
    const uint64_t join = events_.NewId();
    const uint64_t wait = events_.BeginBlock(web, "await", from, std::move(more));
    events_.Event("edge_begin", join, background_, load_.background_end, {{"label:type", "join"}});
    events_.Event("edge_end", join, wait, load_.background_end);
    events_.EndBlock(wait, load_.background_end);
  }

  void RecordServerPiece(uint64_t web, size_t i) {
    const PagePiece& piece = site_.pieces[i];
    const ServerPiece& served = load_.server[i];
    const uint64_t block =
        events_.BeginBlock(web, "make piece", served.begin, Tier("server", piece));
    if (served.joins_background) AwaitBackground(web, served.begin, {{"label:piece", piece.name}});
    if (served.query_end != 0) RecordQuery(web, piece, served);
    events_.EndBlock(block, served.end);
  }

  void RecordQuery(uint64_t web, const PagePiece& piece, const ServerPiece& served) {
    const uint64_t ask =
        events_.BeginBlock(web, "query", served.query_begin, Tier("server", piece));
    const SimulatedHost host = ServerHost("db", load_.storage_host);
    const uint64_t storage = events_.BeginUnit(host, "storage", "Storage", served.storage_begin, 0);
    Annotations labels = Tier("database", piece);
    labels.emplace_back("label:query", piece.query.name);
    labels.emplace_back("counter:rows", std::to_string(piece.query.rows_examined));
    const uint64_t run =
        events_.BeginBlock(storage, "run query", served.storage_begin, std::move(labels));
    events_.Event("rpc_cs", run, ask, served.query_begin);
    events_.Event("rpc_sr", run, run, served.storage_begin);
    events_.Event("rpc_ss", run, run, served.storage_end);
    events_.Event("rpc_cr", run, ask, served.query_end);
    events_.EndBlock(run, served.storage_end);
    events_.EndUnit(storage, served.storage_end);
    events_.EndBlock(ask, served.query_end);
  }

  void RecordDocument() {
    for (size_t i = 0; i < load_.phases.size(); ++i)
      RecordPart(load_.phases[i], flushes_[i], page_);
  }

  void RecordPiece(size_t i) {
    const PagePiece& piece = site_.pieces[i];
    const BrowserPiece& shown = load_.browser[i];
    const uint64_t block =
        events_.BeginBlock(client_, "show piece", shown.begin, Tier("browser", piece));
    piece_blocks_.push_back(block);
    events_.Block(client_, "parse", shown.begin, shown.parsed, Tier("browser", piece));
    // What the piece had to wait for arrives in it; everything else arrives while it is not looking.
    for (const PageResource& resource : load_.resources) {
      if (resource.awaited_by == static_cast<int>(i)) RecordResource(resource, block);
    }
    events_.Block(client_, "style", shown.ready, shown.styled, Tier("browser", piece));
    events_.Block(client_, "run scripts", shown.styled, shown.end, Tier("browser", piece));
    events_.Point(block, "piece done", shown.end,
                  {{"label:marker", "piece_done"},
                   {"label:piece", piece.name},
                   {"label:empty", shown.empty ? "true" : "false"}});
    events_.EndBlock(block, shown.end);
    if (i + 1 == site_.pieces.size() || site_.pieces[i + 1].phase != piece.phase) {
      events_.Point(page_, "phase done", shown.end,
                    {{"label:marker", "phase_done"}, {"label:phase", std::to_string(piece.phase)}});
    }
  }

  void RecordResource(const PageResource& resource, uint64_t to) {
    const PagePiece& piece = site_.pieces[static_cast<size_t>(resource.piece)];
    const uint64_t edge = events_.NewId();
    const uint64_t from = resource.asked_by == kNobody
                              ? MainBlock(resource.asked)
                              : piece_blocks_[static_cast<size_t>(resource.asked_by)];
    events_.Event("edge_begin", edge, from, resource.asked, {{"label:type", "resource"}});
    events_.Event("edge_end", edge, to, resource.usable,
                  {{"label:resource", std::string(kKindNames[static_cast<size_t>(resource.kind)])},
                   {"label:piece", piece.name},
                   {"label:path", ResourcePath(piece, resource)},
                   {"label:flush", resource.batch == Batch::kEarly ? "early" : "next"},
                   {"label:used", resource.used ? "true" : "false"},
                   {"counter:bytes:B", std::to_string(resource.bytes)}});
  }

  const PageSite& site_;
  const PageLoad& load_;
  TraceEvents& events_;
  uint64_t client_ = 0, page_ = 0, rest_ = 0, request_ = 0, render_ = 0, background_ = 0;
  std::vector<uint64_t> flushes_, piece_blocks_;
};

}  // namespace

void RecordPageLoad(const PageSite& site, const PageLoad& load, TraceEvents& events) {
  PageRecorder(site, load, events).Record();
}

}  // namespace wf::scenario
