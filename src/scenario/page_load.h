// SimulatePageLoad: one load of a page built of pieces, with early flush (Canopy §2.1), from its inputs.
//
// The server answers at once with the head of the document, followed by batches of resources that early flush
// predicts; then it makes the pieces in order and flushes the document phase by phase. The browser processes
// the pieces in order on its one main thread: it parses a piece's part of the document, waits for the
// resources it needs, applies its styles and runs its scripts. If it needs a resource that was not announced,
// an early flush miss, it has to request the next batch and wait for it: a round trip, the server's work on
// the batch, and its bytes over the bandwidth, because a batch is compressed as a whole and usable only when
// it is complete. A page without a miss requests the next batch when it has been displayed.
//
// Early flush sends a piece's CSS packages, newest first (clients that come back have the old ones cached),
// up to the bytes it was configured with. The oldest package holds the styles that every display uses; the
// newest those of later actions of the user.
//
// All times are true time, from the click on. Pure and deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "scenario/draws.h"
#include "scenario/page_site.h"

namespace wf::scenario {

enum class ResourceKind : uint8_t { kCss, kJs, kImage };
enum class Batch : uint8_t { kEarly, kNext };
constexpr int kNobody = -1;

struct PageResource {
  int piece = 0;
  ResourceKind kind = ResourceKind::kCss;
  int package = 0;  // of its kind and piece; of CSS, 0 is the oldest
  int64_t bytes = 0;
  bool used = false;  // by the initial display
  Batch batch = Batch::kEarly;
  int phase = 1;  // early batches: one per phase
  Nanos asked = 0, usable = 0;
  int asked_by = kNobody;    // the piece whose miss requested it
  int awaited_by = kNobody;  // the piece that had to wait for it
};

struct ServerPiece {
  Nanos begin = 0, end = 0;
  Nanos query_begin = 0, query_end = 0, storage_begin = 0, storage_end = 0;  // with a query
  bool joins_background = false;
};

struct BrowserPiece {
  Nanos begin = 0, parsed = 0, ready = 0, styled = 0, end = 0;
  bool empty = false;
};

struct DocumentPart {
  Nanos flush_begin = 0, sent = 0, received = 0;
  int64_t bytes = 0;
};

struct PageLoad {
  PageUser user;
  int web_host = 0, storage_host = 0;
  Nanos connect_begin = 0, connect_end = 0;
  Nanos request_received = 0, early_flushed = 0, response_sent = 0, response_received = 0;
  DocumentPart head;
  std::vector<DocumentPart> phases;
  std::vector<ServerPiece> server;
  Nanos background_begin = 0, background_end = 0;  // 0: no background piece
  bool awaited_background = false;                 // before the first phase was flushed
  std::vector<BrowserPiece> browser;
  std::vector<PageResource> resources;
  Nanos next_batch_asked = 0;
  Nanos paint_begin = 0, display_done = 0, loaded = 0;
};

// The same draws give the same load with the same needs on any site.
PageLoad SimulatePageLoad(const PageSite& site, const PageUser& user, const Draws& draws);

}  // namespace wf::scenario
