// `cpg F pages` and `cpg F layout`: who uses which memory, and where it should be.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/lineage/memory_layout.h"
#include "analysis/lineage/page_matrix.h"
#include "answer/frame/text_table.h"
#include "answer/recording/recording_answer.h"

namespace wf::answer {
namespace {

constexpr uint64_t kMostPages = 10'000'000;

Result<std::vector<lineage::PageRow>> MatrixOf(OpenedRecording& opened) {
  WF_TRY(opened.Require(recorder::kData));
  WF_ASSIGN(const lineage::DataFlow* flow, opened.data_flow());
  std::vector<lineage::PageRow> rows = lineage::PageMatrix(opened.recording(), flow->pages());
  uint64_t pages = 0;
  for (const lineage::PageRow& row : rows) pages += std::min(row.count, kMostPages + 1);
  if (pages > kMostPages)
    return BadInput(
        fmt::format("{}: more than {} pages to list", opened.recording().file, kMostPages),
        "record a shorter run at data depth");
  return rows;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string PagesCsv(OpenedRecording& opened, const std::vector<lineage::PageRow>& rows) {
  std::string out = "page,symbol,thread,reading,writing\n";
  for (const lineage::PageRow& row : rows) {
    for (uint64_t page = row.first; page < row.first + row.count; ++page) {
      const std::string head = fmt::format(
          "{},{}", PageAddress(page), CsvField(opened.symbols().VariableOn(page).value_or("")));
      for (const lineage::PageUse& use : row.uses)
        out += fmt::format("{},{},{},{}\n", head, use.thread, use.reading, use.writing);
    }
  }
  return out;
}

std::string PagesJson(OpenedRecording& opened, const std::vector<lineage::PageRow>& rows) {
  JsonWriter json;
  json.BeginObject().Key("pages").BeginArray();
  for (const lineage::PageRow& row : rows) {
    for (uint64_t page = row.first; page < row.first + row.count; ++page) {
      json.BeginObject().Field("page", PageAddress(page));
      WriteText(json, "symbol", opened.symbols().VariableOn(page));
      json.Key("threads").BeginArray();
      for (const lineage::PageUse& use : row.uses) {
        json.BeginObject().Field("thread", uint64_t{use.thread});
        json.Field("reading", uint64_t{use.reading}).Field("writing", uint64_t{use.writing});
        json.EndObject();
      }
      json.EndArray().EndObject();
    }
  }
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

std::string PagesText(OpenedRecording& opened, const std::vector<lineage::PageRow>& rows) {
  constexpr size_t kMostLines = 200;
  TextTable table({"pages from", "count", "threads reading (writing)", "variable"}, {1});
  uint64_t pages = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const lineage::PageRow& row = rows[i];
    pages += row.count;
    if (i >= kMostLines) continue;
    std::string uses;
    for (const lineage::PageUse& use : row.uses) {
      uses += fmt::format("{}{}: {}", uses.empty() ? "" : ", ", use.thread, use.reading);
      if (use.writing > 0) uses += fmt::format(" ({})", use.writing);
    }
    table.Row({PageAddress(row.first), std::to_string(row.count), CutToWidth(uses, 60),
               opened.symbols().VariableOn(row.first).value_or("")});
  }
  std::string out =
      CountOf(pages, "page") + "; counts are sub-computations\n\n" + table.Print(TextWidth(), 3);
  if (rows.size() > kMostLines)
    out += fmt::format("… and {} more: --format csv lists all\n", rows.size() - kMostLines);
  return out;
}

constexpr std::string_view kPagesStyle = R"(<style>
svg{--bg:#fff;--text:#181d25;--muted:#566171;--read:#0f7b6c;--write:#b3541e;--none:#eef1f5;background:var(--bg)}
@media (prefers-color-scheme:dark){svg{--bg:#151920;--text:#e6eaf0;--muted:#9aa6b6;--read:#4fc3b0;--write:#f08c55;--none:#232a34}}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;fill:var(--text)}
.say{font-size:16px;font-weight:600}.muted{fill:var(--muted);font-size:11px}.head{text-anchor:middle}
.bg{fill:var(--bg)}.none{fill:var(--none)}.read{fill:var(--read)}.write{fill:var(--write)}
</style>
)";

// Threads from left to right, pages downwards; the more often, the stronger. Pages side by side that are used alike are
// one line; if there are more lines than can be seen, neighbours are added up.
std::string PagesSvg(OpenedRecording& opened, const std::vector<lineage::PageRow>& rows) {
  constexpr size_t kMostLines = 400;
  constexpr double kCell = 18, kLeft = 330, kTop = 84, kMargin = 24;
  const size_t threads = opened.recording().threads.size();
  const size_t together = std::max<size_t>(1, (rows.size() + kMostLines - 1) / kMostLines);
  const size_t lines = (rows.size() + together - 1) / together;
  uint64_t most = 1, pages = 0;
  for (const lineage::PageRow& row : rows) {
    pages += row.count;
    for (const lineage::PageUse& use : row.uses) most = std::max<uint64_t>(most, use.reading);
  }
  const double height = together > 1 ? 4 : kCell;
  const double width = kLeft + static_cast<double>(threads) * kCell + kMargin;
  const std::string title = CountOf(pages, "page") + " used by " + CountOf(threads, "thread");
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n{3}"
      "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n<text class=\"say\" x=\"{4}\" "
      "y=\"32\">{2}</text>\n<text class=\"muted\" x=\"{4}\" y=\"52\">one column per thread; "
      "orange: "
      "written, green: only read; stronger: more sub-computations</text>\n",
      std::max(width, 640.0), kTop + static_cast<double>(lines) * height + kMargin, title,
      kPagesStyle, kMargin);
  for (size_t t = 0; t < threads; ++t) {
    if (threads > 40 && t % 10 != 0) continue;
    out += fmt::format("<text class=\"muted head\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
                       kLeft + (static_cast<double>(t) + 0.5) * kCell, kTop - 6, t);
  }
  for (size_t line = 0; line < lines; ++line) {
    const double y = kTop + static_cast<double>(line) * height;
    const lineage::PageRow& first = rows[line * together];
    std::vector<lineage::PageUse> sums(threads);
    uint64_t count = 0;
    for (size_t i = line * together; i < std::min(rows.size(), (line + 1) * together); ++i) {
      count += rows[i].count;
      for (const lineage::PageUse& use : rows[i].uses) {
        sums[use.thread].reading = std::max(sums[use.thread].reading, use.reading);
        sums[use.thread].writing += use.writing;
      }
    }
    if (height >= 12) {
      const std::string symbol = opened.symbols().VariableOn(first.first).value_or("");
      out +=
          fmt::format("<text class=\"muted\" x=\"{}\" y=\"{:.0f}\">{}{} {}</text>\n", kMargin,
                      y + 13, PageAddress(first.first), count > 1 ? fmt::format(" ×{}", count) : "",
                      XmlText(CutToWidth(symbol, 22)));
    }
    for (size_t t = 0; t < threads; ++t) {
      if (sums[t].reading == 0) continue;
      const double strength = 0.25 + 0.75 * std::log1p(sums[t].reading) / std::log1p(most);
      out += fmt::format(
          "<rect class=\"{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
          "opacity=\"{:.2f}\"><title>{} ×{}, thread {}: read by {}, written by {}</title></rect>\n",
          sums[t].writing > 0 ? "write" : "read", kLeft + static_cast<double>(t) * kCell, y,
          kCell - 1, std::max(1.0, height - 1), strength, PageAddress(first.first), count, t,
          sums[t].reading, sums[t].writing);
    }
  }
  return out + "</svg>\n";
}

void WriteCosts(JsonWriter& json, const char* key, double first_touch, double interleaved,
                double proposed) {
  json.Key(key).BeginObject().Key("first_touch").Double(first_touch);
  json.Key("interleaved").Double(interleaved).Key("proposed").Double(proposed).EndObject();
}

}  // namespace

Result<std::string> AnswerPages(OpenedRecording& opened, RecordingFormat format) {
  WF_ASSIGN(const std::vector<lineage::PageRow> rows, MatrixOf(opened));
  switch (format) {
    case RecordingFormat::kCsv:
      return PagesCsv(opened, rows);
    case RecordingFormat::kJson:
      return PagesJson(opened, rows);
    case RecordingFormat::kSvg:
      return PagesSvg(opened, rows);
    case RecordingFormat::kText:
      break;
  }
  return PagesText(opened, rows);
}

Result<std::string> AnswerLayout(OpenedRecording& opened, uint32_t nodes,
                                 const std::optional<std::string>& distances,
                                 const std::string& name, RecordingFormat format) {
  WF_ASSIGN(const std::vector<lineage::PageRow> rows, MatrixOf(opened));
  lineage::Distances between = lineage::Distances::Uniform(nodes);
  if (distances) {
    WF_ASSIGN(between, lineage::Distances::Parse(*distances, nodes, name));
  }
  const size_t threads = opened.recording().threads.size();
  const lineage::MemoryLayout layout = lineage::ProposeLayout(rows, threads, between);
  const lineage::PlacementCost &first = layout.first_touch, &mixed = layout.interleaved,
                               &own = layout.proposed_cost;
  if (format == RecordingFormat::kJson) {
    JsonWriter json;
    json.BeginObject().Field("nodes", uint64_t{nodes});
    WriteCosts(json, "remote_share", first.remote_share, mixed.remote_share, own.remote_share);
    WriteCosts(json, "mean_distance", first.mean_distance, mixed.mean_distance, own.mean_distance);
    json.Key("threads").BeginArray();
    for (size_t t = 0; t < threads; ++t) {
      json.BeginObject().Field("thread", uint64_t{t});
      json.Field("node", uint64_t{layout.proposed.threads[t]}).EndObject();
    }
    json.EndArray().Key("pages").BeginArray();
    for (size_t r = 0; r < rows.size(); ++r) {
      json.BeginObject().Field("page", PageAddress(rows[r].first)).Field("count", rows[r].count);
      json.Field("node", uint64_t{layout.proposed.rows[r]});
      WriteText(json, "symbol", opened.symbols().VariableOn(rows[r].first));
      json.EndObject();
    }
    json.EndArray().EndObject();
    return json.Take() + "\n";
  }
  std::string out = fmt::format("{} on {}; remote share of all page uses:\n",
                                CountOf(threads, "thread"), CountOf(nodes, "node"));
  const auto line = [&](const char* what, const lineage::PlacementCost& cost) {
    out += fmt::format("  {:<12} {:5.1f}%   mean distance {:.1f}\n", what, cost.remote_share * 100,
                       cost.mean_distance);
  };
  line("first touch", first);
  line("interleaved", mixed);
  line("proposed", own);
  for (uint32_t node = 0; node < nodes; ++node) {
    std::string ids;
    uint64_t pages = 0;
    for (size_t t = 0; t < threads; ++t) {
      if (layout.proposed.threads[t] == node) ids += (ids.empty() ? "" : ", ") + std::to_string(t);
    }
    for (size_t r = 0; r < rows.size(); ++r)
      pages += layout.proposed.rows[r] == node ? rows[r].count : 0;
    out += "\n" + Wrapped(fmt::format("node {}: {}; threads {}", node, CountOf(pages, "page"),
                                      ids.empty() ? "none" : ids));
  }
  return out + "\n--format json lists the node of every page\n";
}

}  // namespace wf::answer
