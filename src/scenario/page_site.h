// The inputs of a simulated page load: what the page consists of, which user loads it, and how early flush is
// configured. A scenario changes exactly one of these fields; page_load.cc computes everything that is
// measured from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "scenario/draws.h"

namespace wf::scenario {

// One query of a piece's server code. It takes a fixed time plus a time for each row it reads.
struct DatabaseQuery {
  std::string name;
  int64_t rows_examined = 0;
};

enum class Prediction : uint8_t { kKnown, kUnknown };

// A page piece: developed by one product group, run on the server and then in the browser (Canopy §2.1).
struct PagePiece {
  std::string name;
  int phase = 1;  // pieces are made and shown in order, and flushed to the client phase by phase
  Nanos server_work = 0;
  DatabaseQuery query;  // without a name: none
  int64_t document_bytes = 0;
  int64_t css_bytes = 0;       // the piece's style sheets, split into packages
  int64_t js_bytes = 0;        // what it runs to be displayed: a main and an optional package
  int64_t later_js_bytes = 0;  // what it runs for later actions of the user
  int64_t image_bytes = 0;
  Nanos browser_work = 0;      // running its JS on an average device
  int64_t empty_permille = 0;  // how often there is nothing to show
  // How much of its CSS early flush is configured to send, and whether it knows its JS at all.
  int64_t early_css_bytes = 0;
  Prediction early_js = Prediction::kKnown;
};

struct Country {
  std::string code;
  int64_t share_permille = 0;
  Nanos round_trip = 0;                // average
  int64_t bytes_per_second = 0;        // average
  int64_t congestion_permille = 1000;  // stretches round trips, and divides bandwidth
};

// Whether a second batch of resources is sent without a request, midway through the page (Canopy §5.4).
enum class SecondWave : uint8_t { kOff, kOn };

struct PageSite {
  std::string endpoint;
  std::vector<PagePiece> pieces;
  std::vector<Country> countries;
  // The piece whose server part starts at once, in parallel, because it takes long and is needed last.
  std::string background_piece;
  Nanos background_work = 0;
  // How often the server waits for that piece before it flushes the first phase.
  int64_t early_await_permille = 0;
  SecondWave second_wave = SecondWave::kOff;

  PagePiece* Find(std::string_view piece);  // nullptr: there is none of that name
  const PagePiece* Find(std::string_view piece) const;
  int phases() const { return pieces.empty() ? 0 : pieces.back().phase; }
};

// Style sheets are split into packages of this size.
constexpr int64_t kCssPackageBytes = 10'000;

PageSite HomePage();
PageSite SearchPage();

// Configures early flush again, for the current style sheets.
void ConfigureEarlyFlush(PageSite& site);

// A user's browser. The same draws give the same user, whatever the site.
struct PageUser {
  std::string host;
  Nanos clock_offset = 0;
  size_t country = 0;  // index into PageSite::countries
  Nanos round_trip = 0;
  int64_t bytes_per_second = 0;
  int64_t slowness_permille = 1000;  // of the device
};
PageUser MakeUser(const PageSite& site, const Draws& draws);

}  // namespace wf::scenario
