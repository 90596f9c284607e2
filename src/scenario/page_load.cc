#include "scenario/page_load.h"

#include <algorithm>

#include "scenario/downlink.h"

namespace wf::scenario {
namespace {

enum LoadDraw : uint64_t {
  kLookup,
  kJitter,
  kWebHost,
  kStorageHost,
  kServerLoad,
  kServerWork,
  kQueryWork,
  kBackgroundWork,
  kEarlyAwait,
  kBrowserWork,
  kEmpty,
  kCssUsed,
  kJsUsed,
  kAssembly,
};

constexpr Deciles kWorkSpread = {{600, 720, 800, 870, 935, 1000, 1065, 1150, 1270, 1450, 2000}};
constexpr Deciles kLoadSpread = {{850, 890, 920, 950, 975, 1000, 1030, 1065, 1110, 1190, 1400}};

// The browser begins to connect when it has handled the click.
constexpr Nanos kClickHandled = 300 * kMicro;
constexpr Nanos kEarlyFlushWork = 16 * kMilli;  // routing, session, choosing the batches
constexpr Nanos kFlushWork = 1 * kMilli;
constexpr Nanos kQueryFixed = 2 * kMilli, kQueryPerRow = 12 * kMicro;
constexpr Nanos kDataCentre = 250 * kMicro;   // one way between web and storage hosts
constexpr Nanos kAssemblyWork = 28 * kMilli;  // the next batch: look up, order, compress
constexpr int64_t kHeadBytes = 4'000;
// Middling device: parsing, styles, unpacking of batches, painting.
constexpr Nanos kParsePerByte = 700, kStylePerByte = 350, kUnpackPerByte = 25;
constexpr Nanos kPaintWork = 22 * kMilli;
// How many of a thousand initial displays use a CSS package, the oldest first: base styles always, later ones
// more rarely; features newer than these are used only after an action of the user.
constexpr int64_t kCssUsedPermille[] = {1000, 600};
constexpr int64_t kOptionalJsUsedPermille = 700;
// An empty piece runs only the code that finds out that it is.
constexpr int64_t kEmptyWorkPermille = 150;

uint64_t PackageIndex(size_t piece, int package) {
  return piece * 64 + static_cast<uint64_t>(package);
}

// What a piece is made of: its CSS newest first, then its JS, then what it needs later.
void AddPackages(const PagePiece& piece, int index, const Draws& draws,
                 std::vector<PageResource>& out) {
  const auto add = [&](ResourceKind kind, int package, int64_t bytes, bool used, Batch batch) {
    if (bytes <= 0) return;
    PageResource resource;
    resource.piece = index;
    resource.kind = kind;
    resource.package = package;
    resource.bytes = bytes;
    resource.used = used;
    resource.batch = batch;
    resource.phase = piece.phase;
    out.push_back(resource);
  };
  const auto number = static_cast<size_t>(index);
  const Batch js_batch = piece.early_js == Prediction::kKnown ? Batch::kEarly : Batch::kNext;
  add(ResourceKind::kJs, 0, piece.js_bytes * 6 / 10, true, js_batch);
  add(ResourceKind::kJs, 1, piece.js_bytes * 4 / 10,
      draws.Chance(kOptionalJsUsedPermille, kJsUsed, PackageIndex(number, 1)), js_batch);
  const auto packages =
      static_cast<int>((piece.css_bytes + kCssPackageBytes - 1) / kCssPackageBytes);
  int64_t early_left = piece.early_css_bytes;
  for (int package = packages - 1; package >= 0; --package) {
    const int64_t bytes = std::min(kCssPackageBytes, piece.css_bytes - package * kCssPackageBytes);
    const bool early = bytes <= early_left;
    if (early) early_left -= bytes;
    const int64_t used =
        package < static_cast<int>(std::size(kCssUsedPermille)) ? kCssUsedPermille[package] : 0;
    add(ResourceKind::kCss, package, bytes,
        draws.Chance(used, kCssUsed, PackageIndex(number, package)),
        early ? Batch::kEarly : Batch::kNext);
  }
  add(ResourceKind::kJs, 2, piece.later_js_bytes, false, Batch::kNext);
  add(ResourceKind::kImage, 0, piece.image_bytes, false, Batch::kNext);
}

void Serve(const PageSite& site, const Draws& draws, PageLoad& load) {
  const int64_t busy = draws.From(kLoadSpread, kServerLoad);
  load.early_flushed = load.request_received + kEarlyFlushWork * busy / 1000;
  Nanos now = load.early_flushed;
  if (!site.background_piece.empty()) {
    load.background_begin = now + 200 * kMicro;  // a worker thread takes it
    load.background_end = load.background_begin + site.background_work *
                                                      draws.From(kWorkSpread, kBackgroundWork) /
                                                      1000 * busy / 1000;
  }
  for (size_t i = 0; i < site.pieces.size(); ++i) {
    const PagePiece& piece = site.pieces[i];
    ServerPiece& served = load.server.emplace_back();
    served.begin = now;
    if (piece.name == site.background_piece) {
      served.joins_background = true;
      now = std::max(now, load.background_end);
    }
    const Nanos work = piece.server_work * draws.From(kWorkSpread, kServerWork, i) / 1000;
    now += work * busy / 1000 / 2;
    if (!piece.query.name.empty()) {
      const int64_t spread = draws.From(kWorkSpread, kQueryWork, i);
      const Nanos query = (kQueryFixed + piece.query.rows_examined * kQueryPerRow) * spread / 1000;
      served.query_begin = now;
      served.storage_begin = now + kDataCentre;
      served.storage_end = served.storage_begin + query;
      served.query_end = now = served.storage_end + kDataCentre;
    }
    served.end = now += work * busy / 1000 / 2;
    if (i + 1 < site.pieces.size() && site.pieces[i + 1].phase == piece.phase) continue;
    DocumentPart& part = load.phases.emplace_back();
    if (piece.phase == 1 && draws.Chance(site.early_await_permille, kEarlyAwait)) {
      load.awaited_background = true;
      now = std::max(now, load.background_end);
    }
    part.flush_begin = now;
    part.sent = now += kFlushWork;
    for (const PagePiece& of_phase : site.pieces) {
      if (of_phase.phase == piece.phase) part.bytes += of_phase.document_bytes;
    }
  }
  load.response_sent = now + kFlushWork;
}

// When each part of the document and each batch arrives, with the next batch leaving the server at `next_ready`.
void Transfer(const PageSite& site, Nanos next_ready, Nanos one_way, PageLoad& load) {
  Downlink link(load.user.bytes_per_second);
  const size_t head = link.Add(load.early_flushed, Urgency::kDocument, load.head.bytes);
  std::vector<size_t> documents, early;
  for (const DocumentPart& part : load.phases)
    documents.push_back(link.Add(part.sent, Urgency::kDocument, part.bytes));
  const size_t trailer = link.Add(load.response_sent, Urgency::kDocument, 200);
  const auto bytes_of = [&](Batch batch, int phase) {
    int64_t bytes = 0;
    for (const PageResource& resource : load.resources) {
      if (resource.batch == batch && (batch == Batch::kNext || resource.phase == phase))
        bytes += resource.bytes;
    }
    return bytes;
  };
  for (int phase = 1; phase <= site.phases(); ++phase) {
    early.push_back(
        link.Add(load.early_flushed, Urgency::kResource, bytes_of(Batch::kEarly, phase)));
  }
  const size_t next = link.Add(next_ready, Urgency::kResource, bytes_of(Batch::kNext, 0));

  const std::vector<Nanos> finished = link.Finished();
  load.head.received = finished[head] + one_way;
  for (size_t i = 0; i < documents.size(); ++i)
    load.phases[i].received = finished[documents[i]] + one_way;
  load.response_received = finished[trailer] + one_way;
  std::vector<Nanos> unpacked;
  for (const size_t batch : early) unpacked.push_back(finished[batch] + one_way);
  unpacked.push_back(finished[next] + one_way);
  for (PageResource& resource : load.resources) {
    Nanos& at = resource.batch == Batch::kNext ? unpacked.back()
                                               : unpacked[static_cast<size_t>(resource.phase - 1)];
    at += resource.bytes * kUnpackPerByte * load.user.slowness_permille / 1000;
    resource.usable = at;
    if (resource.batch == Batch::kEarly) resource.asked = load.head.received;
  }
}

enum class NextBatch : uint8_t { kNotAsked, kUnderWay };

// The browser's main thread. Stops at the first early flush miss, returning its piece, unless the next batch is under
// way; kNobody when the page was displayed.
int Display(const PageSite& site, const Draws& draws, NextBatch next, PageLoad& load) {
  const int64_t slow = load.user.slowness_permille;
  load.browser.clear();
  Nanos now = load.head.received;
  for (size_t i = 0; i < site.pieces.size(); ++i) {
    const PagePiece& piece = site.pieces[i];
    BrowserPiece& shown = load.browser.emplace_back();
    shown.empty = draws.Chance(piece.empty_permille, kEmpty, i);
    const DocumentPart& part = load.phases[static_cast<size_t>(piece.phase - 1)];
    shown.begin = std::max(now, part.received);
    now = shown.begin + piece.document_bytes * kParsePerByte * slow / 1000;
    shown.parsed = now;
    int64_t css_bytes = 0;
    for (PageResource& resource : load.resources) {
      if (resource.piece != static_cast<int>(i)) continue;
      resource.awaited_by = kNobody;
      if (!resource.used) continue;
      if (resource.batch == Batch::kNext && next == NextBatch::kNotAsked)
        return static_cast<int>(i);
      if (resource.usable > shown.parsed) resource.awaited_by = static_cast<int>(i);
      now = std::max(now, resource.usable);
    }
    shown.ready = now;
    for (const PageResource& resource : load.resources) {
      if (resource.piece == static_cast<int>(i) && resource.kind == ResourceKind::kCss &&
          resource.usable <= now)
        css_bytes += resource.bytes;
    }
    shown.styled = now += css_bytes * kStylePerByte * slow / 1000;
    const Nanos work = piece.browser_work * draws.From(kWorkSpread, kBrowserWork, i) / 1000;
    shown.end = now += (shown.empty ? work * kEmptyWorkPermille / 1000 : work) * slow / 1000;
  }
  load.paint_begin = now;
  load.display_done = now + kPaintWork * slow / 1000;
  return kNobody;
}

}  // namespace

PageLoad SimulatePageLoad(const PageSite& site, const PageUser& user, const Draws& draws) {
  PageLoad load;
  load.user = user;
  load.user.round_trip = user.round_trip * draws.From(kLoadSpread, kJitter) / 1000;
  load.web_host = static_cast<int>(draws.Below(3, kWebHost));
  load.storage_host = static_cast<int>(draws.Below(2, kStorageHost));
  load.head.bytes = kHeadBytes;
  const Nanos one_way = load.user.round_trip / 2;

  load.connect_begin = kClickHandled;  // name look-up, TCP, TLS
  load.connect_end = load.connect_begin + draws.Between(8 * kMilli, 40 * kMilli, kLookup) +
                     2 * load.user.round_trip;
  load.request_received = load.connect_end + one_way;
  Serve(site, draws, load);
  load.head.flush_begin = load.request_received;
  load.head.sent = load.early_flushed;
  for (size_t i = 0; i < site.pieces.size(); ++i)
    AddPackages(site.pieces[i], static_cast<int>(i), draws, load.resources);

  const Nanos assembly = kAssemblyWork * draws.From(kWorkSpread, kAssembly) / 1000;
  constexpr Nanos kNever = INT64_MAX / 2;
  int asked_by = kNobody;
  if (site.second_wave == SecondWave::kOn && load.phases.size() > 1) {
    const DocumentPart& midway = load.phases[load.phases.size() / 2];
    Transfer(site, midway.sent + assembly, one_way, load);
    load.next_batch_asked = midway.received;
    Display(site, draws, NextBatch::kUnderWay, load);
  } else {
    Transfer(site, kNever, one_way, load);
    asked_by = Display(site, draws, NextBatch::kNotAsked, load);
    // What happened before the miss stays as it is: the next batch leaves the server later than that.
    load.next_batch_asked =
        asked_by == kNobody ? load.display_done + 5 * kMilli : load.browser.back().parsed;
    Transfer(site, load.next_batch_asked + one_way + assembly, one_way, load);
    Display(site, draws, NextBatch::kUnderWay, load);
  }
  load.loaded = std::max(load.display_done, load.response_received);
  for (PageResource& resource : load.resources) {
    if (resource.batch == Batch::kNext) {
      resource.asked = load.next_batch_asked;
      resource.asked_by = asked_by;
    }
    load.loaded = std::max(load.loaded, resource.usable);
  }
  load.loaded += kMilli;
  return load;
}

}  // namespace wf::scenario
