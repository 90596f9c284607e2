#include "scenario/page_site.h"

#include <fmt/format.h>

#include <utility>

namespace wf::scenario {
namespace {

enum UserDraw : uint64_t { kCountry, kRoundTrip, kBandwidth, kSlowness, kClock, kHost };

// Shares and networks of the countries, in the rough proportions of the world's Internet.
std::vector<Country> Countries() {
  return {
      {"US", 300, 70 * kMilli, 1'100'000}, {"IN", 200, 130 * kMilli, 560'000},
      {"BR", 150, 110 * kMilli, 640'000},  {"GB", 120, 75 * kMilli, 1'000'000},
      {"DE", 120, 75 * kMilli, 1'000'000}, {"ID", 110, 130 * kMilli, 600'000},
  };
}

// Spread around the middling value, in permille.
constexpr Deciles kRoundTripSpread = {
    {620, 740, 820, 890, 945, 1000, 1065, 1140, 1250, 1430, 2000}};
constexpr Deciles kBandwidthSpread = {
    {450, 620, 740, 840, 920, 1000, 1100, 1220, 1400, 1700, 2400}};
constexpr Deciles kSlownessSpread = {{700, 800, 860, 910, 955, 1000, 1050, 1110, 1200, 1340, 1800}};

}  // namespace

const PagePiece* PageSite::Find(std::string_view name) const {
  for (const PagePiece& piece : pieces) {
    if (piece.name == name) return &piece;
  }
  return nullptr;
}

PagePiece* PageSite::Find(std::string_view name) {
  return const_cast<PagePiece*>(std::as_const(*this).Find(name));
}

void ConfigureEarlyFlush(PageSite& site) {
  for (PagePiece& piece : site.pieces) {
    piece.early_css_bytes = piece.css_bytes;
    piece.early_js = Prediction::kKnown;
  }
}

PageSite HomePage() {
  PageSite site;
  site.endpoint = "/home";
  site.countries = Countries();
  // name, phase, server work, query, document, CSS, JS, later JS, images, browser work
  site.pieces = {
      {"NavigationBar", 1, 22 * kMilli, {}, 5'000, 18'000, 9'000, 5'000, 4'000, 110 * kMilli},
      {"UserInput", 1, 26 * kMilli, {}, 4'000, 20'000, 12'000, 5'000, 3'000, 140 * kMilli},
      {"NewsFeed",
       1,
       62 * kMilli,
       {"feed_by_user", 900},
       14'000,
       20'000,
       16'000,
       6'000,
       9'000,
       250 * kMilli},
      {"Stories",
       1,
       34 * kMilli,
       {"stories_by_user", 240},
       7'000,
       19'000,
       11'000,
       4'000,
       9'000,
       165 * kMilli},
      {"Notifications",
       2,
       24 * kMilli,
       {"unread_by_user", 160},
       4'000,
       20'000,
       8'000,
       4'000,
       2'000,
       130 * kMilli},
      {"Chat",
       2,
       30 * kMilli,
       {"contacts_by_user", 420},
       5'000,
       20'000,
       14'000,
       5'000,
       3'000,
       195 * kMilli},
      {"Shortcuts", 2, 16 * kMilli, {}, 3'000, 18'000, 6'000, 3'000, 3'000, 100 * kMilli},
      {"Birthdays",
       3,
       14 * kMilli,
       {"birthdays_by_user", 60},
       2'000,
       16'000,
       5'000,
       3'000,
       2'000,
       80 * kMilli},
      {"Trending", 3, 26 * kMilli, {}, 4'000, 20'000, 8'000, 3'000, 5'000, 125 * kMilli},
      {"Suggestions", 3, 12 * kMilli, {}, 5'000, 20'000, 8'000, 4'000, 6'000, 135 * kMilli},
  };
  site.background_piece = "Suggestions";
  site.background_work = 380 * kMilli;
  ConfigureEarlyFlush(site);
  return site;
}

PageSite SearchPage() {
  PageSite site;
  site.endpoint = "/search";
  site.countries = Countries();
  // Each kind of result is looked for after the one before it, and flushed as soon as it is there.
  // … as above, and how often there is no result
  site.pieces = {
      {"Top",
       1,
       110 * kMilli,
       {"top_by_terms", 800},
       8'000,
       20'000,
       12'000,
       6'000,
       6'000,
       130 * kMilli,
       80},
      {"People",
       2,
       240 * kMilli,
       {"people_by_terms", 600},
       7'000,
       20'000,
       9'000,
       5'000,
       8'000,
       120 * kMilli,
       150},
      {"Pages",
       3,
       180 * kMilli,
       {"pages_by_terms", 500},
       6'000,
       18'000,
       8'000,
       5'000,
       6'000,
       110 * kMilli,
       150},
      {"Groups",
       4,
       160 * kMilli,
       {"groups_by_terms", 300},
       5'000,
       16'000,
       7'000,
       4'000,
       4'000,
       100 * kMilli,
       200},
      {"Photos",
       5,
       150 * kMilli,
       {"photos_by_terms", 300},
       4'000,
       14'000,
       6'000,
       4'000,
       12'000,
       110 * kMilli,
       250},
  };
  ConfigureEarlyFlush(site);
  return site;
}

PageUser MakeUser(const PageSite& site, const Draws& draws) {
  PageUser user;
  // Another seed's users are other machines, with clocks of their own.
  user.host = fmt::format("client-{:010x}", draws.Bits(kHost) >> 24);
  int64_t place = draws.Below(1000, kCountry);
  while (user.country + 1 < site.countries.size() &&
         place >= site.countries[user.country].share_permille) {
    place -= site.countries[user.country++].share_permille;
  }
  const Country& country = site.countries[user.country];
  user.round_trip = country.round_trip * draws.From(kRoundTripSpread, kRoundTrip) / 1000 *
                    country.congestion_permille / 1000;
  user.bytes_per_second = country.bytes_per_second * draws.From(kBandwidthSpread, kBandwidth) /
                          1000 * 1000 / country.congestion_permille;
  user.slowness_permille = draws.From(kSlownessSpread, kSlowness);
  // Browsers' clocks are set by their machines' time service, and are some milliseconds off.
  user.clock_offset = draws.Between(-25 * kMicro, 25 * kMicro, kClock) * 1000;
  return user;
}

}  // namespace wf::scenario
