#include "svg_panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace wf {
namespace {

constexpr double kWidth = 760, kHeight = 150, kLeft = 70, kRight = 20, kTop = 40, kGap = 46;

// The next of 1, 2, 5 × 10^n: where an axis ends.
double RoundUp(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0, 10.0})
    if (value <= step * power) return step * power;
  return value;
}

}  // namespace

Status WritePanels(const std::string& path, const std::string& title, const std::string& time_label,
                   const std::vector<double>& marks, const std::vector<Panel>& panels) {
  size_t length = 2;
  for (const Panel& panel : panels)
    for (const PanelSeries& series : panel.series) length = std::max(length, series.values.size());
  const double width = kLeft + kWidth + kRight;
  const double height = kTop + static_cast<double>(panels.size()) * (kHeight + kGap) + 20;
  const auto x = [&](double t) { return kLeft + t / static_cast<double>(length) * kWidth; };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"18\" font-size=\"14\">{3}</text>\n",
      width, height, kLeft, title);
  double top = kTop;
  for (const Panel& panel : panels) {
    double most = 0;
    for (const PanelSeries& series : panel.series)
      for (const double value : series.values) most = std::max(most, value);
    most = RoundUp(most);
    const auto y = [&](double value) { return top + kHeight - value / most * kHeight; };
    out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kLeft, top - 4, panel.title);
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\"/>\n",
        kLeft, top, kWidth, kHeight);
    for (const double share : {0.0, 0.5, 1.0})
      out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:g}</text>\n", kLeft - 5,
                         y(share * most) + 4, share * most);
    for (const double mark : marks)
      out += fmt::format(
          "<line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#bbb\" "
          "stroke-dasharray=\"3,3\"/>\n",
          x(mark), top, top + kHeight);
    for (size_t t = 0; t <= length; t += 20)
      out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                         x(static_cast<double>(t)), top + kHeight + 14, t);
    double legend = kLeft + kWidth - 8;
    for (const PanelSeries& series : panel.series) {
      std::string points;
      for (size_t t = 0; t < series.values.size(); ++t)
        points +=
            fmt::format("{:.1f},{:.1f} ", x(static_cast<double>(t) + 0.5), y(series.values[t]));
      out += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", points,
          series.color);
      out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{}\">{}</text>\n",
                         legend, top - 4, series.color, series.name);
      legend -= 10 + 7 * static_cast<double>(series.name.size());
    }
    top += kHeight + kGap;
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n</svg>\n",
                     kLeft + kWidth / 2, height - 8, time_label);
  std::ofstream file(path, std::ios::binary);
  file << out;
  file.close();
  return file ? Status()
              : EnvironmentError(path + ": cannot be written", "name another with --plot");
}

}  // namespace wf
