// The inputs of a simulated page load: what the page is made of, who loads it, and how early flush is configured.
// Scenarios change one of these fields and nothing else; everything that is measured follows from them in page_load.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "scenario/draws.h"

namespace wf::scenario {

// One query that a piece's server code makes. It takes a fixed time plus so much for each row it looks at.
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
  int64_t css_bytes = 0;       // the piece's style sheets, cut into packages
  int64_t js_bytes = 0;        // what it runs to be displayed: a main and an optional package
  int64_t later_js_bytes = 0;  // what it runs when the user does something
  int64_t image_bytes = 0;
  Nanos browser_work = 0;      // running its JS on a middling device
  int64_t empty_permille = 0;  // how often there is nothing to show
  // How much of its CSS early flush has been configured to send, and whether it knows of its JS at all.
  int64_t early_css_bytes = 0;
  Prediction early_js = Prediction::kKnown;
};

struct Country {
  std::string code;
  int64_t share_permille = 0;
  Nanos round_trip = 0;                // middling
  int64_t bytes_per_second = 0;        // middling
  int64_t congestion_permille = 1000;  // stretches round trips, and divides bandwidth
};

// Whether a second batch of resources is sent unasked, midway through the page (Canopy §5.4).
enum class SecondWave : uint8_t { kOff, kOn };

struct PageSite {
  std::string endpoint;
  std::vector<PagePiece> pieces;
  std::vector<Country> countries;
  // The piece whose server part starts at once, beside everything else, because it takes long and is needed last.
  std::string background_piece;
  Nanos background_work = 0;
  // How often the server waits for that piece before it flushes the first phase.
  int64_t early_await_permille = 0;
  SecondWave second_wave = SecondWave::kOff;

  PagePiece* Find(std::string_view piece);  // nullptr: there is none of that name
  const PagePiece* Find(std::string_view piece) const;
  int phases() const { return pieces.empty() ? 0 : pieces.back().phase; }
};

// Style sheets are cut into packages of this size.
constexpr int64_t kCssPackageBytes = 10'000;

PageSite HomePage();
PageSite SearchPage();

// Early flush's configuration made anew, for the style sheets as they are now.
void ConfigureEarlyFlush(PageSite& site);

// Somebody's browser. The same user for the same draws, whatever the site.
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
